// Replaces one element type by a narrower one throughout a graph: what the precision passes share.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/graph.h"

namespace poprt::passes {

struct Retype {
  DType from, to;
  int64_t onnx_from, onnx_to;  // their numbers in ONNX attributes (Cast `to`, `dtype`)
  // Nodes that take and give `to`; every other node keeps computing in `from` between casts.
  std::function<bool(const ir::Node& node)> accepts;
  // Inputs that stay `from` although the node is accepted, or although their values are constants
  // that would be narrowed and widened again (shapes, axes, scales).
  std::function<bool(const ir::Use& use)> keeps;
  // A constant in the new type.
  std::function<Tensor(const Tensor& tensor)> convert;
  // Inputs of graphs that stay `from`; none without.
  std::function<bool(const ir::Value& input)> stays = nullptr;
  // Graphs inside the graph that are left as they are; none without.
  std::function<bool(const ir::Graph& graph)> leaves = nullptr;
};

// Graph inputs, outputs, constants, attributes and intermediate values of the graph and everything
// inside it; infers all types anew.
void retype(ir::Graph& graph, const Retype& rule);

}  // namespace poprt::passes
