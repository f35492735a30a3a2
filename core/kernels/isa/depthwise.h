// Depthwise convolution on channel-blocked activations; included by conv.cpp only.
#pragma once

#include "kernels/isa/conv.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {
namespace {

// X output pixels of one row; every input column is loaded once per filter row. `row` points at the
// padded input row of the first tap, columns of 16 floats.
template <int K, int S, int X>
POPRT_INLINE void depthwise_pixels(const float* row, int64_t pitch, const float* w,
                                   const f32x16* keep, f32x16 (&acc)[X]) {
  POPRT_UNROLL for (int ky = 0; ky < K; ky++, row += pitch) {
    POPRT_UNROLL for (int ix = 0; ix < (X - 1) * S + K; ix++) {
      const f32x16 v = load(row + ix * 16);
      POPRT_UNROLL for (int kx = 0; kx < K; kx++) {
        if ((ix - kx) % S == 0 && ix >= kx && (ix - kx) / S < X)
          acc[(ix - kx) / S] =
              fma(v, keep ? keep[ky * K + kx] : load(w + (ky * K + kx) * 16), acc[(ix - kx) / S]);
      }
    }
  }
}

POPRT_INLINE void depthwise_finish(const Epilogue& e, f32x16 v, const float* residual, float* y) {
  if (residual && !e.residual_after) v += load(residual);
  if (e.mode == Epilogue::clamped) v = vmin(splat(e.high), vmax(splat(e.low), v));
  if (residual && e.residual_after && e.mode != Epilogue::general) v += load(residual);
  store(y, v);
}

// One output row from padded input rows. The general activation is a second pass over the row.
template <int K, int S, int X>
void depthwise_row(const ConvShape& s, const float* row, int64_t pitch, const float* w, f32x16 bias,
                   const float* residual, float* y) {
  f32x16 keep[K * K];
  for (int i = 0; i < K * K; i++) keep[i] = load(w + 16 * i);
  int64_t x = 0;
  for (; x + X <= s.ow; x += X) {
    f32x16 acc[X];
    POPRT_UNROLL for (int i = 0; i < X; i++) acc[i] = bias;
    depthwise_pixels<K, S, X>(row + x * S * 16, pitch, w, K == 3 ? keep : nullptr, acc);
    POPRT_UNROLL for (int i = 0; i < X; i++) depthwise_finish(
        s.epilogue, acc[i], residual ? residual + (x + i) * 16 : nullptr, y + (x + i) * 16);
  }
  for (; x < s.ow; x++) {
    f32x16 acc[1] = {bias};
    depthwise_pixels<K, S, 1>(row + x * S * 16, pitch, w, K == 3 ? keep : nullptr, acc);
    depthwise_finish(s.epilogue, acc[0], residual ? residual + x * 16 : nullptr, y + x * 16);
  }
}

void depthwise_row_any(const ConvShape& s, const float* row, int64_t pitch, const float* w,
                       f32x16 bias, const float* residual, float* y) {
  for (int64_t x = 0; x < s.ow; x++) {
    f32x16 acc = bias;
    for (int64_t ky = 0; ky < s.kh; ky++)
      for (int64_t kx = 0; kx < s.kw; kx++)
        acc = fma(load(row + ky * s.dilation_h * pitch + (x * s.stride_w + kx * s.dilation_w) * 16),
                  load(w + (ky * s.kw + kx) * 16), acc);
    depthwise_finish(s.epilogue, acc, residual ? residual + x * 16 : nullptr, y + x * 16);
  }
}

// Copies the input rows of a task with their padding to scratch, then computes row by row.
void run_depthwise(const ConvShape& s, int64_t task_rows, const float* x, const float* weights,
                   const float* bias, const float* residual, float* y, int64_t begin, int64_t end,
                   float* scratch) noexcept {
  using Row =
      void (*)(const ConvShape&, const float*, int64_t, const float*, f32x16, const float*, float*);
  const bool dense =
      s.dilation_h == 1 && s.dilation_w == 1 && s.kh == s.kw && s.stride_h == s.stride_w;
#if defined(__AVX512F__)
  constexpr int kWide = 8, kWide5 = 8;
#else
  constexpr int kWide = 2, kWide5 = 2;
#endif
  const Row row_fn = !dense                         ? depthwise_row_any
                     : s.kh == 3 && s.stride_h == 1 ? depthwise_row<3, 1, kWide>
                     : s.kh == 3 && s.stride_h == 2 ? depthwise_row<3, 2, kWide>
                     : s.kh == 5 && s.stride_h == 1 ? depthwise_row<5, 1, kWide5>
                     : s.kh == 5 && s.stride_h == 2 ? depthwise_row<5, 2, kWide5>
                                                    : depthwise_row_any;
  const int64_t row_tasks = (s.oh + task_rows - 1) / task_rows;
  const int64_t span = (s.kh - 1) * s.dilation_h + 1;
  const int64_t width = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1, pitch = width * 16;
  const bool no_pad = s.pad_w == 0 && width <= s.w;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / row_tasks, block = plane % s.groups,
                  row0 = task % row_tasks * task_rows;
    const int64_t row_end = row0 + task_rows < s.oh ? row0 + task_rows : s.oh;
    const float* from = x + plane * s.h * s.w * 16;
    const float* w = weights + block * s.kh * s.kw * 16;
    const f32x16 b = bias ? load(bias + block * 16) : zero();
    const int64_t iy0 = row0 * s.stride_h - s.pad_h;
    const int64_t rows = (row_end - row0 - 1) * s.stride_h + span;
    const float* base = scratch;
    int64_t base_pitch = pitch;
    if (no_pad && iy0 >= 0 && iy0 + rows <= s.h) {
      base = from + iy0 * s.w * 16;
      base_pitch = s.w * 16;
    } else {
      for (int64_t r = 0; r < rows; r++) {
        const int64_t iy = iy0 + r;
        float* to = scratch + r * pitch;
        const int64_t left = s.pad_w < width ? s.pad_w : width;
        int64_t copy = iy >= 0 && iy < s.h ? (s.w < width - left ? s.w : width - left) : 0;
        for (int64_t i = 0; i < left; i++) store(to + i * 16, zero());
        for (int64_t i = 0; i < copy; i++)
          store(to + (left + i) * 16, load(from + (iy * s.w + i) * 16));
        for (int64_t i = left + copy; i < width; i++) store(to + i * 16, zero());
      }
    }
    for (int64_t r = row0; r < row_end; r++) {
      const int64_t out_at = (plane * s.oh + r) * s.ow * 16;
      const float* res = residual ? residual + out_at : nullptr;
      row_fn(s, base + (r - row0) * s.stride_h * base_pitch, base_pitch, w, b, res, y + out_at);
      if (s.epilogue.mode == Epilogue::general) {
        TileOut o{};
        o.c = y + out_at;
        o.c_row = o.residual_row = 16;
        o.lanes = 16;
        o.residual = res;
        o.epilogue = &s.epilogue;
        tile_activate(o, static_cast<int>(s.ow), 1);
      }
    }
  }
}

}  // namespace
}  // namespace poprt::kernels::isa
