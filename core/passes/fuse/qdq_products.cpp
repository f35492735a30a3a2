// Replaces float operators between DequantizeLinear and QuantizeLinear by operators on bytes:
//
// DequantizeLinear -> Conv, MatMul, Gemm (-> Relu, Clip) -> QuantizeLinear becomes QLinearConv,
// QLinearMatMul or com.microsoft.QGemm. They have exact 32-bit sums and round once at the end,
// whereas the float graph rounds every product and sum. A BatchNormalization after Conv becomes
// part of its scales and its bias.
//
// A Relu or Clip before QuantizeLinear is dropped if saturation has the same effect. If not, Max
// and Min bound the bytes, because quantisation keeps the order of numbers: Relu is a Max with the
// zero point.
//
// DequantizeLinear -> Reshape, MaxPool ... -> QuantizeLinear with the same scale and zero point
// moves the bytes. Concat joins bytes; an input with another quantisation than the result is
// quantised again.
//
// DequantizeLinear -> MatMul, Gemm with constant weights and a result in floats becomes
// MatMulInteger, Cast, Mul by the scales, and Add of the bias.
#include <algorithm>
#include <cmath>

#include "ops/axes.h"
#include "ops/op.h"
#include "passes/common/byte_weights.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::qdq_products_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The least and the largest byte of a result.
struct Bounds {
  double least = 0, most = 0;

  static Bounds of(DType dtype) {
    const double low = dtype == DType::u8 ? 0 : -128;
    return {low, low + 255};
  }
  double within(double byte) const { return std::clamp(byte, least, most); }
  bool operator==(const Bounds&) const = default;
};

// An input or result as bytes: real = (bytes - zero) * scale. Scale and zero point are constants.
struct Quantized {
  Value *bytes = nullptr, *scale = nullptr, *zero = nullptr;
  DType dtype = DType::undefined;
  int64_t axis = -1;   // axis of a scale with several elements; -1: one scale for all
  Bounds bounds = {};  // of a result

  double one_scale() const { return scale->constant().to_doubles()[0]; }
  double one_zero() const { return zero ? zero->constant().to_doubles()[0] : 0; }
};

std::optional<Quantized> quantized(const Node& n, Value* bytes, DType dtype) {
  Quantized q{bytes, n.input(1), n.input(2), dtype, -1, {}};
  if ((dtype != DType::u8 && dtype != DType::s8) || n.int_attr("block_size", 0) != 0)
    return std::nullopt;
  if (!q.scale->is_constant() || q.scale->dtype() != DType::f32) return std::nullopt;
  if (q.zero &&
      (!q.zero->is_constant() || q.zero->dtype() != dtype || q.zero->shape() != q.scale->shape()))
    return std::nullopt;
  const std::vector<double> scales = q.scale->constant().to_doubles();
  if (!std::all_of(scales.begin(), scales.end(),
                   [](double s) { return s > 0 && std::isfinite(s); }))
    return std::nullopt;
  if (scales.size() == 1) return q;
  const auto axis =
      q.scale->shape().size() == 1 ? ops::varying_axis(ops::axis_map(n), 1) : std::nullopt;
  if (!axis) return std::nullopt;
  q.axis = static_cast<int64_t>(*axis);
  return q;
}

// Returns the bytes that a DequantizeLinear converts to `real`.
std::optional<Quantized> dequantized(const Value* real) {
  const Node* n = ir::producer_if(real, "DequantizeLinear");
  if (!n || !n->input(0) || !n->input(1) || !n->input(0)->type.is_static() ||
      real->dtype() != DType::f32)
    return std::nullopt;
  return quantized(*n, n->input(0), n->input(0)->dtype());
}

bool is_per_tensor(const std::optional<Quantized>& q) { return q && q->axis < 0; }

// Whether all zero points are the middle of the bytes.
bool is_symmetric(const Quantized& q) {
  const std::vector<double> zeros = q.zero ? q.zero->constant().to_doubles() : std::vector{0.0};
  const double middle = q.dtype == DType::u8 ? 128 : 0;
  return std::all_of(zeros.begin(), zeros.end(), [=](double z) { return z == middle; });
}

// Returns the zero point as an input, because QLinear operators require one.
Value* zero_of(Graph& graph, const Quantized& q, const std::string& name) {
  if (q.zero) return q.zero;
  return graph.add_constant(name, Tensor::zeros(q.dtype, q.scale->shape()));
}

