# libpoprt.a: the runtime for programs that load no shared library of poprt (pkg-config poprt-static). The archive has one
# object with the objects of libpoprt.so and of the static libraries that it uses. Only the functions of the C ABI are
# global in it, so a program may use its own fmt, spdlog and zstd in other versions.
find_program(POPRT_GNU_LD NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-ld ld.bfd)
find_program(POPRT_GNU_OBJCOPY NAMES ${CMAKE_LIBRARY_ARCHITECTURE}-objcopy objcopy)
if(POPRT_SANITIZE OR NOT POPRT_GNU_LD OR NOT POPRT_GNU_OBJCOPY)
  return()
endif()
set(POPRT_STATIC_LIBRARY ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY})
if(NOT POPRT_STATIC_LIBRARY)
  set(POPRT_STATIC_LIBRARY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
endif()
string(APPEND POPRT_STATIC_LIBRARY /libpoprt.a)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS poprt.map)
file(STRINGS poprt.map symbols REGEX "^ +poprt_[a-z0-9_]+;")
list(TRANSFORM symbols REPLACE "[ ;]" "")
list(FILTER symbols EXCLUDE REGEX "^poprt_private_")  # for poprt_exec only
list(JOIN symbols "\n" symbols)
file(CONFIGURE OUTPUT static_symbols.txt CONTENT "${symbols}\n" @ONLY)

set(archives poprt_fmt poprt_spdlog)
set(layers generate runtime)
foreach(line ${POPRT_LAYERS})
  string(REGEX MATCH "^([a-z]+):([a-z ]*)" _ "${line}")
  separate_arguments(uses UNIX_COMMAND "${CMAKE_MATCH_2}")
  if(CMAKE_MATCH_1 STREQUAL "generate" OR CMAKE_MATCH_1 STREQUAL "runtime")
    list(APPEND layers ${uses})
  endif()
endforeach()
list(APPEND layers kernels plugins codecs)  # those of the device and of PopEF
list(REMOVE_DUPLICATES layers)
foreach(layer ${layers})
  list(APPEND archives poprt_${layer})
endforeach()
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archive_files)

set(object ${CMAKE_CURRENT_BINARY_DIR}/libpoprt.o)
add_custom_command(OUTPUT ${POPRT_STATIC_LIBRARY}
  # --force-group-allocation: inline functions are local afterwards, so they must not be members of groups, of which the
  # linker of the program keeps one.
  COMMAND ${POPRT_GNU_LD} -r --force-group-allocation -o ${object} "$<FILTER:$<TARGET_OBJECTS:poprt>,INCLUDE,\\.o$>"
          --start-group ${archive_files} ${ZSTD_STATIC_LIBRARY} --end-group
  COMMAND ${POPRT_GNU_OBJCOPY} --keep-global-symbols=${CMAKE_CURRENT_BINARY_DIR}/static_symbols.txt --strip-debug
          --remove-section=.comment ${object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${POPRT_STATIC_LIBRARY}
  COMMAND ${CMAKE_AR} rcsD ${POPRT_STATIC_LIBRARY} ${object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${object}
  DEPENDS poprt ${archives} ${CMAKE_CURRENT_BINARY_DIR}/static_symbols.txt
  COMMENT "libpoprt.a" COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(poprt_static ALL DEPENDS ${POPRT_STATIC_LIBRARY})
