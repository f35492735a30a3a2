# Headers that most files of a target read, parsed once: two thirds of the time of a small file. Preset gcc has none, so that
# a file that includes too little does not compile there.
set(POPRT_STANDARD_HEADERS <algorithm> <array> <cmath> <functional> <map> <memory> <mutex> <optional> <span> <string>
  <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)

# poprt_precompile(TARGET HEADER...). The list is written into a header of ours, since CMake gives its own header an old date:
# in a build folder that is there already, the precompiled one was not made again when the list changed, and the compiler refused it.
function(poprt_precompile target)
  set(lines "")
  foreach(header ${POPRT_STANDARD_HEADERS} ${ARGN})
    if(NOT header MATCHES "^<")
      cmake_path(ABSOLUTE_PATH header NORMALIZE)
      set(header "\"${header}\"")
    endif()
    string(APPEND lines "#include ${header}\n")
  endforeach()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/precompiled/${target}.h)
  file(CONFIGURE OUTPUT ${list} CONTENT "#pragma once\n${lines}" @ONLY)
  target_precompile_headers(${target} PRIVATE ${list})
endfunction()
