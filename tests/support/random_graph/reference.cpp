#include "support/random_graph/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "base/denormals.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::test {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// How far an input is moved, relative to itself: a few roundings of its type. A value that the
// graph stores in 16 bits may be wider in a compiled graph.
double noise_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0x1p-20;
    case DType::f64: return 0x1p-44;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0;
  }
}

// The absolute tolerance. Near zero, f16 has steps of 2^-24, and subnormal f32 and f64 may be
// flushed to zero.
double least_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-23;
    case DType::f64: return 1e-300;
    default: return 1e-36;
  }
}

class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  bool silent() const { return state_ == 0; }
  // Returns a number in [-1, 1].
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }

 private:
  uint64_t state_;
};

template <class T>
double widened(T x) {
  if constexpr (std::is_same_v<T, f16_t> || std::is_same_v<T, bf16_t>)
    return static_cast<double>(to_float(x));
  else
    return static_cast<double>(x);
}

template <class T>
T narrowed(double x) {
  if constexpr (std::is_same_v<T, f16_t>)
    return to_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bf16_t>)
    return to_bf16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

// `relative` to the element itself, `absolute` for all.
template <class T>
void move_elements(const Tensor& from, Tensor& to, Noise& noise, double relative, double absolute) {
  const auto in = from.values<T>();
  const auto out = to.mutable_values<T>();
  for (size_t i = 0; i < in.size(); i++) {
    const double x = widened(in[i]);
    out[i] = std::isfinite(x) ? narrowed<T>(x + noise.next() * (std::abs(x) * relative + absolute))
                              : in[i];
  }
}

Tensor moved(const Tensor& t, Noise& noise, double absolute) {
  const double relative = noise_of(t.dtype());
  Tensor out = Tensor::zeros(t.dtype(), t.shape());
  switch (t.dtype()) {
    case DType::f32: move_elements<float>(t, out, noise, relative, absolute); break;
    case DType::f64: move_elements<double>(t, out, noise, relative, absolute); break;
    case DType::f16: move_elements<f16_t>(t, out, noise, relative, absolute + 0x1p-24); break;
    case DType::bf16: move_elements<bf16_t>(t, out, noise, relative, absolute); break;
    default: return t;
  }
  return out;
}

double largest(const Tensor& t) {
  double most = 0;
  for (const double x : t.to_doubles())
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}

bool follows_product(const Value* v) {
  const Node* n = v->producer();
  while (n && (n->op_type == "Relu" || n->op_type == "Clip")) n = n->input(0)->producer();
  return n && (n->op_type == "Conv" || n->op_type == "MatMul" || n->op_type == "Gemm");
}

// Returns the absolute error that an input may have in addition to its own roundings.
double absolute_noise(const Node& n, size_t input, const std::vector<Tensor>& inputs) {
  // The transforms of Winograd's algorithm add elements of a tile, so their rounding errors are
  // relative to the largest element.
  if (n.op_type.find("Conv") != std::string::npos)
    return noise_of(inputs[input].dtype()) * largest(inputs[input]);
  // Bytes are multiplied where quantization surrounds a product, with a bias that is rounded to a
  // tenth of a step at most (passes/fuse/qdq_products.cpp).
  if (n.op_type == "QuantizeLinear" && input == 0 && follows_product(n.input(0)))
    return 0.12 * largest(inputs[1]);
  return 0;
}

// Whether the value is constant or the result of a node that only passes a constant on.
bool is_fixed(const Value* v) {
  if (v->is_constant()) return true;
  const Node* n = v->producer();
  return n && (n->op_type == "Constant" || (n->op_type == "Identity" && is_fixed(n->input(0))));
}

class Runner {
 public:
  explicit Runner(uint64_t seed) : noise_(seed) {}

  void run(const Graph& graph, Values& known) {
    for (const Value* v : graph.values())
      if (v->is_constant()) known[v] = v->constant();
    for (const Node* n : graph.nodes()) {
      std::vector<Tensor> inputs;
      for (const Value* v : n->inputs()) inputs.push_back(v ? known.at(v) : Tensor());
      if (!noise_.silent()) move_inputs(*n, inputs);
      std::vector<Tensor> results = node(*n, inputs, known);
      // 1 + erf(x) and 1 + tanh(x) cancel inside one operator.
      if (!noise_.silent() && n->op_type.find("Gelu") != std::string::npos)
        results[0] = moved(results[0], noise_, noise_of(DType::f32) * largest(inputs[0]));
      for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = results[i];
    }
  }

