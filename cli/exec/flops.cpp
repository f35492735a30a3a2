// poprt_exec flops: counts floating-point operations and bytes of a model by node. poprt.profile of
// the Python package counts the same; a test compares them.
#include <fmt/format.h>

#include <algorithm>

#include "base/shape.h"
#include "common/arguments.h"
#include "common/json.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "exec/support/debug_model.h"
#include "onnx/import.h"
#include "ops/common/flops.h"
#include "ops/op.h"
#include "passes/pass.h"

namespace poprt::cli {
namespace {

struct FlopsArguments {
  std::string model;
  bool verbose = false, json = false;
  CompileSettings compile;
};

struct Cost {
  int64_t flops = 0, bytes = 0;
};

using Rows = std::vector<std::pair<const ir::Node*, Cost>>;

Cost cost_of(const ir::Graph& graph, Rows* rows, std::vector<std::string>& skipped);

// Returns the cost of a node's subgraphs: that of the more expensive branch, or that of a loop body
// times its known number of iterations (otherwise once, with a note).
Cost inner_cost(const ir::Node& node, std::vector<std::string>& skipped) {
  Cost most;
  for_each_subgraph(node, [&](const ir::Graph& inner) {
    const Cost cost = cost_of(inner, nullptr, skipped);
    if (std::pair(cost.flops, cost.bytes) > std::pair(most.flops, most.bytes)) most = cost;
  });
  const auto repeats = ops::facts_of(node).repeats;
  int64_t times = repeats ? repeats(node) : 1;
  if (times < 0 && most.flops + most.bytes > 0)
    print_error(
        "poprt_exec flops: {} is counted for one round, because the number of its rounds is "
        "known at run time only\n",
        printable(node.describe()));
  if (times < 0) times = 1;
  return {most.flops * times, most.bytes * times};
}

Cost cost_of(const ir::Graph& graph, Rows* rows, std::vector<std::string>& skipped) {
  Cost total;
  for (const ir::Node* node : graph.nodes()) {
    Cost cost = inner_cost(*node, skipped);
    const ir::Value* unknown = nullptr;
    for (const auto& list : {node->inputs(), node->outputs()}) {
      std::vector<const ir::Value*> once;
      for (const ir::Value* v : list) {
        if (!v || v->name().starts_with(onnx::kOmittedName) ||
            std::ranges::find(once, v) != once.end())
          continue;
        once.push_back(v);
        if (v->type.is_static())
          cost.bytes += static_cast<int64_t>(dtype_bytes(v->dtype(), element_count(v->shape())));
        else if (!unknown)
          unknown = v;
      }
    }
    if (!unknown)
      cost.flops += ops::flops_of(*node);
    else
      skipped.push_back(fmt::format("{}, where the shape of '{}' ({}) is not known",
                                    node->describe(), unknown->name(),
                                    ir::type_string(unknown->type)));
    if (rows) rows->emplace_back(node, cost);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
  }
  return total;
}

int run(const FlopsArguments& a) {
  const auto graph =
      compiler::read_model({.path = a.model}, a.compile.allow_links, a.compile.strict);
  a.compile.check_names(input_names(*graph));
  fix_shapes(*graph, a.compile);
  for (const ir::Value* v : graph->inputs())
    if (!v->type.is_static())
      throw Failure(
          fmt::format("the shape of input '{}' ({}) is variable; fix it with "
                      "--input_shape",
                      v->name(), ir::type_string(v->type)));
  ops::infer(*graph);
  const auto values = graph->values();
  if (!std::ranges::all_of(values, [](const ir::Value* v) { return v->type.is_static(); }))
    passes::run_passes(*graph, std::vector{&passes::pass_of("constant_folding"),  // folds shapes
                                           &passes::pass_of("eliminate_deadend")});
  Rows rows;
  std::vector<std::string> skipped;
  const Cost total = cost_of(*graph, &rows, skipped);
  if (!skipped.empty())
    print_error("poprt_exec flops: {} nodes are not counted, such as {}\n", skipped.size(),
                printable(skipped[0]));
  if (a.json) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const auto& [node, cost] : rows)
      nodes.push_back({{"name", node->name},
                       {"op_type", node->op_type},
                       {"flops", cost.flops},
                       {"bytes", cost.bytes}});
    print_json({{"flops", total.flops}, {"bytes", total.bytes}, {"nodes", nodes}});
    return 0;
  }
  if (a.verbose)
    for (const auto& [node, cost] : rows)
      fmt::print("{:<24} {:>16} FLOPs {:>14} bytes  {}\n", node->op_type, cost.flops, cost.bytes,
                 node->name);
  fmt::print("{:<24} {:>16} FLOPs {:>14} bytes\n", "total", total.flops, total.bytes);
  return 0;
}

}  // namespace

void add_flops(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<FlopsArguments>();
  Command* c = app.add_command(
      "flops",
      "Count the floating-point operations of a model (a multiplication and an addition are two)");
  c->add_option("MODEL", a->model, "Model (.onnx)")->required();
  c->add_flag("--verbose", a->verbose, "Also for each node");
  c->add_flag("--json", a->json, "As JSON, by node");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
