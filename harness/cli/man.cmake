# ${manual_page}: what `prenorm COMMAND --help` prints, which is in help/, as one page for man(1).
file(GLOB_RECURSE pages CONFIGURE_DEPENDS help/*.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})
set(manual ".TH PRENORM 1 \"\" \"prenorm ${PROJECT_VERSION}\"
.SH NAME
prenorm \\- check, grade and time solutions against the cases stored in fixture files
.SH SYNOPSIS
.B prenorm
.I COMMAND
[\\fIOPTION\\fR...]
.SH COMMANDS
")
foreach(page IN LISTS pages)
  file(READ ${page} text)
  if(text MATCHES "^usage: [.]/prenorm") # the launcher's own, which no installation has
    continue()
  endif()
  # To troff, a backslash means something, and so does a dot that begins a line; these are the ASCII ones of - and '.
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REPLACE "'" "\\(aq" text "${text}")
  string(REPLACE "\n." "\n\\&." text "${text}")
  string(REGEX REPLACE "\n  (\\\\-[^ \n]+)" "\n  \\\\fB\\1\\\\fR" text "${text}") # options are bold
  string(REGEX REPLACE "^.*/help/(.*)[.]txt$" "\\1" name ${page})
  string(REPLACE "/" " " name ${name})
  string(APPEND manual ".SS ${name}\n.nf\n${text}.fi\n")
endforeach()
set(manual_page ${CMAKE_BINARY_DIR}/share/man/man1/prenorm.1)
file(WRITE ${manual_page} "${manual}")
