#include "compiler/driver.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "compiler/batch_rows.h"
#include "compiler/bucket_padding.h"
#include "compiler/custom_notes.h"
#include "compiler/flow/specialize.h"
#include "compiler/fuse_graphs.h"
#include "compiler/kept_model.h"
#include "compiler/narrow_storage.h"
#include "compiler/outputs.h"
#include "compiler/shard.h"
#include "compiler/variable_weights.h"
#include "onnx/import.h"
#include "ops/op.h"
#include "opsets/convert.h"
#include "passes/pass.h"
#include "program/batch_rows.h"
#include "program/link.h"

namespace poprt::compiler {
namespace {

// The fraction of the time of a part that its conversion takes, approximately.
constexpr double kConversion = 0.6;

void check_fusion(const ir::Graph& graph, const DriverOptions& options) {
  if (options.fused_only && !fused_graph_count(graph))
    fail(
        ErrorCode::invalid_argument,
        "enable_model_fusion: the model is not a fused one; fuse several with MFConverter, or with "
        "model_fusion in the file of `config_yaml`");
}

// Faithful numerics require an executable with one model at one shape, whose weights do not change.
void check_faithful(const DriverOptions& options, bool fused, size_t shapes) {
  if (options.faithful_note.empty()) return;
  const char* const why = fused        ? "of a fused model"
                          : shapes > 1 ? "of a model at several shapes"
                          : options.variable_weights
                              ? "with weights that change (constant_weights=False)"
                              : nullptr;
  if (why) fail(ErrorCode::unimplemented, "`numerics` faithful: there is none {}", why);
}

// Warns about values that are accepted here, but that PopART's overlapped exchange on a chip
// refuses or does not profit from, and about a model for which the option has no effect.
void warn_of_io_tiles(const DriverOptions& options, size_t shapes) {
  const int64_t tiles = options.num_io_tiles, batches = options.batches_per_step;
  if (tiles == 0) return;
  constexpr int64_t kLeastTiles = 32, kTiles = 1472, kLeastBatches = 3;
  if (tiles < kLeastTiles || tiles >= kTiles || tiles % 2 != 0)
    log().warn("num_io_tiles={}: a chip takes an even number from {} on, less than its {} tiles",
               tiles, kLeastTiles, kTiles);
  if (batches < kLeastBatches)  // no warning, because runners also overlap steps of one batch
    log().info(
        "num_io_tiles={}: a chip and a session's run overlap all but the first and the last batch "
        "of a step, and batches_per_step is {}; give {} or more",
        tiles, batches, kLeastBatches);
  if (shapes > 1)
    log().warn(
        "num_io_tiles={} is only recorded: a model at several shapes uses inputs and outputs where "
        "they are",
        tiles);
}

std::vector<ShapeSet> shapes_of(const DriverOptions& options) {
  if (options.max_padding == 0) return options.shapes;
  if (options.shapes.size() < 2) {
    log().warn("`max_padding` has no effect: `input_shape` gives one shape, nothing is padded");
    return options.shapes;
  }
  std::vector<ShapeSet> all = with_steps(options.shapes, options.max_padding);
  log().info("`max_padding` {}: {} shapes of the {} that `input_shape` gives", options.max_padding,
             all.size(), options.shapes.size());
  return all;
}

// Maps the progress [0, 1] of a conversion or compilation to [from, until], and calls check_stopped
// at each report.
void scale_progress(Options& to, const DriverOptions& options, double from, double until) {
  to.progress = [&options, from, until](double done, std::string_view what) {
    if (options.progress) options.progress(from + (until - from) * done, what);
    if (options.check_stopped) options.check_stopped();
  };
}

// Sets argument `products` of pass narrow_weights for a model with 16-bit weights, unless the
// caller has set it, so that products are computed in that type. Between the operators of such a
// model, values have 16 bits, so rounding the rows of a product is no additional error.
// Convolutions stay f32, because CPUs without dots of bf16 compute them slowly.
void choose_half_products(const ir::Graph& graph, Options& options) {
  const bool pairs = has_weights_of(graph, DType::bf16);
  if (!pairs && !has_weights_of(graph, DType::f16)) return;
  std::string& products =
      options.pass_arguments["narrow_weights"].emplace("products", "auto").first->second;
  if (!pairs && products == "auto") products = "auto_f16";
}

// Converts and lowers one part, or only lowers it if it is already converted.
Executable compile_part(const DriverOptions& whole, Options options, ir::Graph& graph,
                        const Part& part, bool is_converted = false) {
  const auto share = [&](double done) {
    return (static_cast<double>(part.index) + done) / static_cast<double>(part.count);
  };
  std::vector<VariableWeight> variables;
  int64_t rewrites = 0;               // of the conversion
  std::unique_ptr<ir::Graph> source;  // null if the model does not depend on the batch
  if (!is_converted) {
    if (whole.begins) whole.begins(part, graph);
    if (whole.variable_weights) variables = make_weights_variable(graph);
    for (const VariableWeight& w : variables) options.without_batch.insert(w.name);
    if (part.count == 1 && depends_on_batch(graph)) source = graph.clone();
    scale_progress(options, whole, share(0), share(kConversion));
    Options converting = options;
    converting.after_pass = [&](const passes::PassReport& report, const ir::Graph& g) {
      rewrites += report.rewrites;
      if (options.after_pass) options.after_pass(report, g);
    };
    convert(graph, converting);
    if (whole.converted) whole.converted(part, graph);
  }
  scale_progress(options, whole, share(kConversion), share(1));
  std::string kept;
  if (!whole.faithful_note.empty()) kept = kept_model(graph);
  std::string rows;  // runners of fused models and of several shapes do not merge requests
  if (part.count == 1 && !options.passes_only) {
    std::set<std::string> fixed;
    for (const VariableWeight& w : variables) fixed.insert(w.name);
    rows = note_batch_rows(graph, source.get(), fixed, options);
  }
  // Transformed weights depend on the shape; parts share plain ones.
  if (part.count > 1) options.compact = true;
  if (!options.reproducible) choose_half_products(graph, options);
  options.rewrite_limit -= rewrites;
  Executable executable = compile(graph, options);
  if (options.passes_only) return executable;
  if (!rows.empty()) executable.notes[program::kBatchRows] = std::move(rows);
  if (!whole.faithful_note.empty()) executable.notes[whole.faithful_note] = std::move(kept);
  attach_values(executable, variables);
  return executable;
}

// Returns the index of the fused model that an input's name belongs to. A name without a model
// belongs to the first one, which reports it.
size_t model_of(const std::string& input, size_t models) {
  for (size_t k = 0; k < models; k++)
    if (input.starts_with(graph_prefix(k))) return k;
  return 0;
}

// The options of each model of a fused one. If some models are cut for several IPUs, the others run
// on the first IPU.
Options options_of_model(const DriverOptions& options, const ir::Graph& part, size_t k,
                         size_t models, bool some_cut) {
  Options own = options;
  own.fewer_ipus = true;
  std::erase_if(own.input_shape,
                [&](const auto& shape) { return model_of(shape.first, models) != k; });
  const Cuts cuts = cuts_of(part);
  if (some_cut && !cuts.any) {
    own.num_ipus = 1;
    own.virtual_graph = VirtualGraph::off;
    own.pipelining = false;
  } else if (options.use_assigned_ipus && cuts.any) {
    own.num_ipus = std::min(options.num_ipus, std::max<int64_t>(cuts.ipus, 2));
    own.pipelining = cuts.stages > 0;
  }
  return own;
}

// Converts and compiles each model of a fused graph like a separate model.
Executable compile_fused(const DriverOptions& options, const ir::Graph& graph) {
  const std::vector<std::string> names = fused_names(graph);
  const bool some_cut = options.virtual_graph == VirtualGraph::manual && cuts_of(graph).any;
  std::vector<Executable> parts;
  for (size_t k = 0; k < names.size(); k++) {
    const auto part = split_graph(graph, k);
    const Options own = options_of_model(options, *part, k, names.size(), some_cut);
    const std::string prefix = graph_prefix(k);
    const Part which{k, names.size(), prefix.substr(0, prefix.size() - 1) + " " + names[k]};
    try {
      parts.push_back(compile_part(options, own, *part, which));
    } catch (Error& e) {
      e.add_context(fmt::format("model {} of the fused model", k));
      throw;
    }
  }
  if (options.passes_only) return {};
  return link_graphs(parts, names);
}

void warn_of_exact_sizes(const PaddingPlan& plan) {
  std::string names;
  for (const VaryingDimension& d : plan.exact)
    names += fmt::format("{}'{}' ({})", names.empty() ? "" : ", ", d.name,
                         fmt::join(std::set(d.sizes.begin(), d.sizes.end()), ", "));
  if (!names.empty())
    log().warn(
        "`input_shape`: a request must have exactly one of the sizes of {}, because padding would "
        "change its results: {}",
        names, plan.why);
}

// Compiles the model at several shapes.
Executable compile_shapes(const DriverOptions& options, const ir::Graph& graph,
                          const std::vector<ShapeSet>& sets) {
  PaddingPlan plan;
  std::exception_ptr no_plan;
  try {
    plan = plan_padding(graph, sets, options);
  } catch (const Error&) {
    // If the model does not compile at a shape, the error with that shape is reported first.
    no_plan = std::current_exception();
  }
  Options own = options;
  std::map<std::string, std::set<size_t>> sized_axes;
  own.sized_axes = &sized_axes;
  const auto compiled = [&](size_t i) {
    const auto copy = graph.clone();
    add_real_places(*copy, i, plan, own);
    own.input_shape = sets[i];
    const std::string name = fmt::format("shape {} of {}", i + 1, sets.size());
    try {
      return compile_part(options, own, *copy, {i, sets.size(), name});
    } catch (Error& e) {
      e.add_context(name);
      throw;
    }
  };
  std::vector<Executable> parts;
  for (size_t i = 0; i < sets.size(); i++) parts.push_back(compiled(i));
  if (options.passes_only) {
    warn_of_exact_sizes(plan);
    return {};
  }
  // An end of 100 leaves a sequence of up to 64 whole, but cuts one of up to 128, so that only one
  // of the parts computes the size of its result. Then all parts do.
  for (const auto& [output, axes] : sized_axes)
    own.sized_outputs.insert(output + std::string(kShapeSuffix));
  for (size_t i = 0; i < sets.size(); i++)
    if (std::ranges::any_of(own.sized_outputs, [&](const std::string& name) {
          return std::ranges::count(parts[i].program.outputs, name, &program::Anchor::name) == 0;
        }))
      parts[i] = compiled(i);
  own.sized_axes = nullptr;
  if (no_plan) std::rethrow_exception(no_plan);  // without a plan, padding could affect results
  own.plain = own.passes.empty() && own.requested.empty();
  own.after_pass = nullptr;
  own.progress = [&options](double, std::string_view) {
    if (options.check_stopped) options.check_stopped();
  };
  own.real_places.clear();
  const auto output_shapes = [&](const ShapeSet& inputs) {
    const auto copy = graph.clone();
    own.input_shape = inputs;
    std::erase_if(own.input_shape,
                  [](const auto& shape) { return shape.first.starts_with(program::kRealPlaces); });
    convert(*copy, own);
    ShapeSet shapes;
    for (const ir::Value* v : copy->outputs())
      if (v->type.is_static()) shapes[v->name()] = v->shape();
    return shapes;
  };
  Symbols symbols = symbols_of(graph);
  std::map<std::string, Padding> padding = options.padding;
  for (const VaryingDimension& d : plan.masked) {
    const std::string mask = std::string(program::kRealPlaces) + d.name;
    symbols.inputs[mask] = {d.name};
    padding[mask].mask = true;
  }
  std::vector<std::string> exact;
  for (const VaryingDimension& d : plan.exact) exact.push_back(d.name);
  Executable linked = link_shapes(parts, symbols, padding, output_shapes, exact, sized_axes);
  warn_of_exact_sizes(plan);  // not if the shapes are refused, because the error is enough
  return linked;
}

// Refuses options for shapes, which a generator determines, and options that it does not support.
void check_generation(const DriverOptions& options, const ir::Graph& graph) {
  const bool shapes = !options.input_shape.empty() ||
                      std::ranges::any_of(options.shapes, std::not_fn(&ShapeSet::empty));
  const char* const given = shapes                    ? "input_shape"
                            : options.batch_size != 0 ? "batch_size"
                                                      : nullptr;
  if (given)
    fail(ErrorCode::invalid_argument,
         "`{}`: a generator determines the shapes, from max_length, slots and prefill", given);
  const char* const why = fused_graph_count(graph) > 0     ? "of a fused model"
                          : options.num_ipus > 1           ? "on several IPUs"
                          : options.variable_weights       ? "with weights that change"
                          : !options.faithful_note.empty() ? "with faithful numerics"
                                                           : nullptr;
  if (why) fail(ErrorCode::unimplemented, "generation: there is none {}", why);
}

// Compiles a language model at the shapes of a generator. The generator pads and masks tokens, so
// runners do not, and the executable has no description of shapes for them.
Executable compile_generation(const DriverOptions& options, ir::Graph& graph) {
  check_generation(options, graph);
  const GenerationModel model(graph, *options.generation);
  const std::vector<GenerationShape> shapes = model.shapes();
  const std::vector<int64_t> lengths =
      model.encoder() ? model.encoder()->lengths() : std::vector<int64_t>();
  // A count above 1 makes compile_part() treat even a single program as one of several: runners
  // must not merge requests, and programs share plain weights.
  const size_t count = shapes.size() + lengths.size();
  std::vector<Executable> parts;
  const auto add = [&](ir::Graph& copy, const std::string& name) {
    try {
      parts.push_back(compile_part(options, options, copy, {parts.size(), count + 1, name}));
    } catch (Error& e) {
      e.add_context(name);
      throw;
    }
  };
  for (const GenerationShape& shape : shapes) {
    const auto copy = graph.clone();
    model.fix(*copy, shape);
    add(*copy, fmt::format("generation with batch {}, tokens {}", shape.batch, shape.tokens));
  }
  for (const int64_t length : lengths)
    add(*model.encoder()->fixed(length), fmt::format("encoder of length {}", length));
  // The programs are reported as all parts but the last one.
  if (options.progress) options.progress(1, "Graph compilation");
  if (options.passes_only) return {};
  Executable executable = link_generation(parts, !lengths.empty());
  executable.notes[kGeneration] = model.note();
  return executable;
}

Executable compile_parts(ir::Graph& graph, DriverOptions options, bool is_converted) {
  if (options.generation) return compile_generation(options, graph);
  const bool fused = fused_graph_count(graph) > 0;
  const std::vector<ShapeSet> sets = shapes_of(options);
  if (!sets.empty()) options.input_shape = sets.back();
  check_faithful(options, fused, sets.size());
  warn_of_io_tiles(options, sets.size());
  if (options.use_assigned_ipus) use_cuts(cuts_of(graph), options);
  if (sets.size() > 1 && fused)
    fail(ErrorCode::unimplemented,
         "`input_shape`: a fused model is compiled for one shape of each model, {} are given",
         sets.size());
  if (sets.size() > 1) return compile_shapes(options, graph, sets);
  if (!options.padding.empty())
    log().warn("`pad_values` has no effect: `input_shape` gives one shape, nothing is padded");
  if (fused) return compile_fused(options, graph);
  return compile_part(options, options, graph, {}, is_converted);
}

Executable compile_whole(ir::Graph& graph, const DriverOptions& options, bool is_converted) {
  Executable executable = compile_parts(graph, options, is_converted);
  if (!options.passes_only) note_plugins(executable);
  return executable;
}

// Moves the operators of domain poprt, which passes of the compiler create, to ai.graphcore if
// PopRT also writes them there. Throws unimplemented for the others.
void leave_own_domain(ir::Graph& graph, ir::Graph& root) {
  for (ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](ir::Graph& sub) { leave_own_domain(sub, root); });
    if (n->domain != "poprt") continue;
    const auto to_graphcore = ops::facts_of(*n).to_graphcore;
    if (!to_graphcore || !to_graphcore(*n))
      fail(ErrorCode::unimplemented,
           "{}: an ONNX model cannot contain this operator; the pass that makes it runs when a "
           "model is compiled: remove it from `passes`",
           n->describe());
    n->domain = "ai.graphcore";
    root.opsets.emplace("ai.graphcore", 1);
  }
}

