#include "views/workspace.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "inspector/views/workspace_support.h"
#include "model/lost_pages.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, StartsWithRecentFilesAndOpensThem) {
  const auto path = folder.write("net.ir", kSampleText);
  workspace->settings().add_recent(path.string());
  frame();
  EXPECT_TRUE(sees("poprt inspector"));
  click(path.string());
  EXPECT_EQ(workspace->document_count(), 1u);
  EXPECT_TRUE(sees("node x"));
}

TEST_F(WorkspaceTest, OpenRequestsAFile) {
  frame();
  EXPECT_TRUE(click("Open").choose_file);
  EXPECT_TRUE(press('O', true).choose_file);
  EXPECT_TRUE(press('Q', true).quit);
}

TEST_F(WorkspaceTest, AnAnchorThatIsSelectedLightsUpElsewhere) {
  open_sample();
  open_popef();
  ASSERT_TRUE(workspace->select("x"));
  frame();
  EXPECT_TRUE(sees("x"));
  press(ui::kTab, true);
  workspace->show(View::graph);
  settle();
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("x"));
}

TEST_F(WorkspaceTest, AnAnchorLightsUpFromTheGraphTheProgramAndLetsGo) {
  open_popef();
  open_sample();
  click("node x");
  EXPECT_TRUE(sees("anchor x"));
  press(ui::kTab, true);  // the PopEF file
  workspace->show(View::popef);
  settle();
  EXPECT_FALSE(sees("Select an anchor"));
  workspace->show(View::program);
  settle();
  press(ui::kDown);  // the first instruction reads x
  EXPECT_TRUE(sees("input x"));
  workspace->show(View::popef);
  settle();
  click("d");
  EXPECT_TRUE(sees("anchor d"));
  press('K', true);
  type("clear the high");
  press(ui::kEnter);
  EXPECT_FALSE(sees("anchor d"));
  EXPECT_TRUE(sees("Select an anchor"));
}

TEST_F(WorkspaceTest, ValuesOfAFileColourTheGraph) {
  open_sample();
  workspace->open(folder.write("times.csv", "node,us\n/Add,10\nc,30\nother,4\n"));
  settle();
  EXPECT_EQ(workspace->document_count(), 1u);
  EXPECT_EQ(workspace->message(), "times.csv: 2 nodes, 1 name unknown such as 'other'");
  ASSERT_EQ(workspace->graph()->colour(), GraphColour::overlay);
  EXPECT_TRUE(sees("times.csv: 10")) << "the legend";
  const auto& graph = *workspace->document()->graph;
  const auto colour = [&](const char* name) {
    return workspace->graph()->colour_of_node(graph.find(name));
  };
  EXPECT_EQ(colour("/Add"), ui::heat(0));
  EXPECT_EQ(colour("/block/Sigmoid"), ui::heat(1));
  EXPECT_EQ(colour("/block/fc/Relu"), ui::colours().dim) << "no value";
  workspace->graph()->select(graph.find("/Add"));
  settle();
  EXPECT_TRUE(sees("times.csv"));
  workspace->open(folder.write("bad.json", "{\"/Add\": true}"));
  EXPECT_NE(workspace->message().find("expected a number"), std::string::npos);
  press('K', true);
  type("remove the overlay");
  press(ui::kEnter);
  EXPECT_EQ(workspace->graph()->colour(), GraphColour::op);
  press('C');
  press('C');
  press('C');
  press('C');
  EXPECT_EQ(workspace->graph()->colour(), GraphColour::op) << "only four colours exist";
}

TEST_F(WorkspaceTest, ValuesGivenWithTheModelAreReportedOnceItIsLoaded) {
  workspace->open(folder.write("net.ir", kSampleText));
  workspace->open(folder.write("times.csv", "/Add,10\nother,4\n"));
  settle();
  EXPECT_EQ(workspace->message(), "times.csv: 1 node, 1 name unknown such as 'other'");
  EXPECT_EQ(workspace->error(), "");
  workspace->open(folder.write("none.csv", "other,4\n"));
  workspace->show(View::program);
  settle();
  EXPECT_NE(workspace->error().find("none.csv has no value for a node of this graph"),
            std::string::npos)
      << "the view does not matter";
  workspace->open(folder.path / "times.csv");
  EXPECT_EQ(workspace->error(), "");
}

