// Lowers a graph to a program of the chip, which ipu/estimate.h measures.
#pragma once

#include <functional>
#include <map>
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
  // By the name of a result or of the trip count of a loop: the number of its rounds. A loop whose
  // number of rounds is known at run time only, and that is not in the list, has one round.
  std::map<std::string, int64_t> rounds;
  // Returns the IPU of an operation, by the name of its first result. It is called in the order of
  // the operations. If it is empty, ipu::assign_ipus() divides them.
  std::function<int64_t(const std::string& result)> ipu_of;
  // Plans that estimates with equal targets and plan options share, or null.
  ipu::PlanCache* plans = nullptr;
};

// Applies the passes that the chip's compiler also applies: decompositions, and patterns for which
// it has a vertex.
void prepare_for_chip(ir::Graph& graph);

// Throws not_found if a name in `rounds` (EstimateOptions) is that of no loop.
void check_rounds(const ir::Graph& graph, const std::map<std::string, int64_t>& rounds);

// Returns Options::max_size for a conversion: the rounds of the loops with scan outputs, because
// the converter must know the length of these results.
std::map<std::string, int64_t> scan_rounds(const ir::Graph& graph,
                                           const std::map<std::string, int64_t>& rounds);

// The types of the graph should be static: a value of unknown size counts as empty, which is one of
// the program's assumptions. Constants are not read, except for single numbers, such as an axis, on
// which a cost depends. Throws invalid_argument for fp8 if the target has no products of 8-bit
// floats.
ipu::ChipProgram chip_program(const ir::Graph& graph, const EstimateOptions& options);

// Applies prepare_for_chip() to a copy of a converted graph, lowers it and estimates it. Throws the
// errors of the passes.
ipu::Estimate estimate(const ir::Graph& graph, const EstimateOptions& options);

}  // namespace poprt::compiler
