#include "kernels/isa/vnni.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"
#include "kernels/isa/pair_products.h"
#include "kernels/isa/vec.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

#define POPRT_QUAD_TILE(name, target, add_products)                                              \
  template <bool kRowsSigned, bool kFlip, int kRows>                                             \
  target void name(const uint8_t* rows, int64_t stride, const VnniPanel& p, bool add,            \
                   int32_t* sums) {                                                              \
    u32x16 sum[kRows][4] = {};                                                                   \
    if (add)                                                                                     \
      for (int r = 0; r < kRows; r++)                                                            \
        for (int v = 0; v < 4; v++)                                                              \
          sum[r][v] = *reinterpret_cast<const u32x16u*>(sums + r * kVnniPanel + 16 * v);         \
    const uint8_t* data = p.data;                                                                \
    for (int64_t i = 0; i < p.count; i++) {                                                      \
      const uint8_t* at = p.offsets ? p.data + p.offsets[i] : data + i * kVnniBytes;             \
      for (int r = 0; r < kRows; r++) {                                                          \
        int32_t quad = *reinterpret_cast<const loose_i32*>(rows + r * stride + 4 * i);           \
        if (kFlip) quad ^= static_cast<int32_t>(0x80808080u);                                    \
        for (int v = 0; v < 4; v++)                                                              \
          sum[r][v] = add_products<kRowsSigned>(sum[r][v], at + 64 * v, quad);                   \
      }                                                                                          \
    }                                                                                            \
    for (int r = 0; r < kRows; r++)                                                              \
      for (int v = 0; v < 4; v++)                                                                \
        *reinterpret_cast<u32x16u*>(sums + r * kVnniPanel + 16 * v) = sum[r][v];                 \
  }                                                                                              \
  template <bool kRowsSigned, bool kFlip>                                                        \
  void name##_rows(const uint8_t* rows, int64_t stride, int64_t n, const VnniPanel& p, bool add, \
                   int32_t* sums) {                                                              \
    switch (n) {                                                                                 \
      case 1: return name<kRowsSigned, kFlip, 1>(rows, stride, p, add, sums);                    \
      case 2: return name<kRowsSigned, kFlip, 2>(rows, stride, p, add, sums);                    \
      case 3: return name<kRowsSigned, kFlip, 3>(rows, stride, p, add, sums);                    \
      case 4: return name<kRowsSigned, kFlip, 4>(rows, stride, p, add, sums);                    \
      case 5: return name<kRowsSigned, kFlip, 5>(rows, stride, p, add, sums);                    \
      case 6: return name<kRowsSigned, kFlip, 6>(rows, stride, p, add, sums);                    \
      default: return;                                                                           \
    }                                                                                            \
  }
static_assert(kVnniRows == 6);

#if defined(__AVX512BW__)
POPRT_QUAD_TILE(vnni_tile, POPRT_VNNI, add_vnni)
#endif
#if defined(__AVX2__) && !defined(__AVX512BW__)
static_assert(kPairRows == kVnniRows && kPairPanel == kVnniPanel);
template <bool kRowsSigned, bool kFlip>
void plain_tile_rows(const uint8_t* rows, int64_t stride, int64_t n, const VnniPanel& p, bool add,
                     int32_t* sums) {
  RowPairs pairs;
  for (int64_t begin = 0; begin < p.count || begin == 0; begin += kPairPiece, add = true) {
    pairs.count = p.count - begin < kPairPiece ? p.count - begin : kPairPiece;
    for (int64_t r = 0; r < n; r++)
      for (int64_t i = 0; i < pairs.count; i++) {
        auto quad = static_cast<uint32_t>(
            *reinterpret_cast<const loose_i32*>(rows + r * stride + 4 * (begin + i)));
        if (kFlip) quad ^= 0x80808080u;
        separate_row<kRowsSigned>(quad, pairs.at[i][r]);
      }
    pair_products<!kRowsSigned>(pairs, n, p.offsets ? p.data : p.data + begin * kVnniBytes,
                                p.offsets ? p.offsets + begin : nullptr, 4, add, sums);
  }
}
#else
POPRT_QUAD_TILE(plain_tile, , add_plain)
#endif

