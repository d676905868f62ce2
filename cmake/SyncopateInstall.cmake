# cmake --install: headers, libraries, syncopate-native, pkg-config file, find_package() files.
# Four components: `runtime` is what running programs needs, `machines` what compiling and running
# them for modeled machines needs (the Python wheel holds both), `development` what compiling against
# the library needs, `command` the command line with its manual pages and completions.
install(TARGETS syncopate syncopate-pthread syncopate-native syncopate_headers
  EXPORT syncopateTargets
  RUNTIME COMPONENT runtime
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  FILE_SET HEADERS COMPONENT development)
if(TARGET syncopate-openmp)
  install(TARGETS syncopate-openmp LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
endif()
if(TARGET syncopate-jvm)
  install(TARGETS syncopate-jvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
endif()
if(TARGET syncopate-names)
  install(TARGETS syncopate-names RUNTIME COMPONENT runtime)
endif()
install(FILES
  "${SYNCOPATE_PRODUCTS_DIR}/share/syncopate/locks.json"
  "${SYNCOPATE_PRODUCTS_DIR}/share/syncopate/options.json"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/syncopate COMPONENT runtime)

set(SYNCOPATE_INSTRUMENTED_DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/syncopate-instrumented")
if(SYNCOPATE_MODELED_MACHINES)
  install(TARGETS syncopate-simulated syncopate-explored syncopate-emulated EXPORT syncopateTargets
    LIBRARY COMPONENT machines)
  foreach(plugin syncopate-clang syncopate-gcc)
    if(TARGET ${plugin})
      install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT machines)
    endif()
  endforeach()
  install(DIRECTORY "${SYNCOPATE_INSTRUMENT_INCLUDE}/"
    DESTINATION "${SYNCOPATE_INSTRUMENTED_DESTINATION}" COMPONENT machines)
  # Again, for those who install this component alone.
  install(DIRECTORY "${SYNCOPATE_PUBLIC_INCLUDE}/"
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT machines)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/machines"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/syncopate COMPONENT machines
    FILES_MATCHING PATTERN "*.toml")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/check"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/syncopate COMPONENT machines
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.toml")
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/syncopate")
install(EXPORT syncopateTargets NAMESPACE syncopate:: DESTINATION "${package_dir}"
  COMPONENT development)
configure_package_config_file(cmake/syncopateConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/syncopateConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS SYNCOPATE_INSTRUMENTED_DESTINATION CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/syncopateConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/syncopateConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/syncopateConfigVersion.cmake"
  cmake/SyncopateInstrument.cmake
  DESTINATION "${package_dir}" COMPONENT development)

# The file finds its prefix from where it lies, so that an installation can be moved.
file(RELATIVE_PATH SYNCOPATE_PC_TO_PREFIX
  "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/syncopate.pc.in syncopate.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/syncopate.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The command line: the launcher, and the Python command behind it, for the first Python that has
# what tables are printed with.
install(TARGETS syncopate-launcher RUNTIME COMPONENT command)
if(SKBUILD)  # in a wheel the Python command is beside it, as pyproject.toml says
  install(TARGETS syncopate-launcher RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT runtime)
endif()
install(CODE "
  set(python \"\$ENV{SYNCOPATE_INSTALL_PYTHON}\")
  foreach(candidate /usr/bin/python3 python3 \"${SYNCOPATE_PYTHON}\")
    if(NOT python)
      execute_process(COMMAND \"\${candidate}\" -I -c \"import rich, sys; print(sys.executable)\"
        RESULT_VARIABLE failed OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(failed EQUAL 0)
        set(python \"\${found}\")
      endif()
    endif()
  endforeach()
  if(NOT python)
    message(FATAL_ERROR \"no Python here has the package rich: install python3-rich\")
  endif()
  execute_process(
    COMMAND \"${PROJECT_SOURCE_DIR}/scripts/package/command_line.sh\"
      \"${SYNCOPATE_PRODUCTS_DIR}/bin/syncopate\" \"\${python}\"
      \"\${CMAKE_INSTALL_PREFIX}\" \"${CMAKE_INSTALL_LIBDIR}\"
    RESULT_VARIABLE failed OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR \"the command line could not be installed\")
  endif()
  string(REPLACE \"\\n\" \";\" files \"\${files}\")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${files})
" COMPONENT command)
