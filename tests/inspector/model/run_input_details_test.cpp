// Pictures, compared with a direct computation, and every word, type and file extension of an
// input.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "codecs/npy.h"
#include "inspector/sample_files.h"
#include "model/run_input.h"
#include "onnx/tensor_io.h"
#include "support/error_code.h"

namespace poprt::inspector {
namespace {

using test::refusal;

Tensor noise(int64_t height, int64_t width, unsigned seed) {
  std::mt19937 random(seed);
  Tensor t = Tensor::zeros(DType::u8, {height, width, 3});
  for (uint8_t& v : t.mutable_values<uint8_t>()) v = static_cast<uint8_t>(random());
  return t;
}

double pixel(const Tensor& rgb, int64_t y, int64_t x, int64_t c) {
  return rgb.values<uint8_t>()[static_cast<size_t>((y * rgb.shape()[1] + x) * 3 + c)];
}

// The weight of sample `k` of `from` samples in sample `i` of `to` samples: a triangular filter.
double share(int64_t k, int64_t from, int64_t i, int64_t to) {
  const double step = double(from) / double(to), reach = step > 1 ? step : 1;
  const auto weight = [&](int64_t at) {
    const double away = std::fabs(double(at) - ((double(i) + 0.5) * step - 0.5)) / reach;
    return away < 1 ? 1 - away : 0;
  };
  double all = 0;
  for (int64_t at = 0; at < from; at++) all += weight(at);
  return weight(k) / all;
}

// One value of the picture at another size, by a sum over rows and columns.
double scaled(const Tensor& rgb, int64_t height, int64_t width, int64_t y, int64_t x, int64_t c) {
  double sum = 0;
  for (int64_t r = 0; r < rgb.shape()[0]; r++)
    for (int64_t k = 0; k < rgb.shape()[1]; k++)
      sum += share(r, rgb.shape()[0], y, height) * share(k, rgb.shape()[1], x, width) *
             pixel(rgb, r, k, c);
  return sum;
}

double ranged(double byte, int64_t c, PixelRange range) {
  const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
  if (range == PixelRange::bytes) return byte;
  if (range == PixelRange::symmetric) return byte / 255 * 2 - 1;
  if (range == PixelRange::unit) return byte / 255;
  return (byte / 255 - mean[c]) / deviation[c];
}

struct Layout {
  Shape shape;
  int64_t repeats, channels;
  bool channels_first;
};

void expect_picture(const Tensor& rgb, int64_t height, int64_t width, const Layout& l,
                    PixelRange range) {
  const auto found = picture_as(rgb, DType::f64, l.shape, range).to_doubles();
  ASSERT_EQ(found.size(), static_cast<size_t>(l.repeats * height * width * l.channels));
  for (int64_t n = 0; n < l.repeats; n++)
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++)
        for (int64_t c = 0; c < l.channels; c++) {
          const int64_t at = l.channels_first ? ((n * l.channels + c) * height + y) * width + x
                                              : ((n * height + y) * width + x) * l.channels + c;
          const auto of = [&](int64_t channel) {
            return scaled(rgb, height, width, y, x, channel);
          };
          const double byte =
              l.channels == 3 ? of(c) : 0.299 * of(0) + 0.587 * of(1) + 0.114 * of(2);
          ASSERT_NEAR(found[static_cast<size_t>(at)], ranged(byte, c, range), 1e-9)
              << shape_string(l.shape) << " " << n << " " << y << " " << x << " " << c;
        }
}

TEST(RunInputDetails, PicturesFillEveryLayout) {
  const Tensor rgb = noise(5, 7, 1);
  for (const Layout& l : {Layout{{2, 3, 5, 7}, 2, 3, true}, Layout{{3, 5, 7}, 1, 3, true},
                          Layout{{2, 5, 7, 3}, 2, 3, false}, Layout{{5, 7, 3}, 1, 3, false},
                          Layout{{2, 1, 5, 7}, 2, 1, true}, Layout{{1, 5, 7}, 1, 1, true},
                          Layout{{2, 5, 7, 1}, 2, 1, false}, Layout{{5, 7, 1}, 1, 1, false},
                          Layout{{5, 7}, 1, 1, false}})
    for (int r = 0; r < kPixelRanges; r++) expect_picture(rgb, 5, 7, l, static_cast<PixelRange>(r));
}

TEST(RunInputDetails, PicturesAreScaledByTriangles) {
  const std::pair<int64_t, int64_t> sizes[] = {{5, 7},  {10, 14}, {3, 4}, {1, 1},
                                               {13, 3}, {2, 20},  {5, 3}, {4, 7}};
  for (const auto& [height, width] : sizes)
    expect_picture(noise(5, 7, 2), height, width, {{3, height, width}, 1, 3, true},
                   PixelRange::bytes);
}

TEST(RunInputDetails, ChannelsFirstIsPreferredIfBothFit) {
  const Tensor rgb = noise(3, 3, 3);
  const auto found = picture_as(rgb, DType::f64, {3, 3, 3}, PixelRange::bytes).to_doubles();
  EXPECT_EQ(found[1], pixel(rgb, 0, 1, 0));
  EXPECT_EQ(found[9], pixel(rgb, 0, 0, 1));
  EXPECT_EQ(picture_as(rgb, DType::f64, {0, 3, 3, 3}, PixelRange::bytes).count(), 0);
}

// Each case has a crop without scaling, so the result is a part of the picture.
TEST(RunInputDetails, CropsAreOfTheMiddle) {
  struct Case {
    int64_t rows, columns, height, width, top, left;
  };
  for (const Case& k : {Case{7, 4, 4, 4, 1, 0}, Case{3, 8, 3, 3, 0, 2}, Case{8, 4, 6, 4, 1, 0},
                        Case{5, 5, 5, 5, 0, 0}, Case{4, 9, 4, 6, 0, 1}, Case{9, 2, 4, 2, 2, 0},
                        Case{4, 9, 4, 4, 0, 2}}) {
    const Tensor rgb = noise(k.rows, k.columns, 4);
    const auto found =
        picture_as(rgb, DType::f64, {3, k.height, k.width}, PixelRange::bytes, true).to_doubles();
    for (int64_t c = 0; c < 3; c++)
      for (int64_t y = 0; y < k.height; y++)
        for (int64_t x = 0; x < k.width; x++)
          ASSERT_NEAR(found[static_cast<size_t>((c * k.height + y) * k.width + x)],
                      pixel(rgb, k.top + y, k.left + x, c), 1e-9)
              << k.rows << "x" << k.columns << " " << y << " " << x;
  }
}

TEST(RunInputDetails, RefusesPicturesForOtherShapes) {
  const auto message_for = [](Shape shape) {
    return refusal([&] { picture_as(noise(2, 2, 6), DType::f32, shape, PixelRange::unit); });
  };
  const std::string fits =
      "invalid_argument: a picture fits inputs of [N,C,H,W], [N,H,W,C], the same without N, or "
      "[H,W], with 1 or 3 channels; found [";
  EXPECT_EQ(message_for({7}), fits + "7]");
  EXPECT_EQ(message_for({2, 5, 4}), fits + "2×5×4]");
  EXPECT_EQ(message_for({1, 2, 4, 4}), fits + "1×2×4×4]") << "two channels";
  EXPECT_EQ(message_for({1, 1, 1, 3, 3}), fits + "1×1×1×3×3]");
  EXPECT_EQ(message_for({}), fits + "scalar]");
}

TEST(RunInputDetails, PathsEndInPictureOptions) {
  struct Case {
    const char *word, *path;
    PixelRange pixels;
    bool crop;
    const char* text;
  };
  for (const Case& c :
       {Case{"a.png", "a.png", PixelRange::unit, false, "a.png"},
        Case{"a.png:unit", "a.png", PixelRange::unit, false, "a.png"},
        Case{"a.png:symmetric", "a.png", PixelRange::symmetric, false, "a.png:symmetric"},
        Case{"a.png:bytes:crop", "a.png", PixelRange::bytes, true, "a.png:bytes:crop"},
        Case{"a.png:crop:imagenet", "a.png", PixelRange::imagenet, true, "a.png:imagenet:crop"},
        Case{"a:b:crop", "a:b", PixelRange::unit, true, "a:b:crop"},
        Case{":crop", "", PixelRange::unit, true, ":crop"},
        Case{"xcrop", "xcrop", PixelRange::unit, false, "xcrop"},
        Case{"bytes", "bytes", PixelRange::unit, false, "bytes"},
        Case{"a.npy:bytes:crop", "a.npy", PixelRange::bytes, true, "a.npy"},
        Case{"a.pb:crop", "a.pb", PixelRange::unit, true, "a.pb"},
        Case{"Random", "Random", PixelRange::unit, false, "Random"}}) {
    const InputChoice choice = input_choice(c.word);
    EXPECT_EQ(choice.kind, InputKind::file) << c.word;
    EXPECT_EQ(choice.path, c.path) << c.word;
    EXPECT_EQ(choice.pixels, c.pixels) << c.word;
    EXPECT_EQ(choice.crop, c.crop) << c.word;
    EXPECT_EQ(input_choice_text(choice), c.text) << c.word;
  }
  EXPECT_EQ(refusal([] { input_choice(""); }),
            "invalid_argument: an input is random, zeros, or a file; found nothing");
  EXPECT_EQ(refusal([] { input_choice("a.png:foo"); }),
            "invalid_argument: 'foo' is none of unit, symmetric, bytes, imagenet and crop, which "
            "may follow a picture");
  EXPECT_EQ(refusal([] { input_choice("a.png:imagenet:bytes"); }),
            "invalid_argument: 'a.png:imagenet:bytes' has several of unit, symmetric, bytes and "
            "imagenet");
}

TEST(RunInputDetails, FilesOfInputsByTheirEndings) {
  for (const char* yes : {"a.npy", "a.png", "a.jpg", "a.jpeg", "a.bmp", "a.tif", "a.tiff", "a.webp",
                          "a.ppm", "a.pgm", "b/A.PNG", "a.b.JPeg"})
    EXPECT_TRUE(is_input_file(yes)) << yes;
  for (const char* no : {"a.onnx", "a.pb", "a.popef", "png", "a.png.txt", "", "a.", ".npy"})
    EXPECT_FALSE(is_input_file(no)) << no;
}

TEST(RunInputDetails, NumbersOfEveryTypeAreRoundedAndBounded) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {-inf, -1e30, -1.5, -0.5, 0.4, 0.5, 2.5, 3.5, 1e30, inf, NAN};
  const auto count = static_cast<int64_t>(values.size());
  const std::tuple<DType, double, double> types[] = {{DType::s8, -128, 127},
                                                     {DType::u8, 0, 255},
                                                     {DType::s16, -32768, 32767},
                                                     {DType::u16, 0, 65535},
                                                     {DType::s32, -0x1p31, 0x1p31 - 1},
                                                     {DType::u32, 0, 0x1p32 - 1}};
  for (const auto& [dtype, low, high] : types) {
    const double minus = low < 0 ? -2 : 0;
    EXPECT_EQ(tensor_of(dtype, {count}, values).to_doubles(),
              (std::vector<double>{low, low, minus, 0, 0, 0, 2, 4, high, high, 0}))
        << dtype_name(dtype);
  }
  EXPECT_EQ(
      tensor_of(DType::s64, {count}, values).to_int64s(),
      (std::vector<int64_t>{INT64_MIN, INT64_MIN, -2, 0, 0, 0, 2, 4, INT64_MAX, INT64_MAX, 0}));
  const Tensor u64 = tensor_of(DType::u64, {count}, values);
  EXPECT_EQ(u64.values<uint64_t>()[8], UINT64_MAX);
  EXPECT_EQ(u64.values<uint64_t>()[0], 0u);
  EXPECT_EQ(u64.values<uint64_t>()[7], 4u);
  const double bits[] = {0, -0.0, 0.25, -1, 2};
  EXPECT_EQ(tensor_of(DType::boolean, {5}, bits).to_doubles(),
            (std::vector<double>{0, 0, 1, 1, 1}));
  const double numbers[] = {0.1, -inf, 1e300};
  EXPECT_EQ(tensor_of(DType::f64, {3}, numbers).to_doubles(),
            (std::vector<double>{0.1, -inf, 1e300}));
  EXPECT_EQ(tensor_of(DType::f32, {3}, numbers).to_doubles(),
            (std::vector<double>{static_cast<double>(0.1F), -inf, inf}));
  EXPECT_EQ(tensor_of(DType::f16, {1}, numbers).to_doubles()[0], 0x1.998p-4);
  EXPECT_EQ(tensor_of(DType::bf16, {1}, numbers).to_doubles()[0], 0x1.9ap-4);
  for (const DType other : {DType::u4, DType::f8e5m2, DType::c64, DType::string})
    EXPECT_EQ(refusal([&] { tensor_of(other, {1}, numbers); }),
              fmt::format("unimplemented: numbers cannot be converted to {}", dtype_name(other)));
}

