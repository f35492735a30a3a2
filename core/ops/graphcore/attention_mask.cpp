// Inputs: mask [rows, length], reference?. The mask contains the numbers (1, 2, 3 ...) of the items
// that are packed into each row, and 0 where there is no item. Output: [rows, 1, length, length] of
// type dataType, to be added to attention scores. It is 0 where two places belong to one item, and
// -10000 elsewhere. PopART uses the reference for the layout only.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_attention_mask_op {
namespace {

constexpr double kMasked = -10000;

void expand(Expansion& e) {
  const std::string type = e.node.string_attr("dataType", "FLOAT");
  if (type != "FLOAT" && type != "FLOAT16")
    e.fail_input("dataType is '{}', expected FLOAT or FLOAT16", type);
  const Shape mask = e.shape(0);
  e.check(mask.size() == 2, "the mask must have two dimensions");
  ir::Value* of_query = e.reshape(e.in(0), {mask[0], 1, mask[1], 1});
  ir::Value* of_key = e.reshape(e.in(0), {mask[0], 1, 1, mask[1]});
  ir::Value* none = e.newest("Equal", {of_key, e.number(e.dtype(0), 0)});
  ir::Value* other = e.newest("Not", {e.newest("Equal", {of_query, of_key})});
  ir::Value* masked = e.cast(e.newest("Or", {other, none}), DType::f32);
  e.out(0, e.cast(e.scaled(masked, kMasked), type == "FLOAT" ? DType::f32 : DType::f16));
}

}  // namespace
}  // namespace poprt::ops::graphcore_attention_mask_op

POPRT_EXPANSION(graphcore_attention_mask_op, "ai.graphcore", "AttentionMask", expand)
