#include "ir/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "ir/verifier.h"
#include "support/recorded_lines.h"

namespace poprt::ir {
namespace {

// The printer writes exactly this text.
constexpr std::string_view kExample =
    R"(graph "g" opset {"": 17, "com.example": 1} metadata {"k": "v"} {
  input %x : f32[N,3]
  const %w : f32[3,2] = [1.0, 2.0, 3.5, -0.0, 1e-10, inf]
  const %axis : s64[] = -1
  %y : f32[N,2] = MatMul(%x, %w)
  %z : f32[N,2], %rest : ? = com.example.Split(%y, _, %axis) {axis = 1, scale = 0.5} "node name"
  output %z
}
)";

Error error_of(std::string_view text) {
  try {
    parse_text(text);
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::ok, "no error");
}

void expect_error(std::string_view text, std::string_view place, std::string_view part) {
  const Error e = error_of(text);
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << text;
  EXPECT_TRUE(e.message().starts_with(place)) << e.message() << "\n" << text;
  EXPECT_NE(e.message().find(part), std::string::npos) << e.message() << "\n" << text;
}

std::string round_trip(const Graph& g, const TextOptions& options = {}) {
  const std::string text = to_text(g, options);
  EXPECT_EQ(to_text(*parse_text(text), options), text);
  return text;
}

TEST(Text, RoundTripsParsedText) { EXPECT_EQ(to_text(*parse_text(kExample)), kExample); }

TEST(Text, ParsesStructure) {
  const auto g = parse_text(kExample);
  EXPECT_EQ(g->name, "g");
  EXPECT_EQ(g->opsets.at(""), 17);
  EXPECT_EQ(g->metadata.at("k"), "v");
  ASSERT_EQ(g->node_count(), 2u);
  const Node* split = g->nodes()[1];
  EXPECT_TRUE(split->is("Split", "com.example"));
  EXPECT_EQ(split->name, "node name");
  EXPECT_EQ(split->input(1), nullptr);
  EXPECT_EQ(split->int_attr("axis", 0), 1);
  EXPECT_EQ(split->float_attr("scale", 0), 0.5f);
  EXPECT_EQ(g->find("x")->type.symbols, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(g->find("w")->constant().values<float>()[2], 3.5f);
  EXPECT_EQ(g->find("axis")->constant().values<int64_t>()[0], -1);
}

TEST(Text, SpaceAndCommentsDoNotMatter) {
  const auto g = parse_text(
      "# a comment\ngraph\"g\"{input%x:f32[2]# another } output\n%y=Relu(%x)output%y}\n# end");
  EXPECT_EQ(to_text(*g),
            "graph \"g\" {\n  input %x : f32[2]\n  %y : ? = Relu(%x)\n  output %y\n}\n");
}

TEST(Text, NamesOfAnyBytesRoundTrip) {
  Graph g("a \"graph\"\n\x01\xff");
  g.metadata["kéy \\"] = "välue\t\r";
  std::vector<Value*> all;
  for (const char* name : {"a/b.c-d_e", "a b", "x:0", "\"", "\\", "ünï", "%", "_", "0", "#"})
    all.push_back(g.add_input(name, ValueType::of(DType::f32, {1})));
  Node* n = g.add_node("odd op", "odd..domain", all);
  n->name = "n\"\\";
  n->attributes["odd key"] = int64_t{1};
  n->attributes["s"] = std::string("\0\xc3\x28", 3);
  g.add_output(n->output());
  round_trip(g);
  const auto back = parse_text(to_text(g));
  for (const Value* v : g.inputs()) EXPECT_NE(back->find(v->name()), nullptr) << v->name();
  EXPECT_EQ(back->name, g.name);
  EXPECT_EQ(back->metadata, g.metadata);
  EXPECT_EQ(back->nodes()[0]->op_type, "odd op");
  EXPECT_EQ(back->nodes()[0]->domain, "odd..domain");
  EXPECT_EQ(back->nodes()[0]->string_attr("s", ""), n->string_attr("s", ""));
}

TEST(Text, TypesRoundTrip) {
  for (const char* type : {"?", "f32[*]", "f32[]", "undefined[2,?]", "s4[N,?,3]",
                           "f8_143[N=4,\"batch + 1\",\"7\"=2]", "string[0]"}) {
    const std::string text = fmt::format("graph \"g\" {{\n  input %x : {}\n}}\n", type);
    EXPECT_EQ(to_text(*parse_text(text)), text);
  }
}

TEST(Text, AttributesOfAllKindsRoundTrip) {
  const std::string text = R"(graph "g" {
  %y : ? = Op() {f = 1.0, f_inf = -inf, f_nan = nan, f_odd_nan = nan:0xffc00001, floats = [1.5, 2.0], g = graph "sub" {
    const %c : f32[] = 1.0
    output %c
  }, graphs = graphs [graph "one" {
  }, graph "two" {
  }], i = -9223372036854775808, ints = [1, -2], no_floats = floats [], no_graphs = graphs [], no_ints = ints [], no_strings = strings [], no_tensors = tensors [], s = "text", strings = ["a", ""], t = f32[2] [1.0, 2.0], t_scalar = s64[] 3, tensors = tensors [u8[1] [1], string[2] ["a", "b"], undefined[] hex""]}
  output %y
}
)";
  const auto g = parse_text(text);
  EXPECT_EQ(to_text(*g), text);
  const Node* n = g->nodes()[0];
  EXPECT_EQ(std::get<std::vector<float>>(n->attributes.at("no_floats")).size(), 0u);
  EXPECT_EQ(std::get<std::vector<Tensor>>(n->attributes.at("tensors"))[1].string_values()[1], "b");
  EXPECT_EQ(std::bit_cast<uint32_t>(n->float_attr("f_odd_nan", 0)), 0xffc00001u);
}

