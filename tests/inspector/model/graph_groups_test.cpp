// The groups made from names, as a tree; the text of attributes; the results of a search by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "ir/text.h"
#include "model/graph_model.h"

namespace poprt::inspector {
namespace {

GraphModel model_of(const std::string& body, const std::string& opsets = "\"\": 17") {
  return GraphModel(*ir::parse_text("graph \"g\" opset {" + opsets + "} {\n" + body + "\n}\n"));
}

// Returns "name{member member group{...}}" of a group, without terminals.
std::string tree(const GraphModel& g, int at = kRoot) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const int n : g.group(at).nodes)
    if (g.node(n).kind == NodeKind::op) add(g.node(n).name);
  for (const int c : g.group(at).groups) add(g.group(c).name + "{" + tree(g, c) + "}");
  return text;
}

// A chain of nodes with these operators and names.
std::string chain(const std::vector<std::pair<std::string, std::string>>& nodes) {
  std::string text = "input %v0 : f32[1]\n";
  for (size_t i = 0; i < nodes.size(); i++)
    text +=
        fmt::format("%v{} : f32[1] = {}(%v{}) \"{}\"\n", i + 1, nodes[i].first, i, nodes[i].second);
  return text + fmt::format("output %v{}", nodes.size());
}

std::string groups_of(const std::vector<std::pair<std::string, std::string>>& nodes) {
  return tree(model_of(chain(nodes)));
}

TEST(GraphGroups, AreThePartsOfNames) {
  EXPECT_EQ(groups_of({{"Op", "/a/x"}, {"Op", "/a/y"}, {"Op", "z"}}), "z a{/a/x /a/y}");
  EXPECT_EQ(groups_of({{"Op", "a.x"}, {"Op", "a.y"}, {"Op", "z"}}), "z a{a.x a.y}");
  EXPECT_EQ(groups_of({{"Op", "a.b/x"}, {"Op", "a.b/y"}, {"Op", "z"}}), "z a.b{a.b/x a.b/y}")
      << "dots are of a name that has slashes";
  EXPECT_EQ(groups_of({{"Op", "//a//x"}, {"Op", "a/y"}, {"Op", "z"}}), "z a{//a//x a/y}");
  EXPECT_EQ(groups_of({{"Op", "a/x"}, {"Op", "b/y"}, {"Op", "z"}}), "a/x b/y z")
      << "a group of one node is not useful";
  EXPECT_EQ(groups_of({{"Op", "a/x"}, {"Op", "a/b/y"}, {"Op", "a/b/z"}, {"Op", "w"}}),
            "w a{a/x b{a/b/y a/b/z}}");
  EXPECT_EQ(groups_of({{"Op", "a/b/y"}, {"Op", "a/b/z"}, {"Op", "w"}}), "w a/b{a/b/y a/b/z}")
      << "a group in a group with nothing else is one";
  EXPECT_EQ(groups_of({{"Op", "a/x"}, {"Op", "a/y"}}), "a/x a/y") << "one of everything";
  EXPECT_EQ(groups_of({{"Op", "m/a/x"}, {"Op", "m/a/y"}, {"Op", "m/b/x"}, {"Op", "m/b/y"}}),
            "a{m/a/x m/a/y} b{m/b/x m/b/y}")
      << "a prefix of every name";
}

TEST(GraphGroups, OfManyLevelsAreEight) {
  const std::string deep = "1/2/3/4/5/6/7/8/9/10/";
  const GraphModel g =
      model_of(chain({{"Op", deep + "x"}, {"Op", deep + "y"}, {"Op", "1/z"}, {"Op", "w"}}));
  EXPECT_EQ(tree(g), "w 1{1/z 2/3/4/5/6/7/8{" + deep + "x " + deep + "y}}");
  ASSERT_EQ(g.groups().size(), 3u);
  EXPECT_EQ(g.group(2).depth, 2);
  EXPECT_EQ(g.group(2).path, "1/2/3/4/5/6/7/8");
  EXPECT_EQ(g.group(1).all_nodes, 3u);
}