  std::vector<Tensor> node(const Node& n, const std::vector<Tensor>& inputs, const Values& outer) {
    if (n.is("If")) return run_if(n, inputs, outer);
    if (n.is("Loop")) return run_loop(n, inputs, outer);
    if (n.is("Scan")) return run_scan(n, inputs, outer);
    if (has_size_of_data(n)) return sized(n, inputs);
    const auto outputs = n.outputs();
    if (std::any_of(outputs.begin(), outputs.end(),
                    [](const Value* v) { return !v->type.is_static(); }) ||
        graph_of_sizes(n))
      return isolated(n, inputs, true, true);
    // First with constants as run-time inputs, because this selects the most general kernels.
    if (may_be_variable(n)) {
      try {
        return isolated(n, inputs, false);
      } catch (const Error&) {
      }
    }
    try {
      return isolated(n, inputs, true);
    } catch (const Error&) {  // nodes compute the shapes, so the types must be inferred again
      return isolated(n, inputs, true, true);
    }
  }

 private:
  void move_inputs(const Node& n, std::vector<Tensor>& inputs) {
    const std::vector<Tensor> given = inputs;
    for (size_t i = 0; i < inputs.size(); i++)
      if (n.input(i) && !decides_places(n, i) && noise_of(inputs[i].dtype()) != 0)
        inputs[i] = moved(given[i], noise_, absolute_noise(n, i, given));
  }

  // Whether a constant may be a run-time input: s64 constants are indices or lengths, which many
  // operators need at compile time.
  static bool may_be_variable(const Node& n) {
    for (const Value* v : n.inputs())
      if (v && is_fixed(v) && v->dtype() != DType::s64) return true;
    return false;
  }

  static bool graph_of_sizes(const Node& n) {
    for (const Node* other : n.graph().nodes())
      if (has_size_of_data(*other)) return true;
    return false;
  }

