#include "compiler/shape_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "support/error_code.h"

namespace poprt::compiler {
namespace {

using Sizes = std::vector<int64_t>;

// Sizes of `input` in dimension `d`, in the order of the sets.
Sizes sizes(const std::vector<ShapeSet>& sets, const std::string& input, size_t d) {
  Sizes list;
  for (const ShapeSet& set : sets) list.push_back(set.at(input)[d]);
  return list;
}

std::vector<ShapeSet> rows(std::initializer_list<int64_t> lengths) {
  std::vector<ShapeSet> sets;
  for (const int64_t n : lengths) sets.push_back({{"x", {1, n}}});
  return sets;
}

std::string refusal(const std::vector<ShapeSet>& sets, double max_padding) {
  try {
    with_steps(sets, max_padding);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

void expect_in(const std::string& part, const std::string& message) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ShapeSets, StepsAreMultiplesOfSixteenWhereTheLimitLeavesOne) {
  EXPECT_EQ(sizes(with_steps(rows({64, 128, 256, 384}), 0.2), "x", 1),
            (Sizes{64, 80, 96, 112, 128, 144, 176, 208, 256, 320, 384}));
}

TEST(ShapeSets, SmallSizesHaveSmallSteps) {
  EXPECT_EQ(sizes(with_steps(rows({1, 8}), 0.25), "x", 1), (Sizes{1, 2, 4, 6, 8}));
}

// No size between the smallest and the largest has more padding than the limit.
TEST(ShapeSets, NoSizeBetweenNeedsMorePaddingThanTheFraction) {
  std::mt19937 random(7);
  const auto number = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int round = 0; round < 200; round++) {
    const int64_t least = number(0, 300), most = least + number(1, 400);
    const double fraction = 0.15 + 0.01 * static_cast<double>(number(0, 70));
    std::vector<ShapeSet> sets = rows({least, most});
    if (most - least > 1 && number(0, 1)) sets.push_back(rows({number(least + 1, most - 1)})[0]);
    sort_by_size(sets);
    const std::vector<int64_t> all = sizes(with_steps(sets, fraction), "x", 1);
    ASSERT_TRUE(std::ranges::is_sorted(all));
    for (const ShapeSet& set : sets) ASSERT_TRUE(std::ranges::count(all, set.at("x")[1]));
    for (int64_t size = least; size <= most; size++) {
      const int64_t bucket = *std::ranges::lower_bound(all, size);
      ASSERT_LE(static_cast<double>(bucket - size), fraction * static_cast<double>(bucket) + 1e-6)
          << size << " of " << least << " to " << most << " with " << fraction;
    }
  }
}

TEST(ShapeSets, SizesThatAreTheSameInEachShapeMoveTogether) {
  const auto all = with_steps({{{"a", {1, 64}}, {"b", {64, 3}}, {"c", {5}}},
                               {{"a", {1, 128}}, {"b", {128, 3}}, {"c", {5}}}},
                              0.3);
  EXPECT_EQ(sizes(all, "a", 1), (Sizes{64, 80, 96, 128}));
  EXPECT_EQ(sizes(all, "a", 1), sizes(all, "b", 0));
  EXPECT_EQ(sizes(all, "b", 1), (Sizes{3, 3, 3, 3}));
  EXPECT_EQ(sizes(all, "c", 0), (Sizes{5, 5, 5, 5}));
}

TEST(ShapeSets, TwoSizesMakeAGrid) {
  std::vector<ShapeSet> sets;
  for (const int64_t batch : {1, 4})
    for (const int64_t length : {16, 32}) sets.push_back({{"x", {batch, length}}});
  const auto all = with_steps(sets, 0.5);
  // Batches 1, 2, 4 of lengths 16, 32.
  EXPECT_EQ(sizes(all, "x", 0), (Sizes{1, 1, 2, 2, 4, 4}));
  EXPECT_EQ(sizes(all, "x", 1), (Sizes{16, 32, 16, 32, 16, 32}));
}

TEST(ShapeSets, ThereMayBeSixtyFour) {
  const Sizes all = sizes(with_steps(rows({1, 64}), 0), "x", 1);  // without padding: each
  ASSERT_EQ(all.size(), 64u);
  for (size_t i = 0; i < 64; i++) EXPECT_EQ(all[i], static_cast<int64_t>(i) + 1);
  expect_in("`max_padding` 0 makes more than 64 shapes of the 2", refusal(rows({1, 65}), 0));
}

TEST(ShapeSets, AreSortedByTheirElementsAndElseAsTheyCome) {
  std::vector<ShapeSet> sets = {{{"x", {4, 4}}, {"k", {3}}},
                                {{"x", {2, 2}}, {"k", {30}}},
                                {{"x", {2, 8}}, {"k", {3}}},
                                {{"x", {1, 1}}, {"k", {3}}},
                                {{"x", {8, 2}}, {"k", {3}}}};
  sort_by_size(sets);
  EXPECT_EQ(sizes(sets, "x", 0), (Sizes{1, 4, 2, 8, 2}));
  EXPECT_EQ(sizes(sets, "k", 0), (Sizes{3, 3, 3, 3, 30}));
}

// The part added along one size is also filled along the other one, with constant values.
TEST(ShapeSets, SizesOfSeveralInputsMakeOneGrid) {
  const auto set = [](int64_t a, int64_t b) { return ShapeSet{{"a", {a, 5}}, {"b", {b, a, 7}}}; };
  const auto all = with_steps({set(2, 4), set(4, 4), set(2, 8), set(4, 8)}, 0.3);
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const ShapeSet& s : all) {
    points.emplace_back(s.at("a")[0], s.at("b")[0]);
    EXPECT_EQ(s.at("a")[1], 5);
    EXPECT_EQ(s.at("b")[1], s.at("a")[0]);
    EXPECT_EQ(s.at("b")[2], 7);
  }
  std::ranges::sort(points);
  std::vector<std::pair<int64_t, int64_t>> wanted;
  for (const int64_t a : {2, 4})
    for (const int64_t b : {4, 6, 8}) wanted.emplace_back(a, b);
  EXPECT_EQ(points, wanted);
}

TEST(ShapeSets, RefusesSetsThatCannotBeFilled) {
  expect_in("no two of the 2 shapes of `input_shape` differ in one size alone",
            refusal({{{"x", {1, 64}}}, {{"x", {8, 128}}}}, 0.2));
  expect_in("makes more than 64 shapes of the 2", refusal(rows({1, 1000}), 0.01));
  expect_in("1 and 2 dimensions", refusal({{{"x", {64}}}, {{"x", {1, 64}}}}, 0.2));
}

TEST(ShapeSets, AnInputWithOneShapeHasItInEachSet) {
  const auto sets = shape_sets_of({{"x", {{5, 4}, {1, 4}, {3, 4}}}, {"mask", {{7}}}});
  EXPECT_EQ(sizes(sets, "x", 0), (Sizes{1, 3, 5}));
  EXPECT_EQ(sizes(sets, "mask", 0), (Sizes{7, 7, 7}));
  EXPECT_EQ(shape_sets_of({}).size(), 1u);
  EXPECT_TRUE(shape_sets_of({})[0].empty());
}

TEST(ShapeSets, InputsThatDoNotGoTogetherAreRefused) {
  const auto message_for = [](const std::map<std::string, std::vector<Shape>>& given) {
    return test::refusal([&] { shape_sets_of(given); });
  };
  EXPECT_EQ(
      message_for({{"x", {{1}, {2}, {3}}}, {"y", {{1}, {2}}}}),
      "invalid_argument: `input_shapes`: 'y' has 2 shapes and 'x' 3: an input has one, or one "
      "in each of them");
  EXPECT_EQ(message_for({{"x", {{1}, {2}, {1}}}}),
            "invalid_argument: `input_shapes`: 'x' is given twice: shapes 1 and 3 are the same");
  EXPECT_EQ(message_for({{"x", {{1}, {1}}}, {"y", {{1}, {2}}}}), "none") << "the sets differ";
  std::vector<Shape> many;
  for (int64_t n = 1; n <= 64; n++) many.push_back({n});
  EXPECT_EQ(message_for({{"x", many}}), "none");
  many.push_back({65});
  EXPECT_EQ(message_for({{"x", many}}),
            "invalid_argument: `input_shapes`: 'x' has 65 shapes, at most 64 are compiled");
}

}  // namespace
}  // namespace poprt::compiler
