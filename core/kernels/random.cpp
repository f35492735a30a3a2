// random: operands [x?, y], f32: numbers that depend on the seed and their place alone, so that
// every run repeats them. ints: [kind, seed, count, classes, samples]. kind 0: uniform in [a, b);
// 1: normal with mean a and deviation b; 2: 1 with probability x[i], else 0; 3: y [count, samples]
// s32 / s64 classes drawn with probability proportional to exp(x [count, classes]). floats: [a, b].
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t kind;
  uint64_t seed;
  int64_t count, classes, samples;
  bool wide;
  float a, b;
};

constexpr int64_t kTask = 4096;

// Uniform in [0, 1): SplitMix64 (Steele, Lea, Flood 2014) of seed and place.
double uniform(uint64_t seed, uint64_t place) {
  uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int64_t draw(const Params& p, const float* x, double u) {
  double high = -INFINITY, sum = 0;
  for (int64_t c = 0; c < p.classes; c++) high = std::max(high, static_cast<double>(x[c]));
  for (int64_t c = 0; c < p.classes; c++) sum += std::exp(static_cast<double>(x[c]) - high);
  double rest = u * sum;
  for (int64_t c = 0; c < p.classes; c++) {
    rest -= std::exp(static_cast<double>(x[c]) - high);
    if (rest < 0) return c;
  }
  return p.classes - 1;
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  const int64_t last = std::min(end * kTask, p.count * p.samples);
  for (int64_t i = begin * kTask; i < last; i++) {
    const auto place = static_cast<uint64_t>(i);
    if (p.kind == 3) {
      const int64_t c = draw(p, x + i / p.samples * p.classes, uniform(p.seed, place));
      if (p.wide)
        static_cast<int64_t*>(data[1])[i] = c;
      else
        static_cast<int32_t*>(data[1])[i] = static_cast<int32_t>(c);
      continue;
    }
    float v;
    if (p.kind == 1) {  // Box and Muller
      const double radius = std::sqrt(-2 * std::log(1 - uniform(p.seed, 2 * place)));
      const double angle = 2 * std::numbers::pi * uniform(p.seed, 2 * place + 1);
      v = p.a + p.b * static_cast<float>(radius * std::cos(angle));
    } else {
      const auto u = static_cast<float>(uniform(p.seed, place));
      v = p.kind == 0 ? p.a + (p.b - p.a) * u : u < x[i] ? 1.0f : 0.0f;
    }
    static_cast<float*>(data[1])[i] = v;
  }
}

Plan prepare(const Call& call) {
  const CallReader r("random", call, 2, 5, 2);
  auto p = std::make_shared<Params>();
  p->kind = r.size(0);
  p->seed = static_cast<uint64_t>(r.integer(1));
  p->count = r.size(2);
  p->classes = r.size(3);
  p->samples = r.size(4);
  p->a = r.real(0);
  p->b = r.real(1);
  r.check(p->kind <= 3, "bad kind");
  r.check(p->kind == 3 ? p->classes >= 1 : p->samples == 1, "bad classes or samples");
  p->wide = r.dtype(1) == DType::s64;
  if (p->kind >= 2) r.needs(0, DType::f32, {p->count, p->kind == 3 ? p->classes : 1});
  r.needs(1, p->kind != 3 ? DType::f32 : p->wide ? DType::s64 : DType::s32, {p->count, p->samples});
  Plan plan;
  plan.run = run;
  const int64_t results = p->count * p->samples;
  plan.tasks = (results + kTask - 1) / kTask;
  plan.work = static_cast<double>(results) * (20 + 20 * static_cast<double>(p->classes));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel random_kernel;
const Kernel random_kernel = {"random", prepare};

}  // namespace poprt::kernels
