// Kernel `svm_classify` against references in double: the votes of pairs of classes, the
// probabilities as the exact solution of their linear equations, and each transform.
#include <algorithm>
#include <cmath>

#include "core/kernels/run_call.h"
#include "kernels/calls/svm_classify.h"
#include "kernels/kernel.h"

namespace poprt::kernels::test {
namespace {

using calls::SvmClassify;
using Numbers = std::vector<double>;

struct Classified {
  std::vector<int64_t> labels;
  std::vector<float> y;
};

Tensor float_tensor(const std::vector<float>& values) {
  Tensor t = Tensor::zeros(DType::f32, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, t.mutable_values<float>().begin());
  return t;
}

// The labels of classes 0, 1, 2 ... are 10, 11, 12 ...
std::vector<Tensor> operands_of(const SvmClassify& call, const std::vector<float>& scores,
                                const std::vector<float>& a, const std::vector<float>& b) {
  Tensor labels = Tensor::zeros(DType::s64, {call.classes});
  for (int64_t c = 0; c < call.classes; c++)
    labels.mutable_values<int64_t>()[static_cast<size_t>(c)] = 10 + c;
  return {float_tensor(scores),
          labels,
          a.empty() ? Tensor() : float_tensor(a),
          b.empty() ? Tensor() : float_tensor(b),
          Tensor::zeros(DType::s64, {call.rows}),
          Tensor::zeros(DType::f32, {call.rows, call.columns})};
}

Classified classified(const SvmClassify& call, const std::vector<float>& scores,
                      const std::vector<float>& a = {}, const std::vector<float>& b = {}) {
  auto operands = operands_of(call, scores, a, b);
  run_call(call, operands);
  const auto labels = operands[4].values<int64_t>();
  const auto y = operands[5].values<float>();
  return {{labels.begin(), labels.end()}, {y.begin(), y.end()}};
}

SvmClassify pairs_call(int64_t rows, int64_t classes, int64_t columns) {
  SvmClassify call;
  call.rows = rows;
  call.classes = classes;
  call.scores = classes * (classes - 1) / 2;
  call.columns = columns;
  return call;
}

SvmClassify linear_call(int64_t rows, int64_t classes) {
  SvmClassify call;
  call.rows = rows;
  call.classes = call.scores = call.columns = classes;
  call.linear = true;
  return call;
}

// Solves m x = right by elimination with pivots.
Numbers solved(std::vector<Numbers> m, Numbers right) {
  const size_t n = right.size();
  for (size_t c = 0; c < n; c++) {
    size_t pivot = c;
    for (size_t r = c + 1; r < n; r++)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    std::swap(m[c], m[pivot]);
    std::swap(right[c], right[pivot]);
    for (size_t r = 0; r < n; r++) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (size_t k = c; k < n; k++) m[r][k] -= factor * m[c][k];
      right[r] -= factor * right[c];
    }
  }
  for (size_t c = 0; c < n; c++) right[c] /= m[c][c];
  return right;
}

// The probabilities p with sum 1 for which the sum of (r[j][i] p[i] - r[i][j] p[j])^2 over all
// pairs is smallest. The derivatives and the sum are linear equations.
Numbers coupled(const std::vector<Numbers>& r) {
  const size_t k = r.size();
  std::vector<Numbers> m(k + 1, Numbers(k + 1, 0));
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < k; j++) {
      if (i == j) continue;
      m[i][i] += r[j][i] * r[j][i];
      m[i][j] -= r[j][i] * r[i][j];
    }
    m[i][k] = m[k][i] = 1;
  }
  Numbers right(k + 1, 0);
  right[k] = 1;
  Numbers p = solved(m, right);
  p.pop_back();
  return p;
}

