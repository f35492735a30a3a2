// poprt_exec run: runs one model on data from files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "common/arguments.h"
#include "common/json.h"
#include "common/waiting.h"
#include "common/written_files.h"
#include "exec/commands.h"
#include "exec/support/any_shape.h"
#include "exec/support/cases.h"
#include "exec/support/faithful_run.h"
#include "exec/support/tensors.h"
#include "exec/support/values.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct RunArguments {
  std::string model;
  std::vector<std::string> inputs, inputs_pb, outputs;
  int threads = 0, iterations = 1;
  bool json = false, random = false, profile = false, verify = false;
  std::string numerics = "fast", overflow = "nan", load = "map", execution_precision;
  int64_t rounding_seed = -1;
  CompileSettings compile;
  std::vector<NamedShape> shapes;    // of random inputs, with --on_demand
  const Command* command = nullptr;  // knows which options are given
};

using Files = std::vector<std::pair<std::string, std::string>>;  // names of outputs and paths

void write_arrays(const std::string& path, const std::vector<Array>& arrays) {
  if (path.ends_with(".npz"))
    write_npz(path, arrays);
  else
    write_npy(path, arrays[0]);
}

// Removes text outputs from `files` and returns their paths and values.
std::vector<std::pair<std::string, std::vector<Array>>> take_texts(const PreparedModel& model,
                                                                   Files& files) {
  std::vector<std::pair<std::string, std::vector<Array>>> texts;
  std::erase_if(files, [&](const auto& file) {
    const auto& [name, path] = file;
    std::vector<Array> elements;
    for (const auto& text : model.texts)
      if (text.name == name || text.name == fmt::format("{}[{}]", name, elements.size()))
        elements.push_back({POPRT_DTYPE_STRING, text.shape, {}, text.values});
    if (elements.empty()) return false;
    if (elements.size() > 1 && !path.ends_with(".npz"))
      throw Usage(fmt::format("--output: '{}' is a sequence of {} texts; write it to a .npz file",
                              name, elements.size()));
    texts.emplace_back(path, std::move(elements));
    return true;
  });
  return texts;
}

// Returns the prefix (such as graph0/) of the model whose inputs are given, or an empty text for a
// single model.
std::string chosen_graph(const RunArguments& a, const std::vector<const poprt_anchor*>& outputs) {
  for (const poprt_anchor* output : outputs)
    if (graph_of(poprt_anchor_name(output)).empty()) return "";
  for (const auto* words : {&a.inputs, &a.inputs_pb})
    for (const std::string& word : *words)
      if (const std::string graph = graph_of(word); !graph.empty()) return graph;
  throw Failure(
      "the executable contains several models; give the inputs of one: --input graph0/NAME=FILE");
}

// Returns the value of `numerics` for runners, such as "saturating:7", or "" for the default.
std::string runner_numerics(const RunArguments& a) {
  if (a.numerics == "fast") return "";
  const std::string word = a.overflow == "saturate" ? "saturating" : "faithful";
  return a.rounding_seed < 0 ? word : fmt::format("{}:{}", word, a.rounding_seed);
}

// `numerics` must outlive the result.
RunnerOptions runner_options(const RunArguments& a, const std::string& numerics) {
  return {.threads = a.threads,
          .profile = a.profile,
          .numerics = numerics.empty() ? nullptr : numerics.c_str(),
          .load = a.load.c_str(),
          .execution_precision = a.execution_precision.c_str(),
          .verify = a.verify};
}

