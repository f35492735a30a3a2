// The overlap of one box with many, for non_max_suppression.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// The numbers of a box: two corners in ascending order, and the area.
inline constexpr int64_t kBoxNumbers = 5;

struct BoxesTable {
  // The first of boxes [from, n) that may overlap `box` by more than `least` of their union, or n.
  // Number i of box k is boxes[i * stride + k]; each is followed by 16 readable floats. A box
  // without area overlaps nothing. Rounding differs between instruction sets, so the caller
  // computes the overlap of the box that is found; none that overlaps is left out.
  int64_t (*overlapping)(const float* boxes, int64_t stride, int64_t from, int64_t n,
                         const float* box, float least) noexcept;
};
POPRT_DECLARE_ISA(BoxesTable, boxes)

}  // namespace poprt::kernels::isa
