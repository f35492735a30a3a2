// Tests the conversion of whole graphs; tests/core/ops/converted_samples_test.cpp tests each
// operator.
#include "opsets/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

constexpr std::string_view kRelu = "input %x : f32[2,3]\n%y : ? = Relu(%x) \"act\"\noutput %y";

TEST(ConvertOpset, RefusesInvalidTargets) {
  for (const int64_t target :
       {int64_t{0}, int64_t{1}, int64_t{6}, int64_t{10}, kNewest + 1, int64_t{-5}, int64_t{999},
        std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    expect_refusal(kRelu, 13, target,
                   {"from 11 to " + std::to_string(kNewest), std::to_string(target)},
                   ErrorCode::invalid_argument);
}

TEST(ConvertOpset, RefusesSourcesOlderThan7) {
  expect_refusal(kRelu, 6, 11, {"opset 6 to 11", "opsets 7 to"});
}

TEST(ConvertOpset, AModelWithoutAiOnnxNeedsNoConversion) {
  auto graph = ir::parse_text(
      "graph \"g\" opset {\"com.microsoft\": 1} {\ninput %x : f32[2]\n"
      "%y : f32[2] = com.microsoft.Gelu(%x)\noutput %y\n}");
  EXPECT_EQ(opset_of(*graph), 0);
  convert(*graph, 12);
  EXPECT_EQ(ops_of(*graph), "com.microsoft.Gelu");
}

TEST(ConvertOpset, OtherDomainsStay) {
  auto graph = ir::parse_text(
      "graph \"g\" opset {\"\": 20, \"com.microsoft\": 1, \"ai.onnx.ml\": 3} {\n"
      "input %x : f32[2]\n%a : f32[2] = com.microsoft.Gelu(%x)\n%b : f32[2] = Gelu(%a)\n"
      "%y : f32[2] = ai.onnx.ml.Scaler(%b) {offset = [1.0], scale = [2.0]}\noutput %y\n}");
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph), "com.microsoft.Gelu Div Erf Add Mul Mul ai.onnx.ml.Scaler");
  EXPECT_EQ(graph->opsets,
            (std::map<std::string, int64_t>{{"", 11}, {"ai.onnx.ml", 3}, {"com.microsoft", 1}}));
}

TEST(ConvertOpset, TheOtherNameOfTheDomainBecomesTheUsualOne) {
  auto graph = ir::parse_text(
      "graph \"g\" opset {\"ai.onnx\": 13} {\ninput %x : f32[2]\n"
      "%y : f32[2] = ai.onnx.Relu(%x)\noutput %y\n}");
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph), "Relu");
  EXPECT_EQ(graph->opsets, (std::map<std::string, int64_t>{{"", 11}}));
}

TEST(ConvertOpset, NamesOfOutputsAndNodesStay) {
  const auto graph = convert_from("input %x : f32[2,3]\n%y : ? = Gelu(%x) \"my gelu\"\noutput %y",
                                  20, 13, "Div Erf Add Mul Mul");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  // A reader of the model expects each name once.
  std::set<std::string> names;
  for (const ir::Node* n : graph->nodes()) {
    EXPECT_TRUE(n->name.starts_with("my gelu")) << n->name;
    EXPECT_TRUE(names.insert(n->name).second) << n->name;
  }
  EXPECT_TRUE(names.contains("my gelu"));
}

// Each new name has the operator, and a number if that name is taken.
TEST(ConvertOpset, NamesOfNewNodesAreUniqueInAllSubgraphs) {
  auto graph = declared(R"(input %c : bool[]
  input %x : f32[2,3]
  %a : f32[2,3] = Gelu(%x) "act"
  %b : f32[2,3] = Gelu(%a)
  %y : f32[2,3] = If(%c) {else_branch = graph "e" {
    %e : f32[2,3] = Gelu(%b) "act"
    output %e
  }, then_branch = graph "t" {
    %t : f32[2,3] = Identity(%b) "act_Add"
    output %t
  }}
  output %y)",
                        20);
  convert(*graph, 13);
  std::vector<std::string> names;
  const std::function<void(const ir::Graph&)> add = [&](const ir::Graph& g) {
    for (const ir::Node* n : g.nodes()) {
      names.push_back(n->name);
      ir::for_each_subgraph(*n, add);
    }
  };
  add(*graph);
  EXPECT_EQ(names,
            (std::vector<std::string>{"act", "act_Erf", "act_Add", "act_Mul", "act_Mul_2", "", "",
                                      "", "", "", "", "act_Div", "act_Erf_2", "act_Add_2",
                                      "act_Mul_3", "act_Mul_4", "act_Add_Identity"}));
}

TEST(ConvertOpset, SubgraphsOfOtherDomainsAreConverted) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 20, "com.microsoft": 1} {
  input %x : f32[2]
  %y : f32[2] = com.microsoft.Repeat(%x) {body = graph "b" {
    %b : f32[2] = Gelu(%x)
    output %b
  }}
  output %y
})");
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph), "com.microsoft.Repeat");
  ir::for_each_subgraph(*graph->nodes()[0], [](const ir::Graph& sub) {
    EXPECT_EQ(ops_of(sub), "Div Erf Add Mul Mul");
  });
}

