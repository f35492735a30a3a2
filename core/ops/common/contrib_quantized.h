// Quantised operators of com.microsoft that compute in floats between two conversions.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// Converts input `at` with scale at + 1 and optional zero point at + 2 to floats.
inline ir::Value* dequantized(Expansion& e, size_t at) {
  e.check(element_count(e.shape(at + 1)) == 1 &&
              (!e.has(at + 2) || element_count(e.shape(at + 2)) == 1),
          "a scale or zero point should be one number");
  return e.dequantize(e.in(at), e.in(at + 1), e.in_or_null(at + 2));
}

// Checks that inputs a and b are quantised to the same type.
inline void check_one_type(Expansion& e, size_t a, size_t b) {
  if (e.dtype(a) != e.dtype(b))
    e.fail_input("input {} is {}, input {} is {}; both must be of one type", a,
                 dtype_name(e.dtype(a)), b, dtype_name(e.dtype(b)));
}

// Sets result 0: y quantised to `dtype` with scale input `at` and optional zero point input at + 1.
inline void set_quantized_result(Expansion& e, ir::Value* y, size_t at, DType dtype) {
  e.check(
      element_count(e.shape(at)) == 1 && (!e.has(at + 1) || element_count(e.shape(at + 1)) == 1),
      "the scale or zero point of the result should be one number");
  if (e.has(at + 1) && e.dtype(at + 1) != dtype)
    e.fail_input("the zero point of the result is {}, the result {}", dtype_name(e.dtype(at + 1)),
                 dtype_name(dtype));
  e.out(0, e.quantize(y, e.in(at), e.in_or_null(at + 1), dtype));
}

// Converts inputs at, at + 1, at + 2 to the scale of the result, for operators that only move
// elements.
inline ir::Value* requantized(Expansion& e, size_t at, size_t scale, DType dtype) {
  e.check(element_count(e.shape(scale)) == 1 &&
              (!e.has(scale + 1) || element_count(e.shape(scale + 1)) == 1),
          "the scale or zero point of the result should be one number");
  return e.quantize(dequantized(e, at), e.in(scale), e.in_or_null(scale + 1), dtype);
}

// Converts [N,H,W,C] to [N,C,H,W]; channels_last does the inverse.
inline ir::Value* channels_first(Expansion& e, ir::Value* v) {
  const auto rank = static_cast<int64_t>(e.shape_of(v).size());
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; d++) perm.push_back(d);
  return e.transpose(v, perm);
}
inline ir::Value* channels_last(Expansion& e, ir::Value* v) {
  const auto rank = static_cast<int64_t>(e.shape_of(v).size());
  std::vector<int64_t> perm = {0};
  for (int64_t d = 2; d < rank; d++) perm.push_back(d);
  perm.push_back(1);
  return e.transpose(v, perm);
}

}  // namespace poprt::ops
