#include "views/run_view.h"

#include <gtest/gtest.h>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

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
  EXPECT_TRUE(sees("1 of 2 differ by at most 1"));
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
  EXPECT_TRUE(sees("drop it on the window while a model is shown"));
}

TEST_F(WorkspaceTest, ReportsWhyAModelCannotRun) {
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
    EXPECT_TRUE(sees("which does not match 6×3")) << view_name(view);
  }
  workspace->set_shapes("x");
  EXPECT_NE(workspace->message().find("expected NAME=1,3,224,224, found 'x'"), std::string::npos);
}

TEST_F(WorkspaceTest, ARowWithoutSoftmaxIsExplained) {
  folder.write("labels.txt", "cat\ndog\n");
  workspace->open(folder.write("net.ir", R"(graph "net" opset {"": 17} {
  input %x : f32[1,2]
  %y : f32[1,2] = Relu(%x)
  output %y
}
)"));
  settle();
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 2}, {1, INFINITY}));
  workspace->dropped(folder.path / "x.npy");
  settle();
  press('R');
  click("Largest");
  EXPECT_TRUE(sees("No softmax, because the row has NaN or infinite elements"));
  EXPECT_TRUE(sees("dog"));
  EXPECT_FALSE(sees("nan"));
  EXPECT_FALSE(sees("All elements of the row are NaN"));
  save_npy(folder.path / "x.npy", Tensor::of<float>({1, 2}, {NAN, NAN}));
  workspace->dropped(folder.path / "x.npy");
  settle();
  press('R');
  EXPECT_TRUE(sees("All elements of the row are NaN"));
}

}  // namespace
}  // namespace poprt::inspector
