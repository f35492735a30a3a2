// Checks a node's map of axes (ops/axes.h) with numbers. It changes one slice of an input: exactly
// the places of the outputs that the map names for the slice must change. It also puts the axes
// that are reduced or carried into another order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "ops/axes.h"
#include "ops/common/evaluate.h"
#include "ops/common/scalar.h"
#include "support/uniform.h"

namespace poprt::ops::contract {

inline std::vector<int64_t> index_of(int64_t flat, const Shape& shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) at[d] = flat % shape[d];
  return at;
}

inline int64_t flat_of(const std::vector<int64_t>& at, const Shape& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); d++) flat = flat * shape[d] + at[d];
  return flat;
}

struct Tried {
  std::string name;
  std::unique_ptr<ir::Graph> graph;
  ir::Node* node = nullptr;
  std::vector<Tensor> inputs;
  std::vector<bool> fixed;  // for each input: whether it is constant, so that it is not changed
};

inline bool is_ready(const ir::Node& node) {
  return std::ranges::all_of(node.outputs(), [](const ir::Value* v) {
    return v->type.is_static() && element_count(v->shape()) > 0;
  });
}

// Returns a tensor with these elements.
inline Tensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values) {
  Tensor t = Tensor::zeros(dtype, shape);
  auto* to = static_cast<std::byte*>(t.mutable_data());
  for (const double v : values) {
    const Tensor one = scalar_tensor(dtype, v);
    std::memcpy(to, one.data(), one.bytes());
    to += one.bytes();
  }
  return t;
}

// -- Changes --------------------------------------------------------------------------------------

// Elements after one place of the axis.
inline int64_t inner_count(const Shape& shape, size_t axis) {
  return element_count(std::span(shape).subspan(axis + 1));
}

inline constexpr int kNanWay = 2, kInfiniteWay = 6, kWays = 15, kBases = 5;

// Inputs with more elements are tried at fewer places and with fewer kinds of changes.
inline constexpr int64_t kLarge = 1000;

inline double changed_float(double v, int way, std::mt19937& rng) {
  const auto uniform = [&](float low, float high) {
    return static_cast<double>(test::Uniform{low, high}(rng));
  };
  switch (way % 4) {
    case 0: return v * uniform(0.3f, 3) + uniform(-0.1f, 0.1f);
    case 1: return uniform(0.05f, 0.95f);
    case kNanWay:
      if (way == kNanWay) return std::nan("");
      return way == kInfiniteWay ? INFINITY : -INFINITY;
    default: return -v * uniform(0.5f, 2) + uniform(-1, 1);
  }
}

inline bool is_changeable(DType t) {
  return t == DType::boolean || is_integer(t) ? dtype_bits(t) >= 8
                                              : t == DType::f32 || t == DType::f64;
}

inline bool is_whole(DType t) { return t == DType::boolean || is_integer(t); }

// Returns `t` with new values in one slice. Integers of more than a byte may be indices, so they
// become other elements of the tensor, or 0 or 1.
inline Tensor changed(const Tensor& t, size_t axis, int64_t place, int way, std::mt19937& rng) {
  std::vector<double> values = t.to_doubles();
  const std::vector<double> before = values;
  const int64_t inner = inner_count(t.shape(), axis);
  for (int64_t i = 0; i < t.count(); i++) {
    if (i / inner % t.shape()[axis] != place) continue;
    double& v = values[static_cast<size_t>(i)];
    const DType type = t.dtype();
    if (type == DType::f32 || type == DType::f64)
      v = changed_float(v, way, rng);
    else if (type == DType::boolean)
      v = v == 0;
    else if (type == DType::u8)
      v = static_cast<double>(rng() % 256);
    else if (way % 2 == 0)
      v = before[rng() % before.size()];
    else
      v = static_cast<double>(rng() % 2);
  }
  return tensor_of(t.dtype(), t.shape(), values);
}

// Place a of the axis is place order[a] of `t`.
inline std::vector<double> in_order(const Tensor& t, size_t axis,
                                    const std::vector<int64_t>& order) {
  const std::vector<double> from = t.to_doubles();
  std::vector<double> to(from.size());
  for (int64_t k = 0; k < t.count(); k++) {
    auto at = index_of(k, t.shape());
    at[axis] = order[static_cast<size_t>(at[axis])];
    to[static_cast<size_t>(k)] = from[static_cast<size_t>(flat_of(at, t.shape()))];
  }
  return to;
}

