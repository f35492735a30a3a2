// What every operator states about its axes (ops/axes.h), checked against numbers: a slice of an
// input is changed, and exactly the places of the outputs that the map names for it change.
#include "ops/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "core/ops/run_node.h"
#include "core/ops/sample.h"
#include "ir/text.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/evaluate.h"
#include "ops/common/op_support.h"
#include "ops/common/scalar.h"

namespace poprt::ops {
namespace {

using sampled::Sample;

// -- Nodes ----------------------------------------------------------------------------------------

struct Tried {
  std::string name;
  std::unique_ptr<ir::Graph> graph;
  ir::Node* node = nullptr;
  std::vector<Tensor> inputs;
  std::vector<bool> fixed;  // its value decides what the node computes
};

bool is_ready(const ir::Node& node) {
  return std::ranges::all_of(node.outputs(), [](const ir::Value* v) {
    return v->type.is_static() && element_count(v->shape()) > 0;
  });
}

// All inputs but those that must be constant come at run time.
std::optional<Tried> tried(const Sample& sample) {
  const OpDef* op = find_op(sample.domain, sample.op, sample.opset);
  if (!op || !op->pure || !op->lower) return std::nullopt;
  for (const bool free : {true, false}) {
    Sample s = sample;
    auto graph = make_graph(s);
    const uint32_t needed = constant_inputs(*graph.node);
    for (size_t i = 0; free && i < s.constant.size(); i++)
      s.constant[i] = s.constant[i] && in_mask(needed, i);
    try {
      sampled::SampleGraph g = make_graph(s);
      infer(*g.node);
      if (!is_ready(*g.node)) continue;
      evaluate(*g.node, s.inputs);
      Tried t{fmt::format("{}.{} {}", s.domain, s.op, s.opset), std::move(g.graph), g.node,
              s.inputs, s.constant};
      return t;
    } catch (const Error&) {  // a weight that must be constant, or text
    }
  }
  return std::nullopt;
}

// A node in the words of Trial (ops/trial.h): inputs with values are constants.
struct Written {
  int64_t opset = 0;
  std::string_view op, inputs, attributes = "";
  size_t outputs = 1;
};

// With `constants`, inputs from the second on are constants, as weights must be.
Tried tried(const Written& w, bool constants = false) {
  std::string lines, names, outputs, results;
  Tried t{fmt::format("{} {} ({}) {}", w.op, w.opset, w.inputs, w.attributes),
          nullptr,
          nullptr,
          {},
          {}};
  const std::string text(w.inputs);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    std::string in = text.substr(begin, end - begin);
    in.erase(0, in.find_first_not_of(' '));
    begin = end + 1;
    names += t.fixed.empty() ? "" : ", ";
    const bool given = in.find('=') != in.npos;
    t.fixed.push_back(given || (constants && !t.fixed.empty()));
    if (in == "_") {
      names += "_";
      continue;
    }
    if (t.fixed.back() && !given) in += in.starts_with("bool") ? " = fill true" : " = fill 1";
    names += fmt::format("%x{}", t.fixed.size());
    lines += fmt::format("{} %x{} : {}\n", t.fixed.back() ? "const" : "input", t.fixed.size(), in);
  }
  for (size_t i = 0; i < w.outputs; i++) {
    outputs += fmt::format("{}%y{}", i ? ", " : "", i);
    results += fmt::format("output %y{}\n", i);
  }
  t.graph = ir::parse_text(fmt::format(
      "graph \"g\" opset {{\"\": {}, \"com.microsoft\": 1, \"ai.graphcore\": 1, \"poprt\": 1, "
      "\"ai.onnx.ml\": {}, \"ai.onnx.preview.training\": 1}} {{\n{}{} = {}({}) {{{}}}\n{}}}\n",
      w.opset, w.op.ends_with(".TreeEnsemble") ? 5 : 3, lines, outputs, w.op, names, w.attributes,
      results));
  t.node = t.graph->nodes().front();
  infer(*t.node);
  // Floats are near 1, where every operator has a value.
  for (size_t i = 0; i < t.node->inputs().size(); i++) {
    const ir::Value* v = t.node->input(i);
    t.inputs.push_back(!v                 ? Tensor()
                       : v->is_constant() ? v->constant()
                       : v->dtype() == DType::f32
                           ? sampled::random_f32(v->shape(), 0.6f, 1.4f, static_cast<uint32_t>(i))
                           : Tensor::zeros(v->dtype(), v->shape()));
  }
  return t;
}

Tensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values) {
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
int64_t inner_count(const Shape& shape, size_t axis) {
  return element_count(std::span(shape).subspan(axis + 1));
}

constexpr int kNanWay = 2, kInfiniteWay = 6, kWays = 15, kBases = 5;

// Elements of an input from which on fewer places and ways are tried.
constexpr int64_t kLarge = 1000;

double changed_float(double v, int way, std::mt19937& rng) {
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

bool is_changeable(DType t) {
  return t == DType::boolean || is_integer(t) ? dtype_bits(t) >= 8
                                              : t == DType::f32 || t == DType::f64;
}

bool is_whole(DType t) { return t == DType::boolean || is_integer(t); }

// New values in one slice. Integers may be indices, so they become others of the same tensor, or
// bytes of any value.
Tensor changed(const Tensor& t, size_t axis, int64_t place, int way, std::mt19937& rng) {
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
std::vector<double> in_order(const Tensor& t, size_t axis, const std::vector<int64_t>& order) {
  const std::vector<double> from = t.to_doubles();
  std::vector<double> to(from.size());
  for (int64_t k = 0; k < t.count(); k++) {
    auto at = test::unravel(k, t.shape());
    at[axis] = order[static_cast<size_t>(at[axis])];
    to[static_cast<size_t>(k)] = from[static_cast<size_t>(test::ravel(at, t.shape()))];
  }
  return to;
}

std::optional<std::vector<Tensor>> computed(const Tried& t, const std::vector<Tensor>& inputs) {
  try {
    return evaluate(*t.node, inputs);
  } catch (const Error&) {  // numbers that it refuses
    return std::nullopt;
  }
}

// Kernels of vectors may round a number in another way when its neighbours need a slow path.
constexpr double kRounding = 1e-6;

std::vector<bool> differing(const Tensor& a, const Tensor& b) {
  std::vector<bool> differs;
  const auto x = a.to_doubles(), y = b.to_doubles();
  for (size_t i = 0; i < x.size(); i++)
    differs.push_back(x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])) &&
                      !(std::fabs(x[i] - y[i]) <= kRounding * (0.1 + std::fabs(x[i]))));
  return differs;
}

