// Values for the inputs of a run: made up, from files, from pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/tensor.h"
#include "program/program.h"

namespace poprt::inspector {

// How the bytes of a picture become numbers.
enum class PixelRange {
  unit,       // 0 to 1
  symmetric,  // -1 to 1
  bytes,      // 0 to 255
  imagenet,   // 0 to 1, less the mean of ImageNet and divided by its deviation, per channel
};
inline constexpr int kPixelRanges = 4;
const char* pixel_range_name(PixelRange range);  // "unit" ..., as the command line spells it

enum class InputKind { random, zeros, file };

struct InputChoice {
  InputKind kind = InputKind::random;
  std::filesystem::path path;  // of a file: .npy, .pb (an ONNX TensorProto), or a picture
  PixelRange pixels = PixelRange::unit;
  bool crop = false;  // of a picture the middle, in the input's proportions, instead of all of it

  bool operator==(const InputChoice&) const = default;
};
// By name of the input; those that are not named are random.
using InputChoices = std::map<std::string, InputChoice>;

// "random", "zeros", or "FILE", of pictures also "FILE:imagenet", "FILE:crop",
// "FILE:imagenet:crop". Throws invalid_argument for an empty word.
InputChoice input_choice(std::string_view word);
std::string input_choice_text(const InputChoice& choice);

// By the ending of its name a tensor or a picture, so nothing to open as a document. A .pb may be
// both.
bool is_input_file(const std::filesystem::path& path);

// Floats from a normal distribution, everything else 0 or 1, which are valid as indices, masks and
// ids. The same seed gives the same bytes.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed);

// Numbers as a tensor, rounded and kept within the type's range. Throws unimplemented for types
// other than floats of 16 bits or more and integers of 8 or more.
Tensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values);

// A picture (u8 [height, width, 3]) as an input of `shape`: [N, C, H, W], [N, H, W, C] or without
// N, or [H, W]; C is 1 or 3. All of it, or with `crop` the largest part around the middle that has
// the proportions of H x W, is resized to H x W (which changes the proportions of what is not
// cropped) and repeated N times. Throws invalid_argument for other shapes.
Tensor picture_as(const Tensor& rgb, DType dtype, const Shape& shape, PixelRange range,
                  bool crop = false);

// The value of one input. A file's floats may be of another float type, and its shape may lack or
// have additional leading dimensions of 1. Throws what reading throws, and invalid_argument naming
// the input, what it needs and what was found.
Tensor input_tensor(const program::Anchor& anchor, const InputChoice& choice, uint64_t seed);

// A tensor in a .npy file; types that NumPy has not become f32. Throws what writing throws.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// A .pb file or, with any other name, a .npy file.
Tensor read_tensor_file(const std::filesystem::path& path);

}  // namespace poprt::inspector