TEST(ConvertOpset, OperatorsThatNoOtherOpsetHasAreNamed) {
  const auto refused = [](std::string_view call, int opset, int64_t target) {
    const auto graph =
        declared(fmt::format("input %x : s32[2]\n%y : s32[2] = {}\noutput %y", call), opset);
    const std::string message = refusal_of(*graph, target);
    return message.substr(std::min(message.find("'y': "), message.size() - 5) + 5);
  };
  EXPECT_EQ(refused("BitwiseNot(%x)", 18, 13),
            "opset 13 has no operator BitwiseNot, whole numbers have no bits there");
  EXPECT_EQ(refused("Col2Im(%x, %x, %x)", 20, 17), "opset 17 has no operator Col2Im");
  EXPECT_EQ(refused("Frobnicate(%x)", 20, 17), "ai.onnx has no operator Frobnicate");
  EXPECT_EQ(refused("Frobnicate(%x)", 17, 20), "ai.onnx has no operator Frobnicate");
}

TEST(ConvertOpset, AnInputThatIsTheResultGetsANode) {
  convert_from(
      "input %x : f32[2,3]\nconst %a : s64[0] = []\n"
      "%y : ? = ReduceSum(%x, %a) {noop_with_empty_axes = 1}\noutput %y",
      13, 11, "Unsqueeze ReduceSum");
  convert_from("input %x : f32[2,3]\nconst %a : s64[0] = []\n%y : ? = Squeeze(%x, %a)\noutput %y",
               13, 11, "Identity");
}

TEST(ConvertOpset, SubgraphsAreConverted) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 20} {
  input %c : bool[]
  input %x : f32[2,3]
  const %axes : s64[1] = [1]
  %y : f32[2,3] = If(%c) {else_branch = graph "e" {
    %e : f32[2,3] = Gelu(%x)
    output %e
  }, then_branch = graph "t" {
    %u : f32[2,1,3] = Unsqueeze(%x, %axes)
    %t : f32[2,3] = Squeeze(%u, %axes)
    output %t
  }}
  output %y
})");
  convert(*graph, 11);
  const ir::Node* branch = graph->nodes().at(0);
  std::vector<std::string> inside;
  ir::for_each_subgraph(*branch, [&](const ir::Graph& sub) { inside.push_back(ops_of(sub)); });
  EXPECT_EQ(inside, (std::vector<std::string>{"Div Erf Add Mul Mul", "Unsqueeze Squeeze"}));
  ir::for_each_subgraph(*branch, [&](const ir::Graph& sub) {
    for (const ir::Node* n : sub.nodes()) EXPECT_NO_THROW(ir::check_attributes(*n));
  });
}

TEST(ConvertOpset, ARefusalInASubgraphNamesItsNode) {
  expect_refusal(R"(input %c : bool[]
  input %x : s32[2]
  %y : s32[2] = If(%c) {else_branch = graph "e" {
    %e : s32[2] = BitwiseNot(%x) "inner"
    output %e
  }, then_branch = graph "t" {
    %t : s32[2] = Identity(%x)
    output %t
  }}
  output %y)",
                 18, 13, {"BitwiseNot", "'inner'", "opset 18 to 13"});
}

TEST(ConvertOpset, ErrorNamesTheMissingType) {
  expect_refusal("input %x : bf16[2]\n%y : ? = Neg(%x) \"n\"\noutput %y", 13, 12,
                 {"Neg node 'n'", "input 0 is bf16", "opset 12"});
}

TEST(ConvertOpset, ErrorNamesTheInputThatMustBeConstant) {
  expect_refusal(
      "input %x : f32[2,1]\ninput %a : s64[1]\n%y : f32[2] = Squeeze(%x, %a) \"s\"\noutput %y", 13,
      11, {"Squeeze node 's'", "'a'", "constant", "axes"});
}

TEST(ConvertOpset, ErrorNamesTheNewAttribute) {
  expect_refusal(
      "input %x : f32[1,1,5,5]\n%y : ? = AveragePool(%x) {dilations = [2, 2], "
      "kernel_shape = [2, 2]} \"pool\"\noutput %y",
      19, 18, {"AveragePool node 'pool'", "'dilations'", "opset 19"});
}

TEST(ConvertOpset, RemovesNewAttributesWithDefaultValues) {
  convert_from(
      "input %x : f32[1,1,5,5]\n%y : ? = AveragePool(%x) {dilations = [1, 1], "
      "kernel_shape = [2, 2]}\noutput %y",
      19, 11, "AveragePool");
}

// Opset 19 has saturate and no round_mode.
TEST(ConvertOpset, ACastToFloat8KeepsSaturateInOpsetsThatHaveIt) {
  for (const int saturate : {0, 1}) {
    const std::string body = fmt::format(
        "const %x : f32[3] = [1000, -3, 0.5]\n%q : ? = Cast(%x) {{saturate = {}, to = 17}}\n"
        "%y : ? = Cast(%q) {{to = 1}}\noutput %y",
        saturate);
    const auto graph = convert_from(body, 24, 19, "Cast Cast");
    EXPECT_EQ(graph->nodes()[0]->int_attr("saturate", 1), saturate);
  }
  const auto graph = convert_from(
      "const %x : f32[2] = [3, 0.5]\n%q : ? = Cast(%x) {round_mode = \"up\", to = 17}\n"
      "%y : ? = Cast(%q) {to = 1}\noutput %y",
      24, 19, "Cast Cast");
  EXPECT_EQ(graph->nodes()[0]->find_attr("round_mode"), nullptr);
}

