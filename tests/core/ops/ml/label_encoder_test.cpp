// LabelEncoder and OneHotEncoder on tables of every form.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/ops/run_node.h"
#include "ops/common/strings.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

std::vector<double> encoded(const Tensor& x, Ints keys, std::vector<float> values) {
  return test::run_node({.op = "LabelEncoder",
                         .attributes = {{"keys_int64s", std::move(keys)},
                                        {"values_floats", std::move(values)},
                                        {"default_float", -1.0f}},
                         .inputs = {x},
                         .runtime = {0},
                         .domain = "ai.onnx.ml"})[0]
      .to_doubles();
}

constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();

TEST(LabelEncoder, KeysCloseTogether) {
  const Tensor x = Tensor::of<int64_t>({8}, {-3, 5, 0, 6, -4, 4, kHigh, kLow});
  EXPECT_EQ(encoded(x, {5, -3, 0}, {1, 2, 3}), (std::vector<double>{2, 1, 3, -1, -1, -1, -1, -1}));
}

TEST(LabelEncoder, MapsDistantKeys) {
  const Tensor x = Tensor::of<int64_t>({6}, {kLow, kHigh, 0, 1, kHigh - 1, 1000000});
  EXPECT_EQ(encoded(x, {kHigh, 0, kLow, 1000000}, {1, 2, 3, 4}),
            (std::vector<double>{3, 1, 2, -1, -1, 4}));
}

TEST(LabelEncoder, OfEqualKeysTheFirstCounts) {
  const Tensor x = Tensor::of<int64_t>({2}, {7, 8});
  EXPECT_EQ(encoded(x, {7, 7, 8}, {1, 2, 3}), (std::vector<double>{1, 3}));
  const Tensor far = Tensor::of<int64_t>({2}, {7, kHigh});
  EXPECT_EQ(encoded(far, {7, 7, kHigh}, {1, 2, 3}), (std::vector<double>{1, 3}));
}

TEST(LabelEncoder, EveryWidthOfKeysAndValues) {
  const auto run = [](const Tensor& x, const Tensor& keys, const Tensor& values) {
    return test::run_node({.op = "LabelEncoder",
                           .attributes = {{"keys_tensor", keys}, {"values_tensor", values}},
                           .inputs = {x},
                           .runtime = {0},
                           .domain = "ai.onnx.ml"})[0]
        .to_doubles();
  };
  const Tensor values = Tensor::of<int16_t>({3}, {-5, 6, 7});
  EXPECT_EQ(run(Tensor::of<int32_t>({3}, {2, 9, -1}), Tensor::of<int32_t>({3}, {-1, 2, 3}), values),
            (std::vector<double>{6, 0, -5}));
  EXPECT_EQ(run(Tensor::of<int16_t>({2}, {3, 4}), Tensor::of<int16_t>({3}, {-1, 2, 3}), values),
            (std::vector<double>{7, 0}));
  EXPECT_EQ(run(Tensor::of<double>({2}, {2.5, 4}), Tensor::of<double>({3}, {-1, 2.5, 3}), values),
            (std::vector<double>{6, 0}));
}

using Words = std::vector<std::string>;

// Evaluates LabelEncoder of constant words.
Tensor encoded_words(const test::Attributes& attributes, const Tensor& x) {
  const auto g = test::build_node(
      {.op = "LabelEncoder", .attributes = attributes, .inputs = {x}, .domain = "ai.onnx.ml"});
  return evaluate_strings(*g->node, std::array{x})[0];
}

Tensor words(Words list) {
  const auto n = static_cast<int64_t>(list.size());
  return Tensor::strings({1, n}, std::move(list));
}

TEST(LabelEncoder, WordsBecomeNumbersAndUnknownOnesTheDefault) {
  const Tensor x = words({"b", "?", "a", "b"});
  const Words keys{"a", "b"};
  Tensor y = encoded_words({{"keys_strings", keys}, {"values_int64s", Ints{5, 6}}}, x);
  EXPECT_EQ(y.shape(), (Shape{1, 4}));
  EXPECT_EQ(y.to_int64s(), (Ints{6, -1, 5, 6}));
  y = encoded_words(
      {{"keys_strings", keys}, {"values_int64s", Ints{5, 6}}, {"default_int64", int64_t{9}}}, x);
  EXPECT_EQ(y.to_int64s(), (Ints{6, 9, 5, 6}));
  const std::vector<float> reals{0.5f, 1.5f};
  y = encoded_words({{"keys_strings", keys}, {"values_floats", reals}}, x);
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{1.5, 0, 0.5, 1.5}));
  EXPECT_TRUE(std::signbit(y.values<float>()[1])) << "-0 by default";
  y = encoded_words({{"keys_strings", keys}, {"values_floats", reals}, {"default_float", 7.0f}}, x);
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{1.5, 7, 0.5, 1.5}));
}

