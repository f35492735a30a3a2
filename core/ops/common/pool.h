// Pooling in plain and blocked layout.
#pragma once

#include "kernels/calls/pool_generic.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops {

using PoolKind = kernels::calls::Pooling;

// Pooling of [N, C, spatial...]. A second output contains the indices of maxima.
void infer_pool(InferContext& ctx);
void lower_pool(LowerContext& ctx, PoolKind kind);
void axes_of_pool(AxesContext& ctx);
// Pooling with one window that covers the whole plane.
void infer_global_pool(InferContext& ctx);
void lower_global_pool(LowerContext& ctx, PoolKind kind);
void axes_of_global_pool(AxesContext& ctx);
// Pooling of blocked [N, CB, H, W, 16].
void infer_blocked_pool(InferContext& ctx);
void lower_blocked_pool(LowerContext& ctx, PoolKind kind);
void axes_of_blocked_pool(AxesContext& ctx);

}  // namespace poprt::ops
