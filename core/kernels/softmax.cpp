// softmax (calls/softmax.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "kernels/calls/softmax.h"
#include "kernels/isa/normalize.h"
#include "kernels/kernel.h"

namespace poprt::kernels::softmax_kernel {
namespace {

struct Params : calls::Softmax {
  const isa::NormalizeTable* table = &POPRT_SELECT_ISA(normalize);
  int64_t rows_per_task = 1, column_blocks = 1;
};

// Finds the largest value of a row first, then its place. A NaN is selected only if it is the first
// element.
void hardmax_row(float* y, const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  int64_t best = 0;
  if (x[0] == x[0]) {
    float lanes[kLanes];
    std::fill(lanes, lanes + kLanes, x[0]);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int64_t l = 0; l < kLanes; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    float top = *std::max_element(lanes, lanes + kLanes);
    for (; i < n; i++) top = x[i] > top ? x[i] : top;
    while (x[best] != top) best++;
  }
  std::fill(y, y + n, 0.0f);
  y[best] = 1;
}

template <class T>
void hardmax(T* y, const T* x, int64_t n, int64_t stride) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (x[i * stride] > x[best * stride]) best = i;
  for (int64_t i = 0; i < n; i++) y[i * stride] = i == best ? T{1} : T{0};
}

// f64: a task is one line.
void run_double(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t t = begin; t < end; t++) {
    const int64_t at = t / p.inner * p.n * p.inner + t % p.inner;
    const double* x = static_cast<const double*>(data[0]) + at;
    double* y = static_cast<double*>(data[1]) + at;
    if (p.mode == calls::SoftmaxMode::hardmax) {
      hardmax(y, x, p.n, p.inner);
      continue;
    }
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < p.n; i++) top = x[i * p.inner] > top ? x[i * p.inner] : top;
    for (int64_t i = 0; i < p.n; i++) {
      const double v = x[i * p.inner] - top, e = std::exp(v);
      sum += e;
      y[i * p.inner] = p.mode == calls::SoftmaxMode::logarithm ? v : e;
    }
    const double log = std::log(sum);
    for (int64_t i = 0; i < p.n; i++) {
      double& v = y[i * p.inner];
      v = p.mode == calls::SoftmaxMode::logarithm ? v - log : v / sum;
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  auto* y = static_cast<float*>(data[1]);
  if (p.inner == 1) {
    const int64_t first = begin * p.rows_per_task, last = std::min(end * p.rows_per_task, p.outer);
    // A single row has no other rows with which it could share its last steps.
    if (p.mode != calls::SoftmaxMode::hardmax && p.n <= isa::kShortRow && last - first > 1)
      return p.table->softmax_rows(y + first * p.n, x + first * p.n, last - first, p.n,
                                   p.mode == calls::SoftmaxMode::logarithm);
    for (int64_t r = first; r < last; r++) {
      if (p.mode == calls::SoftmaxMode::hardmax)
        hardmax_row(y + r * p.n, x + r * p.n, p.n);
      else
        p.table->softmax_row(y + r * p.n, x + r * p.n, p.n,
                             p.mode == calls::SoftmaxMode::logarithm);
    }
    return;
  }
  for (int64_t t = begin; t < end; t++) {
    const int64_t column = t % p.column_blocks * 16;
    const int64_t at = t / p.column_blocks * p.n * p.inner + column;
    const int64_t columns = std::min<int64_t>(16, p.inner - column);
    if (p.mode == calls::SoftmaxMode::hardmax) {
      for (int64_t c = 0; c < columns; c++) hardmax(y + at + c, x + at + c, p.n, p.inner);
    } else {
      p.table->softmax_columns(y + at, x + at, p.n, p.inner, columns,
                               p.mode == calls::SoftmaxMode::logarithm);
    }
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "softmax", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present &&
            call.operands[0].dtype == call.operands[1].dtype,
        "expected two operands of one type");
  const bool in_double = call.operands[0].dtype == DType::f64;
  check(in_double || call.operands[0].dtype == DType::f32, "expected f32 or f64");
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Softmax>(call)});
  const int64_t count = checked_mul(checked_mul(p->outer, p->n), p->inner);
  check(count == element_count(call.operands[0].shape) &&
            count == element_count(call.operands[1].shape),
        "the operands have another size");
  Plan plan;
  plan.run = run;
  p->rows_per_task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->n));
  p->column_blocks = (p->inner + 15) / 16;
  plan.tasks = count == 0      ? 0
               : p->inner == 1 ? (p->outer + p->rows_per_task - 1) / p->rows_per_task
                               : p->outer * p->column_blocks;
  plan.work = static_cast<double>(count) * 0.5;
  if (in_double) {
    plan.run = run_double;
    plan.tasks = count == 0 ? 0 : p->outer * p->inner;
    plan.work *= 40;
  }
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"softmax", prepare};

}  // namespace poprt::kernels::softmax_kernel
