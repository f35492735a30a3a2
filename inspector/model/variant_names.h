// Names of an executable's variants and IPUs from its opaque blobs.
//
// The blobs are for display only. They are not checked against the program, and unreadable parts
// are omitted. core/popef/FORMAT.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poprt::inspector {

// Names from blob `poprt.branches`: "graph0 bert" for fused models, "batch 1, sequence 64" for a
// model at several shapes. Empty if the blob has another form.
std::vector<std::string> variant_names(std::string_view variants);

// Shapes of an anchor in each bucket of a model at several shapes, such as "1×64". Empty if the
// blob does not have them.
std::vector<std::string> bucket_shapes(std::string_view variants, const std::string& anchor);

using TextRows = std::vector<std::pair<std::string, std::string>>;
// One row per variant.
TextRows variant_rows(std::string_view variants);
// Rows from blob `poprt.shards`: one per part that an IPU runs, and one per transfer between them.
TextRows shard_rows(std::string_view shards);

}  // namespace poprt::inspector
