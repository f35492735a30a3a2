// Inputs: input, weights [I, q+k+v columns], bias?, mask_index?, past?, attention_bias?
#include "ops/common/contrib_attention.h"

namespace poprt::ops::microsoft_attention_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0), w = e.shape(1);
  e.check(x.size() == 3 && w.size() == 2 && w[0] == x[2], "input or weights do not fit");
  const auto sizes = e.node.ints_attr("qkv_hidden_sizes", {w[1] / 3, w[1] / 3, w[1] / 3});
  e.check(sizes.size() == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && sizes[0] < w[1] &&
              sizes[1] < w[1] && sizes[0] + sizes[1] + sizes[2] == w[1],
          "qkv_hidden_sizes do not add up to the number of columns of weights");
  ir::Value* qkv = e.add("MatMul", {e.in(0), e.in(1)});
  if (e.has(2)) qkv = e.add("Add", {qkv, e.in(2)});
  attend_projected(e, qkv, {sizes[0], sizes[1], sizes[2]}, e.in_or_null(3), e.in_or_null(4),
                   e.in_or_null(5));
}

}  // namespace
}  // namespace poprt::ops::microsoft_attention_op

POPRT_EXPANSION_WITH_FACTS(microsoft_attention_op, "com.microsoft", "Attention", expand,
                           .trial = {"T[1,2,4]; T[4,12]", "num_heads = 2"})
