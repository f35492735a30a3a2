// Several models, and one model at several shapes, that are each cut for several IPUs.
#include "compiler/variants.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/log.h"
#include "compiler/variable_weights.h"
#include "core/compiler/flow/support.h"
#include "ir/placement.h"
#include "program/link.h"
#include "program/shards.h"
#include "support/random_graph/random_graph.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;
using program::Shards;
using program::shards_of;

Options automatic(int64_t ipus, bool pipelining = false) {
  Options o;
  o.num_ipus = ipus;
  o.virtual_graph = VirtualGraph::automatic;
  o.pipelining = pipelining;
  o.batches_per_step = ipus;
  return o;
}

std::string prefix(size_t k) { return fmt::format("graph{}/", k); }

Executable fused(std::vector<Executable> parts) {
  std::vector<std::string> names;
  for (size_t k = 0; k < parts.size(); k++) {
    for (auto* anchors : {&parts[k].program.inputs, &parts[k].program.outputs})
      for (program::Anchor& a : *anchors) a.name = prefix(k) + a.name;
    names.push_back(fmt::format("model{}", k));
  }
  return link_graphs(parts, names);
}

Tensor number(size_t k) { return Tensor::of<uint32_t>({1}, std::vector{static_cast<uint32_t>(k)}); }

// Returns the results of model `k`. The inputs of the other models are zeros.
Values run_variant(const Executable& e, size_t k, const Values& feeds, int threads) {
  Values all;
  for (const program::Anchor& a : e.program.inputs) all[a.name] = Tensor::zeros(a.dtype, a.shape);
  for (const auto& [name, t] : feeds) all[prefix(k) + name] = t;
  all["index"] = number(k);
  Values own;
  for (auto& [name, t] : test::run_executable(e, all, threads))
    if (name.starts_with(prefix(k))) own[name.substr(prefix(k).size())] = t;
  return own;
}

Executable compiled(const test::RandomGraph& g, const Options& options) {
  const test::RandomGraph copy = test::copy_of(g);
  convert(*copy.graph, options);
  return compile(*copy.graph, options);
}

// Random models, cut according to `i`: on one IPU, by the work, or each node on any IPU.
Executable cut_somehow(const test::RandomGraph& g, unsigned i) {
  if (i % 3 == 0) return compiled(g, {});
  if (i % 3 == 1) return compiled(g, automatic(2 + i % 2, i % 5 == 1));
  const test::RandomGraph copy = test::copy_of(g);
  std::mt19937 rng(i);
  for (ir::Node* n : copy.graph->nodes()) ir::set_seat(*n, {static_cast<int64_t>(rng() % 3), -1});
  Options o = automatic(3);
  o.virtual_graph = VirtualGraph::manual;
  convert(*copy.graph, o);
  return compile(*copy.graph, o);
}

class FusedProfiles : public testing::TestWithParam<std::string_view> {};

