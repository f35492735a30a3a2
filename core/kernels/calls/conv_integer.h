// conv_integer: operands [x, w, x_zero?, w_zero?, bias?, y]: convolution of u8 / s8 x and w, in the
// layout of conv_generic, after subtraction of their zero points, with s32 bias [groups * m] and
// s32 y. Padding has the value x_zero, so it adds nothing. x_zero has one element, w_zero one or
// groups * m.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/plain_conv.h"

namespace poprt::kernels::calls {

struct ConvInteger {
  static constexpr std::string_view kKernel = "conv_integer";

  bool w_filters = false;  // w_zero has an element for each filter
  PlainConv conv;

  void fields(Fields& f) {
    f.flag("w_filters", w_filters);
    conv.fields(f);
  }
};

}  // namespace poprt::kernels::calls
