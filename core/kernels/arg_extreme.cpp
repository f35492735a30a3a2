// arg_extreme (calls/arg_extreme.h).
#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "kernels/calls/arg_extreme.h"
#include "kernels/common/numbers.h"
#include "kernels/isa/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels::arg_extreme_kernel {
namespace {

using Params = calls::ArgExtreme;

constexpr int64_t kColumns = 64, kLanes = 16, kShortRow = 256, kRowsOfTask = 64;

// A NaN is better than any number, as in NumPy.
template <class T, bool kSmallest>
bool is_better(T v, T b) {
  const bool better = kSmallest ? v < b : v > b;
  if constexpr (std::is_floating_point_v<T>) return better || (v != v && b == b);
  return better;
}
template <class T, bool kSmallest>
bool is_as_good(T v, T b) {
  const bool as_good = kSmallest ? v <= b : v >= b;
  if constexpr (std::is_floating_point_v<T>) return as_good || v != v;
  return as_good;
}

// Finds the best value of one row first, then its place.
template <class T, bool kSmallest>
int64_t best_of_row(const Params& p, const T* x) {
  const auto better = [](T v, T b) { return is_better<T, kSmallest>(v, b); };
  T lanes[kLanes];
  std::fill(lanes, lanes + kLanes, x[0]);
  int64_t i = 0;
  for (; i + kLanes <= p.n; i += kLanes)
    for (int64_t l = 0; l < kLanes; l++)
      lanes[l] = better(x[i + l], lanes[l]) ? x[i + l] : lanes[l];
  T best = lanes[0];
  for (const T v : lanes) best = better(v, best) ? v : best;
  for (; i < p.n; i++) best = better(x[i], best) ? x[i] : best;
  if (best != best) {
    for (i = p.last ? p.n - 1 : 0; x[i] == x[i];) i += p.last ? -1 : 1;
    return i;
  }
  if (p.last) {
    for (i = p.n - 1; x[i] != best;) i--;
    return i;
  }
  for (i = 0; i + kLanes <= p.n; i += kLanes) {
    int found = 0;
    for (int64_t l = 0; l < kLanes; l++) found |= x[i + l] == best;
    if (found) break;
  }
  while (x[i] != best) i++;
  return i;
}

// Processes adjacent columns together.
template <class T, bool kSmallest>
void best_of_columns(const Params& p, const T* x, int64_t columns, int64_t* y) {
  T best[kColumns];
  int32_t at[kColumns] = {};
  std::copy(x, x + columns, best);
  const auto each = [&](int64_t width, auto better) {
    for (int64_t i = 1; i < p.n; i++) {
      const T* row = x + i * p.inner;
      for (int64_t j = 0; j < width; j++) {
        const bool take = better(row[j], best[j]);
        best[j] = take ? row[j] : best[j];
        at[j] = take ? static_cast<int32_t>(i) : at[j];
      }
    }
  };
  const auto walk = [&](auto better) {
    if (columns == kColumns)
      each(kColumns, better);
    else
      each(columns, better);
  };
  if (p.last)
    walk([](T v, T b) { return is_as_good<T, kSmallest>(v, b); });
  else
    walk([](T v, T b) { return is_better<T, kSmallest>(v, b); });
  for (int64_t j = 0; j < columns; j++) y[j] = at[j];
}

// A task is one row, or a block of columns.
template <class T, bool kSmallest>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<int64_t*>(data[1]);
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  for (int64_t t = begin; t < end; t++) {
    if (p.inner == 1) {
      y[t] = best_of_row<T, kSmallest>(p, x + t * p.n);
      continue;
    }
    const int64_t o = t / blocks, column = t % blocks * kColumns;
    best_of_columns<T, kSmallest>(p, x + o * p.n * p.inner + column,
                                  std::min(kColumns, p.inner - column), y + o * p.inner + column);
  }
}

// Processes many short rows of f32 at a time; a row with a NaN is processed individually.
template <bool kSmallest>
void run_short_rows(const void* params, void* const* data, int64_t begin, int64_t end,
                    std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  auto* y = static_cast<int64_t*>(data[1]);
  const int64_t first = begin * kRowsOfTask, last = std::min(end * kRowsOfTask, p.outer);
  POPRT_SELECT_ISA(reduce).arg_rows(kSmallest, p.last, y + first, x + first * p.n, last - first,
                                    p.n);
  for (int64_t r = first; r < last; r++)
    if (y[r] < 0) y[r] = best_of_row<float, kSmallest>(p, x + r * p.n);
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "arg_extreme", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present &&
            call.operands[1].dtype == DType::s64,
        "expected operands x and y (s64)");
  auto p = std::make_shared<Params>(calls::decode<calls::ArgExtreme>(call));
  const int64_t results = checked_mul(p->outer, p->inner);
  check(element_count(call.operands[0].shape) == checked_mul(results, p->n) &&
            element_count(call.operands[1].shape) == results,
        "an operand has another size");
  Plan plan;
  if (!visit_number(call.operands[0].dtype,
                    [&]<class T>(T) { plan.run = p->smallest ? run<T, true> : run<T, false>; }))
    fail(ErrorCode::unimplemented, "kernel arg_extreme: element type {}",
         dtype_name(call.operands[0].dtype));
  plan.tasks = p->inner == 1 ? p->outer : p->outer * ((p->inner + kColumns - 1) / kColumns);
  if (p->inner == 1 && p->n <= kShortRow && call.operands[0].dtype == DType::f32) {
    plan.run = p->smallest ? run_short_rows<true> : run_short_rows<false>;
    plan.tasks = (p->outer + kRowsOfTask - 1) / kRowsOfTask;
  }
  plan.work = static_cast<double>(results) * static_cast<double>(p->n) * 0.3;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"arg_extreme", prepare};

}  // namespace poprt::kernels::arg_extreme_kernel
