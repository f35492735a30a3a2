#include "ops/common/packed_bias.h"

namespace poprt::ops {
namespace {

struct PaddedBias {
  size_t n;
  float scale;
  bool operator==(const PaddedBias&) const = default;
  void operator()(program::WeightForm::Sources sources, program::WeightForm::Bytes to) const {
    const auto from = sources[0].values<float>();
    const auto floats = program::as_array<float>(to);
    for (size_t i = 0; i < floats.size(); i++)
      floats[i] = i < n ? from[from.size() == 1 ? 0 : i] * scale : 0.0f;
  }
};

}  // namespace

program::BufferId pack_bias(LowerContext& ctx, const Tensor& bias, int64_t n, int64_t padded,
                            float scale) {
  if (bias.dtype() != DType::f32 || n > padded || (bias.count() != 1 && bias.count() != n))
    fail(ErrorCode::invalid_argument, "{}: bias {} of {} does not fit {} columns",
         ctx.node.describe(), shape_string(bias.shape()), dtype_name(bias.dtype()), n);
  return ctx.pack(DType::f32, {padded}, {{bias}, PaddedBias{static_cast<size_t>(n), scale}});
}

}  // namespace poprt::ops
