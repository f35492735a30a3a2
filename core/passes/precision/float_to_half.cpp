// Converts f32 to f16: inputs, outputs, weights and intermediate values. An operator becomes f16 if
// ONNX defines it for f16 in each opset from 11 (PopART's) to that of the model. All others keep
// computing in f32 between casts, so that the model is valid in each of these opsets:
//
//   %y = MatMul(%x, %w)     all f16
//   %z = CumSum(%y, %axis)  opset 11 does not define it for f16: Cast, CumSum of f32, Cast
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "ir/newest.h"
#include "ops/common/custom.h"
#include "ops/facts.h"
#include "opsets/types.h"
#include "passes/common/constant_cone.h"
#include "passes/common/products_of_doubles.h"
#include "passes/common/retype.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::float_to_half_pass {
namespace {

using ir::Graph;
using ir::Node;

// Limits of constants, as in PopRT: values beyond the range of f16 become kLargest, and constants
// of one element that are closer to 0 than kSmallest, such as epsilons, become kSmallest, because
// the smallest of them would become 0.
constexpr double kLargest = 65500, kSmallest = 1e-7;

bool is_float(const ir::Value* v) {
  return v && (v->dtype() == DType::f32 || v->dtype() == DType::f16);
}

// Whether ONNX defines the input as f32 for any type of the data, or the input is a scale of
// integers.
bool is_parameter(const Node& n, size_t input) {
  return ops::in_mask(ops::facts_of(n).f32_inputs, input);
}

bool is_float_data(const Node& n, size_t input) {
  return is_float(n.input(input)) && !is_parameter(n, input);
}

// Whether all definitions of the operator from PopART's opset to the graph's allow f16 where they
// allow floats.
bool is_defined_for_half(const Node& n) {
  constexpr int64_t kPopart = 11;
  for (int64_t opset = kPopart; opset <= std::max(kPopart, n.opset()); opset++) {
    for (size_t i = 0; i < n.inputs().size(); i++)
      if (is_float_data(n, i) && !opsets::input_allows(n.op_type, opset, i, DType::f16))
        return false;
    for (size_t i = 0; i < n.outputs().size(); i++)
      if (is_float(n.output(i)) && !opsets::output_allows(n.op_type, opset, i, DType::f16))
        return false;
  }
  return true;
}

// Whether the results have the type of a float input or of an attribute, and therefore are f16
// after the conversion. Results of other operators are f32.
bool makes_half(const Node& n) {
  for (size_t i = 0; i < n.inputs().size(); i++)
    if (is_float_data(n, i)) return true;
  return std::ranges::any_of(n.attributes, [](const auto& entry) {
    const auto* tensor = std::get_if<Tensor>(&entry.second);
    return (tensor && tensor->dtype() == DType::f16) || entry.first == "dtype" ||
           entry.first == "output_datatype";
  });
}

bool takes_half(const Node& n) {
  const ops::Facts& facts = ops::facts_of(n);
  if (const plugins::OperatorRef custom = ops::custom_op_of(n))
    return (custom.op->flags & POPRT_OPERATOR_HALF) != 0;
  const bool simple = facts.moves || (facts.per_element && facts.elementwise.append);
  if (!ir::is_onnx_domain(n.domain) || ops::is_resolved(n)) return simple;
  // BitCast reads the bits of a float.
  return !n.is("BitCast") && is_defined_for_half(n) && makes_half(n) &&
         (simple || (opsets::has_types(n.op_type) && !has_subgraphs(n)));
}

void warn_of_missing(Graph& graph, std::span<const std::string> types) {
  std::unordered_set<std::string_view> present;
  for_each_node(graph, [&](Node& n) { present.insert(n.op_type); });
  for (const std::string& type : types)
    if (!present.contains(type))
      log().warn("`fp16_skip_op_types`: no operator {} is left in the model", type);
}

// Returns the nodes that may leave the range of f16 (powers, exponentials, sums, means and products
// of many numbers, and sums and products of such results) and those that bring results back into it
// (roots, logarithms and quotients).
std::unordered_set<const Node*> overflow_patterns(Graph& graph) {
  std::unordered_set<const Node*> found;
  const auto grows = [](const Node& n) {
    if (n.is("Mul")) return n.input(0) == n.input(1);
    if (n.is("Pow")) {
      const auto exponent = const_scalar(n.input(1));
      return !exponent || *exponent > 1;
    }
    return n.is("Exp") || n.is("ReduceL2") || n.is("CumSum") ||
           (n.op_type.starts_with("Reduce") && n.op_type.find("Sum") != std::string::npos) ||
           n.is("ReduceMean") || n.is("ReduceProd") || n.is("ReduceL1");
  };
  std::unordered_set<const Node*> large;  // nodes whose results may be beyond the range of f16
  for_each_node(graph, [&](Node& n) {
    if (!n.output() || n.output()->dtype() != DType::f32) return;
    const bool reads_large = std::ranges::any_of(n.inputs(), [&](const ir::Value* v) {
      return v && v->producer() && large.contains(v->producer());
    });
    const bool shrinks = n.is("Sqrt") || n.is("Reciprocal") || n.is("Log") || n.is("Div");
    if (grows(n) || (reads_large && (n.is("Add") || n.is("Mul"))))
      large.insert(&n);
    else if (!reads_large || !shrinks)
      return;
    found.insert(&n);
  });
  return found;
}

// Values between two nodes that stay f32 stay f32, too. A cast to f16 and back would lose the
// precision that skipping them preserves.
void keep_wide_between(Graph& graph, const std::function<bool(const Node&)>& skipped) {
  std::vector<Node*> casts;
  for_each_node(graph, [&](Node& n) {
    if (!skipped(n)) return;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      if (!n.input(i)) continue;
      Node* widening = producer_if(n.input(i), "Cast");
      Node* narrowing = widening ? producer_if(widening->input(0), "Cast") : nullptr;
      if (!narrowing || n.input(i)->dtype() != DType::f32 ||
          narrowing->input(0)->dtype() != DType::f32 || !narrowing->input(0)->producer() ||
          !skipped(*narrowing->input(0)->producer()))
        continue;
      casts.push_back(widening);
      n.set_input(i, narrowing->input(0));
    }
  });
  std::ranges::sort(casts);
  const auto repeated = std::ranges::unique(casts);
  casts.erase(repeated.begin(), repeated.end());
  for (Node* cast : casts)
    if (!is_used(cast->output())) erase_if_dead(cast);
}

