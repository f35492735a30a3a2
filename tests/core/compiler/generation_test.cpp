#include "compiler/generation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "compiler/driver.h"
#include "ir/text.h"

namespace poprt::compiler {
namespace {

constexpr std::string_view kOptions =
    R"({"max_length": 16, "slots": 2, "prefill": [4], "settings": {"stop_tokens": [3]}})";

// A cache that grows by Concat, and logits that depend on it.
std::string growing(const std::string& cache = "%present : ? = Concat(%past, %rows) {axis = 1}") {
  return R"(graph "g" opset {"": 18} {
  input %input_ids : s64[B,S]
  input %attention_mask : s64[B,T]
  input %position_ids : s64[B,S]
  input %past : f32[B,P,4]
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  )" + cache +
         R"(
  %logits : f32[B,S,3] = MatMul(%rows, %head)
  output %logits
  output %present
}
)";
}

std::string without(std::string text, const std::string& line) {
  const size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, text.find('\n', at) - at);
}

ErrorCode code_of(const std::string& text, std::string& message) {
  try {
    auto graph = ir::parse_text(text);
    GenerationModel model(*graph, read_generation(kOptions));
  } catch (const Error& e) {
    message = e.message();
    return e.code();
  }
  return ErrorCode::ok;
}

TEST(Generation, ACacheThatGrowsBecomesAWriteAtAPosition) {
  auto graph = ir::parse_text(growing());
  const GenerationModel model(*graph, read_generation(kOptions));
  ASSERT_EQ(graph->outputs().size(), 2u);
  const ir::Value* present = graph->outputs()[1];
  EXPECT_EQ(present->name(), "present");
  ASSERT_TRUE(present->producer() && present->producer()->op_type == "TensorScatter");
  EXPECT_EQ(present->producer()->input(0)->name(), "past");
  EXPECT_EQ(present->producer()->input(1)->name(), "rows");
  EXPECT_EQ(present->producer()->input(2)->name(), "poprt.position");
  EXPECT_EQ(present->producer()->int_attr("axis", 0), 1);
  model.fix(*graph, {2, 4});
  EXPECT_EQ(graph->find("past")->shape(), (Shape{2, 16, 4}));
  EXPECT_EQ(graph->find("input_ids")->shape(), (Shape{2, 4}));
  EXPECT_EQ(graph->find("attention_mask")->shape(), (Shape{2, 20}));
  EXPECT_EQ(graph->find("poprt.position")->shape(), (Shape{2}));
}

TEST(Generation, LogitsAreOfOneToken) {
  auto graph = ir::parse_text(growing());
  const GenerationModel model(*graph, read_generation(kOptions));
  const ir::Node* product = graph->outputs()[0]->producer();
  ASSERT_TRUE(product && product->op_type == "MatMul");
  EXPECT_EQ(product->input(0)->producer()->op_type, "Gather");
  EXPECT_EQ(product->input(0)->producer()->input(1)->name(), "poprt.last");
}

TEST(Generation, TheNoteDescribesTheModel) {
  auto graph = ir::parse_text(growing());
  const auto note = parse_json(GenerationModel(*graph, read_generation(kOptions)).note());
  EXPECT_EQ(note["caches"], parse_json(R"([["past", "present", 1]])"));
  EXPECT_EQ(note["shapes"], parse_json("[[2, 1], [1, 1], [1, 4]]"));
  EXPECT_EQ(note["grows"], true);
  EXPECT_EQ(note["settings"]["stop_tokens"], parse_json("[3]"));
}

TEST(Generation, ModelsWithoutAKnownMeaningAreRefusedWithTheName) {
  const auto expect_refused = [](const std::string& text, const std::string& part) {
    std::string message;
    EXPECT_EQ(code_of(text, message), ErrorCode::unimplemented) << text;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  std::string message;
  EXPECT_EQ(code_of(growing(), message), ErrorCode::ok) << message;
  expect_refused(without(growing(), "output %present"), "no caches");
  expect_refused(without(growing(), "output %logits"), "no output 'logits'");
  expect_refused(growing("%present : ? = Add(%past, %past)"), "output 'present'");
  expect_refused(growing("%present : ? = Concat(%past, %rows) {axis = 0}"), "along axis 0");
  expect_refused(without(growing(), "input %attention_mask"), "no input 'attention_mask'");
  std::string other = growing();
  other.replace(other.find("  const %table"), 0, "  input %beam : s64[B]\n");
  expect_refused(other, "input 'beam'");
}

// A cache of fixed size that TensorScatter writes at a position that is an input.
std::string with_static_cache(const std::string& index = "write_indices") {
  return R"(graph "g" opset {"": 24} {
  input %input_ids : s64[B,S]
  input %write_indices : s64[B]
  input %second : s64[B]
  input %nonpad_kv_seqlen : s64[B]
  input %key_cache.0 : f32[B,P,4]
  input %value_cache.0 : f32[B,P,4]
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  %k : ? = TensorScatter(%key_cache.0, %rows, %write_indices) {axis = 1}
  %v : ? = TensorScatter(%value_cache.0, %rows, %)" +
         index + R"() {axis = 1, mode = "circular"}
  %y : ? = Attention(%rows, %k, %v, _, _, _, %nonpad_kv_seqlen) {is_causal = 1, kv_num_heads = 1, q_num_heads = 1}
  %logits : f32[B,S,3] = MatMul(%y, %head)
  output %logits
  output %k
  output %v
}
)";
}

