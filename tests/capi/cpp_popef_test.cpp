// PopEF through the C++ layer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

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
  // Tests run at the same time in separate processes.
  std::string path = testing::TempDir() + "cpp_popef_" + std::to_string(getpid()) + ".popef";
  ~File() { std::remove(path.c_str()); }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return text(file);
  }
};

TEST(CppPopef, CopiesOfAReaderGoOnByThemselves) {
  const auto file = [](const char* name) {
    std::ostringstream out;
    Writer writer(out);
    Metadata metadata;
    metadata.setExecutable(name);
    writer.write(metadata);
    writer.createExecutable(name)->write("x", 1);
    writer.close();
    return out.str();
  };
  const std::string first = file("first"), second = file("second");
  Reader reader;
  reader.parseBytes(first.data(), first.size());
  Reader copy = reader;
  copy.parseBytes(second.data(), second.size());
  EXPECT_EQ(copy.executables().size(), 2u);
  ASSERT_EQ(reader.executables().size(), 1u);
  EXPECT_EQ(reader.executables()[0].name, "first");
  const auto model = ModelBuilder(std::make_shared<Reader>(reader)).createModel();
  EXPECT_EQ(model->metadata.executable(), "first");
  reader = copy;
  EXPECT_EQ(reader.metadata().size(), 2u);
}

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

