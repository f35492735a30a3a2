#include "codecs/sha1.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace poprt {
namespace {

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

Sha1& Sha1::add(std::span<const std::byte> bytes) {
  const size_t begun = bytes_ % kBlock;
  bytes_ += bytes.size();
  if (begun) {
    const size_t more = std::min(bytes.size(), kBlock - begun);
    std::copy_n(bytes.begin(), more, rest_.begin() + static_cast<ptrdiff_t>(begun));
    bytes = bytes.subspan(more);
    if (begun + more < kBlock) return *this;
    add_sha1_block(state_, rest_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock))
    add_sha1_block(state_, bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  return *this;
}

std::string Sha1::finish() {
  // The rest, a one, zeros, and the number of bits at the end of a block.
  const uint64_t bits = bytes_ * 8;
  const size_t rest = bytes_ % kBlock;
  std::array<std::byte, 2 * kBlock> tail{};
  std::copy_n(rest_.begin(), rest, tail.begin());
  tail[rest] = std::byte{0x80};
  const size_t size = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (size_t i = 0; i < 8; i++) tail[size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (size_t at = 0; at < size; at += kBlock) add_sha1_block(state_, tail.data() + at);
  std::string hex;
  for (const uint32_t v : state_) hex += fmt::format("{:08x}", v);
  return hex;
}

std::string sha1_of(std::span<const std::byte> bytes) { return Sha1().add(bytes).finish(); }

}  // namespace poprt
