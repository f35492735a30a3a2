#include "ops/common/images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/error.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes ascii(std::string_view s) { return {s.begin(), s.end()}; }

Bytes number(uint64_t v, size_t size, bool big_endian) {
  Bytes b;
  for (size_t i = 0; i < size; i++)
    b.push_back(static_cast<uint8_t>(v >> 8 * (big_endian ? size - 1 - i : i)));
  return b;
}

Tensor tensor(const Bytes& b) {
  return Tensor::of<uint8_t>({static_cast<int64_t>(b.size())}, std::span<const uint8_t>(b));
}

Tensor decode(const Bytes& stream, const std::string& format = "") {
  ir::Graph g;
  g.opsets[""] = 20;
  ir::Node* n = g.add_node("ImageDecoder", "", {g.add_constant("", tensor(stream))});
  n->name = "image";
  if (!format.empty()) n->attributes["pixel_format"] = format;
  infer(*n);
  return decode_image(*n, n->input(0)->constant());
}

Bytes pixels(const Tensor& t) {
  const auto v = t.values<uint8_t>();
  return {v.begin(), v.end()};
}

// Returns the error of an invalid stream. The codecs' own messages are discarded.
std::string error_of(const Bytes& stream) {
  CaptureStderr();
  std::string message = "no error";
  try {
    decode(stream);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss) << e.what();
    message = e.what();
  }
  GetCapturedStderr();
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find("ImageDecoder node 'image': "), 0u) << message;
  return message;
}

