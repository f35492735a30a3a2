// Inputs: start, limit, delta? (1); each is constant and has one element.
#include "ops/common/expansion.h"
#include "ops/common/flops.h"

namespace poprt::ops::microsoft_range_op {
namespace {

void expand(Expansion& e) {
  const auto scalar = [&](size_t i) {
    const Tensor& t = e.constant(i);
    e.check(t.count() == 1, "start, limit and delta must be one number each");
    return e.constant(t.reshaped({}));
  };
  ir::Value* start = scalar(0);
  e.out(0,
        e.newest("Range", {start, scalar(1), e.has(2) ? scalar(2) : e.number(start->dtype(), 1)}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_range_op

POPRT_EXPANSION_WITH_FACTS(microsoft_range_op, "com.microsoft", "Range", expand,
                           .flops = flops::none, .trial = {"T[]; T[]; T[]"})
