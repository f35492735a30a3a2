// Poolings, plain and blocked, Block and Unblock.
#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, ir::Attribute, std::less<>>;

Tensor run(const char* op, const char* domain, const Tensor& x, Attributes a = {},
           int64_t opset = 17) {
  return BuiltNode(op, domain, {{x, false}}, std::move(a), opset).run()[0];
}

TEST(Block, UnblockRestoresEveryElementAndBlockClearsMissingChannels) {
  std::mt19937 rng(1);
  for (const Shape& s :
       {Shape{1, 1, 1, 1}, Shape{2, 16, 3, 5}, Shape{2, 35, 7, 9}, Shape{1, 5, 50, 60}}) {
    const Tensor x = random_tensor(s, rng);
    const Tensor y = run("Block", "poprt", x);
    const Shape want = {s[0], (s[1] + 15) / 16, s[2], s[3], 16};
    ASSERT_EQ(y.shape(), want);
    EXPECT_TRUE(run("Unblock", "poprt", y, {{"channels", s[1]}}).same_as(x));
    const int64_t plane = s[2] * s[3];
    for (int64_t i = 0; i < y.count(); i++) {
      const int64_t c = i / 16 / plane % want[1] * 16 + i % 16, n = i / 16 / plane / want[1],
                    p = i / 16 % plane;
      ASSERT_EQ(
          y.values<float>()[static_cast<size_t>(i)],
          c < s[1] ? x.values<float>()[static_cast<size_t>((n * s[1] + c) * plane + p)] : 0.0f);
    }
  }
}

TEST(MaxPool, PublishedExamplesOfOnnx) {
  // onnx/backend/test/case/node: maxpool_2d_precomputed_pads, _ceil, _dilations, with_argmax
  Tensor x = Tensor::zeros(DType::f32, {1, 1, 5, 5});
  for (size_t i = 0; i < 25; i++) x.mutable_values<float>()[i] = static_cast<float>(i + 1);
  BuiltNode pads("MaxPool", "", {{x, false}},
                 {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{2, 2, 2, 2}}}, 12, 2);
  const auto out = pads.run();
  EXPECT_TRUE(out[0].same_as(
      Tensor::of<float>({1, 1, 5, 5}, {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25,
                                       25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25})));
  Tensor x4 = Tensor::zeros(DType::f32, {1, 1, 4, 4});
  for (size_t i = 0; i < 16; i++) x4.mutable_values<float>()[i] = static_cast<float>(i + 1);
  EXPECT_TRUE(
      run("MaxPool", "", x4,
          {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}})
          .same_as(Tensor::of<float>({1, 1, 2, 2}, {11, 12, 15, 16})));
  EXPECT_TRUE(run("MaxPool", "", x4, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}})
                  .same_as(Tensor::of<float>({1, 1, 2, 2}, {11, 12, 15, 16})));
  EXPECT_TRUE(run("MaxPool", "", x,
                  {{"kernel_shape", Ints{3, 3}},
                   {"strides", Ints{2, 2}},
                   {"auto_pad", std::string("SAME_UPPER")}})
                  .same_as(Tensor::of<float>({1, 1, 3, 3}, {7, 9, 10, 17, 19, 20, 22, 24, 25})));
}

TEST(MaxPool, IndicesPointAtTheMaximum) {
  Tensor x = Tensor::zeros(DType::f32, {1, 1, 5, 5});
  for (size_t i = 0; i < 25; i++) x.mutable_values<float>()[i] = static_cast<float>(i + 1);
  for (const int64_t order : {0, 1}) {
    BuiltNode c("MaxPool", "", {{x, false}},
                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"storage_order", order}},
                12, 2);
    c.graph.add_output(c.node->output(1));
    const auto out = c.run();
    EXPECT_TRUE(out[0].same_as(Tensor::of<float>({1, 1, 2, 2}, {7, 9, 17, 19})));
    EXPECT_TRUE(out[1].same_as(order ? Tensor::of<int64_t>({1, 1, 2, 2}, {6, 16, 8, 18})
                                     : Tensor::of<int64_t>({1, 1, 2, 2}, {6, 8, 16, 18})));
  }
}