// A program and the memory for its runs.
class Execution {
 public:
  Execution(const RunArguments& a, const PreparedModel& model)
      : runner_(make_runner(model.executable.get(), runner_options(a, runner_numerics(a)))),
        ins_(inputs_of(runner_.get())),
        outs_(outputs_of(runner_.get())) {
    // Inputs with data in the executable are optional.
    for (size_t i = ins_.size(); i-- > 0;) {
      const std::string start = std::string(poprt_anchor_name(ins_[i])) + "=";
      const auto given = [&](const std::string& word) { return word.starts_with(start); };
      if (poprt_runner_input_has_data(runner_.get(), i) && std::ranges::none_of(a.inputs, given) &&
          std::ranges::none_of(a.inputs_pb, given))
        ins_.erase(ins_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const std::string graph = chosen_graph(a, outs_);
    for (auto* anchors : {&ins_, &outs_})
      std::erase_if(*anchors, [&](const poprt_anchor* anchor) {
        return !std::string_view(poprt_anchor_name(anchor)).starts_with(graph);
      });
    any_shape_ = a.compile.on_demand;
    if (any_shape_ || cases_of(model.executable.get(), runner_.get()).kind == Cases::shapes) {
      NamedArrays given = read_arrays(a.inputs, a.inputs_pb, runner_.get());
      shaped_.emplace(runner_.get(), arrays_of_shapes(a.shapes, std::move(given), runner_.get()),
                      a.random);
      return;
    }
    for (const auto* anchor : ins_) in_memory_.emplace_back(anchor);
    for (const auto* anchor : outs_) out_memory_.emplace_back(anchor);
    const auto is_input = [&](const std::string& name) {
      return std::any_of(ins_.begin(), ins_.end(),
                         [&](const poprt_anchor* i) { return name == poprt_anchor_name(i); });
    };
    // Files of inputs whose values are folded into the program are ignored.
    const Missing missing = a.random ? Missing::random : Missing::error_that_suggests_random;
    fill_inputs(ins_, in_memory_, a.inputs, a.inputs_pb, missing, [&](const std::string& name) {
      return !is_input(name) && model.has_folded_input(name);
    });
  }

  // Returns the milliseconds of each run. Unknown names in `files` are reported before the first
  // run.
  std::vector<double> run(int iterations, const Files& files) {
    for (const auto& [name, path] : files) wanted_.push_back(find(name, path));
    std::vector<poprt_input> in;
    std::vector<poprt_output> out;
    for (size_t i = 0; i < in_memory_.size(); i++)
      in.push_back({poprt_anchor_name(ins_[i]), 0, in_memory_[i].data(), in_memory_[i].bytes()});
    for (size_t i = 0; i < out_memory_.size(); i++)
      out.push_back(
          {poprt_anchor_name(outs_[i]), 0, out_memory_[i].data(), out_memory_[i].bytes()});
    std::vector<double> ms;
    for (int i = 0; i < iterations; i++) {
      const auto begin = Clock::now();
      if (shaped_)
        shaped_->run();
      else
        check(poprt_runner_execute(runner_.get(), in.data(), in.size(), out.data(), out.size()));
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    return ms;
  }

  std::vector<std::string> write() const {
    std::vector<std::string> written;
    for (const Wanted& w : wanted_) {
      std::vector<Array> arrays;
      for (const size_t i : w.outputs) arrays.push_back(real(i));
      write_arrays(w.path, arrays);
      written.push_back(w.path);
    }
    return written;
  }

  nlohmann::json describe_outputs() const {
    auto list = nlohmann::json::array();
    for (size_t i = 0; i < outs_.size(); i++)
      list.push_back({{"name", poprt_anchor_name(outs_[i])},
                      {"dtype", poprt_dtype_name(poprt_anchor_dtype(outs_[i]))},
                      {"shape", real(i).shape}});
    return list;
  }

  void print_outputs() const {
    for (size_t i = 0; i < outs_.size(); i++) {
      const auto shape = real(i).shape;
      if (any_shape_) {
        fmt::print("output {}: {}[{}]\n", poprt_anchor_name(outs_[i]),
                   poprt_dtype_name(poprt_anchor_dtype(outs_[i])), fmt::join(shape, ","));
        continue;
      }
      const bool whole = shape == shape_of(outs_[i]);
      fmt::print("output {}: {}{}\n", poprt_anchor_name(outs_[i]), anchor_type(outs_[i]),
                 whole ? "" : fmt::format(", of which [{}] is real", fmt::join(shape, ",")));
    }
  }

  nlohmann::json profile() const {
    poprt_string* text = nullptr;
    check(poprt_runner_profile(runner_.get(), &text));
    return parse_json(take(text));
  }

 private:
  struct Wanted {
    std::vector<size_t> outputs;  // several for the elements of a sequence
    std::string path;
  };

  // Returns the real part of an output.
  Array real(size_t i) const {
    return shaped_ ? shaped_->output(poprt_anchor_name(outs_[i])) : cropped(outs_, out_memory_, i);
  }

  Wanted find(const std::string& name, const std::string& path) const {
    Wanted w{{}, path};
    if (path.ends_with(".npz"))
      for (size_t i = 0; i < outs_.size(); i++)
        if (poprt_anchor_name(outs_[i]) == fmt::format("{}[{}]", name, w.outputs.size()))
          w.outputs.push_back(i);
    if (w.outputs.empty()) w.outputs.push_back(find_anchor(outs_, name, "output"));
    return w;
  }

  Runner runner_;
  std::vector<const poprt_anchor*> ins_, outs_;
  std::vector<AnchorMemory> in_memory_, out_memory_;
  std::optional<ShapedRequest> shaped_;  // used instead for a model at several shapes
  bool any_shape_ = false;               // anchors have the shape of the file only
  std::vector<Wanted> wanted_;
};

void print_texts(const PreparedModel& model) {
  for (const auto& text : model.texts) {
    fmt::print("output {}: string[{}]\n", text.name, fmt::join(text.shape, ","));
    for (const std::string& s : text.values) fmt::print("  {}\n", to_text(nlohmann::json(s)));
  }
}

void print_profile(const nlohmann::json& profile) {
  std::vector<nlohmann::json> rows(profile["instructions"].begin(), profile["instructions"].end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& x, const auto& y) { return x["min_ns"] > y["min_ns"]; });
  double total = 0;
  for (const auto& r : rows) total += r["min_ns"].get<double>();
  fmt::print("{:>10} {:>6}  {:<28} {}\n", "us", "%", "kernel", "instruction");
  for (const auto& r : rows)
    fmt::print("{:>10.2f} {:>6.2f}  {:<28} {}\n", r["min_ns"].get<double>() / 1e3,
               100 * r["min_ns"].get<double>() / std::max(total, 1.0),
               r["kernel"].get<std::string>(), r["name"].get<std::string>());
}

// The keys are the same even if all outputs are text and nothing was run.
void print_report(const RunArguments& a, const PreparedModel& model, const Execution* execution,
                  double load_ms, const std::vector<double>& ms) {
  nlohmann::json j;
  j["model"] = a.model;
  j["load_ms"] = load_ms;
  j["latency_ms"] = ms;
  j["outputs"] = execution ? execution->describe_outputs() : nlohmann::json::array();
  for (const auto& text : model.texts) {
    j["outputs"].push_back({{"name", text.name}, {"dtype", "string"}, {"shape", text.shape}});
    j["texts"].push_back({{"name", text.name}, {"shape", text.shape}, {"values", text.values}});
  }
  if (!model.folded.empty()) j["folded_inputs"] = model.folded;
  if (a.profile && execution) j["profile"] = execution->profile();
  print_json(j);
}

int run_as_the_chip(const RunArguments& a) {
  if (a.json || a.random || a.profile || a.iterations != 1)
    throw Usage(
        "--numerics faithful runs once with inputs from files; it does not support --json, "
        "--random, --profile and --iterations");
  for (const char* option : {"--threads", "--load", "--verify", "--winograd", "--on_demand"})
    if (a.command->is_given(option))
      throw Usage(
          fmt::format("{} has no effect on an .onnx model with --numerics faithful", option));
  return run_faithfully(
      {a.model, a.inputs, a.inputs_pb, a.outputs, a.overflow == "saturate",
       a.rounding_seed < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(a.rounding_seed)),
       a.compile});
}

// Throws Usage if the runner of the model has no profile.
void check_profile(const RunArguments& a, const PreparedModel& model) {
  if (a.compile.on_demand)
    throw Usage(
        "--profile: shapes that are compiled on demand have no profile; compile one shape with "
        "poprt");
  const Runner runner = make_runner(model.executable.get(), {.threads = 1});
  if (cases_of(model.executable.get(), runner.get()).kind == Cases::one) return;
  throw Usage(
      "--profile: a run of one of several models or shapes has no profile; poprt_exec inspect FILE "
      "--view program --profile 1 measures the instructions of all");
}

int run(RunArguments& a) {
  if (a.numerics == "faithful" && !a.execution_precision.empty())
    throw Usage("--execution_precision and --numerics faithful exclude each other");
  if (a.numerics == "fast" && a.overflow != "nan")
    throw Usage("--overflow needs --numerics faithful");
  if (a.numerics == "fast" && a.rounding_seed >= 0)
    throw Usage("--rounding_seed needs --numerics faithful");
  if (a.compile.on_demand && !a.compile.input_shape.empty()) {
    if (!a.random) throw Usage("--input_shape with --on_demand needs --random");
    a.shapes = parse_single_shapes(std::exchange(a.compile.input_shape, {}));
  }
  // A .popef file is computed by a runner, also with --numerics faithful (runner_options()).
  if (a.numerics == "faithful" && !a.model.ends_with(".popef")) return run_as_the_chip(a);
  const auto begin = Clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  Files files;
  for (const std::string& word : a.outputs) files.push_back(split_pair(word, "--output"));
  require_separate_files(a.model, {&a.inputs, &a.inputs_pb}, files);
  std::optional<Waiting> waiting;
  waiting.emplace(a.model.ends_with(".popef") ? "open" : "compile");
  const PreparedModel model =
      load_with_values(a.model, a.compile, {a.inputs, a.inputs_pb, a.random});
  if (a.random && model.executable) require_no_generator(model.executable.get(), a.model);
  if (a.profile && model.executable) check_profile(a, model);
  const auto texts = take_texts(model, files);
  std::optional<Execution> execution;
  if (model.executable) execution.emplace(a, model);
  if (!execution && !files.empty())
    throw Failure(fmt::format("the model has no output '{}'", files[0].first));
  waiting.reset();
  const double load_ms = passed();
  std::vector<double> ms;
  if (execution) ms = execution->run(a.iterations, files);
  // Files are written after all other steps that may fail.
  std::vector<std::string> written;
  for (const auto& [path, arrays] : texts) {
    write_arrays(path, arrays);
    written.push_back(path);
  }
  if (execution)
    for (std::string& path : execution->write()) written.push_back(std::move(path));
  if (a.json) {
    print_report(a, model, execution ? &*execution : nullptr, load_ms, ms);
    return 0;
  }
  print_texts(model);
  if (execution)
    fmt::print("ready after {:.2f} ms; {} run{}, fastest {:.4f} ms\n", load_ms, a.iterations,
               a.iterations == 1 ? "" : "s", *std::min_element(ms.begin(), ms.end()));
  if (!model.folded.empty())
    fmt::print("compiled with the values of: {}\n", fmt::join(model.folded, ", "));
  if (execution) execution->print_outputs();
  for (const std::string& path : written) fmt::print("wrote {}\n", path);
  if (a.profile && execution) print_profile(execution->profile());
  return 0;
}

}  // namespace

