// recurrent_generic (calls/recurrent_generic.h). A task is one sequence in one direction.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/calls/recurrent_generic.h"
#include "kernels/common/operands.h"
#include "kernels/isa/recurrent.h"

namespace poprt::kernels::recurrent_generic_kernel {
namespace {

using isa::RecurrentActivation;
using isa::RecurrentKind;

struct Activation {
  RecurrentActivation code;
  double alpha, beta;

  double operator()(double x) const noexcept {
    switch (code) {
      case RecurrentActivation::sigmoid: return 1 / (1 + std::exp(-x));
      case RecurrentActivation::tanh: return std::tanh(x);
      case RecurrentActivation::relu: return std::max(x, 0.0);
      case RecurrentActivation::affine: return alpha * x + beta;
      case RecurrentActivation::leaky_relu: return x < 0 ? alpha * x : x;
      case RecurrentActivation::thresholded_relu: return x > alpha ? x : 0;
      case RecurrentActivation::scaled_tanh: return alpha * std::tanh(beta * x);
      case RecurrentActivation::hard_sigmoid: return std::clamp(alpha * x + beta, 0.0, 1.0);
      case RecurrentActivation::elu: return x < 0 ? alpha * std::expm1(x) : x;
      case RecurrentActivation::softsign: return x / (1 + std::fabs(x));
      case RecurrentActivation::softplus:
        return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    }
    return x;
  }
};

constexpr int64_t kMostSteps = 1 << 16;  // if no operand has an element for each step

enum Slot { kX, kW, kR, kBias, kLens, kHFirst, kCFirst, kPeephole, kY, kHLast, kCLast, kSlots };

struct Params {
  RecurrentKind kind;
  int64_t gates, steps, batch, input, hidden, directions;
  bool reverse, batch_first, input_forget;
  double clip;
  std::array<std::array<Activation, 3>, 2> activation;