  // Computes an operator whose result has a size that depends on data. The result has no padding,
  // in contrast to that of a compiled graph.
  static std::vector<Tensor> sized(const Node& n, const std::vector<Tensor>& inputs) {
    const Tensor& x = inputs[0];
    const std::vector<double> values = x.to_doubles();
    if (n.op_type == "NonZero") {
      std::vector<int64_t> found;
      for (size_t i = 0; i < values.size(); i++)
        if (values[i] != 0) found.push_back(static_cast<int64_t>(i));
      const auto count = static_cast<int64_t>(found.size());
      const auto rank = static_cast<int64_t>(x.shape().size());
      Tensor at = Tensor::zeros(DType::s64, {rank, count});
      for (int64_t i = 0; i < count; i++)
        for (int64_t d = rank, rest = found[static_cast<size_t>(i)]; d-- > 0;) {
          const int64_t dim = x.shape()[static_cast<size_t>(d)];
          at.mutable_values<int64_t>()[static_cast<size_t>(d * count + i)] = rest % dim;
          rest /= dim;
        }
      return {at};
    }
    if (n.op_type == "Compress") {
      const bool flat = !n.find_attr("axis");
      const Shape shape = flat ? Shape{x.count()} : x.shape();
      const auto axis = static_cast<size_t>(
          flat ? 0 : normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(shape.size())));
      std::vector<int64_t> kept;
      for (int64_t i = 0; i < inputs[1].count(); i++)
        if (inputs[1].values<bool>()[static_cast<size_t>(i)]) kept.push_back(i);
      return {rows_of(x.reshaped(shape), axis, kept)};
    }
    if (n.op_type == "Unique") {
      std::map<int64_t, std::pair<int64_t, int64_t>> counts;  // value -> first place, count
      std::vector<int64_t> all = x.to_int64s(), unique, first, inverse, count;
      for (size_t i = 0; i < all.size(); i++)
        counts.try_emplace(all[i], static_cast<int64_t>(i), 0).first->second.second++;
      for (const auto& [value, where] : counts) {
        unique.push_back(value), first.push_back(where.first), count.push_back(where.second);
      }
      for (const int64_t value : all)
        inverse.push_back(std::distance(counts.begin(), counts.find(value)));
      const auto tensor = [](const std::vector<int64_t>& v) {
        return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, std::span<const int64_t>(v));
      };
      return {tensor(unique), tensor(first), tensor(inverse), tensor(count)};
    }
    const Tensor boxes = isolated(n, inputs, true, true)[0];  // rows past the last one are -1
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < boxes.shape()[0]; i++)
      if (boxes.values<int64_t>()[static_cast<size_t>(3 * i)] >= 0) kept.push_back(i);
    return {rows_of(boxes, 0, kept)};
  }

  static Tensor rows_of(const Tensor& x, size_t axis, const std::vector<int64_t>& rows) {
    Shape shape = x.shape();
    const auto outer = static_cast<size_t>(
        element_count(Shape(shape.begin(), shape.begin() + static_cast<long>(axis))));
    const auto length = static_cast<size_t>(shape[axis]);
    shape[axis] = static_cast<int64_t>(rows.size());
    Tensor out = Tensor::zeros(x.dtype(), shape);
    const size_t row = outer * length == 0 ? 0 : x.bytes() / outer / length;
    auto* to = static_cast<std::byte*>(out.mutable_data());
    for (size_t o = 0; o < outer; o++)
      for (const int64_t r : rows) {
        const auto* from = static_cast<const std::byte*>(x.data());
        std::memcpy(to, from + (o * length + static_cast<size_t>(r)) * row, row);
        to += row;
      }
    return out;
  }

  // Evaluates a copy of the node in a separate graph. `constants`: all constants of the node stay
  // constants, else only those of s64. `fresh`: all inputs are constants, and the types of the
  // results are inferred from them.
  static std::vector<Tensor> isolated(const Node& n, const std::vector<Tensor>& inputs,
                                      bool constants, bool fresh = false) {
    Graph g("alone");
    for (const Graph* at = &n.graph(); at; at = at->parent)
      for (const auto& [domain, version] : at->opsets) g.opsets.emplace(domain, version);
    std::map<const Value*, Value*> made;
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); i++) {
      const Value* v = n.input(i);
      if (!v) {
        values.push_back(nullptr);
        continue;
      }
      Value*& twin = made[v];
      const bool constant = fresh || (is_fixed(v) && (constants || v->dtype() == DType::s64));
      if (!twin)
        twin = constant ? g.add_constant(v->name(), inputs[i])
                        : g.add_input(v->name(),
                                      ir::ValueType::of(inputs[i].dtype(), inputs[i].shape()));
      values.push_back(twin);
    }
    Node* alone = g.add_node(n.op_type, n.domain, values, n.outputs().size());
    alone->attributes = n.attributes;
    for (size_t i = 0; i < n.outputs().size(); i++) {
      if (!fresh) alone->output(i)->type = n.output(i)->type;
      g.add_output(alone->output(i));
    }
    if (fresh) ops::infer(*alone);
    return ops::evaluate(*alone, inputs);
  }

  // Whether the input is a scale or a limit. Such inputs are not moved, because other values would
  // select other elements.
  static bool decides_places(const Node& n, size_t input) {
    if (n.op_type == "Resize" || n.op_type == "Upsample") return input > 0;
    return n.op_type == "Range" || n.op_type == "MelWeightMatrix";
  }

  static const Graph& body_of(const Node& n, std::string_view key) {
    return *std::get<std::shared_ptr<Graph>>(*n.find_attr(key));
  }
  std::vector<Tensor> run_body(const Graph& body, Values known) {
    run(body, known);
    std::vector<Tensor> results;
    for (const Value* v : body.outputs()) results.push_back(known.at(v));
    return results;
  }

  std::vector<Tensor> run_if(const Node& n, const std::vector<Tensor>& inputs,
                             const Values& outer) {
    const bool condition = inputs[0].values<bool>()[0];
    return run_body(body_of(n, condition ? "then_branch" : "else_branch"), outer);
  }

  static Tensor row_of(const Tensor& t, int64_t i) {
    Tensor row = Tensor::zeros(t.dtype(), Shape(t.shape().begin() + 1, t.shape().end()));
    if (row.bytes() > 0)
      std::memcpy(row.mutable_data(),
                  static_cast<const std::byte*>(t.data()) + static_cast<uint64_t>(i) * row.bytes(),
                  row.bytes());
    return row;
  }
  static void set_row(Tensor& t, int64_t i, const Tensor& row) {
    if (row.bytes() > 0)
      std::memcpy(
          static_cast<std::byte*>(t.mutable_data()) + static_cast<uint64_t>(i) * row.bytes(),
          row.data(), row.bytes());
  }

  // Supports only scans forward along the first axes.
  std::vector<Tensor> run_scan(const Node& n, const std::vector<Tensor>& inputs,
                               const Values& outer) {
    const Graph& body = body_of(n, "body");
    const auto scanned = static_cast<size_t>(n.int_attr("num_scan_inputs", 1));
    const size_t states = inputs.size() - scanned;
    const int64_t length = inputs[states].shape()[0];
    std::vector<Tensor> results(inputs.begin(), inputs.begin() + static_cast<long>(states));
    for (int64_t i = 0; i < length; i++) {
      Values known = outer;
      for (size_t s = 0; s < inputs.size(); s++)
        known[body.inputs()[s]] = s < states ? results[s] : row_of(inputs[s], i);
      const std::vector<Tensor> made = run_body(body, std::move(known));
      for (size_t o = 0; o < made.size(); o++) {
        if (o < states) {
          results[o] = made[o];
          continue;
        }
        Shape whole = made[o].shape();
        whole.insert(whole.begin(), length);
        if (results.size() <= o) results.push_back(Tensor::zeros(made[o].dtype(), whole));
        set_row(results[o], i, made[o]);
      }
    }
    return results;
  }

  // Rows of scan outputs after the condition ended the loop are zeros
  // (docs/decisions/control-flow.md).
  std::vector<Tensor> run_loop(const Node& n, const std::vector<Tensor>& inputs,
                               const Values& outer) {
    const Graph& body = body_of(n, "body");
    const int64_t trips = inputs[0].values<int64_t>()[0];
    bool condition = !inputs[1].defined() || inputs[1].values<bool>()[0];
    std::vector<Tensor> states(inputs.begin() + 2, inputs.end());
    std::vector<Tensor> scans;
    for (size_t o = states.size(); o < n.outputs().size(); o++)
      scans.push_back(Tensor::zeros(n.output(o)->dtype(), n.output(o)->shape()));
    for (int64_t i = 0; i < trips && condition; i++) {
      Values known = outer;
      known[body.inputs()[0]] = Tensor::scalar<int64_t>(i);
      known[body.inputs()[1]] = Tensor::scalar<bool>(true);
      for (size_t s = 0; s < states.size(); s++) known[body.inputs()[s + 2]] = states[s];
      const std::vector<Tensor> results = run_body(body, std::move(known));
      condition = results[0].values<bool>()[0];
      for (size_t s = 0; s < states.size(); s++) states[s] = results[s + 1];
      for (size_t s = 0; s < scans.size(); s++)
        set_row(scans[s], i, results[states.size() + 1 + s]);
    }
    states.insert(states.end(), scans.begin(), scans.end());
    return states;
  }

  Noise noise_;
};