// -- What the map names ---------------------------------------------------------------------------

// Places of each axis of the output that a slice of an input reaches; nothing where it reaches no
// element.
struct Named {
  std::vector<std::vector<bool>> places;
  bool any = true;

  bool has(const std::vector<int64_t>& at) const {
    for (size_t e = 0; any && e < at.size(); e++)
      if (!places[e][static_cast<size_t>(at[e])]) return false;
    return any;
  }
};

Named named(const AxisMap& map, InputAxis slice, int64_t place, size_t output) {
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

bool are_linked(const AxisMap& map, InputAxis from, size_t output, size_t axis) {
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
  // Conditions and indices decide which places are read, signs what is done with them.
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
    // Each place reached its own alone: the map must say so.
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
      const auto at = test::unravel(static_cast<int64_t>(k), after.shape());
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

  // The places of all axes in the group in another order give the same.
  void check_reduced(const std::vector<InputAxis>& group) {
    const auto size = map_.inputs[group[0].input][group[0].axis];
    for (const InputAxis& a : group) EXPECT_EQ(map_.inputs[a.input][a.axis], size) << t_.name;
    const auto after = reordered(group, order_of(size));
    for (size_t o = 0; after && o < after->size(); o++)
      expect_equal(bases_[0].results[o].to_doubles(), (*after)[o],
                   fmt::format("another order of axis {} of input {} changes output {}",
                               group[0].axis, group[0].input, o));
  }

  // The places of all inputs that are carried to an axis in another order give it in that order.
  void check_uniform(OutputAxis to) {
    std::vector<InputAxis> from;
    for (const AxisLink& l : map_.links) {
      if (l.output != to.output || l.input_axis >= map_.inputs[l.input].size()) continue;
      const InputAxis a{l.input, l.input_axis};
      if (l.output_axis == to.axis) {
        if (map_.inputs[a.input][a.axis] == 1) continue;  // it has no order
        if (carried(map_, a, to.output) != to.axis) return;
        from.push_back(a);
      }
    }
    // One that leads to two axes puts both into another order.
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

std::string first_of(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(lines.size(), 4); i++) text += "\n  " + lines[i];
  return fmt::format("{} in all:{}", lines.size(), text);
}

// Operators, or nodes, for which numbers show less, or more, than the map states.
const std::map<std::string, std::string_view>& inexact() {
  static const std::map<std::string, std::string_view> names = {
      {"Trilu", "one triangle becomes zeros"},
      {"ScatterElements", "updates overwrite each other and the data"},
      {"ScatterND", "updates overwrite the data"},
      {"TensorScatter", "the update overwrites a part of the cache"},
      {"DynamicUpdate", "the update overwrites a part"},
      {"Cast", "narrow types have one number for many"},
      {"Elementwise", "an output may use some of the inputs only"},
      {"AttentionMask", "a place meets all others in one row and one column"},
      {"BeamSearch", "the decomposition mixes beams of one sample"},
      {".Where 16", "the condition is true everywhere"},
      {"Compress 26", "the condition keeps all places"},
      {"Equal 26", "random numbers are never equal"},
      {"ai.graphcore.NotZero 26", "random numbers are never zero"},
      {"ai.onnx.ml.LabelEncoder 26", "random numbers are no key"},
      {"ai.graphcore.Pack 26", "there are no tokens"},
      {"ai.graphcore.Repack 26", "there are no tokens"},
      {"ai.graphcore.Unpack 26", "there are no tokens"},
      {"com.microsoft.CropAndResize 26", "the region has no area"},
      {"com.microsoft.RotaryEmbedding 26", "the positions are in the order of the table"},
      {"ReverseSequence 26", "nothing is reversed"},
      {"RNN 26", "the state is zero before the first of two steps"},
      {"ai.onnx.ml.TreeEnsemble 26", "the trial has a leaf alone"},
      {"ai.onnx.ml.TreeEnsembleClassifier 26", "the trial has a leaf alone"},
      {"ai.onnx.ml.TreeEnsembleRegressor 26", "the trial has a leaf alone"}};
  return names;
}

bool is_exact(const Tried& t) {
  return !inexact().contains(t.node->op_type) &&
         !inexact().contains(t.name.substr(0, t.name.find(" (")));
}

void expect_contract(const Tried& t) {
  SCOPED_TRACE(t.name);
  const AxisMap map = axis_map(*t.node);
  const Found found = Contract(t, map).check();
  EXPECT_TRUE(found.wrong.empty()) << first_of(found.wrong);
  if (is_exact(t)) EXPECT_TRUE(found.inexact.empty()) << first_of(found.inexact);
}

TEST(Axes, EveryOperatorStatesThem) {
  for (const OpDef* op : all_ops()) EXPECT_NE(op->axes, nullptr) << op->domain << "." << op->name;
}

TEST(Axes, OfSamplesAreThoseThatNumbersShow) {
  std::set<std::string> seen;
  for (const Sample& s : sampled::all_samples())
    if (const auto t = tried(s)) {
      expect_contract(*t);
      seen.insert(s.op);
    }
  EXPECT_GE(seen.size(), 150u);
}

// The first of the operator's trials that can be evaluated, in f32.
std::optional<Tried> tried(const OpDef& op) {
  for (const Trial& trial : trials_of(op))
    for (const bool constants : {false, true}) {
      std::string inputs(trial.inputs), attributes(trial.attributes);
      for (std::string* s : {&inputs, &attributes}) {
        for (size_t at; (at = s->find("T[")) != s->npos;) s->replace(at, 1, "f32");
        std::ranges::replace(*s, '@', '1');
      }
      const std::string name =
          fmt::format("{}{}{}", op.domain, op.domain.empty() ? "" : ".", op.name);
      const int64_t opset = op.domain.empty() ? std::min<int64_t>(op.until, 26) : 26;
      try {
        Tried t = tried(Written{opset, name, inputs, attributes, trial.outputs}, constants);
        if (is_ready(*t.node) && !evaluate(*t.node, t.inputs).empty()) return t;
      } catch (const Error&) {  // the next one
      }
    }
  return std::nullopt;
}

TEST(Axes, OfTrialsAreThoseThatNumbersShow) {
  std::map<std::string_view, size_t> seen;
  for (const OpDef* op : all_ops())
    if (op->pure && op->lower != lower_container && op->lower != lower_text)
      if (const auto t = tried(*op)) {
        expect_contract(*t);
        seen[op->domain]++;
      }
  EXPECT_GE(seen[""], 150u);
  EXPECT_GE(seen["com.microsoft"], 25u);
  EXPECT_GE(seen["ai.graphcore"], 35u);
  EXPECT_GE(seen["ai.onnx.ml"], 10u);
  EXPECT_GE(seen["poprt"], 15u);
}

// Attributes, opsets and shapes that samples do not have.
const Written kWritten[] = {
    // Broadcasting: unequal ranks, ones, axes before opset 7.
    {14, "Add", "f32[2,3,4]; f32[3,1]"},
    {14, "Add", "f32[4]; f32[2,3,4]"},
    {14, "Mul", "f32[2,1,4]; f32[1,3,1]"},
    {6, "Add", "f32[2,3,4]; f32[3]", "broadcast = 1, axis = 1"},
    {6, "PRelu", "f32[2,3,4]; f32[3]"},
    {16, "PRelu", "f32[2,3,4]; f32[3,1]"},
    {16, "Where", "bool[3,1]; f32[2,3,4]; f32[4]"},
    {13, "Clip", "f32[2,3]; f32[]; f32[]"},
    {19, "CastLike", "f32[2,3]; f64[3]"},
    {13, "Sum", "f32[2,3]; f32[3]; f32[2,1]"},
    // Softmax of two meanings.
    {11, "Softmax", "f32[2,3,4]"},
    {11, "Softmax", "f32[2,3,4]", "axis = 2"},
    {11, "Softmax", "f32[2,3,4]", "axis = -2"},
    {13, "Softmax", "f32[2,3,4]"},
    {13, "Softmax", "f32[2,3,4]", "axis = 0"},
    {13, "LogSoftmax", "f32[2,3,4]", "axis = -2"},
    // Reductions.
    {13, "ReduceSum", "f32[2,3,4]; s64[1] = [1]", "keepdims = 0"},
    {13, "ReduceSum", "f32[2,3,4]; s64[2] = [-1, 0]", "keepdims = 1"},
    {13, "ReduceMean", "f32[2,3,4]", "axes = [-2], keepdims = 0"},
    {18, "ReduceMax", "f32[2,3,4]; s64[2] = [0, 2]", "keepdims = 0"},
    {18, "ReduceL2", "f32[2,3,4]; _", "noop_with_empty_axes = 1"},
    {18, "ReduceProd", "f32[2,3]"},
    {13, "ArgMax", "f32[2,3,4]", "axis = -2, keepdims = 0"},
    {11, "TopK", "f32[2,3,4]; s64[1] = [2]", "axis = 1", 2},
    {14, "CumSum", "f32[2,3,4]; s32[] = -2"},
    // Normalisations.
    {17, "LayerNormalization", "f32[2,3,4]; f32[3,4]; f32[4]", "axis = 1", 3},
    {17, "LayerNormalization", "f32[2,3,4]; f32[4]", "axis = -1"},
    {17, "LayerNormalization", "f32[2,3,4]; f32[1,3,1]", "axis = 2"},
    {23, "RMSNormalization", "f32[2,3,4]; f32[4]", "axis = -2"},
    {21, "GroupNormalization", "f32[2,4,3]; f32[4]; f32[4]", "num_groups = 2"},
    {18, "GroupNormalization", "f32[2,4,3]; f32[2]; f32[2]", "num_groups = 2"},
    {15, "BatchNormalization", "f32[2,3,4]; f32[3]; f32[3]; f32[3]; f32[3]", "training_mode = 1",
     3},
    {8, "BatchNormalization", "f32[2,3,4]; f32[12]; f32[12]; f32[12]; f32[12]", "spatial = 0"},
    {13, "MeanVarianceNormalization", "f32[2,3,4,2]", "axes = [1, -1]"},
    {13, "LRN", "f32[2,5,3]", "size = 3"},
    // Products.
    {13, "MatMul", "f32[2,1,3,4]; f32[5,4,2]"},
    {13, "MatMul", "f32[4]; f32[3,4,2]"},
    {13, "MatMul", "f32[2,3,4]; f32[4]"},
    {13, "Gemm", "f32[4,3]; f32[2,4]; f32[3,1]", "transA = 1, transB = 1"},
    {13, "Gemm", "f32[3,4]; f32[4,2]; f32[2]"},
    {12, "Einsum", "f32[2,3,4]; f32[4,2]", "equation = \"bij,jb->bi\""},
    {12, "Einsum", "f32[3,3]", "equation = \"ii->i\""},
    {12, "Einsum", "f32[2,3,4]; f32[1,4,5]", "equation = \"...ij,...jk->...ik\""},
    {10, "MatMulInteger", "u8[3,4]; u8[4,2]; u8[3]; u8[2]"},
    // Convolutions and pooling: groups, windows that do and do not overlap.
    {11, "Conv", "f32[2,4,5]; f32[6,2,3]; f32[6]", "group = 2"},
    {11, "Conv", "f32[2,4,6]; f32[4,1,3]", "group = 4, pads = [1, 1]"},
    {11, "Conv", "f32[2,2,6,4]; f32[3,2,3,1]", "strides = [3, 1]"},
    {11, "Conv", "f32[1,2,5]; f32[3,2,2]", "strides = [2], pads = [1, 0]"},
    {11, "ConvTranspose", "f32[2,4,3]; f32[4,2,3]; f32[4]", "group = 2"},
    {11, "ConvTranspose", "f32[1,2,3]; f32[2,3,2]", "strides = [2]"},
    {12, "MaxPool", "f32[2,2,6,4]", "kernel_shape = [2, 3], strides = [2, 1]"},
    {12, "MaxPool", "f32[1,1,4,4]", "kernel_shape = [2, 2], strides = [2, 2]", 2},
    {19, "AveragePool", "f32[1,2,5]",
     "kernel_shape = [2], strides = [2], pads = [1, 0], ceil_mode = 1"},
    {22, "GlobalAveragePool", "f32[2,3,4,2]"},
    {22, "DeformConv", "f32[2,2,4,4]; f32[3,2,2,2]; f32[2,8,3,3]; f32[3]; f32[2,4,3,3]",
     "kernel_shape = [2, 2]"},
    // Shapes.
    {13, "Reshape", "f32[2,3,4]; s64[2] = [6, 4]"},
    {13, "Reshape", "f32[6,4]; s64[3] = [2, 3, -1]"},
    {13, "Reshape", "f32[4,6]; s64[2] = [8, 3]"},
    {13, "Reshape", "f32[1,2,12]; s64[4] = [1, 2, 3, 4]"},
    {13, "Reshape", "f32[2,3,2,2]; s64[3] = [2, 3, 4]"},
    {13, "Reshape", "f32[12]; s64[3] = [2, 3, 2]"},
    {13, "Flatten", "f32[2,3,4]", "axis = 2"},
    {13, "Flatten", "f32[2,3,4]", "axis = 0"},
    {13, "Squeeze", "f32[2,1,3,1]; s64[1] = [-1]"},
    {13, "Squeeze", "f32[2,1,3,1]"},
    {13, "Unsqueeze", "f32[2,3]; s64[2] = [0, -1]"},
    {13, "Transpose", "f32[2,3,4]", "perm = [1, 2, 0]"},
    {13, "Transpose", "f32[2,3,4]"},
    {13, "Expand", "f32[3,1]; s64[3] = [2, 3, 4]"},
    {13, "Tile", "f32[2,3]; s64[2] = [2, 3]"},
    {5, "Tile", "f32[2,3]; f32[1] = [2.0]; f32[1] = [1.0]"},
    {13, "DepthToSpace", "f32[2,8,2,3]", "blocksize = 2"},
    {13, "DepthToSpace", "f32[2,8,2,3]", "blocksize = 2, mode = \"CRD\""},
    {13, "SpaceToDepth", "f32[2,2,4,6]", "blocksize = 2"},
    {13, "Concat", "f32[2,3]; f32[2,1]; f32[2,2]", "axis = -1"},
    {13, "Concat", "f32[2,3]", "axis = 0"},
    {13, "Split", "f32[2,6]; s64[3] = [1, 3, 2]", "axis = -1", 3},
    {13, "Slice", "f32[4,5]; s64[2] = [1, -4]; s64[2] = [3, 9]; s64[2] = [0, -1]"},
    {13, "Slice", "f32[4,6]; s64[1] = [5]; s64[1] = [-9]; s64[1] = [1]; s64[1] = [-1]"},
    {13, "Slice", "f32[4,6]; s64[1] = [1]; s64[1] = [6]; s64[1] = [1]; s64[1] = [2]"},
    {13, "Pad", "f32[2,3]; s64[4] = [0, 1, 0, 2]"},
    {13, "Pad", "f32[2,4]; s64[4] = [0, -1, 1, 0]; f32[]"},
    {13, "Pad", "f32[2,3]; s64[4] = [0, 1, 0, 1]", "mode = \"reflect\""},
    {18, "CenterCropPad", "f32[5,2]; s64[2] = [2, 5]"},
    {14, "Trilu", "f32[2,3,3]"},
    {18, "Col2Im", "f32[2,8,4]; s64[2] = [3, 3]; s64[2] = [2, 2]"},
    // Gather and scatter.
    {13, "Gather", "f32[3,4,2]; s64[2,2] = [0, 3, 1, 2]", "axis = 1"},
    {13, "Gather", "f32[3,4,2]; s64[] = 1", "axis = -1"},
    {13, "GatherElements", "f32[3,4]; s64[2,4] = [0, 1, 2, 0, 1, 2, 0, 1]", "axis = 0"},
    {13, "GatherElements", "f32[3,4]; s64[2,3] = [0, 1, 3, 2, 1, 0]", "axis = 1"},
    {13, "GatherND", "f32[2,3,4]; s64[2,2,1] = [0, 2, 1, 0]", "batch_dims = 1"},
    {13, "GatherND", "f32[2,3,4]; s64[2,2] = [1, 1, 0, 2]"},
    {18, "ScatterElements", "f32[3,4]; s64[2,3] = [0, 1, 2, 2, 1, 0]; f32[2,3]",
     "axis = 0, reduction = \"add\""},
    {18, "ScatterND", "f32[3,4,2]; s64[2,1] = [0, 2]; f32[2,4,2]"},
    {13, "OneHot", "s64[2,3]; s64[1] = [4]; f32[2]", "axis = 1"},
    {24, "TensorScatter", "f32[2,3,4,2]; f32[2,3,2,2]; s64[2] = [0, 1]"},
    // Attention and recurrence.
    {23, "Attention", "f32[2,4,3,2]; f32[2,2,5,2]; f32[2,2,5,3]; f32[3,5]", "", 1},
    {23, "Attention",
     "f32[2,3,8]; f32[2,4,4]; f32[2,4,6]; f32[2,1,3,6]; f32[2,2,2,2]; f32[2,2,2,3]",
     "q_num_heads = 4, kv_num_heads = 2, is_causal = 1", 3},
    {23, "Attention", "f32[1,2,3,2]; f32[1,2,3,2]; f32[1,2,3,2]", "", 4},
    {23, "RotaryEmbedding", "f32[2,3,8]; f32[2,3,2]; f32[2,3,2]", "num_heads = 2"},
    {23, "RotaryEmbedding", "f32[2,2,3,4]; f32[5,2]; f32[5,2]; s64[2,3] = [0, 1, 2, 2, 3, 4]"},
    {14, "LSTM", "f32[3,2,4]; f32[2,8,4]; f32[2,8,2]; f32[2,16]; _; f32[2,2,2]; f32[2,2,2]",
     "hidden_size = 2, direction = \"bidirectional\"", 3},
    {14, "GRU", "f32[2,3,4]; f32[1,6,4]; f32[1,6,2]", "hidden_size = 2, layout = 1", 2},
    // Quantisation.
    {21, "QuantizeLinear", "f32[2,3,4]; f32[3]; u8[3]", "axis = 1"},
    {21, "DequantizeLinear", "u8[2,4]; f32[2,2]", "axis = 1, block_size = 2"},
    {13, "DequantizeLinear", "u8[2,4]; f32[4]", "axis = -1"},
    // Others.
    {16, "GridSample", "f32[2,3,4,4]; f32[2,2,3,2]"},
    {16, "RoiAlign",
     "f32[2,2,4,4]; f32[3,4] = [0.0, 0.0, 3.0, 3.0, 1.0, 0.0, 2.0, 3.0, 0.0, 1.0, 3.0, 2.0]; "
     "s64[3] = [0, 1, 0]",
     "output_height = 2, output_width = 2"},
    {20, "AffineGrid", "f32[2,2,3]; s64[4] = [2, 1, 2, 3]"},
    {20, "DFT", "f32[2,3,4,1]; _; s64[] = 2"},
    {17, "STFT", "f32[2,8]; s64[] = 2; _; s64[] = 4"},
    {13, "NegativeLogLikelihoodLoss", "f32[2,3,4]; s64[2,4]", "reduction = \"none\""},
    {13, "SoftmaxCrossEntropyLoss", "f32[2,3,4]; s64[2,4]; f32[3]", "reduction = \"none\"", 2},
    {19, "Resize", "f32[2,2,3,4]; _; f32[4] = [1.0, 1.0, 2.0, 1.0]", "mode = \"linear\""},
    {10, "ReverseSequence", "f32[3,4,2]; s64[3] = [1, 4, 2]", "batch_axis = 0, time_axis = 1"},
    // Decompositions, whose maps are composed.
    {17, "com.microsoft.FusedMatMul", "f32[2,4,3]; f32[2,5,4]", "transA = 1, transB = 1"},
    {17, "com.microsoft.SkipLayerNormalization", "f32[2,3,4]; f32[2,3,4]; f32[4]; f32[4]"},
    {17, "com.microsoft.MultiHeadAttention", "f32[2,3,8]; f32[2,4,8]; f32[2,4,8]", "num_heads = 2"},
    {17, "com.microsoft.Attention", "f32[2,3,4]; f32[4,12]; f32[12]; _; _; f32[2,2,3,3]",
     "num_heads = 2"},
    {17, "com.microsoft.BiasGelu", "f32[2,3,4]; f32[4]"},
    {17, "com.microsoft.FusedConv", "f32[2,3,5]; f32[4,3,2]; f32[4]", "activation = \"Relu\""},
    {17, "com.microsoft.ExpandDims", "f32[2,3]; s32[] = -1"},
    {17, "ai.graphcore.GroupNormalization", "f32[2,4,3]; f32[4]; f32[4]", "num_groups = 2", 3},
    {17, "ai.graphcore.SoftmaxV2", "f32[2,3,4]", "axis = 1"},
    {17, "ai.onnx.ml.Scaler", "f32[3,2]", "offset = [1.0, 2.0], scale = [2.0, 3.0]"},
    // Internal forms.
    {17, "poprt.Attention", "f32[2,3,4]; f32[2,5,4]; f32[2,5,4]; f32[2,2,1,5]",
     "heads = 2, head_size = 2"},
    {17, "poprt.Attention", "f32[1,3,12]; f32[1,3,12]; f32[1,3,12]",
     "heads = 2, head_size = 2, k_offset = 4, v_offset = 8"},
    {17, "poprt.Block", "f32[2,18,2,3]"},
    {17, "poprt.Unblock", "f32[2,2,2,3,16]", "channels = 18"},
    {17, "poprt.SumBytes", "u8[2,3,4]"},
};

TEST(Axes, OfWrittenNodesAreThoseThatNumbersShow) {
  for (const Written& w : kWritten) {
    SCOPED_TRACE(fmt::format("{} {} ({}) {}", w.op, w.opset, w.inputs, w.attributes));
    ASSERT_NO_THROW(expect_contract(tried(w)));
  }
}

Found found_with(const Written& w, void (*spoil)(AxisMap& map)) {
  const Tried t = tried(w);
  AxisMap map = axis_map(*t.node);
  spoil(map);
  return Contract(t, map).check();
}

TEST(Axes, AWrongStatementIsFound) {
  const Written softmax{13, "Softmax", "f32[2,3,3]", "axis = 1"};
  EXPECT_TRUE(found_with(softmax, [](AxisMap&) {}).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.links.push_back({0, 1, 0, 1, 3}); }).wrong.empty());
  EXPECT_FALSE(found_with(softmax, [](AxisMap& m) { m.links[0].output_axis = 2; }).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.independent.emplace_back(0, 0); }).wrong.empty());
  EXPECT_FALSE(
      found_with(softmax, [](AxisMap& m) { m.reduced.push_back({{0, 2}}); }).wrong.empty());
  const Written trilu{14, "Trilu", "f32[3,3]"};
  EXPECT_FALSE(found_with(trilu, [](AxisMap& m) { m.numbered.clear(); }).wrong.empty());
  const Written concat{13, "Concat", "f32[2,3]; f32[2,2]", "axis = 1"};
  EXPECT_FALSE(found_with(concat, [](AxisMap& m) { m.links.back().shift = 2; }).wrong.empty());
  const Written product{13, "MatMul", "f32[3,4]; f32[4,3]"};
  EXPECT_FALSE(found_with(product, [](AxisMap& m) { m.reduced[0].pop_back(); }).wrong.empty());
}

TEST(Axes, AMissingStatementIsFound) {
  const Written softmax{13, "Softmax", "f32[2,3,3]", "axis = 1"};
  EXPECT_TRUE(found_with(softmax, [](AxisMap&) {}).inexact.empty());
  const Found fewer = found_with(softmax, [](AxisMap& m) { m.links.pop_back(); });
  EXPECT_TRUE(fewer.wrong.empty());
  EXPECT_FALSE(fewer.inexact.empty());
  const Written reshape{13, "Reshape", "f32[2,3]; s64[1] = [6]"};
  EXPECT_FALSE(found_with(reshape, [](AxisMap& m) { m.links[0].extent = 1; }).inexact.empty());
}

}  // namespace
}  // namespace poprt::ops
