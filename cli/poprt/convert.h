// Writes the converted model.
#pragma once

#include <string>
#include <vector>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Returns the path of the converted model.
std::string converted_path(const GivenOptions& given, const std::string& input);

// Throws Usage if a file to write is one that the command reads, or if two of the files to write
// are the same: the converted model, the executable and the graph of serialize_ir. Empty paths are
// not written. `sources` are the ONNX models.
void require_separate_files(const GivenOptions& given, const std::vector<std::string>& sources,
                            const std::string& converted, const std::string& popef);

// Writes the converted model. Returns the model to compile: the source, or the result of scripts.
std::string convert(const GivenOptions& given, const poprt_compiler* compiler,
                    const std::string& input, const std::string& converted);

}  // namespace poprt::cli
