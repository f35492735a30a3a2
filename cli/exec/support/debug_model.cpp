#include "exec/support/debug_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "compiler/static_inputs.h"
#include "model/run_input.h"
#include "ops/op.h"
#include "passes/pass.h"

namespace poprt::cli {
namespace {

std::vector<double> rand_values(size_t count, bool floats, const std::string& name) {
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> values(count);
  for (double& v : values) v = floats ? uniform(generator) : uniform(generator) < 0.5 ? 0.0 : 1.0;
  return values;
}

ir::Value* value_of(ir::Graph& graph, const std::string& name, const char* option) {
  ir::Value* value = graph.find(name);
  if (!value) throw Usage(fmt::format("{}: the model has no tensor '{}'", option, name));
  return value;
}

void check_once(const std::vector<std::string>& names, const char* option) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      throw Usage(fmt::format("{}: '{}' is given twice", option, *name));
}

}  // namespace

std::vector<std::string> input_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value* input : graph.inputs()) names.push_back(input->name());
  return names;
}

void fix_shapes(ir::Graph& graph, const CompileSettings& settings) {
  compiler::Options options;
  for (const NamedShape& n : parse_single_shapes(settings.input_shape))
    options.input_shape[n.name] = n.shape;
  options.batch_size = settings.batch_size;
  options.batch_axis = settings.axis();
  compiler::fix_shapes(graph, options);
}

Tensor data_of(const std::string& word, DType dtype, const Shape& shape, const std::string& what,
               const std::string& name) {
  if (!is_static(shape))
    throw Failure(
        fmt::format("{}: the shape {} has variable dimensions; fix them with --input_shape", what,
                    shape_string(shape)));
  const auto count = static_cast<size_t>(element_count(shape));
  std::vector<double> values;
  if (word == "zeros" || word == "ones") {
    values.assign(count, word == "ones" ? 1.0 : 0.0);
  } else if (word == "rand") {
    values = rand_values(count, is_float(dtype), name);
  } else {
    if (!std::filesystem::exists(word))
      throw Failure(fmt::format(
          "{}: expected zeros, ones, rand or a .npy file that exists, found '{}'", what, word));
    const Tensor file = inspector::read_tensor_file(word);
    if (static_cast<size_t>(file.count()) != count)
      throw Failure(fmt::format("{}: expected {} ({} elements), '{}' contains {}", what,
                                shape_string(shape), count, word, shape_string(file.shape())));
    if (file.dtype() == dtype) return file.reshaped(shape);
    values = file.to_doubles();
  }
  return inspector::tensor_of(dtype, shape, values);
}

void update_tensors(ir::Graph& graph, const std::vector<std::string>& words) {
  std::vector<std::pair<ir::Value*, Tensor>> made;
  for (const std::string& word : words) {
    const auto [name, data] = split_pair(word, "--update");
    ir::Value* value = value_of(graph, name, "--update");
    if (value->producer())
      throw Usage(
          fmt::format("--update: '{}' is computed by {}; only weights and inputs can be updated",
                      name, value->producer()->describe()));
    if (std::ranges::count(made, value, [](const auto& change) { return change.first; }) > 0)
      throw Usage(fmt::format("--update: '{}' is given twice", name));
    made.emplace_back(value, data_of(data, value->dtype(), value->shape(),
                                     fmt::format("--update {}", name), name));
  }
  for (auto& [value, tensor] : made) {
    if (value->is_constant()) {
      value->set_constant(std::move(tensor));
      continue;
    }
    const std::string name = value->name();
    ir::Value* constant = graph.add_constant(graph.fresh_name(name), std::move(tensor));
    graph.replace_all_uses(value, constant);
    graph.remove_input(value);
    graph.erase_value(value);
    graph.rename(constant, name);
  }
}

void extract(ir::Graph& graph, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs) {
  ops::infer(graph);
  std::vector<ir::Value*> ends, begins;
  check_once(outputs, "output_names");
  check_once(inputs, "input_names");
  for (const std::string& name : outputs) ends.push_back(value_of(graph, name, "output_names"));
  for (const std::string& name : inputs) {
    begins.push_back(value_of(graph, name, "input_names"));
    if (std::ranges::find(ends, begins.back()) != ends.end())
      throw Usage(fmt::format("'{}' cannot be both an input and an output of the part", name));
  }
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (ir::Value* value : ends) graph.add_output(value);
  for (size_t i = 0; i < begins.size(); i++) {
    if (graph.is_input(begins[i])) continue;
    ir::Value* fresh = graph.add_input(graph.fresh_name(inputs[i]), begins[i]->type);
    graph.replace_all_uses(begins[i], fresh);
    graph.rename(begins[i], graph.fresh_name(inputs[i] + "_made"));
    graph.rename(fresh, inputs[i]);
  }
  passes::run_passes(graph, std::vector{&passes::pass_of("eliminate_deadend"),
                                        &passes::pass_of("eliminate_unused_initializer")});
  for (ir::Value* value : std::vector(graph.inputs()))
    if (value->uses().empty() && !graph.is_output(value)) {
      if (std::ranges::find(inputs, value->name()) != inputs.end())
        throw Usage(fmt::format("input_names: no output needs '{}'", value->name()));
      graph.remove_input(value);
      graph.erase_value(value);
    }
}

}  // namespace poprt::cli