TEST(AveragePool, CountsPaddingOnlyOnRequest) {
  Tensor x = Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attributes base = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}};
  Attributes counted = base;
  counted["count_include_pad"] = int64_t{1};
  EXPECT_TRUE(
      run("AveragePool", "", x, base).same_as(Tensor::of<float>({1, 1, 2, 2}, {1, 1.5, 2, 2.5})));
  EXPECT_TRUE(run("AveragePool", "", x, counted)
                  .same_as(Tensor::of<float>({1, 1, 2, 2}, {0.25, 0.75, 1, 2.5})));
}

TEST(LpPool, IsTheNormOfTheWindow) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {3, -4});
  EXPECT_TRUE(run("LpPool", "", x, {{"kernel_shape", Ints{1, 2}}})
                  .same_as(Tensor::of<float>({1, 1, 1, 1}, {5})));
  EXPECT_TRUE(run("GlobalLpPool", "", x, {{"p", int64_t{1}}})
                  .same_as(Tensor::of<float>({1, 1, 1, 1}, {7})));
}

TEST(LpPool, TakesTheFloatOfOpset1) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {3, -4});
  EXPECT_TRUE(run("LpPool", "", x, {{"kernel_shape", Ints{1, 2}}, {"p", 1.0f}}, 1)
                  .same_as(Tensor::of<float>({1, 1, 1, 1}, {7})));
  EXPECT_TRUE(
      run("GlobalLpPool", "", x, {{"p", 2.0f}}, 1).same_as(Tensor::of<float>({1, 1, 1, 1}, {5})));
  EXPECT_THROW(run("GlobalLpPool", "", x, {{"p", 1.5f}}, 1), Error);
}

// With ceil_mode a window may reach past the end, also when the image is smaller than it.
TEST(Pool, CeilModeTakesAPartOfAWindow) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 2}, {0, 1, 2, 3});
  const Attributes a = {
      {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}};
  EXPECT_TRUE(run("MaxPool", "", x, a).same_as(Tensor::of<float>({1, 1, 1, 1}, {3})));
  EXPECT_TRUE(run("AveragePool", "", x, a).same_as(Tensor::of<float>({1, 1, 1, 1}, {1.5f})));
}

TEST(Pool, RefusesWindowsLargerThanTheInput) {
  const Tensor x = Tensor::zeros(DType::f32, {1, 1, 2, 2});
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    EXPECT_THROW(run(op, "", x, {{"kernel_shape", Ints{3, 3}}}, 18), Error);
    EXPECT_THROW(run(op, "", x, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{-1, 0, 0, 0}}}, 18),
                 Error);
    EXPECT_THROW(
        run(op, "", x,
            {{"kernel_shape", Ints{4, 4}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}, 22),
        Error);
  }
  EXPECT_EQ(
      run("MaxPool", "", Tensor::zeros(DType::f32, {1, 1, 0, 2}), {{"kernel_shape", Ints{1, 1}}})
          .shape(),
      (Shape{1, 1, 0, 2}));
}

TEST(GlobalPool, ReducesThePlane) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -6});
  EXPECT_TRUE(run("GlobalAveragePool", "", x).same_as(Tensor::of<float>({1, 2, 1, 1}, {3, -3})));
  EXPECT_TRUE(run("GlobalMaxPool", "", x).same_as(Tensor::of<float>({1, 2, 1, 1}, {6, -1})));
}