  // Offsets in elements for sequence b: of its input at a time, of a row of y, of its state.
  int64_t x_at(int64_t time, int64_t b) const {
    return (batch_first ? b * steps + time : time * batch + b) * input;
  }
  int64_t y_at(int64_t time, int64_t d, int64_t b) const {
    return (batch_first ? (b * steps + time) * directions + d
                        : (time * directions + d) * batch + b) *
           hidden;
  }
  int64_t state_at(int64_t d, int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  double clipped(double x) const noexcept { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
};

double dot(const double* a, const double* b, int64_t n) noexcept {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

void sequence(const Params& p, void* const* data, int64_t d, int64_t b, double* scratch) noexcept {
  const int64_t n = p.hidden, gates = p.gates;
  const auto in = [&](Slot slot, int64_t offset) {
    const auto* q = static_cast<const double*>(data[slot]);
    return q ? q + offset : nullptr;
  };
  const double *w = in(kW, d * gates * n * p.input), *r = in(kR, d * gates * n * n),
               *bias = in(kBias, d * 2 * gates * n), *peephole = in(kPeephole, d * 3 * n);
  double *h = scratch, *c = h + n, *next = c + n, *z = next + n, *reset = z + n, *gated = reset + n;
  const auto start = [&](Slot slot, double* to) {
    const double* from = in(slot, p.state_at(d, b));
    for (int64_t u = 0; u < n; u++) to[u] = from ? from[u] : 0;
  };
  start(kHFirst, h);
  start(kCFirst, c);
  const int64_t length =
      data[kLens] ? std::clamp<int64_t>(static_cast<const int32_t*>(data[kLens])[b], 0, p.steps)
                  : p.steps;
  const auto& [f, g, last] = p.activation[static_cast<size_t>(d)];
  auto* y = static_cast<double*>(data[kY]);
  for (int64_t step = 0; step < length; step++) {
    const int64_t time = p.reverse || d == 1 ? length - 1 - step : step;
    const double* x = in(kX, p.x_at(time, b));
    const auto from_x = [&](int64_t gate, int64_t u) {
      const int64_t row = gate * n + u;
      return dot(w + row * p.input, x, p.input) + (bias ? bias[row] : 0);
    };
    const auto from_state = [&](int64_t gate, int64_t u, const double* state) {
      const int64_t row = gate * n + u;
      return dot(r + row * n, state, n) + (bias ? bias[gates * n + row] : 0);
    };
    const auto both = [&](int64_t gate, int64_t u) {
      return from_x(gate, u) + from_state(gate, u, h);
    };
    switch (p.kind) {
      case RecurrentKind::lstm:
        for (int64_t u = 0; u < n; u++) {
          const auto seen = [&](int64_t gate, double cell) {
            return peephole ? peephole[gate * n + u] * cell : 0;
          };
          const double i = f(p.clipped(both(0, u) + seen(0, c[u])));
          const double forget = p.input_forget ? 1 - i : f(p.clipped(both(2, u) + seen(2, c[u])));
          c[u] = forget * c[u] + i * g(p.clipped(both(3, u)));
          next[u] = f(p.clipped(both(1, u) + seen(1, c[u]))) * last(c[u]);
        }
        break;
      case RecurrentKind::gru:
      case RecurrentKind::gru_gates:
        for (int64_t u = 0; u < n; u++) {
          z[u] = f(p.clipped(both(0, u)));
          reset[u] = f(p.clipped(both(1, u)));
          gated[u] = reset[u] * h[u];
        }
        for (int64_t u = 0; u < n; u++) {
          const double state = p.kind == RecurrentKind::gru ? reset[u] * from_state(2, u, h)
                                                            : from_state(2, u, gated);
          next[u] = (1 - z[u]) * g(p.clipped(from_x(2, u) + state)) + z[u] * h[u];
        }
        break;
      default:
        for (int64_t u = 0; u < n; u++) next[u] = f(p.clipped(both(0, u)));
    }
    std::copy(next, next + n, h);
    if (y) std::copy(h, h + n, y + p.y_at(time, d, b));
  }
  for (int64_t time = length; y && time < p.steps; time++)
    std::fill_n(y + p.y_at(time, d, b), n, 0.0);
  const auto store = [&](Slot slot, const double* from) {
    if (data[slot]) std::copy(from, from + n, static_cast<double*>(data[slot]) + p.state_at(d, b));
  };
  store(kHLast, h);
  store(kCLast, c);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t task = begin; task < end; task++)
    sequence(p, data, task / p.batch, task % p.batch, reinterpret_cast<double*>(scratch));
}

Plan prepare(const Call& call) {
  const Operands r("recurrent_generic", call, kSlots);
  const auto c = calls::decode<calls::RecurrentGeneric>(call);
  auto p = std::make_shared<Params>();
  p->kind = c.kind;
  p->gates = std::array<int64_t, 4>{1, 4, 3, 3}[static_cast<size_t>(c.kind)];
  p->steps = c.steps;
  p->batch = c.batch;
  p->input = c.input;
  p->hidden = c.hidden;
  p->directions = c.directions;
  p->reverse = c.reverse;
  p->batch_first = c.batch_first;
  p->input_forget = c.input_forget;
  p->clip = static_cast<double>(c.clip);
  for (size_t i = 0; i < c.activations.size(); i++)
    p->activation[i / 3][i % 3] = {c.activations[i].code,
                                   static_cast<double>(c.activations[i].alpha),
                                   static_cast<double>(c.activations[i].beta)};
  constexpr DType t = DType::f64;
  const int64_t rows = Operands::product({p->directions, p->gates, p->hidden});
  r.needs(kX, t, {p->steps, p->batch, p->input});
  r.needs(kW, t, {rows, p->input});
  r.needs(kR, t, {rows, p->hidden});
  r.needs_if_present(kBias, t, {2, rows});
  r.needs_if_present(kLens, DType::s32, {p->batch});
  r.needs_if_present(kPeephole, t, {p->directions, 3, p->hidden});
  r.needs_if_present(kY, t, {p->steps, p->directions, p->batch, p->hidden});
  for (const Slot slot : {kHFirst, kCFirst, kHLast, kCLast})
    r.needs_if_present(slot, t, {p->directions, p->batch, p->hidden});
  r.check(p->input > 0 || r.has(kY) || p->steps <= kMostSteps,
          "too many steps, which no operand limits");
  const bool any = r.has(kY) || r.has(kHLast) || r.has(kCLast) || (p->steps > 0 && p->input > 0);
  Plan plan;
  plan.outputs = 3;
  plan.run = run;
  plan.tasks = any ? p->directions * p->batch : 0;
  plan.work = static_cast<double>(p->steps) * static_cast<double>(p->batch) *
              static_cast<double>(rows) * static_cast<double>(p->input + p->hidden);
  plan.scratch_bytes = static_cast<size_t>(Operands::product({6, p->hidden, 8}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"recurrent_generic", prepare};

}  // namespace poprt::kernels::recurrent_generic_kernel