TEST(ConvertOpset, NewAttributesHaveDefaultsOfTheirKind) {
  const std::string x = "input %x : f32[1,1,5,5]\n%y : ? = LpPool(%x) {ceil_mode = ",
                    rest = ", kernel_shape = [2, 2]}\noutput %y";
  convert_from(x + "0" + rest, 18, 17, "LpPool");
  expect_refusal(x + "1" + rest, 18, 17, {"attribute 'ceil_mode' is of opset 18 on"});
  const std::string scatter =
      "input %x : f32[4]\nconst %i : s64[2] = [3, 1]\ninput %u : f32[2]\n"
      "%y : ? = ScatterElements(%x, %i, %u) {reduction = ";
  convert_from(scatter + "\"none\"}\noutput %y", 16, 15, "ScatterElements");
  expect_refusal(scatter + "\"add\"}\noutput %y", 16, 15,
                 {"attribute 'reduction' is of opset 16 on"});
}

// A type that is invalid in both opsets is an error of the model, not of its conversion.
TEST(ConvertOpset, TypesOfUnchangedDefinitionsAreNotChecked) {
  const std::string negative = "input %x : bool[2]\n%y : bool[2] = Neg(%x)\noutput %y";
  const auto same = declared(negative, 14);
  convert(*same, 13);
  EXPECT_EQ(opset_of(*same), 13);
  const std::string message = refusal_of(*declared(negative, 14), 12);
  EXPECT_NE(message.find("is bool, which Neg does not take in opset 12"), std::string::npos)
      << message;
}

TEST(ConvertOpset, SoftmaxOverSeveralAxes) {
  constexpr std::string_view kOld =
      "input %x : f32[2,3,4]\n%y : ? = Softmax(%x) {axis = 1}\noutput %y";
  convert_from(kOld, 11, 13, "Flatten Softmax Reshape");
  convert_from(kOld, 11, 12, "Softmax");
  convert_from("input %x : f32[2,3,4]\n%y : ? = LogSoftmax(%x) {axis = 1}\noutput %y", 13, 11,
               "Transpose LogSoftmax Transpose");
  convert_from("input %x : f32[2,3,1,1]\n%y : ? = Softmax(%x) {axis = 1}\noutput %y", 13, 11,
               "Softmax");
  // A result whose rank alone is known takes its shape when it is run.
  auto graph = parsed("input %x : f32[N,3,4]\n%y : ? = Softmax(%x) {axis = 1}\noutput %y", 11);
  convert(*graph, 13);
  EXPECT_EQ(ops_of(*graph), "Flatten Softmax Shape Reshape");
}

TEST(ConvertOpset, BatchNormalization) {
  constexpr std::string_view kInputs =
      "input %x : f32[2,3,4]\nconst %s : f32[3] = [1.0, 2.0, 0.5]\nconst %b : f32[3] = [0.0, 1.0, "
      "2.0]\n"
      "const %m : f32[3] = [0.5, 0.0, 1.0]\nconst %v : f32[3] = [1.0, 4.0, 2.0]\n";
  const auto with = [&](std::string_view rest) { return std::string(kInputs) + std::string(rest); };
  convert_from(with("%y : ? = BatchNormalization(%x, %s, %b, %m, %v)\noutput %y"), 9, 20,
               "BatchNormalization");
  convert_from(with("%y : ? = BatchNormalization(%x, %s, %b, %m, %v)\noutput %y"), 15, 11,
               "BatchNormalization");
  convert_from(with("%y : ?, %a : ?, %c : ? = BatchNormalization(%x, %s, %b, %m, %v) "
                    "{training_mode = 1}\noutput %y\noutput %a\noutput %c"),
               15, 11,
               "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add Reshape Mul Mul Add Reshape Mul "
               "Mul Add");
}

TEST(ConvertOpset, UpsampleBecomesResize) {
  convert_from(
      "input %x : f32[1,1,2,3]\n%y : ? = Upsample(%x) {mode = \"nearest\", scales = "
      "[1.0, 1.0, 2.0, 2.0]}\noutput %y",
      7, 13, "Resize");
  convert_from(
      "input %x : f32[1,1,2,3]\nconst %s : f32[4] = [1.0, 1.0, 2.0, 1.5]\n"
      "%y : ? = Upsample(%x, %s) {mode = \"linear\"}\noutput %y",
      9, 19, "Resize");
  convert_from(
      "input %x : f32[1,1,4,6]\nconst %s : f32[4] = [1.0, 1.0, 0.5, 0.7]\n"
      "%y : ? = Resize(%x, %s)\noutput %y",
      10, 11, "Resize");
  expect_refusal(
      "input %x : f32[1,1,4,6]\nconst %s : f32[4] = [1.0, 1.0, 0.5, 2.0]\n"
      "%y : ? = Resize(%x, %s) \"r\"\noutput %y",
      10, 11, {"Resize node 'r'", "shrinks"});
}

