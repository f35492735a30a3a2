// --framework tensorflow: converts a model to ONNX by package tf2onnx.
#pragma once

#include <filesystem>

#include "common/option_table.h"

namespace poprt::cli {

// Runs `python3 -m tf2onnx.convert` with the options of sub-command tf2onnx and writes `onnx`.
// Throws Failure with instructions if the package is not installed, and with its last message if it
// fails.
void convert_tensorflow(const GivenOptions& options, const std::filesystem::path& saved_model,
                        const std::filesystem::path& onnx);

}  // namespace poprt::cli
