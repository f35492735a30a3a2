#include "popef/compress.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "popef/error.h"
#include "popef/header.h"

namespace poprt::popef {
namespace {

// Bytes in memory. Counts how often they are read from their beginning.
class Stored final : public Content {
 public:
  Stored(std::string bytes, int* starts) : bytes_(std::move(bytes)), starts_(starts) {}
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t position, std::span<std::byte> out) override {
    *starts_ += position == 0;
    std::memcpy(out.data(), bytes_.data() + position, out.size());
  }

 private:
  std::string bytes_;
  int* starts_;
};

class Compress : public ::testing::Test {
 protected:
  static std::string random(size_t count) {
    std::mt19937 rng(3);
    std::string s(count, ' ');
    for (char& c : s) c = static_cast<char>(rng() % 19);
    return s;
  }
  static std::string compressed(const std::string& text) {
    std::string out;
    Compressor c([&](std::span<const std::byte> b) {
      out.append(reinterpret_cast<const char*>(b.data()), b.size());
    });
    // Nothing, and pieces of several sizes.
    c.write({});
    for (size_t at = 0; at < text.size(); at += 777)
      c.write(std::as_bytes(std::span(text).subspan(at, std::min<size_t>(777, text.size() - at))));
    c.finish();
    EXPECT_EQ(c.raw_bytes(), text.size());
    EXPECT_EQ(c.stored_bytes(), out.size());
    return out;
  }
  std::unique_ptr<Content> content(const std::string& stored, uint64_t raw) {
    return compressed_content(std::make_unique<Stored>(stored, &starts), raw);
  }
  static std::string read(Content& c, uint64_t position, size_t count) {
    std::string s(count, '?');
    c.read(position, std::as_writable_bytes(std::span(s)));
    return s;
  }
  // The message of reading all of it.
  std::string message_of_reading(const std::string& stored, uint64_t raw) {
    try {
      read(*content(stored, raw), 0, raw);
    } catch (const FormatError& e) {
      return e.what();
    }
    return "nothing";
  }
  int starts = 0;
};

TEST_F(Compress, ReadsOnWithoutStartingAgain) {
  const std::string text = random(400'000);
  const auto c = content(compressed(text), text.size());
  EXPECT_EQ(c->size(), text.size());
  EXPECT_EQ(read(*c, 0, 10), text.substr(0, 10));
  EXPECT_EQ(read(*c, 10, 10), text.substr(10, 10)) << "where the last one ended";
  EXPECT_EQ(read(*c, 300'000, 10), text.substr(300'000, 10));
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(read(*c, 300'009, 10), text.substr(300'009, 10)) << "a byte before it";
  EXPECT_EQ(starts, 2);
  EXPECT_EQ(read(*c, 0, text.size()), text);
  EXPECT_EQ(starts, 3);
}

TEST_F(Compress, ErrorsDescribeDamagedData) {
  const std::string text = random(5000), stored = compressed(text);
  EXPECT_EQ(message_of_reading(stored, 5000), "nothing");
  EXPECT_EQ(message_of_reading(stored, 4999),
            "compressed executable holds more than its 4999 bytes");
  EXPECT_EQ(message_of_reading(stored, 5001),
            "compressed executable ends after 5000 of 5001 bytes");
  EXPECT_EQ(message_of_reading("", 7), "compressed executable ends after 0 of 7 bytes");
  EXPECT_EQ(message_of_reading("no zstd, but long enough", 7),
            "compressed executable is damaged: Unknown frame descriptor");
  // The checksum is at the end.
  for (const size_t missing : {1, 3, 4})
    EXPECT_EQ(message_of_reading(stored.substr(0, stored.size() - missing), 5000),
              "compressed executable is cut off");
  std::string changed = stored;
  changed.back() = static_cast<char>(~changed.back());
  EXPECT_EQ(message_of_reading(changed, 5000),
            "compressed executable is damaged: Restored data doesn't match checksum");
  // Two frames are one content.
  EXPECT_EQ(message_of_reading(stored + stored, 10'000), "nothing");
  EXPECT_EQ(message_of_reading(stored + stored.substr(0, stored.size() - 1), 10'000),
            "compressed executable is cut off");
}

// A file must not claim more than a multiple of its size, so data that compresses better is padded.
TEST_F(Compress, PacksNoBetterThanReadersAllow) {
  for (const uint64_t count : {kMaxCompressionRatio * 10, kMaxCompressionRatio * 4000 + 1}) {
    const std::string text(count, 'x'), stored = compressed(text);
    EXPECT_GE(stored.size(), count / kMaxCompressionRatio);
    EXPECT_LE(stored.size(), count / kMaxCompressionRatio + 40);
    EXPECT_EQ(message_of_reading(stored, count), "nothing");
  }
}

// A skippable frame has at least nine bytes, also if fewer are missing.
TEST_F(Compress, FillsAnyNumberOfMissingBytes) {
  const size_t unfilled = compressed(std::string(kMaxCompressionRatio, 'x')).size();
  ASSERT_LT(unfilled, 50u);
  for (uint64_t least = 2; least < 70; least++) {
    const std::string text(least * kMaxCompressionRatio, 'x'), stored = compressed(text);
    EXPECT_GE(stored.size(), least);
    EXPECT_LE(stored.size(), std::max(unfilled + 3, least) + 8) << least;
    ASSERT_EQ(message_of_reading(stored, text.size()), "nothing") << least;
  }
}

}  // namespace
}  // namespace poprt::popef
