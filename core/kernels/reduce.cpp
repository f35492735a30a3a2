// reduce (calls/reduce.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/reduce.h"
#include "kernels/common/numbers.h"
#include "kernels/isa/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels::reduce_kernel {
namespace {

struct Dim {
  int64_t size, stride;
};

// Converts the result of a root or logarithm; integers saturate.
template <class T>
T number(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return saturate_cast<T>(value);
}

struct Params {
  const isa::ReduceTable* table = nullptr;
  Reduction kind{};
  std::vector<Dim> kept, reduced;  // adjacent dimensions are merged
  int64_t outputs = 1, elements = 1, per_task = 1;
  int64_t inner = 1;           // the last dimension if it is kept
  bool inner_reduced = false;  // the last dimension is reduced
};

constexpr size_t kMaxDims = 16;
constexpr int64_t kShortRow = 256;

template <class T>
struct Accumulator {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  using Wrap = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
};

template <class T>
T log_sum_exp(const Params& p, const T* x) {
  const auto each = [&](auto&& visit) {
    int64_t at[kMaxDims] = {};
    int64_t offset = 0;
    for (int64_t e = 0; e < p.elements; e++) {
      visit(x[offset]);
      for (size_t d = p.reduced.size(); d-- > 0;) {
        offset += p.reduced[d].stride;
        if (++at[d] < p.reduced[d].size) break;
        offset -= p.reduced[d].size * p.reduced[d].stride;
        at[d] = 0;
      }
    }
  };
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  each([&](T v) { top = std::max(top, static_cast<double>(v)); });
  if (!std::isfinite(top)) top = 0;
  each([&](T v) { total += std::exp(static_cast<double>(v) - top); });
  return number<T>(std::log(total) + top);
}

constexpr int64_t kColumns = 64, kLanes = 16;

// sums[j] = join over the reduced dimensions of take(x[... + j]) for `columns` adjacent elements.
// If the last dimension is reduced, one result is computed from kLanes partial ones.
template <class T, class A, class Take, class Join>
void fold(const Params& p, const T* x, int64_t columns, A start, A* sums, Take take, Join join) {
  const size_t dims = p.reduced.size() - (p.inner_reduced ? 1 : 0);
  const int64_t length = p.inner_reduced ? p.reduced.back().size : 1;
  const int64_t runs = length ? p.elements / length : 0;
  std::fill(sums, sums + (p.inner_reduced ? kLanes : columns), start);
  int64_t at[kMaxDims] = {};
  for (int64_t e = 0; e < runs; e++) {
    if (p.inner_reduced) {
      int64_t i = 0;
      for (; i + kLanes <= length; i += kLanes)
        for (int64_t l = 0; l < kLanes; l++) sums[l] = join(sums[l], take(x[i + l]));
      for (int64_t l = 0; i < length; i++, l++) sums[l] = join(sums[l], take(x[i]));
    } else if (columns == kColumns) {
      for (int64_t j = 0; j < kColumns; j++) sums[j] = join(sums[j], take(x[j]));
    } else {
      for (int64_t j = 0; j < columns; j++) sums[j] = join(sums[j], take(x[j]));
    }
    for (size_t d = dims; d-- > 0;) {
      x += p.reduced[d].stride;
      if (++at[d] < p.reduced[d].size) break;
      x -= p.reduced[d].size * p.reduced[d].stride;
      at[d] = 0;
    }
  }
  if (p.inner_reduced)
    for (int64_t step = kLanes / 2; step; step /= 2)
      for (int64_t l = 0; l < step; l++) sums[l] = join(sums[l], sums[l + step]);
}

template <class T>
void reduce_columns(const Params& p, const T* x, T* y, int64_t columns) {
  using Wide = typename Accumulator<T>::Wide;
  using Wrap = typename Accumulator<T>::Wrap;
  if (p.kind == Reduction::log_sum_exp) {
    for (int64_t j = 0; j < columns; j++) y[j] = log_sum_exp(p, x + j);
    return;
  }
  if (p.kind == Reduction::max || p.kind == Reduction::min) {
    using Limits = std::numeric_limits<T>;
    T best[kColumns];
    const auto same = [](T v) { return v; };
    const T low = std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
    const T high = std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
    if (p.kind == Reduction::max)
      fold(p, x, columns, low, best, same, [](T a, T v) { return v > a || v != v ? v : a; });
    else
      fold(p, x, columns, high, best, same, [](T a, T v) { return v < a || v != v ? v : a; });
    std::copy(best, best + columns, y);
    return;
  }
  Wrap sums[kColumns];
  const auto wide = [](T v) { return static_cast<Wrap>(static_cast<Wide>(v)); };
  const auto plus = [](Wrap a, Wrap v) { return a + v; };
  switch (p.kind) {
    case Reduction::prod:
      fold(p, x, columns, Wrap{1}, sums, wide, [](Wrap a, Wrap v) { return a * v; });
      break;
    case Reduction::l1:
      fold(
          p, x, columns, Wrap{0}, sums, [wide](T v) { return v < 0 ? Wrap{0} - wide(v) : wide(v); },
          plus);
      break;
    case Reduction::l2:
    case Reduction::sum_square:
      fold(p, x, columns, Wrap{0}, sums, [wide](T v) { return wide(v) * wide(v); }, plus);
      break;
    default: fold(p, x, columns, Wrap{0}, sums, wide, plus);
  }
  for (int64_t j = 0; j < columns; j++) {
    const Wrap sum = sums[j];
    switch (p.kind) {
      case Reduction::l2: y[j] = number<T>(std::sqrt(static_cast<double>(sum))); break;
      case Reduction::log_sum:
        y[j] = number<T>(std::log(static_cast<double>(static_cast<Wide>(sum))));
        break;
      case Reduction::mean:
        if constexpr (std::is_floating_point_v<T>)
          y[j] = static_cast<T>(sum / static_cast<double>(p.elements));
        else
          y[j] = p.elements == 0
                     ? T(0)
                     : static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(p.elements));
        break;
      default: y[j] = static_cast<T>(sum);
    }
  }
}

