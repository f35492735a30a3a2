# poprt_name_no_folder(FILE...) removes the folder of the source tree from the file names in assertions and lines of the
# log. Other files do not need the flag, and without it ccache shares their objects between all trees. If sources are
# compiled as one, poprt_unity sets the flag for all of them, because a source with its own options would be compiled
# separately.
function(poprt_name_no_folder)
  if(POPRT_UNITY)
    return()
  endif()
  foreach(source ${ARGN})
    file(STRINGS ${source} names_itself REGEX "POPRT_ASSERT|log\\(\\)" LIMIT_COUNT 1)
    if(names_itself)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    endif()
  endforeach()
endfunction()

# Flags of poprt's own targets. Warnings are errors in these targets only.
add_library(poprt_flags INTERFACE)
target_compile_options(poprt_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers -fno-math-errno
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside the standard library and fmt at -O2. The exception is psabi, which reports types that
  # other versions of GCC pass differently.
  target_compile_options(poprt_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow
    -Wno-array-bounds -Wno-restrict -Wno-dangling-pointer -Wno-psabi)
endif()
if(POPRT_SANITIZE)
  add_compile_options(-fsanitize=${POPRT_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${POPRT_SANITIZE})
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")  # C programs link poprt's libraries, which need the runtimes of C++
    add_link_options($<$<LINK_LANGUAGE:C>:-fsanitize-link-c++-runtime>)
    link_libraries($<$<LINK_LANGUAGE:C>:stdc++>)
  endif()
  if(POPRT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
