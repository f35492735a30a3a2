#include "compiler/generation_states.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/generation.h"
#include "ir/text.h"

namespace poprt::compiler {
namespace {

// A state with any names: state + the sum of the embeddings of the new tokens.
std::string with_state(const std::string& past, const std::string& present,
                       const std::string& type = "f32[B,4]", const std::string& extra = "") {
  return R"(graph "g" opset {"": 18} {
  input %input_ids : s64[B,S]
  input %")" +
         past + "\" : " + type + "\n" + extra + R"(
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %one : s64[1] = [1]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  %sum : f32[B,4] = ReduceSum(%rows, %one) {keepdims = 0}
  %")" + present +
         R"(" : ? = Add(%")" + past + R"(", %sum)
  %logits : f32[B,S,3] = MatMul(%rows, %head)
  output %logits
  output %")" +
         present + "\"\n}\n";
}

std::string past_of(const std::string& past, const std::string& present,
                    const std::vector<StateNames>& named = {}) {
  const auto graph = ir::parse_text(with_state(past, present));
  const ir::Value* found = past_state_of(*graph, graph->outputs()[1], named);
  return found ? found->name() : "";
}

TEST(GenerationStates, AreFoundByTheNamesOfExporters) {
  const std::pair<const char*, const char*> cases[] = {
      {"cache_params.past.conv.0", "cache_params.present.conv.0"},
      {"cache_params.past.ssm.11", "cache_params.present.ssm.11"},
      {"past_conv.3", "present_conv.3"},
      {"past_ssm_states.3", "present_ssm_states.3"},
      {"past.3.conv", "present.3.conv"},
      {"past_key_values.3.conv_state", "present.3.conv_state"},
      {"past_key_values.3.recurrent_state", "present.3.recurrent_state"},
      {"state_in", "state_out"},
      {"state0_in", "state0_out"},
      {"instate12", "outstate12"},
      {"input_state", "out_state"},
      {"h0_in", "h0_out"},
      {"prev_state", "next_state"},
      {"conv_state", "new_conv_state"},
  };
  for (const auto& [past, present] : cases) EXPECT_EQ(past_of(past, present), past) << past;
}

TEST(GenerationStates, OtherNamesAreNotPaired) {
  const std::pair<const char*, const char*> cases[] = {
      {"past_conv.1", "present_conv.2"},
      {"past_conv.1", "present_ssm.1"},
      {"past", "present"},
      {"a", "b"},
      {"state1_in", "state_out"},
  };
  for (const auto& [past, present] : cases) EXPECT_EQ(past_of(past, present), "") << past;
}

TEST(GenerationStates, AreNamedByTheCaller) {
  EXPECT_EQ(past_of("a", "b", {{"a", "b"}}), "a");
  EXPECT_EQ(past_of("a7", "b7", {{"a%d", "b%d"}}), "a7");
  EXPECT_EQ(past_of("x.12.in", "y.12", {{"other", "none"}, {"x.%d.in", "y.%d"}}), "x.12.in");
  EXPECT_EQ(past_of("a7", "bb", {{"a%d", "b%d"}}), "");
  try {
    past_of("a7", "b8", {{"a%d", "b%d"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_EQ(e.message(),
              "generation: output 'b8' is a state by its name, and the model has no input 'a8'");
  }
}

constexpr std::string_view kTwoSlots = R"({"max_length": 16, "slots": 2, "prefill": [8]})";

std::string state_refusal(const std::string& text, std::string_view options = kTwoSlots) {
  try {
    auto graph = ir::parse_text(text);
    GenerationModel(*graph, read_generation(options));
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "taken";
}

TEST(GenerationStates, GetTheBatchOfEachShapeAndSmallerPieces) {
  auto graph = ir::parse_text(with_state("state_in", "state_out"));
  const GenerationModel model(*graph, read_generation(kTwoSlots));
  const auto note = parse_json(model.note());
  EXPECT_EQ(note["states"], parse_json(R"([["state_in", "state_out"]])"));
  EXPECT_EQ(note["caches"], nlohmann::json::array());
  EXPECT_EQ(note["shapes"], parse_json("[[2, 1], [1, 1], [1, 2], [1, 8]]"));
  model.fix(*graph, {2, 1});
  EXPECT_EQ(graph->find("state_in")->shape(), (Shape{2, 4}));
}

TEST(GenerationStates, ABatchInAnotherAxisBecomesTheFirst) {
  std::string text = with_state("state_in", "state_out", "f32[1,B,4]");
  auto graph = ir::parse_text(text);
  const GenerationModel model(*graph, read_generation(kTwoSlots));
  model.fix(*graph, {2, 1});
  EXPECT_EQ(graph->find("state_in")->shape(), (Shape{2, 1, 4}));
  const ir::Node* out = graph->outputs()[1]->producer();
  ASSERT_TRUE(out && out->op_type == "Transpose");
  EXPECT_EQ(out->ints_attr("perm"), (std::vector<int64_t>{1, 0, 2}));
}

TEST(GenerationStates, WithoutAKnownBatchOrSizeAreRefused) {
  const auto typed = [](const char* type) {
    return state_refusal(
        with_state("state_in", "state_out", type),
        R"({"max_length": 16, "slots": 2, "states": [["state_in", "state_out"]]})");
  };
  EXPECT_EQ(typed("f32[B,4]"), "taken");
  EXPECT_EQ(typed("f32[B,N]"),
            "unimplemented: generation: state 'state_in' is f32[B,N]: only its batch may be open");
  EXPECT_EQ(typed("f32[4]"),
            "unimplemented: generation: state 'state_in' is f32[4]: one axis must be the batch, as "
            "'input_ids' s64[B,S] has it first");
  EXPECT_EQ(typed("f32[1,4]"),
            "unimplemented: generation: state 'state_in' is f32[1,4]: the model has a batch of 1, "
            "and slots is 2; export it with an open batch");
  EXPECT_EQ(state_refusal(with_state("state_in", "state_out", "f32[1,4]"), R"({"max_length": 16})"),
            "taken");
  EXPECT_EQ(typed("f32[B,1]"),
            "unimplemented: generation: state 'state_in' is f32[1,1] before and f32[1,4] after one "
            "token; a state has one size");
}

TEST(GenerationStates, OptionsAreChecked) {
  for (const char* wrong : {R"([1])", R"([["a"]])", R"([["a", 1]])", R"([["", "b"]])",
                            R"([["a%d", "b"]])", R"([["a", "b%d"]])"})
    EXPECT_THROW(read_generation(R"({"max_length": 16, "states": )" + std::string(wrong) + "}"),
                 Error)
        << wrong;
  EXPECT_EQ(state_refusal(with_state("a", "b"), R"({"max_length": 16, "states": [["a", "b"]]})"),
            "taken");
  EXPECT_EQ(state_refusal(with_state("a", "b"), R"({"max_length": 16, "states": [["a", "c"]]})"),
            "not_found: generation: the model has no output 'c', which is given as a state");
  EXPECT_EQ(state_refusal(with_state("a", "b"), R"({"max_length": 16, "states": [["a", "b"]],
                                                   "optional_states": [["a%d", "c%d"]]})"),
            "taken");
  EXPECT_NE(state_refusal(with_state("a", "b")).find("output 'b'"), std::string::npos);
}

}  // namespace
}  // namespace poprt::compiler
