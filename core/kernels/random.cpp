// random (calls/random.h).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/calls/random.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/operands.h"
#include "kernels/isa/elementwise.h"

namespace poprt::kernels::random_kernel {
namespace {

using calls::RandomKind;

struct Params : calls::Random {
  explicit Params(const calls::Random& c) : Random(c), current(static_cast<uint64_t>(c.seed)) {}

  bool wide = false;  // results are s64
  int64_t pieces = 0;
  // With `varies`, the first round of a call sets the seed for the second one.
  mutable uint64_t calls = 0, current;
};

constexpr int64_t kTask = 4096;

// SplitMix64 (Steele, Lea, Flood 2014) of seed and place.
uint64_t bits(uint64_t seed, uint64_t place) {
  uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Uniform in [0, 1).
double uniform(uint64_t seed, uint64_t place) {
  return static_cast<double>(bits(seed, place) >> 11) * 0x1p-53;
}

// The number at fraction u, in [0, 1), of the interval [a, b). The difference of two f32 may exceed
// their range but not that of f64, and the rounded result may be b, which is not in the interval.
float between(float a, float b, double u) {
  const double low = static_cast<double>(a), high = static_cast<double>(b);
  const auto v = static_cast<float>(low + (high - low) * u);
  return v == b && a != b ? std::nextafter(b, a) : v;
}

// Draws classes for row `row` with probabilities proportional to exp(x). `sums` is scratch for one
// row.
void draw_row(const Params& p, const float* x, int64_t row, double* sums, void* y) {
  x += row * p.classes;
  double high = -INFINITY, sum = 0;
  for (int64_t c = 0; c < p.classes; c++) high = std::max(high, static_cast<double>(x[c]));
  for (int64_t c = 0; c < p.classes; c++)
    sums[c] = sum += std::exp(static_cast<double>(x[c]) - high);
  for (int64_t i = row * p.samples; i < (row + 1) * p.samples; i++) {
    const double u = uniform(p.current, static_cast<uint64_t>(i));
    const int64_t found = std::upper_bound(sums, sums + p.classes, u * sum) - sums;
    const int64_t c = std::min(found, p.classes - 1);
    if (p.wide)
      static_cast<int64_t*>(y)[i] = c;
    else
      static_cast<int32_t*>(y)[i] = static_cast<int32_t>(c);
  }
}

void run_rows(const void* params, void* const* data, int64_t begin, int64_t end,
              std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t row = begin; row < end; row++)
    draw_row(p, static_cast<const float*>(data[0]), row, reinterpret_cast<double*>(scratch),
             data[1]);
}

// Normal numbers by the method of Box and Muller, a block at a time.
void run_normal(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const isa::ElementwiseTable& table = POPRT_SELECT_ISA(elementwise);
  constexpr int64_t kBlock = 512;
  float radius[kBlock], angle[kBlock];
  const auto apply = [&](ElementwiseOp op, float* v, int64_t n) {
    table.step(static_cast<int64_t>(op), v, v, v, v, n, 0);
  };
  const int64_t last = std::min(end * kTask, p.count);
  for (int64_t first = begin * kTask; first < last; first += kBlock) {
    const int64_t n = std::min(kBlock, last - first);
    for (int64_t i = 0; i < n; i++) {
      const auto place = static_cast<uint64_t>(first + i);
      radius[i] = static_cast<float>(1 - uniform(p.current, 2 * place));
      angle[i] = static_cast<float>(2 * std::numbers::pi * uniform(p.current, 2 * place + 1));
    }
    apply(ElementwiseOp::log, radius, n);
    for (int64_t i = 0; i < n; i++) radius[i] *= -2;
    apply(ElementwiseOp::sqrt, radius, n);
    apply(ElementwiseOp::cos, angle, n);
    float* y = static_cast<float*>(data[1]) + first;
    for (int64_t i = 0; i < n; i++) y[i] = p.a + p.b * (radius[i] * angle[i]);
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  const int64_t last = std::min(end * kTask, p.count * p.samples);
  for (int64_t i = begin * kTask; i < last; i++) {
    const auto place = static_cast<uint64_t>(i);
    const double u = uniform(p.current, place);
    static_cast<float*>(data[1])[i] = p.kind == RandomKind::uniform   ? between(p.a, p.b, u)
                                      : u < static_cast<double>(x[i]) ? 1.0f
                                                                      : 0.0f;
  }
}

// Two rounds: the first task of the first round selects the seed, and the second round draws.
template <RunFn draw>
void run_varying(const void* params, void* const* data, int64_t begin, int64_t end,
                 std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  if (begin == 0) {
    const auto seed = static_cast<uint64_t>(p.seed);
    p.current = p.calls == 0 ? seed : bits(seed, p.calls);
    p.calls++;
  }
  if (end > p.pieces)
    draw(params, data, std::max(begin, p.pieces) - p.pieces, end - p.pieces, scratch);
}

Plan prepare(const Call& call) {
  const Operands r("random", call, 2);
  auto p = std::make_shared<Params>(calls::decode<calls::Random>(call));
  p->wide = r.dtype(1) == DType::s64;
  if (p->kind == RandomKind::bernoulli || p->kind == RandomKind::multinomial)
    r.needs(0, DType::f32, {p->count, p->kind == RandomKind::multinomial ? p->classes : 1});
  r.needs(1,
          p->kind != RandomKind::multinomial ? DType::f32
          : p->wide                          ? DType::s64
                                             : DType::s32,
          {p->count, p->samples});
  Plan plan;
  plan.run = p->varies ? run_varying<run> : run;
  const int64_t results = p->count * p->samples;
  plan.tasks = (results + kTask - 1) / kTask;
  plan.work = static_cast<double>(results) * 5;
  if (p->kind == RandomKind::normal) plan.run = p->varies ? run_varying<run_normal> : run_normal;
  if (p->kind == RandomKind::multinomial) {
    plan.run = p->varies ? run_varying<run_rows> : run_rows;
    plan.tasks = p->count;
    plan.work = static_cast<double>(p->count) * 10 * static_cast<double>(p->classes) +
                50 * static_cast<double>(results);
    plan.scratch_bytes = static_cast<size_t>(checked_mul(p->classes, int64_t{8}));
  }
  p->pieces = plan.tasks;
  if (p->varies) plan.rounds = 2;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"random", prepare};

}  // namespace poprt::kernels::random_kernel
