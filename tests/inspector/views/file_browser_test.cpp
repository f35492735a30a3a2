#include "views/file_browser.h"

#include <gtest/gtest.h>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

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

TEST_F(WorkspaceTest, TheBrowserSortsNumbersByTheirValue) {
  for (const char* name : {"n_103.ir", "n_11.ir", "n_2.ir"}) folder.write(name, kSampleText);
  workspace->open(folder.path / "n_2.ir");
  settle();
  workspace->browse();
  settle();
  const ui::Mark *a = ui::find_mark("n_2.ir"), *b = ui::find_mark("n_11.ir"),
                 *c = ui::find_mark("n_103.ir");
  ASSERT_TRUE(a && b && c);
  EXPECT_LT(a->least.y, b->least.y);
  EXPECT_LT(b->least.y, c->least.y);
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

TEST_F(WorkspaceTest, TheBrowserAcceptsATypedPath) {
  std::filesystem::create_directories(folder.path / "inside");
  folder.write("inside/first.ir", kSampleText);
  open_sample();
  workspace->browse();
  settle();
  type("inside/first.ir");
  EXPECT_TRUE(sees("Enter opens this path"));
  press(ui::kEnter);
  EXPECT_EQ(workspace->document()->title(), "first.ir");
  workspace->browse();
  settle();
  type("/no/such/file.onnx");
  press(ui::kEnter);
  EXPECT_TRUE(sees("/no/such/file.onnx does not exist"));
  EXPECT_EQ(workspace->document_count(), 2u);
  press(ui::kEscape);
  const char* home = std::getenv("HOME");
  const std::string before = home ? home : "";
  setenv("HOME", folder.path.c_str(), 1);
  workspace->browse();
  settle();
  type("~/net.ir");
  press(ui::kEnter);
  setenv("HOME", before.c_str(), 1);
  EXPECT_EQ(workspace->document()->title(), "net.ir");
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

}  // namespace
}  // namespace poprt::inspector