// The bounds after the Relu or Clip `n` is merged into QuantizeLinear, which has bounds `to`.
std::optional<Bounds> merged_bounds(const Node& n, const Quantized& y, const Bounds& to) {
  const auto byte = [&](double real) {
    return to.within(std::nearbyint(real / y.one_scale()) + y.one_zero());
  };
  if (n.is("Relu")) return Bounds{byte(0), byte(INFINITY)};
  if (!n.is("Clip")) return std::nullopt;
  const auto bound = [&](size_t input, std::string_view key, double none) -> std::optional<double> {
    if (n.opset() < 11) return n.float_attr(key, static_cast<float>(none));
    return n.input(input) ? ir::const_scalar(n.input(input)) : std::optional(none);
  };
  const auto lower = bound(1, "min", -INFINITY), upper = bound(2, "max", INFINITY);
  if (!lower || !upper || !(*lower <= *upper)) return std::nullopt;
  return Bounds{byte(*lower), byte(*upper)};
}

// The numbers of a constant, or of constant bytes or integers after DequantizeLinear.
std::optional<std::vector<double>> reals_of(const Value* v) {
  if (v->is_constant() && v->dtype() == DType::f32) return v->constant().to_doubles();
  const Node* d = ir::producer_if(v, "DequantizeLinear");
  if (!d || !d->input(0)->is_constant() || !d->input(1)->is_constant() ||
      (d->input(2) && !d->input(2)->is_constant()) || d->int_attr("block_size", 0) != 0)
    return std::nullopt;
  std::vector<double> values = d->input(0)->constant().to_doubles();
  const std::vector<double> scale = d->input(1)->constant().to_doubles();
  std::vector<double> zero(scale.size(), 0);
  if (d->input(2)) zero = d->input(2)->constant().to_doubles();
  if ((scale.size() != 1 && scale.size() != values.size()) || zero.size() != scale.size())
    return std::nullopt;
  for (size_t i = 0; i < values.size(); i++) {
    const size_t s = scale.size() == 1 ? 0 : i;
    values[i] = (values[i] - zero[s]) * scale[s];
  }
  return values;
}

// Converts a bias of `n` columns to the unit of the 32-bit sums. A sum of 1 represents the number
// `unit` (one for all columns, or one for each), which is unit / y_scale steps of the result.
std::optional<Tensor> sums_of(std::vector<double> values, int64_t n,
                              const std::vector<double>& unit, double y_scale) {
  if (values.size() == 1) values.assign(static_cast<size_t>(n), values[0]);
  if (static_cast<int64_t>(values.size()) != n) return std::nullopt;
  Tensor sums = Tensor::zeros(DType::s32, {n});
  for (size_t i = 0; i < values.size(); i++) {
    const double u = unit[unit.size() == 1 ? 0 : i], exact = values[i] / u;
    // The largest change of the result by rounding the bias, in steps of the result.
    constexpr double kMost = 0.1;
    if (!(std::fabs(exact) < 1 << 30) ||
        std::fabs(exact - std::nearbyint(exact)) * u / y_scale > kMost)
      return std::nullopt;
    sums.mutable_values<int32_t>()[i] = static_cast<int32_t>(std::nearbyint(exact));
  }
  return sums;
}

std::optional<Tensor> bias_of(const Value* bias, int64_t n, const std::vector<double>& unit,
                              double y_scale) {
  auto values = reals_of(bias);
  if (!values) return std::nullopt;
  return sums_of(std::move(*values), n, unit, y_scale);
}

// A BatchNormalization after the product: result * factor + shift, for each channel.
struct Norm {
  std::vector<double> factor, shift;
};

std::optional<Norm> norm_of(const Node& bn, int64_t channels) {
  constexpr size_t kScale = 1, kShift = 2, kMean = 3, kVariance = 4;
  if (bn.inputs().size() != 5 || bn.int_attr("training_mode", 0) != 0 || bn.opset() < 9)
    return std::nullopt;
  std::vector<std::vector<double>> values(5);
  for (size_t i = kScale; i <= kVariance; i++) {
    const auto reals = reals_of(bn.input(i));
    if (!reals || static_cast<int64_t>(reals->size()) != channels) return std::nullopt;
    values[i] = *reals;
  }
  Norm norm;
  const auto epsilon = static_cast<double>(bn.float_attr("epsilon", 1e-5f));
  for (size_t c = 0; c < values[kScale].size(); c++) {
    const double factor = values[kScale][c] / std::sqrt(values[kVariance][c] + epsilon);
    if (!std::isfinite(factor) || factor == 0) return std::nullopt;
    norm.factor.push_back(factor);
    norm.shift.push_back(values[kShift][c] - values[kMean][c] * factor);
  }
  return norm;
}

