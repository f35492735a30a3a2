// Inputs: input [B,S,heads*size] or [B,heads,S,size], position_ids [1] (of the first token) or
// [B,S], cos_cache, sin_cache.
#include "ops/common/expansion.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_rotary_embedding_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const Shape x = e.shape(0), table = e.shape(2);
  e.check((x.size() == 3 || x.size() == 4) && table.size() == 2, "input or cos_cache do not fit");
  if (n.int_attr("is_packed_batching", 0)) e.fail_unsupported("is_packed_batching");
  if (n.float_attr("scale", 1) != 1) e.fail_unsupported("scale {}", n.float_attr("scale", 1));
  const int64_t batch = x[0], tokens = x.size() == 3 ? x[1] : x[2];
  int64_t heads = n.int_attr("num_heads", 0);
  const int64_t rotated = n.int_attr("rotary_embedding_dim", 0);
  if (x.size() == 3 && heads == 0) {
    e.check(rotated == 0 && table[1] > 0 && x[2] % (2 * table[1]) == 0, "num_heads is required");
    heads = x[2] / (2 * table[1]);
  }
  ir::Value* positions = e.cast(e.in(1), DType::s64);
  if (e.shape(1) == Shape{batch, tokens}) {
    check_places(n, 1, table[0], "position");
  } else {
    e.check(element_count(e.shape(1)) == 1, "position_ids must be [1] or [batch, sequence]");
    e.check(tokens <= table[0], "cos_cache has fewer rows than there are tokens");
    check_lengths(n, 1, table[0] - tokens, "position of the first token");
    positions = e.expand(
        e.add("Add", {e.reshape(positions, {1, 1}), e.reshape(e.iota(tokens), {1, tokens})}),
        {batch, tokens});
  }
  e.out(0, e.newest("RotaryEmbedding", {e.in(0), e.in(2), e.in(3), positions},
                    {{"num_heads", heads},
                     {"rotary_embedding_dim", rotated},
                     {"interleaved", n.int_attr("interleaved", 0)}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_rotary_embedding_op

POPRT_EXPANSION_WITH_FACTS(microsoft_rotary_embedding_op, "com.microsoft", "RotaryEmbedding",
                           expand, .trial = {"T[1,4,4,4]; s64[1] = [0]; T[4,2]; T[4,2]"})
