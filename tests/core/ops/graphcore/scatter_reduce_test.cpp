#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(ScatterReduce, TheExtremeOfInfinityIsInfinity) {
  for (const bool max : {true, false}) {
    const float x = max ? -INFINITY : INFINITY;
    const Tensor y = run_node(
        {.op = "ScatterReduce",
         .attributes = {{"axis_size", int64_t{2}}, {"reduction", std::string(max ? "max" : "min")}},
         .inputs = {Tensor::of<float>({1}, {x}), ints({1})},
         .runtime = {0, 1},
         .domain = "ai.graphcore"})[0];
    EXPECT_TRUE(y.same_as(Tensor::of<float>({2}, {0, x})));
  }
}

}  // namespace
}  // namespace poprt::test
