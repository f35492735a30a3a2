#include "model/run_input.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "codecs/npy.h"
#include "inspector/sample_files.h"

namespace poprt::inspector {
namespace {

// A picture whose left half is red and whose right half is blue.
Tensor red_and_blue(int64_t height, int64_t width) {
  Tensor t = Tensor::zeros(DType::u8, {height, width, 3});
  const auto p = t.mutable_values<uint8_t>();
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++)
      p[static_cast<size_t>((y * width + x) * 3 + (x < width / 2 ? 0 : 2))] = 255;
  return t;
}

TEST(RunInput, WordsAreChoices) {
  EXPECT_EQ(input_choice("random").kind, InputKind::random);
  EXPECT_EQ(input_choice("zeros").kind, InputKind::zeros);
  const InputChoice picture = input_choice("dog.jpeg:imagenet");
  EXPECT_EQ(picture.kind, InputKind::file);
  EXPECT_EQ(picture.path, "dog.jpeg");
  EXPECT_EQ(picture.pixels, PixelRange::imagenet);
  EXPECT_FALSE(picture.crop);
  EXPECT_EQ(input_choice("dog.jpeg:crop:bytes"), input_choice("dog.jpeg:bytes:crop"));
  EXPECT_TRUE(input_choice("dog.jpeg:crop").crop);
  EXPECT_EQ(input_choice("crop").path, "crop");
  for (const char* word : {"random", "zeros", "a.npy", "dog.jpeg:imagenet", "dog.jpeg",
                           "dog.jpeg:crop", "dog.jpeg:symmetric:crop"})
    EXPECT_EQ(input_choice_text(input_choice(word)), word);
  EXPECT_THROW(input_choice(""), Error);
}

TEST(RunInput, RandomIntegersAreValidIndices) {
  const Tensor t = random_tensor(DType::s64, {1000}, 3);
  bool zero = false, one = false;
  for (const int64_t v : t.values<int64_t>()) {
    EXPECT_TRUE(v == 0 || v == 1);
    (v ? one : zero) = true;
  }
  EXPECT_TRUE(zero && one);
  double sum = 0, squares = 0;
  const Tensor normal = random_tensor(DType::f32, {100000}, 3);
  for (const float v : normal.values<float>())
    sum += static_cast<double>(v), squares += static_cast<double>(v * v);
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(RunInput, NumbersAreRoundedAndKeptInRange) {
  const double values[] = {-300, 1.5, 300, NAN};
  EXPECT_EQ(tensor_of(DType::s8, {4}, values).to_int64s(), (std::vector<int64_t>{-128, 2, 127, 0}));
  EXPECT_EQ(tensor_of(DType::u8, {4}, values).to_int64s(), (std::vector<int64_t>{0, 2, 255, 0}));
  EXPECT_DOUBLE_EQ(tensor_of(DType::f16, {4}, values).to_doubles()[1], 1.5);
  EXPECT_THROW(tensor_of(DType::string, {4}, values), Error);
}

TEST(RunInput, APictureFillsChannelsFirstAndLast) {
  const Tensor rgb = red_and_blue(8, 8);
  const auto first = picture_as(rgb, DType::f32, {2, 3, 4, 4}, PixelRange::unit).to_doubles();
  // Each of the two samples has a red, a green and a blue plane.
  for (size_t n = 0; n < 2; n++) {
    EXPECT_DOUBLE_EQ(first[n * 48], 1);
    EXPECT_DOUBLE_EQ(first[n * 48 + 3], 0);
    EXPECT_DOUBLE_EQ(first[n * 48 + 16 + 5], 0);
    EXPECT_DOUBLE_EQ(first[n * 48 + 32], 0);
    EXPECT_DOUBLE_EQ(first[n * 48 + 32 + 3], 1);
  }
  const auto last = picture_as(rgb, DType::f32, {1, 4, 4, 3}, PixelRange::bytes).to_doubles();
  EXPECT_DOUBLE_EQ(last[0], 255);
  EXPECT_DOUBLE_EQ(last[2], 0);
  EXPECT_DOUBLE_EQ(last[3 * 3 + 2], 255);
  const auto grey = picture_as(rgb, DType::f32, {4, 4}, PixelRange::bytes).to_doubles();
  EXPECT_NEAR(grey[0], 0.299 * 255, 1e-4);
  EXPECT_NEAR(grey[3], 0.114 * 255, 1e-4);
}

TEST(RunInput, ACropIsTheMiddleInTheProportionsOfTheInput) {
  // The first 6 of 12 columns are red, so the middle 4 are half red and half blue, without
  // averaging.
  const auto wide =
      picture_as(red_and_blue(4, 12), DType::f64, {1, 3, 4, 4}, PixelRange::unit, true)
          .to_doubles();
  for (size_t y = 0; y < 4; y++)
    for (size_t x = 0; x < 4; x++) EXPECT_DOUBLE_EQ(wide[y * 4 + x], x < 2 ? 1 : 0) << x;
  // A picture that is higher than wide keeps all columns and the middle rows.
  Tensor high = Tensor::zeros(DType::u8, {9, 3, 3});
  for (size_t i = 3 * 9; i < 6 * 9; i++) high.mutable_values<uint8_t>()[i] = 255;
  for (const double v :
       picture_as(high, DType::f64, {3, 3, 3}, PixelRange::unit, true).to_doubles())
    EXPECT_DOUBLE_EQ(v, 1);
  const auto all = picture_as(high, DType::f64, {3, 3, 3}, PixelRange::unit).to_doubles();
  EXPECT_LT(all[0], 0.5);
}

TEST(RunInput, ACropOfOnePixelStaysAPixel) {
  EXPECT_DOUBLE_EQ(  // the red one at the left of the middle
      picture_as(red_and_blue(1, 1000), DType::f64, {3, 1000, 1}, PixelRange::unit, true)
          .to_doubles()[0],
      1);
}

TEST(RunInput, RangesOfPixels) {
  const Tensor rgb = red_and_blue(2, 2);
  const auto red = [&](PixelRange range) {
    return picture_as(rgb, DType::f64, {1, 3, 2, 2}, range).to_doubles()[0];
  };
  EXPECT_DOUBLE_EQ(red(PixelRange::symmetric), 1);
  EXPECT_NEAR(red(PixelRange::imagenet), (1 - 0.485) / 0.229, 1e-12);
}

TEST(RunInput, ShrinkingAverages) {
  // Alternating columns of 0 and 255 become an even grey, except at the ends, where the triangle of
  // the filter is cut.
  Tensor t = Tensor::zeros(DType::u8, {1, 64, 3});
  const auto p = t.mutable_values<uint8_t>();
  for (size_t x = 0; x < 64; x++) p[x * 3] = x % 2 ? 255 : 0;
  const auto small = picture_as(t, DType::f64, {1, 3, 1, 8}, PixelRange::unit).to_doubles();
  for (size_t x = 1; x < 7; x++) EXPECT_NEAR(small[x], 0.5, 1e-9);
}

TEST(RunInput, OtherShapesThanPicturesAreRefused) {
  EXPECT_THROW(picture_as(red_and_blue(2, 2), DType::f32, {1, 5, 4, 4}, PixelRange::unit), Error);
  EXPECT_THROW(picture_as(red_and_blue(2, 2), DType::f32, {7}, PixelRange::unit), Error);
}

TEST(RunInput, FilesMayBeOfAnotherFloatAndLackTheBatch) {
  const SampleFolder folder("run_input");
  const auto path = folder.path / "x.npy";
  save_npy(path, Tensor::of<double>({3}, {1, 2, 3}));
  const Tensor t = input_tensor(anchor(DType::f32, {1, 1, 3}), input_choice(path.string()), 1);
  EXPECT_EQ(t.dtype(), DType::f32);
  EXPECT_EQ(t.shape(), (Shape{1, 1, 3}));
  EXPECT_DOUBLE_EQ(t.to_doubles()[2], 3);
  EXPECT_THROW(input_tensor(anchor(DType::s32, {3}), input_choice(path.string()), 1), Error);
}

TEST(RunInput, WritesTypesUnknownToNumpyAsFloat) {
  const SampleFolder folder("run_input_bf16");
  const double values[] = {0.5, -2};
  save_npy(folder.path / "b.npy", tensor_of(DType::bf16, {2}, values));
  const Tensor back = read_npy((folder.path / "b.npy").string());
  EXPECT_EQ(back.dtype(), DType::f32);
  EXPECT_EQ(back.to_doubles(), (std::vector<double>{0.5, -2}));
}

// The error for a file that is no picture names the input and the file.
TEST(RunInput, BadPicturesAreNamed) {
  const SampleFolder folder("run_input_bad");
  const auto path = folder.write("noise.png", std::string(100, '\x7f'));
  try {
    input_tensor(anchor(DType::f32, {1, 3, 4, 4}), input_choice(path.string()), 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("noise.png"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("input 'x'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace poprt::inspector