// The largest difference of a derivative to their mean with the weights p.
double largest_error(const std::vector<Numbers>& r, const Numbers& p) {
  Numbers derivatives(p.size(), 0);
  double mean = 0, largest = 0;
  for (size_t i = 0; i < p.size(); i++) {
    for (size_t j = 0; j < p.size(); j++)
      if (i != j) derivatives[i] += r[j][i] * (r[j][i] * p[i] - r[i][j] * p[j]);
    mean += p[i] * derivatives[i];
  }
  for (const double d : derivatives) largest = std::max(largest, std::abs(d - mean));
  return largest;
}

TEST(SvmClassify, TheLargestLinearScoreWins) {
  const std::vector<float> scores = {0.25f, 2, -1, 3, 3, 1, -4, -5, -3};
  const Classified found = classified(linear_call(3, 3), scores);
  EXPECT_EQ(found.labels, (std::vector<int64_t>{11, 10, 12})) << "the first one of equal scores";
  EXPECT_EQ(found.y, scores);
}

TEST(SvmClassify, TheSecondOfTwoClassesWinsIfNoCoefficientIsNegative) {
  SvmClassify call = linear_call(4, 2);
  const std::vector<float> scores = {2, 1, 0.5f, 0.25f, 0.25f, 0.125f, -1, -0.5f};
  EXPECT_EQ(classified(call, scores).labels, (std::vector<int64_t>{10, 10, 10, 11}));
  call.all_positive = true;
  EXPECT_EQ(classified(call, scores).labels, (std::vector<int64_t>{11, 11, 10, 11}));
  SvmClassify three = linear_call(1, 3);
  three.all_positive = true;
  EXPECT_EQ(classified(three, {2, 1, 0}).labels, std::vector<int64_t>{10});
  SvmClassify votes = pairs_call(1, 2, 2);
  votes.all_positive = true;
  EXPECT_EQ(classified(votes, {2}).labels, std::vector<int64_t>{10}) << "votes are no scores";
}

TEST(SvmClassify, PairsVoteAndKeepTheirScores) {
  std::mt19937 rng(5);
  for (const int64_t k : {3, 4, 6}) {
    const SvmClassify call = pairs_call(20, k, k * (k - 1) / 2);
    std::vector<float> scores(static_cast<size_t>(call.rows * call.scores));
    for (float& s : scores) s = static_cast<float>(rng() % 5) - 2;
    const Classified found = classified(call, scores);
    EXPECT_EQ(found.y, scores);
    for (int64_t row = 0; row < call.rows; row++) {
      std::vector<int> votes(static_cast<size_t>(k), 0);
      const float* s = scores.data() + row * call.scores;
      for (size_t i = 0; i < votes.size(); i++)
        for (size_t j = i + 1; j < votes.size(); j++) votes[*s++ > 0 ? i : j]++;
      EXPECT_EQ(found.labels[static_cast<size_t>(row)],
                10 + (std::ranges::max_element(votes) - votes.begin()));
    }
  }
}

// The single score of two classes becomes two, which the transform decides.
TEST(SvmClassify, TwoClassesHaveTwoScores) {
  SvmClassify call = pairs_call(3, 2, 2);
  const std::vector<float> scores = {0.75f, -2, 0};
  const auto expect = [&](PostTransform transform, const std::vector<float>& wanted) {
    call.transform = transform;
    const Classified found = classified(call, scores);
    EXPECT_EQ(found.labels, (std::vector<int64_t>{10, 11, 11}));
    ASSERT_EQ(found.y.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); i++) EXPECT_NEAR(found.y[i], wanted[i], 1e-6) << i;
  };
  expect(PostTransform::none, {-0.75f, 0.75f, 2, -2, 0, 0});
  expect(PostTransform::softmax, {0.25f, 0.75f, 3, -2, 1, 0});
  const auto logistic_of = [](float x) { return 1 / (1 + std::exp(-x)); };
  expect(PostTransform::logistic,
         {logistic_of(-0.75f), logistic_of(0.75f), logistic_of(2), logistic_of(-2), 0.5f, 0.5f});
}

