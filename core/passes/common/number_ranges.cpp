#include "passes/common/number_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "ir/newest.h"
#include "ops/facts.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast32 = -0x1p31, kMost32 = 0x1p31 - 1;
constexpr NumberRange k32Bits = {kLeast32, kMost32};
constexpr NumberRange kUsualFloat = {-0x1p20, 0x1p20};
constexpr NumberRange kSize = {0, kMost32, true};
constexpr double kLeastLogarithm = -745;  // of the least positive f64
constexpr int64_t kMostFloats = 4096;     // larger constants are weights
constexpr int64_t kMostSizes = 64;

bool is_within(const NumberRange& a, const NumberRange& b) {
  return a.least >= b.least && a.most <= b.most;
}

NumberRange usual(DType type) {
  switch (type) {
    case DType::boolean: return {0, 1};
    case DType::u8: return {0, UINT8_MAX};
    case DType::s8: return {INT8_MIN, INT8_MAX};
    case DType::u16: return {0, UINT16_MAX};
    case DType::s16: return {INT16_MIN, INT16_MAX};
    case DType::s32:
    case DType::u32:
    case DType::s64:
    case DType::u64: return k32Bits;
    default: return kUsualFloat;
  }
}

NumberRange united(const NumberRange& a, const NumberRange& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

NumberRange corners(const NumberRange& a, const NumberRange& b,
                    const std::function<double(double, double)>& f) {
  NumberRange r = {kInfinity, -kInfinity};
  for (const double x : {a.least, a.most})
    for (const double y : {b.least, b.most}) {
      double z = f(x, y);
      if (std::isnan(z)) z = 0;  // 0 * infinity
      r = united(r, {z, z});
    }
  return r;
}

NumberRange product(const NumberRange& a, const NumberRange& b) {
  return corners(a, b, std::multiplies<>());
}

double magnitude(const NumberRange& a) { return std::max(std::fabs(a.least), std::fabs(a.most)); }

// The range of a sum: as usual as its operands.
NumberRange limited(const NumberRange& r, std::initializer_list<NumberRange> operands, DType type) {
  for (const NumberRange& limit : {is_float(type) ? kUsualFloat : k32Bits, k32Bits})
    if (std::ranges::all_of(operands, [&](const auto& a) { return is_within(a, limit); }))
      return {std::clamp(r.least, limit.least, limit.most),
              std::clamp(r.most, limit.least, limit.most)};
  return r;
}

NumberRange range_of_constant(const Tensor& t) {
  const NumberRange other = usual(t.dtype());
  const bool is_number = is_float(t.dtype());
  if (t.count() == 0 || (is_number && t.count() > kMostFloats)) return other;
  NumberRange r = {kInfinity, -kInfinity};
  for (const double x : t.to_doubles())
    if (!std::isnan(x)) r = united(r, {x, x});
  if (r.least > r.most) return other;
  if (is_number) return r;
  return {std::clamp(r.least, kLeast32, kMost32), std::clamp(r.most, kLeast32, kMost32)};
}

// Whether a constant contains one of the extremes of 64 bits, which mean "no limit".
bool has_no_limit(const Value* v) {
  if (!v || !v->is_constant() || v->dtype() != DType::s64) return false;
  return std::ranges::any_of(v->constant().values<int64_t>(),
                             [](int64_t x) { return x == INT64_MIN || x == INT64_MAX; });
}

// The indices along any axis of input 0.
NumberRange places(const Node& n) {
  if (!n.input(0)->type.is_static()) return kSize;
  NumberRange r = {0, 0};
  for (const int64_t size : n.input(0)->shape())
    r.most = std::max(r.most, static_cast<double>(size) - 1);
  return r;
}

// How many elements one result of a reduction of input 0 combines at most; 0 if that is unknown.
double reduced_count(const Value* v) {
  return v->type.is_static() ? static_cast<double>(element_count(v->shape())) : 0;
}

NumberRange remainder(const Node& n, const NumberRange& a, const NumberRange& b) {
  if (a.least >= 0 && a.most < b.least) return a;
  const double most = std::max(magnitude(b) - (is_float(n.output()->dtype()) ? 0 : 1), 0.0);
  const NumberRange& sign = n.int_attr("fmod", 0) ? a : b;
  return {sign.least < 0 ? -most : 0, sign.most > 0 ? most : 0};
}

NumberRange quotient(const NumberRange& a, const NumberRange& b, bool floats) {
  if (b.least > 0 || b.most < 0) return corners(a, b, std::divides<>());
  return floats ? kUsualFloat : NumberRange{-magnitude(a), magnitude(a)};
}

NumberRange power(const NumberRange& a, const NumberRange& b) {
  const double most = std::max(std::pow(magnitude(a), std::max(b.most, 0.0)), 1.0);
  return {a.least < 0 ? -most : 0, most};
}

NumberRange shifted(const Node& n, const NumberRange& a, const NumberRange& b) {
  if (n.string_attr("direction", "") != "LEFT") return united(a, {0, 0});
  const NumberRange bits = {std::clamp(b.least, 0.0, 64.0), std::clamp(b.most, 0.0, 64.0)};
  return corners(a, bits, [](double x, double y) { return std::ldexp(x, static_cast<int>(y)); });
}

NumberRange conjunction(const NumberRange& a, const NumberRange& b) {
  if (a.least >= 0 && b.least >= 0) return {0, std::min(a.most, b.most)};
  if (a.least >= 0) return {0, a.most};
  if (b.least >= 0) return {0, b.most};
  return {2 * std::min(a.least, b.least), std::max(a.most, b.most)};
}

// Or and exclusive or: all bits below the highest one of an operand.
NumberRange disjunction(const NumberRange& a, const NumberRange& b) {
  const double most = std::max(magnitude(a), magnitude(b));
  const double bits = std::exp2(std::ceil(std::log2(most + 1)));
  return {a.least < 0 || b.least < 0 ? -bits : 0, bits - 1};
}

}  // namespace

