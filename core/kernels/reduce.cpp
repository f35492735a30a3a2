// reduce: operands [x, y] of one dtype (f32, f64, integers, bool), y with the elements of x's kept
// dimensions in order. ints: [kind (common/reduction.h), axes that are reduced...]. Empty
// reductions give the neutral element (max and min: the lowest and highest value). Integer sums and
// products wrap, means truncate.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/checked.h"
#include "kernels/common/numbers.h"
#include "kernels/common/reduction.h"
#include "kernels/isa/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

struct Dim {
  int64_t size, stride;
};

struct Params {
  const isa::ReduceTable* table = nullptr;
  Reduction kind{};
  std::vector<Dim> kept, reduced;  // collapsed
  int64_t outputs = 1, elements = 1, per_task = 1;
  int64_t inner = 1;  // of the fast column case
};

constexpr size_t kMaxDims = 16;

template <class T>
struct Accumulator {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  using Wrap = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
};

template <class T>
T reduce_one(const Params& p, const T* x) {
  using Wide = typename Accumulator<T>::Wide;
  using Wrap = typename Accumulator<T>::Wrap;
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
  const auto from_double = [](double v) { return static_cast<T>(v); };
  switch (p.kind) {
    case Reduction::max:
    case Reduction::min: {
      using Limits = std::numeric_limits<T>;
      const bool max = p.kind == Reduction::max;
      T best;
      if constexpr (std::is_floating_point_v<T>)
        best = max ? -Limits::infinity() : Limits::infinity();
      else
        best = max ? Limits::lowest() : Limits::max();
      each([&](T v) {
        if ((max ? v > best : v < best) || v != v) best = v;
      });
      return best;
    }
    case Reduction::prod: {
      Wrap y = 1;
      each([&](T v) { y *= static_cast<Wrap>(v); });
      return static_cast<T>(y);
    }
    case Reduction::log_sum_exp: {
      double top = -std::numeric_limits<double>::infinity(), total = 0;
      each([&](T v) { top = std::max(top, static_cast<double>(v)); });
      if (!std::isfinite(top)) top = 0;
      each([&](T v) { total += std::exp(static_cast<double>(v) - top); });
      return from_double(std::log(total) + top);
    }
    default: {
      Wrap y = 0;
      const bool squares = p.kind == Reduction::l2 || p.kind == Reduction::sum_square;
      const bool magnitude = p.kind == Reduction::l1;
      each([&](T v) {
        const auto w = static_cast<Wrap>(static_cast<Wide>(v));
        y += squares ? w * w : magnitude && v < 0 ? Wrap{0} - w : w;
      });
      if (p.kind == Reduction::l2) return from_double(std::sqrt(static_cast<double>(y)));
      if (p.kind == Reduction::log_sum)
        return from_double(std::log(static_cast<double>(static_cast<Wide>(y))));
      if (p.kind == Reduction::mean) {
        if constexpr (std::is_floating_point_v<T>)
          return static_cast<T>(y / static_cast<double>(p.elements));
        else
          return p.elements == 0
                     ? T(0)
                     : static_cast<T>(static_cast<Wide>(y) / static_cast<Wide>(p.elements));
      }
      return static_cast<T>(y);
    }
  }
}

template <class T>
void run_any(const void* params, void* const* data, int64_t begin, int64_t end,
             std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<T*>(data[1]);
  const int64_t last = std::min(end * p.per_task, p.outputs);
  for (int64_t o = begin * p.per_task; o < last; o++) {
    int64_t rest = o, offset = 0;
    for (size_t d = p.kept.size(); d-- > 0;) {
      offset += rest % p.kept[d].size * p.kept[d].stride;
      rest /= p.kept[d].size;
    }
    y[o] = reduce_one(p, x + offset);
  }
}

void run_rows(const void* params, void* const* data, int64_t begin, int64_t end,
              std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t last = std::min(end * p.per_task, p.outputs);
  for (int64_t o = begin * p.per_task; o < last; o++)
    static_cast<float*>(data[1])[o] =
        p.table->row(static_cast<int64_t>(p.kind),
                     static_cast<const float*>(data[0]) + o * p.elements, p.elements);
}

// Tasks are blocks of 16 columns.
void run_columns(const void* params, void* const* data, int64_t begin, int64_t end,
                 std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t blocks = (p.inner + 15) / 16;
  for (int64_t t = begin; t < end; t++) {
    const int64_t outer = t / blocks, column = t % blocks * 16;
    p.table->columns(static_cast<int64_t>(p.kind),
                     static_cast<float*>(data[1]) + outer * p.inner + column,
                     static_cast<const float*>(data[0]) + outer * p.elements * p.inner + column,
                     p.elements, p.inner, std::min<int64_t>(16, p.inner - column));
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "reduce", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present,
        "expected operands x, y");
  const Operand &x = call.operands[0], &y = call.operands[1];
  check(x.dtype == y.dtype, "operands must have one element type");
  check(!call.ints.empty() && call.ints[0] >= 0 && call.ints[0] < kReductionCount, "unknown kind");
  std::vector<bool> is_reduced(x.shape.size(), false);
  for (const int64_t axis : call.ints.subspan(1)) {
    check(axis >= 0 && axis < static_cast<int64_t>(x.shape.size()), "an axis is out of range");
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(reduce);
  p->kind = static_cast<Reduction>(call.ints[0]);
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
  p->per_task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, p->elements));
  plan.tasks = (p->outputs + p->per_task - 1) / p->per_task;
  if (x.dtype == DType::f32 && rows) {
    plan.run = run_rows;
  } else if (x.dtype == DType::f32 && columns) {
    p->inner = p->kept.back().size;
    plan.run = run_columns;
    plan.tasks = p->outputs / std::max<int64_t>(1, p->inner) * ((p->inner + 15) / 16);
  } else if (!visit_number(x.dtype, [&]<class T>(T) { plan.run = run_any<T>; })) {
    fail(ErrorCode::unimplemented, "kernel reduce: element type {}", dtype_name(x.dtype));
  } else {
    plan.work *= 8;
  }
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel reduce_kernel;
const Kernel reduce_kernel = {"reduce", prepare};

}  // namespace poprt::kernels
