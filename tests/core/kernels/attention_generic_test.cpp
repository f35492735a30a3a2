// Compares kernel `attention_generic` with loops in double, for all masks, windows and lengths.
#include "kernels/calls/attention_generic.h"

#include <cmath>
#include <limits>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

enum Slot { kQ, kK, kV, kMask, kLengths, kY, kScores, kSlots };

struct Case {
  calls::AttentionGeneric call;
  std::vector<Tensor> operands = std::vector<Tensor>(kSlots);
};

int64_t elements(const Case& c, const std::array<int64_t, 3>& strides, int64_t row) {
  return (c.call.batch - 1) * strides[0] + (c.call.q_heads - 1) * strides[1] +
         (c.call.queries - 1) * strides[2] + row;
}

// Strides of [batch, heads, queries] in which rows have gaps, heads being inside of rows or not.
std::array<int64_t, 3> strides_of(const calls::AttentionGeneric& c, int64_t size, bool packed) {
  const int64_t row = size + 3;
  if (packed) return {c.queries * c.q_heads * row, row, c.q_heads * row};
  return {c.q_heads * c.queries * row, c.queries * row, row};
}

void add_mask(Case& c, DType type, std::mt19937& rng) {
  calls::AttentionGeneric& call = c.call;
  call.mask_keys = test::one_of(rng, {call.keys, call.keys, call.keys + 2, call.keys / 2 + 1});
  const int64_t step = test::one_of(rng, {1, 1, 2, 0}), known = std::min(call.mask_keys, call.keys);
  const int64_t row = std::max<int64_t>(known - 1, 0) * step + 1;
  const auto stride = [&](int64_t dense) { return rng() % 3 ? dense : 0; };
  call.mask = {stride(call.q_heads * call.queries * row), stride(call.queries * row), stride(row),
               step};
  const int64_t count = elements(c, {call.mask[0], call.mask[1], call.mask[2]}, row);
  c.operands[kMask] = test::random_numbers(type, {count}, rng);
  const bool all = rng() % 4 == 0;  // the mask hides all keys
  if (type == DType::boolean)
    for (bool& sees : c.operands[kMask].mutable_values<bool>()) sees = sees && !all;
  const auto hide = [&](auto values) {
    for (auto& v : values)
      if (all || rng() % 4 == 0) v = static_cast<std::remove_reference_t<decltype(v)>>(kNone);
  };
  if (type == DType::f32) hide(c.operands[kMask].mutable_values<float>());
  if (type == DType::f64) hide(c.operands[kMask].mutable_values<double>());
}

Case random_case(DType type, std::mt19937& rng) {
  Case c;
  calls::AttentionGeneric& call = c.call;
  call.batch = test::one_of(rng, {1, 2});
  call.kv_heads = test::one_of(rng, {1, 2});
  call.q_heads = call.kv_heads * test::one_of(rng, {1, 2});
  call.queries = test::one_of(rng, {1, 2, 3, 7, 26});
  call.keys = test::one_of(rng, {1, 5, 19, 50});
  call.head = test::one_of(rng, {1, 5, 8});
  call.v_size = test::one_of(rng, {1, 6, 17});
  if (rng() % 12 == 0)
    call.batch = call.kv_heads = call.q_heads = call.head = 1, call.queries = 200;
  call.causal = rng() % 2;
  call.left = test::one_of(rng, {-1, -1, 0, 3});
  call.right = test::one_of(rng, {-1, -1, 0, 2});
  call.offset = test::one_of(rng, {0, 1, std::max<int64_t>(0, call.keys - call.queries)});
  call.scale = type == DType::f64 && rng() % 2 ? std::nanf("") : 0.75f;
  call.softcap = rng() % 2 ? 1.5f : 0.0f;
  call.stage = static_cast<int64_t>(rng() % 4);
  call.q = strides_of(call, call.head, rng() % 2);
  call.y = strides_of(call, call.v_size, rng() % 2);
  c.operands[kQ] = test::random_numbers(type, {elements(c, call.q, call.head)}, rng);
  c.operands[kK] =
      test::random_numbers(type, {call.batch, call.kv_heads, call.keys, call.head}, rng);
  c.operands[kV] =
      test::random_numbers(type, {call.batch, call.kv_heads, call.keys, call.v_size}, rng);
  c.operands[kY] = Tensor::zeros(type, {elements(c, call.y, call.v_size)});
  if (rng() % 4) add_mask(c, rng() % 2 ? type : DType::boolean, rng);
  if (rng() % 3 == 0) {
    c.operands[kLengths] = Tensor::zeros(DType::s64, {call.batch});
    for (int64_t& length : c.operands[kLengths].mutable_values<int64_t>())
      length = static_cast<int64_t>(rng() % static_cast<size_t>(call.keys + 4)) - 1;
  }
  if (rng() % 2)
    c.operands[kScores] = Tensor::zeros(type, {call.batch, call.q_heads, call.queries, call.keys});
  return c;
}

struct Wanted {
  std::vector<double> y, scores;  // of one query
};

