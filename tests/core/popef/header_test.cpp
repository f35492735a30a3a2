#include "popef/header.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "popef/error.h"

namespace poprt::popef {
namespace {

BlobHeader valid() {
  BlobHeader h;
  h.type = static_cast<uint32_t>(BlobType::OPAQUE);
  h.size = 192;
  h.descriptor_bytes = 16;
  h.payload_offset = 128;
  h.payload_bytes = h.raw_bytes = 9;
  return h;
}

BlobHeader decode(const BlobHeader& h, uint64_t available = 192) {
  return decode_header(encode_header(h), 4096, available);
}

TEST(Header, BytesMatchTheFormatPage) {
  const auto bytes = encode_header(valid());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), 10);
  EXPECT_EQ(text, std::string_view("PopEF 1.1\0", 10));
  EXPECT_EQ(static_cast<int>(bytes[16]), 5);
  EXPECT_EQ(static_cast<int>(bytes[24]), 192);
  EXPECT_EQ(static_cast<int>(bytes[32]), 64);
  EXPECT_EQ(static_cast<int>(bytes[36]), 16);
  EXPECT_EQ(static_cast<int>(bytes[40]), 128);
  EXPECT_EQ(static_cast<int>(bytes[48]), 9);
  EXPECT_EQ(static_cast<int>(bytes[56]), 9);
}

TEST(Header, RoundTrip) {
  const BlobHeader h = decode(valid());
  EXPECT_EQ(h.type, 5u);
  EXPECT_EQ(h.size, 192u);
  EXPECT_EQ(h.payload_offset, 128u);
  EXPECT_EQ(h.payload_bytes, 9u);
}

TEST(Header, NewerMinorIsReadNewerMajorRefused) {
  BlobHeader h = valid();
  h.minor = 7;
  EXPECT_EQ(decode(h).minor, 7);
  h.major = 2;
  try {
    decode(h);
    FAIL();
  } catch (const VersionError& e) {
    EXPECT_NE(std::string(e.what()).find("4096"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("2.7"), std::string::npos) << e.what();
  }
}

TEST(Header, SomethingElseIsAFormatError) {
  std::array<std::byte, kHeaderBytes> bytes{};
  EXPECT_THROW(decode_header(bytes, 0, 64), FormatError);
  for (const char* version : {"PopEF", "PopEF 1", "PopEF .0", "PopEF 1.", "PopEF 1.0x",
                              "PopEF -1.0", "PopEF 99999999.0", "popef 1.0"}) {
    bytes = encode_header(valid());
    std::memset(bytes.data(), 0, 16);
    std::memcpy(bytes.data(), version, strlen(version));
    EXPECT_THROW(decode_header(bytes, 0, 192), FormatError) << version;
  }
}

TEST(Header, ContradictionsAreFormatErrors) {
  const auto refused = [](auto change, uint64_t available = 192) {
    BlobHeader h = valid();
    change(h);
    EXPECT_THROW(decode(h, available), FormatError);
  };
  refused([](BlobHeader&) {}, 191);
  refused([](BlobHeader&) {}, 63);
  refused([](BlobHeader& h) { h.size = 0; });
  refused([](BlobHeader& h) { h.size = 130; });
  refused([](BlobHeader& h) { h.size = ~uint64_t{63}; });
  refused([](BlobHeader& h) { h.header_bytes = 63; });
  refused([](BlobHeader& h) { h.header_bytes = ~0u; });
  refused([](BlobHeader& h) { h.descriptor_bytes = 65; });
  refused([](BlobHeader& h) { h.descriptor_bytes = ~0u; });
  refused([](BlobHeader& h) { h.payload_offset = 193; });
  refused([](BlobHeader& h) { h.payload_offset = ~uint64_t{0}; });
  refused([](BlobHeader& h) { h.payload_bytes = h.raw_bytes = 65; });
  refused([](BlobHeader& h) { h.payload_bytes = h.raw_bytes = ~uint64_t{0} - 100; });
  refused([](BlobHeader& h) { h.raw_bytes = 10; });
  refused([](BlobHeader& h) { h.flags = kFlagCompressed; });
  refused([](BlobHeader& h) {
    h.type = static_cast<uint32_t>(BlobType::POPLAR_EXECUTABLE);
    h.flags = kFlagCompressed;
    h.raw_bytes = uint64_t{1} << 40;
  });
}

// The message for a header, after its offset; empty for a valid one.
std::string header_message(const std::function<void(BlobHeader&)>& change,
                           uint64_t available = 192) {
  BlobHeader h = valid();
  change(h);
  try {
    decode(h, available);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(Header, RefusesInvalidHeaders) {
  const std::string blob = "OPAQUE blob at offset 4096";
  EXPECT_EQ(header_message([](BlobHeader&) {}), "");
  EXPECT_EQ(header_message([](BlobHeader&) {}, 63),
            "truncated at offset 4096: a blob header needs 64 bytes, 63 are left");
  EXPECT_EQ(header_message([](BlobHeader&) {}, 191),
            "truncated: blob at offset 4096 has 192 bytes, 191 are left");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.size = 130; }),
            "blob at offset 4096: size 130 is not a multiple of 64");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.size = 0; }),
            "blob at offset 4096: size 0 is below the 64 bytes of a header");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.major = 2, h.minor = 7; }),
            "blob at offset 4096 has PopEF version 2.7, this library reads version 1; update the "
            "library");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.major = 0, h.minor = 9; }),
            "blob at offset 4096 has PopEF version 0.9, this library reads version 1; write the "
            "file again");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.flags = 0x18; }),
            blob + " needs features 0x18 of a newer library");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.descriptor_bytes = 65; }),
            blob + ": header 64, descriptor 65, payload 128 + 9 do not fit in its 192 bytes");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.payload_bytes = h.raw_bytes = 65; }),
            blob + ": header 64, descriptor 16, payload 128 + 65 do not fit in its 192 bytes");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.descriptor_bytes = (1 << 20) + 1; }),
            blob + ": descriptor of 1048577 bytes, at most 1048576");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.raw_bytes = 10; }),
            blob + ": 10 bytes stored as 9 without compression");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.flags = kFlagCompressed; }),
            blob + ": only executables may be compressed");
}

