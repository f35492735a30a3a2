#include <cmath>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

const std::vector<std::string> kCoordinates = {"half_pixel",         "half_pixel_symmetric",
                                               "pytorch_half_pixel", "align_corners",
                                               "asymmetric",         "tf_half_pixel_for_nn"};

double coordinate(const std::string& mode, double o, double in, double out, double scale) {
  if (mode == "align_corners") return out == 1 ? 0 : o * (in - 1) / (scale * in - 1);
  if (mode == "asymmetric") return o / scale;
  if (mode == "tf_half_pixel_for_nn") return (o + 0.5) / scale;
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  const double half = (o + 0.5) / scale - 0.5;
  if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / (scale * in)) + half;
  return half;
}

double cubic(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

// Resizes one axis by the definition: reads every source pixel of a wide window, with clamped
// edges.
std::vector<double> resize_line(const std::vector<double>& x, int64_t out, double scale,
                                const std::string& mode, const std::string& coordinates,
                                bool exclude) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<double> y;
  for (int64_t o = 0; o < out; o++) {
    const double at = coordinate(coordinates, static_cast<double>(o), static_cast<double>(n),
                                 static_cast<double>(out), scale);
    const auto base = static_cast<int64_t>(std::floor(at));
    double sum = 0, weights = 0;
    for (int64_t i = base - 3; i <= base + 4; i++) {
      const double d = at - static_cast<double>(i);
      const double w = mode == "cubic" ? cubic(d, -0.75) : std::max(0.0, 1 - std::fabs(d));
      if (exclude && (i < 0 || i >= n)) continue;
      sum += w * x[static_cast<size_t>(std::clamp<int64_t>(i, 0, n - 1))];
      weights += w;
    }
    y.push_back(sum / weights);
  }
  return y;
}

TEST(Resize, LinearAndCubicInEveryCoordinateMode) {
  for (const std::string mode : {"linear", "cubic"})
    for (const auto& coordinates : kCoordinates)
      for (const float scale : {2.0f, 0.6f, 1.5f, 3.0f})
        for (const int64_t exclude : {0, 1}) {
          SCOPED_TRACE(mode + " " + coordinates + " " + std::to_string(scale));
          const Tensor x = random_floats({2, 5, 7}, 4);
          const Tensor y = run_node({"Resize",
                                     19,
                                     {{"mode", mode},
                                      {"coordinate_transformation_mode", coordinates},
                                      {"exclude_outside", exclude}},
                                     {x, Tensor(), Tensor::of<float>({3}, {1, scale, scale})}})[0];
          const int64_t h = static_cast<int64_t>(std::floor(5 * scale)),
                        w = static_cast<int64_t>(std::floor(7 * scale));
          ASSERT_EQ(y.shape(), (Shape{2, h, w}));
          const auto in = x.to_doubles(), got = y.to_doubles();
          for (int64_t n = 0; n < 2; n++) {
            std::vector<std::vector<double>> rows;
            for (int64_t r = 0; r < 5; r++) {
              const auto first = in.begin() + (n * 5 + r) * 7;
              rows.push_back(resize_line({first, first + 7}, w, static_cast<double>(scale), mode,
                                         coordinates, exclude != 0));
            }
            for (int64_t c = 0; c < w; c++) {
              std::vector<double> column;
              for (const auto& row : rows) column.push_back(row[static_cast<size_t>(c)]);
              const auto want = resize_line(column, h, static_cast<double>(scale), mode,
                                            coordinates, exclude != 0);
              for (int64_t r = 0; r < h; r++)
                ASSERT_NEAR(got[static_cast<size_t>((n * h + r) * w + c)],
                            want[static_cast<size_t>(r)], 2e-5);
            }
          }
        }
}

