// Gives each token its position in a decoder that computes positions from the size of its caches.
//
// Exporters write BART, T5 and Whisper without inputs for masks and positions: with a past of P
// keys, the next token has position P. A generator has caches of C places, of which the first ones
// contain keys. So the size and the position are different numbers:
//
//   before   n = Gather(Shape(past), 2)                 a size and a position
//            t = Range(n, n + S)                        positions of the new tokens
//            m = LessOrEqual(Range(0, n + S), t)        visible keys
//   after    t = Range(0, S) + poprt.row                poprt.row: position of the first new token
//            m = LessOrEqual(Range(0, C), t)
//
// Inputs that decide shapes keep the sizes; all other inputs get the position
// (Facts::shape_inputs). A place of the cache has the number of its token, because new keys are
// written before attention reads the cache. Attention never sees the places after the new tokens:
// this file adds a mask.
//
// check() tests the result with numbers: for a past of a given length, the changed model must
// compute the same tables, masks and indices as the model of the exporter.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

// The caches of a decoder by name; a TensorScatter already writes the new keys.
struct PlacedCache {
  std::string past, present;
  size_t axis = 2;
};

class TokenPositions {
 public:
  // Rewrites the graph, whose shapes are open. `ids` is the input of the tokens. Throws
  // unimplemented, with the node, for a form that it does not know.
  TokenPositions(ir::Graph& graph, std::span<const PlacedCache> caches, const std::string& ids);

  // Replaces poprt.row by the positions of the rows in `position`, s64 [batch], and hides free
  // places. The graph is a static copy of the rewritten one whose constants are folded. Throws
  // unimplemented.
  void bind(ir::Graph& graph, std::span<const PlacedCache> caches, const std::string& position,
            int64_t batch) const;

  // Compares the numbers that the rewritten graph `ours` (before bind) computes for a length with
  // those of `theirs`, the graph of the exporter with a past of this length. Both are static copies
  // for one sequence, whose constants are folded. Throws unimplemented if they differ.
  void check(const ir::Graph& ours, const ir::Graph& theirs, int64_t length, int64_t places) const;

  // Infers types, folds constants and inlines branches whose condition is constant. The graph must
  // be static.
  static void settle(ir::Graph& graph);
  // Runs passes by name.
  static void run(ir::Graph& graph, std::initializer_list<const char*> names);

 private:
  // A place where numbers that depend on the position meet data: input `input` of the node that
  // computes `value`.
  struct Border {
    std::string value;
    size_t input;
  };
  std::vector<Border> borders_;
};

// Replaces the input cache_position by the positions that follow from the size of a cache.
void positions_from_sizes(ir::Graph& graph, ir::Value* given, ir::Value* past, size_t axis,
                          ir::Value* ids);

}  // namespace poprt::passes
