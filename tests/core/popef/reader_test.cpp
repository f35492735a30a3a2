#include "popef/reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/header.h"
#include "support/allocation_counter.h"
#include "support/recorded_lines.h"

namespace poprt::popef {
namespace {

// Parses and touches everything, as a user would.
void read_everything(const std::string& bytes) {
  Reader reader;
  reader.parseMemory(std::as_bytes(std::span(bytes)), nullptr);
  for (const auto& e : reader.executables()) (void)e.payload();
  for (const auto& t : reader.tensors()) (void)t.payload();
  for (const auto& f : reader.feeds())
    if (f.info.numTensors() > 0) (void)f.tensor(f.info.numTensors() - 1);
  for (const auto& o : reader.opaqueBlobs()) (void)text_of(*o.getStandaloneDataStream());
}

TEST(Reader, AnyOrderOfBlobs) {
  const std::string file = sample_file();
  Reader reader;
  parse(reader, file);
  std::vector<std::string> pieces;
  for (const BlobInfo& b : reader.blobs()) pieces.push_back(file.substr(b.offset, b.size));
  ASSERT_EQ(pieces.size(), 5u);
  std::sort(pieces.begin(), pieces.end());
  do {
    std::string shuffled;
    for (const auto& p : pieces) shuffled += p;
    Reader other;
    parse(other, shuffled);
    ASSERT_EQ(other.blobs().size(), 5u);
    ASSERT_EQ(other.metadata().at(0), sample_metadata());
    ASSERT_EQ(text_of(other.executables().at(0).payload()), "executable bytes of model");
    ASSERT_EQ(text_of(other.tensors().at(0).payload()), "12345678");
  } while (std::next_permutation(pieces.begin(), pieces.end()));
}

TEST(Reader, SeveralFilesAccumulate) {
  const TemporaryFolder folder;
  {
    FileWriter executable(folder / "executable.popef");
    executable.write(sample_metadata());
    executable.createExecutable("model")->stream << "exe";
    FileWriter variables(folder / "variables.popef");
    variables.createTensorData({"w", TensorInfo(DataType::F16, {4})})->write("abcdefgh", 8);
  }
  Reader reader;
  reader.parseFile(folder / "executable.popef");
  reader.parseFile(folder / "variables.popef");
  EXPECT_EQ(reader.executables().size(), 1u);
  EXPECT_EQ(text_of(reader.tensors().at(0).payload()), "abcdefgh");
  EXPECT_EQ(reader.blobs().back().source, folder / "variables.popef");
}

TEST(Reader, AFailedParseAddsNoFile) {
  Reader reader;
  parse(reader, sample_file());
  EXPECT_THROW(parse(reader, sample_file()), LinkError);  // the same executable again
  const std::string file = sample_file();
  EXPECT_THROW(parse(reader, file.substr(0, file.size() - 1)), FormatError);
  EXPECT_EQ(reader.blobs().size(), 5u);
  EXPECT_EQ(reader.metadata().size(), 1u);
}

TEST(Reader, MissingFileNamesThePath) {
  Reader reader;
  try {
    reader.parseFile("/nonexistent/x.popef");
    FAIL();
  } catch (const FileError& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find("/nonexistent/x.popef"), std::string::npos);
  }
}

TEST(Reader, ErrorNamesFileAndOffset) {
  const TemporaryFolder folder;
  const std::string good = sample_file();
  write_bytes(folder / "f", good + "rubbish");
  Reader reader;
  try {
    reader.parseFile(folder / "f");
    FAIL();
  } catch (const FormatError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find(folder / "f"), std::string::npos) << what;
    EXPECT_NE(what.find(std::to_string(good.size())), std::string::npos) << what;
  }
}

TEST(Reader, EmptyFileIsRefused) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "");
  Reader reader;
  EXPECT_THROW(reader.parseFile(folder / "f"), FormatError);
}

