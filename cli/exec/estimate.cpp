// poprt_exec estimate: estimates the memory and the cycles of a model on a chip (docs/chip.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/file.h"
#include "base/log.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/written_files.h"
#include "compiler/chip_options.h"
#include "compiler/chip_remedies.h"
#include "compiler/driver.h"
#include "compiler/static_inputs.h"
#include "exec/commands.h"
#include "exec/support/chip_source.h"
#include "exec/support/debug_model.h"
#include "ipu/report.h"

namespace poprt::cli {
namespace {

struct EstimateArguments {
  std::string model, target, partials = "half", svg, compare, sweep, prefetch = "True";
  std::string multi_stage = "True", anchors_on_host = "True";
  std::vector<std::string> weights, max_size;
  int64_t num_ipus = 1, num_io_tiles = 0, batches_per_step = 1, stream_buffers = 1, replicas = 1;
  double proportion = 0.6, outline_threshold = 1;
  bool wide_loads = false, fast_reduce = false, pipelining = false, non_stable_softmax = false;
  bool group_sync = false, streams_on_host = false;
  bool json = false, operations = false, plans = false;
  CompileSettings compile;
  compiler::Precision precision = compiler::Precision::keep;
  ChipSource source;
  compiler::ShapeSet input_shapes;        // given, or else recorded in the PopEF file
  bool replaces_batch = false;            // whether a batch size replaces that in them
  std::map<std::string, int64_t> rounds;  // of loops; given, or else recorded
  const Command* command = nullptr;       // knows which options are given
};

compiler::Precision precision_of(const std::string& word) {
  if (word == "fp32") return compiler::Precision::fp32;
  if (word == "fp16" || word == "bf16") return compiler::Precision::fp16;
  if (word == "fp8") return compiler::Precision::fp8;
  if (word == "fp8_weight") return compiler::Precision::fp8_weight;
  if (!word.empty() && word != "keep")
    throw Usage(fmt::format("--precision: '{}' is not fp32, fp16, bf16, fp8 or fp8_weight",
                            printable(word)));
  return compiler::Precision::keep;
}

void set_host_options(const EstimateArguments& a, ipu::ChipOptions& chip) {
  const auto number = [](const char* name, int64_t value, int64_t most) {
    if (value < 1 || value > most)
      throw Usage(fmt::format("{}: expected 1 to {}, found {}", name, most, value));
    return value;
  };
  chip.stream_buffers = number("--stream_buffering_depth", a.stream_buffers, 1'000'000);
  chip.replicas = number("--replicas", a.replicas, 1024);
  const auto flag = [](const char* name, const std::string& word) {
    if (word != "True" && word != "False")
      throw Usage(fmt::format("{}: '{}' is not True or False", name, printable(word)));
    return word == "True";
  };
  chip.prefetch = flag("--enable_prefetch_datastreams", a.prefetch);
  chip.multi_stage_reduce = flag("--enable_multi_stage_reduce", a.multi_stage);
  chip.rearrange_anchors_on_host = flag("--rearrange_anchors_on_host", a.anchors_on_host);
  chip.rearrange_streams_on_host = a.streams_on_host;
  chip.group_host_sync = a.group_sync;
  chip.stable_softmax = !a.non_stable_softmax;
}

compiler::EstimateOptions options_of(const EstimateArguments& a) {
  compiler::EstimateOptions o;
  o.target = chip_given(a.target, "--target");
  o.precision = a.precision;
  o.weights = a.weights;
  o.rounds = a.rounds;
  o.chip.num_ipus = a.num_ipus;
  o.chip.num_io_tiles = a.num_io_tiles;
  o.chip.batches_per_step = a.batches_per_step;
  o.chip.available_memory_proportion = a.proportion;
  if (a.partials != "half" && a.partials != "float")
    throw Usage(fmt::format("--partials_type: '{}' is not half or float", printable(a.partials)));
  o.chip.float_partials = a.partials == "float";
  o.chip.use_128bit_conv_unit_load = a.wide_loads;
  o.chip.fast_reduce = a.fast_reduce;
  if (!a.compile.winograd.empty())
    log().warn("--winograd has no effect on the estimate: it chooses kernels of the host");
  o.chip.outline_threshold = a.outline_threshold;
  o.chip.overlap = a.pipelining;
  set_host_options(a, o.chip);
  if (a.num_ipus < 1 || a.num_ipus > 1024)
    throw Usage(fmt::format("--num_ipus: expected 1 to 1024, found {}", a.num_ipus));
  if (a.batches_per_step < 1)
    throw Usage(
        fmt::format("--batches_per_step: expected 1 or more, found {}", a.batches_per_step));
  if (!(a.proportion > 0 && a.proportion <= 1))
    throw Usage(
        fmt::format("--available_memory_proportion: expected a number above 0 up to 1, found {}",
                    a.proportion));
  if (!std::isfinite(a.outline_threshold))
    throw Usage(
        fmt::format("--outline_threshold: expected a number, found {}", a.outline_threshold));
  if (o.chip.num_io_tiles < 0 || o.chip.num_io_tiles >= o.target.tiles)
    throw Usage(fmt::format("--num_io_tiles: expected 0 to {}, found {}", o.target.tiles - 1,
                            a.num_io_tiles));
  return o;
}

compiler::DriverOptions conversion_of(const EstimateArguments& a) {
  compiler::DriverOptions options;
  options.input_shape = a.input_shapes;
  options.batch_size = a.compile.batch_size;
  options.batch_axis = a.compile.axis();
  options.without_batch.insert(a.weights.begin(), a.weights.end());
  options.passes = a.compile.passes;
  options.skip_passes = a.compile.skip_passes;
  return options;
}

std::unique_ptr<ir::Graph> converted(const EstimateArguments& a, compiler::DriverOptions options) {
  auto graph = read_chip_source(a.source, a.compile);
  a.compile.check_names(input_names(*graph));
  for (const std::string& name : a.weights)
    if (std::ranges::none_of(graph->inputs(),
                             [&](const ir::Value* v) { return v->name() == name; }))
      throw Failure(fmt::format("--weights: the model has no input '{}'", printable(name)));
  if (!a.max_size.empty()) compiler::check_rounds(*graph, a.rounds);
  options.max_size = compiler::scan_rounds(*graph, a.rounds);
  if (a.replaces_batch) compiler::set_batch_of_shapes(*graph, options);
  compiler::convert_model(*graph, options);
  compiler::prepare_for_chip(*graph);
  return graph;
}

compiler::DriverOptions conversion_with_batch(const EstimateArguments& a, int64_t batch) {
  compiler::DriverOptions options = conversion_of(a);
  options.batch_size = batch;
  options.batch_axis = std::max<int64_t>(a.compile.batch_axis, 0);
  return options;
}

// Reads and converts the model; batch 0 is that of the options.
std::unique_ptr<ir::Graph> converted(const EstimateArguments& a, int64_t batch) {
  return converted(a, batch ? conversion_with_batch(a, batch) : conversion_of(a));
}

ipu::Estimate estimate_of(const ir::Graph& graph, const compiler::EstimateOptions& o) {
  return ipu::estimate_of(compiler::chip_program(graph, o), o.target, o.chip);
}

// Prints the lines of a text and escapes control characters, because names of the model may contain
// them.
void print_lines(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print("{}\n", printable(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
}

void write_svg(const std::string& path, const ipu::Estimate& e) {
  const std::string svg = ipu::report_svg(e);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(svg)));
  file.commit();
}

// The words of --sweep NAME=WORD,WORD,...
std::vector<std::string> sweep_words(const std::string& list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

int64_t batch_of(const std::string& word) {
  constexpr int64_t kMost = 1'000'000'000;
  int64_t batch = 0;
  if (!word.empty() && word.size() < 18 &&
      std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; }))
    batch = std::stoll(word);
  if (batch < 1 || batch > kMost)
    throw Usage(
        fmt::format("--sweep: '{}' is not a batch size from 1 to {}", printable(word), kMost));
  return batch;
}

double proportion_of(const std::string& word) {
  char* end = nullptr;
  const double proportion = std::strtod(word.c_str(), &end);
  if (word.empty() || *end || !(proportion > 0 && proportion <= 1))
    throw Usage(fmt::format("--sweep: '{}' is not a proportion above 0 up to 1", printable(word)));
  return proportion;
}

// Throws the error of a model whose batch is fixed. It is called before the first line is printed.
void check_batches(const EstimateArguments& a, const std::vector<nlohmann::ordered_json>& values) {
  const WarningFilter quiet([](const std::string&) { return false; });
  const auto graph = read_chip_source(a.source, a.compile);
  a.compile.check_names(input_names(*graph));
  for (const nlohmann::ordered_json& value : values) {
    compiler::DriverOptions options = conversion_with_batch(a, value);
    compiler::set_batch_of_shapes(*graph, options);
    compiler::fix_shapes(*graph->clone(), options);
  }
}

// --sweep batch_size=1,2,4 or available_memory_proportion=0.1,0.2: a line for each value, and the
// one with the highest throughput that fits.
int sweep(const EstimateArguments& a) {
  const auto [name, list] = split_pair(a.sweep, "--sweep");
  const bool batches = name == "batch_size";
  if (!batches && name != "available_memory_proportion")
    throw Usage(
        fmt::format("--sweep: expected batch_size=N,N,... or available_memory_proportion=P,P,..., "
                    "found '{}'",
                    printable(a.sweep)));
  if (!a.svg.empty() || !a.compare.empty() || a.operations || a.plans)
    throw Usage(
        "--sweep prints one line for each value: leave out --svg, --compare, --verbose, --plans");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  auto options = options_of(a);
  // All words are read first, so that a wrong one fails before the first line is printed.
  std::vector<nlohmann::ordered_json> values;
  for (const std::string& word : sweep_words(list)) {
    if (batches)
      values.emplace_back(batch_of(word));
    else
      values.emplace_back(proportion_of(word));
  }
  if (batches) check_batches(a, values);
  const auto fixed = batches ? nullptr : converted(a, 0);
  nlohmann::ordered_json best = 0;  // the fastest value that fits; 0 if none fits
  double most = 0;
  bool borderline = false;               // whether `best` is
  std::vector<std::string> assumptions;  // of the last estimate; they are those of each
  for (const nlohmann::ordered_json& value : values) {
    if (!batches) options.chip.available_memory_proportion = value;
    const ipu::Estimate e = estimate_of(batches ? *converted(a, value) : *fixed, options);
    assumptions = e.program.assumptions;
    rows.push_back({{name, value},
                    {"cycles", e.cycles},
                    {"throughput", e.throughput},
                    {"bytes", e.tile_bytes()},
                    {"bytes_with_gaps", e.needed_bytes()},
                    {"fits", e.fits()},
                    {"borderline", e.borderline()},
                    {"trust", ipu::trust_name(e.cycle_quality.trust)}});
    if (e.fits() && e.throughput > most) {
      most = e.throughput;
      best = value;
      borderline = e.borderline();
    }
    if (!a.json)
      fmt::print(
          "{} {:>6}: {:>12} cycles [{}] {:>12.1f} samples/s {:>8} bytes, {:>8} with gaps: {}\n",
          name, to_text(value), e.cycles, ipu::trust_name(e.cycle_quality.trust), e.throughput,
          e.tile_bytes(), e.needed_bytes(), ipu::verdict(e.fits(), e.borderline()));
  }
  if (a.json)
    fmt::print("{}\n", to_text(
                           nlohmann::ordered_json{
                               {"sweep", rows}, {"best", best}, {"assumptions", assumptions}},
                           2));
  else if (most > 0)
    fmt::print("best {} that fits: {}{}\n", name, to_text(best), borderline ? ", borderline" : "");
  else
    fmt::print("no {} fits\n", name);
  if (!a.json)
    for (const std::string& line : assumptions) fmt::print("assumed: {}\n", printable(line));
  return 0;
}

// The options that a PopEF file records, or the standard values. A target of the command line
// replaces the recorded one, which may be a file of another machine.
compiler::EstimateOptions recorded_options(const ChipSource& s, bool has_target) {
  return compiler::chip_options([&](std::string_view name) -> const char* {
    if (has_target && (name == "estimate_target" || name == "ipu_version")) return nullptr;
    const auto at = s.options.find(std::string(name));
    return at == s.options.end() ? nullptr : at->second.c_str();
  });
}

compiler::ShapeSet given_shapes(const std::vector<std::string>& words) {
  compiler::ShapeSet shapes;
  for (NamedShape& n : parse_single_shapes(words)) shapes[n.name] = std::move(n.shape);
  return shapes;
}

// Of several recorded shapes, the largest one.
compiler::ShapeSet recorded_shapes(const ChipSource& s) {
  std::map<std::string, std::vector<Shape>> shapes;
  for (const NamedShape& n : s.input_shapes) shapes[n.name].push_back(n.shape);
  return compiler::shape_sets_of(shapes).back();
}

// Options of a PopEF file apply unless the command line gives them.
void take_recorded(EstimateArguments& a) {
  const ChipSource& s = a.source;
  const compiler::EstimateOptions recorded = recorded_options(s, !a.target.empty());
  const auto take = [&](const char* option, auto& value, const auto& other) {
    if (!a.command->is_given(option)) value = other;
  };
  take("--num_ipus", a.num_ipus, recorded.chip.num_ipus);
  take("--num_io_tiles", a.num_io_tiles, recorded.chip.num_io_tiles);
  take("--batches_per_step", a.batches_per_step, recorded.chip.batches_per_step);
  take("--available_memory_proportion", a.proportion, recorded.chip.available_memory_proportion);
  take("--outline_threshold", a.outline_threshold, recorded.chip.outline_threshold);
  take("--use_128bit_conv_unit_load", a.wide_loads, recorded.chip.use_128bit_conv_unit_load);
  take("--enable_fast_reduce", a.fast_reduce, recorded.chip.fast_reduce);
  take("--enable_pipelining", a.pipelining, recorded.chip.overlap);
  take("--enable_non_stable_softmax", a.non_stable_softmax, !recorded.chip.stable_softmax);
  take("--stream_buffering_depth", a.stream_buffers, recorded.chip.stream_buffers);
  take("--replicas", a.replicas, recorded.chip.replicas);
  take("--group_host_sync", a.group_sync, recorded.chip.group_host_sync);
  take("--rearrange_streams_on_host", a.streams_on_host, recorded.chip.rearrange_streams_on_host);
  const std::string off = "False";
  if (!recorded.chip.prefetch) take("--enable_prefetch_datastreams", a.prefetch, off);
  if (!recorded.chip.multi_stage_reduce) take("--enable_multi_stage_reduce", a.multi_stage, off);
  if (!recorded.chip.rearrange_anchors_on_host)
    take("--rearrange_anchors_on_host", a.anchors_on_host, off);
  if (recorded.chip.float_partials) take("--partials_type", a.partials, std::string("float"));
  a.precision =
      a.compile.precision.empty() ? recorded.precision : precision_of(a.compile.precision);
  if (a.target.empty()) a.target = s.option("estimate_target", s.option("ipu_version", "c600"));
  const auto integer = [&](const char* name, int64_t usual) {
    const std::string text = s.option(name, "");
    return text.empty() ? usual : static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  };
  take("--batch_size", a.compile.batch_size, integer("batch_size", 0));
  take("--batch_axis", a.compile.batch_axis, integer("batch_axis", -1));
  a.input_shapes =
      a.compile.input_shape.empty() ? recorded_shapes(s) : given_shapes(a.compile.input_shape);
  a.replaces_batch = a.sweep.starts_with("batch_size=") ||
                     (a.compile.input_shape.empty() && a.command->is_given("--batch_size"));
  const std::string rounds = a.max_size.empty() ? s.option("max_size", "")
                                                : fmt::format("{}", fmt::join(a.max_size, "\n"));
  if (!rounds.empty()) a.rounds = compiler::loop_rounds(rounds);
}

// Throws Usage if an option whose values --sweep lists is given, too, or if --batch_axis is given
// without a batch size.
void check_sweep(const EstimateArguments& a) {
  const bool batch = a.command->is_given("--batch_size");
  if (a.command->is_given("--batch_axis") && !batch && !a.sweep.starts_with("batch_size="))
    throw Usage("--batch_axis requires --batch_size or --sweep batch_size=N,N,...");
  const bool proportion = a.command->is_given("--available_memory_proportion");
  if ((batch && a.sweep.starts_with("batch_size=")) ||
      (proportion && a.sweep.starts_with("available_memory_proportion=")))
    throw Usage(fmt::format("--sweep names the values of --{0}: leave out --{0}",
                            a.sweep.substr(0, a.sweep.find('='))));
}

void require_separate_picture(const EstimateArguments& a) {
  if (a.svg.empty()) return;
  CommandFiles files;
  files.reads(a.model);
  files.reads_model(a.source.path);
  files.reads(a.target);
  files.reads(a.compare);
  files.writes(a.svg, Contents::svg, "--svg");
}

int run(EstimateArguments a) {
  check_sweep(a);
  a.source = chip_source(a.model);
  require_separate_picture(a);
  take_recorded(a);
  if (!a.sweep.empty()) return sweep(a);
  const auto options = options_of(a);
  const auto graph = converted(a, 0);
  const ipu::Estimate e = estimate_of(*graph, options);
  ipu::ReportOptions report{a.operations, a.plans, {}};
  if (!e.fits())
    report.remedies = compiler::find_remedies(*graph, options, [&](int64_t batch) {
      compiler::DriverOptions other = conversion_of(a);
      std::string text = compiler::set_batch(other, e.program.samples, batch);
      return compiler::OtherBatch{converted(a, other), std::move(text)};
    });
  if (!a.svg.empty()) write_svg(a.svg, e);
  if (!a.compare.empty()) {
    compiler::EstimateOptions other = options;
    other.target = chip_given(a.compare, "--compare");
    const ipu::Estimate b = estimate_of(*graph, other);
    if (a.json)
      fmt::print("{}\n", to_text(nlohmann::ordered_json{{"a", ipu::report_json(e, report)},
                                                        {"b", ipu::report_json(b, {})}},
                                 2));
    else
      print_lines(ipu::comparison_text(e, e.target.name, b, b.target.name));
    return 0;
  }
  if (a.json)
    fmt::print("{}\n", to_text(ipu::report_json(e, report), 2));
  else
    print_lines(ipu::report_text(e, report));
  return 0;
}

}  // namespace

