// Replaces products with weights of 2, 4 or 8 bits by poprt.Linear, whose kernel widens the weights
// in registers, so that they stay as stored in the file and in memory:
//
// com.microsoft.MatMulNBits, and DequantizeLinear (-> Transpose) -> MatMul or Gemm.
#include <algorithm>
#include <cmath>

#include "ir/newest.h"
#include "ops/axes.h"
#include "ops/common/narrow_matmul.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::narrow_products_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// A matrix [k, n] of integers, [n, k] if it is transposed. `block` is the number of successive
// values of k that have one scale; 0: all. `zero_point` is that of all values if `zeros` is null.
struct Weights {
  Value *q = nullptr, *scales = nullptr, *zeros = nullptr;
  bool transposed = false;
  int64_t block = 0, zero_point = 0;
};

bool is_constant_matrix(const Value* v) {
  return v && v->is_constant() && v->shape().size() == 2 && v->constant().count() > 0;
}

// The scale that a kernel reads: f32. Scales of other types are exact in f32.
std::optional<Tensor> as_f32(const Tensor& scales) {
  if (scales.dtype() != DType::f32 && scales.dtype() != DType::f16 && scales.dtype() != DType::bf16)
    return std::nullopt;
  return tensor_of(DType::f32, scales.shape(), scales.to_doubles());
}

// `count` numbers of `bits` bits from bytes [rows, stride], low bits first, each in a byte.
Tensor unpacked(const Tensor& bytes, int64_t rows, int64_t stride, int64_t bits, int64_t count) {
  Tensor t = Tensor::zeros(DType::u8, {rows, count});
  const auto from = bytes.values<uint8_t>();
  const auto to = t.mutable_values<uint8_t>();
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < count; i++)
      to[static_cast<size_t>(r * count + i)] = static_cast<uint8_t>(
          from[static_cast<size_t>(r * stride + i * bits / 8)] >> (i * bits % 8) &
          ((1 << bits) - 1));
  return t;
}

// The first `count` numbers of each of the rows, as a tensor of such numbers.
Tensor packed_rows(const Tensor& bytes, int64_t rows, int64_t stride, int64_t bits, int64_t count) {
  const DType type = bits == 2 ? DType::u2 : bits == 4 ? DType::u4 : DType::u8;
  if (stride * 8 == count * bits) {
    const auto owner = std::make_shared<const Tensor>(bytes);
    return Tensor::view(type, {rows, count}, owner->data(), owner->bytes(), owner);
  }
  const Tensor numbers = unpacked(bytes, rows, stride, bits, count);
  const auto from = numbers.values<uint8_t>();
  Tensor t = Tensor::zeros(type, {rows, count});
  auto* to = static_cast<uint8_t*>(t.mutable_data());
  for (int64_t i = 0; i < rows * count; i++)
    to[i * bits / 8] =
        static_cast<uint8_t>(to[i * bits / 8] | from[static_cast<size_t>(i)] << (i * bits % 8));
  return t;
}

// The number of the type in Cast, or nothing if poprt.Linear does not replace products of the type.
std::optional<int64_t> number_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 1;
    case DType::f16: return 10;
    case DType::bf16: return 16;
    default: return std::nullopt;
  }
}

Value* cast_before(Node& n, Value* v, int64_t number) {
  return insert_node(n, "Cast", "", {v}, {{"to", number}})->output();
}

// Replaces the product of x, whose type number_of() must support, by poprt.Linear; `addend` is
// added to the result.
void add_linear(Node& n, Value* x, const Weights& w, Value* bias, bool byte_products,
                Value* addend = nullptr) {
  const bool wide = x->dtype() == DType::f32;
  std::vector<Value*> inputs = {wide ? x : cast_before(n, x, 1), w.q, bias, nullptr, w.scales};
  if (w.zeros) inputs.push_back(w.zeros);
  Node* made = insert_node(n, "Linear", "poprt", inputs,
                           {{"transB", static_cast<int64_t>(w.transposed)},
                            {"block_size", w.block},
                            {"zero_point", w.zero_point},
                            {"products", std::string(byte_products ? "bytes" : "f32")}});
  made->name = n.name;
  Value* y = made->output();
  if (!wide) y = cast_before(n, y, *number_of(x->dtype()));
  if (addend) y = insert_node(n, "Add", "", {y, addend})->output();
  replace_node(n, y);
}

// Whether all inputs from `first` on are constants or absent.
bool all_constant(const Node& n, size_t first) {
  for (size_t i = first; i < n.inputs().size(); i++)
    if (n.input(i) && !n.input(i)->is_constant()) return false;
  return true;
}