// NaN and both infinities are separate classes.
int class_of(double x) { return std::isnan(x) ? 1 : std::isinf(x) ? (x > 0 ? 2 : 3) : 0; }

// A number above this may round to infinity.
constexpr double kHuge = 1e30;

}  // namespace

bool has_size_of_data(const Node& n) {
  return n.is("NonZero") || n.is("Compress") || n.is("Unique") || n.is("NonMaxSuppression");
}

std::vector<Tensor> evaluate_alone(const Node& node, const std::vector<Tensor>& inputs,
                                   const Values& outer) {
  return Runner(0).node(node, inputs, outer);
}

Values evaluate_nodes(const Graph& graph, const Feeds& feeds, uint64_t noise) {
  Values known;
  for (const Value* v : graph.inputs()) known[v] = feeds.at(v->name());
  std::optional<FlushDenormals> flush;  // as the device does
  if (noise != 0) flush.emplace();
  Runner(noise).run(graph, known);
  return known;
}

Reference::Reference(const Graph& graph, const Feeds& feeds)
    : graph_(graph), feeds_(feeds), exact_(evaluate_nodes(graph, feeds)) {
  // The compiled graph may compute in a wider type, in which a half does not overflow.
  for (const auto& [v, t] : exact_)
    if (t.dtype() == DType::f16)
      for (const double x : t.to_doubles()) comparable_ &= std::isfinite(x);
}

