#include "exec/values.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "compiler/compiler.h"
#include "compiler/fix_shapes.h"
#include "compiler/flow/specialize.h"
#include "exec/tensors.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "onnx/tensor_io.h"

namespace poprt::cli {
namespace {

struct Values {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, int64_t> lengths;  // of sequences given whole
};

std::set<std::string> containers_of(const ir::Graph& model) {
  std::set<std::string> names;
  for (const ir::Node* n : model.nodes())
    if (n->is("ContainerInput", "poprt")) names.insert(n->output()->name());
  return names;
}

Tensor tensor_of(Array a) {
  if (a.dtype == POPRT_DTYPE_STRING) return Tensor::strings(a.shape, std::move(a.strings));
  Tensor t = Tensor::zeros(static_cast<DType>(a.dtype), a.shape);
  if (!a.data.empty()) std::memcpy(t.mutable_data(), a.data.data(), a.data.size());
  return t;
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
    if (given.sequence) values.lengths[given.name] = static_cast<int64_t>(given.arrays.size());
    for (size_t i = 0; i < given.arrays.size(); i++) {
      Array a = std::move(given.arrays[i]);
      for (const ir::Value* v : model.inputs())
        if (v->name() == given.name)
          a = from_bits(std::move(a), static_cast<poprt_dtype>(v->dtype()), given.path);
      values.tensors[given.array_name(i)] = tensor_of(std::move(a));
    }
  }
  return values;
}

// A model in a file that goes away with this object.
class TemporaryModel {
 public:
  explicit TemporaryModel(const ir::Graph& graph) {
    std::string name = (std::filesystem::temp_directory_path() / "poprt-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Failure(fmt::format("cannot make a folder '{}'", name));
    folder_ = name;
    onnx::export_file(graph, path());
  }
  ~TemporaryModel() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  std::string path() const { return (folder_ / "model.onnx").string(); }

 private:
  std::filesystem::path folder_;
};

PreparedModel prepare(const ir::Graph& model, const Values& values, CompileSettings& settings,
                      int level) {
  PreparedModel prepared;
  compiler::Options options;
  for (const NamedShape& shape : parse_shapes(settings.input_shape))
    options.input_shape[shape.name] = shape.shape;
  for (const auto& [name, t] : values.tensors) options.input_shape[name] = t.shape();
  options.input_length = values.lengths;
  prepared.containers = containers_of(model);
  options.batch_size = settings.batch_size;
  options.batch_axis = settings.batch_axis;
  const auto graph = model.clone();
  compiler::expand_containers(*graph, options);
  prepared.folded = compiler::fold_inputs(*graph, values.tensors, level);
  for (const std::string& name : prepared.folded) options.input_shape.erase(name);
  compiler::fix_shapes(*graph, options);
  // Text is computed here; the rest of such a model is compiled as what is left.
  std::map<std::string, Tensor> texts;
  compiler::Options for_text;
  for_text.constant_outputs = &texts;
  for_text.keep_onnx = true;
  const auto converted = graph->clone();
  compiler::convert(*converted, for_text);
  for (const auto& [name, t] : texts)
    prepared.texts.push_back({name, t.shape(), t.string_values()});
  if (converted->outputs().empty()) return prepared;
  const TemporaryModel file(texts.empty() ? *graph : *converted);
  CompileSettings rest = settings;
  rest.input_shape.clear();
  rest.batch_size = 0;
  rest.batch_axis = -1;
  prepared.executable = load_model(file.path(), rest);
  return prepared;
}

// Whether a word is about an input that the executable has not.
bool gives_others(const poprt_executable* executable, const std::vector<std::string>& words,
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

bool PreparedModel::holds(const std::string& name) const {
  if (std::find(folded.begin(), folded.end(), name) != folded.end()) return true;
  return containers.contains(name.substr(0, name.find('[')));
}

PreparedModel load_with_values(const std::string& path, CompileSettings& settings,
                               const std::vector<std::string>& words,
                               const std::vector<std::string>& pb_words) {
  PreparedModel prepared;
  const bool given = !words.empty() || !pb_words.empty();
  try {
    prepared.executable = load_model(path, settings);
    if (path.ends_with(".popef") || !gives_others(prepared.executable.get(), words, pb_words))
      return prepared;
    const auto model = onnx::import_file(path);
    if (containers_of(*model).empty()) return prepared;
    // An optional was taken for absent.
    return prepare(*model, read_values(*model, words, pb_words), settings, 0);
  } catch (const Usage&) {
    throw;
  } catch (const Failure&) {
    if (path.ends_with(".popef") || !given) throw;
    const auto first = std::current_exception();
    std::unique_ptr<ir::Graph> model;
    try {
      model = onnx::import_file(path);
    } catch (const std::exception&) {
      std::rethrow_exception(first);
    }
    const Values values = read_values(*model, words, pb_words);
    for (int level = 0; level < compiler::kFoldLevels; level++) {
      try {
        return prepare(*model, values, settings, level);
      } catch (const Error& e) {
        // A value that is no good: knowing more of them does not help.
        if (e.code() == ErrorCode::data_loss || e.code() == ErrorCode::failed_precondition) throw;
      } catch (const std::exception&) {
      }
    }
    std::rethrow_exception(first);
  }
}

Array cropped(const std::vector<const poprt_anchor*>& anchors,
              const std::vector<AnchorMemory>& memory, size_t i) {
  Array out = to_bits(poprt_anchor_dtype(anchors[i]), shape_of(anchors[i]), memory[i].data(),
                      memory[i].bytes());
  const std::vector<int64_t> bound = out.shape;
  const std::string companion = poprt_anchor_name(anchors[i]) + std::string(compiler::kShapeSuffix);
  for (size_t k = 0; k < anchors.size(); k++) {
    if (poprt_anchor_name(anchors[k]) != companion ||
        memory[k].bytes() != bound.size() * sizeof(int64_t))
      continue;
    std::memcpy(out.shape.data(), memory[k].data(), memory[k].bytes());
    for (size_t d = 0; d < bound.size(); d++)
      out.shape[d] = std::clamp<int64_t>(out.shape[d], 0, bound[d]);
  }
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

}  // namespace poprt::cli