TEST(ConvertOpset, IntegersThatOlderOperatorsDoNotTake) {
  for (const std::string_view type : {"s8", "u8", "s32", "s64"}) {
    SCOPED_TRACE(type);
    const auto body = [&](std::string_view rest) {
      return fmt::format("input %x : {0}[5]\ninput %z : {0}[5]\n{1}\noutput %y", type, rest);
    };
    convert_from(body("%y : ? = Max(%x, %z)"), 13, 11, "Greater Where");
    convert_from(body("%y : ? = Min(%x, %z, %z)"), 13, 11, "Less Where Less Where");
    convert_from(
        fmt::format("input %x : {0}[5]\ninput %least : {0}[]\n%y : ? = Clip(%x, %least)\noutput %y",
                    type),
        13, 11, "Greater Where");
    const bool byte = type == "s8" || type == "u8";
    convert_from(body("%y : ? = Add(%x, %z)"), 14, 11, byte ? "Cast Cast Add Cast" : "Add");
  }
  convert_from("input %x : bool[2,3]\n%y : ? = ReduceMax(%x) {keepdims = 0}\noutput %y", 20, 11,
               "Cast ReduceMax Cast");
}

TEST(ConvertOpset, OperatorsOfOpset28) {
  constexpr std::string_view kTwo = "input %x : f32[5]\ninput %z : f32[5]\n";
  const auto with = [&](std::string_view rest) {
    return fmt::format("{}{}\noutput %y", kTwo, rest);
  };
  convert_from(with("%y : ? = Mod(%x, %z)"), 28, 13, "Mod Less Less Xor Equal Not And Add Where");
  convert_from(with("%y : ? = Mod(%x, %z) {fmod = 1}"), 28, 13, "Mod");
  convert_from(with("%y : ? = SwiGLU(%x, %z) {alpha = 1.5}"), 28, 13, "Mul Sigmoid Mul Mul");
  convert_from(
      "input %x : f32[1,2,4,4]\n%y : ? = SpaceToDepth(%x) {blocksize = 2, mode = \"CRD\"}\n"
      "output %y",
      28, 13, "Reshape Transpose Reshape");
}

TEST(ConvertOpset, ConstantsOfOperatorsThatAreMissing) {
  auto graph = parsed(
      "input %x : f32[4]\nconst %n : s64[] = 4\n%w : ? = HannWindow(%n)\n"
      "%y : ? = Mul(%x, %w)\noutput %y",
      17);
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph), "Mul");
}

TEST(ConvertOpset, TheLowestThatWorksAndWhy) {
  const std::string body =
      "input %x : s32[4]\n%a : ? = BitwiseNot(%x) \"bits\"\n%y : ? = Relu(%a)\noutput %y";
  auto graph = parsed(body, 20);
  const std::string why = convert_to_lowest(graph, 11);
  EXPECT_EQ(opset_of(*graph), 18);
  EXPECT_NE(why.find("BitwiseNot node 'bits'"), std::string::npos) << why;
  auto fine = parsed(kRelu.data(), 20);
  EXPECT_EQ(convert_to_lowest(fine, 11), "");
  EXPECT_EQ(opset_of(*fine), 11);
  auto oldest = parsed(kRelu.data(), 6);
  EXPECT_NE(convert_to_lowest(oldest, 11).find("models are of opsets 7"), std::string::npos);
  EXPECT_EQ(opset_of(*oldest), 6);
  EXPECT_EQ(ops_of(*oldest), "Relu");
  auto older = parsed(kRelu.data(), 9);
  EXPECT_EQ(convert_to_lowest(older, 11), "");
  EXPECT_EQ(opset_of(*older), 11);
}

// Older forms need a size that is unknown. The lowest opset whose form does not need it is chosen,
// and the reason names the node and the opsets.
TEST(ConvertOpset, ASizeThatDependsOnDataKeepsTheOperator) {
  const std::string body =
      "input %x : f32[?,?,?]\n%y : ? = Trilu(%x) {upper = 0} \"mask\"\noutput %y";
  auto graph = parsed(body, 17);
  const std::string why = convert_to_lowest(graph, 11);
  EXPECT_EQ(opset_of(*graph), 14);
  EXPECT_EQ(ops_of(*graph), "Trilu");
  EXPECT_EQ(
      why,
      "convert_version: no conversion from opset 17 to 11: Trilu node 'mask': the shape of 'x' "
      "is unknown: f32[?,?,?]");
}