// The same with caches that TensorScatter writes as rings, of these sizes.
std::string with_rings(const std::string& keys, const std::string& values) {
  std::string text = without(with_static_cache(), "  input %second");
  const auto replace = [&](const std::string& part, const std::string& by) {
    text.replace(text.find(part), part.size(), by);
  };
  replace("%key_cache.0 : f32[B,P,4]", "%key_cache.0 : f32[B," + keys + ",4]");
  replace("%value_cache.0 : f32[B,P,4]", "%value_cache.0 : f32[B," + values + ",4]");
  replace("%write_indices) {axis = 1}", R"(%write_indices) {axis = 1, mode = "circular"})");
  return text;
}

TEST(Generation, ARingKeepsItsSize) {
  auto graph = ir::parse_text(with_rings("6", "6"));
  const GenerationModel model(*graph, read_generation(kOptions));
  EXPECT_EQ(parse_json(model.note())["ring"], 6);
  EXPECT_EQ(parse_json(model.note())["max_length"], 16);
  model.fix(*graph, {2, 4});
  EXPECT_EQ(graph->find("key_cache.0")->shape(), (Shape{2, 6, 4}));
  // A ring that no text fills is a cache of the maximum length.
  for (const char* size : {"16", "20", "P"}) {
    graph = ir::parse_text(with_rings(size, size));
    EXPECT_FALSE(
        parse_json(GenerationModel(*graph, read_generation(kOptions)).note()).contains("ring"))
        << size;
  }
}

TEST(Generation, RingsOfOtherSizesAndPiecesThatDoNotFitAreRefused) {
  std::string message;
  for (const auto& [keys, values] :
       {std::pair("6", "P"), std::pair("P", "6"), std::pair("6", "5")}) {
    EXPECT_EQ(code_of(with_rings(keys, values), message), ErrorCode::unimplemented);
    EXPECT_NE(message.find("is a ring of "), std::string::npos) << message;
  }
  EXPECT_EQ(code_of(with_rings("3", "3"), message), ErrorCode::invalid_argument);
  EXPECT_NE(
      message.find("a prefill of 4 tokens, and the caches of the model are rings of 3 places"),
      std::string::npos)
      << message;
  auto graph = ir::parse_text(with_rings("3", "3"));
  const GenerationModel small(*graph, read_generation(R"({"max_length": 16})"));
  EXPECT_EQ(parse_json(small.note())["shapes"], parse_json("[[1, 1], [1, 3]]"));
}

TEST(Generation, AStaticCacheHasInputsForItsPositions) {
  auto graph = ir::parse_text(without(with_static_cache(), "  input %second"));
  const GenerationModel model(*graph, read_generation(kOptions));
  const auto note = parse_json(model.note());
  EXPECT_EQ(note["position"], "write_indices");
  EXPECT_EQ(note["valid_places"], "nonpad_kv_seqlen");
  EXPECT_EQ(note["grows"], false);
  EXPECT_EQ(note["caches"], parse_json(R"([["key_cache.0", "k", 1], ["value_cache.0", "v", 1]])"));
  model.fix(*graph, {2, 4});
  EXPECT_EQ(graph->find("key_cache.0")->shape(), (Shape{2, 16, 4}));
  EXPECT_EQ(graph->find("write_indices")->shape(), (Shape{2}));
  EXPECT_EQ(graph->find("nonpad_kv_seqlen")->shape(), (Shape{2}));
  std::string message;
  EXPECT_EQ(code_of(with_static_cache("second"), message), ErrorCode::unimplemented);
  EXPECT_NE(message.find("reads 'second', and another node reads 'write_indices'"),
            std::string::npos)
      << message;
}

// Whether a value depends on an input of the graph.
bool depends_on(const ir::Value* v, const std::string& input) {
  if (v->name() == input) return true;
  return v->producer() && std::ranges::any_of(v->producer()->inputs(), [&](const ir::Value* in) {
           return in && depends_on(in, input);
         });
}

