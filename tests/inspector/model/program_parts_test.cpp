// Programs that are several: fused models, several shapes, several IPUs, several executables.
#include "model/program_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "compiler/fuse_graphs.h"
#include "inspector/sample_files.h"
#include "ir/placement.h"
#include "model/profile.h"
#include "model/report.h"
#include "model/run.h"
#include "model/variant_names.h"

namespace poprt::inspector {
namespace {

class ProgramParts : public testing::Test {
 protected:
  Document load(const std::filesystem::path& path) {
    Document d = load_document(path, progress);
    EXPECT_EQ(d.error, "");
    EXPECT_TRUE(d.problems.empty());
    EXPECT_TRUE(d.program);
    return d;
  }
  // Checks that no instruction is in two parts, and that all parts together are the main program.
  void expect_sound(const ProgramModel& p, size_t outside) {
    size_t inside = 0;
    for (size_t i = 0; i < p.parts().size(); i++) {
      const ProgramPart& part = p.parts()[i];
      EXPECT_LT(part.first, part.last);
      const auto rows = p.rows("", static_cast<int>(i));
      EXPECT_EQ(rows.size(), part.last - part.first + 1);
      for (const size_t row : rows) EXPECT_EQ(p.part_of(p.instructions()[row].index), int(i));
      inside += rows.size();
      EXPECT_LE(part.most_bytes, part.arena_bytes);
      EXPECT_LE(part.arena_begin + part.arena_bytes, p.arena_bytes());
      const size_t peak = p.peak(static_cast<int>(i));
      EXPECT_TRUE(part.first <= peak && peak <= part.last);
      EXPECT_EQ(p.own_bytes()[peak], part.most_bytes);
    }
    EXPECT_EQ(inside + outside, p.live_bytes().size());
  }
  ProgramProfile profiled(const Document& d) {
    return profile_program(d.popef->program(), 0.02, progress);
  }

  SampleFolder folder{"parts"};
  Progress progress;
};

TEST_F(ProgramParts, OfAFusedModelAreItsModels) {
  const Document d = load(write_fused(folder));
  const auto& parts = d.program->parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "graph0 net");
  EXPECT_EQ(parts[1].name, "graph1 other");
  EXPECT_TRUE(parts[0].is_variant());
  EXPECT_GT(parts[0].weights_bytes, 8u * 4);
  expect_sound(*d.program, 0);
  const auto rows = d.popef->metadata_rows(0);
  EXPECT_NE(
      std::find(rows.begin(), rows.end(), std::pair<std::string, std::string>{"graph 1", "other"}),
      rows.end());
  EXPECT_EQ(d.popef->anchor_rows("", AnchorColumn::name, false, "graph1/").size(), 2u);
}

TEST_F(ProgramParts, OfSeveralShapesAreTheirSizes) {
  const Document d = load(write_buckets(folder));
  const auto& parts = d.program->parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].name.ends_with(" 3")) << parts[0].name;
  EXPECT_TRUE(parts[1].name.ends_with(" 7")) << parts[1].name;
  EXPECT_LT(parts[0].arena_bytes, parts[1].arena_bytes + 1);
  expect_sound(*d.program, 0);
  const auto& anchors = d.popef->anchors();
  const auto x = std::find_if(anchors.begin(), anchors.end(),
                              [](const AnchorRow& a) { return a.name == "x"; });
  ASSERT_NE(x, anchors.end());
  EXPECT_EQ(d.popef->shapes_of(*x), (std::vector<std::string>{"3×2", "7×2"}));
}

TEST_F(ProgramParts, OfSeveralIpusHaveSeparateMemory) {
  for (const bool pipelined : {false, true}) {
    const Document d = load(write_sharded(folder, pipelined));
    const auto& parts = d.program->parts();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[1].name, pipelined ? "IPU 1, stage 1" : "IPU 1");
    EXPECT_EQ(parts[1].ipu, 1);
    EXPECT_GE(parts[1].arena_begin, parts[0].arena_begin + parts[0].arena_bytes);
    const auto& rows = d.program->instructions();
    const auto transfers = static_cast<size_t>(std::count_if(
        rows.begin(), rows.end(), [](const auto& r) { return r.kernel == "control.transfer"; }));
    EXPECT_GE(transfers, 1u);
    expect_sound(*d.program, transfers);
    // A transfer does not begin a block, so it does not increase the depth.
    for (const InstructionRow& row : rows) EXPECT_LE(row.depth, 1) << row.kernel;
    const auto metadata = d.popef->metadata_rows(0);
    EXPECT_TRUE(std::any_of(metadata.begin(), metadata.end(), [](const auto& r) {
      return r.first == "transfer 0" && r.second.ends_with("part 0 to 1");
    })) << table_text(report(d, "metadata", {}, nullptr)[0]);
  }
}