void choose_outputs(ir::Graph& graph, const DriverOptions& options) {
  select_outputs(graph, options.outputs);
  change_outputs(graph, options.removed_outputs, options.checkpoints);
  check_fusion(graph, options);
}

}  // namespace

std::unique_ptr<ir::Graph> read_model(const ModelSource& source, bool allow_links, bool strict,
                                      bool copy) {
  const onnx::ImportOptions options{.allow_links = allow_links,
                                    .copy = copy,
                                    .strict = strict,
                                    .missing_data_is_zero = source.shapes_only};
  if (source.path) return onnx::import_file(*source.path, options);
  return onnx::import_bytes(source.bytes, source.folder, options);
}

std::unique_ptr<ir::Graph> read_fused(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  std::vector<std::string> names;
  int64_t newest = 0;
  for (const std::filesystem::path& path : paths) {
    graphs.push_back(read_model({.path = path}));
    names.push_back(path.stem().string());
    newest = std::max(newest, opsets::opset_of(*graphs.back()));
  }
  for (const auto& graph : graphs) {
    const int64_t own = opsets::opset_of(*graph);
    if (own == 0 || own == newest) continue;
    try {
      ops::infer(*graph);
      opsets::convert(*graph, newest);
    } catch (Error& e) {
      e.add_context("fusing models of several opsets");
      throw;
    }
  }
  return fuse_graphs(std::move(graphs), names);
}

