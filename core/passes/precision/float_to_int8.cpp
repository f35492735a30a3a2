// Stores the weights of products as bytes and a scale: (value - offset) * scale. Cast, Sub and Mul
// compute this in f32, without the Sub if all offsets are 0, and a second Cast follows if the
// product reads f16 or bf16.
#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "codecs/arrays_file.h"
#include "ops/op.h"
#include "passes/common/byte_weights.h"
#include "passes/common/rewrite.h"
#include "passes/common/weighted_products.h"

namespace poprt::passes::float_to_int8_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Quantises to the nearest bytes, with a scale for each index of `axis` and offsets of 0.
Int8Weight nearest_int8(const Tensor& weight, int64_t axis) {
  std::vector<float> scales = byte_scales(weight, axis);
  for (float& s : scales)
    if (s == 0) s = 1;
  Shape wide(weight.shape().size(), 1);
  wide[static_cast<size_t>(axis)] = weight.shape()[static_cast<size_t>(axis)];
  return {to_bytes(weight, axis, scales), Tensor::zeros(DType::f32, {}),
          Tensor::of<float>(wide, scales)};
}

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const auto last_dimensions = to.end() - static_cast<std::ptrdiff_t>(from.size());
  return std::equal(from.begin(), from.end(), last_dimensions,
                    [](int64_t a, int64_t b) { return a == 1 || a == b; });
}

void check(const std::string& name, const Tensor& weight, const Int8Weight& w) {
  if (w.value.dtype() != DType::s8 || w.value.shape() != weight.shape())
    fail(ErrorCode::invalid_argument,
         "int8_offset_scale: the value of '{}' is {} {}, expected s8 {}", name,
         dtype_name(w.value.dtype()), shape_string(w.value.shape()), shape_string(weight.shape()));
  for (const auto& [tensor, what] : {std::pair(&w.offset, "offset"), std::pair(&w.scale, "scale")})
    if (tensor->dtype() != DType::f32 || !broadcasts(tensor->shape(), weight.shape()))
      fail(ErrorCode::invalid_argument,
           "int8_offset_scale: the {} of '{}' is {} {}, expected f32 of a shape that broadcasts to "
           "{}",
           what, name, dtype_name(tensor->dtype()), shape_string(tensor->shape()),
           shape_string(weight.shape()));
}

int64_t onnx_number(DType dtype) {
  return dtype == DType::f16 ? 10 : dtype == DType::bf16 ? 16 : 1;
}

// Adds the nodes that compute the weight from bytes before `at`.
Value* widened(Node& at, const std::string& name, DType dtype, const Int8Weight& w) {
  Graph& g = at.graph();
  const std::vector<double> offsets = w.offset.to_doubles();
  const bool plain = std::ranges::all_of(offsets, [](double x) { return x == 0; });
  Value* value = g.add_constant(name + "_int8", w.value);
  Value* scale = g.add_constant(name + "_scale", w.scale);
  Value* v = insert_node(at, "Cast", "", {value}, {{"to", int64_t{1}}})->output();
  if (!plain)
    v = insert_node(at, "Sub", "", {v, g.add_constant(name + "_offset", w.offset)})->output();
  v = insert_node(at, "Mul", "", {v, scale})->output();
  if (dtype != DType::f32)
    v = insert_node(at, "Cast", "", {v}, {{"to", onnx_number(dtype)}})->output();
  return v;
}

// Reads a file of arrays WEIGHT.value, WEIGHT.offset and WEIGHT.scale. A weight's name may contain
// dots.
std::map<std::string, Int8Weight> read_weights(const std::string& path) {
  std::map<std::string, Int8Weight> weights;
  std::map<std::string, std::set<std::string>> parts;
  for (auto& [name, array] : read_arrays(path)) {
    const size_t dot = name.rfind('.');
    const std::string part = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (dot == 0 || (part != "value" && part != "offset" && part != "scale"))
      fail(ErrorCode::invalid_argument,
           "int8_offset_scale: '{}': expected arrays WEIGHT.value, WEIGHT.offset and WEIGHT.scale, "
           "found '{}'",
           path, name);
    const std::string weight = name.substr(0, dot);
    parts[weight].insert(part);
    Int8Weight& w = weights[weight];
    (part == "value" ? w.value : part == "offset" ? w.offset : w.scale) = array;
  }
  for (const auto& [weight, has] : parts)
    for (const char* part : {"value", "offset", "scale"})
      if (!has.contains(part))
        fail(ErrorCode::invalid_argument, "int8_offset_scale: '{}' has no array '{}.{}'", path,
             weight, part);
  if (weights.empty())
    fail(ErrorCode::invalid_argument, "int8_offset_scale: '{}' has no arrays", path);
  return weights;
}

void run(Graph& graph, PassContext& context) {
  const std::string& path = context.text("int8_offset_scale");
  const auto given = !path.empty()       ? read_weights(path)
                     : context.precision ? context.precision->int8_offset_scale
                                         : std::map<std::string, Int8Weight>();
  std::set<std::string> found;
  for_each_product(graph, [&](WeightedProduct& product) {
    const auto entry = given.find(product.weight->name());
    if (!given.empty() && entry == given.end()) return;
    if (entry != given.end()) {
      found.insert(entry->first);
      check(entry->first, product.weight->constant(), entry->second);
    }
    // NaN and infinities have no byte.
    if (entry == given.end() && !is_finite(product.weight->constant())) return;
    if (!context.allow()) return;
    const Int8Weight weight = entry != given.end()
                                  ? entry->second
                                  : nearest_int8(product.weight->constant(), product.output_axis);
    Node& n = *product.node;
    Value* before = n.input(1);
    n.set_input(1, widened(n, product.weight->name(), before->dtype(), weight));
    if (before->uses().empty() && before->producer()) erase_if_dead(before->producer());
  });
  for (const auto& [name, weight] : given)
    if (!found.contains(name))
      log().warn("int8_offset_scale: '{}' is not a constant weight of a Conv, MatMul or Gemm",
                 name);
  pass_of("eliminate_unused_initializer").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_to_int8",
    .summary = "stores weights of Conv, MatMul and Gemm as s8 with scales",
    .condition =
        "weights are constant and finite; they are rounded to one of 255 steps per result channel, "
        "or given "
        "(int8_offset_scale)",
    .numerics = Numerics::precision,
    .run = run,
    .parameters = {{"int8_offset_scale", ParameterKind::text,
                    "path of a pickle or .npz with s8 WEIGHT.value and f32 WEIGHT.offset and "
                    "WEIGHT.scale of each weight, which becomes (value - offset) * scale; empty: "
                    "all weights are rounded to the nearest byte"}}};

}  // namespace poprt::passes::float_to_int8_pass
