#include "views/chip_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

class ChipViewTest : public WorkspaceTest {
 protected:
  ChipView& chip() { return *workspace->chip_view(); }
  void show_sample() {
    open_sample();
    press('8', true);
    ASSERT_EQ(workspace->view(), View::chip);
    ASSERT_TRUE(chip().model()) << chip().error();
  }
};

TEST_F(ChipViewTest, ShowsTilesPhasesAndMemory) {
  show_sample();
  for (const char* part : {"c600: ", "Bytes of tiles, at most ", "Phases over ",
                           "Busiest tile: ", "By category", "Tensors on tile ", "not measured"})
    EXPECT_TRUE(sees(part)) << part;
  click("Colour: memory");
  EXPECT_TRUE(sees("Cycles that tiles compute, at most "));
  press('C');
  EXPECT_TRUE(sees("Bytes of tiles"));
}

// Whether something of that colour is drawn in the rectangle of the mark.
bool draws_colour(const ui::Mark& mark, ImU32 colour) {
  const ImDrawData& drawn = *ImGui::GetDrawData();
  for (int l = 0; l < drawn.CmdListsCount; l++)
    for (const ImDrawVert& v : drawn.CmdLists[l]->VtxBuffer)
      if (v.col == colour && v.pos.x >= mark.least.x - 1 && v.pos.x <= mark.most.x + 1 &&
          v.pos.y >= mark.least.y - 1 && v.pos.y <= mark.most.y + 1)
        return true;
  return false;
}

TEST_F(ChipViewTest, CategoriesHaveTheColoursOfTheirLegend) {
  show_sample();
  const auto& memory = chip().model()->estimate().memory[0];
  const ui::Mark* const bar = ui::find_mark("categories");
  ASSERT_TRUE(bar);
  size_t shown = 0;
  for (size_t i = 0; i < ipu::kCategories; i++) {
    const std::string name(ipu::category_name(static_cast<ipu::Category>(i)));
    const ui::Mark* const legend = ui::find_mark("colour of " + name);
    ASSERT_EQ(legend != nullptr, memory.by_category[i] != 0) << name;
    EXPECT_EQ(draws_colour(*bar, ui::colour_at(i)), legend != nullptr) << name;
    if (!legend) continue;
    EXPECT_TRUE(draws_colour(*legend, ui::colour_at(i))) << name;
    shown++;
  }
  EXPECT_GE(shown, 3u);
}

TEST_F(ChipViewTest, TheMapOfTilesHasAScale) {
  show_sample();
  const ui::Mark* const scale = ui::find_mark("scale of tiles");
  ASSERT_TRUE(scale);
  EXPECT_TRUE(draws_colour(*scale, ui::heat(0.5f / 32)));
  EXPECT_TRUE(draws_colour(*scale, ui::heat(31.5f / 32)));
  EXPECT_TRUE(sees("label 624.0 KiB")) << "the memory of a tile";
}

TEST_F(ChipViewTest, TheSliderAndTheArrowsChooseAnOperation) {
  show_sample();
  EXPECT_EQ(chip().selected(), -1);
  EXPECT_TRUE(sees("the most of the whole run"));
  press(ui::kRight);
  EXPECT_EQ(chip().selected(), 0);
  EXPECT_TRUE(sees("operation 0: "));
  EXPECT_TRUE(sees("at operation 0"));
  EXPECT_TRUE(sees("operation 0 (0 to ")) << "next to the slider";
  press(ui::kLeft);
  press(ui::kLeft);
  EXPECT_EQ(chip().selected(), -1) << "it ends at the whole run";
  click("chip time");
  EXPECT_GT(chip().selected(), 0) << "the middle of the slider";
  click("trace");
  const double middle = chip().model()->all_cycles() / 2;
  EXPECT_EQ(chip().selected(), static_cast<int>(chip().model()->op_at(middle)));
}

TEST_F(ChipViewTest, AClickOnATileShowsItsTensors) {
  show_sample();
  click("page Operations");
  EXPECT_FALSE(sees("Tensors on tile "));
  click("tiles");
  EXPECT_TRUE(sees("Tensors on tile "));
}

TEST_F(ChipViewTest, OperationsAreListedByCost) {
  show_sample();
  click("page Operations");
  const auto order = chip().model()->by_cycles();
  EXPECT_TRUE(sees(std::to_string(chip().model()->ops()[order[0]].cycles())));
  const std::string name = chip().model()->ops()[order[0]].name;
  EXPECT_TRUE(workspace->select(name));
  EXPECT_EQ(chip().selected(), static_cast<int>(order[0]));
  EXPECT_FALSE(workspace->select("nonsense"));
}

TEST_F(ChipViewTest, ComparesTwoChips) {
  show_sample();
  click("page Compare");
  EXPECT_FALSE(chip().other());
  click("compare with mk1");
  ASSERT_TRUE(chip().other());
  EXPECT_EQ(chip().other()->choice().target, "mk1");
  EXPECT_TRUE(sees("Ratio"));
  EXPECT_TRUE(sees("bytes of the busiest tile"));
  click("compare with mk1");
  EXPECT_FALSE(chip().other());
}

