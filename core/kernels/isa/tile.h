// The register tile that matmul, convolution and Winograd share: P rows x Q vectors of 16 columns.
// A row of A is a pixel or a row of a matrix, broadcast element by element; B is packed.
#pragma once

#include "kernels/isa/activation.h"
#include "kernels/isa/epilogue.h"
#include "kernels/isa/vec.h"

#if defined(__clang__)
#define POPRT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define POPRT_UNROLL _Pragma("GCC unroll 32")
#endif

namespace poprt::kernels::isa {
namespace {

// The largest number of rows of a tile of Q vectors whose accumulators stay in registers: 32
// registers of 16 lanes, 16 of 8 (a vector is two registers) or 16 of 4 (a vector is four).
#if defined(__AVX512F__)
constexpr int kMaxVectors = 4;
constexpr int kMaxRows[kMaxVectors + 1] = {0, 24, 14, 9, 6};
#elif defined(__AVX2__)
constexpr int kMaxVectors = 1;  // 3 rows of 2 vectors leave no register for the element of A
constexpr int kMaxRows[kMaxVectors + 1] = {0, 6};
#else
constexpr int kMaxVectors = 1;
constexpr int kMaxRows[kMaxVectors + 1] = {0, 3};
#endif

// acc[r][q] += a[r * a_row] times the sixteen floats at b + q * b_vector.
template <int P, int Q>
POPRT_INLINE void tile_step(f32x16 (&acc)[P][Q], const float* a, int64_t a_row, const float* b,
                            int64_t b_vector) {
  // Prevents moving the loads of later steps to here, where they would take the registers of the
  // sums.
  asm volatile("" ::: "memory");
  f32x16 column[Q];
  POPRT_UNROLL for (int q = 0; q < Q; q++) column[q] = load(b + q * b_vector);
  POPRT_UNROLL for (int r = 0; r < P; r++) {
    const f32x16 x = splat(a[r * a_row]);
    POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] = fma(x, column[q], acc[r][q]);
  }
}

[[maybe_unused]] __attribute__((noinline)) void tile_activate(const TileOut& o, int rows,
                                                              int vectors) {
  const Epilogue e = *o.epilogue;
  with_activation(static_cast<Activation>(e.activation), e.a, e.b, [&](auto act) {
    for (int q = 0; q < vectors; q++) {
      const int64_t lanes = q + 1 == vectors ? o.lanes : 16;
      for (int r = 0; r < rows; r++) {
        float* p = o.c + r * o.c_row + q * o.c_vector;
        f32x16 v = act(load_first(p, lanes));
        if (o.residual && e.residual_after)
          v += load_first(o.residual + r * o.residual_row + q * o.c_vector, lanes);
        store_first(p, v, lanes);
      }
    }
  });
}

// The sums start from the bias.
template <int P, int Q>
POPRT_INLINE void tile_begin(f32x16 (&acc)[P][Q], const TileOut& o) {
  POPRT_UNROLL for (int q = 0; q < Q; q++) {
    const f32x16 bias = o.first && o.bias ? load(o.bias + 16 * q) : zero();
    POPRT_UNROLL for (int r = 0; r < P; r++) acc[r][q] = bias;
  }
}

template <int P, int Q>
POPRT_INLINE void tile_store(f32x16 (&acc)[P][Q], const TileOut& o) {
  if (!o.first) {
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) {
      const float* p = o.c + r * o.c_row + q * o.c_vector;
      acc[r][q] += q + 1 == Q ? load_first(p, o.lanes) : load(p);
    }
  }
  const bool last = o.last;
  if (last && o.residual && !o.epilogue->residual_after) {
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) {
      const float* p = o.residual + r * o.residual_row + q * o.c_vector;
      acc[r][q] += q + 1 == Q ? load_first(p, o.lanes) : load(p);
    }
  }
  if (last && o.epilogue->mode == Epilogue::clamped) {
    const f32x16 low = splat(o.epilogue->low), high = splat(o.epilogue->high);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] =
        vmin(high, vmax(low, acc[r][q]));  // a NaN is kept
  }
  if (last && o.residual && o.epilogue->residual_after && o.epilogue->mode != Epilogue::general) {
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) {
      const float* p = o.residual + r * o.residual_row + q * o.c_vector;
      acc[r][q] += q + 1 == Q ? load_first(p, o.lanes) : load(p);
    }
  }
  POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) {
    float* p = o.c + r * o.c_row + q * o.c_vector;
    if (q + 1 == Q)
      store_first(p, acc[r][q], o.lanes);
    else
      store(p, acc[r][q]);
  }
  if (last && o.epilogue->mode == Epilogue::general) tile_activate(o, P, Q);
}

}  // namespace
}  // namespace poprt::kernels::isa