TEST(LabelEncoder, WordsBecomeWords) {
  const Tensor x = words({"b", "?", "a"});
  EXPECT_EQ(
      encoded_words({{"keys_strings", Words{"a", "b"}}, {"values_strings", Words{"A", "B"}}}, x)
          .string_values(),
      (Words{"B", "_Unused", "A"}));
  EXPECT_EQ(encoded_words({{"keys_strings", Words{"a", "b"}},
                           {"values_strings", Words{"A", "B"}},
                           {"default_string", std::string("none")}},
                          x)
                .string_values(),
            (Words{"B", "none", "A"}));
}

TEST(LabelEncoder, WordsBecomeElementsOfATensorOfAnyWidth) {
  const Tensor x = words({"b", "?", "a"});
  const auto with = [&](const Tensor& values, test::Attributes more) {
    more["keys_tensor"] = Tensor::strings({2}, {"a", "b"});
    more["values_tensor"] = values;
    return encoded_words(more, x);
  };
  EXPECT_EQ(with(Tensor::of<double>({2}, {0.25, 8.5}), {}).to_doubles(),
            (std::vector<double>{8.5, 0, 0.25}));
  EXPECT_EQ(with(Tensor::of<int16_t>({2}, {-7, 300}),
                 {{"default_tensor", Tensor::of<int16_t>({1}, {42})}})
                .to_doubles(),
            (std::vector<double>{300, 42, -7}));
  EXPECT_THROW(with(Tensor::of<int16_t>({2}, {-7, 300}),
                    {{"default_tensor", Tensor::of<int32_t>({1}, {42})}}),
               Error);
  EXPECT_THROW(with(Tensor::of<int16_t>({2}, {-7, 300}),
                    {{"default_tensor", Tensor::of<int16_t>({2}, {42, 43})}}),
               Error);
  try {
    with(Tensor::zeros(DType::s4, {2}), {});
    FAIL() << "elements of half a byte";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
  }
}

TEST(LabelEncoder, TheClassesOfOpset1AreNumberedFrom0) {
  EXPECT_EQ(encoded_words({{"classes_strings", Words{"x", "y", "z"}}}, words({"z", "x", "?", "y"}))
                .to_int64s(),
            (Ints{2, 0, -1, 1}));
}

TEST(LabelEncoder, RefusesInvalidTables) {
  const Tensor x = words({"a"});
  const Words keys{"a", "b"};
  EXPECT_THROW(encoded_words({{"keys_strings", keys}}, x), Error);
  EXPECT_THROW(encoded_words({{"values_int64s", Ints{1, 2}}}, x), Error);
  EXPECT_THROW(encoded_words({{"keys_strings", keys}, {"values_int64s", Ints{1}}}, x), Error);
  EXPECT_THROW(encoded_words({{"keys_strings", Words{}}, {"values_int64s", Ints{}}}, x), Error);
  EXPECT_THROW(encoded_words({{"keys_int64s", Ints{1, 2}}, {"values_int64s", Ints{1, 2}}}, x),
               Error);
}

TEST(OneHotEncoder, WithoutZerosAnUnknownCategoryIsAFailure) {
  const auto encode = [](int64_t zeros, int64_t category) {
    const test::NodeCase c = {
        .op = "OneHotEncoder",
        .attributes = {{"cats_int64s", std::vector<int64_t>{3, 5}}, {"zeros", zeros}},
        .inputs = {test::ints({5, category})},
        .runtime = {0},
        .domain = "ai.onnx.ml"};
    const auto g = test::build_node(c);
    ops::infer(*g->node);
    return ops::evaluate(*g->node, c.inputs, 1, true)[0];
  };
  EXPECT_TRUE(encode(1, 7).same_as(Tensor::of<float>({2, 2}, {0, 1, 0, 0})));
  EXPECT_TRUE(encode(0, 3).same_as(Tensor::of<float>({2, 2}, {0, 1, 1, 0})));
  EXPECT_THROW(encode(0, 7), Error);
}

TEST(OneHotEncoder, OfACategoryThatIsGivenTwiceTheLastCounts) {
  const auto y = test::run_node({.op = "OneHotEncoder",
                                 .attributes = {{"cats_int64s", Ints{4, 7, 4}}},
                                 .inputs = {Tensor::of<int64_t>({3}, {4, 7, 5})},
                                 .runtime = {0},
                                 .domain = "ai.onnx.ml"})[0];
  EXPECT_EQ(y.shape(), (Shape{3, 3}));
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace poprt::ops
