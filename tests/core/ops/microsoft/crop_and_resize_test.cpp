#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

NodeCase crop(const char* mode, std::vector<float> rois, std::vector<int32_t> images) {
  const auto count = static_cast<int64_t>(images.size());
  return {.op = "CropAndResize",
          .attributes = {{"mode", std::string(mode)}, {"extrapolation_value", 9.0f}},
          .inputs = {random_floats({2, 3, 5, 7}),
                     Tensor::of<float>({count, 4}, std::span<const float>(rois)),
                     Tensor::of<int32_t>({count}, std::span<const int32_t>(images)),
                     Tensor::of<int32_t>({2}, {3, 4})},
          .runtime = {0, 1, 2},
          .domain = "com.microsoft"};
}

// The definition, in double: corners are parts of height - 1 and width - 1.
double sampled(const NodeCase& c, int64_t r, int64_t channel, int64_t i, int64_t j) {
  const auto rois = c.inputs[1].to_doubles(), x = c.inputs[0].to_doubles();
  const int64_t image = c.inputs[2].to_int64s()[static_cast<size_t>(r)];
  const auto roi = [&](int64_t k) { return rois[static_cast<size_t>(r * 4 + k)]; };
  const double y = (roi(0) + (roi(2) - roi(0)) * static_cast<double>(i) / 2) * 4;
  const double z = (roi(1) + (roi(3) - roi(1)) * static_cast<double>(j) / 3) * 6;
  if (image < 0 || image > 1 || y < 0 || y > 4 || z < 0 || z > 6) return 9;
  const auto at = [&](double row, double column) {
    const auto a = std::min<int64_t>(static_cast<int64_t>(row), 4);
    const auto b = std::min<int64_t>(static_cast<int64_t>(column), 6);
    return x[static_cast<size_t>(((image * 3 + channel) * 5 + a) * 7 + b)];
  };
  if (std::get<std::string>(c.attributes.at("mode")) == "nearest")
    return at(std::floor(y + 0.5), std::floor(z + 0.5));
  const double fy = y - std::floor(y), fz = z - std::floor(z);
  return (at(y, z) * (1 - fz) + at(y, z + 1) * fz) * (1 - fy) +
         (at(y + 1, z) * (1 - fz) + at(y + 1, z + 1) * fz) * fy;
}

TEST(CropAndResize, SamplesInsideAndGivesAValueOutside) {
  for (const char* mode : {"bilinear", "nearest"}) {
    const NodeCase c = crop(
        mode, {0,     0,    1,    1,    0.1f, 0.2f, 0.83f, 0.71f, 0.9f, 1, 0.05f, 0,  // reversed
               -0.3f, 0.3f, 0.6f, 1.7f, 0,    0,    1,     1},
        {0, 1, 1, 0, 2});
    const Tensor y = run_node(c)[0];
    ASSERT_EQ(y.shape(), (Shape{5, 3, 3, 4}));
    const auto got = y.to_doubles();
    for (int64_t i = 0; i < y.count(); i++) {
      const auto at = unravel(i, y.shape());
      ASSERT_NEAR(got[static_cast<size_t>(i)], sampled(c, at[0], at[1], at[2], at[3]), 1e-5)
          << mode << " element " << i;
    }
  }
}

TEST(CropAndResize, ARegionThatEndsAtOneEndsAtTheLastPoint) {
  for (const char* mode : {"bilinear", "nearest"})
    for (const float low : {-0.1f, 0.1f, 1.0f / 3, 0.7f, 1.1f}) {
      const NodeCase c = crop(mode, {0, low, 1, 1, 1, 1, 0, low}, {0, 1});
      const Tensor y = run_node(c)[0];
      const auto x = c.inputs[0].to_doubles();
      for (int64_t channel = 0; channel < 3; channel++) {
        EXPECT_EQ(y.to_doubles()[static_cast<size_t>(channel * 12 + 3)],
                  x[static_cast<size_t>(channel * 35 + 6)])
            << mode << low;
        EXPECT_EQ(y.to_doubles()[static_cast<size_t>((3 + channel) * 12)],
                  x[static_cast<size_t>((3 + channel) * 35 + 34)])
            << mode << low;
      }
    }
}

TEST(CropAndResize, PointsOnTheGridDoNotReadTheirNeighbours) {
  NodeCase c = crop("bilinear", {0, 0, 1, 1}, {0});
  c.inputs[3] = Tensor::of<int32_t>({2}, {5, 7});
  const auto x = c.inputs[0].mutable_values<float>();
  for (size_t i = 0; i < x.size(); i += 3)
    x[i] = i % 2 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  for (const char* mode : {"bilinear", "nearest"}) {
    c.attributes["mode"] = std::string(mode);
    const auto got = run_node(c)[0].to_doubles(), want = c.inputs[0].to_doubles();
    for (size_t i = 0; i < got.size(); i++)
      ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << mode << " element " << i << " is " << got[i];
  }
}

}  // namespace
}  // namespace poprt::test
