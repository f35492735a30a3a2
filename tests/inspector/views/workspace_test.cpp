// The views with ImGui's null back end: no window, no OpenGL. Tests press keys and click on what is
// drawn, found by its name.
#include "views/workspace.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <fstream>
#include <functional>
#include <sstream>

#include "inspector/sample_files.h"
#include "model/lost_pages.h"
#include "views/input_queue.h"
#include "views/raster.h"
#include "views/repaint.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

class WorkspaceTest : public testing::Test {
 protected:
  void SetUp() override {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {1280, 800};
    io.Fonts->AddFontDefault();
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    ui::map_keys();
    workspace = std::make_unique<Workspace>(Settings{}, Wake{});
    workspace->telemetry_folder = folder.path;
  }
  void TearDown() override {
    workspace = nullptr;
    ImGui::DestroyContext();
  }

  Actions frame() {
    ImGui::GetIO().DeltaTime = 1.0f / 60;
    ImGui::NewFrame();
    const Actions actions = workspace->draw(ImGui::GetIO().DisplaySize);
    ImGui::Render();
    return actions;
  }
  // Until loading, layout and statistics that frames begin are done.
  void settle() {
    for (int i = 0; i < 6; i++) {
      workspace->settle();
      frame();
    }
  }
  bool sees(const std::string& text) {
    for (const ui::Mark& m : ui::marks())
      if (m.name.find(text) != std::string::npos) return true;
    return false;
  }
  Actions merged(Actions a, const Actions& b) {
    a.quit |= b.quit;
    a.choose_file |= b.choose_file;
    a.settings_changed |= b.settings_changed;
    return a;
  }
  Actions click(const std::string& name) {
    const ui::Mark* m = ui::find_mark(name);
    EXPECT_TRUE(m) << "nothing is called " << name;
    if (!m) return {};
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    Actions all = frame();
    io.MouseDown[0] = true;
    all = merged(all, frame());
    io.MouseDown[0] = false;
    all = merged(all, frame());
    settle();
    return all;
  }
  Actions press(int key, bool control = false, bool shift = false) {
    ImGuiIO& io = ImGui::GetIO();
    io.KeysDown[key] = true;
    io.KeyCtrl = control;
    io.KeyShift = shift;
    const Actions actions = frame();
    io.KeysDown[key] = false;
    io.KeyCtrl = io.KeyShift = false;
    settle();
    return actions;
  }
  void scroll(const std::string& name, float notches) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGui::GetIO().MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    ImGui::GetIO().MouseWheel = notches;
    frame();
    ImGui::GetIO().MouseWheel = 0;
    frame();
  }
  void drag(const std::string& name, float by) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    io.MouseDown[0] = true;
    frame();
    for (int i = 0; i < 4; i++) {
      io.MousePos.x += by / 4;
      frame();
    }
    io.MouseDown[0] = false;
    frame();
  }
  void click_right(const std::string& name) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    io.MouseDown[1] = true;
    frame();
    io.MouseDown[1] = false;
    frame();
    settle();
  }
  static std::string clipboard() { return ImGui::GetClipboardText(); }
  void type(const std::string& text) {
    ImGui::GetIO().AddInputCharactersUTF8(text.c_str());
    frame();
    settle();
  }
  void open_sample() {
    workspace->open(folder.write("net.ir", kSampleText));
    settle();
  }
  void open_popef() {
    workspace->open(folder.write("net.popef", sample_popef()));
    settle();
  }

  SampleFolder folder{"views"};
  std::unique_ptr<Workspace> workspace;
};

TEST_F(WorkspaceTest, LongTextsFitTheirRoomAndPathsKeepTheirEnds) {
  ImGui::NewFrame();
  const auto width = [](const std::string& line) { return ImGui::CalcTextSize(line.c_str()).x; };
  const std::string path = "/encoder/layer.0/attention/output/dense/MatMul",
                    words = "one two three";
  EXPECT_EQ(ui::fitted(path, width(path)), path);
  const std::string end = ui::fitted(path, width(path) - 1);
  EXPECT_LE(width(end), width(path) - 1);
  EXPECT_TRUE(end.starts_with("\xE2\x80\xA6") && end.ends_with("/dense/MatMul")) << end;
  const std::string begin = ui::fitted(words, width(words) - 1);
  EXPECT_TRUE(begin.starts_with("one two") && begin.ends_with("\xE2\x80\xA6")) << begin;
  for (float room = 0; room < 60; room += 1) {
    const std::string cut = ui::fitted("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", room);
    EXPECT_EQ(cut.size() % 2, cut.ends_with("\xA6") ? 1u : 0u) << "no half of a letter: " << cut;
  }
  EXPECT_EQ(ui::fitted(path, 0), "\xE2\x80\xA6");
  ImGui::EndFrame();
}

TEST_F(WorkspaceTest, EveryFontHasTheCharactersThatWereSeen) {
  ImGui::NewFrame();
  ui::take_fonts_wanted();
  ui::mark("\xD0\xB2\xD1\x85\xD0\xBE\xD0\xB4", {0, 0}, {1, 1});
  EXPECT_TRUE(ui::take_fonts_wanted());
  ImGui::EndFrame();
  ui::load_fonts(1);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  if (ImGui::GetIO().Fonts->Fonts.Size < 3) GTEST_SKIP() << "DejaVu is not installed";
  for (const ImFont* font : ImGui::GetIO().Fonts->Fonts)
    EXPECT_TRUE(font->FindGlyphNoFallback(0x432)) << font->FontSize;
}

