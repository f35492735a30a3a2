// Merges several models into one ONNX graph, like PopRT's MFConverter, and splits it again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::compiler {

// "graphK/", the prefix of all names of model K.
std::string graph_prefix(size_t k);

// Merges models without connecting them, so that any ONNX runtime computes all of them. The last
// input, "index" (u32 [1]), has no reader; in the compiled program it selects the model to run. The
// metadata of model K gets its prefix. The graphs are consumed. Throws invalid_argument if there is
// no graph, if one is already fused, or if graphs import different versions of a domain.
std::unique_ptr<ir::Graph> fuse_graphs(std::vector<std::unique_ptr<ir::Graph>> graphs,
                                       const std::vector<std::string>& names);

// Returns the number of models in a graph, or 0 if it is not fused. Throws invalid_argument if its
// metadata is damaged.
size_t fused_graph_count(const ir::Graph& graph);
// Returns the names of the fused models; empty if the graph is not fused. Throws like
// fused_graph_count().
std::vector<std::string> fused_names(const ir::Graph& graph);

// Returns model k of a fused graph with its prefixed names. Throws invalid_argument if it has no
// output or reads an input of another model.
std::unique_ptr<ir::Graph> split_graph(const ir::Graph& graph, size_t k);

// Moves all of a graph to the end of another one. Its names get the prefix; its outputs follow
// those of `to`. Throws invalid_argument if both import different versions of a domain.
void append_graph(ir::Graph& to, ir::Graph& from, const std::string& prefix);

}  // namespace poprt::compiler
