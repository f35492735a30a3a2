#include "program/shared_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "program/fill_form.h"
#include "program/serialize.h"

namespace poprt::program {
namespace {

Tensor floats_of(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
}

// Copies each weight to an output of its size, in this order.
struct Copies {
  Builder builder;
  void add(const Tensor& value, const char* output) {
    const uint64_t bytes = value.bytes();
    const BufferId operands[] = {
        builder.weights(bytes, DType::f32, value.shape(), WeightForm::plain(value)),
        builder.output(builder.add_output({output, DType::f32, value.shape()}), 0, bytes,
                       DType::f32, value.shape())};
    builder.emit("copy", operands, {}, {}, output);
  }
};

TEST(SharedWeights, EqualWeightsBecomeAnInput) {
  const Tensor a = floats_of({1, 2, 3}), b = floats_of(std::vector<float>(40, 5)),
               c = floats_of({7, 8});
  Copies first, second;
  first.add(a, "a");
  first.add(b, "b");
  second.add(c, "c");
  second.add(floats_of(std::vector<float>(40, 5)), "b");  // equal bytes at another place
  WeightTable table;
  EXPECT_TRUE(table.empty());
  table.assign(first.builder.program(), first.builder.weight_records());
  EXPECT_EQ(table.bytes(), first.builder.program().weights_bytes);

  Program& p = second.builder.program();
  std::vector<Weight>& weights = second.builder.weight_records();
  share_weights(p, weights, table);
  verify(p);
  ASSERT_EQ(p.inputs.size(), 1u);
  EXPECT_EQ(p.inputs[0].name, kSharedWeights);
  EXPECT_EQ(p.inputs[0].bytes(), table.bytes());
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(p.weights_bytes, kAlignment);
  const Buffer& shared = p.buffers[p.main[1].operands[0]];
  EXPECT_EQ(shared.space, Space::input);
  EXPECT_EQ(shared.index, 0u);
  // The value of the input is the first program's weights.
  const LoadedProgram loaded =
      load_in_memory(first.builder.program(), first.builder.weight_records());
  float value = 0;
  std::memcpy(&value, loaded.weights.data() + shared.offset, sizeof value);
  EXPECT_EQ(value, 5);
  const LoadedProgram own = load_in_memory(p, weights);
  std::memcpy(&value, own.weights.data() + p.buffers[p.main[0].operands[0]].offset, sizeof value);
  EXPECT_EQ(value, 7);
}

TEST(SharedWeights, KeepsTheProgramIfNoWeightsAreEqual) {
  Copies first, second;
  first.add(floats_of({1, 2, 3}), "a");
  second.add(floats_of({1, 2, 4}), "a");
  second.add(floats_of({1, 2}), "b");
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  Program& p = second.builder.program();
  const std::string before = to_string(p);
  share_weights(p, second.builder.weight_records(), table);
  EXPECT_EQ(to_string(p), before);
  EXPECT_EQ(second.builder.weight_records().size(), 2u);
  EXPECT_EQ(second.builder.weight_records()[1].offset, kAlignment);
}

// Some buffers are parts of a weight. Small weights follow large ones, so that no record ends
// before it begins.
TEST(SharedWeights, PartsOfWeightsAreFoundAtTheirNewPlaces) {
  const Tensor large = floats_of(std::vector<float>(40, 5)), small = floats_of({7, 8, 9});
  Copies first, second;
  first.add(floats_of({1, 2, 3}), "a");
  first.add(small, "b");
  second.add(large, "a");
  second.add(small, "b");
  second.add(floats_of({4, 5, 6}), "c");
  Program& p = second.builder.program();
  std::vector<BufferId> parts;
  for (const size_t at : {1, 2}) {
    Buffer part = p.buffers[p.main[at].operands[0]];
    part.offset += 4;
    part.bytes = 8;
    part.shape = {2};
    p.buffers.push_back(part);
    parts.push_back(static_cast<BufferId>(p.buffers.size() - 1));
  }
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  share_weights(p, second.builder.weight_records(), table);
  const LoadedProgram given =
      load_in_memory(first.builder.program(), first.builder.weight_records());
  const LoadedProgram own = load_in_memory(p, second.builder.weight_records());
  const auto number = [&](BufferId id) {
    const Buffer& b = p.buffers[id];
    float value = 0;
    std::memcpy(&value, (b.space == Space::input ? given : own).weights.data() + b.offset,
                sizeof value);
    return value;
  };
  EXPECT_EQ(p.buffers[parts[0]].space, Space::input);
  EXPECT_EQ(number(parts[0]), 8);
  EXPECT_EQ(p.buffers[parts[1]].space, Space::weights);
  EXPECT_EQ(number(parts[1]), 5);
  EXPECT_EQ(number(p.main[0].operands[0]), 5);
  EXPECT_EQ(number(p.main[2].operands[0]), 4);
}

TEST(SharedWeights, RecordsWithGapsKeepTheirOffsetsIfNoneIsShared) {
  Copies first, second;
  first.add(floats_of({1, 2, 3}), "a");
  second.add(floats_of({1, 2, 4}), "a");
  second.add(floats_of({1, 2}), "b");
  std::vector<Weight>& weights = second.builder.weight_records();
  weights[0].offset = kAlignment;
  weights[1].offset = 5 * kAlignment;
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  share_weights(second.builder.program(), weights, table);
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(weights[0].offset, kAlignment);
  EXPECT_EQ(weights[1].offset, 5 * kAlignment);
}

// An empty record begins where the next one does. Long lists are not sorted stably.
TEST(SharedWeights, EmptyRecordsContainNoBytes) {
  Copies first, second;
  first.add(floats_of({0, 1}), "a");
  std::vector<BufferId> buffers;
  for (int i = 0; i < 40; i++) {
    second.add(floats_of({static_cast<float>(i), 1}), "a");
    buffers.push_back(second.builder.program().main.back().operands[0]);
    second.builder.weights(0, DType::f32, {0}, WeightForm::plain(floats_of({})));
    second.builder.weights(0, DType::f32, {0}, [](std::span<std::byte>) {});
  }
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  Program& p = second.builder.program();
  std::vector<Weight>& weights = second.builder.weight_records();
  std::ranges::reverse(weights);
  share_weights(p, weights, table);
  verify(p);
  EXPECT_EQ(p.buffers[buffers[0]].space, Space::input);
  const LoadedProgram loaded = load_in_memory(p, weights);
  for (int i = 1; i < 40; i++) {
    float value = 0;
    std::memcpy(&value, loaded.weights.data() + p.buffers[buffers[static_cast<size_t>(i)]].offset,
                sizeof value);
    EXPECT_EQ(value, static_cast<float>(i));
  }
}

TEST(SharedWeights, ATableForgetsTheProgramBefore) {
  Copies first, second;
  first.add(floats_of({1, 2, 3}), "a");
  second.add(floats_of({4, 5}), "a");
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  table.assign(second.builder.program(), second.builder.weight_records());
  const WeightForm *before = form_of(first.builder.weight_records()[0]),
                   *now = form_of(second.builder.weight_records()[0]);
  EXPECT_EQ(table.find(*before, 12), std::nullopt);
  EXPECT_EQ(table.find(*now, 8), 0u);
}

TEST(SharedWeights, WeightsThatHaveNoFormStay) {
  Copies first;
  first.add(floats_of({1, 2, 3}), "a");
  WeightTable table;
  table.assign(first.builder.program(), first.builder.weight_records());
  ASSERT_NE(form_of(first.builder.weight_records()[0]), nullptr);
  Builder b;
  const Shape shape{3};
  const BufferId operands[] = {
      b.weights(12, DType::f32, shape,
                [](std::span<std::byte> to) { std::ranges::fill(to, std::byte{}); }),
      b.output(b.add_output({"a", DType::f32, shape}), 0, 12, DType::f32, shape)};
  b.emit("copy", operands, {}, {}, "a");
  EXPECT_EQ(form_of(b.weight_records()[0]), nullptr);
  share_weights(b.program(), b.weight_records(), table);
  EXPECT_TRUE(b.program().inputs.empty());
}

}  // namespace
}  // namespace poprt::program
