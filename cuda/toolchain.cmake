# Whether kernels are compiled for devices, and for which. Sets PRENORM_CUDA_WHY_NOT if they are not,
# and PRENORM_CUDA_DEVICE if this machine has a device. Included at the top level, where languages
# must be enabled.

set(PRENORM_CUDA AUTO CACHE STRING "Compile the kernels for CUDA devices: AUTO (where nvcc is), ON, OFF")
set_property(CACHE PRENORM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PRENORM_CUDA_ARCHITECTURES "" CACHE STRING
    "For which devices, as CMAKE_CUDA_ARCHITECTURES, from 80 on; empty or native: this machine's; without \
a device 9.0 for the tests, and the usual ones otherwise")
set(usual_architectures 80-real 86-real 89-real 90)  # the last with PTX, for other devices
# What the quick tests look at; the slow tier compiles for all.
set(tested_architectures 90-real)

# Without a device the solutions for devices are not built by default: they could not run.
find_program(PRENORM_NVIDIA_SMI nvidia-smi)
mark_as_advanced(PRENORM_NVIDIA_SMI)
set(PRENORM_CUDA_DEVICE FALSE)
set(capabilities "")  # 7.5;12.0
if(PRENORM_NVIDIA_SMI)
  execute_process(COMMAND ${PRENORM_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+[.][0-9]" capabilities "${said}")
  if(NOT failed AND said MATCHES "[0-9][.][0-9]|N/A")  # N/A: of some Jetsons; CMake finds it
    set(PRENORM_CUDA_DEVICE TRUE)
  endif()
endif()

if(PRENORM_CUDA_ARCHITECTURES AND NOT PRENORM_CUDA_ARCHITECTURES STREQUAL "native")
  set(architectures ${PRENORM_CUDA_ARCHITECTURES})
elseif(PRENORM_CUDA_DEVICE)
  list(TRANSFORM capabilities REPLACE "[.](.)" "\\1-real" OUTPUT_VARIABLE architectures)
  list(SORT architectures COMPARE NATURAL)
  list(REMOVE_DUPLICATES architectures)
elseif(BUILD_TESTING)
  set(architectures ${tested_architectures})
else()
  set(architectures ${usual_architectures})
endif()

set(PRENORM_CUDA_WHY_NOT "")
if(NOT PRENORM_CUDA)
  set(PRENORM_CUDA_WHY_NOT "not built: PRENORM_CUDA is OFF")
else()
  find_program(PRENORM_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME
               PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin DOC "CUDA's compiler")
  if(NOT PRENORM_NVCC)
    set(PRENORM_CUDA_WHY_NOT "not built: there was no nvcc")
  else()
    execute_process(COMMAND ${PRENORM_NVCC} --version OUTPUT_VARIABLE version ERROR_QUIET)
    string(REGEX REPLACE ".*release ([0-9.]+).*" "\\1" version "${version}")
    if(version VERSION_LESS 12.0)
      set(PRENORM_CUDA_WHY_NOT "not built: nvcc ${version} has no C++20, which came with 12.0")
    endif()
    execute_process(COMMAND ${PRENORM_NVCC} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  endif()
  foreach(architecture IN LISTS architectures)
    string(REGEX REPLACE "^([0-9]+)([0-9]).*" "\\1.\\2" capability "${architecture}")
    string(REPLACE "." "" number "${capability}")
    if(capability VERSION_LESS 8.0)
      set(PRENORM_CUDA_WHY_NOT "kernels need compute capability 8.0; this is ${capability}")
      break()
    elseif(NOT PRENORM_CUDA_WHY_NOT AND NOT known MATCHES "sm_${number}\n")
      set(PRENORM_CUDA_WHY_NOT "not built: nvcc ${version} does not know compute capability ${capability}")
    endif()
  endforeach()
  if(PRENORM_CUDA_WHY_NOT AND (PRENORM_CUDA STREQUAL "ON" OR PRENORM_CUDA_ARCHITECTURES))
    message(FATAL_ERROR "CUDA for devices: ${PRENORM_CUDA_WHY_NOT}; asked for by PRENORM_CUDA="
            "${PRENORM_CUDA}, PRENORM_CUDA_ARCHITECTURES=${PRENORM_CUDA_ARCHITECTURES}, "
            "PRENORM_NVCC=${PRENORM_NVCC}")
  endif()
endif()

if(PRENORM_CUDA_WHY_NOT)
  message(STATUS "CUDA for devices: ${PRENORM_CUDA_WHY_NOT}; the emulated kernels need none")
else()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  if(NOT architectures)
    set(CMAKE_CUDA_ARCHITECTURES native)
  endif()
  set(CMAKE_CUDA_COMPILER ${PRENORM_NVCC})
  enable_language(CUDA)
  if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})  # by name, for the compiler cache
  endif()
  if(BUILD_TESTING)
    list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "-real$" "")  # with PTX, which tests read
  endif()
  # CMake 3.25 does not know that nvcc has C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA for devices: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, for "
                 "${CMAKE_CUDA_ARCHITECTURES}")
endif()