TEST_F(WorkspaceTest, ANodeIsCopiedAsTextAndItsGroupSavedAsAModel) {
  open_sample();
  workspace->graph()->select(workspace->document()->graph->find("/block/fc/Relu"));
  settle();
  click("Copy");
  EXPECT_EQ(clipboard(), "Relu /block/fc/Relu\n  in  a : f32[1,2]\n  out b : f32[1,2]\n");
  click("Save part");
  const auto path = folder.path / "net.ir.part.onnx";
  ASSERT_TRUE(std::filesystem::exists(path)) << workspace->message();
  EXPECT_NE(workspace->message().find("2 nodes"), std::string::npos) << workspace->message();
  workspace->open(path);
  settle();
  EXPECT_EQ(workspace->document()->graph->operator_counts().size(), 2u);
  // Another part does not replace it.
  press(ui::kTab, true);
  const auto bytes = std::filesystem::file_size(path);
  workspace->graph()->select(workspace->document()->graph->find("/Add"));
  settle();
  click("Save part");
  EXPECT_TRUE(std::filesystem::exists(folder.path / "net.ir.part2.onnx")) << workspace->message();
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
}

TEST_F(WorkspaceTest, NodesGetNewNamesInASavedModel) {
  open_sample();
  workspace->graph()->select(workspace->document()->graph->find("/block/fc/MatMul"));
  settle();
  EXPECT_FALSE(sees("Save renamed")) << "no name is new";
  click("Rename");
  click("new name of node a");
  type("project");
  click("new name of weight w");
  type("table");
  workspace->graph()->select(workspace->document()->graph->find("x"));
  settle();
  click("new name of input x");
  type("image");
  EXPECT_TRUE(sees("node of a → project"));
  EXPECT_TRUE(sees("x → image"));
  click("Save renamed");
  const auto path = folder.path / "net.ir.renamed.onnx";
  ASSERT_TRUE(std::filesystem::exists(path)) << workspace->message();
  EXPECT_NE(workspace->message().find("3 new names"), std::string::npos) << workspace->message();
  click("Discard names");
  EXPECT_FALSE(sees("Save renamed"));
  workspace->open(path);
  settle();
  const auto& graph = *workspace->document()->graph;
  EXPECT_NE(graph.find("image"), kNone);
  EXPECT_NE(graph.find("project"), kNone);
  EXPECT_EQ(graph.find("/block/fc/MatMul"), kNone);
}

TEST_F(WorkspaceTest, ANameThatExistsIsRefused) {
  open_sample();
  workspace->graph()->select(workspace->document()->graph->find("x"));
  settle();
  click("Rename");
  click("new name of input x");
  type("w");
  press('K', true);
  type("with the new names");
  press(ui::kEnter);
  EXPECT_EQ(workspace->message(),
            "another value has the name 'w'; choose a name that the model does not have");
  EXPECT_FALSE(std::filesystem::exists(folder.path / "net.ir.renamed.onnx"));
  workspace->show(View::passes);
  settle();
  click("node /block/fc/Relu");
  EXPECT_FALSE(sees("Rename")) << "the graph of a pass is not the file's";
  EXPECT_FALSE(sees("Save part"));
}