bool NumberRange::exceeds_s32() const { return !is_within(*this, k32Bits); }

NumberRange NumberRanges::of(const Value* value) const {
  if (!value) return k32Bits;
  const auto found = ranges_.find(value);
  if (found != ranges_.end()) return found->second;
  if (!value->is_constant()) return usual(value->dtype());
  return ranges_[value] = range_of_constant(value->constant());
}

void NumberRanges::visit(const ir::Graph& graph) {
  for (const Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) {
      if (ops::facts_of(*n).runs_rounds && !sub.inputs().empty())
        ranges_[sub.inputs()[0]] = kSize;  // the number of the round
      visit(sub);
    });
    for (size_t i = 0; i < n->outputs().size(); i++)
      if (const Value* v = n->output(i)) ranges_[v] = result(*n, i);
  }
}

NumberRange NumberRanges::result(const Node& n, size_t output) const {
  const DType type = n.output(output)->dtype();
  NumberRange r = computed(n, output);
  if (!(r.least <= r.most)) return usual(type);
  bool sizes = false;
  if (!r.is_size) {
    for (const Value* v : n.inputs())
      if (v && !v->is_constant()) {
        sizes = of(v).is_size;
        if (!sizes) break;
      }
  }
  if (r.is_size || sizes)
    return {std::clamp(r.least, kLeast32, kMost32), std::clamp(r.most, kLeast32, kMost32), true};
  // Other types wrap around.
  if (type != DType::s64 && !is_float(type) && !is_within(r, usual(type))) return usual(type);
  return r;
}

