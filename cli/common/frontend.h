// --framework: converts a model of a framework to ONNX by the exporter of that framework.
#pragma once

#include <filesystem>
#include <string>

#include "common/option_table.h"

namespace poprt::cli {

// Runs `python3 -m poprt.frontend` with the shapes in `options` and writes `onnx`. Throws Failure
// with the message of the front end.
void convert_framework(const GivenOptions& options, const std::string& framework,
                       const std::filesystem::path& model, const std::filesystem::path& onnx);

}  // namespace poprt::cli
