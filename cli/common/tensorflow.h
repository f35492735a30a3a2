// --framework tensorflow: the package tf2onnx makes ONNX of it.
#pragma once

#include <filesystem>

#include "common/option_table.h"

namespace poprt::cli {

// Runs `python3 -m tf2onnx.convert` with the options of sub-command tf2onnx; what it writes is
// `onnx`. Throws Failure that says how to install the package when it is not there, and what it
// said last when it failed.
void convert_tensorflow(const GivenOptions& options, const std::filesystem::path& saved_model,
                        const std::filesystem::path& onnx);

}  // namespace poprt::cli
