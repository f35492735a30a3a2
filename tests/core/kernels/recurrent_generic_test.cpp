#include "kernels/calls/recurrent_generic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using isa::RecurrentActivation;
using isa::RecurrentKind;

// The operands in the order of the call.
enum { kX, kW, kR, kBias, kLens, kHFirst, kCFirst, kPeephole, kY, kHLast, kCLast, kOperands };

// Returns the activation as ONNX defines it.
double activated(const calls::CellActivation& a, double x) {
  const auto alpha = static_cast<double>(a.alpha), beta = static_cast<double>(a.beta);
  switch (a.code) {
    case RecurrentActivation::sigmoid: return 1 / (1 + std::exp(-x));
    case RecurrentActivation::tanh: return std::tanh(x);
    case RecurrentActivation::relu: return x > 0 ? x : 0;
    case RecurrentActivation::affine: return alpha * x + beta;
    case RecurrentActivation::leaky_relu: return x >= 0 ? x : alpha * x;
    case RecurrentActivation::thresholded_relu: return x > alpha ? x : 0;
    case RecurrentActivation::scaled_tanh: return alpha * std::tanh(beta * x);
    case RecurrentActivation::hard_sigmoid: return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case RecurrentActivation::elu: return x >= 0 ? x : alpha * (std::exp(x) - 1);
    case RecurrentActivation::softsign: return x / (1 + std::abs(x));
    case RecurrentActivation::softplus: return std::log(1 + std::exp(x));
  }
  return x;
}

size_t gates_of(RecurrentKind kind) {
  return kind == RecurrentKind::rnn ? 1 : kind == RecurrentKind::lstm ? 4 : 3;
}

// One sequence in one direction, step by step, with vectors of `hidden` numbers.
class Cell {
 public:
  Cell(const calls::RecurrentGeneric& call, const std::vector<Tensor>& operands, size_t d, size_t b)
      : c_(call), d_(d), n_(static_cast<size_t>(call.hidden)) {
    for (const int i : {kX, kW, kR, kBias, kHFirst, kCFirst, kPeephole})
      data_[static_cast<size_t>(i)] = operands[static_cast<size_t>(i)].defined()
                                          ? operands[static_cast<size_t>(i)].to_doubles()
                                          : std::vector<double>();
    h = state(kHFirst, b);
    c = state(kCFirst, b);
  }
  size_t state_at(size_t b) const {
    const auto batch = static_cast<size_t>(c_.batch), dirs = static_cast<size_t>(c_.directions);
    return (c_.batch_first ? b * dirs + d_ : d_ * batch + b) * n_;
  }

  void step(size_t time, size_t b) {
    const auto input = static_cast<size_t>(c_.input), steps = static_cast<size_t>(c_.steps),
               batch = static_cast<size_t>(c_.batch);
    const size_t at = (c_.batch_first ? b * steps + time : time * batch + b) * input;
    x_.assign(data_[kX].begin() + static_cast<std::ptrdiff_t>(at),
              data_[kX].begin() + static_cast<std::ptrdiff_t>(at + input));
    switch (c_.kind) {
      case RecurrentKind::rnn: {
        std::vector<double> next(n_);
        for (size_t u = 0; u < n_; u++) next[u] = f(from_x(0, u) + from_state(0, u, h));
        h = next;
        break;
      }
      case RecurrentKind::lstm: lstm(); break;
      case RecurrentKind::gru:
      case RecurrentKind::gru_gates: gru(); break;
      case RecurrentKind::gru_state: break;  // no call has this kind
    }
  }

  std::vector<double> h, c;

