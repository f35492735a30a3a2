// Helpers shared by the operators of com.microsoft on several residual streams: BranchwiseRMSNorm,
// HyperConnectionPreMix, HyperConnectionPostMix and EngramGate.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// The shape [.., C, H] of streams, which are [.., C H] if attribute num_branches is C.
inline Shape grouped_streams(const Expansion& e, Shape streams) {
  const int64_t branches = e.node.int_attr("num_branches", 0);
  if (branches == 0) {
    e.check(streams.size() >= 2 && streams.back() > 0, "streams must be [.., C, H]");
    return streams;
  }
  e.check(branches > 0 && !streams.empty() && streams.back() > 0 && streams.back() % branches == 0,
          "num_branches must divide the last dimension of the streams");
  const int64_t columns = streams.back() / branches;
  streams.back() = branches;
  streams.push_back(columns);
  return streams;
}

// Reshapes gates to [.., C, 1] or [.., C, H]. They are [.., C], [.., C, 1], [.., C, H] or [.., C
// H].
inline ir::Value* grouped_gates(Expansion& e, ir::Value* gates, Shape grouped) {
  const Shape shape = e.shape_of(gates);
  if (shape == grouped) return gates;
  if (element_count(shape) != element_count(grouped)) grouped.back() = 1;
  e.check(element_count(shape) == element_count(grouped) && !shape.empty(),
          "the gates must be [.., C], [.., C, 1] or [.., C, H]");
  return e.reshape(gates, grouped);
}

// x / sqrt(mean(x^2) + epsilon) along the last axis, in f32, times scale if it is not null.
inline ir::Value* rms_normalised(Expansion& e, ir::Value* x, ir::Value* scale, float epsilon) {
  const Shape shape = e.shape_of(x);
  const Tensor ones = Tensor::of<float>({shape.back()}, std::span<const float>(std::vector<float>(
                                                            static_cast<size_t>(shape.back()), 1)));
  ir::Value* y = e.add("SimplifiedLayerNormalization", {x, e.constant(ones)},
                       {{"epsilon", epsilon}, {"axis", int64_t{-1}}});
  return scale ? e.add("Mul", {y, e.cast(scale, DType::f32)}) : y;
}

}  // namespace poprt::ops
