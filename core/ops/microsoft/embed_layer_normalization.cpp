// Inputs: input_ids, segment_ids?, the word, position and segment? embeddings, gamma, beta, mask?,
// position_ids?. Outputs: the normalised sum of the embeddings, the length of each row according to
// its mask, and the sum.
#include "ops/common/dimension.h"
#include "ops/common/expansion.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_embed_layer_normalization_op {
namespace {

void expand(Expansion& e) {
  const Shape ids = e.shape(0);
  e.check(ids.size() == 2, "input_ids must be [batch, sequence]");
  const auto check_ids = [&](size_t id, size_t table, std::string_view what) {
    if (e.has(id) && e.has(table) && !e.shape(table).empty())
      check_places(e.node, id, e.shape(table)[0], what);
  };
  check_ids(0, 2, "input id");
  check_ids(1, 4, "segment id");
  check_ids(8, 3, "position id");
  ir::Value* sum = e.add("Gather", {e.in(2), e.in(0)});
  ir::Value* position =
      e.has(8) ? e.add("Gather", {e.in(3), e.in(8)})
               : e.reshape(e.slice(e.in(3), 0, 0, ids[1]), {1, ids[1], dimension(e, sum, 2)});
  sum = e.add("Add", {sum, position});
  if (e.has(1) && e.has(4)) sum = e.add("Add", {sum, e.add("Gather", {e.in(4), e.in(1)})});
  e.out(0, e.add("LayerNormalization", {sum, e.in(5), e.in(6)},
                 {{"epsilon", e.node.float_attr("epsilon", 1e-12f)}, {"axis", int64_t{-1}}}));
  e.out(2, sum);
  if (!e.wants(1)) return;
  if (!e.has(7)) return e.out(1, e.constant(Tensor::zeros(DType::s32, {ids[0]})));
  // The length is the number of ones in the mask. If the ones are leading, it equals the place of
  // the first zero.
  e.out(1, e.newest("ReduceSum", {e.cast(e.in(7), DType::s32), e.ints({1})},
                    {{"keepdims", int64_t{0}}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_embed_layer_normalization_op

POPRT_EXPANSION_WITH_FACTS(microsoft_embed_layer_normalization_op, "com.microsoft",
                           "EmbedLayerNormalization", expand,
                           .trial = {"s32[1,2]; _; T[4,4]; T[4,4]; _; T[4]; T[4]"})
