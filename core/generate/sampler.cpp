#include "generate/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "kernels/isa/logits.h"

namespace poprt::generate {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

void check_tokens(std::span<const int64_t> tokens, int64_t vocabulary, const char* name) {
  for (const int64_t t : tokens)
    if (t < 0 || t >= vocabulary)
      fail(ErrorCode::invalid_argument, "{}: token {} is outside of the vocabulary of {}", name, t,
           vocabulary);
}

// The first of the greatest logits. Throws failed_precondition if one is not a number.
size_t index_of_greatest(std::span<const float> logits) {
  const int64_t found =
      POPRT_SELECT_ISA(logits).greatest(logits.data(), static_cast<int64_t>(logits.size()));
  if (found < 0)
    fail(ErrorCode::failed_precondition, "the logit of token {} is not a number", -1 - found);
  return static_cast<size_t>(found);
}

// The logarithm of the sum of exp(logit). If some logits are +inf, only they have a probability,
// and the result is the logarithm of their number.
double log_sum_exp(std::span<const float> logits, float most) {
  if (std::isinf(most)) return std::log(static_cast<double>(std::ranges::count(logits, most)));
  const double sum =
      POPRT_SELECT_ISA(logits).sum_of_exp(logits.data(), static_cast<int64_t>(logits.size()), most);
  return static_cast<double>(most) + std::log(sum);
}

// `most` is the greatest logit and `sum` the result of log_sum_exp().
double log_probability(float logit, float most, double sum) {
  if (!std::isinf(most)) return static_cast<double>(logit) - sum;
  return logit == most && most > 0 ? -sum : -std::numeric_limits<double>::infinity();
}

// Each token of the text counts once, as in Hugging Face's transformers.
template <class T>
void penalise(std::span<T> values, std::span<const int64_t> tokens, double repetition_penalty) {
  const auto penalty = static_cast<T>(repetition_penalty);
  std::vector<int64_t> seen(tokens.begin(), tokens.end());
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const int64_t t : seen) {
    if (t < 0 || t >= static_cast<int64_t>(values.size())) continue;
    T& value = values[static_cast<size_t>(t)];
    value = value > 0 ? value / penalty : value * penalty;
  }
}

template <class T>
void hide(std::span<T> values, std::span<const int64_t> tokens, T hidden) {
  for (const int64_t t : tokens)
    if (t >= 0 && t < static_cast<int64_t>(values.size())) values[static_cast<size_t>(t)] = hidden;
}

}  // namespace

void check(const SamplingOptions& o, int64_t vocabulary) {
  const auto range = [](double value, SamplingRange range, const char* name) {
    if (!(value >= range.least && value <= range.most))
      fail(ErrorCode::invalid_argument, "{} is {}, expected {} to {}", name, value, range.least,
           range.most);
  };
  range(o.temperature, kTemperatures, "temperature");
  range(o.top_p, kTopP, "top_p");
  range(o.min_p, kMinP, "min_p");
  range(o.repetition_penalty, kRepetitionPenalties, "repetition_penalty");
  const auto not_negative = [](int64_t value, const char* name) {
    if (value < 0) fail(ErrorCode::invalid_argument, "{} is {}, must not be negative", name, value);
  };
  not_negative(o.top_k, "top_k");
  not_negative(o.max_new_tokens, "max_new_tokens");
  not_negative(o.min_new_tokens, "min_new_tokens");
  if (o.max_new_tokens && o.min_new_tokens > o.max_new_tokens)
    fail(ErrorCode::invalid_argument, "min_new_tokens is {}, and max_new_tokens is {}",
         o.min_new_tokens, o.max_new_tokens);
  check_tokens(o.bad_tokens, vocabulary, "bad_tokens");
  check_tokens(o.stop_tokens, vocabulary, "stop_tokens");
}

Sampler::Sampler(SamplingOptions options) : options_(std::move(options)), random_(options_.seed) {}

