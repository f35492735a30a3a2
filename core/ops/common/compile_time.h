// Operators that the compiler resolves before anything is lowered.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// Containers have no type here; the compiler follows them (compiler/flow/specialize.h).
void infer_nothing(InferContext& ctx);

// Fails as unsupported: a container or a body is left that should have been resolved.
void lower_container(LowerContext& ctx);
// The same for text, which is computed from constants only (ops/common/strings.h).
void lower_text(LowerContext& ctx);
// The same for images (ops/common/images.h).
void lower_image(LowerContext& ctx);

}  // namespace poprt::ops
