// serialize_ir: the graph as it is lowered, in a file for people and their scripts.
//
//   {"format": "poprt ir 1",
//    "graphs": [{"name": "main",
//                "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
//                "outputs": ["y"],
//                "constants": [{"name": "w", "dtype": "f32", "shape": [3], "values": ["1.0",
//                ...]}], "nodes": [{"name": "", "op_type": "Relu", "domain": "", "inputs": ["x"],
//                           "outputs": [{"name": "y", "dtype": "f32", "shape": [2, 3]}],
//                           "attributes": {}}]}]}
//
// An input that is omitted is null, so is a shape without a rank, and a dimension that nobody knows
// is -1. Tensors of more than 64 elements have no values. A model at several shapes, or a fused
// one, has a graph for each. A file whose name does not end in .json has the text form (ir/text.h)
// with large tensors left out, one graph behind the other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "ir/graph.h"

namespace poprt::compiler {

class IrFile {
 public:
  // Nothing is at `path` before write(). Throws when its folder is missing.
  explicit IrFile(const std::filesystem::path& path);

  void add(const ir::Graph& graph);
  void write();

 private:
  bool json_;
  AtomicFile file_;
  std::vector<std::string> graphs_;
};

}  // namespace poprt::compiler
