// fp32 convolutions on channel-blocked activations [N, C/16, H, W, 16].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/dispatch.h"
#include "kernels/isa/epilogue.h"

namespace poprt::kernels::isa {

struct ConvShape {
  int64_t batch, groups;
  int64_t c, c_blocks, oc_blocks;  // of one group; c counts real channels
  int64_t h, w, oh, ow;
  int64_t kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  Epilogue epilogue;
};

// So many segments of 16 channels are summed in registers before the sums are added up: rounding
// errors grow with the partial sums, and pieces keep those small. Each costs one load,
// addition and store of a sum for 256 products.
inline constexpr int64_t kSummedSegments = 16;

// How the work is cut. Tasks: group, image, block of output channels, block of pixels, in this
// order.
struct ConvBlocking {
  int64_t vectors;    // output blocks of a register tile
  int64_t pixels;     // of a task (stem: rows)
  int64_t oc_blocks;  // of a task
  int64_t segments;   // of 16 input channels x 1 tap, summed before C is touched
  int64_t pixel_tasks, oc_tasks;
};

struct ConvTable {
  int64_t (*best_vectors)(int64_t pixels, int64_t blocks);
  // Weights [groups][oc block][K][16], K = (channel block, tap, channel in block) without padding.
  // 1x1 with stride 1 and no padding reads x in place, others copy what they need to `scratch`
  // (segments * pixels * 16 floats).
  void (*blocked)(const ConvShape& s, const ConvBlocking& b, const float* x, const float* weights,
                  const float* bias, const float* residual, float* y, int64_t begin, int64_t end,
                  float* scratch) noexcept;
  // x is plain [N, C, H, W]; weights [oc block][(c, tap)][16]; `offset` and the scratch layout come
  // from rows_layout().
  void (*stem)(const ConvShape& s, const ConvBlocking& b, const int32_t* offset, const float* x,
               const float* weights, const float* bias, const float* residual, float* y,
               int64_t begin, int64_t end, float* scratch) noexcept;
  // One filter per channel; weights [block][tap][16]. A task is some rows of one block.
  void (*depthwise)(const ConvShape& s, int64_t task_rows, const float* x, const float* weights,
                    const float* bias, const float* residual, float* y, int64_t begin,
                    int64_t end) noexcept;
  // Kernel = stride, no padding. Weights [tap][oc block][c][16]. A task is b.pixels input rows.
  void (*transpose)(const ConvShape& s, const ConvBlocking& b, const float* x, const float* weights,
                    const float* bias, float* y, int64_t begin, int64_t end) noexcept;
};
POPRT_DECLARE_ISA(ConvTable, conv)

// The stem kernel's copy of the input rows of a task: [c][row][phase of stride_w][width] floats.
struct RowsLayout {
  int64_t rows, phases, width;
  int64_t elements(int64_t c) const { return c * rows * phases * width; }
};
inline RowsLayout rows_layout(const ConvShape& s, int64_t out_rows) {
  return {(out_rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1, s.stride_w,
          s.ow + (s.kw - 1) * s.dilation_w / s.stride_w + 1};
}

}  // namespace poprt::kernels::isa
