// poprt_exec auto_shard: chooses the cuts of a model for several IPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/log_level.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/standard_streams.h"
#include "common/written_files.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "exec/support/chip_source.h"
#include "exec/support/shard_estimate.h"
#include "exec/support/shard_trial.h"
#include "onnx/export.h"
#include "ops/op.h"
#include "passes/common/fix_input_shapes.h"
#include "passes/pass.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

struct AutoShardArguments {
  std::string input_model, output_model, target;
  int64_t num_ipus = 0, num_processes = 2, runs = 200;
  double memory_proportion = 0.6, available_memory = 0.6;
  bool optimal_perf = false, json = false;
};

// Makes variable dimensions of inputs 1, because cuts depend on the bytes of values.
void fix_variable_inputs(ir::Graph& graph) {
  passes::InputShapes wanted;
  for (const ir::Value* v : graph.inputs()) {
    if (v->is_constant() || !v->type.has_shape || v->type.is_static()) continue;
    Shape shape = v->shape();
    std::ranges::replace_if(shape, [](int64_t d) { return d < 0; }, 1);
    wanted.shapes.emplace(v->name(), std::move(shape));
  }
  if (!passes::fix_input_shapes(graph, wanted)) return;
  for (const auto& [name, shape] : wanted.shapes)
    print_error("poprt_exec auto_shard: input '{}' has variable dimensions; it is cut as {}\n",
                name, shape_string(shape));
}

// Reads the graph and gives its nodes unique names and types.
std::unique_ptr<ir::Graph> named_graph(const std::string& path) {
  auto graph = compiler::read_model({.path = path});
  fix_variable_inputs(*graph);
  ops::infer(*graph);
  passes::run_passes(*graph, std::vector{&passes::pass_of("unique_name_for_nodes")});
  return graph;
}

struct Found {
  Candidate best;
  size_t tried = 0;  // number of compiled or estimated plans
};

// Starts with parts of equal bytes. With --optimal_perf, it then balances the measured time of the
// instructions in each sub-graph.
Found search(const AutoShardArguments& a, const ir::Graph& graph) {
  std::vector<SubGraph> parts = sub_graphs(graph);
  const auto ipus = static_cast<size_t>(a.num_ipus);
  std::atomic<size_t> tried = 0;
  const CompilePlan compile = [&](const Plan& plan) {
    tried++;
    return compile_plan(graph, parts, plan);
  };
  Candidate best =
      compile_fitting(balanced(amounts_by_bytes(parts), ipus), a.memory_proportion, compile);
  measure_candidate(best, a.runs);
  if (!a.optimal_perf) return {best, tried};
  set_times(graph, node_times(graph), parts);
  improve(best, balanced(amounts_by_time(parts), ipus),
          {a.memory_proportion, static_cast<size_t>(a.num_processes), compile,
           [&](Candidate& c) { measure_candidate(c, a.runs); }});
  return {best, tried};
}

// The same by estimates: nothing is compiled or measured. Parts of equal bytes are tried first, so
// that a model whose weights nearly fill the memory fits.
Found search_by_estimate(const AutoShardArguments& a, const ir::Graph& graph) {
  std::vector<SubGraph> parts = sub_graphs(graph);
  const auto ipus = static_cast<size_t>(a.num_ipus);
  const ShardEstimate estimate(graph, parts, chip_given(a.target, "--target"), a.available_memory);
  estimate.set_times(parts);
  std::atomic<size_t> tried = 0;
  const CompilePlan plan = [&](const Plan& p) {
    tried++;
    return estimate.estimate(p);
  };
  Candidate best =
      compile_fitting(balanced(amounts_by_bytes(parts), ipus), a.memory_proportion, plan);
  improve(best, balanced(amounts_by_time(parts), ipus),
          {a.memory_proportion, 1, plan, [](Candidate&) {}});
  return {best, tried};
}

