# Code for modeled machines. Installed with the library: find_package(syncopate) defines
#   syncopate_target_machine(TARGET simulated|explored|emulated)
# Needs: SYNCOPATE_INSTRUMENT_INCLUDE, SYNCOPATE_PUBLIC_INCLUDE, the folders of our headers. May have:
# SYNCOPATE_CLANG_PLUGINS, SYNCOPATE_GCC_PLUGINS: compilers' plugins but for their ending, MAJOR.so.

# What makes a compiler show every access to a machine. The same list is in the compiler wrapper
# (syncopate c++).
set(SYNCOPATE_INSTRUMENT_OPTIONS
  -fsanitize=thread
  # Copies and comparisons as calls, which the machine's library announces.
  -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -fno-builtin-memcmp
  -fno-builtin-bcmp -fno-builtin-bcopy -fno-builtin-bzero -fno-builtin-mempcpy
  -fno-builtin-strlen -fno-builtin-strcpy -fno-builtin-strcmp -fno-builtin-strncmp
  -fno-builtin-stpcpy -fno-builtin-strcat -fno-builtin-strncat -fno-builtin-strncpy
  -fno-builtin-sprintf -fno-builtin-snprintf
  -U_FORTIFY_SOURCE
  -D_GLIBCXX_EXTERN_TEMPLATE=0  # strings are instantiated, and so instrumented, in the program
  "SHELL:-include \"${SYNCOPATE_INSTRUMENT_INCLUDE}/syncopate/instrument/builtins.h\""
  -fno-omit-frame-pointer
  # A jump to the machine's function would give the access its caller's place in reports.
  -fno-optimize-sibling-calls
  -g)
set(SYNCOPATE_INSTRUMENT_OPTIONS_GNU
  "SHELL:--param tsan-instrument-func-entry-exit=0"
  "SHELL:--param tsan-distinguish-volatile=1"
  -Wno-tsan)
set(SYNCOPATE_INSTRUMENT_OPTIONS_CLANG
  "SHELL:-mllvm -tsan-instrument-func-entry-exit=0"
  "SHELL:-mllvm -tsan-distinguish-volatile=1"
  "SHELL:-mllvm -tsan-instrument-read-before-write=1"
  -mprefer-vector-width=128  # wider accesses are reported by a slower call, or not at all
  -mcx16)  # else 16-byte atomics are calls of libatomic, which no machine sees
# What the compiler's sanitizer leaves out a plugin of ours shows, where there is one.
function(syncopate_plugin target compiler plugins option)
  string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
  set(plugin "${plugins}${major}.so")
  if(CMAKE_CXX_COMPILER_ID STREQUAL compiler AND EXISTS "${plugin}")
    target_compile_options(${target} PRIVATE "${option}${plugin}" -DSYNCOPATE_STRUCTS_SEEN)
  endif()
endfunction()

# The explored machine has functions tell of their returns, to know which variables are gone: in
# targets with the property TELLS_RETURNS.
function(syncopate_instrument target)
  foreach(compiler GNU CLANG)
    string(REPLACE "entry-exit=0" "entry-exit=$<BOOL:$<TARGET_PROPERTY:TELLS_RETURNS>>"
      SYNCOPATE_INSTRUMENT_OPTIONS_${compiler} "${SYNCOPATE_INSTRUMENT_OPTIONS_${compiler}}")
  endforeach()
  target_compile_options(${target} PRIVATE ${SYNCOPATE_INSTRUMENT_OPTIONS}
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:${SYNCOPATE_INSTRUMENT_OPTIONS_GNU}>
    $<$<COMPILE_LANG_AND_ID:C,GNU>:${SYNCOPATE_INSTRUMENT_OPTIONS_GNU}>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:${SYNCOPATE_INSTRUMENT_OPTIONS_CLANG}>
    $<$<COMPILE_LANG_AND_ID:C,Clang>:${SYNCOPATE_INSTRUMENT_OPTIONS_CLANG}>)
  syncopate_plugin(${target} Clang "${SYNCOPATE_CLANG_PLUGINS}" -fpass-plugin=)
  # machine.h then asks the machine's library.
  target_include_directories(${target} BEFORE PRIVATE "${SYNCOPATE_INSTRUMENT_INCLUDE}")
  target_include_directories(${target} PRIVATE "${SYNCOPATE_PUBLIC_INCLUDE}")
endfunction()

# Compiles and links an executable for a machine: syncopate_target_machine(program simulated).
# Nothing is inlined in explored ones, as in what syncopate c++ makes: the variables of an inlined
# function are there until its caller returns, and who uses them later is not found. Executions take
# up to half as long again; SYNCOPATE_EXPLORED_INLINES, set to ON before, spares that.
function(syncopate_target_machine target machine)
  if(machine STREQUAL "explored")
    set_target_properties(${target} PROPERTIES TELLS_RETURNS ON)
  endif()
  syncopate_instrument(${target})
  if(NOT machine STREQUAL "simulated")  # whose results stay comparable
    syncopate_plugin(${target} GNU "${SYNCOPATE_GCC_PLUGINS}" -fplugin=)
    if(TARGET syncopate-gcc)
      target_compile_options(${target} PRIVATE -fplugin=$<TARGET_FILE:syncopate-gcc>
        -DSYNCOPATE_STRUCTS_SEEN)
      add_dependencies(${target} syncopate-gcc-linked)
    endif()
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fno-pie)
  target_link_options(${target} PRIVATE -no-pie)
  if(machine STREQUAL simulated)
    # Each block tells, so that loops without an access take time.
    set(kinds $<IF:$<COMPILE_LANG_AND_ID:C,Clang>,bb$<COMMA>no-prune$<COMMA>trace-pc,trace-pc>)
    string(REPLACE "<COMPILE_LANG_AND_ID:C," "<COMPILE_LANG_AND_ID:CXX," for_cxx "${kinds}")
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:C>:-fsanitize-coverage=${kinds}>"
      "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize-coverage=${for_cxx}>")
  endif()
  if(machine STREQUAL emulated)
    target_compile_options(${target} PRIVATE -fno-plt)  # nearly every access is a call
    target_link_options(${target} PRIVATE LINKER:-z,now)  # it redirects calls before main
  endif()
  if(machine STREQUAL explored)
    target_compile_options(${target} PRIVATE -fno-finite-loops)  # a wait for a plain flag stays a loop
    if(NOT SYNCOPATE_EXPLORED_INLINES)
      target_compile_options(${target} PRIVATE -fno-inline)
    endif()
    # What is bound at its first call is put back with the program's memory, before each execution.
    target_link_options(${target} PRIVATE LINKER:-z,now)
  endif()
  target_link_libraries(${target} PRIVATE syncopate::${machine})
endfunction()

# The compiler options in ARGN, some of them "SHELL:..." with several words, as the words of a
# command; a folder's name may have spaces.
function(syncopate_words_of_options result)
  set(words "")
  foreach(option IN LISTS ARGN)
    if(option MATCHES "^SHELL:(.*)$")
      separate_arguments(option UNIX_COMMAND "${CMAKE_MATCH_1}")
    endif()
    list(APPEND words ${option})
  endforeach()
  set(${result} "${words}" PARENT_SCOPE)
endfunction()
