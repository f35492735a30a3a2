// A model that is cut for several IPUs has the results of one IPU, bit for bit.
#include "compiler/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/log.h"
#include "compiler/fuse_graphs.h"
#include "core/compiler/flow/support.h"
#include "ops/common/state.h"
#include "passes/pass.h"
#include "program/shards.h"
#include "support/random_graph/random_graph.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;
using program::Shards;
using program::shards_of;

Options on_ipus(int64_t ipus, bool pipelining) {
  Options o;
  o.num_ipus = ipus;
  o.virtual_graph = VirtualGraph::automatic;
  o.pipelining = pipelining;
  o.batches_per_step = ipus;
  return o;
}

Options manual(int64_t ipus, bool pipelining = false, int64_t batches = 12) {
  Options o = on_ipus(ipus, pipelining);
  o.virtual_graph = VirtualGraph::manual;
  o.batches_per_step = batches;
  return o;
}

Executable compiled_graph(const test::RandomGraph& g, const Options& options) {
  const test::RandomGraph copy = test::copy_of(g);
  convert(*copy.graph, options);
  return compile(*copy.graph, options);
}

void expect_same(const Executable& one, const Executable& several, const test::Feeds& feeds,
                 const std::string& where) {
  const auto wanted = test::run_executable(one, feeds);
  for (const int threads : {1, 3}) {
    const auto got = test::run_executable(several, feeds, threads);
    ASSERT_EQ(got.size(), wanted.size()) << where;
    for (const auto& [name, t] : wanted) EXPECT_TRUE(t.same_as(got.at(name))) << where << name;
  }
}

class EveryProfile : public testing::TestWithParam<std::string_view> {};

// A cut that is not possible is an error of one kind; anything else must give the same bits.
TEST_P(EveryProfile, GivesTheSameOnSeveralIpus) {
  int compared = 0, refused = 0;
  for (unsigned i = 0; i < 60; i++) {
    test::Choices choices(7000 + i);
    const test::RandomGraph g = test::random_graph(GetParam(), choices);
    Executable one;
    try {
      one = compiled_graph(g, {});
    } catch (const Error&) {
      continue;
    }
    if (one.program.main.size() < 4) continue;
    try {
      const auto several = compiled_graph(g, on_ipus(2 + i % 3, i % 2 == 1));
      EXPECT_EQ(shards_of(several.program).ipus, 2 + i % 3);
      expect_same(one, several, g.feeds, fmt::format("{} {}: ", GetParam(), i));
      compared++;
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::unimplemented || e.code() == ErrorCode::invalid_argument)
          << e.what();
      refused++;
    }
  }
  EXPECT_GT(compared, 3 * refused) << refused;
}

// Nodes are on random IPUs, so values are transferred in both directions.
TEST_P(EveryProfile, ResultsDoNotDependOnPlacement) {
  int compared = 0;
  for (unsigned i = 0; i < 40; i++) {
    test::Choices choices(9000 + i);
    test::RandomGraph g = test::random_graph(GetParam(), choices);
    Executable one;
    try {
      one = compiled_graph(g, {});
    } catch (const Error&) {
      continue;
    }
    std::mt19937 rng(i);
    for (ir::Node* n : g.graph->nodes()) ir::set_seat(*n, {static_cast<int64_t>(rng() % 3), -1});
    try {
      const auto several = compiled_graph(g, manual(3));
      expect_same(one, several, g.feeds, fmt::format("{} {}: ", GetParam(), i));
      compared++;
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::unimplemented || e.code() == ErrorCode::invalid_argument)
          << e.what();
    }
  }
  EXPECT_GT(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(Shards, EveryProfile,
                         testing::ValuesIn(test::profiles().begin(), test::profiles().end()),
                         [](const auto& info) { return std::string(info.param); });

constexpr const char* kChain = R"(
  input %x : f32[2,8]
  const %w : f32[8,8] = [)";

std::string chain() {
  std::string weights;
  for (int i = 0; i < 64; i++) weights += fmt::format("{}{}.5", i ? ", " : "", i % 7 - 3);
  return kChain + weights + R"(]
  %a = MatMul(%x, %w) {__ipu_number = 0, __pipeline_stage = 0} "a"
  %b = Relu(%a) {__ipu_number = 0, __pipeline_stage = 0} "b"
  %c = MatMul(%b, %w) {__ipu_number = 1, __pipeline_stage = 1} "c"
  %d = Add(%c, %b) {__ipu_number = 1, __pipeline_stage = 1} "d"
  %y = Neg(%d) {__ipu_number = 1, __pipeline_stage = 1} "y"
  output %y
)";
}

