#include "libpoprt/check_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace poprt::capi {
namespace {

const CheckInput kFloats{"x", DType::f32, {6, 4}, 2};
const CheckInput kIntegers{"i", DType::s64, {40}, 1};
const CheckInput kConditions{"c", DType::boolean, {40}, 3};
const CheckInput kScalar{"s", DType::f32, {}, 4};

std::vector<std::string> names(const std::vector<InputSet>& sets) {
  std::vector<std::string> all;
  for (const InputSet& set : sets) all.push_back(set.name);
  return all;
}

std::vector<double> values_of(const std::string& name, const CheckInput& input) {
  for (const InputSet& set : input_sets({kIntegers, kFloats, kConditions, kScalar}, CheckData{}))
    if (set.name == name) return set.make(input).to_doubles();
  ADD_FAILURE() << "no set " << name;
  return {};
}

std::set<double> distinct(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

TEST(CheckInputs, TheFirstIsRandomWithTheSeedOfThePlace) {
  std::mt19937_64 rng(2);
  for (const double x : values_of("random", kFloats))
    EXPECT_EQ(x, static_cast<float>(rng() >> 40) / (1 << 23) - 1);
  std::mt19937_64 bits(1);
  for (const double x : values_of("random", kIntegers))
    EXPECT_EQ(x, static_cast<double>(bits() & 1));
}

TEST(CheckInputs, ConstantSetsMatchTheirNames) {
  for (const CheckInput& input : {kFloats, kIntegers, kConditions, kScalar}) {
    EXPECT_EQ(distinct(values_of("zeros", input)), std::set<double>{0}) << input.name;
    EXPECT_EQ(distinct(values_of("ones", input)), std::set<double>{1}) << input.name;
  }
  EXPECT_EQ(distinct(values_of("negative", kIntegers)), std::set<double>{0});
  EXPECT_EQ(distinct(values_of("positive", kConditions)), std::set<double>{1});
  EXPECT_EQ(values_of("large scalars", kScalar), std::vector<double>{100});
  EXPECT_EQ(distinct(values_of("large scalars", kIntegers)), (std::set<double>{0, 1}));
}

TEST(CheckInputs, FloatsHaveOneSign) {
  for (const double x : values_of("negative", kFloats)) EXPECT_TRUE(std::signbit(x) && x >= -1);
  for (const double x : values_of("positive", kFloats)) EXPECT_TRUE(!std::signbit(x) && x <= 1);
  EXPECT_GT(distinct(values_of("positive", kFloats)).size(), 20U);
}

TEST(CheckInputs, SparseValuesAreMostlyZeroAndNotAll) {
  const CheckInput many{"m", DType::f32, {4000}, 1};
  const auto values = values_of("sparse", many);
  const auto zeros = std::ranges::count(values, 0.0);
  EXPECT_NEAR(static_cast<double>(zeros), 3500, 100);
  EXPECT_GT(*std::ranges::max_element(values), 0.5);
  EXPECT_LT(*std::ranges::min_element(values), -0.5);
}

TEST(CheckInputs, RepeatedVectorsAreEqualAndVary) {
  const auto values = values_of("repeated", kFloats);
  for (size_t i = 4; i < values.size(); i++) EXPECT_EQ(values[i], values[i - 4]);
  EXPECT_EQ(distinct(values).size(), 4U);
}

TEST(CheckInputs, LargeIntegersNeedMoreThan32BitsInProducts) {
  const auto values = values_of("large integers", kIntegers);
  EXPECT_GE(*std::ranges::min_element(values), 0);
  EXPECT_LT(*std::ranges::max_element(values), 1 << 20);
  EXPECT_GT(*std::ranges::max_element(values), 1 << 19);
  EXPECT_EQ(distinct(values_of("large integers", kConditions)), (std::set<double>{0, 1}));
  const CheckInput converted{"i", DType::s32, {40}, 1};
  EXPECT_EQ(values_of("large integers", converted), values);
  const CheckInput narrow{"n", DType::s32, {40}, 1}, one{"o", DType::s64, {1}, 1};
  for (const auto& inputs : {std::vector{narrow}, std::vector{one}})
    for (const std::string& name : names(input_sets(inputs, CheckData{})))
      EXPECT_NE(name, "large integers");
  for (const std::string& name : names(input_sets({kIntegers}, CheckData{}, false)))
    EXPECT_NE(name, "large integers");
}

TEST(CheckInputs, DistinctIntegersCount) {
  const auto values = values_of("distinct", kIntegers);
  for (size_t i = 0; i < values.size(); i++) EXPECT_EQ(values[i], static_cast<double>(i));
}

TEST(CheckInputs, EveryTypeGetsTheSameValuesButForRounding) {
  const InputSet set = input_sets({kFloats}, CheckData{})[0];
  const auto exact = set.make(kFloats).to_doubles();
  for (const DType type : {DType::f16, DType::bf16, DType::f64}) {
    const Tensor t = set.make({"x", type, {6, 4}, 2});
    EXPECT_EQ(t.dtype(), type);
    const auto values = t.to_doubles();
    for (size_t i = 0; i < values.size(); i++) EXPECT_NEAR(values[i], exact[i], 0.01);
  }
  const auto bits = set.make(kIntegers).to_doubles();
  for (const DType type : {DType::s8, DType::u8, DType::s16, DType::u16, DType::s32, DType::u32,
                           DType::u64, DType::boolean})
    EXPECT_EQ(set.make({"i", type, {40}, 1}).to_doubles(), bits) << dtype_name(type);
}

TEST(CheckInputs, OmitsSetsThatAddNoNewCase) {
  EXPECT_EQ(names(input_sets({kFloats}, CheckData{})),
            (std::vector<std::string>{"random", "zeros", "ones", "negative", "positive", "sparse",
                                      "repeated"}));
  // Conditions are all false, all true, or mixed.
  EXPECT_EQ(names(input_sets({kConditions}, CheckData{})),
            (std::vector<std::string>{"random", "zeros", "ones", "sparse", "repeated"}));
  EXPECT_EQ(names(input_sets({}, CheckData{})), std::vector<std::string>{"random"});
  EXPECT_EQ(names(input_sets({kScalar}, CheckData{})).back(), "large scalars");
}

TEST(CheckInputs, DataComesFirstAndBeginsAtASample) {
  const std::vector<float> rows = {0, 0.5F, 1, 1.5F, 2, 2.5F};
  const CheckData data{"d.npz", {{"x", Tensor::of<float>({3, 2}, rows)}}};
  const CheckInput input{"x", DType::f32, {4, 2}, 1};
  const auto sets = input_sets({input, kIntegers}, data);
  ASSERT_EQ(sets[0].name, "data");
  EXPECT_NE(sets[0].how.find("'d.npz'"), std::string::npos);
  const size_t first = std::mt19937_64(1)() % 3;
  std::vector<double> expected;
  for (size_t i = 0; i < 8; i++) expected.push_back(rows[(2 * first + i) % 6]);
  EXPECT_EQ(sets[0].make(input).to_doubles(), expected);
  EXPECT_EQ(sets[0].make(kIntegers).to_doubles(), sets[1].make(kIntegers).to_doubles());
}

TEST(CheckInputs, SetsOfMoreThanAThousandInputsShareNoSeeds) {
  const CheckInput first{"a", DType::f32, {40}, 1}, last{"b", DType::f32, {40}, 1001};
  const auto sets = input_sets({first, last}, CheckData{});
  ASSERT_EQ(sets[4].name, "positive");
  EXPECT_NE(sets[4].how.find("seeds from 4001 on"), std::string::npos) << sets[4].how;
  std::vector<double> random = sets[0].make(last).to_doubles();
  for (double& x : random) x = std::fabs(x);
  for (const InputSet& set : sets) {
    std::vector<double> other = set.make(first).to_doubles();
    for (double& x : other) x = std::fabs(x);
    EXPECT_NE(other, random) << set.name;
  }
}

std::string refusal(const CheckData& data) {
  try {
    input_sets({{"x", DType::f32, {4, 2}, 1}}, data);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(CheckInputs, DataOfAnotherShapeOrOfNoInputIsRefused) {
  EXPECT_EQ(refusal({"d.npz", {{"x", Tensor::zeros(DType::f32, {3, 3})}}}),
            "`data_preprocess`: input 'x' has the shape [3,3], the model takes [4,2]");
  EXPECT_EQ(
      refusal({"d.npz", {{"y", Tensor::zeros(DType::f32, {4, 2})}}}),
      "`data_preprocess`: 'd.npz' has no array for an input of the model; its first one is 'y'");
}

}  // namespace
}  // namespace poprt::capi
