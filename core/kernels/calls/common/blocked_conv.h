// A convolution of channel-blocked activations, f32 unless the kernel names other types: the fields
// that the kernels conv* share. Operands [x, weights, bias?, residual?, y]; y and residual are
// [batch, groups * ceil(m / 16), oh, ow, 16], bias has room for whole blocks. There are two or
// three dimensions; with three, the slices of a value are stored one after the other.
#pragma once

#include <optional>

#include "kernels/calls/common/epilogue.h"

namespace poprt::kernels::calls {

// The restrictions of a kernel: the only value that it accepts (0: any value), and the largest
// ones.
struct ConvLimits {
  int64_t groups = 0, c = 0, kernel = 0, stride = 0, dilation = 0;
  int64_t most_m = kMostExtent, most_pad = kMostExtent;
};

struct BlockedConv {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t c = 1;           // input channels of a group
  int64_t m = 1;           // output channels of a group
  int64_t h = 1, w = 1;    // of x
  int64_t oh = 1, ow = 1;  // of y
  int64_t kh = 1, kw = 1;  // of the window
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;  // above and to the left
  int64_t dilation_h = 1, dilation_w = 1;
  Epilogue epilogue;

  void fields(Fields& f, const ConvLimits& only = {}) {
    const auto extent = [&](std::string_view name, int64_t& value, int64_t alone) {
      f.integer(name, value, alone ? alone : 1, alone ? alone : kMostExtent);
    };
    f.extent("batch", batch);
    extent("groups", groups, only.groups);
    extent("c", c, only.c);
    f.integer("m", m, 1, only.most_m);
    f.extent("h", h);
    f.extent("w", w);
    f.extent("oh", oh);
    f.extent("ow", ow);
    extent("kh", kh, only.kernel);
    extent("kw", kw, only.kernel);
    extent("stride_h", stride_h, only.stride);
    extent("stride_w", stride_w, only.stride);
    f.integer("pad_h", pad_h, 0, only.most_pad);
    f.integer("pad_w", pad_w, 0, only.most_pad);
    extent("dilation_h", dilation_h, only.dilation);
    extent("dilation_w", dilation_w, only.dilation);
    epilogue.fields(f);
  }
};

// The third dimension; by default there is one slice.
struct ConvDepth {
  int64_t d = 1;   // slices of x
  int64_t od = 1;  // slices of y
  int64_t kd = 1, stride_d = 1, pad_d = 0, dilation_d = 1;

  // Optional fields, before `after` more integers.
  static void fields(Fields& f, std::optional<ConvDepth>& depth, size_t after = 0) {
    if (!f.has_optional(depth.has_value(), after)) return;
    ConvDepth v = depth.value_or(ConvDepth{});
    f.extent("d", v.d);
    f.extent("od", v.od);
    f.extent("kd", v.kd);
    f.extent("stride_d", v.stride_d);
    f.extent("pad_d", v.pad_d, 0);
    f.extent("dilation_d", v.dilation_d);
    depth = v;
  }
};

}  // namespace poprt::kernels::calls
