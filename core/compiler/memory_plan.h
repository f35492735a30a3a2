// Where every value lives: aliases first, offsets after lowering.
//
// A storage is a run of bytes: one region of the arena, or one caller anchor. Several values share
// a storage when one is a view of the other, when an operator writes over its dying input, or when
// Concat's inputs are made in place. After lowering, lifetimes are known and offsets are planned
// once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "program/program.h"

namespace poprt::compiler {

struct Storage {
  program::Space space = program::Space::arena;
  uint32_t anchor = 0;  // for input and output
  uint64_t bytes = 0;
  int64_t first = INT64_MAX;  // positions (node index) of the first write and the last use
  int64_t last = -1;
  uint64_t offset = 0;  // arena only, set by plan_offsets
  bool state = false;
};

struct Place {
  uint32_t storage = 0;
  uint64_t offset = 0;
};

// A Concat / Split whose parts are runs of bytes of the whole, because no dimension before the axis
// is larger than one.
bool is_contiguous_concat(const ir::Node& node);
bool is_contiguous_split(const ir::Node& node);

class MemoryPlan {
 public:
  // Decides aliases for a graph in final order with static types.
  explicit MemoryPlan(const ir::Graph& graph);

  // The place of an input or node output; constants have none.
  Place place(const ir::Value* value) const { return places_.at(value); }
  bool has_place(const ir::Value* value) const { return places_.contains(value); }
  const Storage& storage(uint32_t id) const { return storages_[id]; }
  // A temporary that lives at one position only.
  uint32_t add_temporary(uint64_t bytes, int64_t position);
  // Memory that nothing else uses at any time: what lasts from run to run. It lies first.
  uint32_t add_state(uint64_t bytes);
  // True when the bytes of output 0 are input 0's bytes already (nothing to run).
  bool is_free_view(const ir::Node* node) const;
  // True when `part` lies in `whole`, `offset` bytes from its start (Concat or Split for free).
  bool same_bytes(const ir::Value* part, const ir::Value* whole, uint64_t offset) const;

  // Gives every arena storage an offset (greedy by size over lifetimes); returns the arena size.
  uint64_t plan_offsets();
  // After that: how much of the arena's beginning is state.
  uint64_t state_bytes() const { return state_bytes_; }

 private:
  void place_each(const ir::Graph& graph, const std::vector<ir::Node*>& nodes);
  void measure_lifetimes(const std::vector<ir::Node*>& nodes);
  void place_inside(const ir::Value* part, const ir::Value* whole, uint64_t offset);
  void share_views(const ir::Node& n);
  void share_dying_input(const ir::Node& n);
  void merge(uint32_t from, uint32_t into, uint64_t offset);
  bool alone(uint32_t storage, int64_t position, const ir::Node& node, size_t input) const;

  std::vector<Storage> storages_;
  std::unordered_map<const ir::Value*, Place> places_;
  std::vector<std::vector<const ir::Value*>> members_;  // values of each storage
  std::unordered_map<const ir::Node*, int64_t> position_;
  std::unordered_map<const ir::Value*, bool> graph_output_;
  uint64_t state_bytes_ = 0;
};

}  // namespace poprt::compiler
