#include "views/details_panel.h"

#include <gtest/gtest.h>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

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

TEST_F(WorkspaceTest, DetailsShowTheOnnxDocumentation) {
  open_sample();
  click("node /block/fc/Relu");
  EXPECT_TRUE(sees("rectified linear function"));
  EXPECT_FALSE(sees("since opset"));
  click("More");
  EXPECT_TRUE(sees("since opset 14"));
}

TEST_F(WorkspaceTest, AWeightIsExported) {
  open_sample();
  click("node /block/fc/MatMul");
  click("Export .npy");
  EXPECT_EQ(workspace->message().find("wrote "), 0u) << workspace->message();
  EXPECT_TRUE(std::filesystem::exists(folder.path / "w.npy"));
}

}  // namespace
}  // namespace poprt::inspector
