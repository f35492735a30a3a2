#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

constexpr int64_t kF8e8m0 = 24;  // of TensorProto.DataType

// The code of 2^n is n + 127.
std::vector<int> codes_of(const Tensor& x, const char* mode) {
  const Attributes attributes = {{"to", kF8e8m0}, {"round_mode", std::string(mode)}};
  const Tensor y = run_node({"Cast", 24, attributes, {x}})[0];
  const auto* bytes = static_cast<const uint8_t*>(y.data());
  return {bytes, bytes + y.count()};
}

// ONNX Runtime rounds an f64 and an integer to the nearest f32 first.
TEST(Cast, ToPowersOfTwoRoundsTheNearestFloat) {
  const double tiny = 0x1p-40;
  const Tensor doubles = Tensor::of<double>({4}, {1 + tiny, 1 + 0x1p-20, 4 - tiny, 3});
  EXPECT_EQ(codes_of(doubles, "up"), (std::vector<int>{127, 128, 129, 129}));
  EXPECT_EQ(codes_of(doubles, "down"), (std::vector<int>{127, 127, 129, 128}));
  EXPECT_EQ(codes_of(doubles, "nearest"), (std::vector<int>{127, 127, 129, 129}));
  const Tensor integers = Tensor::of<int64_t>({2}, {(int64_t{1} << 40) + 1, 5});
  EXPECT_EQ(codes_of(integers, "up"), (std::vector<int>{167, 130}));
  EXPECT_EQ(codes_of(integers, "down"), (std::vector<int>{167, 129}));
}

}  // namespace
}  // namespace poprt::test
