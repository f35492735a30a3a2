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
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(uint32_t state,
                                                        std::span<const std::byte> bytes) {
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  uint64_t crc = state;
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
  static const bool available = __builtin_cpu_supports("sse4.2") != 0;
  if (available) return crc32c_sse42(state, bytes);
#endif
  return crc32c_with_table(state, bytes);
}

void Crc32c::update(std::span<const std::byte> bytes) {
  state_ = crc32c_with_instruction(state_, bytes);
}

}  // namespace poprt
