#include "compiler/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ir/match.h"
#include "ops/axes.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/facts.h"
#include "passes/common/branches.h"

namespace poprt::compiler {
namespace {

using ir::Node;
using ir::Value;
using ops::AxisLink;
using ops::AxisMap;

// The axes of a value that have padding, as links from the padded dimension: input 0, axis 0.
using PaddedAxes = std::vector<AxisLink>;

// Whether `shorter` consists of the first places of `longer` along each axis that is longer, as a
// causal mask of [s,s] does of one of [S,S].
bool begins_with(const Tensor& longer, const Tensor& shorter) {
  const Shape &from = longer.shape(), &to = shorter.shape();
  if (longer.dtype() != shorter.dtype() || from.size() != to.size() ||
      longer.dtype() == DType::string || dtype_bits(longer.dtype()) < 8)
    return false;
  size_t axes = 0;  // number of axes up to the last one that is longer
  for (size_t d = 0; d < from.size(); d++) {
    if (to[d] > from[d]) return false;
    if (to[d] < from[d]) axes = d + 1;
  }
  if (axes == 0) return longer.same_as(shorter);
  if (shorter.count() == 0) return true;
  // A run is the contiguous bytes of all places of the last longer axis. It has `part` bytes in
  // `shorter` and `row` bytes in `longer`.
  const int64_t runs = element_count(std::span(to).first(axes - 1));
  const uint64_t part = shorter.bytes() / static_cast<uint64_t>(runs);
  const uint64_t row =
      part / static_cast<uint64_t>(to[axes - 1]) * static_cast<uint64_t>(from[axes - 1]);
  const auto* a = static_cast<const std::byte*>(longer.data());
  const auto* b = static_cast<const std::byte*>(shorter.data());
  for (int64_t run = 0; run < runs; run++) {
    int64_t rest = run, at = 0, stride = 1;
    for (size_t d = axes - 1; d-- > 0;) {
      at += rest % to[d] * stride;
      rest /= to[d];
      stride *= from[d];
    }
    if (std::memcmp(a + static_cast<uint64_t>(at) * row, b + static_cast<uint64_t>(run) * part,
                    part) != 0)
      return false;
  }
  return true;
}

// Whether the places p and p + period of the axis contain the same, for every p.
bool repeats_along(const Tensor& t, size_t axis, int64_t period) {
  if (t.dtype() == DType::string || dtype_bits(t.dtype()) < 8) return t.count() <= 1;
  const Shape& shape = t.shape();
  if (shape[axis] <= period || t.count() == 0) return true;
  const int64_t outer = element_count(std::span(shape).first(axis));
  const uint64_t row = t.bytes() / static_cast<uint64_t>(outer);
  const uint64_t step = row / static_cast<uint64_t>(shape[axis]) * static_cast<uint64_t>(period);
  const auto* data = static_cast<const std::byte*>(t.data());
  for (int64_t o = 0; o < outer; o++, data += row)
    if (std::memcmp(data, data + step, row - step) != 0) return false;
  return true;
}

// Products of the sizes in a hostile model may not fit in 64 bits.
__extension__ using Wide = __int128;

bool is_product(int64_t x, int64_t a, int64_t b) { return x == Wide{a} * b; }

class Search {
 public:
  Search(const ir::Graph& bucket, const ir::Graph& request) : bucket_(bucket), request_(request) {}

  std::string run(std::span<const PaddedAxis> padded) {
    if (!take_inputs(padded)) return "the model has other inputs at another size";
    if (bucket_.nodes().size() != request_.nodes().size())
      return "the model has other nodes at another size";
    for (size_t k = 0; k < bucket_.nodes().size(); k++)
      if (std::string why = follow(*bucket_.nodes()[k], *request_.nodes()[k]); !why.empty())
        return why;
    for (size_t i = 0; i < bucket_.outputs().size(); i++) {
      const Value* v = bucket_.outputs()[i];
      if (!same_operand(v, request_.outputs()[i]))
        return fmt::format("output '{}' is computed from the size itself", v->name());
      if (!real_places_are_first(*v))
        return fmt::format("output '{}' has its padding between real places", v->name());
    }
    return {};
  }