TEST_P(FusedProfiles, FusedModelsOnSeveralIpusGiveTheResultsOfOne) {
  int compared = 0;
  for (unsigned i = 0; i < 12; i++) {
    std::vector<Executable> alone, parts;
    std::vector<test::Feeds> feeds;
    for (unsigned k = 0; k < 3; k++) {
      test::Choices choices(11000 + 3 * i + k);
      const test::RandomGraph g = test::random_graph(GetParam(), choices);
      try {
        Executable one = compiled(g, {});
        parts.push_back(cut_somehow(g, i + k));
        alone.push_back(std::move(one));
        feeds.push_back(g.feeds);
      } catch (const Error&) {  // shard_test.cpp tests the refusals
      }
    }
    if (parts.size() < 2) continue;
    const Executable e = fused(parts);
    int64_t ipus = 1;
    for (const Executable& part : parts) ipus = std::max(ipus, program::ipus_of(part.program));
    EXPECT_EQ(program::ipus_of(e.program), ipus);
    for (size_t k = 0; k < parts.size(); k++) {
      const Values wanted = test::run_executable(alone[k], feeds[k]);
      for (const int threads : {1, 3}) {
        const Values got = run_variant(e, k, feeds[k], threads);
        ASSERT_EQ(got.size(), wanted.size());
        for (const auto& [name, t] : wanted)
          EXPECT_TRUE(t.same_as(got.at(name))) << GetParam() << " " << i << ": " << k << name;
      }
      compared++;
    }
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(Linked, FusedProfiles,
                         testing::ValuesIn(test::profiles().begin(), test::profiles().end()),
                         [](const auto& info) { return std::string(info.param); });

// x -> MatMul ... -> y, in `count` steps; `rows` x 16.
std::string products(int count, int64_t rows, float weight) {
  std::string values;
  for (int i = 0; i < 256; i++)
    values += fmt::format("{}{}", i ? ", " : "", weight + 0.125f * static_cast<float>(i % 5));
  std::string body =
      fmt::format("input %x0 : f32[{},16]\nconst %w : f32[16,16] = [{}]\n", rows, values);
  for (int i = 0; i < count; i++)
    body += fmt::format("%m{} = MatMul(%x{}, %w)\n%x{} = Tanh(%m{})\n", i, i, i + 1, i);
  return body + fmt::format("output %x{}\n", count);
}

TEST(LinkedVariants, AnIpuHasThePartsOfAllModelsInOneMemory) {
  std::vector<Executable> parts;
  parts.push_back(compile_body(products(6, 64, 0.1f), automatic(2)));
  parts.push_back(compile_body(products(6, 8, 0.2f), automatic(3)));
  parts.push_back(compile_body(products(2, 16, 0.3f)));
  uint64_t largest = 0, weights = 0;
  for (const Executable& part : parts) {
    largest = std::max(largest, part.program.arena_bytes);
    weights += part.program.weights_bytes;
  }
  const Executable e = fused(parts);
  const Shards s = shards_of(e.program);
  ASSERT_EQ(s.shards.size(), 3u);
  EXPECT_FALSE(s.pipelined);
  // Only values of the second model are transferred between IPUs 1 and 2.
  ASSERT_EQ(s.transfers.size(), 2u);
  EXPECT_EQ(s.transfers[0].bytes, 64u * 16 * 4) << "the larger of both";
  EXPECT_EQ(s.transfers[1].bytes, 8u * 16 * 4);
  EXPECT_LE(e.program.arena_bytes, largest + 8 * 16 * 4 * 4);
  EXPECT_LE(e.program.weights_bytes, weights);
  const auto note = nlohmann::json::parse(e.notes.at(program::kShards));
  EXPECT_EQ(note["ipus"], 3);
  EXPECT_EQ(note["shards"].size(), 3u);
}

// A small model shares the IPUs of a large one: it uses as many as it has nodes for.
TEST(LinkedVariants, AModelOfFewerNodesThanIpusTakesFewer) {
  for (const bool pipelined : {false, true})
    for (const int steps : {0, 1, 6}) {
      Options o = automatic(4, pipelined);
      o.fewer_ipus = true;
      const std::string small =
          steps ? products(steps, 2, 0.5f) : std::string("input %x0 : f32[2,16]\noutput %x0\n");
      std::vector<Executable> parts, alone;
      for (const std::string& text : {products(8, 2, 0.25f), small}) {
        parts.push_back(compile_body(text, o));
        alone.push_back(compile_body(text));
      }
      const Executable e = fused(parts);
      EXPECT_EQ(program::ipus_of(e.program), 4);
      const Values feeds = {{"x0", Tensor::of<float>({2, 16}, std::vector<float>(32, 0.75f))}};
      for (const size_t k : {0, 1})
        for (const auto& [name, t] : test::run_executable(alone[k], feeds))
          EXPECT_TRUE(t.same_as(run_variant(e, k, feeds, 1).at(name))) << steps << name;
    }
}

TEST(LinkedVariants, AStageHasThePartsOfAllModels) {
  const Executable e = fused(
      {compile_body(products(6, 4, 0.1f), automatic(2, true)), compile_body(products(2, 4, 0.3f))});
  const Shards s = shards_of(e.program);
  ASSERT_EQ(s.shards.size(), 2u);
  EXPECT_TRUE(s.pipelined);
  EXPECT_EQ(s.shards[1].stage, 1);
}

TEST(LinkedVariants, StateOfModelsOnSeveralIpusIsEachOnesOwn) {
  const auto cache = [](const char* ipu) {  // named, as nodes of converted models are
    return test::compile_text(
        fmt::format(
            "graph \"g\" opset {{\"\": 17, \"ai.graphcore\": 1}} {{\n input %step : s32[]\n"
            " input %x : f32[2,1]\n %a = Neg(%x) {{__ipu_number = 0}}\n"
            " %k = ai.graphcore.KVCache(%step, %a) {{max_len = 3, sequence_axis = 1, "
            "__ipu_number = {0}}} \"cache\"\n %y = Relu(%k) {{__ipu_number = 1}}\n output %y\n}}\n",
            ipu),
        [] {
          Options o = automatic(2);
          o.virtual_graph = VirtualGraph::manual;
          return o;
        }());
  };
  const Executable e = fused({cache("1"), cache("1"), cache("0")});
  std::vector<uint64_t> states;
  for (const program::Shard& s : shards_of(e.program).shards) states.push_back(s.state_bytes);
  EXPECT_EQ(states, (std::vector<uint64_t>{64, 128}));
}

// The program's anchors are as large as the largest shape; each variant uses their beginning.
TEST(LinkedVariants, ShapesOnSeveralIpusGiveTheResultsOfOne) {
  const auto at = [](int64_t rows, const Options& options) {
    return compile_body(products(5, rows, 0.1f), options);
  };
  for (const bool pipelining : {false, true}) {
    std::vector<Executable> parts;
    for (const int64_t rows : {1, 3, 8}) parts.push_back(at(rows, automatic(2, pipelining)));
    const Executable e = link_shapes(parts, {}, {{"x0", {}}}, nullptr);
    EXPECT_EQ(shards_of(e.program).shards.size(), 2u);
    EXPECT_EQ(nlohmann::json::parse(e.notes.at(program::kShards))["ipus"], 2);
    const int64_t rows[] = {1, 3, 8};
    for (size_t k = 0; k < 3; k++) {
      const Tensor x = floats({rows[k], 16});
      const Values wanted = run(at(rows[k], {}), {{"x0", x}});
      Tensor padded = Tensor::zeros(DType::f32, {8, 16});
      std::copy_n(x.values<float>().data(), rows[k] * 16, padded.mutable_values<float>().data());
      const Values got = run(e, {{"x0", padded}, {std::string(program::kBucketIndex), number(k)}});
      for (int64_t i = 0; i < rows[k] * 16; i++)
        ASSERT_EQ(values(got.at("x5"))[static_cast<size_t>(i)],
                  values(wanted.at("x5"))[static_cast<size_t>(i)]);
    }
  }
}

// y = [a; a] along the second axis, f = all of a in a row, of [batch, length].
std::vector<Executable> at_shapes(const std::vector<Shape>& shapes, const char* body) {
  std::vector<Executable> parts;
  for (const Shape& s : shapes)
    parts.push_back(compile_body(fmt::format("input %a : f32[{},{}]\n{}", s[0], s[1], body)));
  return parts;
}

OutputShapes shapes_of(const char* body) {
  return [body](const std::map<std::string, Shape>& inputs) {
    std::map<std::string, Shape> shapes;
    const auto parts = at_shapes({inputs.at("a")}, body);
    for (const program::Anchor& y : parts[0].program.outputs) shapes[y.name] = y.shape;
    return shapes;
  };
}

// At two shapes 8 and 16 may be 8 times the batch, or twice the length.
TEST(LinkedVariants, AnOutputFollowsTheSizeThatDecidesIt) {
  constexpr const char* kTwice = "%y = Concat(%a, %a) {axis = 1}\noutput %y\n";
  const Executable e =
      link_shapes(at_shapes({{1, 4}, {2, 8}}, kTwice), {}, {{"a", {}}}, shapes_of(kTwice));
  const auto y = nlohmann::json::parse(e.notes.at(kVariants))["outputs"]["y"]["shape"];
  EXPECT_EQ(y[0], "a:0");
  EXPECT_EQ(y[1]["of"], "a:1");
  EXPECT_EQ(y[1]["times"], 2);
}

nlohmann::ordered_json noted(const std::vector<Shape>& shapes, const char* body,
                             const Symbols& symbols = {},
                             const std::map<std::string, Padding>& padding = {{"a", {}}}) {
  const Executable e = link_shapes(at_shapes(shapes, body), symbols, padding, nullptr);
  return nlohmann::ordered_json::parse(e.notes.at(kVariants));
}

// The note states how the length of y depends on the length of a, at three lengths.
TEST(LinkedVariants, LengthsAreScaledAndALittleLongerOrShorter) {
  const std::string slice =
      "const %from : s64[1] = [FROM]\nconst %to : s64[1] = [TO]\n"
      "const %axis : s64[1] = [1]\nconst %step : s64[1] = [STEP]\n"
      "%y = Slice(%a, %from, %to, %axis, %step)\noutput %y\n";
  const auto sliced = [&](const char* from, const char* to, const char* step) {
    std::string body = replaced(replaced(replaced(slice, "FROM", from), "TO", to), "STEP", step);
    return body;
  };
  const auto padded = [](int by) {
    return fmt::format("const %p : s64[4] = [0, 0, 0, {}]\n%y = Pad(%a, %p)\noutput %y\n", by);
  };
  const auto made = [](const char* from_length) {
    return fmt::format(
        "%s = Shape(%a) {{start = 1}}\nconst %k : s64[1] = [20]\n%d = {}\n%z = "
        "ConstantOfShape(%d)\n%y = Neg(%z)\noutput %y\n",
        from_length);
  };
  struct Case {
    std::string body;
    std::vector<int64_t> lengths;
    std::string follows;  // "": refused
  };
  const Case cases[] = {
      {"%y = Neg(%a)\noutput %y\n", {4, 8, 16}, R"([null,"a:1"])"},
      {"%y = Transpose(%a)\noutput %y\n", {4, 8, 16}, R"(["a:1",null])"},
      {"%y = ReduceSum(%a)\noutput %y\n", {4, 8, 16}, "[null,null]"},
      {"%y = Concat(%a, %a, %a) {axis = 1}\noutput %y\n",
       {4, 8, 16},
       R"([null,{"of":"a:1","times":3,"over":1,"plus":0}])"},
      {sliced("0", "1000", "2"), {5, 9, 16}, R"([null,{"of":"a:1","times":1,"over":2,"plus":0}])"},
      {sliced("2", "1000", "1"), {5, 9, 16}, R"([null,{"of":"a:1","times":1,"over":1,"plus":-2}])"},
      {sliced("0", "1000", "3"), {3, 9, 15}, R"([null,{"of":"a:1","times":1,"over":3,"plus":0}])"},
      {padded(3), {16, 4, 8}, R"([null,{"of":"a:1","times":1,"over":1,"plus":3}])"},
      {padded(64), {4, 8, 16}, R"([null,{"of":"a:1","times":1,"over":1,"plus":64}])"},
      {padded(65), {4, 8, 16}, ""},
      {sliced("64", "1000", "1"),
       {70, 80, 90},
       R"([null,{"of":"a:1","times":1,"over":1,"plus":-64}])"},
      {sliced("65", "1000", "1"), {70, 80, 90}, ""},
      {sliced("0", "6", "1"), {4, 8, 16}, ""},
      {made("Sub(%k, %s)"), {4, 8, 16}, ""},
      {made("Mul(%s, %s)"), {4, 8, 9}, ""}};
  for (const Case& c : cases) {
    std::vector<Shape> shapes;
    for (const int64_t length : c.lengths) shapes.push_back({2, length});
    std::string found;
    try {
      found = noted(shapes, c.body.c_str())["outputs"]["y"]["shape"].dump();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented) << e.message();
    }
    EXPECT_EQ(found, c.follows) << c.body;
  }
}

TEST(LinkedVariants, SizesHaveTheNamesOfTheirSymbolsAndInputsTheirPadding) {
  constexpr const char* kBody = "%y = Neg(%a)\noutput %y\n";
  Symbols symbols;
  symbols.inputs["a"] = {"N", "L"};
  symbols.outputs["y"] = {"N", "L"};
  const std::vector<Shape> shapes = {{1, 4}, {1, 8}};
  const auto named = noted(shapes, kBody, symbols);
  EXPECT_EQ(named["kind"], "shapes");
  EXPECT_EQ(named["dimensions"].dump(), R"(["L"])");
  EXPECT_EQ(named["inputs"]["a"]["shape"].dump(), R"([null,"L"])");
  EXPECT_EQ(named["outputs"]["y"]["shape"].dump(), R"([null,"L"])");
  EXPECT_EQ(named["buckets"].dump(), R"([{"inputs":{"a":[1,4]},"outputs":{"y":[1,4]}},)"
                                     R"({"inputs":{"a":[1,8]},"outputs":{"y":[1,8]}}])");
  symbols.inputs["a"] = {"N"};  // the other input has no symbols
  EXPECT_EQ(noted(shapes, kBody, symbols)["dimensions"].dump(), R"(["a:1"])");
  EXPECT_EQ(noted(shapes, kBody)["inputs"]["a"]["pad"], 0);
  Padding padding;
  padding.value = 2.5;
  EXPECT_EQ(noted(shapes, kBody, {}, {{"a", padding}})["inputs"]["a"]["pad"], 2.5);
  padding.mask = true;
  EXPECT_EQ(noted(shapes, kBody, {}, {{"a", padding}})["inputs"]["a"]["pad"], "mask");
  try {
    noted(shapes, kBody, {}, {{"b", padding}});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "`pad_values`: the model has no input 'b'");
  }
}

