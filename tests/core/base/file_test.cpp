#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
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
  // Tests are not optimised, and iterators over a stream would take seconds for megabytes.
  std::string text(fs::file_size(path), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
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

TEST_F(File, WriteAtOverwritesEarlierBytes) {
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

TEST_F(File, WritesThroughALinkToAMissingFile) {
  fs::create_directory(dir / "folder");
  fs::create_symlink("folder/target", dir / "second");
  fs::create_symlink(dir / "second", dir / "first");
  AtomicFile file(dir / "first");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(fs::is_symlink(dir / "first") && fs::is_symlink(dir / "second"));
  EXPECT_EQ(text_of(dir / "folder" / "target"), "new");
  fs::create_symlink("round", dir / "round");
  EXPECT_THROW(AtomicFile(dir / "round").commit(), Error);
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

TEST_F(File, ReadsPartsOfTheFile) {
  std::ofstream(dir / "a") << "some bytes";
  const auto mapped = MappedFile::open(dir / "a", true);
  std::string part(4, ' ');
  mapped->read(3, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(part, "e by");
  mapped->read(10, {});
}

TEST_F(File, ReadingATruncatedFileIsAnError) {
  std::ofstream(dir / "a") << "some bytes";
  const auto mapped = MappedFile::open(dir / "a", true);
  fs::resize_file(dir / "a", 6);
  std::string part(4, ' ');
  const Error error = error_of([&] { mapped->read(4, std::as_writable_bytes(std::span(part))); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(), fmt::format("'{}' was truncated while it was used: it ends at 6 of 10 "
                                         "bytes",
                                         (dir / "a").string()));
}

TEST_F(File, ReservedBytesThatAreNotWrittenAreGivenBack) {
  constexpr uint64_t kReserved = uint64_t{8} << 20;
  AtomicFile file(dir / "a");
  file.reserve(kReserved);
  EXPECT_EQ(file.size(), 0u);
  file.write(bytes_of("text"));
  file.reserve(UINT64_MAX);
  file.commit();
  EXPECT_EQ(text_of(dir / "a"), "text");
  struct stat info = {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_LT(static_cast<uint64_t>(info.st_blocks) * 512, kReserved);
}

TEST_F(File, FlushingKeepsThePath) {
  std::ofstream(dir / "a") << "old";
  AtomicFile file(dir / "a");
  file.write(bytes_of("some"));
  file.flush();
  EXPECT_EQ(text_of(dir / "a"), "old");
  file.write(bytes_of("thing"));
  file.flush();
  file.commit();
  EXPECT_EQ(text_of(dir / "a"), "something");
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

// Each error of the system has a code; the message contains the action and the path.
TEST_F(File, ErrorsHaveTheirKinds) {
  const auto message_for = [](const fs::path& path, bool write = false) {
    const Error e = error_of([&] {
      if (write)
        AtomicFile file(path);
      else
        (void)MappedFile::open(path);
    });
    return std::string(error_code_name(e.code())) + ": " + e.message();
  };
  std::ofstream(dir / "file") << "x";
  fs::create_symlink("loop", dir / "loop");
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const std::string in = (dir / "").string(), name(300, 'n');
  EXPECT_EQ(message_for(dir / "none"),
            "not_found: cannot open '" + in + "none': No such file or directory");
  EXPECT_EQ(message_for(dir / "file/x"),
            "not_found: cannot open '" + in + "file/x': Not a directory");
  EXPECT_EQ(message_for(dir / name),
            "invalid_argument: cannot open '" + in + name + "': File name too long");
  EXPECT_EQ(message_for(dir / "loop"),
            "invalid_argument: cannot open '" + in + "loop': Too many levels of symbolic links");
  EXPECT_EQ(message_for(dir), "invalid_argument: cannot read '" + dir.string() +
                                  "': expected a regular file, found a directory");
  EXPECT_EQ(message_for(dir / "fifo"),
            "invalid_argument: cannot read '" + in +
                "fifo': expected a regular file, found a device, pipe or "
                "socket");
  EXPECT_EQ(message_for(dir / "none/x", true),
            "not_found: cannot create '" + in + "none/x': No such file or directory");
  EXPECT_EQ(message_for(dir / "loop", true),
            "invalid_argument: cannot write '" + in + "loop': Too many levels of symbolic links");
  EXPECT_EQ(message_for(dir, true), "invalid_argument: cannot write '" + dir.string() +
                                        "': expected a file name, found a directory");
  EXPECT_EQ(message_for(in, true),
            "invalid_argument: cannot write '" + in + "': expected a file name, found a directory");
  EXPECT_EQ(message_for(dir / "fifo", true),
            "invalid_argument: cannot write '" + in +
                "fifo': expected a regular file, found a device, pipe "
                "or socket");
}

TEST_F(File, LinksAreFollowedAsFarAsTheSystemDoes) {
  for (int i = 0; i < 41; i++)
    fs::create_symlink(i == 0 ? std::string("end") : std::to_string(i - 1),
                       dir / std::to_string(i));
  fs::create_directory(dir / "sub");
  fs::create_symlink(dir / "absolute", dir / "sub/away");
  EXPECT_EQ(resolve_links(dir / "0"), dir / "end");
  EXPECT_EQ(resolve_links(dir / "39"), dir / "end") << "forty links";
  EXPECT_EQ(resolve_links(dir / "40"), dir / "0") << "one more is left";
  EXPECT_EQ(resolve_links(dir / "sub/away"), dir / "absolute");
  EXPECT_EQ(resolve_links(dir / "none"), dir / "none");
}

TEST_F(File, ExtendMakesRoomOfZeros) {
  AtomicFile file(dir / "a");
  file.write(bytes_of("ab"));
  file.extend(3);
  EXPECT_EQ(file.size(), 5u);
  file.write_at(4, bytes_of("z"));
  file.write(bytes_of("c"));
  EXPECT_EQ(error_of([&] { file.extend(UINT64_MAX); }).code(), ErrorCode::resource_exhausted);
  file.commit();
  EXPECT_EQ(text_of(dir / "a"), std::string("ab\0\0zc", 6));
}

TEST_F(File, ASocketIsNoFile) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (dir / "socket").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::ranges::copy(path, address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Error e = error_of([&] { MappedFile::open(path); });
  ::close(fd);
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e.message(),
            "cannot read '" + path + "': expected a regular file, found a device, pipe or socket");
}

TEST_F(File, OpeningAPipeDoesNotWait) {
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { MappedFile::open(dir / "pipe"); }).code(), ErrorCode::invalid_argument);
}

// Returns the numbers of open descriptors of this process, and of mappings of files below `dir`.
std::pair<ptrdiff_t, int> descriptors_and_mappings(const fs::path& dir) {
  std::ifstream maps("/proc/self/maps");
  int mapped = 0;
  for (std::string line; std::getline(maps, line);)
    mapped += line.find(dir.string()) != std::string::npos;
  return {std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{}), mapped};
}

TEST_F(File, DescriptorsAndMappingsAreGivenBack) {
  std::ofstream(dir / "a") << "some bytes";
  std::ofstream(dir / "empty").flush();
  const auto before = descriptors_and_mappings(dir);
  {
    const auto mapped = MappedFile::open(dir / "a"), empty = MappedFile::open(dir / "empty");
    EXPECT_EQ(descriptors_and_mappings(dir), std::pair(before.first, before.second + 1));
  }
  EXPECT_EQ(descriptors_and_mappings(dir), before);
  {
    const auto mapped = MappedFile::open(dir / "a", true);
    EXPECT_EQ(descriptors_and_mappings(dir), std::pair(before.first + 1, before.second + 1));
  }
  EXPECT_EQ(descriptors_and_mappings(dir), before);
  error_of([&] { MappedFile::open(dir); });
  error_of([&] { MappedFile::open(dir / "none"); });
  EXPECT_EQ(descriptors_and_mappings(dir), before);
  {
    AtomicFile kept(dir / "b"), dropped(dir / "c");
    EXPECT_EQ(descriptors_and_mappings(dir).first, before.first + 2);
    kept.write(bytes_of("x"));
    kept.commit();
  }
  error_of([&] { AtomicFile(dir / "none" / "a"); });
  error_of([&] { AtomicFile(dir / ""); });
  EXPECT_EQ(descriptors_and_mappings(dir), before);
}

// Runs a writer that may die in a separate process.
template <class F>
pid_t in_child(F&& f) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  f();
  ::_exit(0);
}

void write_version(const fs::path& path, char version, size_t chunks) {
  AtomicFile file(path);
  const std::string chunk(4096, version);
  for (size_t i = 0; i < chunks; i++) file.write(bytes_of(chunk));
  file.commit();
}

// Tests writes with and without named temporary files. The variable is for the processes that the
// tests start.
class KilledWriter : public File, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    File::SetUp();
    if (GetParam()) ::setenv("POPRT_NAMED_TEMPORARIES", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("POPRT_NAMED_TEMPORARIES");
    File::TearDown();
  }
};

TEST_P(KilledWriter, LeavesTheOldOrTheNewFileWholeAndNothingElse) {
  constexpr size_t kChunks = 64;
  constexpr int kKills = 200;
  const fs::path path = dir / "model";
  // Written by a child process: a process lists a folder at most once a minute and remembers the
  // time, which later children would inherit.
  ASSERT_EQ(::waitpid(in_child([&] { write_version(path, 'a', kChunks); }), nullptr, 0) > 0, true);
  std::mt19937 rng(14);
  std::uniform_int_distribution<int> wait_us(0, 800);
  for (int kill_number = 0; kill_number < kKills; kill_number++) {
    const char old_version = text_of(path)[0];
    const char version = static_cast<char>('b' + kill_number % 20);
    const pid_t child = in_child([&] { write_version(path, version, kChunks); });
    ::usleep(static_cast<useconds_t>(wait_us(rng)));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::string text = text_of(path);
    ASSERT_TRUE(text[0] == old_version || text[0] == version);
    ASSERT_TRUE(text == std::string(kChunks * 4096, text[0]));
  }
  const pid_t last = in_child([&] { write_version(path, 'z', 1); });
  ASSERT_EQ(::waitpid(last, nullptr, 0), last);
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(text_of(path), std::string(4096, 'z'));
}

// Between the first byte and the commit only a file with a name can remain.
TEST_P(KilledWriter, LeavesNoUncommittedFileWithoutAName) {
  const fs::path path = dir / "model";
  // Written by a child process: a process lists a folder at most once a minute and remembers the
  // time, which later children would inherit.
  const pid_t first = in_child([&] { write_version(path, 'a', 1); });
  ASSERT_EQ(::waitpid(first, nullptr, 0), first);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = in_child([&] {
    AtomicFile file(path);
    file.write(bytes_of(std::string(4096, 'b')));
    ::write(ends[1], "w", 1);
    ::pause();
  });
  char written = 0;
  ASSERT_EQ(::read(ends[0], &written, 1), 1);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(entries(), GetParam() ? 2u : 1u);
  EXPECT_EQ(text_of(path), std::string(4096, 'a'));
  const pid_t next = in_child([&] { write_version(path, 'c', 1); });
  ASSERT_EQ(::waitpid(next, nullptr, 0), next);
  EXPECT_EQ(entries(), 1u);
}

TEST_P(KilledWriter, IsNotTakenForDeadWhileItWrites) {
  const fs::path path = dir / "a";
  AtomicFile file(path);
  file.write(bytes_of("hello"));
  const pid_t other = in_child([&] { write_version(dir / "b", 'b', 1); });
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  file.commit();
  EXPECT_EQ(text_of(path), "hello");
  EXPECT_EQ(entries(), 2u);
}

TEST_P(KilledWriter, MakesFilesThatTheMaskAllows) {
  const mode_t mask = ::umask(027);
  write_version(dir / "a", 'a', 1);
  ::umask(mask);
  EXPECT_EQ(fs::status(dir / "a").permissions(), static_cast<fs::perms>(0640));
}

INSTANTIATE_TEST_SUITE_P(Ways, KilledWriter, testing::Bool(), [](const auto& way) {
  return std::string(way.param ? "NamedTemporary" : "Unnamed");
});

TEST_F(File, CopyOfAMapWhoseFileWasTruncatedIsAnError) {
  const fs::path path = dir / "map";
  std::string text(3 * 4096, 'x');
  for (size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>(i * 7);
  std::ofstream(path, std::ios::binary) << text;
  const auto file = MappedFile::open(path);
  std::string copy(text.size(), '\0');
  copy_mapped(file->bytes(), std::as_writable_bytes(std::span(copy)));
  EXPECT_EQ(copy, text);
  copy_mapped({}, {});
  fs::resize_file(path, 4096);
  const Error e =
      error_of([&] { copy_mapped(file->bytes(), std::as_writable_bytes(std::span(copy))); });
  EXPECT_EQ(e.code(), ErrorCode::data_loss);
  EXPECT_EQ(std::string(e.what()),
            "a file was truncated while it was used: 4096 bytes of 12288 are left");
}

// The default action of SIGXFSZ ends the process, so a write must not raise it.
TEST_F(File, LimitOfTheSizeIsAnErrorAndNoSignal) {
  for (const char* named : {"", "1"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_DFL);
      if (*named) ::setenv("POPRT_NAMED_TEMPORARIES", named, 1);
      const rlimit limit{1000, 1000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const Error written = error_of([&] {
        AtomicFile file(dir / "large");
        file.write(bytes_of(std::string(2000, 'x')));
      });
      const Error extended = error_of([&] { AtomicFile(dir / "large").extend(2000); });
      sigset_t pending;
      ::sigpending(&pending);
      ::_exit(written.code() == ErrorCode::resource_exhausted &&
                      extended.code() == ErrorCode::resource_exhausted &&
                      ::sigismember(&pending, SIGXFSZ) == 0
                  ? 0
                  : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(entries(), 0u);
  }
}

TEST_F(File, AllocatingMoreThanTheLimitOfTheSizeIsNoSignal) {
  const int fd = ::open((dir / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(allocate(fd, 1000), 0);
  EXPECT_EQ(fs::file_size(dir / "a"), 1000u);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(allocate(fd, 2000) == EFBIG ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(fd);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// tmpfs compares a reservation with the limit, although the size of the file does not change.
TEST_F(File, ReservingMoreThanTheLimitOfTheSizeIsNoSignal) {
  std::string pattern = "/dev/shm/poprt_file_XXXXXX";
  if (!::mkdtemp(pattern.data())) GTEST_SKIP() << "no /dev/shm";
  for (const fs::path& folder : {dir, fs::path(pattern)}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_DFL);
      const rlimit limit{1000, 1000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const Error written = error_of([&] {
        AtomicFile file(folder / "large");
        file.reserve(uint64_t{8} << 20);
        file.write(bytes_of(std::string(2000, 'x')));
      });
      ::_exit(written.code() == ErrorCode::resource_exhausted ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  fs::remove_all(pattern);
}

}  // namespace
}  // namespace poprt
