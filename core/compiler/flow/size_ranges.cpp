// Computes ranges of numbers that depend on sizes which depend on data (Item::actual): the smallest
// and largest possible values. At run time nodes compute with the actual sizes; here they compute
// with the bounds. The upper bound determines the memory for a shape made of such numbers.
//
// Example: x [10, 4] has n real rows, 0 <= n <= 10. Shape returns [0..10, 4..4]. Gather of element
// 1 returns the constant 4, and of element 0 the range 0..10. Sub(100, n) has the corners 100 - 0
// and 100 - 10 and the range 90..100. Because Sub is monotonic in each operand, the corners bound
// all values between them. This does not hold if an integer wraps around, so there is no range if a
// corner overflows.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/onnx_dtype.h"
#include "compiler/flow/specializer.h"
#include "ir/newest.h"
#include "ops/facts.h"

namespace poprt::compiler {

using ir::Node;
using ir::Value;

namespace {

constexpr size_t kMaxCorners = 4;  // most operands with a range; each doubles the number of corners

// Whether a Cast is monotonic while no number is outside the range of `to`. A Cast to bool returns
// 1 for negative numbers, but 0 for 0, so it is monotonic only from 0 on.
bool cast_rises(DType to, const Value* least) {
  if (is_float(to) || to == DType::s32 || to == DType::s64) return true;
  return to == DType::boolean && !ops::any_below(least, 0);
}

// Whether the type `to` contains all numbers of `v`, after rounding towards 0.
bool fits(const Value* v, DType to) {
  const DType from = v->dtype();
  if (to == from || (to != DType::s32 && to != DType::s64) ||
      (to == DType::s64 && !is_float(from) && from != DType::u64))
    return true;
  const double end = std::ldexp(1.0, to == DType::s32 ? 31 : 63);
  const double below = to == DType::s32 ? -end - 1 : std::nextafter(-end, -INFINITY);
  return std::ranges::all_of(v->constant().to_doubles(),
                             [&](double x) { return x > below && x < end; });
}

// Whether the numbers are those that f64 arithmetic computes. If an integer wraps around, a sum
// differs by a multiple of 2^32 or 2^64 and a mean of kMostSizes by 1/64 of it. An f64 rounds
// sums and products of s64 by less than 2^32, and those of s32 by less than 1 unless they overflow.
bool agrees(const Value* v, const Value* precise) {
  const double tolerance = v->dtype() == DType::s32 ? 1 : std::ldexp(1.0, 32);
  const std::vector<double> a = v->constant().to_doubles(), b = precise->constant().to_doubles();
  return std::ranges::equal(a, b,
                            [&](double x, double y) { return std::fabs(x - y) <= tolerance; });
}

std::optional<int64_t> added(int64_t a, int64_t b, DType type) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum) ||
      (type == DType::s32 && sum != static_cast<int32_t>(sum)))
    return std::nullopt;
  return sum;
}

std::optional<int64_t> multiplied(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

// A constant of the type and shape of `v` with these numbers, or with one number for all elements.
Value* constants_like(ops::FoldingBuilder& build, const Value* v,
                      const std::vector<int64_t>& numbers) {
  Tensor t = Tensor::zeros(v->dtype(), v->shape());
  for (size_t i = 0; i < static_cast<size_t>(t.count()); i++) {
    const int64_t x = numbers[numbers.size() == 1 ? 0 : i];
    if (v->dtype() == DType::s64)
      t.mutable_values<int64_t>()[i] = x;
    else
      t.mutable_values<int32_t>()[i] =
          static_cast<int32_t>(std::clamp<int64_t>(x, INT32_MIN + 1, INT32_MAX));
  }
  return build.constant(t);
}

}  // namespace

std::optional<ops::SizeRange> Specializer::range_of(const Value* v) const {
  if (v->is_constant()) return ops::SizeRange{const_cast<Value*>(v), const_cast<Value*>(v)};
  const auto found = ranges_.find(v);
  return found == ranges_.end() ? std::nullopt : std::optional(found->second);
}

void Specializer::forget_ranges(size_t since) {
  for (size_t i = since; i < ranged_.size(); i++) ranges_.erase(ranged_[i]);
  ranged_.resize(since);
}

Item Specializer::in_range(Value* actual, const ops::SizeRange& range) {
  Item item = Item::of(range.most);
  if (range.most->constant().same_as(range.least->constant())) return item;
  item.actual = actual;
  item.least = range.least;
  return item;
}

std::optional<int64_t> Specializer::max_size_of(const Value& v) const {
  const auto found = options_.max_size.find(v.name());
  if (options_.keep_onnx || found == options_.max_size.end()) return std::nullopt;
  return found->second;
}