void Reference::add_noisy_runs(size_t count) {
  try {
    for (size_t i = 0; i < count; i++)
      noisy_.push_back(evaluate_nodes(graph_, feeds_, 0x9e3779b97f4a7c15u * (noisy_.size() + 1)));
  } catch (const Error&) {  // sizes depend on rounding
    comparable_ = false;
    noisy_.resize(32);
  }
}

namespace {

// Returns the part of `t` with this shape that begins at the first element.
Tensor real_part(const Tensor& t, const Shape& shape) {
  Tensor out = Tensor::zeros(t.dtype(), shape);
  const auto bytes = static_cast<size_t>(dtype_bits(t.dtype()) / 8);
  const int64_t count = element_count(shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0, stride = 1, rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      at += rest % shape[d] * stride;
      rest /= shape[d];
      stride *= t.shape()[d];
    }
    std::memcpy(static_cast<std::byte*>(out.mutable_data()) + static_cast<size_t>(i) * bytes,
                static_cast<const std::byte*>(t.data()) + static_cast<size_t>(at) * bytes, bytes);
  }
  return out;
}

}  // namespace

std::string Reference::difference(const std::map<std::string, Tensor>& results) {
  // Each run only widens the tolerance. Most graphs need no run; a difference is an error if thirty
  // runs do not explain it.
  for (const size_t runs : {size_t{0}, size_t{2}, size_t{30}}) {
    if (noisy_.size() < runs) add_noisy_runs(runs - noisy_.size());
    std::string found;
    for (const Value* v : graph_.outputs()) {
      const auto it = results.find(v->name());
      if (it == results.end()) return fmt::format("there is no output '{}'", v->name());
      const auto shape = results.find(v->name() + ":shape");
      found = difference(
          v->name(), v,
          shape == results.end() ? it->second : real_part(it->second, shape->second.to_int64s()));
      if (!found.empty()) break;
    }
    if (found.empty() || runs == 30) return found;
  }
  return "";
}

std::string Reference::difference(const std::string& name, const Value* value,
                                  const Tensor& got) const {
  const Tensor& wanted = exact_.at(value);
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape())
    return fmt::format("'{}' is {}{}, its nodes alone make {}{}", name, dtype_name(got.dtype()),
                       shape_string(got.shape()), dtype_name(wanted.dtype()),
                       shape_string(wanted.shape()));
  if (!comparable_) return "";
  const std::vector<double> w = wanted.to_doubles(), g = got.to_doubles();
  std::vector<std::vector<double>> others;
  for (const Values& run : noisy_) {
    if (run.at(value).shape() != wanted.shape()) return "";  // the size depends on rounding
    others.push_back(run.at(value).to_doubles());
  }
  const double relative = 4 * noise_of(wanted.dtype());
  for (size_t i = 0; i < w.size(); i++) {
    double moved = 0;
    bool same_class = true;
    for (const auto& o : others) {
      same_class &= class_of(o[i]) == class_of(w[i]);
      moved = std::max(moved, std::abs(o[i] - w[i]));
    }
    if (!same_class) continue;
    const bool finite = class_of(w[i]) == 0;
    const double tolerance =
        8 * moved + relative * std::abs(w[i]) + (relative == 0 ? 0 : least_of(wanted.dtype()));
    // If an integer differs between runs, the element depends on a tie.
    if (finite && is_float(wanted.dtype()) == false && moved > 0) continue;
    const bool equal = finite ? std::abs(g[i] - w[i]) <= tolerance : class_of(g[i]) != 0;
    if (equal || (finite && std::abs(w[i]) > kHuge && class_of(g[i]) != 0)) continue;
    return fmt::format("'{}' is {} at {} of {}, its nodes alone make {} (tolerance {})", name, g[i],
                       i, shape_string(wanted.shape()), w[i], tolerance);
  }
  return "";
}

}  // namespace poprt::test
