// gather (calls/gather.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/gather.h"
#include "kernels/common/elements.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::gather_kernel {
namespace {

constexpr std::string_view kName = "gather";
constexpr int64_t kTaskBytes = 64 << 10;

struct Params {
  int64_t axis = 0, row = 0, count = 0, rows = 0, per_task = 1;
  bool wide = true;
  bool resolve = false;  // a task resolves the indices once for all of its outer indices
  Outside outside;
};

[[gnu::cold, gnu::noinline]] void report(const Params& p, const void* indices, int64_t i) noexcept {
  p.outside.found(i, load_index(indices, p.wide, i), p.axis);
}

// For rows with the size of T. Resolves the indices once, into `at`, for all outer indices of the
// task.
template <class T>
void pick(const Params& p, void* const* data, int64_t begin, int64_t end, int64_t* at) noexcept {
  bool inside = true;
  for (int64_t i = 0; i < p.count; i++) {
    at[i] = load_index(data[1], p.wide, i);
    if (at[i] < 0) at[i] += p.axis;
    if (at[i] < 0 || at[i] >= p.axis) at[i] = -1;
    inside = inside && at[i] >= 0;
  }
  if (!inside) [[unlikely]]
    for (int64_t i = 0; i < p.count; i++)
      if (at[i] < 0) report(p, data[1], i);
  auto* to = static_cast<T*>(data[2]) + begin;
  for (int64_t r = begin; r < end;) {
    const auto* from = static_cast<const T*>(data[0]) + r / p.count * p.axis;
    const int64_t first = r % p.count, last = std::min(p.count, first + end - r);
    if (inside)
      for (int64_t i = first; i < last; i++) *to++ = from[at[i]];
    else
      for (int64_t i = first; i < last; i++) *to++ = at[i] < 0 ? T{} : from[at[i]];
    r += last - first;
  }
}

template <class Copy>
void each_row(const Params& p, void* const* data, int64_t begin, int64_t end, Copy copy) noexcept {
  const auto* from = static_cast<const std::byte*>(data[0]);
  auto* to = static_cast<std::byte*>(data[2]) + begin * p.row;
  int64_t o = begin / p.count, i = begin % p.count;
  for (int64_t r = begin; r < end; r++, to += p.row) {
    int64_t index = load_index(data[1], p.wide, i);
    if (index < 0) index += p.axis;
    if (index < 0 || index >= p.axis) [[unlikely]] {
      std::memset(to, 0, static_cast<size_t>(p.row));
      report(p, data[1], i);
    } else {
      copy(to, from + (o * p.axis + index) * p.row);
    }
    if (++i == p.count) {
      i = 0;
      o++;
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * p.per_task, last = std::min(end * p.per_task, p.rows);
  if (first >= last) return;
  if (p.resolve) {
    auto* at = reinterpret_cast<int64_t*>(scratch);
    switch (p.row) {
      case 1: return pick<WordOf<1>::type>(p, data, first, last, at);
      case 2: return pick<WordOf<2>::type>(p, data, first, last, at);
      case 4: return pick<WordOf<4>::type>(p, data, first, last, at);
      default: return pick<WordOf<8>::type>(p, data, first, last, at);
    }
  }
  switch (p.row) {
    case 1:
      return each_row(p, data, first, last, [](void* t, const void* f) { std::memcpy(t, f, 1); });
    case 2:
      return each_row(p, data, first, last, [](void* t, const void* f) { std::memcpy(t, f, 2); });
    case 4:
      return each_row(p, data, first, last, [](void* t, const void* f) { std::memcpy(t, f, 4); });
    case 8:
      return each_row(p, data, first, last, [](void* t, const void* f) { std::memcpy(t, f, 8); });
    default: {
      const auto bytes = static_cast<size_t>(p.row);
      return each_row(p, data, first, last,
                      [bytes](void* t, const void* f) { std::memcpy(t, f, bytes); });
    }
  }
}

Plan prepare(const Call& call) {
  const auto [outer, axis, inner, checked] = calls::decode<calls::Gather>(call);
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands from, indices, to");
  const Operand &from = call.operands[0], &indices = call.operands[1], &to = call.operands[2];
  expect(is_index(indices.dtype), kName, "indices must be s32 or s64");
  expect(from.dtype == to.dtype, kName, "dtypes differ");
  auto params = std::make_shared<Params>();
  Params& p = *params;
  p.axis = axis;
  p.outside.wanted = checked;
  p.wide = indices.dtype == DType::s64;
  p.count = element_count(indices.shape);
  p.row = checked_mul(inner, element_size(from.dtype, kName), "gather");
  p.rows = checked_mul(outer, p.count, "gather");
  const auto source = checked_mul(checked_mul(outer, axis, "gather"), p.row, "gather");
  const auto result = checked_mul(p.rows, p.row, "gather");
  expect(static_cast<uint64_t>(source) <= from.bytes, kName, "the source is too short");
  expect(static_cast<uint64_t>(result) <= to.bytes, kName, "the result is too short");
  Plan plan;
  plan.run = run;
  if (result == 0) p.rows = 0;
  p.per_task = std::max<int64_t>(1, kTaskBytes / std::max<int64_t>(1, p.row));
  plan.tasks = std::max<int64_t>(1, (p.rows + p.per_task - 1) / p.per_task);
  p.resolve = outer >= 4 && p.count <= p.per_task && p.rows > 0 &&
              (p.row == 1 || p.row == 2 || p.row == 4 || p.row == 8);
  if (p.resolve) plan.scratch_bytes = static_cast<size_t>(p.count) * sizeof(int64_t);
  plan.work =
      static_cast<double>(result) / 8.0 + (p.resolve ? 0.5 : 3.0) * static_cast<double>(p.rows);
  plan.params = std::move(params);
  if (checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::gather_kernel