TEST_F(WorkspaceTest, AProfileIsExportedAsTrace) {
  open_sample();
  const auto command = [&] {
    press('K', true);
    type("chrome trace");
    press(ui::kEnter);
  };
  command();
  EXPECT_EQ(workspace->message(), "profile the program first (R in the program view)");
  workspace->show(View::program);
  settle();
  click("Profile");
  command();
  std::ifstream file(folder.path / "net.ir.trace.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("traceEvents"), std::string::npos) << workspace->message();
}

TEST_F(WorkspaceTest, BordersBetweenPartsAreDraggedAndKept) {
  open_sample();
  drag("splitter details", -90);
  EXPECT_NEAR(workspace->settings().panels.at("details"), 430, 12);
}

TEST_F(WorkspaceTest, BadFilesReportAnError) {
  workspace->open(folder.write("bad.onnx", std::string(100, '\x8f')));
  settle();
  EXPECT_TRUE(sees("bad.onnx could not be opened"));
  EXPECT_NE(workspace->message(), "");
}

TEST_F(WorkspaceTest, ReloadsAFileThatChanged) {
  open_sample();
  std::string text = kSampleText;
  text.replace(text.find("Sigmoid(%b)"), 11, "Tanh(%b)");
  folder.write("net.ir", text + "# longer\n");
  EXPECT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_EQ(workspace->document()->graph->node(workspace->document()->graph->find("c")).op, "Tanh");
}

// Work on the old contents must not end as a result of the new ones.
TEST_F(WorkspaceTest, AReloadEndsTheCompilationOfTheOldFile) {
  open_sample();
  workspace->show(View::run);
  frame();  // begins to compile
  std::string text = kSampleText;
  text.replace(text.find("Sigmoid(%b)"), 11, "Tanh(%b)");
  folder.write("net.ir", text + "# longer\n");
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  click("x zeros");
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_EQ(workspace->run_view()->result()->outputs[0].tensor.to_doubles()[0], 0);
}

TEST_F(WorkspaceTest, AReloadEndsTheProfileOfTheOldFile) {
  open_popef();
  workspace->show(View::program);
  settle();
  workspace->start_profile();
  frame();
  EXPECT_TRUE(workspace->busy());
  write_compiled(folder, "net", compiled(kOtherText));
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_EQ(workspace->message(), "");
}

TEST_F(WorkspaceTest, OtherShapesEndTheProfileOfTheEarlierOnes) {
  std::string open = kSampleText;
  for (size_t at = open.find("f32[1,"); at != std::string::npos; at = open.find("f32[1,", at))
    open.replace(at, 6, "f32[?,");
  workspace->open(folder.write("net.ir", open));
  settle();
  workspace->show(View::program);
  settle();
  workspace->start_profile();
  frame();
  EXPECT_TRUE(workspace->busy());
  workspace->set_shapes("x=3,4");
  settle();
  EXPECT_EQ(workspace->message(), "");
}

TEST_F(WorkspaceTest, KeepsTheOldDocumentWhileAFileIsWritten) {
  open_sample();
  folder.write("net.ir", std::string(kSampleText).substr(0, 90));
  EXPECT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_TRUE(sees("node /block/Sigmoid"));
  EXPECT_TRUE(sees("has changed and cannot be read"));
  EXPECT_FALSE(workspace->reload_changed()) << "it is the same still";
  folder.write("net.ir", std::string(kSampleText) + "# longer\n");
  EXPECT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_FALSE(sees("cannot be read"));
  std::filesystem::remove(folder.path / "net.ir");
  EXPECT_TRUE(workspace->reload_changed());
  frame();
  EXPECT_TRUE(sees("the file is missing"));
  EXPECT_TRUE(sees("node /block/Sigmoid"));
}

TEST_F(WorkspaceTest, AnotherModelInTheSameFileIsInSight) {
  open_sample();
  std::string chain = "graph \"net\" opset {\"\": 17} {\n  input %v0 : f32[1]\n";
  for (int i = 0; i < 40; i++)
    chain += fmt::format("  %v{} : f32[1] = Relu(%v{}) \"n{}\"\n", i + 1, i, i);
  folder.write("net.ir", chain + "  output %v40\n}\n");
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_TRUE(sees("node "));
  for (int i = 0; i < 8; i++) press('=');
  workspace->graph()->select(workspace->document()->graph->find("n39"));
  settle();
  folder.write("net.ir", std::string("graph \"net\" opset {\"\": 17} {\n  input %x : f32[1]\n") +
                             "  %y : f32[1] = Relu(%x)\n  output %y\n}\n");
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_TRUE(sees("node ")) << "no empty canvas";
}

TEST_F(WorkspaceTest, TabsHaveTheNamesOfModelsAndFoldersWhenTheyAreEqual) {
  for (const char* inside : {"bert", "left", "right"}) {
    std::filesystem::create_directories(folder.path / inside);
    const std::string name = inside == std::string("bert") ? "bert_base" : "net";
    workspace->open(folder.write(std::string(inside) + "/executable.popef", sample_popef(name)));
  }
  settle();
  for (const char* tab : {"tab bert_base", "tab left/net", "tab right/net"})
    EXPECT_TRUE(ui::find_mark(tab)) << tab;
  EXPECT_FALSE(sees("tab executable.popef"));
  workspace->open(folder.write("right/copy.popef", sample_popef("net")));
  settle();
  for (const char* tab : {"tab left/net", "tab executable.popef", "tab copy.popef"})
    EXPECT_TRUE(ui::find_mark(tab)) << tab;
}

TEST_F(WorkspaceTest, ManyTabsAndToolsHaveRoom) {
  ImGui::GetIO().DisplaySize = {900, 600};
  for (int i = 0; i < 8; i++)
    workspace->open(folder.write(fmt::format("a model with a long name {}.ir", i), kSampleText));
  settle();
  for (const char* name : {"Commands", "Help", "Fit", "Open all", "Close all"}) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << name;
    EXPECT_LE(m->most.x, 900) << name;
  }
  const ui::Mark* last = ui::find_mark("tab a model with a long name 7.ir");
  ASSERT_TRUE(last);
  EXPECT_LE(last->most.x, ui::find_mark("Commands")->least.x);
  EXPECT_GT(last->most.x - last->least.x, 30);
}