TEST_F(WorkspaceTest, NamesWithMarksOfImGuiAreWhole) {
  std::string text = kSampleText;
  for (size_t at = text.find("%x"); at != std::string::npos; at = text.find("%x", at + 6))
    text.replace(at, 2, "%\"a##b\"");
  workspace->open(folder.write("marks.ir", text));
  settle();
  ASSERT_TRUE(workspace->document()->graph) << workspace->document()->error;
  EXPECT_EQ(workspace->document()->graph->node(0).name, "a##b");
  click("a");  // marks are cut at ##, texts are not
  EXPECT_EQ(workspace->graph()->selected(), 0);
}

TEST_F(WorkspaceTest, StartsWithRecentFilesAndOpensThem) {
  const auto path = folder.write("net.ir", kSampleText);
  workspace->settings().add_recent(path.string());
  frame();
  EXPECT_TRUE(sees("poprt inspector"));
  click(path.string());
  EXPECT_EQ(workspace->document_count(), 1u);
  EXPECT_TRUE(sees("node x"));
}

TEST_F(WorkspaceTest, AsksForAFile) {
  frame();
  EXPECT_TRUE(click("Open").choose_file);
  EXPECT_TRUE(press('O', true).choose_file);
  EXPECT_TRUE(press('Q', true).quit);
}

TEST_F(WorkspaceTest, DrawsNodesAndOpensGroups) {
  open_sample();
  EXPECT_TRUE(sees("node /block/fc/MatMul"));  // small graphs begin open
  press('E', false, true);
  EXPECT_FALSE(sees("node /block/fc/MatMul"));
  EXPECT_TRUE(sees("group block"));
  click("group block");
  EXPECT_TRUE(sees("node /block/Sigmoid"));
  press('E');
  EXPECT_TRUE(sees("node /block/fc/Relu"));
}

TEST_F(WorkspaceTest, AClickSelectsANodeAndShowsItsDetails) {
  open_sample();
  click("node /block/fc/MatMul");
  ASSERT_TRUE(workspace->graph());
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("/block/fc/MatMul"));
  EXPECT_TRUE(sees("1 to 8"));  // range of the weight
  EXPECT_TRUE(sees("histogram"));
  press(ui::kDown);
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("/block/fc/Relu"));
  press(ui::kEscape);
  EXPECT_EQ(workspace->graph()->selected(), kNone);
}

TEST_F(WorkspaceTest, DetailsSayWhatOnnxSaysOfTheOperator) {
  open_sample();
  click("node /block/fc/Relu");
  EXPECT_TRUE(sees("rectified linear function"));
  EXPECT_FALSE(sees("since opset"));
  click("More");
  EXPECT_TRUE(sees("since opset 14"));
}

TEST_F(WorkspaceTest, ExportsTheGraphAsPictures) {
  open_sample();
  ASSERT_TRUE(workspace->export_picture());
  settle();
  EXPECT_TRUE(workspace->message().starts_with("wrote ")) << workspace->message();
  std::ifstream file(folder.path / "net.ir.png", std::ios::binary);
  std::string head(24, '\0');
  file.read(head.data(), 24);
  EXPECT_EQ(head.substr(0, 8), "\x89PNG\r\n\x1a\n");
  // Nothing of it is drawn in the window.
  EXPECT_TRUE(sees("node /block/Sigmoid"));
  ASSERT_TRUE(workspace->export_picture("/nowhere/at/all.png"));
  settle();
  EXPECT_NE(workspace->message().find("/nowhere/at"), std::string::npos) << workspace->message();
}

// The picture has the colours of the boxes where the layout has boxes, and the background beside.
TEST_F(WorkspaceTest, APictureOfTheGraphHasItsBoxes) {
  open_sample();
  const auto drawing = workspace->graph()->drawing(1);
  ASSERT_TRUE(drawing);
  const FontPicture font{1, 1, {255}};
  const std::atomic<bool> cancel{false};
  const auto pixels = rasterised(*drawing, font, cancel);
  ASSERT_EQ(pixels.size(), static_cast<size_t>(drawing->width) * drawing->height * 4);
  const auto at = [&](double x, double y) {
    const auto row = static_cast<size_t>(drawing->height - 1 - static_cast<int>(y));
    const uint8_t* p = &pixels[(row * drawing->width + static_cast<size_t>(x)) * 4];
    return IM_COL32(p[0], p[1], p[2], p[3]);
  };
  EXPECT_EQ(at(1, 1), ui::colours().back);
  const Scene& scene = *workspace->graph()->scene();
  int boxes = 0;
  for (const SceneBox& b : scene.boxes) {
    if (b.node == kNone) continue;
    EXPECT_NE(at(b.area.right() + 20 - 4, b.area.y + 20 + b.area.height / 2), ui::colours().back);
    boxes++;
  }
  EXPECT_EQ(boxes, 6);
}

TEST_F(WorkspaceTest, SearchesWhileTyping) {
  open_sample();
  press('F', true);
  type("op:sig");
  EXPECT_EQ(workspace->graph()->matches().size(), 1u);
  EXPECT_TRUE(sees("1 found"));
  EXPECT_TRUE(sees("Found 1")) << "listed at the right";
  EXPECT_EQ(workspace->graph()->selected(), kNone) << "typing selects nothing";
  press(ui::kEnter);
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("/block/Sigmoid"));
}

TEST_F(WorkspaceTest, TypingASearchEndsNoPathAndEnterDoes) {
  open_sample();
  click("node /block/fc/MatMul");
  press('P');
  press('/');
  for (const char* letter : {"o", "p", ":", "A", "d", "d"}) type(letter);
  EXPECT_TRUE(workspace->graph()->path().empty());
  press(ui::kEnter);
  EXPECT_EQ(workspace->graph()->path().size(), 3u);
}

