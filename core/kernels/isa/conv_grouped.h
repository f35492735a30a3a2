// Convolution in groups of 1, 2, 4, 8 or 16 channels (as many out as in) on channel-blocked
// activations. A block of 16 channels contains whole groups.
//
// Lane l of a result depends only on the channels of its group: l / size * size + j, j < size.
// A vector of 16 inputs is therefore shuffled `size` times: each time, lane j of every group is
// broadcast to the group and multiplied by 16 weights. Example for groups of 4, j = 1: [a b c d | e
// f g h | ...] becomes [b b b b | f f f f | ...].
#pragma once

#include "kernels/isa/conv.h"

namespace poprt::kernels::isa {

struct GroupedBlocking {
  int64_t size;   // channels of a group
  int64_t rows;   // output rows of a task
  bool in_place;  // there is no column of padding, so rows are read in place
  int64_t row_tasks;
};

struct ConvGroupedTable {
  // s.groups is the number of blocks. Weights are [block][tap][j][16]. Tasks are numbered by image,
  // block, block of rows. Unless b.in_place, scratch has 16 floats for each of grouped_columns()
  // columns of grouped_rows() rows; otherwise it is not used.
  void (*run)(const ConvShape& s, const GroupedBlocking& b, const float* x, const float* weights,
              const float* bias, const float* residual, float* y, int64_t begin, int64_t end,
              float* scratch) noexcept;
};
POPRT_DECLARE_ISA(ConvGroupedTable, conv_grouped)

// The number of columns that the outputs of a row read, from column -pad_w on.
[[gnu::always_inline]] inline int64_t grouped_columns(const ConvShape& s) {
  return (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
}
[[gnu::always_inline]] inline int64_t grouped_rows(const ConvShape& s, int64_t out_rows) {
  return (out_rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1;
}

}  // namespace poprt::kernels::isa
