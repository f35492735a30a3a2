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
    decompose_attention(*ir::parse_text(text));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    return e.message();
  }
  return "";
}

TEST(DecoderAttention, BecomesAConcatOfPastAndNewKeysAndASoftmax) {
  auto graph = ir::parse_text(fused());
  decompose_attention(*graph);
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
  decompose_attention(*graph);
  EXPECT_EQ(graph->node_count(), 1u);
}

// Attention of com.microsoft with one past of keys and values; `attributes` follow num_heads.
std::string one_past(const std::string& attributes = "unidirectional = 1",
                     const std::string& more = "", const std::string& past = "f32[2,B,2,P,3]",
                     const std::string& rest = "") {
  return R"(graph "g" opset {"": 18, "com.microsoft": 1} {
  input %x : f32[B,S,4]
  input %mask : s32[B,T]
  input %length : s32[1]
  input %past_0 : )" +
         past + R"(
  input %weights : f32[4,18]
  input %bias : f32[18]
  %y : f32[B,S,6], %present_0 : f32[2,B,2,T,3] = com.microsoft.Attention(%x, %weights, %bias, %mask, %past_0)" +
         rest + ") {num_heads = 2, " + attributes + "}\n" + more + R"(
  output %y
  output %present_0
}
)";
}

TEST(SeparatePasts, GiveKeysAndValuesInputsOfTheirOwn) {
  auto graph = ir::parse_text(
      one_past("unidirectional = 1, scale = 0.25", "%s : ? = Shape(%past_0)\noutput %s"));
  separate_pasts(*graph);
  std::vector<std::string> inputs, outputs;
  for (const ir::Value* v : graph->inputs()) inputs.push_back(v->name());
  for (const ir::Value* v : graph->outputs()) outputs.push_back(v->name());
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "mask", "length", "weights", "bias",
                                              "past_0.key", "past_0.value"}));
  EXPECT_EQ(std::ranges::count(outputs, "present_0.key"), 1);
  EXPECT_EQ(std::ranges::count(outputs, "present_0.value"), 1);
  EXPECT_EQ(ir::type_string(graph->find("past_0.key")->type), "f32[B,2,P,3]");
  const ir::Node* n = graph->find("present_0.key")->producer();
  EXPECT_EQ(n->op_type, "MultiHeadAttention");
  EXPECT_EQ(n->int_attr("unidirectional", 0), 1);
  EXPECT_EQ(n->int_attr("num_heads", 0), 2);
  EXPECT_EQ(n->float_attr("scale", 0), 0.25f);
  EXPECT_EQ(n->input(4)->name(), "mask");
  EXPECT_EQ(n->input(6)->name(), "past_0.key");
  EXPECT_EQ(n->input(7)->name(), "past_0.value");
  EXPECT_EQ(graph->find("s")->producer()->input(0)->producer()->op_type, "Concat");
}

TEST(SeparatePasts, RefuseFormsWithoutThisMeaning) {
  const auto refusal_of = [](const std::string& text) {
    try {
      separate_pasts(*ir::parse_text(text));
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented);
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(refusal_of(one_past()), "");
  const auto expect_refused = [&](const std::string& text, const std::string& why) {
    const std::string message = refusal_of(text);
    EXPECT_NE(message.find(why), std::string::npos) << message;
  };
  expect_refused(one_past("do_rotary = 1"), "do_rotary");
  expect_refused(one_past("past_present_share_buffer = 1"), "shares the memory");
  expect_refused(one_past("unidirectional = 1", "", "f32[2,B,2,P,3]", ", _, %length"),
                 "shares the memory");
  expect_refused(one_past("qkv_hidden_sizes = [6, 6, 7]"), "qkv_hidden_sizes");
  expect_refused(one_past("qkv_hidden_sizes = [-6, 12, 12]"), "qkv_hidden_sizes");
  expect_refused(one_past("qkv_hidden_sizes = [9223372036854775807, 9223372036854775807, 20]"),
                 "qkv_hidden_sizes");
  expect_refused(one_past("unidirectional = 1", "", "f32[B,2,P,3]"), "is not [2, batch");
  expect_refused(one_past("unidirectional = 1", "%z : ? = Identity(%present_0)\noutput %z"),
                 "another node reads");
}

// These run before the types are inferred, so that an input may be missing.
TEST(SeparatePasts, RefuseMissingInputs) {
  for (const char* inputs : {"%x, _", "_, %weights"}) {
    std::string text = one_past();
    const std::string given = "%x, %weights";
    text.replace(text.find(given), given.size(), inputs);
    try {
      separate_pasts(*ir::parse_text(text));
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("has no input or no weights"), std::string::npos) << e.message();
    }
  }
}

TEST(DecoderAttention, RefusesSizesThatOverflow) {
  for (const char* heads : {"num_heads = 9223372036854775807", "num_heads = 3074457345618258602"})
    EXPECT_THROW(decompose_attention(*ir::parse_text(fused("_", "", "f32[B,2,P,3]", "%k", heads))),
                 Error);
}

}  // namespace
}  // namespace poprt::passes
