#include "serving/served_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace poprt::serving {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::pair<poprt_dtype, const char*>, 13> kDatatypes = {{
    {POPRT_DTYPE_BOOL, "BOOL"},
    {POPRT_DTYPE_U8, "UINT8"},
    {POPRT_DTYPE_U16, "UINT16"},
    {POPRT_DTYPE_U32, "UINT32"},
    {POPRT_DTYPE_U64, "UINT64"},
    {POPRT_DTYPE_S8, "INT8"},
    {POPRT_DTYPE_S16, "INT16"},
    {POPRT_DTYPE_S32, "INT32"},
    {POPRT_DTYPE_S64, "INT64"},
    {POPRT_DTYPE_F16, "FP16"},
    {POPRT_DTYPE_F32, "FP32"},
    {POPRT_DTYPE_F64, "FP64"},
    {POPRT_DTYPE_BF16, "BF16"},
}};

// The blob that describes several models or shapes (core/runtime/session/variants.h).
constexpr const char* kVariantsBlob = "poprt.branches";
// The input of such an executable that selects one of them (core/program/link.h).
constexpr const char* kVariantInputs[] = {"index", "poprt.bucket"};
// The blob of a generator (core/compiler/generation.h).
constexpr const char* kGenerationBlob = "poprt.generation";
// The blob with the ONNX model (core/runtime/session/model_source.h).
constexpr const char* kSourceBlob = "poprt.source";
// The ending of the output that contains the real size of another one.
constexpr std::string_view kRealShape = ":shape";

// The opaque blob with the name, or null.
const poprt_popef_blob* find_blob(const poprt_popef_model* model, std::string_view name) {
  const size_t count = poprt_popef_model_count(model, POPRT_POPEF_OPAQUE);
  for (size_t i = 0; i < count; i++) {
    const poprt_popef_blob* blob = poprt_popef_model_blob(model, POPRT_POPEF_OPAQUE, i);
    poprt_popef_blob_info info = {};
    info.struct_size = sizeof info;
    check(poprt_popef_blob_get_info(blob, &info));
    if (info.name && name == info.name) return blob;
  }
  return nullptr;
}

PopefModel popef_model(const poprt_executable* executable) {
  poprt_popef_model* opened = nullptr;
  check(poprt_executable_popef_model(executable, &opened));
  return PopefModel(opened);
}

bool has_blob(const poprt_executable* executable, std::string_view name) {
  return find_blob(popef_model(executable).get(), name) != nullptr;
}

std::string opaque_blob(const poprt_executable* executable, std::string_view name) {
  const PopefModel model = popef_model(executable);
  if (const poprt_popef_blob* blob = find_blob(model.get(), name)) {
    poprt_popef_payload* mapped = nullptr;
    check(poprt_popef_blob_map(blob, &mapped));
    const Payload payload(mapped);
    return {static_cast<const char*>(poprt_popef_payload_data(mapped)),
            poprt_popef_payload_size(mapped)};
  }
  return {};
}

// The blob kVariantsBlob, or "". An executable without an input that selects a variant has none.
// The library would make a PopEF copy of one that was compiled in memory.
std::string variants_of(const poprt_executable* executable) {
  for (size_t i = 0; i < poprt_executable_input_count(executable); i++)
    if (std::ranges::count(kVariantInputs, std::string_view(poprt_anchor_name(
                                               poprt_executable_input(executable, i)))))
      return opaque_blob(executable, kVariantsBlob);
  return {};
}

// Returns the parsed result of poprt_runner_open_dimensions.
Json dimensions_of(const poprt_runner* runner) {
  poprt_string* text = nullptr;
  check(poprt_runner_open_dimensions(runner, &text));
  return Json::parse(take(text));
}

std::vector<std::pair<std::string, std::string>> read_name_map(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  const Json json = Json::parse(file, nullptr, false);
  std::vector<std::pair<std::string, std::string>> names;
  bool valid = json.is_object();
  if (valid)
    for (const auto& [anchor, name] : json.items()) {
      valid = valid && name.is_string();
      if (valid) names.emplace_back(anchor, name.get<std::string>());
    }
  if (!valid)
    throw Error(POPRT_INVALID_ARGUMENT,
                "'" + path + "' is not a JSON object whose values are names");
  return names;
}