void Sampler::set_draws(uint64_t draws) {
  random_.seed(options_.seed);
  random_.discard(draws);
  draws_ = draws;
}

Token Sampler::choose(std::span<float> logits, std::span<const int64_t> tokens,
                      std::span<const int64_t> hidden) {
  size_t best = index_of_greatest(logits);
  const float most = logits[best];
  const double sum = log_sum_exp(logits, most);
  const bool changes = options_.repetition_penalty != 1;
  std::vector<float> original;
  if (changes) original.assign(logits.begin(), logits.end());
  if (changes) penalise(logits, tokens, options_.repetition_penalty);
  for (const std::span<const int64_t> list : {std::span(options_.bad_tokens), hidden})
    hide(logits, list, kHidden);
  if (changes || !options_.bad_tokens.empty() || !hidden.empty()) best = index_of_greatest(logits);
  if (logits[best] == kHidden)
    fail(ErrorCode::failed_precondition, "no token is left: all have a logit of -inf");
  const size_t id = options_.temperature == 0 ? best : static_cast<size_t>(draw(logits));
  const float logit = changes ? original[id] : logits[id];
  return {static_cast<int64_t>(id), log_probability(logit, most, sum)};
}

Token Sampler::forced(std::span<const float> logits, int64_t token) const {
  const float most = logits[index_of_greatest(logits)];
  return {token,
          log_probability(logits[static_cast<size_t>(token)], most, log_sum_exp(logits, most))};
}

Sampler::Scores Sampler::scores(std::span<const float> logits, std::span<const int64_t> tokens,
                                std::span<const int64_t> hidden) const {
  const float most = logits[index_of_greatest(logits)];
  const double sum = log_sum_exp(logits, most);
  Scores all;
  for (const float v : logits) all.plain.push_back(log_probability(v, most, sum));
  all.changed = all.plain;
  if (options_.repetition_penalty != 1)
    penalise(std::span(all.changed), tokens, options_.repetition_penalty);
  for (const std::span<const int64_t> list : {std::span(options_.bad_tokens), hidden})
    hide(std::span(all.changed), list, -std::numeric_limits<double>::infinity());
  return all;
}

int64_t Sampler::draw(std::span<const float> logits) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); i++)
    if (logits[i] > kHidden)
      candidates_.push_back({static_cast<int64_t>(i), static_cast<double>(logits[i])});
  // The more probable token is first; of equal ones, the one with the lower number.
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  };
  const auto wanted = static_cast<size_t>(options_.top_k);
  if (wanted && wanted < candidates_.size()) {
    const auto end = candidates_.begin() + options_.top_k;
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(), before);
    candidates_.erase(end, candidates_.end());
  }
  std::ranges::sort(candidates_, before);
  // The weight of the most probable token is exactly 1. A quotient of logits could be infinite, and
  // the difference of two infinite numbers is not a number.
  const double most = candidates_[0].weight;
  const auto weight_of = [&](double logit) {
    return logit == most ? 1 : std::exp((logit - most) / options_.temperature);
  };
  double sum = 0;
  for (Candidate& c : candidates_) sum += c.weight = weight_of(c.weight);
  size_t count = candidates_.size();
  if (options_.top_p < 1) {
    double part = 0;
    for (count = 0; count < candidates_.size() && part < options_.top_p * sum; count++)
      part += candidates_[count].weight;
  }
  while (count > 1 && candidates_[count - 1].weight < options_.min_p) count--;
  sum = 0;
  for (size_t i = 0; i < count; i++) sum += candidates_[i].weight;
  constexpr double kSteps = 0x1p-53;
  draws_++;
  double left = static_cast<double>(random_() >> 11) * kSteps * sum;
  for (size_t i = 0; i + 1 < count; i++) {
    left -= candidates_[i].weight;
    if (left < 0) return candidates_[i].id;
  }
  return candidates_[count - 1].id;
}

}  // namespace poprt::generate
