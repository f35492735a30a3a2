// Attention and RotaryEmbedding become the operators of older opsets only if they have to, and each
// part is created only if the node needs it.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

std::string attention(std::string_view q, std::string_view kv, std::string_view rest) {
  return fmt::format("input %q : f32{0}\ninput %k : f32{1}\ninput %v : f32{1}\n{2}\noutput %y", q,
                     kv, rest);
}

constexpr std::string_view kAll = "%y : ? = Attention(%q, %k, %v)";

TEST(ConvertAttention, AllKeysOfEqualHeadsAreTwoProductsAndASoftmax) {
  convert_from(attention("[2,1,3,4]", "[2,1,5,4]", kAll), 23, 22,
               "Transpose MatMul Mul Softmax MatMul");
  convert_from(attention("[2,3,3,4]", "[2,3,5,4]", kAll), 23, 22,
               "Transpose MatMul Mul Softmax MatMul");
}

TEST(ConvertAttention, HeadsOfKeysAreRepeatedForTheQueriesThatShareThem) {
  const auto graph =
      convert_from(attention("[3,6,3,4]", "[3,2,5,4]", kAll), 23, 22,
                   "Reshape Expand Reshape Reshape Expand Reshape Transpose MatMul Mul Softmax "
                   "MatMul");
  EXPECT_EQ(graph->nodes()[1]->output(0)->shape(), (Shape{3, 2, 3, 5, 4}));
}

TEST(ConvertAttention, PackedHeadsAreSplitAndJoined) {
  convert_from(attention("[2,3,20]", "[2,7,10]",
                         "%y : ? = Attention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 2}"),
               23, 22,
               "Reshape Transpose Reshape Transpose Reshape Transpose Reshape Expand Reshape "
               "Reshape Expand Reshape Transpose MatMul Mul Softmax MatMul Transpose Reshape");
}

// The shape of the past is unknown, so inference has not compared the heads.
TEST(ConvertAttention, HeadsThatDoNotFitAreRefused) {
  const std::string past = "input %p : f32[?,?,?,?]\n";
  const auto refused = [&](std::string_view q, std::string_view kv, std::string_view attributes,
                           const std::string& why) {
    expect_refusal(attention(q, kv,
                             past + "%y : f32[?,?,?,?] = Attention(%q, %k, %v, _, %p, %p) {" +
                                 std::string(attributes) + "} \"a\""),
                   23, 22, {"Attention node 'a'", why});
  };
  refused("[1,3,2,4]", "[1,2,5,4]", "", "heads do not fit");
  refused("[1,0,2,4]", "[1,1,5,4]", "", "heads do not fit");
  refused("[1,2,2,4]", "[1,0,5,4]", "", "heads do not fit");
  refused("[1,2,4]", "[1,5,4]", "kv_num_heads = 1", "heads do not fit");
  refused("[1,2,4]", "[1,5,4]", "q_num_heads = 1", "heads do not fit");
  refused("[1,2,4]", "[1,5,4]", "q_num_heads = 3, kv_num_heads = 1", "heads do not fit");
  refused("[1,2,2,4]", "[1,1,5,4]", "", "is unknown");
}

TEST(ConvertAttention, ScaleAndSoftcapAreApplied) {
  convert_from(attention("[1,2,3,4]", "[1,2,5,4]",
                         "%y : ? = Attention(%q, %k, %v) {scale = 0.25, softcap = 1.5}"),
               23, 22, "Transpose MatMul Mul Div Tanh Mul Softmax MatMul");
}

// A query may attend to no key, and then gets zeros.
constexpr std::string_view kWithoutBlind = "Softmax ReduceMax Equal Where MatMul";

TEST(ConvertAttention, MasksAreAddedOrSelect) {
  const auto with = [](std::string_view mask) {
    return attention("[1,2,3,4]", "[1,2,5,4]",
                     fmt::format("input %m : {}\n%y : ? = Attention(%q, %k, %v, %m)", mask));
  };
  const std::string first = "Transpose MatMul Mul ", rest(kWithoutBlind);
  convert_from(with("f32[3,5]"), 23, 22, first + "Add " + rest);
  convert_from(with("bool[1,1,3,5]"), 23, 22, first + "Where " + rest);
  // Keys beyond the end of a mask are masked.
  convert_from(with("f32[3,4]"), 23, 22, first + "Pad Add " + rest);
  convert_from(with("f32[1,1,3,3]"), 23, 22, first + "Pad Add " + rest);
  convert_from(with("bool[3,2]"), 23, 22, first + "Cast Pad Cast Where " + rest);
}

