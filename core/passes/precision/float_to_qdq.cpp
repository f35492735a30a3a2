// Stores values and the weights of products as bytes between QuantizeLinear and DequantizeLinear:
//
//   %y = Conv(%x, %w, %b)   ->   %x8 = QuantizeLinear(%x, %x_scale, %x_zero)
//                                %xd = DequantizeLinear(%x8, %x_scale, %x_zero)
//                                %wd = DequantizeLinear(%w8, %w_scale, %w_zero) {axis = 0}
//                                %bd = DequantizeLinear(%b32, %b_scale, %b_zero) {axis = 0}
//                                %y = Conv(%xd, %wd, %bd)
//
// Values are u8 with one scale. Weights are s8 with a scale for each channel of the result, and
// biases s32 with the product of both scales, so that they can be added to the sums of bytes.
// Calibration chooses the values and their scales (compiler/quantize/calibrate_bytes.h).
#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "ops/op.h"
#include "passes/common/byte_weights.h"
#include "passes/common/rewrite.h"
#include "passes/common/weighted_products.h"

namespace poprt::passes::float_to_qdq_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The largest bias in units of the sum. Scales of weights grow until it fits.
constexpr float kLargestBias = 0x1p29f;

// Adds DequantizeLinear of constant bytes before `at`. `scales` has an element for each index of
// `axis`.
Value* dequantized(Node& at, Value* bytes, std::span<const float> scales, int64_t axis) {
  Graph& g = at.graph();
  const auto count = static_cast<int64_t>(scales.size());
  Value* scale = g.add_constant(bytes->name() + "_scale", Tensor::of<float>({count}, scales));
  Value* zero = g.add_constant(bytes->name() + "_zero", Tensor::zeros(bytes->dtype(), {count}));
  Node* n = insert_node(at, "DequantizeLinear", "", {bytes, scale, zero}, {{"axis", axis}});
  n->name = bytes->name() + "_dequantized";  // the product keeps its name
  return n->output();
}

// The constant bias of a product with one number per result channel, or nothing.
std::optional<std::vector<float>> bias_of(const Node& n, size_t channels) {
  const Value* b = n.is("MatMul") ? nullptr : n.input(2);
  if (!b || !b->is_constant() || b->dtype() != DType::f32) return std::nullopt;
  std::vector<float> values = to_floats(b->constant());
  if (values.size() != channels) return std::nullopt;
  return values;
}

bool has_finite_numbers(const WeightedProduct& p) {
  const Value* bias = p.node->input(2);
  return is_finite(p.weight->constant()) &&
         (!bias || !bias->is_constant() || bias->dtype() != DType::f32 ||
          is_finite(bias->constant()));
}

void quantise_product(const WeightedProduct& p, const ByteFormat& data) {
  Node& n = *p.node;
  Graph& g = n.graph();
  const Tensor weight = p.weight->constant();
  const std::string name = p.weight->name();
  std::vector<float> scales = byte_scales(weight, p.output_axis);
  // A channel of zeros gets the smallest scale of the other channels, so that its bias has the
  // finest resolution.
  float least = 0;
  for (const float s : scales)
    if (s > 0 && (least == 0 || s < least)) least = s;
  for (float& s : scales)
    if (s == 0) s = least > 0 ? least : 1;
  const auto bias = bias_of(n, scales.size());
  for (size_t i = 0; bias && i < scales.size(); i++)
    scales[i] = std::max(scales[i], std::fabs((*bias)[i]) / (kLargestBias * data.scale));
  Value* bytes = g.add_constant(name + "_int8", to_bytes(weight, p.output_axis, scales));
  n.set_input(1, dequantized(n, bytes, scales, p.output_axis));
  if (!bias) return;
  std::vector<int32_t> sums(scales.size());
  for (size_t i = 0; i < scales.size(); i++) {
    scales[i] *= data.scale;
    sums[i] = static_cast<int32_t>(std::nearbyint((*bias)[i] / scales[i]));
  }
  const auto count = static_cast<int64_t>(sums.size());
  Value* whole = g.add_constant(n.input(2)->name() + "_int32", Tensor::of<int32_t>({count}, sums));
  n.set_input(2, dequantized(n, whole, scales, 0));
}

// Whether a convolution computes the value, directly or with Relus and Clips after it.
bool is_of_convolution(const Value* v) {
  const Node* n = v->producer();
  while (n && (n->is("Relu") || n->is("Clip"))) n = n->input(0)->producer();
  return n && n->is("Conv");
}

// Makes the readers of a value in its graph read its bytes. A graph output that a convolution
// computes is read from the bytes as well, because a convolution of bytes has no other result.
void quantise_value(Value* v, Value* scale, Value* zero) {
  Graph& g = v->graph();
  const std::vector<ir::Use> uses = v->uses();
  const std::vector<Node*> nodes = g.nodes();
  const auto reads = [&](const Node* n) {
    return std::ranges::any_of(uses, [&](const ir::Use& u) { return u.node == n; });
  };
  const auto first = std::ranges::find_if(nodes, reads);
  Node* before = first == nodes.end() ? nullptr : *first;
  const bool is_result = g.is_output(v) && is_of_convolution(v);
  if (!before && !is_result) return;
  const std::string name = v->name();
  const auto add = [&](const char* op_type, Value* from, const std::string& output) {
    Value* const inputs[] = {from, scale, zero};
    Node* n = g.add_node(op_type, "", inputs, 1, before, {&output, 1});
    ops::infer(*n);
    return n;
  };
  Node* q = add("QuantizeLinear", v, name + "_bytes");
  Node* d = add("DequantizeLinear", q->output(), name + "_dequantized");
  for (const ir::Use& u : uses)
    if (&u.node->graph() == &g) u.node->set_input(u.input, d->output());
  if (!is_result) return;
  for (size_t i = 0; i < g.outputs().size(); i++)
    if (g.outputs()[i] == v) g.set_output(i, d->output());
  g.rename(v, g.fresh_name(name + "_float"));
  g.rename(d->output(), name);
}

void run(Graph& graph, PassContext& context) {
  const PrecisionParameters* given = context.precision;
  if (!given || given->byte_products.empty()) {
    log().warn(
        "float_to_qdq: no product has a range from a calibration, and nothing changes; "
        "`precision` int8 calibrates with data");
    return;
  }
  for_each_product(graph, [&](const WeightedProduct& p) {
    const auto format = given->byte_values.find(p.data->name());
    if (&p.node->graph() != &graph || p.weight != p.node->input(1) ||
        p.weight->dtype() != DType::f32 || format == given->byte_values.end() ||
        !given->byte_products.contains(p.node->output()->name()) || !has_finite_numbers(p) ||
        !context.allow())
      return;
    quantise_product(p, format->second);
  });
  for (const auto& [name, format] : given->byte_values) {
    Value* v = graph.find(name);
    if (!v || v->dtype() != DType::f32 || v->is_constant() || !context.allow()) continue;
    Value* scale = graph.add_constant(name + "_scale", Tensor::scalar(format.scale));
    Value* zero =
        graph.add_constant(name + "_zero", Tensor::scalar(static_cast<uint8_t>(format.zero)));
    quantise_value(v, scale, zero);
  }
  pass_of("eliminate_unused_initializer").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_to_qdq",
    .summary =
        "stores values and weights of products as bytes between QuantizeLinear and "
        "DequantizeLinear",
    .condition =
        "Conv, MatMul and Gemm with constant finite f32 weights, and the values that a "
        "calibration has chosen",
    .numerics = Numerics::precision,
    .run = run,
};

}  // namespace poprt::passes::float_to_qdq_pass
