// Kernel `tree_ensemble` on hostile nodes: it reads nothing outside its operands, and it ends.
// tests/core/ops/common/tree_words_test.cpp tests the numbers.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/kernels/run_call.h"
#include "kernels/calls/tree_ensemble.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

struct Program {
  int64_t rows = 3, features = 4, nodes = 6, trees = 9, keys = 3, leaves = 2, weights = 4,
          columns = 2;
  bool x_double = false, equals = false, leaves_are_weights = false;
  int64_t groups = 0;
};

Plan prepare(const Program& p, const std::vector<Operand>& operands) {
  const calls::Encoded call =
      calls::encode(calls::TreeEnsemble{.rows = p.rows,
                                        .features = p.features,
                                        .nodes = p.nodes,
                                        .trees = p.trees,
                                        .keys = p.keys,
                                        .leaves = p.leaves,
                                        .weights = p.weights,
                                        .columns = p.columns,
                                        .depth = p.nodes,
                                        .equals = p.equals,
                                        .leaves_are_weights = p.leaves_are_weights,
                                        .groups = p.groups});
  return find_kernel("tree_ensemble")->prepare({operands, call.ints, {}});
}

Plan prepare(const Program& p, std::vector<Shape>& shapes, std::vector<Operand>& operands) {
  const int64_t words = p.x_double ? 4 : 3;
  const DType x = p.x_double ? DType::f64 : DType::f32;
  shapes = {{p.rows, p.features}, {p.nodes, words},    {p.trees},   {p.keys},
            {p.leaves, 2},        {p.weights},         {p.weights}, {p.columns},
            {p.columns},          {p.rows, p.columns}, {p.rows}};
  if (p.groups) shapes[2] = {p.groups, 2};
  const DType types[] = {x,          DType::s32, DType::s32, DType::s32, DType::s32, DType::s32,
                         DType::f64, DType::f64, DType::s64, DType::f32, DType::s64};
  operands.clear();
  for (size_t i = 0; i < shapes.size(); i++)
    operands.push_back(
        {i != 7, types[i], shapes[i], dtype_bytes(types[i], element_count(shapes[i]))});
  return prepare(p, operands);
}

TEST(TreeEnsembleKernel, DamagedTreesAreMemorySafeAndEnd) {
  std::mt19937 rng(1);
  for (int round = 0; round < 4000; round++) {
    const Program p{.rows = 1 + static_cast<int64_t>(rng() % 18),
                    .trees = 1 + static_cast<int64_t>(rng() % 11),
                    .x_double = (rng() & 1) != 0,
                    .equals = (rng() & 1) != 0,
                    .leaves_are_weights = (rng() & 1) != 0,
                    .groups = rng() & 1 ? 1 + static_cast<int64_t>(rng() % 40) : 0};
    std::vector<Shape> shapes;
    std::vector<Operand> operands;
    const Plan plan = prepare(p, shapes, operands);
    // Operands of exactly their size, so that asan sees a step outside.
    std::vector<std::vector<uint64_t>> memory;
    std::vector<void*> data;
    const uint32_t range = round % 4 == 0 ? 0xffffffff : round % 4 == 1 ? 24 : 7;
    for (const Operand& o : operands) {
      std::vector<uint64_t>& m = memory.emplace_back((o.bytes + 7) / 8);
      auto* words = reinterpret_cast<int32_t*>(m.data());
      for (size_t i = 0; i < m.size() * 2; i++)
        words[i] = static_cast<int32_t>(rng() % range) - (rng() % 8 == 0 ? 1 : 0);
      data.push_back(o.present ? m.data() : nullptr);
    }
    std::vector<std::byte> scratch(plan.scratch_bytes);
    plan.run(plan.params.get(), data.data(), 0, plan.tasks, scratch.data());
  }
}

// Trees whose roots are far after the last node.
TEST(TreeEnsembleKernel, AnEnsembleWithoutNodesAddsNothing) {
  for (const int64_t rows : {1, 3, 9})
    for (const bool x_double : {false, true}) {
      const calls::TreeEnsemble call = {.rows = rows,
                                        .features = 2,
                                        .nodes = 0,
                                        .trees = 9,
                                        .keys = 1,
                                        .leaves = 0,
                                        .weights = 0,
                                        .columns = 3,
                                        .depth = 0};
      std::mt19937 rng(2);
      const DType x = x_double ? DType::f64 : DType::f32;
      std::vector<Tensor> o(11);
      o[0] = test::random_numbers(x, {rows, 2}, rng);
      o[1] = Tensor::zeros(DType::s32, {0, x_double ? 4 : 3});
      o[2] = Tensor::zeros(DType::s32, {9});
      for (int32_t& root : o[2].mutable_values<int32_t>()) root = 1 << 28;
      o[3] = Tensor::zeros(DType::s32, {1});
      o[4] = Tensor::zeros(DType::s32, {0, 2});
      o[5] = Tensor::zeros(DType::s32, {0});
      o[6] = Tensor::zeros(DType::f64, {0});
      o[9] = test::random_numbers(DType::f32, {rows, 3}, rng);
      test::run_call(call, o);
      for (const double y : o[9].to_doubles()) EXPECT_EQ(y, 0) << rows;
    }
}

TEST(TreeEnsembleKernel, RefusesOperandsThatAreTooSmall) {
  const Program p;
  std::vector<Shape> shapes;
  std::vector<Operand> operands;
  prepare(p, shapes, operands);
  for (size_t i = 0; i < operands.size(); i++) {
    if (i == 7) continue;
    std::vector<Operand> same = operands;
    same[i].bytes -= 1;
    EXPECT_THROW(prepare(p, same), Error) << i;
  }
}

}  // namespace
}  // namespace poprt::kernels
