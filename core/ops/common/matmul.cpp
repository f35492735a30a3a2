#include "ops/common/matmul.h"

#include <array>

#include "base/checked.h"
#include "kernels/common/pack_matmul.h"
#include "ops/common/movement.h"

namespace poprt::ops {

void lower_packed_matmul(LowerContext& ctx, const PackedMatmul& p) {
  const int64_t panels = kernels::matmul_panels(p.n);
  const int64_t columns = checked_mul(panels, kernels::kMatmulPanel);
  const auto b =
      ctx.pack(dtype_bytes(DType::f32, checked_mul(columns, p.k)), DType::f32,
               {panels, p.k, kernels::kMatmulPanel},
               [tensor = p.b, n = p.n, k = p.k, b_k = p.b_k, b_n = p.b_n,
                scale = p.b_scale](std::span<std::byte> to) {
                 kernels::pack_matmul(tensor.values<float>(), b_k, b_n, k, n, scale,
                                      {reinterpret_cast<float*>(to.data()), to.size() / 4});
               });
  auto bias = LowerContext::kNone;
  if (p.bias.defined())
    bias = ctx.pack(
        dtype_bytes(DType::f32, columns), DType::f32, {columns},
        [tensor = p.bias, n = p.n, scale = p.bias_scale](std::span<std::byte> to) {
          const auto from = tensor.values<float>();
          auto* floats = reinterpret_cast<float*>(to.data());
          for (size_t i = 0; i < to.size() / 4; i++)
            floats[i] = i < static_cast<size_t>(n) ? from[from.size() == 1 ? 0 : i] * scale : 0.0f;
        });
  ctx.emit("matmul", {p.a, b, bias, p.residual, p.c},
           {p.m, p.n, p.k, p.activation.kind, p.residual_after ? 1 : 0},
           {p.activation.a, p.activation.b});
}

void lower_strided_matmul(LowerContext& ctx, const StridedMatmul& given) {
  StridedMatmul p = given;
  if (p.dtype == DType::f32 && p.batch.empty() && p.a_k != 1 && p.m > 0 && p.k > 0) {
    // The fast kernel reads rows of a.
    StridedCopy copy;
    copy.dims = {p.m, p.k};
    copy.from_strides = {p.a_row, p.a_k};
    copy.to_strides = {p.k, 1};
    const auto rows = ctx.temporary(DType::f32, copy.dims);
    emit_strided_copy(ctx, p.a, rows, DType::f32, copy);
    p.a = rows;
    p.a_row = p.k;
    p.a_k = 1;
  }
  std::vector<int64_t> ints = {
      p.m,   p.n,   p.k,     p.a_row, p.a_k,
      p.b_k, p.b_n, p.c_row, p.c_n,   static_cast<int64_t>(p.batch.size())};
  for (const auto& d : p.batch) ints.insert(ints.end(), {d.count, d.a_stride, d.b_stride});
  const bool fast = p.dtype == DType::f32 && p.a_k == 1;
  const std::array<program::BufferId, 4> operands = {p.a, p.b, p.c, p.out};
  const std::array<float, 2> floats = {p.alpha, p.beta};
  ctx.emit(fast ? "matmul_dynamic" : "matmul_generic", operands, ints, floats);
}

}  // namespace poprt::ops
