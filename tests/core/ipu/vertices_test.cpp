#include "ipu/vertices.h"

#include <gtest/gtest.h>

namespace poprt::ipu {
namespace {

TEST(Vertices, ThePublishedFormulasByHand) {
  const Target& t = target_of("mk2");
  // 1536 partial sums to halves: 6 * (128 + 26).
  EXPECT_EQ(cast_cycles(t, DType::f32, DType::f16, 1536), 924);
  // 11 + 6 * (29 + 128 * (1 + 2)) for floats, 11 + 6 * (26 + 64 * (1 + 2)) for halves.
  EXPECT_EQ(elementwise_cycles(t, Elementwise::add, DType::f32, 1536, 2), 11 + 6 * (29 + 128 * 3));
  EXPECT_EQ(elementwise_cycles(t, Elementwise::add, DType::f16, 1536, 2), 11 + 6 * (26 + 64 * 3));
  EXPECT_EQ(elementwise_cycles(t, Elementwise::relu, DType::f16, 1536), 9 + 6 * (25 + 64));
  EXPECT_EQ(reduce_add_cycles(t, DType::f16, 48, 4), 6 * (32 + 20));
  EXPECT_EQ(reduce_add_cycles(t, DType::f16, 48, 4, true), 33 + 6 * (20 + 16));
  EXPECT_EQ(fill_cycles(t, DType::f16, 2400), 11 + 6 * (26 + 100));
}

TEST(Vertices, NeverGetFasterWithMoreElements) {
  const Target& t = target_of("c600");
  for (const DType type : {DType::f16, DType::f32, DType::s32})
    for (int op = 0; op < 25; op++) {
      int64_t before = 0;
      for (int64_t n = 1; n < 5000; n += 37) {
        const int64_t now = elementwise_cycles(t, static_cast<Elementwise>(op), type, n, 1);
        EXPECT_GE(now, before) << op << " " << n;
        before = now;
      }
    }
}

TEST(Vertices, SmallPiecesAreCopiedSlowly) {
  EXPECT_GT(rearrangement_cycles(4096, 2), rearrangement_cycles(4096, 4));
  EXPECT_GT(rearrangement_cycles(4096, 4), rearrangement_cycles(4096, 8));
  EXPECT_EQ(rearrangement_cycles(1000, 2), 587 + 5150);
  EXPECT_EQ(copy_cycles(target_of("mk2"), 0, 8), 0);
}

TEST(Vertices, GatherCostsEachIndexAndEachRowThatIsFound) {
  const Target& t = target_of("mk2");
  EXPECT_EQ(gather_cycles(t, DType::f16, 64, 600, 0), 11 + 6 * (30 + 100 * 8));
  EXPECT_EQ(gather_cycles(t, DType::f16, 64, 600, 600), 11 + 6 * (30 + 100 * (19 + 32)));
}

}  // namespace
}  // namespace poprt::ipu
