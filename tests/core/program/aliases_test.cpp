#include "program/aliases.h"

#include <gtest/gtest.h>

#include "program/builder.h"
#include "program/control.h"

namespace poprt::program {
namespace {

struct Cache {
  Cache() {
    past = b.input(b.add_input({"past", DType::f32, {8}}), 0, 32, DType::f32, {8});
    present = b.output(b.add_output({"present", DType::f32, {8}}), 0, 32, DType::f32, {8});
    rows = b.arena(0, 4, DType::f32, {1});
    index = b.arena(64, 4, DType::u32, {1});
    flag = b.arena(128, 1, DType::boolean, {});
    round = b.arena(192, 8, DType::s64, {});
  }
  Cache& emit(std::string_view kernel, std::vector<BufferId> operands,
              std::vector<int64_t> ints = {}) {
    b.emit(kernel, operands, ints, {}, "n");
    return *this;
  }
  Cache& keep() { return emit("copy", {past, present}); }
  Cache& write() { return emit("tensor_scatter", {rows, kNoBuffer, present}); }
  Cache& read() { return emit("reduce", {past, rows}); }
  Cache& end() { return emit("control.end", {}); }
  bool shares() { return may_share_memory(b.program(), 0, 0); }

  Builder b;
  BufferId past, present, rows, index, flag, round;
};

TEST(Aliases, AnUpdateMayHaveTheMemoryOfItsInput) {
  EXPECT_TRUE(Cache().keep().write().shares());
  EXPECT_TRUE(Cache().read().keep().write().write().shares());
  EXPECT_TRUE(Cache().keep().read().write().shares());
}

TEST(Aliases, AnInputMustNotBeReadAfterTheOutputIsWritten) {
  EXPECT_FALSE(Cache().write().keep().shares());
  EXPECT_FALSE(Cache().keep().write().read().shares());
  EXPECT_FALSE(Cache().write().read().shares());
}

TEST(Aliases, OnlyACopyToTheSamePlaceReadsAndWrites) {
  Cache other;
  EXPECT_FALSE(other.emit("elementwise", {other.past, other.present}).shares());
  Cache shifted;
  const BufferId tail = shifted.b.output(0, 16, 16, DType::f32, {4});
  const BufferId head = shifted.b.input(0, 0, 16, DType::f32, {4});
  EXPECT_FALSE(shifted.emit("copy", {head, tail}).shares());
}

TEST(Aliases, VariantsAreSeparate) {
  Cache c;
  c.emit("control.case", {c.index}, {0}).read().keep().write().end();
  c.emit("control.case", {c.index}, {1}).read().keep().write().end();
  EXPECT_TRUE(c.shares());
  c.emit("control.case", {c.index}, {2}).write().read().end();
  EXPECT_FALSE(c.shares());
}

// A linked program for several IPUs has all variants on each of them.
TEST(Aliases, AVariantGoesOnOnTheNextIpu) {
  for (const int64_t reader : {0, 1}) {
    Cache c;
    c.emit("control.shard", {}, {0, -1, 0, 256, 0});
    c.emit("control.case", {c.index}, {0}).keep().write().end();
    c.emit("control.case", {c.index}, {1}).keep().end();
    c.end();
    c.emit("control.shard", {}, {1, -1, 256, 256, 0});
    c.emit("control.case", {c.index}, {reader}).read().end();
    c.end();
    EXPECT_EQ(c.shares(), reader == 1);
  }
}

TEST(Aliases, InstructionsOutsideOfVariantsRunWithEachOfThem) {
  Cache before;
  before.write().emit("control.case", {before.index}, {1}).read().end();
  EXPECT_FALSE(before.shares());
  Cache after;
  after.emit("control.case", {after.index}, {1}).write().end().read();
  EXPECT_FALSE(after.shares());
}

// Both regions may run if different buffers select them.
TEST(Aliases, OtherBuffersSelectNoVariant) {
  Cache c;
  const BufferId other = c.b.arena(256, 4, DType::u32, {1});
  c.emit("control.case", {c.index}, {0}).write().end();
  c.emit("control.case", {other}, {1}).read().end();
  EXPECT_FALSE(c.shares());
}

TEST(Aliases, LoopsMayReadTheInputAgain) {
  Cache c;
  c.emit("control.loop", {kNoBuffer, c.flag, c.round}, {3}).read().end().keep().write();
  EXPECT_FALSE(c.shares());
}

}  // namespace
}  // namespace poprt::program