Value* Specializer::checked_size(Value* v, int64_t most, const std::string& name, bool option) {
  Value* checked =
      build_.make1("CheckSize", {v}, {{"most", most}, {"option", int64_t{option}}}, "poprt");
  if (checked->producer()) checked->producer()->name = name;
  return checked;
}

Item Specializer::limited(const Value& named, Item item) {
  const auto most = max_size_of(named);
  if (!most || item.kind != Item::Kind::tensor || item.size || item.actual ||
      item.value->is_constant() || !ops::holds_sizes(item.value))
    return item;
  Value* v = checked_size(item.value, *most, named.name(), true);
  return in_range(v, {constants_like(build_, v, {0}), constants_like(build_, v, {*most})});
}

void Specializer::limit_shape_inputs(const Node& n, Items& in) {
  const ops::Facts& facts = ops::facts_of(n);
  if (options_.keep_onnx || !facts.shape_limits || in.empty() || in[0].kind != Item::Kind::tensor ||
      !in[0].value->type.is_static())
    return;
  for (size_t i = 1; i < in.size(); i++) {
    Item& item = in[i];
    if (!ops::in_mask(facts.shape_inputs, i) || item.kind != Item::Kind::tensor || item.actual ||
        item.size || item.value->is_constant() || !ops::holds_sizes(item.value))
      continue;
    ops::BoundContext ctx(n, in, build_);
    const auto limits = facts.shape_limits(ctx, i);
    if (!limits) continue;
    Value* v = item.value;
    const std::string name = n.name.empty() ? n.output()->name() : n.name;
    if (limits->checked) v = checked_size(v, limits->most, name, false);
    // Some of the numbers may be known.
    std::vector<int64_t> least, most;
    for (int64_t k = 0; k < element_count(v->shape()); k++) {
      const auto known = range_of(ctx.element_of(item.value, k));
      least.push_back(known ? known->least->constant().to_int64s()[0] : limits->least);
      most.push_back(known ? known->most->constant().to_int64s()[0] : limits->most);
    }
    item = in_range(v, {constants_like(build_, v, least), constants_like(build_, v, most)});
  }
}

std::optional<ops::SizeRange> Specializer::range_after(const Item& first, const Value* before,
                                                       const Value* after, int64_t rounds) {
  if (first.kind != Item::Kind::tensor || !ops::holds_sizes(before) ||
      element_count(before->shape()) != 1)
    return std::nullopt;
  const auto begin =
      first.actual ? ops::SizeRange{first.least, first.value} : range_of(first.value);
  if (!begin || after == before) return begin;
  const auto step = ops::step_between(before, after);
  const auto by = step ? range_of(step->by) : std::nullopt;
  if (!by || step->by->dtype() != before->dtype()) return std::nullopt;
  const auto number = [](const Value* v) { return v->constant().to_int64s().at(0); };
  const DType type = before->dtype();
  const int64_t runs = std::max<int64_t>(rounds, 0);
  const auto end = [&](const Value* from, const Value* change, bool low) -> std::optional<int64_t> {
    const auto way = multiplied(step->down ? -1 : 1, number(change));
    const auto all =
        way ? multiplied(runs, low ? std::min<int64_t>(*way, 0) : std::max<int64_t>(*way, 0))
            : std::nullopt;
    return all ? added(number(from), *all, type) : std::nullopt;
  };
  const auto least = end(begin->least, step->down ? by->most : by->least, true);
  const auto most = end(begin->most, step->down ? by->least : by->most, false);
  if (!least || !most) return std::nullopt;
  const auto constant = [&](int64_t value) {
    const Tensor t =
        type == DType::s64 ? Tensor::scalar(value) : Tensor::scalar(static_cast<int32_t>(value));
    return build_.reshape(build_.constant(t), before->shape());
  };
  return ops::SizeRange{constant(*least), constant(*most)};
}

std::optional<ops::SizeRange> Specializer::either(const Value* a, const Value* b) {
  if (!a || !b || !ops::holds_sizes(a) || !ops::holds_sizes(b) || a->type.dtype != b->type.dtype ||
      a->shape() != b->shape())
    return std::nullopt;
  const auto x = range_of(a), y = range_of(b);
  if (!x || !y) return std::nullopt;
  return ops::SizeRange{build_.newest("Min", {x->least, y->least}),
                        build_.newest("Max", {x->most, y->most})};
}

std::optional<std::vector<Value*>> Specializer::constant_results(const Node& n, const Items& in) {
  copy_with(n, in);
  std::vector<Value*> results;
  for (const Value* v : n.outputs()) {
    const Item item = item_of(v);
    if (item.kind != Item::Kind::tensor || item.size || !item.value->is_constant())
      return std::nullopt;
    results.push_back(item.value);
  }
  return results;
}