inline std::optional<std::vector<Tensor>> computed(const Tried& t,
                                                   const std::vector<Tensor>& inputs) {
  try {
    return evaluate(*t.node, inputs);
  } catch (const Error&) {  // the operator refuses the numbers
    return std::nullopt;
  }
}

// A vector kernel may round a number differently if its neighbours need a slow path.
inline constexpr double kRounding = 1e-6;

inline std::vector<bool> differing(const Tensor& a, const Tensor& b) {
  std::vector<bool> differs;
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (size_t i = 0; i < x.size(); i++)
    differs.push_back(x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])) &&
                      !(std::fabs(x[i] - y[i]) <= kRounding * (0.1 + std::fabs(x[i]))));
  return differs;
}

// -- What the map names ---------------------------------------------------------------------------

// The indices on each axis of the output that a slice of an input reaches. `any` is false if it
// reaches no element.
struct Named {
  std::vector<std::vector<bool>> places;
  bool any = true;

  bool has(const std::vector<int64_t>& at) const {
    for (size_t e = 0; any && e < at.size(); e++)
      if (!places[e][static_cast<size_t>(at[e])]) return false;
    return any;
  }
};

inline Named named(const AxisMap& map, InputAxis slice, int64_t place, size_t output) {
  const Shape &in = map.inputs[slice.input], &out = map.outputs[output];
  Named n;
  for (const int64_t d : out)
    n.places.emplace_back(static_cast<size_t>(d), depends(map, slice.input, output));
  n.any = depends(map, slice.input, output);
  for (size_t d = 0; d < in.size(); d++)
    for (size_t e = 0; e < out.size(); e++)
      for (int64_t b = 0; b < out[e]; b++) {
        bool met = false;
        for (int64_t a = 0; !met && a < in[d]; a++) {
          if (d == slice.axis && a != place) continue;
          met = std::ranges::all_of(map.links, [&](const AxisLink& l) {
            return l.input != slice.input || l.input_axis != d || l.output != output ||
                   l.output_axis != e || l.meets(a, b);
          });
        }
        if (!met) n.places[e][static_cast<size_t>(b)] = false;
      }
  for (const auto& axis : n.places) n.any = n.any && std::ranges::count(axis, true) > 0;
  return n;
}

inline bool are_linked(const AxisMap& map, InputAxis from, size_t output, size_t axis) {
  return std::ranges::any_of(map.links, [&](const AxisLink& l) {
    return l.input == from.input && l.input_axis == from.axis && l.output == output &&
           l.output_axis == axis;
  });
}

// -- The contract ---------------------------------------------------------------------------------

struct Found {
  std::vector<std::string> wrong;    // a place changed that the map does not name
  std::vector<std::string> inexact;  // a named place never changed, or a link is missing
};

using Seen =
    std::vector<std::vector<std::set<int64_t>>>;  // by output and axis: places that changed

class Contract {
  struct Base {
    std::vector<Tensor> inputs, results;
  };

 public:
  Contract(const Tried& t, const AxisMap& map) : t_(t), map_(map) {
    for (const Tensor& in : t.inputs) largest_ = std::max(largest_, in.defined() ? in.count() : 0);
  }

  Found check() {
    bases_.push_back({t_.inputs, evaluate(*t_.node, t_.inputs)});
    add_bases();
    for (size_t i = 0; i < t_.inputs.size(); i++) {
      const Tensor& in = t_.inputs[i];
      if (!in.defined() || t_.fixed[i] || in.count() == 0 || !is_changeable(in.dtype())) continue;
      for (size_t d = 0; d < in.shape().size(); d++) check_axis({i, d});
    }
    for (const auto& group : map_.reduced) check_reduced(group);
    for (size_t o = 0; o < map_.outputs.size(); o++)
      for (size_t e = 0; e < map_.outputs[o].size(); e++) check_uniform({o, e});
    return found_;
  }