TEST(Shard, FileRecordsShardsAndTransfers) {
  const Executable e = compile_body(chain(), manual(2, true));
  const Shards s = shards_of(e.program);
  ASSERT_EQ(s.shards.size(), 2u);
  EXPECT_TRUE(s.pipelined);
  EXPECT_EQ(s.shards[1].ipu, 1);
  EXPECT_EQ(s.shards[1].stage, 1);
  ASSERT_EQ(s.transfers.size(), 1u);
  EXPECT_EQ(s.transfers[0].from, 0u);
  EXPECT_EQ(s.transfers[0].to, (std::vector<uint32_t>{1}));
  EXPECT_EQ(s.transfers[0].shape, (Shape{2, 8}));
  const auto note = nlohmann::json::parse(e.notes.at(program::kShards));
  EXPECT_EQ(note["ipus"], 2);
  EXPECT_EQ(note["pipelined"], true);
  EXPECT_EQ(note["transfers"][0]["name"], "b");
  EXPECT_EQ(note["transfers"][0]["bytes"], 64);
  EXPECT_EQ(note["shards"][0]["weights_bytes"], note["shards"][1]["weights_bytes"]);
  EXPECT_GE(note["shards"][0]["weights_bytes"], 256);
  // Both read the weight that they share.
  EXPECT_EQ(e.program.weights_bytes, compile_body(chain()).program.weights_bytes);
}

TEST(Shard, OneIpuKeepsTheModel) {
  const Executable cut = compile_body(chain()),
                   plain = compile_body(
                       replaced(replaced(chain(), "{__ipu_number = 0, __pipeline_stage = 0} ", ""),
                                "{__ipu_number = 1, __pipeline_stage = 1} ", ""));
  EXPECT_FALSE(program::has_shards(cut.program));
  EXPECT_EQ(program::to_string(cut.program), program::to_string(plain.program));
  EXPECT_FALSE(cut.notes.contains(program::kShards));
}

