// Inputs: X, x_scale, x_zero_point, y_scale, y_zero_point.
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_global_average_pool_op {
namespace {

void expand(Expansion& e) {
  if (e.has(2)) check_one_type(e, 0, 2);
  const bool last = e.node.int_attr("channels_last", 0) != 0;
  const Shape x = e.shape(0);
  e.check(x.size() >= 3, "X has no spatial dimension");
  const int64_t channels = last ? x.back() : x[1];
  const auto* spatial = x.data() + (last ? 1 : 2);
  const int64_t pixels = element_count({spatial, x.size() - 2});
  e.check(pixels > 0 && pixels <= (1 << 23), "there must be 1 to 2^23 pixels");
  // The sum of bytes is exact; only the mean is computed in floats.
  ir::Value* bytes =
      e.reshape(e.in(0), last ? Shape{x[0], pixels, channels} : Shape{x[0] * channels, pixels, 1});
  Shape y(x.size(), 1);
  y[0] = x[0];
  y[last ? x.size() - 1 : 1] = channels;
  ir::Value* sums = e.reshape(e.add_node("SumBytes", "poprt", {bytes}, {}, 1)->output(), y);
  ir::Value* mean = e.scaled(e.cast(sums, DType::f32), 1 / static_cast<double>(pixels));
  if (e.has(2)) mean = e.add("Sub", {mean, e.cast(e.reshape(e.in(2), {}), DType::f32)});
  e.check(element_count(e.shape(1)) == 1, "x_scale must be one number");
  ir::Value* scale = e.cast(e.reshape(e.in(1), {}), DType::f32);
  set_quantized_result(e, e.add("Mul", {mean, scale}), 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_global_average_pool_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_global_average_pool_op, "com.microsoft",
                           "QLinearGlobalAveragePool", expand, .f32_inputs = ~0u,
                           .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]"})
