#include "ipu/exchange.h"

#include <gtest/gtest.h>

namespace poprt::ipu {
namespace {

// 4 bytes per cycle.
TEST(ExchangeCycles, AreTheBytesByTheRate) {
  const Target& t = target_of("c600");
  EXPECT_EQ(exchange_cycles(t, 0, false), 0);
  EXPECT_EQ(exchange_cycles(t, -4, false), 0);
  EXPECT_EQ(exchange_cycles(t, 1, false), 0);
  EXPECT_EQ(exchange_cycles(t, 2, false), 1);
  EXPECT_EQ(exchange_cycles(t, 4096, false), 1024);
  EXPECT_EQ(exchange_cycles(t, 4096, true), 512);
}

TEST(ExchangeCycles, CountShortPieces) {
  const Target& t = target_of("c600");
  EXPECT_EQ(exchange_cycles(t, 1024, false, 4), 256);
  EXPECT_EQ(exchange_cycles(t, 1020, false, 4), 255 + 3 * 160);
  EXPECT_EQ(exchange_cycles(t, 0, false, 4), 0);
}

// A superstep of a product gets its bytes from the cycles of the plan, which must not change.
TEST(ExchangeCycles, HaveAnInverse) {
  const Target& t = target_of("c600");
  EXPECT_EQ(bytes_in_exchange(t, 1024, false), 4096);
  EXPECT_EQ(bytes_in_exchange(t, 1024, true), 8192);
  for (int64_t cycles = 0; cycles < 1000; cycles++)
    for (const bool shared : {false, true})
      EXPECT_EQ(exchange_cycles(t, bytes_in_exchange(t, cycles, shared), shared), cycles);
}

}  // namespace
}  // namespace poprt::ipu
