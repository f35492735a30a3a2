// Lowers a graph to a program of the chip, which ipu/estimate.h measures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "ipu/estimate.h"

namespace poprt::compiler {

struct EstimateOptions {
  ipu::Target target;
  ipu::ChipOptions chip;
  // The type of floats on the chip. The graph may have another one.
  Precision precision = Precision::fp16;
  // Names of inputs that are weights, for a model whose file does not contain its weights.
  std::vector<std::string> weights;
  // Returns the IPU of an operation, by the name of its first result. It is called in the order of
  // the operations. If it is empty, ipu::assign_ipus() divides them.
  std::function<int64_t(const std::string& result)> ipu_of;
  // Plans that estimates with equal targets and plan options share, or null.
  ipu::PlanCache* plans = nullptr;
};

// Applies the passes that the chip's compiler also applies: decompositions, and patterns for which
// it has a vertex.
void prepare_for_chip(ir::Graph& graph);

// The types of the graph should be static: a value of unknown size counts as empty. Constants are
// not read, except for single numbers, such as an axis, on which a cost depends.
ipu::ChipProgram chip_program(const ir::Graph& graph, const EstimateOptions& options);

// Applies prepare_for_chip() to a copy of a converted graph, lowers it and estimates it. Throws the
// errors of the passes.
ipu::Estimate estimate(const ir::Graph& graph, const EstimateOptions& options);

}  // namespace poprt::compiler