// The bytes of constant weights [M, ...], negated in the channels with a negative factor. Returns
// nothing if a negated byte does not exist.
std::optional<Tensor> negated_weights(const Quantized& w, const std::vector<double>& factor) {
  const Shape& shape = w.bytes->shape();
  const auto row = static_cast<size_t>(element_count(shape) / shape[0]);
  const std::vector<double> zero = w.zero ? w.zero->constant().to_doubles() : std::vector{0.0};
  std::vector<double> bytes = w.bytes->constant().to_doubles();
  const Bounds range = Bounds::of(w.dtype);
  for (size_t i = 0; i < bytes.size(); i++) {
    const size_t c = i / row;
    if (factor[c] > 0) continue;
    bytes[i] = 2 * zero[zero.size() == 1 ? 0 : c] - bytes[i];
    if (bytes[i] != range.within(bytes[i])) return std::nullopt;
  }
  return tensor_of(w.dtype, shape, bytes);
}

// Gives the weights those bytes, and scales that are multiplied by the absolute factors.
void scale_weights(Graph& graph, Quantized& w, const Tensor& bytes,
                   const std::vector<double>& factor, const std::string& name) {
  std::vector<double> scale = w.scale->constant().to_doubles(), zero(1, 0.0);
  if (w.zero) zero = w.zero->constant().to_doubles();
  scale.resize(factor.size(), scale[0]);
  zero.resize(factor.size(), zero[0]);
  for (size_t c = 0; c < factor.size(); c++) scale[c] *= std::fabs(factor[c]);
  const auto m = static_cast<int64_t>(factor.size());
  w.axis = 0;
  w.bytes = graph.add_constant(name + "_weights", bytes);
  w.scale = graph.add_constant(name + "_w_scale", tensor_of(DType::f32, {m}, scale));
  w.zero = graph.add_constant(name + "_w_zero", tensor_of(w.dtype, {m}, zero));
}

// For each index of `axis`, sums the absolute differences between the bytes and their zero point.
// Returns the largest sum.
template <class T>
int64_t largest_sum(const Quantized& w, size_t axis) {
  const Shape& shape = w.bytes->shape();
  const std::span<const T> values = w.bytes->constant().values<T>();
  std::vector<int64_t> zeros = {0};
  if (w.zero) zeros = w.zero->constant().to_int64s();
  const auto places = static_cast<size_t>(shape[axis]),
             inner = static_cast<size_t>(element_count(std::span(shape).subspan(axis + 1)));
  std::vector<int64_t> sums(places);
  for (size_t i = 0; i < values.size(); i++) {
    const size_t place = i / inner % places;
    sums[place] += std::abs(values[i] - zeros[zeros.size() == 1 ? 0 : place]);
  }
  return *std::max_element(sums.begin(), sums.end());
}

// Whether the sums of products with constant weights fit in 32 bits. Each sum reads the weights at
// one index of `axis`.
bool sums_fit(const Quantized& w, size_t axis) {
  const Shape& shape = w.bytes->shape();
  if (element_count(shape) == 0) return false;
  if (byte_sums_fit(element_count(shape) / shape[axis])) return true;
  const int64_t sum =
      w.dtype == DType::u8 ? largest_sum<uint8_t>(w, axis) : largest_sum<int8_t>(w, axis);
  return sum <= (1 << 30) / 255;
}

std::vector<double> units(const Quantized& x, const Quantized& w) {
  std::vector<double> unit = w.scale->constant().to_doubles();
  for (double& u : unit) u *= x.one_scale();
  return unit;
}

// Adds a node before `at` with the attributes of `pattern`.
Node* insert_like(Node& at, const std::string& op_type, const std::vector<Value*>& inputs,
                  const Node& pattern) {
  const std::string name = at.output()->name() + "_" + op_type;
  Node* made = at.graph().add_node(op_type, "", inputs, 1, &at, std::span(&name, 1));
  made->name = at.name;
  made->attributes = pattern.attributes;
  ops::infer(*made);
  return made;
}

