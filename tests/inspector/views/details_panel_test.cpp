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

// A weight is chosen by its index, which belongs to one graph.
TEST_F(WorkspaceTest, AReloadedNodeShowsItsOwnWeights) {
  const auto model = [](const std::string& constants, const std::string& node) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : f32[2]\n" + constants +
           " %y : f32[2] = " + node + " \"n\"\n output %y\n}\n";
  };
  const std::string a = " const %a_w : f32[2] = [1.0, 2.0]\n",
                    b = " const %b_w : f32[2] = [3.0, 4.0]\n";
  workspace->open(folder.write("g.ir", model(a + b, "Sum(%x, %a_w, %b_w)")));
  settle();
  click("node n");
  click("b_w");
  EXPECT_TRUE(sees("3 to 4"));
  folder.write("g.ir", model(a, "Sum(%x, %a_w)"));
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  ASSERT_NE(workspace->graph()->selected(), kNone);
  EXPECT_TRUE(sees("1 to 2"));
  click("Export .npy");
  EXPECT_TRUE(std::filesystem::exists(folder.path / "a_w.npy")) << workspace->message();
  folder.write("g.ir", model("", "Relu(%x)"));
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  ASSERT_NE(workspace->graph()->selected(), kNone);
  EXPECT_FALSE(sees("Export .npy"));
  EXPECT_TRUE(sees("rectified linear function"));
}

}  // namespace
}  // namespace poprt::inspector