TEST_F(WorkspaceTest, ASearchBelongsToItsDocument) {
  open_sample();
  press('/');
  type("op:relu");
  EXPECT_TRUE(sees("1 found"));
  std::string other = kSampleText;
  other.replace(other.find("Sigmoid(%b)"), 11, "Relu(%b)");
  workspace->open(folder.write("other.ir", other));
  settle();
  EXPECT_FALSE(sees(" found"));
  press('W', true);
  EXPECT_TRUE(sees("1 found"));
  // What was typed before is replaced by what is typed now, and cleared by a click.
  press('/');
  type("op:add");
  EXPECT_EQ(workspace->graph()->search_text(), "op:add");
  press(ui::kEnter);
  click("clear search");
  EXPECT_TRUE(workspace->graph()->matches().empty());
}

// Keys as they come from the window system, with frames whenever one has time.
TEST_F(WorkspaceTest, NoKeyIsLostBetweenTwoFrames) {
  open_sample();
  InputQueue keys;
  const auto frames = [&] {
    while (!keys.empty()) {
      keys.feed();
      frame();
    }
  };
  const auto tap = [&](int key) {
    keys.key(key, true);
    keys.key(key, false);
  };
  keys.key(ui::kLeftControl, true);
  tap('T');
  keys.key(ui::kLeftControl, false);
  tap('E');
  frames();
  EXPECT_TRUE(workspace->settings().light);
  EXPECT_FALSE(ImGui::GetIO().KeyCtrl);
  workspace->graph()->search("dtype:f32");
  const auto& matches = workspace->graph()->matches();
  ASSERT_EQ(matches.size(), 6u);
  for (int i = 0; i < 20; i++) tap('N');
  frames();
  EXPECT_EQ(workspace->graph()->selected(), matches[19 % 6]) << "each press goes on by one";
  keys.key(ui::kLeftControl, true);
  tap('K');
  keys.key(ui::kLeftControl, false);
  frames();
  frame();  // the field takes the keyboard
  for (const char letter : std::string("SHOW QUEUES")) {
    keys.key(letter, true);
    keys.character(static_cast<unsigned>(std::tolower(letter)));
    keys.key(letter, false);
  }
  tap(ui::kEnter);
  frames();
  EXPECT_EQ(workspace->view(), View::queues);
}

TEST_F(WorkspaceTest, AKeyThatIsHeldActsOnce) {
  open_sample();
  workspace->graph()->search("dtype:f32");
  ImGui::GetIO().KeysDown['N'] = true;
  for (int i = 0; i < 120; i++) frame();  // two seconds
  ImGui::GetIO().KeysDown['N'] = false;
  EXPECT_EQ(workspace->graph()->selected(), workspace->graph()->matches()[0]);
}

TEST_F(WorkspaceTest, FramesAreDrawnUntilThePictureStandsStill) {
  open_sample();
  Repaint repaint;
  const auto draw = [&] {
    int frames = 0;
    for (; repaint.wanted() && frames < 100; frames++) {
      workspace->settle();
      frame();
      repaint.drawn(*ImGui::GetDrawData());
    }
    return frames;
  };
  EXPECT_GE(draw(), 3);
  EXPECT_FALSE(repaint.wanted()) << "an idle window draws nothing";
  const ui::Mark* m = ui::find_mark("node /block/fc/MatMul");
  ASSERT_TRUE(m);
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
  for (const bool down : {true, false}) {
    io.MouseDown[0] = down;
    repaint.wake();
    const int frames = draw();
    EXPECT_GE(frames, 3);
    EXPECT_LT(frames, 30);
  }
  EXPECT_TRUE(sees("histogram"));
  // As it would look much later.
  for (int i = 0; i < 20; i++) {
    frame();
    EXPECT_FALSE(repaint.drawn(*ImGui::GetDrawData())) << i;
  }
  repaint.lose();
  EXPECT_TRUE(repaint.wanted());
  frame();
  EXPECT_TRUE(repaint.drawn(*ImGui::GetDrawData())) << "what the window lost is shown again";
}

TEST_F(WorkspaceTest, FindsAPathBetweenTwoNodes) {
  open_sample();
  click("node /block/fc/MatMul");
  press('P');
  click("node /Add");
  EXPECT_EQ(workspace->graph()->path().size(), 3u);
}

TEST_F(WorkspaceTest, ScrollingZooms) {
  open_sample();
  click("node /block/fc/Relu");
  ImVec2 least, most, later_least, later_most;
  const int relu = workspace->document()->graph->find("/block/fc/Relu");
  ASSERT_TRUE(workspace->graph()->screen_rect(relu, least, most));
  ImGui::GetIO().MouseWheel = 1;
  frame();
  frame();
  ASSERT_TRUE(workspace->graph()->screen_rect(relu, later_least, later_most));
  EXPECT_GT(later_most.x - later_least.x, most.x - least.x);
}

TEST_F(WorkspaceTest, ListsSortsAndFiltersAnchors) {
  open_popef();
  EXPECT_EQ(workspace->view(), View::popef);
  EXPECT_TRUE(sees("table_handle"));
  EXPECT_TRUE(sees("file map"));
  const auto top = [&](const char* name) {
    const ui::Mark* mark = ui::find_mark(name);
    EXPECT_TRUE(mark) << name;
    return mark ? mark->least.y : 0;
  };
  click("Name");
  const bool before = top("d") < top("table");
  click("Name");
  EXPECT_NE(before, top("d") < top("table"));
  click("filter");
  type("table");
  EXPECT_FALSE(ui::find_mark("d"));
  EXPECT_TRUE(ui::find_mark("table"));
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
  type("let go");
  press(ui::kEnter);
  EXPECT_FALSE(sees("anchor d"));
  EXPECT_TRUE(sees("Select an anchor"));
}

