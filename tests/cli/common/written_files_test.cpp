#include "common/written_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/abi.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

class WrittenFiles : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& bytes = "x") {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return folder.path() / name;
  }
  static std::string message(CommandFiles& files, const fs::path& path,
                             const std::string& option = "--output") {
    try {
      files.writes(path, option);
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
  EXPECT_EQ(message(files, file("model/saved.popef", "PopEF ")), "accepted");
  EXPECT_EQ(message(files, file("model2/model.onnx")), "accepted");
  EXPECT_EQ(message(files, folder.path() / "model/new.onnx"), "accepted");
}

TEST_F(WrittenFiles, OnlyPopefFilesAreReplacedByPopefFiles) {
  CommandFiles files;
  EXPECT_EQ(message(files, file("a.popef", "notes")),
            "--output: cannot write '" + (folder.path() / "a.popef").string() +
                "': the file exists and is no PopEF file; give another path");
  for (const char* bytes : {"", "PopEF ", "PopEF more"}) {
    CommandFiles others;
    EXPECT_EQ(message(others, file("a.popef", bytes)), "accepted") << bytes;
  }
  EXPECT_EQ(message(files, file("a.txt", "notes")), "accepted");
  files.may_overwrite(false);
  EXPECT_TRUE(message(files, file("a.popef", "P")).ends_with("give another path, or --overwrite"));
  files.may_overwrite(true);
  EXPECT_EQ(message(files, file("a.popef", "notes")), "accepted");
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
