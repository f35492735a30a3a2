// Compares poprt.QuantizeRows with the numbers that its bytes represent.
#include <cmath>
#include <cstring>

#include "core/ops/run_node.h"
#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(QuantizeRows) {
  samples.add("QuantizeRows", 1, "poprt")
      .input(Tensor::of<float>({2, 3}, {-127, 64, 1, 0, 0, 0}))
      .shape({2, 7})
      .dtype(DType::s8)
      .reference([](const SampleValues&) {
        // The scales are the bytes of the numbers 1 and 0 as f32, least significant byte first.
        return SampleValues{{-127, 64, 1, 0, 0, -128, 63, 0, 0, 0, 0, 0, 0, 0}};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled

namespace poprt::test {
namespace {

TEST(QuantizeRowsOp, RefusesTypesWithoutRows) {
  const auto of = [](DType type, Shape shape) {
    return NodeCase{.op = "QuantizeRows",
                    .inputs = {random_bytes(type, std::move(shape))},
                    .runtime = {0},
                    .domain = "poprt"};
  };
  EXPECT_NO_THROW(run_node(of(DType::f32, {2, 3})));
  EXPECT_NO_THROW(run_node(of(DType::f16, {2, 3})));
  EXPECT_THROW(run_node(of(DType::f64, {2, 3})), Error);
  EXPECT_THROW(run_node(of(DType::s32, {2, 3})), Error);
  EXPECT_THROW(run_node(of(DType::f32, {})), Error);
}

}  // namespace
}  // namespace poprt::test