TEST(SvmClassify, TransformsChangeTheColumnsOfARow) {
  SvmClassify call = linear_call(2, 3);
  call.transform = PostTransform::softmax;
  const Classified found = classified(call, {1, 2, 0, -1, 5, 5});
  EXPECT_EQ(found.labels, (std::vector<int64_t>{11, 11}));
  const Numbers x = {1, 2, 0, -1, 5, 5};
  for (size_t i = 0; i < x.size(); i++) {
    double sum = 0;
    for (size_t c = 0; c < 3; c++) sum += std::exp(x[i / 3 * 3 + c]);
    EXPECT_NEAR(static_cast<double>(found.y[i]), std::exp(x[i]) / sum, 1e-6);
  }
}

// The kernel iterates until the derivatives of k classes differ by less than 0.005 / k.
TEST(SvmClassify, ProbabilitiesSolveTheCoupling) {
  std::mt19937 rng(7);
  for (const int64_t k : {2, 3, 5}) {
    const SvmClassify call = pairs_call(12, k, k);
    const auto random = [&](int64_t count) {
      std::vector<float> values(static_cast<size_t>(count));
      for (float& v : values) v = static_cast<float>(rng() % 4001) / 1000 - 2;
      return values;
    };
    const auto scores = random(call.rows * call.scores), a = random(call.scores),
               b = random(call.scores);
    const Classified found = classified(call, scores, a, b);
    for (int64_t row = 0; row < call.rows; row++) {
      const auto n = static_cast<size_t>(k);
      std::vector<Numbers> r(n, Numbers(n, 0));
      for (size_t i = 0, at = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++, at++) {
          const auto s = static_cast<double>(scores[static_cast<size_t>(row * call.scores) + at]);
          r[i][j] = 1 / (1 + std::exp(s * static_cast<double>(a[at]) + static_cast<double>(b[at])));
          r[j][i] = 1 - r[i][j];
        }
      const Numbers wanted = coupled(r);
      const float* y = found.y.data() + row * k;
      for (size_t c = 0; c < n; c++)
        EXPECT_NEAR(static_cast<double>(y[c]), wanted[c], 0.006) << k << " classes, row " << row;
      EXPECT_LT(largest_error(r, {y, y + n}), 0.005 / static_cast<double>(k) + 1e-6);
    }
  }
}

// A score that is not a number gives no error that exceeds the limit, so the first probabilities
// stay, as in ONNX Runtime.
TEST(SvmClassify, ScoresThatAreNotNumbersHaveEqualProbabilities) {
  const SvmClassify call = pairs_call(1, 3, 3);
  const std::vector<float> nan(3, NAN), one(3, 1);
  const Classified found = classified(call, nan, one, one);
  EXPECT_EQ(found.labels, std::vector<int64_t>{12});
  EXPECT_EQ(found.y, std::vector<float>(3, 1.0f / 3));
}

// The bytes after the scratch memory stay.
TEST(SvmClassify, UsesItsScratchMemoryOnly) {
  const SvmClassify call = pairs_call(2, 3, 3);
  auto operands = operands_of(call, {1, -1, 0.5f, 2, -3, 1}, {1, 2, 3}, {0, 1, 0.5f});
  const Plan plan = prepare_call(call, operands);
  constexpr size_t kMore = 64;
  Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes + kMore)});
  auto* room = static_cast<std::byte*>(scratch.mutable_data());
  std::fill_n(room, plan.scratch_bytes + kMore, std::byte{0x5a});
  std::vector<void*> data;
  for (Tensor& t : operands) data.push_back(t.mutable_data());
  plan.run(plan.params.get(), data.data(), 0, call.rows, room);
  for (size_t i = 0; i < kMore; i++) EXPECT_EQ(room[plan.scratch_bytes + i], std::byte{0x5a}) << i;
}

