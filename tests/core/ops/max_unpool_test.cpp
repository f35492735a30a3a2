// MaxUnpool: indices address the result that the attributes determine; output_shape may be larger.
#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

NodeCase unpool(std::vector<int64_t> places, Tensor shape = {}, Attributes more = {}) {
  NodeCase c{.op = "MaxUnpool",
             .opset = 11,
             .attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                            {"strides", std::vector<int64_t>{2, 2}}},
             .inputs = {Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
                        Tensor::of<int64_t>({1, 1, 2, 2}, std::span<const int64_t>(places))}};
  if (shape.defined()) c.inputs.push_back(std::move(shape));
  for (const auto& [key, value] : more) c.attributes[key] = value;
  return c;
}

std::string refusal_of(const NodeCase& c, ErrorCode code = ErrorCode::invalid_argument) {
  try {
    run_node(c);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.message();
    return e.message();
  }
  return "";
}

void expect_contains(const std::string& error_text, const std::string& words) {
  EXPECT_NE(error_text.find(words), std::string::npos)
      << "'" << error_text << "' should say " << words;
}

TEST(MaxUnpool, PutsElementsWhereTheirIndicesSay) {
  const Tensor y = run_node(unpool({0, 6, 9, 15}))[0];
  ASSERT_EQ(y.shape(), (Shape{1, 1, 4, 4}));
  std::vector<double> want(16);
  want[0] = 1, want[6] = 2, want[9] = 3, want[15] = 4;
  EXPECT_EQ(y.to_doubles(), want);
}

// An index is a row and a column of the smaller result.
TEST(MaxUnpool, AnOutputShapeMayBeLarger) {
  const Tensor y = run_node(unpool({0, 6, 9, 15}, ints({1, 1, 5, 6})))[0];
  ASSERT_EQ(y.shape(), (Shape{1, 1, 5, 6}));
  std::vector<double> want(30);
  for (const auto& [index, value] : {std::pair(0, 1.0), {6, 2.0}, {9, 3.0}, {15, 4.0}})
    want[static_cast<size_t>(index / 4 * 6 + index % 4)] = value;
  EXPECT_EQ(y.to_doubles(), want);
  EXPECT_EQ(run_node(unpool({0, 6, 9, 15}, ints({1, 1, 4, 4})))[0].shape(), (Shape{1, 1, 4, 4}));
}

TEST(MaxUnpool, AnOutputShapeFitsTheInput) {
  expect_contains(refusal_of(unpool({0, 6, 9, 15}, ints({1, 5, 5}))),
                  "output_shape [1,5,5] does not fit [1,1,2,2]");
  expect_contains(refusal_of(unpool({0, 6, 9, 15}, ints({1, 1, 1, 5, 5}))),
                  "output_shape [1,1,1,5,5] does not fit [1,1,2,2]");
  expect_contains(refusal_of(unpool({0, 6, 9, 15}, ints({1, 1, -1, 5}))),
                  "output_shape [1,1,?,5] does not fit [1,1,2,2]");
  for (const auto& small : {ints({1, 1, 3, 5}), ints({1, 1, 5, 3})})
    expect_contains(refusal_of(unpool({0, 6, 9, 15}, small), ErrorCode::unimplemented),
                    "is smaller than [1,1,4,4]");
}

TEST(MaxUnpool, IndicesLieInTheResultThatTheAttributesGive) {
  EXPECT_EQ(refusal_of(unpool({0, 6, 9, 15})), "");
  expect_contains(refusal_of(unpool({0, 6, 9, 16})), "index 16 is outside [0, 16)");
  expect_contains(refusal_of(unpool({-1, 6, 9, 15})), "index -1 is outside [0, 16)");
  // The same if output_shape is larger.
  expect_contains(refusal_of(unpool({0, 6, 9, 16}, ints({1, 1, 5, 6}))),
                  "index 16 is outside [0, 16)");
}

TEST(MaxUnpool, PadsLeaveSomething) {
  const auto padded = [](std::vector<int64_t> pads) {
    NodeCase c = unpool({0, 0, 0, 0}, {}, {{"pads", std::move(pads)}});
    return c;
  };
  EXPECT_EQ(infer_node(padded({1, 0, 2, 0})).shape, (Shape{1, 1, 1, 4}));
  EXPECT_EQ(infer_node(padded({0, 1, 0, 1})).shape, (Shape{1, 1, 4, 2}));
  expect_contains(
      refusal_of(padded({0, 2, 0, 2})),
      "no output is left on spatial axis 1: pads 2 and 2 remove more than 2 with stride 2 "
      "and kernel 2");
  expect_contains(refusal_of(padded({2, 0, 3, 0})),
                  "no output is left on spatial axis 0: pads 2 and 3");
}

TEST(MaxUnpool, UnknownAndEmptySidesStaySo) {
  const auto shape_of = [](Shape x) {
    ir::Graph g;
    g.opsets[""] = 11;
    ir::Node* n = g.add_node("MaxUnpool", "",
                             {g.add_input("x", ir::ValueType::of(DType::f32, x)),
                              g.add_input("i", ir::ValueType::of(DType::s64, x))});
    n->attributes["kernel_shape"] = std::vector<int64_t>{2, 2};
    n->attributes["strides"] = std::vector<int64_t>{3, 3};
    ops::infer(*n);
    return n->output()->shape();
  };
  EXPECT_EQ(shape_of({1, 2, kUnknownDim, 3}), (Shape{1, 2, kUnknownDim, 8}));
  EXPECT_EQ(shape_of({1, 2, 0, 3}), (Shape{1, 2, 0, 8}));
  EXPECT_EQ(shape_of({1, 2, 1, 1}), (Shape{1, 2, 2, 2}));
}

}  // namespace
}  // namespace poprt::test
