#include "exec/support/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "common/temporary_folder.h"
#include "compiler/driver.h"
#include "compiler/flow/specialize.h"
#include "compiler/static_inputs.h"
#include "exec/support/given_shapes.h"
#include "exec/support/tensors.h"
#include "onnx/export.h"
#include "onnx/tensor_io.h"

namespace poprt::cli {
namespace {

struct Values {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, int64_t> lengths;  // lengths of complete sequences
};

std::set<std::string> containers_of(const ir::Graph& model) {
  std::set<std::string> names;
  for (const ir::Node* n : model.nodes())
    if (n->is("ContainerInput", "poprt")) names.insert(n->output()->name());
  return names;
}

Values read_values(const ir::Graph& model, const std::vector<std::string>& words,
                   const std::vector<std::string>& pb_words) {
  Values values;
  for (const std::string& word : pb_words) {
    const auto [name, path] = split_pair(word, "--input-pb");
    values.tensors[name] = onnx::read_tensor_pb(path);
  }
  for (const std::string& word : words) {
    GivenInput given = read_given(word, "--input");
    for (const ir::Value* v : model.inputs())
      if (given.sequence && v->name() == given.name)
        refuse_archive(given, ir::type_string(v->type));
    if (given.sequence) values.lengths[given.name] = static_cast<int64_t>(given.arrays.size());
    for (size_t i = 0; i < given.arrays.size(); i++) {
      Array a = std::move(given.arrays[i]);
      for (const ir::Value* v : model.inputs())
        if (v->name() == given.name)
          a = as_stored_type(std::move(a), static_cast<poprt_dtype>(v->dtype()), given.path);
      values.tensors[given.array_name(i)] = tensor_of(std::move(a));
    }
  }
  return values;
}

// Values that become constants must have the declared type and shape of their input.
void check_shapes(const ir::Graph& model, const Values& values) {
  for (const ir::Value* v : model.inputs()) {
    const auto given = values.tensors.find(v->name());
    if (given == values.tensors.end() || !v->type.has_shape) continue;
    const Shape &declared = v->type.shape, &found = given->second.shape();
    bool agree = declared.size() == found.size();
    for (size_t d = 0; agree && d < found.size(); d++)
      agree = declared[d] == kUnknownDim || declared[d] == found[d];
    if (!agree)
      throw Failure(fmt::format("input '{}' is {}, but its data has shape {}", v->name(),
                                ir::type_string(v->type), shape_string(found)));
  }
}

compiler::Options options_of(const CompileSettings& settings, const Values& values) {
  compiler::Options options;
  for (const NamedShape& shape : parse_single_shapes(settings.input_shape))
    options.input_shape[shape.name] = shape.shape;
  for (const auto& [name, t] : values.tensors) options.input_shape[name] = t.shape();
  options.input_length = values.lengths;
  options.batch_size = settings.batch_size;
  options.batch_axis = settings.axis();
  options.strict = settings.strict;
  return options;
}

// Adds the words "word 0", "word 1", ... as elements of each text input that has a known shape of
// at most 2^20 elements and no value. Returns whether it added any.
bool add_random_text(const ir::Graph& model, const CompileSettings& settings, Values& values) {
  constexpr int64_t kMaxWords = 1 << 20;
  const auto graph = model.clone();
  try {
    const compiler::Options options = options_of(settings, values);
    compiler::expand_containers(*graph, options);
    compiler::fix_shapes(*graph, options);
  } catch (const Error&) {
    return false;  // the compiler has already reported it
  }
  bool made = false;
  for (const ir::Value* v : graph->inputs()) {
    if (v->dtype() != DType::string || !v->type.is_static() || values.tensors.contains(v->name()) ||
        element_count(v->shape()) > kMaxWords)
      continue;
    made = true;
    std::vector<std::string> words;
    for (int64_t i = 0; i < element_count(v->shape()); i++)
      words.push_back(fmt::format("word {}", i));
    values.tensors[v->name()] = Tensor::strings(v->shape(), std::move(words));
  }
  return made;
}

// Compiles a graph from memory, or through a temporary file if it is too large for one block of
// memory.
Executable compile_graph(const ir::Graph& graph, CompileSettings& settings) {
  std::string bytes;
  try {
    bytes = onnx::export_bytes(graph);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::resource_exhausted) throw;
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "model.onnx").string();
    onnx::export_file(graph, path);
    return load_model(path, settings);
  }
  poprt_compiler* compiler = nullptr;
  check(poprt_compiler_create(settings.get(), &compiler));
  const Compiler owner(compiler);
  poprt_executable* executable = nullptr;
  check(poprt_compiler_compile_bytes(compiler, bytes.data(), bytes.size(), nullptr, &executable));
  return Executable(executable);
}

PreparedModel prepare(const ir::Graph& model, const Values& values, CompileSettings& settings,
                      int level) {
  PreparedModel prepared;
  prepared.containers = containers_of(model);
  compiler::Options options = options_of(settings, values);
  const auto graph = model.clone();
  compiler::expand_containers(*graph, options);
  prepared.folded = compiler::fold_inputs(*graph, values.tensors, level);
  for (const std::string& name : prepared.folded) options.input_shape.erase(name);
  compiler::fix_shapes(*graph, options);
  // Text is computed here, and the rest of the model is compiled.
  std::map<std::string, Tensor> texts;
  compiler::DriverOptions for_text;
  for_text.constant_outputs = &texts;
  for_text.keep_onnx = true;
  for_text.strict = settings.strict;
  const auto converted = graph->clone();
  compiler::convert_model(*converted, for_text);
  for (const auto& [name, t] : texts)
    prepared.texts.push_back({name, t.shape(), t.string_values()});
  if (converted->outputs().empty()) return prepared;
  CompileSettings rest = settings;
  rest.input_shape.clear();
  rest.batch_size = 0;
  rest.batch_axis = -1;
  prepared.executable = compile_graph(texts.empty() ? *graph : *converted, rest);
  return prepared;
}