TEST_F(ProgramParts, AProfileTimesEveryVariant) {
  const Document d = load(write_fused(folder));
  const ProgramProfile p = profiled(d);
  ASSERT_EQ(p.variant_ns.size(), 2u);
  EXPECT_GT(p.variant_ns[0], 0);
  EXPECT_NEAR(p.variant_ns[0] + p.variant_ns[1], p.run_ns, p.run_ns * 1e-6);
  for (const InstructionRow& row : d.program->instructions())
    if (!row.kernel.starts_with("control.")) EXPECT_GT(p.instructions[row.index], 0) << row.index;
}

// The times of an engine with several IPUs leave out the instructions around the shards.
TEST_F(ProgramParts, AProfileOfSeveralIpusIsThatOfTheRightInstructions) {
  const Document d = load(write_sharded(folder, true));
  const ProgramProfile p = profiled(d);
  ASSERT_EQ(p.instructions.size(), d.program->live_bytes().size());
  for (const InstructionRow& row : d.program->instructions()) {
    EXPECT_EQ(p.names[row.index], row.name);
    EXPECT_EQ(p.instructions[row.index] > 0, !row.kernel.starts_with("control.")) << row.index;
  }
}

TEST_F(ProgramParts, TimesOfNodesBelongToOneVariant) {
  const Document d = load(write_fused(folder)), source = [&] {
    return load_document(folder.write("other.ir", kOtherText), progress);
  }();
  ProgramProfile p = profiled(d);
  std::fill(p.instructions.begin(), p.instructions.end(), 1.0);
  const auto sum = [&](size_t first, size_t last) {
    double all = 0;
    for (const double ns : node_times(*source.graph, p, first, last)) all += ns;
    return all;
  };
  const ProgramPart& mine = d.program->parts()[1];
  EXPECT_GT(sum(mine.first, mine.last), 0);
  EXPECT_LT(sum(mine.first, mine.last), sum(0, SIZE_MAX));
}

TEST_F(ProgramParts, RunOneAtATime) {
  for (const auto& [path, variant, shape] :
       {std::tuple{write_fused(folder), size_t{1}, Shape{3, 2}},
        std::tuple{write_buckets(folder), size_t{0}, Shape{3, 2}},
        std::tuple{write_buckets(folder), size_t{1}, Shape{7, 2}}}) {
    const auto model = model_to_run(load(path), nullptr, progress);
    EXPECT_EQ(run_variants(*model).size(), 2u);
    const RunResult r = run_model(model, {}, 3, progress, variant);
    ASSERT_EQ(r.inputs.size(), 1u);
    ASSERT_EQ(r.outputs.size(), 1u);
    ASSERT_EQ(r.outputs[0].tensor.shape(), shape);
    const auto x = r.inputs[0].tensor.to_doubles(), y = r.outputs[0].tensor.to_doubles();
    for (size_t i = 0; i < x.size(); i++) EXPECT_NEAR(y[i], std::max(x[i], 0.0) + 1, 1e-6);
    BenchSettings settings;
    settings.seconds = 0.05;
    settings.variant = variant;
    EXPECT_GT(bench_model(model, {}, 1, settings, progress).requests, 0u);
    EXPECT_THROW(run_model(model, {}, 1, progress, 2), Error);
  }
}

TEST_F(ProgramParts, OfSeveralIpusRunTogether) {
  const auto one = run_model(
      model_to_run(load(write_compiled(folder, "net", compiled(kSampleText))), nullptr, progress),
      {}, 5, progress);
  for (const bool pipelined : {false, true}) {
    const auto model = model_to_run(load(write_sharded(folder, pipelined)), nullptr, progress);
    EXPECT_TRUE(run_variants(*model).empty());
    const RunResult several = run_model(model, {}, 5, progress);
    ASSERT_EQ(several.outputs.size(), 1u);
    EXPECT_TRUE(several.outputs[0].tensor.same_as(one.outputs[0].tensor));
  }
}

