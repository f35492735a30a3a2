// The exact messages for invalid text. An @ in the text marks the position that the message must
// state.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verifier.h"

namespace poprt::ir {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    parse_text(text);
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}

struct Case {
  std::string text;
  std::string expected;
};

// Checks the message, and the line and column of the @.
void expect_parser_message(const Case& c) {
  const size_t at = c.text.find('@');
  ASSERT_NE(at, std::string::npos) << c.text;
  std::string text = c.text;
  text.erase(at, 1);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // 0 where there is none
  EXPECT_EQ(refusal_of(text),
            fmt::format("line {} column {}: {}", line + 1, at - begin + 1, c.expected))
      << c.text;
}

void expect_parser_message_in_body(const std::vector<Case>& cases) {
  for (const Case& c : cases) expect_parser_message({"graph \"g\" {\n " + c.text, c.expected});
}

TEST(TextParser, KeepsTheSymbolsOfTypes) {
  const auto g = parse_text(
      "graph \"g\" {\n  input %x : f32[N=2] = [1.0, 2.0]\n  const %w : f32[M=1] = [3.0]\n"
      "  input %y : f32[2,?]\n}\n");
  EXPECT_EQ(g->find("x")->type.symbols, std::vector<std::string>{"N"});
  EXPECT_EQ(g->find("w")->type.symbols, std::vector<std::string>{"M"});
  EXPECT_TRUE(g->find("y")->type.symbols.empty());
}

TEST(TextParser, OfHeads) {
  for (const Case& c : std::vector<Case>{
           {"@", "expected 'graph', found the end of the text"},
           {"\n\n  @x", "expected 'graph', found \"x\""},
           {"@graphs \"g\" {}", "expected 'graph', found \"graphs\""},
           {"graph @{}", "expected '\"', found \"{\""},
           {"graph @\"g", "this string has no closing quote"},
           {"graph \"g\" @(", "expected '{', found \"(\""},
           {"graph \"g\" opset {\"a\": 1, @\"a\": 2} {}", "\"a\" occurs twice"},
           {"graph \"g\" metadata {\"a\": \"1\",\n @\"a\": \"2\"} {}", "\"a\" occurs twice"},
           {"graph \"g\" opset {\"a\" @1} {}", "expected ':', found \"1\""},
           {"graph \"g\" opset {\"a\": @x} {}", "expected an integer of 64 bits, found \"x\""},
           {"graph \"g\" opset {\"a\": 1 @\"b\": 2} {}", "expected '}', found \"\\\"\""},
           {"graph \"g\" metadata {\"k\": @1} {}", "expected '\"', found \"1\""},
           {"graph \"g\" {} @x", "expected the end of the text after the graph, found \"x\""},
           {"graph \"\\@q\" {}",
            "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"},
           {"graph \"\\@x4", "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"},
           {"graph \"\\@x", "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"},
           {"graph \"\\@", "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"},
           {"graph \"\\xg@0\" {}",
            "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"},
           {"graph \"\\x0@g\" {}",
            "unknown escape in a string: expected \\\" \\\\ \\n \\r \\t or \\xHH"}})
    expect_parser_message(c);
}

TEST(TextParser, OfLines) {
  const std::string line = "expected 'input', 'const', 'output', a node or '}', found ";
  expect_parser_message_in_body({
      {"@", line + "the end of the text"},
      {"@nothing }", line + "\"nothing\""},
      {"@inputs %x : f32[] }", line + "\"inputs\""},
      {"# words\n\t@constant }", line + "\"constant\""},
      {"@01234567890123456789012 }", line + "\"01234567890123456789\""},
      {"@\xff }", line + "\"\\xff\""},
      {"input @x : f32[] }", "expected '%', found \"x\""},
      {"input %@ : f32[] }", "expected a value name, found \" \""},
      {"input %\"\"@ : f32[] }", "a value name is empty"},
      {"input %x : f32[] input @%x }", "the name \"x\" is taken"},
      {"const %c : f32[] @1.0 }", "expected '=', found \"1.0\""},
      {"const %c =@ 1.0 }", "a constant needs an element type"},
      {"const %c : ? =@ 1.0 }", "a constant needs an element type"},
      {"input %c : ? =@ 1.0 }", "a constant needs an element type"},
      {"output @_ }", "expected a value of this graph as an output"},
      {"output @x }", "expected '%', found \"x\""},
      {"input %x : f32[] () = Op() {b = graph \"b\" { output @%x }} }",
       "expected a value of this graph as an output"},
  });
}

