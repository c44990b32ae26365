# Whether kernels are compiled for devices, and for which. Sets PRENORM_CUDA_WHY_NOT if they are not,
# and PRENORM_CUDA_DEVICE if this machine has a device. Included at the top level, where languages
# must be enabled.

set(PRENORM_CUDA AUTO CACHE STRING "Compile the kernels for CUDA devices: AUTO (where nvcc is), ON, OFF")
set_property(CACHE PRENORM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PRENORM_CUDA_ARCHITECTURES "" CACHE STRING
    "For which devices, as CMAKE_CUDA_ARCHITECTURES; empty: this machine's; without a device 9.0 for \
the tests, and all otherwise")
set(all_architectures 80-real 86-real 89-real 90)  # the last with PTX, for later devices
# What the quick tests look at; the slow tier builds the preset `cuda`, for all architectures.
set(tested_architectures 90-real)

# Without a device the solutions for devices are not built by default: they could not run.
find_program(PRENORM_NVIDIA_SMI nvidia-smi)
mark_as_advanced(PRENORM_NVIDIA_SMI)
set(PRENORM_CUDA_DEVICE FALSE)
if(PRENORM_NVIDIA_SMI)
  execute_process(COMMAND ${PRENORM_NVIDIA_SMI} -L RESULT_VARIABLE failed
                  OUTPUT_VARIABLE devices ERROR_QUIET)
  if(NOT failed AND devices MATCHES "GPU")
    set(PRENORM_CUDA_DEVICE TRUE)
  endif()
endif()

set(PRENORM_CUDA_WHY_NOT "")
if(NOT PRENORM_CUDA)
  set(PRENORM_CUDA_WHY_NOT "not built: PRENORM_CUDA is OFF")
else()
  find_program(PRENORM_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME
               PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin DOC "CUDA's compiler")
  if(NOT PRENORM_NVCC)
    set(PRENORM_CUDA_WHY_NOT "not built: there was no nvcc")
    if(PRENORM_CUDA STREQUAL "ON")
      message(FATAL_ERROR "PRENORM_CUDA is ON, but there is no nvcc; -DPRENORM_NVCC=PATH names it")
    endif()
  endif()
endif()

if(PRENORM_CUDA_WHY_NOT)
  message(STATUS "CUDA for devices: ${PRENORM_CUDA_WHY_NOT}; the emulated kernels need none")
else()
  if(PRENORM_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${PRENORM_CUDA_ARCHITECTURES})
  elseif(PRENORM_CUDA_DEVICE)
    set(CMAKE_CUDA_ARCHITECTURES native)
  elseif(BUILD_TESTING)
    set(CMAKE_CUDA_ARCHITECTURES ${tested_architectures})
  else()
    set(CMAKE_CUDA_ARCHITECTURES ${all_architectures})
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
