// Replaces Conv, MatMul and Gemm with constant weights by PopRT's operators on 8-bit floats:
//
//   %y = MatMul(%x, %w)   ->   %x8 = ai.graphcore.CastToFP8(%x16, %x_scale) {fp8Format = "F143"}
//                              %y16 = ai.graphcore.FP8MatMul(%x8, %w8, %x_scale, %w_scale)
//
// The codes of the weights are u8 and the scales s32. With fp8_weight the data stays f16. Results
// are f16. Casts restore the original type and disappear if the neighbours use f16, too.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/log.h"
#include "base/quarter.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"
#include "passes/common/weighted_products.h"

namespace poprt::passes::float_to_fp8_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kF32 = 1, kF16 = 10;  // values of Cast's `to`
constexpr const char* kDomain = "ai.graphcore";

Tensor encode(const Tensor& weight, const QuarterFormat& format) {
  Tensor codes = Tensor::zeros(DType::u8, weight.shape());
  const std::vector<float> values = to_floats(weight);
  encode_quarters(format.dtype, format.scale, values, codes.mutable_values<uint8_t>());
  return codes;
}

Tensor transposed(const Tensor& codes) {
  const int64_t rows = codes.shape()[0], columns = codes.shape()[1];
  Tensor out = Tensor::zeros(DType::u8, {columns, rows});
  const auto from = codes.values<uint8_t>();
  const auto to = out.mutable_values<uint8_t>();
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++)
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
  return out;
}

class Rewriter {
 public:
  explicit Rewriter(const PrecisionParameters& parameters) : p_(parameters) {}

  // Whether the user skips the product. Matched names are recorded so that unknown names can be
  // reported.
  bool skips(const WeightedProduct& product) {
    bool any = false;
    for (const std::string& name : p_.fp8_skip_op_names)
      if (product.is_called(name)) {
        found_.insert(name);
        any = true;
      }
    return any && p_.fp8_skip_op;
  }

  void rewrite(WeightedProduct& product);

  // Nodes are erased at the end, because values are identified by their addresses until then.
  void erase_retired() {
    for (Node* n : retired_) erase_if_dead(n);
  }

  void warn_of_missing() const {
    for (const std::string& name : p_.fp8_skip_op_names)
      if (!found_.contains(name))
        log().warn(
            "fp8_skip_op_names: the model has no Conv, MatMul or Gemm '{}' with constant "
            "weights",
            name);
    for (const auto* formats : {&p_.fp8_input_dict, &p_.fp8_weight_dict})
      for (const auto& [name, format] : *formats)
        if (!found_.contains(name))
          log().warn("{}: the model has no Conv, MatMul or Gemm '{}' with constant weights",
                     formats == &p_.fp8_input_dict ? "fp8_input_dict" : "fp8_weight_dict", name);
  }

 private:
  QuarterFormat format_of(const WeightedProduct& product,
                          const std::map<std::string, QuarterFormat>& formats,
                          const QuarterFormat& standard) {
    for (const auto& [name, format] : formats)
      if (product.is_called(name)) {
        found_.insert(name);
        return format;
      }
    return standard;
  }

  Value* scale_of(Graph& g, int scale) {
    Value*& v = scales_[{&g, scale}];
    if (!v)
      v = g.add_constant(fmt::format("fp8_scale_{}", scale),
                         Tensor::scalar(static_cast<int32_t>(scale)));
    return v;
  }

  // Several products may share one weight, or read one tensor in one format.
  Value* weight_of(const WeightedProduct& product, const QuarterFormat& format, bool transpose);
  Value* half_of(const WeightedProduct& product);
  Value* quarter_of(const WeightedProduct& product, const QuarterFormat& format);
  Value* half_constant_or_cast(Node& at, Value* v);
  Node* multiply(const WeightedProduct& product, Value* data, const QuarterFormat& data_format,
                 const QuarterFormat& weight_format);
  Value* add_gemm_terms(Node& n, Value* y);

  const PrecisionParameters& p_;
  std::set<std::string> found_;
  std::vector<Node*> retired_;
  std::map<std::pair<Graph*, int>, Value*> scales_;
  std::map<std::tuple<const Value*, DType, int, bool>, Value*> weights_;
  std::map<const Value*, Value*> halves_;
  std::map<std::tuple<const Value*, DType, int>, Value*> quarters_;
};