std::string message(const std::string& body, const Options& options) {
  try {
    compile_body(body, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Shard, RefusesContradictorySettingsWithOneLine) {
  const auto expect_one_line = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  Options off = manual(2);
  off.virtual_graph = VirtualGraph::off;
  expect_one_line(message(chain(), off), "num_ipus=2 needs virtual_graph_mode manual");
  expect_one_line(message(chain(), manual(1)), "num_ipus must be 2 or more, found 1");
  expect_one_line(message(chain(), manual(2, true, 3)),
                  "batches_per_step=3 must be a multiple of the 2 stages");
  expect_one_line(message(replaced(chain(), ", __pipeline_stage = 1", ""), manual(2, true)),
                  "has no __pipeline_stage");
  expect_one_line(
      message(replaced(chain(), "__pipeline_stage = 0} \"b\"", "__pipeline_stage = 1} \"b\""),
              manual(2, true)),
      "stage 1 is on IPU 0 (Relu node 'b') and on IPU 1");
  const std::string back = replaced(chain(), "{__ipu_number = 0, __pipeline_stage = 0} \"a\"",
                                    "{__ipu_number = 1, __pipeline_stage = 1} \"a\"");
  expect_one_line(message(back, manual(2, true)), "stages never go back");
  expect_one_line(message(replaced(chain(), "__ipu_number = 0", "__ipu_number = -4"), manual(2)),
                  "__ipu_number is -4, expected 0 to 1023");
  Options ratios = on_ipus(2, false);
  ratios.split_ratios = {0.1f, 0.2f, 0.7f};
  expect_one_line(message(chain(), ratios), "3 are given for num_ipus=2");
  Options alone;
  alone.pipelining = true;
  expect_one_line(message(chain(), alone), "enable_pipelining needs several IPUs");
  expect_one_line(message("input %x : f32[2]\n%y = Relu(%x)\noutput %y\n", manual(2)),
                  "no node has __ipu_number");
}

TEST(Shard, RatiosSetTheShareOfEachIpu) {
  std::string body = "input %x0 : f32[64,64]\n";
  for (int i = 0; i < 20; i++) body += fmt::format("%x{} = MatMul(%x{}, %x0)\n", i + 1, i);
  body += "output %x20\n";
  Options o = on_ipus(2, false);
  const auto first = [&] {
    const Shards s = shards_of(compile_body(body, o).program);
    return s.shards[0].end - s.shards[0].begin;
  };
  EXPECT_EQ(first(), 10u);
  o.split_ratios = {0.25f, 0.75f};
  EXPECT_EQ(first(), 5u);
}

// A table whose rows are gathered, and a constant that is added, cost no multiplication.
TEST(Shard, TablesAndAddedConstantsAreNoWork) {
  const auto constant = [](const char* name, int64_t rows) {
    std::string values;
    for (int64_t i = 0; i < rows * 8; i++) values += fmt::format("{}{}.5", i ? ", " : "", i % 9);
    return fmt::format("const %{} : f32[{},8] = [{}]\n", name, rows, values);
  };
  std::string body = "input %ids : s64[64]\n" + constant("table", 4000) + constant("places", 64) +
                     "%rows = Gather(%table, %ids)\n%x0 = Add(%rows, %places)\n"
                     "%square = Transpose(%x0) {perm = [1, 0]}\n%w = MatMul(%square, %x0)\n";
  for (int i = 0; i < 20; i++) body += fmt::format("%x{} = MatMul(%x{}, %w)\n", i + 1, i);
  const Shards s = shards_of(compile_body(body + "output %x20\n", on_ipus(2, false)).program);
  EXPECT_GE(s.shards[0].end - s.shards[0].begin, 8u);
}

TEST(Shard, StateStaysWithTheIpuThatHasIt) {
  const std::string text =
      "graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\n input %step : s32[]\n"
      " input %x : f32[2,1]\n %a = Neg(%x) {__ipu_number = 0}\n"
      " %k = ai.graphcore.KVCache(%step, %a) {max_len = 3, sequence_axis = 1, __ipu_number = 1}\n"
      " %y = Relu(%k) {__ipu_number = 2}\n output %y\n}\n";
  const Executable e = test::compile_text(text, manual(3));
  const Shards s = shards_of(e.program);
  EXPECT_EQ(std::ranges::count_if(s.shards, [](const auto& shard) { return shard.state_bytes; }),
            1);
}

// Each shard, in the order of a run: its IPU, its stage if it has one, its nodes, and its inputs
// and results (`a`: inputs or outputs of the model, `t`: transfers).
std::string cut_of(const std::string& body, const Options& options) {
  const auto graph = ir::parse_text(graph_text(body));
  ops::infer(*graph);
  const ir::Placement placement = take_placement(*graph, options);
  const Cut cut = cut_graph(*graph, placement, options);
  std::string text;
  const auto ports = [&](const std::vector<Port>& list) {
    for (const Port& p : list) text += fmt::format(" {}{}", p.is_transfer ? 't' : 'a', p.number);
  };
  for (const ShardGraph& shard : cut.shards) {
    EXPECT_EQ(shard.inputs.size(), shard.graph->inputs().size());
    EXPECT_EQ(shard.outputs.size(), shard.graph->outputs().size());
    for (const ir::Value* v : shard.graph->values())
      EXPECT_FALSE(v->is_constant() && v->uses().empty()) << v->name() << " is not needed";
    text += fmt::format("{}{}", text.empty() ? "" : " | ", shard.seat.ipu);
    if (shard.seat.stage >= 0) text += fmt::format(" stage {}", shard.seat.stage);
    text += ":";
    for (const ir::Node* n : shard.graph->nodes()) text += " " + n->name;
    text += " of";
    ports(shard.inputs);
    text += " to";
    ports(shard.outputs);
  }
  for (const CutTransfer& t : cut.transfers)
    text += fmt::format("; {} {} of {}", t.name, ir::type_string(t.type), t.from);
  return text;
}

// Nodes with their IPU and stage: a, b, c and d are a chain, i and j read the input.
std::string seated(std::vector<std::pair<std::string, std::vector<int64_t>>> nodes) {
  std::string body = "input %x : f32[4]\n", before = "x";
  for (const auto& [name, numbers] : nodes) {
    const bool own = name[0] >= 'i';
    body += fmt::format(
        "%{0} = Neg(%{1}) {{__ipu_number = {2}{3}}} \"{0}\"\n", name, own ? "x" : before,
        numbers[0], numbers.size() > 1 ? fmt::format(", __pipeline_stage = {}", numbers[1]) : "");
    if (!own) before = name;
    if (own) body += fmt::format("output %{}\n", name);
  }
  return body + "output %" + before + "\n";
}

TEST(Cut, AnIpuRunsAllOfItsReadyNodes) {
  // The IPU of the first ready node begins; all ready nodes of this IPU run with it.
  EXPECT_EQ(cut_of(seated({{"a", {1}}, {"i", {0}}, {"b", {0}}, {"j", {1}}}), manual(2)),
            "1: a j of a0 to a1 t0 | 0: i b of a0 t0 to a0 a2; a f32[4] of 0");
  EXPECT_EQ(cut_of(seated({{"a", {0}}, {"b", {1}}, {"c", {0}}, {"i", {1}}, {"d", {1}}}), manual(2)),
            "0: a of a0 to t0 | 1: b i of a0 t0 to a0 t1 | 0: c of t1 to t2 | 1: d of t2 to a1; "
            "a f32[4] of 0; b f32[4] of 1; c f32[4] of 2");
}

TEST(Cut, StagesAreShardsWhateverTheirIpu) {
  EXPECT_EQ(
      cut_of(seated({{"a", {0, 0}}, {"b", {1, 1}}, {"i", {0, 0}}, {"c", {0, 2}}}), manual(2, true)),
      "0 stage 0: a i of a0 to a0 t0 | 1 stage 1: b of t0 to t1 | 0 stage 2: c of t1 to a1; "
      "a f32[4] of 0; b f32[4] of 1");
  // Numbers of stages need not follow each other.
  EXPECT_EQ(cut_of(seated({{"a", {1, 3}}, {"b", {0, 7}}}), manual(2, true)),
            "1 stage 0: a of a0 to t0 | 0 stage 1: b of t0 to a0; a f32[4] of 0");
}

// Several shards read one transfer, another transfer is also a result, and each shard has
// constants.
TEST(Cut, ShardsReadOnlyTheirOperands) {
  EXPECT_EQ(cut_of(R"(
    input %x : f32[2]
    input %z : f32[2]
    const %k : f32[2] = [1.0, 2.0]
    %a = Add(%x, %k) {__ipu_number = 0} "a"
    %b = Mul(%a, %k) {__ipu_number = 1} "b"
    %c = Add(%a, %z) {__ipu_number = 2} "c"
    %d = Neg(%c) {__ipu_number = 2} "d"
    output %d
    output %a
    output %b
  )",
                   manual(3)),
            "0: a of a0 to a1 t0 | 1: b of t0 to a2 | 2: c d of a1 t0 to a0; a f32[2] of 0");
}

// The node that contains a branch reads the outer values of the branch.
TEST(Cut, NodesReadTheOuterValuesOfTheirBranches) {
  const std::string body = R"(
    input %x : f32[2]
    input %go : bool[]
    %a = Neg(%x) {__ipu_number = 0, __pipeline_stage = 0} "a"
    %y : ? = If(%go) {then_branch = graph "t" { %b = Abs(%a) output %b },
                      else_branch = graph "e" { %c = Neg(%a) output %c },
                      __ipu_number = 1, __pipeline_stage = 1} "if"
    output %y
  )";
  EXPECT_EQ(cut_of(body, manual(2)), "0: a of a0 to t0 | 1: if of a1 t0 to a0; a f32[2] of 0");
  EXPECT_EQ(cut_of(body, manual(2, true)),
            "0 stage 0: a of a0 to t0 | 1 stage 1: if of a1 t0 to a0; a f32[2] of 0");
  EXPECT_THROW(
      cut_of(replaced(body, "__pipeline_stage = 0", "__pipeline_stage = 2"), manual(2, true)),
      Error);
}

