#include "runtime/queue/payload_buffer.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace poprt::runtime
