// layer_norm (calls/layer_norm.h).
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/calls/layer_norm.h"
#include "kernels/isa/normalize.h"
#include "kernels/kernel.h"

namespace poprt::kernels::layer_norm_kernel {
namespace {

struct Params : calls::LayerNorm {
  const isa::NormalizeTable* table = &POPRT_SELECT_ISA(normalize);
  int64_t rows_per_task = 1;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  const auto* scale = static_cast<const float*>(data[1]);
  const auto* bias = static_cast<const float*>(data[2]);
  auto* y = static_cast<float*>(data[3]);
  auto* mean = static_cast<float*>(data[4]);
  auto* inverse = static_cast<float*>(data[5]);
  const int64_t entries = p.n / p.run;
  const int64_t first = begin * p.rows_per_task, last = std::min(end * p.rows_per_task, p.rows);
  if (p.n <= isa::kShortRow && p.period == 1 && (p.run == 1 || (!scale && !bias)))
    return p.table->normalize_rows(y + first * p.n, x + first * p.n, last - first, p.n, scale, bias,
                                   p.epsilon, p.rms, mean ? mean + first : nullptr,
                                   inverse ? inverse + first : nullptr);
  for (int64_t r = first; r < last; r++) {
    const int64_t at = r % p.period * entries;
    p.table->normalize_row(y + r * p.n, x + r * p.n, p.n, scale ? scale + at : nullptr,
                           bias ? bias + at : nullptr, p.run, p.epsilon, p.rms,
                           mean ? mean + r : nullptr, inverse ? inverse + r : nullptr);
  }
}

void run_double(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto *scale = static_cast<const double*>(data[1]),
             *bias = static_cast<const double*>(data[2]);
  auto *means = static_cast<double*>(data[4]), *inverses = static_cast<double*>(data[5]);
  const int64_t last = std::min(end * p.rows_per_task, p.rows);
  for (int64_t r = begin * p.rows_per_task; r < last; r++) {
    const double* x = static_cast<const double*>(data[0]) + r * p.n;
    double* y = static_cast<double*>(data[3]) + r * p.n;
    const auto n = static_cast<double>(p.n);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < p.n && !p.rms; i++) mean += x[i] / n;
    for (int64_t i = 0; i < p.n; i++) variance += (x[i] - mean) * (x[i] - mean) / n;
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(p.epsilon));
    for (int64_t i = 0; i < p.n; i++) {
      const int64_t entry = r % p.period * (p.n / p.run) + i / p.run;
      const double v = (x[i] - mean) * inverse;
      y[i] = (scale ? v * scale[entry] : v) + (bias ? bias[entry] : 0);
    }
    if (means) means[r] = mean;
    if (inverses) inverses[r] = inverse;
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "layer_norm", what); };
  check(call.operands.size() == 6 && call.operands[0].present && call.operands[3].present,
        "expected operands x, scale, bias, y, mean, inverse");
  const bool in_double = call.operands[0].dtype == DType::f64;
  for (const Operand& o : call.operands)
    check(!o.present || o.dtype == (in_double ? DType::f64 : DType::f32),
          "all operands must be f32, or all f64");
  auto p = std::make_shared<Params>(Params{calls::decode<calls::LayerNorm>(call)});
  const int64_t count = checked_mul(p->rows, p->n);
  const auto elements = [&](size_t i) { return element_count(call.operands[i].shape); };
  check(elements(0) == count && elements(3) == count, "x or y has another size");
  const int64_t entries = checked_mul(p->period, p->n / p->run);
  for (const size_t i : {1, 2})
    check(!call.operands[i].present || elements(i) == entries, "scale or bias has another size");
  for (const size_t i : {4, 5})
    check(!call.operands[i].present || elements(i) == p->rows, "mean or inverse has another size");
  Plan plan;
  plan.outputs = 3;
  plan.run = in_double ? run_double : run;
  p->rows_per_task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->n));
  plan.tasks = count == 0 ? 0 : (p->rows + p->rows_per_task - 1) / p->rows_per_task;
  plan.work = static_cast<double>(count) * 0.3;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"layer_norm", prepare};

}  // namespace poprt::kernels::layer_norm_kernel
