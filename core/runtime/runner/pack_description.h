// What a model says about how it is packed, for a runner that is told nothing but a timeout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runner/pack_runner.h"

namespace poprt::runtime {

// Pass packed_transformer writes it into the model: JSON under kPackDescription of the ONNX
// metadata.
struct PackDescription {
  std::string unpack_info;
  uint64_t max_valid_num = 0;
  std::vector<uint64_t> segment_max_size;
  std::vector<std::string> dynamic;  // the packed inputs
};
inline constexpr std::string_view kPackDescription = "prop.PackRunnerConfig";

// Throws data_loss when it is there and is no such thing.
std::optional<PackDescription> pack_description(const Model& model);

// Fills in what the configuration leaves open: from the description; else the mask is the dynamic
// input, or the first input that callers give; and an s32 input "unpack_info" has the lengths.
// Throws invalid_argument for what contradicts the description.
void complete(PackRunnerConfig& config, const Model& model,
              const std::optional<PackDescription>& description);

}  // namespace poprt::runtime
