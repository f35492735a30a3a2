#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Upsample, RepeatsOrInterpolates) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {1, 3});
  EXPECT_EQ(
      run_node({"Upsample", 7, {{"scales", std::vector<float>{1, 1, 1, 2}}}, {x}})[0].to_doubles(),
      (std::vector<double>{1, 1, 3, 3}));
  EXPECT_EQ(run_node({"Upsample",
                      9,
                      {{"mode", std::string("linear")}},
                      {x, Tensor::of<float>({4}, {1, 1, 1, 2})}})[0]
                .to_doubles(),
            (std::vector<double>{1, 2, 3, 3}));
  EXPECT_THROW(infer_node({"Upsample", 9, {}, {x, Tensor::of<float>({4}, {1, 1, 1, 0.5f})}}),
               Error);
}

TEST(Upsample, TakesTheFormOfOpset1AndEndsWithOpset9) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 2}, {1, 3});
  EXPECT_EQ(run_node({"Upsample", 1, {{"height_scale", 2.0f}, {"width_scale", 2.0f}}, {x}})[0]
                .to_doubles(),
            (std::vector<double>{1, 1, 3, 3, 1, 1, 3, 3}));
  EXPECT_THROW(infer_node({"Upsample", 10, {}, {x, Tensor::of<float>({4}, {1, 1, 1, 2})}}), Error);
}

}  // namespace
}  // namespace poprt::test
