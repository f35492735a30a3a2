#include "kernels/common/pack_matmul.h"

#include "kernels/isa/gemm.h"

namespace poprt::kernels {

static_assert(kMatmulPanel == isa::kPanel);

void pack_matmul(std::span<const float> b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n,
                 float scale, std::span<float> packed) {
  const isa::GemmTable& table = POPRT_SELECT_ISA(gemm);
  for (int64_t panel = 0; panel < matmul_panels(n); panel++)
    table.pack(b.data(), k_stride, n_stride, n, panel * kMatmulPanel, 0, k,
               packed.data() + panel * kMatmulPanel * k);
  if (scale != 1.0f)
    for (float& v : packed) v *= scale;
}

}  // namespace poprt::kernels