TEST(Text, AListWithAFloatIsFloats) {
  const auto g = parse_text("graph \"g\" { %y = Op() {a = [1, 2.5, 3]} }");
  EXPECT_EQ(g->nodes()[0]->floats_attr("a"), (std::vector<float>{1, 2.5f, 3}));
}

// Tensors of every element type with random bits, which include NaN payloads and invalid booleans.
TEST(Text, TensorsRoundTripBitForBit) {
  std::mt19937 random(3);
  for (int d = 1; d < kDTypeCount; d++) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::string) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{2, 3}, Shape{100}}) {
      Graph g;
      Tensor t = Tensor::zeros(dtype, shape);
      auto* p = static_cast<uint8_t*>(t.mutable_data());
      for (uint64_t i = 0; i < t.bytes(); i++) p[i] = static_cast<uint8_t>(random());
      g.add_constant("c", t);
      round_trip(g);
      const auto back = parse_text(to_text(g));
      EXPECT_TRUE(back->find("c")->constant().same_as(t)) << to_text(g);
    }
  }
}

TEST(Text, EveryCodeOfNarrowFloatsRoundTrips) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz,
                            DType::f8e5m2, DType::f8e5m2fnuz, DType::f8_143, DType::f8_152}) {
    const int64_t count = dtype_bits(dtype) == 16 ? 65536 : 256;
    Tensor t = Tensor::zeros(dtype, {count});
    for (int64_t i = 0; i < count; i++) {
      if (dtype_bits(dtype) == 16)
        static_cast<uint16_t*>(t.mutable_data())[i] = static_cast<uint16_t>(i);
      else
        static_cast<uint8_t*>(t.mutable_data())[i] = static_cast<uint8_t>(i);
    }
    Graph g;
    g.add_constant("c", t);
    const auto back = parse_text(to_text(g, {.list_elements = count}));
    EXPECT_TRUE(back->find("c")->constant().same_as(t)) << dtype_name(dtype);
  }
}

TEST(Text, FloatsOfAllMagnitudesAreExact) {
  std::mt19937_64 random(5);
  Tensor f32 = Tensor::zeros(DType::f32, {5000}), f64 = Tensor::zeros(DType::f64, {5000});
  for (float& v : f32.mutable_values<float>())
    v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  for (double& v : f64.mutable_values<double>()) v = std::bit_cast<double>(random());
  f32.mutable_values<float>()[0] = std::numeric_limits<float>::denorm_min();
  f64.mutable_values<double>()[0] = std::numeric_limits<double>::denorm_min();
  Graph g;
  g.add_constant("a", f32);
  g.add_constant("b", f64);
  const auto back = parse_text(to_text(g, {.list_elements = 5000}));
  EXPECT_TRUE(back->find("a")->constant().same_as(f32));
  EXPECT_TRUE(back->find("b")->constant().same_as(f64));
}

