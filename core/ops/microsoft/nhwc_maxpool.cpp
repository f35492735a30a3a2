// MaxPool with channels last.
#include "ops/common/contrib_quantized.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) {
  e.out(0, channels_last(e, e.add_like("MaxPool", {channels_first(e, e.in(0))})));
}

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(microsoft_nhwc_maxpool_op, "com.microsoft", "NhwcMaxPool", expand)
