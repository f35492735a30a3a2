#include "ipu/reduce_plan.h"

#include <cmath>

#include "ipu/numbers.h"

namespace poprt::ipu {
namespace {

// The partial results that remain after each stage, and the messages that a tile receives in all
// stages.
struct Stages {
  ReduceDepths left = {};
  double messages = 0;
};

Stages fewest_messages(int64_t depth, int stages, int at = 0) {
  if (stages == 1) return {{}, static_cast<double>(depth)};
  const double power = static_cast<double>(stages - 1) / stages;
  const auto down = static_cast<int64_t>(std::pow(static_cast<double>(depth), power));
  Stages best;
  for (const int64_t left : {down + 1, down}) {
    Stages s = fewest_messages(left, stages - 1, at + 1);
    s.left[static_cast<size_t>(at)] = left;
    s.messages += static_cast<double>(depth) / static_cast<double>(left);
    if (best.messages == 0 || s.messages < best.messages) best = s;
  }
  return best;
}

}  // namespace

ReduceDepths reduce_depths(int64_t depth, bool several) {
  if (depth <= 1) return {};
  const int stages = !several || depth < 16 ? 1 : depth < 125 ? 2 : kReduceStages;
  const ReduceDepths left = fewest_messages(depth, stages).left;
  ReduceDepths depths = {};
  for (size_t i = 0; i + 1 < static_cast<size_t>(stages); i++) {
    depths[i] = ceil_div(depth, left[i]);
    depth = ceil_div(depth, depths[i]);
  }
  depths[static_cast<size_t>(stages) - 1] = depth;
  return depths;
}

}  // namespace poprt::ipu