// Returns the names of the nodes of each IPU if the work is divided by `ratios`.
std::string balanced(const std::string& body, std::vector<float> ratios, bool fewer = false,
                     int64_t ipus = 0) {
  Options o = on_ipus(ipus ? ipus : static_cast<int64_t>(ratios.size()), false);
  if (!ipus) o.split_ratios = std::move(ratios);
  o.fewer_ipus = fewer;
  const std::string cut = cut_of(body, o);
  std::string text;
  for (size_t at = 0; at < cut.size() && cut[at] != ';';) {
    const size_t from = cut.find(':', at), to = cut.find(" of", from);
    text += (text.empty() ? "" : " |") + cut.substr(from + 1, to - from - 1);
    at = std::min(cut.find('|', to), cut.find(';', to));
  }
  return text;
}

// Nodes "name Op(@)", each of which reads the one before as @.
std::string chain_of(const std::vector<std::string>& nodes, const std::string& head) {
  std::string body = head, before = "x";
  for (const std::string& node : nodes) {
    const std::string name(1, node[0]);
    body +=
        fmt::format("%{} = {} \"{}\"\n", name, replaced(node.substr(2), "@", "%" + before), name);
    before = name;
  }
  return body + "output %" + before + "\n";
}

TEST(Balance, PartsAreOfTheCostAndLeaveEachIpuANode) {
  const std::string six =
      chain_of({"a Neg(@)", "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)", "f Neg(@)"},
               "input %x : f32[8]\n");
  EXPECT_EQ(balanced(six, {1, 1}), " a b c | d e f");
  EXPECT_EQ(balanced(six, {1, 2}), " a b | c d e f");
  EXPECT_EQ(balanced(six, {1, 1, 1}), " a b | c d | e f");
  EXPECT_EQ(balanced(six, {3, 2, 1}), " a b c | d e | f");
  // Each part has at least one node, however small its ratio is.
  EXPECT_EQ(balanced(six, {0.001f, 1, 0.001f}), " a | b c d e | f");
  EXPECT_EQ(balanced(six, {1, 0.001f, 0.001f}), " a b c d | e | f");
  EXPECT_EQ(balanced(six, {}, false, 6), " a | b | c | d | e | f");
  EXPECT_EQ(balanced(six, {}, true, 9), " a | b | c | d | e | f");
  const std::string head = "input %x : f32[8]\n";
  EXPECT_EQ(balanced(chain_of({"a Neg(@)"}, head), {}, true, 2), "") << "not cut";
  EXPECT_EQ(balanced(chain_of({"a Neg(@)", "b Neg(@)"}, head), {}, true, 2), " a | b");
  EXPECT_EQ(balanced(chain_of({"a Neg(@)", "b Neg(@)"}, head), {}, true, 3), " a | b");
  EXPECT_THROW(balanced(six, {}, false, 7), Error);
}

