#include "poprt/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/abi.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

TEST(MadeFolder, RemovesTheFolderUnlessItIsKept) {
  const TemporaryFolder base;
  const fs::path inner = base.path() / "a" / "b";
  {
    const MadeFolder made(inner);
    EXPECT_TRUE(fs::is_directory(inner));
  }
  EXPECT_FALSE(fs::exists(base.path() / "a"));
  EXPECT_TRUE(fs::exists(base.path())) << "it was there before";
}

TEST(MadeFolder, KeepsTheFolderIfRequestedOrNotEmpty) {
  const TemporaryFolder base;
  MadeFolder(base.path() / "kept" / "inner").keep();
  EXPECT_TRUE(fs::is_directory(base.path() / "kept" / "inner"));
  {
    const MadeFolder made(base.path() / "full");
    std::ofstream(base.path() / "full" / "file") << "text";
  }
  EXPECT_TRUE(fs::exists(base.path() / "full" / "file"));
}

TEST(MadeFolder, RefusesTheNameOfAFile) {
  const TemporaryFolder base;
  const fs::path file = base.path() / "file";
  std::ofstream(file) << "text";
  try {
    MadeFolder made(file);
    ADD_FAILURE() << "made";
  } catch (const Failure& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("--output_dir: cannot make the folder '"))
        << e.what();
  }
  EXPECT_TRUE(fs::exists(file));
}

}  // namespace
}  // namespace poprt::cli
