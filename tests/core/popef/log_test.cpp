#include "popef/log.h"

#include <gtest/gtest.h>

#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/model.h"

namespace poprt::popef {
namespace {

class Log : public ::testing::Test {
 protected:
  ~Log() override { configure_log(nullptr, nullptr); }

  // Log messages of the library at `level` while it reads a good and a bad file.
  std::string logged_text(const char* level) {
    const std::string file = folder / (std::string("log_") + level);
    configure_log(level, file.c_str());
    write_bytes(folder / "good", sample_file());
    write_bytes(folder / "bad", "rubbish");
    Reader reader;
    reader.parseFile(folder / "good");
    EXPECT_THROW(reader.parseFile(folder / "bad"), FormatError);
    log().warn("a warning");
    log().trace("a trace");
    configure_log(nullptr, nullptr);
    return std::filesystem::exists(file) ? file_bytes(file) : "";
  }

  const TemporaryFolder folder;
};

TEST_F(Log, EachLevelShowsItselfAndMoreSevereOnes) {
  const std::vector<std::pair<const char*, int>> levels = {{"OFF", 0},  {"ERR", 1},   {"WARN", 2},
                                                           {"info", 3}, {"Debug", 4}, {"TRACE", 5}};
  for (const auto& [level, shown] : levels) {
    const std::string s = logged_text(level);
    const char* const marks[] = {"[error]", "[warning]", "[info]", "[debug]", "[trace]"};
    for (int i = 0; i < 5; i++)
      EXPECT_EQ(s.find(marks[i]) != s.npos, i < shown) << level << " " << marks[i] << "\n" << s;
  }
}

TEST_F(Log, LinesNameTheLibraryAndTheFile) {
  const std::string s = logged_text("INFO");
  EXPECT_NE(s.find("[popef] [info] read " + (folder / "good") + ": 5 blobs"), s.npos) << s;
  EXPECT_NE(s.find("[popef] [error] " + (folder / "bad")), s.npos) << s;
}

TEST_F(Log, AMissingFolderIsAnErrorAndIsNotMade) {
  ::testing::internal::CaptureStderr();
  configure_log("WARN", (folder / "none/log").c_str());
  log().warn("hello");
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("there is no folder '" + (folder / "none") + "'"), err.npos) << err;
  EXPECT_NE(err.find("hello"), err.npos) << err;
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST_F(Log, StandardStreams) {
  for (const char* dest : {"stderr", "stdout"}) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    configure_log("WARN", dest);
    log().warn("hello");
    const std::string out = ::testing::internal::GetCapturedStdout();
    const std::string err = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(out.find("hello") != out.npos, std::string_view(dest) == "stdout");
    EXPECT_EQ(err.find("hello") != err.npos, std::string_view(dest) == "stderr");
  }
}

TEST_F(Log, SilentByDefault) {
  ::testing::internal::CaptureStderr();
  configure_log(nullptr, nullptr);
  log().error("hello");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Log, WarnsOfBadSettingsAndUsesDefaults) {
  ::testing::internal::CaptureStderr();
  configure_log("LOUD", nullptr);
  log().error("hello");
  configure_log("INFO", (folder / "none/such/").c_str());
  log().info("here");
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("POPEF_LOG_LEVEL is 'LOUD'"), err.npos) << err;
  EXPECT_EQ(err.find("hello"), err.npos) << err;
  EXPECT_NE(err.find("POPEF_LOG_DEST"), err.npos) << err;
  EXPECT_NE(err.find("here"), err.npos) << err;
}

TEST_F(Log, ModelBuilderWarnsOfUnusedBlobs) {
  std::ostringstream out;
  Writer writer(out);
  writer.write(sample_metadata());
  writer.createExecutable("model")->stream << "e";
  writer.createTensorData({"stranger", TensorInfo(DataType::U8, {1})})->write("1", 1);
  writer.close();
  auto reader = std::make_shared<Reader>();
  parse(*reader, out.str());
  configure_log("WARN", (folder / "log").c_str());
  (void)ModelBuilder(reader).createModel();
  EXPECT_NE(file_bytes(folder / "log").find("'stranger'"), std::string::npos);
}

}  // namespace
}  // namespace poprt::popef