// A decoder whose mask has the columns of the past and of the new tokens. `seen` computes the mask
// from %key and %query, s64[T] and s64[S,1].
std::string masked(const std::string& seen, const std::string& input = "") {
  return R"(graph "g" opset {"": 18} {
  input %input_ids : s64[B,S]
  input %attention_mask : s64[B,T]
  )" + input +
         R"(
  input %past : f32[B,P,4]
  const %zero : s64[] = 0
  const %one : s64[] = 1
  const %window : s64[] = 3
  const %first_axis : s64[1] = [0]
  const %axis : s64[1] = [1]
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  %present : ? = Concat(%past, %rows) {axis = 1}
  %past_shape : ? = Shape(%past)
  %size : ? = Gather(%past_shape, %one)
  %ids_shape : ? = Shape(%input_ids)
  %new : ? = Gather(%ids_shape, %one)
  %total : ? = Add(%size, %new)
  %length : ? = Unsqueeze(%total, %first_axis)
  %key : ? = Range(%zero, %total, %one)
  %queries : ? = Range(%size, %total, %one)
  %query : ? = Unsqueeze(%queries, %axis)
  )" + seen +
         R"(
  %given : ? = Cast(%attention_mask) {to = 9}
  %wide : ? = Unsqueeze(%given, %axis)
  %all : ? = And(%wide, %seen)
  %weights : ? = Cast(%all) {to = 1}
  %mixed : ? = MatMul(%weights, %present)
  %logits : ? = MatMul(%mixed, %head)
  output %logits
  output %present
}
)";
}

const std::string kCausal = "%seen : ? = LessOrEqual(%key, %query)";
const std::string kSliding =
    "%first : ? = Sub(%query, %window)\n  %near : ? = Greater(%key, %first)\n"
    "  %causal : ? = LessOrEqual(%key, %query)\n  %seen : ? = And(%near, %causal)";

// The new tokens follow the C places. Causality is the same as without free places, and a window is
// not.
TEST(Generation, AMaskThatCountsFreePlacesFollowsThePosition) {
  const auto follows_position = [](const std::string& text, std::string_view last) {
    auto graph = ir::parse_text(text);
    const GenerationModel model(*graph, read_generation(kOptions));
    const auto copy = graph->clone();
    model.fix(*copy, {2, 1});
    EXPECT_FALSE(std::ranges::count(copy->inputs(), "poprt.row", &ir::Value::name));
    const ir::Value* v = copy->find(last);
    return v && depends_on(v, "poprt.position");
  };
  EXPECT_FALSE(follows_position(masked(kCausal), "all"));
  EXPECT_TRUE(follows_position(masked(kSliding), "all"));
  const std::string given = "input %cache_position : s64[S]";
  const auto with = [&](std::string seen) {
    for (size_t at = 0; (at = seen.find("%query", at)) != std::string::npos; at += 6)
      seen.replace(at, 6, "%given_query");
    return masked("%given_query : ? = Unsqueeze(%cache_position, %axis)\n  " + seen, given);
  };
  EXPECT_FALSE(follows_position(with(kCausal), "all"));
  EXPECT_TRUE(follows_position(with(kSliding), "all"));
}

TEST(Generation, NumbersOfSizesInAnUnknownFormAreRefused) {
  std::string message;
  const std::string seen =
      "%ones : ? = Expand(%one, %length)\n  %sums : ? = CumSum(%ones, %zero)\n"
      "  %next : ? = Add(%query, %one)\n  %causal : ? = LessOrEqual(%sums, %next)\n"
      "  %far : ? = Sub(%query, %sums)\n  %near : ? = Less(%far, %window)\n"
      "  %seen : ? = And(%near, %causal)";
  EXPECT_EQ(code_of(masked(seen), message), ErrorCode::unimplemented);
  EXPECT_NE(message.find("computes 'seen' from the size of its caches"), std::string::npos)
      << message;
}

// Qwen2-VL has three positions of a token.
TEST(Generation, PositionsOfThreeAxesAreEqual) {
  for (const char* type : {"s64[3,B,S]", "s64[N,B,S]", "s64[4,B,S]"}) {
    std::string text = growing();
    text.replace(text.find("s64[B,S]\n  input %past"), 8, type);
    auto graph = ir::parse_text(text);
    const GenerationModel model(*graph, read_generation(kOptions));
    const ir::Value* v = graph->find("position_ids");
    ASSERT_TRUE(v && graph->is_input(v)) << type;
    EXPECT_EQ(ir::type_string(v->type), "s64[B,S]");
    const auto copy = graph->clone();
    model.fix(*copy, {2, 1});
    EXPECT_EQ(copy->find("position_ids")->shape(), (Shape{2, 1}));
  }
}

