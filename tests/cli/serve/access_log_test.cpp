#include "serve/access_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace poprt::serve {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Each line is in the file before the next request, and stays there when the server starts again.
TEST(AccessLog, HasALineForEachRequest) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / ("access_log_" + std::to_string(::getpid())))
          .string();
  using std::chrono::steady_clock;
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const int64_t before = now();
  {
    AccessLog log(path);
    EXPECT_TRUE(log.is_enabled());
    log.write("http", "POST /v2/models/a/infer", 200, 17, 4096,
              steady_clock::now() - std::chrono::seconds(3));
    ASSERT_EQ(lines_of(path).size(), 1u);
    log.write("grpc", "line\n\"\xff", 13, 0, 1, steady_clock::now());
    ASSERT_EQ(lines_of(path).size(), 2u);
  }
  AccessLog(path).write("http", "GET /v2", 404, 1, 0, steady_clock::now());
  const std::vector<std::string> lines = lines_of(path);
  std::filesystem::remove(path);
  ASSERT_EQ(lines.size(), 3u);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first.at("protocol"), "http");
  EXPECT_EQ(first.at("request"), "POST /v2/models/a/infer");
  EXPECT_EQ(first.at("status"), 200);
  EXPECT_EQ(first.at("bytes_in"), 17);
  EXPECT_EQ(first.at("bytes_out"), 4096);
  EXPECT_GE(first.at("duration_us").get<int64_t>(), 3'000'000);
  EXPECT_GE(first.at("time_ms").get<int64_t>(), before);
  EXPECT_LE(first.at("time_ms").get<int64_t>(), now());
  EXPECT_TRUE(lines[0].starts_with("{\"time_ms\":")) << lines[0];
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("request"), "line\n\"\xef\xbf\xbd");
  EXPECT_EQ(nlohmann::json::parse(lines[2]).at("status"), 404);
}

// As logrotate does: the old file is renamed and stays complete, and the next one begins.
TEST(AccessLog, ContinuesInANewFile) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / ("rotated_log_" + std::to_string(::getpid())))
          .string();
  std::string reported;
  AccessLog log(path, [&](const std::string& line) { reported += line + "\n"; });
  const auto write = [&] {
    log.write("http", "GET /v2", 200, 0, 0, std::chrono::steady_clock::now());
  };
  write();
  std::filesystem::rename(path, path + ".1");
  write();
  log.reopen();
  write();
  EXPECT_EQ(lines_of(path + ".1").size(), 2u);
  EXPECT_EQ(lines_of(path).size(), 1u);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  log.reopen();
  write();
  EXPECT_EQ(reported, "--access_log: '" + path + "' cannot be opened again: Is a directory\n");
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".1");
}

TEST(AccessLog, ReportsOnceThatRequestsAreMissing) {
  std::string reported;
  AccessLog log("/dev/full", [&](const std::string& line) { reported += line + "\n"; });
  for (int i = 0; i < 3; i++)
    log.write("http", "GET /v2", 200, 0, 0, std::chrono::steady_clock::now());
  EXPECT_EQ(reported, "--access_log: requests are missing: No space left on device\n");
  AccessLog("/dev/full").write("http", "GET /", 200, 0, 0, std::chrono::steady_clock::now());
}

TEST(AccessLog, IsOptional) {
  AccessLog none("");
  EXPECT_FALSE(none.is_enabled());
  none.write("http", "GET /", 200, 0, 0, std::chrono::steady_clock::now());
}

TEST(AccessLog, WithoutAFileIsAnError) {
  try {
    AccessLog log("/none/access.log");
    ADD_FAILURE() << "the file was opened";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(),
                 "--access_log: '/none/access.log' cannot be written: No such file or directory");
  }
}

}  // namespace
}  // namespace poprt::serve
