#include <cmath>
#include <limits>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// ONNX opset 28: A - floor(A / B) * B, with the sign of B.
TEST(Mod, OfFloatsHasTheSignOfTheDivisor) {
  const std::vector<float> a = {5.5f, -5.5f, 5.5f,  -5.5f, 6.0f, -6.0f,
                                0.0f, 1.0f,  -1.0f, kInf,  2.0f};
  const std::vector<float> b = {3.0f,  3.0f, -3.0f, -3.0f, -3.0f, 3.0f,
                                -2.0f, kInf, kInf,  2.0f,  0.0f};
  const std::vector<float> wanted = {2.5f,  0.5f, -0.5f, -2.5f, -0.0f, 0.0f,
                                     -0.0f, 1.0f, kInf,  NAN,   NAN};
  const auto n = static_cast<int64_t>(a.size());
  for (const bool twice : {false, true}) {  // f32 and f64 have different kernels
    const auto tensor = [&](const std::vector<float>& v) {
      const Tensor t = Tensor::of<float>({n}, std::span<const float>(v));
      if (!twice) return t;
      const std::vector<double> wide(v.begin(), v.end());
      return Tensor::of<double>({n}, std::span<const double>(wide));
    };
    const Tensor y = run_node({"Mod", 28, {}, {tensor(a), tensor(b)}})[0];
    for (size_t i = 0; i < a.size(); i++) {
      const double got = twice ? y.values<double>()[i] : y.values<float>()[i];
      if (std::isnan(wanted[i])) {
        EXPECT_TRUE(std::isnan(got)) << a[i] << " mod " << b[i];
      } else {
        EXPECT_EQ(got, wanted[i]) << a[i] << " mod " << b[i];
        EXPECT_EQ(std::signbit(got), std::signbit(wanted[i])) << a[i] << " mod " << b[i];
      }
    }
  }
}

TEST(Mod, OfFloatsNeedsFmodBeforeOpset28) {
  const Tensor x = Tensor::zeros(DType::f32, {2});
  EXPECT_THROW(infer_node({"Mod", 13, {}, {x, x}}), Error);
  EXPECT_NO_THROW(infer_node({"Mod", 13, {{"fmod", int64_t{1}}}, {x, x}}));
  EXPECT_NO_THROW(infer_node({"Mod", 28, {}, {x, x}}));
}

}  // namespace
}  // namespace poprt::test
