# Compile options and output folders shared by all targets.

# Warnings, sanitizers and coverage for ordinary code: the library, tools, tests.
function(syncopate_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(SYNCOPATE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SYNCOPATE_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${SYNCOPATE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${SYNCOPATE_SANITIZE})
    if(SYNCOPATE_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC tells of every fence that this sanitizer does not see; that is no reason to fail.
      target_compile_options(${target} PRIVATE -Wno-error=tsan)
    endif()
  endif()
  if(SYNCOPATE_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# A product: something that users get. Products are collected below one prefix, in the same
# folders as an installation has, so that the command line finds them alike in both.
function(syncopate_product target)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${SYNCOPATE_PRODUCTS_DIR}/bin"
    LIBRARY_OUTPUT_DIRECTORY "${SYNCOPATE_PRODUCTS_DIR}/lib"
    BUILD_RPATH_USE_ORIGIN ON
    INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  syncopate_portable(${target})
endfunction()

# In a build for other machines: what an older C library lacks.
function(syncopate_portable target)
  if(SYNCOPATE_PORTABLE)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/compat/old_glibc.c")
  endif()
endfunction()