TEST_F(WorkspaceTest, MessagesStayWhereTheyBelong) {
  open_sample();
  click("node /block/fc/MatMul");
  click("Export .npy");
  EXPECT_TRUE(sees("wrote "));
  workspace->show(View::passes);
  settle();
  EXPECT_FALSE(sees("wrote "));
  workspace->show(View::graph);
  settle();
  EXPECT_FALSE(sees("wrote "));
  click("Copy");
  EXPECT_TRUE(sees("copied MatMul /block/fc/MatMul"));
}

TEST_F(WorkspaceTest, PaletteRunsACommandByName) {
  open_sample();
  press('K', true);
  EXPECT_TRUE(workspace->palette_open());
  type("show queues");
  press(ui::kEnter);
  EXPECT_FALSE(workspace->palette_open());
  EXPECT_EQ(workspace->view(), View::queues);
}

TEST_F(WorkspaceTest, HelpOpensAndCloses) {
  press(ui::kF1);
  EXPECT_TRUE(workspace->help_open());
  EXPECT_TRUE(sees("command palette"));
  press(ui::kEscape);
  EXPECT_FALSE(workspace->help_open());
}

// The description of a key begins at the same distance in both columns, and is inside the window.
TEST_F(WorkspaceTest, BothColumnsOfTheHelpSheetAreReadable) {
  press(ui::kF1);
  settle();
  const std::pair<const char*, const char*> left = {"Ctrl+K", "command palette"};
  const std::pair<const char*, const char*> right = {"click an operand",
                                                     "highlights that anchor everywhere"};
  const auto distance = [](const std::pair<const char*, const char*>& row) {
    const ui::Mark *name = ui::find_mark(row.first), *value = ui::find_mark(row.second);
    EXPECT_TRUE(name && value) << row.first;
    if (!name || !value) return 0.0f;
    EXPECT_NEAR(name->least.y, value->least.y, 2) << row.first;
    EXPECT_GT(value->least.x, name->most.x) << row.first;
    EXPECT_LT(value->most.x, ImGui::GetIO().DisplaySize.x) << row.first;
    EXPECT_LT(value->most.y - value->least.y, 3 * ImGui::GetFontSize()) << row.second;
    return value->least.x - name->least.x;
  };
  EXPECT_NEAR(distance(left), distance(right), 2);
}