void expect_error(const Bytes& stream, std::string_view words) {
  const std::string message = error_of(stream);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

Bytes read(const std::string& name) {
  std::ifstream file(fs::path(POPRT_TEST_DATA) / "images" / name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::array<std::string, 7> kFiles = {
    "checkerboard.bmp", "checkerboard.jp2",  "checkerboard.jpeg", "checkerboard.png",
    "checkerboard.ppm", "checkerboard.tiff", "checkerboard.webp"};

// How the codestream in a JPEG 2000 file begins; sizes and components follow.
constexpr std::array<uint8_t, 4> kCodestream = {0xFF, 0x4F, 0xFF, 0x51};

Bytes chunk(std::string_view type, const Bytes& data) {
  const Bytes body = ascii(type) + data;
  uint32_t crc = ~0u;
  for (const uint8_t byte : body) {
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return number(data.size(), 4, true) + body + number(~crc, 4, true);
}

// A PNG of one row, stored without compression. Color types: 0 gray, 2 RGB, 3 palette, 4 and 6 with
// alpha.
Bytes png(uint32_t width, uint8_t bits, uint8_t color, Bytes row, const Bytes& chunks = {}) {
  row.insert(row.begin(), 0);  // no filter
  uint32_t a = 1, b = 0;
  for (const uint8_t byte : row) b += a += byte;
  const Bytes stored = Bytes{0x78, 0x01, 1} + number(row.size(), 2, false) +
                       number(~row.size(), 2, false) + row +
                       number(b % 65521 << 16 | a % 65521, 4, true);
  return Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'} +
         chunk("IHDR", number(width, 4, true) + number(1, 4, true) + Bytes{bits, color, 0, 0, 0}) +
         chunks + chunk("IDAT", stored) + chunk("IEND", {});
}

Bytes bmp(uint32_t width, uint32_t height, uint16_t bits, const Bytes& data) {
  return ascii("BM") + number(54 + data.size(), 4, false) + number(0, 4, false) +
         number(54, 4, false) + number(40, 4, false) + number(width, 4, false) +
         number(height, 4, false) + number(1, 2, false) + number(bits, 2, false) + Bytes(24) + data;
}

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      decode(png(1, 8, 0, {0}));
    } catch (const Error& e) {
      if (e.code() != ErrorCode::failed_precondition) throw;
      EXPECT_NE(std::string(e.what()).find("libleptonica-dev"), std::string::npos) << e.what();
      GTEST_SKIP() << e.what();
    }
  }
};

TEST_F(Images, EveryFormatIsReadAsPillowReadsIt) {
  for (const std::string& name : kFiles) {
    SCOPED_TRACE(name);
    const bool own = fs::exists(fs::path(POPRT_TEST_DATA) / "images" / (name + ".rgb"));
    const Tensor y = decode(read(name));
    EXPECT_EQ(y.shape(), (Shape{32, 32, 3}));
    EXPECT_EQ(pixels(y), read(own ? name + ".rgb" : "checkerboard.rgb"));
  }
}

TEST_F(Images, PixelFormatOrdersOrAddsChannels) {
  // Rows from the last, BGR, each of a multiple of four bytes.
  const Bytes stream = bmp(2, 2, 24, {255, 0, 0, 0, 0, 255, 0, 0, 1, 2, 3, 10, 200, 30, 0, 0});
  EXPECT_EQ(pixels(decode(stream, "RGB")), (Bytes{3, 2, 1, 30, 200, 10, 0, 0, 255, 255, 0, 0}));
  EXPECT_EQ(pixels(decode(stream)), pixels(decode(stream, "RGB")));
  EXPECT_EQ(pixels(decode(stream, "BGR")), (Bytes{1, 2, 3, 10, 200, 30, 255, 0, 0, 0, 0, 255}));
  const Tensor gray = decode(stream, "Grayscale");
  EXPECT_EQ(gray.shape(), (Shape{2, 2, 1}));
  // 0.299 R + 0.587 G + 0.114 B, rounded.
  EXPECT_EQ(pixels(gray), (Bytes{2, 128, 29, 76}));
  EXPECT_THROW(decode(stream, "RGBA"), Error);
}

TEST_F(Images, GraySourcesHaveThreeEqualChannelsOrTheirOwn) {
  for (const Bytes& stream : {png(4, 2, 0, {0x1B}), ascii("P2 4 1 3\n0 1 2 3\n"),
                              ascii("P5 4 1 255\n") + Bytes{0, 85, 170, 255}}) {
    EXPECT_EQ(pixels(decode(stream)), (Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
    EXPECT_EQ(pixels(decode(stream, "Grayscale")), (Bytes{0, 85, 170, 255}));
  }
  // 0 is black in a PNG and white in a PBM.
  EXPECT_EQ(pixels(decode(png(4, 1, 0, {0x50}), "Grayscale")), (Bytes{0, 255, 0, 255}));
  EXPECT_EQ(pixels(decode(ascii("P1\n4 1\n0 1 0 1\n"), "Grayscale")), (Bytes{255, 0, 255, 0}));
}

TEST_F(Images, PalettesBecomeColors) {
  const Bytes palette = chunk("PLTE", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(pixels(decode(png(3, 8, 3, {2, 0, 1}, palette))), (Bytes{7, 8, 9, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixels(decode(png(3, 4, 3, {0x20, 0x10}, palette + chunk("tRNS", {0, 9})))),
            (Bytes{7, 8, 9, 1, 2, 3, 4, 5, 6}));
  expect_error(png(3, 8, 3, {2, 0, 3}, palette), "damaged");
}

TEST_F(Images, AlphaIsDropped) {
  EXPECT_EQ(pixels(decode(png(2, 8, 6, {10, 20, 30, 0, 40, 50, 60, 128}))),
            (Bytes{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(pixels(decode(png(2, 8, 4, {10, 0, 20, 128}), "Grayscale")), (Bytes{10, 20}));
  // A gray value that means transparent.
  const Bytes transparent = chunk("tRNS", {0, 0});
  EXPECT_EQ(pixels(decode(png(4, 1, 0, {0x50}, transparent), "Grayscale")),
            (Bytes{0, 255, 0, 255}));
  EXPECT_EQ(pixels(decode(png(2, 8, 0, {0, 10}, transparent), "Grayscale")), (Bytes{0, 10}));
  EXPECT_EQ(pixels(decode(png(1, 16, 0, {10, 20}, transparent), "Grayscale")), (Bytes{10}));
}

TEST_F(Images, SixteenBitsKeepTheUpperEight) {
  EXPECT_EQ(pixels(decode(png(1, 16, 2, {0x12, 0xFF, 0xAB, 0x00, 0x34, 0x80}))),
            (Bytes{0x12, 0xAB, 0x34}));
  EXPECT_EQ(pixels(decode(png(2, 16, 0, {0x12, 0xFF, 0xAB, 0x00}), "Grayscale")),
            (Bytes{0x12, 0xAB}));
  EXPECT_EQ(pixels(decode(ascii("P6 1 1 65535\n") + Bytes{0x12, 0xFF, 0xAB, 0x00, 0x34, 0x80})),
            (Bytes{0x12, 0xAB, 0x34}));
}

TEST_F(Images, RefusesBytesOfUnknownFormat) {
  expect_error({},
               "the 0 bytes are not an image of a known format (BMP, JPEG, JPEG 2000, PNG, PNM, ");
  expect_error(ascii("GIF89a and what follows"), "the 23 bytes are not an image");
  std::mt19937 random(1);
  for (int i = 0; i < 500; i++) {
    Bytes stream(random() % 100);
    for (uint8_t& byte : stream) byte = static_cast<uint8_t>(random());
    error_of(stream);
  }
}

TEST_F(Images, AStreamThatEndsEarlyIsAnError) {
  for (const std::string& name : kFiles) {
    SCOPED_TRACE(name);
    const Bytes all = read(name);
    for (size_t size = 0; size < all.size(); size += size < 200 || size + 20 > all.size() ? 1 : 13)
      ASSERT_NE(error_of({all.begin(), all.begin() + static_cast<ptrdiff_t>(size)}), "no error")
          << size;
  }
}

TEST_F(Images, LargeImagesAreRefusedBeforeTheyAreDecoded) {
  expect_error(
      ascii("P6 16000 16000 255\n"),
      "the PNM image is 16000 x 16000 with 3 samples of 8 bits, more than 268435456 bytes");
  expect_error(bmp(1u << 20, 1u << 20, 24, {}), "the BMP image is 1048576 x 1048576");
  expect_error(bmp(1u << 20, -(1u << 20), 24, {}), "the BMP image is 1048576 x 1048576");
  expect_error(png(1u << 30, 8, 2, {}), "PNG");
  // Changes both sides in the codestream and not in the boxes.
  Bytes jp2 = read("checkerboard.jp2");
  const auto codestream =
      std::search(jp2.begin(), jp2.end(), kCodestream.begin(), kCodestream.end());
  codestream[9] = codestream[13] = 0x10;
  expect_error(jp2, "the JPEG 2000 image is 1048608 x 1048608");
}

TEST_F(Images, KindsThatWouldBeReadWrongAreRefused) {
  expect_error(bmp(1, 1, 16, {0, 0, 0, 0}), "BMP images of 16 bits a pixel");
  expect_error(ascii("P5 1 1 65535\n") + Bytes{1, 2}, "PNM images with gray of 16 bits");
  const auto changed = [](ptrdiff_t at, uint8_t value) {
    Bytes jp2 = read("checkerboard.jp2");
    std::search(jp2.begin(), jp2.end(), kCodestream.begin(), kCodestream.end())[at] = value;
    return jp2;
  };
  expect_error(changed(46, 2), "subsampled components");
  expect_error(changed(45, 15), "samples of 16 bits");
  expect_error(changed(41, 5), "images of 5 components");
}

// Any bytes result in an error or an image.
TEST_F(Images, DamagedStreamsNeverCrash) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  int images = 0, errors = 0;
  CaptureStderr();
  for (const std::string& name : kFiles) {
    const Bytes all = read(name);
    for (int i = 0; i < 500; i++) {
      Bytes stream = all;
      if (below(4) == 0) stream.resize(1 + below(stream.size()));
      if (below(4) == 0) {  // a part twice
        const auto from = static_cast<ptrdiff_t>(below(stream.size()));
        const Bytes part(stream.begin() + from, stream.end());
        stream.insert(stream.begin() + static_cast<ptrdiff_t>(below(stream.size())), part.begin(),
                      part.end());
      }
      for (size_t k = 1 + below(8); k-- > 0;) {
        // Headers are changed more often than pixels.
        const size_t at = below(below(2) ? stream.size() : std::min<size_t>(stream.size(), 200));
        constexpr std::array<uint8_t, 5> kEdges = {0, 1, 127, 128, 255};
        stream[at] = below(2) ? kEdges[below(5)] : static_cast<uint8_t>(random());
      }
      try {
        const Tensor y = decode(stream);
        EXPECT_EQ(y.shape().size(), 3u);
        images++;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::data_loss) << e.what();
        errors++;
      }
    }
  }
  GetCapturedStderr();
  EXPECT_GT(images, 100);
  EXPECT_GT(errors, 1000);
}

TEST(ImageDecoder, InputAndAttributeAreChecked) {
  const auto words = [](const Tensor& stream, const std::string& format) {
    ir::Graph g;
    g.opsets[""] = 20;
    ir::Node* n = g.add_node("ImageDecoder", "", {g.add_constant("", stream)});
    n->attributes["pixel_format"] = format;
    try {
      infer(*n);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return std::string(e.what());
    }
    EXPECT_EQ(n->output()->dtype(), DType::u8);
    EXPECT_EQ(n->output()->shape(),
              (Shape{kUnknownDim, kUnknownDim, format == "Grayscale" ? 1 : 3}));
    return std::string();
  };
  const Tensor stream = Tensor::zeros(DType::u8, {9});
  for (const char* format : {"RGB", "BGR", "Grayscale"}) EXPECT_EQ(words(stream, format), "");
  const auto expect = [](const std::string& found, std::string_view fact) {
    EXPECT_NE(found.find(fact), std::string::npos) << found;
  };
  expect(words(stream, "rgb"), "pixel_format is 'rgb', expected RGB, BGR or Grayscale");
  expect(words(Tensor::zeros(DType::s8, {9}), "RGB"), "does not take s8, an encoded image is u8");
  expect(words(Tensor::zeros(DType::u8, {3, 3}), "RGB"), "is [3,3], expected one dimension");
}

}  // namespace
}  // namespace poprt::ops
