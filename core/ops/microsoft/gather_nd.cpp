// As ai.onnx has it.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("GatherND", {e.in(0), e.in(1)},
                    {{"batch_dims", e.node.int_attr("batch_dims", 0)}}));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(microsoft_gather_nd_op, "com.microsoft", "GatherND", expand)