// Two products have the same cost, and all other nodes are cheap. The cut is not in the middle but
// at the place where only one number is transferred.
TEST(Balance, IsCutWhereFewBytesCross) {
  const std::string weights = [] {
    std::string text = "input %x : f32[100,100]\nconst %w : f32[100,100] = [";
    for (int i = 0; i < 10000; i++) text += i ? ", 1.0" : "1.0";
    return text + "]\nconst %s : s64[2] = [100, 100]\n";
  }();
  EXPECT_EQ(balanced(chain_of({"a MatMul(@, %w)", "b Neg(@)", "c ReduceSum(@)", "d Neg(@)",
                               "e Expand(@, %s)", "f Neg(@)", "g MatMul(@, %w)"},
                              weights),
                     {1, 1}),
            " a b c d | e f g");
  // A value that is read at the end crosses every cut: the cheapest cut is after its node.
  EXPECT_EQ(balanced(chain_of({"a MatMul(@, %w)", "b Neg(@)", "c ReduceSum(@)", "d Neg(@)",
                               "e Expand(@, %s)", "f Add(@, %b)", "g MatMul(@, %w)"},
                              weights),
                     {1, 1}),
            " a b | c d e f g");
}

// To transfer few bytes, the cut may move by 3 % of the cost: by one node of forty, but not by two.
TEST(Balance, AcceptsSlightlyHigherCostForFewerBytes) {
  const auto first_part = [](size_t small) {
    std::vector<std::string> nodes;
    for (size_t i = 0; i < 40; i++) {
      const char name = static_cast<char>(i < 26 ? 'A' + i : 'a' + (i - 26));
      const char* op = i == small ? "ReduceSum(@)" : i == small + 1 ? "Expand(@, %s)" : "Neg(@)";
      nodes.push_back(fmt::format("{} {}", name, op));
    }
    const std::string text =
        balanced(chain_of(nodes, "input %x : f32[64]\nconst %s : s64[1] = [64]\n"), {1, 1});
    return std::ranges::count(text.substr(0, text.find('|')), ' ') - 1;
  };
  EXPECT_EQ(first_part(19), 20) << "1217 of 2497, 31.5 from the middle";
  EXPECT_EQ(first_part(20), 21) << "1281, 32.5 from the middle";
  EXPECT_EQ(first_part(21), 20) << "1345, 96.5 from the middle, which is more than 74.9";
  EXPECT_EQ(first_part(18), 20) << "1153, 95.5 from the middle";
}

