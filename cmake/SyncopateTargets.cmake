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
    LIBRARY_OUTPUT_DIRECTORY "${SYNCOPATE_PRODUCTS_DIR}/lib")
  syncopate_product_searches(${target} "..")
  syncopate_portable(${target})
endfunction()

# Where a product, UP from the prefix, looks for libraries: the same in the build as when installed.
# Else CMake makes room for the second path by colons behind the first, and an empty path is the
# folder in which a user happens to be.
function(syncopate_product_searches target up)
  set(searches "\$ORIGIN/${up}/lib" "\$ORIGIN/${up}/${CMAKE_INSTALL_LIBDIR}")
  list(REMOVE_DUPLICATES searches)
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "${searches}")
endfunction()

# In a build for other machines: what an older C library lacks.
function(syncopate_portable target)
  if(SYNCOPATE_PORTABLE)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/compat/old_glibc.c")
  endif()
endfunction()
