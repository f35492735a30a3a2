// Values for the inputs of a run: random, from files, or from pictures.
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

// The conversion from the bytes of a picture to numbers.
enum class PixelRange {
  unit,       // 0 to 1
  symmetric,  // -1 to 1
  bytes,      // 0 to 255
  imagenet,   // 0 to 1, minus ImageNet's mean and divided by its deviation, per channel
};
inline constexpr int kPixelRanges = 4;
const char* pixel_range_name(PixelRange range);  // "unit" ..., as on the command line

enum class InputKind { random, zeros, file };

struct InputChoice {
  InputKind kind = InputKind::random;
  std::filesystem::path path;  // .npy, .pb (an ONNX TensorProto), or a picture
  PixelRange pixels = PixelRange::unit;
  // Whether to use the centre of a picture, with the input's proportions, instead of all of it.
  bool crop = false;

  bool operator==(const InputChoice&) const = default;
};
// Choices by input name. Inputs without a choice are random.
using InputChoices = std::map<std::string, InputChoice>;

// Parses "random", "zeros" or "FILE". For pictures also "FILE:imagenet", "FILE:crop" and
// "FILE:imagenet:crop". Throws invalid_argument for an empty word.
InputChoice input_choice(std::string_view word);
std::string input_choice_text(const InputChoice& choice);

// Whether the file is a tensor or a picture by the ending of its name, and not a document. A .pb
// file may be both, and counts as a document.
bool is_input_file(const std::filesystem::path& path);

// Floats of at least 16 bits are from a normal distribution. Integers of at least 8 bits and
// booleans are 0 or 1, because these are valid as indices, masks and ids. Other types are 0 or
// empty. The same seed gives the same bytes.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed);

// Converts numbers to a tensor. They are rounded to the type. For integers, they are also clamped
// to its range, and NaN becomes 0. For booleans, numbers other than 0 are true. Throws
// unimplemented for types other than floats of at least 16 bits, integers of at least 8 bits, and
// booleans.
Tensor tensor_of(DType dtype, const Shape& shape, std::span<const double> values);

// Converts a picture (u8 [height, width, 3]) to an input of `shape`: [N, C, H, W], [N, H, W, C],
// the same without N, or [H, W]; C is 1 or 3. The whole picture is resized to H x W, which may
// change its proportions. With `crop`, only the largest centred part with the proportions of H x W
// is used. The result is repeated N times. Throws invalid_argument for other shapes.
Tensor picture_as(const Tensor& rgb, DType dtype, const Shape& shape, PixelRange range,
                  bool crop = false);

// Returns the value of one input. Floats of a file may have another float type, and the shape may
// differ by leading dimensions of 1. Throws the errors of reading, and invalid_argument with the
// name of the input, the expected type and the type found.
Tensor input_tensor(const program::Anchor& anchor, const InputChoice& choice, uint64_t seed);

// Writes a tensor to a .npy file. Types that NumPy does not have become f32. Throws unimplemented
// for text, and the errors of writing.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// Reads a .pb file; any other file is read as .npy.
Tensor read_tensor_file(const std::filesystem::path& path);

}  // namespace poprt::inspector
