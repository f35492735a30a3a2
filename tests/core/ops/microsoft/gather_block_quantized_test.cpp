#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

// Rows of bytes with the zero point 128, and one scale for each row.
Tensor gathered(const Tensor& data, const Tensor& scales, int64_t block_size) {
  return run_node({.op = "GatherBlockQuantized",
                   .attributes = {{"bits", int64_t{8}}, {"block_size", block_size}},
                   .inputs = {data, ints({2, 0, 2}), scales},
                   .domain = "com.microsoft"})[0];
}

TEST(GatherBlockQuantized, ABlockSizeOfZeroIsOneBlockForTheAxis) {
  const Tensor data = random_bytes(DType::u8, {3, 40}, 5);
  const Tensor scales = Tensor::of<float>({3, 1}, {0.5f, 2, -3});
  const Tensor y = gathered(data, scales, 0);
  ASSERT_EQ(y.shape(), (Shape{3, 40}));
  const std::vector<double> codes = data.to_doubles(), factors = scales.to_doubles();
  std::vector<double> expected;
  for (const size_t row : {2, 0, 2})
    for (size_t k = 0; k < 40; k++) expected.push_back((codes[row * 40 + k] - 128) * factors[row]);
  EXPECT_EQ(y.to_doubles(), expected);
}

TEST(GatherBlockQuantized, AnAxisWithoutPlacesHasNoBlocks) {
  const Tensor none = Tensor::zeros(DType::u8, {3, 0}), scales = Tensor::zeros(DType::f32, {3, 0});
  EXPECT_EQ(gathered(none, scales, 0).shape(), (Shape{3, 0}));
}

}  // namespace
}  // namespace poprt::test
