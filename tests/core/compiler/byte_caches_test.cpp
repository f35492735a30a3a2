// tests/core/generate compares the tokens and logits of the models of tests/data/generation.
#include "compiler/byte_caches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ir/text.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

const std::vector<ByteCache> kByteDecoderCaches = {{"past_k", "present_k"},
                                                   {"past_v", "present_v"}};

// A static decoder of two heads of 4 with caches of 6 places and two new tokens. `attention` reads
// %q, %k_rows, %v_rows and the caches, and makes %y.
std::string byte_decoder(const std::string& attention, const std::string& opset = R"({"": 24})") {
  return R"(graph "g" opset )" + opset + R"( {
  input %q : f32[1,2,2,4]
  input %k_rows : f32[1,2,2,4]
  input %v_rows : f32[1,2,2,4]
  input %mask : f32[1,1,2,8]
  input %past_k : f32[1,2,6,4]
  input %past_v : f32[1,2,6,4]
  input %position : s64[1]
  input %lengths : s64[1]
  const %half : f32[] = 0.5
)" + attention +
         R"(
  %present_k : ? = TensorScatter(%past_k, %k_rows, %position)
  %present_v : ? = TensorScatter(%past_v, %v_rows, %position)
  output %y
  output %present_k
  output %present_v
}
)";
}

const std::string kJoinedCaches = R"(
  %k : ? = Concat(%past_k, %k_rows) {axis = 2}
  %v : ? = Concat(%past_v, %v_rows) {axis = 2}
)";
const std::string kCachedScores = R"(
  %turned : ? = Transpose(%k) {perm = [0, 1, 3, 2]}
  %product : ? = MatMul(%q, %turned)
  %scaled : ? = Mul(%product, %half)
  %scores : ? = Add(%scaled, %mask)
)";

std::unique_ptr<ir::Graph> with_byte_caches(const std::string& text) {
  auto graph = ir::parse_text(text);
  ops::infer(*graph);
  store_caches_in_bytes(*graph, kByteDecoderCaches);
  return graph;
}

const ir::Node* node_of_type(const ir::Graph& graph, std::string_view type) {
  const auto nodes = graph.nodes();
  const auto found = std::ranges::find(nodes, type, &ir::Node::op_type);
  return found == nodes.end() ? nullptr : *found;
}

std::string byte_cache_refusal(const std::string& text) {
  try {
    with_byte_caches(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    return e.message();
  }
  return "taken";
}

void expect_byte_caches(const ir::Graph& graph) {
  for (const ByteCache& c : kByteDecoderCaches) {
    const ir::Value *past = graph.find(c.past), *present = graph.find(c.present);
    ASSERT_TRUE(past && present);
    EXPECT_TRUE(graph.is_input(past) && graph.is_output(present));
    for (const ir::Value* v : {past, present}) {
      EXPECT_EQ(v->dtype(), DType::s8);
      EXPECT_EQ(v->shape(), (Shape{1, 2, 6, 8}));
    }
    EXPECT_EQ(present->producer()->op_type, "TensorScatter");
  }
}

TEST(ByteCaches, ReplaceASoftmaxBetweenTwoProducts) {
  const auto graph = with_byte_caches(byte_decoder(kJoinedCaches + kCachedScores + R"(
  %weights : ? = Softmax(%scores)
  %y : ? = MatMul(%weights, %v))"));
  expect_byte_caches(*graph);
  const ir::Node* n = node_of_type(*graph, "CacheAttention");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->input(0)->name(), "q");
  EXPECT_EQ(n->input(3)->name(), "mask");
  EXPECT_EQ(n->float_attr("scale", 0), 0.5f);
  EXPECT_EQ(n->int_attr("q_num_heads", 0), 2);
  EXPECT_EQ(n->input(1)->shape(), (Shape{1, 2, 8, 8})) << "old places and new rows";
  for (const char* gone : {"Softmax", "MatMul", "Transpose"})
    EXPECT_FALSE(node_of_type(*graph, gone));
  const auto nodes = graph->nodes();
  EXPECT_EQ(std::ranges::count(nodes, "QuantizeRows", &ir::Node::op_type), 2);
}

TEST(ByteCaches, ReplaceRepeatedHeads) {
  std::string text = byte_decoder(kJoinedCaches + R"(
  const %axes : s64[1] = [2]
  const %wide : s64[5] = [1, 2, 3, 8, 4]
  const %flat : s64[4] = [1, 6, 8, 4]
  %k1 : ? = Unsqueeze(%k, %axes)
  %k2 : ? = Expand(%k1, %wide)
  %k3 : ? = Reshape(%k2, %flat)
  %v1 : ? = Unsqueeze(%v, %axes)
  %v2 : ? = Expand(%v1, %wide)
  %v3 : ? = Reshape(%v2, %flat)
  %turned : ? = Transpose(%k3) {perm = [0, 1, 3, 2]}
  %scores : ? = MatMul(%q, %turned)
  %weights : ? = Softmax(%scores)
  %y : ? = MatMul(%weights, %v3))");
  text.replace(text.find("%q : f32[1,2,2,4]"), 17, "%q : f32[1,6,2,4]");
  const auto graph = with_byte_caches(text);
  expect_byte_caches(*graph);
  const ir::Node* n = node_of_type(*graph, "CacheAttention");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->int_attr("q_num_heads", 0), 6);
  EXPECT_EQ(n->int_attr("kv_num_heads", 0), 2);
  EXPECT_FALSE(n->input(3));
  EXPECT_FALSE(node_of_type(*graph, "Expand"));
}

