#include "ops/common/elementwise.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/shape.h"
#include "kernels/calls/cast.h"
#include "kernels/calls/elementwise_generic.h"

namespace poprt::ops {
namespace {

using BufferId = LowerContext::BufferId;
using kernels::kElementwiseMaxInputs;

bool is_allowed(DType t, ElementwiseTypes types) {
  switch (types) {
    case ElementwiseTypes::any: return t != DType::undefined;
    case ElementwiseTypes::numeric: return is_float(t) || is_integer(t);
    case ElementwiseTypes::floating: return is_float(t);
    case ElementwiseTypes::integer: return is_integer(t);
    case ElementwiseTypes::logical: return t == DType::boolean;
  }
  return false;
}

bool is_program_type(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::boolean;
}
bool is_loadable(DType t) {
  return is_program_type(t) || t == DType::s8 || t == DType::u8 || t == DType::s32 ||
         t == DType::s64;
}

struct Operand {
  BufferId buffer = LowerContext::kNone;
  DType dtype = DType::undefined;
};

BufferId cast(LowerContext& ctx, BufferId from, DType to, const Shape& shape) {
  const BufferId t = ctx.temporary(to, shape);
  ctx.emit(calls::Cast{}, {from, t});
  return t;
}

// If there are more operands than inputs of a program, each piece accumulates into the output.
void lower_many(LowerContext& ctx, std::span<const Operand> operands) {
  const std::string_view name = ctx.node.op_type;
  const ElementwiseOp op = name == "Min"   ? ElementwiseOp::min
                           : name == "Max" ? ElementwiseOp::max
                                           : ElementwiseOp::add;
  for (size_t at = 0; at < operands.size();) {
    ElementwiseProgram p;
    std::vector<BufferId> buffers;
    ElementwiseValue y = p.add_input();
    buffers.push_back(at == 0 ? operands[at++].buffer : ctx.out(0));
    while (at < operands.size() && p.inputs < kElementwiseMaxInputs) {
      y = p.step(op, y, p.add_input());
      buffers.push_back(operands[at++].buffer);
    }
    if (at == operands.size() && name == "Mean")
      y = p.step(ElementwiseOp::div, y, p.constant(static_cast<float>(operands.size())));
    p.add_output(y, ctx.out_dtype());
    buffers.push_back(ctx.out(0));
    ctx.emit(p.call(), buffers);
  }
}

void lower_float(LowerContext& ctx, std::span<const Operand> operands) {
  const ir::Node& node = ctx.node;
  if (static_cast<int64_t>(operands.size()) > kElementwiseMaxInputs)
    return lower_many(ctx, operands);
  ElementwiseProgram p;
  std::vector<BufferId> buffers;
  std::vector<ElementwiseValue> values;
  for (size_t i = 0; i < operands.size(); i++) {
    const ir::Value* v = node.input(i);
    if (!v) {
      values.push_back(0);
    } else if (const auto scalar = scalar_constant(v)) {
      values.push_back(p.constant(*scalar));
    } else {
      values.push_back(p.add_input());
      buffers.push_back(operands[i].buffer != LowerContext::kNone ? operands[i].buffer : ctx.in(i));
    }
  }
  p.add_output(append_elementwise(p, node, values), ctx.out_dtype());
  buffers.push_back(ctx.out(0));
  ctx.emit(p.call(), buffers);
}

Tensor typed_scalar(DType dtype, double value) {
  Tensor t = Tensor::zeros(dtype, {});
  const auto put = [&]<class T>(T x) { std::memcpy(t.mutable_data(), &x, sizeof x); };
  switch (dtype) {
    case DType::f64: put(value); break;
    case DType::s8: put(static_cast<int8_t>(value)); break;
    case DType::u8: put(static_cast<uint8_t>(value)); break;
    case DType::s16: put(static_cast<int16_t>(value)); break;
    case DType::u16: put(static_cast<uint16_t>(value)); break;
    case DType::s32: put(static_cast<int32_t>(value)); break;
    case DType::u32: put(static_cast<uint32_t>(value)); break;
    case DType::s64: put(static_cast<int64_t>(value)); break;
    case DType::u64: put(static_cast<uint64_t>(value)); break;
    default: break;
  }
  return t;
}

// Emits one instruction for each step, in the type of the operands.
void emit_steps(LowerContext& ctx, const ElementwiseProgram& p, std::span<const BufferId> operands,
                DType type) {
  std::vector<BufferId> results;
  const auto operand = [&](ElementwiseValue v) {
    if (v < 0) return ctx.pack(typed_scalar(type, static_cast<double>(p.constant_of(v))));
    return v < kElementwiseMaxInputs ? operands[static_cast<size_t>(v)]
                                     : results[static_cast<size_t>(v - kElementwiseMaxInputs)];
  };
  const auto inputs = static_cast<size_t>(p.inputs);
  for (const auto& s : p.steps) {
    const auto code = static_cast<int64_t>(s.op);
    const int arity = kernels::elementwise_arity(code);
    std::vector<BufferId> buffers = {operand(s.a)};
    if (arity > 1) buffers.push_back(operand(s.b));
    if (arity > 2) buffers.push_back(operand(s.c));
    const ElementwiseValue self =
        kElementwiseMaxInputs + static_cast<ElementwiseValue>(results.size());
    const auto output = std::find(p.outputs.begin(), p.outputs.end(), self) - p.outputs.begin();
    if (output < static_cast<ptrdiff_t>(p.outputs.size())) {
      results.push_back(operands[inputs + static_cast<size_t>(output)]);
    } else {
      Shape shape;
      for (const BufferId b : buffers) shape = broadcast_shapes(shape, ctx.builder.buffer(b).shape);
      const DType result = kernels::elementwise_gives_bool(s.op) ? DType::boolean : type;
      results.push_back(ctx.temporary(result, std::move(shape)));
    }
    buffers.push_back(results.back());
    ctx.emit(calls::ElementwiseGeneric{s.op}, buffers);
  }
}

void lower_exact(LowerContext& ctx, std::vector<Operand> operands, DType type) {
  // Only the program kernel limits the number of steps, and it is not used here.
  ElementwiseProgram p;
  std::vector<ElementwiseValue> values;
  for (size_t i = 0; i < operands.size(); i++) values.push_back(p.add_input());
  // Operand codes of steps start at kElementwiseMaxInputs, so long lists are split into pieces.
  if (static_cast<int64_t>(operands.size()) > kElementwiseMaxInputs) {
    std::vector<Operand> head(operands.begin(), operands.begin() + 2);
    const calls::ElementwiseGeneric call{ctx.node.op_type == "Min"   ? ElementwiseOp::min
                                         : ctx.node.op_type == "Max" ? ElementwiseOp::max
                                                                     : ElementwiseOp::add};
    ctx.emit(call, {head[0].buffer, head[1].buffer, ctx.out(0)});
    for (size_t i = 2; i < operands.size(); i++)
      ctx.emit(call, {ctx.out(0), operands[i].buffer, ctx.out(0)});
    if (ctx.node.op_type == "Mean")
      ctx.emit(calls::ElementwiseGeneric{ElementwiseOp::div},
               {ctx.out(0), ctx.pack(typed_scalar(type, static_cast<double>(operands.size()))),
                ctx.out(0)});
    return;
  }
  p.add_output(append_elementwise(p, ctx.node, values), ctx.out_dtype());
  std::vector<BufferId> buffers;
  for (const Operand& o : operands) buffers.push_back(o.buffer);
  buffers.push_back(ctx.out(0));
  emit_steps(ctx, p, buffers, type);
}

// Whether the node is IsNaN or IsInf of a one-byte float.
bool classifies_f8(const ir::Node& node, DType type) {
  return (node.op_type == "IsNaN" || node.op_type == "IsInf") && is_float(type) &&
         dtype_bits(type) == 8;
}

bool is_exact_type(DType t) {
  return t == DType::f64 || t == DType::boolean || (is_integer(t) && dtype_bits(t) >= 8);
}

}  // namespace

void emit_program(LowerContext& ctx, const ElementwiseProgram& p,
                  std::span<const BufferId> operands, DType type) {
  if (is_exact_type(type)) return emit_steps(ctx, p, operands, type);
  ctx.emit(p.call(), operands);
}

Shape broadcast_input_shape(const ir::Node& node, size_t i) {
  Shape shape = node.input(i)->shape();
  if (i != 1 || node.opset() >= 7) return shape;
  const size_t rank = node.input(0)->shape().size();
  if (node.op_type == "PRelu") {
    if (shape.size() == 1 && shape[0] != 1 && rank > 2) shape.resize(rank - 1, 1);
    return shape;
  }
  if (!node.int_attr("broadcast", 0) || !node.find_attr("axis")) return shape;
  const int64_t axis =
      normalize_axis(node.int_attr("axis", 0), static_cast<int64_t>(std::max<size_t>(rank, 1)));
  if (static_cast<size_t>(axis) + shape.size() > rank)
    fail(ErrorCode::invalid_argument, "{}: axis {} leaves no room for {} in {}", node.describe(),
         axis, shape_string(shape), shape_string(node.input(0)->shape()));
  shape.resize(rank - static_cast<size_t>(axis), 1);
  return shape;
}

void infer_elementwise(InferContext& ctx, ElementwiseTypes types, bool gives_bool, bool mixed) {
  const ir::Node& node = ctx.node;
  DType dtype = DType::undefined;
  Shape shape;
  std::vector<std::string> symbols;
  bool known = true;
  const auto [append, least, most] = facts_of(node).elementwise;
  POPRT_ASSERT(append != nullptr);
  for (size_t i = 0; i < least; i++) (void)ctx.in(i);
  if (ctx.input_count() > most)
    ctx.fail_input("the node has {} inputs, at most {} are expected", ctx.input_count(), most);
  if (node.outputs().size() != 1)
    ctx.fail_input("the node has {} outputs, 1 is expected", node.outputs().size());
  for (size_t i = 0; i < ctx.input_count(); i++) {
    if (!ctx.has(i)) continue;
    const ir::ValueType& t = ctx.in(i);
    if (t.dtype != DType::undefined) {
      if (!is_allowed(t.dtype, types) && !(mixed && i > 0))
        ctx.fail_input("input {} is {}, which the operator does not take", i, dtype_name(t.dtype));
      if (dtype == DType::undefined) dtype = t.dtype;
      if (!mixed && t.dtype != dtype)
        ctx.fail_input("inputs are {} and {}; they must have one element type", dtype_name(dtype),
                       dtype_name(t.dtype));
    }
    if (!t.has_shape || !known) {
      known = known && t.has_shape;
      continue;
    }
    if (i == 0) {
      shape = t.shape;
      symbols = t.symbols;
      continue;
    }
    if (!node.input(0)->type.has_shape) continue;
    const Shape other = broadcast_input_shape(node, i);
    try {
      Shape wider = broadcast_shapes(shape, other);
      // A symbol is kept if the other operand cannot change the dimension.
      std::vector<std::string> names(wider.size());
      for (size_t d = 0; d < wider.size(); d++) {
        if (wider[d] >= 0) continue;
        const auto from = [&](const std::vector<std::string>& s, size_t rank) {
          const size_t skip = wider.size() - rank;
          return d >= skip && d - skip < s.size() ? s[d - skip] : std::string();
        };
        names[d] = from(symbols, shape.size());
        if (names[d].empty()) names[d] = from(t.symbols, other.size());
      }
      shape = std::move(wider);
      symbols = std::move(names);
    } catch (const Error& e) {
      ctx.fail_input("{}", e.what());
    }
  }
  if (gives_bool) dtype = DType::boolean;
  if (!known) return ctx.out_dtype(0, dtype);
  bool any_symbol = false;
  for (const auto& s : symbols) any_symbol = any_symbol || !s.empty();
  if (!any_symbol || symbols.size() != shape.size()) symbols.clear();
  ctx.out(0, ir::ValueType{dtype, true, std::move(shape), std::move(symbols)});
}

void lower_elementwise(LowerContext& ctx) {
  const ir::Node& node = ctx.node;
  if (ctx.out(0) == LowerContext::kNone) return;
  const bool is_cast = node.op_type == "Cast" || node.op_type == "CastLike";
  const size_t count = is_cast ? 1 : node.inputs().size();

  // Determine the type of the arithmetic, and whether every operand can be read in it.
  const size_t main = node.op_type == "Where" ? 1 : 0;
  const DType type = ctx.in_dtype(main);
  bool in_float =
      (is_cast ? is_loadable(type) : is_program_type(type)) && is_program_type(ctx.out_dtype());
  for (size_t i = 0; i < count; i++)
    if (node.input(i) && !is_loadable(ctx.in_dtype(i)) && node.op_type != "Pow") in_float = false;
  // Purely logical operators need no floats in between.
  if (type == DType::boolean && ctx.out_dtype() == DType::boolean && !is_cast) in_float = false;

  std::vector<Operand> operands(count);
  for (size_t i = 0; i < count; i++) {
    if (!node.input(i)) continue;
    operands[i].dtype = ctx.in_dtype(i);
    const bool folded = in_float && scalar_constant(node.input(i)) &&
                        static_cast<int64_t>(count) <= kElementwiseMaxInputs;
    if (folded) continue;
    operands[i].buffer = ctx.in(i);
    const Shape shape = broadcast_input_shape(node, i);
    if (shape != ctx.in_shape(i))
      operands[i].buffer = ctx.view(operands[i].buffer, 0, operands[i].dtype, shape);
  }
  if (node.op_type == "Pow" && count > 1 && operands[1].dtype != type) {
    Operand& e = operands[1];
    const Shape shape = broadcast_input_shape(node, 1);
    if (in_float) {
      if (!is_loadable(e.dtype)) e = {cast(ctx, ctx.in(1), DType::f32, shape), DType::f32};
    } else if (is_integer(type) && is_float(e.dtype)) {
      // Computes in double and converts back, like pow of C on mixed operands.
      const BufferId base = cast(ctx, operands[0].buffer, DType::f64, ctx.in_shape(0));
      const BufferId power =
          e.dtype == DType::f64 ? e.buffer : cast(ctx, e.buffer, DType::f64, shape);
      const BufferId result = ctx.temporary(DType::f64, ctx.out_shape());
      ctx.emit(calls::ElementwiseGeneric{ElementwiseOp::pow}, {base, power, result});
      ctx.emit(calls::Cast{}, {result, ctx.out(0)});
      return;
    } else {
      e = {cast(ctx, e.buffer, type, shape), type};
    }
  }
  if (!in_float && classifies_f8(node, type)) {
    operands[0] = {cast(ctx, operands[0].buffer, DType::f32, ctx.in_shape(0)), DType::f32};
    in_float = true;
  }
  if (in_float) return lower_float(ctx, operands);
  const bool moves = node.op_type == "Where";
  if (!is_exact_type(type) && !(moves && dtype_bits(type) >= 8 && dtype_bits(type) <= 64))
    ctx.fail_unsupported("element type {} is not supported", dtype_name(type));
  lower_exact(ctx, std::move(operands), type);
}

}  // namespace poprt::ops