  std::string run_rows(int64_t rows, size_t axis, std::span<const PaddedAxis> padded) {
    merges_ = true;
    size_ = real_ = rows;
    for (const Value* v : bucket_.inputs()) {
      twins_[v] = v;
      for (const PaddedAxis& p : padded) {
        if (p.input != v->name()) continue;
        AxisLink link = {0, 0, 0, p.axis};
        link.output_block = v->shape()[p.axis] / rows;
        axes_[v].push_back(link);
      }
    }
    for (const auto& n : bucket_.nodes())
      if (std::string why = follow(*n, *n); !why.empty()) return why;
    for (const Value* v : bucket_.outputs())
      if (!is_made_of_rows(*v, axis))
        return fmt::format("axis {} of output '{}' is not made of the rows of the inputs", axis,
                           v->name());
    return {};
  }

 private:
  bool take_inputs(std::span<const PaddedAxis> padded) {
    if (bucket_.inputs().size() != request_.inputs().size() ||
        bucket_.outputs().size() != request_.outputs().size())
      return false;
    for (size_t i = 0; i < bucket_.inputs().size(); i++) {
      const Value *v = bucket_.inputs()[i], *w = request_.inputs()[i];
      twins_[v] = w;
      for (const PaddedAxis& p : padded) {
        if (p.input != v->name()) continue;
        if (p.axis >= v->shape().size() || p.axis >= w->shape().size()) return false;
        size_ = v->shape()[p.axis], real_ = w->shape()[p.axis];
        axes_[v].push_back({0, 0, 0, p.axis});
      }
    }
    return true;
  }

  const PaddedAxes* axes_of(const Value* v) const {
    const auto it = axes_.find(v);
    return v && it != axes_.end() && !it->second.empty() ? &it->second : nullptr;
  }

  std::string follow(const Node& n, const Node& m) {
    if (n.op_type != m.op_type || n.domain != m.domain || n.inputs().size() != m.inputs().size() ||
        n.outputs().size() != m.outputs().size() || (&n != &m && !ir::same_attributes(n, m)))
      return fmt::format("{} is another node at another size", n.describe());
    bool extends = false;  // a constant determines an extent and differs between the sizes
    for (size_t i = 0; i < n.inputs().size(); i++) {
      if (same_operand(n.input(i), m.input(i))) continue;
      if (!is_extent(n, i, n.input(i), m.input(i)))
        return fmt::format("{} computes with the size itself, as input {}", n.describe(), i);
      extends = true;
    }
    for (size_t o = 0; o < n.outputs().size(); o++) twins_[n.output(o)] = m.output(o);
    std::optional<AxisMap> map;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const PaddedAxes* axes = axes_of(n.input(i));
      if (!axes) continue;
      if (!map) map = ops::axis_map(n);
      for (size_t o = 0; o < n.outputs().size(); o++)
        for (const AxisLink& axis : *axes)
          if (!carry(*map, axis, i, o, *n.input(i), *n.output(o)))
            return fmt::format("{} combines places along axis {} of '{}'", n.describe(),
                               axis.output_axis, n.input(i)->name());
    }
    if (&bucket_ != &request_ && map && may_count_from_end(n, *map))
      return fmt::format("an index of {} may count from the end of a padded axis", n.describe());
    if (const Value* v = captured(n))
      return fmt::format("a subgraph of {} combines places of '{}'", n.describe(), v->name());
    if (merges_ && map)
      for (size_t o = 0; o < n.outputs().size(); o++)
        if (std::string why = why_rows_differ(n, *map, o); !why.empty()) return why;
    for (const Value* v : n.outputs())
      if (!all_known(*v, extends))
        return fmt::format("{} makes '{}' with another size", n.describe(), v->name());
    return {};
  }

