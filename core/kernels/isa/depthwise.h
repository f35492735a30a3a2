// Depthwise convolution on channel-blocked activations; included by conv.cpp only.
#pragma once

#include "kernels/isa/conv.h"
#include "kernels/isa/stored.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {
namespace {

// The input of one output row. Filter rows [ky_begin, ky_end) are inside the input. X and Y are the
// types of x, and of y and the residual: float, or uint16_t for bf16.
template <class X, class Y>
struct DepthwiseRow {
  const X* input;  // column -pad_w of the input row of filter row 0 (may be outside)
  int64_t pitch;   // elements between the input rows of adjacent filter rows
  int64_t ky_begin, ky_end;
  const float* w;
  f32x16 bias;
  const Y* residual;
  Y* y;
};

template <class Y>
POPRT_INLINE void depthwise_finish(const Epilogue& e, f32x16 v, const Y* residual, Y* y) {
  if (residual && !e.residual_after) v += load_stored(residual);
  if (e.mode == Epilogue::clamped) v = vmin(splat(e.high), vmax(splat(e.low), v));
  if (residual && e.residual_after && e.mode != Epilogue::general) v += load_stored(residual);
  store_stored(y, v);
}

// X output pixels from column x on. Every input column is loaded once for each filter row. At an
// edge, columns outside [0, width) of the input are zero.
template <int K, int S, int X, bool Edge, class In, class Out>
POPRT_INLINE void depthwise_pixels(const ConvShape& s, const DepthwiseRow<In, Out>& r, int64_t x) {
  f32x16 acc[X];
  POPRT_UNROLL for (int i = 0; i < X; i++) acc[i] = r.bias;
  const In* row = r.input + x * S * 16 + r.ky_begin * r.pitch;
  const float* w = r.w + r.ky_begin * K * 16;
  const int64_t column = x * S - s.pad_w;
  for (int64_t ky = r.ky_begin; ky < r.ky_end; ky++, row += r.pitch, w += K * 16) {
    f32x16 filter[K];
    POPRT_UNROLL for (int kx = 0; kx < K; kx++) filter[kx] = load(w + kx * 16);
    POPRT_UNROLL for (int i = 0; i < (X - 1) * S + K; i++) {
      if (Edge && (column + i < 0 || column + i >= s.w)) continue;
      const f32x16 v = load_stored(row + i * 16);
      POPRT_UNROLL for (int kx = 0; kx < K; kx++) {
        if ((i - kx) % S == 0 && i >= kx && (i - kx) / S < X)
          acc[(i - kx) / S] = fma(v, filter[kx], acc[(i - kx) / S]);
      }
    }
  }
  POPRT_UNROLL for (int i = 0; i < X; i++) depthwise_finish(
      s.epilogue, acc[i], r.residual ? r.residual + (x + i) * 16 : nullptr, r.y + (x + i) * 16);
}

template <int K, int S, class X, class Y>
void depthwise_row(const ConvShape& s, const DepthwiseRow<X, Y>& r) {
#if defined(__AVX512F__)
  constexpr int kWide = 8;
#else
  constexpr int kWide = 2;
#endif
  // Whether the columns of the input that `count` output pixels read are inside the input.
  const auto inside = [&](int64_t x, int64_t count) {
    const int64_t first = x * S - s.pad_w;
    return first >= 0 && first + (count - 1) * S + K <= s.w;
  };
  int64_t x = 0;
  while (x < s.ow) {
    const int64_t left = s.ow - x;
    if (left >= kWide) {
      inside(x, kWide) ? depthwise_pixels<K, S, kWide, false>(s, r, x)
                       : depthwise_pixels<K, S, kWide, true>(s, r, x);
      x += kWide;
    } else if (kWide > 7 && left == 7) {
      depthwise_pixels<K, S, kWide - 1, true>(s, r, x);
      x += 7;
    } else if (kWide > 4 && left >= 4) {
      depthwise_pixels<K, S, kWide / 2, true>(s, r, x);
      x += kWide / 2;
    } else if (left >= 2) {
      depthwise_pixels<K, S, 2, true>(s, r, x);
      x += 2;
    } else {
      depthwise_pixels<K, S, 1, true>(s, r, x);
      x++;
    }
  }
}

template <class X, class Y>
void depthwise_row_any(const ConvShape& s, const DepthwiseRow<X, Y>& r) {
  for (int64_t x = 0; x < s.ow; x++) {
    f32x16 acc = r.bias;
    for (int64_t ky = r.ky_begin; ky < r.ky_end; ky++)
      for (int64_t kx = 0; kx < s.kw; kx++) {
        const int64_t at = x * s.stride_w + kx * s.dilation_w, column = at - s.pad_w;
        if (column >= 0 && column < s.w)
          acc = fma(load_stored(r.input + ky * r.pitch + at * 16),
                    load(r.w + (ky * s.kw + kx) * 16), acc);
      }
    depthwise_finish(s.epilogue, acc, r.residual ? r.residual + x * 16 : nullptr, r.y + x * 16);
  }
}

// Computes the rows of tasks [begin, end). If y is bf16 and the activation needs a second pass over
// a row, Y is float: `sums` contains the sums of the row after the first pass, and y and the
// residual are bf16.
template <class X, class Y>
void run_depthwise_rows(const ConvShape& s, int64_t task_rows, const X* x, const float* weights,
                        const float* bias, const void* residual, void* y, int64_t begin,
                        int64_t end, float* sums) {
  constexpr bool kSums = sizeof(X) != sizeof(Y);
  const bool dense =
      s.dilation_h == 1 && s.dilation_w == 1 && s.kh == s.kw && s.stride_h == s.stride_w;
  const auto row_fn = !dense                         ? depthwise_row_any<X, Y>
                      : s.kh == 3 && s.stride_h == 1 ? depthwise_row<3, 1, X, Y>
                      : s.kh == 3 && s.stride_h == 2 ? depthwise_row<3, 2, X, Y>
                      : s.kh == 5 && s.stride_h == 1 ? depthwise_row<5, 1, X, Y>
                      : s.kh == 5 && s.stride_h == 2 ? depthwise_row<5, 2, X, Y>
                      : s.kh == 7 && s.stride_h == 1 ? depthwise_row<7, 1, X, Y>
                      : s.kh == 9 && s.stride_h == 1 ? depthwise_row<9, 1, X, Y>
                                                     : depthwise_row_any<X, Y>;
  const int64_t row_tasks = (s.oh + task_rows - 1) / task_rows;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / row_tasks, block = plane % s.groups;
    const int64_t row0 = task % row_tasks * task_rows;
    const int64_t row_end = row0 + task_rows < s.oh ? row0 + task_rows : s.oh;
    DepthwiseRow<X, Y> r{};
    r.pitch = s.dilation_h * s.w * 16;
    r.w = weights + block * s.kh * s.kw * 16;
    r.bias = bias ? load(bias + block * 16) : zero();
    for (int64_t row = row0; row < row_end; row++) {
      const int64_t iy = row * s.stride_h - s.pad_h, out_at = (plane * s.oh + row) * s.ow * 16;
      r.input = x + ((plane * s.h + iy) * s.w - s.pad_w) * 16;
      r.ky_begin = iy >= 0 ? 0 : (-iy + s.dilation_h - 1) / s.dilation_h;
      r.ky_end = iy >= s.h ? 0 : (s.h - 1 - iy) / s.dilation_h + 1;
      if (r.ky_end > s.kh) r.ky_end = s.kh;
      if constexpr (kSums) {
        r.y = sums;
      } else {
        r.residual = residual ? static_cast<const Y*>(residual) + out_at : nullptr;
        r.y = static_cast<Y*>(y) + out_at;
      }
      row_fn(s, r);
      if constexpr (kSums) {
        const StoredOut o = {stored_at(y, true, out_at),
                             stored_at(residual, true, out_at),
                             16,
                             0,
                             true,
                             true,
                             &s.epilogue};
        store_activated(sums, 0, o, s.ow, 1);
      } else if (s.epilogue.mode == Epilogue::general) {
        // depthwise_finish() has added a residual that is an operand of the activation.
        const Y* residual_after = s.epilogue.residual_after ? r.residual : nullptr;
        const StoredOut o = {r.y, residual_after, 16, 0, false, false, &s.epilogue};
        store_activated(static_cast<const float*>(static_cast<void*>(r.y)), 0, o, s.ow, 1);
      }
    }
  }
}

void run_depthwise(const ConvShape& s, int64_t task_rows, const void* x, const float* weights,
                   const float* bias, const void* residual, void* y, int64_t begin, int64_t end,
                   float* scratch) noexcept {
  const auto* halves = static_cast<const uint16_t*>(x);
  if (!s.bf16_x)
    run_depthwise_rows<float, float>(s, task_rows, static_cast<const float*>(x), weights, bias,
                                     residual, y, begin, end, nullptr);
  else if (s.epilogue.mode == Epilogue::general)
    run_depthwise_rows<uint16_t, float>(s, task_rows, halves, weights, bias, residual, y, begin,
                                        end, scratch);
  else
    run_depthwise_rows<uint16_t, uint16_t>(s, task_rows, halves, weights, bias, residual, y, begin,
                                           end, nullptr);
}

}  // namespace
}  // namespace poprt::kernels::isa
