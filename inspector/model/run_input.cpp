#include "model/run_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/float_odd.h"
#include "base/half.h"
#include "codecs/npy.h"
#include "model/format.h"
#include "onnx/tensor_io.h"
#include "ops/common/images.h"
#include "popef/export_npy.h"

namespace poprt::inspector {
namespace {

constexpr const char* kRangeNames[kPixelRanges] = {"unit", "symmetric", "bytes", "imagenet"};

template <class T>
Tensor stored(const Shape& shape, std::span<const double> values) {
  Tensor t = Tensor::zeros(dtype_of<T>(), shape);
  const auto out = t.mutable_values<T>();
  for (size_t i = 0; i < out.size(); i++) {
    if constexpr (std::is_same_v<T, f16_t>)
      out[i] = to_f16(to_float_odd(values[i]));
    else if constexpr (std::is_same_v<T, bf16_t>)
      out[i] = to_bf16(to_float_odd(values[i]));
    else if constexpr (std::is_floating_point_v<T>)
      out[i] = static_cast<T>(values[i]);
    else if constexpr (std::is_same_v<T, bool>)
      out[i] = values[i] != 0;
    else if (values[i] >= static_cast<double>(std::numeric_limits<T>::max()))
      out[i] = std::numeric_limits<T>::max();
    else if (values[i] <= static_cast<double>(std::numeric_limits<T>::lowest()))
      out[i] = std::numeric_limits<T>::lowest();
    else
      out[i] = std::isnan(values[i]) ? T{} : static_cast<T>(std::nearbyint(values[i]));
  }
  return t;
}

bool is_wide_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

// The indices of rows, columns and channels in a shape; -1 if it has none.
struct PictureAxes {
  int height = -1, width = -1, channels = -1;
};

PictureAxes axes_of(const Shape& shape) {
  const auto rank = static_cast<int>(shape.size());
  const auto colours = [&](int axis) {
    const int64_t d = shape[static_cast<size_t>(axis)];
    return d == 1 || d == 3;
  };
  if (rank == 2) return {0, 1, -1};
  if (rank == 3 || rank == 4) {
    const int first = rank - 3;
    if (colours(first)) return {first + 1, first + 2, first};
    if (colours(rank - 1)) return {first, first + 1, rank - 1};
  }
  fail(ErrorCode::invalid_argument,
       "a picture fits inputs of [N,C,H,W], [N,H,W,C], the same without N, or [H,W], with 1 or 3 "
       "channels; found [{}]",
       dimensions_text(shape));
}

// For each of `to` samples, the source samples and their weights: a triangle that extends by one
// step, and at least one source sample, in both directions, so that shrinking averages.
std::vector<std::vector<std::pair<int64_t, double>>> resampling(int64_t from, int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(1.0, step);
  std::vector<std::vector<std::pair<int64_t, double>>> lines(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; i++) {
    const double centre = (static_cast<double>(i) + 0.5) * step - 0.5;
    auto& line = lines[static_cast<size_t>(i)];
    double total = 0;
    const auto last = std::min(from - 1, static_cast<int64_t>(std::floor(centre + reach)));
    for (auto k = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(centre - reach))); k <= last;
         k++) {
      const double weight = 1 - std::abs(static_cast<double>(k) - centre) / reach;
      if (weight <= 0) continue;
      line.emplace_back(k, weight);
      total += weight;
    }
    for (auto& [_, weight] : line) weight /= total;
  }
  return lines;
}

// Resizes the middle one of three dimensions to `to` elements.
template <class T>
std::vector<double> resampled(std::span<const T> values, int64_t outer, int64_t from, int64_t inner,
                              int64_t to) {
  const auto lines = resampling(from, to);
  std::vector<double> out(static_cast<size_t>(outer * to * inner));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < to; i++)
      for (const auto& [k, weight] : lines[static_cast<size_t>(i)]) {
        const T* source = &values[static_cast<size_t>((o * from + k) * inner)];
        double* target = &out[static_cast<size_t>((o * to + i) * inner)];
        for (int64_t n = 0; n < inner; n++) target[n] += weight * static_cast<double>(source[n]);
      }
  return out;
}

// Returns [height, width, 3] with values from 0 to 255. The dimension with the smaller ratio of new
// to old size is resized first, because the second step then has fewer elements.
std::vector<double> resized(const Tensor& rgb, int64_t height, int64_t width) {
  const int64_t rows = rgb.shape()[0], columns = rgb.shape()[1];
  const auto pixels = rgb.values<uint8_t>();
  if (rows * width < height * columns) {
    const auto narrow = resampled<uint8_t>(pixels, rows, columns, 3, width);
    return resampled<double>(narrow, 1, rows, width * 3, height);
  }
  const auto low = resampled<uint8_t>(pixels, 1, rows, columns * 3, height);
  return resampled<double>(low, height, columns, 3, width);
}

