#include "views/popef_view.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

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

TEST_F(WorkspaceTest, ColumnsOfShortWordsFitInSmallWindows) {
  ImGui::GetIO().DisplaySize = {1024, 768};
  open_popef();
  for (const char* heading : {"Direction", "Type", "Programs", "Per replica"}) {
    const ui::Mark* const column = ui::find_mark(heading);
    ASSERT_TRUE(column) << heading;
    EXPECT_GE(column->most.x - column->least.x, ImGui::CalcTextSize(heading).x) << heading;
  }
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

}  // namespace
}  // namespace poprt::inspector