TEST(Header, PartsMayFillTheBlob) {
  EXPECT_EQ(header_message([](BlobHeader& h) { h.payload_bytes = h.raw_bytes = 64; }), "");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.descriptor_bytes = 64; }), "");
  EXPECT_EQ(header_message([](BlobHeader& h) { h.header_bytes = 112; }), "");
  EXPECT_NE(header_message([](BlobHeader& h) { h.header_bytes = 113; }), "");
  EXPECT_EQ(header_message(
                [](BlobHeader& h) { h.payload_offset = 192, h.payload_bytes = h.raw_bytes = 0; }),
            "");
  const auto large = [](uint32_t descriptor) {
    return header_message(
        [&](BlobHeader& h) {
          h.descriptor_bytes = descriptor;
          h.payload_offset = (1 << 20) + 128;
          h.size = (1 << 20) + 192;
        },
        (1 << 20) + 192);
  };
  EXPECT_EQ(large(1 << 20), "");
  EXPECT_NE(large((1 << 20) + 1), "");
  EXPECT_EQ(header_message([](BlobHeader& h) {
              h.size = 64, h.descriptor_bytes = 0, h.payload_offset = 64;
              h.payload_bytes = h.raw_bytes = 0;
            }),
            "");
}

TEST(Header, CompressionHasALimit) {
  const auto with = [](uint64_t raw) {
    return header_message([raw](BlobHeader& h) {
      h.type = static_cast<uint32_t>(BlobType::POPLAR_EXECUTABLE);
      h.flags = kFlagCompressed;
      h.payload_bytes = 9;
      h.raw_bytes = raw;
    });
  };
  EXPECT_EQ(with(0), "");
  EXPECT_EQ(with(9 * kMaxCompressionRatio + kMaxCompressionRatio - 1), "");
  EXPECT_EQ(with(10 * kMaxCompressionRatio),
            fmt::format("POPLAR_EXECUTABLE blob at offset 4096: {} bytes compressed to 9, more "
                        "than {} to 1",
                        10 * kMaxCompressionRatio, kMaxCompressionRatio));
}

