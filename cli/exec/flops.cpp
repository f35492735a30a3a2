// poprt_exec flops: floating-point operations and bytes of a model, by node. package poprt.profile
// of Python counts the same (bindings/python/poprt/profile.py says what); a test compares them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"
#include "exec/support/debug_model.h"
#include "onnx/import.h"
#include "ops/facts.h"
#include "ops/op.h"
#include "passes/pass.h"

namespace poprt::cli {
namespace {

struct Arguments {
  std::string model;
  bool verbose = false, json = false;
  CompileSettings compile;
};

struct Cost {
  int64_t flops = 0, bytes = 0;
};

using Rows = std::vector<std::pair<const ir::Node*, Cost>>;

bool is_one_of(const ir::Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, std::string_view(node.op_type)) != names.end();
}

int64_t elements(const ir::Value* value) { return value ? element_count(value->shape()) : 0; }

// Of the weights of a convolution, all but the first dimension.
int64_t behind_first(const ir::Value* value) {
  return value && !value->shape().empty() ? element_count(std::span(value->shape()).subspan(1)) : 0;
}

bool is_reduction(ops::SizeRule rule) {
  using enum ops::SizeRule;
  return rule == reduce_from_least || rule == reduce_from_most || rule == reduce_from_one ||
         rule == reduce_from_zero || rule == reduce_mean || rule == arg_max || rule == arg_min;
}

int64_t einsum(const ir::Node& node) {
  std::string left = node.string_attr("equation", "");
  std::erase(left, ' ');
  left = left.substr(0, left.find("->"));
  std::map<std::string, int64_t> sizes;
  int64_t operands = 0, all = 1;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    const std::string word = left.substr(begin, end - begin);
    begin = end + 1;
    const ir::Value* value = node.input(static_cast<size_t>(operands++));
    if (!value) break;
    const size_t dots = word.find("...");
    const size_t front = std::min(dots, word.size());
    const size_t back = dots == std::string::npos ? 0 : word.size() - dots - 3;
    for (size_t d = 0; d < value->shape().size(); d++) {
      const size_t from_end = value->shape().size() - d;
      const std::string name = d < front          ? std::string(1, word[d])
                               : from_end <= back ? std::string(1, word[word.size() - from_end])
                                                  : fmt::format(".{}", d - front);
      int64_t& size = sizes.try_emplace(name, 1).first->second;
      size = std::max(size, value->shape()[d]);
    }
  }
  for (const auto& [name, size] : sizes) all *= size;
  return operands > 1 ? operands * all : all;
}

// Of products and convolutions; nothing for other operators.
std::optional<int64_t> multiplications(const ir::Node& node) {
  const int64_t out = elements(node.output());
  const Shape empty;
  const Shape& first = node.input(0) ? node.input(0)->shape() : empty;
  if (is_one_of(node, {"Gemm"}))
    return out * (2 * first[node.int_attr("transA", 0) ? 0 : 1] + (node.input(2) ? 1 : 0));
  if (ops::facts_of(node).size_rule == ops::SizeRule::product ||
      is_one_of(node, {"MatMulInteger", "QLinearMatMul"}) ||
      is_one_of(node, {"FP8MatMul", "FP8MatMulWithoutShapeInfer"}))
    return first.empty() ? 0 : 2 * out * first.back();
  if (is_one_of(node, {"Conv", "ConvInteger"}))
    return out *
           (2 * behind_first(node.input(1)) + (node.op_type == "Conv" && node.input(2) ? 1 : 0));
  if (is_one_of(node, {"QLinearConv"})) return out * 2 * behind_first(node.input(3));
  if (is_one_of(node, {"ConvTranspose"}))
    return 2 * elements(node.input(0)) * behind_first(node.input(1)) + (node.input(2) ? out : 0);
  if (is_one_of(node, {"LSTM", "GRU", "RNN"}))
    return 2 * first[0] * first[1] * (elements(node.input(1)) + elements(node.input(2)));
  if (is_one_of(node, {"Attention"}) && node.domain.empty()) {
    const auto length = [&](size_t i) {
      const ir::Value* v = node.input(i);
      return v && v->shape().size() > 1 ? v->shape()[v->shape().size() - 2] : 0;
    };
    return 2 * (length(1) + length(4)) * (elements(node.input(0)) + out);
  }
  if (is_one_of(node, {"Einsum"})) return einsum(node);
  return std::nullopt;
}

