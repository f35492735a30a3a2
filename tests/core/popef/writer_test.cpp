#include "popef/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <sstream>

#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/header.h"

namespace poprt::popef {
namespace {

TEST(Writer, RoundTripOfEveryBlobType) {
  Reader reader;
  parse(reader, sample_file());
  ASSERT_EQ(reader.metadata().size(), 1u);
  EXPECT_EQ(reader.metadata()[0], sample_metadata());
  ASSERT_EQ(reader.executables().size(), 1u);
  EXPECT_EQ(reader.executables()[0].name, "model");
  EXPECT_EQ(text_of(reader.executables()[0].payload()), "executable bytes of model");
  ASSERT_EQ(reader.opaqueBlobs().size(), 1u);
  EXPECT_EQ(reader.opaqueBlobs()[0].name, "notes");
  EXPECT_EQ(reader.opaqueBlobs()[0].executable, "model");
  EXPECT_EQ(text_of(reader.opaqueBlobs()[0].payload()), "free text");
  ASSERT_EQ(reader.tensors().size(), 1u);
  EXPECT_EQ(reader.tensors()[0].info, TensorDataInfo("w", TensorInfo(DataType::F16, {4})));
  EXPECT_EQ(text_of(reader.tensors()[0].payload()), "12345678");
  ASSERT_EQ(reader.feeds().size(), 1u);
  EXPECT_EQ(reader.feeds()[0].info, FeedDataInfo("x", TensorInfo(DataType::F32, {2, 3}), 2));
  EXPECT_EQ(text_of(reader.feeds()[0].payload()), random_bytes(48));
  EXPECT_EQ(text_of(reader.feeds()[0].tensor(1)), random_bytes(48).substr(24));
  EXPECT_THROW((void)reader.feeds()[0].tensor(2), SizeError);
  EXPECT_TRUE(reader.warnings().empty());
}

TEST(Writer, RoundTripOfEveryDataType) {
  std::ostringstream out;
  Writer writer(out);
  for (uint32_t t = 0; t < kDataTypeCount; t++) {
    const TensorInfo info(static_cast<DataType>(t), {2, 3});
    const std::string data = random_bytes(info.sizeInBytes(), t);
    writer.createTensorData({std::to_string(t), info})->write(data.data(), data.size());
  }
  writer.createTensorData({"scalar", TensorInfo(DataType::S32, {})})->write("abcd", 4);
  writer.createTensorData({"empty", TensorInfo(DataType::S32, {0, 5})});
  writer.close();
  Reader reader;
  parse(reader, out.str());
  ASSERT_EQ(reader.tensors().size(), kDataTypeCount + 2);
  for (uint32_t t = 0; t < kDataTypeCount; t++) {
    const TensorReader& tensor = reader.tensors()[t];
    EXPECT_EQ(tensor.info.name(), std::to_string(t));
    EXPECT_EQ(tensor.info.tensorInfo(), TensorInfo(static_cast<DataType>(t), {2, 3}));
    EXPECT_EQ(text_of(tensor.payload()), random_bytes(tensor.size(), t));
  }
  EXPECT_EQ(reader.tensors()[15].size(), 4u);
  EXPECT_EQ(reader.tensors()[16].size(), 0u);
}

TEST(Writer, SameContentGivesSameBytes) { EXPECT_EQ(sample_file(), sample_file()); }

TEST(Writer, ExecutablePayloadIsAlignedToAPage) {
  const TemporaryFolder folder;
  FileWriter writer(folder / "a.popef");
  writer.write(sample_metadata());
  writer.createOpaqueBlob("o", "")->stream << "xyz";
  for (const char* name : {"one", "two"}) writer.createExecutable(name)->stream << name;
  writer.close();
  Reader reader;
  reader.parseFile(folder / "a.popef");
  for (const BlobInfo& blob : reader.blobs()) {
    EXPECT_EQ(blob.offset % kBlobAlignment, 0u);
    EXPECT_EQ(blob.payload_offset % kBlobAlignment, 0u);
  }
  for (const auto& executable : reader.executables()) {
    EXPECT_EQ(executable.blob().payload_offset % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(executable.payload().bytes.data()) % 4096, 0u);
  }
}

TEST(Writer, CompressedExecutableUnpacksToTheSameBytes) {
  std::string data = random_bytes(50000);
  data += std::string(300000, 'z') + data;
  std::ostringstream out;
  Writer writer(out);
  {
    const auto blob = writer.createExecutable("c", true);
    for (size_t i = 0; i < data.size(); i += 777) {
      const std::string piece = data.substr(i, 777);
      blob->stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    }
    EXPECT_EQ(blob->stream.tellp(), std::streampos(static_cast<std::streamoff>(data.size())));
  }
  writer.close();
  EXPECT_LT(out.str().size(), data.size() / 2);
  Reader reader;
  parse(reader, out.str());
  const ExecutableReader& executable = reader.executables().at(0);
  EXPECT_TRUE(executable.blob().compressed);
  EXPECT_EQ(executable.size(), data.size());
  EXPECT_EQ(text_of(executable.payload()), data);
  EXPECT_EQ(text_of(*executable.getStandaloneExecutableStream()), data);
}

TEST(Writer, HighlyCompressibleExecutableStaysWithinTheReadersLimit) {
  std::ostringstream out;
  Writer writer(out);
  const std::string zeros(1 << 20, '\0');
  {
    const auto blob = writer.createExecutable("zeros", true);
    for (int i = 0; i < 64; i++) blob->write(zeros.data(), zeros.size());
  }
  writer.close();
  Reader reader;
  parse(reader, out.str());
  const Payload payload = reader.executables().at(0).payload();
  EXPECT_EQ(payload.bytes.size(), 64u << 20);
  EXPECT_TRUE(std::all_of(payload.bytes.begin(), payload.bytes.end(),
                          [](std::byte b) { return b == std::byte(0); }));
}

TEST(Writer, NextBlobDeactivatesTheLastWriter) {
  std::ostringstream out;
  Writer writer(out);
  const auto first = writer.createOpaqueBlob("first", "");
  first->stream << "1";
  const auto second = writer.createOpaqueBlob("second", "");
  EXPECT_THROW(first->write("x", 1), InactiveWriterError);
  EXPECT_THROW(first->stream << "x", InactiveWriterError);
  first->close();
  second->stream << "2";
  writer.close();
  EXPECT_THROW(second->write("x", 1), InactiveWriterError);
  EXPECT_THROW(writer.createOpaqueBlob("third", ""), InactiveWriterError);
  writer.close();
  Reader reader;
  parse(reader, out.str());
  ASSERT_EQ(reader.opaqueBlobs().size(), 2u);
  EXPECT_EQ(text_of(reader.opaqueBlobs()[0].payload()), "1");
  EXPECT_EQ(text_of(reader.opaqueBlobs()[1].payload()), "2");
}

TEST(Writer, AStreamTakesNoCharacterAfterItsBlob) {
  std::ostringstream out;
  Writer writer(out);
  const auto first = writer.createOpaqueBlob("first", "");
  first->stream.put('1');
  writer.createOpaqueBlob("second", "");
  EXPECT_THROW(first->stream.put('x'), InactiveWriterError);
}

TEST(Writer, StreamsTellTheirPositionAndRefuseAnotherOne) {
  std::ostringstream out;
  Writer writer(out);
  const auto blob = writer.createOpaqueBlob("o", "");
  blob->stream << random_bytes(20'000) << "12";
  EXPECT_EQ(blob->stream.tellp(), 20'002);
  blob->stream.seekp(0);
  EXPECT_TRUE(blob->stream.fail());
  blob->stream.clear();
  blob->stream.seekp(1, std::ios_base::cur);
  EXPECT_TRUE(blob->stream.fail());
  blob->stream.clear();
  blob->stream.seekp(0, std::ios_base::end);
  EXPECT_TRUE(blob->stream.fail());
  blob->stream.clear();
  blob->stream.seekp(0, std::ios_base::cur);
  EXPECT_FALSE(blob->stream.fail());
}

TEST(Writer, GivingUpAClosedBlobHasNoEffect) {
  std::ostringstream out;
  Writer writer(out);
  const auto blob = writer.createOpaqueBlob("o", "");
  blob->stream << "text";
  blob->close();
  blob->abandon();
  writer.close();
  Reader reader;
  parse(reader, out.str());
  EXPECT_EQ(text_of(reader.opaqueBlobs().at(0).payload()), "text");
}

// The writer itself is outside of the scope that the exception ends.
TEST(Writer, AnExceptionThatEndsABlobEndsTheWriter) {
  std::ostringstream out;
  Writer writer(out);
  try {
    const auto blob = writer.createOpaqueBlob("notes", "");
    blob->stream << "half";
    throw std::logic_error("stop");
  } catch (const std::logic_error&) {
  }
  try {
    writer.close();
    FAIL() << "closed";
  } catch (const InactiveWriterError& e) {
    EXPECT_STREQ(e.what(),
                 "the PopEF writer has failed before: an exception ended the writing of blob "
                 "'notes'");
  }
}

TEST(Writer, BlobWriterOutlivesItsWriter) {
  std::shared_ptr<BlobWriter> blob;
  {
    std::ostringstream out;
    Writer writer(out);
    blob = writer.createOpaqueBlob("o", "");
  }
  EXPECT_THROW(blob->write("x", 1), InactiveWriterError);
}

TEST(Writer, TooMuchDataOfATensorIsCounted) {
  std::ostringstream out;
  Writer writer(out);
  const auto blob = writer.createTensorData({"t", TensorInfo(DataType::U8, {8})});
  blob->write("12345", 5);
  try {
    blob->write("67890", 5);
    FAIL() << "ten bytes";
  } catch (const SizeError& e) {
    EXPECT_STREQ(e.what(), "blob 't' takes 8 bytes of data, got 10");
  }
}

TEST(Writer, WrongTensorSizeThrows) {
  std::ostringstream out;
  {
    Writer writer(out);
    const auto blob = writer.createTensorData({"t", TensorInfo(DataType::F32, {2})});
    EXPECT_THROW(blob->write("123456789", 9), SizeError);
    EXPECT_THROW(writer.close(), InactiveWriterError);
  }
  {
    Writer writer(out);
    const auto blob = writer.createTensorData({"t", TensorInfo(DataType::F32, {2})});
    blob->write("1234567", 7);
    EXPECT_THROW(blob->close(), SizeError);
  }
  {
    Writer writer(out);
    writer.createTensorData({"t", TensorInfo(DataType::F32, {2})});  // no data, goes out of scope
    EXPECT_THROW(writer.close(), InactiveWriterError);
  }
}

TEST(Writer, NamesAreChecked) {
  std::ostringstream out;
  Writer writer(out);
  EXPECT_THROW(writer.createExecutable(""), LinkError);
  writer.createExecutable("a");
  EXPECT_THROW(writer.createExecutable("a"), LinkError);
  EXPECT_THROW(writer.createTensorData({"", TensorInfo(DataType::F32, {})}), LinkError);
  EXPECT_THROW(writer.createTensorData({"t", TensorInfo(DataType::F32, {-2})}), SizeError);
  EXPECT_THROW(writer.createOpaqueBlob(std::string((1 << 20) + 1, 'n'), ""), SizeError);
  writer.close();
  Reader reader;
  parse(reader, out.str());
  EXPECT_EQ(reader.blobs().size(), 1u);
}

// A stream that accepts all bytes but cannot seek.
class WriterPipe : public std::streambuf {
 public:
  std::string bytes;

 protected:
  int_type overflow(int_type c) override {
    bytes.push_back(traits_type::to_char_type(c));
    return c;
  }
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    bytes.append(s, static_cast<size_t>(n));
    return n;
  }
};

TEST(Writer, UnseekableStreamGetsTheSameBytes) {
  WriterPipe pipe;
  std::ostream stream(&pipe);
  Writer writer(stream);
  write_sample(writer);
  writer.close();
  EXPECT_EQ(pipe.bytes, sample_file());
}

TEST(Writer, AStreamThatHasFailedIsRefused) {
  std::ostringstream out;
  out.setstate(std::ios::failbit);
  try {
    Writer writer(out);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& e) {
    EXPECT_EQ(e.code(), ErrorCode::resource_exhausted);
    EXPECT_STREQ(e.what(), "cannot write PopEF: the stream failed after 0 bytes");
  }
  EXPECT_TRUE(out.fail());
}

// A stream whose device fails when it is flushed.
class FailingFlush final : public std::stringbuf {
 public:
  int flushes = 0;

 private:
  int sync() override {
    flushes++;
    return -1;
  }
};

TEST(Writer, ClosingFlushesTheStream) {
  FailingFlush buffer;
  std::ostream out(&buffer);
  Writer writer(out);
  writer.createOpaqueBlob("o", "")->close();
  EXPECT_THROW(writer.close(), FileError);
  EXPECT_EQ(buffer.flushes, 1);
  EXPECT_THROW(writer.close(), InactiveWriterError) << "it has failed";
}

TEST(Writer, SingleCharactersAndFlushesGiveTheSameBytes) {
  const std::string text = random_bytes(40'000);
  std::ostringstream out;
  Writer writer(out);
  const auto blob = writer.createOpaqueBlob("o", "");
  for (size_t i = 0; i < text.size(); i++) {
    blob->stream.put(text[i]);
    if (i % 999 == 0) blob->stream.flush();
  }
  EXPECT_EQ(blob->stream.tellp(), 40'000);
  writer.close();
  EXPECT_THROW(blob->stream.flush(), InactiveWriterError);
  EXPECT_THROW(writer.reserve(1), InactiveWriterError);
  Reader reader;
  parse(reader, out.str());
  EXPECT_TRUE(text_of(reader.opaqueBlobs().at(0).payload()) == text);
}

TEST(Writer, StartsAtTheStreamsPosition) {
  std::ostringstream out;
  out << "prefix";
  Writer writer(out);
  write_sample(writer);
  writer.close();
  EXPECT_EQ(out.str(), "prefix" + sample_file());
}

TEST(FileWriter, FileAppearsOnlyWithClose) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "old");
  {
    FileWriter writer(folder / "f");
    write_sample(writer);
    EXPECT_EQ(file_bytes(folder / "f"), "old");
    writer.close();
  }
  EXPECT_EQ(file_bytes(folder / "f"), sample_file());
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FileWriter, RewrittenMetadataIsAsIfItWereWrittenFirst) {
  const TemporaryFolder folder;
  const auto metadata = [](const std::string& value) {
    Metadata m = sample_metadata();
    m.engineOptions() = {Option("late", value)};
    return m;
  };
  FileWriter writer(folder / "late");
  EXPECT_THROW(writer.rewrite(metadata("none")), SizeError);
  writer.write(metadata("0000"));
  writer.createOpaqueBlob("notes", "model")->write("text", 4);
  EXPECT_THROW(writer.rewrite(metadata(std::string(200, 'l'))), SizeError);
  Metadata refused = metadata("late");
  refused.engineOptions() = {Option("", "an option without a name")};
  EXPECT_THROW(writer.write(refused), LinkError);
  writer.rewrite(metadata("abcd"));
  writer.createExecutable("model")->write("bytes", 5);
  writer.close();
  FileWriter expected(folder / "early");
  expected.write(metadata("abcd"));
  expected.createOpaqueBlob("notes", "model")->write("text", 4);
  expected.createExecutable("model")->write("bytes", 5);
  expected.close();
  EXPECT_EQ(file_bytes(folder / "late"), file_bytes(folder / "early"));

  FileWriter append(folder / "late", FileWriter::Mode::APPEND);
  append.write(metadata("0000"));
  EXPECT_THROW(append.rewrite(metadata("abcd")), SizeError);
}

TEST(FileWriter, MetadataAfterOtherBlobsCanBeRewritten) {
  const TemporaryFolder folder;
  const auto metadata = [](const std::string& value) {
    Metadata m = sample_metadata();
    m.engineOptions() = {Option("late", value)};
    return m;
  };
  FileWriter writer(folder / "f");
  writer.createOpaqueBlob("notes", "model")->write("text", 4);
  writer.write(metadata("0000"));
  writer.createExecutable("model")->write("bytes", 5);
  writer.rewrite(metadata("abcd"));
  try {
    writer.rewrite(metadata(std::string(2000, 'l')));
    FAIL() << "another size";
  } catch (const SizeError& e) {
    const std::string message = e.what();
    EXPECT_TRUE(message.starts_with("metadata of 2")) << message;
    EXPECT_TRUE(message.ends_with(" bytes")) << message;
  }
  writer.close();
  EXPECT_THROW(writer.rewrite(metadata("late")), InactiveWriterError);
  Reader reader;
  reader.parseFile(folder / "f");
  EXPECT_EQ(reader.verify(), 0u);
  EXPECT_EQ(text_of(reader.opaqueBlobs().at(0).payload()), "text");
  EXPECT_EQ(reader.metadata().at(0).engineOptions().at(0).value(), "abcd");
}

TEST(FileWriter, ScopeEndFinishesTheFile) {
  const TemporaryFolder folder;
  {
    FileWriter writer(folder / "f");
    write_sample(writer);
  }
  EXPECT_EQ(file_bytes(folder / "f"), sample_file());
}

TEST(FileWriter, ExceptionInABlobLeavesTheOldFile) {
  const TemporaryFolder folder;
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    write_bytes(folder / "f", sample_file());
    try {
      FileWriter writer(folder / "f", mode);
      writer.write(sample_metadata("other"));
      const auto blob = writer.createExecutable("other");
      blob->stream << random_bytes(100000);
      throw std::logic_error("stop");
    } catch (const std::logic_error&) {
    }
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(FileWriter, ExceptionBetweenBlobsLeavesTheOldFile) {
  const TemporaryFolder folder;
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    write_bytes(folder / "f", sample_file());
    try {
      FileWriter writer(folder / "f", mode);
      writer.createOpaqueBlob("other", "")->close();
      throw std::logic_error("stop");
    } catch (const std::logic_error&) {
    }
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(FileWriter, GivingUpLeavesTheOldFile) {
  const TemporaryFolder folder;
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    write_bytes(folder / "f", sample_file());
    std::shared_ptr<BlobWriter> blob;
    {
      FileWriter writer(folder / "f", mode);
      blob = writer.createOpaqueBlob("other", "");
      blob->write("x", 1);
      writer.abandon();
      EXPECT_THROW(writer.close(), InactiveWriterError);
    }
    EXPECT_THROW(blob->write("x", 1), InactiveWriterError);
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
    FileWriter writer(folder / "f", mode);
    blob = writer.createOpaqueBlob("other", "");
    blob->abandon();
    EXPECT_THROW(writer.createOpaqueBlob("more", ""), InactiveWriterError);
    EXPECT_THROW(writer.close(), InactiveWriterError);
  }
  FileWriter writer(folder / "f");
  write_sample(writer);
  writer.close();
  writer.abandon();  // too late
  EXPECT_EQ(file_bytes(folder / "f"), sample_file());
}

TEST(FileWriter, WrongSizeLeavesTheOldFile) {
  const TemporaryFolder folder;
  for (const auto mode : {FileWriter::Mode::TRUNCATE, FileWriter::Mode::APPEND}) {
    write_bytes(folder / "f", sample_file());
    {
      FileWriter writer(folder / "f", mode);
      writer.createTensorData({"t", TensorInfo(DataType::F32, {2})})->write("1", 1);
    }
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(FileWriter, AppendKeepsOldBlobsByteForByte) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", sample_file());
  FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
  writer.createOpaqueBlob("more", "model")->stream << "appended";
  EXPECT_THROW(writer.createExecutable("model"), LinkError);
  writer.createExecutable("second")->stream << "second";
  writer.close();
  const std::string bytes = file_bytes(folder / "f");
  EXPECT_EQ(bytes.substr(0, sample_file().size()), sample_file());
  Reader reader;
  reader.parseFile(folder / "f");
  ASSERT_EQ(reader.opaqueBlobs().size(), 2u);
  EXPECT_EQ(text_of(reader.opaqueBlobs()[1].payload()), "appended");
  ASSERT_EQ(reader.executables().size(), 2u);
  EXPECT_EQ(reader.executables()[1].blob().payload_offset % 4096, 0u);
}

// A write stops at the limit; the write of the remaining bytes is above the limit and fails. It
// must not overwrite the bytes before it.
TEST(FileWriter, AppendOverTheLimitOfFilesLeavesTheOldFile) {
  const TemporaryFolder folder;
  for (const size_t room : {10u, 100000u}) {  // a part of the first header, and of the payload
    write_bytes(folder / "f", sample_file());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto signalled = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = sample_file().size() + room;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    std::optional<ErrorCode> code;
    try {
      FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
      const std::string bytes = random_bytes(1 << 18);
      writer.createOpaqueBlob("more", "")->write(bytes.data(), bytes.size());
      writer.close();
    } catch (const FileError& e) {
      code = e.code();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, signalled);
    EXPECT_EQ(code, ErrorCode::resource_exhausted);
    EXPECT_EQ(file_bytes(folder / "f"), sample_file());
  }
}

TEST(FileWriter, AppendMakesANewFile) {
  const TemporaryFolder folder;
  FileWriter writer(folder / "new", FileWriter::Mode::APPEND);
  write_sample(writer);
  writer.close();
  EXPECT_EQ(file_bytes(folder / "new"), sample_file());
}

TEST(FileWriter, AppendToSomethingElseIsRefused) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "not a PopEF file");
  EXPECT_THROW(FileWriter(folder / "f", FileWriter::Mode::APPEND), FormatError);
  EXPECT_EQ(file_bytes(folder / "f"), "not a PopEF file");
}

TEST(FileWriter, MissingFolderIsAFileError) {
  const TemporaryFolder folder;
  try {
    FileWriter writer(folder / "none/f");
    FAIL();
  } catch (const FileError& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find("none/f"), std::string::npos);
  }
}

TEST(FileWriter, FullDiskIsAFileError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  std::ofstream full("/dev/full", std::ios::binary);
  Writer writer(full);
  EXPECT_THROW(
      {
        writer.createOpaqueBlob("o", "")->stream << random_bytes(1 << 20);
        writer.close();
      },
      Error);
}

// A stream that accepts exactly this number of bytes.
class FullDevice : public std::streambuf {
 public:
  explicit FullDevice(size_t room) : room_(room) {}

