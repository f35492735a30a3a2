// Inputs: key, query [B,S,C,H], value [B,S,H], key_norm_scale, query_norm_scale [C,H],
// conv_norm_scale? [C,H]. Outputs: gate * value [B,S,C,H], gated_value_normed?.
//
// gate = sigmoid(sign(dot) sqrt(max(|dot|, 1e-6))), where dot is the product of the normalised key
// and query divided by sqrt(H). The computation is in f32.
#include <cmath>

#include "ops/common/hyper_connection.h"

namespace poprt::ops::microsoft_engram_gate_op {
namespace {

constexpr double kLeast = 1e-6;  // of |dot|

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  e.check(x.size() == 4 && x[3] > 0 && e.shape(1) == x && e.shape(2) == Shape{x[0], x[1], x[3]},
          "key and query must be [B,S,C,H] and value [B,S,H]");
  const Shape scale = {x[2], x[3]};
  e.check(e.shape(3) == scale && e.shape(4) == scale, "the scales must be [C,H]");
  const float epsilon = e.node.float_attr("epsilon", 1e-5f);
  const auto normalised = [&](size_t i, size_t weight) {
    return rms_normalised(e, e.cast(e.in(i), DType::f32), e.in(weight), epsilon);
  };
  ir::Value* product = e.add("Mul", {normalised(0, 3), normalised(1, 4)});
  ir::Value* dot =
      e.scaled(e.newest("ReduceSum", {product, e.ints({3})}, {{"keepdims", int64_t{1}}}),
               1 / std::sqrt(static_cast<double>(x[3])));
  ir::Value* size = e.add("Max", {e.add("Abs", {dot}), e.number(DType::f32, kLeast)});
  ir::Value* gate =
      e.add("Sigmoid", {e.add("Mul", {e.newest("Sign", {dot}), e.add("Sqrt", {size})})});
  ir::Value* y =
      e.add("Mul", {gate, e.reshape(e.cast(e.in(2), DType::f32), {x[0], x[1], 1, x[3]})});
  e.out(0, e.cast(y, e.dtype(0)));
  if (!e.wants(1)) return;
  e.check(e.has(5) && e.shape(5) == scale,
          "output gated_value_normed requires input conv_norm_scale [C,H]");
  e.out(1, e.cast(rms_normalised(e, y, e.in(5), epsilon), e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_engram_gate_op

POPRT_EXPANSION_WITH_FACTS(microsoft_engram_gate_op, "com.microsoft", "EngramGate", expand,
                           .trial = {"T[1,2,2,4]; T[1,2,2,4]; T[1,2,4]; T[2,4]; T[2,4]"})
