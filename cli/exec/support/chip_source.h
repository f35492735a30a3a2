// The model of an estimate: an ONNX file, or the source of a PopEF file with its recorded options.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/abi.h"
#include "ipu/target.h"
#include "ir/graph.h"
#include "popef/model.h"

namespace poprt::cli {

struct ChipSource {
  std::string path;                            // of the ONNX model
  std::optional<popef::Payload> bytes;         // the model, if it is embedded in a PopEF file
  std::string folder;                          // of external data
  std::map<std::string, std::string> options;  // recorded in a PopEF file
  std::vector<NamedShape> input_shapes;        // likewise

  // The recorded value of an option, or `fallback`.
  std::string option(const std::string& name, const std::string& fallback) const;
};

// Throws Failure if a PopEF file neither contains its ONNX model nor has it in its folder, if the
// model in its folder has another hash than the recorded one, for a PopEF file that does not have
// exactly one executable or whose recorded shapes are not valid, and for a folder.
ChipSource chip_source(const std::string& path);

// Only shapes are read, so that weights in external files may be missing.
std::unique_ptr<ir::Graph> read_chip_source(const ChipSource& source,
                                            const CompileSettings& settings);

// The chip that an option names. Throws Usage for an unknown name, and errors of a JSON file.
ipu::Target chip_given(const std::string& word, const char* option);

}  // namespace poprt::cli