 protected:
  std::streamsize xsputn(const char*, std::streamsize count) override {
    if (static_cast<size_t>(count) > room_) return 0;
    room_ -= static_cast<size_t>(count);
    return count;
  }
  int overflow(int c) override { return xsputn("", 1) == 1 ? c : traits_type::eof(); }

 private:
  size_t room_;
};

TEST(Writer, BeginsNoBlobAfterAFailureOfTheStream) {
  const size_t size = sample_file().size();
  size_t failed = 0;
  for (size_t room = 0; room < size; room += 64) {
    SCOPED_TRACE(room);
    FullDevice full(room);
    std::ostream stream(&full);
    Writer writer(stream);
    bool creating = true;
    try {
      writer.write(sample_metadata());
      writer.createOpaqueBlob("notes", "");
      creating = false;
      continue;  // the rest is about creating
    } catch (const FileError&) {
    }
    ASSERT_TRUE(creating);
    failed++;
    try {
      writer.createOpaqueBlob("later", "");
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InactiveWriterError& e) {
      EXPECT_NE(std::string(e.what()).find("has failed before"), std::string::npos) << e.what();
    } catch (const FileError&) {
      ADD_FAILURE() << "the stream was tried again";
    }
  }
  EXPECT_GT(failed, 1u);
}

}  // namespace
}  // namespace poprt::popef
