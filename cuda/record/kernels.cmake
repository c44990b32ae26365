# Which kernels passed on a device: cuda/records/kernels.csv, which unpack.py fills from a record.

# prenorm_digest(OUT FILE...): of sources without their lines of comments, which tell what a record
# says.
function(prenorm_digest out)
  set(all "")
  foreach(source IN LISTS ARGN)
    file(READ ${source} text)
    string(REGEX REPLACE "(^|\n)//[^\n]*" "" text "${text}")
    string(SHA256 one "${text}")
    string(APPEND all "${one} ")
  endforeach()
  string(SHA256 all "${all}")
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# prenorm_with_included(OUT FILE...): these files, and what they and those include of their folders.
# Includes from other folders are not followed: those are of the emulator.
function(prenorm_with_included out)
  set(all "")
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left source)
    if(source IN_LIST all)
      continue()
    endif()
    list(APPEND all ${source})
    get_filename_component(folder ${source} DIRECTORY)
    file(STRINGS ${source} lines REGEX "^#include \"[^/\"]+\"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"(.+)\".*" "${folder}/\\1" included "${line}")
      list(APPEND left ${included})
    endforeach()
  endwhile()
  list(SORT all)
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# prenorm_passed(OUT TABLE KERNEL DIGEST): whether the kernel with these sources passed on a device, and
# failed on none.
function(prenorm_passed out table kernel digest)
  file(STRINGS ${table} passed REGEX "^${kernel},${digest},passed,")
  file(STRINGS ${table} failed REGEX "^${kernel},${digest},failed,")
  if(passed AND NOT failed)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()
