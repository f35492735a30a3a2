// fp32 convolutions on channel-blocked activations [N, C/16, H, W, 16].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/isa_table.h"
#include "kernels/isa/epilogue.h"

namespace poprt::kernels::isa {

struct ConvShape {
  int64_t batch, groups;
  int64_t c, c_blocks, oc_blocks;  // of one group; c is the number of real channels
  int64_t h, w, oh, ow;
  int64_t kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  // For three dimensions: an image is `d` slices of h x w, one after the other.
  int64_t d = 1, od = 1, kd = 1, stride_d = 1, pad_d = 0, dilation_d = 1;
  Epilogue epilogue;
  // If not 0, each group is a pair of groups: the first `pair_c` input channels affect only the
  // first `pair_m` output channels, and the others only the others. Weights between the two are
  // zero. c is a multiple of 16.
  int64_t pair_c = 0, pair_m = 0;
  // The blocks of 16 channels of an image of x and of y; 0: those of the groups. `conv` may compute
  // a part of the channels.
  int64_t x_blocks = 0, y_blocks = 0;
  // Which activations are stored as bf16; the others are f32. Few kernels support bf16.
  bool bf16_x = false, bf16_residual = false, bf16_y = false;

  [[gnu::always_inline]] int64_t taps() const { return kd * kh * kw; }
  [[gnu::always_inline]] int64_t image_x_blocks() const {
    return x_blocks ? x_blocks : groups * c_blocks;
  }
  [[gnu::always_inline]] int64_t image_y_blocks() const {
    return y_blocks ? y_blocks : groups * oc_blocks;
  }
  [[gnu::always_inline]] int64_t in_pixels() const { return d * h * w; }
  [[gnu::always_inline]] int64_t out_pixels() const { return od * oh * ow; }
  // output pixel p depends on input pixel p only
  [[gnu::always_inline]] bool is_pointwise() const {
    return taps() == 1 && stride_d == 1 && stride_h == 1 && stride_w == 1 && pad_d == 0 &&
           pad_h == 0 && pad_w == 0 && od == d && oh == h && ow == w;
  }
};

// Applied to the inputs of each channel before multiplication: max(x * scale + shift, low). Padding
// stays zero.
struct ConvPrologue {
  const float* scale;  // [groups * c_blocks][16], once or for each image
  const float* shift;  // [groups * c_blocks][16], or null
  bool scale_of_image;
  float low;  // minus infinity: no lower bound
};

// How many segments of 16 channels are summed in registers before the sum is added to the results.
// Rounding errors grow with the partial sums, and splitting keeps those small. Each part costs one
// load, addition and store of a sum for 256 products.
inline constexpr int64_t kSummedSegments = 16;

// How the work is split. Tasks are numbered by group, image, block of output channels, block of
// pixels, in this order.
struct ConvBlocking {
  int64_t vectors;    // output blocks of a register tile
  int64_t pixels;     // of a task (stem: rows)
  int64_t columns;    // of a row of a task (stem)
  int64_t oc_blocks;  // of a task
  int64_t segments;   // of 16 input channels x 1 tap, summed before y is accessed
  int64_t pixel_tasks, oc_tasks, column_tasks;
  // Whether the taps of a row of the filter read one copy of a row of inputs, which is x itself if
  // nothing of it is padding. `segments` is then a multiple of kw, and stride_w is 1.
  bool by_rows = false;
};

// The floats of scratch that the inputs of a task take.
inline int64_t input_floats(const ConvShape& s, const ConvBlocking& b) {
  if (!b.by_rows) return b.segments * b.pixels * 16;
  const int64_t pieces = b.pixels / s.ow + 2;
  return b.segments / s.kw * (b.pixels + pieces * (s.kw - 1) * s.dilation_w) * 16;
}

// A convolution of stride 1 that computes one phase of a transposed convolution, or all phases with
// common taps (kernels/common/transposed_phases.h).
struct ConvPhase {
  ConvShape shape;
  int64_t weights;  // the offset of its weights
  int64_t y, x;     // the place of its first result
};

struct ConvTable {
  // Returns ConvBlocking::vectors for tasks of `pixels` pixels and `blocks` blocks of output
  // channels.
  int64_t (*best_vectors)(int64_t pixels, int64_t blocks);
  // Weights are [groups][oc block][K][16], K = (channel block, tap, channel in block) without
  // padding; taps are (kd, kh, kw). 1x1 with stride 1, no padding and no prologue reads x in place;
  // other convolutions copy their inputs to `scratch` (input_floats()).
  void (*blocked)(const ConvShape& s, const ConvBlocking& b, const ConvPrologue* prologue,
                  const float* x, const float* weights, const float* bias, const float* residual,
                  float* y, int64_t begin, int64_t end, float* scratch) noexcept;
  // x is plain [N, C, D, H, W]; weights are [oc block][(c, tap)][16]. `offset` and the scratch
  // layout are those of rows_layout(). Tasks are numbered by image, output slice, rows, columns.
  void (*stem)(const ConvShape& s, const ConvBlocking& b, const int32_t* offset, const float* x,
               const float* weights, const float* bias, const float* residual, float* y,
               int64_t begin, int64_t end, float* scratch) noexcept;
  // The same with plain output [N, filters, OD, OH, OW]. Weights have the layout of ONNX, with one
  // bias for each filter; scratch is kPlainOverread floats longer.
  void (*plain)(const ConvShape& s, const ConvBlocking& b, int64_t filters, const int32_t* offset,
                const float* x, const float* weights, const float* bias, float* y, int64_t begin,
                int64_t end, float* scratch) noexcept;
  // One filter for each channel; weights are [block][tap][16]. A task is some rows of one block.
  // The activations are all f32 or all bf16. For bf16, scratch has 16 floats for each column of y.
  void (*depthwise)(const ConvShape& s, int64_t task_rows, const void* x, const float* weights,
                    const float* bias, const void* residual, void* y, int64_t begin, int64_t end,
                    float* scratch) noexcept;
  // Kernel = stride, no padding. Weights are [tap][oc block][c][16]. A task is b.pixels input rows
  // of an image, whose d * h rows are numbered through all slices.
  void (*transpose)(const ConvShape& s, const ConvBlocking& b, const float* x, const float* weights,
                    const float* bias, float* y, int64_t begin, int64_t end) noexcept;
  // A transposed convolution `whole` as `count` phases, each with weights as those of `blocked`.
  // Tasks are those of `blocked` for the largest phase, times `count`. If `merged_channels` is not
  // 0, one phase computes the channels of all phases: results are [phase][channel]. Scratch has
  // (b.segments + b.oc_blocks) * b.pixels * 16 floats.
  void (*phases)(const ConvShape& whole, const ConvBlocking& b, const ConvPhase* phases,
                 int64_t count, int64_t merged_channels, const float* x, const float* weights,
                 const float* bias, float* y, int64_t begin, int64_t end, float* scratch) noexcept;
};
POPRT_DECLARE_ISA(ConvTable, conv)

// The number of floats after the rows in scratch that `plain` reads without using them.
inline constexpr int64_t kPlainOverread = 48;

// The layout of the stem kernel's copy of the input rows of a task: [c][kd][row][phase of
// stride_w][width] floats.
struct RowsLayout {
  int64_t rows, phases, width;
  int64_t elements(int64_t c) const { return c * rows * phases * width; }
};
inline RowsLayout rows_layout(const ConvShape& s, int64_t out_rows, int64_t out_columns) {
  return {(out_rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1, s.stride_w,
          out_columns + (s.kw - 1) * s.dilation_w / s.stride_w + 1};
}

}  // namespace poprt::kernels::isa
