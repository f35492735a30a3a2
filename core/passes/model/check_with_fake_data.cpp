#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <unordered_map>

#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "passes/common/constant_cone.h"
#include "passes/common/describe.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::check_with_fake_data_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

using Feeds = std::map<std::string, Tensor>;

// Random inputs: floats from -1 to 1, and integers 0 and 1, because these are valid as indices and
// masks.
Feeds random_feeds(const Graph& graph) {
  std::mt19937 random(1);
  Feeds feeds;
  for (const Value* v : graph.inputs()) {
    if (v->is_constant()) continue;
    if (!v->type.is_static())
      fail(ErrorCode::failed_precondition,
           "input '{}' is {}, which is not static; give it a shape first (const_input_shape)",
           v->name(), ir::type_string(v->type));
    std::vector<double> values(static_cast<size_t>(element_count(v->shape())));
    for (double& x : values)
      x = is_plain_float(v->dtype()) ? std::uniform_real_distribution<double>(-1, 1)(random)
                                     : static_cast<double>(random() % 2);
    feeds[v->name()] = tensor_of(v->dtype(), v->shape(), values);
  }
  return feeds;
}

std::map<std::string, Tensor> compute(const Graph& graph, const Feeds& feeds) {
  std::unordered_map<const Value*, Tensor> known;
  for (const Value* v : graph.values())
    if (v->is_constant()) known[v] = v->constant();
  for (const Value* v : graph.inputs()) {
    if (v->is_constant()) continue;
    const auto fed = feeds.find(v->name());
    if (fed == feeds.end() || fed->second.shape() != v->shape())
      fail(ErrorCode::failed_precondition, "input '{}' is not one of the original", v->name());
    known[v] = tensor_of(v->dtype(), v->shape(), fed->second.to_doubles());
  }
  for (const Node* n : graph.nodes()) {
    if (has_subgraphs(*n))
      fail(ErrorCode::unimplemented, "{}: models with subgraphs are compared by `check`",
           n->describe());
    std::vector<Tensor> inputs;
    for (const Value* v : n->inputs()) inputs.push_back(v ? known.at(v) : Tensor());
    const std::vector<Tensor> results = ops::evaluate(*n, inputs);
    for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = results[i];
  }
  std::map<std::string, Tensor> out;
  for (const Value* v : graph.outputs()) out[v->name()] = known.at(v);
  return out;
}

// The tolerance for a different order of rounding, relative to the largest value, or to 1 if all
// are smaller. It is larger for f16 and bf16.
double tolerance_of(const Tensor& t) {
  return t.dtype() == DType::f16 || t.dtype() == DType::bf16 ? 2e-2 : 1e-3;
}

void run(Graph& graph, PassContext& context) {
  if (!context.origin)
    fail(ErrorCode::failed_precondition,
         "there is no model to compare with; select the pass by name");
  const auto before = context.origin->clone(), after = graph.clone();
  ops::infer(*before);
  const Feeds feeds = random_feeds(*before);
  const auto expected = compute(*before, feeds), found = compute(*after, feeds);
  std::string text;
  for (const auto& [name, b] : found) {
    const auto same = expected.find(name);
    // Skips an output that only one model has, such as a checkpoint.
    if (same == expected.end()) continue;
    const Tensor& a = same->second;
    if (a.shape() != b.shape())
      fail(ErrorCode::data_loss, "output '{}' was {} and is {}", name, shape_string(a.shape()),
           shape_string(b.shape()));
    const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
    double largest = 1, worst = 0;
    for (size_t i = 0; i < x.size(); i++) {
      if (std::isfinite(x[i])) largest = std::max(largest, std::abs(x[i]));
      if (std::isnan(x[i]) != std::isnan(y[i])) worst = HUGE_VAL;
      if (x[i] != y[i] && !std::isnan(x[i])) worst = std::max(worst, std::abs(x[i] - y[i]));
    }
    const double tolerance = std::max(tolerance_of(a), tolerance_of(b)) * largest;
    if (!(worst <= tolerance))
      fail(ErrorCode::data_loss,
           "output '{}' differs by {:.3g}, more than the {:.3g} that rounding explains", name,
           worst, tolerance);
    text += fmt::format("output {}: differs by {:.3g} at most\n", name, worst);
  }
  print_text(context, text);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "check_with_fake_data",
                     .summary =
                         "runs the model before and after the passes on random data, and reports "
                         "outputs that differ as errors",
                     .condition =
                         "static shapes, no subgraphs (--check supports them); origin_model, an "
                         "ONNX file, replaces the model before the passes",
                     .numerics = Numerics::exact,
                     .run = run,
                     .parameters = {{"origin_model", ParameterKind::text,
                                     "path of an ONNX file; empty: the model before the passes"}},
                     .kind = PassKind::inspect,
                     .needs_origin = true};

}  // namespace poprt::passes::check_with_fake_data_pass
