#include "libpoprt/check_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace poprt::capi {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

CheckedOutput output(const Tensor& whole) { return {whole, whole.shape(), false}; }
CheckedOutput floats(const std::vector<float>& values) {
  return output(Tensor::of<float>({static_cast<int64_t>(values.size())}, values));
}
CheckedOutput integers(const std::vector<int64_t>& values) {
  return output(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

// Compares one run of each model.
Comparison compared(const CheckedOutput& was, const CheckedOutput& is,
                    const Tolerance& tolerance = kExact) {
  Comparison comparison(tolerance);
  CheckedRun original, converted;
  original.outputs["y"] = was;
  converted.outputs["y"] = is;
  comparison.add("random", original, converted);
  return comparison;
}

std::string fault_of(const Comparison& c) { return c.fault() ? c.fault()->text : ""; }

bool has_line(const Comparison& c, const std::string& wanted) {
  for (const std::string& line : c.lines())
    if (line == wanted) return true;
  return false;
}

TEST(CheckComparison, EqualNumbersAreEqual) {
  const Comparison c =
      compared(floats({1, kNan, kInf, -kInf, 0}), floats({1, kNan, kInf, -kInf, 0}));
  EXPECT_TRUE(c.equal());
  EXPECT_EQ(fault_of(c), "");
  EXPECT_FALSE(c.largest_absolute());
  EXPECT_FALSE(c.largest_relative());
}

TEST(CheckComparison, ADifferenceWithinTheToleranceIsADifference) {
  const Comparison c = compared(floats({1000, 2}), floats({1000.5F, 2.0625F}));
  EXPECT_FALSE(c.equal());
  EXPECT_EQ(fault_of(c), "");
  EXPECT_EQ(
      c.largest_absolute()->text(),
      "0.5 in 'y' at [0]: 1000 in the original, 1000.5 in the converted model (inputs: random)");
  EXPECT_EQ(c.largest_relative()->index, Shape{1});
  EXPECT_EQ(c.largest_relative()->amount, 0.03125);
}

TEST(CheckComparison, TheToleranceIsAPartOfTheValueAndOfTheLargest) {
  // The tolerance is 0.1 % of 100 and 0.01 % of 1000.
  EXPECT_EQ(fault_of(compared(floats({100, 1000}), floats({100.19F, 1000}))), "");
  EXPECT_EQ(fault_of(compared(floats({100, 1000}), floats({100.25F, 1000}))),
            "output 'y' of the converted model differs in 1 of 2 elements, most at [0]: 100 in the "
            "original, 100.25 in the converted model (inputs: random)");
  // For halves it is 2 % of 100 and 1 % of 1000, for quarters 20 % of both.
  EXPECT_EQ(fault_of(compared(floats({100, 1000}), floats({111.9F, 1000}), kHalf)), "");
  EXPECT_NE(fault_of(compared(floats({100, 1000}), floats({112.1F, 1000}), kHalf)), "");
  EXPECT_EQ(fault_of(compared(floats({100, 1000}), floats({319.9F, 1000}), kQuarter)), "");
  EXPECT_NE(fault_of(compared(floats({100, 1000}), floats({320.1F, 1000}), kQuarter)), "");
}

TEST(CheckComparison, TheLargestIsThatOfTheFirstInputsToo) {
  Comparison c(kExact);
  c.add_output("random", "y", floats({1000}), floats({1000}));
  c.add_output("zeros", "y", floats({0.001F}), floats({0.1F}));
  EXPECT_FALSE(c.fault());
  c.add_output("ones", "y", floats({0}), floats({0.2F}));
  EXPECT_TRUE(c.fault());
}

TEST(CheckComparison, NonFiniteInOneModelOnlyIsAFault) {
  for (const auto& [was, is] : std::vector<std::pair<float, float>>{
           {kNan, 1}, {1, kNan}, {kInf, 1}, {1, kInf}, {kInf, -kInf}, {kNan, kInf}, {kInf, kNan}})
    for (const Tolerance& tolerance : {kExact, kQuarter}) {
      const Comparison c = compared(floats({was, 5}), floats({is, 5}), tolerance);
      EXPECT_NE(fault_of(c), "") << was << " " << is;
      EXPECT_EQ(c.largest_absolute()->amount, kInf);
    }
}

TEST(CheckComparison, TheSignOfZeroIsADifference) {
  const Comparison c = compared(floats({0}), floats({-0.0F}));
  EXPECT_FALSE(c.equal());
  EXPECT_EQ(fault_of(c), "");
  EXPECT_TRUE(has_line(c, "only signs of zeros differ"));
}

TEST(CheckComparison, IntegersAreExactUnlessFloatsAreRounded) {
  EXPECT_NE(fault_of(compared(integers({100000}), integers({100001}))), "");
  EXPECT_EQ(fault_of(compared(integers({100000}), integers({100001}), kHalf)), "");
  EXPECT_NE(fault_of(compared(integers({100}), integers({101}), kHalf)), "");
  // Both numbers have the same value as double.
  const int64_t wide = (int64_t{1} << 60) + 1;
  EXPECT_TRUE(compared(integers({wide}), integers({wide})).equal());
  EXPECT_NE(fault_of(compared(integers({wide}), integers({wide + 1}))), "");
  EXPECT_NE(fault_of(compared(integers({wide + 1}), integers({wide}))), "");
}

TEST(CheckComparison, ReportsAChangedType) {
  const CheckedOutput narrow = output(Tensor::of<int32_t>({2}, {3, 4}));
  const Comparison c = compared(integers({3, 4}), narrow);
  EXPECT_TRUE(c.equal());
  EXPECT_TRUE(has_line(c, "type of 'y': s64 in the original, s32 in the converted model"));
}

TEST(CheckComparison, OnlyTheRealPartIsCompared) {
  CheckedOutput was = output(Tensor::of<float>({2, 3}, {1, 2, -1, 3, 4, -1}));
  CheckedOutput is = output(Tensor::of<float>({2, 4}, {1, 2, 9, 9, 3, 5, 9, 9}));
  was.real = is.real = {2, 2};
  was.sized = is.sized = true;
  const Comparison c = compared(was, is);
  EXPECT_EQ(fault_of(c),
            "output 'y' of the converted model differs in 1 of 4 elements, most at [1,1]: 4 in the "
            "original, 5 in the converted model (inputs: random)");
  EXPECT_TRUE(has_line(
      c,
      "size of 'y': at most [2,3]; zero: not met; between: [2,2] with random; the bound: not met"));
}

TEST(CheckComparison, AnotherSizeIsAFaultThatNamesBoth) {
  CheckedOutput was = floats({1, 2, 0, 0});
  was.real = {2};
  was.sized = true;
  EXPECT_EQ(fault_of(compared(was, floats({1, 2, 0, 0}), kQuarter)),
            "output 'y' has the size [2] in the original and [4] in the converted model (inputs: "
            "random)");
}

TEST(CheckComparison, SizesAreZeroBetweenOrTheBound) {
  Comparison c(kExact);
  CheckedOutput y = floats({1, 2, 3});
  y.sized = true;
  for (const auto& [inputs, size] :
       std::vector<std::pair<std::string, int64_t>>{{"a", 3}, {"b", 0}, {"c", 3}, {"d", 1}}) {
    y.real = {size};
    c.add_output(inputs, "y", y, y);
  }
  EXPECT_TRUE(
      has_line(c,
               "size of 'y': at most [3]; zero: [0] with b; between: [1] with d; the bound: "
               "[3] with a"));
  EXPECT_TRUE(has_line(c, "no elements: 'y' with b"));
  const auto json = c.json();
  EXPECT_EQ(json["sizes"]["y"]["equal_to_bound"]["runs"], 2);
  EXPECT_EQ(json["outputs"][0]["no_elements_with"][0], "b");
}

TEST(CheckComparison, AMissingOutputIsAFault) {
  Comparison c(kExact);
  CheckedRun original;
  original.outputs["y"] = floats({1});
  c.add("random", original, CheckedRun{});
  EXPECT_EQ(fault_of(c), "the converted model has no output 'y'");
}

TEST(CheckComparison, AModelThatFailsIsAFaultUnlessTheOriginalFails) {
  const CheckedRun failed{{}, Error(ErrorCode::out_of_range, "index 7")};
  CheckedRun runs;
  runs.outputs["y"] = floats({1});
  Comparison c(kExact);
  c.add("random", failed, runs);
  c.add("zeros", failed, failed);
  EXPECT_FALSE(c.fault());
  c.add("ones", runs, failed);
  EXPECT_EQ(
      fault_of(c),
      "the converted model fails with the inputs 'ones', with which the original runs: index 7");
}

TEST(CheckComparison, ReportsTheGreatestFault) {
  Comparison c(kExact);
  c.add_output("a", "y", floats({1}), floats({2}));
  c.add_output("b", "z", floats({1}), floats({9}));
  c.add_output("c", "y", floats({1}), floats({3}));
  EXPECT_NE(fault_of(c).find("output 'z'"), std::string::npos);
  EXPECT_EQ(c.largest_absolute()->amount, 8);
  EXPECT_EQ(c.json()["largest_absolute"]["output"], "z");
  EXPECT_EQ(c.json()["within_tolerance"], false);
}

TEST(CheckComparison, ASmallElementHasNoRelativeDifference) {
  const Comparison c = compared(floats({1000, 0.001F}), floats({1001, 0.002F}));
  EXPECT_EQ(c.largest_relative()->index, Shape{0});
  EXPECT_NEAR(c.largest_relative()->amount, 0.001, 1e-6);
}

TEST(CheckComparison, TheToleranceIsStated) {
  EXPECT_EQ(kQuarter.text(),
            "fp8: 20 % of the original's value + 20 % of the output's largest magnitude; integers: "
            "0.1 % of the original's value + 0.01 % of the output's largest magnitude");
  EXPECT_EQ(kExact.text(),
            "fp32: 0.1 % of the original's value + 0.01 % of the output's largest magnitude; "
            "integers: none");
  EXPECT_TRUE(has_line(compared(floats({1}), floats({1}), kHalf), "tolerance: " + kHalf.text()));
}

}  // namespace
}  // namespace poprt::capi