TEST(ConvertOpset, KeepsTheOpsetIfAnOlderOneIsSlower) {
  const std::string body =
      "input %x : s8[2,3]\nconst %s : f32[3] = [1.0, 0.5, 2.0]\n"
      "%y : ? = DequantizeLinear(%x, %s) {axis = 1} \"q\"\noutput %y";
  auto graph = parsed(body, 13);
  const std::string why = convert_to_lowest(graph, 11);
  EXPECT_EQ(opset_of(*graph), 13);
  EXPECT_NE(why.find("slower"), std::string::npos) << why;
  convert_from(body, 13, 11, "Cast Mul");
  const std::tuple<const char*, const char*, int> others[] = {
      {"input %x : f32[2,3,4]\ninput %s : f32[4]", "RMSNormalization(%x, %s)", 23},
      {"input %x : f32[1,2,3,4]", "Attention(%x, %x, %x)", 23},
      {"input %x : f32[1,2,3,4]\ninput %c : f32[1,3,2]", "RotaryEmbedding(%x, %c, %c)", 23},
      {"input %x : f32[2,3]\ninput %s : f32[3]", "QuantizeLinear(%x, %s)", 13}};
  for (const auto& [inputs, call, opset] : others) {
    auto kept = parsed(fmt::format("{}\n%y : ? = {}\noutput %y", inputs, call), opset);
    EXPECT_NE(convert_to_lowest(kept, 11).find("which compiles to a slower program"),
              std::string::npos)
        << call;
    EXPECT_EQ(opset_of(*kept), opset) << call;
  }
}

TEST(ConvertOpset, ConvertsNodesOfPassesToTheOpsetOfTheGraph) {
  auto graph = ir::parse_text(
      "graph \"g\" opset {\"\": 13} {\ninput %x : f32[2]\n"
      "%y : f32[2] = poprt.onnx.Gelu(%x)\noutput %y\n}");
  convert_newest_nodes(*graph);
  EXPECT_EQ(ops_of(*graph), "Div Erf Add Mul Mul");
  EXPECT_EQ(opset_of(*graph), 13);
  const auto branches = declared(R"(input %c : bool[]
  input %x : f32[2]
  %y : f32[2] = If(%c) {else_branch = graph "e" {
    %e : f32[2] = Identity(%x)
    output %e
  }, then_branch = graph "t" {
    %t : f32[2] = poprt.onnx.Gelu(%x)
    output %t
  }}
  output %y)",
                                 13);
  convert_newest_nodes(*branches);
  std::vector<std::string> inside;
  ir::for_each_subgraph(*branches->nodes()[0],
                        [&](const ir::Graph& sub) { inside.push_back(ops_of(sub)); });
  EXPECT_EQ(inside, (std::vector<std::string>{"Identity", "Div Erf Add Mul Mul"}));
  // A graph without such nodes is not examined.
  const auto other = declared("input %x : f32[2]\n%y : f32[2] = Frobnicate(%x)\noutput %y", 13);
  EXPECT_NO_THROW(convert_newest_nodes(*other));
}

TEST(ConvertOpset, ErrorsOfTheModelKeepTheirCode) {
  const auto graph =
      declared("input %x : f32[2]\n%y : f32[2] = Softmax(%x) {axis = 1.5}\noutput %y", 11);
  try {
    convert(*graph, 13);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
  }
}

