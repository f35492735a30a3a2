#include "passes/common/decoder_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ir/text.h"

namespace poprt::passes {
namespace {

// `inputs` follow the past; `attributes` follow num_heads.
std::string fused(const std::string& mask = "_", const std::string& rest = "",
                  const std::string& past_type = "f32[B,2,P,3]", const std::string& key = "%k",
                  const std::string& heads = "num_heads = 2") {
  return R"(graph "g" opset {"": 18, "com.microsoft": 1} {
  input %q : f32[B,S,6]
  input %k : f32[B,S,6]
  input %v : f32[B,S,6]
  input %m : s32[B,P]
  input %n : s32[1]
  input %past_key : )" +
         past_type + R"(
  input %past_value : f32[B,2,P,3]
  const %bias : f32[18] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]
  %y : ?, %present_key : ?, %present_value : ? = com.microsoft.MultiHeadAttention(%q, )" +
         key + ", %v, %bias, " + mask + ", _, %past_key, %past_value" + rest + ") {" + heads + R"(}
  output %y
  output %present_key
  output %present_value
}
)";
}

std::string refusal(const std::string& text) {
  try {
    separate_attention(*ir::parse_text(text));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    return e.message();
  }
  return "";
}

TEST(DecoderAttention, BecomesAConcatOfPastAndNewKeysAndASoftmax) {
  auto graph = ir::parse_text(fused());
  separate_attention(*graph);
  const auto count = [&](std::string_view type) {
    const auto nodes = graph->nodes();
    return std::ranges::count_if(nodes, [&](const ir::Node* n) { return n->op_type == type; });
  };
  EXPECT_EQ(count("MultiHeadAttention"), 0);
  EXPECT_EQ(count("Softmax"), 1);
  ASSERT_EQ(graph->outputs().size(), 3u);
  const char* const names[] = {"y", "present_key", "present_value"};
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(graph->outputs()[i]->name(), names[i]);
  for (const size_t i : {1, 2}) {
    const ir::Node* n = graph->outputs()[i]->producer();
    EXPECT_EQ(n->op_type, "Concat");
    EXPECT_EQ(n->input(0)->name(), i == 1 ? "past_key" : "past_value");
    EXPECT_EQ(n->int_attr("axis", 0), 2);
  }
}

TEST(DecoderAttention, RefusesOtherFormsWithTheNode) {
  for (const auto& [text, why] :
       {std::pair(fused("%m"), "has a mask of keys"),
        std::pair(fused("_", ", %n"), "shares the memory of past and present keys"),
        std::pair(fused("_", "", "f32[B,2,P,D]"), "has a past of unknown head size"),
        std::pair(fused("_", "", "f32[B,P,3]"), "has a past of unknown head size"),
        std::pair(fused("_", "", "f32[B,2,P,3]", "_"), "has packed queries, keys and values"),
        std::pair(fused("_", "", "f32[B,2,P,3]", "%k", "scale = 1.0"), "has no num_heads")}) {
    const std::string error_text = refusal(text);
    EXPECT_NE(error_text.find(why), std::string::npos) << error_text;
    EXPECT_NE(error_text.find("MultiHeadAttention"), std::string::npos) << error_text;
  }
}

TEST(DecoderAttention, KeepsOtherAttention) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 18, "com.microsoft": 1} {
  input %q : f32[B,S,6]
  input %past_key_cross : f32[B,2,9,3]
  input %past_value_cross : f32[B,2,9,3]
  %y : ? = com.microsoft.MultiHeadAttention(%q, %past_key_cross, %past_value_cross) {num_heads = 2}
  output %y
}
)");
  separate_attention(*graph);
  EXPECT_EQ(graph->node_count(), 1u);
}

}  // namespace
}  // namespace poprt::passes
