#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

constexpr int64_t kBatch = 2, kTokens = 3, kHeads = 2, kWidth = 16, kPlaces = 32;

Tensor angles(uint32_t seed) { return random_floats({kPlaces, kWidth / 2}, seed); }

// The attention of a prompt, or of tokens after `past` others, with positions as input 9.
NodeCase attention(const Tensor& ids, int64_t past) {
  const Shape heads{kBatch, kTokens, kHeads * kWidth}, cache{kBatch, kHeads, past, kWidth};
  const auto total = static_cast<int32_t>(past + kTokens);
  return {
      .op = "GroupQueryAttention",
      .attributes = {{"num_heads", kHeads}, {"kv_num_heads", kHeads}, {"do_rotary", int64_t{1}}},
      .inputs = {random_floats(heads, 1), random_floats(heads, 2), random_floats(heads, 3),
                 random_floats(cache, 4), random_floats(cache, 5),
                 Tensor::of<int32_t>({kBatch}, {total - 1, total - 1}),
                 Tensor::of<int32_t>({}, {total}), angles(6), angles(7), ids},
      .outputs = 3,
      .runtime = {0, 1, 2, 9},
      .domain = "com.microsoft"};
}

// The new keys of that attention: its keys, rotated by their positions.
std::vector<double> new_keys(const NodeCase& c, const Tensor& positions, int64_t past) {
  const Tensor rotated = run_node({.op = "RotaryEmbedding",
                                   .attributes = {{"num_heads", kHeads}},
                                   .inputs = {c.inputs[1], positions, angles(6), angles(7)},
                                   .domain = "com.microsoft"})[0];
  const std::vector<double> y = rotated.to_doubles(), before = c.inputs[3].to_doubles();
  std::vector<double> keys;
  for (int64_t b = 0; b < kBatch; b++)
    for (int64_t h = 0; h < kHeads; h++) {
      for (int64_t i = 0; i < past * kWidth; i++)
        keys.push_back(before[static_cast<size_t>((b * kHeads + h) * past * kWidth + i)]);
      for (int64_t t = 0; t < kTokens; t++)
        for (int64_t i = 0; i < kWidth; i++)
          keys.push_back(y[static_cast<size_t>(((b * kTokens + t) * kHeads + h) * kWidth + i)]);
    }
  return keys;
}

Tensor positions_of(std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>({kBatch, static_cast<int64_t>(values.size()) / kBatch}, values);
}

TEST(GroupQueryAttention, APromptBeginsAtItsFirstPosition) {
  const NodeCase c = attention(positions_of({5, 9, 2, 7, 0, 1}), 0);
  EXPECT_EQ(run_node(c)[1].to_doubles(), new_keys(c, positions_of({5, 6, 7, 5, 6, 7}), 0));
}

TEST(GroupQueryAttention, TokensAfterOthersHaveTheGivenPositions) {
  const NodeCase c = attention(positions_of({5, 9, 2, 7, 0, 1}), 4);
  EXPECT_EQ(run_node(c)[1].to_doubles(), new_keys(c, positions_of({5, 9, 2, 7, 0, 1}), 4));
}

TEST(GroupQueryAttention, PositionsOfAnotherShapeAreRefused) {
  for (const int64_t past : {0, 4}) {
    EXPECT_THROW(infer_node(attention(positions_of({5, 9}), past)), Error);
    EXPECT_THROW(infer_node(attention(Tensor::of<int64_t>({1, 3}, {5, 6, 7}), past)), Error);
    EXPECT_THROW(infer_node(attention(Tensor::of<int64_t>({6}, {5, 6, 7, 5, 6, 7}), past)), Error);
  }
}

}  // namespace
}  // namespace poprt::test
