// The times of two programs that are distinguished, and the node of an instruction's time.
#include <gtest/gtest.h>

#include "inspector/sample_files.h"
#include "model/diff.h"
#include "model/graph_model.h"
#include "model/pass_history.h"
#include "model/profile.h"

namespace poprt::inspector {
namespace {

std::shared_ptr<ProgramProfile> profile_of(
    double run, const std::vector<std::pair<std::string, double>>& instructions) {
  auto p = std::make_shared<ProgramProfile>();
  p->run_ns = run;
  for (const auto& [name, ns] : instructions) {
    p->names.push_back(name);
    p->instructions.push_back(ns);
  }
  return p;
}

std::vector<std::string> rows_of(const std::vector<DiffRow>& rows) {
  std::vector<std::string> text;
  for (const DiffRow& r : rows)
    text.push_back(fmt::format("{} {}: {} {} {}", r.category, r.name, change_name(r.change),
                               r.left.empty() ? "-" : r.left, r.right.empty() ? "-" : r.right));
  return text;
}

TEST(ProfileRows, ListsTimesThatDifferByAHundredthOfTheRun) {
  const auto left = profile_of(10000, {{"same", 100},
                                       {"twice", 50},
                                       {"twice", 60},
                                       {"little", 300},
                                       {"gone", 150},
                                       {"gone little", 100}});
  const auto right = profile_of(
      8000, {{"new", 500}, {"twice", 600}, {"little", 400}, {"same", 100}, {"new little", 99}});
  EXPECT_EQ(rows_of(diff_programs({nullptr, left}, {nullptr, right})),
            (std::vector<std::string>{
                "time whole run: changed 10.0 µs 8.0 µs", "time new: added - 500 ns",
                "time twice: changed 110 ns 600 ns", "time gone: removed 150 ns -"}));
  EXPECT_EQ(rows_of(diff_programs({nullptr, right}, {nullptr, left})),
            (std::vector<std::string>{
                "time whole run: changed 8.0 µs 10.0 µs", "time new: removed 500 ns -",
                "time twice: changed 600 ns 110 ns", "time gone: added - 150 ns"}));
  EXPECT_TRUE(diff_programs({nullptr, left}, {nullptr, nullptr}).empty());
  EXPECT_TRUE(diff_programs({nullptr, nullptr}, {nullptr, right}).empty());
}

TEST(ProfileRows, RowsOfProgramsAreAllButTheFiles) {
  const auto is = [](const char* category, const char* name) {
    return is_of_programs({category, name, "", "", Change::changed, kNone, kNone});
  };
  EXPECT_TRUE(is("program", "x"));
  EXPECT_TRUE(is("instruction", "x"));
  EXPECT_TRUE(is("time", "file"));
  EXPECT_TRUE(is("memory", "arena"));
  EXPECT_FALSE(is("memory", "file"));
  EXPECT_FALSE(is("node", "x"));
  EXPECT_FALSE(is("weight", "x"));
}

// A program of one buffer and of instructions with these kernels and names.
std::shared_ptr<const ProgramModel> program_of(const std::vector<std::string>& kernels,
                                               const std::vector<std::string>& names,
                                               uint64_t bytes) {
  program::Program p;
  p.kernels = kernels;
  p.arena_bytes = bytes;
  p.buffers.push_back(
      {program::Space::arena, 0, 0, bytes, DType::u8, {static_cast<int64_t>(bytes)}});
  for (uint32_t i = 0; i < names.size(); i++)
    p.main.push_back({i % static_cast<uint32_t>(kernels.size()), {0}, {}, {}, names[i]});
  return std::make_shared<ProgramModel>(p);
}

TEST(ProfileRows, ProgramsDifferInMemoryKernelsAndInstructions) {
  const auto a = program_of({"k", "l"}, {"n", "m", "n"}, 64);
  const auto b = program_of({"k", "o"}, {"n", "m", "", "p"}, 128);
  EXPECT_EQ(rows_of(diff_programs({a, nullptr}, {b, nullptr})),
            (std::vector<std::string>{
                "memory arena: changed 64 B 128 B", "memory most in use: changed 64 B 128 B",
                "program instructions: changed 3 4", "program l: removed 1 -",
                "program o: added - 2", "instruction m: changed l o",
                "instruction n: changed k, k k", "instruction p: added - o"}));
  EXPECT_TRUE(diff_programs({a, nullptr}, {a, nullptr}).empty());
  EXPECT_TRUE(diff_programs({a, nullptr}, {nullptr, nullptr}).empty());
}

TEST(ProfileRows, TimesOfNodesMatchTheirInstructions) {
  const GraphModel g(*ir::parse_text(R"(graph "g" {
  input %x : f32[2]
  %a : f32[2] = Relu(%x) "named"
  %b : f32[2] = Neg(%a)
  %c : f32[2] = Abs(%b) "other"
  () = Sink(%c) "sink"
  output %b
})"));
  const auto profile =
      profile_of(0, {{"named", 1}, {"b", 2}, {"c", 4}, {"named", 8}, {"x", 16}, {"sink", 32}});
  const auto times = [&](size_t first, size_t last) {
    const auto all = node_times(g, *profile, first, last);
    std::string text;
    for (const char* name : {"x", "named", "b", "other", "sink"})
      text += fmt::format("{} ", all[static_cast<size_t>(g.find(name))]);
    return text;
  };
  EXPECT_EQ(times(0, SIZE_MAX), "0 9 2 4 32 ") << "an input is no node";
  EXPECT_EQ(times(1, 3), "0 8 2 4 0 ");
  EXPECT_EQ(times(3, 3), "0 8 0 0 0 ");
  EXPECT_EQ(times(4, 99), "0 0 0 0 32 ");
  EXPECT_EQ(g.node_of_instruction("named"), g.find("named"));
  EXPECT_EQ(g.node_of_instruction("c"), g.find("other"));
  EXPECT_EQ(g.node_of_instruction("nobody"), kNone);
}

// Instructions of a body have names with the prefix of the body, one for each copy.
TEST(ProfileRows, NodesOfBodiesHaveTheSumOfTheirRounds) {
  const GraphModel g(*ir::parse_text(kControlFlowText));
  const auto profile = profile_of(0, {{"repeat", 1},
                                      {"rounds_7/product", 2},
                                      {"unrolled_1/sine", 4},
                                      {"unrolled_2/sine", 8},
                                      {"yes_4/double", 16},
                                      {"body_3/yes_4/double", 32},
                                      {"body_5/rounds_0/e", 64},
                                      {"last", 128}});
  const auto all = node_times(g, *profile);
  const auto time = [&](const char* name) { return all[static_cast<size_t>(g.find(name))]; };
  EXPECT_EQ(time("product"), 66) << "also by the name of its result, in a copy of a copy";
  EXPECT_EQ(time("repeat"), 67) << "its own instructions and its body";
  EXPECT_EQ(time("sine"), 12) << "the sum of the copies";
  EXPECT_EQ(time("short"), 12);
  EXPECT_EQ(time("double"), 48);
  EXPECT_EQ(time("choose"), 48);
  EXPECT_EQ(time("negate"), 0);
  EXPECT_EQ(time("last"), 128);
  EXPECT_EQ(g.node_of_instruction("rounds_7/absent"), kNone);
  EXPECT_EQ(g.node_of_instruction("rounds/product"), kNone) << "a prefix has a number";
  EXPECT_EQ(g.node_of_instruction("yes_4/same"), kNone) << "two bodies with that name have it";
}

// The names of nodes need not be there or unique. An instruction belongs to its own node.
TEST(ProfileRows, NodesWithoutNamesAndWithEqualNamesHaveTheirOwnTimes) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 17} {
  input %x : f32[1,3,8,8]
  input %c : bool[]
  const %w : f32[16,3,3,3] = fill 0.5
  const %v : f32[16,16,3,3] = fill 0.25
  %first : f32[1,16,8,8] = Conv(%x, %w) {pads = [1, 1, 1, 1]}
  %shown : f32[1,16,8,8] = Relu(%first)
  %second : f32[1,16,8,8] = Conv(%shown, %v) {pads = [1, 1, 1, 1]} "same"
  %third : f32[1,16,8,8] = Conv(%second, %v) {pads = [1, 1, 1, 1]} "same"
  %last : f32[1,16,8,8] = If(%c) {then_branch = graph "yes" { %a : f32[1,16,8,8] = Sin(%third) output %a }, else_branch = graph "yes" { %a : f32[1,16,8,8] = Cos(%third) output %a }}
  output %last
})");
  const GraphModel g(*graph);
  const Compilation made = compile_with_history(*graph);
  ASSERT_TRUE(made.program) << made.error;
  ProgramProfile profile;
  for (const program::Instruction& in : made.program->main) {
    profile.names.push_back(in.name);
    profile.instructions.push_back(made.program->kernels[in.kernel].starts_with("control") ? 0 : 1);
  }
  std::map<std::string, double> times;
  const auto all = node_times(g, profile);
  for (size_t i = 0; i < all.size(); i++)
    if (all[i] > 0) times[g.nodes()[i].op + " " + g.value(g.nodes()[i].outputs[0]).name] = all[i];
  for (const char* node : {"Conv first", "Conv second", "Conv third", "Sin a", "Cos a", "If last"})
    EXPECT_GT(times[node], 0) << node;
  for (const NodeEvent& e : history_of(made, 0, g.node_of_instruction("first")))
    EXPECT_NE(e.op.find("Conv"), std::string::npos) << event_text(e);
}

