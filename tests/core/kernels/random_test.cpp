// Tests the operands of kernel `random`, and that its numbers depend only on the seed and their
// position.
#include "kernels/calls/random.h"

#include <cmath>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using calls::RandomKind;

// Returns the operands of a call, with random numbers in those that it reads.
std::vector<Tensor> operands_of(const calls::Random& c, DType result, std::mt19937& rng) {
  const bool reads = c.kind == RandomKind::bernoulli || c.kind == RandomKind::multinomial;
  const int64_t classes = c.kind == RandomKind::multinomial ? c.classes : 1;
  return {reads ? test::random_numbers(DType::f32, {c.count, classes}, rng) : Tensor(),
          Tensor::zeros(result, {c.count, c.samples})};
}

// Results end at any position of a task of 4096 numbers and of a row.
TEST(Random, LongerResultsBeginLikeShorterOnes) {
  for (const RandomKind kind : {RandomKind::uniform, RandomKind::normal, RandomKind::bernoulli}) {
    std::vector<double> longest;
    for (const int64_t count : {9000, 8192, 4097, 4096, 513, 512, 511, 17, 1, 0}) {
      std::mt19937 rng(1);
      const calls::Random c = {.kind = kind, .seed = 7, .count = count, .a = 1, .b = 3};
      std::vector<Tensor> o = operands_of(c, DType::f32, rng);
      test::expect_needs_every_element(c, o);
      test::run_call(c, o);
      const std::vector<double> y = o[1].to_doubles();
      if (longest.empty()) longest = y;
      for (size_t i = 0; i < y.size(); i++)
        ASSERT_NEAR(y[i], longest[i], 1e-5) << count << " " << i;
    }
  }
}

// The seed whose first number is the largest fraction below 1: the inverse of SplitMix64.
int64_t seed_of_largest() {
  const auto unshifted = [](uint64_t v, int by) {
    uint64_t z = v;
    for (int i = 0; i < 64; i += by) z = v ^ (z >> by);
    return z;
  };
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; i++) x *= 2 - odd * x;
    return x;
  };
  uint64_t z = unshifted(~uint64_t{0}, 31) * inverse(0x94d049bb133111ebu);
  z = unshifted(z, 27) * inverse(0xbf58476d1ce4e5b9u);
  return static_cast<int64_t>(unshifted(z, 30) - 0x9e3779b97f4a7c15u);
}

// Every split of the tasks gives the same numbers.
TEST(Random, CallsThatVaryBeginWithTheSeedAndThenDrawNewNumbers) {
  for (const RandomKind kind :
       {RandomKind::uniform, RandomKind::normal, RandomKind::bernoulli, RandomKind::multinomial}) {
    const bool classes = kind == RandomKind::multinomial;
    calls::Random c = {.kind = kind,
                       .seed = 7,
                       .count = classes ? 9 : 9000,
                       .classes = classes ? 50 : 0,
                       .samples = classes ? 20 : 1,
                       .b = 1};
    std::mt19937 rng(1);
    std::vector<Tensor> o = operands_of(c, classes ? DType::s32 : DType::f32, rng);
    if (kind == RandomKind::bernoulli)
      for (float& v : o[0].mutable_values<float>()) v = 0.5f;
    test::run_call(c, o);
    const std::vector<double> first = o[1].to_doubles();
    c.varies = true;
    std::vector<std::vector<double>> all[2];
    for (const bool whole : {false, true}) {
      const Plan plan = test::prepare_call(c, o);
      void* const data[] = {o[0].defined() ? o[0].mutable_data() : nullptr, o[1].mutable_data()};
      std::vector<std::byte> scratch(plan.scratch_bytes);
      for (int call = 0; call < 3; call++) {
        const int64_t tasks = plan.tasks * plan.rounds;
        if (whole) plan.run(plan.params.get(), data, 0, tasks, scratch.data());
        for (int64_t t = 0; t < tasks && !whole; t++)
          plan.run(plan.params.get(), data, t, t + 1, scratch.data());
        all[whole].push_back(o[1].to_doubles());
      }
    }
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0][0], first);
    EXPECT_NE(all[0][1], first);
    EXPECT_NE(all[0][2], first);
    EXPECT_NE(all[0][2], all[0][1]);
  }
}

// An f32 rounds the largest fraction to 1.
TEST(Random, TheLargestFractionIsBelowOne) {
  const int64_t seed = seed_of_largest();
  std::vector<Tensor> o = {Tensor::of<float>({1}, {1.0f}), Tensor::zeros(DType::f32, {1})};
  test::run_call(calls::Random{.kind = RandomKind::bernoulli, .seed = seed, .count = 1}, o);
  EXPECT_EQ(o[1].values<float>()[0], 1) << "the probability is 1";
  constexpr float kHuge = 3e38f;
  for (const auto& [low, high] : {std::pair(0.0f, 1.0f), {1.0f, 2.0f}, {-kHuge, kHuge}}) {
    o[0] = Tensor();
    test::run_call(
        calls::Random{.kind = RandomKind::uniform, .seed = seed, .count = 1, .a = low, .b = high},
        o);
    EXPECT_EQ(o[1].values<float>()[0], std::nextafter(high, low)) << low << " to " << high;
  }
}

