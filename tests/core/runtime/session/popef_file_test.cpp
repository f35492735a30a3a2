#include "runtime/session/popef_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "popef/model.h"
#include "popef/reader.h"
#include "popef/writer.h"
#include "runtime/runner/model_runner.h"
#include "support/copy_model.h"
#include "support/error_code.h"

namespace poprt::runtime {
namespace {

namespace fs = std::filesystem;
using test::CopyModel;
using test::expect_error;

class PopefFile : public ::testing::Test {
 protected:
  PopefFile() {
    folder = fs::path(::testing::TempDir()) /
             fmt::format("popef_file_{}_{}", ::getpid(),
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  ~PopefFile() override { fs::remove_all(folder); }

  void write(const std::string& file, CopyModel& copy) {
    const auto weights = copy.b.weight_records();
    write_popef(folder / file, executable_name(file), copy.b.program(), weights);
  }
  static std::string read(const fs::path& path) {
    std::ostringstream s;
    s << std::ifstream(path, std::ios::binary).rdbuf();
    return s.str();
  }

  fs::path folder;
};

void expect_runs(std::shared_ptr<const Model> model, const CopyModel& copy) {
  ModelRunner runner(std::move(model));
  const std::vector<float> x = test::random_floats(copy.constants.size());
  std::vector<float> y(x.size()), c(x.size());
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data(), c.data()};
  runner.execute(inputs, outputs);
  EXPECT_EQ(x, y);
  EXPECT_EQ(c, copy.constants);
}

TEST_F(PopefFile, WrittenFileRuns) {
  CopyModel copy(1000);
  write("copies.popef", copy);
  const auto model = open_popef(folder / "copies.popef");
  EXPECT_EQ(model->name, "copies");
  EXPECT_EQ(model->outputs()[1].name, "c");
  expect_runs(model, copy);
}

// The message names the damaged blob, not what its bytes decode to.
TEST_F(PopefFile, DamagedMetadataAndExecutablesHaveWrongChecksums) {
  CopyModel copy(10);
  write("a.popef", copy);
  const std::string file = read(folder / "a.popef");
  popef::Reader reader;
  reader.parseFile(folder / "a.popef");
  int refused = 0;
  for (const popef::BlobInfo& b : reader.blobs()) {
    if (b.type != popef::BlobType::METADATA && b.type != popef::BlobType::POPLAR_EXECUTABLE)
      continue;
    for (uint64_t at = 0; at < b.payload_bytes; at++) {
      std::string damaged = file;
      damaged[b.payload_offset + at] = static_cast<char>(damaged[b.payload_offset + at] ^ 0x55);
      std::string found = "nothing";
      try {
        const auto bytes = std::as_bytes(std::span(damaged));
        verify_model(*open_popef(bytes, nullptr));
      } catch (const Error& e) {
        if (e.code() == ErrorCode::failed_precondition &&
            b.type == popef::BlobType::POPLAR_EXECUTABLE)
          continue;  // the text that identifies the version
        found = e.what();
        refused++;
      }
      EXPECT_NE(
          found.find(fmt::format("blob{} at offset {} is damaged: its payload has checksum",
                                 b.name.empty() ? "" : fmt::format(" '{}'", b.name), b.offset)),
          std::string::npos)
          << "byte " << at << ": " << found;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(PopefFile, WeightsAreUsedWhereTheFileHasThem) {
  CopyModel copy(1000);
  write("a.popef", copy);
  const auto model = open_popef(folder / "a.popef");
  const auto* begin = model->file.data();
  EXPECT_GE(model->image.weights.data(), begin);
  EXPECT_LT(model->image.weights.data(), begin + model->file.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(model->image.weights.data()) % 64, 0u);
}

TEST_F(PopefFile, SavingAgainGivesTheSameBytes) {
  CopyModel copy(100);
  write("a.popef", copy);
  auto model = open_popef(folder / "a.popef");
  save_model(*model, folder / "b.popef");
  EXPECT_EQ(read(folder / "a.popef"), read(folder / "b.popef"));
  save_model(*model, folder / "a.popef");  // over itself
  expect_runs(model, copy);
}

TEST_F(PopefFile, PayloadsOpenAndSave) {
  CopyModel copy(100);
  std::vector<std::byte> bytes;
  program::write_executable(
      [&](std::span<const std::byte> b) { bytes.insert(bytes.end(), b.begin(), b.end()); },
      copy.b.program(), copy.b.weight_records());
  const auto model = open_payload("direct", bytes, nullptr);
  expect_runs(model, copy);
  save_model(*model, folder / "direct.popef");
  const auto again = open_popef(folder / "direct.popef");
  EXPECT_EQ(again->name, "direct");
  expect_runs(again, copy);
}

TEST_F(PopefFile, ModelsMadeByHandCannotBeSaved) {
  CopyModel copy(4);
  EXPECT_THROW(save_model(*make_model("m", copy.image()), folder / "m.popef"), Error);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(PopefFile, AFailedWriteLeavesNoFile) {
  CopyModel copy(4);
  const program::Weight broken[] = {
      {0, 16, [](std::span<std::byte>) { fail(ErrorCode::internal, "no more"); }}};
  EXPECT_THROW(write_popef(folder / "x.popef", "x", copy.b.program(), broken), Error);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(PopefFile, ErrorsNameThePath) {
  expect_error([&] { open_popef(folder / "none.popef"); }, ErrorCode::not_found, "none.popef");
  std::ofstream(folder / "text.popef") << "This is no PopEF file, despite its name.\n";
  expect_error([&] { open_popef(folder / "text.popef"); }, ErrorCode::data_loss, "text.popef");
  CopyModel copy(1000);
  write("a.popef", copy);
  fs::resize_file(folder / "a.popef", fs::file_size(folder / "a.popef") - 1);
  expect_error([&] { open_popef(folder / "a.popef"); }, ErrorCode::data_loss, "a.popef");
}

TEST_F(PopefFile, MetadataAndProgramMustAgree) {
  CopyModel copy(4);
  const auto write_with = [&](auto&& change) {
    popef::Metadata m = make_metadata("m", copy.b.program());
    change(m);
    popef::FileWriter writer((folder / "m.popef").string());
    writer.write(m);
    const auto blob = writer.createExecutable("m");
    program::write_executable([&](auto b) { blob->write(b.data(), b.size()); }, copy.b.program(),
                              copy.b.weight_records());
    blob->close();
    writer.close();
  };
  const auto open = [&] { open_popef(folder / "m.popef"); };
  write_with([](popef::Metadata& m) { m.anchors()[0].tensorInfo().setShape({5}); });
  expect_error(open, ErrorCode::data_loss,
               "anchor 'x': the metadata has F32 [5], the program F32 [4]");
  write_with([](popef::Metadata& m) { m.anchors().pop_back(); });
  expect_error(open, ErrorCode::data_loss, "no OUTPUT anchor 'c'");
  write_with([](popef::Metadata& m) { m.setNumIpus(4); });
  expect_error(open, ErrorCode::data_loss, "4 IPUs");
}

TEST_F(PopefFile, EveryCutOrFlippedFileIsAnErrorOrRuns) {
  CopyModel copy(4);
  write("a.popef", copy);
  const std::string good = read(folder / "a.popef");
  for (size_t i = 0; i < good.size(); i += 7) {
    for (const bool cut : {false, true}) {
      std::string bad = cut ? good.substr(0, i) : good;
      if (!cut) bad[i] = static_cast<char>(~bad[i]);
      try {
        ModelRunner runner(open_popef(std::as_bytes(std::span(bad)), nullptr));
      } catch (const Error&) {
      }
    }
  }
}

TEST_F(PopefFile, ExecutableAndVariablesInTwoFiles) {
  CopyModel copy(1000), other(1000);
  for (float& w : other.constants) w = -w;
  write("copies.popef", copy);
  write("others.popef", other);
  const fs::path exe = folder / "executable.popef", variables = folder / "variables.popef";
  save_parts(*open_popef(folder / "copies.popef"), exe, variables);
  EXPECT_LT(fs::file_size(exe), fs::file_size(folder / "copies.popef"));
  for (const std::vector<fs::path>& paths :
       {std::vector<fs::path>{exe, variables}, std::vector<fs::path>{variables, exe}}) {
    const auto model = open_popef(paths);
    EXPECT_EQ(model->name, "copies");
    expect_runs(model, copy);
  }
  expect_error([&] { open_popef(exe); }, ErrorCode::data_loss, "weights");
  expect_error([&] { open_popef(variables); }, ErrorCode::failed_precondition, "no executable");
  expect_error([] { open_popef(std::span<const fs::path>()); }, ErrorCode::invalid_argument,
               "no PopEF file");
  // The appended weights replace those of the program.
  popef::FileWriter writer(variables.string(), popef::FileWriter::Mode::APPEND);
  const auto others = open_popef(folder / "others.popef");
  const std::span<const std::byte> weights = others->image.weights;
  const popef::TensorInfo info(popef::DataType::U8, {static_cast<int64_t>(weights.size())});
  writer.createTensorData({std::string(kWeightsName), info}, "copies")
      ->write(weights.data(), weights.size());
  writer.close();
  const std::vector<fs::path> paths = {exe, variables};
  expect_runs(open_popef(paths), other);
}

// Weights that the file stores in one or two bytes stay equal, however often they are saved.
TEST_F(PopefFile, NarrowWeightsStayNarrow) {
  for (const DType dtype : {DType::f8_152, DType::f16}) {
    CopyModel copy(3000);
    for (size_t i = 0; i < copy.constants.size(); i++)
      copy.constants[i] = std::ldexp(static_cast<float>(i % 4 + 4), static_cast<int>(i % 9) - 5);
    const program::Weight& record = copy.b.weight_records()[0];
    const std::vector<program::NarrowWeights> narrow = {
        {record.offset, record.bytes, dtype, dtype == DType::f16 ? 0 : -9}};
    const fs::path one = folder / "one.popef", two = folder / "two.popef",
                   wide = folder / "wide.popef";
    write("wide.popef", copy);
    write_popef(one, "copies", copy.b.program(), copy.b.weight_records(), {}, {}, narrow);
    EXPECT_LT(fs::file_size(one) + 4000, fs::file_size(wide));
    const auto model = open_popef(one);
    expect_runs(model, copy);
    EXPECT_EQ(model->narrow, narrow);
    EXPECT_EQ(model->blobs->executable.blob().compressed, dtype != DType::f16)
        << "bytes of few values pack well";
    save_model(*model, two);
    EXPECT_EQ(read(one), read(two));
    // Saves the model in two files, and the model of these in two files again.
    const fs::path exe = folder / "exe.popef", variables = folder / "variables.popef";
    save_parts(*model, exe, variables);
    const std::vector<fs::path> paths = {exe, variables};
    expect_runs(open_popef(paths), copy);
    EXPECT_LT(fs::file_size(exe) + fs::file_size(variables) + 4000, fs::file_size(wide));
    const fs::path exe_2 = folder / "exe2.popef", variables_2 = folder / "variables2.popef";
    save_parts(*open_popef(paths), exe_2, variables_2);
    EXPECT_EQ(read(variables), read(variables_2));
  }
}

struct OwnData {
  OwnData() {
    const auto weights = [&](const std::vector<float>& from) {
      const auto bytes = from.size() * 4;
      return b.weights(
          bytes, DType::f32, {static_cast<int64_t>(from.size())},
          [&from, bytes](std::span<std::byte> to) { std::memcpy(to.data(), from.data(), bytes); });
    };
    const auto at = [&](program::BufferId id) { return b.program().buffers[id].offset; };
    const uint64_t first = at(weights(u));
    const program::BufferId constant = weights(c);
    const uint64_t second = at(weights(v));
    copy(b.input(b.add_input({"u", DType::f32, {4}, first}), 0, 16, DType::f32, {4}), "U", 4);
    copy(b.input(b.add_input({"x", DType::f32, {4}}), 0, 16, DType::f32, {4}), "X", 4);
    copy(constant, "C", 4);
    copy(b.input(b.add_input({"v", DType::f32, {6}, second}), 0, 24, DType::f32, {6}), "V", 6);
  }
  void copy(program::BufferId from, const char* name, int64_t n) {
    const auto out = b.add_output({name, DType::f32, {n}});
    const program::BufferId operands[] = {
        from, b.output(out, 0, static_cast<uint64_t>(n) * 4, DType::f32, {n})};
    b.emit("copy", operands, {}, {}, "copy");
  }
  // The model in memory.
  std::shared_ptr<const Model> payload() {
    const auto bytes = std::make_shared<std::vector<std::byte>>();
    program::write_executable(
        [&](std::span<const std::byte> s) { bytes->insert(bytes->end(), s.begin(), s.end()); },
        b.program(), b.weight_records());
    return open_payload("own", *bytes, bytes);
  }
  void expect_runs(std::shared_ptr<const Model> model, const std::vector<float>& wanted_u) const {
    ModelRunner runner(std::move(model));
    const std::vector<float> x{9, 8, 7, 6};
    std::vector<float> gx(4), gu(4), gc(4), gv(6);
    runner.execute(InputMemoryView{{"x", {x.data(), 16}}},
                   OutputMemoryView{{"X", {gx.data(), 16}},
                                    {"U", {gu.data(), 16}},
                                    {"C", {gc.data(), 16}},
                                    {"V", {gv.data(), 24}}});
    EXPECT_EQ(gx, x);
    EXPECT_EQ(gu, wanted_u);
    EXPECT_EQ(gc, c);
    EXPECT_EQ(gv, v);
  }
  program::Builder b;
  std::vector<float> u{1, 2, 3, 4}, c{5, 6, 7, 8}, v{9, 10, 11, 12, 13, 14};
};

TEST_F(PopefFile, SavedValuesOfAModelAreReadAtAnyOffset) {
  OwnData own;
  const auto model = own.payload();
  own.expect_runs(model, own.u);
  const fs::path one = folder / "one.popef", exe = folder / "exe.popef",
                 variables = folder / "variables.popef";
  save_model(*model, one);
  const auto again = open_popef(one);
  own.expect_runs(again, own.u);
  EXPECT_EQ(again->input_data.at(0).size(), 16u);
  EXPECT_TRUE(again->input_data.at(1).empty());
  EXPECT_EQ(again->input_data.at(2).size(), 24u);
  for (const auto& from : {model, again}) {
    save_parts(*from, exe, variables);
    const std::vector<fs::path> paths = {exe, variables};
    own.expect_runs(open_popef(paths), own.u);
    expect_error([&] { open_popef(exe); }, ErrorCode::data_loss, "the weights 'u'");
  }
  std::ostringstream stream;
  save_model(*model, stream);
  EXPECT_EQ(stream.str(), read(one));
}

// A stream that accepts all bytes and discards them.
class LosesWhatItHolds : public std::stringbuf {
 protected:
  int sync() override { return -1; }
};

TEST_F(PopefFile, FailsIfAStreamLosesData) {
  LosesWhatItHolds buffer;
  std::ostream stream(&buffer);
  expect_error([&] { save_model(*OwnData().payload(), stream); }, ErrorCode::resource_exhausted,
               "the stream failed after");
}

// Values after the bytes that instructions read are removed with their blobs and narrow pieces; the
// last byte that is read stays. If values are a part of a larger piece, the piece stays.
void expect_that_only_what_is_read_stays(const fs::path& folder, uint64_t count) {
  program::Builder b;
  const auto weights = [&](uint64_t n, float value) {
    const uint64_t offset = b.program().weights_bytes;
    b.program().weights_bytes += n * 4;
    b.weight_records().push_back({offset, n * 4, [=](std::span<std::byte> to) {
                                    const std::vector<float> values(n, value);
                                    std::memcpy(to.data(), values.data(), to.size());
                                  }});
    return offset;
  };
  const auto value_at = [](std::span<const std::byte> bytes, uint64_t offset) {
    float value = 0;
    std::memcpy(&value, bytes.subspan(offset, 4).data(), 4);
    return value;
  };
  const uint64_t read = weights(count, 1), bytes = count * 4;
  const Shape shape = {static_cast<int64_t>(count)};
  b.program().weights_bytes = 512;
  b.program().buffers.push_back({program::Space::weights, 0, read, bytes, DType::f32, shape});
  const auto c = b.add_output({"c", DType::f32, shape});
  const program::BufferId operands[] = {0, b.output(c, 0, bytes, DType::f32, shape)};
  b.emit("copy", operands, {}, {}, "copy");
  const uint64_t own = weights(16, 2);
  b.add_input({"u", DType::f32, {16}, own});
  const std::vector<program::NarrowWeights> narrow = {{read, bytes, DType::f16, 0},
                                                      {own, 64, DType::f16, 0}};
  const auto opened = [&](const char* name) {
    write_popef(folder / name, "m", b.program(), b.weight_records(), {}, {}, narrow);
    return open_popef(folder / name);
  };
  auto model = opened("behind.popef");
  EXPECT_EQ(model->program().weights_bytes, 512u);
  EXPECT_EQ(model->narrow, (std::vector{narrow[0]}));
  ASSERT_EQ(model->input_data.at(0).size(), 64u);
  EXPECT_EQ(value_at(model->input_data[0], 60), 2);
  EXPECT_EQ(value_at(model->image.weights, bytes - 4), 1);
  // All stay if the values are the beginning of a piece of 128 bytes after others.
  const uint64_t shared = weights(32, 3);
  b.add_input({"v", DType::f32, {4}, shared});
  model = opened("shared.popef");
  EXPECT_EQ(model->program().weights_bytes, shared + 128);
  EXPECT_EQ(model->narrow, narrow);
  EXPECT_EQ(model->inputs().at(1).data, shared);
  EXPECT_EQ(model->inputs().at(0).data, program::kNoData);
  EXPECT_EQ(value_at(model->image.weights, shared + 124), 3);
}

TEST_F(PopefFile, KeepsOnlyWeightsThatAreRead) {
  for (const uint64_t count : {128, 125}) expect_that_only_what_is_read_stays(folder, count);
}

// Opaque blobs up to 16 MiB are the model's, larger ones stay in the file.
TEST_F(PopefFile, LargeOpaqueBlobsAreNotRead) {
  CopyModel copy(4);
  constexpr size_t kMost = size_t{1} << 24;
  write_popef(folder / "m.popef", "m", copy.b.program(), copy.b.weight_records(),
              {{"most", std::string(kMost, 'x')}, {"more", std::string(kMost + 1, 'y')}});
  const auto model = open_popef(folder / "m.popef");
  EXPECT_EQ(model->opaque.at("most").size(), kMost);
  EXPECT_FALSE(model->opaque.contains("more"));
  // They stay in a file that is saved from several files.
  save_parts(*model, folder / "exe.popef", folder / "variables.popef");
  const std::vector<fs::path> paths = {folder / "exe.popef", folder / "variables.popef"};
  save_model(*open_popef(paths), folder / "again.popef");
  const auto blobs = open_popef(folder / "again.popef")->blobs;
  ASSERT_EQ(blobs->opaqueBlobs.size(), 2u);
  for (const auto& blob : blobs->opaqueBlobs)
    EXPECT_EQ(blob.size(), blob.name == "more" ? kMost + 1 : kMost) << blob.name;
}

// Every byte of a variable must be in the file.
TEST_F(PopefFile, AVariableOfOneByteNeedsItsValue) {
  program::Builder b;
  const auto u = b.add_input({"u", DType::u8, {1}});
  const auto y = b.add_output({"y", DType::u8, {1}});
  const program::BufferId operands[] = {b.input(u, 0, 1, DType::u8, {1}),
                                        b.output(y, 0, 1, DType::u8, {1})};
  b.emit("copy", operands, {}, {}, "copy");
  b.program().weights_bytes = 64;
  b.program().inputs[0].data = 0;
  b.weight_records().push_back(
      {0, 1, [](std::span<std::byte> to) { std::ranges::fill(to, std::byte{9}); }});
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  program::write_executable(
      [&](std::span<const std::byte> s) { bytes->insert(bytes->end(), s.begin(), s.end()); },
      b.program(), b.weight_records());
  const fs::path exe = folder / "exe.popef", variables = folder / "variables.popef";
  save_parts(*open_payload("own", *bytes, bytes), exe, variables);
  const std::vector<fs::path> paths = {exe, variables};
  EXPECT_EQ(open_popef(paths)->input_data.at(0)[0], std::byte{9});
  expect_error([&] { open_popef(exe); }, ErrorCode::data_loss,
               "there is no data for the weights 'u': open the file of the variables as well");
}

TEST_F(PopefFile, ModelsPutTogetherByHandOpenAndSave) {
  CopyModel copy(1000);
  write("copies.popef", copy);
  const fs::path exe = folder / "executable.popef", variables = folder / "variables.popef";
  save_parts(*open_popef(folder / "copies.popef"), exe, variables);
  {
    popef::FileWriter writer(exe.string(), popef::FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("notes", "copies")->stream << "hello";
    writer.close();
  }
  const auto blobs = [&] {
    const auto reader = std::make_shared<popef::Reader>();
    reader->parseFile(variables.string());
    reader->parseFile(exe.string());
    return popef::ModelBuilder(reader).createModel();
  }();
  const auto model = open_popef(blobs);
  EXPECT_EQ(popef_model(*model), blobs);
  expect_runs(model, copy);
  // A model from several files is saved as one file.
  const fs::path one = folder / "one.popef";
  save_model(*model, one);
  const auto again = open_popef(one);
  EXPECT_EQ(again->opaque.at("notes"), "hello");
  expect_runs(again, copy);
  std::ostringstream stream;
  save_model(*model, stream);
  EXPECT_EQ(stream.str(), read(one));
  // It is saved as two files again, with all blobs.
  save_parts(*again, exe, variables);
  const std::vector<fs::path> paths = {exe, variables};
  EXPECT_EQ(open_popef(paths)->opaque.at("notes"), "hello");
  expect_runs(open_popef(paths), copy);
}

// Texts in the program belong to the model, except those that have a blob of the same name.
TEST_F(PopefFile, NotesOfTheProgramAreOpaqueTexts) {
  CopyModel copy(4);
  popef::FileWriter writer((folder / "m.popef").string());
  writer.write(make_metadata("m", copy.b.program()));
  const auto blob = writer.createExecutable("m");
  program::write_executable([&](auto b) { blob->write(b.data(), b.size()); }, copy.b.program(),
                            copy.b.weight_records(), {{"a", "note"}, {"b", "hidden"}});
  blob->close();
  writer.createOpaqueBlob("b", "m")->write("blob", 4);
  writer.createOpaqueBlob("poprt.source", "m")->write("model", 5);
  writer.createOpaqueBlob("poprt.source/w.bin", "m")->write("data", 4);
  writer.createOpaqueBlob("poprt.sources", "m")->write("other", 5);
  writer.close();
  EXPECT_EQ(open_popef(folder / "m.popef")->opaque,
            (std::map<std::string, std::string>{
                {"a", "note"}, {"b", "blob"}, {"poprt.sources", "other"}}));
}

// Other blobs of a file stay in the file that is saved from one of its models.
TEST_F(PopefFile, AFileIsSavedWhole) {
  CopyModel a(10), b(20);
  write("a.popef", a);
  write("b.popef", b);
  std::ofstream(folder / "both.popef", std::ios::binary)
      << read(folder / "a.popef") << read(folder / "b.popef");
  const auto model =
      open_popef(folder / "both.popef", {.check_package_hash = true, .executable = "b"});
  expect_runs(model, b);
  std::ostringstream stream;
  save_model(*model, stream);
  EXPECT_EQ(stream.str(), read(folder / "both.popef"));
  save_model(*model, folder / "again.popef");
  EXPECT_EQ(read(folder / "again.popef"), read(folder / "both.popef"));
  std::ostream broken(nullptr);
  expect_error([&] { save_model(*model, broken); }, ErrorCode::resource_exhausted,
               "cannot write model 'b' to its stream");
}

TEST_F(PopefFile, OptionsAndIterationsAreSaved) {
  CopyModel copy(10);
  const std::vector<popef::Option> options = {{"batches_per_step", "6"}, {"precision", "fp16"}};
  write_popef(folder / "a.popef", "a", copy.b.program(), copy.b.weight_records(), {}, options);
  std::vector<std::byte> bytes;
  program::write_executable(
      [&](std::span<const std::byte> b) { bytes.insert(bytes.end(), b.begin(), b.end()); },
      copy.b.program(), copy.b.weight_records());
  Model model(*open_payload("a", bytes, nullptr));
  set_engine_options(model, options);
  save_model(model, folder / "b.popef");
  save_parts(model, folder / "exe.popef", folder / "variables.popef");
  for (const std::vector<fs::path>& paths : {std::vector<fs::path>{folder / "a.popef"},
                                             {folder / "b.popef"},
                                             {folder / "exe.popef", folder / "variables.popef"}}) {
    const auto opened = open_popef(paths);
    EXPECT_EQ(opened->metadata.engineOptions(), options);
    EXPECT_EQ(opened->batches_per_step, 6u);
  }
  EXPECT_EQ(read(folder / "a.popef"), read(folder / "b.popef"));
}

TEST_F(PopefFile, LateOptionsAreAsIfTheyWereKnownFirst) {
  CopyModel copy(10);
  const std::vector<popef::Option> early = {{"batches_per_step", "6"}, {"source_hash", "0000"}},
                                   late = {{"batches_per_step", "6"}, {"source_hash", "abcd"}};
  write_popef(folder / "a.popef", "a", copy.b.program(), copy.b.weight_records(), {{"n", "x"}},
              late);
  write_popef(folder / "b.popef", "a", copy.b.program(), copy.b.weight_records(), {{"n", "x"}},
              early, {}, [&] { return late; });
  EXPECT_EQ(read(folder / "a.popef"), read(folder / "b.popef"));
  expect_error(
      [&] {
        write_popef(folder / "b.popef", "b", copy.b.program(), copy.b.weight_records(), {}, early,
                    {}, []() -> std::vector<popef::Option> { fail(ErrorCode::not_found, "none"); });
      },
      ErrorCode::not_found, "none");
  EXPECT_EQ(read(folder / "a.popef"), read(folder / "b.popef"));
}

// A value that a file has in a blob is written once, although the program has another.
TEST_F(PopefFile, PartsHaveEachValueOnce) {
  OwnData own;
  {
    popef::FileWriter writer((folder / "m.popef").string());
    writer.write(make_metadata("m", own.b.program()));
    const auto blob = writer.createExecutable("m");
    program::write_executable([&](auto b) { blob->write(b.data(), b.size()); }, own.b.program(),
                              own.b.weight_records());
    blob->close();
    const std::vector<float> values(4, -1);
    writer.createTensorData({"u", popef::TensorInfo(popef::DataType::F32, {4})}, "m")
        ->write(values.data(), 16);
    writer.createFeedData({"x", popef::TensorInfo(popef::DataType::F32, {4}), 1}, "m")
        ->write(values.data(), 16);
    writer.createOpaqueBlob("notes", "m")->write("hello", 5);
    writer.close();
  }
  const fs::path exe = folder / "exe.popef", variables = folder / "variables.popef";
  save_parts(*open_popef(folder / "m.popef"), exe, variables);
  popef::Reader reader;
  reader.parseFile(variables.string());
  std::vector<std::string> names;
  for (const auto& t : reader.tensors()) names.push_back(t.info.name());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"u", "v"}));
  ASSERT_EQ(reader.feeds().size(), 1u);
  EXPECT_EQ(reader.feeds()[0].info.name(), "x");
  const std::vector<fs::path> paths = {exe, variables};
  const auto model = open_popef(paths);
  EXPECT_EQ(model->opaque.at("notes"), "hello");
  ASSERT_EQ(model->input_data.at(0).size(), 16u);
  float value = 0;
  std::memcpy(&value, model->input_data[0].data(), 4);
  EXPECT_EQ(value, -1);
}

TEST_F(PopefFile, PartsOfPartsAreTheSame) {
  CopyModel copy(100);
  write("copies.popef", copy);
  const fs::path exe = folder / "exe.popef", variables = folder / "variables.popef",
                 exe_2 = folder / "exe2.popef", variables_2 = folder / "variables2.popef";
  save_parts(*open_popef(folder / "copies.popef"), exe, variables);
  const std::vector<fs::path> paths = {exe, variables};
  save_parts(*open_popef(paths), exe_2, variables_2);
  EXPECT_EQ(read(exe), read(exe_2));
  EXPECT_EQ(read(variables), read(variables_2));
  expect_error([&] { open_popef(paths, {.check_package_hash = true, .executable = "nobody"}); },
               ErrorCode::failed_precondition, fmt::format("'{}' and 1 more: ", exe.string()));
}

TEST_F(PopefFile, EveryModelHasBlobs) {
  CopyModel copy(100);
  write("direct.popef", copy);
  EXPECT_EQ(popef_model(*open_popef(folder / "direct.popef"))->executable.name, "direct");
  std::vector<std::byte> bytes;
  program::write_executable(
      [&](std::span<const std::byte> b) { bytes.insert(bytes.end(), b.begin(), b.end()); },
      copy.b.program(), copy.b.weight_records());
  const auto blobs = popef_model(*open_payload("compiled", bytes, nullptr));
  EXPECT_EQ(blobs->metadata, make_metadata("compiled", copy.b.program()));
  expect_runs(open_popef(blobs), copy);
}

TEST_F(PopefFile, StreamsHoldTheSameAsFiles) {
  CopyModel copy(100);
  write("direct.popef", copy);
  std::vector<std::byte> bytes;
  program::write_executable(
      [&](std::span<const std::byte> b) { bytes.insert(bytes.end(), b.begin(), b.end()); },
      copy.b.program(), copy.b.weight_records());
  std::ostringstream from_payload, from_file;
  save_model(*open_payload("direct", bytes, nullptr), from_payload);
  save_model(*open_popef(folder / "direct.popef"), from_file);
  EXPECT_EQ(from_payload.str(), read(folder / "direct.popef"));
  EXPECT_EQ(from_file.str(), read(folder / "direct.popef"));
  std::ofstream full("/dev/full", std::ios::binary);
  if (full) EXPECT_THROW(save_model(*open_payload("d", bytes, nullptr), full), Error);
}

TEST_F(PopefFile, RefusesAnotherPackageByDefault) {
  CopyModel copy(100);
  write("a.popef", copy);
  std::string bytes = read(folder / "a.popef");
  const std::string ours(program::package());
  const size_t at = bytes.find(ours);
  ASSERT_NE(at, std::string::npos);
  std::string theirs = ours;
  theirs.back() = theirs.back() == '9' ? '8' : '9';
  bytes.replace(at, ours.size(), theirs);
  std::ofstream(folder / "a.popef", std::ios::binary) << bytes;
  const auto open = [&] { open_popef(folder / "a.popef"); };
  expect_error(open, ErrorCode::failed_precondition, "Failed to deserialize 'a'");
  expect_error(open, ErrorCode::failed_precondition,
               fmt::format("Error reading executable - package hash ({}) differs from poprt hash "
                           "({}); compile the model again with this version (poprt_exec recompile)",
                           theirs, ours));
  expect_runs(open_popef(folder / "a.popef", {.check_package_hash = false, .executable = {}}),
              copy);
}

TEST_F(PopefFile, OneOfSeveralModelsByName) {
  CopyModel a(10), b(20);
  write("a.popef", a);
  write("b.popef", b);
  const std::vector<fs::path> both = {folder / "a.popef", folder / "b.popef"};
  expect_error([&] { open_popef(both); }, ErrorCode::failed_precondition, "'a' 'b'");
  expect_runs(open_popef(both, {.check_package_hash = true, .executable = "b"}), b);
  expect_runs(open_popef(both, {.check_package_hash = true, .executable = "a"}), a);
}

TEST_F(PopefFile, PreloadReadsTheSame) {
  CopyModel copy(1000);
  write("a.popef", copy);
  ::setenv("POPART_PRELOAD_POPEF", "full-preload", 1);
  expect_runs(open_popef(folder / "a.popef"), copy);
  expect_error([&] { open_popef(folder / "none"); }, ErrorCode::not_found, "none");
  ::unsetenv("POPART_PRELOAD_POPEF");
}

// Makes assertions of PopART's integration test of exports; tests/core/popef/popef_test.cpp makes
// the others.
TEST_F(PopefFile, ExportContainsTheCompiledModel) {
  CopyModel copy(100);
  write("a.popef", copy);
  popef::Reader reader;
  reader.parseFile((folder / "a.popef").string());
  ASSERT_EQ(reader.executables().size(), 1u);
  ASSERT_EQ(reader.metadata().size(), 1u);
  EXPECT_TRUE(reader.feeds().empty());
  EXPECT_TRUE(reader.tensors().empty());  // weights are constants of the executable
  const popef::Metadata& m = reader.metadata()[0];
  EXPECT_EQ(m.executable(), reader.executables()[0].name);
  EXPECT_EQ(m, make_metadata("a", copy.b.program()));
  EXPECT_TRUE(m.isInference());
  EXPECT_EQ(m.deviceIterations(), 1u);
  EXPECT_TRUE(m.seedHandle().empty());
  ASSERT_EQ(m.anchors().size(), 3u);
  for (const popef::Anchor& a : m.anchors()) {
    EXPECT_NE(a.handle().find(a.name()), std::string::npos);
    EXPECT_TRUE(a.usedBy(m.programFlow().main()));
  }
  const popef::Payload payload = reader.executables()[0].payload();
  const auto weights = program::weights_of(payload.bytes);
  EXPECT_EQ(std::memcmp(weights.data(), copy.constants.data(), 400), 0);
}

// kill -9 at a random moment of an export: the file is the old one or the new one.
TEST_F(PopefFile, AKilledExportLeavesTheOldFileOrTheNewOne) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("popef_killed_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto path = folder / "model.popef";
  const auto bytes_of = [](const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  };
  const auto export_to = [](const std::filesystem::path& file, CopyModel& copy) {
    write_popef(file, "m", copy.b.program(), copy.b.weight_records());
  };
  CopyModel models[2] = {CopyModel(50'000), CopyModel(100'000)};
  std::string contents[2];
  std::chrono::nanoseconds took{};
  for (int i : {0, 1}) {
    const auto start = std::chrono::steady_clock::now();
    export_to(path, models[i]);
    took = std::chrono::steady_clock::now() - start;
    contents[i] = bytes_of(path);
  }
  std::mt19937 random(200);
  int current = 1, kept = 0, replaced = 0;
  for (int i = 0; i < 200; i++) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      export_to(path, models[1 - current]);
      _exit(0);
    }
    // The kill is at any time from the start of the export to some time after its end.
    std::this_thread::sleep_for(took * static_cast<int>(random() % 400) / 100);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string now = bytes_of(path);
    if (now == contents[current]) {
      kept++;
    } else {
      ASSERT_TRUE(now == contents[1 - current]) << "round " << i << ": " << now.size() << " bytes";
      current = 1 - current;
      replaced++;
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(replaced, 0);
  EXPECT_NO_THROW(open_popef(path));
  std::filesystem::remove_all(folder);
}

// A tensor blob with an input's name is its value; one that is appended replaces it.
TEST_F(PopefFile, TensorBlobsGiveInputsTheirValues) {
  CopyModel copy(4);
  const auto path = std::filesystem::temp_directory_path() /
                    ("popef_values_" + std::to_string(getpid()) + ".popef");
  write_popef(path, "m", copy.b.program(), copy.b.weight_records());
  EXPECT_TRUE(open_popef(path)->input_data.at(0).empty());
  const popef::TensorInfo info(popef::DataType::F32, {4});
  for (const float value : {2.f, 3.f}) {
    const std::vector<float> values(4, value);
    popef::FileWriter writer(path.string(), popef::FileWriter::Mode::APPEND);
    writer.createTensorData({"x", info})->write(values.data(), 16);
    writer.close();
    const auto model = open_popef(path);
    ASSERT_EQ(model->input_data.at(0).size(), 16u);
    EXPECT_EQ(std::memcmp(model->input_data[0].data(), values.data(), 16), 0);
  }
  std::filesystem::remove(path);
}

TEST_F(PopefFile, ReplicasAndIterationsComeFromTheMetadata) {
  CopyModel copy(4);
  const auto path = std::filesystem::temp_directory_path() /
                    ("popef_replicas_" + std::to_string(getpid()) + ".popef");
  const auto write = [&](uint32_t replicas, uint32_t ipus, uint64_t iterations) {
    popef::Metadata m = make_metadata("m", copy.b.program());
    m.setReplicationFactor(replicas);
    m.setNumIpus(ipus);
    m.setDeviceIterations(iterations);
    for (popef::Anchor& a : m.anchors()) {
      a.setIsPerReplica(true);
      a.tensorInfo().shape().insert(a.tensorInfo().shape().begin(), replicas);
    }
    popef::FileWriter writer(path.string());
    writer.write(m);
    const auto blob = writer.createExecutable("m");
    program::write_executable(
        [&](std::span<const std::byte> b) { blob->write(b.data(), b.size()); }, copy.b.program(),
        copy.b.weight_records());
    blob->close();
    writer.createOpaqueBlob("notes", "m")->write("hello", 5);
    writer.close();
  };
  write(3, 3, 7);
  const auto model = open_popef(path);
  EXPECT_EQ(model->replication_factor, 3u);
  EXPECT_EQ(model->batches_per_step, 7u);
  EXPECT_EQ(model->opaque.at("notes"), "hello");
  write(2, 4, 1);
  EXPECT_THROW(open_popef(path), Error);
  write(1, 1, 0);
  EXPECT_THROW(open_popef(path), Error);
  std::filesystem::remove(path);
}

TEST(ExecutableName, IsTheStem) {
  EXPECT_EQ(executable_name("models/resnet50.onnx"), "resnet50");
  EXPECT_EQ(executable_name(""), "model");
}

TEST(MakeMetadata, RefusesTypesThatPopefLacks) {
  program::Program p;
  p.inputs.push_back({"x", DType::bf16, {1}});
  EXPECT_THROW(make_metadata("m", p), Error);
}

}  // namespace
}  // namespace poprt::runtime
