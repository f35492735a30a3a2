// Inputs: streams [.., C, H], or [.., C H] with num_branches C; pre_mix [.., C], [.., C, 1],
// [.., C, H] or [.., C H]. The output [.., H] is reduction_scale times the sum of the streams times
// their gates. The computation is in f32.
#include "ops/common/hyper_connection.h"

namespace poprt::ops::microsoft_hyper_connection_pre_mix_op {
namespace {

void expand(Expansion& e) {
  const Shape grouped = grouped_streams(e, e.shape(0));
  const auto axis = static_cast<int64_t>(grouped.size()) - 2;
  ir::Value* x = e.reshape(e.cast(e.in(0), DType::f32), grouped);
  ir::Value* gates = e.cast(grouped_gates(e, e.in(1), grouped), DType::f32);
  ir::Value* y =
      e.newest("ReduceSum", {e.add("Mul", {x, gates}), e.ints({axis})}, {{"keepdims", int64_t{0}}});
  y = e.scaled(y, static_cast<double>(e.node.float_attr("reduction_scale", 1)));
  e.out(0, e.cast(y, e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_hyper_connection_pre_mix_op

POPRT_EXPANSION_WITH_FACTS(microsoft_hyper_connection_pre_mix_op, "com.microsoft",
                           "HyperConnectionPreMix", expand, .trial = {"T[4,2,4]; T[4,2]"})