// f32 pools whole rows, f64 loops over windows.
TEST(Pool, RowsAgreeWithLoops) {
  std::mt19937 rng(3);
  struct Case {
    Shape shape;
    Attributes window;
  };
  const std::vector<Case> cases = {
      {{1, 3, 17, 39}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{2, 2, 20, 45},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 2, 19, 33},
       {{"kernel_shape", Ints{4, 5}},
        {"strides", Ints{3, 3}},
        {"pads", Ints{0, 2, 3, 1}},
        {"ceil_mode", int64_t{1}},
        {"count_include_pad", int64_t{1}}}},
      {{1, 2, 100}, {{"kernel_shape", Ints{7}}, {"strides", Ints{2}}}},
      {{1, 2, 5, 6, 21}, {{"kernel_shape", Ints{2, 3, 2}}, {"strides", Ints{1, 2, 2}}}},
      {{1, 1, 12, 13}, {{"kernel_shape", Ints{12, 13}}}},
      {{1, 1, 3, 80}, {{"kernel_shape", Ints{1, 70}}, {"strides", Ints{1, 5}}}},
      {{1, 1, 90, 4}, {{"kernel_shape", Ints{80, 2}}}}};
  for (const auto& [shape, window] : cases) {
    const Tensor x = random_tensor(shape, rng);
    Tensor wide = Tensor::zeros(DType::f64, shape);
    for (int64_t i = 0; i < x.count(); i++)
      wide.mutable_values<double>()[static_cast<size_t>(i)] =
          static_cast<double>(x.values<float>()[static_cast<size_t>(i)]);
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
      Attributes a = window;
      if (std::string(op) == "LpPool") a.erase("count_include_pad");
      if (std::string(op) == "MaxPool") a.erase("count_include_pad");
      const Tensor got = run(op, "", x, a, 19), want = run(op, "", wide, a, 19);
      ASSERT_EQ(got.shape(), want.shape());
      for (size_t i = 0; i < got.values<float>().size(); i++)
        ASSERT_NEAR(static_cast<double>(got.values<float>()[i]), want.values<double>()[i], 2e-5)
            << op << ' ' << shape_string(shape) << " element " << i;
    }
  }
  Tensor nan = random_tensor({1, 1, 8, 40}, rng);
  nan.mutable_values<float>()[50] = std::nanf("");
  const Tensor y = run("MaxPool", "", nan, {{"kernel_shape", Ints{3, 3}}});
  for (int64_t i = 0; i < y.count(); i++) {
    const int64_t r = i / 38, c = i % 38;
    EXPECT_EQ(std::isnan(y.values<float>()[static_cast<size_t>(i)]), r <= 1 && c >= 8 && c <= 10)
        << r << ' ' << c;
  }
}

TEST(BlockedPool, AgreesWithThePlainOne) {
  std::mt19937 rng(2);
  const Tensor x = random_tensor({2, 20, 13, 11}, rng);
  const Tensor blocked = run("Block", "poprt", x);
  const std::vector<Attributes> windows = {
      {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
      {{"kernel_shape", Ints{5, 5}}, {"pads", Ints{2, 2, 2, 2}}},
      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}},
      {{"kernel_shape", Ints{3, 2}},
       {"strides", Ints{3, 2}},
       {"pads", Ints{0, 1, 1, 0}},
       {"ceil_mode", int64_t{1}}},
      {{"kernel_shape", Ints{3, 3}},
       {"strides", Ints{2, 2}},
       {"pads", Ints{1, 1, 1, 1}},
       {"count_include_pad", int64_t{1}},
       {"ceil_mode", int64_t{1}}}};
  for (const auto& window : windows)
    for (const char* op : {"MaxPool", "AveragePool"}) {
      const Tensor want = run(op, "", x, window, 19);
      const Tensor got =
          run("Unblock", "poprt", run(op, "poprt", blocked, window), {{"channels", int64_t{20}}});
      ASSERT_EQ(got.shape(), want.shape());
      for (size_t i = 0; i < got.values<float>().size(); i++)
        ASSERT_NEAR(got.values<float>()[i], want.values<float>()[i], 1e-6) << op << i;
    }
  const Tensor dilated =
      run("MaxPool", "", x, {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 3}}});
  EXPECT_TRUE(run("Unblock", "poprt",
                  run("MaxPool", "poprt", blocked,
                      {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 3}}}),
                  {{"channels", int64_t{20}}})
                  .same_as(dilated));
  const Tensor mean = run("GlobalAveragePool", "", x),
               blocked_mean =
                   run("GlobalAveragePool", "poprt", blocked, {{"channels", int64_t{20}}});
  ASSERT_EQ(mean.shape(), blocked_mean.shape());
  for (size_t i = 0; i < 40; i++)
    EXPECT_NEAR(mean.values<float>()[i], blocked_mean.values<float>()[i], 1e-6);
}

}  // namespace
}  // namespace poprt::ops
