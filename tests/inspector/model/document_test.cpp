#include "model/document.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "base/error.h"
#include "inspector/sample_files.h"
#include "model/format.h"
#include "model/profile.h"
#include "model/report.h"
#include "model/settings.h"

namespace poprt::inspector {
namespace {

class DocumentTest : public testing::Test {
 protected:
  Document load(const std::string& name, const std::string& bytes) {
    Progress progress;
    return load_document(folder.write(name, bytes), progress);
  }
  SampleFolder folder{"document"};
};
using PopefFileTest = DocumentTest;
using ProgramModelTest = DocumentTest;
using ReportTest = DocumentTest;
using SettingsTest = DocumentTest;

TEST_F(DocumentTest, KindsAreKnownByContentsAndName) {
  EXPECT_EQ(load("a.ir", kSampleText).kind, DocumentKind::text);
  EXPECT_EQ(load("popef without its ending", sample_popef()).kind, DocumentKind::popef);
  EXPECT_EQ(load("b.onnx", "?").kind, DocumentKind::onnx);
  EXPECT_EQ(load("r", std::string(kRecordingHead) + "\n").kind, DocumentKind::recording);
}

TEST_F(DocumentTest, AnOnnxModelHasAGraph) {
  Progress progress;
  const Document d =
      load_document(std::filesystem::path(POPRT_EXAMPLES) / "digits" / "digits.onnx", progress);
  EXPECT_EQ(d.error, "");
  ASSERT_TRUE(d.graph);
  EXPECT_GT(d.graph->nodes().size(), 5u);
}

TEST_F(DocumentTest, BadFilesReportAnError) {
  const std::string good = kSampleText;
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"empty.onnx", ""},
           {"noise.onnx", std::string(300, '\x9f')},
           {"broken.ir", good.substr(0, good.size() / 2)},
           {"empty.popef", ""},
           {"noise.popef", std::string(4096, 'x')},
           {"noise.telemetry", "{}\n"}}) {
    const Document d = load(name, bytes);
    EXPECT_NE(d.error, "") << name;
    EXPECT_NE(d.error.find(name), std::string::npos) << d.error;
    EXPECT_EQ(d.error.find('\n'), std::string::npos) << d.error;
    EXPECT_FALSE(d.graph) << name;
  }
  Progress progress;
  EXPECT_NE(load_document(folder.path / "missing.onnx", progress).error.find("missing.onnx"),
            std::string::npos);
}

TEST(Format, NamesAreOrderedByTheValueOfTheirNumbers) {
  const std::vector<std::string> ordered = {"",      "n",      "n_2",   "n_02",  "n_11",
                                            "n_11a", "n_11a3", "n_103", "n_103", "o1"};
  for (size_t i = 0; i < ordered.size(); i++)
    for (size_t k = 0; k < ordered.size(); k++) {
      // If two names have equal numbers, the one that is smaller as text is first.
      const bool equal_numbers = (i == 2 && k == 3) || (i == 3 && k == 2);
      const bool before =
          equal_numbers ? ordered[i] < ordered[k] : i < k && ordered[i] != ordered[k];
      EXPECT_EQ(natural_less(ordered[i], ordered[k]), before) << ordered[i] << ' ' << ordered[k];
    }
  EXPECT_TRUE(natural_less("x99999999999999999999998", "x99999999999999999999999"));
}

TEST_F(DocumentTest, LoadingCanBeCancelled) {
  Progress progress;
  progress.cancel = true;
  EXPECT_THROW(load_document(folder.write("a.ir", kSampleText), progress), Error);
}

TEST_F(DocumentTest, ATaskRunsCancelsAndFails) {
  Task<int> good([](Progress&) { return 7; });
  good.wait();
  EXPECT_EQ(good.take(), 7);
  Task<int> bad([](Progress&) -> int { throw Error(ErrorCode::internal, "no"); });
  bad.wait();
  EXPECT_EQ(bad.take(), std::nullopt);
  EXPECT_EQ(bad.error(), "no");
  Task<int> endless([](Progress& p) -> int {
    for (;;) p.step(0.5, "turning");
  });
  endless.cancel();
  endless.wait();
  EXPECT_NE(endless.error().find("cancelled"), std::string::npos);
}

