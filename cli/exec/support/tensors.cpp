#include "exec/support/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/float_odd.h"
#include "base/half.h"
#include "base/tensor.h"
#include "common/arguments.h"
#include "common/random_inputs.h"
#include "common/written_files.h"
#include "exec/commands.h"
#include "onnx/tensor_io.h"
#include "plugins/registry.h"

namespace poprt::cli {

namespace {

std::vector<std::string>& given_plugins() {
  static std::vector<std::string> paths;
  return paths;
}

}  // namespace

void add_plugin_option(Command& command) {
  command
      .add_option("--plugins", given_plugins(),
                  "Shared libraries with custom operators, passes, patterns and transforms, in "
                  "addition to those of POPRT_PLUGINS; separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
}

const std::vector<std::string>& plugins_given() { return given_plugins(); }

// Loads the plug-ins twice, because the functions of core that developer commands call have another
// registry of plug-ins than the library.
void load_given_plugins() {
  plugins::load_environment();
  for (const std::string& path : given_plugins()) {
    check(poprt_plugin_load(path.c_str()));
    plugins::load(path);
  }
}

void add_precision_option(Command& command, std::string& precision) {
  command
      .add_option("--execution_precision", precision,
                  "Type to which products with constant weights round both factors: f32, bf16, "
                  "f16 or auto; weights are packed once and kept in the cache folder [that of "
                  "MODEL]")
      ->check(one_of({"f32", "bf16", "f16", "auto"}));
}

void add_compile_options(Command& command, CompileSettings& s,
                         const std::vector<std::string>& precisions, bool axis_alone) {
  command.group("Compilation of ONNX models");
  add_plugin_option(command);
  command
      .add_option(
          "--input_shape", s.input_shape,
          "NAME=d0,d1,...: fix variable dimensions (several words); NAME=d0,d1/e0,e1 compiles "
          "several shapes")
      ->many();
  add_batch_options(command, s.batch_size, s.batch_axis, axis_alone);
  std::string list = precisions.front();
  for (size_t i = 1; i < precisions.size(); i++)
    list += (i + 1 < precisions.size() ? ", " : " or ") + precisions[i];
  command.add_option("--precision", s.precision, list + " [the model's own]")->choose(precisions);
  add_winograd_option(command, s.winograd);
  command
      .add_option("--skip_passes", s.skip_passes, "Default passes to leave out, comma separated")
      ->delimiter(',');
  command.add_flag(
      "--allow_symlinks", s.allow_links,
      "Also read external data through symbolic and hard links; only for trusted models");
  command.add_flag("--allow_unknown_inputs", s.allow_unknown_inputs,
                   "Warn about a name in --input_shape that the model does not have");
  command.add_flag("--strict", s.strict,
                   "Treat warnings about the model, such as unknown attributes, as errors");
  command.group("");
}

std::vector<int64_t> shape_of(const poprt_anchor* anchor) {
  const int64_t* d = poprt_anchor_shape(anchor);
  return d ? std::vector<int64_t>(d, d + poprt_anchor_rank(anchor)) : std::vector<int64_t>{};
}

namespace {

Array read_pb(const std::string& path) { return array_of(onnx::read_tensor_pb(path)); }

}  // namespace

Array read_tensor(const std::string& path) {
  return path.ends_with(".pb") ? read_pb(path) : read_npy(path);
}

size_t find_anchor(const std::vector<const poprt_anchor*>& anchors, const std::string& name,
                   const char* kind) {
  std::string names;
  for (size_t i = 0; i < anchors.size(); i++) {
    if (name == poprt_anchor_name(anchors[i])) return i;
    names += fmt::format("{}{}", i ? ", " : "", poprt_anchor_name(anchors[i]));
  }
  throw Failure(fmt::format("the model has no {} '{}'; it has: {}", kind, name, names));
}

std::string GivenInput::array_name(size_t i) const {
  return sequence ? fmt::format("{}[{}]", name, i) : name;
}

void refuse_archive(const GivenInput& given, const std::string& type) {
  throw Failure(fmt::format("'{}' is for a sequence, but input '{}' is {}; give {}=FILE.npy",
                            given.path, given.name, type, given.name));
}

void require_separate_files(const std::string& model,
                            std::initializer_list<const std::vector<std::string>*> inputs,
                            const std::vector<std::pair<std::string, std::string>>& outputs) {
  CommandFiles files;
  files.reads_model(model);
  for (const auto* words : inputs)
    for (const std::string& word : *words) files.reads(word.substr(word.rfind('=') + 1));
  for (const auto& [name, path] : outputs) files.writes(path, Contents::arrays, "--output");
}

namespace {

Array read_npy_of(const GivenInput& given) {
  try {
    return read_npy(given.path);
  } catch (const std::exception& e) {
    if (!given.path.ends_with(".pb")) throw;
    throw Failure(fmt::format("{}; give a tensor of ONNX by --input-pb {}={}", e.what(), given.name,
                              given.path));
  }
}

}  // namespace

GivenInput read_given(const std::string& word, const std::string& option) {
  GivenInput given;
  std::tie(given.name, given.path) = split_pair(word, option);
  given.sequence = given.path.ends_with(".npz");
  if (option == "--input-pb")
    given.arrays.push_back(read_pb(given.path));
  else if (given.sequence)
    given.arrays = read_npz(given.path);
  else if (!given.path.ends_with(".none"))
    given.arrays.push_back(read_npy_of(given));
  return given;
}

namespace {

// The hint for data of another type, or an empty text if NumPy has no type for that of the input.
std::string conversion_hint(poprt_dtype wanted) {
  static constexpr std::pair<poprt_dtype, const char*> kNames[] = {
      {POPRT_DTYPE_F16, "float16"}, {POPRT_DTYPE_F32, "float32"}, {POPRT_DTYPE_F64, "float64"},
      {POPRT_DTYPE_S8, "int8"},     {POPRT_DTYPE_S16, "int16"},   {POPRT_DTYPE_S32, "int32"},
      {POPRT_DTYPE_S64, "int64"},   {POPRT_DTYPE_U8, "uint8"},    {POPRT_DTYPE_U16, "uint16"},
      {POPRT_DTYPE_U32, "uint32"},  {POPRT_DTYPE_U64, "uint64"},  {POPRT_DTYPE_BOOL, "bool"}};
  for (const auto& [dtype, name] : kNames)
    if (dtype == wanted) return fmt::format("; NumPy's astype('{}') converts it", name);
  return {};
}

template <class From, class To>
void convert_integers(Array& a, const std::string& name, poprt_dtype dtype) {
  std::vector<From> from(a.data.size() / sizeof(From));
  std::vector<To> to(from.size());
  if (!from.empty()) std::memcpy(from.data(), a.data.data(), a.data.size());
  for (size_t i = 0; i < from.size(); i++) {
    if (!std::in_range<To>(from[i]))
      throw Failure(fmt::format("input '{}' is {}, which cannot represent {}", name,
                                poprt_dtype_name(dtype), from[i]));
    to[i] = static_cast<To>(from[i]);
  }
  a.data.resize(to.size() * sizeof(To));
  if (!to.empty()) std::memcpy(a.data.data(), to.data(), a.data.size());
  a.dtype = dtype;
}

// Rounds to nearest. A finite number that would become infinite is an error.
template <class From>
void convert_to_half(Array& a, const std::string& name) {
  std::vector<From> from(a.data.size() / sizeof(From));
  std::vector<f16_t> to(from.size());
  if (!from.empty()) std::memcpy(from.data(), a.data.data(), a.data.size());
  for (size_t i = 0; i < from.size(); i++) {
    to[i] = to_f16(to_float_odd(static_cast<double>(from[i])));
    if (std::isfinite(from[i]) && !std::isfinite(to_float(to[i])))
      throw Failure(fmt::format("input '{}' is f16, which cannot represent {}", name, from[i]));
  }
  a.data.resize(to.size() * sizeof(f16_t));
  if (!to.empty()) std::memcpy(a.data.data(), to.data(), a.data.size());
  a.dtype = POPRT_DTYPE_F16;
}

}  // namespace

void convert_to_input_type(Array& a, const std::string& name, poprt_dtype dtype) {
  if (a.dtype == POPRT_DTYPE_F32 && dtype == POPRT_DTYPE_F16)
    convert_to_half<float>(a, name);
  else if (a.dtype == POPRT_DTYPE_F64 && dtype == POPRT_DTYPE_F16)
    convert_to_half<double>(a, name);
  else if (a.dtype == POPRT_DTYPE_S64 && dtype == POPRT_DTYPE_S32)
    convert_integers<int64_t, int32_t>(a, name, dtype);
  else if (a.dtype == POPRT_DTYPE_S32 && dtype == POPRT_DTYPE_S64)
    convert_integers<int32_t, int64_t>(a, name, dtype);
}

void fill_inputs(const std::vector<const poprt_anchor*>& anchors, std::vector<AnchorMemory>& memory,
                 const std::vector<std::string>& words, const std::vector<std::string>& pb_words,
                 Missing missing, const std::function<bool(const std::string&)>& not_needed) {
  std::vector<bool> given(anchors.size(), false);
  const auto fill = [&](const std::string& name, Array a, const std::string& path,
                        const std::string& option) {
    if (not_needed && not_needed(name)) return;
    const size_t i = find_anchor(anchors, name, "input");
    if (given[i]) throw Usage(fmt::format("{}: input '{}' is given twice", option, name));
    if (option != "--input-pb")
      a = as_stored_type(std::move(a), poprt_anchor_dtype(anchors[i]), path);
    convert_to_input_type(a, name, poprt_anchor_dtype(anchors[i]));
    std::string found = fmt::format("{}[", poprt_dtype_name(a.dtype));
    for (size_t d = 0; d < a.shape.size(); d++)
      found += fmt::format("{}{}", d ? "," : "", a.shape[d]);
    found += "]";
    if (a.dtype != poprt_anchor_dtype(anchors[i]) || a.shape != shape_of(anchors[i]))
      throw Failure(fmt::format(
          "input '{}' is {}, but '{}' contains {}{}", name, anchor_type(anchors[i]), path, found,
          a.shape == shape_of(anchors[i]) ? conversion_hint(poprt_anchor_dtype(anchors[i])) : ""));
    if (!a.data.empty()) std::memcpy(memory[i].data(), a.data.data(), a.data.size());
    given[i] = true;
  };
  const auto read = [&](const std::string& word, const std::string& option) {
    // An unknown name is reported before its file is read.
    const std::string name = split_pair(word, option).first;
    const bool known = std::any_of(anchors.begin(), anchors.end(), [&](const poprt_anchor* a) {
      return std::string_view(poprt_anchor_name(a)).starts_with(name);
    });
    if (!known && !(not_needed && not_needed(name))) find_anchor(anchors, name, "input");
    GivenInput g = read_given(word, option);
    for (const poprt_anchor* a : anchors)
      if (g.sequence && g.name == poprt_anchor_name(a)) refuse_archive(g, anchor_type(a));
    for (size_t i = 0; i < g.arrays.size(); i++)
      fill(g.array_name(i), std::move(g.arrays[i]), g.path, option);
  };
  for (const std::string& w : words) read(w, "--input");
  for (const std::string& w : pb_words) read(w, "--input-pb");
  for (size_t i = 0; i < anchors.size(); i++) {
    if (given[i]) continue;
    if (missing != Missing::random)
      throw Failure(fmt::format(
          "input '{}' ({}) is missing; give --input {}=FILE.npy{}", poprt_anchor_name(anchors[i]),
          anchor_type(anchors[i]), poprt_anchor_name(anchors[i]),
          missing == Missing::error_that_suggests_random ? ", or --random for random data" : ""));
    fill_random(anchors[i], memory[i].data(), i + 1);
  }
}

std::vector<double> as_doubles(poprt_dtype dtype, const std::vector<int64_t>& shape,
                               const void* data, size_t bytes) {
  return Tensor::view(static_cast<DType>(dtype), shape, data, bytes, nullptr).to_doubles();
}

}  // namespace poprt::cli
