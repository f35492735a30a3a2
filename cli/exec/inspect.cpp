// poprt_exec inspect: prints the data of the desktop inspector as text or JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/log_level.h"
#include "common/arguments.h"
#include "common/written_files.h"
#include "compiler/chip_options.h"
#include "exec/commands.h"
#include "exec/support/given_shapes.h"
#include "kernels/common/instruction_set.h"
#include "model/class_names.h"
#include "model/format.h"
#include "model/graph_svg.h"
#include "model/report.h"
#include "model/run_report.h"

namespace poprt::cli {
namespace {

using namespace poprt::inspector;

struct InspectSettings {
  std::string file, other, view = "summary", filter, node, record, folder;
  int64_t most = 0;
  double seconds = 1, profile = 0;
  int step = -1;
  bool json = false, text = false, svg = false;

  std::vector<std::string> shapes, max_size;

  // For the run view.
  std::vector<std::string> inputs, references, outputs;
  std::string second, labels, executable;
  size_t variant = 0;
  uint64_t seed = 1;
  size_t top = 5;
  double bench = 0;
  Tolerance tolerance;
  BenchSettings load;
};

constexpr const char* kRunView = "run";

Document load(const std::string& path) {
  Progress progress;
  Document d = load_document(path, progress);
  if (!d.error.empty()) throw Failure(d.error);
  return d;
}

void print(const InspectSettings& s, const std::vector<Table>& tables) {
  if (s.json) {
    fmt::print("{}\n", tables_json(tables));
    return;
  }
  for (const Table& t : tables) fmt::print("{}", table_text(t));
}

// Draws the graph with all groups open.
std::string picture(const Document& d) {
  if (!d.graph) throw Usage("--svg draws graphs; give an .onnx or IR text file");
  GraphLayout layout(d.graph);
  return graph_svg(*d.graph, *layout.scene(layout.all_groups()));
}

// Observes running processes for a while, then prints the result.
int watch(const InspectSettings& s) {
  TelemetryWatcher watcher(s.folder);
  if (!s.record.empty()) {
    CommandFiles files;
    files.writes(s.record, Contents::recording, "--record");
    watcher.record(s.record);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
  watcher.stop_recording();
  if (const std::string error = watcher.error(); !error.empty()) throw Failure(error);
  watcher.with_history([&](const TelemetryHistory& history) { print(s, queues_tables(history)); });
  return 0;
}

// Parses NAME=FILE words as choices of inputs.
InputChoices choices_of(const std::vector<std::string>& words) {
  InputChoices choices;
  for (const std::string& word : words) {
    const auto [name, value] = split_pair(word, "--input");
    if (!choices.emplace(name, input_choice(value)).second)
      throw Usage(fmt::format("--input: input '{}' is given twice", name));
  }
  return choices;
}

const NamedTensor& output_called(const RunResult& result, const std::string& name) {
  std::vector<std::string> names;
  for (const NamedTensor& t : result.outputs) {
    if (t.name == name) return t;
    names.push_back(t.name);
  }
  throw Failure(
      fmt::format("the model has no output '{}'; it has: {}", name, fmt::join(names, ", ")));
}

// Compiles the graph of a document for the given shapes.
Compilation compiled(const InspectSettings& s, const Document& d) {
  CompileSettings settings;
  settings.input_shape = s.shapes;
  std::vector<std::string> files = s.inputs;
  std::erase_if(files, [](const std::string& word) {
    return !word.ends_with(".npy") && !word.ends_with(".pb");
  });
  shapes_from_files(*d.ir, files, settings);
  const ChosenShapes shapes = read_shapes(fmt::format("{}", fmt::join(settings.input_shape, " ")));
  std::string assumed;
  compiler::DriverOptions options = options_for_inspection(*d.ir, assumed, shapes);
  if (!s.max_size.empty())
    options.max_size = compiler::loop_rounds(fmt::format("{}", fmt::join(s.max_size, "\n")));
  Compilation made = compile_with_history(*d.ir, options);
  if (!assumed.empty() && !s.json && s.view != kRunView) fmt::print("compiled for {}\n", assumed);
  made.error = error_with_assumed(made.error, assumed);
  return made;
}

void require_separate_outputs(const InspectSettings& s) {
  CommandFiles files;
  files.reads_model(s.file);
  files.reads_model(s.second);
  files.reads(s.labels);
  for (const auto* words : {&s.inputs, &s.references})
    for (const std::string& word : *words) files.reads(word.substr(word.rfind('=') + 1));
  for (const std::string& word : s.outputs)
    files.writes(split_pair(word, "--output").second, Contents::arrays, "--output");
}

// Runs the model and the model that it is compared with. Returns 1 if outputs differ.
int run_view(const InspectSettings& s, const Document& d) {
  require_separate_outputs(s);
  Progress progress;
  const InputChoices choices = choices_of(s.inputs);
  std::optional<Compilation> compilation;
  if (d.ir) compilation = compiled(s, d);
  const auto model = model_to_run(d, compilation ? &*compilation : nullptr, progress, s.executable);
  const RunResult result = run_model(model, choices, s.seed, progress, s.variant);
  std::vector<Table> tables = run_tables(
      result, s.top, s.labels.empty() ? std::vector<std::string>() : read_class_names(s.labels));
  std::vector<TensorDifference> differences;
  if (!s.second.empty()) {
    const Document second = load(s.second);
    std::optional<Compilation> second_compilation;
    if (second.ir) second_compilation = compiled(s, second);
    const auto other =
        model_to_run(second, second_compilation ? &*second_compilation : nullptr, progress);
    // A single model may be compared with one of several models.
    const size_t variant = other->variants ? s.variant : 0;
    differences = compare_outputs(
        result.outputs, run_model(other, choices, s.seed, progress, variant).outputs, s.tolerance);
  }
  for (const std::string& word : s.references) {
    const auto [name, path] = split_pair(word, "--reference");
    const Tensor reference = read_tensor_file(path);
    differences.push_back(
        compare_tensors(name, output_called(result, name).tensor, reference, s.tolerance));
  }
  if (!differences.empty())
    for (Table& t : difference_tables(differences, result.outputs,
                                      s.most > 0 ? static_cast<size_t>(s.most) : size_t{20}))
      tables.push_back(std::move(t));
  if (s.bench > 0) {
    BenchSettings load = s.load;
    load.seconds = s.bench;
    load.variant = s.variant;
    tables.push_back(bench_table(load, bench_model(model, choices, s.seed, load, progress)));
  }
  for (const std::string& word : s.outputs) {
    const auto [name, path] = split_pair(word, "--output");
    save_npy(path, output_called(result, name).tensor);
  }
  print(s, tables);
  return std::all_of(differences.begin(), differences.end(),
                     [](const TensorDifference& x) { return x.agrees(); })
             ? 0
             : 1;
}

std::vector<program::Anchor> program_inputs(const Document& d,
                                            const std::optional<Compilation>& compilation) {
  if (d.popef) return d.popef->program().program.inputs;
  if (!compilation || !compilation->program) return {};
  return compilation->program->inputs;
}

// Warns if the two programs have an input of the same name with different shapes, for example those
// that are assumed for variable dimensions. Their times and bytes are not those of the same work.
void warn_of_other_shapes(const std::vector<program::Anchor>& left,
                          const std::vector<program::Anchor>& right) {
  for (const program::Anchor& a : left)
    for (const program::Anchor& b : right)
      if (a.name == b.name && a.shape != b.shape)
        print_error(
            "poprt_exec inspect: input '{}' is {} in the first program and {} in the second; "
            "--input_shape fixes variable dimensions\n",
            printable(a.name), shape_string(a.shape), shape_string(b.shape));
}

// Compares two documents. With --profile, it also compiles ONNX models and IR text, and compares
// the times of the programs.
DocumentDiff comparison(const InspectSettings& s, const Document& left, const Document& right) {
  Progress progress;
  DocumentDiff diff = diff_documents(left, right, progress);
  if (s.profile <= 0) return diff;
  std::optional<Compilation> first, second;
  if (left.ir) first = compiled(s, left);
  if (right.ir) second = compiled(s, right);
  warn_of_other_shapes(program_inputs(left, first), program_inputs(right, second));
  const auto [a, b] = measure_documents(left, first ? &*first : nullptr, right,
                                        second ? &*second : nullptr, s.profile, progress);
  auto rows = diff_programs(a, b);
  for (DiffRow& row : diff.rows)
    if (!is_of_programs(row)) rows.push_back(std::move(row));
  diff.rows = std::move(rows);
  return diff;
}

// Returns the index of the executable that --executable names, or 0 without the option.
size_t executable_of(const InspectSettings& s, const Document& d) {
  if (s.executable.empty()) return 0;
  if (!d.popef) throw Usage("--executable is for .popef files");
  std::vector<std::string> names;
  for (size_t i = 0; i < d.popef->executable_count(); i++) {
    names.push_back(printable(d.popef->executable_name(i)));
    if (names.back() == s.executable) return i;
  }
  throw Failure(fmt::format("{} has no executable '{}'; it has: {}", d.title(), s.executable,
                            fmt::join(names, ", ")));
}

ProgramProfile profiled(const InspectSettings& s, const Document& d,
                        const std::optional<Compilation>& compilation) {
  Progress progress;
  const InputChoices choices = choices_of(s.inputs);
  for (const auto& [name, _] : choices)
    if (std::ranges::none_of(program_inputs(d, compilation),
                             [&](const program::Anchor& a) { return a.name == name; }))
      throw Failure(fmt::format("the program has no input '{}'", printable(name)));
  if (d.popef)
    return profile_program(d.popef->program(executable_of(s, d)), s.profile, progress, choices);
  if (!compilation || !compilation->program)
    throw Failure(compilation ? compilation->error : "there is no program to run");
  return profile_program(program::load_in_memory(*compilation->program, compilation->weights),
                         s.profile, progress, choices);
}

int run(const InspectSettings& s) {
  warn_of_unknown_log_level();
  kernels::warn_of_unknown_isa();
  const bool runs = s.view == kRunView;
  if (!runs && !s.inputs.empty() && (s.profile <= 0 || !s.other.empty()))
    throw Usage("--input is for --view run, and for --profile without --compare");
  if (!runs && (!s.references.empty() || !s.outputs.empty() || !s.second.empty() ||
                !s.labels.empty() || s.bench > 0 || s.variant > 0))
    throw Usage(
        "--labels, --output, --reference, --second, --branch and --bench are for --view "
        "run");
  if (s.file.empty()) {
    if (s.view != "queues") throw Usage("give a FILE, or --view queues for running processes");
    return watch(s);
  }
  if (!s.record.empty()) throw Usage("--record is for running processes; omit FILE");
  if (s.step >= 0 && s.view != "passes" && s.view != "all")
    throw Usage("--step is for --view passes");
  const Document d = load(s.file);
  const bool compiles = s.view == "passes" || s.view == "program" || s.view == "memory" ||
                        s.view == "parts" || s.view == "all" || s.profile > 0;
  for (const auto& [option, words] :
       {std::pair{"--input_shape", &s.shapes}, std::pair{"--max_size", &s.max_size}})
    if (!words->empty() &&
        (!d.ir || s.svg || (!s.other.empty() && s.profile <= 0) || !(compiles || runs)))
      throw Usage(
          fmt::format("{} is for compiled views (--view passes, program, parts, memory, run or "
                      "all) of an .onnx file or IR text",
                      option));
  if (s.svg) {
    if (s.view != InspectSettings().view) throw Usage("--svg draws the graph: leave out --view");
    fmt::print("{}", picture(d));
    return 0;
  }
  const size_t executable = executable_of(s, d);
  if (runs) return run_view(s, d);
  if (!s.other.empty()) {
    print(s, {diff_table(comparison(s, d, load(s.other)))});
    return 0;
  }
  std::optional<Compilation> compilation;
  if (compiles && d.ir) {
    compilation = compiled(s, d);
    if (!compilation->error.empty() && s.view != "all" && s.view != "passes")
      throw Failure(compilation->error);
  }
  ReportOptions options;
  options.filter = s.filter;
  options.node = s.node;
  options.step = s.step;
  options.executable = executable;
  if (s.most > 0) options.most = static_cast<size_t>(s.most);
  std::optional<ProgramProfile> profile;
  if (s.profile > 0) options.profile = &profile.emplace(profiled(s, d, compilation));
  print(s, report(d, s.view, options, compilation ? &*compilation : nullptr));
  return 0;
}

void add_run_options(Command& c, InspectSettings& s) {
  c.add_option(
       "--input", s.inputs,
       "With --view run or --profile: NAME=random, NAME=zeros, NAME=FILE.npy, NAME=FILE.pb, or a "
       "picture NAME=FILE[:unit|symmetric|bytes|imagenet][:crop] [random]; crop: its middle in the "
       "input's proportions, else all of it is resized")
      ->many();
  c.add_option("--labels", s.labels,
               "With --view run: text file with class names, one per line; the largest elements "
               "get a name and their softmax");
  c.add_option("--output", s.outputs, "With --view run: NAME=FILE.npy, write this output")->many();
  c.add_option("--second", s.second,
               "With --view run: another model to compare with, for the same inputs")
      ->check(existing_file());
  c.add_option("--reference", s.references,
               "With --view run: NAME=FILE.npy or .pb, the expected output")
      ->many();
  c.add_option(
       "--branch", s.variant,
       "With --view run: index of the model of a fused one, or of the shape, counted from 0 [0]")
      ->check(at_least<size_t>(0));
  c.add_option("--seed", s.seed, "Seed of random inputs")->capture_default_str();
  c.add_option("--top", s.top,
               "Number of the largest elements to print of the first row of each output")
      ->capture_default_str();
  c.add_option("--rtol", s.tolerance.relative, "Relative tolerance of comparisons")
      ->check(at_least(0.0))
      ->capture_default_str();
  c.add_option("--atol", s.tolerance.absolute, "Absolute tolerance of comparisons")
      ->check(at_least(0.0))
      ->capture_default_str();
  c.add_option("--bench", s.bench, "With --view run: measure for this number of seconds afterwards")
      ->check(between(0.01, 86400.0));
  c.add_option("--clients", s.load.clients, "Threads that submit requests while measuring")
      ->check(between(1, BenchSettings::kMostClients))
      ->capture_default_str();
  c.add_option("--in-flight", s.load.in_flight, "Requests that each client keeps in flight")
      ->check(between(1, BenchSettings::kMostInFlight))
      ->capture_default_str();
  c.add_option("--threads", s.load.threads, "Compute threads while measuring [all CPUs]")
      ->check(between(0, 1024));
}

}  // namespace

void add_inspect(Command& app, std::function<int()>& action) {
  auto s = std::make_shared<InspectSettings>();
  auto* c =
      app.add_command("inspect", "Print the data that the desktop inspector shows for a file");
  c->add_option("FILE", s->file,
                ".onnx, .popef, IR text or a recording of telemetry; --view queues without a file "
                "shows running processes");
  add_plugin_option(*c);
  c->add_option("--view", s->view,
                "summary, graph, operators, weights, passes, program, parts (variants, IPUs), "
                "memory, anchors, blobs, metadata, data, opaque, queues, run, or all (without run)")
      ->capture_default_str();
  c->add_option(
      "--filter", s->filter,
      "Only rows that contain this text; for graphs a query such as 'op:Conv shape:1x64'");
  c->add_option("--node", s->node,
                "Details of the node with this name, or of the node that computes this value; with "
                "--view passes also the changes by each pass");
  c->add_option("--step", s->step,
                "With --view passes: the changes by the pass with this index, counted from 0")
      ->check(at_least(0));
  c->add_option("--profile", s->profile,
                "Run the program for this number of seconds: times for --view program and graph, "
                "and with --compare for both programs")
      ->check(between(0.01, 3600.0));
  c->add_option("--compare", s->other, "Show the differences of this second file");
  c->add_option("--seconds", s->seconds, "Seconds to observe running processes; default 1")
      ->check(between(0.1, 86400.0));
  c->add_option(
      "--record", s->record,
      "Record the telemetry of running processes in this file, which can be opened like any other");
  c->add_option("--folder", s->folder,
                "Telemetry folder; default POPRT_TELEMETRY_DIR or the user's runtime folder");
  c->add_option("--most", s->most, "Largest number of rows")->check(at_least<int64_t>(1));
  c->add_option("--input_shape", s->shapes,
                "Shapes of inputs with variable dimensions, NAME=1,3,224,224 [1, and 224 for "
                "pictures]; the model is compiled at each of several shapes separated by /")
      ->many();
  c->add_option("--max_size", s->max_size,
                "NAME=N: largest number of rounds of the loop whose result is NAME, or bound of a "
                "size that depends on data")
      ->many();
  c->add_option("--executable", s->executable,
                "The executable of a .popef with several to run or profile [the first]");
  add_run_options(*c, *s);
  auto* json =
      c->add_flag("--json", s->json, "As JSON: an object with an array of rows for each table");
  c->add_flag("--text", s->text, "As text, which is the default")->excludes(json);
  c->add_flag("--svg", s->svg, "The graph as a picture");
  c->callback([s, &action] { action = [s] { return run(*s); }; });
}

}  // namespace poprt::cli