TEST(Text, LargeTensorsPrintAsHexFillOrElided) {
  Graph g;
  Tensor t = Tensor::zeros(DType::u16, {3});
  t.mutable_values<uint16_t>()[1] = 0x1234;
  g.add_constant("a", t);
  g.add_constant("b", Tensor::of<float>({3}, {0.5f, 0.5f, 0.5f}));
  const TextOptions hex{.list_elements = 2};
  const std::string text = round_trip(g, hex);
  EXPECT_NE(text.find("%a : u16[3] = hex\"000034120000\""), std::string::npos) << text;
  EXPECT_NE(text.find("%b : f32[3] = fill 0.5"), std::string::npos) << text;
  const std::string elided = to_text(g, {.list_elements = 2, .large = TextOptions::Large::elide});
  EXPECT_NE(elided.find("%a : u16[3] = <elided>"), std::string::npos) << elided;
  expect_error(elided, "line 2", "without its data");
}

TEST(Text, InputsKeepTheirDefaults) {
  const std::string text = "graph \"g\" {\n  input %x : f32[N=2] = [1.0, 2.0]\n  output %x\n}\n";
  const auto g = parse_text(text);
  EXPECT_TRUE(g->find("x")->is_constant());
  EXPECT_EQ(to_text(*g), text);
}

TEST(Text, SubgraphsCaptureOuterValues) {
  const std::string text = R"(graph "g" {
  input %c : bool[]
  input %x : f32[2]
  %y : f32[2] = If(%c) {else_branch = graph "e" {
    %x : f32[2] = Neg(%^x)
    %z : f32[2] = Add(%x, %^x)
    %w : f32[2] = Inner() {body = graph "i" {
      %x : f32[2] = Sum(%^x, %^^x, %z, %c)
      output %x
    }}
    output %w
  }, then_branch = graph "t" {
    %t : f32[2] = Relu(%x)
    output %t
  }}
  output %y
}
)";
  const auto g = parse_text(text);
  EXPECT_EQ(to_text(*g), text);
  EXPECT_EQ(g->find("x")->uses().size(), 4u);
}

TEST(Text, NodesWithoutOutputsRoundTrip) {
  const std::string text = "graph \"g\" {\n  () = Sink()\n}\n";
  EXPECT_EQ(to_text(*parse_text(text)), text);
}

TEST(Text, ErrorsNameLineAndColumn) {
  expect_error("", "line 1 column 1:", "expected 'graph', found the end");
  expect_error("graph \"g\" {\n  input %x : f99[2]\n}", "line 2 column 14:", "\"f99\"");
  expect_error("graph \"g\" {\n  %y = Relu(%x)\n}", "line 2 column 13:", "no value \"x\"");
  expect_error("graph \"g\" {\n  const %c : f32[2] = [1.0]\n}", "line 2", "2 elements, found 1");
  expect_error("graph \"g\" {\n  const %c : u8[1] = [256]\n}", "line 2 column 23:", "u8");
  expect_error("graph \"g\" {\n  const %c : f16[1] = [1e9]\n}", "line 2 column 24:", "f16");
  expect_error("graph \"g\" {\n  input %x : ?\n  input %x : ?\n}", "line 3 column 9:", "taken");
  expect_error("graph \"g\" {\n  %a, %a = Op()\n}", "line 2 column 3:", "\"a\"");
  expect_error("graph \"g\" {\n  output %a\n}", "line 2 column 10:", "\"a\"");
  expect_error("graph \"g\" {\n} x", "line 2 column 3:", "end of the text");
  expect_error("graph \"g\" {\n  %y = Op() {a = 1, a = 2}\n}", "line 2 column 21:", "twice");
  expect_error("graph \"g\" opset {\"\": 1, \"\": 2} {}", "line 1 column 25:", "twice");
  expect_error("graph \"g\" {\n  %y = Op() {a = []}\n}", "line 2 column 18:", "empty list");
  expect_error("graph \"g\\q\" {}", "line 1", "escape");
  expect_error("graph \"g", "line 1 column 7:", "closing quote");
  expect_error("graph \"g\" {\n  const %c : u8[2] = hex\"0\"\n}", "line 2", "even number");
  expect_error("graph \"g\" {\n  const %c : u8[2] = hex\"00\"\n}", "line 2", "needs 2 bytes");
  expect_error("graph \"g\" {\n  const %c : undefined[] = hex\"\"\n}", "line 2", "element type");
  expect_error("graph \"g\" {\n  const %c : f32[N] = [1.0]\n}", "line 2", "known dimensions");
}