// Returns the inputs of `n` with `first` as input 0.
std::vector<Value*> with_first(const Node& n, Value* first) {
  std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
  inputs[0] = first;
  return inputs;
}

// Kernels of depthwise convolutions need a zero point in the middle.
bool has_kernel(const Node& conv, const Quantized& w) {
  const Shape& shape = w.bytes->shape();
  if (!is_faster_on_bytes(shape, conv.int_attr("group", 1))) return false;
  return shape[1] != 1 || is_symmetric(w);
}

// Replaces the QuantizeLinear by the bytes `made`, bounded as `y` requires.
void finish(Node& q, Value* made, const Quantized& y) {
  const Bounds all = Bounds::of(y.dtype);
  const auto bounded = [&](const char* op_type, double byte) {
    Value* bound = add_scalar(q.graph(), q.output()->name() + "_bound", y.dtype, byte);
    made = insert_node(q, op_type, "", {made, bound})->output();
  };
  if (y.bounds.least > all.least) bounded("Max", y.bounds.least);
  if (y.bounds.most < all.most) bounded("Min", y.bounds.most);
  replace_node(q, made);
}

// `bn` is a BatchNormalization between the convolution and QuantizeLinear, or null.
void from_conv(Node& q, Node& conv, const Node* bn, const Quantized& y, PassContext& context) {
  const auto x = dequantized(conv.input(0));
  auto w = dequantized(conv.input(1));
  if (!is_per_tensor(x) || !w || !w->bytes->is_constant() || (w->axis > 0)) return;
  const Shape& shape = w->bytes->shape();
  if (shape.size() < 3 || !has_kernel(conv, *w) || !sums_fit(*w, 0)) return;
  Graph& g = q.graph();
  const std::string name = q.output()->name();
  Value* b = conv.inputs().size() > 2 ? conv.input(2) : nullptr;
  std::optional<std::vector<double>> bias;
  if (b && !(bias = reals_of(b))) return;
  std::optional<Norm> norm;
  std::vector<double> unit = units(*x, *w);
  if (bn) {
    if (!(norm = norm_of(*bn, shape[0]))) return;
    unit.resize(norm->factor.size(), unit[0]);
    if (!bias) bias.emplace(norm->factor.size(), 0.0);
    bias->resize(norm->factor.size(), (*bias)[0]);
    for (size_t c = 0; c < unit.size(); c++) {
      unit[c] *= std::fabs(norm->factor[c]);
      (*bias)[c] = (*bias)[c] * norm->factor[c] + norm->shift[c];
    }
  }
  std::optional<Tensor> sums;
  if (bias && !(sums = sums_of(*bias, shape[0], unit, y.one_scale()))) return;
  std::optional<Tensor> bytes;
  if (norm && !(bytes = negated_weights(*w, norm->factor))) return;
  if (!context.allow()) return;
  if (norm) scale_weights(g, *w, *bytes, norm->factor, name);
  std::vector<Value*> inputs = {x->bytes,
                                x->scale,
                                zero_of(g, *x, name + "_x_zero"),
                                w->bytes,
                                w->scale,
                                zero_of(g, *w, name + "_w_zero"),
                                y.scale,
                                zero_of(g, y, name + "_zero")};
  if (sums) inputs.push_back(g.add_constant(name + "_bias", *sums));
  finish(q, insert_like(q, "QLinearConv", inputs, conv)->output(), y);
}

void from_matmul(Node& q, Node& matmul, const Quantized& y, PassContext& context) {
  const auto a = dequantized(matmul.input(0)), b = dequantized(matmul.input(1));
  if (!is_per_tensor(a) || !b || a->bytes->shape().size() < 2 || b->bytes->shape().size() < 2)
    return;
  const auto last = static_cast<int64_t>(b->bytes->shape().size()) - 1;
  if ((b->axis >= 0 && (b->axis != last || last != 1)) || !byte_sums_fit(a->bytes->shape().back()))
    return;
  if (!context.allow()) return;
  Graph& g = q.graph();
  const std::string name = q.output()->name();
  Node* made =
      insert_node(q, "QLinearMatMul", "",
                  {a->bytes, a->scale, zero_of(g, *a, name + "_a_zero"), b->bytes, b->scale,
                   zero_of(g, *b, name + "_b_zero"), y.scale, zero_of(g, y, name + "_zero")});
  finish(q, made->output(), y);
}

