#include "runtime/session/executable_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/log_level.h"
#include "popef/writer.h"
#include "program/serialize.h"
#include "runtime/runner/model_runner.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

namespace fs = std::filesystem;
using test::CopyModel;

std::string messages;

// Returns the log messages of a call, from this level on.
std::string messages_of(const char* log_level, const std::function<void()>& f) {
  messages.clear();
  const LogLevel before = log().level();
  set_log_level(log_level);
  set_log_receiver([](int32_t level, const char* message) {
    messages += fmt::format("{} {}\n", level, message);
  });
  f();
  set_log_receiver(nullptr);
  log().set_level(before);
  return messages;
}

class Cache : public ::testing::Test {
 protected:
  Cache() {
    folder = fs::path(::testing::TempDir()) /
             fmt::format("executable_cache_{}_{}", ::getpid(),
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    program::write_executable(
        [&](std::span<const std::byte> b) { payload.insert(payload.end(), b.begin(), b.end()); },
        copy.b.program(), copy.b.weight_records());
  }
  ~Cache() override { fs::remove_all(folder); }

  static CacheKey key(char digit, const std::string& description = "poprt 0.1.0, default") {
    return {std::string(64, digit), description, "m"};
  }
  // Bytes from `offset` on are replaced.
  static void damage(const fs::path& path, uint64_t offset, const std::string& bytes) {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(offset));
    f << bytes;
  }
  static void set_age(const fs::path& path, std::chrono::hours age) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
  }

  CopyModel copy{1000};
  fs::path folder;
  std::vector<std::byte> payload;
};

TEST_F(Cache, TheEnvironmentNamesTheDefaultFolder) {
  const auto set = [](const char* popxl, const char* popart) {
    ::setenv("POPXL_CACHE_DIR", popxl, 1);
    ::setenv("POPART_CACHE_DIR", popart, 1);
  };
  set("", "");
  EXPECT_EQ(cache_folder_of_environment(), std::nullopt);
  EXPECT_EQ(default_cache_folder(), user_cache_folder());
  set("", "/b");
  EXPECT_EQ(default_cache_folder(), fs::path("/b"));
  set("/a", "/b");
  EXPECT_EQ(cache_folder_of_environment(), fs::path("/a"));
  EXPECT_EQ(default_cache_folder(), fs::path("/a"));
  ::unsetenv("POPXL_CACHE_DIR");
  ::unsetenv("POPART_CACHE_DIR");
}

TEST_F(Cache, FindsAndRunsAStoredModel) {
  const ExecutableCache cache(folder);
  EXPECT_EQ(cache.find(key('a')), nullptr);
  cache.store(key('a'), payload);
  EXPECT_EQ(cache.path_of(key('a')).filename().string(), std::string(64, 'a') + ".popef");
  const auto model = cache.find(key('a'));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->name, "m");
  ModelRunner runner(model);
  std::vector<float> x(1000, 1), y(1000), c(1000);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  runner.execute(inputs, outputs);
  EXPECT_EQ(x, y);
  EXPECT_EQ(c, copy.constants);
  EXPECT_EQ(cache.find(key('b')), nullptr);
}

TEST_F(Cache, KeepsTheWarningsOfTheCompilation) {
  const ExecutableCache cache(folder);
  const std::vector<std::string> given{"one\nwith two lines", "two"};
  std::vector<std::string> found{"of another call"};
  cache.store(key('a'), payload, given);
  ASSERT_NE(cache.find(key('a'), &found), nullptr);
  EXPECT_EQ(found, given);
  cache.store(key('b'), payload);
  ASSERT_NE(cache.find(key('b'), &found), nullptr);
  EXPECT_EQ(found, std::vector<std::string>());
}