TEST(Text, HostileSizesAreErrors) {
  expect_error("graph \"g\" { const %c : f32[9223372036854775807,8] = fill 0.0 }", "line 1", "");
  expect_error("graph \"g\" { const %c : f64[9223372036854775807] = hex\"\" }", "line 1", "");
  expect_error("graph \"g\" { const %c : f32[4611686018427387904] = [1.0] }", "line 1", "");
  expect_error("graph \"g\" { const %c : u8[1099511627776] = fill 0 }", "line 1", "fill makes");
  expect_error(
      fmt::format("graph \"g\" {{ const %a : u8[{0}] = fill 0 const %b : u8[1] = fill 0 }}",
                  kMaxFillBytes + 1),
      "line 1", "fill makes");
  expect_error("graph \"g\" { input %x : f32[99999999999999999999] }", "line 1", "integer");
}

TEST(Text, FillsOfOneTextShareTheirLimit) {
  constexpr auto kMost = static_cast<int64_t>(kMaxFillBytes / 8);  // elements of f64
  const auto two = [](int64_t second) {
    return fmt::format(
        "graph \"g\" {{ const %a : f64[{}] = fill 0.0 const %b : f64[{}] = fill 0.0 }}", kMost - 3,
        second);
  };
  expect_error(two(4), "line 1", "fill makes");

  // The printed text can be parsed again: values that do not fit are not printed as a fill.
  Graph graph("g");
  graph.add_constant("a", Tensor::zeros(DType::f64, {kMost - 3}));
  graph.add_constant("b", Tensor::zeros(DType::f64, {3}));
  graph.add_constant("c", Tensor::zeros(DType::f64, {4}));
  const std::string printed = to_text(graph, {.list_elements = 2});
  EXPECT_NE(printed.find(fmt::format("%a : f64[{}] = fill 0.0", kMost - 3)), printed.npos);
  EXPECT_NE(printed.find("%b : f64[3] = fill 0.0"), printed.npos) << printed.substr(0, 300);
  EXPECT_NE(printed.find("%c : f64[4] = hex"), printed.npos) << printed.substr(0, 300);
}

TEST(Text, OperatorsHaveNames) {
  expect_error("graph \"g\" {\n  %y = \"\"()\n}", "line 2", "operator");
  expect_error("graph \"g\" {\n  %y = a.\"\"()\n}", "line 2", "operator");
}

TEST(Text, AnEscapeNeedsBothItsDigits) {
  expect_error("graph \"\\x4", "line 1", "");
  expect_error("graph \"\\x4\"", "line 1", "");
  expect_error("graph \"\\xg0\" {}", "line 1", "escape");
  EXPECT_EQ(parse_text("graph \"\\x41\" {}")->name, "A");
}

TEST(Text, NestingIsLimited) {
  const auto nested = [](int depth) {
    std::string open, close;
    for (int i = 0; i < depth; i++) {
      open += "graph \"g\" { () = Op() {a = ";
      close += "} }";
    }
    return open + "graph \"g\" { }" + close;
  };
  EXPECT_EQ(error_of(nested(kMaxSubgraphDepth)).code(), ErrorCode::ok);
  expect_error(nested(kMaxSubgraphDepth + 1), "line 1", "nested deeper");
  expect_error(nested(100000), "line 1", "nested deeper");
}