// The largest centred part with the proportions of height x width.
Tensor centre_of(const Tensor& rgb, int64_t height, int64_t width) {
  const int64_t rows = rgb.shape()[0], columns = rgb.shape()[1];
  const int64_t kept_rows = std::clamp<int64_t>(columns * height / width, 1, rows);
  const int64_t kept_columns = std::clamp<int64_t>(rows * width / height, 1, columns);
  const int64_t top = (rows - kept_rows) / 2, left = (columns - kept_columns) / 2;
  Tensor part = Tensor::zeros(DType::u8, {kept_rows, kept_columns, 3});
  const auto from = rgb.values<uint8_t>();
  const auto to = part.mutable_values<uint8_t>();
  for (int64_t r = 0; r < kept_rows; r++)
    std::copy_n(from.begin() + ((top + r) * columns + left) * 3, kept_columns * 3,
                to.begin() + r * kept_columns * 3);
  return part;
}

double ranged(double byte, int64_t channel, PixelRange range) {
  constexpr std::array<double, 3> mean = {0.485, 0.456, 0.406}, deviation = {0.229, 0.224, 0.225};
  const auto c = static_cast<size_t>(channel);
  switch (range) {
    case PixelRange::unit: return byte / 255;
    case PixelRange::symmetric: return byte / 127.5 - 1;
    case PixelRange::bytes: return byte;
    case PixelRange::imagenet: return (byte / 255 - mean[c]) / deviation[c];
  }
  return byte;
}

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{}[{}]", dtype_name(dtype), dimensions_text(shape));
}

Shape without_leading_ones(const Shape& shape) {
  size_t i = 0;
  while (i < shape.size() && shape[i] == 1) i++;
  return {shape.begin() + static_cast<std::ptrdiff_t>(i), shape.end()};
}

bool is_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".npy" || path.extension() == ".pb";
}

Tensor fitted(Tensor t, const program::Anchor& anchor, const std::filesystem::path& path) {
  if (without_leading_ones(t.shape()) == without_leading_ones(anchor.shape)) {
    if (t.dtype() != anchor.dtype && is_wide_float(t.dtype()) && is_wide_float(anchor.dtype))
      t = tensor_of(anchor.dtype, t.shape(), t.to_doubles());
    if (t.dtype() == anchor.dtype) return t.reshaped(anchor.shape);
  }
  fail(ErrorCode::invalid_argument, "input '{}' is {}, but '{}' contains {}",
       printable(anchor.name), type_text(anchor.dtype, anchor.shape), path.string(),
       type_text(t.dtype(), t.shape()));
}

}  // namespace

const char* pixel_range_name(PixelRange range) { return kRangeNames[static_cast<size_t>(range)]; }

InputChoice input_choice(std::string_view word) {
  if (word.empty())
    fail(ErrorCode::invalid_argument, "an input is random, zeros, or a file; found nothing");
  const std::string_view whole = word;
  if (word == "random") return {};
  if (word == "zeros") return {InputKind::zeros, {}};
  InputChoice choice{InputKind::file, {}};
  int ranges = 0;
  const auto ends = [&](std::string_view ending) {
    const bool found = word.size() > ending.size() && word.ends_with(ending) &&
                       word[word.size() - ending.size() - 1] == ':';
    if (found) word.remove_suffix(ending.size() + 1);
    return found;
  };
  for (int turn = 0; turn < 2; turn++) {  // NAME:range:crop or NAME:crop:range
    if (ends("crop")) choice.crop = true;
    for (int r = 0; r < kPixelRanges; r++)
      if (ends(kRangeNames[r])) {
        choice.pixels = static_cast<PixelRange>(r);
        ranges++;
      }
  }
  if (ranges > 1)
    fail(ErrorCode::invalid_argument, "'{}' has several of unit, symmetric, bytes and imagenet",
         printable(std::string(whole)));
  // A file may have ":" in its name.
  const size_t colon = word.rfind(':');
  std::error_code ignored;
  if (colon != word.npos && is_input_file(word.substr(0, word.find(':'))) &&
      !std::filesystem::exists(word, ignored))
    fail(ErrorCode::invalid_argument,
         "'{}' is none of unit, symmetric, bytes, imagenet and crop, which may follow a picture",
         printable(std::string(word.substr(colon + 1))));
  choice.path = word;
  return choice;
}

std::string input_choice_text(const InputChoice& choice) {
  if (choice.kind == InputKind::random) return "random";
  if (choice.kind == InputKind::zeros) return "zeros";
  std::string text = choice.path.string();
  if (is_tensor_file(choice.path)) return text;
  if (choice.pixels != PixelRange::unit)
    text += fmt::format(":{}", pixel_range_name(choice.pixels));
  return choice.crop ? text + ":crop" : text;
}

Tensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values) {
  switch (dtype) {
    case DType::f32: return stored<float>(shape, values);
    case DType::f64: return stored<double>(shape, values);
    case DType::f16: return stored<f16_t>(shape, values);
    case DType::bf16: return stored<bf16_t>(shape, values);
    case DType::s8: return stored<int8_t>(shape, values);
    case DType::u8: return stored<uint8_t>(shape, values);
    case DType::s16: return stored<int16_t>(shape, values);
    case DType::u16: return stored<uint16_t>(shape, values);
    case DType::s32: return stored<int32_t>(shape, values);
    case DType::u32: return stored<uint32_t>(shape, values);
    case DType::s64: return stored<int64_t>(shape, values);
    case DType::u64: return stored<uint64_t>(shape, values);
    case DType::boolean: return stored<bool>(shape, values);
    default: fail(ErrorCode::unimplemented, "numbers cannot be converted to {}", dtype_name(dtype));
  }
}

bool is_input_file(const std::filesystem::path& path) {
  static constexpr std::string_view endings[] = {".npy", ".png",  ".jpg",  ".jpeg", ".bmp",
                                                 ".tif", ".tiff", ".webp", ".ppm",  ".pgm"};
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor t = Tensor::zeros(dtype, shape);
  const int bits = dtype_bits(dtype);
  if (bits < 8) return t;  // types with fewer bits stay zero, and text empty
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(t.count()));
  for (double& v : values)
    v = is_wide_float(dtype) ? normal(random) : static_cast<double>(random() & 1);
  const bool whole = is_integer(dtype) || dtype == DType::boolean;
  // 8-bit floats and complex numbers: zeros are valid for all uses.
  return whole || is_wide_float(dtype) ? tensor_of(dtype, shape, values) : t;
}

Tensor picture_as(const Tensor& rgb, DType dtype, const Shape& shape, PixelRange range, bool crop) {
  const PictureAxes axes = axes_of(shape);
  const auto at = [&](int axis) { return axis < 0 ? 1 : shape[static_cast<size_t>(axis)]; };
  const int64_t height = at(axes.height), width = at(axes.width), channels = at(axes.channels);
  if (element_count(shape) == 0) return Tensor::zeros(dtype, shape);
  const std::vector<double> pixels =
      resized(crop ? centre_of(rgb, height, width) : rgb, height, width);
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  const int64_t each = height * width * channels;
  const bool channels_first = axes.channels >= 0 && axes.channels < axes.height;
  for (size_t i = 0; i < values.size(); i++) {
    const int64_t k = static_cast<int64_t>(i) % each;
    const int64_t c = channels_first ? k / (height * width) : k % channels;
    const int64_t pixel = channels_first ? k % (height * width) : k / channels;
    const double* p = &pixels[static_cast<size_t>(pixel * 3)];
    // Luma of ITU-R 601-2.
    const double byte = channels == 3 ? p[c] : 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
    values[i] = ranged(byte, c, range);
  }
  return tensor_of(dtype, shape, values);
}

Tensor read_tensor_file(const std::filesystem::path& path) {
  return path.extension() == ".pb" ? onnx::read_tensor_pb(path) : read_npy(path.string());
}

Tensor input_tensor(const program::Anchor& anchor, const InputChoice& choice, uint64_t seed) {
  if (choice.kind == InputKind::random) return random_tensor(anchor.dtype, anchor.shape, seed);
  if (choice.kind == InputKind::zeros) return Tensor::zeros(anchor.dtype, anchor.shape);
  if (is_tensor_file(choice.path))
    return fitted(read_tensor_file(choice.path), anchor, choice.path);
  const auto file = MappedFile::open(choice.path);
  try {
    const Tensor rgb = ops::decode_rgb(
        {reinterpret_cast<const uint8_t*>(file->bytes().data()), file->bytes().size()});
    return picture_as(rgb, anchor.dtype, anchor.shape, choice.pixels, choice.crop);
  } catch (Error& e) {
    e.add_context(fmt::format("input '{}', '{}'", printable(anchor.name), choice.path.string()));
    throw;
  }
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  Tensor t = tensor;
  if (npy_code(t.dtype()).empty()) {
    if (t.dtype() == DType::string)
      fail(ErrorCode::unimplemented, "'{}': text is not exported", path.string());
    t = tensor_of(DType::f32, t.shape(), t.to_doubles());
  }
  const std::string_view code = npy_code(t.dtype());
  const std::string head =
      popef::npy_head(fmt::format("{}{}", code.ends_with("1") ? "|" : "<", code), t.shape());
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(head.data(), head.size())));
  file.write({static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())});
  file.commit();
}

}  // namespace poprt::inspector
