# Libraries of modeled machines (simulated, explored) and of the emulated one, and programs that run
# on them.

# The front end knows one processor architecture (src/model/front/threads/arch.h).
set(SYNCOPATE_MODELED_MACHINES OFF)
if(SYNCOPATE_COMPONENTS STREQUAL "all" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(SYNCOPATE_MODELED_MACHINES ON)
endif()

set(SYNCOPATE_INSTRUMENT_DIR "${PROJECT_SOURCE_DIR}/src/model/front")

# What users get, too: the options of instrumented code, syncopate_target_machine().
set(SYNCOPATE_INSTRUMENT_INCLUDE "${SYNCOPATE_INSTRUMENT_DIR}/include")
set(SYNCOPATE_PUBLIC_INCLUDE "${PROJECT_SOURCE_DIR}/include")
include(SyncopateInstrument)
set(SYNCOPATE_EXPLORED_INLINES ON)  # our own checks are many, and name what they are about

# Code of a machine: not instrumented, seen from outside only where it says so. Sanitizers are not
# used: they cannot follow fibers, and the emulated machine is one itself.
function(syncopate_machine_code_options target)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra $<$<BOOL:${SYNCOPATE_WERROR}>:-Werror> $<$<CONFIG:Debug>:-O1>
    -fvisibility=hidden -mcx16 -fno-omit-frame-pointer)
endfunction()

# A machine with an engine: all its fibers share one OS thread, so that statics need no guards.
function(syncopate_machine_options target)
  syncopate_machine_code_options(${target})
  target_include_directories(${target} PRIVATE "${SYNCOPATE_INSTRUMENT_DIR}/threads/fibers")
  target_compile_options(${target} PRIVATE -fno-threadsafe-statics)
endfunction()

# Code of a machine's library that is the program's to the machine: it sees its accesses.
function(syncopate_simulated_code_options target)
  syncopate_instrument(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra $<$<BOOL:${SYNCOPATE_WERROR}>:-Werror> -fvisibility=hidden
    $<$<CONFIG:Debug>:-O1>)
endfunction()

# A machine's library holds memory of the program's: locks' nodes, the records of threads. The loader
# maps it where it is linked for if nothing is there, also under address randomization; so results do
# not depend on that (src/model/front/program/layout.h has the program's other memory). Nor on the
# size of the machine's code: the data have addresses of their own.
include(CheckLinkerFlag)
set(SYNCOPATE_MACHINE_ADDRESS "LINKER:-Ttext-segment=0x1c0000000000")
set(as_machines -shared -shared-libgcc)  # are linked
check_linker_flag(CXX "${as_machines};${SYNCOPATE_MACHINE_ADDRESS}" SYNCOPATE_LINKER_HAS_TEXT_SEGMENT)
if(NOT SYNCOPATE_LINKER_HAS_TEXT_SEGMENT)
  set(SYNCOPATE_MACHINE_ADDRESS "")
endif()
set(all_addresses
  "LINKER:-Ttext-segment=0x1c0000000000,-Tdata=0x1c0001000000,-Tbss=0x1c0001100ac0")
check_linker_flag(CXX "${as_machines};${all_addresses}" SYNCOPATE_LINKER_HAS_ALL_ADDRESSES)
if(SYNCOPATE_LINKER_HAS_ALL_ADDRESSES)
  set(SYNCOPATE_MACHINE_ADDRESS "${all_addresses}")
endif()

# lib/libsyncopate-NAME.so out of the front end and one engine.
#   syncopate_machine_library(NAME [PTHREAD algorithm|model] SOURCES ... [LIBRARIES ...])
# PTHREAD says what stands behind pthread's objects (src/model/front/pthread/objects.h); unless
# given, the algorithms.
function(syncopate_machine_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PTHREAD" "SOURCES;LIBRARIES")
  if(NOT arg_PTHREAD)
    set(arg_PTHREAD algorithm)
  endif()
  set(target syncopate-${name})
  add_library(${target} SHARED ${arg_UNPARSED_ARGUMENTS} ${arg_SOURCES}
    $<TARGET_OBJECTS:syncopate_instrument>
    $<TARGET_OBJECTS:syncopate_instrument_stl>
    $<TARGET_OBJECTS:syncopate_instrument_stl_threads>
    $<TARGET_OBJECTS:syncopate_pthread_names>
    $<TARGET_OBJECTS:syncopate_pthread_${arg_PTHREAD}>)
  add_library(syncopate::${name} ALIAS ${target})
  syncopate_machine_options(${target})
  target_link_libraries(${target} PRIVATE
    ${arg_LIBRARIES} syncopate_dw ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE ${SYNCOPATE_MACHINE_ADDRESS})
  syncopate_machine_product(${target} ${name})
endfunction()

# lib/libsyncopate-NAME.so of a machine with real threads: it has no engine, but its own version of
# the front end's seams (SEAM: the folder with access_seam.h and atomic_seam.h).
function(syncopate_real_machine_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SEAM" "SOURCES;LIBRARIES")
  set(target syncopate-${name})
  add_library(${target} SHARED ${arg_SOURCES} $<TARGET_OBJECTS:syncopate_instrument_stl>)
  add_library(syncopate::${name} ALIAS ${target})
  syncopate_machine_code_options(${target})
  target_include_directories(${target} PRIVATE "${arg_SEAM}")
  target_compile_definitions(${target} PRIVATE SYNCOPATE_REAL_THREADS)
  # A copy must not become a call of the function that it is in.
  target_compile_options(${target} PRIVATE -fno-builtin)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} syncopate_dw ${CMAKE_DL_LIBS})
  syncopate_machine_product(${target} ${name})
endfunction()

# Sources of the simulated machine and its front end (FOLDER/NAME.cpp, the last folder alone) for a
# test without the machine: as objects of its library, or in a build with sanitizers compiled for it.
function(syncopate_simulated_parts result)
  file(GLOB_RECURSE sources "${PROJECT_SOURCE_DIR}/src/base/*.cpp"
    "${SYNCOPATE_INSTRUMENT_DIR}/*.cpp" "${PROJECT_SOURCE_DIR}/src/model/simulated/*.cpp")
  list(JOIN ARGN "|" names)
  string(REPLACE "." "\\." names "/(${names})")
  list(FILTER sources INCLUDE REGEX "${names}$")
  list(LENGTH sources found)
  list(LENGTH ARGN wanted)
  if(NOT found EQUAL wanted)
    message(FATAL_ERROR "of ${ARGN} these exist: ${sources}")
  endif()
  if(TARGET syncopate-simulated AND NOT SYNCOPATE_SANITIZE)
    set(sources "")
    foreach(library syncopate-simulated syncopate_instrument)
      list(APPEND sources "$<FILTER:$<TARGET_OBJECTS:${library}>,INCLUDE,${names}>")
    endforeach()
  endif()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# What the libraries of all machines have in common.
function(syncopate_machine_product target name)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    LINK_DEPENDS "${SYNCOPATE_INSTRUMENT_DIR}/exports.map")
  # now: binding a name at its first use would need more stack than some have here. The C++ library
  # and the unwinder are the program's.
  target_link_options(${target} PRIVATE -shared-libgcc
    "LINKER:--version-script=${SYNCOPATE_INSTRUMENT_DIR}/exports.map"
    LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:-z,now LINKER:-z,nodelete
    LINKER:--no-undefined)
  syncopate_product(${target})
endfunction()
