// Makes images inputs of bytes and adds their normalisation to the graph:
//
//   input %x : f32[n,3,h,w]   ->   input %x : u8[n,3,h,w];  (x / 255 - mean) / deviation
//
// Mean and deviation are those of ImageNet, with which image models are trained.
#include <array>

#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::eight_bits_io_pass {
namespace {

using ir::Graph;
using ir::Value;

// ImageNet's mean and deviation of red, green and blue.
constexpr std::array kMean = {0.485, 0.456, 0.406}, kDeviation = {0.229, 0.224, 0.225};

bool is_image(const Value& v) {
  return !v.is_constant() && is_plain_float(v.dtype()) && v.shape().size() == 4 &&
         v.shape()[1] == 3;
}

void normalise(Graph& graph, Value* image) {
  std::array<double, 3> factors{}, shifts{};
  for (size_t c = 0; c < factors.size(); c++) {
    factors[c] = 1 / (255 * kDeviation[c]);
    shifts[c] = -kMean[c] / kDeviation[c];
  }
  const std::vector<ir::Use> uses = image->uses();
  const DType dtype = image->dtype();
  image->type.dtype = DType::u8;
  const auto constant = [&](const char* name, const std::array<double, 3>& values) {
    return graph.add_constant(image->name() + name, tensor_of(dtype, {1, 3, 1, 1}, values));
  };
  ir::Node* first = graph.nodes().empty() ? nullptr : graph.nodes().front();
  const int64_t to = dtype == DType::f32   ? 1
                     : dtype == DType::f16 ? 10
                     : dtype == DType::f64 ? 11
                                           : 16;
  Value* v = image;
  const auto add = [&](const char* op, std::initializer_list<Value*> inputs) {
    ir::Node* n = graph.add_node(op, "", inputs, 1, first);
    if (n->is("Cast")) n->attributes["to"] = to;
    n->name = image->name() + "_" + op;
    ops::infer(*n);
    return n->output();
  };
  v = add("Cast", {v});
  v = add("Mul", {v, constant("_factor", factors)});
  v = add("Add", {v, constant("_shift", shifts)});
  for (const ir::Use& use : uses) use.node->set_input(use.input, v);
}

void run(Graph& graph, PassContext& context) {
  std::vector<Value*> images;
  for (Value* v : graph.inputs())
    if (is_image(*v)) images.push_back(v);
  if (images.empty())
    fail(ErrorCode::invalid_argument,
         "`eightbitsio`: expected an input of images, floats [batch,3,height,width]; the model has "
         "none");
  for (Value* v : images)
    if (context.allow()) normalise(graph, v);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "eight_bits_io",
    .summary = "makes images inputs of bytes and normalises them (mean and deviation of ImageNet)",
    .condition = "inputs are floats [batch,3,height,width]",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::eight_bits_io_pass