TEST(Header, UnknownFlagsThatMatterNeedANewerLibrary) {
  BlobHeader h = valid();
  h.flags = 1u << 20;
  EXPECT_NO_THROW(decode(h));
  h.flags = 1u << 3;
  EXPECT_THROW(decode(h), VersionError);
}

TEST(Header, UnknownTypeOnlyNeedsASize) {
  BlobHeader h = valid();
  h.type = 77;
  h.payload_offset = 1 << 30;
  h.flags = 8;
  EXPECT_FALSE(decode(h).known_type());
}

TEST(Descriptor, RoundTripPerType) {
  const Descriptor d{"name", "exe", TensorInfo(DataType::U16, {3, 0, 5}), 4};
  BlobHeader h = valid();
  h.type = static_cast<uint32_t>(BlobType::DATA_FEED);
  h.payload_bytes = 0;
  const Descriptor feed = decode_descriptor(encode_descriptor(d, BlobType::DATA_FEED, false), h, 0);
  EXPECT_EQ(feed.name, "name");
  EXPECT_EQ(feed.executable, "exe");
  EXPECT_EQ(feed.info, d.info);
  EXPECT_EQ(feed.num_tensors, 4u);
  h.type = static_cast<uint32_t>(BlobType::OPAQUE);
  const Descriptor opaque = decode_descriptor(encode_descriptor(d, BlobType::OPAQUE, false), h, 0);
  EXPECT_EQ(opaque.name, "name");
  EXPECT_EQ(opaque.executable, "exe");
  EXPECT_TRUE(encode_descriptor(d, BlobType::METADATA, false).empty());
}

TEST(Descriptor, UnknownRecordsAreSkipped) {
  auto bytes = encode_descriptor({.name = "n"}, BlobType::OPAQUE, false);
  const uint8_t extra[16] = {0x39, 0x30, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
  const auto more = std::as_bytes(std::span(extra));
  bytes.insert(bytes.end(), more.begin(), more.end());
  EXPECT_EQ(decode_descriptor(bytes, valid(), 0).name, "n");
}

TEST(Descriptor, BrokenRecordsAreFormatErrors) {
  const auto good = encode_descriptor({.name = "n"}, BlobType::OPAQUE, false);
  for (size_t cut = 1; cut < good.size(); cut++)
    EXPECT_THROW(decode_descriptor(std::span(good).first(cut), valid(), 0), FormatError) << cut;
  EXPECT_THROW(decode_descriptor({}, valid(), 0), FormatError);
  auto twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  EXPECT_THROW(decode_descriptor(twice, valid(), 0), FormatError);
}

// Messages for records whose values have other sizes or are missing.
TEST(Descriptor, ErrorsNameTheRecord) {
  const auto record = [](uint16_t tag, std::vector<uint8_t> value) {
    std::vector<std::byte> bytes(8 + (value.size() + 7) / 8 * 8);
    const auto length = static_cast<uint32_t>(value.size());
    std::memcpy(bytes.data(), &tag, 2);
    std::memcpy(bytes.data() + 4, &length, 4);
    if (!value.empty()) std::memcpy(bytes.data() + 8, value.data(), value.size());
    return bytes;
  };
  using Records = std::vector<std::vector<std::byte>>;
  const auto of = [](BlobType type, const Records& records, uint32_t flags = 0) -> std::string {
    std::vector<std::byte> bytes;
    for (const auto& r : records) bytes.insert(bytes.end(), r.begin(), r.end());
    BlobHeader h = valid();
    h.type = static_cast<uint32_t>(type);
    h.flags = flags;
    try {
      decode_descriptor(bytes, h, 5);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  const auto name = record(1, {'n'}), type = record(3, {6, 0, 0, 0}),
             shape = record(4, {9, 0, 0, 0, 0, 0, 0, 0});
  const std::string tensor = "DATA_TENSOR blob at offset 5: descriptor: ";
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, type, shape}), "");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {type, shape}), tensor + "record 1 is missing");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, shape}), tensor + "record 3 is missing");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, type}), tensor + "record 4 is missing");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, type, shape, shape}),
            tensor + "record 4 is there twice");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, record(3, {6, 0}), shape}),
            tensor + "record 3 has 2 bytes instead of 4");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, record(3, {14, 0, 0, 0}), shape}), "");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, record(3, {15, 0, 0, 0}), shape}),
            tensor + "unknown data type 15");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, type, record(4, {9, 0, 0, 0})}),
            tensor + "shape of 4 bytes");
  EXPECT_EQ(of(BlobType::DATA_TENSOR, {name, type, record(4, {8, 0, 0, 0, 0, 0, 0, 0})}),
            tensor + "'n' needs 8 bytes of data, the blob has 9");
  EXPECT_EQ(of(BlobType::DATA_FEED, {name, type, shape}),
            "DATA_FEED blob at offset 5: descriptor: record 5 is missing");
  EXPECT_EQ(of(BlobType::DATA_FEED, {name, type, record(4, {3, 0, 0, 0, 0, 0, 0, 0}),
                                     record(5, {3, 0, 0, 0, 0, 0, 0, 0})}),
            "");
  EXPECT_EQ(of(BlobType::POPLAR_EXECUTABLE, {record(1, {})}),
            "POPLAR_EXECUTABLE blob at offset 5: descriptor: an executable needs a name");
  EXPECT_EQ(of(BlobType::POPLAR_EXECUTABLE, {name, record(6, {2, 0, 0, 0})}), "")
      << "not compressed";
  EXPECT_EQ(of(BlobType::POPLAR_EXECUTABLE, {name, record(6, {1, 0, 0, 0})}, kFlagCompressed), "");
  EXPECT_EQ(of(BlobType::POPLAR_EXECUTABLE, {name, record(6, {2, 0, 0, 0})}, kFlagCompressed),
            "executable 'n' at offset 5: compression codec 2 needs a newer library");
  EXPECT_EQ(of(BlobType::OPAQUE, {record(1, {})}), "");
  EXPECT_EQ(of(BlobType::OPAQUE, {name, record(8, {1}), record(8, {1})}), "") << "unknown ones";
}

