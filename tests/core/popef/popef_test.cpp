// Whole exports: the tables of PopART's exporter (programs, anchors, data), old files, and
// processes that die while they write.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "base/quarter.h"
#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/model.h"

namespace poprt::popef {
namespace {

struct ExportOptions {
  bool training = false, seed = false, rng = false, cycles = false;
  uint32_t replicas = 1;
};

// Programs as PopART numbers them.
enum Program : uint32_t {
  kWeightsFromHost = 0,
  kOptimizerFromHost = 1,
  kSeedFromHost = 2,
  kSeedToHost = 3,
  kRngFromHost = 4,
  kMain = 5,
  kRngToHost = 6,
  kWeightsToHost = 7,
  kCyclesToHost = 8,
};

Metadata exported(const ExportOptions& o) {
  Metadata m;
  m.setExecutable("1234567890");
  m.setReplicationFactor(o.replicas);
  m.setNumIpus(o.replicas);
  m.setIpuVersion(2);
  m.setIsInference(!o.training);
  m.setDeviceIterations(o.training ? 16 * 4 : 16);
  const char* const names[] = {"WeightsFromHost",    "OptimizerFromHost", "RandomSeedFromHost",
                               "RandomSeedToHost",   "RngStateFromHost",  "Program",
                               "RngStateToHost",     "WeightsToHost",     "CycleCountTensorToHost",
                               "CustomProgramsStart"};
  for (uint32_t i = 0; i < 10; i++) m.programsMap()[i] = names[i];
  auto& load = m.programFlow().load();
  auto& save = m.programFlow().save();
  load = {kWeightsFromHost};
  m.programFlow().setMain({kMain});
  if (o.training) load.push_back(kOptimizerFromHost), save.push_back(kWeightsToHost);
  if (o.seed) {
    load.push_back(kSeedFromHost);
    save.push_back(kSeedToHost);
    m.setSeedHandle("h2d_seed");
    if (o.rng) load.push_back(kRngFromHost), save.push_back(kRngToHost);
  }
  if (o.cycles) save.push_back(kCyclesToHost);

  const bool replicated = o.replicas > 1;
  const auto per_replica = [&](std::vector<int64_t> shape) {
    if (replicated) shape.insert(shape.begin(), o.replicas);
    return shape;
  };
  auto& a = m.anchors();
  const TensorInfo data(DataType::F16, per_replica({4, 3}));
  a.emplace_back("in", "h2d_in", data, TensorType::INPUT, Anchor::Programs{kMain}, replicated);
  a.emplace_back("out", "anchor_d2h_out", data, TensorType::OUTPUT, Anchor::Programs{kMain},
                 replicated);
  if (o.cycles)
    a.emplace_back("cycles", "d2h_cycleCount____cycles", TensorInfo(DataType::U64, per_replica({})),
                   TensorType::OUTPUT, Anchor::Programs{kCyclesToHost}, replicated);
  const TensorInfo weight(DataType::F32, {3});
  a.emplace_back("w", "h2d_w", weight, TensorType::INPUT, Anchor::Programs{kWeightsFromHost});
  a.emplace_back("w", "weight_d2h_w", weight, TensorType::OUTPUT, Anchor::Programs{kWeightsToHost});
  a.emplace_back("hidden", "", weight, TensorType::UNKNOWN, Anchor::Programs{});
  for (const auto& [name, type] :
       {std::pair("w143", DataType::F8143), std::pair("w152", DataType::F8152)})
    a.emplace_back(name, std::string("h2d_") + name, TensorInfo(type, {256}), TensorType::INPUT,
                   Anchor::Programs{kWeightsFromHost});
  if (o.training)
    a.emplace_back("lr", "h2d_lr", TensorInfo(DataType::F32, {}), TensorType::INPUT,
                   Anchor::Programs{kOptimizerFromHost});
  if (o.seed) {
    const TensorInfo seed(DataType::U32, {2});
    a.emplace_back("seed", "h2d_seed", seed, TensorType::INPUT, Anchor::Programs{kSeedFromHost});
    a.emplace_back("seed", "d2h_randomSeed", seed, TensorType::OUTPUT,
                   Anchor::Programs{kSeedToHost});
    if (o.rng) {
      const TensorInfo rng(DataType::U32, per_replica({4}));
      a.emplace_back("rngStateTensor", "h2d_rngStateTensor", rng, TensorType::INPUT,
                     Anchor::Programs{kRngFromHost}, replicated);
      a.emplace_back("rngStateTensor", "d2h_rngStateTensor", rng, TensorType::OUTPUT,
                     Anchor::Programs{kRngToHost}, replicated);
    }
  }
  m.setEngineOptions({{"target.workerStackSizeInBytes", "4096"}, {"opt", "2"}, {"opt", "3"}});
  m.setDeviceOptions({{"connectionType", "OnDemand"}});
  return m;
}

// The bytes of every tensor that gets a blob, as the host has them.
std::map<std::string, std::string> host_data(const Metadata& m) {
  std::map<std::string, std::string> data;
  uint32_t seed = 1;
  for (const Anchor& a : m.anchors()) {
    const bool main = a.usedBy(m.programFlow().main());
    if (a.type() == TensorType::OUTPUT || main || data.contains(a.name())) continue;
    data[a.name()] = random_bytes(a.tensorInfo().sizeInBytes(), seed++);
  }
  // All codes of 8-bit floats.
  for (const char* name : {"w143", "w152"})
    for (int i = 0; i < 256; i++) data[name][static_cast<size_t>(i)] = static_cast<char>(i);
  return data;
}

void write_tensors(Writer& writer, const Metadata& m) {
  for (const auto& [name, bytes] : host_data(m)) {
    TensorInfo info;
    for (const Anchor& a : m.anchors())
      if (a.name() == name) info = a.tensorInfo();
    writer.createTensorData({name, info})->write(bytes.data(), bytes.size());
  }
}

void write_program(Writer& writer, const Metadata& m) {
  writer.write(m);
  writer.createExecutable(m.executable())->stream << "executable";
  writer.createOpaqueBlob("popart", m.executable())->stream << "opaque";
}

std::shared_ptr<Reader> read_export(const ExportOptions& o) {
  std::ostringstream out;
  Writer writer(out);
  write_program(writer, exported(o));
  write_tensors(writer, exported(o));
  writer.close();
  auto reader = std::make_shared<Reader>();
  parse(*reader, out.str());
  return reader;
}

// The rows of PopART's program-flow table, and the ten facts that its integration test asserts.
class Export : public ::testing::TestWithParam<int> {
 protected:
  ExportOptions options() const {
    const int i = GetParam();
    return {(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0, (i & 16) != 0 ? 2u : 1u};
  }
};

TEST_P(Export, OneOfEachAndNamesAreLinked) {  // 1
  const auto reader = read_export(options());
  ASSERT_EQ(reader->executables().size(), 1u);
  ASSERT_EQ(reader->metadata().size(), 1u);
  ASSERT_EQ(reader->opaqueBlobs().size(), 1u);
  EXPECT_TRUE(reader->feeds().empty());
  EXPECT_EQ(reader->metadata()[0].executable(), reader->executables()[0].name);
  EXPECT_EQ(reader->opaqueBlobs()[0].executable, reader->executables()[0].name);
}

TEST_P(Export, MetadataAndOptionsEqualTheCompilation) {  // 2, 3
  EXPECT_EQ(read_export(options())->metadata().at(0), exported(options()));
}

TEST_P(Export, EveryTensorHasItsAnchor) {  // 4, 5
  const auto reader = read_export(options());
  const Metadata& m = reader->metadata().at(0);
  bool seed_found = m.seedHandle().empty();
  for (const TensorReader& t : reader->tensors()) {
    const Anchor* anchor = nullptr;
    for (const Anchor& a : m.anchors())
      if (a.name() == t.info.name() && a.type() != TensorType::OUTPUT) anchor = &a;
    ASSERT_NE(anchor, nullptr) << t.info.name();
    EXPECT_EQ(anchor->tensorInfo(), t.info.tensorInfo());
    if (anchor->type() == TensorType::INPUT)
      EXPECT_NE(anchor->handle().find(anchor->name()), std::string::npos);
    seed_found = seed_found || anchor->handle() == m.seedHandle();
  }
  EXPECT_TRUE(seed_found);
}

TEST_P(Export, AsManyTensorsAsTheModelHasState) {  // 6
  const ExportOptions o = options();
  const size_t weights = 4, optimizer = o.training ? 1 : 0, seed = o.seed ? 1 : 0;
  const size_t rng = o.seed && o.rng ? 1 : 0;
  EXPECT_EQ(read_export(o)->tensors().size(), weights + optimizer + seed + rng);
}

TEST_P(Export, BytesEqualTheHosts) {  // 7, 10
  const auto reader = read_export(options());
  const auto expected = host_data(exported(options()));
  for (const TensorReader& t : reader->tensors())
    EXPECT_EQ(text_of(t.payload()), expected.at(t.info.name()));
}

TEST_P(Export, ExecutableAndVariablesInTwoFiles) {  // 8
  const TemporaryFolder folder;
  const Metadata m = exported(options());
  {
    FileWriter executable(folder / "executable.popef"), variables(folder / "variables.popef");
    write_program(executable, m);
    write_tensors(variables, m);
    executable.close();
    variables.close();
  }
  for (const bool variables_first : {false, true}) {
    auto reader = std::make_shared<Reader>();
    reader->parseFile(folder / (variables_first ? "variables.popef" : "executable.popef"));
    reader->parseFile(folder / (variables_first ? "executable.popef" : "variables.popef"));
    const auto model = ModelBuilder(reader).createModel();
    EXPECT_EQ(model->tensors.size(), host_data(m).size());
  }
}

TEST_P(Export, CallerServesTheInputsAndOutputsOfMain) {
  const auto model = ModelBuilder(read_export(options())).createModel();
  ASSERT_EQ(model->getUserInputAnchors().size(), 1u);
  ASSERT_EQ(model->getUserOutputAnchors().size(), 1u);
  const Anchor& in = *model->getUserInputAnchors()[0];
  EXPECT_EQ(in.name(), "in");
  EXPECT_EQ(in.isPerReplica(), options().replicas > 1);
  EXPECT_EQ(in.tensorInfo().shape().size(), options().replicas > 1 ? 3u : 2u);
  EXPECT_EQ(model->getUserOutputAnchors()[0]->name(), "out");
}

TEST_P(Export, WrongOrMissingDataMakesTheWriterThrow) {  // 9
  std::ostringstream out;
  Writer writer(out);
  const auto none = writer.createTensorData({"w", TensorInfo(DataType::F32, {3})});
  EXPECT_THROW(none->close(), SizeError);
  std::ostringstream other;
  Writer second(other);
  const auto defaulted = second.createTensorData({"w", TensorInfo()});
  EXPECT_THROW(defaulted->write("123456789012", 12), SizeError);
}

INSTANTIATE_TEST_SUITE_P(AllFlows, Export, ::testing::Range(0, 32),
                         ::testing::PrintToStringParamName());

// 10: the scale of a float8 is not in the blob; raw bytes of any scale are kept.
TEST(Float8, BothFormatsAndScalesSurviveARoundTrip) {
  for (const DType dtype : {DType::f8_143, DType::f8_152})
    for (const int scale : {-5, 0, 3}) {
      std::string bytes;
      for (int i = 0; i < 100; i++) {
        const float x = std::ldexp(static_cast<float>(i) / 7 - 5, -scale);
        bytes += static_cast<char>(float_to_quarter(dtype, x, true));
      }
      std::ostringstream out;
      Writer writer(out);
      writer.createTensorData({"t", TensorInfo(data_type_of(dtype), {100})})
          ->write(bytes.data(), bytes.size());
      writer.close();
      Reader reader;
      parse(reader, out.str());
      EXPECT_EQ(text_of(reader.tensors().at(0).payload()), bytes);
      EXPECT_EQ(dtype_of(reader.tensors()[0].info.tensorInfo().dataType()), dtype);
    }
}

// tests/data/popef/v1_0.popef was written by release 0.1.0 (sample_file() plus a compressed
// executable with metadata). Every later release reads it. There is one such file per format
// version.
std::string sample_of_v1_0() {
  std::ostringstream out;
  Writer writer(out);
  write_sample(writer);
  write_sample(writer, "compressed", true);
  writer.close();
  return out.str();
}

TEST(ReleasedFiles, Version1_0) {
  const std::string path = std::string(POPRT_TEST_DATA) + "/popef/v1_0.popef";
  if (std::getenv("POPRT_MAKE_TEST_DATA") != nullptr) write_bytes(path, sample_of_v1_0());
  auto reader = std::make_shared<Reader>();
  reader->parseFile(path);
  ASSERT_EQ(reader->blobs().size(), 10u);
  EXPECT_TRUE(reader->warnings().empty());
  for (const char* name : {"model", "compressed"}) {
    const auto model = ModelBuilder(reader).createModel(name);
    EXPECT_EQ(model->metadata, sample_metadata(name));
    EXPECT_EQ(text_of(model->executable.payload()), std::string("executable bytes of ") + name);
    EXPECT_EQ(text_of(model->findTensor("w")->payload()), "12345678");
    EXPECT_EQ(text_of(model->findFeed("x")->payload()), random_bytes(48));
    EXPECT_EQ(text_of(model->opaqueBlobs.at(0).payload()), "free text");
  }
}

// Kills a process that replaces, or appends to, a file again and again. The file has the content
// before one of the writes or after it.
void kill_writers(FileWriter::Mode mode, int rounds) {
  const TemporaryFolder folder;
  const std::string path = folder / "target.popef";
  const std::string payload = random_bytes(200000);
  const auto write_one = [&](const std::string& name) {
    FileWriter writer(path, mode);
    writer.write(sample_metadata(name));
    for (size_t i = 0; i < 4; i++) {
      writer.createOpaqueBlob(name, name)->write(payload.data(), payload.size());
      writer.createFeedGroup({{"x", TensorInfo(DataType::U8, {100000}), 2}}, name)
          ->write(0, payload.data(), 200000);
    }
    writer.createExecutable(name)->write(payload.data(), payload.size());
    writer.close();
  };
  write_one("first");
  const size_t blobs_per_write = 10;
  std::mt19937 random(11);
  int killed_inside = 0;
  for (int i = 0; i < rounds; i++) {
    if (std::filesystem::file_size(path) > (16 << 20))
      std::filesystem::remove(path), write_one("f");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int k = 0;; k++) write_one(fmt::format("{}.{}", i, k));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";

    Reader reader;
    reader.parseFile(path);
    ASSERT_EQ(reader.blobs().size() % blobs_per_write, 0u);
    ASSERT_GE(reader.blobs().size(), blobs_per_write);
    if (mode == FileWriter::Mode::TRUNCATE) ASSERT_EQ(reader.blobs().size(), blobs_per_write);
    for (const ExecutableReader& e : reader.executables())
      ASSERT_EQ(text_of(e.payload()), payload) << e.name;
    for (const OpaqueReader& o : reader.opaqueBlobs()) ASSERT_EQ(text_of(o.payload()), payload);
    for (const FeedReader& f : reader.feeds()) ASSERT_EQ(text_of(f.payload()), payload);
    killed_inside +=
        mode == FileWriter::Mode::APPEND ? !reader.warnings().empty() : folder.entries() > 1;
    for (const auto& left :
         std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
      if (left.path() != path) std::filesystem::remove(left.path());
  }
  EXPECT_GT(killed_inside, rounds / 20) << "too few were killed in the middle of a write";
}

// Temporary files have names in this test, so that files of killed writers remain.
TEST(KilledExport, LeavesTheOldFileOrTheNewOne) {
  ::setenv("POPRT_NAMED_TEMPORARIES", "1", 1);
  kill_writers(FileWriter::Mode::TRUNCATE, 200);
  ::unsetenv("POPRT_NAMED_TEMPORARIES");
}
TEST(KilledExport, AppendLeavesTheOldFileOrTheNewOne) {
  kill_writers(FileWriter::Mode::APPEND, 200);
}

TEST(KilledAppend, NextAppendStartsWhereTheOldFileEnded) {
  const TemporaryFolder folder;
  const std::string good = sample_file();
  const auto header = [] {
    std::string h(64, '\0');
    std::memcpy(h.data(), "PopEF unfinished", 16);
    return h;
  }();
  write_bytes(folder / "f", good + header + "half a blob");
  Reader reader;
  reader.parseFile(folder / "f");
  EXPECT_EQ(reader.blobs().size(), 5u);
  ASSERT_EQ(reader.warnings().size(), 1u);
  EXPECT_NE(reader.warnings()[0].find("never finished"), std::string::npos);
  {
    FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("o", "")->stream << "x";
    writer.close();
  }
  EXPECT_EQ(file_bytes(folder / "f").substr(0, good.size()), good);
  Reader again;
  again.parseFile(folder / "f");
  EXPECT_EQ(again.blobs().size(), 6u);
  EXPECT_TRUE(again.warnings().empty());
  // Before the first write there is no file.
  write_bytes(folder / "g", header);
  EXPECT_THROW(again.parseFile(folder / "g"), FormatError);
}

// Several PopEF files inside one stream of something else.
TEST(EmbeddedStreams, EachPartIsReadAtItsOffset) {
  std::stringstream big(std::ios::in | std::ios::out | std::ios::binary);
  std::vector<std::pair<std::streamoff, uint64_t>> parts;
  for (const char* name : {"a", "b", "c"}) {
    big << "something else " << name;
    const std::streamoff at = big.tellp();
    Writer writer(big);
    write_sample(writer, name, *name == 'b');
    writer.close();
    parts.emplace_back(at, static_cast<uint64_t>(std::streamoff(big.tellp()) - at));
  }
  big << "the end";
  const auto stream = std::make_shared<std::stringstream>(std::move(big));
  auto reader = std::make_shared<Reader>();
  for (const auto& [at, size] : parts) {
    stream->clear();
    stream->seekg(at);
    reader->parseStream(stream, size);
  }
  for (const char* name : {"c", "a", "b"}) {
    const auto model = ModelBuilder(reader).createModel(name);
    EXPECT_EQ(text_of(model->executable.payload()), std::string("executable bytes of ") + name);
    EXPECT_EQ(text_of(*model->executable.getStandaloneExecutableStream()),
              std::string("executable bytes of ") + name);
  }
}

}  // namespace
}  // namespace poprt::popef
