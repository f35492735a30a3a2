// cast: operands [from, to] with the same number of elements and any numeric types except complex
// ones; 4-bit, 8-bit and 16-bit floats, integers smaller than a byte and bool are among them.
// Floats are converted to integers by truncation, as on x86 and in ONNX Runtime: first to s32, or
// to s64 for s64, u32 and u64, where NaN and overflow become the most negative value. Narrower
// types and u32 keep the low bits of that; u64 has its whole range.
#pragma once

#include <optional>

#include "base/quarter.h"
#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Cast {
  static constexpr std::string_view kKernel = "cast";

  // 8-bit floats that are too large become the largest one instead of NaN or infinity
  bool saturate = true;
  std::optional<PowerRounding> rounding;  // to f8e8m0; `up` if it is missing

  void fields(Fields& f) {
    f.flag("saturate", saturate);
    if (f.has_optional(rounding.has_value())) {
      auto value = rounding.value_or(PowerRounding::up);
      f.choice("rounding", value, PowerRounding::nearest);
      rounding = value;
    }
  }
};

}  // namespace poprt::kernels::calls