// Returns each QuantizeLinear whose input is computed from results of DequantizeLinear only, with
// these DequantizeLinear and the nodes between. If the nodes between compute in f32, the compiler
// replaces such parts by operators on bytes: DequantizeLinear -> Conv -> Relu -> QuantizeLinear,
// also with an Add of another such result.
std::unordered_set<const Node*> byte_parts(Graph& graph) {
  std::unordered_set<const Node*> parts;
  const auto may_be_part = [](const Node& n) {
    const ops::Facts& facts = ops::facts_of(n);
    return n.is("Conv") || n.is("ConvTranspose") || n.is("MatMul") || n.is("Gemm") ||
           n.is("BatchNormalization") || n.is("Concat") || n.is("MaxPool") || n.is("AveragePool") ||
           n.is("GlobalAveragePool") || facts.moves || facts.per_element;
  };
  // Adds the nodes from which `v` is computed, up to DequantizeLinear. Returns whether there are no
  // others.
  std::function<bool(const ir::Value*, std::vector<const Node*>&)> collect =
      [&](const ir::Value* v, std::vector<const Node*>& found) {
        constexpr size_t kMost = 64;
        const Node* n = v->producer();
        if (!n || found.size() > kMost) return false;
        if (parts.contains(n) || std::ranges::count(found, n) > 0) return true;
        if (!n->is("DequantizeLinear")) {
          if (!may_be_part(*n)) return false;
          bool any = false;
          for (size_t i = 0; i < n->inputs().size(); i++) {
            if (!is_float_data(*n, i) || n->input(i)->is_constant()) continue;
            any = true;
            if (!collect(n->input(i), found)) return false;
          }
          if (!any) return false;
        }
        found.push_back(n);
        return true;
      };
  for_each_node(graph, [&](Node& n) {
    std::vector<const Node*> found;
    if (!n.is("QuantizeLinear") || !n.input(0) || !collect(n.input(0), found)) return;
    parts.insert(found.begin(), found.end());
    parts.insert(&n);
  });
  return parts;
}

// Values of f64 stay as they are, and their operators compute in f64. Exporters compute masks and
// sizes in f64, too, so only inputs and products are counted.
void warn_of_doubles(Graph& graph) {
  const auto is_double = [](const ir::Value* v) { return v->dtype() == DType::f64; };
  const int64_t count =
      std::ranges::count_if(graph.inputs(), is_double) + products_of_doubles(graph);
  if (count > 0)
    log().warn(
        "float_to_half: {} inputs and products of f64 stay f64; pass double_to_float makes them "
        "f32 "
        "before",
        count);
}

