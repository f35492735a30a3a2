// PopEF through the C++ layer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "poprt/popef.hpp"

namespace {

using poprt::Error;
using poprt::ErrorCode;
using namespace poprt::popef;

std::string random_bytes(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random() & 7);
  return bytes;
}

Metadata sample_metadata() {
  Metadata m;
  m.setReplicationFactor(2);
  m.setNumIpus(4);
  m.setIpuVersion(21);
  m.setIsPOD(true);
  m.setNumProcesses(3);
  m.setIsInference(false);
  m.setDeviceIterations(7);
  m.setExecutable("model");
  m.setSeedHandle("h2d_seed");
  m.engineOptions().emplace_back("b", "1");
  m.engineOptions().emplace_back("a", "2");
  m.deviceOptions().emplace_back("tiles", "16");
  m.programFlow().setLoad({0, 2});
  m.programFlow().main() = {5};
  m.programFlow().setSave({7});
  m.programsMap()[5] = "Program";
  m.anchors().emplace_back("x", "h2d_x", TensorInfo(DataType::F32, {2, 4}), TensorType::INPUT,
                           Anchor::Programs{5}, true);
  m.anchors().emplace_back("w", "", TensorInfo(DataType::S64, {}), TensorType::UNKNOWN,
                           Anchor::Programs{});
  m.anchors().emplace_back("fed", "h2d_fed", TensorInfo(DataType::F16, {3}), TensorType::INPUT,
                           Anchor::Programs{5});
  m.anchors().emplace_back("y", "d2h_y", TensorInfo(DataType::F8152, {1}), TensorType::OUTPUT,
                           Anchor::Programs{5});
  return m;
}

void write_sample(Writer& writer) {
  writer.write(sample_metadata());
  const std::string code = random_bytes(100000, 1), fed = random_bytes(12, 2);
  writer.createExecutable("model", true)->write(code.data(), code.size());
  writer.createOpaqueBlob("notes", "model")->write("free text", 9);
  writer.createTensorData({"w", TensorInfo(DataType::S64, {})}, "model")->write("8 bytes!", 8);
  const auto feed = writer.createFeedData({"fed", TensorInfo(DataType::F16, {3}), 2});
  feed->write(fed.data(), 5);
  feed->write(fed.data() + 5, 7);
  writer.close();
}

std::shared_ptr<Reader> sample_reader() {
  std::stringstream file;
  Writer writer(file);
  write_sample(writer);
  auto reader = std::make_shared<Reader>();
  reader->parseBytes(file.str().data(), file.str().size());
  return reader;
}

std::string text(std::istream& stream) {
  std::ostringstream all;
  all << stream.rdbuf();
  return all.str();
}

struct File {
  // Tests run side by side, each in a process of its own.
  std::string path = testing::TempDir() + "cpp_popef_" + std::to_string(getpid()) + ".popef";
  ~File() { std::remove(path.c_str()); }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return text(file);
  }
};