// If a tab is closed while a pass runs that does not check `cancel`, the window must not wait for
// the pass.
TEST_F(DocumentTest, DestructorDoesNotWaitForAnAbandonedTask) {
  AbandonedThreads::instance().join();
  std::promise<void> gone;
  auto working = std::make_shared<std::promise<void>>();
  std::future<void> begun = working->get_future();
  std::atomic<int> woken = 0;
  {
    const Task<int> stubborn(
        [working, until = gone.get_future().share()](Progress&) {
          working->set_value();
          until.wait();
          return 1;
        },
        [&woken] { woken++; });
    begun.wait();
  }  // would wait for later jobs
  EXPECT_EQ(AbandonedThreads::instance().count(), 1u);
  gone.set_value();
  AbandonedThreads::instance().join();
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(AbandonedThreads::instance().count(), 0u);
}

TEST_F(DocumentTest, ATaskThatTakesTheNextPlaceCancelsTheOneBefore) {
  auto cancelled = std::make_shared<std::promise<void>>();
  std::future<void> seen = cancelled->get_future();
  Task<int> task([cancelled](Progress& progress) -> int {
    while (!progress.cancel.load()) std::this_thread::yield();
    cancelled->set_value();
    return 1;
  });
  task = Task<int>([](Progress&) { return 2; });
  seen.wait();
  task.wait();
  EXPECT_EQ(task.take(), 2);
}

TEST_F(DocumentTest, NoticesThatAFileChanged) {
  const Document d = load("a.ir", kSampleText);
  EXPECT_FALSE(has_changed(d));
  folder.write("a.ir", std::string(kSampleText) + "# more\n");
  EXPECT_TRUE(has_changed(d));
}

TEST_F(PopefFileTest, ListsBlobsAnchorsAndData) {
  const Document d = load("m.popef", sample_popef());
  ASSERT_EQ(d.error, "");
  ASSERT_TRUE(d.popef);
  EXPECT_TRUE(d.problems.empty());
  EXPECT_EQ(d.popef->blobs().size(), 5u);
  const auto rows = d.popef->anchor_rows("table", AnchorColumn::name, false);
  ASSERT_EQ(rows.size(), 1u);
  const AnchorRow& a = d.popef->anchors()[rows[0]];
  EXPECT_EQ(a.data, "tensor");
  EXPECT_EQ(a.handle, "table_handle");
  EXPECT_EQ(a.bytes, 12u);
  EXPECT_TRUE(a.per_replica);
  EXPECT_EQ(d.popef->tensor(0).to_doubles(), (std::vector<double>{1, 2, 4}));
}

TEST_F(PopefFileTest, AnchorsSortByEveryColumnBothWays) {
  const Document d = load("m.popef", sample_popef());
  for (int c = 0; c < kAnchorColumns; c++) {
    const auto column = static_cast<AnchorColumn>(c);
    const auto up = d.popef->anchor_rows("", column, false),
               down = d.popef->anchor_rows("", column, true);
    ASSERT_EQ(up.size(), d.popef->anchors().size());
    if (column == AnchorColumn::bytes)
      for (size_t i = 1; i < up.size(); i++)
        EXPECT_LE(d.popef->anchors()[up[i - 1]].bytes, d.popef->anchors()[up[i]].bytes);
    else if (column != AnchorColumn::shape)
      for (size_t i = 1; i < up.size(); i++)
        EXPECT_FALSE(natural_less(anchor_cell(d.popef->anchors()[up[i]], column),
                                  anchor_cell(d.popef->anchors()[up[i - 1]], column)));
    EXPECT_EQ(anchor_cell(d.popef->anchors()[up.front()], column),
              anchor_cell(d.popef->anchors()[down.back()], column));
  }
}

TEST_F(PopefFileTest, OpaqueBlobsAreJsonOrHex) {
  const Document d = load("m.popef", sample_popef());
  ASSERT_EQ(d.popef->opaque().size(), 2u);
  EXPECT_EQ(d.popef->opaque_text(0), "[\n  \"cat\",\n  \"dog\"\n]");
  EXPECT_NE(d.popef->opaque_text(1).find("00 01 ff"), std::string::npos);
}