// A pair that is certain has probabilities next to 0 and 1, so the coupling divides by no zero.
TEST(SvmClassify, CertainPairsHaveProbabilities) {
  for (const float sign : {1.0f, -1.0f})
    for (const int64_t k : {2, 3}) {
      const SvmClassify call = pairs_call(1, k, k);
      const std::vector<float> scores(static_cast<size_t>(call.scores), 400 * sign),
          a(scores.size(), -1), b(scores.size(), 0);
      const Classified found = classified(call, scores, a, b);
      const size_t wins = sign > 0 ? 0 : static_cast<size_t>(k) - 1;
      EXPECT_EQ(found.labels[0], 10 + static_cast<int64_t>(wins));
      for (size_t c = 0; c < found.y.size(); c++)
        EXPECT_NEAR(found.y[c], c == wins ? 1 : 0, 1e-3) << k << " classes, class " << c;
    }
}

TEST(SvmClassify, ResultsMayBeOmitted) {
  const SvmClassify call = linear_call(2, 3);
  const std::vector<float> scores = {1, 2, 0, -1, 5, 4};
  for (const size_t omitted : {4, 5}) {
    auto operands = operands_of(call, scores, {}, {});
    operands[omitted] = Tensor();
    run_call(call, operands);
    if (omitted == 5)
      EXPECT_EQ(operands[4].to_int64s(), (std::vector<int64_t>{11, 11}));
    else
      EXPECT_EQ(operands[5].to_doubles(), (Numbers{1, 2, 0, -1, 5, 4}));
  }
}

TEST(SvmClassify, RefusesOperandsThatDoNotMatch) {
  const auto expect_refused = [](const SvmClassify& call, const std::vector<Tensor>& operands) {
    try {
      prepare_call(call, operands);
      ADD_FAILURE() << "expected an error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("the number of columns does not match the classes"),
                std::string::npos)
          << e.what();
    }
  };
  const std::vector<float> three = {1, 2, 3}, none;
  const SvmClassify pairs = pairs_call(1, 3, 3), linear = linear_call(1, 3);
  expect_needs_every_element(pairs, operands_of(pairs, three, three, three));
  expect_needs_every_element(linear, operands_of(linear, three, none, none));
  expect_refused(pairs, operands_of(pairs, three, three, none));
  expect_refused(pairs, operands_of(pairs, three, none, three));
  expect_refused(linear, operands_of(linear, three, three, three));
  for (const int64_t columns : {1, 3}) {
    const SvmClassify two = pairs_call(1, 2, columns);
    expect_refused(two, operands_of(two, {1}, none, none));
  }
  const SvmClassify four = pairs_call(1, 4, 4);  // with probabilities; otherwise 6 columns
  const std::vector<float> six(6, 1);
  EXPECT_NO_THROW(prepare_call(four, operands_of(four, six, six, six)));
  expect_refused(four, operands_of(four, six, none, none));
  SvmClassify more = linear;
  more.columns = 4;
  expect_refused(more, operands_of(more, three, none, none));
}

// A device refuses programs whose written operands are weights.
TEST(SvmClassify, WritesLabelsAndScores) {
  const SvmClassify call = linear_call(1, 3);
  EXPECT_EQ(prepare_call(call, operands_of(call, {1, 2, 3}, {}, {})).outputs, 2u);
}

// The memory is for the scores, the votes, two matrices and a vector.
TEST(SvmClassify, ATaskIsARow) {
  const SvmClassify call = linear_call(7, 3);
  EXPECT_EQ(prepare_call(call, operands_of(call, std::vector<float>(21, 1), {}, {})).tasks, 7);
  const SvmClassify pairs = pairs_call(1, 4, 6);
  EXPECT_EQ(prepare_call(pairs, operands_of(pairs, std::vector<float>(6, 1), {}, {})).scratch_bytes,
            8u * (6 + 4 + 2 * 4 * 4 + 4));
  const SvmClassify empty = linear_call(0, 3);
  EXPECT_EQ(prepare_call(empty, operands_of(empty, {}, {}, {})).tasks, 0);
}

}  // namespace
}  // namespace poprt::kernels::test
