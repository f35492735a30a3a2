// Weights that a session may change: constants become inputs with a value.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "compiler/compiler.h"

namespace poprt::compiler {

struct VariableWeight {
  std::string name;
  Tensor value;
};

// Makes an input of every named float constant of rank 1 or more that is read only by operators
// outside of subgraphs and only as a weight: Conv, ConvTranspose, MatMul, Gemm, elementwise
// arithmetic, normalisations, recurrent cells, PRelu, the data of Gather, and the 8-bit floats (u8)
// of FP8MatMul and FP8Conv. Other constants (shapes, axes, scales ...) affect how a graph is
// compiled and stay constant. Must be called before convert().
std::vector<VariableWeight> make_weights_variable(ir::Graph& graph);

// Sets the values of the inputs of `executable` with those names. Throws unimplemented if the
// conversion changed the type of one (precision fp16).
void attach_values(Executable& executable, const std::vector<VariableWeight>& weights);

}  // namespace poprt::compiler