// Compiles a graph with inputs a [1, n] and b [2, n], followed by `body`, at n = 4 and 8.
std::vector<Executable> of_two_inputs(const std::string& body) {
  std::vector<Executable> parts;
  for (const int n : {4, 8})
    parts.push_back(
        compile_body(fmt::format("input %a : f32[1,{0}]\ninput %b : f32[2,{0}]\n", n) + body));
  return parts;
}

OutputShapes unknown_shapes() {
  return [](const auto&) -> std::map<std::string, Shape> {
    fail(ErrorCode::invalid_argument, "there is no such model");
  };
}

nlohmann::ordered_json note_of(const Executable& e) {
  return nlohmann::ordered_json::parse(e.notes.at(kVariants));
}

// The dimension is found by its symbol if nothing else decides; otherwise the first of equal sizes.
TEST(LinkedVariants, OfEqualSizesTheSymbolDecides) {
  const auto parts = of_two_inputs("%y = Neg(%b)\noutput %y\n");
  Symbols symbols;
  symbols.inputs = {{"a", {"one", "L"}}, {"b", {"two", "M"}}};
  const std::map<std::string, Padding> padding = {{"a", {}}, {"b", {}}};
  const auto follows = [&](std::vector<std::string> of_output) {
    symbols.outputs["y"] = std::move(of_output);
    const auto note = note_of(link_shapes(parts, symbols, padding, unknown_shapes()));
    EXPECT_EQ(note["dimensions"].dump(), R"(["L","M"])");
    EXPECT_EQ(note["inputs"]["b"]["shape"].dump(), R"([null,"M"])");
    return note["outputs"]["y"]["shape"].dump();
  };
  EXPECT_EQ(follows({"two", "M"}), R"([null,"M"])");
  EXPECT_EQ(follows({"two", "L"}), R"([null,"L"])");
  EXPECT_EQ(follows({"two", "other"}), R"([null,"L"])");
  EXPECT_EQ(follows({}), R"([null,"L"])");
  EXPECT_EQ(note_of(link_shapes(parts, {}, padding, unknown_shapes()))["dimensions"].dump(),
            R"(["a:1","b:1"])");
  // A symbol that two inputs share is one size.
  symbols.inputs["b"] = {"two", "L"};
  const auto shared = note_of(link_shapes(parts, symbols, padding, nullptr));
  EXPECT_EQ(shared["dimensions"].dump(), R"(["L"])");
  EXPECT_EQ(shared["inputs"]["b"]["shape"].dump(), R"([null,"L"])");
  // The dimension does not follow a symbol of another size.
  constexpr const char* kBody = "%y = Neg(%a)\noutput %y\n";
  symbols.inputs = {{"a", {"N", "L"}}};
  symbols.outputs = {{"y", {"L", "N"}}};
  EXPECT_EQ(note_of(link_shapes(at_shapes({{1, 4}, {2, 8}}, kBody), symbols, {{"a", {}}},
                                unknown_shapes()))["outputs"]["y"]["shape"]
                .dump(),
            R"(["N","L"])");
}

