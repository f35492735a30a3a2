#include "views/diff_view.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace poprt::inspector