TEST(RunInputDetails, RandomTensorsByType) {
  for (int d = 1; d < kDTypeCount; d++) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::string) continue;
    const Tensor t = random_tensor(dtype, {64}, 5), again = random_tensor(dtype, {64}, 5);
    EXPECT_TRUE(t.same_as(again)) << dtype_name(dtype);
    const bool wide =
        dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
    const bool whole = (is_integer(dtype) && dtype_bits(dtype) >= 8) || dtype == DType::boolean;
    EXPECT_EQ(!t.same_as(random_tensor(dtype, {64}, 6)), wide || whole) << dtype_name(dtype);
    if (!wide && !whole) {
      EXPECT_TRUE(t.same_as(Tensor::zeros(dtype, {64}))) << dtype_name(dtype);
      continue;
    }
    int64_t ones = 0, fractions = 0;
    for (const double v : t.to_doubles()) {
      ones += v == 1;
      fractions += v != 0 && v != 1;
    }
    EXPECT_EQ(fractions, wide ? 64 : 0) << dtype_name(dtype);
    if (whole) EXPECT_TRUE(ones > 10 && ones < 54) << dtype_name(dtype) << " " << ones;
  }
}

TEST(RunInputDetails, FilesFitWhenTypesAndDimensionsDo) {
  const SampleFolder folder("run_input_fits");
  const auto path = folder.path / "t.npy";
  const auto with = [&](const Tensor& in_file, DType dtype, Shape shape) {
    save_npy(path, in_file);
    return refusal([&] {
      const Tensor t = input_tensor(anchor(dtype, shape), input_choice(path.string()), 1);
      EXPECT_EQ(t.dtype(), dtype);
      EXPECT_EQ(t.shape(), shape);
      EXPECT_EQ(t.to_doubles(), in_file.to_doubles());
    });
  };
  const Tensor f32 = Tensor::of<float>({1, 2}, {0.5F, 2});
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    EXPECT_EQ(with(f32, dtype, {2}), "none");
    EXPECT_EQ(with(f32, dtype, {1, 1, 1, 2}), "none");
  }
  const std::string start = "invalid_argument: input 'x' is ";
  const std::string end = ", but '" + path.string() + "' contains ";
  EXPECT_EQ(with(f32, DType::s32, {2}), start + "s32[2]" + end + "f32[1×2]");
  EXPECT_EQ(with(f32, DType::f32, {2, 1}), start + "f32[2×1]" + end + "f32[1×2]");
  EXPECT_EQ(with(f32, DType::f32, {1}), start + "f32[1]" + end + "f32[1×2]");
  const Tensor s32 = Tensor::of<int32_t>({2}, {1, 2});
  EXPECT_EQ(with(s32, DType::s32, {1, 2}), "none");
  EXPECT_EQ(with(s32, DType::f32, {2}), start + "f32[2]" + end + "s32[2]");
  EXPECT_EQ(with(s32, DType::s64, {2}), start + "s64[2]" + end + "s32[2]");
  EXPECT_EQ(with(Tensor::of<float>({1, 1}, {3}), DType::f32, {}), "none");
  EXPECT_EQ(with(Tensor::scalar(3.F), DType::f32, {1, 1}), "none");
  onnx::write_tensor_pb(folder.path / "t.pb", "name", s32);
  EXPECT_TRUE(input_tensor(anchor(DType::s32, {2}), {InputKind::file, folder.path / "t.pb"}, 1)
                  .same_as(s32));
  EXPECT_TRUE(read_tensor_file(folder.path / "t.pb").same_as(s32));
  EXPECT_TRUE(input_tensor(anchor(DType::s32, {2}), {InputKind::zeros, {}}, 1)
                  .same_as(Tensor::zeros(DType::s32, {2})));
}

