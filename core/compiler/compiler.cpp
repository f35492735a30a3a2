#include "compiler/compiler.h"

#include "compiler/fix_shapes.h"
#include "compiler/flow/class_labels.h"
#include "compiler/flow/specialize.h"
#include "compiler/lower.h"
#include "compiler/pipeline.h"
#include "ir/schemas.h"
#include "ops/common/conv.h"
#include "ops/op.h"
#include "passes/rewrite.h"

namespace poprt::compiler {
namespace {

constexpr int64_t kOpsetOfNewNodes = 21;

void run_pipeline(ir::Graph& graph, const std::vector<const passes::PassDef*>& list,
                  const Options& options, std::string_view title, double share) {
  passes::PassManagerOptions manager;
  manager.verify_each = options.verify_each;
  manager.rewrite_limit = options.rewrite_limit;
  manager.stop_after = options.stop_after;
  manager.max_tensor_size = options.max_tensor_size;
  size_t done = 0;
  manager.after_each = [&](const passes::PassReport& report, const ir::Graph& g) {
    done++;
    if (options.progress)
      options.progress(share * static_cast<double>(done) / static_cast<double>(list.size()), title);
    if (options.after_pass) options.after_pass(report, g);
  };
  passes::run_passes(graph, list, manager);
}

// Values between nodes keep no declared types: they are inferred again from the inputs.
void forget_intermediate_types(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    for (ir::Value* v : n->outputs()) v->type = {};
    ir::for_each_subgraph(*n, [](ir::Graph& sub) { forget_intermediate_types(sub); });
  }
}

// An attribute that an operator does not have would be ignored, and results be wrong.
void check_attributes(const ir::Graph& graph) {
  for (const ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [](const ir::Graph& sub) { check_attributes(sub); });
    try {
      ir::check_attributes(*n);
    } catch (const Error&) {
      ops::op_of(*n);  // that there is no such operator is said first
      throw;
    }
  }
}

void limit_winograd(ir::Graph& graph, Winograd choice) {
  if (choice == Winograd::automatic) return;
  const int64_t tile = choice == Winograd::off ? 0 : choice == Winograd::exact ? 2 : 4;
  passes::for_each_node(graph, [&](ir::Node& n) {
    if (n.is("Conv", "poprt")) n.attributes[std::string(ops::kWinogradAttribute)] = tile;
  });
}

}  // namespace

void convert(ir::Graph& graph, const Options& options) {
  // Passes make nodes of ai.onnx, which a model of other domains need not import.
  if (!graph.opsets.contains("ai.onnx")) graph.opsets.emplace("", kOpsetOfNewNodes);
  check_attributes(graph);
  expand_containers(graph, options);
  fix_shapes(graph, options);
  require_static_inputs(graph);
  number_class_labels(graph);
  forget_intermediate_types(graph);
  specialize(graph, options);
  run_pipeline(graph, converter_pipeline(options), options, "PopRT conversion", 1.0);
}

Executable compile(ir::Graph& graph, const Options& options) {
  require_static_inputs(graph);
  run_pipeline(graph, compile_pipeline(options), options, "Graph compilation", 0.5);
  limit_winograd(graph, options.winograd);
  const auto notes = class_labels_of(graph);
  Executable executable = lower(graph, [&](double done) {
    if (options.progress) options.progress(0.5 + 0.5 * done, "Graph compilation");
  });
  executable.notes = notes;
  return executable;
}

}  // namespace poprt::compiler