TEST(ConvertAttention, AMaskOfAllKeysGivesZeros) {
  const auto body = attention("[1,1,2,2]", "[1,1,3,2]",
                              "const %m : bool[2,3] = [true, false, true, false, false, false]\n"
                              "%y : ? = Attention(%q, %k, %v, %m)");
  const auto graph = parsed(body, 23);
  convert(*graph, 22);
  const auto y = test::evaluate_graph(*graph, test::random_feeds(*graph)).at("y").to_doubles();
  EXPECT_NE(y[0], 0);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
}

TEST(ConvertAttention, OrderAndWindowLimitTheKeys) {
  const auto with = [](std::string_view attributes) {
    return attention("[1,2,4,4]", "[1,2,6,4]",
                     fmt::format("input %p : f32[1,2,3,4]\ninput %o : f32[1,2,3,4]\n"
                                 "%y : ? = Attention(%q, %k, %v, _, %p, %o) {{{}}}",
                                 attributes));
  };
  const std::string first = "Concat Concat Transpose MatMul Mul ", rest(kWithoutBlind);
  convert_from(with(""), 23, 22, first + "Softmax MatMul");
  convert_from(with("is_causal = 1"), 23, 22, first + "LessOrEqual Where " + rest);
  convert_from(with("left_window_size = 2"), 25, 22, first + "Add LessOrEqual Where " + rest);
  convert_from(with("right_window_size = 1"), 25, 22, first + "Add LessOrEqual Where " + rest);
  convert_from(with("left_window_size = 0"), 25, 22, first + "LessOrEqual Where " + rest);
  convert_from(with("right_window_size = 0"), 25, 22, first + "LessOrEqual Where " + rest);
  convert_from(with("is_causal = 1, left_window_size = 2, right_window_size = 3"), 25, 22,
               first + "LessOrEqual Add LessOrEqual And Add LessOrEqual And Where " + rest);
}

TEST(ConvertAttention, OrderWithoutAPastBeginsWithTheFirstKey) {
  convert_from(
      attention("[1,2,4,4]", "[1,2,6,4]", "%y : ? = Attention(%q, %k, %v) {is_causal = 1}"), 23, 22,
      "Transpose MatMul Mul LessOrEqual Where " + std::string(kWithoutBlind));
}

// Halves are computed in f32.
TEST(ConvertAttention, HalvesAreWidened) {
  const std::string body =
      "input %q : f16[1,2,3,4]\ninput %k : f16[1,2,5,4]\ninput %v : f16[1,2,5,4]\n"
      "%y : ?, %a : ?, %b : ?, %s : ? = Attention(%q, %k, %v)\noutput %y\noutput %s";
  const auto before = parsed(body, 23), graph = parsed(body, 23);
  convert(*graph, 22);
  EXPECT_EQ(ops_of(*graph), "Cast Cast Transpose MatMul Mul Cast Softmax Cast MatMul Cast");
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::f16);
  test::expect_same_results(*before, *graph, 2e-3);
}

// The parts are slower, so a conversion that is not required keeps the operators.
TEST(ConvertAttention, StaysIfTheConversionIsAChoice) {
  auto graph = parsed(attention("[1,2,3,4]", "[1,2,5,4]", kAll), 23);
  EXPECT_NE(convert_to_lowest(graph, 11).find("several operators"), std::string::npos);
  EXPECT_EQ(opset_of(*graph), 23);
}

// The scores are the products, those after the cap, those after the mask, or the probabilities.
TEST(ConvertAttention, OptionalOutputsAreParts) {
  for (int mode = 0; mode < 4; mode++) {
    SCOPED_TRACE(mode);
    convert_from(
        attention("[1,2,3,4]", "[1,2,5,4]",
                  fmt::format("input %m : f32[3,5]\n%y : ?, %a : ?, %b : ?, %s : ? = "
                              "Attention(%q, %k, %v, %m) {{qk_matmul_output_mode = {}, "
                              "softcap = 2.0}}\noutput %a\noutput %b\noutput %s",
                              mode)),
        23, 22,
        "Identity Identity Transpose MatMul Mul Div Tanh Mul Add " + std::string(kWithoutBlind));
  }
}

