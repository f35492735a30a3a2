#include "views/passes_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, ShowsPassesThatChangedANode) {
  open_sample();
  click("node /block/fc/Relu");
  EXPECT_TRUE(sees("Changes by passes"));
  click("Which pass added or changed it");
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

TEST_F(WorkspaceTest, RemovedNodeIsShownInTheGraphBeforeThePass) {
  open_sample();
  press('4', true);
  for (int i = 0; i < 30 && !sees(" removed"); i++) press(ui::kRight);
  ASSERT_TRUE(sees(" removed"));
  std::string gone;
  for (size_t i = 0; i + 1 < ui::marks().size(); i++)
    if (ui::marks()[i].name.ends_with(" removed")) gone = ui::marks()[i + 1].name;
  click(gone);
  EXPECT_TRUE(sees("Before"));
  EXPECT_TRUE(sees("Changes by passes"));
}

TEST_F(WorkspaceTest, RowsOfPassesAreThoseOfTheList) {
  const auto made =
      std::make_shared<Compilation>(compile_with_history(*ir::parse_text(kSampleText)));
  PassesView passes{Wake{}};
  EXPECT_FALSE(passes.show_row(0)) << "nothing is compiled";
  passes.set_compilation(made);
  ASSERT_TRUE(passes.show_row(1));
  const PassStep& first = made->steps[static_cast<size_t>(passes.step())];
  EXPECT_GT(first.added + first.removed + first.changed, 0u) << first.name;
  EXPECT_FALSE(passes.show_row(static_cast<int>(made->steps.size())));
  passes.only_changes = false;
  ASSERT_TRUE(passes.show_row(1));
  EXPECT_EQ(passes.step(), 1);
}

TEST_F(WorkspaceTest, MarksChangedNodesBeforeAPass) {
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

}  // namespace
}  // namespace poprt::inspector
