// The length depends on the values, so lowering requires constant start, limit and delta.
#include <array>
#include <cmath>
#include <limits>

#include "base/onnx_dtype.h"
#include "kernels/calls/copy.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/scalar.h"
#include "ops/op.h"

namespace poprt::ops::range_op {
namespace {

// limit - start, rounded to the type of the numbers as in ONNX Runtime. The quotient by delta is
// f64, except for s64 (count_of()).
double difference(DType dtype, double limit, double start) {
  const double exact = limit - start;
  return is_float(dtype) ? scalar_tensor(dtype, exact).to_doubles()[0] : exact;
}

struct Bounds {
  double start, limit, delta;
  double count;  // of the elements
};

// ceil((limit - start) / delta). Doubles would lose low bits of the integers.
double count_of(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0 || (delta > 0 ? limit <= start : limit >= start)) return 0;
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
             by = static_cast<uint64_t>(delta);
  return static_cast<double>(delta > 0 ? (to - from - 1) / by + 1 : (from - to - 1) / (0 - by) + 1);
}

template <class Context>
std::optional<Bounds> bounds_of(const Context& ctx) {
  std::array<double, 3> v{};
  for (size_t i = 0; i < 3; i++) {
    const Tensor* t = ctx.constant(i);
    if (!t) return std::nullopt;
    if (t->count() != 1)
      fail(ErrorCode::invalid_argument, "{}: input {} should be one number", ctx.node.describe(),
           i);
    v[i] = t->to_doubles()[0];
  }
  const DType dtype = ctx.constant(0)->dtype();
  const auto integer = [&](size_t i) { return ctx.constant(i)->to_int64s()[0]; };
  const bool exact =
      dtype == DType::s64 && ctx.constant(1)->dtype() == dtype && ctx.constant(2)->dtype() == dtype;
  return Bounds{v[0], v[1], v[2],
                exact ? count_of(integer(0), integer(1), integer(2))
                      : std::ceil(difference(dtype, v[1], v[0]) / v[2])};
}

void infer(InferContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  const auto b = bounds_of(ctx);
  if (!b) return ctx.out(0, dtype, {kUnknownDim});
  if (b->delta == 0) ctx.fail_input("delta is 0");
  // The compiler creates the elements, so their number is limited.
  if (!(b->count <= 1 << 26)) ctx.fail_input("{} elements are too many", b->count);
  ctx.out(0, dtype, {static_cast<int64_t>(std::max(0.0, b->count))});
}

void lower(LowerContext& ctx) {
  if (!bounds_of(ctx)) ctx.fail_unsupported("start, limit and delta must be constant");
  const DType dtype = ctx.out_dtype();
  const int64_t n = ctx.out_shape()[0];
  Tensor t = Tensor::zeros(dtype, {n});
  if (dtype == DType::s64) {
    // The elements are computed as integers because doubles would lose the low bits.
    const auto start = static_cast<uint64_t>(ctx.ints(0)->at(0)),
               delta = static_cast<uint64_t>(ctx.ints(2)->at(0));
    for (int64_t i = 0; i < n; i++)
      t.mutable_values<int64_t>()[static_cast<size_t>(i)] =
          static_cast<int64_t>(start + static_cast<uint64_t>(i) * delta);
  } else {
    const auto b = *bounds_of(ctx);
    auto* to = static_cast<std::byte*>(t.mutable_data());
    for (int64_t i = 0; i < n; i++) {
      const Tensor v = scalar_tensor(dtype, b.start + static_cast<double>(i) * b.delta);
      std::memcpy(to + static_cast<uint64_t>(i) * v.bytes(), v.data(), v.bytes());
    }
  }
  ctx.emit(calls::Copy{}, {ctx.pack(t), ctx.out(0)});
}

// A range of at most `most` numbers. Nothing is known about its inputs.
BoundResult bound_by_option(BoundContext& ctx, int64_t most) {
  FoldingBuilder& build = ctx.build;
  const DType type = ctx.in[0].value->dtype();
  const auto cast = [&](ir::Value* v, DType to) {
    return v->dtype() == to ? v : build.newest("Cast", {v}, {{"to", onnx_from_dtype(to).value()}});
  };
  std::array<ir::Value*, 3> all{};
  for (size_t i = 0; i < 3; i++) all[i] = build.reshape(actual_of(ctx.in[i]).value, {});
  const auto [start, limit, delta] = all;
  ir::Value* length = cast(build.newest("Sub", {limit, start}), DType::f64);
  ir::Value* count = build.newest("Ceil", {build.newest("Div", {length, cast(delta, DType::f64)})});
  count = build.newest("Max", {cast(count, DType::s64), build.integer(0)});
  // A step of 0 never reaches the limit.
  ir::Value* none =
      build.newest("Equal", {cast(delta, DType::f64), build.constant(Tensor::scalar(0.0))});
  count = build.newest("Where", {none, build.integer(most + 1), count});
  count = build.make1("CheckSize", {count}, {{"most", most}, {"option", int64_t{1}}}, "poprt");
  if (count->producer()) count->producer()->name = ctx.node.output()->name();
  ir::Value* numbers = build.newest("Mul", {cast(build.indices(most), type), delta});
  return {.size = count, .axis = 0, .whole = build.newest("Add", {numbers, start})};
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  if (ctx.max_size) return bound_by_option(ctx, *ctx.max_size);
  const DType type = in[0].value->dtype();
  for (size_t i = 0; i < in.size(); i++)
    if (!in[i].value->is_constant()) ctx.refuse_unbounded(i);
  if (in[2].actual) ctx.refuse_shape(2);
  const auto number = [](const ir::Value* v) { return v->constant().to_doubles()[0]; };
  const auto least = [&](size_t i) { return number(in[i].actual ? in[i].least : in[i].value); };
  const double delta = number(in[2].value);
  if (delta == 0) ctx.fail_at(ErrorCode::invalid_argument, "the step is 0");
  const double length = delta > 0 ? difference(type, number(in[1].value), least(0))
                                  : difference(type, number(in[0].value), least(1));
  const double room = std::ceil(std::max(0.0, length / std::abs(delta)));
  if (!(room < static_cast<double>(int64_t{1} << 32)))
    ctx.fail_at(ErrorCode::resource_exhausted, "the range has up to {} numbers", room);
  const auto bound = static_cast<int64_t>(room);
  ctx.build.count_folded(static_cast<uint64_t>(bound) * 8);

  ir::Value* start = in[0].actual ? in[0].actual : in[0].value;
  ir::Value* limit = in[1].actual ? in[1].actual : in[1].value;
  const auto cast = [&](ir::Value* v, DType to) {
    return v->dtype() == to ? v
                            : ctx.build.newest("Cast", {v}, {{"to", onnx_from_dtype(to).value()}});
  };
  ir::Value *count, *step = in[2].value;
  start = ctx.build.reshape(start, {}), limit = ctx.build.reshape(limit, {}),
  step = ctx.build.reshape(step, {});
  if (is_float(type)) {
    ir::Value* span = cast(ctx.build.newest("Sub", {limit, start}), DType::f64);
    count = ctx.build.newest("Ceil", {ctx.build.newest("Div", {span, cast(step, DType::f64)})});
    count = cast(count, DType::s64);
  } else {
    ir::Value *from = cast(start, DType::s64), *to = cast(limit, DType::s64);
    if (in[1].actual && !in[0].actual && number(in[0].value) == 0 && delta == 1)
      count = ctx.element_of(in[1].actual, 0);
    else
      count = delta > 0 ? ctx.build.newest("Sub", {to, from}) : ctx.build.newest("Sub", {from, to});
    const auto d = static_cast<int64_t>(std::abs(delta));
    if (d > 1)
      count = ctx.build.newest("Div", {ctx.build.newest("Add", {count, ctx.build.integer(d - 1)}),
                                       ctx.build.integer(d)});
  }
  ir::Value* numbers = cast(ctx.build.indices(bound), type);
  if (delta != 1) numbers = ctx.build.newest("Mul", {numbers, step});
  if (in[0].actual || number(start) != 0) numbers = ctx.build.newest("Add", {numbers, start});
  // A limit that may be below the start cannot be used as a size.
  const bool from_size =
      in[1].actual && !is_float(type) && least(1) >= 0 && count == ctx.element_of(in[1].actual, 0);
  return {.size = from_size ? count : ctx.build.newest("Max", {count, ctx.build.integer(0)}),
          .axis = 0,
          .whole = numbers};
}

// Min of a constant limits the end of a range that rises. The end may be below the start.
std::optional<NumberLimits> limits(const BoundContext& ctx, size_t input) {
  const Item& step = ctx.in[2];
  if (input != 1 || step.actual || !step.value->is_constant() || any_below(step.value, 1))
    return std::nullopt;
  const auto most = upper_limit(ctx.in[1].value);
  if (!most) return std::nullopt;
  return NumberLimits{-std::numeric_limits<int64_t>::max(), *most};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Range",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::by_place,
                   .cost = cost::none,
                   .facts = {.narrows = true,
                             .shape_inputs = 0b111,
                             .extent_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b111,
                             .shape_limits = limits,
                             .flops = flops::none,
                             .trial = {"T[]; T[]; T[]"}},
                   .bound = bound};

}  // namespace poprt::ops::range_op
