// Tables of a report, cell by cell: about a document, a program and its times, passes, and a
// recording.
#include "model/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "inspector/sample_files.h"
#include "model/profile.h"

namespace poprt::inspector {
namespace {

class ReportTables : public testing::Test {
 protected:
  Document load(const std::string& name, const std::string& bytes) {
    Progress progress;
    return load_document(folder.write(name, bytes), progress);
  }
  // The whole text of a property in the summary; "-" if there is none.
  static std::string summary(const Document& d, const std::string& property) {
    std::string message;
    const auto tables = report(d, "summary", {}, nullptr);
    for (const auto& row : tables.at(0).rows)
      if (std::get<std::string>(row[0]) == property)
        message += (message.empty() ? "" : "; ") + std::get<std::string>(row[1]);
    return message.empty() ? "-" : message;
  }
  // A document of the sample graph and a program made by hand.
  static Document with_program(std::shared_ptr<const ProgramModel> program) {
    Document d;
    d.path = "made.ir";
    d.graph = std::make_shared<GraphModel>(*ir::parse_text(kSampleText));
    d.programs.push_back({"", 0, std::move(program)});
    return d;
  }
  static std::string tsv(const Document& d, const char* view, const ReportOptions& options = {},
                         const Compilation* compilation = nullptr) {
    return table_tsv(report(d, view, options, compilation).at(0));
  }
  SampleFolder folder{"report"};
};

TEST_F(ReportTables, SummaryListsKnownProperties) {
  const Document broken = load("broken.ir", "graph");
  EXPECT_EQ(summary(broken, "error"), broken.error);
  EXPECT_EQ(summary(broken, "nodes"), "-");

  const Document file = load("m.popef", sample_popef());
  EXPECT_EQ(summary(file, "error"), "-");
  EXPECT_EQ(summary(file, "instructions"), std::to_string(file.program->instructions().size()));
  EXPECT_EQ(summary(file, "arena"), std::to_string(file.program->arena_bytes()));
  EXPECT_EQ(summary(file, "program weights"), std::to_string(file.program->weights_bytes()));
  EXPECT_EQ(summary(file, "program weights in the file"), "-") << "as wide as in memory";
  EXPECT_EQ(summary(file, "programs"), "-") << "there is one";
  EXPECT_EQ(summary(file, "part"), "-");
  EXPECT_EQ(summary(file, "series"), "-");

  EXPECT_EQ(summary(load("two.popef", sample_popef("a") + sample_popef("b")), "programs"), "2");
  Progress progress;
  EXPECT_EQ(summary(load_document(write_fused(folder), progress), "part"),
            "graph0 net; graph1 other");
}

// Two variants, an instruction after them and one that runs once.
std::shared_ptr<const ProgramModel> variants() {
  program::Program p;
  p.kernels = {"control.case", "k", "l", "control.end"};
  p.inputs.push_back({});
  p.inputs[0].name = "in";
  p.arena_bytes = 224;
  p.weights_bytes = 24;
  const auto buffer = [&](program::Space space, uint64_t offset, int64_t bytes) {
    p.buffers.push_back({space, 0, offset, static_cast<uint64_t>(bytes), DType::u8, {bytes}});
    return static_cast<uint32_t>(p.buffers.size() - 1);
  };
  using enum program::Space;
  const uint32_t index = buffer(input, 0, 4), a = buffer(arena, 0, 64), w = buffer(weights, 0, 16),
                 half = buffer(weights, 16, 8), b = buffer(arena, 64, 32),
                 c = buffer(arena, 96, 128);
  p.main = {{0, {index}, {0}, {}, "first"}, {1, {a, w}, {}, {}, "x"},    {3, {}, {}, {}, ""},
            {0, {index}, {1}, {}, ""},      {2, {b, half}, {}, {}, "y"}, {3, {}, {}, {}, ""},
            {1, {a, c}, {}, {}, "after"}};
  p.load = {{1, {w}, {}, {}, "early"}};
  const program::NarrowWeights narrow[] = {{16, 8, DType::f16}};
  return std::make_shared<ProgramModel>(p, std::span<const std::string>{}, narrow);
}

TEST_F(ReportTables, AProgramIsListedByInstructionsPartsAndMemory) {
  const Document d = with_program(variants());
  ProgramProfile profile;
  profile.instructions = {1, 2, 4, 8, 16, 32};  // the last instruction was not timed
  ReportOptions timed;
  timed.profile = &profile;
  EXPECT_EQ(tsv(d, "program", timed),
            "flow\tindex\tkernel\tname\toperands\tweight_bytes\tlive_bytes\tns\tpart\n"
            "main\t0\tcontrol.case\tfirst\tinput in+0 u8 4\t0\t0\t1\tfirst\n"
            "main\t1\tk\tx\tarena+0 u8 64, weights+0 u8 16\t16\t64\t2\tfirst\n"
            "main\t2\tcontrol.end\t\t\t0\t64\t4\tfirst\n"
            "main\t3\tcontrol.case\t\tinput in+0 u8 4\t0\t64\t8\tvariant 1\n"
            "main\t4\tl\ty\tarena+64 u8 32, weights+16 u8 8, stored as f16\t8\t96\t16\tvariant 1\n"
            "main\t5\tcontrol.end\t\t\t0\t64\t32\tvariant 1\n"
            "main\t6\tk\tafter\tarena+0 u8 64, arena+96 u8 128\t0\t192\t0\t\n"
            "load\t0\tk\tearly\tweights+0 u8 16\t16\t0\t0\t\n");
  EXPECT_EQ(tsv(d, "parts", timed),
            "name\tipu\tfirst\tlast\tinstructions\tweight_bytes\tarena_begin\tarena_bytes\t"
            "most_bytes\tns\n"
            "first\t-1\t0\t2\t1\t16\t0\t64\t64\t7\n"
            "variant 1\t-1\t3\t5\t1\t8\t0\t96\t96\t56\n");
  EXPECT_EQ(tsv(d, "parts"),
            "name\tipu\tfirst\tlast\tinstructions\tweight_bytes\tarena_begin\tarena_bytes\t"
            "most_bytes\n"
            "first\t-1\t0\t2\t1\t16\t0\t64\t64\n"
            "variant 1\t-1\t3\t5\t1\t8\t0\t96\t96\n");
  EXPECT_EQ(tsv(d, "memory"),
            "name\toffset\tbytes\tfirst\tlast\tbuffers\tat_peak\n"
            "after\t96\t128\t6\t6\t1\tyes\nx\t0\t64\t1\t6\t1\tyes\ny\t64\t32\t4\t4\t1\tno\n");
  profile.instructions = {1, 2, 4, 8};
  EXPECT_TRUE(
      tsv(d, "parts", timed).ends_with("\t64\t7\nvariant 1\t-1\t3\t5\t1\t8\t0\t96\t96\t8\n"))
      << "an instruction without a time takes no time";
}

// If a file has several programs, the times belong to the one that was timed.
TEST_F(ReportTables, TimesAreColumnsOfProgramAndNodes) {
  Document d = with_program(variants());
  d.programs.push_back({"other", 1, d.programs[0].program});
  ProgramProfile profile;
  profile.instructions = {3, 5, 7};
  profile.names = {"/Add", "x", "/block/Sigmoid"};
  ReportOptions options;
  options.profile = &profile;
  options.executable = 1;
  const auto tables = report(d, "program", options, nullptr);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].columns.back(), "part");
  EXPECT_EQ(tables[0].columns.end()[-2], "live_bytes");
  EXPECT_EQ(tables[1].columns.end()[-2], "ns");
  EXPECT_EQ(tables[1].name, "program of other");
  options.filter = "op:add";
  EXPECT_EQ(tsv(d, "graph", options),
            "operator\tname\tgroup\tinputs\toutputs\tweight_bytes\tns\n"
            "Add\t/Add\t\tb:f32[1,2], c:f32[1,2]\td:f32[1,2]\t0\t3\n");
  // A program that was compiled for inspection is the first.
  Compilation made = compile_with_history(*ir::parse_text(kSampleText));
  d.programs.clear();
  options.filter.clear();
  options.executable = 0;
  EXPECT_EQ(report(d, "program", options, &made).at(0).columns.back(), "ns");
  options.executable = 1;
  EXPECT_EQ(report(d, "program", options, &made).at(0).columns.back(), "live_bytes");
}

