// Pooling on channel-blocked activations, and conversion between plain and blocked layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct PoolShape {
  int64_t planes;  // N * channel blocks
  int64_t h, w, oh, ow;
  int64_t kh, kw, stride_h, stride_w, pad_h, pad_w, pad_h_end, pad_w_end, dilation_h, dilation_w;
  bool average, count_padding;
};

struct PoolTable {
  // Tasks are `task_rows` output rows of one plane; scratch holds w * 16 floats.
  void (*pool)(const PoolShape& s, int64_t task_rows, const float* x, float* y, int64_t begin,
               int64_t end, float* scratch) noexcept;
  // Writes the means of `pixels` pixels of planes [begin, end) with `channels` channels in `blocks`
  // blocks for each image to y[image][channels].
  void (*global_average)(int64_t pixels, int64_t channels, int64_t blocks, const float* x, float* y,
                         int64_t begin, int64_t end) noexcept;
  // Converts `count` channels (at most 16) of `pixels` pixels, whose planes are `plane` floats
  // apart, to [pixels][16]; missing channels become zero.
  void (*block)(const float* x, int64_t plane, int64_t count, int64_t pixels, float* y) noexcept;
  // The inverse: x is [pixels][16], and the planes of y are `plane` floats apart.
  void (*unblock)(const float* x, int64_t plane, int64_t count, int64_t pixels, float* y) noexcept;
  // to[i] = the maximum of from[0 .. pieces)[i] and, unless `first`, to[i]; bytes, signed or
  // unsigned.
  void (*max_bytes)(bool is_signed, bool first, uint8_t* to, const uint8_t* const* from,
                    int64_t pieces, int64_t n) noexcept;
};
POPRT_DECLARE_ISA(PoolTable, pool)

}  // namespace poprt::kernels::isa
