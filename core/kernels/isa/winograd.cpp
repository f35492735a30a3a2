// Transforms: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
#include "kernels/isa/winograd.h"

#include "kernels/isa/conv_tile.h"
#include "kernels/isa/stored.h"

namespace poprt::kernels::isa {
namespace {

// F(4x4) evaluates its polynomials at 0, the positive and negative square roots of 1/2 and 2, and
// infinity. The transforms for these points take a few more multiplications than those for the
// usual points (1 and 2), but rounding errors are a quarter as large
// (docs/decisions/convolution-accuracy.md).
constexpr float kNear = 0.70710678f, kFar = 1.41421356f;

// One row or column of B^T d.
template <int M>
POPRT_INLINE void transform_input(const f32x16* d, f32x16* v) {
  if constexpr (M == 2) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  } else {
    const f32x16 p = d[4] - d[2] * 2.0f, q = (d[3] - d[1] * 2.0f) * kNear;
    const f32x16 r = d[4] - d[2] * 0.5f, t = (d[3] - d[1] * 0.5f) * kFar;
    v[0] = d[0] + (d[4] - d[2] * 2.5f);
    v[1] = p + q;
    v[2] = p - q;
    v[3] = r + t;
    v[4] = r - t;
    v[5] = d[1] + (d[5] - d[3] * 2.5f);
  }
}

// One row or column of A^T m.
template <int M>
POPRT_INLINE void transform_output(const f32x16* m, f32x16* y) {
  if constexpr (M == 2) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  } else {
    const f32x16 a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    y[0] = m[0] + a + c;
    y[1] = b * kNear + d * kFar;
    y[2] = a * 0.5f + c * 2.0f;
    y[3] = b * (kNear * 0.5f) + d * (kFar * 2.0f) + m[5];
  }
}

// B^T d B of one tile at `from` (rows are `pitch` elements apart), to the (M+2)^2 positions.
template <int M, class X>
POPRT_INLINE void input_tile(const X* from, int64_t pitch, float* to, int64_t position) {
  constexpr int A = M + 2;
  f32x16 half[A][A];
  POPRT_UNROLL for (int j = 0; j < A; j++) {
    f32x16 d[A], v[A];
    POPRT_UNROLL for (int i = 0; i < A; i++) d[i] = load_stored(from + i * pitch + j * 16);
    transform_input<M>(d, v);
    POPRT_UNROLL for (int i = 0; i < A; i++) half[i][j] = v[i];
  }
  POPRT_UNROLL for (int i = 0; i < A; i++) {
    f32x16 v[A];
    transform_input<M>(half[i], v);
    POPRT_UNROLL for (int j = 0; j < A; j++) store(to + (i * A + j) * position, v[j]);
  }
}

template <int M, class X>
void transform_inputs(const ConvShape& s, const WinogradBlocking& b, const X* image, int64_t tile0,
                      int64_t count, float* v) {
  constexpr int A = M + 2;
  const int64_t columns = (s.ow + M - 1) / M, position = b.position_floats(s);
  for (int64_t block = 0; block < s.c_blocks; block++) {
    const X* plane = image + block * s.h * s.w * 16;
    int64_t ty = tile0 / columns, tx = tile0 % columns;
    float* to = v + block * count * 16;
    for (int64_t t = 0; t < count; t++, to += 16) {
      const int64_t iy = ty * M - s.pad_h, ix = tx * M - s.pad_w;
      if (iy >= 0 && ix >= 0 && iy + A <= s.h && ix + A <= s.w) {
        input_tile<M>(plane + (iy * s.w + ix) * 16, s.w * 16, to, position);
      } else {
        alignas(64) float edge[A * A * 16];
        for (int64_t i = 0; i < A; i++)
          for (int64_t j = 0; j < A; j++) {
            const bool inside = iy + i >= 0 && iy + i < s.h && ix + j >= 0 && ix + j < s.w;
            store(edge + (i * A + j) * 16,
                  inside ? load_stored(plane + ((iy + i) * s.w + ix + j) * 16) : zero());
          }
        input_tile<M>(edge, A * 16, to, position);
      }
      if (++tx == columns) {
        tx = 0;
        ty++;
      }
    }
  }
}

template <int M, class Y, class Act>
POPRT_INLINE void output_tiles(const ConvShape& s, const WinogradBlocking& b, const float* product,
                               f32x16 bias, const void* residual, Y* y, int64_t tile0,
                               int64_t count, const Act& act) {
  constexpr int A = M + 2;
  const int64_t columns = (s.ow + M - 1) / M, position = b.product_floats();
  const bool before = residual && !s.epilogue.residual_after;
  const bool after = residual && s.epilogue.residual_after;
  int64_t ty = tile0 / columns, tx = tile0 % columns;
  for (int64_t t = 0; t < count; t++, product += 16) {
    f32x16 half[M][A];
    POPRT_UNROLL for (int j = 0; j < A; j++) {
      f32x16 m[A], v[M];
      POPRT_UNROLL for (int i = 0; i < A; i++) m[i] = load(product + (i * A + j) * position);
      transform_output<M>(m, v);
      POPRT_UNROLL for (int i = 0; i < M; i++) half[i][j] = v[i];
    }
    const int64_t rows = s.oh - ty * M < M ? s.oh - ty * M : M;
    const int64_t width = s.ow - tx * M < M ? s.ow - tx * M : M;
    POPRT_UNROLL for (int i = 0; i < M; i++) {
      if (i < rows) {
        const int64_t at = ((ty * M + i) * s.ow + tx * M) * 16;
        f32x16 v[M];
        transform_output<M>(half[i], v);
        POPRT_UNROLL for (int j = 0; j < M; j++) {
          if (j < width) {
            f32x16 r = v[j] + bias;
            if (before) r += load_stored(residual, s.bf16_residual, at + j * 16);
            r = act(r);
            if (after) r += load_stored(residual, s.bf16_residual, at + j * 16);
            store_stored(y + at + j * 16, r);
          }
        }
      }
    }
    if (++tx == columns) {
      tx = 0;
      ty++;
    }
  }
}

