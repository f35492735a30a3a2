// The operators of ai.onnx in their newest version, whatever opset a graph imports. Made by
// decompositions, never imported or exported.
#pragma once

#include <cstdint>
#include <string_view>

namespace poprt::ir {

inline constexpr std::string_view kNewestDomain = "poprt.onnx";
inline constexpr int64_t kNewestOpset = 28;

// An operator of ai.onnx, in whatever version.
inline bool is_onnx_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain == kNewestDomain;
}

}  // namespace poprt::ir