Executable open_popef(const std::vector<std::string>& files) {
  poprt_executable* executable = nullptr;
  std::vector<const char*> paths;
  for (const std::string& file : files) paths.push_back(file.c_str());
  try {
    check(poprt_executable_open_files(paths.data(), paths.size(), nullptr, &executable));
  } catch (const Error& e) {
    if (files.size() == 1) throw;
    throw Error(e.code(), std::string(e.what()) + "; the *.popef files of '" +
                              fs::path(files[0]).parent_path().string() +
                              "' must be the parts of one model");
  }
  return Executable(executable);
}

// Opens a PopEF file that contains its source, so that new shapes are compiled on demand.
Executable open_with_source(const std::string& file) {
  poprt_executable* executable = nullptr;
  poprt_compile_options compile = {};
  compile.struct_size = sizeof compile;
  compile.shapes = "on_demand";
  check(poprt_executable_load(file.c_str(), &compile, &executable));
  return Executable(executable);
}

// The options for the compiler, which refer to `options`. `by_name` keeps the list of them.
poprt_compile_options compile_options_of(const LoadOptions& options,
                                         std::vector<poprt_option>& by_name) {
  poprt_compile_options compile = {};
  compile.struct_size = sizeof compile;
  for (const auto& [name, value] : options.compile_options)
    if (name == "shapes")  // a field that is no option by name, because command poprt lacks it
      compile.shapes = value.c_str();
    else
      by_name.push_back({name.c_str(), value.c_str()});
  compile.options = by_name.data();
  compile.option_count = by_name.size();
  return compile;
}

Executable load_onnx(const std::string& file, const LoadOptions& options) {
  poprt_executable* executable = nullptr;
  std::vector<poprt_option> by_name;
  const poprt_compile_options compile = compile_options_of(options, by_name);
  check(poprt_executable_load(file.c_str(), &compile, &executable));
  return Executable(executable);
}

// Opens or compiles the files. If a PopEF file contains its source, and option `shapes` is not
// given, the source is optional: if it cannot be used, `note` becomes the reason.
Executable open_files(const std::vector<std::string>& files, const LoadOptions& options,
                      std::string& note) {
  if (files.size() == 1 && fs::path(files[0]).extension() == ".onnx")
    return load_onnx(files[0], options);
  Executable opened = open_popef(files);
  const std::string shapes = option_of(options, "shapes");
  if (!options.compile || files.size() != 1 || (!shapes.empty() && shapes != "on_demand"))
    return opened;
  if (shapes.empty() &&
      (!has_blob(opened.get(), kSourceBlob) || has_blob(opened.get(), kVariantsBlob)))
    return opened;
  try {
    return open_with_source(files[0]);
  } catch (const Error& e) {
    if (!shapes.empty()) throw;
    note = std::string("its shapes are those of the file: ") + e.what();
  }
  return opened;
}

TensorSpec spec_of(const poprt_anchor* anchor) {
  TensorSpec spec;
  spec.name = spec.anchor = poprt_anchor_name(anchor);
  spec.dtype = poprt_anchor_dtype(anchor);
  const int64_t* shape = poprt_anchor_shape(anchor);
  spec.shape.assign(shape, shape + poprt_anchor_rank(anchor));
  spec.limit = spec.shape;
  if (!datatype_name(spec.dtype))
    throw Error(POPRT_UNIMPLEMENTED, "'" + spec.anchor + "' has type " +
                                         poprt_dtype_name(spec.dtype) +
                                         ", which the inference protocols do not have");
  return spec;
}

void rename(std::vector<TensorSpec>& specs, const std::string& anchor, const std::string& name,
            bool& found) {
  for (TensorSpec& spec : specs)
    if (spec.anchor == anchor) spec.name = name, found = true;
}