// A record has 8 bytes in front of its value; the value is padded to 8.
TEST(Descriptor, IsAtMostAMebibyte) {
  const auto of_names = [](size_t name, size_t executable) {
    return encode_descriptor(
        {.name = std::string(name, 'n'), .executable = std::string(executable, 'e')},
        BlobType::OPAQUE, false);
  };
  EXPECT_EQ(of_names(kMaxDescriptorBytes - 8, 0).size(), kMaxDescriptorBytes);
  EXPECT_THROW(of_names(kMaxDescriptorBytes - 7, 0), SizeError);
  EXPECT_EQ(of_names(kMaxDescriptorBytes - 24, 8).size(), kMaxDescriptorBytes);
  EXPECT_THROW(of_names(kMaxDescriptorBytes - 24, 9), SizeError);
  try {
    of_names(kMaxDescriptorBytes, 0);
    FAIL();
  } catch (const SizeError& e) {
    EXPECT_NE(e.message().find("names and shape of a blob need 1048584 bytes, at most 1048576"),
              std::string::npos)
        << e.message();
  }
  try {
    of_names(kMaxDescriptorBytes + 1, 0);
    FAIL();
  } catch (const SizeError& e) {
    EXPECT_NE(e.message().find("a name or shape of 1048577 bytes is too long, at most 1048576"),
              std::string::npos)
        << e.message();
  }
}

TEST(Descriptor, SizeMustMatchThePayload) {
  BlobHeader h = valid();
  h.type = static_cast<uint32_t>(BlobType::DATA_TENSOR);
  const auto tensor = [&](std::vector<int64_t> shape) {
    return encode_descriptor({.name = "t", .info = TensorInfo(DataType::U8, std::move(shape))},
                             BlobType::DATA_TENSOR, false);
  };
  EXPECT_NO_THROW(decode_descriptor(tensor({9}), h, 0));
  EXPECT_THROW(decode_descriptor(tensor({10}), h, 0), FormatError);
  EXPECT_THROW(decode_descriptor(tensor({-9, -1}), h, 0), FormatError);
  EXPECT_THROW(decode_descriptor(tensor({int64_t{1} << 62, 16}), h, 0), FormatError);
}

}  // namespace
}  // namespace poprt::popef
