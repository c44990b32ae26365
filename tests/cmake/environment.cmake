# `environment` and `launcher`: what tests are told of this build, and how they are started.

set(home ${CMAKE_BINARY_DIR})
set(program $<TARGET_FILE:prenorm_program>)
if(PRENORM_DRIVER)
  # A driver that is built without sanitizers limits the address space of the process that reads
  # HDF5, where a sanitizer needs terabytes: so that process is the driver's, too.
  set(program ${PRENORM_DRIVER})
  set(home ${tests_dir}/home)
  get_filename_component(driver_home ${PRENORM_DRIVER}/../.. ABSOLUTE)
  file(MAKE_DIRECTORY ${home}/libexec/prenorm)
  file(CREATE_LINK ${driver_home}/libexec/prenorm/prenorm-hdf5 ${home}/libexec/prenorm/prenorm-hdf5
       SYMBOLIC)
  foreach(helper prenorm-worker prenorm-imports)
    file(CREATE_LINK ${PRENORM_HELPER_DIR}/${helper} ${home}/libexec/prenorm/${helper} SYMBOLIC)
  endforeach()
  foreach(folder lib share)
    file(CREATE_LINK ${CMAKE_BINARY_DIR}/${folder} ${home}/${folder} SYMBOLIC)
  endforeach()
endif()

# The objects that test_kernel_mistakes.py links with changed kernels.
set(kernel_objects
    $<TARGET_OBJECTS:prenorm_solution_cuda-emulated> $<TARGET_OBJECTS:prenorm_emulated_kernels>
    $<TARGET_OBJECTS:test_main>
    "$<FILTER:$<TARGET_OBJECTS:test_kernels>,INCLUDE,/test_(cuda_softmax|linear_steps|attention_mma)\\.cpp>")
set(hopper_objects)
if(NOT PRENORM_SANITIZE)
  set(hopper_objects $<TARGET_OBJECTS:test_main> $<TARGET_OBJECTS:test_attention_wgmma>
      $<TARGET_OBJECTS:test_linear_wgmma>)
endif()

set(environment
  PRENORM_HOME=${home}
  PRENORM_PROGRAM=${program}
  PRENORM_SOURCE=${PROJECT_SOURCE_DIR}
  PRENORM_SANITIZE=${PRENORM_SANITIZE}
  PRENORM_EMULATOR=$<JOIN:$<TARGET_OBJECTS:prenorm_emulator>,:>
  PRENORM_PLANTED=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/planted
  PRENORM_TEST_SOLUTIONS=${test_solution_dir}
  PRENORM_TEST_SUBMISSIONS=${submission_dir}
  PRENORM_BROKEN_FIXTURES=${tests_dir}/broken
  PRENORM_PAGE_DIR=${tests_dir}/pages
  PRENORM_TEST_RENDER=$<TARGET_FILE:test_render>
  PRENORM_GENERATE=$<TARGET_FILE:generate>
  PRENORM_NVCC=${CMAKE_CUDA_COMPILER}
  PRENORM_COMPILER_CACHE=$<$<BOOL:${PRENORM_COMPILER_CACHE}>:${PRENORM_COMPILER_CACHE}>
  PRENORM_TEST_PYTHON=${PRENORM_PYTHON}
  "PRENORM_KERNEL_OBJECTS=$<JOIN:${kernel_objects},:>"
  "PRENORM_HOPPER_OBJECTS=$<JOIN:${hopper_objects},:>"
  PYTHONDONTWRITEBYTECODE=1
  VIRTUAL_ENV= # whose interpreter would grade
  # As the program sets them: BLAS sums in another order with more threads.
  OPENBLAS_NUM_THREADS=1
  OMP_NUM_THREADS=1
  # The worker meets guard pages on purpose, and limits its own address space.
  ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1:detect_leaks=0:verify_asan_link_order=0
)

# GCC 12's ThreadSanitizer cannot start where the system randomizes more address bits than 28.
set(launcher)
if(PRENORM_SANITIZE MATCHES "thread" AND EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(READ /proc/sys/vm/mmap_rnd_bits random_bits)
  if(random_bits GREATER 28)
    set(launcher setarch -R)
  endif()
endif()
