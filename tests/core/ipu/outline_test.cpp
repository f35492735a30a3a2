#include "ipu/outline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ipu/memory.h"

namespace poprt::ipu {
namespace {

constexpr int64_t kShare = 800;  // bytes of each tensor on each tile

size_t add_tensor(ChipProgram& p, TensorKind kind) {
  ChipTensor t;
  t.name = "t" + std::to_string(p.tensors.size());
  t.kind = kind;
  t.share = kShare;
  t.tiles = 1472;
  t.bytes = t.share * t.tiles;
  p.tensors.push_back(t);
  return p.tensors.size() - 1;
}

void add_op(ChipProgram& p, const char* type, size_t same_as, size_t steps,
            std::vector<size_t> inputs, size_t output) {
  ChipOp op;
  op.type = type;
  op.name = std::string(type) + std::to_string(p.ops.size());
  op.same_as = same_as;
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.cost.steps.resize(steps);
  p.ops.push_back(op);
}

// Layers of a product with a weight, which has three supersteps, and an elementwise operation.
ChipProgram layers(size_t count) {
  ChipProgram p;
  size_t x = add_tensor(p, TensorKind::input);
  for (size_t i = 0; i < count; i++) {
    const size_t weight = add_tensor(p, TensorKind::weight);
    const size_t y = add_tensor(p, TensorKind::activation);
    const size_t z = add_tensor(p, i + 1 == count ? TensorKind::output : TensorKind::activation);
    add_op(p, "MatMul", i ? 0 : SIZE_MAX, 3, {x, weight}, y);
    add_op(p, "Relu", i ? 1 : SIZE_MAX, 1, {y}, z);
    x = z;
  }
  return p;
}

std::vector<std::string> types(const ChipProgram& p) {
  std::vector<std::string> all;
  for (const ChipOp& op : p.ops) all.push_back(op.type);
  return all;
}

const std::vector<std::string> kThreeCalls = {"Call", "MatMul", "Relu",   "Call", "MatMul",
                                              "Relu", "Call",   "MatMul", "Relu"};

TEST(Outline, EqualLayersBecomeCallsOfOneProgram) {
  ChipProgram p = layers(3);
  outline(p, target_of("c600"), {});
  EXPECT_EQ(types(p), kThreeCalls);
  EXPECT_EQ(p.ops[1].same_as, SIZE_MAX);
  EXPECT_EQ(p.ops[4].same_as, 1u);
  EXPECT_EQ(p.ops[5].same_as, 2u);
}

TEST(Outline, ACallCopiesItsArgumentsAndResults) {
  ChipProgram p = layers(3);
  outline(p, target_of("c600"), {});
  ASSERT_EQ(types(p), kThreeCalls);
  ASSERT_EQ(p.ops[3].cost.steps.size(), 1u);
  // An activation and a weight at 8 bytes in a cycle, and 90 cycles to begin.
  EXPECT_EQ(p.ops[3].cost.steps[0].what, "copy of arguments");
  EXPECT_EQ(p.ops[3].cost.steps[0].compute, 90 + 2 * kShare / 8);
  ASSERT_EQ(p.ops[5].cost.steps.size(), 2u);
  EXPECT_EQ(p.ops[5].cost.steps[1].what, "copy of results");
  EXPECT_EQ(p.ops[5].cost.steps[1].compute, 90 + kShare / 8);
  // The operations read the copies.
  EXPECT_EQ(p.ops[4].inputs, p.ops[3].outputs);
  EXPECT_EQ(p.tensors[p.ops[4].inputs[1]].kind, TensorKind::activation);
}

// The product reads 2 * 800 * 1472 bytes, and 3 such tensors of half the size cross the boundary.
TEST(Outline, TheThresholdActsByItsSize) {
  const double root = std::sqrt(800.0 * 1472);
  const double value = 1000 * std::sqrt(2.0) * root + 0.1 * root - 3 * root;
  const auto calls = [&](double threshold) {
    ChipProgram p = layers(3);
    ChipOptions o;
    o.outline_threshold = threshold;
    outline(p, target_of("c600"), o);
    return std::ranges::count(types(p), "Call");
  };
  EXPECT_EQ(calls(1), 3);
  EXPECT_EQ(calls(value - 1), 3);
  EXPECT_EQ(calls(value + 1), 0);
  EXPECT_EQ(calls(-1), 0);
}

TEST(Outline, ElementwiseOperationsAreNotWorthACall) {
  ChipProgram p;
  size_t x = add_tensor(p, TensorKind::input);
  for (size_t i = 0; i < 4; i++) {
    const size_t y = add_tensor(p, i == 3 ? TensorKind::output : TensorKind::activation);
    add_op(p, "Relu", i ? 0 : SIZE_MAX, 1, {x}, y);
    x = y;
  }
  outline(p, target_of("c600"), {});
  EXPECT_EQ(types(p), (std::vector<std::string>{"Relu", "Relu", "Relu", "Relu"}));
  for (const ChipOp& op : p.ops) EXPECT_EQ(op.same_as, SIZE_MAX);
}

// A product and a Relu at the beginning and at the end, and between them `between` equal products,
// each of which another operation follows. Returns whether the last Relu shares the first one's
// program.
bool finds_the_first_pair(size_t between) {
  ChipProgram p;
  size_t x = add_tensor(p, TensorKind::input);
  const auto add_pair = [&](const char* second, size_t same_as) {
    const size_t weight = add_tensor(p, TensorKind::weight);
    const size_t y = add_tensor(p, TensorKind::activation);
    const size_t z = add_tensor(p, TensorKind::activation);
    add_op(p, "MatMul", p.ops.empty() ? SIZE_MAX : 0, 3, {x, weight}, y);
    add_op(p, second, same_as, 1, {y}, z);
    x = z;
  };
  add_pair("Relu", SIZE_MAX);
  for (size_t i = 0; i < between; i++) add_pair("Softmax", SIZE_MAX);
  add_pair("Relu", 1);
  p.tensors[x].kind = TensorKind::output;
  outline(p, target_of("c600"), {});
  return p.ops.back().same_as != SIZE_MAX;
}

TEST(Outline, TheLast64EqualOperationsAreCompared) {
  EXPECT_TRUE(finds_the_first_pair(63));
  EXPECT_FALSE(finds_the_first_pair(64));
}

TEST(Outline, OperationsOfDifferentIpusShareNoProgram) {
  ChipProgram p = layers(2);
  p.ops[2].ipu = p.ops[3].ipu = 1;
  ChipOptions o;
  o.num_ipus = 2;
  outline(p, target_of("c600"), o);
  EXPECT_EQ(p.ops.size(), 4u);
  EXPECT_EQ(p.ops[2].same_as, SIZE_MAX);
}

TEST(Outline, SavesCodeAndCostsMemoryOfArguments) {
  const auto category = [](double threshold, Category c) {
    ChipProgram p = layers(40);
    ChipOptions o;
    o.outline_threshold = threshold;
    outline(p, target_of("c600"), o);
    for (size_t t = 0; t < p.tensors.size(); t++) p.tensors[t].first = p.tensors[t].last = 0;
    return memory_of(p, target_of("c600"), o)[0].by_category[static_cast<size_t>(c)];
  };
  EXPECT_LT(category(1, Category::code), category(-1, Category::code));
  EXPECT_GT(category(1, Category::activations), category(-1, Category::activations));
}

}  // namespace
}  // namespace poprt::ipu