TEST(LinkedVariants, ProbesOutputShapesWithOneSizeEnlarged) {
  constexpr const char* kBody = "%y = Neg(%a)\n%k = ReduceSum(%a)\noutput %y\noutput %k\n";
  std::vector<std::map<std::string, Shape>> probed;
  const auto parts = at_shapes({{1, 4}, {2, 8}, {3, 16}}, kBody);
  const auto linked = [&](const std::map<std::string, Shape>& answer) {
    probed.clear();
    return note_of(link_shapes(parts, {}, {{"a", {}}}, [&](const auto& inputs) {
      probed.push_back(inputs);
      return answer;
    }))["outputs"]["y"]["shape"];
  };
  EXPECT_EQ(linked({}).dump(), R"(["a:0","a:1"])") << "y has no description";
  EXPECT_EQ(probed, (std::vector<std::map<std::string, Shape>>{{{"a", {3, 4}}}, {{"a", {1, 16}}}}));
  EXPECT_EQ(linked({{"y", {}}}).dump(), R"(["a:0","a:1"])") << "nor of its dimensions";
  EXPECT_THROW(linked({{"y", {3, 4}}}), Error) << "it would have 3 rows of one";
  // If only one size varies, all others follow it and need no option.
  probed.clear();
  EXPECT_NO_THROW(link_shapes(at_shapes({{1, 4}, {1, 8}}, kBody), {}, {{"a", {}}}, nullptr));
}

