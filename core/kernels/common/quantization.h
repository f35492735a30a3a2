// Which scale and zero point belong to an element: x is [outer, n, inner], the parameters are one
// for all, one for each of n, or [outer, ceil(n / block), inner].
#pragma once

#include <algorithm>

#include "kernels/common/call_reader.h"
#include "kernels/common/convert_block.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels {

struct QuantizationGrid {
  int64_t outer = 1, n = 1, inner = 1, block = 1;
  int64_t step_outer = 0, step_n = 0, step_inner = 0;  // parameters per step of each dimension
  int64_t parameters = 1;

  int64_t count() const { return outer * n * inner; }

  // Calls visit(element, count, parameter, many) for runs that cover [first, first + count): their
  // parameter is one, or `many` as there are elements. A run has at most kRun elements.
  static constexpr int64_t kRun = 512;
  template <class Visit>
  void each_run(int64_t first, int64_t count, Visit visit) const noexcept {
    const int64_t end = first + count;
    if (parameters == 1) {
      for (int64_t e = first; e < end; e += kRun) visit(e, std::min(kRun, end - e), 0, false);
      return;
    }
    const bool along_n = inner == 1 && block == 1;  // the parameters of a row lie side by side
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

// The vectorised form of an integer type; false when there is none.
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

// ints from `at` on: outer, n, inner, block (0: one parameter for all, or for each of n when
// `per_axis`), per_axis.
inline QuantizationGrid read_grid(const CallReader& r, size_t at) {
  QuantizationGrid g;
  g.outer = r.size(at);
  g.n = r.size(at + 1);
  g.inner = r.size(at + 2);
  const int64_t block = r.size(at + 3);
  CallReader::product({g.outer, g.n, g.inner});
  if (block > 0) {
    g.block = block;
    const int64_t blocks = (g.n + block - 1) / block;
    g.step_outer = blocks * g.inner;
    g.step_n = g.inner;
    g.step_inner = 1;
    g.parameters = g.outer * blocks * g.inner;
  } else if (r.flag(at + 4)) {
    g.step_n = 1;
    g.parameters = g.n;
  }
  return g;
}

}  // namespace poprt::kernels