TEST(TextParser, OfNodes) {
  expect_parser_message_in_body({
      {"%y = Relu(@%nothing) }", "no value \"nothing\" is defined above"},
      {"%y = Relu(@nothing) }", "expected '%', found \"nothing\""},
      {"%y = Relu(@_x) }", "expected '%', found \"_x\""},
      {"%y = Relu(@,) }", "expected '%', found \",\""},
      {"input %x : f32[] %y = Relu(@%^x) }", "no value \"x\" is defined above"},
      {"input %x : f32[] %y = Relu(%^@^x) }", "expected a value name, found \"^\""},
      {"input %x : f32[] %y = Relu(%x @%x) }", "expected ')', found \"%\""},
      {"%y = Relu @%x }", "expected '(', found \"%\""},
      {"(@%x) = Op() }", "expected ')', found \"%\""},
      {"%y @Relu() }", "expected '=', found \"Relu\""},
      {"%y = @1a() }", "expected an operator, found \"1a\""},
      {"%y = @() }", "expected an operator, found \"(\""},
      {"%y = a.@() }", "expected an operator, found \"(\""},
      {"%y = \"\"@() }", "an operator has no name"},
      {"@%a : f32[], %a = Op() }", "two outputs of this node are named \"a\""},
      {"%b = Op()\n  @%a, %c, %a = Op() \"n\" }", "two outputs of this node are named \"a\""},
  });
}

TEST(TextParser, OfAttributes) {
  const std::string value = "expected an attribute value, found ";
  const std::string type = "expected an element type such as f32 or s64, found ";
  const std::string number = "expected an element of type f32, found ";
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"@= 1", "expected an attribute, found \"=\""},
           {"a @1", "expected '=', found \"1\""},
           {"a = 1, @a = 2", "the attribute \"a\" occurs twice"},
           {"a = 1 @b = 2", "expected '}', found \"b\""},
           {"a = @", value + "\"}\""},
           {"a = @1x", value + "\"1x\""},
           {"a = @-x", value + "\"-x\""},
           {"a = @+1", value + "\"+\""},
           {"a = @1e", number + "\"1e\""},
           {"a = @1.5.2", number + "\"1.5.2\""},
           {"a = @nano", number + "\"nano\""},
           {"a = @true", type + "\"true\""},
           {"a = @info", type + "\"info\""},
           {"a = @a", type + "\"a\""},
           {"a = @z", type + "\"z\""},
           {"a = @A", type + "\"A\""},
           {"a = @Z", type + "\"Z\""},
           {"a = @_", type + "\"_\""},
           {"a = @[]", "an empty list needs its type: ints [], floats [] or strings []"},
           {"a = [\"a\", @1]", "expected '\"', found \"1\""},
           {"a = [1, @\"a\"]", value + "\"\\\"\""},
           {"a = [1.5, @x]", value + "\"x\""},
           {"a = [1, 2.5, @]", value + "\"]\""},
           {"a = [1 @2]", "expected ']', found \"2\""},
           {"a = [1, @1e400]", number + "\"1e400\""},
           {"a = ints @1", "expected '[', found \"1\""},
           {"a = ints [1, @1.5]", "expected an integer of 64 bits, found \"1.5\""},
           {"a = ints [@9223372036854775808]",
            "expected an integer of 64 bits, found \"9223372036854775808\""},
           {"a = floats [1, @x]", number + "\"x\""},
           {"a = strings [@1]", "expected '\"', found \"1\""},
           {"a = tensors [@1]", "expected a type, found \"1\""},
           {"a = graphs [@1]", "expected 'graph', found \"1\""},
           {"a = s64[2] [1]@", "s64[2] needs 2 elements, found 1"}})
    expect_parser_message_in_body({{"%y = Op() {" + text + "} }", expected}});
}