void print(const AutoShardArguments& a, const Found& found) {
  const Candidate& c = found.best;
  if (a.json) {
    nlohmann::ordered_json ipus = nlohmann::ordered_json::array();
    for (size_t i = 0; i < c.bytes.size(); i++)
      ipus.push_back({{"ipu", i}, {"cut", c.cuts[i]}, {"bytes", c.bytes[i]}});
    nlohmann::json json = {{"input_model", a.input_model},
                           {"output_model", a.output_model},
                           {"ipus", ipus},
                           {"tried", found.tried},
                           {"latency_ms", c.latency_ms},
                           {"throughput", c.per_second}};
    if (!a.target.empty()) json["estimated_for"] = a.target;
    print_json(json);
    return;
  }
  for (size_t i = 0; i < c.bytes.size(); i++)
    fmt::print("IPU {}: {:.1f} MB, {}\n", i, static_cast<double>(c.bytes[i]) / 1e6,
               c.cuts[i].empty() ? std::string("the rest")
                                 : fmt::format("cut at {}", fmt::join(c.cuts[i], ", ")));
  if (!a.target.empty())
    fmt::print(
        "Estimate for {}, not measured (poprt_exec help estimate), of a pipeline with {} batches "
        "in "
        "a step:\n",
        printable(a.target), c.bytes.size());
  fmt::print("Latency: {:.2f} ms\nThroughput: {:.1f} batches/s\nsharded model: {}\n", c.latency_ms,
             c.per_second, a.output_model);
}

int run(AutoShardArguments a) {
  warn_of_unknown_log_level();
  if (a.num_ipus < 2)
    throw Usage(fmt::format("--num_ipus: expected more than 1, found {}", a.num_ipus));
  if (a.output_model.empty()) {
    const fs::path input = a.input_model;
    a.output_model =
        (input.parent_path() / (input.stem().string() + ".auto_sharded.onnx")).string();
  }
  CommandFiles files;
  files.reads_model(a.input_model);
  files.writes(a.output_model, Contents::onnx, "--output_model");
  if (!a.target.empty() && a.optimal_perf)
    throw Usage("--optimal_perf measures, and --target estimates: give one of them");
  const AutoShardArguments standard;
  if (!a.target.empty() && (a.runs != standard.runs || a.num_processes != standard.num_processes))
    throw Usage("--runs and --num_processes act on measurements: leave them out with --target");
  if (a.target.empty() && a.available_memory != standard.available_memory)
    throw Usage("--available_memory_proportion needs --target");
  const auto graph = named_graph(a.input_model);
  const Found found = a.target.empty() ? search(a, *graph) : search_by_estimate(a, *graph);
  onnx::ExportOptions written;
  written.sources.emplace_back(a.input_model);
  onnx::export_file(*cut_graph(*graph, found.best.cuts), a.output_model, written);
  print(a, found);
  return 0;
}

}  // namespace

void add_auto_shard(Command& app, std::function<int()>& action) {
  Command* command = app.add_command(
      "auto_shard", "Choose the cuts of a converted model for several IPUs, and test them");
  const auto a = std::make_shared<AutoShardArguments>();
  command->add_option("-i,--input_model", a->input_model, "Converted ONNX model")->required();
  command->add_option("--num_ipus", a->num_ipus, "Number of IPUs, more than 1")->required();
  command->add_option("--output_model", a->output_model,
                      "Path of the result, with attributes for virtual_graph_mode=manual "
                      "[NAME.auto_sharded.onnx next to the source]");
  command->add_flag("--optimal_perf", a->optimal_perf,
                    "Also try cuts by the measured time of the parts, as long as they are faster");
  command
      ->add_option("--num_processes", a->num_processes,
                   "Number of cuts that are compiled at the same time, at most 64")
      ->check(between(1, 64))
      ->capture_default_str();
  command
      ->add_option("--memory_proportion", a->memory_proportion,
                   "Fraction of the chip's memory for the weights and data of an IPU")
      ->check(between(0.01, 1.0))
      ->capture_default_str();
  command->add_option("--runs", a->runs, "Timed asynchronous runs, after 20 that are not timed")
      ->check(between(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", a->json, "The result as JSON");
  command->add_option(
      "--target", a->target,
      "Cut by the estimate of a chip (poprt_exec help estimate) instead of the bytes and times "
      "of the emulated IPU: mk1, mk2, bow, c600, or a JSON file");
  command
      ->add_option("--available_memory_proportion", a->available_memory,
                   "With --target: fraction of a tile's memory for temporary data of products")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  command->callback([&action, a] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