TEST(ConvertOpset, TheListingNamesEveryChange) {
  const std::string text = conversions_markdown();
  for (const char* part :
       {"| Squeeze | 13 |", "| LayerNormalization | 17 |", "| Upsample | 10 | Resize |",
        "| DeformConv | 19 | new | of constants only"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  std::ifstream file(POPRT_TEST_DATA "/../../docs/opsets.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(page.find("\n" + text), std::string::npos) << "docs/opsets.md has another table";
}

// Converts an Einsum of operands of these shapes, and compares the results.
void expect_einsum_converts(std::string_view equation, const std::vector<std::string>& shapes) {
  std::string body, names;
  for (size_t i = 0; i < shapes.size(); i++) {
    body += fmt::format("input %x{} : f32{}\n", i, shapes[i]);
    names += fmt::format("{}%x{}", i ? ", " : "", i);
  }
  body += fmt::format("%y : ? = Einsum({}) {{equation = \"{}\"}}\noutput %y", names, equation);
  const auto before = parsed(body, 12);
  auto graph = parsed(body, 12);
  convert(*graph, 11);
  EXPECT_EQ(ops_of(*graph).find("Einsum"), std::string::npos) << equation;
  test::expect_same_results(*before, *graph, 1e-4);
}

// If there are more than two operands, they are multiplied one after the other.
TEST(ConvertOpset, EinsumBecomesProductsOfMatrices) {
  expect_einsum_converts("ij,jk,kl->il", {"[2,3]", "[3,4]", "[4,5]"});
  expect_einsum_converts("ij,jk,kl->li", {"[2,3]", "[3,4]", "[4,5]"});
  expect_einsum_converts("i,j,k->kji", {"[2]", "[3]", "[4]"});
  expect_einsum_converts("bij,bjk,bkl,l->b", {"[2,3,4]", "[2,4,5]", "[2,5,3]", "[3]"});
  expect_einsum_converts("ab,bc,ac->", {"[2,3]", "[3,4]", "[2,4]"});
  expect_einsum_converts(" i j , j k -> i k ", {"[2,3]", "[3,4]"});
  expect_einsum_converts("i j, j k", {"[2,3]", "[3,4]"});
  expect_einsum_converts(" ... i j , j k -> ... i k", {"[2,5,2,3]", "[3,4]"});
  expect_einsum_converts("b...d, ...d -> ...b", {"[2,5,3]", "[5,3]"});
}

// Without an arrow, the result has the labels that occur once, not those that occur three times.
TEST(ConvertOpset, EinsumWithoutAnArrowSumsOverLabelsOfSeveralOperands) {
  expect_einsum_converts("cb,ba", {"[2,3]", "[3,4]"});
  expect_einsum_converts("ba", {"[2,3]"});
  expect_einsum_converts("...ij,jk", {"[2,5,2,3]", "[3,4]"});
  expect_einsum_converts("ij,ik,i", {"[2,3]", "[2,4]", "[2]"});
  expect_einsum_converts("i,ij,i,ki,i", {"[2]", "[2,3]", "[2]", "[4,2]", "[2]"});
}

TEST(ConvertOpset, EinsumNeedsAllLabelsOfItsResult) {
  const auto graph = declared(
      "input %x : f32[2,3]\n%y : f32[2,4] = Einsum(%x) {equation = \"ij->ik\"}\noutput %y", 12);
  EXPECT_TRUE(refusal_of(*graph, 11).ends_with(": the result has a label that no operand has"));
}

// The numbers of the first node's input `i`.
std::vector<double> constant_of(const ir::Graph& graph, size_t i) {
  return graph.nodes().front()->input(i)->constant().to_doubles();
}

TEST(ConvertOpset, AttributesBecomeInputs) {
  auto graph =
      convert_from("input %x : f32[2,5]\n%y : ?, %i : ? = TopK(%x) {k = 2}\noutput %y\noutput %i",
                   9, 11, "TopK");
  EXPECT_EQ(constant_of(*graph, 1), std::vector<double>{2});
  EXPECT_FALSE(graph->nodes().front()->find_attr("k"));
  graph = convert_from("input %x : f32[2,5]\n%y : ? = Clip(%x) {min = -0.25, max = 0.5}\noutput %y",
                       7, 11, "Clip");
  EXPECT_EQ(constant_of(*graph, 1), std::vector<double>{-0.25});
  EXPECT_EQ(constant_of(*graph, 2), std::vector<double>{0.5});
  graph = convert_from("input %x : f32[2,5]\n%y : ? = Dropout(%x) {ratio = 0.25}\noutput %y", 11,
                       12, "Dropout");
  EXPECT_EQ(constant_of(*graph, 1), std::vector<double>{0.25});
  graph = convert_from("input %x : f32[2,5]\n%y : ? = Dropout(%x)\noutput %y", 11, 12, "Dropout");
  EXPECT_EQ(graph->nodes().front()->inputs().size(), 1u);
}

TEST(ConvertOpset, InputsBecomeAttributes) {
  auto graph = convert_from(
      "input %x : f32[2,5]\nconst %s : s64[2] = [2, 3]\n"
      "%a : ?, %b : ? = Split(%x, %s) {axis = 1}\noutput %a\noutput %b",
      13, 11, "Split");
  EXPECT_EQ(graph->nodes().front()->ints_attr("split"), (std::vector<int64_t>{2, 3}));
  graph = convert_from(
      "input %x : f32[2,5]\nconst %a : s64[1] = [1]\n%y : ? = ReduceSum(%x, %a)\noutput %y", 13, 11,
      "ReduceSum");
  EXPECT_EQ(graph->nodes().front()->ints_attr("axes"), std::vector<int64_t>{1});
}

TEST(ConvertOpset, EqualPartsOfASplitAreCounted) {
  const std::string x = "input %x : f32[2,6]\nconst %s : s64[2] = [2, 4]\n";
  auto graph = convert_from(x + "%a : ?, %b : ? = Split(%x) {axis = 1}\noutput %a\noutput %b", 13,
                            18, "Split");
  EXPECT_EQ(graph->nodes().front()->int_attr("num_outputs", 0), 2);
  graph = convert_from(x + "%a : ?, %b : ? = Split(%x, %s) {axis = 1}\noutput %a\noutput %b", 13,
                       18, "Split");
  EXPECT_FALSE(graph->nodes().front()->find_attr("num_outputs"));
}

TEST(ConvertOpset, AReductionWithoutAxesReducesAllAxesOrNone) {
  const std::string x = "input %x : f32[2,5]\n", none = "const %a : s64[0] = []\n";
  convert_from(x + "%y : ? = ReduceSum(%x)\noutput %y", 13, 11, "ReduceSum");
  convert_from(x + none + "%y : ? = ReduceSum(%x, %a)\noutput %y", 13, 11, "ReduceSum");
  convert_from(x + "%y : ? = ReduceSumSquare(%x) {noop_with_empty_axes = 1}\noutput %y", 18, 17,
               "Unsqueeze ReduceSumSquare");
  convert_from(x + none + "%y : ? = ReduceSumSquare(%x, %a) {noop_with_empty_axes = 1}\noutput %y",
               18, 17, "Unsqueeze ReduceSumSquare");
}

TEST(ConvertOpset, TheLastOfEqualElementsIsTheFirstOfTheReversedAxis) {
  const std::string x = "input %x : f32[2,5]\n";
  convert_from(x + "%y : ? = ArgMax(%x) {select_last_index = 1}\noutput %y", 12, 11,
               "Slice ArgMax Sub");
  convert_from(x + "%y : ? = ArgMin(%x) {axis = -1, select_last_index = 1}\noutput %y", 12, 11,
               "Slice ArgMin Sub");
  convert_from(x + "%y : ? = ArgMax(%x) {axis = 1, select_last_index = 0}\noutput %y", 12, 11,
               "ArgMax");
}

// Begins and ends of the axes are different, and the axes are not in their order.
TEST(ConvertOpset, PadsOfSomeAxesArePadsOfAll) {
  const std::string body =
      "input %x : f32[2,3,4]\nconst %pads : s64[4] = [1, 2, 3, 4]\n"
      "const %axes : s64[2] = [-1, 0]\n%y : ? = Pad(%x, %pads, _, %axes)\noutput %y";
  const auto graph = convert_from(body, 18, 17, "Pad");
  EXPECT_EQ(graph->nodes().front()->input(1)->constant().to_int64s(),
            (std::vector<int64_t>{2, 0, 1, 4, 0, 3}));
}

// The numbers of the parts of a region are different, and the axes are not in their order.
TEST(ConvertOpset, ScalesAndRegionsOfSomeAxesAreThoseOfAll) {
  const std::string x =
      "input %x : f32[1,2,4,6]\nconst %roi : f32[4] = [0.125, 0.25, 0.75, 1.0]\n"
      "const %scales : f32[2] = [2.0, 1.5]\nconst %sizes : s64[2] = [9, 5]\n";
  auto graph = convert_from(x + "%y : ? = Resize(%x, %roi, %scales) {axes = [-1, 2], "
                                "coordinate_transformation_mode = \"tf_crop_and_resize\", mode = "
                                "\"linear\"}\noutput %y",
                            18, 17, "Resize");
  EXPECT_EQ(constant_of(*graph, 1), (std::vector<double>{0, 0, 0.25, 0.125, 1, 1, 1, 0.75}));
  EXPECT_EQ(constant_of(*graph, 2), (std::vector<double>{1, 1, 1.5, 2}));
  graph = convert_from(
      x + "%y : ? = Resize(%x, _, _, %sizes) {axes = [-1, 2], mode = \"linear\"}\noutput %y", 18,
      17, "Resize");
  EXPECT_EQ(constant_of(*graph, 3), (std::vector<double>{1, 2, 5, 9}));
}

TEST(ConvertOpset, IndicesOfABatchGetTheirPlacesInIt) {
  convert_from(
      "input %x : f32[2,3,4]\nconst %i : s64[2,3,1] = [0, 3, 1, 2, 2, 0]\n"
      "%y : ? = GatherND(%x, %i) {batch_dims = 2}\noutput %y",
      12, 11, "Concat GatherND");
  convert_from(
      "input %x : f32[2,3,4]\nconst %i : s64[2,2,2] = [0, 3, 1, 2, 2, 0, -1, 1]\n"
      "%y : ? = GatherND(%x, %i) {batch_dims = 1}\noutput %y",
      12, 11, "Concat GatherND");
}

TEST(ConvertOpset, CropsAndPadsOfOddSizesBeginWithTheSmallerHalf) {
  for (const std::string_view sizes : {"[2, 9]", "[5, 2]", "[3, 4]"})
    convert_from(fmt::format("input %x : f32[4,3,5]\nconst %s : s64[2] = {}\n"
                             "%y : ? = CenterCropPad(%x, %s) {{axes = [-1, 0]}}\noutput %y",
                             sizes),
                 18, 17, "Slice Pad");
}

// A conversion that is not possible, its opsets, and words of the message.
struct Refusal {
  std::string_view body;
  int opset;
  int64_t target;
  std::vector<std::string> parts;
};

TEST(ConvertOpset, EachSizeThatMustBeKnownIsNamed) {
  const Refusal cases[] = {
      {"input %x : f32[2,N]\n%a : ?, %b : ? = Split(%x) {axis = 1, num_outputs = 2}\n"
       "output %a\noutput %b",
       18,
       17,
       {"length of the axis must be known"}},
      {"input %x : f32[2,N]\n%y : ? = ArgMax(%x) {axis = 1, select_last_index = 1}\noutput %y",
       12,
       11,
       {"length of the axis must be known for select_last_index"}},
      {"input %x : f32[1,1,2,3]\ninput %s : f32[4]\n%y : ? = Resize(%x, %s)\noutput %y",
       10,
       11,
       {"the scales must be constant"}},
      {"input %x : f32[1,1,2,3]\ninput %s : f32[1]\n"
       "%y : ? = Resize(%x, _, %s) {axes = [2]}\noutput %y",
       18,
       17,
       {"the scales must be constant, all axes have one there"}},
      {"input %x : f32[0,3]\ninput %s : s64[2]\n"
       "%y : f32[?,?] = Reshape(%x, %s) {allowzero = 1}\noutput %y",
       14,
       13,
       {"input 1 ('s') must be a constant", "(allowzero)"}},
      {"input %x : f32[4,3]\ninput %s : s64[2]\n%y : f32[?,?] = CenterCropPad(%x, %s)\noutput %y",
       18,
       17,
       {"'s'", "what is cropped and padded is fixed there"}},
      {"input %t : f32[1,2,3]\ninput %s : s64[4]\n"
       "%y : f32[?,?,?,2] = AffineGrid(%t, %s)\noutput %y",
       20,
       19,
       {"'s'", "the grid is fixed there"}},
      {"input %x : f32[2,8,2]\ninput %a : s64[]\n%y : f32[?,?,2] = DFT(%x, _, %a)\noutput %y",
       20,
       19,
       {"'a'", "attribute 'axis'"}},
      {"input %x : f32[2,3]\ninput %p : s64[2]\nconst %a : s64[1] = [1]\n"
       "%y : f32[?,?] = Pad(%x, %p, _, %a)\noutput %y",
       18,
       17,
       {"'p'", "all axes are padded there"}},
  };
  for (const Refusal& c : cases) {
    SCOPED_TRACE(c.body);
    expect_refusal(c.body, c.opset, c.target, c.parts);
  }
}

TEST(ConvertOpset, EachModeThatOlderOpsetsLackIsNamed) {
  const Refusal cases[] = {
      {"input %x : f32[3,3]\n%y : ? = Einsum(%x) {equation = \"ii->i\"} \"e\"\noutput %y",
       12,
       11,
       {"Einsum node 'e'", "takes the diagonal of operand 0 ('ii')"}},
      {"input %x : f32[1,1,4,6]\nconst %s : f32[4] = [1.0, 1.0, 0.5, 0.5]\n"
       "%y : ? = Resize(%x, _, %s) {antialias = 1, mode = \"linear\"}\noutput %y",
       18,
       17,
       {"it has no antialias there"}},
      {"input %x : f32[1,1,4,6]\nconst %s : s64[4] = [1, 1, 2, 5]\n"
       "%y : ? = Resize(%x, _, _, %s) {axes = [0, 1, 2, 3], keep_aspect_ratio_policy = "
       "\"not_larger\"}\noutput %y",
       18,
       17,
       {"it has no keep_aspect_ratio_policy there"}},
      {"input %x : f32[1,1,4,6]\nconst %s : f32[4] = [1.0, 1.0, 0.5, 0.5]\n"
       "%y : ? = Resize(%x, _, %s) {coordinate_transformation_mode = \"half_pixel_symmetric\"}\n"
       "output %y",
       19,
       18,
       {"it has no half_pixel_symmetric there"}},
      {"input %x : f32[2,3]\nconst %t : bool[] = true\n"
       "%y : ? = Dropout(%x, _, %t)\noutput %y",
       12,
       11,
       {"it may drop at random (training_mode)"}},
      {"input %x : f32[4]\nconst %p : s64[2] = [1, 1]\n"
       "%y : ? = Pad(%x, %p) {mode = \"wrap\"}\noutput %y",
       19,
       18,
       {"it has no mode 'wrap' there"}},
      {"input %x : f32[0,3]\nconst %s : s64[2] = [3, 0]\n"
       "%y : ? = Reshape(%x, %s) {allowzero = 1}\noutput %y",
       14,
       13,
       {"that opset has no allowzero"}},
      {"input %x : f32[1,1,4,4]\ninput %r : f32[2,4]\nconst %b : s64[2] = [0, 0]\n"
       "%y : ? = RoiAlign(%x, %r, %b) {coordinate_transformation_mode = \"half_pixel\"}\noutput %y",
       16,
       15,
       {"coordinates are output_half_pixel there"}},
      {"input %x : f32[1,1,3,3,3]\ninput %g : f32[1,2,2,2,3]\n"
       "%y : ? = GridSample(%x, %g)\noutput %y",
       20,
       19,
       {"it takes images alone there"}},
      {"input %x : f32[4]\nconst %i : s64[2] = [0, 1]\ninput %u : f32[2]\n"
       "%y : ? = ScatterElements(%x, %i, %u) {reduction = \"max\"}\noutput %y",
       18,
       17,
       {"it has no reduction 'max' there"}},
      {"input %x : f32[4]\nconst %i : s64[2,1] = [0, 1]\ninput %u : f32[2]\n"
       "%y : ? = ScatterND(%x, %i, %u) {reduction = \"min\"}\noutput %y",
       18,
       17,
       {"it has no reduction 'min' there"}},
  };
  for (const Refusal& c : cases) {
    SCOPED_TRACE(c.body);
    expect_refusal(c.body, c.opset, c.target, c.parts);
  }
}

TEST(ConvertOpset, HostileConstantsAreRefused) {
  const std::string size = "larger than 16777216 elements";
  expect_refusal("input %x : f32[100000,100000]\n%y = Trilu(%x)\noutput %y", 14, 13, {size});
  expect_refusal(
      "input %x : f32[1,2,3]\nconst %s : s64[4] = [1, 3, 1000000, 1000000]\n"
      "%y = AffineGrid(%x, %s)\noutput %y",
      20, 19, {size});
  expect_refusal("input %x : f32[2]\nconst %r : f32[0] = []\n%y = Dropout(%x, %r)\noutput %y", 13,
                 11, {"ratio has 0 elements, expected one"});
}

}  // namespace
}  // namespace poprt::opsets
