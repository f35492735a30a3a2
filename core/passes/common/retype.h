// Replaces one element type by another one throughout a graph, for the precision passes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ir/graph.h"

namespace poprt::passes {

struct Retype {
  DType from, to;
  int64_t onnx_from, onnx_to;  // their values in ONNX attributes (Cast `to`, `dtype`)
  // Whether a node reads and writes `to`. Other nodes keep computing in `from`, between casts.
  std::function<bool(const ir::Node& node)> accepts;
  // Whether an input of an accepted node stays `from`. A constant stays `from` for each reader for
  // which this is true, whether the node is accepted or not, so that it is not narrowed and widened
  // again (shapes, axes, scales).
  std::function<bool(const ir::Use& use)> keeps;
  // Converts a constant to the new type. `name` is that of the value, or of the node whose
  // attribute the constant is, for messages.
  std::function<Tensor(const Tensor& tensor, const std::string& name)> convert;
  // Whether a graph input, or a result that only nodes read which `accepts` refuses, stays `from`.
  // If unset, none does.
  std::function<bool(const ir::Value& value)> stays = nullptr;
  // Whether the attributes of a node, which `accepts` refuses, stay, because the user has excluded
  // it or because its results stay `from`. If unset, no node is skipped.
  std::function<bool(const ir::Node& node)> skips = nullptr;
  // Whether a subgraph is not changed. If unset, all are changed.
  std::function<bool(const ir::Graph& graph)> leaves = nullptr;
};

// Changes graph inputs, outputs, constants, attributes and intermediate values of the graph and its
// subgraphs, and infers all types again.
void retype(ir::Graph& graph, const Retype& rule);

}  // namespace poprt::passes
