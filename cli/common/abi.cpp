#include "common/abi.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "common/arguments.h"

namespace poprt::cli {

void check(poprt_error* error) {
  if (!error) return;
  std::string message = poprt_error_message(error);
  poprt_error_free(error);
  throw Failure(message);
}

void load_plugins(std::string_view paths) {
  while (!paths.empty()) {
    const size_t end = std::min(paths.find_first_of(",\n"), paths.size());
    const std::string path(paths.substr(0, end));
    paths.remove_prefix(std::min(end + 1, paths.size()));
    if (!path.empty()) check(poprt_plugin_load(path.c_str()));
  }
}

Executable load_model(const std::string& path, CompileSettings& settings) {
  poprt_executable* executable = nullptr;
  if (path.ends_with(".popef")) {
    if (settings.any_given())
      throw Usage(
          fmt::format("'{}' is already compiled; shapes, precision and passes can only be given "
                      "for ONNX models",
                      path));
    poprt_compile_options options = {};
    options.struct_size = sizeof(options);
    options.shapes = "on_demand";
    check(settings.on_demand ? poprt_executable_load(path.c_str(), &options, &executable)
                             : poprt_executable_open(path.c_str(), &executable));
  } else if (settings.on_demand) {
    throw Usage(fmt::format(
        "'{}': --on_demand is for a .popef file that was compiled with --embed_source", path));
  } else {
    poprt_compiler* compiler = nullptr;
    check(poprt_compiler_create(settings.get(), &compiler));
    const Compiler owner(compiler);
    settings.check_names(path);
    check(poprt_compiler_compile_file(compiler, path.c_str(), &executable));
  }
  return Executable(executable);
}

void require_no_generator(const poprt_executable* executable, const std::string& path) {
  if (!path.ends_with(".popef")) return;
  poprt_popef_model* model = nullptr;
  check(poprt_executable_popef_model(executable, &model));
  bool found = false;
  for (size_t i = 0; i < poprt_popef_model_count(model, POPRT_POPEF_OPAQUE); i++) {
    poprt_popef_blob_info info = {};
    info.struct_size = sizeof(info);
    check(poprt_popef_blob_get_info(poprt_popef_model_blob(model, POPRT_POPEF_OPAQUE, i), &info));
    found = found || (info.name && std::string_view(info.name) == "poprt.generation");
  }
  poprt_popef_model_free(model);
  if (found)
    throw Failure(
        fmt::format("'{}' is a file of poprt_exec generate --save; use poprt_exec "
                    "generate, or poprt_exec bench --generate",
                    path));
}

Runner make_runner(const poprt_executable* executable, const RunnerOptions& given) {
  poprt_runner_options options = {};
  options.struct_size = sizeof(options);
  options.threads = given.threads;
  options.profile = given.profile;
  options.numerics = given.numerics;
  options.load = given.load;
  options.execution_precision = given.execution_precision;
  options.verify = given.verify;
  poprt_runner* runner = nullptr;
  check(poprt_runner_create(executable, &options, &runner));
  return Runner(runner);
}

std::string anchor_type(const poprt_anchor* anchor) {
  std::string s = fmt::format("{}[", poprt_dtype_name(poprt_anchor_dtype(anchor)));
  for (size_t i = 0; i < poprt_anchor_rank(anchor); i++)
    s += fmt::format("{}{}", i ? "," : "", poprt_anchor_shape(anchor)[i]);
  return s + "]";
}

std::vector<const poprt_anchor*> inputs_of(const poprt_runner* runner) {
  std::vector<const poprt_anchor*> out;
  for (size_t i = 0; i < poprt_runner_input_count(runner); i++)
    out.push_back(poprt_runner_input(runner, i));
  return out;
}

std::vector<const poprt_anchor*> outputs_of(const poprt_runner* runner) {
  std::vector<const poprt_anchor*> out;
  for (size_t i = 0; i < poprt_runner_output_count(runner); i++)
    out.push_back(poprt_runner_output(runner, i));
  return out;
}

AnchorMemory::AnchorMemory(const poprt_anchor* anchor) : bytes_(poprt_anchor_bytes(anchor)) {
  const size_t room = (bytes_ + 63) / 64 * 64 + 64;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, room)));
  if (!data_)
    throw Failure(fmt::format("out of memory: {} bytes for '{}'", room, poprt_anchor_name(anchor)));
  std::memset(data_.get(), 0, room);
}