// Replaces every size that varies by -1. `entries` contains an object for each anchor. It is a part
// of the blob kVariantsBlob.
void open_dimensions(TensorSpec& spec, const Json& entries) {
  const auto entry = entries.find(spec.anchor);
  if (entry == entries.end()) return;
  const Json& shape = entry->at("shape");
  for (size_t d = 0; d < spec.shape.size() && d < shape.size(); d++)
    if (!shape[d].is_null()) spec.shape[d] = -1;
}

// The name of the dimension that dimension 0 of the anchor follows, or "".
std::string row_dimension(const TensorSpec& spec, const Json& entries) {
  const auto entry = entries.find(spec.anchor);
  if (entry == entries.end() || entry->at("shape").empty()) return {};
  const Json& first = entry->at("shape")[0];
  return first.is_string() ? first.get<std::string>() : std::string();
}

}  // namespace

bool is_generator(const std::string& popef_file) {
  poprt_executable* executable = nullptr;
  check(poprt_executable_open(popef_file.c_str(), &executable));
  const Executable owner(executable);
  return !opaque_blob(executable, kGenerationBlob).empty();
}

void require_tokens(poprt_generator* generator) {
  poprt_sequence* made = nullptr;
  check(poprt_generator_new_sequence(generator, &made));
  const Sequence sequence(made);
  poprt_error* const refused = poprt_sequence_append_feature(made, 0);
  poprt_error_free(refused);
  if (!refused)
    throw Error(
        POPRT_UNIMPLEMENTED,
        "the encoder of the model takes features, such as those of audio, and requests have "
        "tokens; use poprt_exec generate --features, or the library");
}

const char* datatype_name(poprt_dtype dtype) {
  for (const auto& [type, name] : kDatatypes)
    if (type == dtype) return name;
  return nullptr;
}

poprt_dtype datatype_of(const std::string& name) {
  for (const auto& [type, text] : kDatatypes)
    if (name == text) return type;
  return POPRT_DTYPE_UNDEFINED;
}

std::string option_of(const LoadOptions& options, const std::string& name) {
  for (const auto& [given, value] : options.compile_options)
    if (given == name) return value;
  return {};
}

void check_compile_options(const LoadOptions& options) {
  std::vector<poprt_option> by_name;
  poprt_compile_options compile = compile_options_of(options, by_name);
  // A compiler does not have this value, which is for functions that load a model.
  if (compile.shapes && std::string_view(compile.shapes) == "on_demand") compile.shapes = nullptr;
  poprt_compiler* made = nullptr;
  check(poprt_compiler_create(&compile, &made));
  poprt_compiler_free(made);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(size);
  }
  return text + "]";
}

size_t tensor_bytes(poprt_dtype dtype, const std::vector<int64_t>& shape) {
  size_t bytes = static_cast<size_t>(poprt_dtype_bits(dtype)) / 8;
  for (const int64_t size : shape) {
    size_t product = 0;
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &product))
      throw Error(POPRT_INVALID_ARGUMENT, "shape " + shape_text(shape) + " is not possible");
    bytes = product;
  }
  return bytes;
}

std::vector<std::string> find_files(const std::string& folder, const LoadOptions& options) {
  const auto exists = [&](const std::string& name) { return fs::exists(fs::path(folder) / name); };
  // Triton sets the name model.BACKEND itself if there is no configuration.
  const bool chosen =
      !options.file.empty() && (options.file != "model.poprt" || exists(options.file));
  if (chosen) {
    if (fs::path(options.file).filename() != options.file || !exists(options.file))
      throw Error(POPRT_NOT_FOUND, "'" + folder + "' has no file '" + options.file + "'");
    if (fs::path(options.file).extension() == ".onnx" && !options.compile)
      throw Error(
          POPRT_FAILED_PRECONDITION,
          "'" + options.file +
              "' is an ONNX model, and compiling is not allowed; compile it before with poprt -i " +
              options.file + " -o NAME.popef, or allow it (poprt_serve --compile)");
    return {(fs::path(folder) / options.file).string()};
  }
  std::vector<std::string> popef, onnx;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".popef") popef.push_back(entry.path().string());
    if (entry.path().extension() == ".onnx") onnx.push_back(entry.path().string());
  }
  std::sort(popef.begin(), popef.end());
  if (!popef.empty()) return popef;
  if (exists("model.poprt")) return {(fs::path(folder) / "model.poprt").string()};
  if (options.compile && exists("model.onnx")) return {(fs::path(folder) / "model.onnx").string()};
  if (options.compile && onnx.size() == 1) return onnx;
  throw Error(POPRT_NOT_FOUND,
              "'" + folder + "' has no *.popef and no model.poprt" +
                  (options.compile ? " and not one *.onnx"
                   : onnx.empty()  ? ""
                                   : ", and compiling its ONNX model is not allowed"));
}