 private:
  // Adds inputs with other conditions, indices and signs: conditions and indices select places, and
  // signs select what a node does with the values.
  void add_bases() {
    for (int b = 1; b < kBases; b++) {
      std::vector<Tensor> inputs = t_.inputs;
      for (size_t i = 0; i < inputs.size(); i++) {
        Tensor& in = inputs[i];
        if (!in.defined() || t_.fixed[i] || in.count() == 0) continue;
        if (!is_changeable(in.dtype()) || (!is_whole(in.dtype()) && b < kBases - 1)) continue;
        std::vector<double> values = in.to_doubles();
        if (in.dtype() == DType::boolean)
          for (double& v : values) v = rng_() % 2;
        else if (is_integer(in.dtype()))
          std::ranges::shuffle(values, rng_);
        else
          for (double& v : values) v = rng_() % 2 ? v : -v;
        in = tensor_of(in.dtype(), in.shape(), values);
      }
      if (auto results = computed(t_, inputs)) bases_.push_back({inputs, std::move(*results)});
    }
  }

  std::vector<int64_t> places_of(InputAxis from) const {
    const int64_t size = t_.inputs[from.input].shape()[from.axis];
    if (size <= 4 || largest_ <= 256) {
      std::vector<int64_t> all(static_cast<size_t>(std::min<int64_t>(size, 24)));
      for (size_t a = 0; a < all.size(); a++) all[a] = static_cast<int64_t>(a);
      return all;
    }
    if (largest_ <= kLarge) return {0, 1, size / 2, size - 1};
    return {0, size - 1};
  }

  void check_axis(InputAxis from) {
    const int64_t size = t_.inputs[from.input].shape()[from.axis];
    const auto places = places_of(from);
    std::vector<Seen> seen;
    for (const int64_t place : places) seen.push_back(check_slice(from, place));
    if (static_cast<int64_t>(places.size()) < size || size < 2 || !floats(from)) return;
    // Each place of the input reached only the same place of the output: the map must state this.
    for (size_t o = 0; o < map_.outputs.size(); o++)
      for (size_t e = 0; e < map_.outputs[o].size(); e++) {
        if (map_.outputs[o][e] != size || are_linked(map_, from, o, e)) continue;
        bool plain = true;
        for (size_t a = 0; a < seen.size(); a++)
          plain = plain && seen[a][o][e] == std::set<int64_t>{places[a]};
        if (plain)
          found_.inexact.push_back(
              fmt::format("input {} axis {} is axis {} of output {}, which is not stated",
                          from.input, from.axis, e, o));
      }
  }

  bool floats(InputAxis from) const { return !is_whole(t_.inputs[from.input].dtype()); }

  Seen check_slice(InputAxis from, int64_t place) {
    std::vector<Named> names;
    Seen seen;
    for (size_t o = 0; o < map_.outputs.size(); o++) {
      names.push_back(named(map_, from, place, o));
      seen.emplace_back(map_.outputs[o].size());
    }
    for (int way = 0; way < kWays; way++) {
      if (way > (largest_ <= kLarge ? kNanWay : 0) && missing(from, names, seen).empty()) break;
      const Base& base = bases_[static_cast<size_t>(way) % bases_.size()];
      std::vector<Tensor> inputs = base.inputs;
      inputs[from.input] = changed(inputs[from.input], from.axis, place, way, rng_);
      const auto after = computed(t_, inputs);
      for (size_t o = 0; after && o < base.results.size(); o++)
        compare(from, place, o, base.results[o], (*after)[o], names[o], seen[o]);
    }
    if (floats(from))
      for (const std::string& what : missing(from, names, seen))
        found_.inexact.push_back(
            fmt::format("input {} axis {} place {}: {}", from.input, from.axis, place, what));
    return seen;
  }

  void compare(InputAxis from, int64_t place, size_t o, const Tensor& before, const Tensor& after,
               const Named& names, std::vector<std::set<int64_t>>& seen) {
    const auto differs = differing(before, after);
    for (size_t k = 0; k < differs.size(); k++) {
      if (!differs[k]) continue;
      const auto at = index_of(static_cast<int64_t>(k), after.shape());
      if (!names.has(at))
        found_.wrong.push_back(fmt::format("input {} axis {} place {} reaches output {} {}",
                                           from.input, from.axis, place, o, shape_string(at)));
      for (size_t e = 0; e < at.size(); e++) seen[e].insert(at[e]);
    }
  }

