#include "common/output_path.h"

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

TEST(OutputPath, IsTheTargetOfALink) {
  const TemporaryFolder folder;
  const fs::path& at = folder.path();
  fs::create_directory(at / "far");
  EXPECT_EQ(resolve_links(at / "plain"), at / "plain");
  fs::create_symlink("far/b", at / "a");
  fs::create_symlink(at / "c", at / "far" / "b");
  EXPECT_EQ(resolve_links(at / "a"), at / "c");  // c does not exist yet
  write_file(folder, "c", "");
  EXPECT_EQ(resolve_links(at / "a"), at / "c");
  fs::create_symlink("round", at / "round");
  EXPECT_EQ(resolve_links(at / "round"), at / "round");
}

TEST(OutputPath, LinksAreFollowedAsFarAsTheSystemDoes) {
  const TemporaryFolder folder;
  const auto link = [&](int i) { return folder.path() / std::to_string(i); };
  for (int i = 0; i < 45; i++) fs::create_symlink(link(i + 1), link(i));
  EXPECT_EQ(resolve_links(link(5)), link(45));
  EXPECT_EQ(resolve_links(link(0)), link(40));
}

}  // namespace
}  // namespace poprt::cli