NumberRange NumberRanges::computed(const Node& n, size_t output) const {
  const DType type = n.output(output)->dtype();
  const ops::Facts& facts = ops::facts_of(n);
  const auto in = [&](size_t i) { return of(n.input(i)); };
  const auto is_varying = [&](size_t i) { return n.input(i) && !n.input(i)->is_constant(); };
  const bool no_operand = n.inputs().empty() || !n.input(0);
  if (facts.passes_types || (no_operand && !facts.moves)) return usual(type);
  if (facts.cast == ops::CastForm::to_type) return in(0);
  if (facts.from_shapes && type == DType::s64)
    return n.output()->type.is_static() && element_count(n.output()->shape()) <= kMostSizes &&
                   std::ranges::all_of(n.inputs(), [](auto* v) { return v && v->type.is_static(); })
               ? range_of_constant(facts.from_shapes(n))
               : kSize;
  const auto all = [&](size_t first, const auto& combine) {
    NumberRange r = in(first);
    for (size_t i = first + 1; i < n.inputs().size(); i++) r = combine(r, in(i));
    return r;
  };
  switch (facts.source) {
    case ops::ElementSource::none: break;
    case ops::ElementSource::itself:
    case ops::ElementSource::in_order:
    case ops::ElementSource::picked: return in(0);
    case ops::ElementSource::joined: return all(0, united);
    case ops::ElementSource::chosen: return united(in(1), in(2));
  }
  if (facts.moves) {
    NumberRange r = {0, 0};  // what fills the rest
    const ir::Attribute* value = n.find_attr("value");
    const auto* tensor = value ? std::get_if<Tensor>(value) : nullptr;
    if (tensor) r = united(r, range_of_constant(*tensor));
    if (!tensor && no_operand) return usual(type);
    const uint32_t parameters = facts.s64_inputs | facts.shape_inputs | ops::constant_inputs(n);
    const std::string reduction = n.string_attr("reduction", "none");
    for (size_t i = 0; i < n.inputs().size(); i++) {
      if (!n.input(i) || n.input(i)->dtype() != type || ops::in_mask(parameters, i)) continue;
      r = reduction == "mul" ? united(r, product(r, in(i))) : r;
      r = united(r, in(i));
    }
    return r;
  }
  if (!ir::is_onnx_domain(n.domain)) return usual(type);

  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, n.op_type) != names.end();
  };
  const bool floats = is_float(type);
  const size_t count = n.inputs().size();
  if (is({"ArgMax", "ArgMin", "NonZero"})) return places(n);
  if (is({"TopK"})) return output == 0 ? in(0) : places(n);
  if (is({"Unique"})) return output == 0 ? in(0) : kSize;
  if (is({"NonMaxSuppression", "SequenceLength"}) || (is({"MaxPool"}) && output == 1)) return kSize;
  if (is({"OneHot"})) return in(2);
  if (is({"Sign"})) return {-1, 1};
  if (is({"Floor", "Ceil", "Round"})) return {std::floor(in(0).least), std::ceil(in(0).most)};
  if (is({"Relu"})) return {std::max(in(0).least, 0.0), std::max(in(0).most, 0.0)};
  if (is({"Sqrt"})) return {0, std::sqrt(std::max(in(0).most, 0.0))};
  if (is({"Log"})) return {kLeastLogarithm, in(0).most > 1 ? std::log(in(0).most) : 0};
  if (is({"Neg"})) return limited({-in(0).most, -in(0).least}, {in(0)}, type);
  if (is({"BitwiseNot"})) return {-in(0).most - 1, -in(0).least - 1};
  if (is({"Abs"})) return limited({0, magnitude(in(0))}, {in(0)}, type);
  if (is({"ReduceMax", "ReduceMin", "ReduceMean"})) return in(0);
  if (is({"Clip"})) {
    const bool has_low = n.input(1), has_high = n.input(2);
    const NumberRange low =
        has_low ? in(1) : NumberRange{n.float_attr("min", -INFINITY), -INFINITY};
    const NumberRange high =
        has_high ? in(2) : NumberRange{INFINITY, n.float_attr("max", INFINITY)};
    return {std::min(std::max(in(0).least, low.least), high.least),
            std::min(std::max(in(0).most, has_low ? low.most : low.least), high.most)};
  }
  if (is({"ReduceSum", "ReduceL1", "CumSum"})) {
    const double number = reduced_count(n.input(0));
    NumberRange a = is({"ReduceL1"}) ? NumberRange{0, magnitude(in(0))} : in(0);
    const NumberRange sum = number > 0 ? united(united(a, {0, 0}), product(a, {number, number}))
                                       : product(a, {1, kMost32});
    return limited(sum, {in(0)}, type);
  }
  const bool multiplies_matrices =
      facts.layer == ops::LayerForm::matmul || facts.layer == ops::LayerForm::gemm;
  if (floats && (multiplies_matrices || is({"ReduceProd", "ReduceSumSquare"}))) return usual(type);
  if (is({"ReduceProd"})) {
    const double number = reduced_count(n.input(0));
    return power(in(0), {0, number > 0 ? number : kInfinity});
  }
  if (is({"ReduceSumSquare"})) {
    const double square = magnitude(in(0)) * magnitude(in(0));
    return {0, square * std::max(reduced_count(n.input(0)), 1.0)};
  }

  // The operators with several operands.
  if (count == 0 || std::ranges::any_of(n.inputs(), [](auto* v) { return v == nullptr; }))
    return usual(type);
  if (is({"Min"}))
    return all(0, [](const NumberRange& a, const NumberRange& b) {
      return NumberRange{std::min(a.least, b.least), std::min(a.most, b.most)};
    });
  if (is({"Max"}))
    return all(0, [](const NumberRange& a, const NumberRange& b) {
      return NumberRange{std::max(a.least, b.least), std::max(a.most, b.most)};
    });
  if (is({"Mean"})) return all(0, united);
  if (is({"Add", "Sum"}))
    return all(0, [&](const NumberRange& a, const NumberRange& b) {
      return limited({a.least + b.least, a.most + b.most}, {a, b}, type);
    });
  if (count < 2) return usual(type);
  const NumberRange a = in(0), b = in(1);
  if (is({"Sub"})) return limited({a.least - b.most, a.most - b.least}, {a, b}, type);
  if (is({"Range"}) && count == 3) return united(a, b);
  if (is({"Mod"})) return remainder(n, a, b);
  if (is({"Div"})) return quotient(a, b, floats);
  if (is({"BitShift"})) return shifted(n, a, b);
  if (is({"BitwiseAnd"})) return conjunction(a, b);
  if (is({"BitwiseOr", "BitwiseXor"})) return disjunction(a, b);
  if (has_no_limit(n.input(0)) || has_no_limit(n.input(1))) return usual(type);
  if (is({"Mul", "Pow"})) {
    const NumberRange r = is({"Mul"}) ? product(a, b) : power(a, b);
    const bool two = is({"Pow"}) || (is_varying(0) && is_varying(1));
    return floats && two ? limited(r, {a, b}, type) : r;
  }
  if (multiplies_matrices) {
    const Shape& shape = n.input(0)->shape();
    const double terms = shape.empty() || shape.back() < 1 ? 1 : static_cast<double>(shape.back());
    return product(united(product(a, b), {0, 0}), {terms, terms});
  }
  if (is({"Einsum"})) return all(0, product);
  return usual(type);
}

}  // namespace poprt::passes