TEST(TextParser, OfTypes) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"@1", "expected a type, found \"1\""},
           {"@f99[2]", "expected an element type such as f32 or s64, found \"f99\""},
           {"f32 @}", "expected '[', found \"}\""},
           {"f32[*@2]", "expected ']', found \"2\""},
           {"f32[2 @3]", "expected ']', found \"3\""},
           {"f32[@-1]", "expected a dimension, found \"-1\""},
           {"f32[2, @]", "expected a dimension, found \"]\""},
           {"f32[N=@-1]", "a dimension is negative"},
           {"f32[N=@x]", "expected an integer of 64 bits, found \"x\""},
           {"f32[@99999999999999999999]",
            "expected an integer of 64 bits, found \"99999999999999999999\""}})
    expect_parser_message_in_body({{"input %x : " + text, expected}});
  EXPECT_EQ(type_string(parse_text("graph \"g\" { input %x : f32[N=0,9] }")->find("x")->type),
            "f32[0,9]");
}

TEST(TextParser, OfTensors) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"f32[2] = [1.0]@", "f32[2] needs 2 elements, found 1"},
           {"f32[2] = [1.0, 2.0, 3.0]@", "f32[2] needs 2 elements, found 3"},
           {"f32[2] = @1.0", "expected '[', found \"1.0\""},
           {"f32[] = @x", "expected an element of type f32, found \"x\""},
           {"u4[2] = [15, @16]", "expected an element of type u4, found \"16\""},
           {"u8[2] = hex @\"00\"", "u8[2] needs 2 bytes, found 1"},
           {"u8[2] = hex\"@000\"", "expected an even number of hex digits, found 3"},
           {"u8[2] = hex\"00@0g\"", "expected two hex digits, found \"0g\""},
           {"u8[2] = hex\"00@g0\"", "expected two hex digits, found \"g0\""},
           {"u8[2] = hex\"@00", "these hex digits have no closing quote"},
           {"u8[2] = hex @00", "expected '\"', found \"00\""},
           {"c64[1] = @[1.0]", "expected hex\"...\", found \"[\""},
           {"c64[1] = @fill 1", "expected hex\"...\", found \"fill\""},
           {"f32[2] = fill @x", "expected an element of type f32, found \"x\""},
           {"u8[1099511627776] = fill @0",
            "fill makes at most 268435456 bytes in one text, this tensor of 1099511627776 goes "
            "past "
            "that"},
           {"f32[N] =@ [1.0]", "a tensor needs a type with known dimensions, found f32[N]"},
           {"f32[*] =@ [1.0]", "a tensor needs a type with known dimensions, found f32[*]"},
           {"f32[2] = @<elided>", "this tensor was printed without its data: it cannot be parsed"},
           {"string[2] = [\"a\"]@", "string[2] needs 2 elements, found 1"},
           {"string[] = @1", "expected '\"', found \"1\""},
           {"string[1] = @\"a\"", "expected '[', found \"\\\"\""}})
    expect_parser_message_in_body({{"const %c : " + text, expected}});
}

TEST(TextParser, NodesOfTheStandardDomainHaveOneName) {
  const auto graph = parse_text(
      "graph \"g\" opset {\"ai.onnx\": 17} {input %x : f32[2] %y = ai.onnx.Relu(%x) "
      "%z = ai.onnx.ml.Normalizer(%y) output %z}");
  EXPECT_TRUE(graph->nodes()[0]->is("Relu"));
  EXPECT_EQ(graph->nodes()[0]->opset(), 17);
  EXPECT_EQ(graph->nodes()[1]->domain, "ai.onnx.ml");
}

TEST(TextParser, AFillMayReachTheLimit) {
  constexpr auto kMost = static_cast<int64_t>(kMaxFillBytes);
  const auto two = [](int64_t first, int64_t second) {
    return fmt::format("graph \"g\" {{ const %a : u8[{}] = fill 0 const %b : u8[{}] = fill 0 }}",
                       first, second);
  };
  EXPECT_EQ(refusal_of(two(kMost - 3, 3)), "taken");
  EXPECT_EQ(refusal_of(two(kMost, 0)), "taken");
  EXPECT_NE(refusal_of(two(kMost - 3, 4)), "taken");
  EXPECT_NE(refusal_of(two(kMost, 1)), "taken");
}

TEST(TextParser, ASubgraphTooDeepIsPointedAt) {
  std::string open, close;
  for (int i = 0; i <= kMaxSubgraphDepth; i++) {
    open += fmt::format("graph \"g\" {{ () = Op() {{a = {}", i == kMaxSubgraphDepth ? "@" : "");
    close += "} }";
  }
  expect_parser_message({open + "graph \"g\" { }" + close,
                         fmt::format("subgraphs are nested deeper than {}", kMaxSubgraphDepth)});
}

}  // namespace
}  // namespace poprt::ir