ServedModel::ServedModel(const std::string& folder, const LoadOptions& options) {
  executable_ = open_files(find_files(folder, options), options, note_);
  describe(read_name_map((fs::path(folder) / "name_map.json").string()));
}

ServedModel::ServedModel(Executable executable,
                         const std::vector<std::pair<std::string, std::string>>& names)
    : executable_(std::move(executable)) {
  describe(names);
}

void ServedModel::describe(const std::vector<std::pair<std::string, std::string>>& names) {
  // A runner states which inputs have values in the file, and does not list the inputs that it sets
  // itself, such as the number of the graph.
  poprt_runner_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  poprt_runner* made = nullptr;
  check(poprt_runner_create(executable_.get(), &options, &made));
  const Runner runner(made);
  const Json dimensions = dimensions_of(made);
  const bool on_demand = dimensions.at("on_demand").get<bool>();
  const std::string variants = on_demand ? std::string() : variants_of(executable_.get());
  if (!variants.empty()) {
    const Json json = Json::parse(variants, nullptr, false);
    kind_ = json.is_object() && json.value("kind", "") == "graphs" ? Kind::graphs : Kind::shapes;
  }
  describe_anchors(made);
  if (kind_ == Kind::shapes) describe_shapes(variants);
  describe_batch();
  if (on_demand) describe_open(dimensions);
  for (const auto& [anchor, name] : names) {
    bool found = false;
    rename(inputs_, anchor, name, found);
    rename(outputs_, anchor, name, found);
    if (!found)
      throw Error(POPRT_INVALID_ARGUMENT,
                  "name_map.json: the model has no tensor '" + anchor + "'");
  }
}

void ServedModel::describe_anchors(const poprt_runner* runner) {
  for (size_t i = 0; i < poprt_runner_input_count(runner); i++)
    if (!poprt_runner_input_has_data(runner, i))
      inputs_.push_back(spec_of(poprt_runner_input(runner, i)));
  std::set<std::string> sized;
  for (size_t i = 0; i < poprt_runner_output_count(runner); i++) {
    const std::string name = poprt_anchor_name(poprt_runner_output(runner, i));
    if (name.ends_with(kRealShape)) sized.insert(name.substr(0, name.size() - kRealShape.size()));
  }
  for (size_t i = 0; i < poprt_runner_output_count(runner); i++) {
    TensorSpec spec = spec_of(poprt_runner_output(runner, i));
    if (sized.contains(spec.anchor)) {
      std::fill(spec.shape.begin(), spec.shape.end(), -1);
      if (kind_ == Kind::fixed) kind_ = Kind::cropped;
    } else if (spec.anchor.ends_with(kRealShape)) {
      continue;
    }
    outputs_.push_back(std::move(spec));
  }
}

