// poprt_exec compare: compares a model's outputs with reference outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "common/arguments.h"
#include "common/json.h"
#include "common/waiting.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "exec/support/any_shape.h"
#include "exec/support/cases.h"
#include "exec/support/given_shapes.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

struct CompareArguments {
  std::string model, data_set;
  std::vector<std::string> inputs, inputs_pb, references;
  // The default comes from data.json of the data set, else from Accepted.
  std::optional<double> rtol, atol, norm, bad_frac;
  int threads = 0;
  bool json = false;
  CompileSettings compile;
};

struct Accepted {
  double rtol = 1e-3, atol = 1e-4;
  double norm = 0;      // also accept differences up to norm * largest |reference|
  double bad_frac = 0;  // accept that fraction of elements beyond the tolerance
};

// Reads data.json, which is in the folder of the data set or in its parent. It has the fields rtol
// and atol of ONNX's test data, and the additional fields norm (for whole models) and bad_frac (for
// quantised models).
Accepted tolerance_of(const CompareArguments& a) {
  namespace fs = std::filesystem;
  Accepted t;
  if (!a.data_set.empty()) {
    const fs::path folder = fs::absolute(a.data_set).lexically_normal() / ".";
    for (const fs::path& file :
         {folder.parent_path() / "data.json", folder.parent_path().parent_path() / "data.json"}) {
      if (!fs::exists(file)) continue;
      const nlohmann::json j = read_json(file);
      if (!j.is_object()) throw Failure(fmt::format("'{}' is not a JSON object", file.string()));
      for (const auto& [key, to] : {std::pair("rtol", &t.rtol), std::pair("atol", &t.atol),
                                    std::pair("norm", &t.norm), std::pair("bad_frac", &t.bad_frac)})
        if (j.contains(key)) {
          if (!j[key].is_number() || !(j[key].get<double>() >= 0))
            throw Failure(
                fmt::format("'{}': {} should be a number of at least 0", file.string(), key));
          *to = j[key].get<double>();
        }
      break;
    }
  }
  t.rtol = a.rtol.value_or(t.rtol);
  t.atol = a.atol.value_or(t.atol);
  t.norm = a.norm.value_or(t.norm);
  t.bad_frac = a.bad_frac.value_or(t.bad_frac);
  return t;
}

std::string numbered(const CompareArguments& a, const char* stem, size_t i) {
  return fmt::format("{}/{}_{}.pb", a.data_set, stem, i);
}

// Sets variable dimensions of an ONNX model that no option fixes to those of the data.
void shapes_from_data(CompareArguments& a) {
  if (a.model.ends_with(".popef")) return;
  const auto graph = compiler::read_model({.path = a.model}, a.compile.allow_links);
  std::vector<std::string> words = a.inputs;
  words.insert(words.end(), a.inputs_pb.begin(), a.inputs_pb.end());
  check_given_names(*graph, words);
  const size_t given = words.size();
  for (size_t i = 0, number = 0; i < graph->inputs().size() && !a.data_set.empty(); i++) {
    const ir::Value* v = graph->inputs()[i];
    if (v->is_constant()) continue;
    const std::string path = numbered(a, "input", number++), start = v->name() + "=";
    const bool named =
        std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(given),
                    [&](const std::string& word) { return word.starts_with(start); });
    if (!named && std::filesystem::exists(path)) words.push_back(start + path);
  }
  shapes_from_files(*graph, words, a.compile);
}

bool has_data(const std::filesystem::path& folder, const char* stem) {
  return std::filesystem::exists(folder / fmt::format("{}_0.pb", stem));
}

// Throws Failure for a folder that is no data set, such as that of several ones.
void check_data_set(const std::string& folder) {
  namespace fs = std::filesystem;
  if (has_data(folder, "input") || has_data(folder, "output")) return;
  std::vector<std::string> sets;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (has_data(entry.path(), "output")) sets.push_back(entry.path().string());
  std::ranges::sort(sets);
  throw Failure(fmt::format("--data_set: there is no input_0.pb in '{}'{}", folder,
                            sets.empty() ? "" : fmt::format("; there is one in '{}'", sets[0])));
}

