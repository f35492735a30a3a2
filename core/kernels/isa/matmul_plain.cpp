#include "kernels/isa/matmul_plain.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(64)));
  typedef V U __attribute__((aligned(1), may_alias));
  typedef T S __attribute__((aligned(1), may_alias));
};

template <class T, int kRows>
POPRT_INLINE void tile(const void* from_a, int64_t a_row, int64_t a_k, const void* from_b,
                       int64_t b_k, int64_t k, void* sums) {
  using V = typename Lanes<T>::V;
  using U = typename Lanes<T>::U;
  using S = typename Lanes<T>::S;
  constexpr int kVectors = kPlainBytes / 64;
  const auto* a = static_cast<const S*>(from_a);
  const auto* b = static_cast<const S*>(from_b);
  V sum[kRows][kVectors] = {};
  for (int64_t i = 0; i < k; i++, b += b_k) {
    V v[kVectors];
    for (int c = 0; c < kVectors; c++)
      v[c] = *reinterpret_cast<const U*>(b + c * static_cast<int64_t>(64 / sizeof(T)));
    for (int r = 0; r < kRows; r++) {
      const T x = a[r * a_row + i * a_k];
      for (int c = 0; c < kVectors; c++) sum[r][c] += v[c] * x;
    }
  }
  for (int r = 0; r < kRows; r++)
    for (int c = 0; c < kVectors; c++)
      *reinterpret_cast<U*>(static_cast<char*>(sums) + r * kPlainBytes + 64 * c) = sum[r][c];
}

template <class T>
void block(const void* a, int64_t a_row, int64_t a_k, const void* b, int64_t b_k, int64_t k,
           int64_t rows, void* sums) noexcept {
  if (rows == kPlainRows) return tile<T, kPlainRows>(a, a_row, a_k, b, b_k, k, sums);
  for (int64_t r = 0; r < rows; r++)
    tile<T, 1>(static_cast<const T*>(a) + r * a_row, a_row, a_k, b, b_k, k,
               static_cast<char*>(sums) + r * kPlainBytes);
}

}  // namespace

extern const PlainMatmulTable POPRT_ISA_NAME(matmul_plain);
const PlainMatmulTable POPRT_ISA_NAME(matmul_plain) = {
    {block<double>, block<uint32_t>, block<uint64_t>}};

}  // namespace poprt::kernels::isa
