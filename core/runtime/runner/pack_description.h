// Reads from a model how its inputs are packed, so that the configuration of a PackRunner needs
// only a timeout.
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

// Returns nothing if the model has no description. Throws data_loss if its text is invalid.
std::optional<PackDescription> pack_description(const Model& model);

// Completes the fields of the configuration that are empty, from the description. Without a
// description, the dynamic input is the mask, or else the first input of callers with two
// dimensions or more, or else with one. Then an s32 input "unpack_info" contains the lengths,
// unless the configuration names the dynamic input or selects single-row mode. Throws
// invalid_argument if the configuration contradicts the description, and failed_precondition if no
// input can be the dynamic one.
void complete(PackRunnerConfig& config, const Model& model,
              const std::optional<PackDescription>& description);

}  // namespace poprt::runtime
