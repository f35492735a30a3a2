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

}  // namespace
}  // namespace poprt::test
