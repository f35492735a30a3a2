// Functions that move elements by their size only, independent of the dtype.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/kernel.h"

namespace poprt::kernels {

// Has alignment 1, because the memory of a caller may have any alignment.
template <size_t N>
struct Raw {
  std::array<std::byte, N> bytes;
};

// Words of unaligned memory, which compilers move in vectors.
template <size_t N>
struct WordOf {
  typedef Raw<N> type;
};
template <>
struct WordOf<1> {
  typedef uint8_t type;
};
template <>
struct WordOf<2> {
  typedef uint16_t type __attribute__((aligned(1), may_alias));
};
template <>
struct WordOf<4> {
  typedef uint32_t type __attribute__((aligned(1), may_alias));
};
template <>
struct WordOf<8> {
  typedef uint64_t type __attribute__((aligned(1), may_alias));
};

// Calls f(Raw<N>{}) for N = 1, 2, 4, 8 or 16; does nothing for another size.
template <class F>
void dispatch_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(Raw<1>{});
    case 2: return f(Raw<2>{});
    case 4: return f(Raw<4>{});
    case 8: return f(Raw<8>{});
    case 16: return f(Raw<16>{});
    default: return;
  }
}

// Bytes of one element of a dtype with whole bytes; otherwise throws through expect().
inline int64_t element_size(DType dtype, std::string_view kernel) {
  const int bits = dtype_bits(dtype);
  expect(bits >= 8 && bits % 8 == 0, kernel, "elements of this dtype are not whole bytes");
  return bits / 8;
}

// Writes `count` copies of the `size` bytes at `value`, or zeros if value is null. `size` must be a
// power of two.
inline void fill_elements(void* to, const void* value, int64_t size, int64_t count) noexcept {
  if (count <= 0) return;
  if (!value) {
    std::memset(to, 0, static_cast<size_t>(size * count));
    return;
  }
  // The first bytes are filled by doubling, the rest by copying them.
  constexpr int64_t kPattern = 4096;
  const int64_t bytes = count * size;
  auto* p = static_cast<std::byte*>(to);
  std::memcpy(p, value, static_cast<size_t>(size));
  int64_t done = size;
  for (; done < bytes && done < kPattern; done *= 2)
    std::memcpy(p + done, p, static_cast<size_t>(std::min(done, bytes - done)));
  for (; done < bytes; done += kPattern)
    std::memcpy(p + done, p, static_cast<size_t>(std::min(kPattern, bytes - done)));
}

// Reads element i of an index operand (s32 or s64) of any alignment.
inline int64_t load_index(const void* indices, bool wide, int64_t i) noexcept {
  if (wide) {
    int64_t v;
    std::memcpy(&v, static_cast<const std::byte*>(indices) + i * 8, 8);
    return v;
  }
  int32_t v;
  std::memcpy(&v, static_cast<const std::byte*>(indices) + i * 4, 4);
  return v;
}

inline bool is_index(DType dtype) { return dtype == DType::s32 || dtype == DType::s64; }

}  // namespace poprt::kernels