TEST_F(ProgramParts, SeveralExecutablesInAFileAreAllShown) {
  const Document d = load(folder.write("two.popef", sample_popef("a") + sample_popef("b")));
  ASSERT_EQ(d.programs.size(), 2u);
  EXPECT_EQ(d.programs[1].name, "b");
  EXPECT_EQ(d.programs[1].executable, 1u);
  const auto tables = report(d, "program", {}, nullptr);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[1].name, "program of b");
  EXPECT_EQ(run_model(model_to_run(d, nullptr, progress, "b"), {}, 1, progress).outputs.size(), 1u);
  try {
    model_to_run(d, nullptr, progress);
    FAIL() << "which one?";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'b'"), std::string::npos) << e.what();
  }
}

TEST_F(ProgramParts, AreAReport) {
  const Document d = load(write_fused(folder));
  ReportOptions options;
  const ProgramProfile p = profiled(d);
  options.profile = &p;
  const auto tables = report(d, "parts", options, nullptr);
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(tables[0].rows[1][0]), "graph1 other");
  EXPECT_GT(std::get<double>(tables[0].rows[1].back()), 0);
  const auto program = report(d, "program", options, nullptr);
  EXPECT_EQ(program[0].columns.back(), "part");
}

// A model that is cut by attributes of its nodes is compiled for the IPUs that these name.
TEST_F(ProgramParts, AModelThatIsCutIsCompiledSo) {
  const auto graph = ir::parse_text(kSampleText);
  int64_t number = 0;
  for (ir::Node* n : graph->nodes()) ir::set_seat(*n, {number++ / 2, -1});
  std::string assumed;
  const Compilation made = compile_with_history(*graph, options_for_inspection(*graph, assumed));
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(assumed, "2 IPUs");
  ASSERT_TRUE(made.program);
  EXPECT_EQ(ProgramModel(*made.program).parts().size(), 2u);
}

TEST_F(ProgramParts, WeightsThatTheFileHasNarrowAreMarked) {
  compiler::Options options;
  options.precision = compiler::Precision::fp16;
  std::string values;
  for (int i = 0; i < 64 * 32; i++) values += (i ? ", " : "") + std::to_string(i % 7) + ".25";
  const compiler::Executable made = compiled(R"(graph "wide" opset {"": 17} {
  input %x : f32[1,64]
  const %w : f32[64,32] = [)" + values + R"(]
  const %b : f32[] = 0.1
  %a : f32[1,32] = MatMul(%x, %w) "product"
  %y : f32[1,32] = Add(%a, %b)
  output %y
}
)",
                                             options);
  ASSERT_EQ(made.narrow.size(), 1u);
  const auto path = folder.path / "narrow.popef";
  runtime::write_popef(path, "narrow", made.program, made.weights, {}, {}, made.narrow);
  const Document d = load_document(path, progress);
  ASSERT_TRUE(d.program) << d.error;
  EXPECT_LT(d.program->stored_weights_bytes(), d.program->weights_bytes());
  size_t narrow = 0;
  for (const InstructionRow& row : d.program->instructions())
    for (const OperandRow& o : row.operands) {
      narrow += o.stored == "f16";
      EXPECT_TRUE(o.stored.empty() || o.space == "weights") << o.space;
    }
  EXPECT_EQ(narrow, 1u);
}

TEST(VariantNames, EachShardHasARow) {
  const TextRows rows = shard_rows(
      R"({"ipus": 2, "pipelined": true, "shards": [
        {"ipu": 0, "stage": 0, "instructions": 1, "weights_bytes": 2048, "arena_bytes": 64},
        {"ipu": 1, "instructions": 2, "weights_bytes": 0, "arena_bytes": 1}],
      "transfers": [{"name": "t", "dtype": "f32", "shape": [1, 8], "bytes": 32, "from": 0, "to": [1]}]})");
  EXPECT_EQ(rows,
            (TextRows{{"part 0", "IPU 0, stage 0: 1 instruction, weights 2.00 KiB, memory 64 B"},
                      {"part 1", "IPU 1: 2 instructions, weights 0 B, memory 1 B"},
                      {"transfer 0", "t f32 1×8, 32 B: part 0 to 1"}}));
}

