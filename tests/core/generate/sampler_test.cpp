#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace poprt::test {
namespace {

using generate::Sampler;
using generate::SamplingOptions;

constexpr std::initializer_list<float> kLogits = {1.0f, 3.0f, -1.0f, 2.0f, 0.5f};

int64_t choose(const SamplingOptions& options, std::vector<int64_t> text = {},
               std::vector<int64_t> hidden = {}) {
  Sampler sampler(options);
  std::vector<float> logits = kLogits;
  return sampler.choose(logits, text, hidden).id;
}

// Relative frequencies of many draws of one sampler.
std::map<int64_t, double> frequencies(const SamplingOptions& options) {
  constexpr int kDraws = 40000;
  Sampler sampler(options);
  std::map<int64_t, double> counts;
  for (int i = 0; i < kDraws; i++) {
    std::vector<float> logits = kLogits;
    counts[sampler.choose(logits, {}, {}).id] += 1.0 / kDraws;
  }
  return counts;
}

// The probabilities of the given tokens at a temperature.
std::map<int64_t, double> probabilities(const std::vector<int64_t>& tokens, double temperature) {
  const std::vector<float> logits = kLogits;
  std::map<int64_t, double> p;
  double sum = 0;
  for (const int64_t t : tokens)
    sum += p[t] = std::exp(static_cast<double>(logits[static_cast<size_t>(t)]) / temperature);
  for (auto& [t, v] : p) v /= sum;
  return p;
}

void expect_near(const std::map<int64_t, double>& got, const std::map<int64_t, double>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  for (const auto& [token, p] : wanted)
    EXPECT_NEAR(got.contains(token) ? got.at(token) : 0, p, 0.012) << token;
}

TEST(Sampler, ChoosesTheMostProbableTokenAtTemperature0) { EXPECT_EQ(choose({}), 1); }

TEST(Sampler, ChoosesTheFirstOfEqualTokens) {
  Sampler sampler({});
  std::vector<float> logits = {1, 2, 2};
  EXPECT_EQ(sampler.choose(logits, {}, {}).id, 1);
}

TEST(Sampler, DrawsWithTheProbabilitiesOfTheTemperature) {
  for (const double t : {0.5, 1.0, 3.0})
    expect_near(frequencies({.temperature = t, .seed = 3}), probabilities({0, 1, 2, 3, 4}, t));
}

TEST(Sampler, KeepsTopK) {
  expect_near(frequencies({.temperature = 2, .top_k = 2}), probabilities({1, 3}, 2));
  expect_near(frequencies({.temperature = 2, .top_k = 9}), probabilities({0, 1, 2, 3, 4}, 2));
}

TEST(Sampler, KeepsTheFewestTokensOfTopP) {
  // Probabilities at temperature 1 are 0.62 (1), 0.23 (3), 0.084 (0), 0.05 (4), 0.01 (2).
  expect_near(frequencies({.temperature = 1, .top_p = 0.6}), {{1, 1}});
  expect_near(frequencies({.temperature = 1, .top_p = 0.7}), probabilities({1, 3}, 1));
  expect_near(frequencies({.temperature = 1, .top_p = 0.9}), probabilities({1, 3, 0}, 1));
}

TEST(Sampler, KeepsTokensFromMinPOn) {
  // Token 3 has exp(-1) = 0.37 of the greatest probability, token 0 exp(-2) = 0.14.
  expect_near(frequencies({.temperature = 1, .min_p = 0.3}), probabilities({1, 3}, 1));
  expect_near(frequencies({.temperature = 1, .min_p = 0.13}), probabilities({1, 3, 0}, 1));
}

TEST(Sampler, PenalisesTokensOfTheTextOnce) {
  EXPECT_EQ(choose({.repetition_penalty = 1.4}, {1}), 1);     // 3 / 1.4 > 2
  EXPECT_EQ(choose({.repetition_penalty = 1.4}, {1, 1}), 1);  // not 3 / 1.96
  EXPECT_EQ(choose({.repetition_penalty = 1.6}, {1}), 3);
  Sampler sampler({.repetition_penalty = 4, .bad_tokens = {0, 1, 3, 4}});
  std::vector<float> logits = kLogits;
  EXPECT_EQ(sampler.choose(logits, std::vector<int64_t>{2}, {}).id, 2);
  EXPECT_FLOAT_EQ(logits[2], -4);  // a negative logit is multiplied
}

TEST(Sampler, NeverChoosesBadOrHiddenTokens) {
  EXPECT_EQ(choose({.bad_tokens = {1}}), 3);
  EXPECT_EQ(choose({.bad_tokens = {1}}, {}, {3}), 0);
}

TEST(Sampler, GivesTheProbabilityOfTheModel) {
  const double wanted = std::log(probabilities({0, 1, 2, 3, 4}, 1).at(3));
  Sampler sampler({.temperature = 0.1, .repetition_penalty = 2, .bad_tokens = {1}});
  std::vector<float> logits = kLogits;
  const generate::Token token = sampler.choose(logits, std::vector<int64_t>{0}, {});
  EXPECT_EQ(token.id, 3);
  EXPECT_NEAR(token.log_probability, wanted, 1e-6);
}

TEST(Sampler, GivesEqualTokensForEqualSeeds) {
  const auto text = [](uint64_t seed) {
    Sampler sampler({.temperature = 2, .seed = seed});
    std::vector<int64_t> tokens;
    for (int i = 0; i < 50; i++) {
      std::vector<float> logits = kLogits;
      tokens.push_back(sampler.choose(logits, tokens, {}).id);
    }
    return tokens;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(Sampler, RefusesLogitsWithoutAChoice) {
  EXPECT_THROW(choose({.bad_tokens = {0, 1, 2, 3, 4}}), Error);
  Sampler sampler({});
  std::vector<float> logits = {1, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(sampler.choose(logits, {}, {}), Error);
}

TEST(Sampler, RefusesWrongOptions) {
  const auto fails = [](const SamplingOptions& o) {
    try {
      generate::check(o, 5);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_FALSE(fails({}));
  EXPECT_TRUE(fails({.temperature = -1}));
  EXPECT_TRUE(fails({.temperature = std::nan("")}));
  EXPECT_TRUE(fails({.top_k = -1}));
  EXPECT_TRUE(fails({.top_p = 0}));
  EXPECT_TRUE(fails({.top_p = 1.1}));
  EXPECT_TRUE(fails({.min_p = 2}));
  EXPECT_TRUE(fails({.repetition_penalty = 0}));
  EXPECT_TRUE(fails({.bad_tokens = {5}}));
  EXPECT_TRUE(fails({.stop_tokens = {-1}}));
  EXPECT_TRUE(fails({.max_new_tokens = -1}));
}

}  // namespace
}  // namespace poprt::test
