#include "ops/common/value_range.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using test::NodeCase;

std::string message_of(const NodeCase& c) {
  try {
    test::infer_node(c);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.message();
  }
  return "";
}

TEST(ValueRange, PlacesLieBelowTheSizeAndLengthsUpToIt) {
  const auto g = test::build_node({.op = "Relu", .inputs = {test::ints({0, 3})}});
  EXPECT_NO_THROW(check_places(*g->node, 0, 4, "index"));
  EXPECT_THROW(check_places(*g->node, 0, 3, "index"), Error);
  EXPECT_NO_THROW(check_lengths(*g->node, 0, 3, "length"));
  EXPECT_THROW(check_lengths(*g->node, 0, 2, "length"), Error);
  EXPECT_NO_THROW(check_places(*g->node, 0, kUnknownDim, "index"));
  EXPECT_NO_THROW(check_places(*g->node, 7, 0, "index"));
}

TEST(ValueRange, RunTimeValuesAreNotLookedAt) {
  const auto g = test::build_node({.op = "Relu", .inputs = {test::ints({9})}, .runtime = {0}});
  EXPECT_NO_THROW(check_places(*g->node, 0, 3, "index"));
}

TEST(ValueRange, ErrorsNameValueAndRange) {
  const auto g = test::build_node({.op = "Relu", .inputs = {test::ints({-1})}});
  const auto message_for = [](auto&& check) {
    try {
      check();
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  EXPECT_NE(message_for([&] {
              check_places(*g->node, 0, 3, "index");
            }).find("index -1 is outside [0, 3)"),
            std::string::npos);
  EXPECT_NE(message_for([&] {
              check_lengths(*g->node, 0, 3, "length");
            }).find("length -1 is outside [0, 3]"),
            std::string::npos);
}

// The value is refused if it is constant. At run time, the same node has a result.
TEST(ValueRange, OperatorsRefuseConstantsAndRunWithTheSameValuesAtRunTime) {
  const auto batch = [](int64_t i) { return Tensor::of<int64_t>({1}, {i}); };
  const auto cases = {
      NodeCase{.op = "RoiAlign",
               .inputs = {test::random_floats({2, 1, 4, 4}), test::random_floats({1, 4}), batch(2)},
               .runtime = {2}},
      NodeCase{.op = "RoiAlign",
               .inputs = {test::random_floats({2, 1, 4, 4}), test::random_floats({1, 4}),
                          batch(INT64_MIN)},
               .runtime = {2}},
      NodeCase{.op = "ReverseSequence",
               .inputs = {test::random_floats({4, 1}), batch(INT64_MAX)},
               .runtime = {1}},
      NodeCase{.op = "ReverseSequence",
               .inputs = {test::random_floats({4, 1}), batch(-1)},
               .runtime = {1}},
      NodeCase{
          .op = "MaxUnpool",
          .attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}}},
          .inputs = {test::random_floats({1, 1, 1, 1}), Tensor::of<int64_t>({1, 1, 1, 1}, {4})},
          .runtime = {1}},
      NodeCase{.op = "MaxRoiPool",
               .attributes = {{"pooled_shape", std::vector<int64_t>{2, 2}}},
               .inputs = {test::random_floats({1, 1, 4, 4}),
                          Tensor::of<float>({1, 5}, {1e30f, 0, 0, 1, 1})},
               .runtime = {1}},
      NodeCase{.op = "NegativeLogLikelihoodLoss",
               .inputs = {test::random_floats({1, 3}), batch(3)},
               .runtime = {1}},
      NodeCase{.op = "SoftmaxCrossEntropyLoss",
               .inputs = {test::random_floats({1, 3}), batch(-1)},
               .runtime = {1}},
      NodeCase{.op = "TensorScatter",
               .opset = 24,
               .inputs = {test::random_floats({1, 4, 2}), test::random_floats({1, 2, 2}), batch(3)},
               .runtime = {2}},
      NodeCase{.op = "TensorScatter",
               .opset = 24,
               .attributes = {{"mode", std::string("circular")}},
               .inputs = {test::random_floats({1, 4, 2}), test::random_floats({1, 2, 2}),
                          batch(INT64_MIN)},
               .runtime = {2}},
      NodeCase{.op = "RotaryEmbedding",
               .opset = 23,
               .inputs = {test::random_floats({1, 1, 1, 4}), test::random_floats({8, 2}),
                          test::random_floats({8, 2}), Tensor::of<int64_t>({1, 1}, {8})},
               .runtime = {3}},
      NodeCase{.op = "RotaryEmbedding",
               .attributes = {{"num_heads", int64_t{1}}},
               .inputs = {test::random_floats({1, 2, 4}), batch(7), test::random_floats({8, 2}),
                          test::random_floats({8, 2})},
               .runtime = {1},
               .domain = "com.microsoft"},
      NodeCase{.op = "CropAndResize",
               .inputs = {test::random_floats({1, 1, 4, 4}), test::random_floats({1, 4}),
                          Tensor::of<int32_t>({1}, {1}), Tensor::of<int32_t>({2}, {2, 2})},
               .runtime = {2},
               .domain = "com.microsoft"},
      NodeCase{.op = "EmbedLayerNormalization",
               .inputs = {Tensor::of<int32_t>({1, 1}, {10}), Tensor(), test::random_floats({10, 4}),
                          test::random_floats({4, 4}), Tensor(), test::random_floats({4}),
                          test::random_floats({4})},
               .runtime = {0},
               .domain = "com.microsoft"},
      NodeCase{.op = "ArrayFeatureExtractor",
               .inputs = {test::random_floats({2, 3}), batch(3)},
               .runtime = {1},
               .domain = "ai.onnx.ml"},
  };
  for (NodeCase c : cases) {
    SCOPED_TRACE(c.op);
    for (const Tensor& y : test::run_node(c)) EXPECT_TRUE(y.defined());
    c.runtime.clear();
    EXPECT_NE(message_of(c).find("is outside [0, "), std::string::npos) << message_of(c);
  }
}

TEST(ValueRange, RecurrentOperatorsRefuseConstantLengthsPastTheSteps) {
  const std::pair<const char*, int64_t> kinds[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : kinds)
    for (const int32_t length : {4, -1, INT32_MAX, INT32_MIN}) {
      SCOPED_TRACE(op);
      NodeCase c{.op = op,
                 .attributes = {{"hidden_size", int64_t{4}}},
                 .inputs = {test::random_floats({3, 1, 2}), test::random_floats({1, gates * 4, 2}),
                            test::random_floats({1, gates * 4, 4}), Tensor(),
                            Tensor::of<int32_t>({1}, {length})},
                 .runtime = {4}};
      EXPECT_EQ(test::run_node(c)[0].count(), 12);
      c.runtime.clear();
      EXPECT_NE(message_of(c).find("is outside [0, 3]"), std::string::npos) << message_of(c);
    }
}

}  // namespace
}  // namespace poprt::ops
