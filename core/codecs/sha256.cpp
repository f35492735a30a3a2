#include "codecs/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#define _Bool bool  // the header is written for C
#include <sys/platform/x86.h>
#undef _Bool
#endif

namespace poprt {
namespace {

// FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t load_big_endian(const std::byte* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap32(v);
}

void add_blocks_portable(std::array<uint32_t, 8>& state, const std::byte* bytes, size_t count) {
  for (; count > 0; count--, bytes += 64) {
    std::array<uint32_t, 64> w;
    for (size_t i = 0; i < 16; i++) w[i] = load_big_endian(bytes + 4 * i);
    for (size_t i = 16; i < 64; i++) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; i++) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) state[i] += sum[i];
  }
}

#if defined(__x86_64__)
// Uses the SHA instructions of the processor because they are seven times as fast, and whole models
// are hashed. The instructions need the state as (a, b, e, f) and (c, d, g, h), and compute four
// rounds from four words of the schedule.
__attribute__((target("sha,sse4.1,ssse3"))) void add_blocks_sha(std::array<uint32_t, 8>& state,
                                                                const std::byte* bytes,
                                                                size_t count) {
  const auto load = [](const void* from) __attribute__((target("sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(&state[0]), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(&state[4]), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; count--, bytes += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (size_t i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(load(bytes + 16 * i), big_endian);
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++) {
      const __m128i words = _mm_add_epi32(w[i % 4], load(&kRound[4 * i]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
      if (i >= 12) continue;
      const __m128i ago_7 = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
      const __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), ago_7);
      w[i % 4] = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

void sha256_blocks(std::array<uint32_t, 8>& state, const std::byte* bytes, size_t count,
                   bool portable) {
#if defined(__x86_64__)
  const bool able = CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1);
  if (able && !portable) return add_blocks_sha(state, bytes, count);
#endif
  static_cast<void>(portable);
  add_blocks_portable(state, bytes, count);
}

Sha256& Sha256::add(std::span<const std::byte> bytes) {
  size_t used = size_ % 64;
  size_ += bytes.size();
  if (used != 0) {
    const size_t n = std::min(bytes.size(), 64 - used);
    std::copy_n(bytes.begin(), n, pending_.begin() + static_cast<ptrdiff_t>(used));
    bytes = bytes.subspan(n);
    if (used + n < 64) return *this;
    sha256_blocks(state_, pending_.data(), 1);
  }
  sha256_blocks(state_, bytes.data(), bytes.size() / 64);
  bytes = bytes.subspan(bytes.size() / 64 * 64);
  std::copy(bytes.begin(), bytes.end(), pending_.begin());
  return *this;
}

Sha256& Sha256::add_sized(std::span<const std::byte> bytes) {
  const uint64_t size = bytes.size();
  return add(std::as_bytes(std::span(&size, 1))).add(bytes);
}

std::string Sha256::finish() {
  const uint64_t bits = size_ * 8;
  std::array<std::byte, 72> tail{std::byte{0x80}};
  const size_t zeros = (119 - size_ % 64) % 64;  // zero bytes between 0x80 and the length
  for (size_t i = 0; i < 8; i++) tail[1 + zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  add(std::span(tail).first(1 + zeros + 8));
  std::string hex;
  for (const uint32_t v : state_) hex += fmt::format("{:08x}", v);
  return hex;
}

}  // namespace poprt