void from_nbits(Node& n, PassContext& context) {
  const int64_t columns = n.int_attr("N", 0), depth = n.int_attr("K", 0),
                bits = n.int_attr("bits", 4), block = n.int_attr("block_size", 0);
  Value* x = n.input(0);
  if (!all_constant(n, 1) || !x || !x->type.is_static() || !number_of(x->dtype()) ||
      x->shape().size() < 2 || x->shape().back() != depth || !n.input(1) || !n.input(2) ||
      columns <= 0 || depth <= 0 || (bits != 2 && bits != 4 && bits != 8) || block < 16 ||
      (block & (block - 1)) != 0 || n.int_attr("weight_prepacked", 0) != 0 ||
      (n.input(4) && n.input(4)->constant().count() > 0))
    return;
  const int64_t blocks = (depth + block - 1) / block, stride = blocks * block * bits / 8;
  const Tensor& q = n.input(1)->constant();
  const Value *zero = n.input(3), *bias = n.input(5);
  const int64_t zero_stride = (blocks * bits + 7) / 8;
  const auto scales = as_f32(n.input(2)->constant());
  if (q.dtype() != DType::u8 || q.count() != columns * stride || !scales ||
      scales->count() != columns * blocks ||
      (zero && (zero->dtype() != DType::u8 || zero->constant().count() != columns * zero_stride)) ||
      (bias && (bias->constant().count() != columns || !as_f32(bias->constant()))) ||
      !context.allow())
    return;
  Graph& g = n.graph();
  const std::string name = n.input(1)->name();
  Weights w;
  w.transposed = true;
  w.block = block;
  w.zero_point = 1 << (bits - 1);
  w.q = g.add_constant(name + "_packed", packed_rows(q, columns, stride, bits, depth));
  w.scales = g.add_constant(name + "_scales", scales->reshaped({columns, blocks}));
  if (zero)
    w.zeros = g.add_constant(name + "_zeros",
                             unpacked(zero->constant(), columns, zero_stride, bits, blocks));
  Value* wide_bias =
      bias ? g.add_constant(bias->name() + "_wide", *as_f32(bias->constant())) : nullptr;
  add_linear(n, x, w, wide_bias, n.int_attr("accuracy_level", 0) == 4);
}

// The integers of a DequantizeLinear of a matrix, if a kernel reads them.
std::optional<Weights> dequantized(const Value* v, bool transposed) {
  const Node* d = v->producer();
  while (d && d->is("Transpose") && d->ints_attr("perm", {1, 0}) == std::vector<int64_t>{1, 0}) {
    transposed = !transposed;
    d = d->input(0)->producer();
  }
  if (!d || (!d->is("DequantizeLinear") && !d->is("DequantizeLinear", ir::kNewestDomain)) ||
      !all_constant(*d, 0) || !is_constant_matrix(d->input(0)))
    return std::nullopt;
  const Tensor& q = d->input(0)->constant();
  const Shape &shape = q.shape(), &scales = d->input(1)->shape();
  const auto format = ops::narrow_format(q.dtype());
  if (!format || !kernels::isa::is_integer(*format) || !as_f32(d->input(1)->constant()))
    return std::nullopt;
  Weights w;
  w.transposed = transposed;
  w.q = d->input(0);
  w.scales = d->input(1);
  w.zeros = d->input(2);
  if (w.zeros && (!is_integer(w.zeros->dtype()) || w.zeros->shape() != scales)) return std::nullopt;
  const size_t depth = transposed ? 1 : 0, column = 1 - depth;  // the axes of k and n
  if (element_count(scales) == 1) return w;
  if (scales.size() == 1)
    return ops::varying_axis(ops::axis_map(*d), 1) == column ? std::optional(w) : std::nullopt;
  // Otherwise there must be a scale for each block along k.
  if (scales.size() != 2 || scales[column] != shape[column] || scales[depth] >= shape[depth])
    return std::nullopt;
  const int64_t k = shape[depth], blocks = scales[depth];
  w.block = d->int_attr("block_size", 0);
  if (w.block == 0) w.block = (k + blocks - 1) / blocks;
  if ((k + w.block - 1) / w.block != blocks || !ops::is_narrow_block(q.dtype(), w.block))
    return std::nullopt;
  return w;
}

void from_product(Node& n, PassContext& context) {
  const bool gemm = n.is("Gemm");
  Value *x = n.input(0), *weights = n.input(1), *c = gemm ? n.input(2) : nullptr;
  if (!n.output()->type.is_static() || !x->type.is_static() || x->shape().size() < 2 ||
      !number_of(x->dtype()) || x->is_constant() || !weights->type.is_static() ||
      weights->shape().size() != 2)
    return;
  if (gemm && (n.int_attr("transA", 0) != 0 || n.float_attr("alpha", 1) != 1.0f ||
               (c && n.float_attr("beta", 1) != 1.0f)))
    return;
  auto w = dequantized(weights, gemm && n.int_attr("transB", 0) != 0);
  if (!w || !context.allow()) return;
  Graph& g = n.graph();
  if (w->scales->dtype() != DType::f32)
    w->scales = g.add_constant(w->scales->name() + "_wide", *as_f32(w->scales->constant()));
  add_linear(n, x, *w, nullptr, false, c);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("MatMulNBits", "com.microsoft"))
      from_nbits(n, context);
    else if (n.is("MatMul") || n.is("Gemm"))
      from_product(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "narrow_products",
    .summary =
        "replaces products with weights of 2, 4 or 8 bits by poprt.Linear, which reads them "
        "as stored",
    .condition = "weights, scales and zero points are constant; a block is along the summed axis",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::narrow_products_pass
