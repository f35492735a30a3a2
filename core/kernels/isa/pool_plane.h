// Pooling of plain f32 planes of up to three spatial dimensions.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct PlaneAxis {
  int64_t in, out, kernel, stride, pad, dilation;
};

enum class PlanePooling { max, average, l1, l2 };

struct PlanePool {
  PlanePooling kind;
  PlaneAxis axis[3];
  const float* counts[3];  // for averages: the number of inputs of each output position of an axis
};

// The number of floats of scratch that `plane` needs.
inline int64_t plane_pool_scratch(const PlaneAxis& x) {
  const int64_t read = (x.out + 16) * x.stride + x.kernel * x.dilation + 64;
  return read > x.pad + x.in + 64 ? read : x.pad + x.in + 64;
}

struct PlanePoolTable {
  // Processes one plane. The maximum of a window with a NaN is NaN.
  void (*plane)(const PlanePool& p, const float* x, float* y, float* scratch) noexcept;
};
POPRT_DECLARE_ISA(PlanePoolTable, pool_plane)

}  // namespace poprt::kernels::isa