struct Difference {
  std::string name;
  size_t elements = 0, mismatches = 0;
  bool agrees = true;
  double max_abs = 0, max_rel = 0;  // of elements that are no NaN
  size_t nans = 0;                  // elements that are NaN in the result or the reference alone
  std::vector<int64_t> first_nan;   // index of the first of them
};

// An output of a run.
struct Made {
  poprt_dtype dtype;
  std::vector<int64_t> shape;
  const void* data;
  size_t bytes;
  std::vector<int64_t> real = {};  // real shape of an output whose size depends on data
};

// Returns the index of the output NAME:shape, which has the real size of output `i`, or the number
// of outputs if there is none.
size_t size_of(const std::vector<const poprt_anchor*>& outputs, size_t i) {
  const std::string name = std::string(poprt_anchor_name(outputs[i])) + ":shape";
  const std::vector<int64_t> rank = {static_cast<int64_t>(poprt_anchor_rank(outputs[i]))};
  const auto found = std::ranges::find_if(outputs, [&](const poprt_anchor* a) {
    return name == poprt_anchor_name(a) && poprt_anchor_dtype(a) == POPRT_DTYPE_S64 &&
           shape_of(a) == rank;
  });
  return static_cast<size_t>(found - outputs.begin());
}

bool is_size(const std::vector<const poprt_anchor*>& outputs, size_t i) {
  for (size_t of = 0; of < outputs.size(); of++)
    if (size_of(outputs, of) == i) return true;
  return false;
}

// Returns the real part of the output, which starts at its origin.
std::vector<std::byte> real_part(const Made& made) {
  size_t elements = 1, kept = 1;
  for (const int64_t d : made.shape) elements *= static_cast<size_t>(d);
  for (const int64_t d : made.real) kept *= static_cast<size_t>(d);
  const size_t element = elements ? made.bytes / elements : 0;
  std::vector<std::byte> part(kept * element);
  const auto* from = static_cast<const std::byte*>(made.data);
  for (size_t i = 0; i < kept; i++) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t d = made.shape.size(); d-- > 0;) {
      const auto size = static_cast<size_t>(made.real[d]);
      at += rest % size * stride;
      rest /= size;
      stride *= static_cast<size_t>(made.shape[d]);
    }
    std::copy_n(from + at * element, element, part.data() + i * element);
  }
  return part;
}

std::vector<int64_t> index_of(size_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<size_t>(shape[d]);
    index[d] = static_cast<int64_t>(element % size);
    element /= size;
  }
  return index;
}

Difference compare(const std::string& name, Made got, const Array& want, const Accepted& t) {
  Difference d;
  d.name = name;
  std::vector<std::byte> part;
  if (want.shape != got.shape && !got.real.empty()) {
    part = real_part(got);
    got = {got.dtype, got.real, part.data(), part.size()};
  }
  if (want.shape != got.shape)
    throw Failure(fmt::format("output '{}' is {}[{}], its reference has shape [{}]", d.name,
                              poprt_dtype_name(got.dtype), fmt::join(got.shape, ","),
                              fmt::join(want.shape, ",")));
  const auto x = as_doubles(got.dtype, got.shape, got.data, got.bytes);
  const auto y = as_doubles(want.dtype, want.shape, want.data.data(), want.data.size());
  d.elements = x.size();
  double largest = 0;
  for (const double v : y)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < x.size(); i++) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double difference = std::fabs(x[i] - y[i]);
    // An infinite reference would have an infinite tolerance.
    if (!std::isfinite(y[i]) ||
        !(difference <= std::max(t.atol + t.rtol * std::fabs(y[i]), t.norm * largest)))
      d.mismatches++;
    if (std::isnan(x[i]) || std::isnan(y[i])) {
      if (d.nans++ == 0) d.first_nan = index_of(i, want.shape);
      continue;
    }
    d.max_abs = std::max(d.max_abs, difference);
    if (y[i] != 0) d.max_rel = std::max(d.max_rel, difference / std::fabs(y[i]));
  }
  d.agrees = static_cast<double>(d.mismatches) <= t.bad_frac * static_cast<double>(d.elements);
  return d;
}

