// What the chip would compute: a converted fp16 or fp8 model node by node, with the roundings that
// the chip has and our programs leave out. Slow; what the fast emulator's error is measured by.
//
//   results      every operator on halves gives halves, rounded to nearest, ties to even
//   overflow     a half beyond 65504 is NaN, or +-65504 (saturating); 8-bit floats: 0x80, or the
//                greatest; infinity is NaN in 8 bits in any case
//   products     of halves: 16 products are summed in f32, the partial sum so far is added, and the
//                sum is rounded to a half; then the next 16. Of 8-bit floats: 32. With float
//                partials sums stay f32 to their end. Convolutions sum the input channels of one
//                place of the window before those of the next
//   8-bit floats are made of halves: numbers are rounded twice. Their scale is applied as they are
//                read: partial sums have the size of the result
//
// The operators between products compute in f32 inside, as the fast emulator does, and round once.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

struct Faithful {
  bool saturate = false;        // the chip's `nanoo` off
  bool float_partials = false;  // 16.32 for 16.16
};

// Outputs by name. Throws unimplemented for control flow and invalid_argument for an input that is
// not in `feeds` or has another type.
std::map<std::string, Tensor> run_faithfully(const ir::Graph& graph,
                                             const std::map<std::string, Tensor>& feeds,
                                             const Faithful& options = {});

}  // namespace poprt::compiler