TEST(Reader, StreamInsideALargerStream) {
  const std::string file = sample_file();
  const auto stream = std::make_shared<std::istringstream>("before" + file + "after");
  stream->seekg(6);
  Reader reader;
  reader.parseStream(stream, file.size());
  EXPECT_EQ(text_of(reader.executables().at(0).payload()), "executable bytes of model");
  const auto short_stream = std::make_shared<std::istringstream>(file);
  EXPECT_THROW(Reader().parseStream(short_stream, file.size() + 1), FileError);
  EXPECT_THROW(Reader().parseStream(nullptr), FileError);
}

class OneWayBuffer : public std::streambuf {
 public:
  explicit OneWayBuffer(std::string bytes) : bytes_(std::move(bytes)) {
    setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
  }

 private:
  std::string bytes_;
};

TEST(Reader, UnseekableStream) {
  OneWayBuffer buffer(sample_file());
  const auto stream = std::make_shared<std::istream>(&buffer);
  Reader reader;
  reader.parseStream(stream);
  EXPECT_EQ(reader.blobs().size(), 5u);
  EXPECT_EQ(text_of(reader.tensors().at(0).payload()), "12345678");
}

TEST(Reader, PlainStreamsSharePositionStandaloneOnesDoNot) {
  for (const bool mapped : {true, false}) {
    const TemporaryFolder folder;
    write_bytes(folder / "f", sample_file());
    Reader reader;
    if (mapped) {
      reader.parseFile(folder / "f");
    } else {
      parse(reader, sample_file());
    }
    const OpaqueReader& opaque = reader.opaqueBlobs().at(0);
    OpaqueReader copy = opaque;
    EXPECT_EQ(copy.getAvailableReadSize(), 9u);
    char four[4];
    opaque.data.read(four, 4);
    EXPECT_EQ(std::string_view(four, 4), "free");
    EXPECT_EQ(copy.getAvailableReadSize(), 5u);
    EXPECT_EQ(text_of(copy.data), " text");
    EXPECT_EQ(text_of(*opaque.getStandaloneDataStream()), "free text");
    const auto stream = opaque.getStandaloneDataStream();
    stream->seekg(0, std::ios::end);
    EXPECT_EQ(stream->tellg(), std::streampos(9));
    stream->seekg(-4, std::ios::end);
    EXPECT_EQ(text_of(*stream), "text");
    stream->clear();
    stream->seekg(10);
    EXPECT_TRUE(stream->fail());
  }
}

TEST(Reader, StreamsReadLargeDataInPieces) {
  const std::string data = random_bytes(100000);
  for (const bool compress : {false, true}) {
    std::ostringstream out;
    Writer writer(out);
    writer.createExecutable("e", compress)->write(data.data(), data.size());
    writer.close();
    Reader reader;
    parse(reader, out.str());
    const auto stream = reader.executables().at(0).getStandaloneExecutableStream();
    std::mt19937 random(3);
    for (int i = 0; i < 50; i++) {
      const size_t at = random() % data.size(), n = random() % 30000;
      std::string piece(n, '\0');
      stream->clear();
      stream->seekg(static_cast<std::streamoff>(at));
      EXPECT_EQ(stream->get(), static_cast<unsigned char>(data[at]));
      stream->read(piece.data(), static_cast<std::streamsize>(n));
      piece.resize(static_cast<size_t>(stream->gcount()));
      ASSERT_EQ(piece, data.substr(at + 1, n));
    }
  }
}

TEST(Reader, ThreadsReadDifferentBlobsOfOneStream) {
  std::ostringstream out;
  Writer writer(out);
  for (uint32_t i = 0; i < 4; i++) {
    const std::string data = random_bytes(200000, i);
    writer.createOpaqueBlob(std::to_string(i), "")->write(data.data(), data.size());
  }
  writer.close();
  Reader reader;
  parse(reader, out.str());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; i++)
    threads.emplace_back([&, i] {
      right +=
          text_of(*reader.opaqueBlobs()[i].getStandaloneDataStream()) == random_bytes(200000, i);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 4);
}

TEST(Reader, PayloadOutlivesTheReader) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", sample_file());
  Payload payload;
  {
    Reader reader;
    reader.parseFile(folder / "f");
    payload = reader.executables().at(0).payload();
  }
  EXPECT_EQ(text_of(payload), "executable bytes of model");
}

