// The packed form of a matmul weight: panels of 48 columns, each [K][48]; columns after N are zero.
#pragma once

#include <cstdint>
#include <span>

namespace poprt::kernels {

inline constexpr int64_t kMatmulPanel = 48;
inline int64_t matmul_panels(int64_t n) { return (n + kMatmulPanel - 1) / kMatmulPanel; }

// Element (k, n) of the weight is scale * b[k * k_stride + n * n_stride]. `packed` has
// matmul_panels(n) * k * 48 floats.
void pack_matmul(std::span<const float> b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n,
                 float scale, std::span<float> packed);

}  // namespace poprt::kernels
