// The checksums of blobs: every flipped bit is found, and files without checksums are still read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "core/popef/support.h"
#include "popef/dump.h"
#include "popef/error.h"
#include "popef/header.h"
#include "popef/model.h"

namespace poprt::popef {
namespace {

// The message of an exception, or an empty text.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const FormatError& e) {
    return e.what();
  }
  return "";
}

// Returns the error that a verification of the bytes finds, or "".
std::string fault(const std::string& bytes) {
  return refusal([&] {
    Reader reader;
    parse(reader, bytes);
    EXPECT_EQ(reader.verify(), 0u);
  });
}

TEST(Verify, AcceptsWrittenFiles) {
  for (const bool compress : {false, true}) EXPECT_EQ(fault(sample_file(compress)), "");
  const TemporaryFolder folder;
  {
    FileWriter writer(folder / "f");
    write_sample(writer);
  }
  {
    FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
    const std::string data = random_bytes(300'000);
    const auto group = writer.createFeedGroup(
        {{"a", TensorInfo(DataType::U8, {1000}), 300}, {"b", TensorInfo(DataType::U8, {}), 3}});
    group->write(1, "1", 1);
    for (size_t at = 0; at < data.size(); at += 1000) group->write(0, data.data() + at, 1000);
    group->write(1, "23", 2);
    writer.createExecutable("second", true)->write(data.data(), data.size());
  }
  Reader reader;
  reader.parseFile(folder / "f");
  EXPECT_EQ(reader.blobs().size(), 8u);
  EXPECT_EQ(reader.verify(), 0u);
  for (const BlobInfo& blob : reader.blobs()) EXPECT_TRUE(blob.checksums) << blob.name;
}

TEST(Verify, FindsEveryFlippedBitOfPayloadsAndHeads) {
  for (const bool compress : {false, true}) {
    const std::string file = sample_file(compress);
    Reader reader;
    parse(reader, file);
    std::vector<bool> covered(file.size());
    for (const BlobInfo& b : reader.blobs()) {
      std::fill_n(covered.begin() + static_cast<ptrdiff_t>(b.offset), b.head_bytes, true);
      std::fill_n(covered.begin() + static_cast<ptrdiff_t>(b.payload_offset), b.payload_bytes,
                  true);
    }
    EXPECT_GT(std::count(covered.begin(), covered.end(), true), 900);
    for (size_t at = 0; at < file.size(); at++) {
      if (!covered[at]) continue;
      for (int bit = 0; bit < 8; bit++) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        // A flip in the tag of the record hides the checksums, which is counted.
        std::string found;
        try {
          Reader again;
          parse(again, damaged);
          if (again.verify() != 0 || again.blobs().size() != reader.blobs().size()) found = "none";
        } catch (const Error& e) {
          found = e.what();
        }
        EXPECT_NE(found, "") << "byte " << at << " bit " << bit;
      }
    }
  }
}

// A checksum is the cause, and what the damaged bytes decode to is a consequence.
TEST(Verify, ADamagedMetadataBlobHasAWrongChecksum) {
  for (const bool compress : {false, true}) {
    const std::string file = sample_file(compress);
    Reader reader;
    parse(reader, file);
    int refused = 0;
    for (const BlobInfo& b : reader.blobs()) {
      if (b.type != BlobType::METADATA) continue;
      for (uint64_t at = 0; at < b.payload_bytes; at++) {
        std::string damaged = file;
        damaged[b.payload_offset + at] = static_cast<char>(damaged[b.payload_offset + at] ^ 0x55);
        const std::string found = refusal([&] {
          Reader again;
          parse(again, damaged);
        });
        if (found.empty()) continue;  // verify() finds the damage
        refused++;
        EXPECT_NE(found.find("is damaged: its payload has checksum 0x"), std::string::npos)
            << found;
      }
    }
    EXPECT_GT(refused, 10);
  }
}

TEST(Verify, NamesTheFileTheBlobAndTheChecksums) {
  const TemporaryFolder folder;
  std::string bytes = sample_file();
  const size_t at = bytes.find("12345678");
  bytes[at + 3] ^= 4;
  write_bytes(folder / "f", bytes);
  Reader reader;
  reader.parseFile(folder / "f");
  uint64_t offset = 0;
  for (const BlobInfo& b : reader.blobs())
    if (b.name == "w") offset = b.offset;
  const std::string error_text = refusal([&] { (void)reader.verify(); });
  EXPECT_EQ(error_text.substr(0, error_text.find("checksum ") + 11),
            fmt::format("'{}': DATA_TENSOR blob 'w' at offset {} is damaged: its payload has "
                        "checksum 0x",
                        folder / "f", offset));
  EXPECT_NE(error_text.find(", stored is 0x"), std::string::npos) << error_text;
  EXPECT_EQ(refusal([&] { dump(folder / "f", DumpFormat::verify); }), error_text);
  // Every other use of the file is as before.
  EXPECT_EQ(text_of(reader.tensors()[0].payload()), "12305678");
  for (const auto& e : reader.executables()) EXPECT_TRUE(e.verify());
}

TEST(Verify, WorksOnStreamsAndInPieces) {
  std::ostringstream out;
  const std::string data = random_bytes((3 << 20) + 17);
  {
    Writer writer(out);
    writer.createOpaqueBlob("o", "")->write(data.data(), data.size());
  }
  std::string bytes = out.str();
  EXPECT_EQ(fault(bytes), "");
  bytes[bytes.size() - 100] ^= 1;
  EXPECT_NE(fault(bytes), "");
}

TEST(Verify, AModelHasTheBlobsThatBelongToIt) {
  std::ostringstream out;
  {
    Writer writer(out);
    for (const char* name : {"one", "two"}) {
      write_sample(writer, name);
    }
  }
  std::string bytes = out.str();
  const size_t at = bytes.find("executable bytes of two");
  bytes[at] ^= 1;
  const auto reader = std::make_shared<Reader>();
  parse(*reader, bytes);
  const ModelBuilder builder(reader);
  EXPECT_EQ(builder.createModel("one")->verify(), 0u);
  EXPECT_NE(refusal([&] { (void)builder.createModel("two")->verify(); }), "");
  EXPECT_EQ(builder.createModel("one")->metadataBlobs.size(), 1u);
}

TEST(Verify, FilesOfVersion10HaveNone) {
  const std::string path = std::string(POPRT_TEST_DATA) + "/popef/v1_0.popef";
  Reader reader;
  reader.parseFile(path);
  EXPECT_EQ(reader.verify(), reader.blobs().size());
  EXPECT_NE(dump(path, DumpFormat::verify).find(", no blob has a checksum\n"), std::string::npos);
  const TemporaryFolder folder;
  write_bytes(folder / "f", file_bytes(path));
  {
    FileWriter writer(folder / "f", FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("new", "")->stream << "x";
  }
  Reader mixed;
  mixed.parseFile(folder / "f");
  EXPECT_EQ(mixed.verify(), reader.blobs().size());
  EXPECT_NE(dump(folder / "f", DumpFormat::verify).find(" without checksum, the others are right"),
            std::string::npos);
}

TEST(Verify, NamesThatLeaveNoSpaceForChecksumsAreRefused) {
  std::ostringstream out;
  Writer writer(out);
  const std::string longest(kMaxDescriptorBytes - 24, 'n');
  EXPECT_NO_THROW(writer.createOpaqueBlob(longest, "")->close());
  EXPECT_THROW(writer.createOpaqueBlob(longest + "1", ""), SizeError);
}

}  // namespace
}  // namespace poprt::popef
