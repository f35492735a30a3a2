#include "passes/token_places.h"

#include <algorithm>

#include "ops/op.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;
using ops::SizeRule;

struct Question {
  const Node& node;
  std::span<const Tokens> inputs;
  TokenPlaces places;
  Tokens form = Tokens::none;  // of the inputs that have tokens
  ByToken answer = {};

  size_t lead() const { return form == Tokens::matrix ? 2 : 1; }
  const Shape& in(size_t i) const { return node.input(i)->shape(); }
  const Shape& out() const { return node.output()->shape(); }
  bool only_first() const {
    for (size_t i = 0; i < inputs.size(); i++)
      if ((inputs[i] != Tokens::none) != (i == 0)) return false;
    return true;
  }
  bool behind_tokens(int64_t axis) const {
    return normalize_axis(axis, static_cast<int64_t>(in(0).size())) >= static_cast<int64_t>(lead());
  }
};

// An operand without tokens in an operator that goes element by element.
bool fits_all_tokens(Question& q, size_t i) {
  const Value* v = q.node.input(i);
  if (!v->type.is_static()) return false;
  const Shape &s = v->shape(), &out = q.out();
  if (s.size() + q.lead() <= out.size()) return true;
  const size_t missing = out.size() - s.size();
  const auto at = [&](size_t axis) { return axis < missing ? int64_t{1} : s[axis - missing]; };
  if (q.form == Tokens::flat) return at(0) == 1;
  if (at(1) == 1) return at(0) == 1;
  if (at(0) != 1) return false;
  q.answer.by_place.push_back(i);
  return true;
}

bool per_element(Question& q) {
  for (size_t i = 0; i < q.inputs.size(); i++) {
    if (!q.node.input(i)) continue;
    if (q.inputs[i] == Tokens::none) {
      if (!fits_all_tokens(q, i)) return false;
    } else if (q.in(i).size() != q.out().size()) {
      return false;
    }
  }
  return true;
}

bool product(Question& q) {
  const auto untouched = [&](size_t i) {
    const Value* v = q.node.input(i);
    return v && v->type.is_static();
  };
  q.answer.heavy = true;
  if (!q.only_first() || !untouched(1) || q.in(1).size() != 2 || q.in(0).size() <= q.lead())
    return false;
  if (q.node.int_attr("transA", 0) != 0) return false;
  // The bias of a Gemm.
  return !untouched(2) || q.in(2).size() < 2 || q.in(2)[0] == 1;
}

bool gather(Question& q) {
  const int64_t axis = q.node.int_attr("axis", 0);
  if (q.inputs[0] != Tokens::none) return q.only_first() && q.behind_tokens(axis);
  q.answer.heavy = true;
  return normalize_axis(axis, static_cast<int64_t>(q.in(0).size())) == 0;
}

// Where elements stay in their order: the first dimensions of the result tell.
bool keeps_order(Question& q) {
  const Shape& s = q.out();
  if (!q.only_first() || s.empty()) return false;
  if (s.size() > 1 && s[0] == q.places.rows && s[1] == q.places.length)
    q.answer.result = Tokens::matrix;
  else if (s[0] == q.places.rows * q.places.length)
    q.answer.result = Tokens::flat;
  else
    return false;
  return true;
}

bool transpose(const Question& q) {
  const std::vector<int64_t> perm = q.node.ints_attr("perm");
  if (perm.size() < q.lead()) return false;
  for (size_t i = 0; i < q.lead(); i++)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool reduction(const Question& q) {
  const auto axes = ints_param(q.node, "axes", 1);
  return axes && !axes->empty() && q.only_first() &&
         std::ranges::all_of(*axes, [&](int64_t a) { return q.behind_tokens(a); });
}

bool along_axis(const Question& q, int64_t standard) {
  return q.only_first() && q.behind_tokens(q.node.int_attr("axis", standard));
}

bool all_along_axis(const Question& q) {
  return std::ranges::none_of(q.inputs, [](Tokens t) { return t == Tokens::none; }) &&
         q.behind_tokens(q.node.int_attr("axis", 0));
}

bool slice(const Question& q) {
  const auto axes = ints_param(q.node, "axes", 3);
  return axes && !axes->empty() && q.only_first() &&
         std::ranges::all_of(*axes, [&](int64_t a) { return q.behind_tokens(a); });
}

bool by_rule(Question& q, const ops::Facts& facts) {
  if (facts.per_element) return per_element(q);
  if (!q.node.input(0) || !q.node.input(0)->type.is_static()) return false;
  switch (facts.size_rule) {
    case SizeRule::product: return product(q);
    case SizeRule::normalization: return along_axis(q, -1);
    case SizeRule::softmax: return along_axis(q, q.node.opset() < 13 ? 1 : -1);
    case SizeRule::gather: return gather(q);
    case SizeRule::reshape:
    case SizeRule::flatten:
    case SizeRule::squeeze:
    case SizeRule::unsqueeze: return keeps_order(q);
    case SizeRule::transpose: return transpose(q);
    case SizeRule::concat: return all_along_axis(q);
    case SizeRule::split: return along_axis(q, 0);
    case SizeRule::slice: return slice(q);
    case SizeRule::reduce_from_least:
    case SizeRule::reduce_from_most:
    case SizeRule::reduce_from_one:
    case SizeRule::reduce_from_zero:
    case SizeRule::reduce_mean: return reduction(q);
    default: return false;
  }
}

}  // namespace

std::optional<ByToken> computed_by_token(const Node& node, std::span<const Tokens> inputs,
                                         TokenPlaces places) {
  Question q{node, inputs, places};
  for (const Tokens t : inputs) {
    if (t == Tokens::none) continue;
    if (t == Tokens::elsewhere || (q.form != Tokens::none && q.form != t)) return std::nullopt;
    q.form = t;
  }
  if (q.form == Tokens::none) return std::nullopt;
  q.answer.result = q.form;
  for (const Value* v : node.outputs())
    if (!v->type.is_static()) return std::nullopt;
  if (!by_rule(q, ops::facts_of(node))) return std::nullopt;
  return q.answer;
}

}  // namespace poprt::passes
