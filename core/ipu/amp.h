// Cycles of the vertices that multiply on one tile: the accumulating matrix product unit (AMP), and
// the vertices for convolutions with few channels.
//
// The formulas are the published cost functions of the operator library of the chip. Worked
// example: 96 field elements, 64 input channels, 16 output channels, half inputs, float partials:
// 4 groups of 16 input channels times 2 groups of 8 output channels take 4755 cycles.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "ipu/target.h"

namespace poprt::ipu {

enum class Method : uint8_t { amp, slic, vmac, hmac, outer_product };

std::string_view method_name(Method method);

// Shape of one step of the AMP.
struct AmpShape {
  int64_t units = 0;           // output channels
  int64_t group = 0;           // input channels
  int64_t element_cycles = 4;  // of one element of the field
};

// The shape for inputs of type f16 or f32, or of 8-bit floats if the target multiplies them. Other
// types have no AMP: units is 0.
AmpShape amp_shape(const Target& target, DType inputs, DType partials);

// The part of a convolution that one tile computes.
struct TileWork {
  int64_t groups = 1;           // groups of the convolution, or products of a batch
  int64_t rows = 1, width = 1;  // elements of the output field; rows include the batch
  int64_t in = 1, out = 1;      // channels of one group
  int64_t kernel_rows = 1, kernel_width = 1;
  int64_t stride = 1;  // along the width
  DType inputs = DType::f16, partials = DType::f16;
  bool wide_loads = false;  // weights are loaded with 128 bits

  int64_t field() const { return rows * width; }
  int64_t taps() const { return kernel_rows * kernel_width; }
};

// Rows of the kernel that one step of the AMP multiplies at once because there are few channels.
int64_t fused_kernel_rows(const Target& target, const TileWork& work);

// Cycles of the vertex, or a negative number if the method cannot compute the work.
int64_t vertex_cycles(const Target& target, Method method, const TileWork& work);

// The AMP's vertices for kernels of one element and of several.
int64_t amp_1x1_cycles(const Target& target, const TileWork& work);
int64_t amp_nx1_cycles(const Target& target, const TileWork& work);

}  // namespace poprt::ipu
