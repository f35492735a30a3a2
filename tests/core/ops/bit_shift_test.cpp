#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

// ONNX opset 28: amounts that are negative or not less than the width leave the bits of the sign.
TEST(BitShift, OfSignedNumbersExtendsTheSign) {
  const std::vector<int32_t> x = {-8, -8, 8, -8, -8, 8, -1};
  const std::vector<int32_t> by = {1, 31, 1, 32, -1, 99, 5};
  const auto tensor = [](const std::vector<int32_t>& v) {
    return Tensor::of<int32_t>({static_cast<int64_t>(v.size())}, std::span<const int32_t>(v));
  };
  const auto shifted = [&](const char* direction) {
    const Tensor y = run_node(
        {"BitShift", 28, {{"direction", std::string(direction)}}, {tensor(x), tensor(by)}})[0];
    return std::vector<int32_t>(y.values<int32_t>().begin(), y.values<int32_t>().end());
  };
  EXPECT_EQ(shifted("RIGHT"), (std::vector<int32_t>{-4, -1, 4, -1, -1, 0, -1}));
  EXPECT_EQ(shifted("LEFT"), (std::vector<int32_t>{-16, 0, 16, 0, 0, 0, -32}));
}

}  // namespace
}  // namespace poprt::test
