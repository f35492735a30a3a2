// Inputs: data, pads, value?
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_pad_op {
namespace {

void expand(Expansion& e) {
  ir::Value* pads = e.in(1);
  e.out(0, e.newest("Pad",
                    {e.in(0), e.reshape(pads, {element_count(e.shape_of(pads))}),
                     e.has(2) ? e.reshape(e.in(2), {}) : nullptr},
                    {{"mode", e.node.string_attr("mode", "constant")}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_pad_op

POPRT_EXPANSION_WITH_FACTS(microsoft_pad_op, "com.microsoft", "Pad", expand,
                           .trial = {"T[4,4]; s64[4] = [1, 0, 0, 1]"})