 private:
  std::vector<double> state(int slot, size_t b) const {
    const auto& all = data_[static_cast<size_t>(slot)];
    if (all.empty()) return std::vector<double>(n_);
    const auto at = static_cast<std::ptrdiff_t>(state_at(b));
    return {all.begin() + at, all.begin() + at + static_cast<std::ptrdiff_t>(n_)};
  }
  double bias(size_t which, size_t row) const {
    const size_t rows = gates_of(c_.kind) * n_;
    return data_[kBias].empty() ? 0 : data_[kBias][(d_ * 2 + which) * rows + row];
  }
  double from_x(size_t gate, size_t u) const {
    const size_t row = gate * n_ + u, rows = gates_of(c_.kind) * n_;
    double sum = bias(0, row);
    for (size_t i = 0; i < x_.size(); i++)
      sum += data_[kW][(d_ * rows + row) * x_.size() + i] * x_[i];
    return sum;
  }
  double from_state(size_t gate, size_t u, const std::vector<double>& state) const {
    const size_t row = gate * n_ + u, rows = gates_of(c_.kind) * n_;
    double sum = bias(1, row);
    for (size_t i = 0; i < n_; i++) sum += data_[kR][(d_ * rows + row) * n_ + i] * state[i];
    return sum;
  }
  double seen(size_t gate, size_t u, double cell) const {
    return data_[kPeephole].empty() ? 0 : data_[kPeephole][(d_ * 3 + gate) * n_ + u] * cell;
  }
  double clipped(double x) const {
    const auto clip = static_cast<double>(c_.clip);
    return clip > 0 ? std::min(std::max(x, -clip), clip) : x;
  }
  double apply(size_t which, double x) const {
    return activated(c_.activations[3 * d_ + which], x);
  }
  double f(double x) const { return apply(0, clipped(x)); }
  double g(double x) const { return apply(1, clipped(x)); }

  void lstm() {
    std::vector<double> next(n_);
    for (size_t u = 0; u < n_; u++) {
      const double i = f(from_x(0, u) + from_state(0, u, h) + seen(0, u, c[u]));
      const double forget =
          c_.input_forget ? 1 - i : f(from_x(2, u) + from_state(2, u, h) + seen(2, u, c[u]));
      const double cell = forget * c[u] + i * g(from_x(3, u) + from_state(3, u, h));
      const double o = f(from_x(1, u) + from_state(1, u, h) + seen(1, u, cell));
      next[u] = o * apply(2, cell);
      c[u] = cell;
    }
    h = next;
  }
  void gru() {
    std::vector<double> z(n_), r(n_), gated(n_), next(n_);
    for (size_t u = 0; u < n_; u++) {
      z[u] = f(from_x(0, u) + from_state(0, u, h));
      r[u] = f(from_x(1, u) + from_state(1, u, h));
      gated[u] = r[u] * h[u];
    }
    for (size_t u = 0; u < n_; u++) {
      const double state =
          c_.kind == RecurrentKind::gru ? r[u] * from_state(2, u, h) : from_state(2, u, gated);
      next[u] = (1 - z[u]) * g(from_x(2, u) + state) + z[u] * h[u];
    }
    h = next;
  }

  const calls::RecurrentGeneric& c_;
  const size_t d_, n_;
  std::array<std::vector<double>, kOperands> data_;
  std::vector<double> x_;
};

calls::RecurrentGeneric random_call(std::mt19937& rng) {
  calls::RecurrentGeneric c;
  c.kind = static_cast<RecurrentKind>(rng() % 4);
  c.steps = test::one_of(rng, {0, 1, 3, 4});
  c.batch = test::one_of(rng, {1, 2, 3});
  c.input = test::one_of(rng, {0, 1, 3});
  c.hidden = test::one_of(rng, {1, 2, 5});
  c.directions = test::one_of(rng, {1, 2});
  c.reverse = c.directions == 1 && rng() % 2;
  c.batch_first = rng() % 2;
  c.input_forget = rng() % 2;
  c.clip = rng() % 2 ? 0.0f : 0.75f;
  for (int64_t i = 0; i < 3 * c.directions; i++)
    c.activations.push_back({static_cast<RecurrentActivation>(rng() % 11),
                             static_cast<float>(rng() % 4) / 4, static_cast<float>(rng() % 4) / 4});
  return c;
}

