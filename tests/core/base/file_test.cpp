#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view s) {
  return std::as_bytes(std::span<const char>(s.data(), s.size()));
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "poprt_file_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir = pattern;
  }
  void TearDown() override { fs::remove_all(dir); }

  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir), fs::directory_iterator{}));
  }

  fs::path dir;
};

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::ok, "no error");
}

TEST_F(File, AppearsOnlyAtCommit) {
  const fs::path path = dir / "a.bin";
  AtomicFile file(path);
  file.write(bytes_of("hello "));
  file.write(bytes_of("world"));
  EXPECT_EQ(file.size(), 11u);
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_EQ(text_of(path), "hello world");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, WriteAtOverwritesWhatWasWritten) {
  AtomicFile file(dir / "a");
  file.write(bytes_of("hello world"));
  file.write_at(6, bytes_of("there"));
  file.write(bytes_of("!"));
  file.commit();
  EXPECT_EQ(text_of(dir / "a"), "hello there!");
}

TEST_F(File, WriteAtPastTheEndIsABug) {
  AtomicFile file(dir / "a");
  file.write(bytes_of("abc"));
  EXPECT_EQ(error_of([&] { file.write_at(2, bytes_of("xx")); }).code(), ErrorCode::internal);
  EXPECT_EQ(error_of([&] { file.write_at(~uint64_t{0}, bytes_of("xx")); }).code(),
            ErrorCode::internal);
}

TEST_F(File, IsRemovedWithoutCommit) {
  {
    AtomicFile(dir / "a").write(bytes_of("x"));
  }
  EXPECT_EQ(entries(), 0u);
  EXPECT_THROW(
      {
        AtomicFile file(dir / "a");
        file.write(bytes_of("x"));
        throw std::runtime_error("writer failed");
      },
      std::runtime_error);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(File, KeepsTheOldContentUntilCommit) {
  const fs::path path = dir / "a";
  std::ofstream(path) << "old";
  {
    AtomicFile file(path);
    file.write(bytes_of("new"));
  }
  EXPECT_EQ(text_of(path), "old");
  AtomicFile file(path);
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, TwoWritersOfOnePathDoNotMix) {
  AtomicFile first(dir / "a"), second(dir / "a");
  first.write(bytes_of("first"));
  second.write(bytes_of("second"));
  second.commit();
  first.commit();
  EXPECT_EQ(text_of(dir / "a"), "first");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, MissingFolderIsNotFound) {
  const fs::path path = dir / "none" / "a";
  const Error e = error_of([&] { AtomicFile file(path); });
  EXPECT_EQ(e.code(), ErrorCode::not_found);
  EXPECT_NE(e.message().find(path.string()), std::string::npos) << e.message();
}

TEST_F(File, WritingOverADirectoryIsRefused) {
  EXPECT_EQ(error_of([&] { AtomicFile file(dir); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { AtomicFile file(dir / ""); }).code(), ErrorCode::invalid_argument);
}

TEST_F(File, WritingOverAPipeIsRefused) {
  const fs::path path = dir / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { AtomicFile file(path); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, ALinkStaysALink) {
  std::ofstream(dir / "target") << "old";
  fs::create_symlink("target", dir / "link");
  AtomicFile file(dir / "link");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(text_of(dir / "target"), "new");
}

TEST_F(File, MapsTheWholeFile) {
  std::ofstream(dir / "a") << "some bytes";
  const auto mapped = MappedFile::open(dir / "a");
  ASSERT_EQ(mapped->bytes().size(), 10u);
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "some bytes", 10), 0);
  EXPECT_EQ(mapped->path(), dir / "a");
}

TEST_F(File, MapOutlivesTheDirectoryEntry) {
  std::ofstream(dir / "a") << "some bytes";
  const auto mapped = MappedFile::open(dir / "a");
  fs::remove(dir / "a");
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "some bytes", 10), 0);
}

TEST_F(File, MapsAnEmptyFile) {
  std::ofstream(dir / "a").flush();
  EXPECT_TRUE(MappedFile::open(dir / "a")->bytes().empty());
}

TEST_F(File, OpenErrorsNameThePath) {
  const Error missing = error_of([&] { MappedFile::open(dir / "none"); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_NE(missing.message().find((dir / "none").string()), std::string::npos);
  const Error directory = error_of([&] { MappedFile::open(dir); });
  EXPECT_EQ(directory.code(), ErrorCode::invalid_argument);
  EXPECT_NE(directory.message().find("directory"), std::string::npos);
}

TEST_F(File, OpeningAPipeDoesNotWait) {
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { MappedFile::open(dir / "pipe"); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace poprt
