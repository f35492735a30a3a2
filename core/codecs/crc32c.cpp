#include "codecs/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace poprt {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // the bits of 0x1edc6f41 in reverse order
constexpr size_t kWord = 8;

using CrcTables = std::array<std::array<uint32_t, 256>, kWord>;

// Table k has the effect of a byte that k bytes follow, so eight bytes need eight independent
// look-ups.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < kWord; k++)
    for (size_t i = 0; i < 256; i++) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xff];
    }
  return tables;
}

constexpr CrcTables kCrcTables = make_crc_tables();

uint64_t crc_word(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

#if defined(__x86_64__)
// The instruction takes three cycles and a new one starts in each cycle, so three lanes of bytes
// are three times as fast as one. The state is linear: after lanes A and B it is the state after A
// and a lane of zeros, xor the state after B that began with state 0.
constexpr size_t kLaneBytes = 4096;

// The product of two polynomials modulo that of the checksum, in reverse order of bits.
constexpr uint32_t crc_product(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & (uint32_t{1} << 31)) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// Table k has the effect of byte k of a state before a lane of zeros.
constexpr std::array<std::array<uint32_t, 256>, 4> make_lane_tables() {
  uint32_t power = uint32_t{1} << 23;  // x^8, one byte of zeros
  for (size_t bytes = 1; bytes < kLaneBytes; bytes *= 2) power = crc_product(power, power);
  std::array<std::array<uint32_t, 256>, 4> tables{};
  for (uint32_t k = 0; k < 4; k++)
    for (uint32_t b = 0; b < 256; b++) tables[k][b] = crc_product(b << (8 * k), power);
  return tables;
}

constexpr std::array<std::array<uint32_t, 256>, 4> kLaneTables = make_lane_tables();

uint64_t after_lane(uint64_t state) {
  return kLaneTables[0][state & 0xff] ^ kLaneTables[1][(state >> 8) & 0xff] ^
         kLaneTables[2][(state >> 16) & 0xff] ^ kLaneTables[3][(state >> 24) & 0xff];
}

__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(uint32_t state,
                                                        std::span<const std::byte> bytes) {
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  uint64_t crc = state;
  for (; left >= 3 * kLaneBytes; p += 3 * kLaneBytes, left -= 3 * kLaneBytes) {
    uint64_t second = 0, third = 0;
    for (const std::byte* const end = p + kLaneBytes; p != end; p += kWord) {
      crc = _mm_crc32_u64(crc, crc_word(p));
      second = _mm_crc32_u64(second, crc_word(p + kLaneBytes));
      third = _mm_crc32_u64(third, crc_word(p + 2 * kLaneBytes));
    }
    crc = after_lane(after_lane(crc) ^ second) ^ third;
    p -= kLaneBytes;
  }
  for (; left >= kWord; p += kWord, left -= kWord) crc = _mm_crc32_u64(crc, crc_word(p));
  state = static_cast<uint32_t>(crc);
  for (; left != 0; p++, left--) state = _mm_crc32_u8(state, std::to_integer<uint8_t>(*p));
  return state;
}
#endif

}  // namespace

uint32_t crc32c_with_table(uint32_t state, std::span<const std::byte> bytes) {
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= kWord; p += kWord, left -= kWord) {
    const uint64_t word = crc_word(p) ^ state;
    state = 0;
    for (size_t k = 0; k < kWord; k++) state ^= kCrcTables[kWord - 1 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left != 0; p++, left--)
    state = (state >> 8) ^ kCrcTables[0][(state ^ std::to_integer<uint32_t>(*p)) & 0xff];
  return state;
}

uint32_t crc32c_with_instruction(uint32_t state, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42(state, bytes);
#endif
  return crc32c_with_table(state, bytes);
}

void Crc32c::update(std::span<const std::byte> bytes) {
  state_ = crc32c_with_instruction(state_, bytes);
}

}  // namespace poprt
