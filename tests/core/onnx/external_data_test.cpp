#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "codecs/sha1.h"
#include "onnx/export.h"
#include "support.h"

namespace poprt::onnx {
namespace {

namespace fs = std::filesystem;
using Entries = std::map<std::string, std::string>;

// y = w[2] + x with w in an external file.
pb::ModelProto external_model(const Entries& entries) {
  pb::ModelProto model = base_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_input(g, "x");
  add_output(g, "y");
  add_node(g, "Add", {"x", "w"}, {"y"});
  auto* w = g.add_initializer();
  w->set_name("w");
  w->set_data_type(1);
  w->add_dims(2);
  w->set_data_location(pb::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* e = w->add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  return model;
}

class External : public testing::Test {
 protected:
  External() {
    fs::create_directory(dir_ / "model");
    fs::create_directory(dir_ / "model/sub");
    // 64 bytes in front so that the values are aligned.
    const float values[] = {1.5f, -2.f};
    bytes_ = std::string(64, 'p') + std::string(reinterpret_cast<const char*>(values), 8);
    write_file(dir_ / "model/w.bin", bytes_);
    write_file(dir_ / "model/sub/w.bin", bytes_);
    write_file(dir_ / "secret.bin", bytes_);
  }

  std::unique_ptr<ir::Graph> load(const Entries& entries, bool allow_links = false) {
    const fs::path path = dir_ / "model/m.onnx";
    write_file(path, external_model(entries).SerializeAsString());
    return import_file(path, {.allow_links = allow_links});
  }
  void refused(ErrorCode code, const std::string& part, const Entries& entries) {
    expect_error(code, {"m.onnx", "'w'", part}, [&] { load(entries); });
  }
  static std::vector<double> w(const ir::Graph& g) { return g.find("w")->constant().to_doubles(); }

  TemporaryDirectory dir_;
  std::string bytes_;
};

const std::vector<double> kValues = {1.5, -2};

TEST_F(External, ReadsOffsetAndLength) {
  EXPECT_EQ(w(*load({{"location", "w.bin"}, {"offset", "64"}, {"length", "8"}})), kValues);
  EXPECT_EQ(w(*load({{"location", "w.bin"}, {"offset", "64"}})), kValues);
  EXPECT_EQ(w(*load({{"location", "sub/w.bin"}, {"offset", "64"}})), kValues);
  EXPECT_EQ(w(*load({{"location", "./sub/./w.bin"}, {"offset", "64"}})), kValues);
}

TEST_F(External, ACopyDoesNotDependOnItsFile) {
  const fs::path path = dir_ / "model/m.onnx";
  write_file(path, external_model({{"location", "w.bin"}, {"offset", "64"}}).SerializeAsString());
  const auto graph = import_file(path, {.copy = true});
  fs::resize_file(dir_ / "model/w.bin", 0);
  EXPECT_EQ(w(*graph), kValues);
}

TEST_F(External, CopiesDoNotShareMemory) {
  ExternalFiles files(dir_ / "model", false, true, false);
  std::vector<ExternalFiles::Bytes> copies;
  for (char c = 'a'; c < 'i'; c++) {
    write_file(dir_ / "model" / std::string(1, c), std::string(20'000, c));
    copies.push_back(files.read(std::string(1, c), 0, std::nullopt));
  }
  for (size_t i = 0; i < copies.size(); i++) {
    ASSERT_EQ(copies[i].bytes.size(), 20'000u);
    EXPECT_TRUE(std::ranges::all_of(
        copies[i].bytes, [&](std::byte b) { return b == static_cast<std::byte>('a' + i); }));
  }
}

TEST_F(External, ChecksumsAreCompared) {
  std::string right = sha1_of(std::as_bytes(std::span(bytes_)));
  const auto entries = [](const std::string& checksum) {
    return Entries{{"location", "w.bin"}, {"offset", "64"}, {"checksum", checksum}};
  };
  EXPECT_EQ(w(*load(entries(right))), kValues);
  std::string upper = right;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(w(*load(entries(upper))), kValues);
  std::string wrong = right;
  wrong[7] = wrong[7] == '0' ? '1' : '0';
  refused(ErrorCode::data_loss,
          "external data file 'w.bin' is damaged or another file: its SHA-1 is " + right +
              ", the model has " + wrong,
          entries(wrong));
  for (const std::string& other : {std::string(), std::string("12345"), right + "0"})
    refused(ErrorCode::invalid_argument,
            "of external data file 'w.bin' is no SHA-1, which has 40 hexadecimal digits",
            entries(other));
}

TEST_F(External, AChecksumOfATruncatedFileIsAnError) {
  ExternalFiles files(dir_ / "model", false, true);
  const std::string bytes(3 << 20, 'd');
  write_file(dir_ / "model/large", bytes);
  const std::string right = sha1_of(std::as_bytes(std::span(bytes)));
  files.read("large", 0, std::nullopt);
  fs::resize_file(dir_ / "model/large", 1 << 20);
  expect_error(ErrorCode::data_loss, {"truncated"}, [&] { files.check_sha1("large", right); });
  fs::resize_file(dir_ / "model/large", 0);
  write_file(dir_ / "model/other", bytes);
  files.check_sha1("other", right);
}

size_t open_files() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{}));
}

TEST_F(External, GivesDescriptorsBack) {
  fs::create_symlink("w.bin", dir_ / "model/link.bin");
  const size_t before = open_files();
  {
    const auto graph = load({{"location", "sub/w.bin"}, {"offset", "64"}});
    EXPECT_EQ(open_files(), before) << "the map needs none";
  }
  for (const char* location :
       {"none.bin", "sub/none.bin", "none/w.bin", "sub", "link.bin", "../w.bin"})
    EXPECT_THROW(load({{"location", location}}), Error) << location;
  EXPECT_EQ(open_files(), before);
}

TEST_F(External, UnmapsAFileThatNoTensorUses) {
  const auto maps = [] {
    std::ifstream file("/proc/self/maps");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.find("/model/sub/w.bin") != std::string::npos;
  };
  auto graph = load({{"location", "sub/w.bin"}, {"offset", "64"}});
  EXPECT_TRUE(maps());
  graph.reset();
  EXPECT_FALSE(maps());
}

// A process that closed its standard input gets descriptor 0 for the next file.
TEST_F(External, ADescriptorMayBeZero) {
  EXPECT_EXIT(
      {
        ::close(0);
        const auto graph = load({{"location", "w.bin"}, {"offset", "64"}});
        ::_exit(w(*graph) == kValues && ::fcntl(0, F_GETFD) == -1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(External, CopiesMisalignedBytes) {
  write_file(dir_ / "model/w.bin", "123" + bytes_);
  const auto g = load({{"location", "w.bin"}, {"offset", "67"}, {"length", "8"}});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(g->find("w")->constant().data()) % 4, 0u);
  EXPECT_EQ(w(*g), kValues);
}

TEST_F(External, TensorOutlivesTheGraph) {
  Tensor t;
  {
    t = load({{"location", "w.bin"}, {"offset", "64"}})->find("w")->constant();
  }
  EXPECT_EQ(t.to_doubles(), kValues);
}

TEST_F(External, AMissingFileIsZeroIfOnlyShapesAreRead) {
  const auto load_shapes = [&](const Entries& entries) {
    const fs::path path = dir_ / "model/m.onnx";
    write_file(path, external_model(entries).SerializeAsString());
    return import_file(path, {.missing_data_is_zero = true});
  };
  const auto missing = load_shapes({{"location", "gone.bin"}, {"offset", "64"}, {"length", "8"}});
  EXPECT_EQ(w(*missing), (std::vector<double>{0, 0}));
  const auto present = load_shapes({{"location", "w.bin"}, {"offset", "64"}, {"length", "8"}});
  EXPECT_EQ(w(*present), (std::vector<double>{1.5, -2}));
  expect_error(ErrorCode::invalid_argument, {".."},
               [&] { load_shapes({{"location", "../secret.bin"}, {"length", "8"}}); });
  expect_error(ErrorCode::data_loss, {},
               [&] { load_shapes({{"location", "gone.bin"}, {"length", "4"}}); });
  EXPECT_EQ(w(*load_shapes({{"location", "gone.bin"}})), (std::vector<double>{0, 0}));
  const std::string digest(40, 'a');
  EXPECT_EQ(w(*load_shapes({{"location", "gone.bin"}, {"checksum", digest}})),
            (std::vector<double>{0, 0}));
  expect_error(ErrorCode::data_loss, {"SHA-1"},
               [&] { load_shapes({{"location", "w.bin"}, {"checksum", digest}}); });
}

// Passes merge equal constants, so weights of equal shapes must differ.
TEST_F(External, LargeTensorsOfAMissingFileDiffer) {
  ExternalFiles files(dir_ / "model", false, false, true);
  const auto first = files.read("gone.bin", 0, 256), second = files.read("gone.bin", 256, 256);
  EXPECT_NE(std::memcmp(first.bytes.data(), second.bytes.data(), 256), 0);
  EXPECT_NE(first.bytes[0], std::byte{0});
  const auto small = files.read("gone.bin", 0, std::nullopt, 255);
  EXPECT_EQ(small.bytes.size(), 255u);
  EXPECT_TRUE(std::ranges::all_of(small.bytes, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(External, RefusesPathsOutside) {
  for (const std::string location :
       {"../secret.bin", "sub/../../secret.bin", "sub/../w.bin", "..", "/etc/hostname", "", ".",
        "sub//w.bin", "file:///etc/hostname"})
    EXPECT_THROW(load({{"location", location}}), Error) << location;
  refused(ErrorCode::invalid_argument, "'..'", {{"location", "../secret.bin"}});
  refused(ErrorCode::invalid_argument, "absolute", {{"location", (dir_ / "secret.bin").string()}});
  refused(ErrorCode::invalid_argument, "NUL", {{"location", std::string("w.bin\0x", 7)}});
  refused(ErrorCode::invalid_argument, "location", {{"offset", "0"}});
}

TEST_F(External, RefusesLinksUnlessAllowed) {
  fs::create_symlink(dir_ / "secret.bin", dir_ / "model/link.bin");
  fs::create_directory_symlink(dir_.path(), dir_ / "model/up");
  fs::create_hard_link(dir_ / "secret.bin", dir_ / "model/hard.bin");
  refused(ErrorCode::invalid_argument, "link", {{"location", "link.bin"}, {"offset", "64"}});
  refused(ErrorCode::invalid_argument, "link", {{"location", "up/secret.bin"}, {"offset", "64"}});
  refused(ErrorCode::invalid_argument, "hard link", {{"location", "hard.bin"}, {"offset", "64"}});
  for (const std::string location : {"link.bin", "up/secret.bin", "hard.bin"})
    EXPECT_EQ(w(*load({{"location", location}, {"offset", "64"}}, true)), kValues);
}

TEST_F(External, RefusesIrregularFiles) {
  ASSERT_EQ(mkfifo((dir_ / "model/fifo").c_str(), 0600), 0);
  refused(ErrorCode::invalid_argument, "regular", {{"location", "fifo"}});
  refused(ErrorCode::invalid_argument, "regular", {{"location", "sub"}});
  refused(ErrorCode::not_found, "missing", {{"location", "none.bin"}});
}

TEST_F(External, RefusesBadOffsetsAndLengths) {
  refused(ErrorCode::data_loss, "72 bytes", {{"location", "w.bin"}, {"offset", "73"}});
  refused(ErrorCode::data_loss, "72 bytes",
          {{"location", "w.bin"}, {"offset", "64"}, {"length", "9"}});
  refused(ErrorCode::data_loss, "outside",
          {{"location", "w.bin"}, {"offset", "8"}, {"length", "18446744073709551615"}});
  refused(ErrorCode::data_loss, "8 bytes",
          {{"location", "w.bin"}, {"offset", "60"}, {"length", "12"}});
  refused(ErrorCode::data_loss, "8 bytes", {{"location", "w.bin"}});
  for (const std::string bad : {"-1", "x", "1x", " 1", "", "99999999999999999999"})
    refused(ErrorCode::invalid_argument, "offset", {{"location", "w.bin"}, {"offset", bad}});
  write_file(dir_ / "model/empty.bin", "");
  refused(ErrorCode::data_loss, "found 0", {{"location", "empty.bin"}});
}

TEST_F(External, RefusesASecondPayload) {
  pb::ModelProto model = external_model({{"location", "w.bin"}, {"offset", "64"}});
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("12345678");
  write_file(dir_ / "model/m.onnx", model.SerializeAsString());
  expect_error(ErrorCode::invalid_argument, {"raw_data"},
               [&] { import_file(dir_ / "model/m.onnx"); });
}

TEST_F(External, RefusedWithoutADirectory) {
  expect_import_error(ErrorCode::invalid_argument, {"'w'", "directory"},
                      external_model({{"location", "w.bin"}}));
}

TEST_F(External, ConfinesAttributesToo) {
  pb::ModelProto model = base_model();
  add_output(*model.mutable_graph(), "y");
  pb::NodeProto& n = add_node(*model.mutable_graph(), "Constant", {}, {"y"});
  *add_attribute(n, "value", pb::AttributeProto::TENSOR).mutable_t() =
      external_model({{"location", "../secret.bin"}, {"offset", "64"}}).graph().initializer(0);
  write_file(dir_ / "model/m.onnx", model.SerializeAsString());
  expect_error(ErrorCode::invalid_argument, {"'..'"}, [&] { import_file(dir_ / "model/m.onnx"); });
}

TEST_F(External, ExportsAndReadsBack) {
  const auto g = load({{"location", "w.bin"}, {"offset", "64"}});
  const fs::path path = dir_ / "out.onnx";
  export_file(*g, path, {.external_data = true, .external_threshold = 1});
  EXPECT_EQ(fs::file_size(dir_ / "out.onnx.data"), 8u);
  EXPECT_EQ(difference(*g, *import_file(path)), "");
  // A threshold above every tensor: no second file.
  export_file(*g, dir_ / "small.onnx", {.external_data = true});
  EXPECT_FALSE(fs::exists(dir_ / "small.onnx.data"));
  EXPECT_EQ(difference(*g, *import_file(dir_ / "small.onnx")), "");
}

// Between the limits, UBSan cannot check objects of types that it has not met: it needs
// descriptors.
TEST_F(External, TooManyOpenFilesExhaustAResource) {
  const fs::path path = dir_ / "model/m.onnx";
  write_file(path, external_model({{"location", "w.bin"}}).SerializeAsString());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::close(free), 0);
  // One more file may be open: the model, and then the folder of its data, but not the data.
  const rlimit one{static_cast<rlim_t>(free) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one), 0);
  ErrorCode code = ErrorCode::ok;
  std::string message;
  try {
    import_file(path);
  } catch (const Error& e) {
    code = e.code();
    message = e.message();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(code, ErrorCode::resource_exhausted);
  EXPECT_TRUE(message.ends_with("cannot open external data file 'w.bin': Too many open files"))
      << message;
}

TEST_F(External, ErrorsDescribeTheInvalidPathOrRange) {
  fs::create_symlink("w.bin", dir_ / "model/link.bin");
  fs::create_hard_link(dir_ / "secret.bin", dir_ / "model/hard.bin");
  const auto message_for = [&](const Entries& entries) {
    const std::string text = message_of_action([&] { load(entries); });
    const std::string start = (dir_ / "model/m.onnx").string() + ": initializer 'w': ";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(std::min(start.size(), text.size()));
  };
  const std::string inside = "; it must be a path inside the model's directory";
  const auto location = [&](const std::string& path) { return message_for({{"location", path}}); };
  EXPECT_EQ(location(""), "external data location '' is empty" + inside);
  EXPECT_EQ(location("/w.bin"), "external data location '/w.bin' is absolute" + inside);
  EXPECT_EQ(location("a/../w.bin"),
            "external data location 'a/../w.bin' goes up with '..'" + inside);
  EXPECT_EQ(location("a//b"), "external data location 'a//b' has an empty component" + inside);
  EXPECT_EQ(location("w.bin/"), "external data location 'w.bin/' has an empty component" + inside);
  EXPECT_EQ(location("./."), "external data location './.' names no file" + inside);
  const std::string link =
      " is reached through a symbolic link or through something that is no directory; links are "
      "refused without `allow_links`";
  EXPECT_EQ(location("link.bin"), "external data file 'link.bin'" + link);
  EXPECT_EQ(location("w.bin/x"), "external data file 'w.bin/x'" + link);
  EXPECT_EQ(location("none/x"), "external data file 'none/x' is missing");
  EXPECT_EQ(location("none"), "external data file 'none' is missing");
  EXPECT_EQ(location("sub"), "external data file 'sub' is not a regular file");
  EXPECT_EQ(location("hard.bin"),
            "external data file 'hard.bin' has 2 hard links; links are refused without "
            "`allow_links`");
  EXPECT_EQ(
      message_for({{"location", "w.bin"}, {"offset", "73"}}),
      "external data file 'w.bin' has 72 bytes; offset 73, length to the end is outside of it");
  EXPECT_EQ(message_for({{"location", "w.bin"}, {"offset", "64"}, {"length", "9"}}),
            "external data file 'w.bin' has 72 bytes; offset 64, length 9 is outside of it");
  EXPECT_EQ(message_for({{"location", "w.bin"}, {"offset", "72"}}),
            "a f32 tensor [2] needs 8 bytes, found 0")
      << "the end is inside";
  EXPECT_EQ(message_for({{"location", "w.bin"}, {"offset", "64"}, {"length", "4"}}),
            "a f32 tensor [2] needs 8 bytes, found 4");
}

}  // namespace
}  // namespace poprt::onnx