TEST_F(ChipViewTest, SeveralIpusAreShownNextToEachOther) {
  show_sample();
  EXPECT_FALSE(sees("trace of IPU"));
  EXPECT_FALSE(sees("memory of IPU"));
  ChipChoice choice = chip().choice();
  choice.ipus = 2;
  chip().choose(choice);
  settle();
  ASSERT_TRUE(chip().model()) << chip().error();
  ASSERT_EQ(chip().model()->estimate().memory.size(), 2u);
  EXPECT_TRUE(sees("IPU 0: Bytes of tiles, at most "));
  for (const ipu::ChipOp& op : chip().model()->ops())
    EXPECT_TRUE(sees(fmt::format("trace of IPU {}", op.ipu)));
  click("memory of IPU 1");
  EXPECT_TRUE(sees("IPU 1: Bytes of tiles, at most "));
  EXPECT_TRUE(sees("of IPU 1"));
  chip().page = ChipView::Page::operations;
  settle();
  EXPECT_TRUE(ui::find_mark("IPU"));
  click("IPU");  // sorts
}

TEST_F(ChipViewTest, OnlyOperationsWithoutARuleAreYellow) {
  show_sample();
  chip().page = ChipView::Page::operations;
  settle();
  ui::Mark window;
  window.most = ImGui::GetIO().DisplaySize;
  const ui::Colours& c = ui::colours();
  EXPECT_FALSE(draws_colour(window, ui::mixed(c.text, ui::heat(1), 0.8f)));
  EXPECT_TRUE(std::ranges::all_of(chip().model()->ops(),
                                  [](const ipu::ChipOp& op) { return op.cost.has_rule; }));
}

TEST_F(ChipViewTest, RoundsOfALoopAreShownAsAnAssumption) {
  workspace->open(folder.write("loop.ir", R"(graph "g" opset {"": 17} {
  input %m : s64[]
  input %x : f32[64,64]
  const %t : bool[] = true
  %y : f32[64,64] = Loop(%m, %t, %x) {body = graph "b" {
    input %i : s64[]
    input %c : bool[]
    input %v : f32[64,64]
    %n : f32[64,64] = Exp(%v)
    %k : bool[] = Identity(%c)
    output %k
    output %n
  }} "lp"
  output %y
}
)"));
  workspace->show(View::chip);
  settle();
  EXPECT_TRUE(sees("Assumed: Loop 'lp' counts as 1 round, because")) << chip().error();
}

TEST_F(ChipViewTest, AFileWithoutAGraphIsAnError) {
  open_popef();
  for (const View view : {View::chip, View::passes}) {
    workspace->show(view);
    settle();
    EXPECT_NE(workspace->error().find("open the .onnx"), std::string::npos);
  }
  workspace->show(View::popef);
  settle();
  EXPECT_EQ(workspace->error(), "");
}

TEST_F(ChipViewTest, AnotherChoiceIsEstimatedAgain) {
  show_sample();
  const auto before = chip().model();
  click("chip precision");
  click("fp32");
  ASSERT_NE(chip().model(), before);
  EXPECT_EQ(chip().model()->choice().precision, "fp32");
}

TEST_F(ChipViewTest, TheGraphIsColouredByTheEstimate) {
  show_sample();
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::graph);
  EXPECT_STREQ(workspace->graph()->colour_name(), "estimated time");
  EXPECT_NE(workspace->message().find("estimated time on c600"), std::string::npos);
  EXPECT_TRUE(sees("Slowest, as estimated for the chip"));
  EXPECT_FALSE(sees("as profiled"));
  click("node /block/fc/MatMul");
  EXPECT_TRUE(sees("estimated time"));
}

// The estimate of the old contents is not shown as one of the new.
TEST_F(ChipViewTest, AReloadedModelIsEstimatedAgain) {
  show_sample();
  const auto before = chip().model();
  folder.write("net.ir", R"(graph "net" opset {"": 17} {
  input %x : f32[?]
  %y : ? = NoSuchOperator(%x) "n"
  output %y
}
)");
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  EXPECT_NE(chip().error(), "");
  EXPECT_FALSE(chip().model());
  EXPECT_EQ(chip().status(), "no estimate");
}

TEST_F(ChipViewTest, ShapesThatDoNotFitAreRefusedUntilTheyAreCorrected) {
  show_sample();
  workspace->set_shapes("other=3");
  settle();
  EXPECT_FALSE(chip().model());
  EXPECT_TRUE(sees("the model has no input 'other'"));
  EXPECT_NE(workspace->error().find("no input 'other'"), std::string::npos);
  workspace->set_shapes("x=1,4");
  settle();
  EXPECT_TRUE(chip().model());
  EXPECT_EQ(workspace->error(), "");
}

TEST_F(ChipViewTest, ACompiledModelHasNoGraphToEstimate) {
  open_popef();
  press('8', true);
  EXPECT_TRUE(sees("open the .onnx or the IR text"));
}

}  // namespace
}  // namespace poprt::inspector
