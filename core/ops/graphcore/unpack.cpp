// Inputs: x [rows, ...] or [batch, length, ...], unpack_info [max_valid_num, segments]. Attribute
// tail (default 1) is the number of trailing dimensions that belong to a row. Output:
// [max_valid_num, sum of segment_max_size, ...].
#include "ops/common/sequence_packing.h"

namespace poprt::ops::graphcore_unpack_op {
namespace {

void expand(Expansion& e) {
  const SequencePacking p = sequence_packing(e);
  const int64_t tail = e.node.int_attr("tail", 1);
  const Shape x = e.shape(0);
  e.check(tail >= 0 && static_cast<size_t>(tail) < x.size(), "the data has too few dimensions");
  // Place j of a sample is element offset[j] of segment segment[j].
  std::vector<int64_t> segment, offset;
  for (size_t s = 0; s < p.room.size(); s++)
    for (int64_t i = 0; i < p.room[s]; i++) {
      segment.push_back(static_cast<int64_t>(s));
      offset.push_back(i);
    }
  const auto spread = [&](ir::Value* of_segments) {
    const auto n = static_cast<int64_t>(p.room.size());
    return e.newest("Gather", {e.reshape(of_segments, {p.samples, n}), e.ints(segment)},
                    {{"axis", int64_t{1}}});
  };
  ir::Value* valid = e.newest("Less", {e.ints(offset), spread(p.lengths)});
  ir::Value* index = e.newest("Add", {spread(p.starts), e.ints(offset)});
  e.out(0,
        rows_or_zero(e, flat_rows(e, e.in(0), x.size() - static_cast<size_t>(tail)), index, valid));
}

}  // namespace
}  // namespace poprt::ops::graphcore_unpack_op

POPRT_EXPANSION_WITH_FACTS(graphcore_unpack_op, "ai.graphcore", "Unpack", expand,
                           .trial = {"T[4,4]; s32[2,1]",
                                     "max_valid_num = 2, segment_max_size = [2]"})