// An instruction that only one side has takes no time on the other side.
TEST(ProfileRows, TimesOfOneSideHaveNoRatio) {
  const auto left = profile_of(100, {{"gone", 1.5}}), right = profile_of(100, {{"new", 1.25}});
  const auto rows = diff_programs({nullptr, left}, {nullptr, right});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "gone");
  EXPECT_EQ(rows[1].change, Change::removed);
  EXPECT_EQ(rows[2].name, "new");
  EXPECT_EQ(rows[2].change, Change::added);
}

TEST(ProfileRows, PackedWeightsAreOfTheirSide) {
  const auto program = [](uint64_t weights) {
    program::Program p;
    p.weights_bytes = weights;
    return std::make_shared<const ProgramModel>(p);
  };
  EXPECT_EQ(rows_of(diff_programs({program(1), nullptr}, {program(2), nullptr})),
            std::vector<std::string>{"memory packed weights: changed 1 B 2 B"});
}

// Instructions are matched to nodes by the names of their results, for every node of the graph.
TEST(ProfileRows, TheFirstNodeMayHaveTimesToo) {
  const GraphModel g(*ir::parse_text(R"(graph "g" {
  const %w : f32[2] = [1.0, 2.0]
  %a : f32[2] = Relu(%w) "named"
  %b : f32[2] = Neg(%a) "last"
  output %b
})"));
  ASSERT_EQ(g.find("named"), 0);
  EXPECT_EQ(g.node_of_instruction("a"), 0);
  EXPECT_EQ(g.node_of_instruction("b"), g.find("last"));
  EXPECT_EQ(g.find("w"), 0);
  EXPECT_EQ(g.node_of_instruction("w"), kNone) << "no node computes a weight";
  EXPECT_EQ(node_times(g, *profile_of(0, {{"named", 3}})).at(0), 3);
}

}  // namespace
}  // namespace poprt::inspector
