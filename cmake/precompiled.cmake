# Headers that most files of a target read, parsed once: two thirds of the time of a small file. Preset gcc has none, so that
# a file that includes too little does not compile there.
set(POPRT_STANDARD_HEADERS <algorithm> <array> <cmath> <functional> <map> <memory> <mutex> <optional> <span> <string>
  <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)

# poprt_precompile(TARGET HEADER...)
function(poprt_precompile target)
  target_precompile_headers(${target} PRIVATE ${POPRT_STANDARD_HEADERS} ${ARGN})
endfunction()