// Converters compute scales from sizes. The first product is 19.9999996, and in f32 it is 20.
TEST(Resize, AScaleThatWasARatioOfSizesGivesTheSize) {
  for (const auto& [in, out] : {std::pair(12, 20), std::pair(3, 5), std::pair(13, 25)}) {
    const float scale = static_cast<float>(out) / static_cast<float>(in);
    ASSERT_LT(static_cast<double>(scale) * in, out);
    const Tensor y =
        run_node({"Resize",
                  13,
                  {{"mode", "nearest"}},
                  {random_floats({1, in}, 4), Tensor(), Tensor::of<float>({2}, {1, scale})}})[0];
    EXPECT_EQ(y.shape(), (Shape{1, out}));
  }
}

// The coordinates of places that should be halfway are 3.4999998 and 58.499996 in f32. ONNX Runtime
// rounds only the first one up.
TEST(Resize, RoundPreferCeilRoundsUpWhatIsAlmostAHalf) {
  const auto element = [](int64_t in, int64_t out, int64_t at) {
    Tensor x = Tensor::zeros(DType::f32, {in});
    for (int64_t i = 0; i < in; i++)
      x.mutable_values<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
    const Tensor y = run_node({"Resize",
                               19,
                               {{"coordinate_transformation_mode", std::string("asymmetric")},
                                {"nearest_mode", std::string("round_prefer_ceil")}},
                               {x, Tensor(), Tensor(), Tensor::of<int64_t>({1}, {out})}})[0];
    return y.to_doubles()[static_cast<size_t>(at)];
  };
  EXPECT_EQ(element(7, 8, 4), 4);
  EXPECT_EQ(element(273, 42, 9), 58);
}

TEST(Resize, NearestInEveryMode) {
  for (const std::string nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    for (const auto& coordinates : kCoordinates)
      for (const float scale :
           {2.0f, 0.5f, 4.0f})  // exact in binary: the reference has no ties to lose
        for (const DType dtype : kSizes) {
          const Tensor x = random_bytes(dtype, {3, 8, 6});
          const Tensor y = run_node(
              {"Resize",
               19,
               {{"coordinate_transformation_mode", coordinates}, {"nearest_mode", nearest}},
               {x, Tensor(), Tensor::of<float>({3}, {1, scale, scale})}})[0];
          expect_moved(y, x, [&](std::vector<int64_t> o) {
            for (size_t d = 1; d < 3; d++) {
              const double in = static_cast<double>(x.shape()[d]),
                           out = static_cast<double>(y.shape()[d]);
              double at = coordinate(coordinates, static_cast<double>(o[d]), in, out,
                                     static_cast<double>(scale));
              if (coordinates == "align_corners")
                at = static_cast<double>(static_cast<float>(o[d]) * (static_cast<float>(in) - 1) /
                                         (static_cast<float>(out) - 1));
              if (nearest == "floor") at = std::floor(at);
              if (nearest == "ceil") at = std::ceil(at);
              if (nearest == "round_prefer_floor") at = std::ceil(at - 0.5);
              if (nearest == "round_prefer_ceil") at = std::floor(at + 0.5);
              o[d] = static_cast<int64_t>(std::clamp(at, 0.0, in - 1));
            }
            return std::optional(o);
          });
        }
}

// Published vectors of the ONNX operator tests.
TEST(Resize, AgreesWithPublishedVectors) {
  std::vector<float> v(16);
  for (size_t i = 0; i < 16; i++) v[i] = static_cast<float>(i + 1);
  const Tensor x = Tensor::of<float>({1, 1, 4, 4}, std::span<const float>(v));
  const auto check = [&](Attributes attributes, std::vector<Tensor> rest,
                         std::vector<double> want) {
    rest.insert(rest.begin(), x);
    const auto got =
        run_node({"Resize", 19, std::move(attributes), std::move(rest)})[0].to_doubles();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], 1e-4);
  };
  const Tensor scales = Tensor::of<float>({4}, {1, 1, 0.6f, 0.6f});
  check({{"mode", std::string("linear")}, {"antialias", int64_t{1}}}, {Tensor(), scales},
        {2.875, 4.5, 9.375, 11.0});
  // Lengths of 3.2: test_resize_downsample_scales_cubic_align_corners.
  check({{"mode", std::string("cubic")},
         {"coordinate_transformation_mode", std::string("align_corners")}},
        {Tensor(), Tensor::of<float>({4}, {1, 1, 0.8f, 0.8f})},
        {1.0, 2.39519159, 3.79038317, 6.58076634, 7.97595793, 9.37114951, 12.16153268, 13.55672427,
         14.95191585});
  check({{"mode", std::string("cubic")}, {"antialias", int64_t{1}}}, {Tensor(), scales},
        {2.5180721, 4.2858863, 9.589329, 11.357142});
  check(
      {{"mode", std::string("linear")},
       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
      {Tensor::of<float>({8}, {0, 0, 0.4f, 0.6f, 1, 1, 0.6f, 0.8f}), Tensor(), ints({1, 1, 3, 3})},
      {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10.0, 10.3, 10.6});
  check(
      {{"mode", std::string("linear")},
       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
       {"extrapolation_value", 10.0f}},
      {Tensor::of<float>({8}, {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f}), Tensor(), ints({1, 1, 3, 3})},
      {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10});
}