  // Places on linked axes that were named and did not change.
  std::vector<std::string> missing(InputAxis from, const std::vector<Named>& names,
                                   const Seen& seen) const {
    std::vector<std::string> all;
    for (size_t o = 0; o < names.size(); o++)
      for (size_t e = 0; names[o].any && e < names[o].places.size(); e++)
        for (size_t b = 0; b < names[o].places[e].size(); b++)
          if (are_linked(map_, from, o, e) && names[o].places[e][b] &&
              !seen[o][e].contains(static_cast<int64_t>(b)))
            all.push_back(fmt::format("axis {} place {} of output {} never changes", e, b, o));
    return all;
  }

  std::vector<int64_t> order_of(int64_t size) {
    std::vector<int64_t> order(static_cast<size_t>(size));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::shuffle(order, rng_);
    return order;
  }

  // The results for inputs whose places are in another order on these axes.
  std::optional<std::vector<Tensor>> reordered(const std::vector<InputAxis>& axes,
                                               const std::vector<int64_t>& order) const {
    std::vector<Tensor> inputs = t_.inputs;
    for (const InputAxis& a : axes) {
      if (t_.fixed[a.input] || !is_changeable(inputs[a.input].dtype())) return std::nullopt;
      const Tensor& x = inputs[a.input];
      inputs[a.input] = tensor_of(x.dtype(), x.shape(), in_order(x, a.axis, order));
    }
    return computed(t_, inputs);
  }

  void expect_equal(const std::vector<double>& x, const Tensor& found, const std::string& what) {
    const auto y = found.to_doubles();
    for (size_t k = 0; k < x.size(); k++)
      if (!(std::isnan(x[k]) && std::isnan(y[k])) && x[k] != y[k] &&
          !(std::fabs(x[k] - y[k]) <= 1e-4 * (1 + std::fabs(x[k]))))
        found_.wrong.push_back(fmt::format("{}: {}, not {}", what, y[k], x[k]));
  }

  // Another order of the places, the same on all axes of the group, must not change the results.
  void check_reduced(const std::vector<InputAxis>& group) {
    const auto size = map_.inputs[group[0].input][group[0].axis];
    for (const InputAxis& a : group) EXPECT_EQ(map_.inputs[a.input][a.axis], size) << t_.name;
    const auto after = reordered(group, order_of(size));
    for (size_t o = 0; after && o < after->size(); o++)
      expect_equal(bases_[0].results[o].to_doubles(), (*after)[o],
                   fmt::format("another order of axis {} of input {} changes output {}",
                               group[0].axis, group[0].input, o));
  }

  // If all inputs that are carried to an axis are reordered, the axis has the same order.
  void check_uniform(OutputAxis to) {
    std::vector<InputAxis> from;
    for (const AxisLink& l : map_.links) {
      if (l.output != to.output || l.input_axis >= map_.inputs[l.input].size()) continue;
      const InputAxis a{l.input, l.input_axis};
      if (l.output_axis == to.axis) {
        if (map_.inputs[a.input][a.axis] == 1) continue;  // an axis of one element has no order
        if (carried(map_, a, to.output) != to.axis) return;
        from.push_back(a);
      }
    }
    // An input axis that is carried to two axes reorders both.
    for (const AxisLink& l : map_.links)
      if (l.output == to.output && l.output_axis != to.axis &&
          std::ranges::count(from, InputAxis{l.input, l.input_axis}) > 0)
        return;
    if (from.empty() || !is_uniform(map_, to)) return;
    const auto order = order_of(map_.outputs[to.output][to.axis]);
    const auto after = reordered(from, order);
    if (after)
      expect_equal(in_order(bases_[0].results[to.output], to.axis, order), (*after)[to.output],
                   fmt::format("axis {} of output {} is not uniform", to.axis, to.output));
  }

  const Tried& t_;
  const AxisMap& map_;
  int64_t largest_ = 0;
  std::vector<Base> bases_;
  std::mt19937 rng_{7};
  Found found_;
};

inline std::string first_of(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(lines.size(), 4); i++) text += "\n  " + lines[i];
  return fmt::format("{} in all:{}", lines.size(), text);
}

}  // namespace poprt::ops::contract
