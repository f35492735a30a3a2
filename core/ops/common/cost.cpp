#include "ops/common/cost.h"

#include <algorithm>
#include <array>

#include "ops/common/elementwise_program.h"
#include "ops/common/flops.h"

namespace poprt::ops {
namespace cost {
namespace {

using ipu::Elementwise;

Elementwise vertex_of(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::copy: return Elementwise::copy;
    case ElementwiseOp::neg:
    case ElementwiseOp::abs:
    case ElementwiseOp::square:
    case ElementwiseOp::cube: return Elementwise::square;
    case ElementwiseOp::reciprocal: return Elementwise::inverse;
    case ElementwiseOp::sqrt: return Elementwise::sqrt;
    case ElementwiseOp::exp: return Elementwise::exp;
    case ElementwiseOp::log: return Elementwise::log;
    case ElementwiseOp::erf: return Elementwise::erf;
    case ElementwiseOp::tanh: return Elementwise::tanh;
    case ElementwiseOp::sigmoid: return Elementwise::sigmoid;
    case ElementwiseOp::relu: return Elementwise::relu;
    case ElementwiseOp::gelu_erf: return Elementwise::gelu_erf;
    case ElementwiseOp::gelu_tanh: return Elementwise::gelu_tanh;
    case ElementwiseOp::silu:
    case ElementwiseOp::hard_swish:
    case ElementwiseOp::mish: return Elementwise::swish;
    case ElementwiseOp::softplus:
    case ElementwiseOp::elu:
    case ElementwiseOp::celu: return Elementwise::exp;
    case ElementwiseOp::ceil:
    case ElementwiseOp::floor:
    case ElementwiseOp::round: return Elementwise::round;
    case ElementwiseOp::sin:
    case ElementwiseOp::cos: return Elementwise::sin;
    case ElementwiseOp::tan: return Elementwise::tan;
    case ElementwiseOp::div: return Elementwise::div;
    case ElementwiseOp::pow: return Elementwise::pow;
    case ElementwiseOp::mod:
    case ElementwiseOp::fmod: return Elementwise::remainder;
    case ElementwiseOp::min:
    case ElementwiseOp::max:
    case ElementwiseOp::clip:
    case ElementwiseOp::prelu:
    case ElementwiseOp::thresholded: return Elementwise::max;
    case ElementwiseOp::equal:
    case ElementwiseOp::greater:
    case ElementwiseOp::less:
    case ElementwiseOp::is_nan:
    case ElementwiseOp::to_bool: return Elementwise::compare;
    case ElementwiseOp::where: return Elementwise::select;
    default: return Elementwise::add;
  }
}

// The vertices of a node: the steps of its elementwise form, or an addition.
std::vector<Elementwise> vertices_of(const ir::Node& node) {
  const ElementwiseForm& form = facts_of(node).elementwise;
  if (!form.append || !elementwise_known(node)) return {Elementwise::add};
  ElementwiseProgram program;
  std::vector<ElementwiseValue> operands;
  for (const ir::Value* v : node.inputs()) {
    if (const auto constant = v ? scalar_constant(v) : std::nullopt)
      operands.push_back(program.constant(*constant));
    else
      operands.push_back(program.add_input());
  }
  form.append(program, node, operands);
  std::vector<Elementwise> out;
  for (const ElementwiseProgram::Step& s : program.steps) {
    // A power with a constant exponent costs as much as a square. A division by a constant is a
    // multiplication by its reciprocal, which costs as much as an addition.
    const bool small = s.op == ElementwiseOp::pow && program.is_constant(s.b);
    const bool scales = s.op == ElementwiseOp::div && program.is_constant(s.b);
    out.push_back(small ? Elementwise::square : scales ? Elementwise::add : vertex_of(s.op));
  }
  if (out.empty()) out.push_back(Elementwise::copy);
  return out;
}

int64_t last(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

// The number of elements of the longest runs of a result that are contiguous in the input, found by
// comparing the shapes from the last axis on, and the number of elements from one run to the next
// in the larger of the two tensors.
struct Runs {
  int64_t run = 1, stride = 1;
};

Runs runs_of(CostContext& ctx) {
  const Shape &in = ctx.in(0), &out = ctx.result();
  Runs r;
  for (size_t i = 1; i <= std::min(in.size(), out.size()); i++) {
    const int64_t a = in[in.size() - i], b = out[out.size() - i];
    r.stride = r.run * std::max<int64_t>({1, a, b});
    r.run *= std::max<int64_t>(1, std::min(a, b));
    if (a != b) break;
  }
  return r;
}

}  // namespace

void none(CostContext&) {}

void elementwise(CostContext& ctx) {
  const int64_t n = ctx.result_count();
  const DType type = ctx.has(0) && ctx.in_count(0) == n ? ctx.in_type(0) : ctx.result_type();
  int64_t operands = 0, whole = 0;
  for (size_t i = 0; i < ctx.node.inputs().size(); i++) {
    if (!ctx.has(i)) continue;
    operands++;
    const int64_t count = ctx.in_count(i);
    if (count == n) {
      if (whole++ > 0 && !ctx.aligned(i)) ctx.out.align(ctx.in_type(i), n);
    } else if (!ctx.is_constant(i) || count > 1) {
      if (last(ctx.in(i)) == 1)
        ctx.out.broadcast_rows(ctx.in_type(i), count, n);
      else
        ctx.out.broadcast(ctx.in_type(i), count, n);
    }
  }
  const auto vertices = vertices_of(ctx.node);
  for (const Elementwise v : vertices)
    ctx.out.elementwise(v, type, n, vertices.size() > 1 ? 1 : std::max<int64_t>(1, operands),
                        operands > 1 && whole < 2);
}

void movement(CostContext& ctx) {
  const Runs r = runs_of(ctx);
  const DType type = ctx.result_type();
  ctx.out.rearrange(type, ctx.result_count(), ipu::chip_bytes(type, r.run),
                    ipu::chip_bytes(type, r.stride));
}

void transpose_all(CostContext& ctx) { ctx.out.transpose(ctx.result_type(), ctx.result_count()); }

void transpose(CostContext& ctx) {
  const Shape& in = ctx.in(0);
  std::vector<int64_t> perm = ctx.node.ints_attr("perm");
  if (perm.empty())
    for (size_t i = in.size(); i > 0; i--) perm.push_back(static_cast<int64_t>(i) - 1);
  // Axes with one place do not change the order.
  std::vector<int64_t> order;
  for (const int64_t p : perm)
    if (p >= 0 && p < static_cast<int64_t>(in.size()) && in[static_cast<size_t>(p)] > 1)
      order.push_back(p);
  if (std::ranges::is_sorted(order)) return;
  // The distance in the input between neighbours along the axis before the last one of the result.
  int64_t innermost = -1, stride = 1;
  for (size_t i = static_cast<size_t>(order[order.size() - 2]) + 1; i < in.size(); i++)
    stride *= in[i];
  for (size_t i = 0; i < in.size(); i++)
    if (in[i] > 1) innermost = static_cast<int64_t>(i);
  const DType type = ctx.result_type();
  if (order.back() == innermost)
    ctx.out.rearrange(type, ctx.result_count(),
                      ipu::chip_bytes(type, in[static_cast<size_t>(innermost)]),
                      ipu::chip_bytes(type, stride));
  else
    ctx.out.transpose(type, ctx.result_count());
}

void reduce(CostContext& ctx) {
  const int64_t n = ctx.in_count(0), results = ctx.result_count();
  const Shape &in = ctx.in(0), &out = ctx.result();
  const bool contiguous = in.empty() || out.empty() || in.back() != out.back() || in.back() == 1;
  ctx.out.reduce(ctx.in_type(0), n, results, contiguous);
}

void softmax(CostContext& ctx) {
  const Shape& in = ctx.in(0);
  const int64_t rank = static_cast<int64_t>(in.size());
  const int64_t axis = ctx.node.int_attr("axis", ctx.node.opset() < 13 ? 1 : -1);
  const int64_t at = axis < 0 ? axis + rank : axis;
  int64_t columns = 1;
  if (ctx.node.opset() < 13)
    for (int64_t i = at; i < rank; i++) columns *= in[static_cast<size_t>(i)];
  else if (at >= 0 && at < rank)
    columns = in[static_cast<size_t>(at)];
  columns = std::max<int64_t>(columns, 1);
  ctx.out.softmax(ctx.in_type(0), ctx.in_count(0) / columns, columns);
}

void layer_normalization(CostContext& ctx) {
  const Shape& in = ctx.in(0);
  const int64_t rank = static_cast<int64_t>(in.size()), axis = ctx.node.int_attr("axis", -1);
  int64_t groups = 1;
  for (int64_t i = 0; i < (axis < 0 ? axis + rank : axis); i++)
    groups *= in[static_cast<size_t>(i)];
  const int64_t n = ctx.in_count(0);
  ctx.out.normalize(ctx.in_type(0), n, groups, n / std::max<int64_t>(groups, 1));
}

void rms_normalization(CostContext& ctx) {
  const int64_t n = ctx.in_count(0), columns = last(ctx.in(0));
  ctx.out.normalize(ctx.in_type(0), n, n / std::max<int64_t>(columns, 1), columns, false);
}

void instance_normalization(CostContext& ctx) {
  const Shape& in = ctx.in(0);
  const int64_t channels = in.size() > 1 ? in[1] : 1;
  const int64_t groups = ctx.node.int_attr("num_groups", channels);
  ctx.out.normalize(ctx.in_type(0), ctx.in_count(0), (in.empty() ? 1 : in[0]) * groups, channels);
}

void batch_normalization(CostContext& ctx) {
  const int64_t n = ctx.in_count(0), channels = ctx.in(0).size() > 1 ? ctx.in(0)[1] : 1;
  ctx.out.bias(ctx.in_type(0), n, channels);
  ctx.out.bias(ctx.in_type(0), n, channels);
}

namespace {

DType product_type(CostContext& ctx, size_t input) {
  const DType type = ctx.in_type(input);
  if (type == DType::f16 || type == DType::f32 || !is_float(type)) return type;
  return dtype_bits(type) == 8 ? DType::f8_143 : DType::f16;
}

// Sets the types of a product. If products with weights have 8-bit inputs and this is one, adds the
// conversion of its input.
void set_types(CostContext& ctx, ipu::Product& p, size_t input, bool weights) {
  p.inputs = product_type(ctx, input);
  if (ctx.quarter_products && weights && p.inputs == DType::f16) {
    p.inputs = DType::f8_143;
    ctx.out.cast(DType::f16, DType::f8_143, ctx.in_count(input));
  }
  // The AMP has no integers; they are multiplied as halves.
  if (!is_float(p.inputs)) p.inputs = DType::f16;
  p.partials = ctx.out.partials(p.inputs);
  p.result = p.inputs == DType::f32 ? DType::f32 : DType::f16;
}

}  // namespace

namespace {

void matmul_of(CostContext& ctx, size_t right) {
  Shape a = ctx.in(0), b = ctx.in(right);
  if (a.empty() || b.empty() || ctx.result_count() == 0) return;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  ipu::Product p;
  p.matmul = true;
  p.in = a.back();
  p.out = b.back();
  const int64_t of_b = element_count(std::span(b).first(b.size() - 2));
  const int64_t rows = ctx.result_count() / std::max<int64_t>(1, p.out);
  p.groups = of_b > 1 ? std::max<int64_t>(1, rows / a[a.size() - 2]) : 1;
  p.batch = rows / p.groups;
  p.computed_weights = !ctx.placed(right);
  p.resident_inputs = ctx.placed(0);
  if (p.multiplies() == 0) return;
  set_types(ctx, p, 0, ctx.is_constant(right) || ctx.is_constant(0));
  ctx.out.product(p);
}

}  // namespace

void matmul(CostContext& ctx) { matmul_of(ctx, 1); }

void qlinear_matmul(CostContext& ctx) {
  matmul_of(ctx, 3);
  ctx.out.cast(DType::f16, DType::u8, ctx.result_count());
}

// The product of the operands, as a matrix product with the same number of multiplications.
void einsum(CostContext& ctx) {
  const int64_t n = ctx.result_count();
  if (n == 0) return;
  if (ctx.node.inputs().size() < 2) return transpose_all(ctx);
  ipu::Product p;
  p.matmul = true;
  p.in = std::max<int64_t>(1, flops_of(ctx.node) / 2 / n);
  p.out = last(ctx.result());
  p.batch = n / p.out;
  p.computed_weights = !ctx.is_constant(1);
  p.resident_inputs = ctx.is_constant(0);
  set_types(ctx, p, 0, ctx.is_constant(1));
  ctx.out.transpose(p.result, ctx.in_count(0));
  ctx.out.product(p);
}

void gemm(CostContext& ctx) {
  if (ctx.result_count() == 0) return;
  ipu::Product p;
  p.matmul = true;
  const Shape& a = ctx.in(0);
  p.in = ctx.node.int_attr("transA", 0) ? a[0] : a[1];
  p.batch = ctx.result()[0];
  p.out = ctx.result()[1];
  p.computed_weights = !ctx.placed(1);
  p.resident_inputs = ctx.placed(0);
  if (p.multiplies() == 0) return;
  set_types(ctx, p, 0, true);
  ctx.out.product(p);
  if (ctx.has(2)) ctx.out.bias(p.result, ctx.result_count(), ctx.in_count(2));
}

namespace {

// A convolution of input 0 with the weights `weights` and the bias `bias`.
void conv_of(CostContext& ctx, size_t weights, size_t bias) {
  const Shape &x = ctx.in(0), &w = ctx.in(weights), &y = ctx.result();
  if (x.size() < 3 || ctx.result_count() == 0) return;
  const size_t rank = x.size() - 2;
  ipu::Product p;
  p.groups = std::max<int64_t>(1, ctx.node.int_attr("group", 1));
  p.in = w[1];
  p.out = w[0] / p.groups;
  p.batch = y[0];
  const auto strides = ctx.node.ints_attr("strides"), dilations = ctx.node.ints_attr("dilations");
  const auto at = [&](const std::vector<int64_t>& v, size_t i) { return i < v.size() ? v[i] : 1; };
  p.width = y[rank + 1];
  p.kernel_width = w[rank + 1];
  p.stride_width = at(strides, rank - 1);
  p.dilation_width = at(dilations, rank - 1);
  if (rank > 1) {
    p.rows = y[rank];
    p.kernel_rows = w[rank];
    p.stride_rows = at(strides, rank - 2);
    p.dilation_rows = at(dilations, rank - 2);
  }
  // The slices of a volume count as images, and the taps along the depth as input channels.
  for (size_t i = 2; i < rank; i++) {
    p.batch *= y[i];
    p.in *= w[i];
  }
  if (p.multiplies() == 0) return;
  p.computed_weights = !ctx.is_constant(weights);
  set_types(ctx, p, 0, true);
  ctx.out.product(p);
  if (ctx.has(bias)) ctx.out.bias(p.result, ctx.result_count(), ctx.in_count(bias));
}

}  // namespace

void conv(CostContext& ctx) { conv_of(ctx, 1, 2); }

void qlinear_conv(CostContext& ctx) {
  conv_of(ctx, 3, 8);
  ctx.out.cast(DType::f16, DType::u8, ctx.result_count());
}

void conv_transpose(CostContext& ctx) {
  const Shape &w = ctx.in(1), &y = ctx.result();
  if (y.size() < 3 || ctx.result_count() == 0) return;
  const size_t rank = y.size() - 2;
  ipu::Product p;
  p.groups = std::max<int64_t>(1, ctx.node.int_attr("group", 1));
  p.in = w[0] / p.groups;
  p.out = w[1];
  p.batch = y[0];
  const auto strides = ctx.node.ints_attr("strides");
  const auto taps = [&](size_t i) {
    const int64_t stride = i < strides.size() ? strides[i] : 1;
    return std::max<int64_t>(1, (w[i + 2] + stride - 1) / stride);
  };
  p.width = y[rank + 1];
  p.kernel_width = taps(rank - 1);
  if (rank > 1) {
    p.rows = y[rank];
    p.kernel_rows = taps(rank - 2);
  }
  if (p.multiplies() == 0) return;
  set_types(ctx, p, 0, false);  // false: ConvTranspose is not converted to 8-bit floats
  ctx.out.product(p);
  // The results of the phases of the stride alternate in memory, so they are rearranged.
  ctx.out.rearrange(p.result, ctx.result_count(), ipu::chip_bytes(p.result, 1) * p.out);
  if (ctx.has(2)) ctx.out.bias(p.result, ctx.result_count(), ctx.in_count(2));
}

void attention(CostContext& ctx) {
  const Shape &q = ctx.in(0), &k = ctx.in(1), &v = ctx.in(2);
  const bool packed = q.size() == 3;
  const int64_t heads = packed ? ctx.node.int_attr("q_num_heads", 1) : q[1];
  const int64_t queries = packed ? q[1] : q[2];
  int64_t keys = packed ? k[1] : k[2];
  if (ctx.has(4) && ctx.in(4).size() == 4) keys += ctx.in(4)[2];
  ipu::Product p;
  p.matmul = p.computed_weights = true;
  p.groups = std::max<int64_t>(1, q[0] * heads);
  p.batch = queries;
  p.in = packed ? q[2] / std::max<int64_t>(1, heads) : q[3];
  p.out = keys;
  if (p.multiplies() == 0) return;
  set_types(ctx, p, 0, false);
  ctx.out.product(p);
  const int64_t scores = p.groups * queries * keys;
  ctx.out.elementwise(Elementwise::add, p.result, scores, 2, true);
  if (ctx.has(3)) {
    ctx.out.broadcast(p.result, ctx.in_count(3), scores);
    ctx.out.elementwise(Elementwise::add, p.result, scores, 2);
  }
  ctx.out.softmax(p.result, p.groups * queries, keys);
  p.in = keys;
  p.out = std::max<int64_t>(
      1, packed ? v[2] / std::max<int64_t>(1, ctx.node.int_attr("kv_num_heads", heads)) : v[3]);
  ctx.out.product(p);
}

void pool(CostContext& ctx) {
  const Shape &x = ctx.in(0), &y = ctx.result();
  if (y.size() < 3) return ctx.out.no_rule();
  const auto kernel = ctx.node.ints_attr("kernel_shape");
  int64_t taps = 1;
  for (const int64_t k : kernel) taps *= k;
  ctx.out.pool(ctx.in_type(0), y[1], ctx.result_count() / std::max<int64_t>(1, y[1]), taps,
               element_count(x));
}

void global_pool(CostContext& ctx) {
  ctx.out.reduce(ctx.in_type(0), ctx.in_count(0), ctx.result_count());
  ctx.out.elementwise(Elementwise::add, ctx.in_type(0), ctx.result_count(), 2, true);
}

void gather(CostContext& ctx) {
  const Shape& x = ctx.in(0);
  const int64_t rank = static_cast<int64_t>(x.size());
  const int64_t axis = ctx.node.int_attr("axis", 0);
  const size_t at = static_cast<size_t>(
      std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, std::max<int64_t>(rank - 1, 0)));
  const int64_t rows = x.empty() ? 1 : x[at];
  const int64_t indices = ctx.in_count(1);
  // With constant indices, the places that are read are known in advance.
  if (ctx.is_constant(1)) return movement(ctx);
  ctx.out.gather(ctx.in_type(0), rows, ctx.in_count(0) / std::max<int64_t>(rows, 1), indices);
}

void gather_elements(CostContext& ctx) { ctx.out.pick(ctx.in_type(0), ctx.result_count()); }

void gather_nd(CostContext& ctx) {
  const int64_t n = ctx.result_count();
  const int64_t tuples =
      std::max<int64_t>(1, ctx.in_count(1) / std::max<int64_t>(1, last(ctx.in(1))));
  const int64_t row = std::max<int64_t>(1, n / tuples);
  if (row == 1) return ctx.out.pick(ctx.in_type(0), n);
  ctx.out.gather(ctx.in_type(0), ctx.in_count(0) / row, row, tuples);
}

void scatter(CostContext& ctx) {
  const int64_t indices = std::max<int64_t>(1, ctx.in_count(1));
  const int64_t row = ctx.in_count(2) / indices, n = ctx.in_count(0);
  if (row > 0 && ctx.node.string_attr("reduction", "none") == "add")
    return ctx.out.update_add(ctx.in_type(0), n / row, row, indices);
  ctx.out.scatter(ctx.in_type(0), n, row, indices);
}

void resize(CostContext& ctx) {
  const DType type = ctx.result_type();
  const int64_t n = ctx.result_count();
  const std::string mode = ctx.node.string_attr("mode", "nearest");
  ctx.out.rearrange(type, n, 8);
  if (mode == "nearest") return;
  const int64_t axes = mode == "cubic" ? 4 : 2;
  for (int64_t i = 0; i < axes; i++) {
    ctx.out.align(type, n);
    ctx.out.elementwise(Elementwise::add, type, n, 2);
  }
}

void sort(CostContext& ctx) {
  const Shape& x = ctx.in(0);
  const int64_t rank = static_cast<int64_t>(x.size()), axis = ctx.node.int_attr("axis", -1);
  const int64_t at = axis < 0 ? axis + rank : axis;
  const int64_t columns = at >= 0 && at < rank ? x[static_cast<size_t>(at)] : ctx.in_count(0);
  ctx.out.sort(ctx.in_type(0), ctx.in_count(0) / std::max<int64_t>(columns, 1), columns);
}

void cumulative(CostContext& ctx) {
  const int64_t n = ctx.in_count(0);
  for (int64_t width = 1; width < last(ctx.in(0)); width *= 2) {
    ctx.out.align(ctx.in_type(0), n);
    ctx.out.elementwise(Elementwise::add, ctx.in_type(0), n, 2);
  }
}

void local_response(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0);
  ctx.out.elementwise(Elementwise::square, type, n);
  for (int64_t i = 1; i < ctx.node.int_attr("size", 1); i++) {
    ctx.out.align(type, n);
    ctx.out.elementwise(Elementwise::add, type, n, 2);
  }
  ctx.out.elementwise(Elementwise::pow, type, n);
  ctx.out.elementwise(Elementwise::div, type, n, 2);
}

