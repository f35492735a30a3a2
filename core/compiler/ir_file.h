// serialize_ir: writes the lowered graph to a file for people and scripts.
//
//   {"format": "poprt ir 1",
//    "graphs": [{"name": "main",
//                "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
//                "outputs": ["y"],
//                "constants": [{"name": "w", "dtype": "f32", "shape": [1], "values": ["1.0"]}],
//                "nodes": [{"name": "", "op_type": "Relu", "domain": "", "inputs": ["x"],
//                           "outputs": [{"name": "y", "dtype": "f32", "shape": [2, 3]}],
//                           "attributes": {}}]}],
//    "main": [{"type": "Relu", "name": "", "inputs": ["x"], "outputs": ["y"]}]}
//
// The last entries are the operators of each graph by its name, in the form of PopART's IR, which
// scripts for custom patterns read. The first of several graphs with one name has an entry, but no
// graph that is called "format" or "graphs".
//
// An omitted input and a shape without rank are null, and an unknown dimension is -1. Tensors of
// more than 64 elements have no values. A model at several shapes, or a fused one, has several
// graphs. If the name of the file does not end in .json, it has the text form (ir/text.h) without
// large tensors, one graph after the other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "ir/graph.h"

namespace poprt::compiler {

class IrFile {
 public:
  // write() creates the file. Throws if the folder is missing.
  explicit IrFile(const std::filesystem::path& path);

  void add(const ir::Graph& graph);
  void write();

 private:
  bool json_;
  AtomicFile file_;
  std::vector<std::string> graphs_, names_, operators_;
};

}  // namespace poprt::compiler