TEST(Random, AnIntervalMayBeWiderThanTheRangeOfFloats) {
  std::vector<Tensor> o = {Tensor(), Tensor::zeros(DType::f32, {1000})};
  test::run_call(
      calls::Random{.kind = RandomKind::uniform, .seed = 5, .count = 1000, .a = -3e38f, .b = 3e38f},
      o);
  double least = 0, most = 0;
  for (const double v : o[1].to_doubles()) {
    ASSERT_TRUE(std::abs(v) <= 3.0001e38) << v;
    least = std::min(least, v), most = std::max(most, v);
  }
  EXPECT_LT(least, -2.9e38);
  EXPECT_GT(most, 2.9e38);
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  for (const RandomKind kind : {RandomKind::uniform, RandomKind::normal}) {
    std::mt19937 rng(1);
    constexpr int64_t kCount = 40000;
    const calls::Random c = {.kind = kind, .seed = 3, .count = kCount, .a = -1, .b = 3};
    std::vector<Tensor> o = operands_of(c, DType::f32, rng);
    test::run_call(c, o);
    double sum = 0, squares = 0, least = 1e9, most = -1e9;
    for (const double v : o[1].to_doubles()) {
      sum += v;
      squares += v * v;
      least = std::min(least, v), most = std::max(most, v);
    }
    const bool uniform = kind == RandomKind::uniform;
    const double mean = sum / kCount, deviation = std::sqrt(squares / kCount - mean * mean);
    EXPECT_NEAR(mean, uniform ? 1 : -1, 0.05);
    EXPECT_NEAR(deviation, uniform ? 4 / std::sqrt(12.0) : 3, 0.05);
    if (!uniform) continue;
    EXPECT_GE(least, -1);
    EXPECT_LT(most, 3);
    EXPECT_LT(least, -0.99);
    EXPECT_GT(most, 2.99);
  }
}

TEST(Random, BernoulliIsOneWithProbabilityX) {
  constexpr int64_t kCount = 20000;
  const calls::Random c = {.kind = RandomKind::bernoulli, .seed = 5, .count = kCount};
  const double chances[] = {0, 0.25, 0.75, 1};
  std::vector<Tensor> o = {Tensor::zeros(DType::f32, {kCount, 1}),
                           Tensor::zeros(DType::f32, {kCount, 1})};
  auto x = o[0].mutable_values<float>();
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(chances[i % 4]);
  test::run_call(c, o);
  const std::vector<double> y = o[1].to_doubles();
  double ones[4] = {};
  for (size_t i = 0; i < y.size(); i++) {
    ASSERT_TRUE(y[i] == 0 || y[i] == 1) << i;
    ones[i % 4] += y[i];
  }
  for (size_t k = 0; k < 4; k++)
    EXPECT_NEAR(ones[k] / (kCount / 4), chances[k], chances[k] == 0 || chances[k] == 1 ? 0 : 0.03);
}

// Each row has its own probabilities. They need not sum to one, and exp() may overflow.
TEST(Random, MultinomialDrawsClassesByTheirRow) {
  constexpr int64_t kSamples = 20000;
  const calls::Random c = {
      .kind = RandomKind::multinomial, .seed = 11, .count = 2, .classes = 3, .samples = kSamples};
  const float never = -INFINITY;
  for (const DType type : {DType::s32, DType::s64}) {
    std::vector<Tensor> o = {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(type, {2, kSamples})};
    const float x[] = {1000, 1000 + std::log(3.0f), never, 0, never, std::log(0.25f)};
    const double chances[] = {0.25, 0.75, 0, 0.8, 0, 0.2};
    std::copy(std::begin(x), std::end(x), o[0].mutable_values<float>().begin());
    test::expect_needs_every_element(c, o);
    test::run_call(c, o);
    const std::vector<double> y = o[1].to_doubles();
    double drawn[6] = {};
    for (size_t i = 0; i < y.size(); i++) {
      ASSERT_TRUE(y[i] == 0 || y[i] == 1 || y[i] == 2) << i;
      drawn[i / kSamples * 3 + static_cast<size_t>(y[i])]++;
    }
    for (size_t k = 0; k < 6; k++)
      EXPECT_NEAR(drawn[k] / kSamples, chances[k], chances[k] == 0 ? 0 : 0.02) << k;
  }
}

TEST(Random, AcceptsZeroRowsAndSamples) {
  std::mt19937 rng(1);
  for (const auto& [count, samples] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}}) {
    const calls::Random c = {
        .kind = RandomKind::multinomial, .count = count, .classes = 2, .samples = samples};
    std::vector<Tensor> o = operands_of(c, DType::s32, rng);
    test::run_call(c, o);
  }
}

}  // namespace
}  // namespace poprt::kernels
