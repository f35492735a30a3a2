// The axes of tensors that contain sequences of tokens, and how they change when rows of packed
// sequences, [rows, length, ...], become one sequence per row, [items, longest, ...].
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// An axis consists of factors, outer ones first: rows * heads in [rows * heads, length, length].
struct AxisFactor {
  enum class Kind : uint8_t { plain, row, place };
  Kind kind = Kind::plain;
  int64_t size = 1;  // also of a row or place factor

  bool operator==(const AxisFactor&) const = default;
};
using Axis = std::vector<AxisFactor>;
using Axes = std::vector<Axis>;

struct SequenceSizes {
  int64_t rows = 0, length = 0;
};
int64_t size_of(const Axis& axis, SequenceSizes sizes);
Shape shape_of(const Axes& axes, SequenceSizes sizes);
bool is_only(const Axis& axis, AxisFactor::Kind kind);
bool has(const Axis& axis, AxisFactor::Kind kind);
Axes plain_axes(const Shape& shape);

// Axes of the result of a Reshape to `to`, or nothing if it would cut a factor that is not plain.
// Example: with 2 rows of 3 places, [2,3,8] becomes [rows * places, 2, 4] by [6,2,4], and
// [rows, places * 8] by [2,24], but [3,16] would cut the rows.
std::optional<Axes> reshaped_axes(const Axes& from, const Shape& to);
// Axes of the result of an Expand to `to` (or of broadcasting). An axis that grows to the length
// becomes an axis of places, and the first axis, if it grows to the number of rows, one of rows.
Axes expanded_axes(const Axes& from, const Shape& to, SequenceSizes old);
// Axes of every result. Shape inference runs with numbers of rows and places that no other
// dimension has, so the shapes of the results show their factors. An input without axes keeps its
// shape. Returns nothing if inference fails or a result has other sizes.
std::optional<std::vector<Axes>> inferred_axes(const ir::Node& node,
                                               std::span<const std::optional<Axes>> inputs);

// How to adapt an operand that does not depend on tokens.
struct Adapted {
  enum class Action : uint8_t {
    keep,
    cut,    // keep the first places, up to the longest item
    first,  // keep the first row, which broadcasts
    repeat  // repeat the first row for every item
  };
  Axes axes;
  std::vector<Action> actions;

  bool changes() const;
};
// Decides for input `index` of a node whose other inputs have the axes `inputs`. Returns nothing if
// its shape does not fit, or if only one of its rows would be kept and the rows differ or are not
// known.
std::optional<Adapted> adapted_operand(const ir::Node& node, size_t index,
                                       std::span<const std::optional<Axes>> inputs,
                                       SequenceSizes old);
// Adds the nodes that adapt `v`, before `at`.
ir::Value* adapted_value(ir::Node& at, ir::Value* v, const Adapted& plan, SequenceSizes old,
                         SequenceSizes now);

}  // namespace poprt::passes