void AnchorMemory::FreeAligned::operator()(std::byte* p) const { std::free(p); }

// Options whose values are files of tensors.
constexpr std::string_view kFiles[] = {"--input", "--input-pb", "--output", "--reference"};

std::pair<std::string, std::string> split_pair(const std::string& word, const std::string& option) {
  const size_t at = word.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == word.size()) {
    const char* form = option == "--input_shape"            ? "NAME=d0,d1,..."
                       : std::ranges::count(kFiles, option) ? "NAME=FILE"
                                                            : "NAME=VALUE";
    throw Usage(fmt::format("{}: expected {}, found '{}'", option, form, word));
  }
  return {word.substr(0, at), word.substr(at + 1)};
}

std::vector<NamedShape> parse_shapes(const std::vector<std::string>& words) {
  std::vector<NamedShape> out;
  for (const std::string& word : words) {
    auto [name, dims] = split_pair(word, "--input_shape");
    NamedShape named{std::move(name), {}};
    const char *p = dims.data(), *end = dims == "[]" ? p : p + dims.size();
    while (p < end) {
      int64_t d = 0;
      const auto [next, error] = std::from_chars(p, end, d);
      const bool separates = next < end && (*next == ',' || *next == '/');
      if (error != std::errc() || d < 0 || (next < end && (!separates || next + 1 == end)))
        throw Usage(fmt::format(
            "--input_shape: expected NAME=d0,d1,... with sizes of at least 0, found '{}'", word));
      named.shape.push_back(d);
      p = separates ? next + 1 : next;
      if (!separates || *next == ',') continue;
      out.push_back(named);
      named.shape.clear();
    }
    out.push_back(std::move(named));
  }
  return out;
}

namespace {

// No messages are logged while the object exists. Commands have no other receiver of messages.
class NoMessages {
 public:
  NoMessages() {
    poprt_log_set_callback([](poprt_log_level, const char*, void*) {}, nullptr);
  }
  ~NoMessages() { poprt_log_set_callback(nullptr, nullptr); }
  NoMessages(const NoMessages&) = delete;
  NoMessages& operator=(const NoMessages&) = delete;
};

}  // namespace

ModelNames model_names(const std::string& onnx, bool allow_links) {
  poprt_compile_options options = {};
  options.struct_size = sizeof options;
  options.allow_links = allow_links;
  poprt_compiler* made = nullptr;
  check(poprt_compiler_create(&options, &made));
  const Compiler compiler(made);
  poprt_string* shown = nullptr;
  poprt_error* error = nullptr;
  {
    const NoMessages quiet;  // the compiler prints the warnings about the model later
    error = poprt_compiler_show_file(made, onnx.c_str(), &shown);
  }
  check(error);
  std::istringstream lines(take(shown));
  ModelNames names;
  for (std::string line; std::getline(lines, line);)
    for (const auto& [word, list] : {std::pair(std::string_view("input "), &names.inputs),
                                     std::pair(std::string_view("output "), &names.outputs)})
      if (const size_t end = line.rfind(": dtype - "); line.starts_with(word) && end != line.npos)
        list->push_back(line.substr(word.size(), end - word.size()));
  return names;
}

void check_input_names(const std::vector<std::string>& names, const std::string& onnx,
                       bool allow_links) {
  check_input_names(names, model_names(onnx, allow_links).inputs);
}

