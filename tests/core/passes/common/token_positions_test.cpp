#include "passes/common/token_positions.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "ops/op.h"

namespace poprt::passes {
namespace {

// Tokens with learned positions, whose first one is the size of the past plus `first`.
std::string positions_model(const std::string& first, bool changed) {
  return R"(graph "g" opset {"": 18} {
  input %input_ids : s64[B,1]
  input %past : f32[B,1,P,2]
  )" + std::string(changed ? "input %poprt.position : s64[B]\n" : "") +
         R"(
  const %table : f32[20,2] = fill 1.0
  const %places : f32[40,2] = [)" +
         [] {
           std::string list;
           for (int i = 0; i < 80; i++) list += (i ? ", " : "") + std::to_string(i);
           return list;
         }() +
         R"(]
  const %axis : s64[] = 2
  const %one : s64[] = 1
  const %first : s64[] = )" +
         first + R"(
  const %wide : s64[1] = [1]
  %x : f32[B,1,2] = Gather(%table, %input_ids)
  %sizes : s64[4] = Shape(%past)
  %size : s64[] = Gather(%sizes, %axis)
  %begin : s64[] = Add(%size, %first)
  %end : s64[] = Add(%begin, %one)
  %numbers : s64[?] = Range(%begin, %end, %one)
  %rows : f32[?,2] = Gather(%places, %numbers)
  %y : f32[B,1,2] = Add(%x, %rows)
  %new : f32[B,1,1,2] = Unsqueeze(%y, %wide)
  )" +
         (changed
              ? "%present : f32[B,1,P,2] = poprt.onnx.TensorScatter(%past, %new, %poprt.position)"
              : "%present : f32[B,1,?,2] = Concat(%past, %new) {axis = 2}") +
         R"(
  output %y
  output %present
}
)";
}

std::unique_ptr<ir::Graph> static_copy(const ir::Graph& graph, int64_t batch, int64_t past) {
  auto copy = graph.clone();
  for (ir::Value* v : copy->inputs()) {
    Shape shape = v->shape();
    for (int64_t& d : shape)
      if (d < 0) d = &d == &shape[0] ? batch : past;
    v->type = ir::ValueType::of(v->dtype(), shape);
  }
  TokenPositions::settle(*copy);
  return copy;
}

class TokenPositionsOfAModel : public testing::Test {
 protected:
  void SetUp() override {
    graph = ir::parse_text(positions_model("2", true));
    ops::infer(*graph);
    positions.emplace(*graph, caches, "input_ids");
  }

  ErrorCode checked(const std::string& first) const {
    const auto theirs = ir::parse_text(positions_model(first, false));
    try {
      positions->check(*static_copy(*graph, 1, 16), *static_copy(*theirs, 1, 5), 5, 16);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  }

  const std::vector<PlacedCache> caches = {{"past", "present", 2}};
  std::unique_ptr<ir::Graph> graph;
  std::optional<TokenPositions> positions;
};

TEST_F(TokenPositionsOfAModel, MatchTheExporter) { EXPECT_EQ(checked("2"), ErrorCode::ok); }

TEST_F(TokenPositionsOfAModel, AreRefusedIfTheExporterHasOthers) {
  EXPECT_EQ(checked("3"), ErrorCode::unimplemented);
}

TEST_F(TokenPositionsOfAModel, FailWithoutAttentionThatCanBeMasked) {
  const auto copy = static_copy(*graph, 2, 16);
  try {
    positions->bind(*copy, caches, "poprt.position", 2);
    FAIL() << "there is no Softmax";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_NE(e.message().find("no Softmax"), std::string::npos) << e.message();
  }
}

// Each sum reads the one before it twice: there are 2^40 paths from the scores.
TEST(TokenPositionForms, AreSearchedForMasksInLinearTime) {
  std::string text = positions_model("2", true);
  const std::string line = "  output %y\n";
  std::string more = R"(
  %turned : f32[B,1,2,P] = Transpose(%present) {perm = [0, 1, 3, 2]}
  %s0 : f32[B,1,1,P] = MatMul(%new, %turned)
)";
  for (int i = 0; i < 40; i++)
    more += fmt::format("  %s{0} : f32[B,1,1,P] = Add(%s{1}, %s{1})\n", i + 1, i);
  text.replace(text.find(line), line.size(), more + line + "  output %s40\n");
  const auto graph = ir::parse_text(text);
  ops::infer(*graph);
  const std::vector<PlacedCache> caches = {{"past", "present", 2}};
  const TokenPositions positions(*graph, caches, "input_ids");
  const auto copy = static_copy(*graph, 1, 16);
  try {
    positions.bind(*copy, caches, "poprt.position", 1);
    FAIL() << "there is no Softmax";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("no Softmax"), std::string::npos) << e.message();
  }
}

TEST(TokenPositionForms, AreRefusedIfDataOfThePastIsRead) {
  std::string text = positions_model("2", true);
  const std::string line = "  output %y\n";
  text.replace(text.find(line), line.size(),
               "  %old : f32[B,1,P,2] = Neg(%past)\n  output %y\n  output %old\n");
  const auto graph = ir::parse_text(text);
  ops::infer(*graph);
  const std::vector<PlacedCache> caches = {{"past", "present", 2}};
  EXPECT_THROW(TokenPositions(*graph, caches, "input_ids"), Error);
}

}  // namespace
}  // namespace poprt::passes
