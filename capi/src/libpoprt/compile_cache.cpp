#include "compile_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>

#include "base/file.h"
#include "base/json.h"
#include "base/shape.h"
#include "codecs/sha256.h"
#include "compiler_loader.h"
#include "option_lists.h"
#include "plugins/registry.h"
#include "poprt_options.h"
#include "program/serialize.h"

namespace poprt::capi {
namespace {

bool is_among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the options by name that influence the result. Others are recorded outside the cached
// data.
std::vector<poprt_option> result_options(const poprt_compile_options& o) {
  std::vector<poprt_option> list(o.options, o.options + o.option_count);
  const bool pipelined = std::ranges::any_of(list, [](const poprt_option& option) {
    return option.name == std::string_view("enable_pipelining");
  });
  std::erase_if(list, [&](const poprt_option& option) {
    const std::string_view name = option.name;
    if (is_among(name, {"custom_patterns", "custom_transform_applier_settings", "num_ipus",
                        "virtual_graph_mode", "virtual_graph_split_ratios", "enable_pipelining"}))
      return false;
    // batches_per_step is stored separately from the program, unless the compiler checks that
    // pipeline stages divide it.
    if (name == "batches_per_step") return !pipelined;
    if (name == kGenerationOption) return false;
    const OptionRow* row = find_option(name);
    // num_io_tiles and the estimate are stored separately from the program, the opset only concerns
    // the converted ONNX file, and the contents of libraries are hashed instead of their paths.
    return !row || row->effect != OptionEffect::acts ||
           is_among(name, {"num_io_tiles", "lowest_opset", "custom_library_so_paths", "estimate",
                           "estimate_target"});
  });
  return list;
}

// Returns the value of an option as the key has it. The options of a generator contain the paths of
// the encoder's files. The key has the hashes of these files instead (compile_generation()), so
// that one folder has one key under all of its paths.
std::string value_in_key(const poprt_option& option) {
  if (option.name != std::string_view(kGenerationOption)) return option.value;
  nlohmann::json json = parse_json(option.value);
  if (const auto encoder = json.find("encoder"); encoder != json.end())
    for (const char* file : {"model", "first"}) encoder->erase(file);
  return json_text(json);
}

// Returns a text for users that names every option that influences the executable. Callbacks do not
// influence it.
std::string describe(const poprt_compile_options& o) {
  std::string s(program::package());
  for (const auto& input : std::span(o.input_shapes, o.input_shape_count))
    s += fmt::format(", {}={}", input.name,
                     shape_string(Shape(input.shape, input.shape + input.rank)));
  if (o.max_padding != 0) s += fmt::format(", max_padding {}", o.max_padding);
  for (const auto& input : std::span(o.input_lengths, o.input_length_count))
    s += fmt::format(", {} of {}", input.name, input.length);
  if (o.batch_size) s += fmt::format(", batch {} on axis {}", o.batch_size, o.batch_axis);
  if (o.precision == POPRT_PRECISION_FP32) s += ", fp32";
  if (o.precision == POPRT_PRECISION_FP16) s += ", fp16";
  if (o.winograd) s += fmt::format(", winograd {}", o.winograd);
  if (o.allow_links) s += ", links";
  const auto add = [&](const char* title, const char* const* names, size_t count) {
    if (count) s += fmt::format(", {} [{}]", title, fmt::join(std::span(names, count), ", "));
  };
  add("passes", o.passes, o.pass_count);
  add("without", o.skip_passes, o.skip_pass_count);
  add("outputs", o.outputs, o.output_count);
  if (o.max_tensor_size) s += fmt::format(", max_tensor_size {}", o.max_tensor_size);
  if (o.rewrite_limit) s += fmt::format(", rewrite_limit {}", o.rewrite_limit);
  if (o.stop_after) s += fmt::format(", stop_after {}", o.stop_after);
  if (o.variable_weights) s += ", variable weights";
  if (o.strict) s += ", strict";
  for (const poprt_option& option : result_options(o))
    s += fmt::format(", {} [{}]", option.name, value_in_key(option));
  return s;
}

}  // namespace

std::optional<std::filesystem::path> cache_folder(const poprt_compile_options& options) {
  // A cached executable has no graph that could be written.
  if (const char* ir = named_option(options, "serialize_ir"); ir && std::string_view(ir) == "True")
    return std::nullopt;
  const auto environment = runtime::cache_folder_of_environment();
  if (!options.enable_engine_caching && !environment) return std::nullopt;
  if (options.cache_path && *options.cache_path) return options.cache_path;
  return environment.value_or("session_cache");
}

runtime::CacheKey cache_key(const poprt_compile_options& options, const std::string& model_hash,
                            const std::string& name) {
  runtime::CacheKey key;
  key.name = name;
  key.description = describe(options);
  // The description is for users. Different lists of names may have the same description, so the
  // hash uses the options.
  Sha256 hash;
  hash.add_sized("poprt cache 1").add_sized(model_hash).add_sized(name);
  hash.add_sized(key.description);
  // The description contains the version. Two builds of one version may compile differently.
  hash.add_sized(compiler_build());
  for (const auto& s : std::span(options.input_shapes, options.input_shape_count))
    hash.add_sized(s.name).add_sized(std::as_bytes(std::span(s.shape, s.rank)));
  hash.add_sized(std::to_string(options.input_length_count));
  for (const auto& l : std::span(options.input_lengths, options.input_length_count))
    hash.add_sized(l.name).add_sized(std::to_string(l.length));
  for (const auto& [list, count] : {std::pair(options.passes, options.pass_count),
                                    std::pair(options.skip_passes, options.skip_pass_count),
                                    std::pair(options.outputs, options.output_count)}) {
    hash.add_sized(std::to_string(count));
    for (const char* n : std::span(list, count)) hash.add_sized(n);
  }
  for (const poprt_option& option : result_options(options)) {
    hash.add_sized(option.name).add_sized(value_in_key(option));
    // The contents of a file may change under the same path. Reading it later reports a missing
    // file.
    std::error_code missing;
    if (is_among(option.name, {"data_preprocess", "calibration_labels"}) &&
        std::filesystem::exists(option.value, missing))
      hash.add_sized(MappedFile::open(option.value)->bytes());
  }
  // All libraries of the process are included, because a pattern may be enabled by default.
  for (const plugins::Library* library : plugins::libraries())
    hash.add_sized("plug-in").add_sized(library->hash);
  key.hash = hash.finish();
  for (char& c : key.description)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return key;
}

}  // namespace poprt::capi