Wanted wanted(const Case& c, const std::vector<std::vector<double>>& values, int64_t b, int64_t h,
              int64_t i) {
  const calls::AttentionGeneric& call = c.call;
  const auto at = [&](Slot slot, int64_t place) {
    return values[slot][static_cast<size_t>(place)];
  };
  const bool with_lengths = c.operands[kLengths].defined(), with_mask = c.operands[kMask].defined();
  const auto keys = static_cast<size_t>(call.keys);
  const int64_t kv = b * call.kv_heads + h / (call.q_heads / call.kv_heads);
  int64_t length = call.keys;
  if (with_lengths)
    length = std::clamp<int64_t>(static_cast<int64_t>(at(kLengths, b)), 0, call.keys);
  const int64_t position = with_lengths ? i + length - call.queries : i + call.offset;
  const double scale = std::isnan(call.scale) ? 1 / std::sqrt(static_cast<double>(call.head))
                                              : static_cast<double>(call.scale);
  std::vector<double> stages[4];
  for (auto& stage : stages) stage.assign(keys, 0);
  double sum = 0;
  for (int64_t j = 0; j < call.keys; j++) {
    const auto to = static_cast<size_t>(j);
    double score = 0;
    for (int64_t d = 0; d < call.head; d++)
      score += at(kQ, b * call.q[0] + h * call.q[1] + i * call.q[2] + d) *
               at(kK, (kv * call.keys + j) * call.head + d);
    stages[0][to] = score *= scale;
    const auto cap = static_cast<double>(call.softcap);
    if (cap > 0) score = cap * std::tanh(score / cap);
    stages[1][to] = score;
    bool sees = j < length && (!call.causal || j <= position) &&
                (call.left < 0 || j >= position - call.left) &&
                (call.right < 0 || j <= position + call.right) &&
                (!with_mask || j < call.mask_keys);
    if (with_mask && sees) {
      const double mask =
          at(kMask, b * call.mask[0] + h * call.mask[1] + i * call.mask[2] + j * call.mask[3]);
      if (c.operands[kMask].dtype() == DType::boolean)
        sees = mask != 0;
      else
        score += mask;
    }
    stages[2][to] = sees ? score : kNone;
    stages[3][to] = std::exp(stages[2][to]);
    sum += stages[3][to];
  }
  Wanted w{std::vector<double>(static_cast<size_t>(call.v_size)), {}};
  for (int64_t j = 0; j < call.keys && sum > 0; j++) {
    const double weight = stages[3][static_cast<size_t>(j)] /= sum;
    for (int64_t d = 0; d < call.v_size; d++)
      w.y[static_cast<size_t>(d)] += weight * at(kV, (kv * call.keys + j) * call.v_size + d);
  }
  w.scores = stages[call.stage];
  return w;
}

void expect_near(double got, double want, double tolerance, const char* what) {
  if (std::isinf(want))
    ASSERT_EQ(got, want) << what;
  else
    ASSERT_NEAR(got, want, tolerance * (1 + std::fabs(want))) << what;
}

class AttentionGeneric : public ::testing::TestWithParam<DType> {};

TEST_P(AttentionGeneric, MatchesLoopsForAnyMaskWindowAndLength) {
  const DType type = GetParam();
  std::mt19937 rng(4);
  for (int n = 0; n < 150; n++) {
    SCOPED_TRACE(n);
    Case c = random_case(type, rng);
    test::expect_needs_every_element(c.call, c.operands);
    test::run_call(c.call, c.operands);
    std::vector<std::vector<double>> values;
    for (const Tensor& t : c.operands)
      values.push_back(t.defined() ? t.to_doubles() : std::vector<double>());
    const double tolerance = type == DType::f64 ? 1e-12 : 2e-5;
    for (int64_t b = 0; b < c.call.batch; b++)
      for (int64_t h = 0; h < c.call.q_heads; h++)
        for (int64_t i = 0; i < c.call.queries; i++) {
          const Wanted w = wanted(c, values, b, h, i);
          const int64_t y = b * c.call.y[0] + h * c.call.y[1] + i * c.call.y[2],
                        row = ((b * c.call.q_heads + h) * c.call.queries + i) * c.call.keys;
          for (size_t d = 0; d < w.y.size(); d++)
            expect_near(values[kY][static_cast<size_t>(y) + d], w.y[d], tolerance, "y");
          for (size_t j = 0; j < w.scores.size() && c.operands[kScores].defined(); j++)
            expect_near(values[kScores][static_cast<size_t>(row) + j], w.scores[j], tolerance,
                        "score");
          if (testing::Test::HasFatalFailure()) return;
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionGeneric, testing::Values(DType::f32, DType::f64),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

TEST(AttentionGenericRefusals, RefusesMismatchedHeadsAndTypes) {
  std::mt19937 rng(1);
  Case c = random_case(DType::f32, rng);
  EXPECT_NO_THROW(test::prepare_call(c.call, c.operands));
  Case heads = c;
  heads.call.kv_heads = c.call.q_heads + 1;
  heads.operands[kK] = Tensor::zeros(DType::f32, {2, 5, 50, 8});
  heads.operands[kV] = Tensor::zeros(DType::f32, {2, 5, 50, 17});
  EXPECT_THROW(test::prepare_call(heads.call, heads.operands), Error);
  for (const Slot slot : {kQ, kK, kV, kY}) {
    Case other = c;
    other.operands[slot] = Tensor::zeros(DType::f64, {other.operands[slot].count()});
    EXPECT_THROW(test::prepare_call(other.call, other.operands), Error) << slot;
    other.operands[slot] = {};
    EXPECT_THROW(test::prepare_call(other.call, other.operands), Error) << slot;
  }
}

}  // namespace
}  // namespace poprt::kernels