using Outputs = std::unique_ptr<poprt_outputs, Free<poprt_outputs_free>>;

// Runs each of several models that has given inputs once, and returns all outputs by name.
class VariantRuns {
 public:
  VariantRuns(const CompareArguments& a, poprt_runner* runner)
      : arrays_(read_arrays(a.inputs, a.inputs_pb, runner)) {
    std::map<std::string, std::vector<poprt_tensor>> by_graph;
    for (auto& [name, array] : arrays_)
      by_graph[graph_of(name)].push_back({name.c_str(), 0, array.data.data(), array.data.size(),
                                          array.dtype, 0, array.shape.data(), array.shape.size()});
    for (const auto& [graph, tensors] : by_graph) {
      poprt_outputs* made = nullptr;
      check(poprt_runner_run(runner, tensors.data(), tensors.size(), &made));
      outputs_.emplace_back(made);
    }
  }

  Made find(const std::string& name, const poprt_runner* runner) const {
    for (const Outputs& outputs : outputs_)
      for (size_t i = 0; i < poprt_outputs_count(outputs.get()); i++) {
        const poprt_tensor& t = *poprt_outputs_at(outputs.get(), i);
        if (name == t.name) return {t.dtype, {t.shape, t.shape + t.rank}, t.data, t.bytes};
      }
    find_anchor(outputs_of(runner), name, "output");
    throw Failure(
        fmt::format("output '{}' belongs to a model without given inputs; give --input {}NAME=FILE",
                    name, graph_of(name)));
  }

 private:
  NamedArrays arrays_;
  std::vector<Outputs> outputs_;
};

// Runs a model once.
class Run {
 public:
  Run(const CompareArguments& a, poprt_runner* runner) : outs_(outputs_of(runner)) {
    const auto ins = inputs_of(runner);
    std::vector<AnchorMemory> memory;
    for (const auto* anchor : ins) memory.emplace_back(anchor);
    for (const auto* anchor : outs_) out_.emplace_back(anchor);
    fill_inputs(ins, memory, a.inputs, a.inputs_pb, Missing::error);
    std::vector<const void*> in_data;
    std::vector<void*> out_data;
    for (auto& m : memory) in_data.push_back(m.data());
    for (auto& m : out_) out_data.push_back(m.data());
    check(poprt_runner_execute_indexed(runner, in_data.data(), out_data.data()));
  }

  Made find(const std::string& name) const {
    const size_t i = find_anchor(outs_, name, "output");
    Made made = {poprt_anchor_dtype(outs_[i]), shape_of(outs_[i]), out_[i].data(), out_[i].bytes()};
    if (const size_t at = size_of(outs_, i); at < outs_.size())
      for (const double size : as_doubles(poprt_anchor_dtype(outs_[at]), shape_of(outs_[at]),
                                          out_[at].data(), out_[at].bytes()))
        made.real.push_back(
            std::clamp(static_cast<int64_t>(size), int64_t{0}, made.shape[made.real.size()]));
    return made;
  }

 private:
  std::vector<const poprt_anchor*> outs_;
  std::vector<AnchorMemory> out_;
};

