// EmbedLayerNormalization with quantised tables. Inputs: input_ids, segment_ids?, the word,
// position and segment? embeddings, gamma, beta (all u8 or s8), mask?, their five scales, their
// five zero points. Outputs: the normalised sum, the length of each row according to its mask.
#include "ops/common/expansion.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_qembed_layer_normalization_op {
namespace {

constexpr size_t kMask = 7;
// Table i has scale 6 + i and zero point 11 + i; word, position and segment are 2, 3 and 4.
constexpr size_t kScale = 6, kZero = 11;

void expand(Expansion& e) {
  const Shape ids = e.shape(0);
  e.check(ids.size() == 2, "input_ids must be [batch, sequence]");
  const auto real = [&](ir::Value* v, size_t table) {
    const auto one = [&](size_t i) {
      e.check(element_count(e.shape(i)) == 1, "scales and zero points must have one element");
      return e.reshape(e.in(i), {});
    };
    return e.dequantize(v, one(table + kScale), one(table + kZero));
  };
  const auto looked_up = [&](size_t table, size_t places, std::string_view what) {
    e.check(e.shape(table).size() == 2, "an embedding must have two dimensions");
    check_places(e.node, places, e.shape(table)[0], what);
    return real(e.add("Gather", {e.in(table), e.in(places)}), table);
  };
  ir::Value* sum = looked_up(2, 0, "input id");
  const int64_t hidden = e.shape(2)[1];
  e.check(e.shape(3).size() == 2 && e.shape(3)[1] == hidden,
          "the embeddings must have the same number of columns");
  ir::Value* position = e.reshape(e.slice(e.in(3), 0, 0, ids[1]), {1, ids[1], hidden});
  sum = e.add("Add", {sum, real(position, 3)});
  if (e.has(1) && e.has(4)) sum = e.add("Add", {sum, looked_up(4, 1, "segment id")});
  e.out(0, e.add("LayerNormalization", {sum, real(e.in(5), 5), real(e.in(6), 6)},
                 {{"epsilon", e.node.float_attr("epsilon", 1e-12f)}, {"axis", int64_t{-1}}}));
  if (!e.wants(1)) return;
  if (!e.has(kMask)) return e.out(1, e.constant(Tensor::zeros(DType::s32, {ids[0]})));
  e.out(1, e.newest("ReduceSum", {e.cast(e.in(kMask), DType::s32), e.ints({1})},
                    {{"keepdims", int64_t{0}}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qembed_layer_normalization_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qembed_layer_normalization_op, "com.microsoft",
                           "QEmbedLayerNormalization", expand,
                           .trial = {
                               "T[1,2]; _; u8[4,4]; u8[4,4]; _; u8[4]; u8[4]; _; f32[]; f32[]; "
                               "_; f32[]; f32[]; u8[]; u8[]; _; u8[]; u8[]"})