void check_input_names(const std::vector<std::string>& names,
                       const std::vector<std::string>& inputs) {
  for (const std::string& name : names) {
    if (std::ranges::count(inputs, name) > 0) continue;
    const std::string similar = similar_word(inputs, name);
    throw Usage(fmt::format(
        "--input_shape: the model has no input '{}'{}; its inputs are: {}; --allow_unknown_inputs "
        "ignores the name",
        name, similar.empty() ? "" : fmt::format(", did you mean '{}'?", similar),
        fmt::join(inputs, ", ")));
  }
}

std::vector<std::string> CompileSettings::shape_names() const {
  std::vector<std::string> names;
  if (!allow_unknown_inputs)
    for (const NamedShape& shape : parse_shapes(input_shape)) names.push_back(shape.name);
  return names;
}

void CompileSettings::check_names(const std::string& onnx) const {
  if (const auto names = shape_names(); !names.empty()) check_input_names(names, onnx, allow_links);
}

void CompileSettings::check_names(const std::vector<std::string>& inputs) const {
  check_input_names(shape_names(), inputs);
}

std::vector<NamedShape> parse_single_shapes(const std::vector<std::string>& words) {
  std::vector<NamedShape> shapes = parse_shapes(words);
  std::set<std::string> names;
  for (const NamedShape& s : shapes)
    if (!names.insert(s.name).second)
      throw Usage(fmt::format(
          "--input_shape: '{}' has several shapes, but this command accepts one shape per input",
          s.name));
  return shapes;
}

bool CompileSettings::any_given() const {
  return !input_shape.empty() || batch_size > 0 || !precision.empty() || !winograd.empty() ||
         !passes.empty() || !skip_passes.empty() || allow_links || strict;
}

const poprt_compile_options* CompileSettings::get() {
  shapes_ = parse_shapes(input_shape);
  raw_shapes_.clear();
  for (const NamedShape& s : shapes_)
    raw_shapes_.push_back({s.name.c_str(), s.shape.data(), s.shape.size()});
  raw_passes_.clear();
  for (const std::string& s : passes) raw_passes_.push_back(s.c_str());
  raw_skip_.clear();
  for (const std::string& s : skip_passes) raw_skip_.push_back(s.c_str());
  options_ = {};
  options_.struct_size = sizeof(options_);
  options_.input_shapes = raw_shapes_.data();
  options_.input_shape_count = raw_shapes_.size();
  options_.batch_size = batch_size;
  options_.batch_axis = batch_axis >= 0 ? batch_axis : 0;
  options_.precision = precision == "fp16"   ? POPRT_PRECISION_FP16
                       : precision == "fp32" ? POPRT_PRECISION_FP32
                                             : POPRT_PRECISION_KEEP;
  options_.winograd = winograd == "off"     ? POPRT_WINOGRAD_OFF
                      : winograd == "exact" ? POPRT_WINOGRAD_EXACT
                      : winograd == "fast"  ? POPRT_WINOGRAD_FAST
                                            : POPRT_WINOGRAD_DEFAULT;
  options_.passes = raw_passes_.data();
  options_.pass_count = raw_passes_.size();
  options_.skip_passes = raw_skip_.data();
  options_.skip_pass_count = raw_skip_.size();
  options_.max_tensor_size = max_tensor_size > 0 ? max_tensor_size : 0;
  options_.convert_version = convert_version;
  options_.allow_links = allow_links;
  options_.strict = strict;
  options_.progress = progress;
  options_.user_data = user_data;
  return &options_;
}

std::string versions() {
  const auto release = [](int version) {  // the inverse of POPRT_VERSION in poprt/version.h
    return fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
  };
  return fmt::format("PopRT version: {}\nbuilt with emulated IPU: {}\nfound emulated IPU: {}",
                     poprt_version_string(), release(POPRT_VERSION), release(poprt_version()));
}

}  // namespace poprt::cli
