# Included before project(): nothing is found but what the demo's own packages have, as on a machine
# that has no others. What CMake itself looks for, its modules too, is found as always. With HIDDEN,
# the name of a variable, all is found but what that one is for.
set(FOUND_STILL "^SYNCOPATE_(DW_INCLUDE|LIB_dw|LIB_elf)$")
foreach(command find_path find_library find_program)
  cmake_language(EVAL CODE "
    function(${command} variable)
      if(variable STREQUAL HIDDEN OR (NOT HIDDEN AND variable MATCHES \"^SYNCOPATE_\"
          AND NOT variable MATCHES \"\${FOUND_STILL}\"))
        set(\${variable} \"\${variable}-NOTFOUND\" CACHE STRING hidden FORCE)
      else()
        _${command}(\${variable} \${ARGN})
        if(NO_CACHE IN_LIST ARGN)
          set(\${variable} \"\${\${variable}}\" PARENT_SCOPE)
        endif()
      endif()
    endfunction()")
endforeach()