int64_t operations(const ir::Node& node) {
  if (const auto products = multiplications(node)) return *products;
  const ops::Facts& facts = ops::facts_of(node);
  const int64_t out = elements(node.output());
  if (facts.moves || facts.size_rule == ops::SizeRule::one_hot ||
      facts.size_rule == ops::SizeRule::range || is_one_of(node, {"Cast", "CastLike", "Dropout"}))
    return 0;
  if (is_one_of(node, {"MaxPool", "AveragePool", "LpPool"}))
    return out * element_count(node.ints_attr("kernel_shape"));
  if (is_reduction(facts.size_rule) || node.op_type.starts_with("Reduce") ||
      is_one_of(node, {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}))
    return elements(node.input(0));
  if (is_one_of(node, {"Softmax", "LogSoftmax", "Hardmax"}) || is_one_of(node, {"SoftmaxV2"}))
    return 5 * out;
  if (is_one_of(node, {"LayerNormalization", "GroupNormalization", "InstanceNormalization"}) ||
      is_one_of(node, {"RMSNormalization", "MeanVarianceNormalization", "FastNorm"}))
    return 7 * out;
  return is_one_of(node, {"BatchNormalization"}) ? 2 * out : out;
}

Cost cost_of(const ir::Graph& graph, Rows* rows, std::vector<std::string>& skipped);

// What the graphs in a node cost: the dearer branch, a body for each iteration that is known.
Cost inner_cost(const ir::Node& node, std::vector<std::string>& skipped) {
  Cost most;
  for_each_subgraph(node, [&](const ir::Graph& inner) {
    const Cost cost = cost_of(inner, nullptr, skipped);
    if (std::pair(cost.flops, cost.bytes) > std::pair(most.flops, most.bytes)) most = cost;
  });
  int64_t times = 1;
  if (node.op_type == "Loop" && node.input(0) && node.input(0)->is_constant())
    times = node.input(0)->constant().to_int64s().at(0);
  if (node.op_type == "Scan") {
    const auto scanned = static_cast<size_t>(node.int_attr("num_scan_inputs", 1));
    const ir::Value* value = node.input(node.inputs().size() - scanned);
    const auto axes = node.ints_attr("scan_input_axes", {0});
    if (value && !value->shape().empty()) times = value->shape()[static_cast<size_t>(axes.at(0))];
  }
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
          cost.bytes += static_cast<int64_t>(dtype_bytes(v->dtype(), elements(v)));
        else if (!unknown)
          unknown = v;
      }
    }
    if (!unknown)
      cost.flops += operations(*node);
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

int run(const Arguments& a) {
  const auto graph = onnx::import_file(
      a.model, {.allow_links = a.compile.allow_links, .strict = a.compile.strict});
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
    passes::run_passes(*graph, std::vector{&passes::pass_of("constant_folding"),  // of shapes
                                           &passes::pass_of("eliminate_deadend")});
  Rows rows;
  std::vector<std::string> skipped;
  const Cost total = cost_of(*graph, &rows, skipped);
  if (!skipped.empty())
    fmt::print(stderr, "poprt_exec flops: {} nodes are not counted, such as {}\n", skipped.size(),
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

void add_flops(CLI::App& app, std::function<int()>& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = add_command(
      app, "flops",
      "Count the floating-point operations of a model (a multiplication and an addition are two)");
  c->add_option("MODEL", a->model, "Model (.onnx)")->required();
  c->add_flag("--verbose", a->verbose, "Also of each node");
  c->add_flag("--json", a->json, "As JSON, by node");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
