// poprt_exec debug: compares two models tensor by tensor, changes models and prints them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/temporary_folder.h"
#include "common/waiting.h"
#include "common/written_files.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "exec/support/debug_model.h"
#include "exec/support/debug_run.h"
#include "exec/support/given_shapes.h"
#include "model/run_input.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "ops/op.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    if (!word.empty()) names.push_back(word);
  }
  return names;
}

// Writes the complete file or none. A model cannot replace its own source or external data, or
// one of the data files in `words` (NAME=DATA).
void save(const ir::Graph& graph, const std::string& source, const std::string& target,
          const std::vector<std::string>& words = {}) {
  CommandFiles files;
  files.reads_model(source);
  for (const std::string& word : words) files.reads(word.substr(word.rfind('=') + 1));
  files.writes(target, Contents::onnx, "--output_model");
  onnx::ExportOptions written;
  written.sources.emplace_back(source);
  onnx::export_file(graph, target, written);
  fmt::print("model: {}\n", target);
}

// Sub-command compare.

struct Comparison {
  std::string src_model, dst_model, src_backend = "poprt", dst_backend = "poprt";
  std::string methods = "rel,mse", mark_outputs, dump_dir = "compare_output";
  std::vector<std::string> input_data, mapping;
  bool dump_data = false, json = false;
  CompileSettings compile;
};

// Names of a tensor in the source and in the other model.
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Returns the results of all nodes in the order of the graph.
std::vector<std::string> results_in_order(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node* node : graph.nodes())
    for (const ir::Value* value : node->outputs()) names.push_back(value->name());
  return names;
}

std::set<std::string> made_by_nodes(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Node* node : graph.nodes())
    for (const ir::Value* value : node->outputs())
      if (!value->name().starts_with(onnx::kOmittedName)) names.insert(value->name());
  return names;
}

// Returns the tensors to compare. `inputs` receives the pairs of --mark_io_mapping that are inputs.
Pairs tensors_to_compare(const Comparison& c, const ir::Graph& source, const ir::Graph& other,
                         Pairs& inputs) {
  const std::set<std::string> first = made_by_nodes(source), second = made_by_nodes(other);
  Pairs pairs;
  if (!c.mark_outputs.empty()) {
    const bool all = c.mark_outputs == "all";
    std::vector<std::string> wanted = names_in(c.mark_outputs);
    if (all) wanted = results_in_order(source);
    for (const std::string& name : wanted) {
      const bool both = first.contains(name) && second.contains(name);
      if (!both && !all)
        throw Usage(fmt::format("--mark_outputs: '{}' is not in both models", name));
      if (both) pairs.emplace_back(name, name);
    }
  } else if (!c.mapping.empty()) {
    const auto is_input = [](const ir::Graph& graph, const std::string& name) {
      const ir::Value* value = graph.find(name);
      return value && graph.is_input(value);
    };
    for (const std::string& word : c.mapping) {
      const auto [from, to] = split_pair(word, "--mark_io_mapping");
      if (is_input(source, from) && is_input(other, to))
        inputs.emplace_back(from, to);
      else if (first.contains(from) && second.contains(to))
        pairs.emplace_back(from, to);
      else
        throw Usage(
            fmt::format("--mark_io_mapping: '{}' must be a tensor of '{}' and '{}' one of '{}'",
                        from, c.src_model, to, c.dst_model));
    }
  } else {
    for (const ir::Value* value : source.outputs()) {
      const ir::Value* same = other.find(value->name());
      if (same && other.is_output(same)) pairs.emplace_back(value->name(), value->name());
    }
  }
  std::map<std::string, size_t> place;
  for (const std::string& name : results_in_order(source)) place.emplace(name, place.size());
  std::ranges::sort(pairs, {}, [&](const auto& pair) {
    const auto found = place.find(pair.first);  // an output may be an input of the model
    return std::pair(found == place.end() ? 0 : found->second, pair.second);
  });
  if (pairs.empty())
    throw Usage(
        fmt::format("'{}' and '{}' have no {} in common; give pairs with --mark_io_mapping A=B",
                    c.src_model, c.dst_model, c.mark_outputs.empty() ? "output" : "tensor"));
  return pairs;
}

