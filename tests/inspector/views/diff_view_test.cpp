#include "views/diff_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

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
  click("/block/Sigmoid");  // its row: both graphs move there, both sides are shown in full
  EXPECT_TRUE(sees("Tanh("));
}

TEST_F(WorkspaceTest, AFileThatCannotBeReadIsNotCompared) {
  workspace->open(folder.path / "absent.ir");
  open_sample();
  press('7', true);
  EXPECT_TRUE(sees("absent.ir could not be opened"));
  EXPECT_NE(workspace->error().find("absent.ir"), std::string::npos) << workspace->error();
}

TEST_F(WorkspaceTest, KindsOfDifferencesAreReadableInSmallWindows) {
  ImGui::GetIO().DisplaySize = {1024, 768};
  open_popef();
  std::string other = kSampleText;
  other.replace(other.find("Sigmoid(%b)"), 11, "Tanh(%b)");
  workspace->open(folder.write("a.ir", kSampleText));
  workspace->open(folder.write("other.ir", other));
  settle();
  press('7', true);
  for (const char* word : {"changed", "node"}) {
    const ui::Mark* const text = ui::find_mark(word);
    EXPECT_TRUE(text) << word << " is cut";
  }
}

TEST_F(WorkspaceTest, CompareStartsWithADocumentOfTheSameKind) {
  open_popef();
  open_sample();
  workspace->open(folder.write("other.ir", kSampleText));
  settle();
  press('7', true);
  EXPECT_TRUE(sees("left  net.ir"));
  EXPECT_TRUE(sees("right  other.ir"));
}

TEST_F(WorkspaceTest, CompareOfOneDocumentOffersToOpenAnother) {
  open_sample();
  press('7', true);
  EXPECT_TRUE(sees("nothing to compare with"));
  EXPECT_TRUE(click("Open a second file").choose_file);
}

TEST_F(WorkspaceTest, CompareShowsTheErrorOfEachNode) {
  open_sample();
  std::string other = kSampleText;
  other.replace(other.find("8.0]"), 4, "9.0]");
  workspace->open(folder.write("other.ir", other));
  settle();
  press('7', true);
  click("Error of each node");
  EXPECT_TRUE(sees("error 4"));
  EXPECT_TRUE(sees("relative error "));
  EXPECT_TRUE(sees("relative error: 0")) << "the legend of the graphs";
}

// Rows of equal values are listed, and are no differences.
TEST_F(WorkspaceTest, CompareCountsOnlyDifferences) {
  open_sample();
  std::string other = kSampleText;
  other.replace(other.find("Sigmoid(%b)"), 11, "Tanh(%b)");
  workspace->open(folder.write("other.ir", other));
  settle();
  press('7', true);
  EXPECT_TRUE(sees(" 2 differences")) << "the operator and the size of the file";
  EXPECT_FALSE(sees("the same"));
  click("Error of each node");
  EXPECT_TRUE(sees(" 4 differences, 2 the same")) << "a and b do not depend on the operator";
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
  EXPECT_TRUE(sees("Right: other.ir")) << "in the order of the tabs, whichever is in front";
}

TEST_F(WorkspaceTest, ADocumentMayBeClosedWhileItIsCompared) {
  open_sample();
  workspace->open(folder.write("other.ir", kOtherText));
  settle();
  workspace->show(View::compare);
  frame();
  press('W', true);
  EXPECT_EQ(workspace->document_count(), 1u);
  EXPECT_TRUE(sees("Nothing to compare with yet"));
  EXPECT_FALSE(workspace->busy());
}

// A list of differing weights "w100" to "w299" with a filter.
class LongDiffTest : public WorkspaceTest {
 protected:
  void SetUp() override {
    WorkspaceTest::SetUp();
    const auto model = [](const std::string& value) {
      std::string text = "graph \"g\" opset {\"\": 17} {\n input %v99 : f32[1]\n";
      for (int i = 100; i < 300; i++)
        text += fmt::format(" const %w{0} : f32[1] = [{1}]\n %v{0} : f32[1] = Add(%v{2}, %w{0})\n",
                            i, value, i - 1);
      return text + " output %v299\n}\n";
    };
    Progress progress;
    const auto load = [&](const std::string& name, const std::string& text) {
      return std::make_shared<const Document>(load_document(folder.write(name, text), progress));
    };
    view.set_documents(load("a.ir", model("1.0")), load("b.ir", model("2.0")));
    view.settle();
  }
  bool draws(const std::string& name) {
    for (int i = 0; i < 4; i++) {
      ImGui::GetIO().DeltaTime = 1.0f / 60;
      ImGui::NewFrame();
      ui::marks().clear();
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize({1000, 700});
      ImGui::Begin("window");
      view.draw({980, 660});
      ImGui::End();
      ImGui::Render();
      view.settle();
    }
    return ui::find_mark(name) != nullptr;
  }
  DiffView view;
};

TEST_F(LongDiffTest, ASelectedRowIsScrolledToAmongTheFilteredRows) {
  EXPECT_FALSE(draws("w251"));
  view.filter = "w2";
  ASSERT_TRUE(view.select("w250"));
  EXPECT_TRUE(draws("w251")) << "the next row";
  EXPECT_EQ(view.filter, "w2");
}

TEST_F(LongDiffTest, SelectingAHiddenRowShowsAllRows) {
  view.filter = "w2";
  ASSERT_TRUE(view.select("w150"));
  EXPECT_EQ(view.filter, "");
  EXPECT_TRUE(draws("w151")) << "the next row";
}

}  // namespace
}  // namespace poprt::inspector
