#include "ipu/amp.h"

#include <algorithm>

#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

bool is_quarter(DType type) {
  return type == DType::f8_143 || type == DType::f8_152 || type == DType::f8e4m3fnuz ||
         type == DType::f8e5m2fnuz;
}

// Cycles of the supervisor until all workers end, of which the slowest and the fastest take the
// given cycles. 7 cycles of a worker do not count, because a worker keeps its state from call to
// call.
int64_t supervised(const Target& t, int64_t longest, int64_t shortest) {
  return std::max(t.workers * (longest - 7), t.workers * (shortest - 7) + 14);
}

// Cycles of a worker of the 1x1 vertex for n elements of the field.
int64_t worker_1x1(DType inputs, int64_t n, bool zeroing) {
  if (inputs == DType::f32) {
    if (n == 0) return zeroing ? 21 : 22;
    if (n == 1) return 41;
    return 46 + 8 * (n - 3) + 2;
  }
  const int64_t later = zeroing ? 0 : 1;
  if (n == 0) return 21 + later;
  if (n == 1) return 32 + later;
  if (n == 2) return 41 + later;
  return 37 + later + 4 * (n - 3);
}

int64_t inner_1x1(const Target& t, DType inputs, int64_t field, bool zeroing) {
  const int64_t more = ceil_div(field, t.workers), less = field / t.workers;
  const int64_t a = worker_1x1(inputs, more, zeroing);
  const int64_t b = field % t.workers ? worker_1x1(inputs, less, zeroing) : a;
  return supervised(t, std::max(a, b), std::min(a, b));
}

int64_t quarter_1x1(const Target& t, const TileWork& w, int64_t load, int64_t in_groups,
                    int64_t out_groups) {
  const auto worker = [&](int64_t n, bool zeroing) {
    return 17 + 27 - (zeroing ? 5 : 0) + 4 * (n - 3);
  };
  const auto inner = [&](bool zeroing) {
    const int64_t more = ceil_div(w.field(), t.workers), less = w.field() / t.workers;
    return std::max(t.workers * worker(more, zeroing), t.workers * worker(less, zeroing) + 14);
  };
  return 46 + w.groups * (21 + out_groups * (46 + (131 + load + inner(true)) +
                                             (in_groups - 1) * (108 + load + inner(false))));
}

// Cycles of the workers that compute the most and the fewest elements of the field.
struct WorkList {
  int64_t longest, shortest;
};

// Divides every row into the number of pieces with which the slowest worker needs the fewest
// cycles. item(n) returns the cycles of a piece of n elements.
template <class F>
WorkList best_work_list(const Target& t, int64_t rows, int64_t width, F&& item) {
  WorkList best{INT64_MAX, 0};
  for (int64_t pieces = 1; pieces <= std::min(width, t.workers); pieces++) {
    const int64_t items = rows * pieces, length = ceil_div(width, pieces);
    const int64_t more = ceil_div(items, t.workers), less = items / t.workers;
    const int64_t longest = more * item(length);
    if (longest < best.longest) best = {longest, less * item(length)};
  }
  return best;
}

// Rows of the kernel that one step of the AMP multiplies at once.
int64_t fused_rows(const TileWork& w, const AmpShape& shape) {
  if (w.inputs == DType::f32 || is_quarter(w.inputs) || w.kernel_rows < 2) return 1;
  if (w.in * 4 <= shape.group) return 4;
  if (w.in * 2 <= shape.group) return 2;
  return 1;
}

int64_t quarter_nx1(const Target& t, const TileWork& w, int64_t load, int64_t in_groups,
                    int64_t out_groups) {
  const auto item = [](int64_t n) {
    return 16 + (n == 0 ? 4 : n == 1 ? 18 : n == 2 ? 23 : 27 + 4 * (n - 3));
  };
  const WorkList list = best_work_list(t, w.rows, w.width, item);
  const int64_t kernel =
      w.taps() * std::max(t.workers * (18 + list.longest), t.workers * (18 + list.shortest) + 9);
  const int64_t inner =
      w.kernel_rows * (33 + 103 + load + (w.kernel_width - 1) * (86 + load)) + kernel;
  return 83 + w.groups * (37 + out_groups * (58 + in_groups * (61 + inner)));
}

// Cycles of the vertices that multiply in the vector units, or -1.
int64_t vector_cycles(const Target& t, Method method, const TileWork& w) {
  const int64_t width = vector_width(t, w.inputs);
  switch (method) {
    case Method::vmac: {
      if (w.in != 1 || w.out != 1) return -1;
      const int64_t lanes = w.inputs == DType::f16 ? 8 : 4;
      const int64_t share = ceil_div(w.field(), t.workers);
      return 50 + ceil_div(w.groups, lanes) * (30 + w.taps() * (20 + t.workers * (12 + 3 * share)));
    }
    case Method::hmac: {
      const int64_t share = ceil_div(w.field(), t.workers);
      return 50 +
             w.groups * w.out * w.taps() * (20 + t.workers * share * (12 + ceil_div(w.in, width)));
    }
    case Method::outer_product: {
      if (w.in != 1 || w.taps() != 1) return -1;
      const int64_t share = ceil_div(w.out, t.workers);
      return 50 + w.groups * w.field() * (17 + t.workers * ceil_div(share, width));
    }
    default: return -1;
  }
}