TEST(ConvertAttention, StaysIfTheOlderOneComputesTheSame) {
  const auto graph = convert_from(attention("[1,2,3,4]", "[1,2,5,4]",
                                            "%y : ? = Attention(%q, %k, %v, _, _, _, _) "
                                            "{left_window_size = -1, right_window_size = -1}"),
                                  25, 23, "Attention");
  const ir::Node* node = graph->nodes().front();
  EXPECT_EQ(node->inputs().size(), 6u);
  EXPECT_FALSE(node->find_attr("left_window_size"));
  EXPECT_FALSE(node->find_attr("right_window_size"));
}

TEST(ConvertAttention, LengthsOfKeysNeedTheParts) {
  const std::string body = attention("[2,2,3,4]", "[2,2,5,4]",
                                     "const %n : s64[2] = [2, 5]\n"
                                     "%y : ? = Attention(%q, %k, %v, _, _, _, %n) {is_causal = 1}");
  convert_from(body, 25, 24, "Attention");
  convert_from(
      body, 24, 23,
      "Transpose MatMul Mul Reshape Less Add LessOrEqual And Where " + std::string(kWithoutBlind));
}

std::string rotary(std::string_view x, std::string_view table, std::string_view attributes) {
  return fmt::format(
      "input %x : f32{0}\ninput %c : f32{1}\ninput %s : f32{1}\n"
      "%y : ? = RotaryEmbedding(%x, %c, %s) {{{2}}}\noutput %y",
      x, table, attributes);
}

constexpr std::string_view kHalves = "Reshape Reshape Slice Slice Mul Mul Sub Mul Mul Add ";

TEST(ConvertRotaryEmbedding, TurnsTheWholeHeadOrItsFirstElements) {
  const std::string halves(kHalves);
  convert_from(rotary("[1,2,3,4]", "[1,3,2]", ""), 23, 22, halves + "Concat");
  convert_from(rotary("[1,2,3,4]", "[1,3,2]", "rotary_embedding_dim = 4"), 23, 22,
               halves + "Concat");
  convert_from(rotary("[1,2,3,6]", "[1,3,2]", "rotary_embedding_dim = 4"), 23, 22,
               "Reshape Reshape Slice Slice Slice Mul Mul Sub Mul Mul Add Concat Slice Concat");
}

TEST(ConvertRotaryEmbedding, InterleavedPairsAreNeighbours) {
  convert_from(rotary("[1,2,3,6]", "[1,3,2]", "rotary_embedding_dim = 4, interleaved = 1"), 23, 22,
               "Reshape Reshape Slice Slice Slice Mul Mul Sub Mul Mul Add Unsqueeze Unsqueeze "
               "Concat Reshape Slice Concat");
}

TEST(ConvertRotaryEmbedding, PackedHeadsAreSplitAndJoined) {
  convert_from(rotary("[2,3,8]", "[2,3,2]", "num_heads = 2"), 23, 22,
               "Reshape Transpose " + std::string(kHalves) + "Concat Transpose Reshape");
  convert_from(rotary("[2,3,8]", "[2,3,4]", "num_heads = 1"), 23, 22,
               "Reshape Transpose " + std::string(kHalves) + "Concat Transpose Reshape");
  for (const char* heads : {"", "num_heads = 3", "num_heads = -2"})
    expect_refusal(rotary("[2,3,8]", "[2,3,2]", heads), 23, 22,
                   {"RotaryEmbedding", "heads do not fit"});
}

TEST(ConvertRotaryEmbedding, StaysIfTheConversionIsAChoice) {
  auto graph = parsed(rotary("[1,2,3,4]", "[1,3,2]", ""), 23);
  EXPECT_NE(convert_to_lowest(graph, 11).find("several operators"), std::string::npos);
  EXPECT_EQ(opset_of(*graph), 23);
}

TEST(ConvertRotaryEmbedding, OfOneHeadIsTurned) {
  convert_from(rotary("[2,1,3,4]", "[2,3,2]", ""), 23, 22, std::string(kHalves) + "Concat");
}

TEST(ConvertRotaryEmbedding, PositionsSelectRowsOfTheTables) {
  convert_from(
      "input %x : f32[2,2,3,4]\ninput %c : f32[5,2]\ninput %s : f32[5,2]\n"
      "const %p : s64[2,3] = [4, 0, 2, 1, 1, 3]\n%y : ? = RotaryEmbedding(%x, %c, %s, %p)\n"
      "output %y",
      23, 22, "Gather Reshape Gather Reshape Slice Slice Mul Mul Sub Mul Mul Add Concat");
}

}  // namespace
}  // namespace poprt::opsets