TEST(ByteCaches, ReplaceAttentionWithAPast) {
  const std::string past = R"(graph "g" opset {"": 24} {
  input %q : f32[1,2,8]
  input %k : f32[1,2,8]
  input %v : f32[1,2,8]
  input %past_k : f32[1,2,6,4]
  input %past_v : f32[1,2,6,4]
  input %position : s64[1]
  const %six : s64[1] = [6]
  const %most : s64[1] = [1000]
  const %two : s64[1] = [2]
  %y : ?, %all_k : ?, %all_v : ? = Attention(%q, %k, %v, _, %past_k, %past_v) {q_num_heads = 2, kv_num_heads = 2, is_causal = 1, softcap = 3.0}
  %k_rows : ? = Slice(%all_k, %six, %most, %two)
  %v_rows : ? = Slice(%all_v, %six, %most, %two)
  %present_k : ? = TensorScatter(%past_k, %k_rows, %position)
  %present_v : ? = TensorScatter(%past_v, %v_rows, %position)
  output %y
  output %present_k
  output %present_v
}
)";
  const auto graph = with_byte_caches(past);
  expect_byte_caches(*graph);
  const ir::Node* n = node_of_type(*graph, "CacheAttention");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->int_attr("offset", 0), 6);
  EXPECT_EQ(n->int_attr("is_causal", 0), 1);
  EXPECT_EQ(n->float_attr("softcap", 0), 3);
  EXPECT_EQ(n->float_attr("scale", 0), 0.5f);
  for (const char* gone : {"Attention", "Slice"}) EXPECT_FALSE(node_of_type(*graph, gone));
}

TEST(ByteCaches, ReplaceAttentionToAWrittenCache) {
  const auto graph = with_byte_caches(R"(graph "g" opset {"": 24} {
  input %q : f32[1,2,2,4]
  input %rows : f32[1,2,2,4]
  input %past_k : f32[1,2,6,4]
  input %past_v : f32[1,2,6,4]
  input %position : s64[1]
  input %lengths : s64[1]
  %present_k : ? = TensorScatter(%past_k, %rows, %position) {mode = "circular"}
  %present_v : ? = TensorScatter(%past_v, %rows, %position)
  %y : ? = Attention(%q, %present_k, %present_v, _, _, _, %lengths)
  output %y
  output %present_k
  output %present_v
}
)");
  expect_byte_caches(*graph);
  const ir::Node* n = node_of_type(*graph, "CacheAttention");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->input(1)->name(), "present_k");
  EXPECT_EQ(n->input(4)->name(), "lengths");
  EXPECT_EQ(n->input(1)->producer()->string_attr("mode", ""), "circular");
}

TEST(ByteCaches, RefuseOtherReadersByName) {
  const std::string plain = R"(
  %weights : ? = Softmax(%scores)
  %y : ? = MatMul(%weights, %v))";
  EXPECT_EQ(byte_cache_refusal(byte_decoder(kJoinedCaches + kCachedScores + plain)), "taken");
  const auto expect_refused = [](const std::string& attention, const std::string& node) {
    const std::string message = byte_cache_refusal(byte_decoder(attention));
    EXPECT_NE(message.find("cache 'past_"), std::string::npos) << message;
    EXPECT_NE(message.find(node), std::string::npos) << message;
    EXPECT_NE(message.find("leave out cache_precision"), std::string::npos) << message;
  };
  expect_refused(kJoinedCaches + "  %y : ? = Add(%k, %v)", "Concat");
  // Another reader of the keys, weights along another axis, a mask that replaces scores.
  expect_refused(kJoinedCaches + kCachedScores + R"(
  %weights : ? = Softmax(%scores)
  %part : ? = MatMul(%weights, %v)
  %more : ? = ReduceSum(%k)
  %y : ? = Add(%part, %more))",
                 "Concat");
  expect_refused(kJoinedCaches + kCachedScores + R"(
  %weights : ? = Softmax(%scores) {axis = 2}
  %y : ? = MatMul(%weights, %v))",
                 "Softmax");
  expect_refused(kJoinedCaches + kCachedScores + R"(
  %soft : ? = Tanh(%scores)
  %weights : ? = Softmax(%soft)
  %y : ? = MatMul(%weights, %v))",
                 "Softmax");
  expect_refused(kJoinedCaches + kCachedScores + R"(
  const %other : f32[8,4] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
  %weights : ? = Softmax(%scores)
  %y : ? = MatMul(%weights, %other))",
                 "Softmax");
}