// A product counts each weight once for each row, whichever dimension of the weight gives the
// results; tables and addends do not count.
TEST(Balance, CostOfAProductCountsItsMultiplications) {
  const auto constant = [](const std::string& name, const std::string& shape, int64_t count) {
    std::string text = fmt::format("const %{} : f32[{}] = [", name, shape);
    for (int64_t i = 0; i < count; i++) text += i ? ", 1.0" : "1.0";
    return text + "]\n";
  };
  // a makes 64 of 8 * 8 each; each of the others makes 64 alone.
  const std::string head = "input %x : f32[8,8]\n" + constant("w", "8,8", 64);
  EXPECT_EQ(
      balanced(chain_of({"a MatMul(@, %w)", "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)"}, head),
               {1, 1}),
      " a | b c d e");
  EXPECT_EQ(balanced(chain_of({"a Add(@, %w)", "b Neg(@)", "c Neg(@)", "d Neg(@)"}, head), {1, 1}),
            " a b | c d");
  // One multiplication for each result costs as much as storing it.
  const std::string column = "input %x : f32[8,1]\n" + constant("w", "1,8", 8);
  EXPECT_EQ(
      balanced(chain_of({"a MatMul(@, %w)", "b Neg(@)", "c Neg(@)", "d Neg(@)"}, column), {1, 1}),
      " a b | c d");
  // 9 taps of 2 channels: 18 for each of 4 * 25 results, whose 4 filters are the first dimension.
  const std::string image =
      "input %x : f32[1,2,5,5]\n" + constant("w", "4,2,3,3", 72) + constant("v", "4,4,1,1", 16);
  EXPECT_EQ(balanced(chain_of({"a Conv(@, %w) {pads = [1, 1, 1, 1]}", "b Conv(@, %v)",
                               "c Conv(@, %v)", "d Conv(@, %v)", "e Conv(@, %v)"},
                              image),
                     {19, 20}),
            " a | b c d e");
  // A matrix for each of 4 samples: 8 for each of 32 results, as where one matrix is for all.
  const std::string matrices = "input %x : f32[4,1,8]\n" + constant("w", "4,8,8", 256);
  EXPECT_EQ(balanced(chain_of({"a MatMul(@, %w)", "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)",
                               "f Neg(@)", "g Neg(@)", "h Neg(@)", "i Neg(@)"},
                              matrices),
                     {10, 7}),
            " a b | c d e f g h i");
  // Both operands are computed at run time.
  const std::string square = "input %x : f32[8,8]\n";
  EXPECT_EQ(
      balanced(chain_of({"a MatMul(@, @)", "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)"}, square),
               {1, 1}),
      " a | b c d e");
  // Attention multiplies each result by the length of the keys twice: 2 * 10 * 40 against 10 * 8.
  const std::string row = "input %x : f32[1,10,8]\n";
  EXPECT_EQ(
      balanced(chain_of({"a Neg(@)", "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)", "f Neg(@)",
                         "g Neg(@)", "h Neg(@)", "i Neg(@)", "j Neg(@)",
                         "k poprt.Attention(@, @, @) {heads = 2, head_size = 4, scale = 1.0}"},
                        row),
               {10, 21}),
      " a b c d e f g h i j | k");
  // One query with 10 keys costs 21 for each of 8 results.
  EXPECT_EQ(balanced(chain_of({"a poprt.Attention(@, %k, %k) {heads = 2, head_size = 4, scale = "
                               "1.0}",
                               "b Neg(@)", "c Neg(@)", "d Neg(@)", "e Neg(@)", "f Neg(@)"},
                              "input %x : f32[1,1,8]\ninput %k : f32[1,10,8]\n"),
                     {21, 5}),
            " a | b c d e f");
}

