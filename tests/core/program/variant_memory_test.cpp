#include "program/variant_memory.h"

#include <gtest/gtest.h>

#include "program/builder.h"

namespace poprt::program {
namespace {

// A program with an index, an input x and an output y of 16 floats.
struct VariantListing {
  VariantListing() {
    index = b.input(b.add_input({"index", DType::u32, {1}}), 0, 4, DType::u32, {1});
    x = b.add_input({"x", DType::f32, {16}});
    y = b.add_output({"y", DType::f32, {16}});
    flag = b.arena(0, 1, DType::boolean, {});
    number = b.arena(64, 4, DType::u32, {1});
  }
  VariantListing& begin(BufferId operand, int64_t value) {
    b.emit("control.case", std::vector{operand}, std::vector{value}, {}, "n");
    return *this;
  }
  VariantListing& branch() {
    b.emit("control.if", std::vector{flag}, std::vector<int64_t>{1}, {}, "n");
    return *this;
  }
  // Copies `count` numbers, the first of which is number `at` of both anchors.
  VariantListing& copy(uint64_t at, int64_t count) {
    const auto bytes = static_cast<uint64_t>(count) * 4;
    b.emit("copy",
           std::vector{b.input(x, at * 4, bytes, DType::f32, {count}),
                       b.output(y, at * 4, bytes, DType::f32, {count})},
           {}, {}, "n");
    return *this;
  }
  VariantListing& end() {
    b.emit("control.end", {}, {}, {}, "n");
    return *this;
  }
  // The bytes of x by variant, which are those of y.
  std::vector<uint64_t> bytes(size_t count) {
    verify(b.program());
    std::vector<uint64_t> list;
    for (const AnchorMemory& m : memory_of_variants(b.program(), 0, count)) {
      EXPECT_EQ(m.inputs[1], m.outputs[0]);
      list.push_back(m.inputs[1]);
    }
    return list;
  }

  Builder b;
  uint32_t x, y;
  BufferId index, flag, number;
};

using Bytes = std::vector<uint64_t>;

TEST(VariantMemory, IsThatOfTheCasesOfTheNumber) {
  VariantListing l;
  l.begin(l.index, 0).copy(0, 2).copy(3, 1).end().begin(l.index, 2).branch().copy(4, 12).end();
  EXPECT_EQ(l.end().bytes(3), (Bytes{16, 0, 64}));
}

TEST(VariantMemory, CountsInstructionsOutsideOfCasesForEachVariant) {
  VariantListing l;
  l.begin(l.index, 0).copy(0, 4).end().branch().copy(1, 1).end().begin(l.index, 1).end();
  EXPECT_EQ(l.bytes(2), (Bytes{16, 8}));
}

TEST(VariantMemory, CountsCasesOfAnotherIndexForEachVariant) {
  VariantListing l;
  l.begin(l.number, 1).copy(0, 3).end().begin(l.index, 0).begin(l.number, 1).copy(0, 5).end();
  EXPECT_EQ(l.end().bytes(2), (Bytes{20, 12}));
}

// A case in a case of another number never runs, and counts for the outer number.
TEST(VariantMemory, TheOuterCaseDecides) {
  VariantListing l;
  l.begin(l.index, 0).begin(l.index, 1).copy(0, 7).end().end().begin(l.index, 9).copy(0, 9).end();
  EXPECT_EQ(l.bytes(2), (Bytes{28, 0}));
}

}  // namespace
}  // namespace poprt::program
