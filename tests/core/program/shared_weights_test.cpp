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

TEST(SharedWeights, NothingChangesIfNoWeightIsEqual) {
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
