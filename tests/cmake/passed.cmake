# Some tests take long and hang on few sources: those with the labels `cuda`, `emulated` and `fixtures`.
# Where they passed with just the present sources they are slow ones, and what only they need is no part
# of `all`. tests/passed/LABEL.txt has the digest of the sources with which they passed;
# `ninja LABEL_passed` writes it.

# hangs_on(LABEL PATTERN...): sets PRENORM_LABEL_HAS_PASSED and adds the targets LABEL_tests, what these
# tests need, and LABEL_passed.
function(hangs_on label)
  # What all of them are compiled and run with. (A helper in Python is seen to break by other quick tests.)
  list(APPEND ARGN harness/include/*.* tests/support/*.hpp tests/support/*.cpp tests/cmake/*.*
       tests/conftest.py)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARGN})
  list(FILTER sources EXCLUDE REGEX "/__pycache__/")
  set(digests "")
  foreach(source IN LISTS sources)
    file(SHA256 ${source} digest)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND digests "${source} ${digest}\n")
  endforeach()
  string(SHA256 digest "${digests}")
  set(passed_file ${PROJECT_SOURCE_DIR}/tests/passed/${label}.txt)
  file(STRINGS ${passed_file} passed)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${passed_file})
  add_custom_target(${label}_passed COMMAND ${CMAKE_COMMAND} -E echo ${digest} > ${passed_file}
                    VERBATIM)
  string(TOUPPER ${label} upper)
  if(passed STREQUAL digest AND NOT (label STREQUAL "cuda" AND PRENORM_CUDA_DEVICE))
    set(PRENORM_${upper}_HAS_PASSED TRUE PARENT_SCOPE)
    add_custom_target(${label}_tests)
  else()
    set(PRENORM_${upper}_HAS_PASSED FALSE PARENT_SCOPE)
    add_custom_target(${label}_tests ALL)
  endif()
endfunction()

# What nvcc makes of the kernels: without a device it is only read.
hangs_on(cuda cuda/*.cu cuda/*.cuh cuda/*.sh cuda/*.cmake cuda/*.map cuda/CMakeLists.txt cuda/record/*.*
         cuda/ceilings.json tests/cuda/*.* tests/record/*.* CMakePresets.json)
# Kernels on the emulator, and what counts and profiles there.
hangs_on(emulated cuda/*.cu cuda/*.cuh cuda/*.map cuda/CMakeLists.txt cuda/emulator/* cuda/ceilings.json
         cuda/profiles.json harness/emulate/*.* harness/profile/*.* harness/report/*.*
         harness/cli/emulate.cpp harness/cli/profile.cpp harness/bench/workload.* harness/bench/shapes.json
         tests/cuda/*.* tests/emulator/*.* tests/harness/profile/*.*)
# References and fixtures.
hangs_on(fixtures reference/*.* fixtures/*.* harness/check/*.* harness/fixture/*.* harness/hdf5/*.*
         harness/replay/*.* harness/solution/*.* harness/worker/*.* tests/reference/*.*
         tests/fixtures/*.*)