TEST(Resize, SizesAxesAndPolicies) {
  const Tensor x = Tensor::zeros(DType::f32, {1, 3, 4, 6});
  const auto shape = [&](Attributes attributes, std::vector<int64_t> sizes) {
    return infer_node({"Resize",
                       18,
                       std::move(attributes),
                       {x, Tensor(), Tensor(), ints(std::move(sizes))}})
        .shape;
  };
  EXPECT_EQ(shape({}, {1, 3, 8, 2}), (Shape{1, 3, 8, 2}));
  EXPECT_EQ(shape({{"axes", std::vector<int64_t>{-1, 2}}}, {7, 5}), (Shape{1, 3, 5, 7}));
  const std::vector<int64_t> hw = {2, 3};
  EXPECT_EQ(shape({{"axes", hw}, {"keep_aspect_ratio_policy", std::string("not_larger")}}, {8, 8}),
            (Shape{1, 3, 5, 8}));
  EXPECT_EQ(shape({{"axes", hw}, {"keep_aspect_ratio_policy", std::string("not_smaller")}}, {8, 8}),
            (Shape{1, 3, 8, 12}));
}

TEST(Resize, StoresEveryNumericType) {
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f64, DType::u8, DType::s8, DType::s32, DType::s64}) {
    Tensor x = Tensor::zeros(dtype, {2, 2});
    const Tensor y = run_node({"Resize",
                               13,
                               {{"mode", std::string("linear")}},
                               {x, Tensor(), Tensor::of<float>({2}, {2, 2})}})[0];
    EXPECT_EQ(y.to_doubles(), std::vector<double>(16));
  }
  const Tensor u = run_node(
      {"Resize",
       13,
       {{"mode", std::string("linear")}},
       {Tensor::of<uint8_t>({1, 2}, {10, 250}), Tensor(), Tensor::of<float>({2}, {1, 2})}})[0];
  EXPECT_EQ(u.to_int64s(), (std::vector<int64_t>{10, 70, 190, 250}));
}