TEST_F(WorkspaceTest, TellsWhichPassesTouchedANode) {
  open_sample();
  click("node /block/fc/Relu");
  EXPECT_TRUE(sees("What passes did"));
  click("Which pass made or changed it");
  EXPECT_TRUE(sees("in the model as Relu"));
  EXPECT_FALSE(sees("No pass touched it"));  // Relu goes into an epilogue or another operator
  const std::string pass = [&] {
    for (size_t i = 0; i + 1 < ui::marks().size(); i++)
      if (ui::marks()[i].name == "in the model as Relu") return ui::marks()[i + 1].name;
    return std::string();
  }();
  click(pass);
  EXPECT_EQ(workspace->view(), View::passes);
  EXPECT_TRUE(sees("in the model as Relu"));
}

TEST_F(WorkspaceTest, WhatAPassRemovedIsShownBeforeIt) {
  open_sample();
  press('4', true);
  for (int i = 0; i < 30 && !sees(" removed"); i++) press(ui::kRight);
  ASSERT_TRUE(sees(" removed"));
  std::string gone;
  for (size_t i = 0; i + 1 < ui::marks().size(); i++)
    if (ui::marks()[i].name.ends_with(" removed")) gone = ui::marks()[i + 1].name;
  click(gone);
  EXPECT_TRUE(sees("Before"));
  EXPECT_TRUE(sees("What passes did"));
}

TEST_F(WorkspaceTest, ShiftSelectsRowsToCopy) {
  open_popef();
  click("d");
  ImGui::GetIO().KeyShift = true;
  click("table");
  ImGui::GetIO().KeyShift = false;
  press('C', true);
  EXPECT_NE(clipboard().find("d\tOUTPUT"), std::string::npos) << clipboard();
  EXPECT_NE(clipboard().find("table\tINPUT"), std::string::npos) << clipboard();
  click("table");
  press('C', true);
  EXPECT_EQ(clipboard().find("d\tOUTPUT"), std::string::npos) << "a click begins anew";
}

TEST_F(WorkspaceTest, TablesAreCopied) {
  open_popef();
  click_right("d");
  click("Copy row");
  EXPECT_NE(clipboard().find("d\tOUTPUT\tF32"), std::string::npos) << clipboard();
  click_right("d");
  click("Copy cell");
  EXPECT_EQ(clipboard(), "d");
  click_right("d");
  click("Copy table");
  EXPECT_EQ(clipboard().find("Name\tDirection"), 0u) << clipboard();
  EXPECT_NE(clipboard().find("table_handle"), std::string::npos);
  click("d");
  press('C', true);
  EXPECT_EQ(clipboard().find("d\tOUTPUT"), 0u) << clipboard();
}

TEST_F(WorkspaceTest, AViewIsExportedAndCopiedAsTables) {
  open_popef();
  press('K', true);
  type("as json");
  press(ui::kEnter);
  std::ifstream file(folder.path / "net.popef.popef.json");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("table_handle"), std::string::npos) << workspace->message();
  press('K', true);
  type("copy what");
  press(ui::kEnter);
  EXPECT_NE(clipboard().find("table_handle"), std::string::npos);
}

TEST_F(WorkspaceTest, AWeightIsExported) {
  open_sample();
  click("node /block/fc/MatMul");
  click("Export .npy");
  EXPECT_EQ(workspace->message().find("wrote "), 0u) << workspace->message();
  EXPECT_TRUE(std::filesystem::exists(folder.path / "w.npy"));
}

TEST_F(WorkspaceTest, BordersBetweenPartsAreDraggedAndKept) {
  open_sample();
  drag("splitter details", -90);
  EXPECT_NEAR(workspace->settings().panels.at("details"), 430, 12);
}

TEST_F(WorkspaceTest, ShowsOpaqueBlobsAndData) {
  open_popef();
  click("Opaque 2");
  click("labels");
  EXPECT_TRUE(sees("\"cat\""));
  workspace->set_page("data");
  settle();
  click("table");
  EXPECT_TRUE(sees("1 to 4"));
}

TEST_F(WorkspaceTest, CompilesForProgramAndPasses) {
  open_sample();
  press('3', true);
  EXPECT_EQ(workspace->view(), View::program);
  EXPECT_TRUE(sees("arena"));
  EXPECT_TRUE(sees("main"));
  press('4', true);
  EXPECT_TRUE(sees("the model as it was read"));
  press(ui::kRight);
  EXPECT_FALSE(sees("the model as it was read"));
}

TEST_F(WorkspaceTest, ProfilesAProgram) {
  open_popef();
  press('3', true);
  click("Profile");
  EXPECT_NE(workspace->message().find(" each"), std::string::npos) << workspace->message();
  EXPECT_TRUE(sees("Share"));
}

TEST_F(WorkspaceTest, TimesOfACompiledModelColourTheGraphItCameFrom) {
  open_sample();
  EXPECT_STREQ(workspace->graph()->colour_name(), "operator");
  open_popef();
  press('3', true);
  click("Profile");
  press(ui::kTab, true);
  workspace->show(View::graph);
  settle();
  EXPECT_STREQ(workspace->graph()->colour_name(), "time");
  EXPECT_TRUE(sees("Slowest, as profiled"));
  press('C');
  EXPECT_STREQ(workspace->graph()->colour_name(), "operator");
  for (int i = 0; i < 4; i++) press('C');
  EXPECT_STREQ(workspace->graph()->colour_name(), "time");
}

