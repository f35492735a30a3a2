#include "ops/common/signal_window.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/onnx_dtype.h"
#include "ops/common/constant_result.h"

namespace poprt::ops {

// The compiler creates the values, so their number is limited.
constexpr int64_t kMaxSize = 1 << 26;

void infer_signal_window(InferContext& ctx) {
  const auto dtype = dtype_from_onnx(ctx.node.int_attr("output_datatype", 1));
  if (!dtype) ctx.fail_unsupported("output_datatype {}", ctx.node.int_attr("output_datatype", 1));
  const auto size = ctx.ints(0);
  if (!size) return ctx.out(0, *dtype, {kUnknownDim});
  if (size->size() != 1 || size->at(0) < 0 || size->at(0) > kMaxSize)
    ctx.fail_input("the size must be one number from 0 to {}", kMaxSize);
  ctx.out(0, *dtype, {size->at(0)});
}

void lower_signal_window(LowerContext& ctx, double a0, double a1, double a2) {
  if (!ctx.constant(0)) ctx.fail_unsupported("the size must be constant");
  const int64_t n = ctx.out_shape()[0];
  const bool periodic = ctx.node.int_attr("periodic", 1) != 0;
  const double period = static_cast<double>(std::max<int64_t>(periodic ? n : n - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < n; i++) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  emit_constant(ctx, 0, values);
}

}  // namespace poprt::ops
