// What the precision passes may be told, by PopRT's names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace poprt::passes {

// How a tensor is kept in 8-bit floats: codes of f8_143 or f8_152 times 2^scale.
struct QuarterFormat {
  DType dtype = DType::f8_143;
  int scale = 0;

  bool operator==(const QuarterFormat&) const = default;
};
inline constexpr int kLeastQuarterScale = -32, kMostQuarterScale = 31;

// "F143" or "F152".
std::string_view quarter_name(DType dtype);
// Reads "F143,-1"; `what` is the option or parameter, for errors. Throws invalid_argument.
QuarterFormat parse_quarter_format(std::string_view text, std::string_view what);
// Reads fp8_params, "F143,F143,-1,-1": formats of inputs and weights, then their scales.
struct QuarterFormats {
  QuarterFormat input, weight;
};
QuarterFormats parse_fp8_params(std::string_view text, std::string_view what);

// A weight as float_to_int8 is given it: numbers are (value - offset) * scale. Offset and scale
// have one element, or one for each index of an axis, dimensions of one elsewhere.
struct Int8Weight {
  Tensor value, offset, scale;
};

struct PrecisionParameters {
  // float_to_half
  bool avoid_overflow_patterns = false;
  std::vector<std::string> fp16_skip_op_names = {};  // nodes that stay f32

  // float_to_fp8
  QuarterFormats fp8 = {};
  bool fp8_weights_only = false;  // products compute in halves; `fp8_weight`
  bool fp8_skip_op = true;        // fp8_skip_op_names counts
  std::vector<std::string> fp8_skip_op_names = {};
  std::map<std::string, QuarterFormat> fp8_input_dict = {};  // by node; before `fp8`
  std::map<std::string, QuarterFormat> fp8_weight_dict = {};
  // Codes of weights (u8, in the weight's own layout) that are not the nearest, by node.
  std::map<std::string, Tensor> fp8_codes = {};

  // float_to_int8; by the weight's name. Empty: every product's weight, to the nearest byte.
  std::map<std::string, Int8Weight> int8_offset_scale = {};
};

}  // namespace poprt::passes
