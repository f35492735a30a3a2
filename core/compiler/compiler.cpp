#include "compiler/compiler.h"

#include <algorithm>
#include <unordered_set>

#include "base/log.h"
#include "base/onnx_dtype.h"
#include "compiler/declared_types.h"
#include "compiler/flow/class_labels.h"
#include "compiler/flow/specialize.h"
#include "compiler/lower.h"
#include "compiler/narrow_storage.h"
#include "compiler/onnx_metadata.h"
#include "compiler/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/shard.h"
#include "compiler/static_inputs.h"
#include "compiler/winograd_storage.h"
#include "ir/schemas.h"
#include "ops/common/conv_kernel.h"
#include "ops/common/required_inputs.h"
#include "ops/op.h"
#include "opsets/convert.h"
#include "passes/common/rewrite.h"

namespace poprt::compiler {
namespace {

constexpr int64_t kOpsetOfNewNodes = 21;

// Runs passes and reports progress between `from` and `until`. `limit` is the number of rewrites
// that are still allowed; theirs are subtracted from it.
void run_pipeline(ir::Graph& graph, const std::vector<const passes::PassDef*>& list,
                  const Options& options, int64_t& limit, std::string_view title, double until,
                  double from = 0) {
  passes::PassManagerOptions manager;
  manager.verify_each = options.verify_each;
  manager.rewrite_limit = limit;
  manager.stop_after = options.stop_after;
  manager.max_tensor_size = options.max_tensor_size;
  manager.fp16_skip_op_types = options.fp16_skip_op_types;
  manager.arguments = options.pass_arguments;
  manager.precision = options.narrowing;
  size_t done = 0;
  manager.after_each = [&](const passes::PassReport& report, const ir::Graph& g) {
    done++;
    if (options.progress)
      options.progress(
          from + (until - from) * static_cast<double>(done) / static_cast<double>(list.size()),
          title);
    if (options.after_pass) options.after_pass(report, g);
    limit -= report.rewrites;
  };
  passes::run_passes(graph, list, manager);
}

// The number of shape inferences of the converter that see the original model, before and after
// constant folding. Later ones may follow passes that change types.
constexpr int kInferencesOfTheModel = 2;

// Some models have many constants without readers, which every pass and every verification would
// visit. They are removed first if a pass of the list removes them later anyway.
void remove_unused_constants(ir::Graph& graph, std::span<const passes::PassDef* const> list,
                             const Options& options) {
  const passes::PassDef& pass = passes::pass_of("eliminate_unused_initializer");
  // Users that stop early or limit rewrites look for the pass that causes a difference.
  if (!options.stop_after.empty() || options.rewrite_limit != INT64_MAX ||
      std::ranges::find(list, &pass) == list.end())
    return;
  passes::PassContext context;
  pass.run(graph, context);
}

// Converts the model to opset 13 at least, because older ones have no scale for each channel.
void use_opset_of_channels(ir::Graph& graph) {
  constexpr int64_t kOpset = 13;
  if (const int64_t own = opsets::opset_of(graph); own == 0 || own >= kOpset) return;
  try {
    opsets::convert(graph, kOpset);
  } catch (Error& e) {
    e.add_context("`precision` int8 needs opset 13");
    throw;
  }
}

// Returns the options with a progress that maps [0, 1] to [from, until] in the progress of `whole`.
Options with_part(const Options& whole, double from, double until) {
  Options part = whole;
  if (whole.progress)
    part.progress = [&whole, from, until](double done, std::string_view what) {
      whole.progress(from + (until - from) * done, what);
    };
  return part;
}

// The progress at the ends of the steps of a conversion that calibrates. The calibration takes
// longest, because it runs the model on every sample.
constexpr double kUntilCalibration = 0.2, kCalibrated = 0.8, kUntilComparison = 0.9;

void run_converter(ir::Graph& graph, const Options& options, int64_t& limit,
                   const DeclaredTypes& declared) {
  Options checked = options;
  int inferences = 0;
  checked.after_pass = [&](const passes::PassReport& report, const ir::Graph& g) {
    if (report.name == "shape_inference" && ++inferences <= kInferencesOfTheModel)
      declared.check_names(g);
    if (options.after_pass) options.after_pass(report, g);
  };
  checked.narrowing.fp8_weights_only = options.precision == Precision::fp8_weight;
  std::vector<const passes::PassDef*> list = converter_pipeline(options);
  remove_unused_constants(graph, list, options);
  double done = 0;
  const bool bytes = options.precision == Precision::int8;
  const auto narrows =
      std::ranges::find(list, bytes ? "float_to_qdq" : "float_to_fp8", &passes::PassDef::name);
  std::unique_ptr<ir::Graph> original;  // for int8: the graph before its products become bytes
  // Formats are chosen for the products that the pass will convert.
  if (options.calibration && narrows != list.end() && options.precision != Precision::keep) {
    const std::vector<const passes::PassDef*> before(list.begin(), narrows);
    done = kCalibrated;
    run_pipeline(graph, before, checked, limit, "PopRT conversion", kUntilCalibration);
    if (std::ranges::any_of(before, [&](const passes::PassDef* p) {
          return passes::is_called(*p, options.stop_after);
        }))
      return;
    if (bytes) use_opset_of_channels(graph);
    checked.narrowing = calibrate(graph, with_part(checked, kUntilCalibration, kCalibrated));
    list.erase(list.begin(), narrows);
    if (bytes) original = graph.clone();
  }
  const double until = original ? kUntilComparison : 1.0;
  // The calibration data are inputs of floats, and eight_bits_io makes inputs of bytes. So the
  // comparison uses the graph before this pass.
  std::unique_ptr<ir::Graph> of_floats;
  const auto images = std::ranges::find(list, "eight_bits_io", &passes::PassDef::name);
  if (original && images != list.end()) {
    const std::vector<const passes::PassDef*> before(list.begin(), images);
    run_pipeline(graph, before, checked, limit, "PopRT conversion", until, done);
    done = until;
    of_floats = graph.clone();
    list.erase(list.begin(), images);
    if (std::ranges::any_of(before, [&](const passes::PassDef* p) {
          return passes::is_called(*p, options.stop_after);
        }))
      list.clear();
  }
  run_pipeline(graph, list, checked, limit, "PopRT conversion", until, done);
  if (original)
    compare_calibrated(*original, of_floats ? *of_floats : graph, with_part(checked, until, 1.0));
}

void run_early(ir::Graph& graph, const Options& options, int64_t& limit) {
  const std::vector<const passes::PassDef*> list = early_pipeline(options);
  if (list.empty()) return;
  ops::infer(graph);
  run_pipeline(graph, list, options, limit, "PopRT conversion", 0.0);
}

// Throws for an attribute that only another opset of the operator defines, and for an additional
// input, because ignoring them would give wrong results. An attribute that no opset defines is a
// warning, or an error with `strict`.
void check_nodes(const ir::Graph& graph, bool strict) {
  std::function<void(const std::string&)> warn;
  if (!strict) warn = [](const std::string& what) { log().warn("{}", what); };
  for (const ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { check_nodes(sub, strict); });
    try {
      ir::check_attributes(*n, warn);
      ops::check_surplus_inputs(*n);
    } catch (const Error&) {
      ops::op_of(*n);  // reports an unknown operator first
      throw;
    }
  }
}

// Removes repeated outputs, because the outputs of a program are identified by their names.
void drop_repeated_outputs(ir::Graph& graph) {
  std::unordered_set<const ir::Value*> listed;
  for (size_t i = 0; i < graph.outputs().size();) {
    const ir::Value* v = graph.outputs()[i];
    if (listed.insert(v).second) {
      i++;
      continue;
    }
    log().warn("output '{}' is listed more than once; it is one output", v->name());
    graph.remove_output(i);
  }
}

// Keeps the type s64 of the outputs NAME:shape, from which callers read the sizes of results.
void keep_sizes_wide(ir::Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); i++) {
    ir::Value* v = graph.outputs()[i];
    const std::string name = v->name();
    if (v->dtype() != DType::s32 || !name.ends_with(kShapeSuffix)) continue;
    const ir::Value* of =
        graph.find(std::string_view(name).substr(0, name.size() - kShapeSuffix.size()));
    if (!of || !graph.is_output(of)) continue;
    ir::Node* cast = graph.add_node("Cast", "", {v});
    cast->attributes["to"] = int64_t{*onnx_from_dtype(DType::s64)};
    ops::infer(*cast);
    graph.rename(v, graph.fresh_name(name + "_narrow"));
    graph.rename(cast->output(), name);
    graph.set_output(i, cast->output());
  }
}

