// cast: operands [from, to], same element count, any numeric types (4-bit, 8-bit and 16-bit
// floats, sub-byte integers, bool). Floats become integers toward zero; out of range as x86 and
// ONNX Runtime give it: NaN and overflow are the most negative value of s32 / s64, narrower
// types keep the low bits of that.
#pragma once

#include <optional>

#include "base/quarter.h"
#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Cast {
  static constexpr std::string_view kKernel = "cast";

  bool saturate = true;  // too large 8-bit floats become the largest one, not NaN or infinity
  std::optional<PowerRounding> rounding;  // to f8e8m0, `up` when it is missing

  void fields(Fields& f) {
    f.flag("saturate", saturate);
    if (f.follow(rounding.has_value())) {
      auto value = rounding.value_or(PowerRounding::up);
      f.choice("rounding", value, PowerRounding::nearest);
      rounding = value;
    }
  }
};

}  // namespace poprt::kernels::calls
