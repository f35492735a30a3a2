#include "runtime/session/anchor_lookup.h"

#include "base/error.h"

namespace poprt::runtime {

size_t find_anchor(std::span<const program::Anchor> anchors, std::string_view name, size_t hint,
                   std::string_view direction) {
  if (hint < anchors.size() && anchors[hint].name == name) return hint;
  for (size_t i = 0; i < anchors.size(); i++)
    if (anchors[i].name == name) return i;
  std::string names;
  for (const program::Anchor& a : anchors)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", a.name);
  if (names.empty()) names = "none";
  fail(ErrorCode::not_found, "there is no {} '{}'; {}s are: {}", direction, name, direction, names);
}

void fail_wrong_size(const program::Anchor& anchor, uint64_t found, std::string_view direction) {
  fail(ErrorCode::invalid_argument, "{} '{}': expected {} bytes ({} {}), given {} bytes", direction,
       anchor.name, anchor.bytes(), dtype_name(anchor.dtype), shape_string(anchor.shape), found);
}

}  // namespace poprt::runtime
