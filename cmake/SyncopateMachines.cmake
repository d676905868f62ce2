# Libraries of modeled machines (simulated, explored), and programs that run on them.

# The front end knows one processor architecture (src/instrument/arch.h).
set(SYNCOPATE_MODELED_MACHINES OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(SYNCOPATE_MODELED_MACHINES ON)
endif()

set(SYNCOPATE_INSTRUMENT_DIR "${PROJECT_SOURCE_DIR}/src/instrument")

# What users get, too: the options of instrumented code, syncopate_target_machine().
set(SYNCOPATE_INSTRUMENT_INCLUDE "${SYNCOPATE_INSTRUMENT_DIR}/include")
set(SYNCOPATE_PUBLIC_INCLUDE "${PROJECT_SOURCE_DIR}/include")
include(SyncopateInstrument)

# Code of a machine: not instrumented, seen from outside only where it says so. All its fibers share
# one OS thread, so that statics need no guards. Sanitizers cannot follow fibers and are not used.
function(syncopate_machine_options target)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra $<$<BOOL:${SYNCOPATE_WERROR}>:-Werror> $<$<CONFIG:Debug>:-O1>
    -fvisibility=hidden -fno-threadsafe-statics -mcx16 -fno-omit-frame-pointer)
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
# not depend on that (src/instrument/layout.h has the program's other memory).
include(CheckLinkerFlag)
set(SYNCOPATE_MACHINE_ADDRESS "LINKER:-Ttext-segment=0x1c0000000000")
check_linker_flag(CXX "${SYNCOPATE_MACHINE_ADDRESS}" SYNCOPATE_LINKER_HAS_TEXT_SEGMENT)
if(NOT SYNCOPATE_LINKER_HAS_TEXT_SEGMENT)
  set(SYNCOPATE_MACHINE_ADDRESS "")
endif()

# lib/libsyncopate-NAME.so out of the front end and one engine.
#   syncopate_machine_library(NAME [PTHREAD algorithm|model] SOURCES ... [LIBRARIES ...])
# PTHREAD says what stands behind pthread's objects (src/instrument/pthread/objects.h); unless given,
# the algorithms.
function(syncopate_machine_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PTHREAD" "SOURCES;LIBRARIES")
  if(NOT arg_PTHREAD)
    set(arg_PTHREAD algorithm)
  endif()
  find_library(SYNCOPATE_BOOST_CONTEXT NAMES libboost_context.a boost_context REQUIRED)
  set(target syncopate-${name})
  add_library(${target} SHARED ${arg_UNPARSED_ARGUMENTS} ${arg_SOURCES}
    $<TARGET_OBJECTS:syncopate_instrument>
    $<TARGET_OBJECTS:syncopate_instrument_stl>
    $<TARGET_OBJECTS:syncopate_pthread_names>
    $<TARGET_OBJECTS:syncopate_pthread_${arg_PTHREAD}>)
  add_library(syncopate::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  syncopate_machine_options(${target})
  target_link_libraries(${target} PRIVATE
    ${arg_LIBRARIES} "${SYNCOPATE_BOOST_CONTEXT}" PkgConfig::LIBDW ${CMAKE_DL_LIBS})
  # now: binding a name at its first use would need more stack than some have here.
  target_link_options(${target} PRIVATE
    ${SYNCOPATE_MACHINE_ADDRESS}
    "LINKER:--version-script=${SYNCOPATE_INSTRUMENT_DIR}/exports.map"
    LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:-z,now LINKER:-z,nodelete
    LINKER:--no-undefined)
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS "${SYNCOPATE_INSTRUMENT_DIR}/exports.map")
  syncopate_product(${target})
endfunction()
