// Inputs: input [B,S,heads*size] or [B,heads,S,size], position_ids [3,B,S] (time, height and
// width), cos_cache, sin_cache. mrope_section states how many columns of the caches each of the
// three positions selects: in order (mrope_layout 0), or every third one (mrope_layout 1).
#include "ops/common/expansion.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_mrotary_embedding_op {
namespace {

constexpr int64_t kStreams = 3;

// The stream that selects each column.
std::vector<int64_t> streams_of(const Expansion& e, int64_t columns) {
  const std::vector<int64_t> section = e.node.ints_attr("mrope_section");
  e.check(section.size() == kStreams, "mrope_section must have three numbers");
  int64_t total = 0;
  for (const int64_t n : section) {
    e.check(n >= 0 && n <= columns, "mrope_section does not fit the columns of cos_cache");
    total += n;
  }
  e.check(total == columns, "the sum of mrope_section must be the number of columns of cos_cache");
  const int64_t layout = e.node.int_attr("mrope_layout", 0);
  if (layout != 0 && layout != 1) e.fail_unsupported("mrope_layout {}, expected 0 or 1", layout);
  std::vector<int64_t> streams;
  for (int64_t i = 0; i < columns; i++) {
    int64_t stream = 0;
    if (layout == 1)
      stream = i < kStreams * section[static_cast<size_t>(i % kStreams)] ? i % kStreams : 0;
    else
      stream = i < section[0] ? 0 : i < section[0] + section[1] ? 1 : 2;
    streams.push_back(stream);
  }
  return streams;
}

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const Shape x = e.shape(0), table = e.shape(2);
  e.check((x.size() == 3 || x.size() == 4) && table.size() == 2 && e.shape(3) == table,
          "input or the caches do not fit");
  const int64_t batch = x[0], tokens = x.size() == 3 ? x[1] : x[2], columns = table[1];
  const int64_t heads = n.int_attr("num_heads", 0), rotated = n.int_attr("rotary_embedding_dim", 0);
  e.check(x.size() == 4 || heads > 0, "num_heads is required for an input of three dimensions");
  e.check(e.shape(1) == Shape{kStreams, batch, tokens},
          "position_ids must be [3, batch, sequence]");
  check_places(n, 1, table[0], "position");
  // Gathers the rows of the three streams, interleaves their columns, and selects one stream for
  // each column.
  std::vector<int64_t> places = streams_of(e, columns);
  for (int64_t i = 0; i < columns; i++) places[static_cast<size_t>(i)] += i * kStreams;
  const auto selected = [&](size_t input) {
    ir::Value* rows = e.add("Gather", {e.in(input), e.in(1)});  // [3, B, S, columns]
    ir::Value* wide =
        e.reshape(e.transpose(rows, {1, 2, 3, 0}), {batch, tokens, columns * kStreams});
    ir::Value* v = e.add("Gather", {wide, e.ints(places)}, {{"axis", int64_t{2}}});
    return e.scaled(v, static_cast<double>(n.float_attr("scale", 1)));
  };
  e.out(0, e.newest("RotaryEmbedding", {e.in(0), selected(2), selected(3)},
                    {{"num_heads", heads},
                     {"rotary_embedding_dim", rotated},
                     {"interleaved", n.int_attr("interleaved", 0)}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_mrotary_embedding_op

POPRT_EXPANSION_WITH_FACTS(microsoft_mrotary_embedding_op, "com.microsoft", "MRotaryEmbedding",
                           expand,
                           .trial = {"T[1,4,4,4]; s64[3,1,4]; T[4,2]; T[4,2]",
                                     "mrope_section = [1, 1, 0]"})