// Sizes are equal in the first two shapes and greater in a later one.
TEST(LinkedVariants, ASizeIsComparedWhereItChanges) {
  constexpr const char* kTwice = "%y = Concat(%a, %a) {axis = 1}\noutput %y\n";
  const auto shape = note_of(link_shapes(at_shapes({{1, 4}, {2, 4}, {2, 8}}, kTwice), {},
                                         {{"a", {}}}, unknown_shapes()))["outputs"]["y"]["shape"];
  EXPECT_EQ(shape.dump(), R"(["a:0",{"of":"a:1","times":2,"over":1,"plus":0}])");
}

// Weights that stay inputs have a value in the file, so callers need not give them.
TEST(LinkedVariants, AnInputWithAValueIsNoPartOfARequest) {
  constexpr const char* kBody =
      "input %w : f32[4]\n%s = ReduceSum(%w)\n%y = Add(%a, %s)\noutput "
      "%y\n";
  std::vector<Executable> parts = at_shapes({{1, 4}, {2, 8}}, kBody);
  for (Executable& part : parts) attach_values(part, {{"w", floats({4})}});
  std::vector<std::string> probed;
  link_shapes(parts, {}, {{"a", {}}}, [&](const auto& inputs) {
    for (const auto& [name, shape] : inputs) probed.push_back(name);
    return std::map<std::string, Shape>();
  });
  EXPECT_EQ(probed, (std::vector<std::string>{"a", "a"}));
}