NamedTensors source_inputs(const Comparison& c, const ir::Graph& source) {
  std::map<std::string, std::string> words;
  for (const std::string& word : c.input_data) {
    const auto [name, data] = split_pair(word, "--input_data");
    const ir::Value* value = source.find(name);
    if (!value || !source.is_input(value))
      throw Usage(fmt::format("--input_data: '{}' is not an input of '{}'", name, c.src_model));
    if (!words.emplace(name, data).second)
      throw Usage(fmt::format("--input_data: '{}' is given twice", name));
  }
  NamedTensors inputs;
  for (const ir::Value* value : source.inputs()) {
    const auto given = words.find(value->name());
    if (given == words.end())
      throw Usage(
          fmt::format("--input_data: input '{}' ({}) is missing; give {}=zeros, ones, rand "
                      "or a .npy file",
                      value->name(), ir::type_string(value->type), value->name()));
    inputs[value->name()] = data_of(given->second, value->dtype(), value->shape(),
                                    fmt::format("--input_data {}", value->name()), value->name());
  }
  return inputs;
}

// Writes the graph with these tensors as its outputs to a file.
std::string marked(ir::Graph& graph, const std::vector<std::string>& names, const fs::path& file) {
  ops::infer(graph);
  std::vector<ir::Value*> outputs;
  for (const std::string& name : names) outputs.push_back(graph.find(name));
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (ir::Value* value : outputs) graph.add_output(value);
  onnx::export_file(graph, file);
  return file.string();
}

// Saves each tensor as NAME_SIDE.npy in the folder. Names that differ in '/' and '_' only would be
// one file, so all but the first receive a number: a_b_src.npy, a_b_2_src.npy.
void dump(const fs::path& folder, const std::vector<std::string>& names, const char* side,
          const NamedTensors& tensors) {
  fs::create_directories(folder);
  std::map<std::string, std::string> used;  // names of tensors by those of files
  for (const std::string& name : names) {
    std::string stem = name;
    std::ranges::replace(stem, '/', '_');
    std::string file = stem;
    for (int number = 2; used.emplace(file, name).first->second != name; number++)
      file = fmt::format("{}_{}", stem, number);
    inspector::save_npy(folder / fmt::format("{}_{}.npy", file, side), tensors.at(name));
  }
}

// Prints one row per pair. Returns whether all pairs have equal shapes.
bool report(const Comparison& c, const Pairs& pairs, const NamedTensors& first,
            const NamedTensors& second) {
  const std::vector<std::string> methods = names_in(c.methods);
  nlohmann::json rows = nlohmann::json::array();
  bool same = true;
  for (const auto& [from, to] : pairs) {
    const Tensor &a = first.at(from), &b = second.at(to);
    nlohmann::json row = {{"src", from}, {"dst", to}, {"shape", a.shape()}};
    if (a.shape() != b.shape()) {
      same = false;
      row["dst_shape"] = b.shape();
      if (!c.json)
        fmt::print("{} - shapes differ: {} and {} ({})\n", from, shape_string(a.shape()),
                   shape_string(b.shape()), to);
    } else {
      if (!c.json) fmt::print("{} - shape: {}\n", from, shape_string(a.shape()));
      for (const Metric& m : metrics(methods, a, b)) {
        row[m.name] = m.value;
        if (!c.json) fmt::print("    {} - diff: {:g}\n", m.name, m.value);
      }
    }
    rows.push_back(row);
  }
  if (c.json) print_json(rows);
  return same;
}

// Fixes the shapes of two models that are compared. A shape may be for an input that only one of
// them has.
void fix_both_shapes(ir::Graph& source, ir::Graph& other, const CompileSettings& settings) {
  const std::vector<std::string> first = input_names(source), second = input_names(other);
  std::vector<std::string> all = first;
  all.insert(all.end(), second.begin(), second.end());
  settings.check_names(all);
  const auto fix = [&](ir::Graph& graph, const std::vector<std::string>& own) {
    CompileSettings known = settings;
    std::erase_if(known.input_shape, [&](const std::string& word) {
      const std::string name = split_pair(word, "--input_shape").first;
      return std::ranges::count(own, name) == 0 && std::ranges::count(all, name) > 0;
    });
    fix_shapes(graph, known);
  };
  fix(source, first);
  fix(other, second);
}

