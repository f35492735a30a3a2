// Computes a converted fp16 or fp8 model node by node with the rounding of the chip, which compiled
// programs omit. It is slow and is the reference for the error of the fast emulator.
//
//   results      operators on f16 return f16, rounded to nearest, ties to even, or stochastically
//   overflow     an f16 beyond 65504 becomes NaN, or +-65504 (saturating). An 8-bit float becomes
//                0x80, or the largest number (saturating); infinity is always NaN in 8 bits
//   products     f16: 16 products and the previous partial sum are added in f32, and the sum is
//                rounded to f16; then the next 16. 8-bit floats: 32 products. With float partials,
//                sums stay f32 to the end. Convolutions sum all input channels of one place of the
//                window before those of the next
//   8-bit floats are converted from f16, so numbers are rounded twice. They are scaled when they
//                are read, so partial sums have the magnitude of the result
//
// Other operators compute in f32 and round once, like the fast emulator. So do products with an
// operand of rank 1 and Gemm with transA.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

struct Faithful {
  bool saturate = false;        // false: the chip's `nanoo` mode
  bool float_partials = false;  // f32 partial sums (fp16.32) instead of f16 (fp16.16)
  // If set, rounding is stochastic. Each run begins with this seed, so equal runs have equal
  // results.
  std::optional<uint64_t> seed = {};
};

// Returns the outputs by name. Throws unimplemented for control flow and for products of f16 or
// 8-bit floats that are convolutions without two spatial dimensions or with auto_pad, and
// invalid_argument for an input that is not in `feeds` or has another type.
std::map<std::string, Tensor> run_faithfully(const ir::Graph& graph,
                                             const std::map<std::string, Tensor>& feeds,
                                             const Faithful& options = {});

}  // namespace poprt::compiler