// Three bytes are enough to recognise an ONNX model.
TEST(Reader, ModelsThatAreNotCompiledAreNamed) {
  const auto message_for = [](std::string_view bytes) {
    try {
      Reader reader;
      parse(reader, std::string(bytes));
    } catch (const FormatError& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const std::string onnx = "an ONNX model, not a PopEF file: compile it first";
  EXPECT_NE(message_for(std::string_view("\x08\x07\x12", 3)).find(onnx), std::string::npos);
  EXPECT_NE(message_for(std::string_view("\x08\x3f\x12 and more", 12)).find(onnx),
            std::string::npos);
  for (const std::string_view other :
       {std::string_view("\x08\x07", 2), std::string_view("\x08\x40\x12", 3),
        std::string_view("\x08\0\x12", 3), std::string_view("\x09\x07\x12", 3),
        std::string_view("\x08\x07\x13", 3)})
    EXPECT_NE(message_for(other).find("truncated at offset 0: a blob header needs 64 bytes"),
              std::string::npos)
        << message_for(other);
}

TEST(Reader, PartsOfPayloadsAreCopied) {
  const std::string code = random_bytes(100000);
  for (const bool compress : {false, true}) {
    std::ostringstream out;
    Writer writer(out);
    writer.createExecutable("model", compress)->write(code.data(), code.size());
    writer.close();
    Reader reader;
    parse(reader, out.str());
    const ExecutableReader& executable = reader.executables().at(0);
    std::string part(100, ' ');
    const auto bytes = std::as_writable_bytes(std::span(part));
    for (const uint64_t offset : {uint64_t{70000}, uint64_t{3}, code.size() - 100}) {
      executable.read(offset, bytes);
      EXPECT_EQ(part, code.substr(offset, 100));
    }
    executable.read(code.size(), {});
    EXPECT_THROW(executable.read(code.size() - 99, bytes), SizeError);
    EXPECT_THROW(executable.read(UINT64_MAX, bytes), SizeError);
  }
}

TEST(Reader, UnknownBlobTypeIsSkippedWithAWarning) {
  BlobHeader h;
  h.type = 42;
  h.size = 128;
  const auto header = encode_header(h);
  std::string blob(128, '?');
  std::memcpy(blob.data(), header.data(), header.size());
  Reader reader;
  parse(reader, blob + sample_file());
  EXPECT_EQ(reader.blobs().size(), 5u);
  ASSERT_EQ(reader.warnings().size(), 1u);
}

TEST(Reader, MixedMinorVersionsAreRead) {
  std::string file = sample_file();
  file[8] = '9';  // "PopEF 1.9"
  Reader reader;
  parse(reader, file);
  EXPECT_EQ(reader.blobs()[0].minor, 9);
  EXPECT_EQ(reader.blobs()[1].minor, kMinor);
  file[6] = '2';
  EXPECT_THROW(parse(reader, file), VersionError);
}

TEST(Reader, HugeSparseFileIsIndexedWithoutReading) {
  const TemporaryFolder folder;
  const int64_t elements = int64_t{5} << 30;
  const TensorDataInfo info("w", TensorInfo(DataType::U8, {elements}));
  const auto records =
      encode_descriptor({.name = "w", .info = info.tensorInfo()}, BlobType::DATA_TENSOR, false);
  BlobHeader h;
  h.type = static_cast<uint32_t>(BlobType::DATA_TENSOR);
  h.descriptor_bytes = static_cast<uint32_t>(records.size());
  h.payload_offset = 192;
  h.payload_bytes = h.raw_bytes = static_cast<uint64_t>(elements);
  h.size = 192 + h.payload_bytes;
  const auto header = encode_header(h);
  {
    std::ofstream out(folder / "f", std::ios::binary);
    out.write(reinterpret_cast<const char*>(header.data()), header.size());
    out.write(reinterpret_cast<const char*>(records.data()),
              static_cast<std::streamsize>(records.size()));
  }
  std::filesystem::resize_file(folder / "f", h.size);
  {
    FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("last", "")->stream << "z";
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  Reader reader;
  reader.parseFile(folder / "f");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
  EXPECT_EQ(reader.tensors().at(0).size(), h.payload_bytes);
  EXPECT_EQ(text_of(reader.opaqueBlobs().at(0).payload()), "z");
  const auto stream = reader.tensors()[0].getStandaloneDataStream();
  stream->seekg(-1, std::ios::end);
  EXPECT_EQ(stream->get(), 0);
}

TEST(Reader, RefusalsOfReadsNameTheirNumbers) {
  Reader reader;
  parse(reader, sample_file());
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const SizeError& e) {
      return e.what();
    }
    return "taken";
  };
  std::byte bytes[8];
  EXPECT_EQ(refusal([&] { reader.opaqueBlobs().at(0).read(3, bytes); }),
            "blob 'notes' has 9 bytes, 8 from 3 on were requested");
  EXPECT_EQ(refusal([&] { reader.feeds().at(0).tensor(5); }),
            "feed 'x' has 2 tensors, number 5 was requested");
}

TEST(Reader, AFailedStreamHasNoBytesLeft) {
  Reader reader;
  parse(reader, sample_file());
  OpaqueReader blob = reader.opaqueBlobs().at(0);
  EXPECT_EQ(blob.getAvailableReadSize(), 9u);
  blob.data.setstate(std::ios::failbit);
  EXPECT_EQ(blob.getAvailableReadSize(), 0u);
}

TEST(Reader, AStreamOfDamagedCompressedDataThrows) {
  std::string file = sample_file(true);
  Reader whole;
  parse(whole, file);
  const uint64_t at = whole.executables().at(0).blob().payload_offset + 12;
  file[at] = static_cast<char>(~file[at]);
  Reader reader;
  parse(reader, file);
  const auto stream = reader.executables().at(0).getStandaloneExecutableStream();
  EXPECT_THROW(text_of(*stream), FormatError);
}

TEST(Reader, TruncatedAnywhereIsAnErrorOrAWholeFile) {
  const std::string file = sample_file();
  Reader whole;
  parse(whole, file);
  for (size_t n = 0; n < file.size(); n++) {
    const bool at_boundary =
        n != 0 && std::any_of(whole.blobs().begin(), whole.blobs().end(),
                              [&](const BlobInfo& b) { return b.offset == n; });
    try {
      read_everything(file.substr(0, n));
      ASSERT_TRUE(at_boundary) << n;
    } catch (const FormatError&) {
      ASSERT_FALSE(at_boundary) << n;
    }
  }
}

TEST(Reader, DamagedCompressedExecutableIsAFormatError) {
  std::ostringstream out;
  Writer writer(out);
  const std::string data = random_bytes(3000) + std::string(3000, 'x');
  writer.createExecutable("e", true)->write(data.data(), data.size());
  writer.close();
  Reader reader;
  parse(reader, out.str());
  const BlobInfo blob = reader.blobs().at(0);
  for (uint64_t i = 0; i < blob.payload_bytes; i += 7) {
    std::string broken = out.str();
    broken[blob.payload_offset + i] = static_cast<char>(broken[blob.payload_offset + i] ^ 0x55);
    EXPECT_THROW(read_everything(broken), FormatError) << i;
    Reader damaged;
    parse(damaged, broken);
    const auto stream = damaged.executables().at(0).getStandaloneExecutableStream();
    EXPECT_THROW(text_of(*stream), FormatError);
  }
}

// Many blobs without data, and metadata with many anchors and options: the valid content that needs
// most memory for each byte.
TEST(Reader, AllocationIsBoundedForManySmallThings) {
  std::ostringstream out;
  Writer writer(out);
  for (int i = 0; i < 500; i++) writer.createOpaqueBlob("o", "");
  Metadata m;
  for (int i = 0; i < 5000; i++) m.anchors().emplace_back().setName(std::to_string(i));
  m.engineOptions().assign(5000, Option("o", ""));
  writer.write(m);
  writer.close();
  const std::string file = out.str();
  const test::AllocationCounter counter;
  Reader reader;
  reader.parseMemory(std::as_bytes(std::span(file)), nullptr);
  EXPECT_LT(counter.bytes(), 64 * file.size() + (256 << 10));
  EXPECT_EQ(reader.metadata().at(0).anchors().size(), 5000u);
}

void mutate(bool compress, uint32_t seed, int rounds) {
  const std::string original = sample_file(compress);
  Reader whole;
  parse(whole, original);
  // Most of the file is padding: aim at headers, descriptors, metadata.
  std::vector<size_t> places;
  for (const BlobInfo& b : whole.blobs()) {
    for (size_t i = 0; i < 192; i++) places.push_back(b.offset + i);
    for (size_t i = 0; i < b.payload_bytes; i++) places.push_back(b.payload_offset + i);
  }
  std::mt19937 random(seed);
  std::string bytes;
  int accepted = 0;
  const auto check_bound = [&](uint64_t allocated) {
    ASSERT_LT(allocated, 64 * bytes.size() + (256 << 10));
  };
  for (int i = 0; i < rounds; i++) {
    bytes = original;
    for (unsigned k = 0; k <= random() % 4; k++) {
      const size_t at = places[random() % places.size()];
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
        default: {
          static constexpr uint64_t kNasty[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, 1 << 20};
          const uint64_t value = kNasty[random() % std::size(kNasty)];
          const size_t aligned = std::min(at & ~size_t{7}, bytes.size() - 8);
          std::memcpy(bytes.data() + aligned, &value, 8);
        }
      }
    }
    if (random() % 16 == 0) bytes.resize(random() % bytes.size());
    const test::AllocationCounter counter;
    try {
      Reader reader;
      reader.parseMemory(std::as_bytes(std::span(bytes)), nullptr);
    } catch (const Error&) {
    }
    check_bound(counter.bytes());
    try {
      read_everything(bytes);
      accepted++;
    } catch (const Error&) {
    }
  }
  EXPECT_LT(accepted, rounds);
  EXPECT_GT(accepted, 0);
}

