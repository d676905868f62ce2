# How tests are found: by folder. A new source file is a new test; no list needs an entry.

# What no test may take, in seconds, waits for a processor aside. Past it tests/deadline ends the
# test and tells what its threads wait for; ctest's own TIMEOUT, which tells nothing, is for what
# escapes that.
set(SYNCOPATE_TEST_SECONDS 60 CACHE STRING "Seconds after which a test that hangs is ended")

set(SYNCOPATE_DEADLINE "${CMAKE_BINARY_DIR}/tests/deadline")

# As add_test(NAME name COMMAND ...), for a test that ends within SYNCOPATE_TEST_SECONDS.
function(syncopate_add_test keyword name command_keyword program)
  if(NOT "${keyword};${command_keyword}" STREQUAL "NAME;COMMAND")
    message(FATAL_ERROR "syncopate_add_test(NAME name COMMAND ...), not ${ARGV}")
  endif()
  if(TARGET "${program}")
    add_dependencies("${program}" test_deadline)
    set(program "$<TARGET_FILE:${program}>")
  endif()
  # One argument at a time: a list in an argument stays one argument.
  set(arguments "")
  foreach(index RANGE 4 ${ARGC})
    if(index LESS ARGC)
      string(APPEND arguments " [==[${ARGV${index}}]==]")
    endif()
  endforeach()
  cmake_language(EVAL CODE "add_test(NAME [==[${name}]==]
    COMMAND [==[${SYNCOPATE_DEADLINE}/deadline]==] ${SYNCOPATE_TEST_SECONDS} [==[${program}]==]${arguments})")
endfunction()

# What puts a library into a test's programs: entries for the property ENVIRONMENT. The loader cannot
# be told a path with a blank; it then finds the library by its name.
function(syncopate_preloading result target)
  set(folders "${SYNCOPATE_PRODUCTS_DIR}/${CMAKE_BINARY_DIR}")
  if(folders MATCHES "[:;]")
    message(FATAL_ERROR "LD_PRELOAD cannot name ${SYNCOPATE_PRODUCTS_DIR}: build in a folder without : and ;")
  endif()
  set(entries "LD_PRELOAD=$<TARGET_FILE:${target}>")
  if(folders MATCHES " ")
    set(entries "LD_PRELOAD=$<TARGET_SONAME_FILE_NAME:${target}>"
      "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:${target}>")
  endif()
  set(${result} "${entries}" PARENT_SCOPE)
endfunction()

# As gtest_discover_tests(target ...), each test within SYNCOPATE_TEST_SECONDS.
function(syncopate_discover_tests target)
  include(GoogleTest)
  # The property by which CMake knows of a program that runs another one.
  set_target_properties(${target} PROPERTIES
    CROSSCOMPILING_EMULATOR "${SYNCOPATE_DEADLINE}/deadline;${SYNCOPATE_TEST_SECONDS}")
  add_dependencies(${target} test_deadline)
  gtest_discover_tests(${target} ${ARGN})
endfunction()

# Adds one GoogleTest program of all *.cpp files of the calling folder, one ctest per test case.
function(syncopate_gtest_folder name)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  if(NOT sources)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(test_${name} PRIVATE syncopate syncopate_record GTest::gtest GTest::gtest_main)
  syncopate_compile_options(test_${name})
  syncopate_discover_tests(test_${name}
    TEST_PREFIX ${name}.
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    # The option matters under the thread sanitizer alone: children of fork start threads.
    PROPERTIES LABELS ${name} TIMEOUT 1200 ENVIRONMENT TSAN_OPTIONS=die_after_fork=0)
endfunction()

# The Python interpreter that runs the tests: the build folder's virtual environment where setup
# has made one.
function(syncopate_find_python result)
  set(venv_python "${PROJECT_SOURCE_DIR}/build/venv/bin/python")
  if(EXISTS "${venv_python}")
    set(${result} "${venv_python}" PARENT_SCOPE)
  else()
    # The first that has what tables are printed with.
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    foreach(candidate "${Python3_EXECUTABLE}" /usr/bin/python3)
      execute_process(COMMAND "${candidate}" -c "import rich" RESULT_VARIABLE failed ERROR_QUIET)
      if(failed EQUAL 0)
        set(${result} "${candidate}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
    set(${result} "${Python3_EXECUTABLE}" PARENT_SCOPE)
  endif()
endfunction()

# Adds the calling folder's pytest files as one ctest, and those marked `long`, with what
# tests/crossed.py makes long, as another one.
function(syncopate_pytest_folder name)
  file(GLOB sources CONFIGURE_DEPENDS test_*.py)
  if(NOT sources)
    return()
  endif()
  syncopate_find_python(python)
  set(command "${python}" -m pytest -q -p left_processes -p crossed -c "${PROJECT_SOURCE_DIR}/pyproject.toml"
      --rootdir "${PROJECT_SOURCE_DIR}" ${sources})
  set(environment
    "SYNCOPATE_NATIVE=${SYNCOPATE_PRODUCTS_DIR}"
    "PYTHONPATH=${PROJECT_SOURCE_DIR}:${PROJECT_SOURCE_DIR}/tests"
    "PYTHONDONTWRITEBYTECODE=" "PYTHONPYCACHEPREFIX=${CMAKE_BINARY_DIR}/pycache"
    "SYNCOPATE_BUILD_DIR=${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${command} --timeout 180 -m "not long")
  # pytest ends each of the tests that hangs; all of a folder together may take long on one processor.
  # They begin before the others (COST), so that at the end no processor is without work beside one.
  set_tests_properties(${name} PROPERTIES
    LABELS ${name} ENVIRONMENT "${environment}" TIMEOUT 3600 COST 100)

  set(any_long FALSE)
  foreach(source IN LISTS sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" marks REGEX "pytest\\.mark\\.(long|crossed|sampled)")
    if(marks)
      set(any_long TRUE)
    endif()
  endforeach()
  if(any_long)
    # All of a folder together take hours on a machine that does other work.
    add_test(NAME ${name}.long COMMAND ${command} --timeout 1800 -m long)
    set_tests_properties(${name}.long PROPERTIES
      LABELS "${name};long" ENVIRONMENT "${environment}" TIMEOUT 43200)
  endif()
endfunction()