TEST_F(WorkspaceTest, ANodeOfACompiledModelIsShownInTheGraphItCameFrom) {
  open_popef();
  press('3', true);
  press(ui::kDown);
  EXPECT_TRUE(sees("no graph that is open has this node"));
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::program) << "it cannot be shown";
  open_sample();
  press(ui::kTab, true);
  workspace->show(View::program);
  settle();
  EXPECT_FALSE(sees("no graph that is open has this node"));
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::graph);
  EXPECT_EQ(workspace->document()->title(), "net.ir");
  EXPECT_NE(workspace->graph()->selected(), kNone);
}

TEST_F(WorkspaceTest, InstructionsAreSortedByAClickOnAColumn) {
  open_popef();
  press('3', true);
  EXPECT_TRUE(sees("peak"));
  click("Profile");
  click("Time");
  const auto first = [&] {
    const ui::Mark* least = nullptr;
    for (const ui::Mark& m : ui::marks())
      if (m.name.ends_with(" %") && (!least || m.least.y < least->least.y)) least = &m;
    return least ? std::stod(least->name) : -1;
  };
  const double most = first();
  click("Time");
  EXPECT_GE(most, first());
}

TEST_F(WorkspaceTest, NumbersInTablesAreNeverCut) {
  ImGui::GetIO().DisplaySize = {900, 600};
  open_popef();
  press('3', true);
  click("Profile");
  frame();
  const ui::Mark *node = ui::find_mark("Node"), *weights = ui::find_mark("Weights");
  ASSERT_TRUE(node && weights);
  EXPECT_GT(weights->least.x - node->least.x, 60) << "names have the room that numbers leave";
  const ui::Mark* side = ui::find_mark("splitter instruction");
  ASSERT_TRUE(side);
  for (const ui::Mark& m : ui::marks()) {
    if (!m.name.ends_with(" %")) continue;
    EXPECT_LE(m.most.x, side->least.x) << m.name;
  }
}

TEST_F(WorkspaceTest, RunsAModelOnItsInputs) {
  open_sample();
  press('5', true);
  EXPECT_EQ(workspace->view(), View::run);
  EXPECT_TRUE(sees("f32 1×4"));
  EXPECT_TRUE(sees("Press Run"));
  click("x zeros");
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_DOUBLE_EQ(workspace->run_view()->result()->outputs[0].tensor.to_doubles()[0], 0.5);
  EXPECT_TRUE(sees("f32 1×2"));
  click("Largest");
  EXPECT_TRUE(sees("1.  index 0"));
  EXPECT_TRUE(sees("plot of the row"));
}

TEST_F(WorkspaceTest, ClassesAreNamed) {
  folder.write("labels.txt", "cat\ndog\n");
  open_sample();
  workspace->show(View::run);
  settle();
  click("x zeros");
  press('R');
  click("Largest");
  EXPECT_TRUE(sees("cat  50.0 %"));
  EXPECT_TRUE(sees("dog  50.0 %"));
  workspace->run_view()->set_class_names(folder.write("three.txt", "a\nb\nc").string());
  settle();
  EXPECT_FALSE(sees("50.0 %"));
  EXPECT_TRUE(sees("3 class names, but the row has 2 elements"));
  workspace->run_view()->set_class_names("/nowhere.txt");
  settle();
  EXPECT_TRUE(sees("/nowhere.txt"));
}

TEST_F(WorkspaceTest, ARunIsComparedWithAnotherModelAndAReference) {
  std::string other = kSampleText;
  other.replace(other.find("8.0]"), 4, "9.0]");
  workspace->open(folder.write("other.ir", other));
  settle();
  open_sample();
  workspace->show(View::run);
  settle();
  workspace->run_view()->set_input("x", {InputKind::file, {}, {}});
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 4}, {1, 1, 1, 1}));
  workspace->dropped(folder.path / "x.npy");
  settle();
  click("compare with other.ir");
  press('R');
  ASSERT_EQ(workspace->run_view()->differences().size(), 1u) << workspace->run_view()->error();
  EXPECT_TRUE(sees("1 of 2 differ, at most by 1"));
  EXPECT_TRUE(sees("[0, 1]"));
  const Tensor same = workspace->run_view()->result()->outputs[0].tensor;
  save_npy(folder.path / "d.npy", same);
  workspace->run_view()->set_reference("d", (folder.path / "d.npy").string());
  press('R');
  EXPECT_TRUE(sees("Agrees with"));
}

TEST_F(WorkspaceTest, MeasuresAModel) {
  open_popef();
  workspace->show(View::run);
  settle();
  workspace->run_view()->settings.seconds = 1;
  click("more clients");
  EXPECT_EQ(workspace->run_view()->settings.clients, 2);
  click("Measure");
  ASSERT_TRUE(workspace->run_view()->bench_result());
  EXPECT_GT(workspace->run_view()->bench_result()->requests, 0u);
  EXPECT_TRUE(sees("Latency by percentile"));
}