// The elements of constants that have changed.
struct Changed {
  static constexpr size_t kNames = 3;  // constants that a message names
  size_t elements = 0;
  std::vector<std::pair<std::string, double>> constants;  // each with its largest changed value

  void add(const std::string& name, double value) {
    elements++;
    if (constants.empty() || constants.back().first != name) constants.emplace_back(name, value);
    double& shown = constants.back().second;
    if (std::abs(value) > std::abs(shown)) shown = value;
  }
  std::string counts() const {
    return fmt::format("{} element{} of {} constant{} {}", elements, elements == 1 ? "" : "s",
                       constants.size(), constants.size() == 1 ? "" : "s",
                       elements == 1 ? "was" : "were");
  }
  std::string names() const {
    std::string text;
    for (size_t i = 0; i < std::min(constants.size(), kNames); i++)
      text += fmt::format("{}'{}' contains {:.6g}", i ? ", " : "", constants[i].first,
                          constants[i].second);
    return constants.size() > kNames ? text + ", ..." : text;
  }
};

void run(Graph& graph, PassContext& context) {
  if (!context.allow()) return;
  Changed clipped, raised;
  static const PrecisionParameters kStandard;
  const PrecisionParameters& p = context.precision ? *context.precision : kStandard;
  const bool avoids = p.avoid_overflow_patterns || context.flag("enable_avoid_overflow_patterns");
  const std::unordered_set<const Node*> prone =
      avoids ? overflow_patterns(graph) : std::unordered_set<const Node*>();
  const std::unordered_set<const Node*> bytes = byte_parts(graph);
  std::vector<std::string> types = context.names("skip_op_types");
  types.insert(types.end(), context.fp16_skip_op_types.begin(), context.fp16_skip_op_types.end());
  const auto skipped = [&](const Node& n) {
    return prone.contains(&n) || bytes.contains(&n) || std::ranges::count(types, n.op_type) != 0 ||
           std::ranges::count(p.fp16_skip_op_names, n.name) != 0;
  };
  warn_of_missing(graph, types);
  warn_of_doubles(graph);
  retype(graph,
         {.from = DType::f32,
          .to = DType::f16,
          .onnx_from = 1,
          .onnx_to = 10,
          .accepts = [&](const Node& n) { return takes_half(n) && !skipped(n); },
          .keeps =
              [&](const ir::Use& u) { return is_parameter(*u.node, u.input) || skipped(*u.node); },
          .convert =
              [&](const Tensor& t, const std::string& name) {
                std::vector<double> values = t.to_doubles();
                for (double& x : values) {
                  if (std::isfinite(x) && std::abs(x) > kLargest) {
                    clipped.add(name, x);
                    x = std::copysign(kLargest, x);
                  }
                  if (values.size() == 1 && x != 0 && std::abs(x) < kSmallest) {
                    raised.add(name, x);
                    x = std::copysign(kSmallest, x);
                  }
                }
                return tensor_of(DType::f16, t.shape(), values);
              },
          .skips = skipped});
  if (clipped.elements > 0)
    log().warn("float_to_half: {} beyond the range of f16 and became +-{}: {}", clipped.counts(),
               kLargest, clipped.names());
  if (raised.elements > 0)
    log().warn("float_to_half: {} too small for f16 and became +-{}: {}", raised.counts(),
               kSmallest, raised.names());
  keep_wide_between(graph, skipped);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_to_half",
    .summary = "converts f32 to f16; operators that ONNX does not define for f16 compute in f32",
    .condition =
        "f32 values: f16 precision and range; constants beyond it are clipped with a warning. "
        "Operators between DequantizeLinear and QuantizeLinear stay f32, and become operators on "
        "bytes",
    .numerics = Numerics::precision,
    .run = run,
    .before = {"replace_groupnorm_with_fast_norm", "replace_half_reducemean"},
    .parameters = {{"skip_op_types", ParameterKind::names,
                    "operators that stay f32, in addition to those of --fp16_skip_op_types"},
                   {"enable_avoid_overflow_patterns", ParameterKind::flag,
                    "squares, long sums, exponentials, and the nodes that bring their results back "
                    "into the range of f16 stay f32"}}};

}  // namespace poprt::passes::float_to_half_pass