TEST(CppPopef, MetadataSurvivesARoundTrip) {
  const auto all = sample_reader()->metadata();
  ASSERT_EQ(all.size(), 1u);
  const Metadata& m = all[0];
  EXPECT_EQ(m.replicationFactor(), 2);
  EXPECT_EQ(m.numIpus(), 4);
  EXPECT_EQ(m.ipuVersion(), 21);
  EXPECT_TRUE(m.isPOD());
  EXPECT_EQ(m.numProcesses(), 3);
  EXPECT_FALSE(m.isInference());
  EXPECT_EQ(m.deviceIterations(), 7);
  EXPECT_EQ(m.executable(), "model");
  EXPECT_EQ(m.seedHandle(), "h2d_seed");
  ASSERT_EQ(m.engineOptions().size(), 2u);
  EXPECT_EQ(m.engineOptions()[1].name(), "a");
  EXPECT_EQ(m.engineOptions()[1].value(), "2");
  ASSERT_EQ(m.deviceOptions().size(), 1u);
  EXPECT_EQ(m.deviceOptions()[0].value(), "16");
  EXPECT_EQ(m.programFlow().load(), (ProgramFlow::Indices{0, 2}));
  EXPECT_EQ(m.programFlow().main(), ProgramFlow::Indices{5});
  EXPECT_EQ(m.programFlow().save(), ProgramFlow::Indices{7});
  EXPECT_EQ(m.programsMap(), (Metadata::ProgramsMap{{5, "Program"}}));
  ASSERT_EQ(m.anchors().size(), 4u);
  const Anchor& x = m.anchors()[0];
  EXPECT_EQ(x.name(), "x");
  EXPECT_EQ(x.handle(), "h2d_x");
  EXPECT_EQ(x.tensorInfo(), TensorInfo(DataType::F32, {2, 4}));
  EXPECT_EQ(x.tensorInfo().sizeInBytes(), 32u);
  EXPECT_EQ(x.type(), TensorType::INPUT);
  EXPECT_EQ(x.programs(), Anchor::Programs{5});
  EXPECT_TRUE(x.isPerReplica());
  EXPECT_EQ(m.anchors()[3].tensorInfo().dataType(), DataType::F8152);
}

TEST(CppPopef, BlobsOutliveTheirReader) {
  auto reader = sample_reader();
  const auto executables = reader->executables();
  const auto tensors = reader->tensors();
  const auto feeds = reader->feeds();
  const auto opaque = reader->opaqueBlobs();
  const Payload payload = tensors.at(0).payload();
  reader.reset();
  ASSERT_EQ(executables.size(), 1u);
  EXPECT_EQ(executables[0].name, "model");
  EXPECT_TRUE(executables[0].isCompressed());
  EXPECT_EQ(text(*executables[0].getStandaloneExecutableStream()), random_bytes(100000, 1));
  EXPECT_EQ(std::string(payload.data(), payload.size()), "8 bytes!");
  EXPECT_EQ(tensors[0].executable, "model");
  EXPECT_EQ(tensors[0].info.tensorInfo(), TensorInfo(DataType::S64, {}));
  ASSERT_EQ(feeds.size(), 1u);
  EXPECT_EQ(feeds[0].info.numTensors(), 2);
  EXPECT_EQ(text(*feeds[0].getStandaloneDataStream()), random_bytes(12, 2));
  ASSERT_EQ(opaque.size(), 1u);
  EXPECT_EQ(opaque[0].getAvailableReadSize(), 9u);
  const auto stream = opaque[0].getStandaloneDataStream();
  stream->seekg(5);
  EXPECT_EQ(text(*stream), "text");
  stream->clear();
  stream->seekg(-4, std::ios::end);
  EXPECT_EQ(stream->tellg(), std::streampos(5));
  stream->seekg(10);
  EXPECT_TRUE(stream->fail());
  char part[4];
  opaque[0].read(5, part, 4);
  EXPECT_EQ(std::memcmp(part, "text", 4), 0);
  EXPECT_THROW(opaque[0].read(6, part, 4), Error);
}

TEST(CppPopef, ReadersTakePartsOfStreams) {
  std::stringstream file;
  Writer writer(file);
  write_sample(writer);
  const std::string bytes = file.str();
  const auto inside = std::make_shared<std::stringstream>("before" + bytes + "behind");
  inside->seekg(6);
  Reader reader;
  reader.parseStream(inside, bytes.size());
  EXPECT_EQ(reader.executables().size(), 1u);
  EXPECT_EQ(inside->tellg(), std::streampos(static_cast<std::streamoff>(6 + bytes.size())));
  EXPECT_EQ(reader.warnings(), "");
  EXPECT_THROW(reader.parseStream(inside), Error);
  EXPECT_THROW(reader.parseFile("/no/such.popef"), Error);
  Reader whole;
  whole.parseStream(std::make_shared<std::stringstream>(bytes));
  EXPECT_EQ(whole.feeds().size(), 1u);
}

