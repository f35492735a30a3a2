// dft (calls/dft.h). A task is one transform. Powers of two use radix-2 passes. Other lengths use
// Bluestein's convolution with a chirp (1970), which uses a transform of a power of two; short
// ones, and those for which its tables would be too large, use the sum of the definition. All
// computations are in double.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/calls/dft.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::dft_kernel {
namespace {

struct Complex {
  double re, im;
};

struct Params : calls::Dft {
  bool radix2 = false;
  std::vector<double> cos, sin;  // of 2 pi i / length; `sin` has the sign of the transform
  // For Bluestein: chirp[k] = e^(+-i pi k^2 / length), and `spectrum` is the transform of its
  // conjugate, wrapped around `size`. `size_cos` and `size_sin` are the table of the forward
  // transform of `size` elements.
  int64_t size = 0;
  std::vector<Complex> chirp, spectrum;
  std::vector<double> size_cos, size_sin;
};

Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

void transform(int64_t n, const std::vector<double>& cos, const std::vector<double>& sin,
               Complex* v) {
  for (int64_t i = 1, j = 0; i < n; i++) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(v[i], v[j]);
  }
  for (int64_t size = 2; size <= n; size *= 2)
    for (int64_t i = 0; i < n; i += size)
      for (int64_t j = 0; j < size / 2; j++) {
        const auto at = static_cast<size_t>(j * (n / size));
        const double c = cos[at], s = sin[at];
        Complex &a = v[i + j], &b = v[i + j + size / 2];
        const Complex t = {b.re * c - b.im * s, b.re * s + b.im * c};
        b = {a.re - t.re, a.im - t.im};
        a = {a.re + t.re, a.im + t.im};
      }
}

// sum_i v[i] w^(ik) = chirp[k] * sum_i (v[i] chirp[i]) conj(chirp[k - i]), because ik = (i^2 + k^2
// - (k - i)^2) / 2. `work` has room for `size` numbers.
void bluestein(const Params& p, const Complex* v, Complex* work, Complex* result) {
  for (int64_t i = 0; i < p.length; i++) work[i] = v[i] * p.chirp[static_cast<size_t>(i)];
  std::fill(work + p.length, work + p.size, Complex{0, 0});
  transform(p.size, p.size_cos, p.size_sin, work);
  // The inverse transform is the conjugate of the forward transform of the conjugate.
  for (int64_t i = 0; i < p.size; i++) {
    const Complex c = work[i] * p.spectrum[static_cast<size_t>(i)];
    work[i] = {c.re, -c.im};
  }
  transform(p.size, p.size_cos, p.size_sin, work);
  const double scale = 1.0 / static_cast<double>(p.size);
  for (int64_t k = 0; k < p.kept; k++)
    result[k] = Complex{work[k].re * scale, -work[k].im * scale} * p.chirp[static_cast<size_t>(k)];
}

