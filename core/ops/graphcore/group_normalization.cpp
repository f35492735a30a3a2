// Inputs: x [N, C, ..], scale [C], bias [C]. Outputs: y, mean [N * groups], and 1 / standard
// deviation [N * groups].
#include "ops/common/expansion.h"
#include "ops/common/flops.h"

namespace poprt::ops::graphcore_group_normalization_op {
namespace {

void expand(Expansion& e) {
  const int64_t groups = e.node.int_attr("num_groups", 1);
  const float epsilon = e.node.float_attr("epsilon", 1e-5f);
  const Shape x = e.shape(0);
  e.check(x.size() >= 2 && groups > 0 && x[1] % groups == 0,
          "the number of channels is not a multiple of num_groups");
  e.out(0, e.newest("GroupNormalization", {e.in(0), e.in(1), e.in(2)},
                    {{"num_groups", groups}, {"epsilon", epsilon}}));
  if (!e.wants(1) && !e.wants(2)) return;
  const int64_t rows = x[0] * groups;
  ir::Value* v = e.cast(e.reshape(e.in(0), {rows, rows ? element_count(x) / rows : 0}), DType::f32);
  ir::Value* mean = e.newest("ReduceMean", {v, e.ints({1})}, {{"keepdims", int64_t{1}}});
  ir::Value* off = e.add("Sub", {v, mean});
  ir::Value* variance =
      e.newest("ReduceMean", {e.add("Mul", {off, off}), e.ints({1})}, {{"keepdims", int64_t{0}}});
  e.out(1, e.cast(e.reshape(mean, {rows}), e.dtype(0)));
  e.out(2, e.cast(e.add("Reciprocal",
                        {e.add("Sqrt", {e.plus(variance, static_cast<double>(epsilon))})}),
                  e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::graphcore_group_normalization_op

POPRT_EXPANSION_WITH_FACTS(graphcore_group_normalization_op, "ai.graphcore", "GroupNormalization",
                           expand, .flops = flops::normalization,
                           .trial = {"T[1,4,4,4]; T[4]; T[4]", "num_groups = 2"})