void multiply(VnniSigns signs, bool vnni, const uint8_t* rows, int64_t stride, int64_t n,
              const VnniPanel& p, bool add, int32_t* sums) noexcept {
#if defined(__AVX512BW__)
  if (vnni) switch (signs) {
      case VnniSigns::panel: return vnni_tile_rows<false, false>(rows, stride, n, p, add, sums);
      case VnniSigns::panel_flip_rows:
        return vnni_tile_rows<false, true>(rows, stride, n, p, add, sums);
      case VnniSigns::rows: return vnni_tile_rows<true, false>(rows, stride, n, p, add, sums);
    }
#endif
  (void)vnni;
  switch (signs) {
    case VnniSigns::panel: return plain_tile_rows<false, false>(rows, stride, n, p, add, sums);
    case VnniSigns::panel_flip_rows:
      return plain_tile_rows<false, true>(rows, stride, n, p, add, sums);
    case VnniSigns::rows: return plain_tile_rows<true, false>(rows, stride, n, p, add, sums);
  }
}

// Multiplies by a row of ones, a part at a time.
void column_sums(bool is_signed, bool vnni, const VnniPanel& p, int32_t* sums) noexcept {
  constexpr int64_t kPiece = 64;
  uint8_t ones[4 * kPiece];
  for (uint8_t& one : ones) one = 1;
  for (int64_t i = 0; i < p.count || i == 0; i += kPiece) {
    const int64_t count = p.count - i < kPiece ? p.count - i : kPiece;
    const VnniPanel piece = {p.offsets ? p.data : p.data + i * kVnniBytes,
                             p.offsets ? p.offsets + i : nullptr, count};
    multiply(is_signed ? VnniSigns::panel : VnniSigns::rows, vnni, ones, 0, 1, piece, i > 0, sums);
  }
}

int32_t row_sum(const uint8_t* row, int64_t n, uint8_t flip) noexcept {
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += static_cast<uint8_t>(row[i] ^ flip);
  return static_cast<int32_t>(sum);
}

void interleave(const uint8_t* from, int64_t stride, int64_t rows, int64_t n, uint8_t flip,
                uint8_t* to) noexcept {
  const uint32_t flips = flip * 0x01010101u;
  int64_t j = 0;
  if (rows == 4) {
    using bytes = uint8_t __attribute__((vector_size(16)));
    typedef bytes loose_bytes __attribute__((aligned(1), may_alias));
    using u32x4 = uint32_t __attribute__((vector_size(16)));
    for (; j + 16 <= n; j += 16) {
      bytes r[4];
      for (int t = 0; t < 4; t++)
        r[t] = *reinterpret_cast<const loose_bytes*>(from + t * stride + j);
      const auto low = [](bytes a, bytes b) {
        return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                       23);
      };
      const auto high = [](bytes a, bytes b) {
        return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                       15, 31);
      };
      // Interleaves the bytes of rows 0 and 2, and of 1 and 3, then of all four.
      const bytes even[2] = {low(r[0], r[2]), high(r[0], r[2])};
      const bytes odd[2] = {low(r[1], r[3]), high(r[1], r[3])};
      for (int h = 0; h < 2; h++) {
        const u32x4 f = u32x4{} + flips;
        *reinterpret_cast<loose_bytes*>(to + 4 * j + 32 * h) =
            low(even[h], odd[h]) ^ reinterpret_cast<bytes>(f);
        *reinterpret_cast<loose_bytes*>(to + 4 * j + 32 * h + 16) =
            high(even[h], odd[h]) ^ reinterpret_cast<bytes>(f);
      }
    }
  }
  for (; j < n; j++)
    for (int64_t t = 0; t < 4; t++)
      to[4 * j + t] = t < rows ? static_cast<uint8_t>(from[t * stride + j] ^ flip) : uint8_t{0};
}

// If the stride is constant, the compiler shuffles vectors.
template <int kStride>
POPRT_INLINE void take_vnni(loose_i32* __restrict to, const loose_i32* __restrict from,
                            int64_t stride, int64_t n) {
  for (int64_t j = 0; j < n; j++) to[j] = from[j * (kStride ? kStride : stride)];
}
void take(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) noexcept {
  auto* t = reinterpret_cast<loose_i32*>(to);
  const auto* f = reinterpret_cast<const loose_i32*>(from);
  stride == 2 ? take_vnni<2>(t, f, stride, n) : take_vnni<0>(t, f, stride, n);
}