std::vector<std::string> heard_of_sharding;

TEST(Cut, WarnsOfIpusThatAreNotUsed) {
  set_log_receiver([](int32_t, const char* message) { heard_of_sharding.emplace_back(message); });
  const auto warned = [](const std::string& body, const Options& options) {
    heard_of_sharding.clear();
    cut_of(body, options);
    return heard_of_sharding.size() == 1 ? heard_of_sharding[0]
                                         : std::to_string(heard_of_sharding.size()) + " warnings";
  };
  const std::string two = seated({{"a", {0}}, {"b", {1}}});
  EXPECT_EQ(warned(two, manual(2)), "0 warnings");
  EXPECT_NE(warned(two, manual(3)).find("2 nodes, which are on 2 of them"), std::string::npos);
  EXPECT_NE(warned(two, {}).find("cut for 2 IPUs, which is not used: virtual_graph_mode=manual "
                                 "num_ipus=2 uses it"),
            std::string::npos);
  EXPECT_EQ(warned("input %x : f32[2]\n%y = Neg(%x)\noutput %y\n", {}), "0 warnings");
  set_log_receiver(nullptr);
}

TEST(Cut, BatchesAreAMultipleOfTheStages) {
  const std::string three = seated({{"a", {0, 0}}, {"b", {1, 1}}, {"c", {0, 2}}});
  EXPECT_NO_THROW(cut_of(three, manual(2, true, 6)));
  EXPECT_THROW(cut_of(three, manual(2, true, 4)), Error) << "two IPUs, but three stages";
  EXPECT_NO_THROW(cut_of(three, manual(2, false, 4))) << "no pipeline";
  Options o = on_ipus(2, true);
  o.batches_per_step = 3;
  EXPECT_THROW(cut_of(three, o), Error);
  o.batches_per_step = 4;
  EXPECT_EQ(cut_of(three, o).substr(0, 10), "0 stage 0:");
}

// Refuses state that two IPUs would have to share.
TEST(Cut, OneStateIsOnOneIpu) {
  const auto cut = [](const char* ipu) {
    return fmt::format(
        "graph \"g\" opset {{\"\": 17, \"ai.graphcore\": 1}} {{\n input %step : s32[]\n"
        " input %x : f32[1]\n"
        " %a : f32[2] = ai.graphcore.KVCache(%step, %x) {{max_len = 2, __state = 3, __ipu_number = "
        "0}} \"a\"\n %n : f32[1] = Neg(%x) {{__ipu_number = 0}} \"n\"\n"
        " %b : f32[2] = ai.graphcore.KVCache(%step, %n) {{max_len = 2, __state = 3, __ipu_number = "
        "{}}} \"b\"\n %y : f32[2] = Add(%a, %b) {{__ipu_number = 1}} \"y\"\n output %y\n}}\n",
        ipu);
  };
  const auto message_for = [](std::string text) -> std::string {
    text = replaced(text, "__state", std::string(ops::kStateAttribute));
    try {
      const auto graph = ir::parse_text(text);
      ops::infer(*graph);
      compile(*graph, manual(2));
    } catch (const Error& e) {
      return e.message();
    }
    return "taken";
  };
  EXPECT_EQ(message_for(cut("0")), "taken");
  EXPECT_EQ(message_for(cut("1")),
            "state that persists between runs would be shared by IPU 1 and another; cut the model "
            "elsewhere");
}

