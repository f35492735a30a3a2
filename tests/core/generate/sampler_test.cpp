#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

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

TEST(Sampler, KeepsTokensThatReachTheLimitExactly) {
  const auto drawn = [](const SamplingOptions& options, const std::vector<float>& all) {
    Sampler sampler(options);
    std::map<int64_t, int> counts;
    for (int i = 0; i < 200; i++) {
      std::vector<float> logits = all;
      counts[sampler.choose(logits, {}, {}).id]++;
    }
    std::vector<int64_t> tokens;
    for (const auto& [token, count] : counts) tokens.push_back(token);
    return tokens;
  };
  using Tokens = std::vector<int64_t>;
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.5}, {2, 2}), (Tokens{0}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.51}, {2, 2}), (Tokens{0, 1}));
  EXPECT_EQ(drawn({.temperature = 1, .min_p = 1}, {2, 2, 1}), (Tokens{0, 1}));
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 1}, {1, 2, 2}), (Tokens{1})) << "the lower number";
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 2}, {1, 1, 2, 2}), (Tokens{2, 3}));
  // A token without a chance is not drawn, however high the temperature.
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(drawn({.temperature = 1e6}, {never, 0, never, 3}), (Tokens{1, 3}));
}

TEST(Sampler, IgnoresTokensOutsideOfTheVocabulary) {
  EXPECT_EQ(choose({.repetition_penalty = 1.6}, {-1, 5, 1}, {-1, 5}), 3);
  EXPECT_EQ(choose({}, {-1, 5}, {-1, 5, 1}), 3);
}

TEST(Sampler, PenalisesARepeatedTokenOnce) {
  EXPECT_EQ(choose({.repetition_penalty = 1.4}, {1, 2, 1}), 1);
  Sampler sampler({.repetition_penalty = 2});
  std::vector<float> logits = {0, 1, -1, 4};
  sampler.choose(logits, std::vector<int64_t>{0, 2, 1, 2, 0}, {});
  EXPECT_EQ(logits, (std::vector<float>{0, 0.5f, -2, 4}));
}

TEST(Sampler, GivesTheProbabilityOfGreatLogits) {
  std::vector<float> logits = {2000, 2000, -3000};
  EXPECT_NEAR(Sampler({}).choose(logits, {}, {}).log_probability, std::log(0.5), 1e-6);
  logits = {-2000, -3000};
  EXPECT_NEAR(Sampler({}).choose(logits, {}, {}).log_probability, 0, 1e-6);
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

// Vocabularies that are no multiple of a block, with a greatest logit anywhere.
TEST(Sampler, GivesTheProbabilityAmongManyTokens) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 6);
  for (const size_t size : {1u, 15u, 16u, 17u, 255u, 256u, 4097u, 50257u}) {
    std::vector<float> logits(size);
    for (float& v : logits) v = normal(random);
    logits[random() % size] = -std::numeric_limits<float>::infinity();
    const size_t best = random() % size;
    logits[best] = 40;
    double sum = 0;
    for (const float v : logits) sum += std::exp(static_cast<double>(v) - 40);
    const generate::Token token = Sampler({}).choose(logits, {}, {});
    EXPECT_EQ(token.id, static_cast<int64_t>(best)) << size;
    EXPECT_NEAR(token.log_probability, -std::log(sum), 1e-6) << size;
    logits[random() % size] = 40;
    const auto first = std::ranges::find(logits, 40.0f) - logits.begin();
    EXPECT_EQ(Sampler({}).choose(logits, {}, {}).id, first) << "the first of equal ones";
    logits[random() % size] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(Sampler({}).choose(logits, {}, {}), Error) << size;
  }
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

