// data and indices have equal shapes. Element i of the result axis (axis_size long) combines the
// data with index i and, if initial_values (input 2) is present, its element. If there are neither,
// it is 0.
#include "ops/common/expansion.h"
#include "ops/common/folding_builder.h"

namespace poprt::ops::graphcore_scatter_reduce_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  const int64_t size = e.node.int_attr("axis_size", 0);
  const int64_t axis = normalize_axis(e.node.int_attr("axis", -1), static_cast<int64_t>(x.size()));
  e.check(size >= 0 && size < (int64_t{1} << 31), "axis_size is out of range");
  const std::string how = e.node.string_attr("reduction", "sum");
  if (how != "sum" && how != "max" && how != "min" && how != "mul" && how != "none")
    e.fail_unsupported("reduction '{}', expected sum, max, min, mul or none", how);
  Shape shape = x;
  shape[static_cast<size_t>(axis)] = size;
  const bool extremum = how == "max" || how == "min", replaced = extremum || how == "mul";
  ir::Value* first = extremum ? e.constant(extreme(e.dtype(0), how == "min"))
                              : e.number(e.dtype(0), replaced ? 1 : 0);
  ir::Value* start = e.has(2) ? e.in(2) : e.expand(first, shape);
  e.check(e.shape_of(start) == shape, "initial_values do not have the shape of the result");
  ir::Value* y =
      e.newest("ScatterElements", {start, e.expand(e.cast(e.in(1), DType::s64), x), e.in(0)},
               {{"axis", axis}, {"reduction", how == "sum" ? "add" : how}});
  if (!e.has(2) && replaced) {
    ir::Value* hit =
        e.newest("ScatterElements",
                 {e.expand(e.number(DType::s32, 0), shape),
                  e.expand(e.cast(e.in(1), DType::s64), x), e.expand(e.number(DType::s32, 1), x)},
                 {{"axis", axis}});
    y = e.add("Where", {e.cast(hit, DType::boolean), y, e.number(e.dtype(0), 0)});
  }
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::graphcore_scatter_reduce_op

POPRT_EXPANSION(graphcore_scatter_reduce_op, "ai.graphcore", "ScatterReduce", expand)
