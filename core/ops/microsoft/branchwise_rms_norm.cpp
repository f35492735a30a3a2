// Inputs: X [.., C, H], or [.., C H] with num_branches C; scale? [C H], [C, H] or [H]. Divides each
// branch by its root mean square. The computation is in f32.
#include "ops/common/hyper_connection.h"

namespace poprt::ops::microsoft_branchwise_rms_norm_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0), grouped = grouped_streams(e, x);
  const int64_t branches = grouped[grouped.size() - 2], columns = grouped.back();
  ir::Value* y = rms_normalised(e, e.reshape(e.cast(e.in(0), DType::f32), grouped), nullptr,
                                e.node.float_attr("epsilon", 1e-5f));
  if (e.has(1)) {
    const int64_t count = element_count(e.shape(1));
    e.check(count == columns || count == branches * columns, "scale must be [C*H], [C,H] or [H]");
    y = e.add("Mul", {y, e.reshape(e.cast(e.in(1), DType::f32), {count / columns, columns})});
  }
  e.out(0, e.reshape(e.cast(y, e.dtype(0)), x));
}

}  // namespace
}  // namespace poprt::ops::microsoft_branchwise_rms_norm_op

POPRT_EXPANSION_WITH_FACTS(microsoft_branchwise_rms_norm_op, "com.microsoft", "BranchwiseRMSNorm",
                           expand, .trial = {"T[4,2,4]"})