int compare(Comparison& c) {
  check_metrics(names_in(c.methods));
  const auto source = compiler::read_model({.path = c.src_model}),
             other = compiler::read_model({.path = c.dst_model});
  std::vector<std::string> files = c.input_data;
  std::erase_if(files, [](const std::string& word) {
    return !word.ends_with(".npy") && !word.ends_with(".pb");
  });
  shapes_from_files(*source, files, c.compile);
  fix_both_shapes(*source, *other, c.compile);
  Pairs mapped;
  const Pairs pairs = tensors_to_compare(c, *source, *other, mapped);
  const NamedTensors inputs = source_inputs(c, *source);
  NamedTensors other_inputs = inputs;
  for (const auto& [from, to] : mapped) other_inputs[to] = inputs.at(from);
  std::vector<std::string> first_names, second_names;
  for (const auto& [from, to] : pairs) {
    first_names.push_back(from);
    second_names.push_back(to);
  }
  const Waiting waiting("debug compare");
  const TemporaryFolder folder;
  CompileSettings settings = c.compile;  // the files define the shapes
  settings.input_shape.clear();
  settings.batch_size = 0;
  settings.batch_axis = -1;
  const NamedTensors first = run_on_backend(
      c.src_backend, marked(*source, first_names, folder.path() / "source.onnx"), inputs, settings);
  const NamedTensors second =
      run_on_backend(c.dst_backend, marked(*other, second_names, folder.path() / "other.onnx"),
                     other_inputs, settings);
  if (c.dump_data) {
    dump(c.dump_dir, first_names, "src", first);
    dump(c.dump_dir, second_names, "dst", second);
  }
  return report(c, pairs, first, second) ? 0 : 1;
}

void add_debug_compare(Command& debug, std::function<int()>& action) {
  auto c = std::make_shared<Comparison>();
  Command* a = debug.add_command(
      "compare", "Compare the tensors of two models for the same inputs; exit 1 if shapes differ");
  const auto backend = [](const std::string& word) -> std::string {
    if (word == "tensorflow")
      return "TensorFlow models must be converted to ONNX first: poprt --framework tensorflow";
    return one_of({"onnxruntime", "poprt"})(word);
  };
  a->add_option("--src_model,--model", c->src_model, "Source model (.onnx)")->required();
  a->add_option("--src_backend", c->src_backend, "poprt, or onnxruntime (a Python package)")
      ->check(backend)
      ->capture_default_str();
  a->add_option("--dst_model", c->dst_model, "The model to compare with it (.onnx)")->required();
  a->add_option("--dst_backend", c->dst_backend, "The same for the other model")
      ->check(backend)
      ->capture_default_str();
  a->add_option(
       "--compare_method", c->methods,
       "rel (the largest error as a fraction of the largest value), mse, rmse, mae, mape, r2; "
       "separated by commas")
      ->capture_default_str();
  a->add_option("--input_data", c->input_data,
                "NAME=zeros, ones, rand or FILE.npy, for each input of the source")
      ->many();
  a->add_option("--mark_outputs", c->mark_outputs,
                "Tensors to compare, or all for those that both models have [the outputs]");
  a->add_option("--mark_io_mapping", c->mapping,
                "SOURCE=OTHER: inputs and tensors with different names")
      ->many();
  a->add_flag("--dump_data", c->dump_data,
              "Write NAME_src.npy and NAME_dst.npy; '/' in a name becomes '_'");
  a->add_option("--dump_dir", c->dump_dir, "Folder for them")->capture_default_str();
  a->add_flag("--json", c->json, "Report as JSON");
  add_compile_options(*a, c->compile);
  a->callback([c, &action] { action = [c] { return compare(*c); }; });
}

// Sub-commands modify, extract and print.

struct Change {
  std::string model, output;
  std::vector<std::string> update, extract, inputs, outputs;
  bool sort = false;
};

