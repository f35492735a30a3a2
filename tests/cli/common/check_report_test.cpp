#include "common/check_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

class CheckReport : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << text;
  }
  TemporaryFolder folder;
};

TEST_F(CheckReport, TheLinesOfACheckAreIndentedAfterTheFirst) {
  write("check.json",
        R"({"text": ["the outputs differ", "tolerance: fp8", "inputs"], "equal": 1})");
  EXPECT_EQ(check_lines(folder.path()), "check: the outputs differ\n  tolerance: fp8\n  inputs\n");
}

TEST_F(CheckReport, ALogIsReadUpToItsEmptyLine) {
  write("precision_compare.log", "largest: 1\ntolerance: 2\n\nMatMul y: MSE 0\n");
  EXPECT_EQ(precision_lines(folder.path()),
            "precision: " + (folder.path() / "precision_compare.log").string() +
                "\n  largest: 1\n  tolerance: 2\n");
}

TEST_F(CheckReport, AFileThatIsNotThereHasNoLines) {
  EXPECT_EQ(check_lines(folder.path()), "");
  EXPECT_EQ(precision_lines(folder.path()), "");
  write("check.json", "[]");
  EXPECT_EQ(check_lines(folder.path()), "");
}

}  // namespace
}  // namespace poprt::cli
