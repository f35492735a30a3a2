// matmul_dynamic (calls/matmul_dynamic.h, common/strided_matmul.h). A task packs a panel of 48
// columns of b into its scratch and multiplies it by all rows.
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/matmul_dynamic.h"
#include "kernels/common/strided_matmul.h"
#include "kernels/isa/gemm.h"

namespace poprt::kernels::matmul_dynamic_kernel {
namespace {

constexpr int64_t kBlockK = 512;

struct Params {
  StridedMatmul s;
  isa::GemmShape shape;
  const isa::GemmTable* table;
  int64_t panels;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const StridedMatmul& s = p.s;
  auto* panel_data = reinterpret_cast<float*>(scratch);
  for (int64_t task = begin; task < end; task++) {
    const int64_t product = task / p.panels, column = task % p.panels * isa::kPanel;
    const float* a = static_cast<const float*>(data[0]) + s.a_offset[static_cast<size_t>(product)];
    const float* b = static_cast<const float*>(data[1]) + s.b_offset[static_cast<size_t>(product)];
    float* c = static_cast<float*>(data[3]) + s.y_offset[static_cast<size_t>(product)] + column;
    isa::GemmShape shape = p.shape;
    shape.n = std::min(isa::kPanel, s.n - column);
    for (int64_t k = 0; k < s.k || k == 0; k += kBlockK) {
      // Later parts of K add to the result of the first part, which they read as a residual.
      shape.k = std::min(kBlockK, s.k - k);
      p.table->pack(b, s.b_k, s.b_n, s.n, column, k, k + shape.k, panel_data);
      p.table->run(shape, a + k, panel_data, nullptr, k ? c : nullptr, c, 0, s.m, 0, 1);
    }
    if (s.alpha == 1 && !s.has_c) continue;
    for (int64_t row = 0; row < s.m; row++) {
      float* y = c + row * s.y_row;
      if (!s.has_c) {
        for (int64_t j = 0; j < shape.n; j++) y[j] *= s.alpha;
        continue;
      }
      const float* added = static_cast<const float*>(data[2]) + row * s.c_row + column * s.c_n;
      if (s.c_n == 1)
        for (int64_t j = 0; j < shape.n; j++) y[j] = s.alpha * y[j] + s.beta * added[j];
      else
        for (int64_t j = 0; j < shape.n; j++) y[j] = s.alpha * y[j] + s.beta * added[j * s.c_n];
    }
  }
}

Plan prepare(const Call& call) {
  auto p = std::make_shared<Params>();
  p->s = read_strided_matmul("matmul_dynamic", calls::decode<calls::MatmulDynamic>(call).product,
                             call.operands);
  const StridedMatmul& s = p->s;
  expect(s.dtype == DType::f32 && s.a_k == 1, "matmul_dynamic",
         "expected f32 with dense rows of a");
  p->shape.m = s.m;
  p->shape.lda = s.a_row;
  p->shape.ldc = p->shape.ld_residual = s.y_row;
  p->shape.k_block = kBlockK;
  p->shape.in_order = call.reproducible;
  p->table = &POPRT_SELECT_ISA(gemm);
  p->panels = (s.n + isa::kPanel - 1) / isa::kPanel;
  const double products = static_cast<double>(s.a_offset.size());
  const double panel = static_cast<double>(s.k) * static_cast<double>(p->panels) * isa::kPanel;
  Plan plan;
  plan.run = run;
  plan.work = products * panel * (static_cast<double>(s.m) * 2 / 90.0 + 0.2);
  plan.tasks = s.m == 0 ? 0 : checked_mul(static_cast<int64_t>(s.a_offset.size()), p->panels);
  plan.scratch_bytes = static_cast<size_t>(std::min(kBlockK, s.k) * isa::kPanel * 4 + 8192);
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul_dynamic", prepare};

}  // namespace poprt::kernels::matmul_dynamic_kernel
