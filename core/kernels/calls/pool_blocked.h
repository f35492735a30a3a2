// pool_blocked: operands [x, y]: max or average pooling of channel-blocked f32, x [planes, h, w,
// 16], y [planes, oh, ow, 16].
#pragma once

#include "kernels/calls/call.h"
#include "kernels/isa/pool.h"

namespace poprt::kernels::calls {

struct PoolBlocked {
  static constexpr std::string_view kKernel = "pool_blocked";

  isa::PoolShape shape{};  // planes are images times channel blocks

  void fields(Fields& f) {
    f.extent("planes", shape.planes, 0);
    f.extent("h", shape.h);
    f.extent("w", shape.w);
    f.extent("oh", shape.oh);
    f.extent("ow", shape.ow);
    f.extent("kh", shape.kh);
    f.extent("kw", shape.kw);
    f.extent("stride_h", shape.stride_h);
    f.extent("stride_w", shape.stride_w);
    f.extent("pad_h", shape.pad_h, 0);
    f.extent("pad_w", shape.pad_w, 0);
    f.extent("pad_h_end", shape.pad_h_end, 0);
    f.extent("pad_w_end", shape.pad_w_end, 0);
    f.extent("dilation_h", shape.dilation_h);
    f.extent("dilation_w", shape.dilation_w);
    f.flag("average", shape.average);
    f.flag("count_include_pad", shape.count_padding);
  }
};

}  // namespace poprt::kernels::calls
