// Transforms: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
#include "kernels/isa/winograd.h"

#include "kernels/isa/conv_tile.h"
#include "kernels/isa/stored.h"

namespace poprt::kernels::isa {
namespace {

// F(4x4) evaluates its polynomials at 0, the positive and negative square roots of 1/2 and 2, and
// infinity. The transforms for these points take a few more multiplications than those for the
// usual points (1 and 2), but the largest rounding errors are a tenth to a quarter as large
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

// The position of a tile. The tiles of all images are numbered one after the other; an image is a
// slice of y here.
template <int M>
struct TilePlace {
  TilePlace(const ConvShape& s, int64_t tile)
      : rows((s.oh + M - 1) / M),
        columns((s.ow + M - 1) / M),
        image(tile / (rows * columns)),
        y(tile / columns % rows),
        x(tile % columns) {}
  // Moves to the next tile. Returns whether that is in another image.
  POPRT_INLINE bool advance() {
    if (++x < columns) return false;
    x = 0;
    if (++y < rows) return false;
    y = 0;
    image++;
    return true;
  }
  int64_t rows, columns;
  int64_t image, y, x;
};

// The slice of x that a tap of the depth reads for an image, or null in the padding.
template <class X>
POPRT_INLINE const X* input_slice(const ConvShape& s, const X* x, int64_t image, int64_t block,
                                  int64_t tap) {
  const int64_t z = image % s.od * s.stride_d - s.pad_d + tap * s.dilation_d;
  if (z < 0 || z >= s.d) return nullptr;
  return x + ((image / s.od * s.c_blocks + block) * s.d + z) * s.h * s.w * 16;
}
POPRT_INLINE int64_t output_slice(const ConvShape& s, int64_t image, int64_t oc) {
  return ((image / s.od * s.oc_blocks + oc) * s.od + image % s.od) * s.oh * s.ow * 16;
}

template <int M, class X>
void transform_inputs(const ConvShape& s, const WinogradBlocking& b, const X* x, int64_t tile0,
                      int64_t count, float* v) {
  constexpr int A = M + 2;
  const int64_t position = b.position_floats(s);
  for (int64_t block = 0; block < winograd_blocks(s); block++) {
    TilePlace<M> at(s, tile0);
    const int64_t channels = block / s.kd, tap = block % s.kd;
    const X* plane = input_slice(s, x, at.image, channels, tap);
    float* to = v + block * count * 16;
    for (int64_t t = 0; t < count; t++, to += 16) {
      const int64_t iy = at.y * M - s.pad_h, ix = at.x * M - s.pad_w;
      if (!plane) {
        for (int64_t i = 0; i < A * A; i++) store(to + i * position, zero());
      } else if (iy >= 0 && ix >= 0 && iy + A <= s.h && ix + A <= s.w) {
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
      if (at.advance() && t + 1 < count) plane = input_slice(s, x, at.image, channels, tap);
    }
  }
}

template <int M, class Y, class Act>
POPRT_INLINE void output_tiles(const ConvShape& s, const WinogradBlocking& b, const float* product,
                               f32x16 bias, const void* residual, Y* y, int64_t oc, int64_t tile0,
                               int64_t count, const Act& act) {
  constexpr int A = M + 2;
  const int64_t position = b.product_floats();
  const bool before = residual && !s.epilogue.residual_after;
  const bool after = residual && s.epilogue.residual_after;
  TilePlace<M> place(s, tile0);
  int64_t plane = output_slice(s, place.image, oc);
  for (int64_t t = 0; t < count; t++, product += 16) {
    f32x16 half[M][A];
    POPRT_UNROLL for (int j = 0; j < A; j++) {
      f32x16 m[A], v[M];
      POPRT_UNROLL for (int i = 0; i < A; i++) m[i] = load(product + (i * A + j) * position);
      transform_output<M>(m, v);
      POPRT_UNROLL for (int i = 0; i < M; i++) half[i][j] = v[i];
    }
    const int64_t rows = s.oh - place.y * M < M ? s.oh - place.y * M : M;
    const int64_t width = s.ow - place.x * M < M ? s.ow - place.x * M : M;
    POPRT_UNROLL for (int i = 0; i < M; i++) {
      if (i < rows) {
        const int64_t at = plane + ((place.y * M + i) * s.ow + place.x * M) * 16;
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
    if (place.advance()) plane = output_slice(s, place.image, oc);
  }
}

// Adds the products of one position to `product` (or begins them, with block 0): `count` tiles of
// at most kSummedSegments blocks of the sum from `block` on, and `vectors` blocks of output
// channels. The weights are those of these blocks.
void multiply(const ConvShape& s, int64_t block, const float* v, const float* weights,
              int64_t w_vector, float* product, int64_t count, int64_t vectors) {
  const ConvTiles& kernels = POPRT_ISA_NAME(conv_tiles);
  const int64_t left = winograd_blocks(s) - block, full = s.c / 16 * s.kd - block;
  const int64_t blocks = left < kSummedSegments ? left : kSummedSegments;
  TileIn in{};
  in.a_segment = count * 16;
  in.tail_k = s.c % 16;
  in.w_vector = w_vector;
  in.full = full < 0 ? 0 : full < blocks ? full : blocks;
  in.tail = blocks - in.full;
  in.w = weights;
  TileOut out{};
  out.c_row = 16;
  out.c_vector = count * 16;
  out.lanes = 16;
  out.first = block == 0;
  for (int64_t t = 0; t < count;) {
    const int64_t rows = even_piece(count - t, kMaxRows[vectors]);
    in.a = v + (block * count + t) * 16;
    out.c = product + t * 16;
    kernels.blocked[vectors][rows](in, out);
    t += rows;
  }
}

// Element I of G g, where g is a row or a column, without the factor of weight_factor(). No sum has
// two products, so that there is one way to fuse them.
template <int M, int I>
POPRT_INLINE f32x16 transform_weight(f32x16 g0, f32x16 g1, f32x16 g2) {
  if constexpr (I == 0)
    return g0;
  else if constexpr (I == M + 1)
    return g2;
  else if constexpr (M == 2)
    return I == 1 ? (g0 + g2) + g1 : (g0 + g2) - g1;
  else
    return fma(g1, splat(I == 1 || I == 3 ? kFar : -kFar), I < 3 ? g0 * 2.0f + g2 : g0 + g2 * 2.0f);
}
template <int M>
constexpr float weight_factor(int i) {
  if (i == 0 || i == M + 1) return 1;
  if (M == 2) return 0.5f;
  return i < 3 ? -1.0f / 3 : 1.0f / 6;
}

// Row I of the positions of G g G^T, for one block of output channels and `channels` input channels
// with weights [tap][channel][16], to [column][...][16] whose columns are `column` floats apart.
template <int M, int I>
POPRT_INLINE void transform_block(const float* g, int64_t channels, float* to, int64_t column) {
  const int64_t tap = channels * 16;
  for (int64_t c = 0; c < channels; c++, g += 16, to += 16) {
    f32x16 h[3];
    POPRT_UNROLL for (int x = 0; x < 3; x++) h[x] =
        transform_weight<M, I>(load(g + x * tap), load(g + (3 + x) * tap), load(g + (6 + x) * tap));
    store(to, h[0] * weight_factor<M>(I));
    store(to + column,
          transform_weight<M, 1>(h[0], h[1], h[2]) * (weight_factor<M>(I) * weight_factor<M>(1)));
    store(to + 2 * column,
          transform_weight<M, 2>(h[0], h[1], h[2]) * (weight_factor<M>(I) * weight_factor<M>(2)));
    if constexpr (M == 4) {
      store(to + 3 * column,
            transform_weight<M, 3>(h[0], h[1], h[2]) * (weight_factor<M>(I) * weight_factor<M>(3)));
      store(to + 4 * column,
            transform_weight<M, 4>(h[0], h[1], h[2]) * (weight_factor<M>(I) * weight_factor<M>(4)));
    }
    store(to + (M + 1) * column, h[2] * weight_factor<M>(I));
  }
}

// The same for all blocks of multiply() and `vectors` blocks of output channels. The result is
// [column][block of output channels][weight_floats()].
template <int M, int I>
void transform_row(const ConvShape& s, const float* weights, int64_t block, int64_t vectors,
                   float* to) {
  const int64_t each = WinogradBlocking::weight_floats(s), column = vectors * each;
  const int64_t blocks = winograd_blocks(s);
  const int64_t end = block + kSummedSegments < blocks ? block + kSummedSegments : blocks;
  for (int64_t q = 0; q < vectors; q++) {
    float* next = to + q * each;
    for (int64_t b = block; b < end; b++) {
      const int64_t c = b / s.kd * 16, channels = s.c - c < 16 ? s.c - c : 16;
      const float* from = weights + ((q * s.c + c) * s.kd + b % s.kd * channels) * 144;
      transform_block<M, I>(from, channels, next, column);
      next += channels * 16;
    }
  }
}

template <int M, int I = 0>
POPRT_INLINE void transform_weights(int i, const ConvShape& s, const float* weights, int64_t block,
                                    int64_t vectors, float* to) {
  if (i == I) return transform_row<M, I>(s, weights, block, vectors, to);
  if constexpr (I < M + 1) transform_weights<M, I + 1>(i, s, weights, block, vectors, to);
}

// Computes the products of all positions for output blocks [oc, oc + vectors).
template <int M>
void multiply_all(const ConvShape& s, const WinogradBlocking& b, const float* v,
                  const float* weights, int64_t oc, int64_t vectors, float* product, int64_t count,
                  float* transformed) {
  constexpr int A = M + 2;
  const int64_t position = b.position_floats(s), product_position = b.product_floats();
  if (b.transformed) {
    for (int64_t p = 0; p < A * A; p++)
      for (int64_t block = 0; block < winograd_blocks(s); block += kSummedSegments)
        multiply(s, block, v + p * position, weights + (oc * A * A + p) * s.c * 16 + block * 256,
                 A * A * s.c * 16, product + p * product_position, count, vectors);
    return;
  }
  const int64_t each = WinogradBlocking::weight_floats(s);
  for (int i = 0; i < A; i++)
    for (int64_t block = 0; block < winograd_blocks(s); block += kSummedSegments) {
      transform_weights<M>(i, s, weights + oc * s.c * s.kd * 144, block, vectors, transformed);
      for (int64_t p = i * A; p < i * A + A; p++)
        multiply(s, block, v + p * position, transformed + (p - i * A) * vectors * each, each,
                 product + p * product_position, count, vectors);
    }
}

template <int M, class X, class Y>
void run_tile(const ConvShape& s, const WinogradBlocking& b, const X* x, const float* weights,
              const float* bias, const void* residual, Y* y, int64_t begin, int64_t end,
              float* scratch) {
  constexpr int A = M + 2;
  const int64_t tiles = s.batch * s.od * ((s.oh + M - 1) / M) * ((s.ow + M - 1) / M);
  float* const v = scratch;
  float* const product = v + A * A * b.position_floats(s);
  float* const transformed = product + A * A * b.product_floats();
  int64_t done_chunk = -1;  // the chunk of tiles in v
  for (int64_t task = begin; task < end; task++) {
    const int64_t oc_task = task % b.oc_tasks, chunk = task / b.oc_tasks;
    const int64_t tile0 = chunk * b.tiles;
    const int64_t count = tiles - tile0 < b.tiles ? tiles - tile0 : b.tiles;
    if (chunk != done_chunk) transform_inputs<M>(s, b, x, tile0, count, v);
    done_chunk = chunk;
    const int64_t oc_begin = oc_task * b.oc_blocks;
    const int64_t oc_end =
        oc_begin + b.oc_blocks < s.oc_blocks ? oc_begin + b.oc_blocks : s.oc_blocks;
    for (int64_t oc = oc_begin; oc < oc_end;) {
      const int64_t vectors = oc_end - oc < b.vectors ? oc_end - oc : b.vectors;
      multiply_all<M>(s, b, v, weights, oc, vectors, product, count, transformed);
      with_common_activation(static_cast<Activation>(s.epilogue.activation), s.epilogue.a,
                             s.epilogue.b, [&](auto act) {
                               for (int64_t q = 0; q < vectors; q++)
                                 output_tiles<M>(s, b, product + q * count * 16,
                                                 bias ? load(bias + (oc + q) * 16) : zero(),
                                                 residual, y, oc + q, tile0, count, act);
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
