// Cuts a graph for several IPUs: which nodes each has, and what crosses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "ir/graph.h"
#include "ir/placement.h"

namespace poprt::compiler {

// What a shard's graph reads or makes: an anchor of the model, or a transfer.
struct Port {
  bool is_transfer = false;
  uint32_t number = 0;  // of the model's inputs or outputs, or of the transfers
};

struct ShardGraph {
  std::unique_ptr<ir::Graph> graph;
  std::vector<Port> inputs, outputs;  // as the graph's
  ir::Seat seat;
};

struct CutTransfer {
  std::string name;
  ir::ValueType type;
  uint32_t from = 0;
};

struct Cut {
  std::vector<ShardGraph> shards;  // in the order of a run
  std::vector<CutTransfer> transfers;
};

// For which IPUs and stages the nodes of a model are cut (ir/placement.h). Seats that are wrong are
// left out here; take_placement() refuses them.
struct Cuts {
  bool any = false;     // a node has a seat
  int64_t ipus = 1;     // the largest number and one
  int64_t stages = 0;   // that differ, of the graph or of one model of a fused one: the most
  int64_t batches = 1;  // that the stages of each model divide
};
Cuts cuts_of(const ir::Graph& graph);

// Options under which a model is compiled as it is cut. A model on one IPU without stages changes
// none.
void use_cuts(const Cuts& cuts, Options& options);

// Takes what the model says of IPUs out of it: the seats of its nodes when options ask for them.
// Throws invalid_argument where model and options do not agree: too few IPUs, stages that go back
// or are on several IPUs, batches_per_step that stages do not divide.
ir::Placement take_placement(ir::Graph& graph, const Options& options);

// Of a graph in final order with static types, whose outputs each have a producer of their own.
// Empty when all of it is on one IPU, and options do not ask for more.
Cut cut_graph(const ir::Graph& graph, const ir::Placement& placement, const Options& options);

}  // namespace poprt::compiler