int run(CompareArguments& a) {
  const Accepted tolerance = tolerance_of(a);
  if (!a.data_set.empty()) check_data_set(a.data_set);
  shapes_from_data(a);
  const Waiting waiting("compare");
  const Executable executable = load_model(a.model, a.compile);
  const Runner runner = make_runner(executable.get(), {.threads = a.threads});
  const auto ins = inputs_of(runner.get()), outs = outputs_of(runner.get());
  if (!a.data_set.empty()) {  // input_0.pb ... output_0.pb, as in ONNX's test data
    const auto add = [&](const auto& anchors, const char* stem, std::vector<std::string>& words) {
      for (size_t i = 0, number = 0; i < anchors.size(); i++) {
        if (is_size(anchors, i)) continue;
        const std::string path = numbered(a, stem, number++);
        if (std::filesystem::exists(path))
          words.push_back(fmt::format("{}={}", poprt_anchor_name(anchors[i]), path));
      }
    };
    add(ins, "input", a.inputs_pb);
    add(outs, "output", a.references);
  }
  if (a.references.empty() && !a.data_set.empty())
    throw Failure(fmt::format("--data_set: there is no output_0.pb in '{}'", a.data_set));
  if (a.references.empty())
    throw Usage(
        "there is no reference; give --reference NAME=FILE.npy or --data_set FOLDER; poprt_exec "
        "debug "
        "compare compares two models, and poprt --check a conversion with its original");
  const bool variants = cases_of(executable.get(), runner.get()).kind != Cases::one;
  std::optional<Run> once;
  std::optional<VariantRuns> several;
  if (variants)
    several.emplace(a, runner.get());
  else
    once.emplace(a, runner.get());

  std::string extra;
  if (tolerance.norm > 0) extra += fmt::format(" norm {}", tolerance.norm);
  if (tolerance.bad_frac > 0) extra += fmt::format(" bad_frac {}", tolerance.bad_frac);
  nlohmann::json rows = nlohmann::json::array();
  bool same = true;
  for (const std::string& word : a.references) {
    const auto [name, path] = split_pair(word, "--reference");
    const Made made = variants ? several->find(name, runner.get()) : once->find(name);
    const Array want = as_stored_type(read_tensor(path), made.dtype, path);
    const Difference d = compare(name, made, want, tolerance);
    same &= d.agrees;
    rows.push_back({{"output", d.name},
                    {"elements", d.elements},
                    {"mismatches", d.mismatches},
                    {"max_abs", d.max_abs},
                    {"max_rel", d.max_rel},
                    {"nans", d.nans}});
    if (d.nans > 0) rows.back()["first_nan"] = d.first_nan;
    if (a.json) continue;
    fmt::print("{} {}: {} of {} outside rtol {} atol {}{}; ", d.agrees ? "agrees " : "DIFFERS",
               d.name, d.mismatches, d.elements, tolerance.rtol, tolerance.atol, extra);
    if (d.nans > 0)
      fmt::print("{} NaN in the result or the reference alone, the first at [{}]; ", d.nans,
                 fmt::join(d.first_nan, ","));
    fmt::print("largest difference{} {:.3g} absolute, {:.3g} relative\n",
               d.nans > 0 ? " of the others" : "", d.max_abs, d.max_rel);
  }
  if (a.json)
    print_json({{"agrees", same},
                {"rtol", tolerance.rtol},
                {"atol", tolerance.atol},
                {"norm", tolerance.norm},
                {"bad_frac", tolerance.bad_frac},
                {"outputs", rows}});
  return same ? 0 : 1;
}

}  // namespace

void add_compare(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<CompareArguments>();
  Command* c = app.add_command(
      "compare", "Compare a model's outputs with reference outputs; exit 1 when they differ");
  c->add_option("MODEL", a->model, ".popef, or .onnx (compiled first)")->required();
  c->add_option("--input", a->inputs, "NAME=FILE.npy")->many();
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb")->many();
  c->add_option("--reference", a->references, "NAME=FILE.npy or .pb: the expected output")->many();
  c->add_option("--data_set", a->data_set,
                "Folder with input_0.pb ... output_0.pb ...; data.json in it or its parent "
                "contains rtol, atol, norm and bad_frac")
      ->check(existing_folder());
  c->add_option("--rtol", a->rtol, "Relative tolerance [data.json, or 0.001]")
      ->check(at_least(0.0));
  c->add_option("--atol", a->atol, "Absolute tolerance [data.json, or 0.0001]")
      ->check(at_least(0.0));
  c->add_option(
       "--norm", a->norm,
       "Also accept differences up to this fraction of the largest reference [data.json, or 0]")
      ->check(at_least(0.0));
  c->add_option("--bad_frac", a->bad_frac,
                "Accept this fraction of the elements outside of the tolerance [data.json, or 0]")
      ->check(at_least(0.0));
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_flag("--json", a->json, "Report as JSON");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
