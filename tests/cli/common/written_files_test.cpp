#include "common/written_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

class WrittenFiles : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& bytes = kModel) {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return folder.path() / name;
  }
  static std::string message(CommandFiles& files, const fs::path& path,
                             const std::string& option = "--output",
                             Contents contents = Contents::onnx) {
    try {
      files.writes(path, contents, option);
    } catch (const Failure& e) {
      return e.what();
    }
    return "accepted";
  }
  // The entry of a tensor's message that names its file.
  static std::string entry(const std::string& name) {
    std::string size(1, static_cast<char>(name.size()));
    if (name.size() >= 128)
      size = {static_cast<char>(name.size() % 128 + 128), static_cast<char>(name.size() / 128)};
    return "\x0a\x08location\x12" + size + name;
  }
  static constexpr const char* kModel =
      "\x08\x0a\x12\x05torch";  // the first bytes of an ONNX model
  TemporaryFolder folder;
};

TEST_F(WrittenFiles, InputsAreNotReplaced) {
  CommandFiles files;
  const fs::path input = file("a.onnx");
  files.reads_model(input);
  EXPECT_EQ(message(files, input), "--output: cannot write '" + input.string() +
                                       "': it is the same file as '" + input.string() +
                                       "', which the command reads; give another path");
  fs::create_symlink(input, folder.path() / "soft");
  fs::create_hard_link(input, folder.path() / "hard");
  for (const char* same : {"soft", "hard", "./a.onnx", "../x/../a.onnx"}) {
    fs::create_directories(folder.path() / "x");
    const fs::path path =
        same[0] == '.' && same[1] == '.' ? folder.path() / "x" / "../a.onnx" : folder.path() / same;
    EXPECT_NE(message(files, path), "accepted") << path;
  }
  EXPECT_EQ(message(files, file("b.onnx")), "accepted");
  EXPECT_EQ(message(files, folder.path() / "new.onnx"), "accepted");
}

TEST_F(WrittenFiles, ExternalDataIsNotReplaced) {
  const std::string longest = std::string(200, 'n') + ".bin";
  // The second entry is on both sides of the border of a piece, and at the end of the file.
  std::string bytes = entry("sub/two words.bin") + std::string((size_t{1} << 20) - 40, 'w');
  bytes += entry(longest) + entry("sub/two words.bin") + entry("last.bin");
  const fs::path model = file("a.onnx", bytes);
  EXPECT_EQ(external_data_of(model),
            (std::set<fs::path>{folder.path() / "sub/two words.bin", folder.path() / longest,
                                folder.path() / "last.bin"}));
  CommandFiles files;
  files.reads_model(model);
  for (const std::string& name :
       {std::string("sub/two words.bin"), longest, std::string("last.bin")})
    EXPECT_NE(message(files, file(name)), "accepted") << name;
  EXPECT_EQ(message(files, file("other.bin")), "accepted");
}

TEST_F(WrittenFiles, ATruncatedEntryNamesNothing) {
  const std::string whole = entry("weights.bin");
  for (size_t size = 0; size < whole.size(); size++)
    EXPECT_TRUE(external_data_of(file("a.onnx", whole.substr(0, size))).empty()) << size;
  EXPECT_EQ(external_data_of(file("a.onnx", whole)).size(), 1);
  EXPECT_TRUE(external_data_of(folder.path() / "none.onnx").empty());
}

TEST_F(WrittenFiles, FilesOfAFolderAreNotReplaced) {
  CommandFiles files;
  files.reads_folder(folder.path() / "model/");
  EXPECT_NE(message(files, file("model/model.onnx")), "accepted");
  EXPECT_NE(message(files, file("model/onnx/model.data")), "accepted");
  EXPECT_EQ(message(files, file("model/saved.popef", "PopEF "), "--save", Contents::popef),
            "accepted");
  EXPECT_EQ(message(files, file("model2/model.onnx")), "accepted");
  EXPECT_EQ(message(files, folder.path() / "model/new.onnx"), "accepted");
}

TEST_F(WrittenFiles, OnlyFilesOfTheSameKindAreReplaced) {
  struct Kind {
    Contents contents;
    std::vector<std::string> begins;
    const char* missing;
  };
  const std::vector<Kind> kinds = {
      {Contents::arrays, {"\x93NUMPY\x01", "PK\x03\x04"}, "contains no arrays of NumPy"},
      {Contents::ir,
       {"{\"format\": \"poprt ir 1\",", "graph \"g\" opset"},
       "contains no IR of poprt"},
      {Contents::onnx, {kModel, "\x08\x08:\x02"}, "is no ONNX model"},
      {Contents::popef, {"PopEF ", "PopEF more"}, "is no PopEF file"},
      {Contents::recording, {"{\"poprt_telemetry\": 1}\n"}, "is no recording of telemetry"},
      {Contents::svg, {"<svg xmlns=", "<?xml version=\"1.0\"?>\n<svg>"}, "is no SVG picture"}};
  std::vector<std::string> others = {"notes", "x", "{\"a\": 1}", "<html>",
                                     "\x08\x02\x08\x03\x10\x01"};
  for (const Kind& kind : kinds)
    others.insert(others.end(), kind.begins.begin(), kind.begins.end());
  for (const Kind& kind : kinds) {
    const auto written = [&](const std::string& bytes) {
      CommandFiles files;
      return message(files, file("a.popef", bytes), "--output", kind.contents);
    };
    EXPECT_EQ(written(""), "accepted");
    for (const std::string& bytes : others) {
      const bool same = std::ranges::find(kind.begins, bytes) != kind.begins.end();
      EXPECT_EQ(written(bytes),
                same ? std::string("accepted")
                     : "--output: cannot write '" + (folder.path() / "a.popef").string() +
                           "': the file exists and " + kind.missing + "; give another path")
          << bytes;
    }
  }
  CommandFiles files;
  files.may_overwrite(false);
  EXPECT_TRUE(message(files, file("b", "P")).ends_with("give another path, or --overwrite"));
  files.may_overwrite(true);
  EXPECT_EQ(message(files, file("b", "notes")), "accepted");
}

TEST_F(WrittenFiles, AFileThatCannotBeReadIsNotReplaced) {
  const fs::path hidden = file("hidden.onnx");
  fs::permissions(hidden, fs::perms::none);
  if (std::ifstream(hidden)) GTEST_SKIP() << "this user reads all files";
  CommandFiles files;
  EXPECT_NE(message(files, hidden).find("the file exists and cannot be read"), std::string::npos);
}

TEST_F(WrittenFiles, TwoOutputsAreTwoFiles) {
  CommandFiles files;
  EXPECT_EQ(message(files, folder.path() / "o.npy"), "accepted");
  EXPECT_NE(message(files, folder.path() / "./o.npy"), "accepted");
  const std::string other = message(files, folder.path() / "o.npy", "--svg");
  EXPECT_NE(other.find("it is the same file as that of --output"), std::string::npos) << other;
  EXPECT_EQ(message(files, folder.path() / "p.npy"), "accepted");
  EXPECT_EQ(message(files, "/dev/null"), "accepted");
  EXPECT_EQ(message(files, "/dev/null"), "accepted");
}

}  // namespace
}  // namespace poprt::cli