TEST_F(PopefFileTest, BracketsInBracketsAreText) {
  const std::string deep = std::string(500000, '[') + std::string(500000, ']');
  std::ostringstream file;
  popef::Writer writer(file);
  writer.createOpaqueBlob("deep", "net")->write(deep.data(), deep.size());
  writer.close();
  const Document d = load("deep.popef", file.str());
  ASSERT_EQ(d.popef->opaque().size(), 1u);
  EXPECT_EQ(d.popef->opaque_text(0), deep);
}

// Brackets in strings do not change the depth.
TEST_F(PopefFileTest, BracketsInStringsAreNotLevels) {
  std::string deep, shallow = "[";
  for (int i = 0; i < 100000; i++) deep += "[\"]\\\"]\",";
  deep += "0" + std::string(100000, ']');
  for (int i = 0; i < 100; i++) shallow += "\"[\",";
  shallow += "0]";
  std::ostringstream file;
  popef::Writer writer(file);
  writer.createOpaqueBlob("deep", "net")->write(deep.data(), deep.size());
  writer.createOpaqueBlob("shallow", "net")->write(shallow.data(), shallow.size());
  writer.close();
  const Document d = load("strings.popef", file.str());
  EXPECT_EQ(d.popef->opaque_text(0), deep);
  EXPECT_NE(d.popef->opaque_text(1), shallow) << "printed as a list";
}

// Up to 64 levels are shown one below the other.
TEST_F(PopefFileTest, BracketsOfFewLevelsAreLists) {
  for (const size_t levels : {64, 65}) {
    const std::string deep = std::string(levels, '[') + std::string(levels, ']');
    std::ostringstream file;
    popef::Writer writer(file);
    writer.createOpaqueBlob("deep", "net")->write(deep.data(), deep.size());
    writer.close();
    const Document d = load(fmt::format("deep{}.popef", levels), file.str());
    EXPECT_EQ(d.popef->opaque_text(0) == deep, levels > 64) << d.popef->opaque_text(0);
  }
}

TEST_F(PopefFileTest, ADamagedFileShowsTheRest) {
  std::string bytes = sample_popef();
  const Document whole = load("m.popef", bytes);
  // The end is cut off: the part in front of it can be shown.
  const Document cut = load("cut.popef", bytes.substr(0, bytes.size() - 70));
  EXPECT_EQ(cut.error, "");
  EXPECT_FALSE(cut.problems.empty());
  EXPECT_LT(cut.popef->blobs().size(), whole.popef->blobs().size());
  EXPECT_FALSE(cut.popef->anchors().empty());
  EXPECT_TRUE(cut.program);
}

TEST_F(PopefFileTest, AnyByteMayBeWrong) {
  const std::string bytes = sample_popef();
  for (size_t i = 0; i < bytes.size(); i += 41) {
    std::string broken = bytes;
    broken[i] = static_cast<char>(~broken[i]);
    const Document d = load("broken.popef", broken);
    if (!d.popef) {
      EXPECT_NE(d.error, "") << i;
      continue;
    }
    for (size_t o = 0; o < d.popef->opaque().size(); o++) (void)d.popef->opaque_text(o);
    (void)d.popef->anchor_rows("t", AnchorColumn::bytes, true);
  }
}

TEST_F(ProgramModelTest, ArenaNeverHoldsMoreThanItHas) {
  const Document d = load("m.popef", sample_popef());
  ASSERT_TRUE(d.program);
  const ProgramModel& p = *d.program;
  ASSERT_FALSE(p.instructions().empty());
  for (const uint64_t live : p.live_bytes()) EXPECT_LE(live, p.arena_bytes());
  for (const ArenaInterval& i : p.intervals()) EXPECT_LE(i.offset + i.bytes, p.arena_bytes());
  uint64_t weights = 0;
  for (const InstructionRow& row : p.instructions()) weights += row.weight_bytes;
  EXPECT_LE(weights, p.weights_bytes());
  EXPECT_EQ(p.rows("").size(), p.instructions().size());
  EXPECT_TRUE(p.rows("no such kernel").empty());
}

