#include "kernels/isa/conv_tile.h"

namespace poprt::kernels::isa {
namespace {

template <int P, int Q>
void blocked(const TileIn& in, const TileOut& out) {
  f32x16 acc[P][Q];
  tile_begin(acc, out);
  const float* a = in.a;
  const float* w = in.w;
  const int64_t w_vector = in.w_vector;
  for (int64_t s = 0; s < in.full; s++, a += in.a_segment, w += in.w_skip) {
    if (in.at) a = in.at[s] + in.shift;
    for (int i = 0; i < 16; i += 4, w += 64) {
      POPRT_UNROLL for (int j = 0; j < 4; j++) tile_step(acc, a + i + j, 16, w + 16 * j, w_vector);
    }
  }
  for (int64_t s = 0; s < in.tail; s++, a += in.a_segment) {
    if (in.at) a = in.at[in.full + s] + in.shift;
    for (int64_t i = 0; i < in.tail_k; i++, w += 16) tile_step(acc, a + i, 16, w, w_vector);
  }
  tile_store(acc, out);
}

template <int P, int Q>
void plane(const PlaneIn& in, const TileOut& out) {
  f32x16 acc[P][Q];
  tile_begin(acc, out);
  const float* w = in.w;
  for (int64_t k = 0; k < in.k; k++, w += 16)
    tile_step(acc, in.a + in.offset[k], 1, w, in.w_vector);
  tile_store(acc, out);
}

template <int P, int Q>
void wide(const WideIn& in, const TileOut& out) {
  f32x16 acc[P][Q];
  POPRT_UNROLL for (int r = 0; r < P; r++) {
    const f32x16 bias = in.bias ? splat(in.bias[r]) : zero();
    POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] = bias;
  }
  for (int64_t k = 0; k < in.k; k++) tile_step(acc, in.w + k, in.w_row, in.b + in.offset[k], 16);
  tile_store(acc, out);
}

template <int P, int Q>
constexpr void fill_wide(ConvTiles& t) {
  t.wide[Q][P] = wide<P, Q>;
  if constexpr (P > 1)
    fill_wide<P - 1, Q>(t);
  else if constexpr (Q > 1)
    fill_wide<kWideRows, Q - 1>(t);
}

template <int P, int Q>
constexpr void fill(ConvTiles& t) {
  t.blocked[Q][P] = blocked<P, Q>;
  t.plane[Q][P] = plane<P, Q>;
  if constexpr (P > 1)
    fill<P - 1, Q>(t);
  else if constexpr (Q > 1)
    fill<kMaxRows[Q - 1], Q - 1>(t);
}
constexpr ConvTiles make() {
  ConvTiles t;
  fill<kMaxRows[kMaxVectors], kMaxVectors>(t);
  fill_wide<kWideRows, kWideVectors>(t);
  return t;
}

}  // namespace

const ConvTiles POPRT_ISA_NAME(conv_tiles) = make();

}  // namespace poprt::kernels::isa
