// The domain of the operators of ai.onnx in their newest version, independent of the opset that a
// graph imports. Only decompositions create such nodes; they are never imported or exported.
#pragma once

#include <cstdint>
#include <string_view>

namespace poprt::ir {

inline constexpr std::string_view kNewestDomain = "poprt.onnx";
inline constexpr int64_t kNewestOpset = 28;

// Whether the domain has the operators of ai.onnx, in any version.
inline bool is_onnx_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain == kNewestDomain;
}

}  // namespace poprt::ir
