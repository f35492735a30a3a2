// ConvTranspose whose pads are constant input 2 instead of an attribute. Inputs: X, W, Pads?, B?.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_conv_transpose_with_dynamic_pads_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const size_t rank = e.shape(0).size();
  e.check(rank >= 3 && rank <= 5, "X must have one to three spatial dimensions");
  const size_t spatial = rank - 2;
  e.check(e.shape(1).size() == rank, "W must have the rank of X");
  const auto attribute = [&](const char* key, int64_t fallback) {
    std::vector<int64_t> v = n.ints_attr(key);
    if (v.empty()) v.assign(spatial, fallback);
    e.check(v.size() == spatial, "an attribute does not fit the spatial dimensions");
    return v;
  };
  std::vector<int64_t> pads(2 * spatial, 0);
  if (e.has(2)) pads = e.const_ints(2);
  e.check(pads.size() == 2 * spatial, "Pads must have two numbers for each spatial dimension");
  const std::string how = n.string_attr("auto_pad", "NOTSET");
  if (how != "NOTSET") e.fail_unsupported("auto_pad '{}', expected NOTSET", how);
  e.out(0, e.newest("ConvTranspose", {e.in(0), e.in(1), e.in_or_null(3)},
                    {{"strides", attribute("strides", 1)},
                     {"dilations", attribute("dilations", 1)},
                     {"output_padding", attribute("output_padding", 0)},
                     {"group", n.int_attr("group", 1)},
                     {"pads", pads}}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_conv_transpose_with_dynamic_pads_op

POPRT_EXPANSION_WITH_FACTS(microsoft_conv_transpose_with_dynamic_pads_op, "com.microsoft",
                           "ConvTransposeWithDynamicPads", expand, .constant_inputs = 1U << 2,
                           .trial = {"T[1,4,4,4]; T[4,4,1,1]; s64[4] = [0, 0, 0, 0]"})
