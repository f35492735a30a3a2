#include "device/runtime_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace poprt::device {
namespace {

namespace fs = std::filesystem;

class RuntimeFolder : public ::testing::Test {
 protected:
  RuntimeFolder() {
    std::string name = (fs::temp_directory_path() / "runtime_dir_XXXXXX").string();
    folder_ = fs::canonical(::mkdtemp(name.data()));
    if (const char* given = std::getenv("XDG_RUNTIME_DIR")) before_ = given;
    here_ = fs::current_path();
    fs::current_path(folder_);
  }
  ~RuntimeFolder() override {
    fs::current_path(here_);
    setenv("XDG_RUNTIME_DIR", before_.c_str(), 1);
    fs::remove_all(folder_);
  }

  static std::string error_of(const std::string& wanted) {
    try {
      runtime_dir(wanted);
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "";
  }
  // The folder for this environment if the caller names none.
  static fs::path of_environment(const std::string& base) {
    setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
    return runtime_dir("");
  }

  fs::path folder_, here_;
  std::string before_;
};

TEST_F(RuntimeFolder, OnlyItsUserHasAccess) {
  const fs::path wanted = folder_ / "mine";
  EXPECT_EQ(runtime_dir(wanted.string()), wanted);
  struct stat info{};
  ASSERT_EQ(stat(wanted.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(runtime_dir(wanted.string()), wanted) << "it is there";
}

TEST_F(RuntimeFolder, IsInThatOfTheEnvironment) {
  EXPECT_EQ(of_environment(folder_.string()), folder_ / "poprt");
  EXPECT_TRUE(fs::is_directory(folder_ / "poprt"));
}

// A path is used only if it is absolute and a folder.
TEST_F(RuntimeFolder, IgnoresInvalidPathsInTheEnvironment) {
  const fs::path shared = fs::canonical("/dev/shm") / ("poprt-" + std::to_string(getuid()));
  fs::create_directory(folder_ / "relative");
  std::ofstream(folder_ / "file") << "x";
  const std::string bases[] = {"relative", "", folder_ / "file", folder_ / "none"};
  for (const std::string& base : bases) EXPECT_EQ(of_environment(base), shared) << base;
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(runtime_dir(""), shared);
  EXPECT_FALSE(fs::exists(folder_ / "relative" / "poprt"));
}

TEST_F(RuntimeFolder, OtherThingsAreRefused) {
  EXPECT_EQ(error_of("relative"),
            "invalid_argument: 'relative' is not an absolute path of a folder");
  const std::string deep = (folder_ / "none" / "deep").string();
  EXPECT_EQ(error_of(deep),
            "permission_denied: cannot make folder '" + deep + "': No such file or directory");
  const std::string file = (folder_ / "file").string(), link = (folder_ / "link").string();
  std::ofstream(file) << "x";
  fs::create_directory_symlink(folder_, link);
  const std::string user = " is not a folder of user " + std::to_string(getuid());
  EXPECT_EQ(error_of(file), "permission_denied: '" + file + "'" + user);
  EXPECT_EQ(error_of(link), "permission_denied: '" + link + "'" + user) << "a link may be moved";
}

}  // namespace
}  // namespace poprt::device