// A file that another user may have written is neither run nor replaced.
TEST_F(Cache, AFileThatAnotherUserMayHaveMadeIsNotUsed) {
  const ExecutableCache cache(folder);
  cache.store(key('a'), payload);
  // Returns the warning of a call that does not find the entry, and then does not write it.
  const auto refusal = [&] {
    const auto written = fs::last_write_time(cache.path_of(key('a')));
    bool found = false;
    const std::string warning =
        messages_of("WARN", [&] { found = cache.find(key('a')) != nullptr; });
    EXPECT_EQ(found, warning.empty());
    EXPECT_EQ(messages_of("WARN", [&] { EXPECT_EQ(cache.store(key('a'), payload), found); }), "");
    EXPECT_EQ(fs::last_write_time(cache.path_of(key('a'))) == written, !found);
    return warning;
  };
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(refusal(),
            fmt::format("3 the cache is not used: every user can write to the cache folder '{}'; "
                        "forbid it (chmod o-w) or choose another folder\n",
                        folder.string()));
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  EXPECT_EQ(refusal(), "") << "users cannot replace files of others in it";
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  constexpr uid_t kOther = 12345;
  if (::chown(cache.path_of(key('a')).c_str(), kOther, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "only root can give files away";
  EXPECT_EQ(refusal(),
            fmt::format("3 the cache is not used: cache file '{}' belongs to user 12345, not to "
                        "user {} of this process; remove it or choose another folder\n",
                        cache.path_of(key('a')).string(), ::geteuid()));
}

TEST_F(Cache, FalseHitIsNoHit) {
  const ExecutableCache cache(folder);
  cache.store(key('a'), payload);
  EXPECT_EQ(cache.find(key('a', "poprt 0.1.0, fp16")), nullptr);
  CacheKey other = key('a');
  other.name = "another";
  EXPECT_EQ(cache.find(other), nullptr);
  fs::copy_file(cache.path_of(key('a')), cache.path_of(key('b')));
  EXPECT_EQ(cache.find(key('b')), nullptr);
  EXPECT_NE(cache.find(key('a')), nullptr);
}

TEST_F(Cache, DamageAnywhereIsNoHitAndIsRepaired) {
  const ExecutableCache cache(folder);
  cache.store(key('a'), payload);
  const fs::path path = cache.path_of(key('a'));
  const uint64_t size = fs::file_size(path);
  fs::resize_file(path, size / 2);
  EXPECT_EQ(cache.find(key('a')), nullptr);
  std::ofstream(path, std::ios::trunc) << "rubbish";
  EXPECT_EQ(cache.find(key('a')), nullptr);
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(cache.find(key('a')), nullptr);
  cache.store(key('a'), payload);
  damage(path, size - 400, "x");  // a weight
  EXPECT_EQ(cache.find(key('a')), nullptr);
  cache.store(key('a'), payload);
  EXPECT_NE(cache.find(key('a')), nullptr);
  // A PopEF file of another program.
  {
    popef::FileWriter writer(path.string());
    writer.createOpaqueBlob("o", "")->stream << "x";
    writer.close();
  }
  EXPECT_EQ(cache.find(key('a')), nullptr);
}

// The reason of a compilation is reported, with the name of the option.
TEST_F(Cache, LogsTheReasonOfAMiss) {
  const ExecutableCache cache(folder);
  const std::string path = cache.path_of(key('a')).string();
  const auto message_for = [](const std::function<void()>& f) { return messages_of("INFO", f); };
  EXPECT_EQ(message_for([&] { (void)cache.find(key('a')); }), "");
  EXPECT_EQ(message_for([&] { cache.store(key('a', "fp32"), payload); }),
            fmt::format("2 wrote cache file '{}'\n", path));
  EXPECT_EQ(message_for([&] { EXPECT_NE(cache.find(key('a', "fp32")), nullptr); }),
            fmt::format("2 using the executable in cache file '{}'\n", path));
  EXPECT_EQ(message_for([&] { (void)cache.find(key('a', "fp16")); }),
            fmt::format("3 cache file '{}' was made from something else (fp32), making it again\n",
                        path));
  const uint64_t size = fs::file_size(path);
  damage(path, size - 400, "x");
  EXPECT_EQ(
      message_for([&] { (void)cache.find(key('a', "fp32")); }),
      fmt::format("3 cache file '{}' is damaged: its checksum is wrong, making it again\n", path));
  fs::resize_file(path, size - 1);
  EXPECT_TRUE(
      message_for([&] {
        (void)cache.find(key('a', "fp32"));
      }).starts_with(fmt::format("3 cache file '{}' cannot be used, making it again: ", path)));
  // Names of entries are hashes.
  for (const char* name : {"63", "65", "upper", "popef"}) {
    std::string stem(64, 'b');
    if (name == std::string("63")) stem.pop_back();
    if (name == std::string("65")) stem += 'b';
    if (name == std::string("upper")) stem[3] = 'B';
    std::ofstream(folder / (stem + (name == std::string("popef") ? ".pop" : ".popef"))) << "x";
  }
  fs::create_directory(folder / (std::string(64, 'c') + ".popef"));
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].bytes, size - 1);
  EXPECT_EQ(entries[0].description, "") << "a damaged entry has none";
}

// Entries of the same age are removed by name. An entry at a limit is kept.
TEST_F(Cache, LimitsAreKeptExactly) {
  const ExecutableCache cache(folder);
  for (const char c : {'b', 'a'}) cache.store(key(c), payload);
  const auto time = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char c : {'a', 'b'}) fs::last_write_time(cache.path_of(key(c)), time);
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].path, cache.path_of(key('a')));
  const uint64_t all = entries[0].bytes + entries[1].bytes;
  EXPECT_EQ(cache.prune({.max_bytes = all, .max_age = std::chrono::hours(2)}).files, 0u);
  EXPECT_EQ(cache.prune({.max_bytes = all, .max_age = std::chrono::seconds::max()}).files, 0u);
  EXPECT_EQ(cache.prune({.max_bytes = all - 1, .max_age = {}}).files, 1u);
  EXPECT_FALSE(fs::exists(cache.path_of(key('a'))));
  EXPECT_EQ(cache.prune({.max_bytes = all, .max_age = std::chrono::minutes(59)}).files, 1u);
  std::ofstream(folder / "file") << "x";
  try {
    (void)ExecutableCache(folder / "file").list();
    FAIL() << "a file is no folder";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(e.message().starts_with(
        fmt::format("cannot list the cache '{}': ", (folder / "file").string())))
        << e.message();
  }
}