void from_gemm(Graph& root, Node& q, Node& gemm, const Quantized& y, PassContext& context) {
  const auto a = dequantized(gemm.input(0)), b = dequantized(gemm.input(1));
  const bool transposed = gemm.int_attr("transB", 0) != 0;
  if (!is_per_tensor(a) || !b || !b->bytes->is_constant() || gemm.int_attr("transA", 0) != 0 ||
      gemm.float_attr("alpha", 1) != 1 || gemm.float_attr("beta", 1) != 1)
    return;
  const Shape& shape = b->bytes->shape();
  const int64_t n = transposed ? shape[0] : shape[1];
  if ((b->axis >= 0 && b->axis != (transposed ? 0 : 1)) || !sums_fit(*b, transposed ? 0 : 1))
    return;
  Value* c = gemm.inputs().size() > 2 ? gemm.input(2) : nullptr;
  std::optional<Tensor> bias;
  if (c && (c->shape().size() > 2 || (c->shape().size() == 2 && c->shape()[0] != 1) ||
            !(bias = bias_of(c, n, units(*a, *b), y.one_scale()))))
    return;
  if (!context.allow()) return;
  Graph& g = q.graph();
  const std::string name = q.output()->name();
  root.opsets.emplace("com.microsoft", 1);
  Node* made = insert_node(
      q, "QGemm", "com.microsoft",
      {a->bytes, a->scale, zero_of(g, *a, name + "_a_zero"), b->bytes, b->scale,
       zero_of(g, *b, name + "_b_zero"), c ? g.add_constant(name + "_bias", *bias) : nullptr,
       y.scale, zero_of(g, y, name + "_zero")},
      {{"transB", int64_t{transposed}}});
  finish(q, made->output(), y);
}

// Returns the bytes of constant weights [K, N] with rows and columns exchanged.
Tensor exchanged(const Tensor& t) {
  const int64_t rows = t.shape()[0], columns = t.shape()[1];
  Tensor out = Tensor::zeros(t.dtype(), {columns, rows});
  const auto* from = static_cast<const uint8_t*>(t.data());
  auto* to = static_cast<uint8_t*>(out.mutable_data());
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
  return out;
}

// Whether an Add of both has the shape of `to`, [M, N]: `v` has one element, N or M x N.
bool broadcasts_to(const Value& v, const Value& to) {
  if (!v.type.is_static()) return false;
  const int64_t count = element_count(v.shape()), columns = to.shape().back();
  return same_static_shape(&v, &to) ||
         (v.shape().size() <= to.shape().size() &&
          (count == 1 || (count == columns && v.shape().back() == columns)));
}

// A MatMul or Gemm of bytes whose result is not quantised: the sums are converted to f32 and
// multiplied by the scales.
void to_matmul_integer(Node& n, PassContext& context) {
  const bool gemm = n.is("Gemm"), transposed = gemm && n.int_attr("transB", 0) != 0;
  if ((!gemm && !n.is("MatMul")) || n.output()->dtype() != DType::f32 ||
      !n.output()->type.is_static() ||
      (gemm && (n.int_attr("transA", 0) != 0 || n.float_attr("alpha", 1) != 1 ||
                n.float_attr("beta", 1) != 1)))
    return;
  const auto a = dequantized(n.input(0)), b = dequantized(n.input(1));
  if (!is_per_tensor(a) || !b || !b->bytes->is_constant() || b->bytes->shape().size() != 2 ||
      !is_symmetric(*b) || a->bytes->is_constant() || a->bytes->shape().size() < 2)
    return;
  const size_t columns = transposed ? 0 : 1;
  Value* c = gemm ? n.input(2) : nullptr;
  if (c && !broadcasts_to(*c, *n.output())) return;
  if ((b->axis >= 0 && b->axis != static_cast<int64_t>(columns)) || !sums_fit(*b, columns) ||
      !context.allow())
    return;
  Graph& g = n.graph();
  const std::string name = n.output()->name();
  std::vector<double> scale = units(*a, *b);
  const auto count = static_cast<int64_t>(scale.size());
  Value* bytes =
      transposed ? g.add_constant(name + "_bytes", exchanged(b->bytes->constant())) : b->bytes;
  // MatMulInteger reads a vector of zero points as one for each row, so a zero point of shape [1]
  // becomes a scalar.
  Value* zero = a->zero && a->zero->shape().empty()
                    ? a->zero
                    : add_scalar(g, name + "_zero", a->dtype, a->one_zero());
  std::vector<Value*> inputs = {a->bytes, bytes, zero};
  // Signed bytes have no zero point here, because it is 0.
  if (b->dtype == DType::u8) inputs.push_back(add_scalar(g, name + "_b_zero", DType::u8, 128));
  Value* v = insert_node(n, "MatMulInteger", "", inputs)->output();
  v = insert_node(n, "Cast", "", {v}, {{"to", int64_t{1}}})->output();
  v = insert_node(n, "Mul", "",
                  {v, g.add_constant(name + "_scale", tensor_of(DType::f32, {count}, scale))})
          ->output();
  if (c) v = insert_node(n, "Add", "", {v, c})->output();
  v->producer()->name = n.name;
  replace_node(n, v);
}

