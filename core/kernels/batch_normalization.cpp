// batch_normalization (calls/batch_normalization.h). A task is one channel of one image.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/batch_normalization.h"
#include "kernels/isa/normalize.h"
#include "kernels/kernel.h"

namespace poprt::kernels::batch_normalization_kernel {
namespace {

struct Params {
  int64_t channels, pixels;
  double epsilon;
  DType parameters;
  const isa::NormalizeTable* table;
};

double read(DType dtype, const void* data, int64_t i) {
  switch (dtype) {
    case DType::f64: return static_cast<const double*>(data)[i];
    case DType::f16: return static_cast<double>(to_float(static_cast<const f16_t*>(data)[i]));
    case DType::bf16: return static_cast<double>(to_float(static_cast<const bf16_t*>(data)[i]));
    default: return static_cast<double>(static_cast<const float*>(data)[i]);
  }
}

template <class T, class V, V (*widen)(T), T (*narrow)(V)>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t plane = begin; plane < end; plane++) {
    const int64_t c = plane % p.channels;
    const double factor =
        read(p.parameters, data[1], c) / std::sqrt(read(p.parameters, data[4], c) + p.epsilon);
    const V scale = static_cast<V>(factor);
    const V shift =
        static_cast<V>(read(p.parameters, data[2], c) - read(p.parameters, data[3], c) * factor);
    const T* x = static_cast<const T*>(data[0]) + plane * p.pixels;
    T* y = static_cast<T*>(data[5]) + plane * p.pixels;
    if constexpr (std::is_same_v<T, float>) {
      p.table->scale_shift(y, x, p.pixels, scale, shift);
      continue;
    }
    for (int64_t i = 0; i < p.pixels; i++) y[i] = narrow(widen(x[i]) * scale + shift);
  }
}

float same_f32(float v) { return v; }
double same_f64(double v) { return v; }
float widen_f16(f16_t v) { return to_float(v); }
float widen_bf16(bf16_t v) { return to_float(v); }

bool is_plain_float(DType d) {
  return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16;
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "batch_normalization";
  expect(call.operands.size() == 6, kName, "expected 6 operands");
  const auto [n, c, pixels, epsilon] = calls::decode<calls::BatchNormalization>(call);
  const int64_t planes = checked_mul(n, c), count = checked_mul(planes, pixels);
  const DType x = call.operands[0].dtype, parameters = call.operands[1].dtype;
  expect(is_plain_float(x) && is_plain_float(parameters), kName, "expected float operands");
  for (size_t i = 0; i < 6; i++) {
    const Operand& o = call.operands[i];
    const bool big = i == 0 || i == 5;
    expect(o.present && o.dtype == (big ? x : parameters) &&
               dtype_bytes(o.dtype, big ? count : c) <= o.bytes,
           kName, "an operand is missing, too small or of another dtype");
  }
  Plan plan;
  switch (x) {
    case DType::f64: plan.run = run<double, double, same_f64, same_f64>; break;
    case DType::f16: plan.run = run<f16_t, float, widen_f16, to_f16>; break;
    case DType::bf16: plan.run = run<bf16_t, float, widen_bf16, to_bf16>; break;
    default: plan.run = run<float, float, same_f32, same_f32>;
  }
  plan.tasks = count ? planes : 0;
  plan.work = static_cast<double>(count) * 0.15;
  auto p = std::make_shared<Params>();
  *p = {c, pixels, static_cast<double>(epsilon), parameters, &POPRT_SELECT_ISA(normalize)};
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"batch_normalization", prepare};

}  // namespace poprt::kernels::batch_normalization_kernel
