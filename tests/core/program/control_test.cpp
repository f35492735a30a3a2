#include "program/control.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/builder.h"

namespace poprt::program {
namespace {

// A program with scalars of each kind; instructions are added by name.
struct Listing {
  Listing() {
    flag = b.arena(0, 1, DType::boolean, {});
    index = b.arena(64, 8, DType::s64, {});
    pair = b.arena(128, 16, DType::s64, {2});
    constant = b.weights(8, DType::s64, {}, {});
  }
  Listing& emit(std::string_view kernel, std::vector<BufferId> operands = {},
                std::vector<int64_t> ints = {}) {
    b.emit(kernel, operands, ints, {}, "n");
    return *this;
  }
  Listing& loop(int64_t most) { return emit("control.loop", {kNoBuffer, flag, index}, {most}); }
  Listing& branch() { return emit("control.if", {flag}, {1}); }
  Listing& end() { return emit("control.end"); }
  bool accepted() const {
    try {
      verify(const_cast<Builder&>(b).program());
      return true;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss) << e.message();
      return false;
    }
  }
  Builder b;
  BufferId flag, index, pair, constant;
};

TEST(Control, MatchingRegionsAreAccepted) {
  Listing l;
  l.loop(5).branch().end().branch().end().end();
  EXPECT_TRUE(l.accepted());
  EXPECT_EQ(match_regions(l.b.program(), l.b.program().main, "main"),
            (std::vector<uint32_t>{5, 2, 1, 4, 3, 0}));
}

TEST(Control, RegionsThatDoNotMatchAreRefused) {
  EXPECT_FALSE(Listing().loop(5).accepted());
  EXPECT_FALSE(Listing().end().accepted());
  EXPECT_FALSE(Listing().branch().end().end().accepted());
}

TEST(Control, OperandsAreScalarsOfTheRightType) {
  Listing l;
  EXPECT_FALSE(Listing().emit("control.if", {l.index}, {1}).end().accepted());
  EXPECT_FALSE(Listing().emit("control.if", {kNoBuffer}, {1}).end().accepted());
  EXPECT_FALSE(Listing().emit("control.if", {l.flag}).end().accepted());
  EXPECT_FALSE(Listing().emit("control.if", {99}, {1}).end().accepted());
  EXPECT_FALSE(Listing().emit("control.loop", {l.pair, kNoBuffer, l.index}, {1}).end().accepted());
  EXPECT_FALSE(Listing().emit("control.loop", {kNoBuffer, l.index, l.index}, {1}).end().accepted());
  EXPECT_FALSE(
      Listing().emit("control.loop", {kNoBuffer, kNoBuffer, kNoBuffer}, {1}).end().accepted());
  EXPECT_TRUE(
      Listing().emit("control.loop", {l.constant, kNoBuffer, l.index}, {1}).end().accepted());
}

TEST(Control, TheIndexIsNotWrittenIntoWeights) {
  Listing l;
  EXPECT_FALSE(
      Listing().emit("control.loop", {kNoBuffer, kNoBuffer, l.constant}, {1}).end().accepted());
}

TEST(Control, ALoopHasAnyNumberOfRounds) {
  EXPECT_TRUE(Listing().loop(20'000'000).end().accepted());
  EXPECT_TRUE(Listing().loop(kEveryRound).end().accepted());
  EXPECT_FALSE(Listing().loop(-1).end().accepted());
  EXPECT_TRUE(Listing().loop(kEveryRound).loop(kEveryRound).loop(2).end().end().end().accepted());
}

TEST(Control, TheLimitOfALoopIsASecondInteger) {
  const auto numbers = [](int64_t most, bool limit) {
    return encode(ControlLoop{.most = most, .limit = limit}).ints;
  };
  EXPECT_EQ(numbers(5, false), (std::vector<int64_t>{5}));
  EXPECT_EQ(numbers(5, true), (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(numbers(kOldMostRounds, false), (std::vector<int64_t>{kOldMostRounds, 0}));
  const auto is_limit = [](std::vector<int64_t> ints, bool count, bool condition) {
    return decode_loop({0, {count ? 1 : kNoBuffer, condition ? 2 : kNoBuffer, 3}, ints, {}, "n"})
        .limit;
  };
  EXPECT_FALSE(is_limit({5}, false, true));
  EXPECT_TRUE(is_limit({5, 1}, false, true));
  EXPECT_TRUE(is_limit({5}, true, false)) << "a count above the number of rounds";
  EXPECT_TRUE(is_limit({kOldMostRounds}, false, true)) << "an older program";
  EXPECT_FALSE(is_limit({kOldMostRounds}, false, false)) << "a constant trip count";
  EXPECT_FALSE(is_limit({kOldMostRounds, 0}, false, true));
}

TEST(Control, DepthIsBounded) {
  Listing deep, deeper;
  for (size_t i = 0; i < kMaxControlDepth; i++) deep.branch();
  for (size_t i = 0; i < kMaxControlDepth; i++) deep.end();
  EXPECT_TRUE(deep.accepted());
  for (size_t i = 0; i <= kMaxControlDepth; i++) deeper.branch();
  for (size_t i = 0; i <= kMaxControlDepth; i++) deeper.end();
  EXPECT_FALSE(deeper.accepted());
}

}  // namespace
}  // namespace poprt::program