bool Specializer::overflows(const Node& n, const Items& in, const std::vector<Value*>& results) {
  const ops::Facts& facts = ops::facts_of(n);
  if (facts.cast == ops::CastForm::to_type) return !fits(in[0].value, results[0]->dtype());
  const DType type = results[0]->dtype();
  if (is_float(type))
    return std::ranges::any_of(results, [](const Value* v) {
      return std::ranges::any_of(v->constant().to_doubles(),
                                 [](double x) { return std::isnan(x); });
    });
  // A quotient cannot overflow, because the divisor is positive.
  if ((type != DType::s32 && type != DType::s64) || facts.source != ops::ElementSource::none ||
      facts.monotone == ops::Monotone::quotient)
    return false;
  Items wide = in;
  for (size_t i = 0; i < wide.size(); i++) {
    if (wide[i].kind == Item::Kind::none || wide[i].value->dtype() != type) continue;
    if (i > 0 && facts.monotone == ops::Monotone::first) continue;  // axes and the like
    const Tensor& t = wide[i].value->constant();
    Tensor f64 = Tensor::zeros(DType::f64, t.shape());
    std::ranges::copy(t.to_doubles(), f64.mutable_values<double>().begin());
    wide[i] = Item::of(build_.constant(f64));
  }
  const Items precise = results_of(n, wide);
  for (size_t i = 0; i < results.size(); i++)
    if (!precise[i].value->is_constant() || !agrees(results[i], precise[i].value)) return true;
  return false;
}

std::optional<std::vector<ops::SizeRange>> Specializer::ranges_of(const Node& n, const Items& in) {
  if (!ir::is_onnx_domain(n.domain)) return std::nullopt;
  std::vector<size_t> vary;
  for (size_t i = 0; i < in.size(); i++) {
    if (in[i].kind == Item::Kind::none) continue;
    if (in[i].kind != Item::Kind::tensor || in[i].size || !in[i].value->is_constant())
      return std::nullopt;
    if (in[i].actual) vary.push_back(i);
  }
  const ops::Facts& facts = ops::facts_of(n);
  if (facts.size_range) {
    ops::BoundContext ctx(n, in, build_);
    if (const auto range = facts.size_range(ctx)) return std::vector{*range};
  }
  const bool quotient = facts.monotone == ops::Monotone::quotient;
  switch (facts.monotone) {
    case ops::Monotone::none: return std::nullopt;
    case ops::Monotone::first:
      if (vary != std::vector<size_t>{0}) return std::nullopt;
      break;
    case ops::Monotone::all:
    case ops::Monotone::quotient: break;
  }
  if (vary.size() > kMaxCorners) return std::nullopt;
  if (facts.monotone_from_zero && ops::any_below(in[0].least, 0)) return std::nullopt;
  if (facts.cast == ops::CastForm::to_type) {
    const auto to = in.size() > 1 ? in[1].value->dtype() : dtype_from_onnx(n.int_attr("to", 0));
    if (!to || !cast_rises(*to, in[0].least)) return std::nullopt;
  }

  std::optional<std::vector<ops::SizeRange>> out;
  for (size_t corner = 0; corner < size_t{1} << vary.size(); corner++) {
    Items at = in;
    for (size_t k = 0; k < vary.size(); k++) {
      Item& item = at[vary[k]];
      item = Item::of((corner >> k & 1) != 0 ? item.value : item.least);
    }
    if (quotient && in[1].actual) {
      // The divisor must not be 0. A divisor that may have both signs gives no bound.
      if (is_float(in[1].value->dtype()) || ops::any_below(in[1].least, 0) ||
          ops::any_below(in[1].value, 1))
        return std::nullopt;
      Value* one = build_.newest("Cast", {build_.integer(1)},
                                 {{"to", onnx_from_dtype(in[1].value->dtype()).value()}});
      at[1].value = build_.newest("Max", {at[1].value, one});
    }
    const auto results = constant_results(n, at);
    if (!results || overflows(n, at, *results)) return std::nullopt;
    if (!out) {
      out.emplace();
      for (Value* v : *results) out->push_back({v, v});
      continue;
    }
    for (size_t i = 0; i < results->size(); i++) {
      Value* v = (*results)[i];
      ops::SizeRange& r = (*out)[i];
      const bool truth = v->dtype() == DType::boolean;
      r.least = build_.newest(truth ? "And" : "Min", {r.least, v});
      r.most = build_.newest(truth ? "Or" : "Max", {r.most, v});
    }
  }
  return out;
}

}  // namespace poprt::compiler