TEST_F(ProgramModelTest, LifetimesFollowUses) {
  // Two buffers at the same place at different times, one that lives through both.
  program::Program p;
  p.kernels = {"k"};
  p.arena_bytes = 192;
  const auto buffer = [&](uint64_t offset) {
    p.buffers.push_back({program::Space::arena, 0, offset, 64, DType::f32, {16}});
    return static_cast<uint32_t>(p.buffers.size() - 1);
  };
  const uint32_t a = buffer(0), b = buffer(64), c = buffer(0);
  p.main = {{0, {a}, {}, {}, "first"},
            {0, {a, b}, {}, {}, "second"},
            {0, {b, c}, {}, {}, "third"},
            {0, {c}, {}, {}, "fourth"}};
  const ProgramModel m(p);
  ASSERT_EQ(m.intervals().size(), 3u);
  EXPECT_EQ(m.live_bytes(), (std::vector<uint64_t>{64, 128, 128, 64}));
  EXPECT_EQ(m.peak(), 1u);
  EXPECT_EQ(m.alive_at(1).size(), 2u);
  EXPECT_EQ(m.sharing_with(0).size(), 1u);
}

// The trip count of this loop is an input, so the profile has as many rounds as its value.
TEST_F(ProgramModelTest, ProfilesOnChosenInputs) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 17} {
  input %x : f32[2,8]
  input %trips : s64[]
  %y : f32[2,8] = Loop(%trips, _, %x) {body = graph "rounds" { input %i : s64[] input %c : bool[] input %u : f32[2,8] %d : bool[] = Identity(%c) %e : f32[2,8] = Mul(%u, %u) "product" output %d output %e }} "repeat"
  output %y
})");
  const Compilation made = compile_with_history(*graph);
  ASSERT_TRUE(made.program) << made.error;
  const auto program = program::load_in_memory(*made.program, made.weights);
  save_npy(folder.path / "trips.npy", Tensor::scalar(int64_t{5}));
  const GraphModel model(*graph);
  Progress progress;
  const auto time = [&](const InputChoices& choices) {
    return node_times(model, profile_program(program, 0.01, progress,
                                             choices))[static_cast<size_t>(model.find("product"))];
  };
  EXPECT_EQ(time({}), 0);
  EXPECT_GT(time({{"trips", input_choice((folder.path / "trips.npy").string())},
                  {"absent", InputChoice{}}}),
            0);
}

// The times of a run that fails are not those of the program.
TEST_F(ProgramModelTest, AFailingRunIsTheErrorOfTheProfile) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 17} {
  input %x : f32[4,8]
  input %row : s64[1]
  %y : f32[1,8] = Gather(%x, %row) "row"
  output %y
})");
  const Compilation made = compile_with_history(*graph);
  ASSERT_TRUE(made.program) << made.error;
  const auto program = program::load_in_memory(*made.program, made.weights);
  save_npy(folder.path / "row.npy", Tensor::of<int64_t>({1}, {4}));
  Progress progress;
  EXPECT_GE(profile_program(program, 0.01, progress).runs, 1);
  try {
    profile_program(program, 0.01, progress,
                    {{"row", input_choice((folder.path / "row.npy").string())}});
    FAIL() << "the index is outside";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'row'"), std::string::npos) << e.what();
  }
}

TEST_F(ProgramModelTest, ProfilesEveryInstruction) {
  const Document d = load("m.popef", sample_popef());
  Progress progress;
  const ProgramProfile p = profile_program(d.popef->program(), 0.01, progress);
  EXPECT_GE(p.runs, 1);
  EXPECT_EQ(p.instructions.size(), d.popef->program().program.main.size());
  double sum = 0;
  for (const double ns : p.instructions) sum += ns;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, p.run_ns);
  const auto times = node_times(*load("a.ir", kSampleText).graph, p);
  EXPECT_GT(*std::max_element(times.begin(), times.end()), 0);
  ReportOptions options;
  options.profile = &p;
  const auto tables = report(d, "program", options, nullptr);
  EXPECT_EQ(tables.at(0).columns.back(), "ns");
  EXPECT_EQ(std::get<double>(tables[0].rows.at(0).back()), p.instructions[0]);
}