TEST_F(WorkspaceTest, AComparisonThatFailsNamesTheModel) {
  workspace->open(folder.write("other.ir", R"(graph "other" opset {"": 17} {
  input %x : f32[3]
  %y : f32[3] = Relu(%x)
  output %y
}
)"));
  settle();
  open_sample();
  workspace->show(View::run);
  settle();
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 4}, {1, 1, 1, 1}));
  workspace->dropped(folder.path / "x.npy");
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  click("compare with other.ir");
  press('R');
  EXPECT_TRUE(sees("'other.ir' does not run on these inputs"));
  EXPECT_FALSE(workspace->run_view()->result()) << "nothing of an earlier run stays";
  EXPECT_EQ(workspace->run_view()->status(), "failed");
}

TEST_F(WorkspaceTest, APictureThatIsDroppedBecomesAnInput) {
  workspace->dropped("/nowhere/cat.JPG");
  EXPECT_EQ(workspace->document_count(), 0u);
  EXPECT_NE(workspace->message().find("open the model first"), std::string::npos);
  open_sample();
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 4}, {0, 0, 0, 0}));
  workspace->dropped(folder.path / "x.npy");  // in the graph's view
  EXPECT_EQ(workspace->view(), View::run);
  settle();
  EXPECT_EQ(workspace->document_count(), 1u);
  EXPECT_FALSE(sees("seed")) << "nothing is random";
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_DOUBLE_EQ(workspace->run_view()->result()->outputs[0].tensor.to_doubles()[0], 0.5);
  workspace->open(folder.write("cat.png", "?"));
  settle();
  EXPECT_TRUE(sees("drop it on the window while a model is in front"));
}

TEST_F(WorkspaceTest, WhatCannotRunSaysWhy) {
  open_sample();
  workspace->show(View::run);
  settle();
  workspace->dropped("/nowhere/x.npy");
  press('R');
  EXPECT_FALSE(workspace->run_view()->result());
  EXPECT_TRUE(sees("/nowhere/x.npy"));
}

TEST_F(WorkspaceTest, AFileForAnInputIsChosen) {
  open_sample();
  workspace->show(View::run);
  settle();
  click("x file");
  EXPECT_TRUE(click("Browse").choose_file);
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 4}, {0, 0, 0, 0}));
  workspace->chosen(folder.path / "x.npy");
  EXPECT_EQ(workspace->document_count(), 1u);
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_DOUBLE_EQ(workspace->run_view()->result()->outputs[0].tensor.to_doubles()[0], 0.5);
}

TEST_F(WorkspaceTest, QueuesWithoutProcessesSayWhatToDo) {
  workspace->show(View::queues);
  settle();
  EXPECT_TRUE(sees("POPRT_TELEMETRY=1 poprt_exec bench"));
}

TEST_F(WorkspaceTest, DrawsQueuesOfARecording) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 40; i++) {
    runtime::TelemetrySnapshot s;
    s.name = "net";
    s.pid = 5;
    s.started_ns = 1;
    s.alive = true;
    s.completed = static_cast<uint64_t>(i) * 100;
    s.histogram[40] = s.completed;
    s.queues.push_back({"image", false, 8, static_cast<uint64_t>(i % 8), 7, s.completed,
                        s.completed, static_cast<uint64_t>(i) * 20});
    lines += recording_line(1000 + i, {s}) + "\n";
  }
  workspace->open(folder.write("run.telemetry", lines));
  settle();
  EXPECT_EQ(workspace->view(), View::queues);
  for (const char* text :
       {"Queue occupancy", "Throughput", "Latency", "Stalls and failures", "image", "Starves"})
    EXPECT_TRUE(sees(text)) << text;
  EXPECT_TRUE(sees("Freeze"));
  press(' ');
  EXPECT_TRUE(sees("Follow"));
}

TEST_F(WorkspaceTest, QueuesZoomScrubAndTakeMarkers) {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 120; i++) {
    std::vector<runtime::TelemetrySnapshot> both(2);
    for (size_t k = 0; k < 2; k++) {
      both[k].name = k ? "second" : "first";
      both[k].pid = 5 + k;
      both[k].started_ns = 1;
      both[k].alive = k == 0 || i < 60;
      both[k].completed = static_cast<uint64_t>(i) * 100;
      both[k].queues.push_back({"image", false, 8, 4, 7, both[k].completed, both[k].completed, 0});
    }
    lines += recording_line(1000 + i, both) + "\n";
  }
  workspace->open(folder.write("two.telemetry", lines));
  settle();
  EXPECT_TRUE(sees("60 s shown") || sees("queue"));
  scroll("Throughput", 3);
  EXPECT_FALSE(sees("Follow"));  // zooming alone goes on following
  drag("Throughput", 120);
  EXPECT_TRUE(sees("Follow"));
  press('M');
  click("series 1");
  EXPECT_TRUE(sees("found (pid 6)"));
  EXPECT_TRUE(sees("ended (pid 6)"));
  click("all series");
  for (const char* text : {"Fullest queue", "Latency p99"}) EXPECT_TRUE(sees(text)) << text;
}

// Eighty seconds in which a process runs, ends after forty, and another one begins after fifty.
std::string sample_recording() {
  std::string lines = std::string(kRecordingHead) + "\n";
  for (int i = 0; i < 80; i++) {
    std::vector<runtime::TelemetrySnapshot> now;
    if (i < 40 || i >= 50) {
      runtime::TelemetrySnapshot& s = now.emplace_back();
      s.name = "net";
      s.pid = i < 40 ? 5 : 6;
      s.started_ns = s.pid;
      s.alive = true;
      s.completed = static_cast<uint64_t>(i) * 100;
      s.in_flight = 3;
      s.queues.push_back({"image", false, 8, i < 20 ? 8u : 4u, 8, 1000 + static_cast<uint64_t>(i),
                          s.completed, 0});
    }
    lines += recording_line(1000 + i, now) + "\n";
  }
  return lines;
}