Value* Rewriter::weight_of(const WeightedProduct& product, const QuarterFormat& format,
                           bool transpose) {
  Graph& g = product.node->graph();
  const std::string name = product.weight->name() + "_fp8";
  for (const auto& [called, codes] : p_.fp8_codes)
    if (product.is_called(called))
      return g.add_constant(name, transpose ? transposed(codes) : codes);
  // The constant is in the graph of the weight, so that all products can read it.
  Value*& made = weights_[{product.weight, format.dtype, format.scale, transpose}];
  if (!made) {
    const Tensor codes = encode(product.weight->constant(), format);
    made = product.weight->graph().add_constant(name, transpose ? transposed(codes) : codes);
  }
  return made;
}

Value* Rewriter::half_of(const WeightedProduct& product) {
  if (product.data->dtype() == DType::f16) return product.data;
  Value*& half = halves_[product.data];
  // A cast in one branch is not visible in the other.
  if (half && &half->graph() == &product.node->graph()) return half;
  return half = insert_node(*product.node, "Cast", "", {product.data}, {{"to", kF16}})->output();
}

Value* Rewriter::quarter_of(const WeightedProduct& product, const QuarterFormat& format) {
  Value*& quarter = quarters_[{product.data, format.dtype, format.scale}];
  if (quarter && &quarter->graph() == &product.node->graph()) return quarter;
  return quarter = insert_node(*product.node, "CastToFP8", kDomain,
                               {half_of(product), scale_of(product.node->graph(), format.scale)},
                               {{"fp8Format", std::string(quarter_name(format.dtype))}})
                       ->output();
}

Value* Rewriter::half_constant_or_cast(Node& at, Value* v) {
  if (v->dtype() == DType::f16) return v;
  if (v->is_constant())
    return at.graph().add_constant(v->name() + "_half",
                                   tensor_of(DType::f16, v->shape(), v->constant().to_doubles()));
  return insert_node(at, "Cast", "", {v}, {{"to", kF16}})->output();
}

Node* Rewriter::multiply(const WeightedProduct& product, Value* data,
                         const QuarterFormat& data_format, const QuarterFormat& weight_format) {
  Node& n = *product.node;
  Graph& g = n.graph();
  const bool transpose = n.is("Gemm") && n.int_attr("transB", 0) != 0;
  const bool conv = n.is("Conv");
  std::vector<Value*> inputs = {data, weight_of(product, weight_format, transpose),
                                p_.fp8_weights_only ? nullptr : scale_of(g, data_format.scale),
                                scale_of(g, weight_format.scale)};
  if (conv && n.input(2)) inputs.push_back(half_constant_or_cast(n, n.input(2)));
  Node* made = g.add_node(conv ? "FP8Conv" : "FP8MatMul", kDomain, inputs, 1, &n);
  made->name = n.name;
  if (conv) made->attributes = n.attributes;
  made->attributes["fp8FormatRHS"] = std::string(quarter_name(weight_format.dtype));
  if (!p_.fp8_weights_only)
    made->attributes["fp8FormatLHS"] = std::string(quarter_name(data_format.dtype));
  ops::infer(*made);
  return made;
}

// Adds the rest of Gemm: alpha times the product, and beta times input 2.
Value* Rewriter::add_gemm_terms(Node& n, Value* y) {
  const auto times = [&](Value* v, float factor) {
    if (factor == 1) return v;
    Value* scalar = add_scalar(n.graph(), n.output()->name() + "_factor", DType::f16,
                               static_cast<double>(factor));
    return insert_node(n, "Mul", "", {v, scalar})->output();
  };
  y = times(y, n.float_attr("alpha", 1));
  const float beta = n.float_attr("beta", 1);
  if (!n.input(2) || beta == 0) return y;
  Value* addend = times(half_constant_or_cast(n, n.input(2)), beta);
  return insert_node(n, "Add", "", {y, addend})->output();
}