void correct(int32_t* out, const int32_t* sums, int64_t n, int32_t row_zero,
             const int32_t* column_sums, const int32_t* zero, int32_t row_rest) noexcept {
  const auto z = static_cast<uint32_t>(row_zero), rest = static_cast<uint32_t>(row_rest);
  for (int64_t j = 0; j < n; j++)
    out[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) -
                                  z * static_cast<uint32_t>(column_sums[j]) -
                                  static_cast<uint32_t>(zero[j]) * rest);
}

void correct_bytes(void* out, const int32_t* sums, int32_t row_zero, const int32_t* column_sums,
                   int32_t row_rest, float scale, float zero_point, float low) noexcept {
  typedef uint8_t bytes __attribute__((vector_size(16)));
  typedef bytes loose_bytes __attribute__((aligned(1), may_alias));
  const auto row = static_cast<uint32_t>(row_zero), rest = static_cast<uint32_t>(row_rest);
  const f32x16 s = splat(scale), z = splat(zero_point);
  for (int64_t j = 0; j < kVnniPanel; j += 16) {
    u32x16 sum = *reinterpret_cast<const u32x16u*>(sums + j);
    if (row) sum -= row * *reinterpret_cast<const u32x16u*>(column_sums + j);
    const f32x16 v =
        vround(__builtin_convertvector(reinterpret_cast<i32x16>(sum - rest), f32x16) * s) + z;
    *reinterpret_cast<loose_bytes*>(static_cast<uint8_t*>(out) + j) =
        __builtin_convertvector(to_i32(clamp(is_nan(v) ? zero() : v, low, low + 255)), bytes);
  }
}

void real(float* y, const int32_t* sums, int64_t n, int32_t row_zero, const int32_t* column_sums,
          float scale, const float* scales, bool one_scale, const float* bias) noexcept {
  const auto row = static_cast<uint32_t>(row_zero);
  const f32x16 one = splat(scale * *scales);
  for (int64_t j = 0; j < n; j += 16) {
    const int64_t lanes = n - j < 16 ? n - j : 16;
    const u32x16 sum = *reinterpret_cast<const u32x16u*>(sums + j) -
                       row * *reinterpret_cast<const u32x16u*>(column_sums + j);
    f32x16 v = __builtin_convertvector(reinterpret_cast<i32x16>(sum), f32x16) *
               (one_scale ? one : scale * load_first(scales + j, lanes));
    if (bias) v += load_first(bias + j, lanes);
    store_first(y + j, v, lanes);
  }
}

POPRT_INLINE f32x16 load_strided(const float* p, int64_t stride) {
  if (stride == 1) return load(p);
  if (stride == 2)
    return __builtin_shufflevector(load(p), load(p + 16), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                   24, 26, 28, 30);
  f32x16 v;
  for (int i = 0; i < 16; i++) v[i] = p[i * stride];
  return v;
}

template <int kStride>
POPRT_INLINE void filter(const float* x, const int32_t* offsets, const float* weights, int64_t taps,
                         int64_t stride, int64_t n, int32_t bias, int32_t* y) {
  for (int64_t j = 0; j < n; j += 16) {
    const float* at = x + j * stride;
    f32x16 sum{};
    for (int64_t t = 0; t < taps; t++)
      sum = fma(load_strided(at + offsets[t], kStride ? kStride : stride), splat(weights[t]), sum);
    const u32x16 whole = reinterpret_cast<u32x16>(__builtin_convertvector(sum, i32x16)) +
                         static_cast<uint32_t>(bias);
    if (n - j >= 16) {
      *reinterpret_cast<u32x16u*>(y + j) = whole;
      continue;
    }
    for (int64_t i = 0; i < n - j; i++) y[j + i] = static_cast<int32_t>(whole[i]);
  }
}

void filter_row(const float* x, const int32_t* offsets, const float* weights, int64_t taps,
                int64_t stride, int64_t n, int32_t bias, int32_t* y) noexcept {
  if (stride == 1) return filter<1>(x, offsets, weights, taps, 1, n, bias, y);
  if (stride == 2) return filter<2>(x, offsets, weights, taps, 2, n, bias, y);
  filter<0>(x, offsets, weights, taps, stride, n, bias, y);
}

}  // namespace

extern const VnniTable POPRT_ISA_NAME(vnni);
const VnniTable POPRT_ISA_NAME(vnni) = {multiply, column_sums,   row_sum, interleave, take,
                                        correct,  correct_bytes, real,    filter_row};

}  // namespace poprt::kernels::isa
