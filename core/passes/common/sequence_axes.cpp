#include "passes/common/sequence_axes.h"

#include <algorithm>
#include <cstring>

#include "ops/axes.h"
#include "ops/common/expansion.h"
#include "ops/op.h"
#include "passes/common/build.h"
#include "passes/common/constant_cone.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;
using Kind = AxisFactor::Kind;
using Action = Adapted::Action;

// The numbers of rows and places with which inferred_axes() probes an operator. They are large
// primes, so that no dimension of a model is expected to be a multiple of them.
constexpr int64_t kRows = 10007, kLength = 10009;

Axis factors_of_probe(int64_t size) {
  Axis rows, places;
  for (; size && size % kRows == 0; size /= kRows) rows.push_back({Kind::row, 1});
  for (; size && size % kLength == 0; size /= kLength) places.push_back({Kind::place, 1});
  Axis axis = rows;
  axis.insert(axis.end(), places.begin(), places.end());
  if (size != 1) axis.push_back({Kind::plain, size});
  return axis;
}

// Copies the sizes of the factors from the inputs, because the shapes of the probe do not contain
// them.
void take_sizes(Axis& axis, std::span<const std::optional<Axes>> inputs) {
  for (const auto& axes : inputs)
    for (const Axis& from : axes.value_or(Axes{})) {
      if (size_of(from, {kRows, kLength}) == size_of(axis, {kRows, kLength}) &&
          (has(from, Kind::row) || has(from, Kind::place))) {
        axis = from;
        return;
      }
      for (AxisFactor& f : axis)
        for (const AxisFactor& g : from)
          if (f.kind == g.kind && f.kind != Kind::plain) f.size = g.size;
    }
}

}  // namespace

int64_t size_of(const Axis& axis, SequenceSizes sizes) {
  int64_t size = 1;
  for (const AxisFactor& f : axis)
    size *= f.kind == Kind::row ? sizes.rows : f.kind == Kind::place ? sizes.length : f.size;
  return size;
}

Shape shape_of(const Axes& axes, SequenceSizes sizes) {
  Shape shape;
  for (const Axis& axis : axes) shape.push_back(size_of(axis, sizes));
  return shape;
}

bool is_only(const Axis& axis, Kind kind) { return axis.size() == 1 && axis[0].kind == kind; }

bool has(const Axis& axis, Kind kind) {
  return std::ranges::any_of(axis, [&](const AxisFactor& f) { return f.kind == kind; });
}

Axes plain_axes(const Shape& shape) {
  Axes axes;
  for (const int64_t d : shape) {
    axes.emplace_back();
    if (d != 1) axes.back().push_back({Kind::plain, d});
  }
  return axes;
}

std::optional<Axes> reshaped_axes(const Axes& from, const Shape& to) {
  std::vector<AxisFactor> rest;
  for (const Axis& axis : from)
    for (const AxisFactor& f : axis)
      if (f.kind != Kind::plain || f.size != 1) rest.push_back(f);
  // An empty dimension does not determine which of the other dimensions are joined.
  if (std::ranges::any_of(rest, [](const AxisFactor& f) { return f.size == 0; }))
    return std::nullopt;
  size_t next = 0;
  Axes axes;
  for (const int64_t wanted : to) {
    Axis& axis = axes.emplace_back();
    int64_t product = 1;
    if (wanted == 1 && next < rest.size() && rest[next].size == 1) axis.push_back(rest[next++]);
    while (product < wanted) {
      if (next == rest.size()) return std::nullopt;
      AxisFactor& f = rest[next];
      const int64_t left = wanted / product;
      if (wanted % product != 0) return std::nullopt;
      if (left % f.size == 0) {
        product *= f.size;
        axis.push_back(f);
        next++;
      } else if (f.kind == Kind::plain && f.size % left == 0) {
        axis.push_back({Kind::plain, left});
        product *= left;
        f.size /= left;
      } else {
        return std::nullopt;
      }
    }
  }
  for (; next < rest.size(); next++) {
    if (rest[next].size != 1 || axes.empty()) return std::nullopt;
    axes.back().push_back(rest[next]);
  }
  return axes;
}

