# Which versions of compiler and libraries this is written for. What is missing or has another
# interface is told at once, with the Debian package, and not by errors of the compiler.

set(prenorm_unfit "")

# prenorm_wants(PACKAGE DEBIAN FROM [BELOW]): a library with a package for CMake.
macro(prenorm_wants package debian from)
  find_package(${package} CONFIG QUIET)
  set(wanted "${from} or newer")
  if(NOT "${ARGN}" STREQUAL "")
    set(wanted "${from} or newer, below ${ARGN}")
  endif()
  if(NOT ${package}_FOUND)
    string(APPEND prenorm_unfit "  ${package}: not found, wanted ${wanted} (Debian: ${debian})\n")
  elseif(${package}_VERSION VERSION_LESS ${from} OR
         (NOT "${ARGN}" STREQUAL "" AND ${package}_VERSION VERSION_GREATER_EQUAL "${ARGN}"))
    string(APPEND prenorm_unfit
           "  ${package}: ${${package}_VERSION} found, wanted ${wanted} (Debian: ${debian})\n")
  endif()
endmacro()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  string(APPEND prenorm_unfit "  g++: ${CMAKE_CXX_COMPILER_VERSION} found, wanted 12 or newer\n")
endif()
# From 0.26 on xtensor's headers lie in other folders.
prenorm_wants(xtensor libxtensor-dev 0.24 0.26)
prenorm_wants(xtensor-blas libxtensor-blas-dev 0.20 0.22)
prenorm_wants(xsimd libxsimd-dev 8.1)
prenorm_wants(fmt libfmt-dev 9)
prenorm_wants(nlohmann_json nlohmann-json3-dev 3.11)
prenorm_wants(pugixml libpugixml-dev 1.13)
prenorm_wants(tomlplusplus libtomlplusplus-dev 3.3)
prenorm_wants(CLI11 libcli11-dev 2.1)
prenorm_wants(SQLiteCpp libsqlitecpp-dev 3.2)

if(prenorm_unfit)
  message(FATAL_ERROR "These do not fit:\n${prenorm_unfit}"
          "docs/install.md lists the systems that have what fits.")
endif()
