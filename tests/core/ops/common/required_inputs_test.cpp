#include "ops/common/required_inputs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

std::unique_ptr<test::NodeGraph> node(const std::string& op, int64_t opset,
                                      std::vector<Tensor> inputs) {
  return test::build_node({.op = op, .opset = opset, .inputs = std::move(inputs)});
}

TEST(RequiredInputs, MatchTheOpset) {
  const Tensor x = Tensor::zeros(DType::f32, {2});
  EXPECT_NO_THROW(check_required_inputs(*node("Slice", 9, {x})->node));
  EXPECT_THROW(check_required_inputs(*node("Slice", 10, {x})->node), Error);
  EXPECT_THROW(check_required_inputs(*node("Add", 13, {x, Tensor()})->node), Error);
}

TEST(SurplusInputs, AreRefusedByOpset) {
  const Tensor x = Tensor::zeros(DType::f32, {2}), sizes = test::ints({1, 1});
  EXPECT_NO_THROW(check_surplus_inputs(*node("Split", 13, {x, sizes})->node));
  EXPECT_THROW(check_surplus_inputs(*node("Split", 11, {x, sizes})->node), Error);
  EXPECT_THROW(check_surplus_inputs(*node("Relu", 14, {x, x})->node), Error);
}

TEST(SurplusInputs, AListHasNoHoles) {
  const Tensor x = Tensor::zeros(DType::f32, {2});
  EXPECT_NO_THROW(check_surplus_inputs(*node("Concat", 13, {x, x, x, x, x})->node));
  EXPECT_THROW(check_surplus_inputs(*node("Concat", 13, {x, Tensor(), x})->node), Error);
}

}  // namespace
}  // namespace poprt::ops