void rotary(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0);
  ctx.out.rearrange(type, n, ctx.node.int_attr("interleaved", 0) ? 2 : 8);
  for (int64_t i = 0; i < 3; i++) {
    if (i < 2) ctx.out.align(type, n);
    ctx.out.elementwise(Elementwise::add, type, n, 2);
  }
}

void random(CostContext& ctx) {
  ctx.out.elementwise(Elementwise::sqrt, ctx.result_type(), ctx.result_count());
}

// Negative numbers are made positive, and all are compared with the size.
void check_index(CostContext& ctx) {
  const int64_t n = ctx.result_count();
  ctx.out.elementwise(Elementwise::select, ctx.result_type(), n, 2, true);
  ctx.out.elementwise(Elementwise::compare, ctx.result_type(), n, 2, true);
}

void cast(CostContext& ctx) { ctx.out.cast(ctx.in_type(0), ctx.result_type(), ctx.result_count()); }

}  // namespace cost

void add_cost(CostContext& ctx) {
  const OpDef* op = find_op(ctx.node.domain, ctx.node.op_type, ctx.node.opset());
  const bool is_static = std::ranges::all_of(ctx.node.outputs(), [](const ir::Value* v) {
    return v->uses().empty() || v->type.is_static();
  });
  const bool inputs_static = std::ranges::all_of(
      ctx.node.inputs(), [](const ir::Value* v) { return !v || v->type.is_static(); });
  // The rule of an operator whose results have a size that depends on data reads only its inputs.
  if (!op || !inputs_static || (!is_static && !(op->cost && op->facts.data_sized)))
    return ctx.out.no_rule();
  if (op->cost) return op->cost(ctx);
  if (op->sharing.view || op->facts.from_shapes) return;
  if (op->facts.per_element) return cost::elementwise(ctx);
  if (op->facts.moves && ctx.has(0)) return cost::movement(ctx);
  ctx.out.no_rule();
}

}  // namespace poprt::ops
