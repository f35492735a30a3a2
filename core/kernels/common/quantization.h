// Which scale and zero point belong to an element: x is [outer, n, inner], the parameters are one
// for all, one for each of n, or [outer, ceil(n / block), inner].
#pragma once

#include <algorithm>

#include "kernels/common/call_reader.h"
#include "kernels/common/convert_block.h"

namespace poprt::kernels {

struct QuantizationGrid {
  int64_t outer = 1, n = 1, inner = 1, block = 1;
  int64_t step_outer = 0, step_n = 0, step_inner = 0;  // parameters per step of each dimension
  int64_t parameters = 1;

  int64_t count() const { return outer * n * inner; }

  // Parameters of elements [first, first + count).
  void gather(DType dtype, const void* data, int64_t first, int64_t count,
              float* to) const noexcept {
    if (parameters == 1) {
      float v = 0;
      if (data) to_floats(dtype, data, 0, 1, &v);
      return std::fill(to, to + count, v);
    }
    if (!data) return std::fill(to, to + count, 0.0f);
    int64_t i = first % inner, a = first / inner % n, o = first / inner / n;
    while (count > 0) {
      const int64_t run = std::min(inner - i, count);
      const int64_t at = o * step_outer + a / block * step_n + i * step_inner;
      if (step_inner) {
        to_floats(dtype, data, at, run, to);
      } else {
        float v;
        to_floats(dtype, data, at, 1, &v);
        std::fill(to, to + run, v);
      }
      to += run;
      count -= run;
      i = 0;
      if (++a == n) {
        a = 0;
        o++;
      }
    }
  }
};

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
