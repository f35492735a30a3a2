// Compares kernel `attention_generic` with loops in double, for all masks, windows and lengths.
#include "kernels/calls/attention_generic.h"

#include <cmath>
#include <limits>

#include "core/kernels/run_call.h"
#include "kernels/calls/quantize_rows.h"

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

// Strides of batch, head and key of k or v: contiguous, or with heads inside of rows.
std::array<int64_t, 3> key_strides(const calls::AttentionGeneric& c, int64_t row, bool packed) {
  if (packed) return {c.keys * c.kv_heads * row, row, c.kv_heads * row};
  return {c.kv_heads * c.keys * row, c.keys * row, row};
}

// The first element of row `j` of k or v.
int64_t row_at(const Case& c, bool is_k, int64_t b, int64_t head, int64_t j) {
  const auto& given = is_k ? c.call.k : c.call.v;
  const auto strides = given == std::array<int64_t, 3>{}
                           ? key_strides(c.call, is_k ? c.call.head : c.call.v_size, false)
                           : given;
  return b * strides[0] + head * strides[1] + j * strides[2];
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
  if (rng() % 3 == 0) {
    call.k = key_strides(call, call.head, rng() % 2);
    call.v = key_strides(call, call.v_size, rng() % 2);
  }
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
  const int64_t kv = h / (call.q_heads / call.kv_heads);
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
               at(kK, row_at(c, true, b, kv, j) + d);
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
      w.y[static_cast<size_t>(d)] += weight * at(kV, row_at(c, false, b, kv, j) + d);
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

// Compares the results of `c` with loops over the operands of `of`.
void expect_wanted(const Case& c, const Case& of, double tolerance) {
  std::vector<std::vector<double>> values;
  for (const Tensor& t : of.operands)
    values.push_back(t.defined() ? t.to_doubles() : std::vector<double>());
  for (const Slot slot : {kY, kScores})
    if (c.operands[slot].defined()) values[slot] = c.operands[slot].to_doubles();
  for (int64_t b = 0; b < c.call.batch; b++)
    for (int64_t h = 0; h < c.call.q_heads; h++)
      for (int64_t i = 0; i < c.call.queries; i++) {
        const Wanted w = wanted(of, values, b, h, i);
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

class AttentionGeneric : public ::testing::TestWithParam<DType> {};

TEST_P(AttentionGeneric, MatchesLoopsForAnyMaskWindowAndLength) {
  const DType type = GetParam();
  std::mt19937 rng(4);
  for (int n = 0; n < 150; n++) {
    SCOPED_TRACE(n);
    Case c = random_case(type, rng);
    test::expect_needs_every_element(c.call, c.operands);
    test::run_call(c.call, c.operands);
    expect_wanted(c, c, type == DType::f64 ? 1e-12 : 2e-5);
    if (testing::Test::HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionGeneric, testing::Values(DType::f32, DType::f64),
                         [](const auto& type) { return std::string(dtype_name(type.param)); });

constexpr int64_t kScaleBytes = 4;

// Replaces keys or values, which are contiguous, by rows of bytes, and the numbers of `plain` by
// those that the bytes represent. Returns the largest magnitude of a row.
double to_bytes(Case& c, Case& plain, Slot slot, int64_t size) {
  const int64_t rows = c.call.batch * c.call.kv_heads * c.call.keys;
  std::vector<Tensor> operands = {c.operands[slot],
                                  Tensor::zeros(DType::s8, {rows, size + kScaleBytes})};
  test::run_call(calls::QuantizeRows{.rows = rows, .size = size}, operands);
  c.operands[slot] = operands[1];
  const auto* bytes = static_cast<const int8_t*>(operands[1].data());
  double most = 0;
  Tensor wide = Tensor::zeros(DType::f32, {rows, size});
  const auto values = wide.mutable_values<float>();
  for (int64_t r = 0; r < rows; r++) {
    const int8_t* row = bytes + r * (size + kScaleBytes);
    float scale = 0;
    std::memcpy(&scale, row + size, sizeof scale);
    for (int64_t d = 0; d < size; d++)
      values[static_cast<size_t>(r * size + d)] = static_cast<float>(row[d]) * scale;
    most = std::max(most, 127.0 * static_cast<double>(scale));
  }
  plain.operands[slot] = wide;
  return most;
}

Case random_plain_case(std::mt19937& rng) {
  Case c = random_case(DType::f32, rng);
  c.call.k = c.call.v = {};
  return c;
}

TEST(AttentionOfBytes, MatchesLoopsForAnyMaskWindowAndLength) {
  std::mt19937 rng(5);
  for (int n = 0; n < 150; n++) {
    SCOPED_TRACE(n);
    Case c = random_plain_case(rng), plain = c;
    to_bytes(c, plain, kK, c.call.head);
    to_bytes(c, plain, kV, c.call.v_size);
    if (rng() % 3 == 0) {
      // Heads inside of rows; the same order if there is one key or one head.
      if (c.call.kv_heads > 1 && c.call.keys > 1) continue;
      c.call.k = key_strides(c.call, c.call.head + kScaleBytes, true);
      c.call.v = key_strides(c.call, c.call.v_size + kScaleBytes, true);
    }
    test::expect_needs_every_element(c.call, c.operands);
    test::run_call(c.call, c.operands);
    expect_wanted(c, plain, 2e-5);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// docs/generation.md states this bound: a number of a row is wrong by at most e = 1/254 of the
// largest magnitude of its row. So a score is wrong by at most d = scale |q|_1 e(k), a weight by a
// factor of at most exp(2d), and a result by at most e(v) + (exp(2d) - 1) max |v|.
TEST(AttentionOfBytes, IsWithinTheStatedErrorOfNumbersThatAreNotRounded) {
  std::mt19937 rng(6);
  double worst = 0;
  for (int n = 0; n < 60; n++) {
    SCOPED_TRACE(n);
    Case c = random_plain_case(rng), rounded = c;
    c.call.softcap = 0;
    c.operands[kScores] = {};
    const Case exact = c;
    const double k = to_bytes(c, rounded, kK, c.call.head),
                 v = to_bytes(c, rounded, kV, c.call.v_size);
    test::run_call(c.call, c.operands);
    double q = 0;
    for (const double x : exact.operands[kQ].to_doubles()) q = std::max(q, std::abs(x));
    const double d = 0.75 * q * static_cast<double>(c.call.head) * k / 254;
    const double bound = v / 254 + std::expm1(2 * d) * v + 1e-5;
    expect_wanted(c, exact, bound);
    if (testing::Test::HasFatalFailure()) return;
    worst = std::max(worst, bound);
  }
  EXPECT_GT(worst, 0.01);
}

TEST(AttentionOfBytes, RefusesRowsOfAnotherType) {
  std::mt19937 rng(1);
  Case c = random_plain_case(rng), plain = c;
  to_bytes(c, plain, kK, c.call.head);
  EXPECT_THROW(test::prepare_call(c.call, c.operands), Error) << "keys only";
  to_bytes(c, plain, kV, c.call.v_size);
  EXPECT_NO_THROW(test::prepare_call(c.call, c.operands));
  Case wide = random_case(DType::f64, rng);
  wide.operands[kK] = Tensor::zeros(DType::s8, {100000});
  wide.operands[kV] = Tensor::zeros(DType::s8, {100000});
  EXPECT_THROW(test::prepare_call(wide.call, wide.operands), Error);
}

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