// The steps are the model, a pass that changes an input and removes a node, and a pass that adds a
// node.
Compilation three_steps() {
  Compilation made;
  const auto add = [&](const char* stage, const char* name, const char* nodes) {
    PassStep step;
    step.stage = stage;
    step.name = name;
    step.graph = std::make_shared<GraphModel>(
        *ir::parse_text(std::string("graph \"net\" opset {\"\": 17} {\n") + nodes + "\n}"));
    step.rewrites = std::ssize(made.steps);
    step.milliseconds = 1.5 * static_cast<double>(made.steps.size());
    step.nodes_after = step.graph->nodes().size();
    if (!made.steps.empty()) {
      auto changes = changes_between(*made.steps.back().graph, *step.graph);
      step.nodes_before = made.steps.back().nodes_after;
      step.added = changes.added;
      step.removed = changes.removed.size();
      step.changed = changes.changed;
      step.changes = std::make_shared<GraphChanges>(std::move(changes));
    }
    made.steps.push_back(std::move(step));
  };
  add("model", "model", R"(input %x : f32[2]
      %a : f32[2] = Identity(%x) "same"
      %b : f32[2] = Relu(%a) "relu"
      output %b)");
  add("convert", "first pass", R"(input %x : f32[3]
      %b : f32[2] = Clip(%x) "relu"
      output %b)");
  add("compile", "second pass", R"(input %x : f32[3]
      %c : f32[2] = Neg(%x) "minus"
      %b : f32[2] = Clip(%c) "relu"
      output %b)");
  return made;
}

