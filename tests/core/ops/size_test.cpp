#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Size, CountsElements) {
  EXPECT_EQ(run_node({"Size", 13, {}, {Tensor::zeros(DType::f16, {2, 3})}})[0].to_int64s(),
            (std::vector<int64_t>{6}));
  EXPECT_EQ(run_node({"Size", 13, {}, {Tensor::zeros(DType::f16, {})}})[0].to_int64s(),
            (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace poprt::test