TEST(RunInputDetails, NumpyFilesContainTheirTypes) {
  const SampleFolder folder("run_input_npy");
  const auto path = folder.path / "t.npy";
  const auto descr = [&](const Tensor& t) {
    save_npy(path, t);
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const size_t at = bytes.find("'descr': '") + 10;
    EXPECT_TRUE(read_npy(path.string()).same_as(t));
    return bytes.substr(at, bytes.find('\'', at) - at);
  };
  EXPECT_EQ(descr(Tensor::of<uint8_t>({2}, {1, 2})), "|u1");
  EXPECT_EQ(descr(Tensor::of<int8_t>({1, 2}, {1, 2})), "|i1");
  EXPECT_EQ(descr(Tensor::of<float>({}, {1})), "<f4");
  EXPECT_EQ(descr(Tensor::of<int64_t>({2}, {1, 2})), "<i8");
  EXPECT_EQ(descr(Tensor::zeros(DType::boolean, {0, 3})), "|b1");
  EXPECT_EQ(refusal([&] { save_npy(path, Tensor::strings({1}, {"a"})); }),
            "unimplemented: '" + path.string() + "': text is not exported");
}

// A value just above the middle of two floats of 16 bits is the middle as a f32.
TEST(RunInputDetails, DoublesAreRoundedOnce) {
  const double half[] = {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40},
               brain[] = {1 + 0x1p-8, -(1 + 0x1p-8 + 0x1p-40), 1 + 3 * 0x1p-8 - 0x1p-40};
  EXPECT_EQ(tensor_of(DType::f16, {3}, half).to_doubles(),
            (std::vector<double>{1, 1 + 0x1p-10, 1 + 0x1p-10}));
  EXPECT_EQ(tensor_of(DType::bf16, {3}, brain).to_doubles(),
            (std::vector<double>{1, -(1 + 0x1p-7), 1 + 0x1p-7}));
}

}  // namespace
}  // namespace poprt::inspector
