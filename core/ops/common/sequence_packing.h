// Packed sequences. Sample k consists of segments with lengths unpack_info[k, :], and all segments
// are stored back to back in the rows of a packed tensor [rows, ...]. Unpacked, in [max_valid_num,
// sum of segment_max_size, ...], every segment starts at a fixed place, and the unused places are
// 0.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

struct SequencePacking {
  int64_t samples = 0;           // max_valid_num
  std::vector<int64_t> room;     // segment_max_size
  int64_t width = 0;             // their sum
  ir::Value* starts = nullptr;   // s64 [samples * segments]: first row of each segment
  ir::Value* lengths = nullptr;  // s64, the same shape

  int64_t segments() const { return samples * static_cast<int64_t>(room.size()); }
};
SequencePacking sequence_packing(Expansion& e);

// x [..., tail] with the first `rank` dimensions flattened to one.
ir::Value* flat_rows(Expansion& e, ir::Value* x, size_t rank);

// The rows of `from` [n, ...] at `index` [...], or 0 where `valid` [...] is false. Indices outside
// [0, n) are clamped.
ir::Value* rows_or_zero(Expansion& e, ir::Value* from, ir::Value* index, ir::Value* valid);

// Pack and Repack. Inputs: x [samples, width, ...], unpack_info, reference?. Output: [rows, ...],
// with as many rows as the leading dimensions of the reference have places, or as x has.
void expand_pack(Expansion& e);

}  // namespace poprt::ops