// One of the two models is cut for two IPUs.
TEST_F(ProgramParts, AFusedModelIsCutModelByModel) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  graphs.push_back(ir::parse_text(kSampleText));
  graphs.push_back(ir::parse_text(kOtherText));
  int64_t number = 0;
  for (ir::Node* n : graphs[0]->nodes()) ir::set_seat(*n, {number++ / 2, -1});
  const auto fused = compiler::fuse_graphs(std::move(graphs), {"net", "other"});
  std::string assumed;
  const Compilation made = compile_with_history(*fused, options_for_inspection(*fused, assumed));
  EXPECT_EQ(made.error, "");
  ASSERT_TRUE(made.program);
  std::vector<std::string> names;
  const auto shown = program_model(made);
  for (const auto& part : shown->parts()) names.push_back(part.name);
  EXPECT_EQ(names, (std::vector<std::string>{"IPU 0", "IPU 1"}));
}

// The models are side by side in one graph, as MFConverter makes them.
TEST_F(ProgramParts, AFusedGraphIsCompiledModelByModel) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  graphs.push_back(ir::parse_text(kSampleText));
  graphs.push_back(ir::parse_text(kOtherText));
  const auto fused = compiler::fuse_graphs(std::move(graphs), {"net", "other"});
  Document d;
  d.path = "fused.ir";
  d.ir = std::shared_ptr<const ir::Graph>(fused->clone());
  const Compilation made = compile_with_history(*d.ir);
  EXPECT_EQ(made.error, "");
  EXPECT_GT(made.steps.size(), 2u);
  ASSERT_TRUE(made.program);
  const auto shown = program_model(made);
  const auto& parts = shown->parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].name, "graph1 other");
  const auto model = model_to_run(d, &made, progress);
  EXPECT_EQ(run_variants(*model), (std::vector<std::string>{"graph0 net", "graph1 other"}));
  EXPECT_EQ(run_model(model, {}, 1, progress, 1).outputs[0].tensor.shape(), (Shape{3, 2}));
}

// A value that a loop reads is also read in its next round.
TEST(ProgramLoops, ValuesReadByALoopLiveUntilItsEnd) {
  program::Program p;
  p.kernels = {"make", "use", "control.loop", "control.end"};
  p.arena_bytes = 256;
  for (uint64_t i = 0; i < 3; i++)
    p.buffers.push_back({program::Space::arena, 0, i * 64, 64, DType::u8, {64}});
  const auto none = program::kNoBuffer;
  p.main = {{0, {0}, {}, {}, "before"}, {2, {none, none, 1}, {9}, {}, "loop"},
            {1, {0}, {}, {}, "early"},  {1, {2}, {}, {}, "late"},
            {3, {}, {}, {}, "end"},     {0, {2}, {}, {}, "after"}};
  const ProgramModel model(p);
  const auto interval = [&](uint64_t offset) {
    for (const ArenaInterval& i : model.intervals())
      if (i.offset == offset) return std::pair(i.first, i.last);
    return std::pair(-1, -1);
  };
  EXPECT_EQ(interval(0), std::pair(0, 4));
  EXPECT_EQ(interval(128), std::pair(3, 5));
  p.state_bytes = 64;  // lasts from run to run
  const ProgramModel with_state(p);
  EXPECT_EQ(with_state.intervals()[0].last, 5);
}

TEST(VariantNames, InvalidBlobsHaveNoNames) {
  for (const char* text : {"", "[]", "{", "{\"kind\": \"graphs\"}", "{\"kind\": 3}",
                           "{\"kind\": \"shapes\", \"buckets\": [{}], \"inputs\": {}}",
                           "{\"kind\": \"graphs\", \"graphs\": [1]}"}) {
    EXPECT_TRUE(variant_names(text).empty()) << text;
    EXPECT_TRUE(bucket_shapes(text, "x").empty()) << text;
    EXPECT_TRUE(shard_rows(text).empty()) << text;
  }
  EXPECT_EQ(variant_names("{\"kind\": \"graphs\", \"graphs\": [\"a\\nb\"]}"),
            std::vector<std::string>{"graph0 a\\x0ab"});
}

}  // namespace
}  // namespace poprt::inspector