// Moves the bytes instead of the numbers.
void from_move(Node& q, Node& move, const Quantized& y, PassContext& context) {
  const auto x = dequantized(move.input(0));
  if (!is_per_tensor(x) || x->dtype != y.dtype || x->one_scale() != y.one_scale() ||
      x->one_zero() != y.one_zero() || !context.allow())
    return;
  finish(q, insert_like(q, move.op_type, with_first(move, x->bytes), move)->output(), y);
}

// Joins the bytes. An input with another quantisation than the result is quantised again.
void from_concat(Node& q, Node& concat, const Quantized& y, PassContext& context) {
  std::vector<Quantized> parts;
  for (const Value* v : concat.inputs()) {
    const auto x = dequantized(v);
    if (!is_per_tensor(x)) return;
    parts.push_back(*x);
  }
  if (!context.allow()) return;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < parts.size(); i++) {
    const Quantized& x = parts[i];
    const bool same =
        x.dtype == y.dtype && x.one_scale() == y.one_scale() && x.one_zero() == y.one_zero();
    inputs.push_back(
        same ? x.bytes
             : insert_like(q, "QuantizeLinear", with_first(q, concat.input(i)), q)->output());
  }
  finish(q, insert_like(q, "Concat", inputs, concat)->output(), y);
}

void rewrite(Graph& root, Node& q, PassContext& context) {
  // The fused product divides in f32, so attribute `precision` must be absent or f32 (1).
  if (!q.is("QuantizeLinear") || !q.input(0) || !q.input(1) || !q.output()->type.is_static() ||
      q.int_attr("precision", 0) > 1)
    return;
  auto y = quantized(q, q.output(), q.output()->dtype());
  if (!is_per_tensor(y)) return;
  const Bounds all = y->bounds = Bounds::of(y->dtype);
  Value* real = q.input(0);
  while (ir::single_use(real) && real->producer()) {
    const auto bounds = merged_bounds(*real->producer(), *y, y->bounds);
    // ai.onnx has Max and Min of bytes since opset 12.
    if (!bounds || (*bounds != all && q.opset() < 12)) break;
    y->bounds = *bounds;
    real = real->producer()->input(0);
  }
  Node* n = real->producer();
  if (!n || !n->domain.empty() || !ir::single_use(real) || n->outputs().size() != 1) return;
  if (n->op_type == "BatchNormalization") {
    Node* conv = sole_producer_of(n->input(0), "Conv");
    if (conv) from_conv(q, *conv, n, *y, context);
    return;
  }
  if (n->op_type == "Conv") return from_conv(q, *n, nullptr, *y, context);
  if (n->op_type == "MatMul") return from_matmul(q, *n, *y, context);
  if (n->op_type == "Concat") return from_concat(q, *n, *y, context);
  if (n->op_type == "Gemm") return from_gemm(root, q, *n, *y, context);
  const ops::QdqForm form = ops::facts_of(*n).qdq;
  // The order of bytes is the order of numbers. ai.onnx accepts bytes since opset 12.
  if (form == ops::QdqForm::orders && n->opset() < 12) return;
  if (form != ops::QdqForm::none) from_move(q, *n, *y, context);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) { rewrite(graph, n, context); });
  for_each_node(graph, [&](Node& n) { to_matmul_integer(n, context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "qdq_products",
    .alias = "quantized_products",
    .summary = "computes products between DequantizeLinear and QuantizeLinear on bytes",
    .condition =
        "activations have one scale and zero point, constant weights one or one per channel; sums "
        "are exact integers and rounded once, whereas the float graph rounds each sum",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::qdq_products_pass