void prepare_bluestein(Params& p) {
  p.size = 1;
  while (p.size < 2 * p.length - 1) p.size *= 2;
  const auto turn = [](double numerator, double denominator) {
    return std::numbers::pi * numerator / denominator;
  };
  for (int64_t i = 0; i < p.size; i++) {
    const double angle = turn(2 * static_cast<double>(i), static_cast<double>(p.size));
    p.size_cos.push_back(std::cos(angle));
    p.size_sin.push_back(-std::sin(angle));
  }
  p.spectrum.assign(static_cast<size_t>(p.size), Complex{0, 0});
  for (int64_t k = 0; k < p.length; k++) {
    const double angle =
        turn(static_cast<double>(k * k % (2 * p.length)), static_cast<double>(p.length));
    const Complex c = {std::cos(angle), (p.inverse ? 1 : -1) * std::sin(angle)};
    p.chirp.push_back(c);
    p.spectrum[static_cast<size_t>(k)] = {c.re, -c.im};
    if (k) p.spectrum[static_cast<size_t>(p.size - k)] = {c.re, -c.im};
  }
  transform(p.size, p.size_cos, p.size_sin, p.spectrum.data());
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const T* x = static_cast<const T*>(data[0]);
  const T* window = static_cast<const T*>(data[1]);
  T* y = static_cast<T*>(data[2]);
  auto* v = reinterpret_cast<Complex*>(scratch);
  Complex* r = v + p.length;
  for (int64_t task = begin; task < end; task++) {
    const int64_t inner = task % p.inner, frame = task / p.inner % p.frames,
                  outer = task / p.inner / p.frames;
    const int64_t given = p.half ? p.length / 2 + 1 : p.length;
    for (int64_t i = 0; i < p.length; i++) v[i] = {0, 0};
    for (int64_t i = 0; i < given; i++) {
      const int64_t at = frame * p.step + i;
      if (at >= p.n) break;
      const T* from = x + ((outer * p.n + at) * p.inner + inner) * p.parts;
      const double w = window ? static_cast<double>(window[i]) : 1.0;
      v[i] = {static_cast<double>(from[0]) * w,
              p.parts == 2 ? static_cast<double>(from[1]) * w : 0.0};
    }
    if (p.half)
      for (int64_t i = given; i < p.length; i++) v[i] = {v[p.length - i].re, -v[p.length - i].im};
    const Complex* result = v;
    if (p.radix2) {
      transform(p.length, p.cos, p.sin, v);
    } else if (p.size) {
      result = r;
      bluestein(p, v, r + p.length, r);
    } else {
      result = r;
      for (int64_t k = 0; k < p.kept; k++) {
        Complex sum = {0, 0};
        int64_t turn = 0;
        for (int64_t i = 0; i < p.length; i++) {
          const double c = p.cos[static_cast<size_t>(turn)], s = p.sin[static_cast<size_t>(turn)];
          sum.re += v[i].re * c - v[i].im * s;
          sum.im += v[i].re * s + v[i].im * c;
          turn += k;
          if (turn >= p.length) turn -= p.length;
        }
        r[k] = sum;
      }
    }
    const double scale = p.inverse ? 1.0 / static_cast<double>(p.length) : 1.0;
    for (int64_t k = 0; k < p.kept; k++) {
      T* to = y + (((outer * p.frames + frame) * p.kept + k) * p.inner + inner) * p.y_parts;
      to[0] = static_cast<T>(result[k].re * scale);
      if (p.y_parts == 2) to[1] = static_cast<T>(result[k].im * scale);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("dft", call, 3);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Dft>(call)});
  const DType type = r.dtype(0);
  r.needs(0, type, {p->outer, p->n, p->inner, p->parts});
  r.needs_if_present(1, type, {p->length});
  r.needs(2, type, {p->outer, p->frames, p->kept, p->inner, p->y_parts});
  // Throws if the position of an element of a frame does not fit into 64 bits.
  checked_add(checked_mul(std::max<int64_t>(p->frames - 1, 0), p->step), p->length);
  Plan plan;
  plan.tasks = p->kept ? Operands::product({p->outer, p->frames, p->inner}) : 0;
  // This check limits the tables and the scratch memory of a transform: they are not much larger
  // than its results.
  r.check(plan.tasks == 0 || p->kept > p->length / 2,
          "kept is at most half of length, expected half of the results or all");
  p->radix2 = (p->length & (p->length - 1)) == 0;
  const double sign = p->inverse ? 1 : -1;
  for (int64_t i = 0; plan.tasks && i < p->length; i++) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(p->length);
    p->cos.push_back(std::cos(angle));
    p->sin.push_back(sign * std::sin(angle));
  }
  constexpr int64_t kShort = 32, kLong = int64_t{1} << 22;
  if (plan.tasks && !p->radix2 && p->length > kShort && p->length <= kLong) prepare_bluestein(*p);
  if (type == DType::f32)
    plan.run = run<float>;
  else if (type == DType::f64)
    plan.run = run<double>;
  else
    r.fail_dtype(0);
  const auto length = static_cast<double>(p->length);
  plan.work = static_cast<double>(plan.tasks) * length *
              (p->radix2 ? 2 * std::log2(length + 1)
               : p->size ? 12 * std::log2(length + 1)
                         : 3 * static_cast<double>(p->kept));
  plan.scratch_bytes = static_cast<size_t>(2 * p->length + p->size) * sizeof(Complex);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"dft", prepare};

}  // namespace poprt::kernels::dft_kernel