TEST_F(WorkspaceTest, QueuesShowTheMomentThatIsLookedAt) {
  workspace->open(folder.write("run.telemetry", sample_recording()));
  settle();
  EXPECT_TRUE(sees("At "));
  EXPECT_FALSE(sees("Now"));
  EXPECT_TRUE(sees("1079"));
  EXPECT_TRUE(sees("4 (50 %)"));
  press(ui::kLeft);  // fifteen seconds
  EXPECT_TRUE(sees("1064"));
  EXPECT_FALSE(sees("1079"));
  press(ui::kLeft);  // between the two processes
  EXPECT_TRUE(sees("no process published at this moment"));
  EXPECT_FALSE(sees("4 (50 %)"));
  press(ui::kLeft);
  EXPECT_TRUE(sees("4 (50 %)"));
  press(ui::kLeft);
  EXPECT_TRUE(sees("8 (100 %, full)"));
  EXPECT_TRUE(sees("Full: "));
}

TEST_F(WorkspaceTest, AMarkStaysInItsRecordingAndInTheEvents) {
  const auto path = folder.write("run.telemetry", sample_recording());
  workspace->open(path);
  settle();
  press(ui::kLeft);
  press('M');
  settle();
  EXPECT_TRUE(sees("  mark 1")) << "among the events";
  EXPECT_TRUE(ui::find_mark("mark 1")) << "in the plots";
  ASSERT_EQ(read_recording(path).marks().size(), 1u);
  EXPECT_NEAR(read_recording(path).marks()[0].time, 1064, 0.1);
  // Nothing is written behind what a killed process left unfinished.
  workspace->open(folder.write("cut.telemetry", sample_recording() + "{\"time\": 2000, \"seg"));
  settle();
  press('M');
  settle();
  EXPECT_TRUE(sees("the mark is not kept"));
  EXPECT_TRUE(read_recording(folder.path / "cut.telemetry").marks().empty());
}

TEST_F(WorkspaceTest, AQueueLightsUpItsAnchor) {
  runtime::TelemetrySnapshot s;
  s.name = "net";
  s.pid = 5;
  s.alive = true;
  s.queues.push_back({"d", true, 8, 4, 7, 10, 10, 0});
  open_sample();
  workspace->open(folder.write(
      "one.telemetry", std::string(kRecordingHead) + "\n" + recording_line(1000, {s}) + "\n"));
  settle();
  click("d");
  EXPECT_TRUE(sees("anchor d"));
  press(ui::kTab, true);
  workspace->show(View::graph);
  settle();
  const int node = workspace->graph()->selected();
  ASSERT_NE(node, kNone);
  EXPECT_EQ(workspace->document()->graph->node(node).kind, NodeKind::output);
}

TEST_F(WorkspaceTest, ComparesProgramsAndTimes) {
  open_sample();
  std::string other = kSampleText;
  other.replace(other.find("Sigmoid(%b)"), 11, "Tanh(%b)");
  workspace->open(folder.write("other.ir", other));
  settle();
  press('7', true);
  EXPECT_FALSE(sees("whole run"));
  click("Compile and time both");
  EXPECT_TRUE(sees("whole run"));
  click("/block/Sigmoid");  // its row: both graphs go there, both sides stand in full
  EXPECT_TRUE(sees("Tanh("));
}

TEST_F(WorkspaceTest, ComparesTwoDocuments) {
  open_sample();
  std::string other = kSampleText;
  other.replace(other.find("8.0]"), 4, "9.0]");
  workspace->open(folder.write("other.ir", other));
  settle();
  press('7', true);
  EXPECT_TRUE(sees("weight"));
  EXPECT_TRUE(sees("1 of 8 elements differ"));
  EXPECT_TRUE(sees("Left: net.ir"));
  EXPECT_TRUE(sees("Right: other.ir")) << "as the tabs stand, whichever is in front";
}