// Each character of a good text is replaced, removed and doubled: the result is a graph or an
// Error(invalid_argument). The messages, and the sizes of the graphs, are recorded.
TEST(Text, RecordedAnswersToEveryCharacterChanged) {
  const std::string whole = std::string(kExample).replace(kExample.rfind("  output"), 0, R"(
  const %h : f16[2] = hex"003c0040"
  const %f : s8[3,1] = fill -2
  const %t : string[2] = ["a\"b", "\x41\n"]
  const %b : bool[2] = [true, false]
  const %e : f32[0] = []
  %many : s64[2,?], %more : ? = local.Many(%b, %t) {a = [1, 2], f = [1.5, -2.0], s = "text", l = ["x", "y"], t = s64[2] [3, 4], ts = tensors [u8[1] [1], string[1] ["a"]], gs = graphs [graph "one" {}], g = graph "in" { input %i : f32[] %o : f32[] = Neg(%i) output %o }, big = 9223372036854775807} "many"
)");
  test::MessageCounts error_text;
  std::set<std::string> graphs;
  const auto add = [&](const std::string& text) {
    try {
      const auto graph = parse_text(text);
      const std::string printed = to_text(*graph);
      graphs.insert(printed);
      error_text.add(fmt::format("taken: {} nodes, {} values, {} characters", graph->node_count(),
                                 graph->values().size(), printed.size()));
    } catch (const Error& e) {
      error_text.add(e.message());
    }
  };
  ASSERT_NO_THROW(parse_text(whole));
  for (size_t i = 0; i < whole.size(); i++) {
    for (const char other : std::string_view("(){}[]%:=,\"_?-.0e7xf \\#\n")) {
      std::string text = whole;
      text[i] = other;
      add(text);
    }
    add(whole.substr(0, i));
    add(whole.substr(0, i) + whole.substr(i + 1));
    add(whole.substr(0, i + 1) + whole.substr(i));
  }
  test::RecordedLines found;
  error_text.write(found["text"]);
  found["graphs"].insert(std::to_string(graphs.size()));
  // The record contains the part of a message before the damaged text.
  const auto message_of = [](const std::string& line) {
    const std::string message = test::counted_message_of(line);
    return message.substr(0, message.find(", found "));
  };
  test::expect_digests(found, POPRT_TEST_DATA "/text_refusals.txt",
                       "Messages for damaged text of graphs: text_test.cpp.", message_of);
}

TEST(Text, MutatedTextNeverCrashes) {
  const std::string good[] = {
      std::string(kExample),
      R"(graph "g" { input %c : bool[] const %h : u16[3] = hex"000034120000"
        %y : f32[2] = If(%c) {b = graph "e" { %c : s4[3,N=2] = Neg(%^c) output %c },
        t = f16[2] [1.0, nan:0x7e01], l = tensors [string[1] ["a\n"]], e = ints []} "n"
        const %f : f64[10] = fill -1e300 output %y })",
  };
  const std::string_view pieces[] = {
      "graph", "{", "}",  "[",    "]",     "%",   "^",      "\"",
      "=",     "_", "-1", "fill", "hex\"", "f32", "nan:0x", "?",
      ",",     "(", ")",  ":",    "\\x",   "inf", "#",      "const %z : u8[999999] = fill 1"};
  std::mt19937 random(11);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int parsed = 0;
  for (int round = 0; round < 20000; round++) {
    std::string text = good[below(std::size(good))];
    for (size_t edits = 1 + below(3); edits-- > 0 && !text.empty();) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, pieces[below(std::size(pieces))]); break;
        case 3: text.resize(at); break;
        default: text.insert(at, text.substr(below(text.size()), below(30)));
      }
    }
    try {
      const auto g = parse_text(text);
      parsed++;
      const std::string printed = to_text(*g);
      ASSERT_EQ(to_text(*parse_text(printed)), printed) << text;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::invalid_argument) << e.message() << "\n" << text;
      ASSERT_TRUE(e.message().starts_with("line ")) << e.message() << "\n" << text;
    }
  }
  EXPECT_GT(parsed, 100) << "some mutations are harmless";
}

}  // namespace
}  // namespace poprt::ir
