# Read by ctest with the tests: one test for each program and each pair of lock and waiting strategy
# that the preload library's own list offers to programs. `make check` has each program under `auto`,
# under the C library's, and under every second other lock with its default waiting; which, differs
# between programs. `make check-all` has all (label long).
#   POSIX_LOCKS     locks.json
#   POSIX_PRELOADED what puts the preload library into a program's environment
#   POSIX_DEADLINE  what ends a test that hangs, after POSIX_SECONDS
#   POSIX_PROGRAMS  NAME=PATH ...
if(NOT EXISTS "${POSIX_LOCKS}")
  message(FATAL_ERROR "${POSIX_LOCKS} is missing: build first")
endif()
file(READ "${POSIX_LOCKS}" posix_json)
string(JSON posix_count LENGTH "${posix_json}")
math(EXPR posix_last "${posix_count} - 1")
set(posix_pairs "")
foreach(index RANGE ${posix_last})
  string(JSON offered GET "${posix_json}" ${index} preload)
  if(offered)
    string(JSON lock GET "${posix_json}" ${index} name)
    string(JSON default GET "${posix_json}" ${index} default_wait)
    string(JSON waits LENGTH "${posix_json}" ${index} preload_waits)
    list(APPEND posix_pairs "${lock}")
    if(waits GREATER 0)
      math(EXPR last_wait "${waits} - 1")
      foreach(which RANGE ${last_wait})
        string(JSON wait GET "${posix_json}" ${index} preload_waits ${which})
        if(NOT wait STREQUAL default)
          list(APPEND posix_pairs "${lock}:${wait}")
        endif()
      endforeach()
    endif()
  endif()
endforeach()

# Passing through to glibc is no lock of ours, and offered like one.
list(APPEND posix_pairs glibc)
list(REMOVE_DUPLICATES posix_pairs)

set(posix_turn 0)
foreach(pair IN LISTS posix_pairs)
  string(REPLACE ":" "_" name "${pair}")
  if(pair STREQUAL "glibc")
    set(name pass_through)
  endif()
  set(labels posix)
  set(seconds ${POSIX_SECONDS})
  if(pair MATCHES ":")
    set(labels posix long)
    set(seconds 600)  # waiting that keeps the processor starves who has the lock
  endif()
  math(EXPR limit "2 * ${seconds}")
  if(NOT pair MATCHES ":")
    math(EXPR posix_turn "1 - ${posix_turn}")
  endif()
  set(posix_long ${posix_turn})
  # The program's own watchdog counts also the time in which nobody gives it a processor.
  math(EXPR watchdog "${limit} - 10")
  foreach(program IN LISTS POSIX_PROGRAMS)
    math(EXPR posix_long "1 - ${posix_long}")
    set(posix_labels ${labels})
    if(posix_long AND NOT name MATCHES "^(auto|pass_through)$")
      set(posix_labels posix long)
    endif()
    string(REGEX MATCH "^([^=]+)=(.*)$" program "${program}")
    set(test "posix.${name}.${CMAKE_MATCH_1}")
    add_test("${test}" "${POSIX_DEADLINE}" ${seconds} "${CMAKE_MATCH_2}")
    set_tests_properties("${test}" PROPERTIES LABELS "${posix_labels}" TIMEOUT ${limit}
      ENVIRONMENT "${POSIX_PRELOADED};CHECK_SECONDS=${watchdog};SYNCOPATE_LOCK=${pair}")
  endforeach()
endforeach()