std::unique_ptr<ir::Graph> read_model(const std::string& path, const CompileSettings& settings) {
  return compiler::read_model({.path = path}, settings.allow_links, settings.strict);
}

// Whether a word is for an input that the executable does not have.
bool has_other_inputs(const poprt_executable* executable, const std::vector<std::string>& words,
                      const std::vector<std::string>& pb_words) {
  std::set<std::string> names;
  for (size_t i = 0; i < poprt_executable_input_count(executable); i++)
    names.insert(poprt_anchor_name(poprt_executable_input(executable, i)));
  for (const auto* list : {&words, &pb_words})
    for (const std::string& word : *list)
      if (!names.contains(word.substr(0, word.find('=')))) return true;
  return false;
}

}  // namespace

bool PreparedModel::has_folded_input(const std::string& name) const {
  if (std::find(folded.begin(), folded.end(), name) != folded.end()) return true;
  return containers.contains(name.substr(0, name.find('[')));
}

PreparedModel load_with_values(const std::string& path, CompileSettings& settings,
                               const GivenValues& given) {
  const auto& [words, pb_words, random] = given;
  PreparedModel prepared;
  try {
    prepared.executable = load_model(path, settings);
    if (path.ends_with(".popef") || !has_other_inputs(prepared.executable.get(), words, pb_words))
      return prepared;
    const auto model = read_model(path, settings);
    if (containers_of(*model).empty()) return prepared;
    // The compiler takes an optional without a value as absent, but the command line gives one.
    return prepare(*model, read_values(*model, words, pb_words), settings, 0);
  } catch (const Usage&) {
    throw;
  } catch (const Failure&) {
    if (path.ends_with(".popef") || (words.empty() && pb_words.empty() && !random)) throw;
    const auto first = std::current_exception();
    std::unique_ptr<ir::Graph> model;
    try {
      model = read_model(path, settings);
    } catch (const std::exception&) {
      std::rethrow_exception(first);
    }
    check_given_names(*model, words);
    check_given_names(*model, pb_words);
    Values values = read_values(*model, words, pb_words);
    check_shapes(*model, values);
    if (random && !add_random_text(*model, settings, values) && words.empty() && pb_words.empty())
      std::rethrow_exception(first);
    for (int level = 0; level < compiler::kFoldLevels; level++) {
      try {
        return prepare(*model, values, settings, level);
      } catch (const Error& e) {
        // If a value is invalid, folding more values does not help.
        if (e.code() == ErrorCode::data_loss || e.code() == ErrorCode::failed_precondition) throw;
      } catch (const std::exception&) {
      }
    }
    std::rethrow_exception(first);
  }
}

bool is_real_size(std::string_view name, poprt_dtype dtype, size_t bytes, std::string_view of,
                  size_t rank) {
  return name.size() == of.size() + compiler::kShapeSuffix.size() && name.starts_with(of) &&
         name.ends_with(compiler::kShapeSuffix) && dtype == POPRT_DTYPE_S64 &&
         bytes == rank * sizeof(int64_t);
}

Array cropped(Array out, const void* sizes) {
  const std::vector<int64_t> bound = out.shape;
  std::memcpy(out.shape.data(), sizes, bound.size() * sizeof(int64_t));
  for (size_t d = 0; d < bound.size(); d++)
    out.shape[d] = std::clamp<int64_t>(out.shape[d], 0, bound[d]);
  int64_t count = 1, all = 1;
  for (size_t d = 0; d < bound.size(); d++) {
    count *= out.shape[d];
    all *= bound[d];
  }
  if (count == all) return out;
  const std::vector<std::byte> whole = std::move(out.data);
  out.data.clear();
  const size_t size = whole.size() / static_cast<size_t>(all);
  std::vector<int64_t> at(bound.size(), 0);
  for (int64_t n = 0; n < count; n++) {
    int64_t from = 0;
    for (size_t d = 0; d < bound.size(); d++) from = from * bound[d] + at[d];
    const auto p = whole.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(from) * size);
    out.data.insert(out.data.end(), p, p + static_cast<std::ptrdiff_t>(size));
    for (size_t d = bound.size(); d-- > 0 && ++at[d] == out.shape[d];) at[d] = 0;
  }
  return out;
}

Array cropped(const std::vector<const poprt_anchor*>& anchors,
              const std::vector<AnchorMemory>& memory, size_t i) {
  Array whole = to_npy_type(poprt_anchor_dtype(anchors[i]), shape_of(anchors[i]), memory[i].data(),
                            memory[i].bytes());
  for (size_t k = 0; k < anchors.size(); k++)
    if (is_real_size(poprt_anchor_name(anchors[k]), poprt_anchor_dtype(anchors[k]),
                     memory[k].bytes(), poprt_anchor_name(anchors[i]), whole.shape.size()))
      return cropped(std::move(whole), memory[k].data());
  return whole;
}

}  // namespace poprt::cli