  // Whether the node places elements along an axis with padding by indices that may be negative.
  bool may_count_from_end(const Node& n, const AxisMap& map) const {
    if (!ops::facts_of(n).moves) return false;
    for (size_t o = 0; o < n.outputs().size(); o++) {
      const PaddedAxes* axes = axes_of(n.output(o));
      if (!axes || std::ranges::all_of(*axes, [&](const AxisLink& l) {
            return ops::is_uniform(map, {o, l.output_axis});
          }))
        continue;
      for (size_t i = 1; i < n.inputs().size(); i++)
        if (const Value* v = n.input(i);
            v && (v->dtype() == DType::s64 || v->dtype() == DType::s32))
          if (!v->is_constant() || ops::any_below(v, 0)) return true;
    }
    return false;
  }

  // Returns a value with padding that a subgraph of the node reads from an outer graph, or null.
  // No axis map describes what a subgraph computes from it.
  const Value* captured(const Node& n) const {
    const Value* first = nullptr;
    ir::for_each_subgraph(n, [&](const ir::Graph& sub) {
      for (const auto& inner : sub.nodes())
        for (const Value* v : passes::values_read(*inner))
          if (axes_of(v) && (!first || v->name() < first->name())) first = v;
    });
    return first;
  }

  // Whether the operand is equal at both sizes, except for places after the real ones.
  bool same_operand(const Value* v, const Value* w) {
    if (!v || !w || v == w) return v == w;
    if (!v->is_constant()) {
      const auto twin = twins_.find(v);
      return twin != twins_.end() && twin->second == w;
    }
    if (!w->is_constant() || !begins_with(v->constant(), w->constant())) return false;
    twins_[v] = w;
    return all_known(*v, true);
  }

  static bool is_extent(const Node& n, size_t i, const Value* v, const Value* w) {
    return v && w && v->is_constant() && w->is_constant() && v->dtype() == w->dtype() &&
           v->shape() == w->shape() && ops::in_mask(ops::facts_of(n).extent_inputs, i);
  }

  // Whether the real places are known along each axis that is longer in the bucket. With `begins`,
  // the value must start with that of the request.
  bool all_known(const Value& v, bool begins) {
    const auto twin = twins_.find(&v);
    if (twin == twins_.end() || !twin->second->type.is_static() || !v.type.is_static())
      return &bucket_ == &request_;
    const Shape &longer = v.shape(), &shorter = twin->second->shape();
    if (longer.size() != shorter.size()) return false;
    PaddedAxes& axes = axes_[&v];
    for (size_t d = 0; d < longer.size(); d++) {
      if (longer[d] == shorter[d] || std::ranges::count(axes, d, &AxisLink::output_axis) != 0)
        continue;
      if (!begins || !has_as_many(v, d) || longer[d] % size_ != 0) return false;
      AxisLink link = {0, 0, 0, d};
      link.output_block = longer[d] / size_;
      axes.push_back(link);
    }
    return true;
  }

  // Carries one padded axis of input i to output o. Returns false if the axis is combined.
  bool carry(const AxisMap& map, const AxisLink& axis, size_t i, size_t o, const Value& from,
             const Value& to) {
    if (!ops::depends(map, i, o)) return true;
    if (!to.type.is_static()) return false;
    bool carried = false;
    for (const AxisLink& link : map.links) {
      if (link.input != i || link.output != o || link.input_axis != axis.output_axis) continue;
      const auto both = ops::axes::composed(axis, link, size_, from.shape()[link.input_axis],
                                            to.shape()[link.output_axis]);
      // The link must distinguish all places of the dimension.
      if (!both || both->shift != 0 || both->input_block != 1 || both->extent < size_) continue;
      if (!has_as_many(to, both->output_axis)) continue;
      PaddedAxes& axes = axes_[&to];
      if (std::ranges::count(axes, *both) == 0) axes.push_back(*both);
      carried = true;
    }
    return carried;
  }

