// The plan that conv_stem and conv_plain share: convolution of plain f32 with few channels, whose
// input rows are copied with their padding.
#pragma once

#include <vector>

#include "kernels/common/conv.h"

namespace poprt::kernels {

struct ConvRowsParams {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
  std::vector<int32_t> offset;  // of (c, kz, ky, kx) in the copied rows
};

// Splits the work and checks x. The caller has checked the weights, and sets run and params of the
// plan. Throws as read_conv().
Plan plan_conv_rows(std::string_view kernel, std::span<const Operand> operands,
                    const ConvCall& conv, ConvRowsParams& params);

}  // namespace poprt::kernels