TEST(GraphGroups, NamesOfOperatorsMakeNoGroups) {
  EXPECT_EQ(groups_of({{"BatchNormalization", "a/batch_normalization/x"},
                       {"BatchNormalization", "a/BatchNormalization/y"},
                       {"Op", "z"}}),
            "z a{a/batch_normalization/x a/BatchNormalization/y}");
  EXPECT_EQ(groups_of({{"Conv", "p.Conv.1"}, {"Conv", "p.Conv.2"}, {"Op", "z"}}),
            "z p{p.Conv.1 p.Conv.2}");
  EXPECT_EQ(groups_of({{"Conv", "p.Conv2.1"}, {"Conv", "p.Conv2.2"}, {"Op", "z"}}),
            "z p/Conv2{p.Conv2.1 p.Conv2.2}")
      << "longer than the operator";
  EXPECT_EQ(groups_of({{"Conv", "p.Con.1"}, {"Conv", "p.Con.2"}, {"Op", "z"}}),
            "z p/Con{p.Con.1 p.Con.2}");
  EXPECT_EQ(groups_of({{"Conv", "Conv/p/1"}, {"Conv", "Conv/p/2"}, {"Op", "z"}}),
            "z Conv/p{Conv/p/1 Conv/p/2}")
      << "in front of a layer's name";
}

TEST(GraphGroups, NodesWithoutNamesAreCalledByTheirResults) {
  const GraphModel g = model_of(R"(input %x : f32[1]
%"a/y" : f32[1] = Relu(%x)
%"a/z" : f32[1] = Relu(%"a/y")
%w : f32[1] = Neg(%"a/z") "named"
() = Sink(%w)
output %"a/z")");
  EXPECT_EQ(tree(g), "named  a{a/y a/z}");
  EXPECT_EQ(g.find("named"), g.find("w")) << "also by its result";
  EXPECT_EQ(g.find("x"), 0);
  EXPECT_EQ(g.find("nothing"), kNone);
}

TEST(GraphGroups, ConstantsStayInTheGroupSharedByTheirReaders) {
  const auto place = [](const std::string& constant, const std::string& reader,
                        const std::string& other) {
    const GraphModel g = model_of(R"(input %x : f32[2]
const %w : f32[2] = [1.0, 2.0]
%c : f32[2] = Identity(%w, _) ")" +
                                  constant + R"("
%d : f32[2] = Neg(%c) "plain"
%a : f32[2] = Add(%x, %d) ")" + reader +
                                  R"("
%b : f32[2] = Mul(%a, %d) ")" + other +
                                  R"("
%e : f32[2] = Relu(%b) "l/m/e"
%f : f32[2] = Relu(%e) "l/f"
%h : f32[2] = Relu(%f) "k/f"
%i : f32[2] = Relu(%h) "k/g"
output %i)");
    return std::pair(g.group(g.node(g.find("c")).group).path,
                     g.group(g.node(g.find("plain")).group).path);
  };
  using Places = std::pair<std::string, std::string>;
  EXPECT_EQ(place("c", "l/m/a", "l/m/b"), Places("l/m", "l/m"));
  EXPECT_EQ(place("c", "l/m/a", "l/b"), Places("l", "l"));
  EXPECT_EQ(place("c", "l/m/a", "k/b"), Places("", ""));
  EXPECT_EQ(place("k/c", "l/m/a", "l/m/b"), Places("k", "l/m")) << "it has a group of its own";
  EXPECT_EQ(place("l/c", "l/m/a", "l/m/b"), Places("l/m", "l/m")) << "further inside";
}

TEST(GraphGroups, ConstantsDoNotGoIntoBodies) {
  const GraphModel g = model_of(R"(input %x : f32[2]
input %on : bool[]
const %w : f32[2] = [1.0, 2.0]
%c : f32[2] = Identity(%w)
%y : f32[2] = If(%on) {g = graph "b" { %n : f32[2] = Add(%x, %c) output %n }} "if"
output %y)");
  EXPECT_EQ(g.node(g.find("c")).group, kRoot);
  EXPECT_EQ(g.node(g.find("if")).weight_bytes, 0u);
  EXPECT_EQ(g.weight_bytes(), 8u);
}

TEST(GraphGroups, BodiesAreNumberedWhereTheyHaveNoName) {
  const GraphModel g = model_of(R"(input %x : f32[2]
%y : f32[2] = Op(%x) {gs = graphs [graph "" { %w : f32[2] = Neg(%x) output %w }, graph "named" { %z : f32[2] = Neg(%x) output %z }, graph "" { %u : f32[2] = Neg(%x) output %u }]} "n"
output %y)");
  std::vector<std::string> names;
  for (size_t i = 1; i < g.groups().size(); i++) {
    EXPECT_TRUE(g.group(static_cast<int>(i)).is_subgraph);
    names.push_back(g.group(static_cast<int>(i)).name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"n 0", "n named", "n 2"}));
}

