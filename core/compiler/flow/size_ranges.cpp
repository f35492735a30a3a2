// Numbers that a model computes from sizes which depend on data (Item::actual): the least and the
// most that each can be. A node computes with the sizes themselves at run time, and with their
// bounds here. The most decides how much room a shape made of such numbers has.
//
// Worked example: x [10, 4] has n real rows, 0 <= n <= 10. Shape gives [0..10, 4..4], Gather of
// place 1 the constant 4, of place 0 the range 0..10, and Sub(100, it) 90..100: every corner is
// computed, 100 - 0 and 100 - 10, and because Sub rises or falls with each operand alone, the least
// and the most corner hold for what lies between.
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

constexpr size_t kMaxCorners = 4;  // operands that vary

bool any_below(const Value* v, double least) {
  const std::vector<double> all = v->constant().to_doubles();
  return std::any_of(all.begin(), all.end(), [&](double x) { return x < least; });
}

// What wraps around, or turns several numbers into one that is larger, does not rise.
bool cast_rises(DType to, const Value* least) {
  if (is_float(to) || to == DType::s32 || to == DType::s64) return true;
  return to == DType::boolean && !any_below(least, 0);
}

// Of an operator with one result.
template <class Range>
std::optional<std::vector<Range>> one_range(const std::optional<Range>& range) {
  return range ? std::optional(std::vector{*range}) : std::nullopt;
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

// Equal when both are one and the same number, different when their ranges are apart.
std::optional<Specializer::Range> Specializer::range_of_equal(const Node&, const Items& in) {
  if (in[0].value->dtype() == DType::boolean) return std::nullopt;
  const auto least = [](const Item& item) { return item.actual ? item.least : item.value; };
  Value *a = least(in[0]), *b = least(in[1]), *a_most = in[0].value, *b_most = in[1].value;
  Value* same = newest("And", {newest("Equal", {a, b_most}), newest("Equal", {a_most, b})});
  Value* apart = newest("Or", {newest("Less", {a_most, b}), newest("Less", {b_most, a})});
  return Range{same, newest("Not", {apart})};
}

// Less than the divisor, and not more than what is divided.
std::optional<Specializer::Range> Specializer::range_of_mod(const Node& n, const Items& in) {
  const auto least = [](const Item& item) { return item.actual ? item.least : item.value; };
  if (is_float(in[0].value->dtype()) || any_below(in[1].value, 1)) return std::nullopt;
  // Without fmod the result has the divisor's sign, whatever the dividend's is.
  const bool negative = any_below(least(in[0]), 0);
  if (negative && (n.int_attr("fmod", 0) != 0 || any_below(least(in[1]), 1))) return std::nullopt;
  Value* one =
      newest("Cast", {integer(1)}, {{"to", onnx_from_dtype(in[0].value->dtype()).value()}});
  Value* most = newest("Sub", {in[1].value, one});
  if (!negative) most = newest("Min", {in[0].value, most});
  return Range{newest("Sub", {most, most}), most};
}

std::optional<std::vector<Specializer::Range>> Specializer::ranges_of(const Node& n,
                                                                      const Items& in) {
  if (!is_standard(n)) return std::nullopt;
  std::vector<size_t> vary;
  for (size_t i = 0; i < in.size(); i++) {
    if (in[i].kind == Item::Kind::none) continue;
    if (in[i].kind != Item::Kind::tensor || in[i].size || !in[i].value->is_constant())
      return std::nullopt;
    if (in[i].actual) vary.push_back(i);
  }
  const ops::Facts& facts = ops::facts_of(n);
  const bool quotient = facts.monotone == ops::Monotone::quotient;
  switch (facts.monotone) {
    case ops::Monotone::none: return std::nullopt;
    case ops::Monotone::equality: return one_range(range_of_equal(n, in));
    case ops::Monotone::remainder: return one_range(range_of_mod(n, in));
    case ops::Monotone::first:
      if (vary != std::vector<size_t>{0}) return std::nullopt;
      break;
    case ops::Monotone::all:
    case ops::Monotone::quotient: break;
  }
  if (vary.size() > kMaxCorners) return std::nullopt;
  if (facts.monotone_from_zero && any_below(in[0].least, 0)) return std::nullopt;
  if (facts.cast == ops::CastForm::to_type) {
    const auto to = in.size() > 1 ? in[1].value->dtype() : dtype_from_onnx(n.int_attr("to", 0));
    if (!to || !cast_rises(*to, in[0].least)) return std::nullopt;
  }

  std::optional<std::vector<Range>> out;
  for (size_t corner = 0; corner < size_t{1} << vary.size(); corner++) {
    Items at = in;
    for (size_t k = 0; k < vary.size(); k++) {
      Item& item = at[vary[k]];
      item = Item::of((corner >> k & 1) != 0 ? item.value : item.least);
    }
    if (quotient && in[1].actual) {
      // Nothing is divided by 0; what has both signs has no bound.
      if (is_float(in[1].value->dtype()) || any_below(in[1].least, 0) || any_below(in[1].value, 1))
        return std::nullopt;
      Value* one =
          newest("Cast", {integer(1)}, {{"to", onnx_from_dtype(in[1].value->dtype()).value()}});
      at[1].value = newest("Max", {at[1].value, one});
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
      Range& r = (*out)[i];
      const bool truth = v->dtype() == DType::boolean;
      r.least = newest(truth ? "And" : "Min", {r.least, v});
      r.most = newest(truth ? "Or" : "Max", {r.most, v});
    }
  }
  return out;
}

std::vector<Specializer::Extent> Specializer::extents(const Node& n, const Item& item) {
  if (!item.value || !item.value->is_constant())
    fail_at(n, ErrorCode::unimplemented,
            "'{}' decides a shape and depends on data, with no bound that is known",
            item.value ? item.value->name() : "");
  const std::vector<int64_t> most = item.value->constant().to_int64s();
  const std::vector<int64_t> least =
      item.actual ? item.least->constant().to_int64s() : std::vector<int64_t>(most);
  std::vector<Extent> out;
  for (size_t k = 0; k < most.size(); k++)
    out.push_back(
        {least[k], most[k],
         least[k] == most[k] ? nullptr : element_of(item.actual, static_cast<int64_t>(k))});
  return out;
}

// Element k of a tensor of sizes, as an s64 scalar: the size itself where the tensor is only put
// together of sizes, so that equal sizes are one value.
Value* Specializer::element_of(Value* v, int64_t k) {
  const auto count = [](const Value* of) { return element_count(of->shape()); };
  const auto constants = [](const Value* of) { return of->constant().to_int64s(); };
  for (;;) {
    const Node* n = v->producer();
    if (!n || n->inputs().empty() || !ir::is_onnx_domain(n->domain)) break;
    const ops::Facts& facts = ops::facts_of(*n);
    Value* first = n->input(0);
    if (!first || !first->type.is_static()) break;
    const auto constant_input = [&](size_t i) {
      return i < n->inputs().size() && n->input(i) && n->input(i)->is_constant();
    };
    if (facts.source == ops::ElementSource::joined && v->shape().size() == 1) {
      for (Value* part : n->inputs()) {
        v = part;
        if (k < count(part)) break;
        k -= count(part);
      }
    } else if (facts.source == ops::ElementSource::itself ||
               facts.source == ops::ElementSource::in_order ||
               (facts.cast == ops::CastForm::to_type && first->dtype() == v->dtype())) {
      v = first;
    } else if (facts.source == ops::ElementSource::picked && first->shape().size() == 1 &&
               constant_input(1)) {
      k = constants(n->input(1))[static_cast<size_t>(k)];
      if (k < 0) k += count(first);
      v = first;
    } else if (facts.source == ops::ElementSource::chosen && constant_input(0) &&
               v->shape().size() <= 1) {
      const std::vector<int64_t> condition = constants(n->input(0));
      const bool yes = condition[condition.size() == 1 ? 0 : static_cast<size_t>(k)] != 0;
      v = n->input(yes ? 1 : 2);
      if (count(v) == 1) k = 0;
    } else {
      break;
    }
  }
  if (count(v) != 1)
    v = newest("Gather", {reshape(v, {count(v)}), integer(k)}, {{"axis", int64_t{0}}});
  v = reshape(v, {});
  return v->dtype() == DType::s64
             ? v
             : newest("Cast", {v}, {{"to", onnx_from_dtype(DType::s64).value()}});
}

Value* Specializer::once(const std::string& op, const std::string& domain,
                         std::initializer_list<Value*> inputs) {
  std::string key = domain + ':' + op;
  for (const Value* v : inputs) key += fmt::format(" {}", static_cast<const void*>(v));
  Value*& made = once_[target_][key];
  if (!made) made = make1(op, inputs, {}, domain);
  return made;
}

Value* Specializer::size_of(const std::string& op, Value* a, Value* b) {
  return once(op, std::string(ir::kNewestDomain), {a, b});
}

}  // namespace poprt::compiler
