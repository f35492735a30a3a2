// The planner divides a matrix product or convolution among the tiles of a chip.
//
//   inputs [batch, rows, width, groups, in] * weights [groups, taps, in, out]
//                                   -> result [batch, rows, width, groups, out]
//
// A matrix product is a convolution whose field has one row: `batch` is the number of rows of the
// left operand. Every axis is split into equal parts; a split of `in` or of the rows of the kernel
// needs a reduction of the partial sums. A number of parts is considered only if no smaller one
// gives parts of the same size, as in the chip's library. Output channels or input channels can be
// computed in a loop (serial split). The temporary memory of a plan is at most memory_proportion of
// a tile. Of the plans without a loop, the one with the smallest objective (ipu/plan_cost.h) is the
// choice of the chip's library. It is taken, or the plan with a loop that has the smallest total if
// that is smaller. If no plan is within the memory, the one with the least memory is taken.
//
// Worked example, [200,64] x [64,20000] in halves with float partials on mk2: the field is 20000,
// the result has 200 channels, which are 25 groups of 8, split 290 x 1 x 5. Every tile computes
// 69 x 64 x 40 products.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ipu/amp.h"
#include "ipu/reduce_plan.h"
#include "ipu/target.h"

namespace poprt::ipu {

struct Product {
  int64_t groups = 1, batch = 1, rows = 1, width = 1;  // of the result
  int64_t in = 1, out = 1;                             // channels of a group
  int64_t kernel_rows = 1, kernel_width = 1;
  int64_t stride_rows = 1, stride_width = 1;
  int64_t dilation_rows = 1, dilation_width = 1;
  DType inputs = DType::f16, partials = DType::f16, result = DType::f16;
  bool matmul = false;  // the operands may change places
  // A weight of the model is stored where the plan needs it; a computed operand must be moved
  // there. By default the inputs are computed and the weights are not.
  bool resident_inputs = false, computed_weights = false;

  int64_t field() const { return batch * rows * width; }
  int64_t taps() const { return kernel_rows * kernel_width; }
  int64_t multiplies() const { return groups * field() * in * out * taps(); }
  bool operator==(const Product&) const = default;
};

struct PlanOptions {
  int64_t tiles = 0;  // 0: all tiles of the target
  double memory_proportion = 0.6;
  bool wide_loads = false;  // use128BitConvUnitLoad
  // enableFastReduce: partial sums are contiguous, so a vertex needs no pointer for each.
  bool fast_reduce = false;
  bool multi_stage_reduce = true;  // enableMultiStageReduce: many partial sums in several stages
  bool operator==(const PlanOptions&) const = default;
};

struct Split {
  int64_t groups = 1, batch = 1, rows = 1, width = 1, in = 1, out = 1;
  int64_t kernel = 1;                     // of the rows of the kernel
  int64_t serial_out = 1, serial_in = 1;  // rounds of a loop over output or input channels
  int64_t tiles() const { return groups * batch * rows * width * in * out * kernel; }
  int64_t rounds() const { return serial_out * serial_in; }
  // The inputs are sent before a loop over output channels, because all its rounds read them.
  bool broadcast() const { return serial_out > 1; }
  bool operator==(const Split&) const = default;
};

// One stage of the sum of partial results.
struct ReduceStage {
  int64_t depth = 0;                  // partial results of each sum; 0: no stage
  int64_t bytes = 0;                  // received by the busiest tile
  int64_t exchange = 0, compute = 0;  // cycles without the sync
};

// Cycles by cause, in the order of the steps. Bytes are those of the busiest tile.
struct PlanCost {
  int64_t slice = 0;  // of the operands, in a serial split
  int64_t transform = 0;
  int64_t rearrange = 0, rearrange_exchange = 0;  // of turned or padded operands, without the sync
  int64_t input_exchange = 0, weight_exchange = 0;
  int64_t compute = 0;
  int64_t reduce_exchange = 0, reduce = 0;  // of all stages
  std::array<ReduceStage, kReduceStages> stages = {};
  int64_t cast = 0;
  int64_t update = 0;     // of the result, in a loop over output channels
  int64_t add = 0;        // to the sums, in a loop over input channels
  int64_t total = 0;      // with syncs
  int64_t objective = 0;  // by which the chip's library compares plans
  int64_t input_bytes = 0, weight_bytes = 0, partial_bytes = 0, reduce_bytes = 0;
  int64_t rearranged_bytes = 0;
  int64_t temporary_bytes = 0;
  int64_t bound_bytes = 0;    // memory that the library compares with its bound
  bool shared_input = false;  // pairs of tiles receive the same inputs
};

struct Plan {
  Method method = Method::amp;
  Split split;
  bool swapped = false;       // the operands of a matrix product changed places
  bool flattened = false;     // taps became channels, so the kernel is 1x1
  bool within_memory = true;  // temporary memory is within the bound
  Product product;            // after swapping and flattening
  TileWork work;              // of the busiest tile
  PlanCost cost;
};

// Chooses a plan. Equal arguments result in equal plans. Throws invalid_argument if a size of the
// product is not positive.
Plan plan_product(const Target& target, const Product& product, const PlanOptions& options);

// Returns the plan and the costs of a given split, for tests and comparisons. Throws like
// plan_product(), and invalid_argument if the method cannot compute the product.
Plan plan_with(const Target& target, const Product& product, const PlanOptions& options,
               Method method, const Split& split);

// Returns a plan as text, in the form in which the chip's library logs it.
std::string plan_text(const Target& target, const Plan& plan, const PlanOptions& options,
                      const std::string& name);

// Keeps the plans of products, because equal products are frequent.
class PlanCache {
 public:
  PlanCache(const Target& target, PlanOptions options);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;
  const Plan& plan(const Product& product);
  // The same with other options than those of the constructor.
  const Plan& plan(const Product& product, const PlanOptions& options);
  size_t size() const;

 private:
  struct Entry;
  const Target& target_;
  PlanOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace poprt::ipu