void limit_winograd(ir::Graph& graph, Winograd choice) {
  if (choice == Winograd::automatic) return;
  const int64_t tile = choice == Winograd::off ? 0 : choice == Winograd::exact ? 2 : 4;
  passes::for_each_node(graph, [&](ir::Node& n) {
    if (ops::facts_of(n).winograd) n.attributes[std::string(ops::kWinogradAttribute)] = tile;
  });
}

// Runs the stages with the patterns and transforms of plug-ins between them.
void run_compile_stages(ir::Graph& graph, const Options& options) {
  passes::run_transforms(graph, options.transforms, "Fwd0");
  passes::run_patterns(graph, options.patterns);
  passes::run_transforms(graph, options.transforms, "Fwd1");
  passes::run_transforms(graph, options.transforms, "Bwd0");
  const std::vector<Stage> stages = compile_stages(options);
  int64_t limit = options.rewrite_limit;
  double done = 0, all = 0;
  for (const Stage& stage : stages) all += static_cast<double>(stage.passes.size());
  for (const Stage& stage : stages) {
    const double begin = done;
    done += static_cast<double>(stage.passes.size());
    run_pipeline(graph, stage.passes, options, limit, "Graph compilation", 0.5 * done / all,
                 0.5 * begin / all);
    if (std::ranges::any_of(stage.passes, [&](const passes::PassDef* p) {
          return passes::is_called(*p, options.stop_after);
        }))
      return;
    passes::run_transforms(graph, options.transforms, stage.checkpoint);
  }
}

