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
//
// A decoder without an encoder has a mask of keys, and its new keys follow the C places of the
// cache (compiler/generation.h). Column c of its masks then belongs to the token
//
//   c < C      c                       a place of the cache
//   c >= C     c - C + poprt.row       a new token
//
// so Range(0, C + S) becomes these numbers, and Range(C, C + S) becomes Range(0, S) + poprt.row.
// The mask of keys hides the free places.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

// The caches of a decoder by name; a TensorScatter already writes the new keys.
struct PlacedCache {
  std::string past, present;
  size_t axis = 2;
};

// The caches of a decoder whose new keys follow the places.
struct JoinedPlaces {
  int64_t places = 0;
  std::string mask;  // the input with the mask of keys
};

class TokenPositions {
 public:
  // Rewrites the graph, whose shapes are open. `ids` is the input of the tokens. Throws
  // unimplemented, with the node, for a form that it does not know.
  TokenPositions(ir::Graph& graph, std::span<const PlacedCache> caches, const std::string& ids);
  // The same for caches whose new keys follow the places: `present` has both.
  TokenPositions(ir::Graph& graph, std::span<const PlacedCache> caches, const std::string& ids,
                 const JoinedPlaces& joined);

  // Replaces poprt.row by the positions of the rows in `position`, s64 [batch], and hides free
  // places. The graph is a static copy of the rewritten one whose constants are folded. Throws
  // unimplemented.
  void bind(ir::Graph& graph, std::span<const PlacedCache> caches, const std::string& position,
            int64_t batch) const;

  // The part of bind() that replaces poprt.row.
  static void bind_rows(ir::Graph& graph, const std::string& position, int64_t batch);

  // The names of the values at which numbers that follow from sizes meet data, as pairs: in the
  // graph of the exporter, and in the rewritten one.
  const std::vector<std::pair<std::string, std::string>>& numbers() const { return numbers_; }
  // Returns the values of `names` for a row at position `position`, without tensors for values that
  // depend on other inputs. The graph is a copy whose inputs have static shapes; all else is
  // removed from it.
  static std::vector<Tensor> numbers_at(ir::Graph& graph, const std::vector<std::string>& names,
                                        int64_t position);

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
  std::vector<std::pair<std::string, std::string>> numbers_;
};

struct Columns {
  int64_t places = 0, length = 0, tokens = 0;
};
// Whether two tensors have the same elements, if an axis of `ours` with the columns of `places` and
// the new tokens has the columns of `length` places and the new tokens in `theirs`. Free places do
// not count. False for undefined tensors.
bool agree_in_columns(const Tensor& ours, const Tensor& theirs, const Columns& columns);

// Replaces the input cache_position by the positions that follow from the size of a cache.
void positions_from_sizes(ir::Graph& graph, ir::Value* given, ir::Value* past, size_t axis,
                          ir::Value* ids);

}  // namespace poprt::passes
