// Ranges of the numbers of a graph, for passes that change the width of integers.
//
// Example: with an input `id` of s64, Mul(id, 1000003) has the range of 32 bits times 1000003, and
// Mod of it by 5000 the range 0..4999.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace poprt::passes {

struct NumberRange {
  double least, most;
  // The numbers are sizes of tensors, or are computed from sizes and constants only. Such numbers,
  // and their products, are at most the number of elements of a tensor.
  bool is_size = false;

  bool exceeds_s32() const;
};

// Numbers of which nothing is known are assumed to be usual: integers of 32 bits, and floats of at
// most 2^20. A sum or difference of such numbers is as well. A product has its real range, except
// that of two floats that both vary. A constant of integers beyond 32 bits counts as 32 bits,
// because int64_to_int32 saturates it.
class NumberRanges {
 public:
  // Computes the ranges in `graph` and its subgraphs, whose types are inferred.
  explicit NumberRanges(const ir::Graph& graph) { visit(graph); }

  // The range of a value; that of an omitted input (null) is that of 32 bits.
  NumberRange of(const ir::Value* value) const;

 private:
  void visit(const ir::Graph& graph);
  NumberRange result(const ir::Node& node, size_t output) const;
  NumberRange computed(const ir::Node& node, size_t output) const;

  mutable std::unordered_map<const ir::Value*, NumberRange> ranges_;
};

}  // namespace poprt::passes
