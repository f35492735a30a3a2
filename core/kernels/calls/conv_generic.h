// conv_generic: operands [x [n, groups * c, in...], weights [groups * m, c, kernel...], bias?
// [groups * m], y [n, groups * m, out...]] of one float dtype: any convolution in up to three
// dimensions.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/plain_conv.h"

namespace poprt::kernels::calls {

struct ConvGeneric {
  static constexpr std::string_view kKernel = "conv_generic";

  PlainConv conv;

  void fields(Fields& f) { conv.fields(f); }
};

}  // namespace poprt::kernels::calls