TEST_F(ReportTest, EveryViewIsTextAndJson) {
  Progress progress;
  for (const Document& d : {load("a.ir", kSampleText), load("m.popef", sample_popef())}) {
    const Compilation compilation = d.ir ? compile_with_history(*d.ir) : Compilation{};
    for (const std::string& view : views_of(d)) {
      const auto tables = report(d, view, {}, d.ir ? &compilation : nullptr);
      ASSERT_FALSE(tables.empty()) << view;
      for (const Table& t : tables)
        for (const auto& row : t.rows) ASSERT_EQ(row.size(), t.columns.size()) << t.name;
      EXPECT_NE(tables_json(tables).find("\"" + tables[0].name + "\""), std::string::npos);
      EXPECT_EQ(table_text(tables[0]).find(tables[0].name), 0u);
    }
    EXPECT_THROW(report(d, "nonsense", {}, nullptr), Error);
  }
}

TEST_F(SettingsTest, AreKeptAndBrokenOnesAreDefaults) {
  const auto path = folder.path / "deep" / "inspector.json";
  Settings s;
  s.light = true;
  s.width = 1500;
  s.panels["details"] = 412;
  for (int i = 0; i < 20; i++) s.add_recent("models/" + std::to_string(i));
  s.add_recent("models/12");
  save_settings(s, path);
  const Settings back = load_settings(path);
  EXPECT_TRUE(back.light);
  EXPECT_EQ(back.width, 1500);
  EXPECT_EQ(back.panels, s.panels);
  EXPECT_EQ(back.recent, s.recent);
  EXPECT_EQ(back.recent[0], "models/12");
  EXPECT_LE(back.recent.size(), 12u);
  EXPECT_FALSE(load_settings(folder.write("bad.json", "{\"light\": 3}")).light);
  EXPECT_FALSE(load_settings(folder.path / "none.json").light);
}

TEST_F(DocumentTest, AFileOfTheSameSizeMayHaveChanged) {
  const Document d = load("a.ir", kSampleText);
  std::filesystem::last_write_time(d.path, d.changed + std::chrono::seconds(5));
  EXPECT_TRUE(has_changed(d)) << "written later";
  std::filesystem::last_write_time(d.path, d.changed);
  EXPECT_FALSE(has_changed(d));
  folder.write("a.ir", std::string(kSampleText) + "#");
  std::filesystem::last_write_time(d.path, d.changed);
  EXPECT_TRUE(has_changed(d)) << "longer";
  std::filesystem::remove(d.path);
  EXPECT_TRUE(has_changed(d)) << "gone";
}

TEST_F(DocumentTest, ShapesThatTheModelLeavesOutAreInferred) {
  const Document d = load("a.ir", R"(graph "g" opset {"": 17} {
  input %x : f32[2,3]
  %y : ? = Transpose(%x) "t"
  output %y
})");
  ASSERT_EQ(d.error, "");
  EXPECT_TRUE(d.problems.empty());
  const GraphNode& n = d.graph->node(d.graph->find("t"));
  EXPECT_EQ(d.graph->value(n.outputs.at(0)).type, "f32[3,2]");
}

TEST_F(SettingsTest, SizesAreInTheirRangeAndRecentFilesOnce) {
  const auto width_of = [&](const std::string& text) {
    return load_settings(folder.write("s.json", text)).width;
  };
  const int standard = Settings().width;
  EXPECT_EQ(width_of("[]"), standard);
  EXPECT_EQ(width_of("17"), standard);
  EXPECT_EQ(width_of("{\"width\": 1501}"), 1501);
  const int least = width_of("{\"width\": 1}"), most = width_of("{\"width\": 1000000}");
  EXPECT_GT(least, 1);
  EXPECT_LT(least, standard);
  EXPECT_LT(most, 1000000);
  EXPECT_GT(most, standard);
  Settings s;
  for (const char* name : {"a", "b", "a"}) s.add_recent(name);
  EXPECT_EQ(s.recent, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace poprt::inspector
