#include "runtime/queue/payload_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace poprt::runtime {
namespace {

TEST(PayloadBuffer, KeepsItsContentsWhileItGrows) {
  PayloadBuffer buffer;
  EXPECT_TRUE(buffer.bytes().empty());
  std::vector<std::byte> all;
  for (int i = 0; i < 300; i++) {
    const std::vector<std::byte> piece(static_cast<size_t>(i * 97), static_cast<std::byte>(i));
    buffer.append(piece);
    all.insert(all.end(), piece.begin(), piece.end());
  }
  ASSERT_GT(all.size(), size_t{4} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 4096, 0u);
  EXPECT_EQ(std::vector(buffer.bytes().begin(), buffer.bytes().end()), all);
}

// A large piece gets huge pages, which begin at other places than the piece.
TEST(PayloadBuffer, ALargePieceIsZeroAndWritable) {
  PayloadBuffer buffer;
  buffer.append(std::vector<std::byte>(5000, std::byte{1}));
  const std::span<std::byte> large = buffer.extend(size_t{9} << 20);
  EXPECT_EQ(std::ranges::count(large, std::byte{0}), 9 << 20);
  std::ranges::fill(large, std::byte{2});
  EXPECT_EQ(std::ranges::count(buffer.bytes(), std::byte{1}), 5000);
  EXPECT_EQ(std::ranges::count(buffer.bytes(), std::byte{2}), 9 << 20);
}

}  // namespace
}  // namespace poprt::runtime
