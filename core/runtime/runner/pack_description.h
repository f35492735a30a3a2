// The description in a model of how it is packed, for a runner whose configuration has only a
// timeout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runner/pack_runner.h"

namespace poprt::runtime {

// Pass packed_transformer writes it into the model: JSON under the key kPackDescription of the ONNX
// metadata.
struct PackDescription {
  std::string unpack_info;
  uint64_t max_valid_num = 0;
  std::vector<uint64_t> segment_max_size;
  std::vector<std::string> dynamic;  // the packed inputs
};
inline constexpr std::string_view kPackDescription = "prop.PackRunnerConfig";

// Throws data_loss if the text is invalid.
std::optional<PackDescription> pack_description(const Model& model);

// Completes the configuration from the description. Without one, the dynamic input is the mask, or
// the first input of callers, and an s32 input "unpack_info" has the lengths. Throws
// invalid_argument if the configuration contradicts the description.
void complete(PackRunnerConfig& config, const Model& model,
              const std::optional<PackDescription>& description);

}  // namespace poprt::runtime
