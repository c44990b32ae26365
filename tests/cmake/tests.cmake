# How tests are added. They are found, not listed. A test_<name>.py says in lines at its top how ctest
# runs it:
#
#   # labels: unit grading          (unit)
#   # timeout: 1200                 seconds
#   # processors: 2                 how many cores it keeps busy (1)
#   # slow labels: grading          its tests marked `slow` are a second test, <name>_slow
#   # slow timeout: 1800
#   # slow processors: 2            (as the quick ones)
#
# A Boost.Test suite is a test by the suite's name. Labels: unit, fixtures, grading, cuda (what nvcc is
# needed for), emulated (kernels on their emulator), notebooks; `slow` is left out by `./prenorm test`;
# `asan` and `tsan` are what the trees with these sanitizers run, their `slow` ones for `./prenorm test --all`
# only; `pytest` is each file of Python, which takes its part of `--part K/N` itself (conftest.py). What may
# take long starts first.

# found_some(VARIABLE PATTERN...): the files of all patterns. A pattern that finds none is an
# error: its folder has moved, and tests would be gone unseen.
function(found_some variable)
  set(all)
  foreach(pattern IN LISTS ARGN)
    file(GLOB files CONFIGURE_DEPENDS ${pattern})
    if(NOT files)
      message(FATAL_ERROR "there is no ${pattern} for ${CMAKE_CURRENT_LIST_FILE}")
    endif()
    list(APPEND all ${files})
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# add_boost_test(TARGET [OWN_HEADERS] SOURCE...): what only checks is not optimized. With OWN_HEADERS
# it does not share the precompiled ones: its options are others.
function(add_boost_test target)
  cmake_parse_arguments(PARSE_ARGV 1 boost "OWN_HEADERS" "" "")
  add_executable(${target} $<TARGET_OBJECTS:test_main> ${boost_UNPARSED_ARGUMENTS})
  target_include_directories(${target} PRIVATE ${support})
  target_compile_options(${target} PRIVATE -O0)
  if(NOT boost_OWN_HEADERS)
    target_precompile_headers(${target} REUSE_FROM prenorm_boost_headers)
  endif()
  target_compile_definitions(${target} PRIVATE BOOST_TEST_DYN_LINK)
  target_link_libraries(${target} PRIVATE Boost::unit_test_framework prenorm_options)
endfunction()

# add_unit_test(NAME COMMAND...): with the labels that the room has set, or `unit`.
function(add_unit_test name)
  if(NOT DEFINED unit_labels)
    set(unit_labels unit)
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${unit_labels}" TIMEOUT 600)
endfunction()

# add_suites(TARGET [PREFIX prefix] SOURCE...): each source's suite is a test. Where a source's first line has
# `// quick: CASE...`, the quick test has these cases, and the slow one, <suite>_slow, all.
function(add_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 suites "" "PREFIX" "")
  foreach(source IN LISTS suites_UNPARSED_ARGUMENTS)
    file(STRINGS ${source} suite REGEX "^BOOST_AUTO_TEST_SUITE[(]")
    string(REGEX REPLACE ".*[(]([a-z0-9_]+)[)].*" "\\1" suite "${suite}")
    set(test ${suites_PREFIX}${suite})
    set(tests ${test})
    file(STRINGS ${source} cases LIMIT_COUNT 1)
    if(cases MATCHES "^// quick: (.*)")
      string(REPLACE " " "," cases "/${CMAKE_MATCH_1}")
      add_unit_test(${test}_slow ${target} --run_test=${suite} --log_level=test_suite)
      set_property(TEST ${test}_slow APPEND PROPERTY LABELS slow)
      list(APPEND tests ${test}_slow)
    else()
      set(cases)
    endif()
    add_unit_test(${test} ${target} --run_test=${suite}${cases} --log_level=test_suite)
    set_tests_properties(${tests} PROPERTIES ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# add_python_test(NAME LABELS TIMEOUT PROCESSORS OPTION...): of `file`, with what the file says of itself.
function(add_python_test name labels timeout processors)
  add_test(NAME ${name} COMMAND ${launcher} ${PRENORM_PYTHON} -m pytest -q --durations=8 -p no:cacheprovider
           ${ARGN} ${file})
  set_tests_properties(${name} PROPERTIES LABELS "${labels};pytest" ENVIRONMENT "${environment}"
                       TIMEOUT ${timeout} PROCESSORS ${processors}
                       RESOURCE_LOCK "${lock}" COST ${timeout})
endfunction()

# add_python_tests(FOLDER...): every test_<name>.py there.
function(add_python_tests)
  list(TRANSFORM ARGN APPEND /test_*.py)
  found_some(files ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file IN LISTS files)
    string(REGEX REPLACE ".*/test_(.*)[.]py$" "\\1" name ${file})
    set(labels unit)
    set(timeout 1200)
    set(processors 1)
    set(lock)
    set(slow_labels)
    set(slow_timeout 1800)
    set(slow_processors)
    set(slow_only_in) # a sanitizer: other builds have none of the slow tests
    file(STRINGS ${file} head LIMIT_COUNT 6
         REGEX "^# (labels|timeout|processors|lock|slow labels|slow timeout|slow processors|slow only in): ")
    foreach(line IN LISTS head)
      string(REGEX MATCH "^# ([a-z ]+): (.*)$" _ ${line})
      set(value ${CMAKE_MATCH_2})
      string(REPLACE " " "_" key ${CMAKE_MATCH_1})
      string(REPLACE " " ";" ${key} ${value})
    endforeach()
    if("cuda" IN_LIST labels AND NOT CMAKE_CUDA_COMPILER)
      continue()
    endif()
    set(quick)
    if(slow_labels)
      set(quick -m "not slow")
      if(NOT slow_only_in OR PRENORM_SANITIZE MATCHES "${slow_only_in}")
        if(NOT slow_processors)
          set(slow_processors ${processors})
        endif()
        add_python_test(${name}_slow "${slow_labels};slow" ${slow_timeout} ${slow_processors} -m slow)
      endif()
    endif()
    add_python_test(${name} "${labels}" ${timeout} ${processors} ${quick})
  endforeach()
endfunction()
