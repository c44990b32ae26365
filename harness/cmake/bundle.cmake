# An installation that can move: with the shared libraries that its programs and solutions need, and
# with what their licenses say. Run by `cmake --install`; PRENORM_SYSTEM_LIBRARIES is a regular
# expression of those that every system has.

set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
file(GLOB programs LIST_DIRECTORIES false ${prefix}/bin/prenorm ${prefix}/libexec/prenorm/*)
list(FILTER programs EXCLUDE REGEX "([.]py|/prenorm-cu[+][+])$")
file(GLOB modules ${prefix}/lib/prenorm/*.so)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} MODULES ${modules}
     RESOLVED_DEPENDENCIES_VAR libraries PRE_EXCLUDE_REGEXES "${PRENORM_SYSTEM_LIBRARIES}")

# package_of(VARIABLE PATH): the Debian package that a file is of, or nothing.
find_program(dpkg_query dpkg-query)
function(package_of variable path)
  set(package "")
  string(REGEX REPLACE "^/usr/" "/" unmerged ${path})
  foreach(name ${path} ${unmerged})  # as the package has it: /lib is a link to /usr/lib since
    if(dpkg_query AND NOT package)
      execute_process(COMMAND ${dpkg_query} -S ${name} OUTPUT_VARIABLE found ERROR_QUIET)
      string(REGEX MATCH "^[^:,]+" package "${found}")
    endif()
  endforeach()
  set(${variable} "${package}" PARENT_SCOPE)
endfunction()

set(licenses ${prefix}/share/doc/prenorm/licenses)
file(MAKE_DIRECTORY ${licenses})
set(listed "")
list(SORT libraries)
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)  # by which programs ask for it
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${prefix}/lib/${name})
  package_of(package ${file})
  set(version "")
  if(package)
    execute_process(COMMAND ${dpkg_query} -W -f "\${Version}" ${package} OUTPUT_VARIABLE version
                    ERROR_QUIET)
    file(REAL_PATH /usr/share/doc/${package}/copyright license)
    if(EXISTS ${license})
      file(COPY_FILE ${license} ${licenses}/${package})
    endif()
  endif()
  string(APPEND listed "${name} ${package} ${version}\n")
endforeach()
file(WRITE ${prefix}/share/prenorm/libraries.txt "${listed}")
