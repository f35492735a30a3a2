// Computes ranges of numbers that depend on sizes which depend on data (Item::actual): the smallest
// and largest possible values. At run time nodes compute with the actual sizes; here they compute
// with the bounds. The upper bound determines the memory for a shape made of such numbers.
//
// Example: x [10, 4] has n real rows, 0 <= n <= 10. Shape returns [0..10, 4..4]. Gather of element
// 1 returns the constant 4, and of element 0 the range 0..10. Sub(100, n) has the corners 100 - 0
// and 100 - 10 and the range 90..100. Because Sub is monotonic in each operand, the corners bound
// all values between them.
#include <algorithm>
#include <array>

#include "base/onnx_dtype.h"
#include "compiler/flow/specializer.h"
#include "ir/newest.h"
#include "ops/facts.h"

namespace poprt::compiler {

using ir::Node;
using ir::Value;

namespace {

constexpr size_t kMaxCorners = 4;  // most operands with a range; each doubles the number of corners

// Whether a Cast is monotonic. One that may wrap around, or that merges several numbers into a
// larger one, is not.
bool cast_rises(DType to, const Value* least) {
  if (is_float(to) || to == DType::s32 || to == DType::s64) return true;
  return to == DType::boolean && !ops::any_below(least, 0);
}

}  // namespace

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
    const auto range = facts.size_range(ctx);
    return range ? std::optional(std::vector{*range}) : std::nullopt;
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
    if (!results) return std::nullopt;
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