// GPT-2 of onnxruntime.transformers: one past of keys and values for each layer.
TEST(Generation, APastOfKeysAndValuesBecomesTwoCaches) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 18, "com.microsoft": 1} {
  input %input_ids : s64[B,S]
  input %attention_mask : s32[B,T]
  input %position_ids : s64[B,S]
  input %past_0 : f32[2,B,1,P,4]
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  input %weights : f32[4,12]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  %y : f32[B,S,4], %present_0 : f32[2,B,1,T,4] = com.microsoft.Attention(%rows, %weights, _, %attention_mask, %past_0) {num_heads = 1, unidirectional = 1}
  %logits : f32[B,S,3] = MatMul(%y, %head)
  output %logits
  output %present_0
}
)");
  graph->replace_all_uses(graph->find("weights"),
                          graph->add_constant("w", Tensor::zeros(DType::f32, {4, 12})));
  graph->erase_value(graph->find("weights"));
  const GenerationModel model(*graph, read_generation(kOptions));
  const auto copy = graph->clone();
  model.fix(*copy, {2, 1});
  for (const char* name : {"past_0.key", "past_0.value"})
    EXPECT_EQ(copy->find(name)->shape(), (Shape{2, 1, 16, 4})) << name;
  EXPECT_NE(model.note().find(R"(["past_0.key","present_0.key",2])"), std::string::npos)
      << model.note();
}

TEST(Generation, CachesOfEightBitsAreAnOption) {
  std::string message;
  EXPECT_FALSE(read_generation(kOptions).byte_caches);
  EXPECT_TRUE(read_generation(R"({"max_length": 16, "cache_precision": "int8"})").byte_caches);
  EXPECT_THROW(read_generation(R"({"max_length": 16, "cache_precision": "int4"})"), Error);
}

TEST(Generation, ShapesBeginWithTheDecodingStep) {
  GenerationOptions o =
      read_generation(R"({"max_length": 64, "slots": 3, "prefill": [16, 4, 16]})");
  const auto shapes = generation_shapes(o);
  ASSERT_EQ(shapes.size(), 4u);
  EXPECT_EQ(shapes[0].batch, 3);
  EXPECT_EQ(shapes[0].tokens, 1);
  EXPECT_EQ(shapes[1].batch, 1);
  EXPECT_EQ(shapes[1].tokens, 1);
  EXPECT_EQ(shapes[2].tokens, 4);
  EXPECT_EQ(shapes[3].tokens, 16);
  o.slots = 1;
  EXPECT_EQ(generation_shapes(o).size(), 3u);
}

TEST(Generation, OptionsAreChecked) {
  for (const char* wrong :
       {"", "[]", "{}", R"({"max_length": 1})", R"({"max_length": 8, "slots": 0})",
        R"({"max_length": 8, "prefill": [9]})", R"({"max_length": 8, "prefill": [1]})",
        R"({"max_length": 8, "slots": 1e300})", R"({"max_length": 8, "prefill": 4})"})
    EXPECT_THROW(read_generation(wrong), Error) << wrong;
}

// The caches have the maximum length, so GroupQueryAttention of the model builder does not slide.
TEST(Generation, AWindowDoesNotSlideACacheOfTheMaximumLength) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 18, "com.microsoft": 1} {
  input %input_ids : s64[B,S]
  input %attention_mask : s64[B,T]
  input %past_key : f32[B,1,P,4]
  input %past_value : f32[B,1,P,4]
  const %table : f32[3,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  const %head : f32[4,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %rows : f32[B,S,4] = Gather(%table, %input_ids)
  const %one : s64[] = 1
  const %axis : s64[1] = [1]
  %length : ? = ReduceSum(%attention_mask, %axis) {keepdims = 0}
  %before : ? = Sub(%length, %one)
  %last : ? = Cast(%before) {to = 6}
  %sizes : ? = Shape(%attention_mask)
  %size : ? = Gather(%sizes, %one)
  %total : ? = Cast(%size) {to = 6}
  %y : f32[B,S,4], %present_key : ?, %present_value : ? = com.microsoft.GroupQueryAttention(%rows, %rows, %rows, %past_key, %past_value, %last, %total) {num_heads = 1, kv_num_heads = 1, local_window_size = 5, sliding_window_cache = 1}
  %logits : f32[B,S,3] = MatMul(%y, %head)
  output %logits
  output %present_key
  output %present_value
}
)");
  const GenerationModel model(*graph, read_generation(kOptions));
  const auto nodes = graph->nodes();
  const auto found = std::ranges::find(nodes, "GroupQueryAttention", &ir::Node::op_type);
  ASSERT_NE(found, nodes.end());
  EXPECT_FALSE((*found)->attributes.contains("sliding_window_cache"));
  EXPECT_EQ((*found)->int_attr("local_window_size", 0), 5);
}

}  // namespace
}  // namespace poprt::compiler