std::vector<Tensor> random_operands(const calls::RecurrentGeneric& c, std::mt19937& rng) {
  const auto numbers = [&](std::initializer_list<int64_t> shape) {
    return test::random_numbers(DType::f64, shape, rng);
  };
  // Small, so that activations without limits do not let states grow.
  const auto weights = [&](std::initializer_list<int64_t> shape) {
    Tensor t = numbers(shape);
    for (double& v : t.mutable_values<double>()) v /= 8;
    return t;
  };
  const auto rows = static_cast<int64_t>(gates_of(c.kind)) * c.hidden;
  std::vector<Tensor> o(kOperands);
  o[kX] = numbers({c.steps, c.batch, c.input});
  o[kW] = weights({c.directions, rows, c.input});
  o[kR] = weights({c.directions, rows, c.hidden});
  if (rng() % 2) o[kBias] = numbers({c.directions, 2, rows});
  if (rng() % 2) {
    o[kLens] = Tensor::zeros(DType::s32, {c.batch});
    for (int32_t& n : o[kLens].mutable_values<int32_t>())
      n = static_cast<int32_t>(rng() % 7) - 1;  // less than zero, and more than there are
  }
  if (rng() % 2) o[kHFirst] = numbers({c.directions, c.batch, c.hidden});
  if (rng() % 2) o[kCFirst] = numbers({c.directions, c.batch, c.hidden});
  if (rng() % 2) o[kPeephole] = weights({c.directions, 3, c.hidden});
  if (rng() % 4) o[kY] = numbers({c.steps, c.directions, c.batch, c.hidden});
  if (rng() % 4) o[kHLast] = numbers({c.directions, c.batch, c.hidden});
  if (rng() % 4) o[kCLast] = numbers({c.directions, c.batch, c.hidden});
  return o;
}

// Every sequence in every direction, compared with the definition.
void expect_right(const calls::RecurrentGeneric& call, std::vector<Tensor> operands) {
  const std::vector<Tensor> given = operands;
  test::run_call(call, operands);
  const auto steps = static_cast<size_t>(call.steps), batch = static_cast<size_t>(call.batch),
             n = static_cast<size_t>(call.hidden), dirs = static_cast<size_t>(call.directions);
  const auto results = [&](int slot) {
    const Tensor& t = operands[static_cast<size_t>(slot)];
    return t.defined() ? t.to_doubles() : std::vector<double>();
  };
  const std::vector<double> y = results(kY), h = results(kHLast), c = results(kCLast);
  const auto compare = [&](const std::vector<double>& found, size_t at,
                           const std::vector<double>& wanted, const char* what) {
    for (size_t u = 0; u < n && !found.empty(); u++)
      ASSERT_NEAR(found[at + u], wanted[u], 1e-9 * std::max(1.0, std::abs(wanted[u]))) << what;
  };
  for (size_t d = 0; d < dirs; d++)
    for (size_t b = 0; b < batch; b++) {
      Cell cell(call, given, d, b);
      size_t length = steps;
      if (given[kLens].defined()) {
        const double given_length = given[kLens].to_doubles()[b];
        length = given_length < 0 ? 0 : std::min(steps, static_cast<size_t>(given_length));
      }
      const auto y_at = [&](size_t time) {
        return (call.batch_first ? (b * steps + time) * dirs + d : (time * dirs + d) * batch + b) *
               n;
      };
      for (size_t k = 0; k < length; k++) {
        const size_t time = call.reverse || d == 1 ? length - 1 - k : k;
        cell.step(time, b);
        compare(y, y_at(time), cell.h, "y");
      }
      for (size_t time = length; time < steps; time++)
        compare(y, y_at(time), std::vector<double>(n), "behind the sequence");
      compare(h, cell.state_at(b), cell.h, "h");
      compare(c, cell.state_at(b), cell.c, "c");
    }
}

TEST(RecurrentGeneric, MatchesTheDefinition) {
  std::mt19937 rng(11);
  for (int round = 0; round < 400; round++) {
    const calls::RecurrentGeneric call = random_call(rng);
    expect_right(call, random_operands(call, rng));
    if (::testing::Test::HasFailure())
      FAIL() << "round " << round << ", kind " << static_cast<int>(call.kind);
  }
}

TEST(RecurrentGeneric, NeedsEveryElement) {
  std::mt19937 rng(12);
  for (int round = 0; round < 40; round++) {
    calls::RecurrentGeneric call = random_call(rng);
    call.steps = call.input = 2;
    const auto operands = random_operands(call, rng);
    const Plan plan = test::prepare_call(call, operands);
    EXPECT_EQ(plan.outputs, 3u);
    EXPECT_EQ(plan.tasks, call.directions * call.batch);
    test::expect_needs_every_element(call, operands);
  }
}

}  // namespace
}  // namespace poprt::kernels