TEST(LinkedVariants, KeepTheNotesOfModels) {
  const auto notes = [](std::map<std::string, std::string> first,
                        std::map<std::string, std::string> second, bool shapes) {
    std::vector<Executable> parts = at_shapes({{1, 4}, {1, 8}}, "%y = Neg(%a)\noutput %y\n");
    parts[0].notes = std::move(first);
    parts[1].notes = std::move(second);
    Executable e = shapes ? link_shapes(parts, {}, {{"a", {}}}, nullptr) : fused(parts);
    EXPECT_EQ(e.notes.erase(kVariants), 1u);
    return e.notes;
  };
  using Notes = std::map<std::string, std::string>;
  EXPECT_EQ(notes({{"k", "1"}}, {{"k", "2"}, {"l", "3"}}, false), (Notes{{"k", "1"}, {"l", "3"}}));
  EXPECT_EQ(notes({{"k", "1"}}, {{"k", "2"}, {"l", "3"}}, true), (Notes{{"k", "2"}, {"l", "3"}}));
  EXPECT_EQ(note_of(fused(at_shapes({{1, 4}, {1, 8}}, "%y = Neg(%a)\noutput %y\n"))).dump(),
            R"({"kind":"graphs","graphs":["model0","model1"]})");
}

TEST(LinkedVariants, SymbolsMatchInputsAndOutputs) {
  const auto graph = ir::parse_text(
      graph_text("input %a : f32[N,4]\ninput %b : f32[2]\n%y : f32[N,L] = Neg(%a)\noutput %y\n"));
  const Symbols symbols = symbols_of(*graph);
  using Names = std::vector<std::string>;
  EXPECT_EQ(symbols.inputs.at("a"), (Names{"N", ""}));
  EXPECT_EQ(symbols.inputs.at("b"), Names{});
  EXPECT_EQ(symbols.outputs.at("y"), (Names{"N", "L"}));
  EXPECT_EQ(symbols.inputs.size(), 2u);
  EXPECT_EQ(symbols.outputs.size(), 1u);
}

TEST(LinkedVariants, AnOutputThatFollowsTwoSizesIsRefused) {
  constexpr const char* kRow = "const %all : s64[1] = [-1]\n%y = Reshape(%a, %all)\noutput %y\n";
  // 4 and 16; 8 and 8, which looks as if it were always 8.
  for (const auto& shapes : {std::vector<Shape>{{1, 4}, {2, 8}}, {{1, 8}, {2, 4}}}) try {
      link_shapes(at_shapes(shapes, kRow), {}, {{"a", {}}}, shapes_of(kRow));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unimplemented);
      EXPECT_NE(error.message().find("follows no size of an input"), std::string::npos);
    }
}

}  // namespace
}  // namespace poprt::compiler
