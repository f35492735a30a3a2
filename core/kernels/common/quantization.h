// Code shared by quantize and dequantize: operands [x, scale, zero?, y], x viewed as [outer, n,
// inner], and the assignment of scales and zero points to elements.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/calls/common/quantization_grid.h"
#include "kernels/common/convert_block.h"
#include "kernels/common/operands.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels {

// There is one parameter for all, one for each of n, or [outer, ceil(n / block), inner].
struct QuantizationGrid {
  int64_t outer = 1, n = 1, inner = 1, block = 1;
  // The distance between the parameters of elements that are adjacent along each dimension.
  int64_t step_outer = 0, step_n = 0, step_inner = 0;
  int64_t parameters = 1;

  int64_t count() const { return outer * n * inner; }

  // Calls visit(element, count, parameter, many) for runs that together cover [first, first +
  // count). A run has one parameter or, if `many`, one for each element. It has at most kRun
  // elements.
  static constexpr int64_t kRun = 512;
  template <class Visit>
  void each_run(int64_t first, int64_t count, Visit visit) const noexcept {
    const int64_t end = first + count;
    if (parameters == 1) {
      for (int64_t e = first; e < end; e += kRun) visit(e, std::min(kRun, end - e), 0, false);
      return;
    }
    if (inner == 1 && block > 1) {
      for (int64_t e = first; e < end;) {
        const int64_t along = e % n, in_block = along % block;
        const int64_t run = std::min({kRun, block - in_block, n - along, end - e});
        visit(e, run, e / n * step_outer + along / block * step_n, false);
        e += run;
      }
      return;
    }
    const bool along_n = inner == 1 && block == 1;  // the parameters of a row are contiguous
    int64_t i = first % inner, a = first / inner % n, o = first / inner / n;
    for (int64_t e = first; e < end;) {
      const int64_t at = o * step_outer + a / block * step_n + i * step_inner;
      const bool many = along_n || step_inner != 0;
      const int64_t left = along_n ? n - a : inner - i;
      const int64_t run = std::min({kRun, left, end - e});
      visit(e, run, at, many);
      e += run;
      if (run < left) {
        (along_n ? a : i) += run;
        continue;
      }
      i = 0;
      a = along_n ? n : a + 1;
      if (a == n) {
        a = 0;
        o++;
      }
    }
  }
};

// The vectorised form of an integer type; returns false if there is none.
inline bool whole_type(DType t, isa::Whole* whole) {
  switch (t) {
    case DType::s8: *whole = isa::Whole::s8; return true;
    case DType::u8: *whole = isa::Whole::u8; return true;
    case DType::s16: *whole = isa::Whole::s16; return true;
    case DType::u16: *whole = isa::Whole::u16; return true;
    case DType::s32: *whole = isa::Whole::s32; return true;
    default: return false;
  }
}

inline QuantizationGrid make_grid(const calls::QuantizationGrid& call) {
  QuantizationGrid g;
  g.outer = call.outer;
  g.n = call.n;
  g.inner = call.inner;
  const int64_t block = call.block;
  Operands::product({g.outer, g.n, g.inner});
  if (block > 0) {
    g.block = block;
    const int64_t blocks = ceil_div(g.n, block);
    g.step_outer = checked_mul(blocks, g.inner);
    g.step_n = g.inner;
    g.step_inner = 1;
    g.parameters = checked_mul(g.outer, g.step_outer);
  } else if (call.per_axis) {
    g.step_n = 1;
    g.parameters = g.n;
  }
  return g;
}

// Products with and quotients of a scale of f8e8m0. The smallest one, 2^-127, is subnormal in f32,
// and threads of the device read subnormal operands as 0. So this scale is applied as two factors
// that are normal.
inline bool is_subnormal_scale(float s) { return std::bit_cast<uint32_t>(s) == 1u << 22; }
inline float times_power(float v, float s) {
  return is_subnormal_scale(s) ? v * 0x1p-126f * 0.5f : v * s;
}
inline float divided_by_power(float v, float s) {
  return is_subnormal_scale(s) ? v * 2.0f * 0x1p126f : v / s;
}

struct QuantizationParams {
  static constexpr int64_t kTask = 16384, kRun = QuantizationGrid::kRun;

  const isa::QuantizeTable* table;
  QuantizationGrid grid;
  DType x, scale, zero, y;

  // `is_result` returns whether y may have a type; `what` is the error message.
  void read(const Operands& r, const calls::QuantizationGrid& of, bool (*is_result)(DType),
            const char* what) {
    table = &POPRT_SELECT_ISA(quantize);
    grid = make_grid(of);
    x = r.dtype(0);
    scale = r.dtype(1);
    zero = r.dtype(2);
    y = r.dtype(3);
    r.check(is_convertible(x) && is_convertible(scale) && is_result(y) &&
                (!r.has(2) || is_convertible(zero)),
            what);
    r.needs(0, x, {grid.count()});
    r.needs(1, scale, {grid.parameters});
    r.needs_if_present(2, zero, {grid.parameters});
    r.needs(3, y, {grid.count()});
  }
  int64_t tasks() const { return (grid.count() + kTask - 1) / kTask; }

  // Calls visit(element, count, scales, zeros, many) for the runs of tasks [begin, end).
  template <class Visit>
  void each_run(void* const* data, int64_t begin, int64_t end, Visit visit) const noexcept {
    float s[kRun], z[kRun];
    int64_t known = -1;
    const int64_t first = begin * kTask, last = std::min(end * kTask, grid.count());
    grid.each_run(first, last - first, [&](int64_t e, int64_t n, int64_t parameter, bool many) {
      if (many || parameter != known) {
        to_floats(scale, data[1], parameter, many ? n : 1, s);
        if (data[2])
          to_floats(zero, data[2], parameter, many ? n : 1, z);
        else
          std::fill(z, z + (many ? n : 1), 0.0f);
        known = many ? -1 : parameter;
      }
      visit(e, n, s, z, many);
    });
  }
};

}  // namespace poprt::kernels
