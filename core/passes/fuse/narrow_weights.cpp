// Stores f32 weights of poprt.Linear and tables of Gather in a narrower type. Weights that were
// f16, bf16 or 8-bit floats in the model become that type again, which changes no number: kernels
// widen them in registers. If products of bf16 or f16 are chosen, all weights of poprt.Linear are
// rounded to that type, except weights with a number beyond the range of f16 if that is the type.
// The rows that a Gather selects are widened after it.
#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "base/log.h"
#include "ops/common/narrow_matmul.h"
#include "ops/op.h"
#include "passes/common/products_of_doubles.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::narrow_weights_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kScales = 4;
// Smaller weights are in a cache, and a wider type is read faster.
constexpr int64_t kLeastWeights = 4096;

enum class Products { f32, bf16, f16, by_weights, by_halves };

Products chosen(const PassContext& context) {
  const std::string& name = context.text("products");
  if (name == "f32") return Products::f32;
  if (name == "bf16") return Products::bf16;
  if (name == "f16") return Products::f16;
  if (name == "auto") return Products::by_weights;
  if (name == "auto_f16") return Products::by_halves;
  fail(ErrorCode::invalid_argument, "products is '{}', expected f32, bf16, f16, auto or auto_f16",
       name);
}

Tensor rounded_to_bf16(const Tensor& weights) {
  Tensor t = Tensor::zeros(DType::bf16, weights.shape());
  const auto from = weights.values<float>();
  std::ranges::transform(from, t.mutable_values<bf16_t>().begin(),
                         [](float v) { return to_bf16(v); });
  return t;
}

// Returns nothing if a weight is too large for f16.
std::optional<Tensor> rounded_to_f16(const Tensor& weights) {
  constexpr float kLargest = 65504;
  const auto from = weights.values<float>();
  if (std::ranges::any_of(from, [](float v) { return std::abs(v) > kLargest; }))
    return std::nullopt;
  Tensor t = Tensor::zeros(DType::f16, weights.shape());
  std::ranges::transform(from, t.mutable_values<f16_t>().begin(),
                         [](float v) { return to_f16(v); });
  return t;
}

bool is_bf16(const Tensor& weights) {
  const auto values = weights.values<float>();
  return std::ranges::all_of(values, [](float v) { return to_float(to_bf16(v)) == v; });
}

void narrow(Node& n, Products products, PassContext& context) {
  const Value* w = n.input(1);
  if (!w->is_constant() || w->dtype() != DType::f32 || w->constant().count() == 0) return;
  const Tensor& weights = w->constant();
  const bool pairs =
      products == Products::bf16 || (products == Products::by_weights && is_bf16(weights));
  Graph& g = n.graph();
  if (products == Products::f16)
    if (const auto halves = rounded_to_f16(weights)) {
      if (!context.allow()) return;
      n.set_input(1, g.add_constant(w->name() + "_f16", *halves));
      n.attributes["products"] = std::string("f16");
      return;
    }
  if (!pairs && weights.count() < kLeastWeights) return;
  if (pairs) {
    if (!context.allow()) return;
    n.set_input(1, g.add_constant(w->name() + "_bf16", rounded_to_bf16(weights)));
    n.attributes["products"] = std::string("bf16");
    return;
  }
  const auto numbers = ops::narrow_numbers(weights);
  if (!numbers || !context.allow()) return;
  n.set_input(1, g.add_constant(w->name() + "_narrow", numbers->values));
  if (products == Products::by_halves && numbers->values.dtype() == DType::f16)
    n.attributes["products"] = std::string("f16");
  if (dtype_bits(numbers->values.dtype()) == 8)
    n.set_input(kScales,
                g.add_constant(w->name() + "_scale", Tensor::of<float>({1}, {numbers->scale})));
}

// A table that f16 or bf16 represents.
std::optional<Tensor> narrow_table(const Tensor& table) {
  const auto numbers = ops::narrow_numbers(table);
  if (!numbers) return std::nullopt;
  if (dtype_bits(numbers->values.dtype()) == 16) return numbers->values;
  return is_bf16(table) ? std::optional(rounded_to_bf16(table)) : std::nullopt;
}

void narrow_gather(Node& n, PassContext& context) {
  const Value* data = n.input(0);
  if (!data->is_constant() || data->dtype() != DType::f32 || !n.output()->type.is_static() ||
      data->constant().count() < kLeastWeights ||
      element_count(n.output()->shape()) * 2 > data->constant().count())
    return;
  const auto table = narrow_table(data->constant());
  if (!table || !context.allow()) return;
  Value* stored = n.graph().add_constant(data->name() + "_narrow", *table);
  Node* rows = n.graph().add_node("Gather", "", {stored, n.input(1)}, 1, &n);
  rows->attributes = n.attributes;
  rows->name = n.name;
  ops::infer(*rows);
  replace_node(n, insert_node(n, "Cast", "", {rows->output()}, {{"to", int64_t{1}}})->output());
}

void run(Graph& graph, PassContext& context) {
  const Products products = chosen(context);
  const bool find = context.flag("find");
  const bool rounds = products == Products::bf16 || products == Products::f16;
  if (!find && !rounds) return;
  const int64_t doubles = products_of_doubles(graph);
  for_each_node(graph, [&](Node& n) {
    if (n.is("Linear", "poprt"))
      narrow(n, products, context);
    else if (find && n.is("Gather"))
      narrow_gather(n, context);
  });
  if (rounds && doubles > 0)
    log().warn(
        "narrow_weights: {} product{} of f64 stay{} f64; pass double_to_float makes them f32 "
        "before",
        doubles, doubles == 1 ? "" : "s", doubles == 1 ? "s" : "");
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "narrow_weights",
    .summary = "stores weights of poprt.Linear and tables of Gather in f16, bf16 or 8-bit floats",
    .condition = "the narrower type represents every weight, or products of bf16 or f16 are chosen",
    .numerics = Numerics::precision,
    .run = run,
    .parameters = {
        {"products", ParameterKind::text,
         "f32, bf16, f16, auto: bf16 for weights that bf16 represents, or auto_f16: f16 for "
         "weights of which f16 is the narrowest type",
         "f32"},
        {"find", ParameterKind::flag,
         "whether to look for narrower types; the compiler does so if a constant of the "
         "model has one",
         "True"}}};

}  // namespace poprt::passes::narrow_weights_pass