TEST(GraphGroups, AttributesAreWords) {
  std::string long_list = "[";
  for (int i = 0; i < 65; i++) long_list += fmt::format("{}{}", i ? ", " : "", 0);
  const GraphModel g = model_of(
      "input %x : f32[1]\n%y : f32[1] = Op(%x) {a = -3, b = 1.5, c = \"q\\n\", d = f32[2,1] [1.0, "
      "2.0], e = [1, 2], f = [0.5], g = [\"u\", \"v\\t\"], h = tensors [u8[1] [1], u8[1] [2]], i = "
      "graph \"b\" { () = Op() () = Op() }, j = graphs [graph \"c\" { }], k = s64[] 4, l = " +
      long_list + "], m = \"" + std::string(399, 'm') + "\"} \"n\"\noutput %y");
  std::map<std::string, std::string> words;
  for (const auto& [key, text] : g.node(g.find("n")).attributes) words[key] = text;
  EXPECT_EQ(words["a"], "-3");
  EXPECT_EQ(words["b"], "1.5");
  EXPECT_EQ(words["c"], "\"q\\x0a\"");
  EXPECT_EQ(words["d"], "f32 2×1");
  EXPECT_EQ(words["e"], "[1, 2]");
  EXPECT_EQ(words["f"], "[0.5]");
  EXPECT_EQ(words["g"], "[u, v\\x09]");
  EXPECT_EQ(words["h"], "2 tensors");
  EXPECT_EQ(words["i"], "graph of 2 nodes");
  EXPECT_EQ(words["j"], "1 graphs");
  EXPECT_EQ(words["k"], "s64 scalar");
  std::string zeros;
  for (int i = 0; i < 64; i++) zeros += "0, ";
  EXPECT_EQ(words["l"], "[" + zeros + "… 65 in all]");
  // 401 bytes become 400 columns; the middle is left out.
  EXPECT_EQ(words["m"], "\"" + std::string(198, 'm') + "…" + std::string(199, 'm') + "\"");
}

TEST(GraphGroups, SizesOfValuesMatchTheirTypes) {
  const GraphModel g = model_of(R"(input %a : f32[2,3]
input %b : f32[2,N]
input %c : string[4]
input %d : f32[4611686018427387904,8]
input %e : u4[3]
const %w : f32[4] = fill 0.5
%y, %z = Op(%a, %b, %c, %d, %e, %w, _)
%u : f32[5] = Op(%w, %w)
output %y
output %u)");
  const auto value = [&](const char* name) -> const GraphValue& {
    for (const GraphValue& v : g.values())
      if (v.name == name) return v;
    ADD_FAILURE() << name;
    return g.values()[0];
  };
  EXPECT_EQ(value("a").bytes, 24u);
  EXPECT_EQ(value("b").bytes, 0u);
  EXPECT_EQ(value("c").bytes, 0u);
  EXPECT_EQ(value("d").bytes, 0u) << "absurd";
  EXPECT_EQ(value("e").bytes, 2u);
  EXPECT_EQ(value("w").bytes, 16u);
  EXPECT_EQ(value("y").bytes, 0u);
  const GraphNode& op = g.node(g.find("u"));
  EXPECT_EQ(op.output_bytes, 20u);
  EXPECT_EQ(op.weight_bytes, 32u) << "read twice";
  EXPECT_EQ(op.detail, "4  4");
  EXPECT_EQ(value("z").consumers.size(), 0u);
  EXPECT_EQ(g.edge_count(), 7u) << "an output is a reader";
  EXPECT_EQ(g.operator_counts(), (std::vector<std::pair<std::string, size_t>>{{"Op", 2}}));
}

TEST(GraphGroups, OperatorsAreCountedTheMostFrequentFirst) {
  const GraphModel g =
      model_of(chain({{"B", "1"}, {"C", "2"}, {"A", "3"}, {"C", "4"}, {"a.B", "5"}}));
  EXPECT_EQ(g.operator_counts(), (std::vector<std::pair<std::string, size_t>>{
                                     {"C", 2}, {"A", 1}, {"B", 1}, {"a.B", 1}}));
}

TEST(GraphGroups, DocumentationIsOfTheDomain) {
  const GraphModel g =
      model_of(chain({{"Relu", "r"}, {"ai.onnx.ml.Scaler", "s"}, {"no.Relu", "n"}}),
               "\"\": 13, \"ai.onnx.ml\": 1");
  EXPECT_EQ(g.documentation(g.find("r"))->since, 13);
  ASSERT_TRUE(g.documentation(g.find("s")));
  EXPECT_EQ(g.documentation(g.find("s"))->since, 1);
  EXPECT_FALSE(g.documentation(g.find("n")));
  EXPECT_FALSE(g.documentation(g.find("v0")));
  const GraphModel none = model_of(chain({{"Relu", "r"}}), "\"x\": 1");
  EXPECT_GE(none.documentation(none.find("r"))->since, 14) << "the newest";
}