std::string refusal_of(const SamplingOptions& options) {
  try {
    generate::check(options, 5);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "taken";
}

TEST(Sampler, NamesTheOptionThatIsOutOfRange) {
  const std::string wrong = "invalid_argument: ";
  EXPECT_EQ(refusal_of({.temperature = -1}), wrong + "temperature is -1, expected 0 to 1000000");
  EXPECT_EQ(refusal_of({.temperature = 2e6}),
            wrong + "temperature is 2000000, expected 0 to 1000000");
  EXPECT_EQ(refusal_of({.top_p = 0}), wrong + "top_p is 0, expected 1e-09 to 1");
  EXPECT_EQ(refusal_of({.top_p = 2}), wrong + "top_p is 2, expected 1e-09 to 1");
  EXPECT_EQ(refusal_of({.min_p = -0.5}), wrong + "min_p is -0.5, expected 0 to 1");
  EXPECT_EQ(refusal_of({.min_p = 2}), wrong + "min_p is 2, expected 0 to 1");
  EXPECT_EQ(refusal_of({.repetition_penalty = 0}),
            wrong + "repetition_penalty is 0, expected 0.001 to 1000");
  EXPECT_EQ(refusal_of({.repetition_penalty = 1001}),
            wrong + "repetition_penalty is 1001, expected 0.001 to 1000");
  EXPECT_EQ(refusal_of({.top_k = -1}), wrong + "top_k is -1, must not be negative");
  EXPECT_EQ(refusal_of({.max_new_tokens = -2}),
            wrong + "max_new_tokens is -2, must not be negative");
  EXPECT_EQ(refusal_of({.min_new_tokens = -3}),
            wrong + "min_new_tokens is -3, must not be negative");
  EXPECT_EQ(refusal_of({.max_new_tokens = 5, .min_new_tokens = 6}),
            wrong + "min_new_tokens is 6, and max_new_tokens is 5");
  EXPECT_NO_THROW(generate::check({.max_new_tokens = 5, .min_new_tokens = 5}, 4));
  EXPECT_NO_THROW(generate::check({.min_new_tokens = 6}, 4)) << "until the maximum length";
  EXPECT_EQ(refusal_of({.bad_tokens = {5}}),
            wrong + "bad_tokens: token 5 is outside of the vocabulary of 5");
  EXPECT_EQ(refusal_of({.stop_tokens = {0, -1}}),
            wrong + "stop_tokens: token -1 is outside of the vocabulary of 5");
}

TEST(Sampler, NamesTheFirstOfSeveralOptions) {
  SamplingOptions o = {.temperature = -1,
                       .top_k = -1,
                       .top_p = 0,
                       .min_p = 2,
                       .repetition_penalty = 0,
                       .bad_tokens = {9},
                       .stop_tokens = {9},
                       .max_new_tokens = -1,
                       .min_new_tokens = -1};
  const auto first = [&] { return refusal_of(o).substr(18, 12); };
  EXPECT_EQ(first(), "temperature ");
  o.temperature = 0;
  EXPECT_EQ(first(), "top_p is 0, ");
  o.top_p = 1;
  EXPECT_EQ(first(), "min_p is 2, ");
  o.min_p = 0;
  EXPECT_EQ(first(), "repetition_p");
  o.repetition_penalty = 1;
  EXPECT_EQ(first(), "top_k is -1,");
  o.top_k = 0;
  EXPECT_EQ(first(), "max_new_toke");
  o.max_new_tokens = 0;
  EXPECT_EQ(first(), "min_new_toke");
  o.min_new_tokens = 0;
  EXPECT_EQ(first(), "bad_tokens: ");
  o.bad_tokens.clear();
  EXPECT_EQ(first(), "stop_tokens:");
}

TEST(Sampler, TakesTheEndsOfEachRange) {
  EXPECT_EQ(refusal_of({.temperature = 1e6,
                        .top_p = 1e-9,
                        .min_p = 1,
                        .repetition_penalty = 1e3,
                        .bad_tokens = {0, 4},
                        .stop_tokens = {4, 0}}),
            "taken");
  EXPECT_EQ(refusal_of({.temperature = 0, .top_p = 1, .min_p = 0, .repetition_penalty = 1e-3}),
            "taken");
}

TEST(Sampler, ReportsWhyThereIsNoChoice) {
  const auto message_for = [](std::vector<float> logits) -> std::string {
    try {
      Sampler({}).choose(logits, {}, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
      return e.message();
    }
    return "chosen";
  };
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_for({0, 1, std::nanf("")}), "the logit of token 2 is not a number");
  EXPECT_EQ(message_for({std::nanf(""), 1}), "the logit of token 0 is not a number");
  EXPECT_EQ(message_for({never, never}), "no token is left: all have a logit of -inf");
  EXPECT_EQ(message_for({never, 0}), "chosen");
}

// A temperature so low that a quotient of a logit is infinite has the result of temperature 0.
TEST(Sampler, DrawsTheMostProbableTokenAtTheLowestTemperatures) {
  for (const double t : {1e-308, 1e-310, 1e-40})
    for (const double top_p : {0.5, 1.0})
      for (const double min_p : {0.0, 1.0})
        for (uint64_t seed = 0; seed < 8; seed++)
          EXPECT_EQ(choose({.temperature = t, .top_p = top_p, .min_p = min_p, .seed = seed}), 1);
}

TEST(Sampler, DrawsAmongInfiniteLogits) {
  const float always = std::numeric_limits<float>::infinity();
  for (const double t : {0.0, 1e-308, 1.0, 1e6})
    for (const double top_p : {0.5, 1.0})
      for (uint64_t seed = 0; seed < 8; seed++) {
        Sampler sampler({.temperature = t, .top_p = top_p, .seed = seed});
        std::vector<float> one = {0, 5, always, 5, -always};
        const auto token = sampler.choose(one, {}, {});
        EXPECT_EQ(token.id, 2);
        EXPECT_EQ(token.log_probability, 0);
        std::vector<float> two = {always, 5, always, 5};
        const auto either = sampler.choose(two, {}, {});
        EXPECT_TRUE(either.id == 0 || either.id == 2) << either.id;
        EXPECT_NEAR(either.log_probability, -std::log(2.0), 1e-12);
      }
  const std::vector<float> logits = {always, 5};
  EXPECT_EQ(Sampler({}).forced(logits, 1).log_probability,
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Sampler({}).scores(logits, {}, {}).plain[0], 0);
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
