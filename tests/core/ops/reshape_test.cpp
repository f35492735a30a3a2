#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

Shape reshaped(Shape in, std::vector<int64_t> to, int64_t opset = 13, int64_t allowzero = 0) {
  return infer_node({"Reshape",
                     opset,
                     {{"allowzero", allowzero}},
                     {Tensor::zeros(DType::f32, std::move(in)), ints(std::move(to))}})
      .shape;
}

TEST(Reshape, ZeroKeepsAndMinusOneInfers) {
  EXPECT_EQ(reshaped({2, 3, 4}, {0, -1}), (Shape{2, 12}));
  EXPECT_EQ(reshaped({2, 3, 4}, {-1}), (Shape{24}));
  EXPECT_EQ(reshaped({1}, {}), (Shape{}));
  EXPECT_EQ(reshaped({0, 3}, {3, 0}, 14, 1), (Shape{3, 0}));
  EXPECT_EQ(reshaped({0, 3}, {0, -1}), (Shape{0, 3}));
}

TEST(Reshape, RefusesInvalidShapes) {
  EXPECT_THROW(reshaped({2, 3}, {4, -1}), Error);
  EXPECT_THROW(reshaped({2, 3}, {7}), Error);
  EXPECT_THROW(reshaped({2, 3}, {-1, -1}), Error);
  EXPECT_THROW(reshaped({2}, {1, 1, 0}), Error);
  EXPECT_THROW(reshaped({2, 3}, {-2, 3}), Error);
}

TEST(Reshape, InfersAroundUnknownDimensions) {
  ir::Graph g;
  g.opsets[""] = 13;
  ir::Value* x = g.add_input("x", {DType::f32, true, {kUnknownDim, 3, 4}, {"N", "", ""}});
  ir::Node* n = g.add_node("Reshape", "", {x, g.add_constant("s", ints({0, -1}))});
  ops::infer(*n);
  EXPECT_EQ(n->output()->shape(), (Shape{kUnknownDim, 12}));
}

TEST(Reshape, KeepsRankOfAComputedShape) {
  EXPECT_EQ(
      infer_node({"Reshape", 13, {}, {Tensor::zeros(DType::f32, {6}), ints({2, 3})}, 1, {1}}).shape,
      (Shape{kUnknownDim, kUnknownDim}));
}

TEST(Reshape, CopiesBytesOfSubByteTypes) {
  const Tensor x = random_bytes(DType::s4, {3, 4});
  const Tensor y = run_node({"Reshape", 21, {}, {x, ints({2, 6})}})[0];
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.bytes()), 0);
}

TEST(Reshape, ReadsTheAttributeOfOpset1) {
  EXPECT_EQ(infer_node({"Reshape",
                        1,
                        {{"shape", std::vector<int64_t>{3, -1}}},
                        {Tensor::zeros(DType::f32, {2, 6})}})
                .shape,
            (Shape{3, 4}));
}

}  // namespace
}  // namespace poprt::test
