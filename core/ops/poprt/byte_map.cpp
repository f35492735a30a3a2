// poprt.ByteMap: Y = T[X]. X is u8 or s8; T has 256 elements of u8 or s8, indexed by the bits of X
// as an unsigned number. It replaces a chain of elementwise operators between two quantisations.
#include "kernels/calls/byte_map.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_byte_map_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &table = ctx.in(1);
  if (table.has_shape && table.shape != Shape{256})
    ctx.fail_input("the table is {}, expected [256]", shape_string(table.shape));
  ctx.out(0, ir::ValueType{table.dtype, x.has_shape, x.shape, x.symbols});
}

void lower(LowerContext& ctx) {
  ctx.emit(calls::ByteMap{.count = element_count(ctx.in_shape(0))},
           {ctx.in(0), ctx.in(1), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ByteMap",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::elementwise_first,
                   .sharing = {.in_place = 1},
                   .facts = {.trial = {"T[4,4]; T[256]"}}};

}  // namespace poprt::ops::poprt_byte_map_op
