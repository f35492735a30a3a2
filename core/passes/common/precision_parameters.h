// Parameters of the precision passes, with PopRT's names.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace poprt::passes {

// The format of a tensor in 8-bit floats: codes of f8_143 or f8_152, multiplied by 2^scale.
struct QuarterFormat {
  DType dtype = DType::f8_143;
  int scale = 0;

  bool operator==(const QuarterFormat&) const = default;
};
inline constexpr int kLeastQuarterScale = -32, kMostQuarterScale = 31;

// "F143" or "F152".
std::string_view quarter_name(DType dtype);
// Parses "F143,-1". `what` is the name of the option or parameter, for errors. Throws
// invalid_argument.
QuarterFormat parse_quarter_format(std::string_view text, std::string_view what);
// Parses fp8_params such as "F143,F143,-1,-1": formats of inputs and weights, then their scales.
struct QuarterFormats {
  QuarterFormat input, weight;
};
QuarterFormats parse_fp8_params(std::string_view text, std::string_view what);

// Quantisation of a weight for float_to_int8: numbers are (value - offset) * scale. Offset and
// scale have one element, or one element per index of one axis (then the other dimensions are 1).
struct Int8Weight {
  Tensor value, offset, scale;
};

// Quantisation of a tensor to u8: real = (byte - zero) * scale.
struct ByteFormat {
  float scale = 1;
  int zero = 0;

  bool operator==(const ByteFormat&) const = default;
};

struct PrecisionParameters {
  // For float_to_half.
  bool avoid_overflow_patterns = false;
  std::vector<std::string> fp16_skip_op_names = {};  // nodes that stay f32

  // For float_to_fp8.
  QuarterFormats fp8 = {};
  bool fp8_weights_only = false;  // precision fp8_weight: products compute in f16
  bool fp8_skip_op = true;        // whether fp8_skip_op_names is used
  std::vector<std::string> fp8_skip_op_names = {};
  // These override `fp8`, by the name of the node or of its result.
  std::map<std::string, QuarterFormat> fp8_input_dict = {};
  std::map<std::string, QuarterFormat> fp8_weight_dict = {};
  // Codes of weights (u8, in the weight's layout) that are not the nearest ones, by the name of the
  // node or of its result.
  std::map<std::string, Tensor> fp8_codes = {};

  // For float_to_int8, by weight name. If empty, the weights of all products are rounded to the
  // nearest byte.
  std::map<std::string, Int8Weight> int8_offset_scale = {};

  // For float_to_qdq, from a calibration: formats by the name of a value, and the products whose
  // weights become bytes, by the name of their result.
  std::map<std::string, ByteFormat> byte_values = {};
  std::set<std::string> byte_products = {};
  // Products that a calibration leaves in f32, by the name of the node or of its result.
  std::vector<std::string> int8_skip_op_names = {};
};

}  // namespace poprt::passes