void add_estimate(Command& app, std::function<int()>& action) {
  Command* c = app.add_command(
      "estimate",
      "Estimate the cycles and the memory of a model on an IPU (poprt_exec help estimate)");
  const auto a = std::make_shared<EstimateArguments>();
  a->command = c;
  c->add_option("MODEL", a->model, "Model (.onnx), or .popef whose source is known")->required();
  c->add_option("--target", a->target,
                "Chip: mk1, mk2, bow, c600 (also ipu1, ipu2, ipu21), or a JSON file [c600]");
  c->add_option("--num_ipus", a->num_ipus, "Number of IPUs [1]");
  c->add_option("--num_io_tiles", a->num_io_tiles, "Tiles that exchange data with the host [0]");
  c->add_option("--batches_per_step", a->batches_per_step, "Batches in one call of the host [1]");
  c->add_option("--available_memory_proportion", a->proportion,
                "Fraction of a tile's memory for temporary data of products [0.6]");
  c->add_option("--partials_type", a->partials,
                "Type of partial sums of halves: half, float [half]");
  c->add_option("--outline_threshold", a->outline_threshold,
                "Value from which equal operations share their code; below 0: none [1]");
  c->add_flag("--use_128bit_conv_unit_load", a->wide_loads, "Load weights with 128 bits");
  c->add_flag("--enable_fast_reduce", a->fast_reduce,
              "Sum contiguous partial results, which needs fewer cycles");
  c->add_flag("--enable_non_stable_softmax", a->non_stable_softmax,
              "Compute softmax without the maximum of a row");
  c->add_flag("--enable_pipelining", a->pipelining, "IPUs work on different batches");
  c->add_option("--stream_buffering_depth", a->stream_buffers,
                "Buffers of the host for each input and output [1]");
  c->add_option("--enable_prefetch_datastreams", a->prefetch,
                "True or False: the host prepares a batch before the chip asks for it [True]");
  c->add_option("--enable_multi_stage_reduce", a->multi_stage,
                "True or False: sum many partial results in several stages [True]");
  c->add_flag("--group_host_sync", a->group_sync,
              "Transfer all inputs before the first operation, all outputs after the last one");
  c->add_flag("--rearrange_streams_on_host", a->streams_on_host,
              "The host changes the order of inputs of products");
  c->add_option("--rearrange_anchors_on_host", a->anchors_on_host,
                "True or False: the host changes the order of outputs of products [True]");
  c->add_option("--replicas", a->replicas,
                "Copies of the program on as many groups of IPUs, which share the host [1]");
  c->add_option("--weights", a->weights, "Inputs that are weights, for models without them");
  c->add_option("--max_size", a->max_size,
                "NAME=N: rounds of the loop whose result or trip count is NAME, if they are known "
                "at run time only; 1 is assumed (several words)");
  c->add_option("--compare", a->compare, "Compare with another target");
  c->add_option("--sweep", a->sweep,
                "batch_size=N,N,... or available_memory_proportion=P,P,...: estimate each and name "
                "the best that fits; a batch size replaces that of --input_shape");
  c->add_option("--svg", a->svg, "Write a picture of memory, phases and operators to this file");
  c->add_flag("--verbose", a->operations, "Also each operation with its supersteps");
  c->add_flag("--plans", a->plans, "Also the plan of each product");
  c->add_flag("--json", a->json, "As JSON");
  add_compile_options(*c, a->compile, {"fp32", "fp16", "bf16", "fp8", "fp8_weight"}, true);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