void Rewriter::rewrite(WeightedProduct& product) {
  Node& n = *product.node;
  Graph* top = &n.graph();
  while (top->parent) top = top->parent;
  top->opsets.emplace(kDomain, 1);
  const QuarterFormat data_format = format_of(product, p_.fp8_input_dict, p_.fp8.input);
  const QuarterFormat weight_format = format_of(product, p_.fp8_weight_dict, p_.fp8.weight);
  Value* data = p_.fp8_weights_only ? half_of(product) : quarter_of(product, data_format);
  const DType result = n.output()->dtype();
  Value* y = multiply(product, data, data_format, weight_format)->output();
  if (n.is("Gemm")) y = add_gemm_terms(n, y);
  // The product takes the name, because the cast after it may be removed. A graph output keeps its
  // name on the last value.
  const std::string name = n.output()->name();
  const bool was_output = n.graph().is_output(n.output());
  if (!was_output) {
    n.graph().rename(n.output(), name + "_before");
    n.graph().rename(y, name);
  }
  if (result != DType::f16)
    y = insert_node(n, "Cast", "", {y}, {{"to", result == DType::f32 ? kF32 : int64_t{16}}})
            ->output();
  n.graph().replace_all_uses(n.output(), y);
  retired_.push_back(&n);
}

std::map<std::string, QuarterFormat> formats_of(const PassContext& context, const char* name) {
  std::map<std::string, QuarterFormat> formats;
  for (const std::string& word : context.words(name)) {
    const std::string what = fmt::format("float_to_fp8: {}", name);
    const size_t at = word.rfind('=');
    if (at == std::string::npos || at == 0)
      fail(ErrorCode::invalid_argument, "{}: expected NAME=FORMAT,SCALE, found '{}'", what, word);
    formats[word.substr(0, at)] = parse_quarter_format(word.substr(at + 1), what);
  }
  return formats;
}

// The parameters from the options. The pass's own arguments override them, or extend lists of names
// and formats.
PrecisionParameters parameters_of(const PassContext& context) {
  PrecisionParameters p = context.precision ? *context.precision : PrecisionParameters();
  if (const std::string& text = context.text("fp8_params"); !text.empty())
    p.fp8 = parse_fp8_params(text, "float_to_fp8: fp8_params");
  for (const std::string& name : context.names("skip_op_names"))
    p.fp8_skip_op_names.push_back(name);
  if (const std::string& model = context.text("convert_model"); !model.empty()) {
    if (model != "fp8" && model != "fp8_weight")
      fail(ErrorCode::invalid_argument,
           "float_to_fp8: convert_model: expected fp8 or fp8_weight, found '{}'", model);
    p.fp8_weights_only = model == "fp8_weight";
  }
  if (context.text("skip_op") == "False") p.fp8_skip_op = false;
  for (auto& [name, format] : formats_of(context, "fp8_input_dict"))
    p.fp8_input_dict[name] = format;
  for (auto& [name, format] : formats_of(context, "fp8_weight_dict"))
    p.fp8_weight_dict[name] = format;
  return p;
}

void run(Graph& graph, PassContext& context) {
  const PrecisionParameters parameters = parameters_of(context);
  Rewriter rewriter(parameters);
  bool any = false;
  for_each_product(graph, [&](WeightedProduct& product) {
    any = true;
    if (rewriter.skips(product)) return;
    if (!product.data->type.is_static())
      log().warn("float_to_fp8: '{}' is not converted because its shape is unknown",
                 product.name());
    else if (context.allow())
      rewriter.rewrite(product);
  });
  if (!any) log().warn("float_to_fp8: the model has no Conv, MatMul or Gemm with constant weights");
  rewriter.erase_retired();
  rewriter.warn_of_missing();
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_to_fp8",
    .summary =
        "computes Conv, MatMul and Gemm on 8-bit floats (F143, F152), or stores their "
        "weights so (fp8_weight)",
    .condition = "weights are constant; numbers are rounded to 4 or 3 significant bits",
    .numerics = Numerics::precision,
    .run = run,
    .parameters = {
        {"fp8_params", ParameterKind::names,
         "formats of inputs and weights and their scales; default: --fp8_params", ""},
        {"skip_op_names", ParameterKind::names, "nodes that are not converted"},
        {"convert_model", ParameterKind::text,
         "fp8, or fp8_weight, which converts only the weights"},
        {"fp8_input_dict", ParameterKind::words, "NODE=FORMAT,SCALE for the input of a node"},
        {"fp8_weight_dict", ParameterKind::words, "NODE=FORMAT,SCALE for the weight of a node"},
        {"skip_op", ParameterKind::flag, "skip_op_names counts", "True"}}};

}  // namespace poprt::passes::float_to_fp8_pass
