// dynamic_time_warping (calls/dynamic_time_warping.h). One task.
#include "kernels/calls/dynamic_time_warping.h"

#include <algorithm>
#include <limits>

#include "kernels/common/operands.h"

namespace poprt::kernels::dynamic_time_warping_kernel {
namespace {

using Params = calls::DynamicTimeWarping;

enum Step : uint8_t { both = 0, row = 1, column = 2 };

// Sets steps[i, j] to the step that leads to element (i, j) at the least cost. If no step is
// cheaper than both others, the step to the next column is taken, even if it is the most expensive
// one: ONNX Runtime does the same. `sums` has rows + 1 elements: the cost of an imaginary first
// row, followed by the costs of the column before.
void find_steps(const Params& p, const float* costs, uint8_t* steps, float* sums) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  std::fill(sums, sums + p.rows + 1, kNone);
  sums[0] = 0;
  for (int64_t j = 0; j < p.columns; j++) {
    float diagonal = sums[0];
    sums[0] = kNone;
    for (int64_t i = 0; i < p.rows; i++) {
      const float above = sums[i], left = sums[i + 1];
      uint8_t step = column;
      float least = left;
      if (diagonal < above && diagonal < left) {
        step = both;
        least = diagonal;
      } else if (above < diagonal && above < left) {
        step = row;
        least = above;
      }
      steps[i * p.columns + j] = step;
      diagonal = left;
      sums[i + 1] = costs[i * p.columns + j] + least;
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  if (begin == end) return;
  const auto& p = *static_cast<const Params*>(params);
  auto* path = static_cast<int32_t*>(data[1]);
  auto* steps = static_cast<uint8_t*>(data[3]);
  find_steps(p, static_cast<const float*>(data[0]), steps, reinterpret_cast<float*>(scratch));
  const int64_t most = p.rows + p.columns - 1;
  int64_t i = p.rows - 1, j = p.columns - 1, count = 0;
  // Writes the path from its end, and then reverses it.
  while (i >= 0 && j >= 0 && count < most) {
    path[count] = static_cast<int32_t>(i);
    path[most + count++] = static_cast<int32_t>(j);
    if (i == 0 && j == 0) break;
    const uint8_t step = i == 0   ? uint8_t{column}
                         : j == 0 ? uint8_t{row}
                                  : steps[i * p.columns + j];
    i -= step != column;
    j -= step != row;
  }
  for (int32_t* part : {path, path + most}) {
    std::reverse(part, part + count);
    std::fill(part + count, part + most, -1);
  }
  *static_cast<int64_t*>(data[2]) = count;
}

Plan prepare(const Call& call) {
  const Operands r("dynamic_time_warping", call, 4);
  auto p = std::make_shared<Params>(calls::decode<calls::DynamicTimeWarping>(call));
  r.check(p->rows <= std::numeric_limits<int32_t>::max() &&
              p->columns <= std::numeric_limits<int32_t>::max(),
          "rows and columns must fit s32");
  r.needs(0, DType::f32, {p->rows, p->columns});
  r.needs(1, DType::s32, {2, p->rows + p->columns - 1});
  r.needs(2, DType::s64, {1});
  r.needs(3, DType::u8, {p->rows, p->columns});
  Plan plan;
  plan.outputs = 3;
  plan.run = run;
  plan.work = 2 * static_cast<double>(p->rows) * static_cast<double>(p->columns);
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::f32, p->rows + 1));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"dynamic_time_warping", prepare};

}  // namespace poprt::kernels::dynamic_time_warping_kernel
