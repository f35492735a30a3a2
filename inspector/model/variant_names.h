// What the variants of an executable are called, and what its opaque blobs say of variants and
// IPUs.
//
// The blobs are for people: nothing here is checked against the program, and what cannot be read is
// left out (core/popef/FORMAT.md has them).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poprt::inspector {

// Of blob `poprt.branches`: "graph0 bert" of fused models, "batch 1, sequence 64" of a model at
// several shapes; empty when it is something else.
std::vector<std::string> variant_names(std::string_view variants);

// Shapes that an anchor has in each bucket of a model at several shapes, "1×64"; empty when the
// blob does not say.
std::vector<std::string> bucket_shapes(std::string_view variants, const std::string& anchor);

using TextRows = std::vector<std::pair<std::string, std::string>>;
// One row for each variant.
TextRows variant_rows(std::string_view variants);
// Of blob `poprt.shards`: one row for each part that an IPU runs, and for each transfer between
// them.
TextRows shard_rows(std::string_view shards);

}  // namespace poprt::inspector
