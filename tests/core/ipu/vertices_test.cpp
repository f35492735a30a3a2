#include "ipu/vertices.h"

#include <gtest/gtest.h>

#include <tuple>

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

// Six workers share the elements; a loop computes a vector of 4 halves, 2 floats or one integer.
TEST(Vertices, ElementwiseOperationsHaveTheCyclesOfTheirLoops) {
  const Target& t = target_of("mk2");
  const auto cycles = [&](Elementwise op, DType type, int64_t n, int64_t operands = 1,
                          bool scalar = false) {
    return elementwise_cycles(t, op, type, n, operands, scalar);
  };
  // With two tensors, a worker starts in 26 cycles for halves and in 29 for other types. Each loop
  // takes 5 cycles in addition to the arithmetic, or 2 if the operation has a dedicated vertex. A
  // worker has at most 17 of the 97 elements.
  EXPECT_EQ(cycles(Elementwise::add, DType::f16, 97, 2), 11 + 6 * (26 + 5 * (1 + 2)));
  EXPECT_EQ(cycles(Elementwise::add, DType::f32, 97, 2), 11 + 6 * (29 + 9 * (1 + 2)));
  EXPECT_EQ(cycles(Elementwise::add, DType::s32, 97, 2), 11 + 6 * (29 + 17 * (5 + 2)));
  EXPECT_EQ(cycles(Elementwise::div, DType::f16, 97, 2), 11 + 6 * (26 + 5 * (21 + 5)));
  EXPECT_EQ(cycles(Elementwise::div, DType::f32, 97, 3), 11 + 6 * (29 + 9 * (10 + 5)));
  EXPECT_EQ(cycles(Elementwise::div, DType::s32, 97, 2), 11 + 6 * (29 + 17 * (10 + 5)));
  // The other operands are scalars.
  EXPECT_EQ(cycles(Elementwise::add, DType::f16, 97, 2, true), 11 + 6 * (20 + 5 * (1 + 1)));
  EXPECT_EQ(cycles(Elementwise::max, DType::f16, 97, 2, true), 11 + 6 * (20 + 5 * (4 + 3)));
  EXPECT_EQ(cycles(Elementwise::max, DType::f32, 97, 2, true), 11 + 6 * (20 + 9 * (3 + 3)));
  // One tensor.
  EXPECT_EQ(cycles(Elementwise::exp, DType::f16, 97), 11 + 9 + 6 * (33 + 5 * (4 + 4)));
  EXPECT_EQ(cycles(Elementwise::log, DType::f16, 97), 11 + 9 + 6 * (17 + 5 * (4 + 4)));
  EXPECT_EQ(cycles(Elementwise::sqrt, DType::f32, 97, 1, true), 11 + 9 + 6 * (17 + 9 * (10 + 4)));
  EXPECT_EQ(cycles(Elementwise::round, DType::s32, 97), 11 + 9 + 6 * (17 + 17 * (6 + 4)));
  // Types of 16 bits are halves, and nothing computes nothing.
  EXPECT_EQ(cycles(Elementwise::div, DType::bf16, 97, 2),
            cycles(Elementwise::div, DType::f16, 97, 2));
  EXPECT_EQ(cycles(Elementwise::add, DType::f16, 0, 2), 11 + 6 * 26);
  EXPECT_EQ(cycles(Elementwise::add, DType::f16, -5, 2), 11 + 6 * 26);
}

TEST(Vertices, NonLinearitiesHaveCyclesForEachVector) {
  const Target& t = target_of("mk2");
  const std::tuple<Elementwise, int64_t, int64_t> cases[] = {
      {Elementwise::relu, 1, 1},       {Elementwise::sigmoid, 4, 5},    {Elementwise::tanh, 2, 5},
      {Elementwise::gelu_tanh, 5, 10}, {Elementwise::gelu_erf, 15, 30}, {Elementwise::swish, 4, 9}};
  for (const auto& [op, half, single] : cases) {
    EXPECT_EQ(elementwise_cycles(t, op, DType::f16, 97), 9 + 6 * (25 + 5 * half));
    EXPECT_EQ(elementwise_cycles(t, op, DType::f32, 97), 9 + 6 * (25 + 9 * single));
    EXPECT_EQ(elementwise_cycles(t, op, DType::f16, 0), 9 + 6 * (25 + half));
  }
  // Integers have the loop of other operations.
  EXPECT_EQ(elementwise_cycles(t, Elementwise::relu, DType::s32, 97), 11 + 9 + 6 * (17 + 17 * 9));
}

TEST(Vertices, CastsLoadAndStoreVectors) {
  const Target& t = target_of("c600");
  const auto cycles = [&](DType from, DType to) { return cast_cycles(t, from, to, 601); };
  // 101 elements of a worker: 51 vectors of floats, 26 of halves.
  EXPECT_EQ(cycles(DType::f32, DType::f16), 6 * (51 + 26));
  EXPECT_EQ(cycles(DType::f16, DType::f32), 6 * (51 + 26));
  EXPECT_EQ(cycles(DType::f16, DType::bf16), 6 * (26 + 26));
  // Four elements of 8 bits: 2 cycles for floats, 9 from bytes and 16 to bytes.
  EXPECT_EQ(cycles(DType::f8_143, DType::f16), 12 + 6 * (32 + 26 * 2));
  EXPECT_EQ(cycles(DType::f16, DType::f8_143), 12 + 6 * (32 + 26 * 2));
  EXPECT_EQ(cycles(DType::s8, DType::f16), 12 + 6 * (32 + 26 * 9));
  EXPECT_EQ(cycles(DType::f16, DType::u8), 12 + 6 * (32 + 26 * 16));
  EXPECT_EQ(cycles(DType::u8, DType::s8), 12 + 6 * (32 + 26 * 16));
}

