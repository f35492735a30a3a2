#include "ops/common/compile_time.h"

namespace poprt::ops {

void infer_nothing(InferContext&) {}

void lower_container(LowerContext& ctx) {
  ctx.fail_unsupported(
      "sequences, optionals and subgraphs are resolved by the compiler; run convert() first");
}

void lower_text(LowerContext& ctx) {
  ctx.fail_unsupported(
      "the device does not support strings: text is computed by the compiler, so its inputs must "
      "be constant");
}

void lower_image(LowerContext& ctx) {
  ctx.fail_unsupported(
      "the size of an image is encoded in its bytes: images are decoded by the compiler, so the "
      "input must be constant");
}

}  // namespace poprt::ops
