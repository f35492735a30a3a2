// GreedySearch takes the token with the best score. Sampling draws one of the most likely tokens
// according to their probabilities. A text that has ended is continued with padding.
#include <algorithm>
#include <cmath>

#include "ops/common/token_search.h"

namespace poprt::ops {

namespace {

// std::default_random_engine of GNU's C++ library, which ONNX Runtime uses on Linux: x = 16807 x
// mod (2^31 - 1).
constexpr int64_t kFactor = 16807, kModulus = 2147483647;

int64_t factor_of(int64_t steps) {
  int64_t f = 1;
  for (int64_t i = 0; i < steps; i++) f = f * kFactor % kModulus;
  return f;
}

}  // namespace

void TokenSearch::choose_tokens(Value* scores) {
  Value* next = nullptr;
  if (node_.op_type == "Sampling")
    next = sample(filter_top(scores));
  else
    next = op("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{1}}});
  done_ = op("Or", {done_, op("Equal", {next, integer(eos_)})});
  tokens_ = op("Where", {done_, token(pad_), cast(next, DType::s32)});
  texts_ = concat({texts_, tokens_}, 1);
}

// Sets the scores of unlikely tokens to filter_value. With `custom`, these are the tokens after the
// first ones whose probabilities together exceed top_p. Otherwise, these are the tokens whose
// cumulative probability, starting at the least likely, is at most 1 - top_p, except the best
// min_tokens_to_keep, which never include the least likely one.
TokenSearch::Value* TokenSearch::filter_top(Value* scores) {
  const bool custom = node_.int_attr("custom", 0) != 0;
  const float top_p = node_.float_attr("top_p", 0);
  const int64_t v = vocabulary_;
  const auto [sorted, order] = top(scores, v, custom);
  const Attributes along = {{"axis", int64_t{1}}};
  Value* sums = op("CumSum", {op("Softmax", {sorted}, along), integer(1)});
  Tensor kept = Tensor::zeros(DType::boolean, {1, v});
  Value* drop = nullptr;
  if (custom) {
    // Whether a token is kept depends on the sum of the probabilities before it.
    kept.mutable_values<bool>()[0] = true;
    drop =
        op("Greater", {concat({slice(sums, 1, 0, 1), slice(sums, 1, 0, v - 1)}, 1), number(top_p)});
  } else {
    const int64_t keep = std::clamp<int64_t>(node_.int_attr("min_tokens_to_keep", 0), 0, v - 1);
    for (int64_t i = std::max<int64_t>(v - keep, 1); i < v; i++)
      kept.mutable_values<bool>()[static_cast<size_t>(i)] = true;
    drop = op("Not", {op("Greater", {sums, number(1 - top_p)})});
  }
  drop = op("And", {drop, op("Not", {build_.constant(kept)})});
  Value* filtered = op("Where", {drop, number(node_.float_attr("filter_value", -1e20F)), sorted});
  return op("ScatterElements", {scores, order, filtered}, along);
}

// f64 [B, 1] in [0, 1): takes two steps of the generator for each text, in order, like
// std::uniform_real_distribution<double> of GNU.
TokenSearch::Value* TokenSearch::draw() {
  Tensor low = Tensor::zeros(DType::s64, {batch_, 1}), high = low;
  for (int64_t b = 0; b < batch_; b++) {
    low.mutable_values<int64_t>()[static_cast<size_t>(b)] = factor_of(2 * b + 1);
    high.mutable_values<int64_t>()[static_cast<size_t>(b)] = factor_of(2 * b + 2);
  }
  Value* modulus = integer(kModulus);
  if (length_ == prompt_) {
    // A seed that is a multiple of the modulus would stay 0, so it is replaced.
    Value* seed = op("Mod", {generator_, modulus});
    generator_ = op("Where", {op("Equal", {seed, integer(0)}), integer(1), seed});
  }
  const auto digits = [&](const Tensor& factors) {
    Value* x = op("Mod", {op("Mul", {generator_, build_.constant(factors)}), modulus});
    return cast(op("Sub", {x, integer(1)}), DType::f64);
  };
  const auto f64 = [&](double x) { return build_.constant(Tensor::scalar(x)); };
  constexpr double kRange = kModulus - 1;
  Value* sum = op("Add", {digits(low), op("Mul", {digits(high), f64(kRange)})});
  generator_ = op("Mod", {op("Mul", {generator_, integer(factor_of(2 * batch_))}), modulus});
  return op("Min", {op("Div", {sum, f64(kRange * kRange)}), f64(std::nextafter(1.0, 0.0))});
}

TokenSearch::Value* TokenSearch::sample(Value* scores) {
  Value* wide = cast(scores, DType::f64);
  Value* weights = op("Exp", {op("Sub", {wide, reduce("ReduceMax", wide, 1, true)})});
  Value* sums = op("CumSum", {weights, integer(1)});
  Value* wanted = op("Mul", {draw(), slice(sums, 1, vocabulary_ - 1, vocabulary_)});
  // Selects the first token whose cumulative probability is larger. Due to rounding there may be
  // none.
  Value* smaller = cast(op("Not", {op("Greater", {sums, wanted})}), DType::s64);
  Value* next = reduce("ReduceSum", smaller, 1, true);
  return op("Where", {op("Less", {next, integer(vocabulary_)}), next, integer(vocabulary_ - 1)});
}

}  // namespace poprt::ops