void add_run(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<RunArguments>();
  Command* c = app.add_command("run", "Run a model on data from files");
  a->command = c;
  c->add_option("MODEL", a->model, ".popef, or .onnx (compiled first)")->required();
  c->add_option("--input", a->inputs,
                "NAME=FILE.npy, FILE.npz for a sequence, FILE.none for an optional that is absent")
      ->many();
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb: an ONNX TensorProto")->many();
  c->add_option("--output", a->outputs,
                "NAME=FILE.npy, or FILE.npz for a sequence: write this output")
      ->many();
  c->add_flag("--random", a->random, "Use random data for inputs that are not given");
  c->add_flag(
      "--on_demand", a->compile.on_demand,
      "Compile the source of a .popef file (--embed_source) at the shapes of the inputs, or "
      "those of --input_shape with --random");
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_option("--iterations", a->iterations, "Runs")
      ->check(between(1, 1000000000))
      ->capture_default_str();
  c->add_flag("--profile", a->profile, "Time every instruction");
  c->add_flag("--json", a->json, "Report as one JSON document");
  c->add_option("--numerics", a->numerics,
                "fast, or faithful: with the rounding of the chip, slow; for an .onnx model, which "
                "runs once with inputs from files, or a .popef that was compiled with --numerics "
                "faithful")
      ->check(one_of({"fast", "faithful"}))
      ->capture_default_str();
  c->add_option("--overflow", a->overflow,
                "Result of an overflow of f16 with --numerics faithful: nan or saturate")
      ->check(one_of({"nan", "saturate"}))
      ->capture_default_str();
  c->add_option("--rounding_seed", a->rounding_seed,
                "Round stochastically with --numerics faithful; equal seeds give equal results "
                "[to nearest]")
      ->check(between(int64_t{0}, INT64_MAX));
  c->add_flag("--verify", a->verify,
              "Check the checksums of the .popef first, which reads all of it");
  c->add_option("--load", a->load,
                "map: use weights in the memory map of the .popef; copy: copy them, so that later "
                "changes of the file have no effect")
      ->check(one_of({"map", "copy"}))
      ->capture_default_str();
  add_precision_option(*c, a->execution_precision);
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
