#include "kernels/isa/transpose.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

// A tile of kSize lanes by kSize rows. Memory may have any alignment.
struct Tile1 {
  static constexpr int kSize = 8;
  using Element = uint8_t;
  using Vector = uint8_t __attribute__((vector_size(8)));
};
struct Tile2 {
  static constexpr int kSize = 8;
  using Element = uint16_t;
  using Vector = uint16_t __attribute__((vector_size(16)));
};
struct Tile4 {
  static constexpr int kSize = 8;
  using Element = uint32_t;
  using Vector = uint32_t __attribute__((vector_size(32)));
};
struct Tile8 {
  static constexpr int kSize = 4;
  using Element = uint64_t;
  using Vector = uint64_t __attribute__((vector_size(32)));
};

// Interleaves in[i] with in[i + 4]; three rounds transpose eight vectors of eight lanes.
template <class Vector>
POPRT_INLINE void zip(const Vector (&in)[8], Vector (&out)[8]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    out[2 * i] = __builtin_shufflevector(in[i], in[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

template <class Vector>
POPRT_INLINE void shuffle(Vector (&r)[8]) {
  Vector a[8], b[8];
  zip(r, a);
  zip(a, b);
  zip(b, r);
}

// Shuffles inside 128-bit lanes first and across them last: one instruction each with 32-byte
// vectors.
POPRT_INLINE void shuffle(Tile4::Vector (&r)[8]) {
  Tile4::Vector a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    a[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int h = 0; h < 8; h += 4) {
    b[h] = __builtin_shufflevector(a[h], a[h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[h + 1] = __builtin_shufflevector(a[h], a[h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[h + 2] = __builtin_shufflevector(a[h + 1], a[h + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[h + 3] = __builtin_shufflevector(a[h + 1], a[h + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

POPRT_INLINE void shuffle(Tile8::Vector (&r)[4]) {
  const Tile8::Vector a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6);
  const Tile8::Vector b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
  const Tile8::Vector c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6);
  const Tile8::Vector d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

template <class Tile>
POPRT_INLINE void tile(const char* from, int64_t from_step, char* to, int64_t to_step) {
  typename Tile::Vector r[Tile::kSize];
#pragma GCC unroll 8
  for (int i = 0; i < Tile::kSize; i++) __builtin_memcpy(&r[i], from + i * from_step, sizeof(r[i]));
  shuffle(r);
#pragma GCC unroll 8
  for (int i = 0; i < Tile::kSize; i++) __builtin_memcpy(to + i * to_step, &r[i], sizeof(r[i]));
}

// Transposes few rows completely: pixels of K channels to planes, and back. With a constant K, the
// compiler shuffles vectors instead of gathering elements.
template <class E, int K>
void pixels_to_planes(const void* source, void* target, int64_t to_step, int64_t n) {
  typedef E Packed __attribute__((aligned(1), may_alias));
  const Packed* __restrict from = static_cast<const Packed*>(source);
  Packed* __restrict to = static_cast<Packed*>(target);
  for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
    for (int k = 0; k < K; k++) to[k * to_step + i] = from[i * K + k];
}

template <class E, int K>
void planes_to_pixels(const void* source, int64_t from_step, void* target, int64_t n) {
  typedef E Packed __attribute__((aligned(1), may_alias));
  const Packed* __restrict from = static_cast<const Packed*>(source);
  Packed* __restrict to = static_cast<Packed*>(target);
  for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
    for (int k = 0; k < K; k++) to[i * K + k] = from[k * from_step + i];
}

template <class Tile>
void block(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t ni, int64_t nj) {
  using E = typename Tile::Element;
  constexpr int64_t kT = Tile::kSize, kE = sizeof(E);
  if (from_step == nj) {
    if (nj == 2) return pixels_to_planes<E, 2>(from, to, to_step, ni);
    if (nj == 3) return pixels_to_planes<E, 3>(from, to, to_step, ni);
    if (nj == 4) return pixels_to_planes<E, 4>(from, to, to_step, ni);
  }
  if (to_step == ni) {
    if (ni == 2) return planes_to_pixels<E, 2>(from, from_step, to, nj);
    if (ni == 3) return planes_to_pixels<E, 3>(from, from_step, to, nj);
    if (ni == 4) return planes_to_pixels<E, 4>(from, from_step, to, nj);
  }
  const char* src = static_cast<const char*>(from);
  char* dst = static_cast<char*>(to);
  const int64_t ss = from_step * kE, ds = to_step * kE;
  const int64_t full_i = ni / kT * kT, full_j = nj / kT * kT;
  // Two tiles at a time, so that whole cache lines are used while they are in the cache.
  for (int64_t j0 = 0; j0 < full_j; j0 += 2 * kT) {
    const int64_t j1 = j0 + 2 * kT < full_j ? j0 + 2 * kT : full_j;
    for (int64_t i = 0; i < full_i; i += kT)
      for (int64_t j = j0; j < j1; j += kT)
        tile<Tile>(src + i * ss + j * kE, ss, dst + j * ds + i * kE, ds);
  }
  const auto scalar = [&](int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    for (int64_t j = j0; j < j1; j++)
      for (int64_t i = i0; i < i1; i++)
        __builtin_memcpy(dst + j * ds + i * kE, src + i * ss + j * kE, kE);
  };
  scalar(full_i, ni, 0, full_j);
  scalar(0, ni, full_j, nj);
}

}  // namespace

extern const TransposeTable POPRT_ISA_NAME(transpose);
const TransposeTable POPRT_ISA_NAME(transpose) = {
    {block<Tile1>, block<Tile2>, block<Tile4>, block<Tile8>}};

}  // namespace poprt::kernels::isa