Axes expanded_axes(const Axes& from, const Shape& to, SequenceSizes old) {
  Axes axes = plain_axes(to);
  for (size_t i = 0; i < to.size(); i++) {
    const Axis* before = i + from.size() < to.size() ? nullptr : &from[i + from.size() - to.size()];
    if (before && (size_of(*before, old) != 1 || to[i] == 1))
      axes[i] = *before;
    else if (to[i] == old.length)
      axes[i] = {{Kind::place, old.length}};
    else if (i == 0 && to[i] == old.rows)
      axes[i] = {{Kind::row, old.rows}};
  }
  return axes;
}

std::optional<std::vector<Axes>> inferred_axes(const Node& node,
                                               std::span<const std::optional<Axes>> inputs) {
  const auto alone = ops::isolate(node);
  Node* copy = alone->nodes().front();
  for (size_t i = 0; i < inputs.size(); i++)
    if (inputs[i])
      copy->set_input(
          i, alone->add_input("", ir::ValueType::of(node.input(i)->dtype(),
                                                    shape_of(*inputs[i], {kRows, kLength}))));
  for (Value* v : copy->outputs()) v->type = {};
  try {
    ops::infer(*copy);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<Axes> results;
  for (size_t i = 0; i < copy->outputs().size(); i++) {
    const Value *made = copy->output(i), *before = node.output(i);
    if (!made->type.is_static() || !before->type.is_static()) return std::nullopt;
    Axes& axes = results.emplace_back();
    for (size_t d = 0; d < made->shape().size(); d++) {
      Axis axis = factors_of_probe(made->shape()[d]);
      take_sizes(axis, inputs);
      int64_t size = 1;
      for (const AxisFactor& f : axis) size *= f.size;
      if (size != before->shape()[d]) return std::nullopt;
      axes.push_back(std::move(axis));
    }
  }
  return results;
}

bool Adapted::changes() const {
  return std::ranges::any_of(actions, [](Action a) { return a != Action::keep; });
}

namespace {

struct Aligned {
  const Axis* with_tokens = nullptr;  // the corresponding axis that contains rows or places
  bool plain = false;                 // a corresponding axis has only other factors
};

// Finds the axes of operands with tokens that correspond to this axis: both become the same axis of
// the result, or both are summed together.
Aligned aligned(const ops::AxisMap& map, ops::InputAxis of,
                std::span<const std::optional<Axes>> inputs) {
  Aligned a;
  const auto meet = [&](ops::InputAxis other) {
    if (other.input == of.input || !inputs[other.input]) return;
    const Axis& axis = (*inputs[other.input])[other.axis];
    if (has(axis, Kind::row) || has(axis, Kind::place))
      a.with_tokens = &axis;
    else
      a.plain |= !axis.empty();
  };
  const auto to = ops::aligned_with(map, of);
  for (size_t i = 0; to && i < inputs.size(); i++)
    for (size_t axis = 0; inputs[i] && axis < inputs[i]->size(); axis++)
      if (ops::aligned_with(map, {i, axis}) == to) meet({i, axis});
  for (const auto& group : map.reduced)
    if (std::ranges::count(group, of) > 0)
      for (const ops::InputAxis& other : group) meet(other);
  return a;
}

// Whether the operand selects places, as the indices of Gather do: in the result, its axis replaces
// an axis of places of another operand, which is mixed.
bool picks_places(const ops::AxisMap& map, ops::InputAxis of,
                  std::span<const std::optional<Axes>> inputs) {
  const auto to = ops::carried(map, of);
  if (!to) return false;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (i == of.input || !inputs[i] || *to >= inputs[i]->size()) continue;
    if (has((*inputs[i])[*to], Kind::place) && !ops::is_linked(map, {i, *to}) &&
        !ops::is_reduced(map, {i, *to}))
      return true;
  }
  return false;
}

// Whether the axis of the operand limits how many rows or places of another operand are used: the
// result has as many as the operand, and the other operand has more.
bool takes_first_places(const ops::AxisMap& map, ops::InputAxis of,
                        std::span<const std::optional<Axes>> inputs) {
  const auto to = ops::carried(map, of);
  return to && std::ranges::any_of(map.links, [&](const ops::AxisLink& l) {
           if (l.input == of.input || l.output != 0 || l.output_axis != *to || !inputs[l.input])
             return false;
           const Axis& axis = (*inputs[l.input])[l.input_axis];
           return (has(axis, Kind::row) || has(axis, Kind::place)) &&
                  map.inputs[l.input][l.input_axis] > map.outputs[0][*to];
         });
}

std::optional<Action> action_for(const Axis& axis, int64_t size, SequenceSizes old, bool spreads) {
  if (size_of(axis, old) != size) return std::nullopt;
  if (is_only(axis, Kind::place)) return Action::cut;
  if (axis.empty() || axis[0].kind != Kind::row || has(axis, Kind::place)) return std::nullopt;
  return spreads && axis.size() == 1 ? Action::first : Action::repeat;
}

std::optional<Action> action_of(const Node& node, const ops::AxisMap& map, ops::InputAxis of,
                                std::span<const std::optional<Axes>> inputs, SequenceSizes old,
                                Axis& made) {
  const ops::Facts& facts = ops::facts_of(node);
  const int64_t size = node.input(of.input)->shape()[of.axis];
  if (takes_first_places(map, of, inputs)) return std::nullopt;
  if (size == 1) return Action::keep;
  const Aligned a = aligned(map, of, inputs);
  if (a.with_tokens) {
    // Operators that only move elements do not broadcast.
    const auto action = action_for(*a.with_tokens, size, old, facts.per_element || !facts.moves);
    if (action) made = *action == Action::first ? Axis{} : *a.with_tokens;
    return action;
  }
  const bool grows = facts.per_element ? !a.plain : picks_places(map, of, inputs);
  if (!grows || size != old.length) return Action::keep;
  made = {{Kind::place, size}};
  return Action::cut;
}

constexpr uint64_t kLargest = uint64_t{1} << 30;  // bytes of an operand that is computed here

// Whether all rows of a known value are equal along the axis.
bool rows_are_equal(const Value* v, int64_t axis, int64_t rows) {
  if (rows == 1) return true;
  const Tensor known = known_value(v, kLargest);
  if (known.dtype() == DType::undefined) return false;
  const int64_t part = v->shape()[static_cast<size_t>(axis)] / rows;
  const Tensor first = slice_of(known, axis, 0, part);
  for (int64_t r = 1; r < rows; r++) {
    const Tensor other = slice_of(known, axis, r * part, (r + 1) * part);
    if (std::memcmp(first.data(), other.data(), first.bytes()) != 0) return false;
  }
  return true;
}

Value* front_of(Node& at, Value* v, int64_t axis, int64_t size) {
  if (v->shape()[static_cast<size_t>(axis)] == size) return v;
  if (v->is_constant())
    return at.graph().add_constant(v->name() + "_front", slice_of(v->constant(), axis, 0, size));
  return sliced(at, v, axis, 0, size);
}

}  // namespace