TEST_F(Cache, StoreNeverThrows) {
  std::ofstream(folder.string()) << "a file where the folder should be";
  const ExecutableCache cache(folder);
  cache.store(key('a'), payload);
  EXPECT_EQ(cache.find(key('a')), nullptr);
}

TEST_F(Cache, PruneRemovesTheLeastRecentlyUsed) {
  const ExecutableCache cache(folder);
  EXPECT_TRUE(cache.list().empty());
  for (const char c : {'a', 'b', 'c'}) cache.store(key(c, std::string("about ") + c), payload);
  std::ofstream(folder / "notes.txt") << "mine";
  std::ofstream(folder / "other.popef") << "mine";
  set_age(cache.path_of(key('a')), std::chrono::hours(30));
  set_age(cache.path_of(key('b')), std::chrono::hours(60));
  set_age(cache.path_of(key('c')), std::chrono::hours(10));
  auto entries = cache.list();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].description, "about b");
  EXPECT_EQ(entries[1].description, "about a");
  const uint64_t one = entries[0].bytes;

  EXPECT_NE(cache.find(key('b', "about b")), nullptr);  // used now
  auto pruned = cache.prune({.max_bytes = 2 * one, .max_age = {}});
  EXPECT_EQ(pruned.files, 1u);
  EXPECT_EQ(pruned.bytes, one);
  EXPECT_FALSE(fs::exists(cache.path_of(key('a'))));

  pruned = cache.prune({.max_bytes = {}, .max_age = std::chrono::hours(5)});
  EXPECT_EQ(pruned.files, 1u);
  EXPECT_FALSE(fs::exists(cache.path_of(key('c'))));
  EXPECT_EQ(cache.prune({}).files, 1u);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
  EXPECT_TRUE(fs::exists(folder / "other.popef"));
}

TEST_F(Cache, AnyAgeMayBeTheLimit) {
  const ExecutableCache cache(folder);
  cache.store(key('a'), payload);
  set_age(cache.path_of(key('a')), std::chrono::hours(30));
  for (const std::chrono::seconds age :
       {std::chrono::seconds(std::chrono::hours(24) * 200000), std::chrono::seconds::max()})
    EXPECT_EQ(cache.prune({.max_bytes = {}, .max_age = age}).files, 0u);
  EXPECT_EQ(cache.prune({.max_bytes = {}, .max_age = std::chrono::hours(29)}).files, 1u);
}

TEST_F(Cache, PruneRemovesRemainsOfDeadWriters) {
  const ExecutableCache cache(folder);
  fs::create_directories(folder);
  const fs::path dead = folder / ".poprt-1-2.tmp", written = folder / ".poprt-3-4.tmp";
  for (const fs::path& path : {dead, written}) std::ofstream(path) << "x";
  const int fd = ::open(written.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  (void)cache.prune({});
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(written));
  ::close(fd);
}

TEST_F(Cache, AnyUmaskMayBeSet) {
  const mode_t before = ::umask(0);
  const ExecutableCache cache(folder / "inside");
  EXPECT_EQ(messages_of("WARN",
                        [&] {
                          EXPECT_TRUE(cache.store(key('a'), payload));
                          EXPECT_NE(cache.find(key('a')), nullptr);
                        }),
            "");
  ::umask(before);
}

TEST_F(Cache, AFileThatEveryUserMayWriteIsNoFolder) {
  const ExecutableCache cache("/dev/null");
  EXPECT_EQ(messages_of("WARN",
                        [&] {
                          EXPECT_EQ(cache.find(key('a')), nullptr);
                          EXPECT_FALSE(cache.store(key('a'), payload));
                        }),
            "3 cannot write to the cache '/dev/null': the folder cannot be made: Not a directory; "
            "POPXL_CACHE_DIR names another folder\n");
}

TEST_F(Cache, AFolderThatCannotBeMadeIsAWarning) {
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  const ExecutableCache cache(folder / "file/inside");
  EXPECT_EQ(messages_of("WARN", [&] { EXPECT_FALSE(cache.store(key('a'), payload)); }),
            fmt::format("3 cannot write to the cache '{}': the folder cannot be made: Not a "
                        "directory; POPXL_CACHE_DIR names another folder\n",
                        (folder / "file/inside").string()));
}

TEST_F(Cache, ThreadsShareAFolder) {
  const ExecutableCache cache(folder);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; i++) {
        cache.store(key('a'), payload);
        EXPECT_NE(cache.find(key('a')), nullptr);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(cache.list().size(), 1u);
}

}  // namespace
}  // namespace poprt::runtime
