// Gelu of ai.onnx and of the internal domain.
#pragma once

#include "ops/common/elementwise.h"

namespace poprt::ops {

// Whether attribute `approximate` is tanh. Throws invalid_argument naming the node if it is neither
// none nor tanh.
inline bool gelu_is_tanh(const ir::Node& n) {
  const std::string kind = n.string_attr("approximate", "none");
  if (kind != "none" && kind != "tanh")
    fail(ErrorCode::invalid_argument, "{}: approximate is '{}', expected 'none' or 'tanh'",
         n.describe(), kind);
  return kind == "tanh";
}

inline ElementwiseValue append_gelu(ElementwiseProgram& p, const ir::Node& n,
                                    std::span<const ElementwiseValue> in) {
  return p.step(gelu_is_tanh(n) ? ElementwiseOp::gelu_tanh : ElementwiseOp::gelu_erf, in[0]);
}

inline std::optional<Epilogue> gelu_epilogue(const ir::Node& n) {
  return Epilogue{gelu_is_tanh(n) ? Activation::gelu_tanh : Activation::gelu_erf};
}

}  // namespace poprt::ops
