// Cuts a graph for several IPUs: assigns nodes to IPUs and finds the values to transfer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "ir/graph.h"
#include "ir/placement.h"

namespace poprt::compiler {

// An input or output of a shard's graph: an anchor of the model, or a transfer.
struct Port {
  bool is_transfer = false;
  uint32_t number = 0;  // index of the model's input or output, or of the transfer
};

struct ShardGraph {
  std::unique_ptr<ir::Graph> graph;
  std::vector<Port> inputs, outputs;  // in the order of the graph
  ir::Seat seat;
};

// A value that other shards read.
struct CutTransfer {
  std::string name;
  ir::ValueType type;
  uint32_t from = 0;  // index of the shard that computes it
};

struct Cut {
  std::vector<ShardGraph> shards;  // in execution order
  std::vector<CutTransfer> transfers;
};

// The IPUs and stages that the nodes of a model are cut for (ir/placement.h). Invalid assignments
// are ignored here; take_placement() reports them.
struct Cuts {
  bool any = false;     // whether a node has an assignment
  int64_t ipus = 1;     // the largest IPU number plus one
  int64_t stages = 0;   // number of different stages; for a fused model the maximum over its models
  int64_t batches = 1;  // least common multiple of the numbers of stages of the models
};
Cuts cuts_of(const ir::Graph& graph);

// Sets the options with which a model is compiled for the IPUs and stages in `cuts`. Does not
// change them for a model on one IPU without stages.
void use_cuts(const Cuts& cuts, Options& options);

// Removes the assignments of nodes to IPUs from the model and returns them if the options use them.
// Throws invalid_argument if the options contradict each other or the model: too few IPUs, no node
// with an IPU, stages that go backwards or use several IPUs, or batches_per_step that is not a
// multiple of the stages.
ir::Placement take_placement(ir::Graph& graph, const Options& options);

// Cuts a graph in final order, in which each output has its own producer. The result is empty if
// num_ipus is 1, or if fewer_ipus is set and all nodes are on one IPU. Throws unimplemented if a
// transferred value has no static type, and invalid_argument for options that do not fit the graph.
Cut cut_graph(const ir::Graph& graph, const ir::Placement& placement, const Options& options);

}  // namespace poprt::compiler
