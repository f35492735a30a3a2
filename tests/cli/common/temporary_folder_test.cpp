#include "common/temporary_folder.h"

#include <cstdlib>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

TEST(TemporaryFolder, IsRemovedWithItsContents) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(path.parent_path(), std::filesystem::temp_directory_path());
    EXPECT_TRUE(path.filename().string().starts_with("poprt_"));
    std::filesystem::create_directory(path / "below");
    write_file(folder, "below/file", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, ThatCannotBeMadeIsAnError) {
  const TemporaryFolder folder;
  const std::filesystem::path gone = folder.path() / "gone";
  std::filesystem::create_directory(gone);
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", gone.c_str(), 1);
  std::string output;
  {
    std::filesystem::permissions(gone, std::filesystem::perms::none);
    try {
      const TemporaryFolder none;
    } catch (const std::exception& e) {
      output = e.what();
    }
    std::filesystem::permissions(gone, std::filesystem::perms::owner_all);
  }
  if (before)
    ::setenv("TMPDIR", kept.c_str(), 1);
  else
    ::unsetenv("TMPDIR");
  if (::geteuid() != 0)  // root may write everywhere
    EXPECT_EQ(output, "cannot make a folder in '" + gone.string() +
                          "' for temporary files (TMPDIR): Permission denied");
}

}  // namespace
}  // namespace poprt::cli