TEST_F(WorkspaceTest, ThemesChangeAndAreKept) {
  EXPECT_TRUE(press('T', true).settings_changed);
  EXPECT_TRUE(workspace->settings().light);
  EXPECT_EQ(ui::theme(), ui::Theme::light);
}

TEST_F(WorkspaceTest, TabsOpenOnceAndClose) {
  open_sample();
  open_sample();
  EXPECT_EQ(workspace->document_count(), 1u);
  open_popef();
  EXPECT_EQ(workspace->document_count(), 2u);
  press('W', true);
  EXPECT_EQ(workspace->document_count(), 1u);
}

TEST_F(WorkspaceTest, DamagedFileIsReportedInEveryView) {
  // The metadata is whole, and the payload of the executable is not.
  const std::string whole = sample_popef();
  workspace->open(folder.write("half.popef", whole.substr(0, whole.size() / 2)));
  settle();
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("no program that can be shown"));
  workspace->show(View::popef);
  settle();
  EXPECT_TRUE(sees("not readable"));
}

TEST_F(WorkspaceTest, AnAnchorOfAFusedModelLightsUpInItsSource) {
  const auto fused = write_fused(folder);
  workspace->open(folder.write("other.ir", kOtherText));
  workspace->open(folder.write("net.ir", kSampleText));
  settle();
  workspace->open(fused);
  settle();
  workspace->show(View::popef);
  settle();
  click("graph1/x");
  EXPECT_TRUE(sees("anchor graph1/x"));
  EXPECT_EQ(workspace->graph()->selected(), kNone);
  press(ui::kTab, true);
  ASSERT_EQ(workspace->document()->title(), "other.ir");
  ASSERT_NE(workspace->graph()->selected(), kNone);
  EXPECT_EQ(workspace->graph()->graph()->node(workspace->graph()->selected()).name, "x");
  press(ui::kTab, true);
  ASSERT_EQ(workspace->document()->title(), "net.ir");
  EXPECT_EQ(workspace->graph()->selected(), kNone) << "another graph's input of that name";
  workspace->show(View::graph);
  ASSERT_TRUE(workspace->select("d"));
  settle();
  EXPECT_TRUE(sees("anchor graph0/d") || sees("node d"));
}

// Another process rewrites the file in place, so the mapped bytes are gone.
TEST_F(WorkspaceTest, AFileThatIsCutWhileItIsOpenIsNoCrash) {
  survive_lost_pages();
  open_popef();
  workspace->set_page("data");
  settle();
  std::filesystem::resize_file(folder.path / "net.popef", 10);
  click("table");
  EXPECT_TRUE(sees("range"));
  for (int v = 0; v < kViews; v++) {
    workspace->show(static_cast<View>(v));
    settle();
  }
  EXPECT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_TRUE(sees("has changed and cannot be read"));
  EXPECT_TRUE(sees("the missing part is shown as zeros"));
}

TEST_F(WorkspaceTest, EveryViewDrawsForEveryKindOfFile) {
  open_sample();
  open_popef();
  for (const auto& path : {write_fused(folder), write_buckets(folder), write_sharded(folder, true)})
    workspace->open(path);
  workspace->open(folder.write("bad.popef", sample_popef().substr(0, 700)));
  settle();
  for (size_t tab = 0; tab < workspace->document_count(); tab++) {
    for (int v = 0; v < kViews; v++) {
      workspace->show(static_cast<View>(v));
      settle();
      EXPECT_FALSE(ui::marks().empty());
    }
    press(ui::kTab, true);
  }
}

}  // namespace
}  // namespace poprt::inspector