std::unique_ptr<ir::Graph> with_written_caches(const std::string& text) {
  auto graph = ir::parse_text(text);
  ops::infer(*graph);
  read_written_caches(*graph, kByteDecoderCaches, "position");
  ops::infer(*graph);
  return graph;
}

const std::string kWrittenSoftmax = R"(
  %weights : ? = Softmax(%scores)
  %y : ? = MatMul(%weights, %v))";

TEST(WrittenCaches, AreReadInsteadOfAJoinedCopy) {
  const auto graph =
      with_written_caches(byte_decoder(kJoinedCaches + kCachedScores + kWrittenSoftmax));
  const ir::Node* n = node_of_type(*graph, "CacheAttention");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->input(0)->name(), "q");
  EXPECT_EQ(n->input(1)->name(), "present_k");
  EXPECT_EQ(n->input(2)->name(), "present_v");
  EXPECT_EQ(n->input(1)->shape(), (Shape{1, 2, 6, 4}));
  EXPECT_EQ(n->float_attr("scale", 0), 0.5f);
  // The mask has a column for each place, and the columns of the new rows are at their position.
  const ir::Node* mask = n->input(3)->producer();
  ASSERT_TRUE(mask && mask->op_type == "TensorScatter");
  EXPECT_EQ(n->input(3)->shape(), (Shape{1, 1, 2, 6}));
  EXPECT_EQ(mask->input(1)->shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(mask->input(2)->name(), "position");
  // The places in use are those before the position and the two new ones.
  const ir::Node* used = n->input(4)->producer();
  ASSERT_TRUE(used && used->op_type == "Add");
  EXPECT_EQ(used->input(0)->name(), "position");
  for (const char* gone : {"Concat", "Softmax", "MatMul", "Transpose"})
    EXPECT_FALSE(node_of_type(*graph, gone)) << gone;
  EXPECT_TRUE(graph->is_output(graph->find("present_k")));
}

// A cache keeps its Concat if its reader is not an attention that the compiler knows.
TEST(WrittenCaches, KeepOtherReaders) {
  const auto expect_kept = [](const std::string& text, const char* node) {
    const auto graph = with_written_caches(text);
    EXPECT_FALSE(node_of_type(*graph, "CacheAttention")) << text;
    EXPECT_TRUE(node_of_type(*graph, node)) << text;
    EXPECT_TRUE(node_of_type(*graph, "Concat")) << text;
    EXPECT_EQ(graph->find("present_k")->producer()->input(1)->name(), "k_rows");
  };
  expect_kept(byte_decoder(kJoinedCaches + "  %y : ? = Add(%k, %v)"), "Add");
  expect_kept(byte_decoder(kJoinedCaches + kCachedScores + R"(
  %weights : ? = Softmax(%scores) {axis = 2}
  %y : ? = MatMul(%weights, %v))"),
              "Softmax");
  std::string narrow = byte_decoder(kJoinedCaches + kCachedScores + kWrittenSoftmax);
  const std::string mask = "input %mask : f32[1,1,2,8]";
  narrow.replace(narrow.find(mask), mask.size(), "input %mask : f32[1,1,2,1]");
  expect_kept(narrow, "Softmax");
  std::string halves = byte_decoder(kJoinedCaches + kCachedScores + kWrittenSoftmax);
  for (size_t at; (at = halves.find("f32[")) != std::string::npos;) halves.replace(at, 4, "f16[");
  expect_kept(halves, "Softmax");
}

// A second reader that is not known still reads the joined copy.
TEST(WrittenCaches, KeepASecondReader) {
  const auto graph = with_written_caches(byte_decoder(kJoinedCaches + kCachedScores + R"(
  %weights : ? = Softmax(%scores)
  %part : ? = MatMul(%weights, %v)
  %more : ? = ReduceSum(%k)
  %y : ? = Add(%part, %more))"));
  EXPECT_TRUE(node_of_type(*graph, "CacheAttention"));
  const ir::Node* n = node_of_type(*graph, "Concat");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->input(0)->name(), "past_k");
}

}  // namespace
}  // namespace poprt::compiler
