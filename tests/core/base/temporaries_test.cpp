#include "base/temporaries.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace poprt {
namespace {

namespace fs = std::filesystem;

class Temporaries : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "poprt_temporaries_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir = pattern;
  }
  void TearDown() override { fs::remove_all(dir); }
  fs::path make(const std::string& name) {
    std::ofstream(dir / name) << "x";
    return dir / name;
  }
  fs::path dir;
};

TEST_F(Temporaries, NamesAreKnownAgainAndDiffer) {
  const std::string a = temporary_name(), b = temporary_name();
  EXPECT_NE(a, b);
  EXPECT_TRUE(is_temporary_name(a));
  EXPECT_TRUE(is_temporary_name(b));
}

TEST_F(Temporaries, OtherNamesAreNotTakenForTemporary) {
  for (const char* name :
       {"", "a.onnx", ".poprt-", ".tmp", ".poprt-.tmp", ".poprt-1.tmp", ".poprt-1-.tmp",
        ".poprt--1.tmp", ".poprt-1-xyz.tmp", ".poprt-a-1.tmp", ".poprt-1-2.tmp.bak",
        "poprt-1-2.tmp", "xpoprt-1-2.tmp", ".popxx-1-2.tmp", ".poprt-1-2.txt", ".poprt-1-2xtmp"})
    EXPECT_FALSE(is_temporary_name(name)) << name;
}

TEST_F(Temporaries, SweepRemovesUnlockedTemporaries) {
  const fs::path dead = make(".poprt-1-2.tmp"), held = make(temporary_name());
  const fs::path other = make("notes.tmp"), user = make(".poprt-notes.tmp");
  const int fd = ::open(held.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(lock_temporary(fd));
  sweep_temporaries(dir);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(held));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(user));
  ::close(fd);
  sweep_temporaries(dir);
  EXPECT_FALSE(fs::exists(held));
}

TEST_F(Temporaries, SweepSkipsFoldersLinksAndPipes) {
  const fs::path target = make("target");
  fs::create_directory(dir / ".poprt-1-1.tmp");
  fs::create_symlink(target, dir / ".poprt-1-2.tmp");
  ASSERT_EQ(::mkfifo((dir / ".poprt-1-3.tmp").c_str(), 0600), 0);
  sweep_temporaries(dir);
  for (const char* name : {".poprt-1-1.tmp", ".poprt-1-2.tmp", ".poprt-1-3.tmp", "target"})
    EXPECT_TRUE(fs::symlink_status(dir / name).type() != fs::file_type::not_found) << name;
  sweep_temporaries(dir / "missing");  // nothing to do is no error
}

TEST_F(Temporaries, ARemovedFileCannotBeHeld) {
  const fs::path path = make(temporary_name());
  const int fd = ::open(path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  fs::remove(path);
  EXPECT_FALSE(lock_temporary(fd));
  ::close(fd);
}

// Files are never removed on a file system without locks, so a file without a lock counts as held.
TEST_F(Temporaries, WithoutLocksAFileIsHeldWhileItIsThere) {
  const int fd = ::open(make(temporary_name()).c_str(), O_RDWR | O_PATH);  // flock() refuses it
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(lock_temporary(fd));
  ::close(fd);
}

// If there are very many folders, the first ones are forgotten and listed again.
TEST_F(Temporaries, FoldersAreNotRememberedWithoutEnd) {
  sweep_temporaries_each_minute(dir);
  const fs::path dead = make(".poprt-1-2.tmp");
  for (int i = 0; i < 1024; i++) sweep_temporaries_each_minute(dir / std::to_string(i));
  sweep_temporaries_each_minute(dir);
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(Temporaries, OneFolderIsNotListedForEveryFile) {
  sweep_temporaries_each_minute(dir);
  const fs::path dead = make(".poprt-1-2.tmp");
  sweep_temporaries_each_minute(dir);
  EXPECT_TRUE(fs::exists(dead));
  sweep_temporaries(dir);
  EXPECT_FALSE(fs::exists(dead));
}

}  // namespace
}  // namespace poprt