// Parses "input_names=a,b" and "output_names=c" words.
void parse_extract(Change& c) {
  for (const std::string& word : c.extract) {
    const auto [key, names] = split_pair(word, "--extract");
    if (key == "input_names")
      c.inputs = names_in(names);
    else if (key == "output_names")
      c.outputs = names_in(names);
    else
      throw Usage(
          fmt::format("--extract: expected input_names=... output_names=..., found '{}'", word));
  }
}

std::vector<std::string> split_all(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words)
    for (std::string& name : names_in(word)) names.push_back(std::move(name));
  return names;
}

int modify(Change c) {
  parse_extract(c);
  const bool extracts = !c.extract.empty() || !c.outputs.empty() || !c.inputs.empty();
  if (!extracts && c.update.empty() && !c.sort)
    throw Usage("there is no change to make; give --update, --extract or --sort");
  if (extracts && c.outputs.empty()) throw Usage("output_names: expected at least one name");
  const auto graph = compiler::read_model({.path = c.model});  // sorts the graph
  if (!c.update.empty()) update_tensors(*graph, c.update);
  if (extracts) extract(*graph, split_all(c.inputs), split_all(c.outputs));
  save(*graph, c.model, c.output.empty() ? c.model + ".updated.onnx" : c.output, c.update);
  return 0;
}

void add_debug_modify(Command& debug, std::function<int()>& action) {
  auto c = std::make_shared<Change>();
  Command* a = debug.add_command("modify", "Write a changed model");
  a->add_option("--src_model,--model", c->model, "Model (.onnx)")->required();
  a->add_option("--update", c->update,
                "NAME=zeros, ones, rand or FILE.npy: new value of a weight, or of an input, which "
                "becomes a constant")
      ->many();
  a->add_option("--extract", c->extract,
                "input_names=A,B output_names=C: keep only the part between these tensors")
      ->expected(1, 2);
  a->add_flag("--sort", c->sort, "Put the nodes into topological order");
  a->add_option("--output_model", c->output, "The new model [MODEL.updated.onnx]");
  a->callback([c, &action] { action = [c] { return modify(*c); }; });
}

void add_debug_extract(Command& debug, std::function<int()>& action) {
  auto c = std::make_shared<Change>();
  Command* a = debug.add_command("extract", "Write a part of a model");
  a->add_option("--src_model,--model,--src_onnx", c->model, "Model (.onnx)")->required();
  a->add_option("--input_names", c->inputs, "Tensors that become the inputs")->many();
  a->add_option("--output_names", c->outputs, "Tensors that become the outputs")
      ->required()
      ->many();
  a->add_option("--output_model,--dst_onnx", c->output, "The new model [MODEL.updated.onnx]");
  a->callback([c, &action] { action = [c] { return modify(*c); }; });
}

void add_debug_print(Command& debug, std::function<int()>& action) {
  struct Print {
    std::string model, level = "model", name;
  };
  auto p = std::make_shared<Print>();
  Command* a = debug.add_command("print", "Print a model");
  a->add_option("--src_model,--model", p->model, "Model (.onnx)")->required();
  a->add_option("--level", p->level, "model, graph, node or tensor: the level of detail")
      ->check(one_of({"model", "graph", "node", "tensor"}))
      ->capture_default_str();
  a->add_option("--name", p->name,
                "Regular expression: print only the nodes, or else the tensors, with matching "
                "names, in full");
  a->callback([p, &action] {
    action = [p] {
      const auto graph = compiler::read_model({.path = p->model});
      try {
        ops::infer(*graph);
      } catch (const Error&) {
        // Types after an unknown operator are not printed.
      }
      const int level = p->level == "model"   ? 0
                        : p->level == "graph" ? 1
                        : p->level == "node"  ? 2
                                              : 3;
      fmt::print("{}", p->name.empty() ? describe(*graph, level) : describe_named(*graph, p->name));
      return 0;
    };
  });
}

}  // namespace

void add_debug(Command& app, std::function<int()>& action) {
  Command* debug = app.add_command(
      "debug", "Find numeric errors: compare, modify, extract and print ONNX models");
  debug->require_subcommand();
  add_debug_compare(*debug, action);
  add_debug_modify(*debug, action);
  add_debug_extract(*debug, action);
  add_debug_print(*debug, action);
}

}  // namespace poprt::cli