// A task is a few outputs, or a block of columns if the last dimension is kept.
template <class T>
void run_any(const void* params, void* const* data, int64_t begin, int64_t end,
             std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* y = static_cast<T*>(data[1]);
  // Without elements, x has no memory and is not read.
  const T* x = p.elements ? static_cast<const T*>(data[0]) : y;
  const int64_t width = p.inner_reduced ? 1 : p.inner;
  const int64_t blocks = (width + kColumns - 1) / kColumns;
  const int64_t last = std::min(end * p.per_task, p.outputs / width * blocks);
  for (int64_t t = begin * p.per_task; t < last; t++) {
    const int64_t column = t % blocks * kColumns, columns = std::min(kColumns, width - column);
    int64_t rest = t / blocks, offset = column;
    const size_t dims = p.kept.size() - (p.inner_reduced || p.kept.empty() ? 0 : 1);
    for (size_t d = dims; d-- > 0;) {
      offset += rest % p.kept[d].size * p.kept[d].stride;
      rest /= p.kept[d].size;
    }
    reduce_columns(p, x + offset, y + t / blocks * width + column, columns);
  }
}

void run_rows(const void* params, void* const* data, int64_t begin, int64_t end,
              std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * p.per_task, last = std::min(end * p.per_task, p.outputs);
  if (p.elements <= kShortRow)
    return p.table->rows(static_cast<int64_t>(p.kind), static_cast<float*>(data[1]) + first,
                         static_cast<const float*>(data[0]) + first * p.elements, last - first,
                         p.elements);
  for (int64_t o = first; o < last; o++)
    static_cast<float*>(data[1])[o] =
        p.table->row(static_cast<int64_t>(p.kind),
                     static_cast<const float*>(data[0]) + o * p.elements, p.elements);
}

// Tasks are blocks of kColumns columns.
void run_columns(const void* params, void* const* data, int64_t begin, int64_t end,
                 std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  for (int64_t t = begin; t < end; t++) {
    const int64_t outer = t / blocks, column = t % blocks * kColumns;
    p.table->columns(static_cast<int64_t>(p.kind),
                     static_cast<float*>(data[1]) + outer * p.inner + column,
                     static_cast<const float*>(data[0]) + outer * p.elements * p.inner + column,
                     p.elements, p.inner, std::min(kColumns, p.inner - column));
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "reduce", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present,
        "expected operands x, y");
  const Operand &x = call.operands[0], &y = call.operands[1];
  check(x.dtype == y.dtype, "operands must have one element type");
  const auto [kind, axes] = calls::decode<calls::Reduce>(call);
  std::vector<bool> is_reduced(x.shape.size(), false);
  for (const int64_t axis : axes) {
    check(axis < static_cast<int64_t>(x.shape.size()), "an axis is out of range");
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(reduce);
  p->kind = kind;
  const auto strides = contiguous_strides(x.shape);
  bool previous = false, first = true;
  std::vector<bool> pattern;
  for (size_t d = 0; d < x.shape.size(); d++) {
    (is_reduced[d] ? p->elements : p->outputs) *= x.shape[d];
    if (x.shape[d] == 1) continue;
    auto& list = is_reduced[d] ? p->reduced : p->kept;
    if (!first && previous == is_reduced[d])
      list.back() = {list.back().size * x.shape[d], strides[d]};
    else {
      list.push_back({x.shape[d], strides[d]});
      pattern.push_back(is_reduced[d]);
    }
    previous = is_reduced[d];
    first = false;
  }
  check(p->reduced.size() <= kMaxDims, "too many dimensions");
  check(element_count(y.shape) == p->outputs, "the result has another size");

  Plan plan;
  const int64_t total = p->outputs * p->elements;
  plan.work = static_cast<double>(total) * 0.15 + static_cast<double>(p->outputs);
  const bool rows = p->kept.size() <= 1 && p->reduced.size() == 1 && pattern.back();
  const bool columns = p->reduced.size() == 1 && !pattern.back() && p->kept.size() <= 2 &&
                       pattern.size() == p->kept.size() + 1;
  p->inner_reduced = !pattern.empty() && pattern.back();
  if (!p->inner_reduced && !p->kept.empty()) p->inner = p->kept.back().size;
  // In a tensor without elements, `inner` may be 0.
  const int64_t width = p->inner_reduced ? 1 : std::max<int64_t>(1, p->inner);
  const int64_t pieces = p->outputs / width * ((width + kColumns - 1) / kColumns);
  p->per_task =
      std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->elements * std::min(width, kColumns)));
  plan.tasks = (pieces + p->per_task - 1) / p->per_task;
  if (x.dtype == DType::f32 && rows) {
    plan.run = run_rows;
    p->per_task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->elements));
    plan.tasks = (p->outputs + p->per_task - 1) / p->per_task;
  } else if (x.dtype == DType::f32 && columns) {
    p->inner = p->kept.back().size;
    plan.run = run_columns;
    plan.tasks =
        p->outputs / std::max<int64_t>(1, p->inner) * ((p->inner + kColumns - 1) / kColumns);
  } else if (!visit_number(x.dtype, [&]<class T>(T) { plan.run = run_any<T>; })) {
    fail(ErrorCode::unimplemented, "kernel reduce: element type {}", dtype_name(x.dtype));
  } else {
    plan.work *= 3;
  }
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"reduce", prepare};

}  // namespace poprt::kernels::reduce_kernel