bool convert_model(ir::Graph& graph, const DriverOptions& options) {
  choose_outputs(graph, options);
  const bool one_part = fused_graph_count(graph) == 0 && options.shapes.size() < 2 &&
                        !depends_on_batch(graph);  // else note_batch_rows() needs the original
  Options own = options;
  if (!options.shapes.empty()) own.input_shape = options.shapes.back();
  if (options.begins) options.begins({}, graph);
  scale_progress(own, options, 0, 1);
  const bool same = convert(graph, own);
  if (options.converted) options.converted({}, graph);
  return same && one_part && !options.variable_weights && !options.use_assigned_ipus &&
         !options.converted && options.rewrite_limit == INT64_MAX;
}

void settle_opset(std::unique_ptr<ir::Graph>& graph, const DriverOptions& options) {
  leave_own_domain(*graph, *graph);
  // Passes may have created nodes of the newest opset, so that keeping the opset of the model
  // requires a conversion, too.
  if (options.convert_version) {
    opsets::convert(*graph, options.convert_version);
  } else if (options.lowest_opset == 0) {
    opsets::convert_newest_nodes(*graph);
  } else {
    const int64_t wanted = options.lowest_opset;
    const std::string why = opsets::convert_to_lowest(graph, wanted);
    if (!why.empty())
      log().warn("the converted model has opset {}, {}: {}", opsets::opset_of(*graph),
                 opsets::opset_of(*graph) < wanted
                     ? std::string("its own")
                     : fmt::format("the lowest from {} on that is possible", wanted),
                 why);
  }
  // Readers of the converted model find its nodes by name.
  const passes::PassDef& naming = passes::pass_of("unique_name_for_nodes");
  if (std::ranges::any_of(options.skip_passes,
                          [&](const std::string& name) { return is_called(naming, name); }))
    return;
  passes::PassContext context;
  naming.run(*graph, context);
}

Executable compile_model(std::unique_ptr<ir::Graph> graph, const DriverOptions& options) {
  choose_outputs(*graph, options);
  return compile_whole(*graph, options, false);
}

Executable compile_converted(std::unique_ptr<ir::Graph> graph, const DriverOptions& options) {
  return compile_whole(*graph, options, true);
}

}  // namespace poprt::compiler
