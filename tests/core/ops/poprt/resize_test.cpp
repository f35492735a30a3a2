#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(ResizeBlocked, AgreesWithThePlainLayout) {
  const Tensor x = random_floats({1, 2, 3, 4, 16});
  Tensor plain = Tensor::zeros(DType::f32, {1, 32, 3, 4});
  for (int64_t c = 0; c < 32; c++)
    for (int64_t p = 0; p < 12; p++)
      plain.mutable_values<float>()[static_cast<size_t>(c * 12 + p)] =
          x.values<float>()[static_cast<size_t>((c / 16 * 12 + p) * 16 + c % 16)];
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    const Tensor blocked = run_node({"Resize",
                                     19,
                                     {{"mode", mode}, {"scales", std::vector<float>{2, 1.5f}}},
                                     {x},
                                     1,
                                     {},
                                     "poprt"})[0];
    const Tensor want = run_node({"Resize",
                                  19,
                                  {{"mode", mode}},
                                  {plain, Tensor(), Tensor::of<float>({4}, {1, 1, 2, 1.5f})}})[0];
    ASSERT_EQ(blocked.shape(), (Shape{1, 2, 6, 6, 16}));
    for (int64_t c = 0; c < 32; c++)
      for (int64_t p = 0; p < 36; p++)
        ASSERT_NEAR(blocked.values<float>()[static_cast<size_t>((c / 16 * 36 + p) * 16 + c % 16)],
                    want.values<float>()[static_cast<size_t>(c * 36 + p)], 1e-6f);
  }
}

NodeCase blocked(Attributes attributes, Shape x = {1, 1, 3, 4, 16}) {
  return {"Resize", 19, std::move(attributes), {random_floats(std::move(x))}, 1, {}, "poprt"};
}

const std::vector<float> kScales = {2, 0.5f};
const std::vector<int64_t> kTargetSizes = {6, 7};

TEST(ResizeBlocked, SizesDetermineTheShapeOfTheResult) {
  const auto shape = [](Attributes a) { return infer_node(blocked(std::move(a))).shape; };
  EXPECT_EQ(shape({{"scales", kScales}}), (Shape{1, 1, 6, 2, 16}));
  EXPECT_EQ(shape({{"sizes", kTargetSizes}}), (Shape{1, 1, 6, 7, 16}));
  EXPECT_EQ(shape({{"scales", kScales}, {"sizes", kTargetSizes}}), (Shape{1, 1, 6, 7, 16}));
}

// Scales determine the positions of pixels, also if sizes are given: 0.5 takes every other column.
TEST(ResizeBlocked, ScalesDetermineThePositionsOfPixels) {
  const NodeCase c = blocked({{"scales", std::vector<float>{1, 0.5f}},
                              {"sizes", std::vector<int64_t>{3, 2}},
                              {"coordinate_transformation_mode", std::string("asymmetric")}});
  const Tensor y = run_node(c)[0];
  expect_moved(y, c.inputs[0], [](std::vector<int64_t> at) {
    at[3] *= 2;
    return std::optional(at);
  });
  // Without scales the sizes determine the positions of pixels: 4 columns in 8.
  const NodeCase grown = blocked({{"sizes", std::vector<int64_t>{3, 8}},
                                  {"coordinate_transformation_mode", std::string("asymmetric")},
                                  {"nearest_mode", std::string("floor")}});
  expect_moved(run_node(grown)[0], grown.inputs[0], [](std::vector<int64_t> at) {
    at[3] /= 2;
    return std::optional(at);
  });
}

TEST(ResizeBlocked, UnknownAndEmptySidesStaySo) {
  const auto shape_of = [](Shape x, bool by_sizes) {
    ir::Graph g;
    g.opsets = {{"", 19}, {"poprt", 1}};
    ir::Node* n = g.add_node("Resize", "poprt",
                             {g.add_input("x", ir::ValueType::of(DType::f32, std::move(x)))});
    if (by_sizes)
      n->attributes["sizes"] = kTargetSizes;
    else
      n->attributes["scales"] = kScales;
    ops::infer(*n);
    return n->output()->shape();
  };
  EXPECT_EQ(shape_of({1, 2, kUnknownDim, 4, 16}, false), (Shape{1, 2, kUnknownDim, 2, 16}));
  EXPECT_EQ(shape_of({1, 2, 0, 4, 16}, false), (Shape{1, 2, 0, 2, 16}));
  EXPECT_EQ(shape_of({1, 2, 3, kUnknownDim, 16}, false), (Shape{1, 2, 6, kUnknownDim, 16}));
  EXPECT_EQ(shape_of({1, 2, kUnknownDim, 0, 16}, true), (Shape{1, 2, 6, 7, 16}));
}

TEST(ResizeBlocked, RefusesInvalidScalesAndSizes) {
  const auto message_for = [](const NodeCase& c, ErrorCode code = ErrorCode::invalid_argument) {
    try {
      infer_node(c);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.message();
      return e.message();
    }
    return std::string();
  };
  const std::string either = "expected scales [h, w] or sizes [h, w]";
  const std::vector<float> one = {2}, three = {2, 2, 2};
  const std::vector<int64_t> one_size = {2}, three_sizes = {2, 2, 2};
  for (const Attributes& a :
       {Attributes{}, Attributes{{"scales", one}}, Attributes{{"scales", three}},
        Attributes{{"sizes", one_size}}, Attributes{{"sizes", three_sizes}},
        Attributes{{"scales", one}, {"sizes", kTargetSizes}},
        Attributes{{"scales", kScales}, {"sizes", one_size}}})
    EXPECT_NE(message_for(blocked(a)).find(either), std::string::npos) << message_for(blocked(a));
  for (const Shape& x : {Shape{1, 1, 3, 4}, Shape{1, 1, 3, 4, 8}, Shape{1, 1, 1, 3, 4, 16}})
    EXPECT_NE(message_for(blocked({{"scales", kScales}}, x))
                  .find("expected a blocked input, found " + shape_string(x)),
              std::string::npos);
  EXPECT_NE(
      message_for(blocked({{"scales", kScales},
                           {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}),
                  ErrorCode::unimplemented)
          .find("tf_crop_and_resize is not supported for blocked layouts"),
      std::string::npos);
}

TEST(ResizeBlocked, RefusesSizesOutOfRange) {
  for (const int64_t size : {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{1} << 40})
    EXPECT_THROW(infer_node(blocked({{"sizes", std::vector<int64_t>{4, size}}})), Error) << size;
}

}  // namespace
}  // namespace poprt::test
