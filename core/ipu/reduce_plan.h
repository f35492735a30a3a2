// The stages in which the chip's library sums the partial results of a product.
//
// In one stage a tile receives a message from each of `depth` tiles. In n stages it receives about
// n * depth^(1/n) messages, so the code of the exchange is smaller. The library takes two stages
// from 16 partial results on and three from 125 on, with the depths that need the fewest messages.
//
// Worked example: 32 partial results are summed in two stages of 6, because 6 + 32 / 6 is less than
// 5 + 32 / 5.
#pragma once

#include <array>
#include <cstdint>

namespace poprt::ipu {

inline constexpr int kReduceStages = 3;

// The number of partial results that a result of each stage sums; 0 for stages that do not exist.
using ReduceDepths = std::array<int64_t, kReduceStages>;

// `several`: enable_multi_stage_reduce. A depth of 1 or less has no stage.
ReduceDepths reduce_depths(int64_t depth, bool several);

}  // namespace poprt::ipu
