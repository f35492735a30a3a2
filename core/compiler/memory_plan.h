// Decides the location of every value: first which values share memory, then offsets after
// lowering.
//
// A storage is a contiguous range of bytes: a region of the arena, or an anchor of the caller.
// Values share a storage if one is a view or a part of the other (the inputs of a Concat, the
// outputs of a Split), or if an operator overwrites an input that is not used afterwards. The
// constructor decides this and measures the lifetimes of values. Lowering adds temporary memory and
// state. Then plan_offsets() assigns all offsets once.
//
// Example, for %x : f32[1,64], which has 256 bytes:
//
//   0  %a = Exp(%x)                      x is the caller's and is not overwritten
//   1  %b = Neg(%a)                      overwrites a, which has no other reader
//   2  %c = Exp(%x)
//   3  %y = Concat(%b, %c) {axis = 0}    b is y from byte 0, c is y from byte 256: no copy
//   4  %z = Transpose(%y)                an output, which is in memory of the caller
//
// So a, b, c and y are one storage of 512 bytes with the lifetime 0 to 4.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "program/program.h"

namespace poprt::compiler {

struct Storage {
  program::Space space = program::Space::arena;
  uint32_t anchor = 0;  // for inputs and outputs
  uint64_t bytes = 0;
  int64_t first = INT64_MAX;  // positions (node index) of the first write and the last use
  int64_t last = -1;
  uint64_t offset = 0;  // in the arena; set by plan_offsets
  bool state = false;
  bool graph_output = false;  // whether one of its values is a graph output
};

struct Place {
  uint32_t storage = 0;
  uint64_t offset = 0;
};

// Whether the parts of a Concat or Split are contiguous ranges of the whole, because all dimensions
// before the axis are 1.
bool is_contiguous_concat(const ir::Node& node);
bool is_contiguous_split(const ir::Node& node);

// Not thread-safe, not even its const functions, because they shorten paths.
class MemoryPlan {
 public:
  // Decides which values share memory, for a graph in final order with static types.
  explicit MemoryPlan(const ir::Graph& graph);

  // The place of an input or a result. Constants have none.
  Place place(const ir::Value* value) const { return resolved(places_.at(value)); }
  bool has_place(const ir::Value* value) const { return places_.contains(value); }
  const Storage& storage(uint32_t id) const { return storages_[id]; }
  // Adds temporary memory that is used at one position only.
  uint32_t add_temporary(uint64_t bytes, int64_t position);
  // Adds memory that persists between runs and that nothing else uses. It is at the start of the
  // arena.
  uint32_t add_state(uint64_t bytes);
  // Whether output 0 already has the bytes of input 0, so that the node need not run.
  bool is_free_view(const ir::Node* node) const;
  // Whether `part` is in `whole` at `offset` bytes from its start, so that a Concat or Split costs
  // nothing.
  bool same_bytes(const ir::Value* part, const ir::Value* whole, uint64_t offset) const;

  // Assigns an offset to every arena storage (greedy by size over lifetimes). Returns the size of
  // the arena.
  uint64_t plan_offsets();
  // The number of bytes at the start of the arena that are state. Valid after plan_offsets.
  uint64_t state_bytes() const { return state_bytes_; }

 private:
  void place_each(const ir::Graph& graph, const std::vector<ir::Node*>& nodes);
  void measure_lifetimes(const std::vector<ir::Node*>& nodes);
  void place_inside(const ir::Value* part, const ir::Value* whole, uint64_t offset);
  void share_views(const ir::Node& n);
  void share_dying_input(const ir::Node& n);
  void merge(uint32_t from, uint32_t into, uint64_t offset);
  // Returns where the beginning of a storage is after all merges.
  Place resolved(uint32_t storage) const;
  bool is_only_user(uint32_t storage, int64_t position, const ir::Node& node, size_t input) const;

  std::vector<Storage> storages_;
  // The storage that a value had at first. A chain of nodes merges a storage with the next one many
  // times, so a merge must not move values: it only records where the storage is inside another
  // one.
  std::unordered_map<const ir::Value*, uint32_t> places_;
  // For each storage: the storage that it was merged into, with its offset there, or itself if it
  // was not merged. resolved() shortens the paths.
  mutable std::vector<Place> inside_;
  std::unordered_map<const ir::Node*, int64_t> position_;
  uint64_t state_bytes_ = 0;
};

}  // namespace poprt::compiler
