#include "core/passes/transformer/packed_cases.h"

namespace poprt::test {
namespace {

// Expects that four sequences in two rows, with gaps, have the results that each has alone.
void expect_as_alone(const std::string& text) {
  const auto original = parsed(text);
  const auto packed = parsed(text);
  run(*packed, {"insert_attention_mask"});
  EXPECT_NE(ops_of(*packed).find("ai.graphcore.AttentionMask"), std::string::npos);
  auto feeds = random_feeds(*original);
  const auto sequences = random_sequences({3, 4, 2, 5}, 11);
  const std::vector<size_t> at{0, 4, kPackLength, kPackLength + 3};
  auto packed_feeds = feeds;
  feed_sequences(packed_feeds, sequences, at, std::vector<int64_t>{1, 2, 1, 2});
  const auto got = evaluate_graph(*packed, packed_feeds).at("y").to_doubles();
  for (size_t k = 0; k < sequences.size(); k++) {
    const auto want = alone(*original, feeds, sequences[k]);
    expect_item(got, at[k] * kPackHidden, want, sequences[k].size() * kPackHidden, k);
  }
}

TEST(InsertAttentionMask, Bert) {
  expect_as_alone(transformer({bert_embedding(), chain_mask(), added()}));
}

TEST(InsertAttentionMask, BertWithPositionIds) {
  expect_as_alone(transformer({position_ids_embedding(), chain_mask(), added()}));
}

TEST(InsertAttentionMask, TypesOfTokensThatAreNotGiven) {
  expect_as_alone(transformer({typed_embedding(), chain_mask(), added()}));
}

TEST(InsertAttentionMask, TodaysBert) {
  expect_as_alone(transformer({bert_embedding(), gathered_mask(), added()}));
}

TEST(InsertAttentionMask, Roberta) {
  expect_as_alone(transformer({roberta_embedding(), gathered_mask(), added()}));
}

TEST(InsertAttentionMask, DebertaSeesOnesWhereTokensAre) {
  expect_as_alone(transformer({masked_embedding(), outer_mask(), where()}));
}

// Distances inside a sequence are those of the row.
TEST(InsertAttentionMask, DebertaChoosesScoresByDistance) {
  expect_as_alone(transformer({masked_embedding(), outer_mask(), disentangled()}));
}

// Without heads the mask is [rows, length, length], so rows do not share it.
TEST(InsertAttentionMask, ScoresOfThreeDimensions) {
  expect_as_alone(R"(
input %ids : s64[2,8]
input %mask : s64[2,8]
input %table : f32[50,12]
const %axes : s64[1] = [1]
const %low : f32[] = -10000.0
%x = Gather(%table, %ids)
%k = Transpose(%x) {perm = [0, 2, 1]}
%s = MatMul(%x, %k)
%u = Unsqueeze(%mask, %axes)
%b = Cast(%u) {to = 9}
%w = Where(%b, %s, %low)
%p = Softmax(%w)
%y = MatMul(%p, %x)
output %y
)");
}

// The scores are multiplied by the mask, and 10000 is subtracted where there is no token.
TEST(InsertAttentionMask, ScoresFromWhichTheMaskIsSubtracted) {
  const std::string mask = R"(
const %key_axes : s64[2] = [1, 2]
const %one : f32[] = 1.0
const %high : f32[] = 10000.0
%m1 = Unsqueeze(%mask, %key_axes)
%m2 = Cast(%m1) {to = 1}
%m3 = Sub(%one, %m2)
%m = Mul(%m3, %high)
)";
  expect_as_alone(transformer({bert_embedding(), mask, "%sm = Sub(%s, %m)\n"}));
}

TEST(InsertAttentionMask, LeavesRowsThatAreSelected) {
  const auto graph = parsed(R"(
input %x : f32[3,2]
input %place : s64[1]
const %axes : s64[1] = [1]
%rows = Unsqueeze(%x, %axes)
%y = Gather(%rows, %place)
output %y
)");
  const std::string before = ir::to_text(*graph);
  run(*graph, {"insert_attention_mask"});
  EXPECT_EQ(ir::to_text(*graph), before);
}

}  // namespace
}  // namespace poprt::test