std::optional<Adapted> adapted_operand(const Node& node, size_t index,
                                       std::span<const std::optional<Axes>> inputs,
                                       SequenceSizes old) {
  const Value* v = node.input(index);
  if (!v->type.is_static()) return std::nullopt;
  Adapted plan{plain_axes(v->shape()), {}};
  const ops::AxisMap map = ops::axis_map(node);
  for (size_t a = 0; a < v->shape().size(); a++) {
    const auto action = action_of(node, map, {index, a}, inputs, old, plan.axes[a]);
    if (!action) return std::nullopt;
    const bool rows = *action == Action::first || *action == Action::repeat;
    if (rows && !rows_are_equal(v, static_cast<int64_t>(a), old.rows)) return std::nullopt;
    plan.actions.push_back(*action);
  }
  return plan;
}

Value* adapted_value(Node& at, Value* v, const Adapted& plan, SequenceSizes old,
                     SequenceSizes now) {
  for (size_t i = 0; i < plan.actions.size(); i++) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t part = v->shape()[i] / old.rows;
    switch (plan.actions[i]) {
      case Action::keep: break;
      case Action::cut: v = front_of(at, v, axis, now.length); break;
      case Action::first: v = front_of(at, v, axis, part); break;
      case Action::repeat: {
        const std::vector<Value*> copies(static_cast<size_t>(now.rows),
                                         front_of(at, v, axis, part));
        v = joined(at, copies, axis);
        break;
      }
    }
  }
  return v;
}

}  // namespace poprt::passes