TEST(Resize, RefusesHostileScales) {
  const Tensor x = Tensor::zeros(DType::f32, {2});
  for (const float s : {0.0f, -1.0f, NAN, INFINITY, 1e30f})
    EXPECT_THROW(infer_node({"Resize", 13, {}, {x, Tensor(), Tensor::of<float>({1}, {s})}}), Error);
  EXPECT_THROW(infer_node({"Resize",
                           13,
                           {{"mode", std::string("other")}},
                           {x, Tensor(), Tensor::of<float>({1}, {2})}}),
               Error);
  EXPECT_THROW(infer_node({"Resize", 13, {}, {x}}), Error);
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

NodeCase scaled(Shape x, std::vector<float> scales, Attributes attributes = {}) {
  const auto n = static_cast<int64_t>(scales.size());
  return {"Resize",
          18,
          std::move(attributes),
          {Tensor::zeros(DType::u8, std::move(x)), Tensor(),
           Tensor::of<float>({n}, std::span<const float>(scales))}};
}
NodeCase sized(Shape x, std::vector<int64_t> sizes, Attributes attributes = {}) {
  return {"Resize",
          18,
          std::move(attributes),
          {Tensor::zeros(DType::u8, std::move(x)), Tensor(), Tensor(), ints(std::move(sizes))}};
}

// Only the type is inferred: nothing is allocated.
Shape inferred(Shape x, std::vector<float> scales, std::vector<int64_t> sizes,
               Attributes attributes = {}) {
  ir::Graph g;
  g.opsets[""] = 18;
  const auto count = static_cast<int64_t>(scales.size());
  ir::Value* in = g.add_input("x", ir::ValueType::of(DType::f32, std::move(x)));
  ir::Value* by =
      scales.empty()
          ? nullptr
          : g.add_constant("s", Tensor::of<float>({count}, std::span<const float>(scales)));
  ir::Value* to = sizes.empty() ? nullptr : g.add_constant("z", ints(std::move(sizes)));
  ir::Node* n = g.add_node("Resize", "", {in, nullptr, by, to});
  for (const auto& [key, value] : attributes) n->attributes[key] = value;
  ops::infer(*n);
  return n->output()->shape();
}

TEST(Resize, SizesEndAtABillion) {
  EXPECT_EQ(inferred({250'000'000}, {4}, {}), (Shape{1'000'000'000}));
  EXPECT_EQ(inferred({2}, {}, {1'000'000'000}), (Shape{1'000'000'000}));
  EXPECT_EQ(inferred({2}, {}, {0}), (Shape{0}));
  const auto message_for = [](int64_t x, std::vector<float> scales, std::vector<int64_t> sizes) {
    try {
      inferred({x}, std::move(scales), std::move(sizes));
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  // The next float after 250 millions.
  EXPECT_NE(message_for(250'000'016, {4}, {}).find("250000016 times 4 is too large"),
            std::string::npos);
  EXPECT_NE(message_for(2, {}, {1'000'000'001}).find("size 1000000001 is out of range"),
            std::string::npos);
  EXPECT_NE(message_for(2, {}, {-1}).find("size -1 is out of range"), std::string::npos);
}

TEST(Resize, RefusesInvalidScalesAndSizes) {
  const std::vector<int64_t> last = {-1};
  const std::string policy = "keep_aspect_ratio_policy", both = "expected either scales or sizes";
  NodeCase two = scaled({2, 3}, {1, 2});
  two.inputs.push_back(ints({2, 6}));
  NodeCase neither = sized({2, 3}, {2, 6});
  neither.inputs.pop_back();
  NodeCase empty = sized({2, 3}, {2, 6});
  empty.inputs[2] = Tensor::zeros(DType::f32, {0});
  EXPECT_EQ(refusal_of(empty), "") << "scales without an element are none";
  struct Case {
    NodeCase node;
    std::string error_part;
  };
  const Case cases[] = {
      {two, both},
      {neither, both},
      {scaled({2, 3}, {2}), "scales has 1 entries, expected 2"},
      {scaled({2, 3}, {1, 2}, {{"axes", last}}), "scales has 2 entries, expected 1"},
      {sized({2, 3}, {2}), "sizes has 1 entries, expected 2"},
      {scaled({2, 3}, {1, 2}, {{"axes", std::vector<int64_t>{1, -1}}}), "axis -1 is given twice"},
      {sized({2, 3}, {1, 2}, {{policy, std::string("larger")}}), policy + " 'larger' is unknown"},
      {scaled({2, 3}, {1, 0}), "scale 0 is not a positive number"},
      {scaled({2, 3}, {1, -2}), "scale -2 is not a positive number"},
      {scaled({2, 3}, {1, INFINITY}), "scale inf is not a positive number"},
      {scaled({2, 3}, {1, 2}, {{"mode", std::string("area")}}), "mode 'area' is unknown"},
      {scaled({2, 3}, {1, 2}, {{"nearest_mode", std::string("simple")}}),
       "nearest_mode 'simple' is unknown"},
      {scaled({2, 3}, {1, 2}, {{"coordinate_transformation_mode", std::string("other")}}),
       "coordinate_transformation_mode 'other' is unknown"},
      {scaled({2, 3}, {1, 2},
              {{"coordinate_transformation_mode", std::string("half_pixel_symmetric")}}),
       "has no coordinate_transformation_mode 'half_pixel_symmetric' in opset 18"},
  };
  for (const Case& c : cases) {
    const std::string error_text = refusal_of(c.node);
    EXPECT_NE(error_text.find(c.error_part), std::string::npos)
        << "'" << error_text << "' should say " << c.error_part;
  }
  EXPECT_EQ(refusal_of(scaled({2, 0}, {1, 2})), "") << "there is nothing to make";
  EXPECT_NE(refusal_of(sized({2, 0}, {2, 3}), ErrorCode::unimplemented)
                .find("an empty input cannot be resized"),
            std::string::npos);
}

// Points outside of the input are extrapolation_value, in every mode; those on its edge are not.
TEST(Resize, RegionsReachOutsideOfTheInput) {
  const Tensor x = Tensor::of<float>({5}, {1, 2, 3, 4, 5});
  // The points are (start + o (end - start) / 6) * 4 for o = 0 .. 6, which are -2, -0.5, 1, 2.5, 4,
  // 5.5, 7; then 0 .. 4.
  const auto values = [&](const char* mode, float start, float end, float outside) {
    return run_node({"Resize",
                     13,
                     {{"mode", std::string(mode)},
                      {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                      {"extrapolation_value", outside}},
                     {x, Tensor::of<float>({2}, {start, end}), Tensor(), ints({7})}})[0]
        .to_doubles();
  };
  EXPECT_EQ(values("nearest", -0.5f, 1.75f, 9), (std::vector<double>{9, 9, 2, 3, 5, 9, 9}));
  EXPECT_EQ(values("nearest", -0.5f, 1.75f, 0), (std::vector<double>{0, 0, 2, 3, 5, 0, 0}));
  EXPECT_EQ(values("linear", -0.5f, 1.75f, 9), (std::vector<double>{9, 9, 2, 3.5, 5, 9, 9}));
  const std::vector<double> cubic = values("cubic", -0.5f, 1.75f, 9);
  for (const size_t o : {0, 1, 5, 6}) EXPECT_EQ(cubic[o], 9) << o;
  EXPECT_NEAR(cubic[2], 2, 1e-6);
  EXPECT_NEAR(cubic[4], 5, 1e-6);
  // The region is the whole input, and its first and last positions are inside.
  EXPECT_EQ(values("nearest", 0, 1, 9), (std::vector<double>{1, 2, 2, 3, 4, 4, 5}));
  const std::vector<double> whole = values("linear", 0, 1, 9);
  for (size_t o = 0; o < 7; o++) EXPECT_NEAR(whole[o], 1 + static_cast<double>(o) * 4 / 6, 1e-6);
  // One place is the middle of the region.
  const Tensor one =
      run_node({"Resize",
                13,
                {{"mode", std::string("linear")},
                 {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
                {x, Tensor::of<float>({2}, {0.25f, 0.5f}), Tensor(), ints({1})}})[0];
  EXPECT_EQ(one.to_doubles(), (std::vector<double>{2.5}));
}

TEST(Resize, ARegionIsConstantAndOfEachAxis) {
  const auto node = [](Tensor roi, bool constant) {
    NodeCase c = sized({2, 3}, {2, 6});
    c.attributes["coordinate_transformation_mode"] = std::string("tf_crop_and_resize");
    c.inputs[1] = std::move(roi);
    if (!constant) c.runtime = {1};
    return c;
  };
  const Tensor whole = Tensor::of<float>({4}, {0, 0, 1, 1});
  EXPECT_EQ(refusal_of(node(whole, true)), "");
  EXPECT_NE(refusal_of(node(whole, false), ErrorCode::unimplemented)
                .find("the region of interest must be constant"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(node(Tensor::of<float>({2}, {0, 1}), true)).find("roi has 2 entries, expected 4"),
      std::string::npos);
}

// An unknown side stays unknown, and the others are computed.
TEST(Resize, UnknownSidesStayUnknown) {
  const auto shape_of = [](Shape x, std::vector<float> scales, std::vector<int64_t> sizes,
                           const std::string& policy) {
    return inferred(std::move(x), std::move(scales), std::move(sizes),
                    {{"axes", std::vector<int64_t>{1, 2}}, {"keep_aspect_ratio_policy", policy}});
  };
  EXPECT_EQ(shape_of({2, kUnknownDim, 3}, {2, 2}, {}, "stretch"), (Shape{2, kUnknownDim, 6}));
  EXPECT_EQ(shape_of({2, 0, 3}, {2, 2}, {}, "stretch"), (Shape{2, 0, 6}));
  EXPECT_EQ(shape_of({kUnknownDim, 4, 3}, {2, 2}, {}, "stretch"), (Shape{kUnknownDim, 8, 6}));
  EXPECT_EQ(shape_of({2, kUnknownDim, 3}, {}, {5, 6}, "stretch"), (Shape{2, 5, 6}));
  EXPECT_EQ(shape_of({2, kUnknownDim, 3}, {}, {5, 9}, "not_smaller"), (Shape{2, kUnknownDim, 9}));
  EXPECT_EQ(shape_of({2, 4, 3}, {}, {6, 9}, "not_smaller"), (Shape{2, 12, 9}));
  EXPECT_EQ(shape_of({2, 4, 3}, {}, {6, 9}, "not_larger"), (Shape{2, 6, 5}));
  EXPECT_EQ(shape_of({2, 3, 4}, {}, {9, 6}, "not_larger"), (Shape{2, 5, 6}));
}

// The rule of opset 10 for a position between two pixels.
TEST(Resize, OfOpset10TakesThePixelBeforeWhenItGrows) {
  const Tensor x = Tensor::of<float>({5}, {1, 2, 3, 4, 5});
  const auto values = [&](float scale) {
    return run_node({"Resize", 10, {}, {x, Tensor::of<float>({1}, {scale})}})[0].to_doubles();
  };
  EXPECT_EQ(values(2), (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  // Rounded up where it shrinks: at 0, 1.25, 2.5, 3.75.
  EXPECT_EQ(values(0.8f), (std::vector<double>{1, 3, 4, 5}));
  EXPECT_EQ(values(1), x.to_doubles());
}

TEST(Resize, WeightsOfDoublesAreDoubles) {
  const Tensor x = Tensor::of<double>({1, 1, 1, 3}, {1, 2, 4});
  const auto y = run_node({"Resize",
                           19,
                           {{"mode", std::string("cubic")}},
                           {x, Tensor(), Tensor::of<float>({4}, {1, 1, 1, 1.5f})}})[0]
                     .to_doubles();
  // Pixel o is at (o + 1/2) / 1.5 - 1/2; a = -3/4.
  const auto weight = [](double d) {
    constexpr double a = -0.75;
    d = std::fabs(d);
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  };
  ASSERT_EQ(y.size(), 4u);
  for (int o = 0; o < 4; o++) {
    const double at = (o + 0.5) / 1.5 - 0.5, base = std::floor(at);
    double sum = 0;
    for (int t = -1; t <= 2; t++) {
      const double i = std::clamp(base + t, 0.0, 2.0);
      sum += weight(at - base - t) * x.to_doubles()[static_cast<size_t>(i)];
    }
    EXPECT_NEAR(y[static_cast<size_t>(o)], sum, 1e-14);
  }
}

}  // namespace
}  // namespace poprt::test