// Marks the sizes that requests decide with -1 and kAnySize.
void ServedModel::describe_open(const Json& open) {
  kind_ = Kind::open;
  for (const TensorSpec& spec : inputs_)
    if (std::ranges::find(spec.shape, -1) == spec.shape.end()) ahead_.push_back(spec.shape);
  if (ahead_.size() != inputs_.size()) {
    ahead_.clear();
    batch_rows_ = 0;
    refusal_ = "its shapes are compiled on demand, and none of them is compiled ahead";
  }
  std::set<std::string> rows;
  for (const bool output : {false, true})
    for (TensorSpec& spec : output ? outputs_ : inputs_) {
      const Json& dimensions = open.at(output ? "outputs" : "inputs").at(spec.anchor);
      rows.insert(dimensions.empty() || !dimensions[0].is_string()
                      ? std::string()
                      : dimensions[0].get<std::string>());
      for (size_t d = 0; d < spec.shape.size(); d++) {
        if (dimensions[d].is_number()) {  // also of an output with other sizes that depend on data
          spec.shape[d] = dimensions[d].get<int64_t>();
          continue;
        }
        spec.shape[d] = -1;
        spec.limit[d] = kAnySize;
        knows_outputs_ = knows_outputs_ && dimensions[d].is_string();
      }
    }
  if (rows.size() == 1 && !rows.begin()->empty()) shared_rows_ = kAnySize;
}

bool ServedModel::fits_batch(size_t index, const std::vector<int64_t>& shape) const {
  const std::vector<int64_t>& ahead = ahead_.at(index);
  return batch_rows_ > 0 && shape.size() == ahead.size() && shape[0] > 0 &&
         std::equal(shape.begin() + 1, shape.end(), ahead.begin() + 1);
}

std::string ServedModel::warm_up_text(const std::vector<std::string>& lines) const {
  std::string text;
  for (const std::string& line : lines) {
    const size_t equal = line.rfind('=');
    std::string name = line.substr(0, equal);
    for (const TensorSpec& spec : inputs_)
      if (spec.name == name) {
        name = spec.anchor;
        break;
      }
    text += (text.empty() ? "" : "\n") + name +
            (equal == std::string::npos ? std::string() : line.substr(equal));
  }
  return text;
}

void ServedModel::describe_shapes(const std::string& variants) {
  const Json json = Json::parse(variants, nullptr, false);
  if (!json.is_object() || !json.contains("inputs") || !json.contains("outputs"))
    throw Error(POPRT_DATA_LOSS, std::string("opaque blob '") + kVariantsBlob + "' is damaged");
  std::set<std::string> rows;
  for (TensorSpec& spec : inputs_) {
    open_dimensions(spec, json["inputs"]);
    rows.insert(row_dimension(spec, json["inputs"]));
  }
  for (TensorSpec& spec : outputs_) {
    open_dimensions(spec, json["outputs"]);
    rows.insert(row_dimension(spec, json["outputs"]));
  }
  if (rows.size() == 1 && !rows.begin()->empty() && !inputs_.empty())
    shared_rows_ = inputs_[0].limit[0];
}

void ServedModel::describe_batch() {
  if (kind_ == Kind::cropped) {
    refusal_ = "an output has a size that depends on data";
    return;
  }
  if (kind_ != Kind::fixed) {
    refusal_ = kind_ == Kind::graphs ? "the file contains several models"
                                     : "the model is compiled at several shapes";
    return;
  }
  if (inputs_.empty()) {
    refusal_ = "the model has no inputs";
    return;
  }
  int64_t rows = 0;
  for (const auto* specs : {&inputs_, &outputs_})
    for (const TensorSpec& spec : *specs) {
      const int64_t size = spec.shape.empty() ? 0 : spec.shape[0];
      if (size == 0 || (rows != 0 && size != rows)) {
        refusal_ = "'" + spec.anchor + "' has shape " + shape_text(spec.shape) +
                   (rows ? ", and '" + inputs_[0].anchor + "' has " + std::to_string(rows) + " rows"
                         : ", which has no rows");
        return;
      }
      rows = size;
    }
  poprt_string* reason = nullptr;
  try {
    check(poprt_executable_batching_refusal(executable_.get(), 0, &reason));
    refusal_ = take(reason);
  } catch (const Error& e) {
    refusal_ = e.what();
  }
  if (refusal_.empty()) batch_rows_ = rows;
}

Runner ServedModel::make_runner(const poprt_runner_options& options) const {
  poprt_runner* runner = nullptr;
  check(kind_ == Kind::graphs ? poprt_fusion_runner_create(executable_.get(), &options, &runner)
                              : poprt_runner_create(executable_.get(), &options, &runner));
  return Runner(runner);
}

}  // namespace poprt::serving