// A group links to the group around it, even if the groups between them in the path do not exist.
TEST(GraphGroups, LinkToTheirParents) {
  for (const auto& [nodes, paths] :
       {std::pair{std::vector<std::pair<std::string, std::string>>{
                      {"Op", "a/b/y"}, {"Op", "a/b/z"}, {"Op", "w"}},
                  std::vector<std::string>{"a/b"}},
        {{{"Op", "m/a/x"}, {"Op", "m/a/y"}, {"Op", "m/b/x"}, {"Op", "m/b/y"}}, {"m/a", "m/b"}},
        {{{"Op", "a/b/c/y"}, {"Op", "a/b/c/z"}, {"Op", "a/b/d/y"}, {"Op", "a/b/d/z"}, {"Op", "w"}},
         {"a/b", "a/b/c", "a/b/d"}}}) {
    const GraphModel g = model_of(chain(nodes));
    ASSERT_EQ(g.groups().size(), paths.size() + 1);
    EXPECT_EQ(g.group(kRoot).all_nodes, g.nodes().size());
    EXPECT_EQ(g.group(kRoot).depth, 0);
    for (size_t i = 0; i < paths.size(); i++) {
      const GraphGroup& it = g.group(static_cast<int>(i) + 1);
      EXPECT_EQ(it.path, paths[i]);
      const GraphGroup& around = g.group(it.parent);
      EXPECT_EQ(it.depth, around.depth + 1) << it.path;
      EXPECT_NE(std::find(around.groups.begin(), around.groups.end(), static_cast<int>(i) + 1),
                around.groups.end())
          << it.path;
    }
  }
}

TEST(GraphGroups, NeighboursAreInOrderAndOnce) {
  const GraphModel g = model_of(R"(input %x : f32[1]
%a : f32[1] = Relu(%x) "a"
%b : f32[1] = Neg(%x) "b"
%c : f32[1], %d : f32[1] = Op(%b, %a, _, %b) "c"
%e : f32[1] = Mul(%d, %d) "e"
%f : f32[1] = Add(%d, %c) "f"
%h : f32[1] = Add(%c, %e) "h"
output %h)");
  const auto at = [&](const char* name) { return g.find(name); };
  EXPECT_EQ(g.predecessors(at("c")), (std::vector<int>{at("a"), at("b")}));
  EXPECT_EQ(g.successors(at("c")), (std::vector<int>{at("e"), at("f"), at("h")}));
  EXPECT_EQ(g.predecessors(at("e")), std::vector<int>{at("c")});
  EXPECT_EQ(g.successors(at("b")), std::vector<int>{at("c")});
}

TEST(GraphGroups, AWeightIsFoundAtItsReader) {
  const GraphModel g = model_of(R"(input %x : f32[2]
const %w : f32[2] = [1.0, 2.0]
%a : f32[2] = Relu(%x) "a"
%b : f32[2] = Add(%a, %w) "b"
%c : f32[2] = Mul(%b, %w) "c"
output %c)");
  EXPECT_EQ(g.find("w"), g.find("b")) << "the first of them";
  EXPECT_NE(g.find("w"), kNone);
}

// A card names the shapes of weights until they take 48 bytes.
TEST(GraphGroups, OfManyWeightsTheFirstAreNamed) {
  const auto detail = [](int64_t last) {
    std::string text = "input %x : f32[2]\n", operands = "%x";
    const std::string ones = "1,1,1,1,1";
    for (const std::string& shape : {ones, ones, ones, std::to_string(last), std::string("7")}) {
      const std::string name = fmt::format("%w{}", text.size());
      text += fmt::format("const {} : s8[{}] = fill 0\n", name, shape);
      operands += ", " + name;
    }
    const GraphModel g = model_of(text + "%y : f32[2] = Op(" + operands + ") \"n\"\noutput %y");
    return g.node(g.find("n")).detail;
  };
  const std::string three = "1×1×1×1×1  1×1×1×1×1  1×1×1×1×1  ";
  EXPECT_EQ(detail(12), three + "12  7");
  EXPECT_EQ(detail(123), three + "123");
}

// The first node of a graph without inputs may compute the weights of other nodes.
TEST(GraphGroups, TheFirstNodeMayComputeOnWeights) {
  const GraphModel g = model_of(R"(const %w : f32[2] = [1.0, 2.0]
%c : f32[2] = Identity(%w) "c"
%a : f32[2] = Neg(%c) "l/m"
%b : f32[2] = Mul(%a, %c) "l/n"
%d : f32[2] = Relu(%b) "k/d"
%e : f32[2] = Abs(%d) "k/e"
output %e)");
  ASSERT_EQ(g.find("c"), 0);
  EXPECT_EQ(g.group(g.node(0).group).path, "l");
}

}  // namespace
}  // namespace poprt::inspector
