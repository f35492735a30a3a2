// Pooling in plain and blocked layout.
#pragma once

#include "kernels/calls/pool_generic.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops {

using PoolKind = kernels::calls::Pooling;

// [N, C, spatial...] to the pooled shape; a second output contains indices.
void infer_pool(InferContext& ctx);
void lower_pool(LowerContext& ctx, PoolKind kind);
void axes_of_pool(AxesContext& ctx);
// Windows that cover the whole plane.
void infer_global_pool(InferContext& ctx);
void lower_global_pool(LowerContext& ctx, PoolKind kind);
void axes_of_global_pool(AxesContext& ctx);
// [N, CB, H, W, 16].
void infer_blocked_pool(InferContext& ctx);
void lower_blocked_pool(LowerContext& ctx, PoolKind kind);
void axes_of_blocked_pool(AxesContext& ctx);

}  // namespace poprt::ops
