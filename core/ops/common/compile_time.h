// Operators that the compiler resolves before lowering.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// Infers nothing, because containers have no type; the compiler follows them
// (compiler/flow/specialize.h).
void infer_nothing(InferContext& ctx);

// Fails as unsupported, because a container or a body that should have been resolved is left.
void lower_container(LowerContext& ctx);
// The same for text; only constant text is supported (ops/common/strings.h).
void lower_text(LowerContext& ctx);
// The same for images (ops/common/images.h).
void lower_image(LowerContext& ctx);

}  // namespace poprt::ops
