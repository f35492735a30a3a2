#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Concat, EveryAxisAndSize) {
  for (const DType dtype : kSizes)
    for (int64_t axis = -3; axis < 3; axis++) {
      const auto a = static_cast<size_t>((axis + 3) % 3);
      std::vector<Tensor> parts;
      Shape starts;
      int64_t total = 0;
      for (const int64_t n : {2, 0, 3}) {
        Shape shape = {2, 3, 4};
        shape[a] = n;
        starts.push_back(total);
        total += n;
        parts.push_back(random_bytes(dtype, shape, static_cast<uint32_t>(n)));
      }
      const Tensor y = run_node({"Concat", 13, {{"axis", axis}}, parts})[0];
      ASSERT_EQ(y.shape()[a], total);
      for (size_t p = 0; p < parts.size(); p++) {
        const Tensor part = run_node(
            {"Slice",
             13,
             {},
             {y, ints({starts[p]}), ints({starts[p] + parts[p].shape()[a]}), ints({axis})}})[0];
        EXPECT_TRUE(part.same_as(parts[p]));
      }
    }
}

TEST(Concat, RefusesOtherDimensionsThatDiffer) {
  EXPECT_THROW(infer_node({"Concat",
                           13,
                           {{"axis", int64_t{0}}},
                           {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::f32, {2, 4})}}),
               Error);
  EXPECT_THROW(infer_node({"Concat",
                           13,
                           {{"axis", int64_t{0}}},
                           {Tensor::zeros(DType::f32, {2}), Tensor::zeros(DType::f16, {2})}}),
               Error);
}

}  // namespace
}  // namespace poprt::test