bool has_value(const ir::Graph& graph, const std::string& name) {
  if (graph.find(name)) return true;
  bool found = false;
  for (const ir::Node* n : graph.nodes())
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { found |= has_value(sub, name); });
  return found;
}

void check_max_sizes(const ir::Graph& graph, const Options& options) {
  for (const auto& [name, most] : options.max_size)
    if (!has_value(graph, name))
      fail(ErrorCode::not_found, "option max_size: the model has no value '{}'", name);
}

}  // namespace

bool convert(ir::Graph& graph, const Options& options) {
  check_max_sizes(graph, options);
  // Passes create nodes of ai.onnx, which a model of other domains need not import.
  if (!graph.opsets.contains("ai.onnx")) graph.opsets.emplace("", kOpsetOfNewNodes);
  check_nodes(graph, options.strict);
  const ir::Placement seats(graph);
  drop_repeated_outputs(graph);
  expand_containers(graph, options);
  fix_shapes(graph, options);
  int64_t limit = options.rewrite_limit;
  run_early(graph, options, limit);
  require_static_inputs(graph, options.input_shape, options.batch_size > 0);
  number_class_labels(graph);
  const DeclaredTypes declared(graph, options.strict);
  declared.check_all(graph);
  // specialize() checks each value when it is computed. Afterwards names may refer to bounds.
  const bool specialized = specialize(graph, options, declared);
  try {
    run_converter(graph, options, limit, specialized ? DeclaredTypes() : declared);
  } catch (Error& e) {
    // Nodes may contain the batch with which a model was exported.
    if (options.batch_size > 0 && e.code() == ErrorCode::invalid_argument)
      e.add_context(fmt::format(
          "with `batch_size` {}, which a model that was exported for one batch may not allow",
          options.batch_size));
    throw;
  }
  const bool narrows = options.narrow_int64 || std::ranges::count(options.passes, "int64_to_int32");
  if (narrows) keep_sizes_wide(graph);
  seats.restore(graph);
  return !specialized;
}

Executable compile(ir::Graph& graph, const Options& options) {
  require_static_inputs(graph);
  const ir::Placement placement = take_placement(graph, options);
  // Metadata of a model from Python's Converter(quantize=True), which the quantizer removes.
  if (graph.metadata.contains("prop.poprt.quantize"))
    log().warn(
        "the model was converted for quantisation by data, which was not done: its numbers are not "
        "rounded; call poprt.quantizer.quantize with the converted model");
  const bool has_narrow = has_narrow_constants(graph);
  Options staged = options;
  if (!has_narrow) staged.pass_arguments["narrow_weights"].emplace("find", "False");
  run_compile_stages(graph, staged);
  limit_winograd(graph, options.winograd);
  // No narrow type represents transformed weights.
  if (!options.compact && !has_narrow) choose_transformed_weights(graph);
  if (options.lowered) options.lowered(graph);
  if (options.passes_only) return {};
  auto notes = class_labels_of(graph);
  notes.merge(onnx_metadata_of(graph));
  // Metadata of pass apply_host_concat_split.
  constexpr const char* kJoined = "HostConcatRunnerConfig";
  if (const auto found = graph.metadata.find(std::string("prop.") + kJoined);
      found != graph.metadata.end())
    notes[kJoined] = found->second;
  Executable executable = lower(
      graph,
      [&](double done) {
        if (options.progress) options.progress(0.5 + 0.5 * done, "Graph compilation");
      },
      options, placement);
  notes.merge(executable.notes);
  executable.notes = notes;
  if (has_narrow) executable.narrow = narrow_weights(executable.program, executable.weights);
  return executable;
}

}  // namespace poprt::compiler
