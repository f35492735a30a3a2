#include "codecs/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace poprt {
namespace {

uint32_t checksum(std::span<const std::byte> bytes) {
  Crc32c crc;
  crc.update(bytes);
  return crc.value();
}

// Computes the checksum by the definition, bit by bit.
uint32_t defined(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<uint32_t>(b);
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

TEST(Crc32c, KnownValues) {
  // The check value of the CRC catalogue, and vectors of RFC 3720, appendix B.4.
  EXPECT_EQ(checksum(std::as_bytes(std::span(std::string_view("123456789")))), 0xe3069283u);
  EXPECT_EQ(checksum({}), 0u);
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(checksum(bytes), 0x8a9136aau);
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(checksum(bytes), 0x62a8ab43u);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(checksum(bytes), 0x46dd794eu);
}

TEST(Crc32c, TableAndInstructionAgreeWithTheDefinitionInAnyPieces) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; i++) {
    std::vector<std::byte> bytes(random() % 300);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const uint32_t expected = defined(bytes);
    EXPECT_EQ(~crc32c_with_table(~uint32_t{0}, bytes), expected);
    EXPECT_EQ(~crc32c_with_instruction(~uint32_t{0}, bytes), expected);
    const size_t cut = random() % (bytes.size() + 1);
    Crc32c crc;
    crc.update(std::span(bytes).first(cut));
    crc.update(std::span(bytes).subspan(cut));
    EXPECT_EQ(crc.value(), expected);
  }
}

// The instruction computes three lanes at once in long runs of bytes.
TEST(Crc32c, LongRunsAgreeWithTheTable) {
  std::vector<std::byte> bytes(40'000);
  std::mt19937 random(7);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (const size_t size : {12'287, 12'288, 12'289, 16'384, 24'575, 24'576, 36'872, 40'000})
    for (const uint32_t state : {~uint32_t{0}, uint32_t{0}, static_cast<uint32_t>(random())}) {
      const auto part = std::span(bytes).last(size);
      EXPECT_EQ(crc32c_with_instruction(state, part), crc32c_with_table(state, part)) << size;
    }
}

TEST(Crc32c, FindsEveryFlippedBit) {
  std::vector<std::byte> bytes(1000);
  std::mt19937 random(6);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  const uint32_t before = checksum(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(checksum(bytes), before) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace poprt