TEST_F(ReportTables, PassesAreListedAndOneOfThemNodeByNode) {
  const Compilation made = three_steps();
  Document d;
  d.graph = made.steps[0].graph;
  EXPECT_EQ(tsv(d, "passes", {}, &made),
            "stage\tpass\trewrites\tms\tnodes_before\tnodes_after\tadded\tremoved\tchanged\n"
            "model\tmodel\t0\t0\t0\t4\t0\t0\t0\n"
            "convert\tfirst pass\t1\t1.5\t4\t3\t0\t1\t2\n"
            "compile\tsecond pass\t2\t3\t3\t4\t1\t0\t1\n");
  ReportOptions options;
  options.step = 0;
  EXPECT_EQ(tsv(d, "passes", options, &made), "change\toperator\tname\twas\n");
  options.step = 1;
  EXPECT_EQ(tsv(d, "passes", options, &made),
            "change\toperator\tname\twas\n"
            "removed\t\tsame\tIdentity\n"
            "changed\tinput\tx\tinput\n"
            "changed\tClip\trelu\tRelu\n");
  options.step = 2;
  EXPECT_EQ(tsv(d, "passes", options, &made),
            "change\toperator\tname\twas\n"
            "added\tNeg\tminus\t\n"
            "changed\tClip\trelu\tClip\n");
  options = {};
  options.node = "relu";
  EXPECT_EQ(table_tsv(report(d, "graph", options, &made).back()),
            "step\tpass\twhat\tname\n"
            "0\tmodel\tin the model as Relu\trelu\n"
            "1\tfirst pass\tRelu became Clip\trelu\n"
            "2\tsecond pass\tchanged its inputs, attributes or types\trelu\n");
}

TEST_F(ReportTables, OpaqueBlobsAreShownAsTextUpToAPage) {
  std::ostringstream bytes;
  popef::Writer writer(bytes);
  for (const size_t size : {4096, 4097})
    writer.createOpaqueBlob(std::to_string(size), "")->write(std::string(size, 'a').data(), size);
  writer.createOpaqueBlob("words", "")->write("a b", 3);
  writer.close();
  const auto rows = report(load("m.popef", bytes.str()), "opaque", {}, nullptr).at(0).rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(rows[0][3]), std::string(4096, 'a'));
  EXPECT_TRUE(std::get<std::string>(rows[1][3]).ends_with("… 4097 bytes in all\n"));
  EXPECT_EQ(std::get<std::string>(rows[2][3]), "a b");
}

// JSON has no infinite values. A cell without a value is null.
TEST(Reports, JsonHasTheNumbersOfTheText) {
  const double inf = std::numeric_limits<double>::infinity();
  const Table t{"t", {"a", "b", "c", "d"}, {{inf, -inf, 0.5, std::monostate()}}};
  const auto json = parse_json(tables_json({t}));
  EXPECT_EQ(json.at("t").at(0).dump(), R"({"a":"inf","b":"-inf","c":0.5,"d":null})");
  EXPECT_EQ(table_tsv(t), "a\tb\tc\td\ninf\t-inf\t0.5\t-\n");
}

TEST_F(ReportTables, ARecordingIsAListOfQueuesAndVariants) {
  TelemetryHistory history;
  for (const uint64_t turn : {1, 2}) {
    runtime::TelemetrySnapshot s;
    s.name = "net";
    s.replica = 3;
    s.pid = 7;
    s.started_ns = 1;
    s.alive = true;
    s.completed = 10 * turn;
    s.queues.resize(2);
    s.queues[0].name = "x";
    s.queues[0].capacity = 8;
    s.queues[0].fill = 2;
    s.queues[0].high_water = 5;
    s.queues[0].stalls = 4;
    s.queues[1].name = "y";
    s.queues[1].is_output = true;
    s.queues[1].capacity = 16;
    s.variants = {{"small", 4 * turn, 40 * turn}};
    history.add(100 + static_cast<double>(turn), {s});
  }
  Document d;
  d.kind = DocumentKind::recording;
  d.recording = std::make_shared<TelemetryHistory>(history);
  EXPECT_EQ(views_of(d), (std::vector<std::string>{"summary", "queues"}));
  EXPECT_EQ(summary(d, "series"), "1");
  const auto tables = report(d, "queues", {}, nullptr);
  ASSERT_EQ(tables.size(), 2u);
  std::vector<std::string> queues;
  for (const auto& row : tables[0].rows)
    queues.push_back(fmt::format("{} {} {} {} {} {}", std::get<std::string>(row[9]),
                                 std::get<std::string>(row[10]), std::get<int64_t>(row[11]),
                                 std::get<int64_t>(row[12]), std::get<int64_t>(row[13]),
                                 std::get<int64_t>(row[14])));
  EXPECT_EQ(queues, (std::vector<std::string>{"x input 2 8 5 4", "y output 0 16 0 0"}));
  EXPECT_EQ(table_tsv(tables[1]),
            "model\treplica\tpid\tbranch\truns\tbusy_ns\nnet\t3\t7\tsmall\t4\t40\n");
}

}  // namespace
}  // namespace poprt::inspector
