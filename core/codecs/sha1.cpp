#include "codecs/sha1.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace poprt {
namespace {

constexpr size_t kSha1Block = 64;

void add_sha1_block(std::array<uint32_t, 5>& state, const std::byte* bytes) {
  std::array<uint32_t, 80> w;
  for (size_t i = 0; i < 16; i++) {
    uint32_t word;
    std::memcpy(&word, bytes + 4 * i, sizeof word);
    w[i] = __builtin_bswap32(word);
  }
  for (size_t i = 16; i < 80; i++) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (size_t i = 0; i < 80; i++) {
    uint32_t mixed = 0;
    switch (i / 20) {
      case 0: mixed = ((b & c) ^ (~b & d)) + 0x5a827999; break;
      case 1: mixed = (b ^ c ^ d) + 0x6ed9eba1; break;
      case 2: mixed = ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdc; break;
      default: mixed = (b ^ c ^ d) + 0xca62c1d6; break;
    }
    const uint32_t sum = std::rotl(a, 5) + mixed + e + w[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = sum;
  }
  const std::array<uint32_t, 5> added = {a, b, c, d, e};
  for (size_t i = 0; i < 5; i++) state[i] += added[i];
}

}  // namespace

std::string sha1_of(std::span<const std::byte> bytes) {
  std::array<uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= kSha1Block; bytes = bytes.subspan(kSha1Block))
    add_sha1_block(state, bytes.data());
  // The rest, a one, zeros, and the number of bits at the end of a block.
  std::array<std::byte, 2 * kSha1Block> tail{};
  std::copy(bytes.begin(), bytes.end(), tail.begin());
  tail[bytes.size()] = std::byte{0x80};
  const size_t size = bytes.size() + 9 <= kSha1Block ? kSha1Block : 2 * kSha1Block;
  for (size_t i = 0; i < 8; i++) tail[size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (size_t at = 0; at < size; at += kSha1Block) add_sha1_block(state, tail.data() + at);
  std::string hex;
  for (const uint32_t v : state) hex += fmt::format("{:08x}", v);
  return hex;
}

}  // namespace poprt
