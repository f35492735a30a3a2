// The axes of tensors that hold sequences of tokens, as they change when rows of packed sequences,
// [rows, length, ...], become one sequence a row, [items, longest, ...].
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// An axis is made of factors, the outer ones first: rows * heads of [rows * heads, length, length].
struct AxisFactor {
  enum class Kind : uint8_t { plain, row, place };
  Kind kind = Kind::plain;
  int64_t size = 1;  // with rows and length

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

// Those of a Reshape to `to`; nothing when a factor would be cut that is not plain.
std::optional<Axes> reshaped_axes(const Axes& from, const Shape& to);
// Those of an Expand to `to` (or of broadcasting): what grows to the length is places.
Axes expanded_axes(const Axes& from, const Shape& to, SequenceSizes old);
// Those of every result, by shape inference with sizes that nothing else has. An input without axes
// is left as it is. Nothing when inference refuses, or a result has other sizes.
std::optional<std::vector<Axes>> inferred_axes(const ir::Node& node,
                                               std::span<const std::optional<Axes>> inputs);

// What becomes of an operand that does not depend on tokens.
struct Adapted {
  enum class Action : uint8_t {
    keep,
    cut,    // to the longest item, from the front
    first,  // the part of the first row; it broadcasts
    repeat  // the part of the first row for every item
  };
  Axes axes;
  std::vector<Action> actions;

  bool changes() const;
};
// Input `index` of a node whose other inputs have `inputs`; nothing when its shape does not fit.
std::optional<Adapted> adapted_operand(const ir::Node& node, size_t index,
                                       std::span<const std::optional<Axes>> inputs,
                                       SequenceSizes old);
// Does it in front of `at`.
ir::Value* adapted_value(ir::Node& at, ir::Value* v, const Adapted& plan, SequenceSizes old,
                         SequenceSizes now);

}  // namespace poprt::passes
