// map_axes (calls/map_axes.h).
#include <algorithm>
#include <array>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/map_axes.h"
#include "kernels/common/elements.h"

namespace poprt::kernels::map_axes_kernel {
namespace {

constexpr std::string_view kName = "map_axes";
constexpr int64_t kTaskBytes = 64 << 10;

// A part of one row: `count` units of the result from `first` on, read from `from` on (-1: filled).
struct Segment {
  int64_t first, count, from;
};

struct Axis {
  int64_t out = 1, stride = 0;  // stride of the source in bytes
  std::vector<int64_t> map;     // empty: identity
  int64_t at(int64_t o) const { return map.empty() ? o : map[static_cast<size_t>(o)]; }
};

struct Params {
  int64_t size = 1;         // bytes of the fill value
  int64_t unit = 1;         // bytes that move together: the unmapped axes at the end
  std::vector<Axis> outer;  // all axes except the last mapped one
  Axis row;
  // Of the row. Empty if units are small and segments would have fewer than 4 units on average.
  std::vector<Segment> segments;
  int64_t repeats = 1;  // each unit of the source is repeated this often, in order (no segments)
  int64_t rows = 0, row_bytes = 0, per_task = 1;
};

void make_row(const Params& p, const std::byte* from, const void* value, std::byte* to) noexcept {
  const auto fill = [&](std::byte* at, int64_t units) {
    fill_elements(at, value, p.size, units * (p.unit / p.size));
  };
  if (!p.segments.empty()) {
    for (const Segment& s : p.segments) {
      std::byte* at = to + s.first * p.unit;
      if (s.from < 0)
        fill(at, s.count);
      else
        std::memcpy(at, from + s.from * p.unit, static_cast<size_t>(s.count * p.unit));
    }
    return;
  }
  if (p.repeats > 1)
    return dispatch_size(p.unit, [&]<class T>(T) {
      typedef typename WordOf<sizeof(T)>::type Word;
      const auto* f = reinterpret_cast<const Word*>(from);
      auto* t = reinterpret_cast<Word*>(to);
      const int64_t n = p.row.out / p.repeats;
      if (p.repeats == 2)
        for (int64_t i = 0; i < n; i++) t[2 * i] = t[2 * i + 1] = f[i];
      else
        for (int64_t i = 0; i < n; i++)
          for (int64_t k = 0; k < p.repeats; k++) t[i * p.repeats + k] = f[i];
    });
  const int64_t* map = p.row.map.data();
  const auto each = [&](auto copy) {
    for (int64_t o = 0; o < p.row.out; o++) {
      if (map[o] < 0)
        fill(to + o * p.unit, 1);
      else
        copy(to + o * p.unit, from + map[o] * p.unit);
    }
  };
  switch (p.unit) {
    case 1: return each([](std::byte* t, const std::byte* f) { *t = *f; });
    case 2: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 2); });
    case 4: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 4); });
    case 8: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 8); });
    case 16: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 16); });
    case 32: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 32); });
    case 64: return each([](std::byte* t, const std::byte* f) { std::memcpy(t, f, 64); });
    default: {
      const auto bytes = static_cast<size_t>(p.unit);
      return each([bytes](std::byte* t, const std::byte* f) { std::memcpy(t, f, bytes); });
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* from = static_cast<const std::byte*>(data[0]);
  const void* value = data[1];
  auto* to = static_cast<std::byte*>(data[2]);
  const int64_t last = std::min(end * p.per_task, p.rows);
  int64_t previous = -1;  // offset of the source of the previous row, or -1 if it was filled
  for (int64_t r = begin * p.per_task; r < last; r++) {
    int64_t rest = r, offset = 0;
    bool filled = false;
    for (size_t d = p.outer.size(); d-- > 0;) {
      const Axis& a = p.outer[d];
      const int64_t i = a.at(rest % a.out);
      rest /= a.out;
      filled |= i < 0;
      offset += i * a.stride;
    }
    std::byte* row = to + r * p.row_bytes;
    if (filled)
      fill_elements(row, value, p.size, p.row_bytes / p.size);
    else if (offset == previous)
      std::memcpy(row, row - p.row_bytes, static_cast<size_t>(p.row_bytes));
    else
      make_row(p, from + offset, value, row);
    previous = filled ? -1 : offset;
  }
}

std::vector<Segment> segments_of(const Axis& axis) {
  std::vector<Segment> segments;
  for (int64_t o = 0; o < axis.out; o++) {
    const int64_t i = axis.at(o);
    if (!segments.empty()) {
      Segment& s = segments.back();
      if ((i < 0 && s.from < 0) || (i >= 0 && s.from >= 0 && i == s.from + s.count)) {
        s.count++;
        continue;
      }
    }
    segments.push_back({o, 1, i});
  }
  return segments;
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[2].present, kName,
         "expected operands from, value, to");
  const Operand &from = call.operands[0], &value = call.operands[1], &to = call.operands[2];
  auto c = calls::decode<calls::MapAxes>(call);
  auto params = std::make_shared<Params>();
  Params& p = *params;
  p.size = c.size;
  expect(!value.present || value.bytes >= static_cast<uint64_t>(p.size), kName,
         "the fill value is too short");
  const size_t rank = c.axes.size();
  std::vector<Axis> axes(rank);
  std::vector<int64_t> in(rank);
  int64_t out_count = 1;
  for (size_t a = 0; a < rank; a++) {
    in[a] = c.axes[a].in;
    axes[a].out = c.axes[a].out;
    axes[a].map = std::move(c.axes[a].map);
    out_count = checked_mul(out_count, axes[a].out, "map_axes");
  }
  int64_t stride = p.size;
  for (size_t a = rank; a-- > 0;) {
    axes[a].stride = stride;
    stride = checked_mul(stride, in[a], "map_axes");
  }
  expect(static_cast<uint64_t>(stride) <= from.bytes, kName, "the source is too short");
  const int64_t out_bytes = checked_mul(out_count, p.size, "map_axes");
  expect(static_cast<uint64_t>(out_bytes) <= to.bytes, kName, "the result is too short");

  Plan plan;
  plan.run = run;
  plan.params = params;
  if (out_count == 0) return plan;
  p.unit = p.size;
  size_t left = rank;
  while (left > 0 && axes[left - 1].map.empty()) p.unit *= axes[--left].out;
  const int64_t in_row = left > 0 ? in[left - 1] : 1;
  if (left > 0) {
    p.row = axes[left - 1];
    p.outer.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(left - 1));
  } else {
    p.row = Axis{1, 0, {0}};
  }
  p.row_bytes = p.row.out * p.unit;
  p.rows = out_bytes / p.row_bytes;
  p.segments = segments_of(p.row);
  if (static_cast<int64_t>(p.segments.size()) * 4 > p.row.out && p.unit <= 64) p.segments.clear();
  const bool is_word = p.unit == 1 || p.unit == 2 || p.unit == 4 || p.unit == 8;
  if (p.segments.empty() && is_word && in_row > 0 && p.row.out % in_row == 0) {
    p.repeats = p.row.out / in_row;
    for (int64_t o = 0; o < p.row.out; o++)
      if (p.row.map[static_cast<size_t>(o)] != o * in_row / p.row.out) p.repeats = 1;
  }
  p.per_task = std::max<int64_t>(1, kTaskBytes / p.row_bytes);
  plan.tasks = (p.rows + p.per_task - 1) / p.per_task;
  plan.work = static_cast<double>(out_bytes) /
                  (p.segments.empty() ? static_cast<double>(std::min<int64_t>(8, p.unit)) : 8.0) +
              8.0 * static_cast<double>(p.rows);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::map_axes_kernel