TEST(Vertices, CopiesAndFillsHaveTheRateOfTheirPieces) {
  const Target& t = target_of("mk2");
  EXPECT_EQ(fill_cycles(t, DType::f16, 601), 11 + 6 * (26 + 26));
  EXPECT_EQ(fill_cycles(t, DType::f32, 601), 11 + 6 * (16 + 101 + 7));
  EXPECT_EQ(copy_cycles(t, 1001, 8), 90 + 126);
  EXPECT_EQ(copy_cycles(t, 1001, 100), 90 + 126);
  EXPECT_EQ(copy_cycles(t, 1001, 4), 90 + 251);
  EXPECT_EQ(copy_cycles(t, 1001, 0), 90 + 1001);
  EXPECT_EQ(copy_cycles(t, 1, 8), 91);
  EXPECT_EQ(copy_cycles(t, -1, 8), 0);
  EXPECT_EQ(rearrangement_cycles(1000, 3), 587 + 5150);
  EXPECT_EQ(rearrangement_cycles(1000, 4), 587 + 3125);
  EXPECT_EQ(rearrangement_cycles(1000, 7), 587 + 3125);
  EXPECT_EQ(rearrangement_cycles(1000, 8), 587 + 440);
  // Blocks of 16 halves or 4 floats of a worker.
  EXPECT_EQ(transpose_cycles(t, DType::f16, 6 * 16), 7 + 6 * 37);
  EXPECT_EQ(transpose_cycles(t, DType::f16, 6 * 16 + 1), 7 + 6 * (37 + 12));
  EXPECT_EQ(transpose_cycles(t, DType::f16, 6 * 80), 7 + 6 * (37 + 3 * 4 + 12));
  EXPECT_EQ(transpose_cycles(t, DType::f32, 6 * 80), 7 + 6 * (37 + 18 * 3 + 12));
  EXPECT_EQ(transpose_cycles(t, DType::f32, 6 * 4), 7 + 6 * 37);
}

TEST(Vertices, ReductionsCostTheirDepth) {
  const Target& t = target_of("mk2");
  // 200 results: 25 groups of 8 halves, 50 of 4 floats; 5 and 9 loops of a worker.
  EXPECT_EQ(reduce_add_cycles(t, DType::f16, 200, 7), 6 * (32 + (3 * 7 + 8) * 5));
  EXPECT_EQ(reduce_add_cycles(t, DType::f32, 200, 7), 6 * (32 + (3 * 7 + 8) * 9));
  EXPECT_EQ(reduce_add_cycles(t, DType::f16, 200, 7, true), 33 + 6 * (20 + (2 * 7 + 8) * 5));
  EXPECT_EQ(reduce_add_cycles(t, DType::f32, 200, 7, true), 33 + 6 * (20 + (2 * 7 + 8) * 9));
  // 1000 elements to 20 results of 50 each: 4 results of a worker, and 13 or 25 vectors of each.
  EXPECT_EQ(reduce_cycles(t, DType::f16, 1000, 20, true), 11 + 6 * (17 + 4 * (12 + 2 * 13)));
  EXPECT_EQ(reduce_cycles(t, DType::f32, 1000, 20, true), 11 + 6 * (17 + 4 * (12 + 2 * 25)));
  // 5 or 10 vectors of results, one or two of a worker.
  EXPECT_EQ(reduce_cycles(t, DType::f16, 1000, 20, false), 11 + 6 * (16 + 1 * (7 + 50)));
  EXPECT_EQ(reduce_cycles(t, DType::f32, 1000, 20, false), 11 + 6 * (16 + 2 * (7 + 50)));
  EXPECT_EQ(reduce_cycles(t, DType::f32, 1000, 0, false),
            reduce_cycles(t, DType::f32, 1000, 1, false));
}

TEST(Vertices, LookupsAndUpdatesCostTheirVectors) {
  const Target& t = target_of("mk2");
  // Rows of 65 halves have 17 vectors; 601 indices are 101 of a worker.
  EXPECT_EQ(gather_cycles(t, DType::f16, 65, 601, 601), 11 + 6 * (30 + 101 * (19 + 17 * 2)));
  EXPECT_EQ(gather_cycles(t, DType::f16, 65, 601, 900), gather_cycles(t, DType::f16, 65, 601, 601));
  EXPECT_EQ(gather_cycles(t, DType::f32, 65, 601, 61), 11 + 6 * (30 + 11 * (19 + 33 * 2) + 90 * 8));
  EXPECT_EQ(update_add_cycles(t, DType::f16, 65, 601, 61), 11 + 6 * (30 + 12 * 601 + 3 * 17 * 11));
  EXPECT_EQ(update_add_cycles(t, DType::f16, 65, 601, 900),
            11 + 6 * (30 + 12 * 601 + 3 * 17 * 101));
  EXPECT_EQ(dynamic_slice_cycles(t, DType::f16, 601), 25 + 6 * (63 + 2 * 26));
  EXPECT_EQ(dynamic_slice_cycles(t, DType::f32, 601), 25 + 6 * (63 + 2 * 51));
  // 17 vectors of channels, 9 taps, and 11 places of a worker.
  EXPECT_EQ(pool_cycles(t, DType::f16, 65, 61, 9), 13 + 6 * (20 + 17 * (13 * 9 + 3 * 9 * 11)));
}

}  // namespace
}  // namespace poprt::ipu
