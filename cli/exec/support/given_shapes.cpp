#include "exec/support/given_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/shape.h"
#include "common/arguments.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

std::vector<std::string> names_of_inputs(const ir::Graph& model) {
  std::vector<std::string> names;
  for (const ir::Value* v : model.inputs())
    if (!v->is_constant()) names.push_back(v->name());
  for (const ir::Node* n : model.nodes())
    if (n->is("ContainerInput", "poprt")) names.push_back(n->output()->name());
  return names;
}

}  // namespace

void check_given_names(const ir::Graph& model, const std::vector<std::string>& words) {
  const std::vector<std::string> names = names_of_inputs(model);
  for (const std::string& word : words) {
    const size_t end = word.find('=');
    if (end == 0 || end == word.npos) continue;  // is reported with its option
    const std::string name = word.substr(0, end);
    const ir::Value* value = model.find(name);
    if (std::ranges::count(names, name) > 0 || (value && model.is_input(value)) ||
        std::ranges::count(names, name.substr(0, name.find('['))) > 0)
      continue;
    throw Failure(fmt::format("the model has no input '{}'; it has: {}", printable(name),
                              printable(fmt::format("{}", fmt::join(names, ", ")))));
  }
}

void shapes_from_files(const ir::Graph& model, const std::vector<std::string>& words,
                       CompileSettings& settings) {
  if (settings.batch_size > 0 || words.empty()) return;
  const auto named = parse_shapes(settings.input_shape);
  for (const std::string& word : words) {
    if (word.find('=') == word.npos) continue;  // is reported with its option
    const auto [name, path] = split_pair(word, "--input");
    const ir::Value* v = model.find(name);
    const auto fixed = std::ranges::any_of(
        named, [&](const NamedShape& n) { return word.starts_with(n.name + "="); });
    if (!v || !model.is_input(v) || v->is_constant() || v->type.is_static() || fixed ||
        path.ends_with(".npz") || path.ends_with(".none"))
      continue;
    const std::vector<int64_t> found = read_tensor(path).shape;
    if (v->type.has_shape &&
        !std::ranges::equal(v->type.shape, found, [](int64_t declared, int64_t size) {
          return declared == kUnknownDim || declared == size;
        }))
      throw Failure(fmt::format("input '{}' is {}, but '{}' has shape [{}]", name,
                                ir::type_string(v->type), path, fmt::join(found, ",")));
    settings.input_shape.push_back(fmt::format(
        "{}={}", name, found.empty() ? "[]" : fmt::format("{}", fmt::join(found, ","))));
  }
}

}  // namespace poprt::cli