int64_t slic_cycles(const Target& t, const TileWork& w) {
  if (w.inputs != DType::f16 || w.in > 4 || w.out > 4 || w.stride > 2) return -1;
  // A step has 4 groups of 1 channel, 2 of 2 channels or 1 of 4; a window has four taps along the
  // width.
  const int64_t channels = std::max(w.in, w.out) <= 1 ? 1 : std::max(w.in, w.out) <= 2 ? 2 : 4;
  const int64_t groups = ceil_div(w.groups, 4 / channels);
  const int64_t windows = w.kernel_rows * ceil_div(w.kernel_width, 4);
  const int64_t share = ceil_div(w.rows, t.workers) * w.width;
  const int64_t worker = 20 + 12 * ceil_div(w.rows, t.workers) + w.stride * share;
  return 60 + groups * windows * (16 + 49 + t.workers * worker);
}

}  // namespace

std::string_view method_name(Method method) {
  constexpr std::string_view names[] = {"AMP", "SLIC", "VMAC", "HMAC", "OUTER_PRODUCT"};
  return names[static_cast<size_t>(method)];
}

AmpShape amp_shape(const Target& t, DType inputs, DType partials) {
  if (inputs == DType::f16)
    return {partials == DType::f16 ? t.half_units : t.half_float_units, 16, 4};
  if (inputs == DType::f32) return {t.float_units, 8, 8};
  if (is_quarter(inputs) && t.quarter) return {t.half_units, 32, 4};
  return {};
}

int64_t fused_kernel_rows(const Target& t, const TileWork& w) {
  return fused_rows(w, amp_shape(t, w.inputs, w.partials));
}

int64_t amp_1x1_cycles(const Target& t, const TileWork& w) {
  const AmpShape shape = amp_shape(t, w.inputs, w.partials);
  if (!shape.units) return -1;
  const int64_t load = shape.units * 32 / (t.load_bytes * (w.wide_loads ? 2 : 1));
  const int64_t in_groups = ceil_div(w.in, shape.group), out_groups = ceil_div(w.out, shape.units);
  if (is_quarter(w.inputs)) return quarter_1x1(t, w, load, in_groups, out_groups);
  const int64_t first = inner_1x1(t, w.inputs, w.field(), true);
  const int64_t later = inner_1x1(t, w.inputs, w.field(), false);
  return 50 + 6 * (7 + 3 * (in_groups * w.groups - 1)) +
         w.groups * (13 + (in_groups - 1) * (15 + out_groups * (19 + 6 + load + later)) + 11 +
                     out_groups * (18 + 7 + load + first));
}

int64_t amp_nx1_cycles(const Target& t, const TileWork& w) {
  const AmpShape shape = amp_shape(t, w.inputs, w.partials);
  if (!shape.units) return -1;
  const int64_t fused = fused_rows(w, shape);
  const int64_t load = shape.units * 32 / (t.load_bytes * (w.wide_loads && fused != 4 ? 2 : 1));
  const int64_t in_groups = ceil_div(w.in * fused, shape.group),
                out_groups = ceil_div(w.out, shape.units);
  if (is_quarter(w.inputs)) return quarter_nx1(t, w, load, in_groups, out_groups);
  const bool single = w.inputs == DType::f32;
  const bool paired = !single && (shape.units == 16) == (w.partials == DType::f16);
  const auto item = [&](int64_t n) -> int64_t {
    const int64_t e = n == 0   ? 17
                      : n == 1 ? (single ? 33 : 29)
                      : n == 2 ? (single   ? 44
                                  : paired ? 34
                                           : 33)
                      : single ? 45 + 8 * (n - 3)
                               : 34 + 4 * (n - 3);
    return 3 + e - 9;
  };
  const WorkList list = best_work_list(t, w.rows, w.width, item);
  const int64_t fixed = 17 + (w.partials == DType::f16 ? 1 : 0);
  const int64_t ky = ceil_div(w.kernel_rows, fused), kx = w.kernel_width;
  const int64_t kernel =
      ky * kx *
      std::max(t.workers * (fixed + list.longest), t.workers * (fixed + list.shortest) + 9);
  const int64_t set_up = fused == 1 ? 15 : fused == 2 ? 46 : 60;
  const int64_t inner = ky * (14 + kx * (12 + load + set_up + 3)) + kernel;
  const int64_t partials = chip_bytes(w.partials, w.field() * out_groups * shape.units);
  const int64_t zeroing = w.groups * ceil_div(partials, t.data_path_bytes);
  return zeroing + 109 + 6 * 9 + 6 * 9 + w.groups * (17 * out_groups + 6 * (out_groups - 1) + 1) +
         w.groups * (16 + in_groups * (14 + out_groups * (14 + inner)));
}

int64_t vertex_cycles(const Target& t, Method method, const TileWork& w) {
  switch (method) {
    case Method::amp: return w.taps() == 1 ? amp_1x1_cycles(t, w) : amp_nx1_cycles(t, w);
    case Method::slic: return slic_cycles(t, w);
    default: return vector_cycles(t, method, w);
  }
}

}  // namespace poprt::ipu