TEST(CppPopef, EveryDataTypeIsKept) {
  const std::vector<std::pair<DataType, uint64_t>> types = {
      {DataType::BOOL, 1}, {DataType::F8, 1},    {DataType::F16, 2},  {DataType::F32, 4},
      {DataType::F64, 8},  {DataType::S8, 1},    {DataType::U8, 1},   {DataType::S16, 2},
      {DataType::U16, 2},  {DataType::S32, 4},   {DataType::U32, 4},  {DataType::S64, 8},
      {DataType::U64, 8},  {DataType::F8143, 1}, {DataType::F8152, 1}};
  std::stringstream file;
  Writer writer(file);
  Metadata m;
  for (size_t i = 0; i < types.size(); i++) {
    const TensorInfo info(types[i].first, {2});
    EXPECT_EQ(info.sizeInBytes(), 2 * types[i].second);
    m.anchors().emplace_back(std::to_string(i), "", info, TensorType::UNKNOWN, Anchor::Programs{});
    writer.createTensorData({std::to_string(i), info})
        ->write("0123456789abcdef", info.sizeInBytes());
  }
  writer.write(m);
  writer.close();
  Reader reader;
  reader.parseBytes(file.str().data(), file.str().size());
  ASSERT_EQ(reader.tensors().size(), types.size());
  for (size_t i = 0; i < types.size(); i++) {
    EXPECT_EQ(reader.tensors()[i].info.tensorInfo().dataType(), types[i].first);
    EXPECT_EQ(reader.metadata()[0].anchors()[i].tensorInfo().dataType(), types[i].first);
  }
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

TEST(CppPopef, PlainStreamsShareAPositionStandaloneOnesDoNot) {
  const auto reader = sample_reader();
  const OpaqueReader& opaque = reader->opaqueBlobs().at(0);
  OpaqueReader copy = opaque;
  char four[4];
  opaque.data.read(four, 4);
  EXPECT_EQ(std::string(four, 4), "free");
  EXPECT_EQ(copy.getAvailableReadSize(), 5u);
  EXPECT_EQ(text(copy.data), " text");
  EXPECT_EQ(opaque.getAvailableReadSize(), 0u);
  EXPECT_EQ(text(*opaque.getStandaloneDataStream()), "free text");
  copy = reader->opaqueBlobs().at(0);
  EXPECT_EQ(copy.getAvailableReadSize(), 0u) << "another copy of the same";

  // A compressed executable, front to back and by position.
  const ExecutableReader& executable = reader->executables().at(0);
  const std::string code = random_bytes(100000, 1);
  std::string part(777, ' ');
  executable.executable.seekg(0, std::ios::end);
  EXPECT_EQ(executable.executable.tellg(), std::streampos(100000));
  executable.executable.seekg(70000);
  executable.executable.read(part.data(), 777);
  EXPECT_EQ(part, code.substr(70000, 777));
  EXPECT_EQ(executable.executable.get(), static_cast<unsigned char>(code[70777]));
  executable.executable.seekg(-1, std::ios::end);
  EXPECT_EQ(text(executable.executable), code.substr(99999));
  EXPECT_EQ(text(*executable.getStandaloneExecutableStream()), code);
}

TEST(CppPopef, StreamsReadDataInPieces) {
  const std::string data = random_bytes(100000, 5);
  std::stringstream file;
  Writer writer(file);
  writer.createOpaqueBlob("o", "")->write(data.data(), data.size());
  writer.close();
  Reader reader;
  reader.parseBytes(file.str().data(), file.str().size());
  const auto stream = reader.opaqueBlobs().at(0).getStandaloneDataStream();
  std::mt19937 random(3);
  for (int i = 0; i < 50; i++) {
    const size_t at = random() % data.size(), n = random() % 40000;
    std::string piece(n, ' ');
    stream->clear();
    stream->seekg(static_cast<std::streamoff>(at));
    ASSERT_EQ(stream->get(), static_cast<unsigned char>(data[at]));
    stream->read(piece.data(), static_cast<std::streamsize>(n));
    piece.resize(static_cast<size_t>(stream->gcount()));
    ASSERT_EQ(piece, data.substr(at + 1, n));
    ASSERT_EQ(stream->eof(), at + 1 + n > data.size());
  }
}

TEST(CppPopef, ThreadsReadDifferentTensors) {
  std::stringstream file;
  Writer writer(file);
  for (unsigned i = 0; i < 2; i++)
    writer.createTensorData({std::to_string(i), TensorInfo(DataType::U8, {200000})})
        ->write(random_bytes(200000, i).data(), 200000);
  writer.close();
  auto reader = std::make_shared<Reader>();
  reader->parseStream(std::make_shared<std::stringstream>(file.str()));
  const auto tensors = reader->tensors();
  reader.reset();  // the tensors keep the stream alive
  std::string read[2];
  std::thread other([&] { read[1] = text(*tensors.at(1).getStandaloneDataStream()); });
  read[0] = text(*tensors.at(0).getStandaloneDataStream());
  other.join();
  for (unsigned i = 0; i < 2; i++) EXPECT_EQ(read[i], random_bytes(200000, i));
}

// Counts its calls.
class CountingBuffer : public std::stringbuf {
 public:
  using std::stringbuf::stringbuf;
  size_t given = 0;

 protected:
  std::streamsize xsgetn(char* to, std::streamsize n) override {
    given += static_cast<size_t>(n);
    return std::stringbuf::xsgetn(to, n);
  }
};

struct CountingStream : std::istream {
  explicit CountingStream(const std::string& bytes) : std::istream(nullptr), buffer(bytes) {
    rdbuf(&buffer);
    alive++;
  }
  ~CountingStream() override { alive--; }
  CountingBuffer buffer;
  static inline int alive = 0;
};

TEST(CppPopef, StreamsAreReadWhenPayloadsAre) {
  std::stringstream file;
  Writer writer(file);
  const std::string large = random_bytes(1 << 20, 4);
  writer.createOpaqueBlob("large", "")->write(large.data(), large.size());
  writer.createOpaqueBlob("small", "")->write("x", 1);
  writer.close();
  {
    const auto stream = std::make_shared<CountingStream>(file.str());
    Reader reader;
    reader.parseStream(stream);
    EXPECT_LT(stream->buffer.given, 4096u) << "headers only";
    char part[3];
    reader.opaqueBlobs().at(0).read(500000, part, 3);
    EXPECT_EQ(std::string(part, 3), large.substr(500000, 3));
    EXPECT_LT(stream->buffer.given, 4096u);
    EXPECT_EQ(reader.opaqueBlobs()[0].payload().size(), large.size());
    EXPECT_GT(stream->buffer.given, large.size());
  }
  EXPECT_EQ(CountingStream::alive, 0);
  EXPECT_THROW(Reader().parseStream(std::make_shared<CountingStream>(file.str().substr(1))), Error);
  EXPECT_EQ(CountingStream::alive, 0) << "after a failure, too";
}

TEST(CppPopef, FeedsHaveTensors) {
  const FeedReader feed = sample_reader()->feeds().at(0);
  const std::string all = random_bytes(12, 2);
  EXPECT_EQ(feed.tensor(0), std::vector<char>(all.begin(), all.begin() + 6));
  EXPECT_EQ(feed.tensor(1), std::vector<char>(all.begin() + 6, all.end()));
  EXPECT_THROW((void)feed.tensor(2), SizeError);
  EXPECT_THROW((void)feed.tensor(-1), SizeError);
}

TEST(CppPopef, BlobWritersAreStreams) {
  std::stringstream file;
  Writer writer(file);
  const auto first = writer.createExecutable("e");
  first->stream << "one " << 2 << std::flush;
  first->write(" three", 6);
  EXPECT_EQ(first->stream.tellp(), std::streampos(11));
  const auto second = writer.createOpaqueBlob("o", "e");
  EXPECT_THROW(first->stream << "x", InactiveWriterError);
  first->stream.clear();
  EXPECT_THROW(first->stream.put('x'), InactiveWriterError);
  second->stream << std::string(50000, 'o');
  writer.close();
  const auto reader = std::make_shared<Reader>();
  reader->parseStream(std::make_shared<std::stringstream>(file.str()));
  EXPECT_EQ(text(reader->executables().at(0).executable), "one 2 three");
  EXPECT_EQ(reader->opaqueBlobs().at(0).getAvailableReadSize(), 50000u);
}

TEST(CppPopef, EveryErrorClassIsThrown) {
  Reader reader;
  EXPECT_THROW(reader.parseFile("/no/such.popef"), FileError);
  EXPECT_THROW(FileWriter("/no/such/folder/f.popef"), FileError);
  EXPECT_THROW(reader.parseBytes("rubbish", 7), FormatError);
  std::stringstream file;
  {
    Writer writer(file);
    write_sample(writer);
    EXPECT_THROW(writer.createOpaqueBlob("late", ""), InactiveWriterError);
  }
  std::string newer = file.str();
  newer[6] = '9';  // "PopEF 9.0"
  EXPECT_THROW(reader.parseBytes(newer.data(), newer.size()), VersionError);
  const auto whole = sample_reader();
  EXPECT_THROW((void)ModelBuilder(whole).createModel("none"), LinkError);
  std::stringstream other;
  Writer writer(other);
  EXPECT_THROW(writer.createExecutable(""), LinkError);
  const auto blob = writer.createTensorData({"t", TensorInfo(DataType::F32, {2})});
  EXPECT_THROW(blob->write("123456789", 9), SizeError);
  try {
    reader.parseFile("/no/such.popef");
  } catch (const poprt::popef::Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
  }
  EXPECT_THROW(reader.parseFile("/no/such.popef"), std::runtime_error);
  // A damaged executable is detected when it is read.
  std::string damaged = file.str();
  for (size_t i = 4096; i < 4096 + 2000; i++) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
  Reader bad;
  bad.parseBytes(damaged.data(), damaged.size());
  EXPECT_THROW(bad.executables().at(0).executable.get(), FormatError);
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

// A stream that can only be read in order, like a pipe.
class Pipe : public std::streambuf {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {
    setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
  }

 private:
  std::string bytes_;
};

TEST(CppPopef, StreamsThatCannotSeekAreCopied) {
  std::stringstream file;
  Writer writer(file);
  write_sample(writer);
  const std::string bytes = file.str();
  ASSERT_GT(bytes.size(), 40000u) << "it is copied in parts";
  Pipe whole(bytes), part(bytes + "behind"), cut(bytes);
  Reader of_whole, of_part, of_cut;
  of_whole.parseStream(std::make_shared<std::istream>(&whole));
  const auto stream = std::make_shared<std::istream>(&part);
  of_part.parseStream(stream, bytes.size());
  EXPECT_EQ(text(*stream), "behind") << "only the announced bytes are read";
  for (const Reader* reader : {&of_whole, &of_part}) {
    ASSERT_EQ(reader->executables().size(), 1u);
    EXPECT_EQ(text(*reader->executables()[0].getStandaloneExecutableStream()),
              random_bytes(100000, 1));
  }
  try {
    of_cut.parseStream(std::make_shared<std::istream>(&cut), bytes.size() + 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& e) {
    const std::string sizes = "has " + std::to_string(bytes.size()) + " bytes, " +
                              std::to_string(bytes.size() + 1) + " were announced";
    EXPECT_NE(std::string(e.what()).find(sizes), std::string::npos) << e.what();
  }
}

TEST(CppPopef, ModelsLinkTheirBlobs) {
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

// An exception does not finish a blob, even if all of its data was written, because the file would
// lack the blobs that the exception prevented.
TEST(CppPopef, AnExceptionWhileABlobIsWrittenFailsTheWriter) {
  const File file;
  FileWriter writer(file.path);
  try {
    const auto blob = writer.createOpaqueBlob("half", "model");
    blob->write("x", 1);
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THROW(writer.close(), Error);
  EXPECT_FALSE(std::filesystem::exists(file.path));
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

// Two executables of one file have a tensor and a feed of one name each.
class Export : public ::testing::Test {
 protected:
  Export() {
    char name[] = "/tmp/poprt_export_XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream file(popef(), std::ios::binary);
    Writer writer(file);
    for (const char* executable : {"a", "b"}) {
      const char bytes[] = {executable[0], 'T', executable[0], 'F'};
      writer.createTensorData({"t", TensorInfo(DataType::U8, {2})}, executable)->write(bytes, 2);
      writer.createFeedData({"f", TensorInfo(DataType::U8, {2}), 1}, executable)
          ->write(bytes + 2, 2);
    }
    writer.close();
  }
  ~Export() override {
    std::remove(popef().c_str());
    std::remove(npy().c_str());
    rmdir(folder_.c_str());
  }
  std::string popef() const { return folder_ + "/m.popef"; }
  std::string npy() const { return folder_ + "/t.npy"; }
  std::string exported() const {
    std::ifstream file(npy(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str().substr(bytes.str().size() - 2);
  }
  static std::string message(poprt_error* error) {
    const std::string text = poprt_error_message(error);
    poprt_error_free(error);
    return text;
  }

 private:
  std::string folder_;
};

TEST_F(Export, UsesTheExecutableOrTheLastCompilation) {
  const std::string from = popef(), to = npy();
  EXPECT_EQ(message(poprt_popef_export_tensor(from.c_str(), "t", "a", to.c_str())), "");
  EXPECT_EQ(exported(), "aT");
  EXPECT_EQ(message(poprt_popef_export_tensor(from.c_str(), "t", "b", to.c_str())), "");
  EXPECT_EQ(exported(), "bT");
  EXPECT_EQ(message(poprt_popef_export_tensor(from.c_str(), "t", nullptr, to.c_str())), "");
  EXPECT_EQ(exported(), "bT");
  EXPECT_EQ(message(poprt_popef_export_feed(from.c_str(), "f", "a", to.c_str())), "");
  EXPECT_EQ(exported(), "aF");
  EXPECT_EQ(message(poprt_popef_export_feed(from.c_str(), "f", nullptr, to.c_str())), "");
  EXPECT_EQ(exported(), "bF");
  EXPECT_NE(message(poprt_popef_export_feed(from.c_str(), "f", "c", to.c_str())), "");
  EXPECT_NE(message(poprt_popef_export_feed(from.c_str(), "t", "a", to.c_str())), "");
  EXPECT_NE(message(poprt_popef_export_tensor(from.c_str(), "f", "a", to.c_str())), "");
}

TEST_F(Export, NullPointersAreNamed) {
  const std::string from = popef(), to = npy();
  for (const auto call : {poprt_popef_export_tensor, poprt_popef_export_feed}) {
    EXPECT_NE(message(call(nullptr, "t", "a", to.c_str())).find("'path' is null"),
              std::string::npos);
    EXPECT_NE(message(call(from.c_str(), nullptr, "a", to.c_str())).find("'name' is null"),
              std::string::npos);
    EXPECT_NE(message(call(from.c_str(), "t", "a", nullptr)).find("'npy_path' is null"),
              std::string::npos);
  }
}

}  // namespace