// The nodes that replace a node in the conversion keep its IPU.
TEST(Placement, LivesThroughConversion) {
  const auto graph = ir::parse_text(graph_text(R"(
    input %x : f32[1,2,4,4]
    const %w : f32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
    const %s : f32[2] = [1.0, 2.0]
    const %z : f32[2] = [0.0, 0.5]
    %a = Conv(%x, %w) {__ipu_number = 0} "conv"
    %b = BatchNormalization(%a, %s, %z, %z, %s) {__ipu_number = 0} "bn"
    %i = Identity(%b) {__ipu_number = 0} "same"
    %y = Relu(%i) {__ipu_number = 1} "relu"
    output %y
)"));
  convert(*graph, {});
  ASSERT_GE(graph->node_count(), 2u);
  for (const ir::Node* n : graph->nodes()) {
    const auto seat = ir::seat_of(*n);
    ASSERT_TRUE(seat) << n->describe();
    EXPECT_EQ(seat->ipu, n->is("Relu") ? 1 : 0) << n->describe();
  }
}

// A chain of as many nodes as there are attributes.
std::unique_ptr<ir::Graph> chain_of(const std::vector<std::string>& attributes) {
  std::string text = "graph \"g\" opset {\"\": 17} {\n  input %v0 : f32[2]\n";
  for (size_t i = 0; i < attributes.size(); i++)
    text += fmt::format("  %v{} : f32[2] = Relu(%v{}) {{{}}}\n", i + 1, i, attributes[i]);
  return ir::parse_text(text + fmt::format("  output %v{}\n}}\n", attributes.size()));
}

TEST(Cuts, FollowFromTheAttributesOfNodes) {
  const auto message_for = [](const std::vector<std::string>& attributes) {
    const Cuts c = cuts_of(*chain_of(attributes));
    return fmt::format("{} {} {} {}", c.any, c.ipus, c.stages, c.batches);
  };
  EXPECT_EQ(message_for({"", ""}), "false 1 0 1");
  EXPECT_EQ(message_for({"__ipu_number = 0", ""}), "true 1 0 1");
  EXPECT_EQ(message_for({"__ipu_number = 0", "__ipu_number = 3"}), "true 4 0 1");
  EXPECT_EQ(message_for({"__ipu_number = 0, __pipeline_stage = 0",
                         "__ipu_number = 1, __pipeline_stage = 2",
                         "__ipu_number = 1, __pipeline_stage = 2"}),
            "true 2 2 2")
      << "no node is in stage 1";
  EXPECT_EQ(message_for({"__ipu_number = 5000"}), "false 1 0 1") << "which compiling refuses";
}

TEST(Cuts, BatchesSuitEachModelOfAFusedOne) {
  const auto staged = [](int64_t count) {
    std::vector<std::string> attributes;
    for (int64_t i = 0; i < count; i++)
      attributes.push_back(fmt::format("__ipu_number = {}, __pipeline_stage = {}", i, i));
    return chain_of(attributes);
  };
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  for (const int64_t count : {2, 3, 6, 4}) graphs.push_back(staged(count));
  const Cuts cuts = cuts_of(*fuse_graphs(std::move(graphs), {"a", "b", "c", "d"}));
  EXPECT_EQ(cuts.ipus, 6);
  EXPECT_EQ(cuts.stages, 6);
  EXPECT_EQ(cuts.batches, 12);
}

TEST(Cuts, DecideOptionsOnlyWhereThereIsACut) {
  Options options;
  options.num_ipus = 7;
  use_cuts({true, 1, 0, 1}, options);
  EXPECT_EQ(options.num_ipus, 7);
  EXPECT_EQ(options.virtual_graph, VirtualGraph::off);
  use_cuts({true, 2, 0, 1}, options);
  EXPECT_EQ(options.num_ipus, 2);
  EXPECT_EQ(options.virtual_graph, VirtualGraph::manual);
  EXPECT_FALSE(options.pipelining);
  use_cuts({true, 2, 2, 2}, options);
  EXPECT_TRUE(options.pipelining);
  EXPECT_EQ(options.batches_per_step, 2);
}

}  // namespace
}  // namespace poprt::compiler
