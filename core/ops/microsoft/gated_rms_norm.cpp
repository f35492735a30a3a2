// Inputs: X [.., H C], scale [C], gate with the shape of X. Each C elements of X are divided by
// their root mean square and multiplied by scale and by the activated gate. The computation is
// in f32.
#include "ops/common/dimension.h"

namespace poprt::ops::microsoft_gated_rms_norm_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  const int64_t columns = dimension(e, e.in(1), 0);
  e.check(!x.empty() && e.shape(1).size() == 1 && columns > 0 && x.back() % columns == 0,
          "scale must have one dimension that divides the last dimension of X");
  e.check(e.shape(2) == x, "gate must have the shape of X");
  const std::string activation = e.node.string_attr("activation", "silu");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "sigmoid")
    e.fail_unsupported("activation '{}', expected silu, swish or sigmoid", activation);
  ir::Value* y =
      e.add("SimplifiedLayerNormalization",
            {e.reshape(e.cast(e.in(0), DType::f32), {element_count(x) / columns, columns}),
             e.cast(e.in(1), DType::f32)},
            {{"epsilon", e.node.float_attr("epsilon", 1e-5f)}, {"axis", int64_t{-1}}});
  ir::Value* gate = e.cast(e.in(2), DType::f32);
  ir::Value* factor = e.add("Sigmoid", {gate});
  if (silu) factor = e.add("Mul", {gate, factor});
  e.out(0, e.cast(e.add("Mul", {e.reshape(y, x), factor}), e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_gated_rms_norm_op

POPRT_EXPANSION_WITH_FACTS(microsoft_gated_rms_norm_op, "com.microsoft", "GatedRMSNorm", expand,
                           .trial = {"T[4,4]; T[4]; T[4,4]"})