// Computes the products of one position: `count` tiles of all input channels and `vectors` blocks
// of output channels.
void multiply(const ConvShape& s, const float* v, const float* weights, int64_t w_vector,
              float* product, int64_t count, int64_t vectors) {
  const ConvTiles& kernels = POPRT_ISA_NAME(conv_tiles);
  TileIn in{};
  in.a_segment = count * 16;
  in.tail_k = s.c % 16;
  in.w_vector = w_vector;
  TileOut out{};
  out.c_row = 16;
  out.c_vector = count * 16;
  out.lanes = 16;
  for (int64_t block = 0; block < s.c_blocks; block += kSummedSegments) {
    const int64_t blocks =
        s.c_blocks - block < kSummedSegments ? s.c_blocks - block : kSummedSegments;
    in.tail = s.c % 16 && block + blocks == s.c_blocks ? 1 : 0;
    in.full = blocks - in.tail;
    in.w = weights + block * 256;
    out.first = block == 0;
    for (int64_t t = 0; t < count;) {
      const int64_t rows = even_piece(count - t, kMaxRows[vectors]);
      in.a = v + (block * count + t) * 16;
      out.c = product + t * 16;
      kernels.blocked[vectors][rows](in, out);
      t += rows;
    }
  }
}

template <int M, class X, class Y>
void run_tile(const ConvShape& s, const WinogradBlocking& b, const X* x, const float* weights,
              const float* bias, const void* residual, Y* y, int64_t begin, int64_t end,
              float* scratch) {
  constexpr int A = M + 2;
  const int64_t tiles = ((s.oh + M - 1) / M) * ((s.ow + M - 1) / M);
  const int64_t position = b.position_floats(s), product_position = b.product_floats();
  const int64_t out_pixels = s.oh * s.ow;
  float* const v = scratch;
  float* const product = scratch + A * A * position;
  int64_t done_chunk = -1;  // the chunk of tiles in v
  for (int64_t task = begin; task < end; task++) {
    const int64_t oc_task = task % b.oc_tasks, chunk = task / b.oc_tasks;
    const int64_t tile0 = chunk % b.tile_tasks * b.tiles, image = chunk / b.tile_tasks;
    const int64_t count = tiles - tile0 < b.tiles ? tiles - tile0 : b.tiles;
    if (chunk != done_chunk)
      transform_inputs<M>(s, b, x + image * s.c_blocks * s.h * s.w * 16, tile0, count, v);
    done_chunk = chunk;
    const int64_t oc_begin = oc_task * b.oc_blocks;
    const int64_t oc_end =
        oc_begin + b.oc_blocks < s.oc_blocks ? oc_begin + b.oc_blocks : s.oc_blocks;
    for (int64_t oc = oc_begin; oc < oc_end;) {
      const int64_t vectors = oc_end - oc < b.vectors ? oc_end - oc : b.vectors;
      for (int64_t p = 0; p < A * A; p++)
        multiply(s, v + p * position, weights + (oc * A * A + p) * s.c * 16, A * A * s.c * 16,
                 product + p * product_position, count, vectors);
      with_common_activation(
          static_cast<Activation>(s.epilogue.activation), s.epilogue.a, s.epilogue.b,
          [&](auto act) {
            for (int64_t q = 0; q < vectors; q++) {
              const int64_t at = (image * s.oc_blocks + oc + q) * out_pixels * 16;
              output_tiles<M>(s, b, product + q * count * 16,
                              bias ? load(bias + (oc + q) * 16) : zero(),
                              stored_at(residual, s.bf16_residual, at), y + at, tile0, count, act);
            }
          });
      oc += vectors;
    }
  }
}

template <class X, class Y>
void run_types(const ConvShape& s, const WinogradBlocking& b, const void* x, const float* weights,
               const float* bias, const void* residual, void* y, int64_t begin, int64_t end,
               float* scratch) {
  (b.tile == 2 ? run_tile<2, X, Y> : run_tile<4, X, Y>)(s, b, static_cast<const X*>(x), weights,
                                                        bias, residual, static_cast<Y*>(y), begin,
                                                        end, scratch);
}

void run(const ConvShape& s, const WinogradBlocking& b, const void* x, const float* weights,
         const float* bias, const void* residual, void* y, int64_t begin, int64_t end,
         float* scratch) noexcept {
  const auto of_types = s.bf16_x
                            ? s.bf16_y ? run_types<uint16_t, uint16_t> : run_types<uint16_t, float>
                        : s.bf16_y ? run_types<float, uint16_t>
                                   : run_types<float, float>;
  of_types(s, b, x, weights, bias, residual, y, begin, end, scratch);
}

int64_t choose_vectors(int64_t tiles, int64_t blocks) { return best_vectors(tiles, blocks); }

}  // namespace

extern const WinogradTable POPRT_ISA_NAME(winograd);
const WinogradTable POPRT_ISA_NAME(winograd) = {choose_vectors, run};

}  // namespace poprt::kernels::isa
