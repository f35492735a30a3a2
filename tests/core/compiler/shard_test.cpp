// Several IPUs give what one gives, bit for bit, wherever a model is cut.
#include "compiler/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "core/compiler/flow/support.h"
#include "passes/pass.h"
#include "program/shards.h"
#include "support/random_graph/random_graph.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;
using program::Shards;
using program::shards_of;

Options automatic(int64_t ipus, bool pipelining) {
  Options o;
  o.num_ipus = ipus;
  o.virtual_graph = VirtualGraph::automatic;
  o.pipelining = pipelining;
  o.batches_per_step = ipus;
  return o;
}

Options manual(int64_t ipus, bool pipelining = false, int64_t batches = 12) {
  Options o = automatic(ipus, pipelining);
  o.virtual_graph = VirtualGraph::manual;
  o.batches_per_step = batches;
  return o;
}

Executable compiled(const test::RandomGraph& g, const Options& options) {
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
      one = compiled(g, {});
    } catch (const Error&) {
      continue;
    }
    if (one.program.main.size() < 4) continue;
    try {
      const auto several = compiled(g, automatic(2 + i % 3, i % 2 == 1));
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

// Any node to any IPU, back and forth.
TEST_P(EveryProfile, GivesTheSameWhereverNodesAre) {
  int compared = 0;
  for (unsigned i = 0; i < 40; i++) {
    test::Choices choices(9000 + i);
    test::RandomGraph g = test::random_graph(GetParam(), choices);
    Executable one;
    try {
      one = compiled(g, {});
    } catch (const Error&) {
      continue;
    }
    std::mt19937 rng(i);
    for (ir::Node* n : g.graph->nodes()) ir::set_seat(*n, {static_cast<int64_t>(rng() % 3), -1});
    try {
      const auto several = compiled(g, manual(3));
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

TEST(Shard, TheFileSaysWhatIsWhereAndWhatCrosses) {
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

TEST(Shard, OfOneIpuNothingChanges) {
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

TEST(Shard, WhatDoesNotAgreeIsSaidInOneLine) {
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  Options off = manual(2);
  off.virtual_graph = VirtualGraph::off;
  says(message(chain(), off), "num_ipus=2 needs virtual_graph_mode manual");
  says(message(chain(), manual(1)), "num_ipus must be 2 or more, found 1");
  says(message(chain(), manual(2, true, 3)),
       "batches_per_step=3 must be a multiple of the 2 stages");
  says(message(replaced(chain(), ", __pipeline_stage = 1", ""), manual(2, true)),
       "has no __pipeline_stage");
  says(message(replaced(chain(), "__pipeline_stage = 0} \"b\"", "__pipeline_stage = 1} \"b\""),
               manual(2, true)),
       "stage 1 is on IPU 0 (Relu node 'b') and on IPU 1");
  const std::string back = replaced(chain(), "{__ipu_number = 0, __pipeline_stage = 0} \"a\"",
                                    "{__ipu_number = 1, __pipeline_stage = 1} \"a\"");
  says(message(back, manual(2, true)), "stages never go back");
  says(message(replaced(chain(), "__ipu_number = 0", "__ipu_number = -4"), manual(2)),
       "__ipu_number is -4, expected 0 to 1023");
  Options ratios = automatic(2, false);
  ratios.split_ratios = {0.1f, 0.2f, 0.7f};
  says(message(chain(), ratios), "3 are given for num_ipus=2");
  Options alone;
  alone.pipelining = true;
  says(message(chain(), alone), "enable_pipelining needs several IPUs");
  says(message("input %x : f32[2]\n%y = Relu(%x)\noutput %y\n", manual(2)),
       "no node has __ipu_number");
}

TEST(Shard, RatiosSayHowMuchEachHas) {
  std::string body = "input %x0 : f32[64,64]\n";
  for (int i = 0; i < 20; i++) body += fmt::format("%x{} = MatMul(%x{}, %x0)\n", i + 1, i);
  body += "output %x20\n";
  Options o = automatic(2, false);
  const auto first = [&] {
    const Shards s = shards_of(compile_body(body, o).program);
    return s.shards[0].end - s.shards[0].begin;
  };
  EXPECT_EQ(first(), 10u);
  o.split_ratios = {0.25f, 0.75f};
  EXPECT_EQ(first(), 5u);
}

// A table of which rows are taken, and a constant that is added, multiply nothing.
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
  const Shards s = shards_of(compile_body(body + "output %x20\n", automatic(2, false)).program);
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

// What conversion makes of a node keeps its IPU.
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

}  // namespace
}  // namespace poprt::compiler