  // Returns the reason why a row of output o is not computed from this row of the inputs in the
  // same way as the other rows, or an empty text if it is.
  std::string why_rows_differ(const Node& n, const AxisMap& map, size_t o) const {
    const PaddedAxes* axes = axes_of(n.output(o));
    if (!axes) return {};
    if (axes->size() != 1) return fmt::format("{} combines rows with other rows", n.describe());
    const AxisLink& rows = axes->front();
    if (!ops::is_uniform(map, {o, rows.output_axis}))
      return fmt::format("{} computes with the number of the row", n.describe());
    for (const AxisLink& link : map.links) {
      const Value* v = n.input(link.input);
      if (link.output != o || link.output_axis != rows.output_axis || axes_of(v)) continue;
      const int64_t places = n.output(o)->shape()[rows.output_axis];
      if (v->shape()[link.input_axis] == 1 && (link.extent == 1 || link.output_block >= places))
        continue;  // broadcast
      if (!repeats_by_row(*v, link, *n.output(o), rows))
        return fmt::format("{} computes with '{}', which differs from row to row", n.describe(),
                           v->name());
    }
    return {};
  }

  // Whether a value that `link` carries to the axis of the rows is a constant with the same numbers
  // for each row.
  bool repeats_by_row(const Value& v, const AxisLink& link, const Value& to,
                      const AxisLink& rows) const {
    const int64_t places = to.shape()[rows.output_axis];
    return v.is_constant() && link.input_block == 1 && link.output_block == 1 && link.shift == 0 &&
           link.extent >= places && v.shape()[link.input_axis] == places &&
           is_product(places, rows.output_block, size_) &&
           repeats_along(v.constant(), link.input_axis, rows.output_block);
  }

  bool is_made_of_rows(const Value& v, size_t axis) const {
    if (axis >= v.shape().size() || v.shape()[axis] % size_ != 0) return false;
    const int64_t block = v.shape()[axis] / size_;
    const PaddedAxes* axes = axes_of(&v);
    if (!axes) return v.is_constant() && repeats_along(v.constant(), axis, block);
    return axes->size() == 1 && axes->front().output_axis == axis &&
           axes->front().output_block == block;
  }

  // Whether the axis has the same number of places per place of the dimension at both sizes.
  bool has_as_many(const Value& v, size_t axis) const {
    const auto twin = twins_.find(&v);
    if (twin == twins_.end() || !twin->second->type.is_static()) return false;
    const Shape& shorter = twin->second->shape();
    if (axis >= shorter.size()) return false;
    return Wide{shorter[axis]} * size_ == Wide{v.shape()[axis]} * real_;
  }

  // Whether the real places of an output are the first ones.
  bool real_places_are_first(const Value& v) const {
    const PaddedAxes* axes = axes_of(&v);
    return !axes || std::ranges::all_of(*axes, [&](const AxisLink& l) {
      return is_product(v.shape()[l.output_axis], l.output_block, size_);
    });
  }

  const ir::Graph &bucket_, &request_;
  bool merges_ = false;  // the places of the dimension are rows of several requests
  int64_t size_ = 1, real_ = 1;
  // Values of `request` by the corresponding value of `bucket`.
  std::unordered_map<const Value*, const Value*> twins_;
  std::unordered_map<const Value*, PaddedAxes> axes_;
};

}  // namespace

std::string why_padding_reaches(const ir::Graph& bucket, const ir::Graph& request,
                                std::span<const PaddedAxis> padded) {
  return Search(bucket, request).run(padded);
}

std::string why_rows_mix(const ir::Graph& graph, int64_t rows, size_t axis,
                         std::span<const PaddedAxis> padded) {
  return Search(graph, graph).run_rows(rows, axis, padded);
}

}  // namespace poprt::compiler