TEST_F(WorkspaceTest, BadFilesSayWhatIsWrong) {
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

TEST_F(WorkspaceTest, WhatWasThereStaysWhileAFileIsBeingWritten) {
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
  EXPECT_TRUE(sees("the file is gone"));
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

TEST_F(WorkspaceTest, BrowsesForAFile) {
  open_sample();
  folder.write("second.onnx", "?");
  workspace->browse();
  frame();
  frame();
  EXPECT_TRUE(sees("second.onnx"));
  click("second.onnx");
  EXPECT_EQ(workspace->document_count(), 2u);
}

TEST_F(WorkspaceTest, TheBrowserOffersRecentFiles) {
  std::filesystem::create_directories(folder.path / "inside");
  const std::string path = folder.write("inside/first.ir", kSampleText).string();
  workspace->settings().add_recent(path);
  open_sample();
  workspace->browse();
  settle();
  click("recent " + path);
  EXPECT_EQ(workspace->document()->title(), "first.ir");
}

TEST_F(WorkspaceTest, TheBrowserIsLedByTheKeyboard) {
  std::filesystem::create_directories(folder.path / "inside");
  folder.write("inside/first.ir", kSampleText);
  folder.write("inside/second.ir", kSampleText);
  open_sample();
  workspace->browse();
  settle();
  type("insi");
  press(ui::kEnter);
  EXPECT_TRUE(sees("first.ir")) << "the filter does not stay in the folder";
  type("sec");
  EXPECT_FALSE(sees("first.ir"));
  press(ui::kEnter);
  EXPECT_EQ(workspace->document_count(), 2u);
  EXPECT_EQ(workspace->document()->title(), "second.ir");
  workspace->browse();
  settle();
  EXPECT_TRUE(sees("first.ir")) << "it begins where it was";
  type((folder.path / "net.ir").string());
  press(ui::kEnter);
  EXPECT_EQ(workspace->document()->title(), "net.ir");
  workspace->browse();
  settle();
  type("x");
  press(ui::kEscape);
  EXPECT_FALSE(sees("All files"));
}

TEST_F(WorkspaceTest, ADamagedFileSaysSoInEveryView) {
  workspace->open(folder.write("half.popef", sample_popef().substr(0, 700)));
  settle();
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("no program that can be shown"));
  workspace->show(View::popef);
  settle();
  EXPECT_TRUE(sees("not readable"));
}

TEST_F(WorkspaceTest, BeforeAPassWhatItChangesIsMarked) {
  const auto made =
      std::make_shared<Compilation>(compile_with_history(*ir::parse_text(kSampleText)));
  PassesView passes{Wake{}};
  passes.set_compilation(made);
  int looked = 0;
  for (size_t step = 1; step < made->steps.size(); step++) {
    const PassStep& pass = made->steps[step];
    if (pass.changed == 0) continue;
    passes.show_step(static_cast<int>(step));
    passes.show_before(true);
    const auto& marks = passes.graph().changes();
    EXPECT_EQ(static_cast<size_t>(std::count(marks.begin(), marks.end(), Change::changed)),
              pass.changed)
        << pass.name;
    EXPECT_EQ(static_cast<size_t>(std::count(marks.begin(), marks.end(), Change::removed)),
              pass.removed)
        << pass.name;
    passes.show_before(false);
    looked++;
  }
  EXPECT_GT(looked, 0);
}

TEST_F(WorkspaceTest, BranchesOfAFusedModelAreShownOneByOne) {
  workspace->open(write_fused(folder));
  settle();
  click("anchors of");
  click("graph1 other");
  EXPECT_TRUE(sees("graph1/x"));
  EXPECT_FALSE(sees("graph0/x"));
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("Branches, of which one runs"));
  EXPECT_TRUE(sees("/Add"));
  click("show graph1 other");
  EXPECT_TRUE(sees("Arena of graph1 other"));
  EXPECT_FALSE(sees("/block/Sigmoid"));
  click("Profile");
  EXPECT_TRUE(sees("for one of every branch")) << workspace->message();
  click("part");
  click("all branches");
  EXPECT_TRUE(sees("Arena over time"));
  workspace->show(View::run);
  settle();
  click("branch to run");
  click("graph1 other");
  EXPECT_TRUE(sees("graph1/x"));
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_EQ(workspace->run_view()->result()->outputs[0].tensor.shape(), (Shape{3, 2}));
}

TEST_F(WorkspaceTest, ShapesThatAModelLeavesOpenAreChosen) {
  std::string open = kOtherText;
  for (size_t at = open.find("[3,"); at != std::string::npos; at = open.find("[3,", at))
    open.replace(at, 3, "[?,");
  workspace->open(folder.write("open.ir", open));
  settle();
  workspace->show(View::run);
  settle();
  press('R');
  ASSERT_TRUE(workspace->run_view()->result()) << workspace->run_view()->error();
  EXPECT_EQ(workspace->run_view()->result()->outputs[0].tensor.shape(), (Shape{1, 2}));
  click("shapes");
  press('A', true);
  type("x=6,2");
  EXPECT_FALSE(sees("f32 6×2")) << "before Enter";
  press(ui::kEnter);
  EXPECT_FALSE(workspace->run_view()->result()) << "it was of other shapes";
  EXPECT_TRUE(sees("f32 6×2"));
  workspace->run_view()->run();
  settle();
  ASSERT_TRUE(workspace->run_view()->result()) << workspace->run_view()->error();
  EXPECT_EQ(workspace->run_view()->result()->outputs[0].tensor.shape(), (Shape{6, 2}));
  workspace->set_shapes("x=6,3");
  for (const View view : {View::run, View::program, View::passes}) {
    workspace->show(view);
    settle();
    EXPECT_TRUE(sees("which 6×3 does not fit")) << view_name(view);
  }
  workspace->set_shapes("x");
  EXPECT_NE(workspace->message().find("expected NAME=1,3,224,224, found 'x'"), std::string::npos);
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

TEST_F(WorkspaceTest, IpusHaveAMapEach) {
  workspace->open(write_sharded(folder, true));
  settle();
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("Several IPUs"));
  click("show IPU 1, stage 1");
  EXPECT_TRUE(sees("Arena of IPU 1, stage 1"));
  EXPECT_TRUE(sees("peak"));
  click("Profile");
  press(ui::kDown);
  press(ui::kDown);
  EXPECT_TRUE(sees("% of all"));
}

TEST_F(WorkspaceTest, EachOfSeveralExecutablesIsShown) {
  workspace->open(folder.write("two.popef", sample_popef("first") + sample_popef("second")));
  settle();
  click("anchors of");
  click("second");
  EXPECT_EQ(std::count_if(ui::marks().begin(), ui::marks().end(),
                          [](const ui::Mark& m) { return m.name == "table"; }),
            1);
  workspace->show(View::program);
  settle();
  click("program");
  click("second");
  click("Profile");
  workspace->show(View::run);
  settle();
  press('R');
  EXPECT_TRUE(workspace->run_view()->result()) << workspace->run_view()->error();
}

// Somebody writes the file anew in place, which takes the mapped bytes away.
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
  EXPECT_TRUE(sees("zeros stand for what was cut off"));
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