TEST(CppPopef, ModelsLinkWhatBelongsTogether) {
  const auto reader = sample_reader();
  const ModelBuilder builder(reader);
  const auto model = builder.createModel();
  EXPECT_EQ(model->metadata.executable(), "model");
  EXPECT_EQ(model->executable.name, "model");
  ASSERT_EQ(model->tensors.size(), 1u);
  ASSERT_EQ(model->feeds.size(), 1u);
  ASSERT_EQ(model->opaqueBlobs.size(), 1u);
  ASSERT_EQ(model->getUserInputAnchors().size(), 1u);
  EXPECT_EQ(model->getUserInputAnchors()[0].name(), "x");
  ASSERT_EQ(model->getUserOutputAnchors().size(), 1u);
  EXPECT_EQ(model->getUserOutputAnchors()[0].name(), "y");
  EXPECT_EQ(model->warnings(), "");
  EXPECT_EQ(builder.createModel("model")->feeds.size(), 1u);
  EXPECT_EQ(builder.createModels().size(), 1u);
  try {
    (void)builder.createModel("none");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
  }
}

TEST(CppPopef, FilesAppearWhenTheyAreClosed) {
  const File file;
  std::stringstream same;
  {
    FileWriter writer(file.path);
    write_sample(writer);
    Writer stream(same);
    write_sample(stream);
  }
  const std::string before = file.bytes();
  EXPECT_EQ(before, same.str());
  {
    FileWriter writer(file.path, FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("more", "model")->write("x", 1);
  }  // the end of the scope closes it
  EXPECT_EQ(file.bytes().substr(0, before.size()), before);
  Reader reader;
  reader.parseFile(file.path);
  EXPECT_EQ(reader.opaqueBlobs().size(), 2u);
}

TEST(CppPopef, AnExceptionLeavesTheOldFile) {
  const File file;
  {
    FileWriter writer(file.path);
    write_sample(writer);
  }
  const std::string before = file.bytes();
  try {
    FileWriter writer(file.path);
    const auto blob = writer.createOpaqueBlob("half", "model");
    blob->write("x", 1);
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(file.bytes(), before);
  FileWriter writer(file.path);
  const auto blob = writer.createTensorData({"t", TensorInfo(DataType::F32, {2})});
  blob->write("1234", 4);
  EXPECT_THROW(blob->close(), Error);
  EXPECT_THROW(writer.close(), Error);
  EXPECT_EQ(file.bytes(), before);
}

TEST(CppPopef, FeedsAreFilledSideBySide) {
  std::stringstream together, apart;
  const FeedDataInfo a("a", TensorInfo(DataType::U8, {2}), 2),
      b("b", TensorInfo(DataType::U8, {}), 2);
  Writer group(together);
  const auto feeds = group.createFeedGroup({a, b}, "model");
  for (const char* step : {"123", "456"}) {
    feeds->write(0, step, 2);
    feeds->write(1, step + 2, 1);
  }
  feeds->close();
  group.close();
  Writer single(apart);
  single.createFeedData(a, "model")->write("1245", 4);
  single.createFeedData(b, "model")->write("36", 2);
  single.close();
  EXPECT_EQ(together.str(), apart.str());
}

TEST(CppPopef, SizesAreChecked) {
  EXPECT_EQ(TensorInfo(DataType::F16, {0, 5}).sizeInBytes(), 0u);
  EXPECT_THROW((void)TensorInfo(DataType::F16, {-1}).sizeInBytes(), Error);
  EXPECT_THROW((void)TensorInfo(DataType::F64, {INT64_MAX, 2}).sizeInBytes(), Error);
  EXPECT_NE(TensorInfo(DataType::F32, {1}), TensorInfo(DataType::F32, {1, 1}));
}

}  // namespace