TEST(Reader, MutatedFilesNeverCrash) { mutate(false, 1, 20000); }
TEST(Reader, MutatedCompressedFilesNeverCrash) { mutate(true, 2, 5000); }

// A lost check, or a check that refuses a valid file, changes a count.
TEST(Reader, RecordedAnswersToEveryByteChanged) {
  test::RecordedLines found;
  test::MessageCounts messages;
  // Without the checksums of metadata, which precede what its bytes decode to.
  std::string whole = sample_file();
  Reader complete;
  parse(complete, whole);
  for (const BlobInfo& b : complete.blobs()) {
    if (b.type != BlobType::METADATA) continue;
    // The last record has a tag, a length and two numbers of 4 bytes each.
    whole[b.offset + b.head_bytes - 16] = 99;
  }
  const auto answer = [&](const std::string& bytes) {
    try {
      Reader reader;
      parse(reader, bytes);
      messages.add(fmt::format("taken: {} metadata, {} executables, {} tensors, {} feeds",
                               reader.metadata().size(), reader.executables().size(),
                               reader.tensors().size(), reader.feeds().size()));
      for (const std::string& warning : reader.warnings()) messages.add("warning: " + warning);
    } catch (const Error& e) {
      messages.add(e.message());
    }
  };
  for (size_t n = 0; n < whole.size(); n++) {
    if (n >= 2048 && whole[n] == 0) continue;  // padding
    for (const int x : {0x01, 0x02, 0x08, 0x80}) {
      std::string bytes = whole;
      bytes[n] = static_cast<char>(bytes[n] ^ x);
      answer(bytes);
    }
  }
  for (size_t n = 0; n < whole.size(); n += 7) answer(whole.substr(0, n));
  messages.write(found["file"]);
  test::expect_recorded(found, POPRT_TEST_DATA "/popef_refusals.txt",
                        "Messages of the reader for damaged files: reader_test.cpp.");
}

}  // namespace
}  // namespace poprt::popef
