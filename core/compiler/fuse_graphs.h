// Several models as one ONNX graph, and back: what MFConverter makes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// "graphK/", in front of all names of model K.
std::string graph_prefix(size_t k);

// The models side by side, connected by nothing: any ONNX runtime computes all of them. The last
// input, "index" (u32 [1]), is read by no node: compiled, it says which model runs. Metadata of
// model K is kept under names with its prefix. The graphs are used up. Throws invalid_argument
// (none, one that is fused already, imports of one domain in several versions).
std::unique_ptr<ir::Graph> fuse_graphs(std::vector<std::unique_ptr<ir::Graph>> graphs,
                                       const std::vector<std::string>& names);

// How many models a graph is; 0: it is no fused one. Throws invalid_argument when its metadata is
// damaged.
size_t fused_graphs(const ir::Graph& graph);
// The names of the models that were fused.
std::vector<std::string> fused_names(const ir::Graph& graph);

// Model k of a fused graph, its names as they are there. Throws invalid_argument when it has no
// output or reads what belongs to another.
std::unique_ptr<ir::Graph> split_graph(const ir::Graph& graph, size_t k);

}  // namespace poprt::compiler
