#include "generate/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace poprt::generate {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

void check_tokens(std::span<const int64_t> tokens, int64_t vocabulary, const char* name) {
  for (const int64_t t : tokens)
    if (t < 0 || t >= vocabulary)
      fail(ErrorCode::invalid_argument, "{}: token {} is outside of the vocabulary of {}", name, t,
           vocabulary);
}

// A vocabulary has some 100 000 tokens, and each token of a text reads all of their logits. So the
// loops are over blocks of which compilers make vector instructions.
constexpr size_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

// The first of the greatest logits. Throws failed_precondition if one is not a number.
size_t index_of_greatest(std::span<const float> logits) {
  Lanes most;
  most.fill(kHidden);
  std::array<int32_t, kLanes> unordered{};
  const auto look = [&](size_t lane, float v) {
    most[lane] = v > most[lane] ? v : most[lane];
    unordered[lane] |= v != v ? 1 : 0;
  };
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; lane++) look(lane, logits[i + lane]);
  for (; i < logits.size(); i++) look(0, logits[i]);
  if (std::ranges::count(unordered, 1)) {
    const auto found = std::ranges::find_if(logits, [](float v) { return std::isnan(v); });
    fail(ErrorCode::failed_precondition, "the logit of token {} is not a number",
         found - logits.begin());
  }
  const auto best = std::ranges::find(logits, *std::ranges::max_element(most));
  return static_cast<size_t>(best - logits.begin());
}

// exp(x) for x <= 0, with a relative error below 3e-7. Below -87, it is exp(-87).
float exp_of(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  constexpr int32_t kBias = 127, kMantissa = 23;
  const float least = x > -87.0f ? x : -87.0f;
  const float n = (least * kLog2E + kRound) - kRound;
  const float r = (least - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040;
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = p * r + c;
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + kBias) << kMantissa);
}

// The logarithm of the sum of exp(logit). If some logits are +inf, only they have a probability,
// and the result is the logarithm of their number.
double log_sum_exp(std::span<const float> logits, float most) {
  if (std::isinf(most)) return std::log(static_cast<double>(std::ranges::count(logits, most)));
  constexpr size_t kBlock = 16 * kLanes;  // floats are added within a block
  double sum = 0;
  size_t i = 0;
  for (; i + kBlock <= logits.size(); i += kBlock) {
    Lanes part{};
    for (size_t j = i; j < i + kBlock; j += kLanes)
      for (size_t lane = 0; lane < kLanes; lane++) part[lane] += exp_of(logits[j + lane] - most);
    for (const float v : part) sum += static_cast<double>(v);
  }
  for (; i < logits.size(); i++) sum += static_cast<double>(exp_of(logits[i] - most));
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
