# Headers that most files of a target include are precompiled because they take two thirds of the time of a small file.
# Preset gcc precompiles none, so that a file with missing includes does not compile there.
set(POPRT_STANDARD_HEADERS <algorithm> <array> <cmath> <functional> <map> <memory> <mutex> <optional> <span> <string>
  <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)

# poprt_precompile(TARGET HEADER...) precompiles POPRT_STANDARD_HEADERS and the given headers for the target. It writes
# a header that includes them because the header that CMake would generate has an old date: in an existing build folder,
# the precompiled header would not be rebuilt when the list changes, and the compiler would refuse it.
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
