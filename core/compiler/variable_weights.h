// Weights that a session may change: constants that become inputs which have a value.
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

// Makes an input of every named floating-point constant of rank 1 or more that is read, outside of
// subgraphs only, where an operator takes weights: Conv, ConvTranspose, MatMul, Gemm, elementwise
// arithmetic, normalisations, recurrent cells, PRelu and the data of Gather, and of the quarter
// numbers (u8) of FP8MatMul and FP8Conv. The other constants
// (shapes, axes, scales ...) decide how a graph is compiled and stay. Before convert().
std::vector<VariableWeight> make_weights_variable(ir::Graph& graph);

// Gives the inputs of `executable` that have those names their values. Throws unimplemented when
// the type of one was changed on the way (precision fp16).
void attach_values(Executable& executable, const std::vector<VariableWeight>& weights);

}  // namespace poprt::compiler
