// The compiler library's side of poprt_compile_options.
#include "driver_options.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "codecs/arrays_file.h"
#include "codecs/sha256.h"
#include "compiler/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "device/emulator/emulator.h"
#include "engine_options.h"
#include "faithful.h"
#include "onnx/model_hash.h"
#include "option_lists.h"
#include "passes/pass.h"
#include "program/serialize.h"
#include "settings.h"
#include "shapes.h"

namespace poprt::capi {
namespace {

// An option that enables a pass, and the parameter that receives its value.
struct OptionOfPass {
  const char* option;
  const char* pass;
  const char* parameter;  // null: the option is a flag
};
constexpr OptionOfPass kOptionsOfPasses[] = {
    {"enable_erf_gelu", "erf_gelu_pattern", nullptr},
    {"merge_matmul", "merge_matmul", "names"},
    {"merge_matmul_add", "merge_matmul_add", "names"},
    {"merge_moe", "merge_moe", "names"},
    {"merge_if_with_same_cond", "merge_if_with_same_cond", nullptr},
    {"enable_compress_pattern", "compress_pattern", nullptr},
    {"serialize_matmul", "serialize_matmul", "matmuls"},
    {"serialize_matmul_add", "serialize_matmul_add", "matmul_adds"},
    {"enable_insert_remap", "auto_insert_remap", nullptr},
    {"fold_periodic_initializer", "fold_periodic_initializer", nullptr},
    {"apply_hcsr", "apply_host_concat_split", "merged_inputs"},
    {"sharding_info", "manual_sharding", "sharding_info"},
    {"pipelining_info", "manual_sharding", "pipelining_info"},
    {"execution_precision", "narrow_weights", "products"},
    {"execution_precision", "bf16_convolutions", "products"},
};

// Loads an executable on a separate device, for calibration. Returns the function that runs it.
compiler::RunModel load_on_device(const compiler::Executable& executable) {
  auto loaded = program::load_in_memory(executable.program, executable.weights);
  const device::Image image{std::make_shared<const program::Program>(std::move(loaded.program)),
                            loaded.weights, loaded.owner};
  const std::shared_ptr<device::Engine> engine = device::EmulatedDevice().load(image, {});
  engine->run(device::Flow::load, nullptr, nullptr);
  return [engine](std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Tensor& t : inputs) from.push_back(t.data());
    for (Tensor& t : outputs) to.push_back(t.mutable_data());
    engine->run(device::Flow::main, from.data(), to.data());
    if (const auto failure = engine->take_failure()) throw *failure;
  };
}

// A model is often converted and then compiled. The calibration of the conversion is kept for the
// compilation until a model is calibrated that is another one or has other options or data.
std::shared_ptr<compiler::CalibrationResult> cached_calibration(
    const poprt_compile_options& o, const poprt_library_source& source) {
  static std::mutex mutex;
  static std::string last;
  static std::shared_ptr<compiler::CalibrationResult> result;
  Sha256 hash;
  hash.add_sized(onnx::hash_of(files_of(source, o)));
  for (const poprt_option& option : std::span(o.options, o.option_count))
    hash.add_sized(option.name).add_sized(option.value);
  for (const popef::Option& option : capi::engine_options(o, {}))
    hash.add_sized(option.name()).add_sized(option.value());
  for (const char* option : {"data_preprocess", "calibration_labels"})
    if (const char* path = capi::named_option(o, option))
      hash.add_sized(MappedFile::open(path)->bytes());
  const std::string key = hash.finish();
  const std::lock_guard lock(mutex);
  if (key != last) {
    last = key;
    result = std::make_shared<compiler::CalibrationResult>();
  }
  return result;
}

// Reads the arrays of a file that an option names.
std::map<std::string, Tensor> arrays_of(std::string_view option, std::string_view path) {
  std::map<std::string, Tensor> arrays;
  try {
    arrays = read_arrays(std::string(path));
  } catch (Error& e) {
    e.add_context(fmt::format("`{}`", option));
    throw;
  }
  if (arrays.empty()) fail(ErrorCode::invalid_argument, "`{}`: '{}' has no arrays", option, path);
  return arrays;
}

std::vector<int64_t> labels_of(std::string_view path) {
  const auto arrays = arrays_of("calibration_labels", path);
  const Tensor& labels = arrays.begin()->second;
  if (arrays.size() != 1 || labels.shape().size() != 1 || is_float(labels.dtype()))
    fail(ErrorCode::invalid_argument,
         "`calibration_labels`: '{}' has {} arrays, the first {} {}; expected one array of "
         "integers [SAMPLES]",
         path, arrays.size(), dtype_name(labels.dtype()), shape_string(labels.shape()));
  return labels.to_int64s();
}

// Reads the options of int8.
void take_bytes(const std::function<std::string_view(const char*)>& named, compiler::Options& to,
                compiler::Calibration& calibration) {
  if (named("calibration_loss_type").empty()) calibration.loss = compiler::Loss::mse;
  if (const auto names = named("int8_skip_op_names"); !names.empty())
    to.narrowing.int8_skip_op_names = capi::split_names(names, "int8_skip_op_names");
  if (const auto keep = named("num_of_layers_keep_fp32"); !keep.empty())
    calibration.layers_to_keep = std::stoll(std::string(keep));
  if (const auto percent = named("calibration_percentile"); !percent.empty())
    calibration.percentile = std::stod(std::string(percent));
  if (const auto path = named("calibration_labels"); !path.empty())
    calibration.labels = labels_of(path);
}

// Reads the options by name that concern the precision, and `reproducible`.
void take_precision(const poprt_compile_options& o, const poprt_library_source& source,
                    compiler::Options& to) {
  const auto named = [&](const char* name) -> std::string_view {
    const char* value = capi::named_option(o, name);
    return value ? value : std::string_view();
  };
  passes::PrecisionParameters& p = to.narrowing;
  p.avoid_overflow_patterns = !named("enable_avoid_overflow_patterns").empty();
  to.eight_bits_io = !named("eightbitsio").empty();
  to.reproducible = !named("reproducible").empty();
  const std::string_view precision = named("precision");
  if (precision == "bf16")
    for (const char* pass : {"narrow_weights", "bf16_convolutions"})
      to.pass_arguments[pass]["products"] = precision;
  if (precision == "fp8") to.precision = compiler::Precision::fp8;
  if (precision == "fp8_weight") to.precision = compiler::Precision::fp8_weight;
  if (precision == "int8") to.precision = compiler::Precision::int8;
  const std::string_view formats = named("fp8_params");
  p.fp8 = passes::parse_fp8_params(formats.empty() ? "F143,F143,-1,-1" : formats, "`fp8_params`");
  if (const auto names = named("fp8_skip_op_names"); !names.empty())
    p.fp8_skip_op_names = capi::split_names(names, "fp8_skip_op_names");
  const bool calibrates = !named("calibration_with_data").empty();
  const std::string_view given = named("num_of_layers_keep_fp16");
  const int64_t keep = given.empty() ? 0 : std::stoll(std::string(given));
  if ((!precision.starts_with("fp8") && precision != "int8") || (!calibrates && keep == 0)) return;
  auto calibration = std::make_shared<compiler::Calibration>();
  if (const auto loss = compiler::loss_named(named("calibration_loss_type")); loss && calibrates)
    calibration->loss = *loss;
  if (calibrates) calibration->data = arrays_of("data_preprocess", named("data_preprocess"));
  calibration->layers_to_keep = keep;
  if (precision == "int8") take_bytes(named, to, *calibration);
  calibration->load = load_on_device;
  if (source.path || source.data) calibration->result = cached_calibration(o, source);
  to.calibration = calibration;
}

// Arguments of a pass that does not run are an error because they would have no effect.
void check_pass_args(const poprt_compile_options& o, const compiler::Options& to) {
  const char* words = capi::named_option(o, "pass_args");
  if (!words || to.plain) return;
  std::vector<const passes::PassDef*> running = compiler::early_pipeline(to);
  for (const auto& list : {compiler::converter_pipeline(to), compiler::compile_pipeline(to)})
    running.insert(running.end(), list.begin(), list.end());
  for (const std::string_view word : capi::split_lines(words, "pass_args")) {
    const passes::PassDef& pass = passes::pass_of(word.substr(0, word.find('.')));
    if (std::ranges::find(running, &pass) == running.end())
      fail(ErrorCode::invalid_argument,
           "`pass_args`: '{}' has no effect because pass {} does not run; add it to `passes`", word,
           pass.name);
  }
}

std::vector<float> split_ratios(std::string_view text) {
  std::vector<float> ratios;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (text.empty()) return ratios;
  for (const std::string& word : capi::split_names(text, "virtual_graph_split_ratios")) {
    float ratio = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, ratio);
    if (error != std::errc() || stop != end || !(ratio > 0 && ratio < 1))
      fail(ErrorCode::invalid_argument,
           "virtual_graph_split_ratios: expected numbers between 0 and 1, found '{}'", word);
    ratios.push_back(ratio);
  }
  return ratios;
}

// Reads the options of several IPUs.
void take_ipus(const poprt_compile_options& o, compiler::Options& to) {
  const auto named = [&](const char* name, std::string_view standard) -> std::string_view {
    const char* value = capi::named_option(o, name);
    return value ? value : standard;
  };
  const auto number = [&](const char* name) { return std::stoll(std::string(named(name, "1"))); };
  to.num_ipus = number("num_ipus");
  to.batches_per_step = number("batches_per_step");
  const std::string_view mode = named("virtual_graph_mode", "off");
  if (mode == "manual") to.virtual_graph = compiler::VirtualGraph::manual;
  if (mode == "auto") to.virtual_graph = compiler::VirtualGraph::automatic;
  to.pipelining = named("enable_pipelining", "False") == "True";
  to.split_ratios = split_ratios(named("virtual_graph_split_ratios", ""));
}

// Reads the options that select the outputs of the model.
void take_outputs(const poprt_compile_options& o, compiler::DriverOptions& to) {
  to.outputs.assign(o.outputs, o.outputs + o.output_count);
  if (const char* names = capi::named_option(o, "remove_outputs"))
    to.removed_outputs = capi::split_names(names, "remove_outputs");
  if (const char* names = capi::named_option(o, "checkpoints"))
    to.checkpoints = capi::split_names(names, "checkpoints");
  if (const char* names = capi::named_option(o, capi::kLayers))
    for (const std::string_view name : capi::split_lines(names, "checkpoints"))
      to.checkpoints.emplace_back(name);
}

// Reads the options for the kind of executable or converted model.
void take_results(const poprt_compile_options& o, compiler::DriverOptions& to) {
  to.fused_only = capi::named_option(o, "enable_model_fusion") != nullptr;
  if (const char* generation = capi::named_option(o, capi::kGenerationOption))
    to.generation = compiler::read_generation(generation);
  to.variable_weights = o.variable_weights != 0;
  const char* numerics = capi::named_option(o, "numerics");
  if (numerics && std::string_view(numerics) == "faithful") to.faithful_note = capi::kFaithfulModel;
  if (const char* tiles = capi::named_option(o, "num_io_tiles"))
    to.num_io_tiles = std::stoll(tiles);
  to.convert_version = o.convert_version;
  if (const char* lowest = capi::named_option(o, "lowest_opset"))
    to.lowest_opset = std::stoll(lowest);
}

}  // namespace

std::vector<onnx::ModelFile> files_of(const poprt_library_source& s,
                                      const poprt_compile_options& o) {
  const bool allow_links = o.allow_links != 0, copy = copies_file(o.load);
  if (s.path) return onnx::open_model_files(std::filesystem::path(s.path), allow_links, copy);
  std::optional<std::filesystem::path> folder;
  if (s.folder) folder = s.folder;
  return onnx::open_model_files({static_cast<const std::byte*>(s.data), s.size}, folder,
                                allow_links, copy);
}

void request_passes(const poprt_compile_options& o, compiler::Options& to) {
  for (const OptionOfPass& row : kOptionsOfPasses) {
    const char* value = capi::named_option(o, row.option);
    if (!value) continue;
    if (!std::ranges::count(to.requested, row.pass)) to.requested.emplace_back(row.pass);
    if (row.parameter) to.pass_arguments[row.pass][row.parameter] = value;
  }
  if (const char* words = capi::named_option(o, "pack_args")) {
    to.requested.emplace_back("packed_transformer");
    for (const std::string_view word : capi::split_lines(words, "pack_args")) {
      const size_t at = word.find('=');  // checked when options are read
      to.pass_arguments["packed_transformer"][std::string(word.substr(0, at))] =
          word.substr(at + 1);
    }
  }
  if (const char* modes = capi::named_option(o, "remap_mode"))
    to.pass_arguments["auto_insert_remap"]["remap_mode"] = modes;
  if (const char* words = capi::named_option(o, "pass_args"))
    for (const std::string_view word : capi::split_lines(words, "pass_args")) {
      const size_t dot = word.find('.'), at = word.find('=');
      const passes::PassDef& pass = passes::pass_of(word.substr(0, std::min(dot, word.size())));
      const std::string parameter(word.substr(dot + 1, at - dot - 1));
      std::string value(word.substr(at + 1));  // one line; \n means a line feed
      for (size_t i = 0; (i = value.find("\\n", i)) != std::string::npos; i++)
        value.replace(i, 2, "\n");
      if (!to.pass_arguments[std::string(pass.name)].emplace(parameter, std::move(value)).second)
        fail(ErrorCode::invalid_argument, "`pass_args`: {}.{} is given twice", pass.name,
             parameter);
    }
}

void take_plugins(const poprt_compile_options& o, compiler::Options& to) {
  if (const char* patterns = capi::named_option(o, "custom_patterns"))
    to.patterns = passes::parse_patterns(patterns);
  if (const char* given = capi::named_option(o, "custom_transform_applier_settings"))
    to.transforms = capi::parse_transforms(given);
}

compiler::DriverOptions make_options(const poprt_compile_options& o,
                                     const poprt_library_source& source, compiler::IrFile* ir) {
  compiler::DriverOptions to;
  to.shapes = capi::shape_sets(o);
  to.max_padding = o.max_padding;
  to.max_size = capi::max_sizes(o);
  const char* outside = capi::named_option(o, "out_of_range");
  to.zero_out_of_range = outside && std::string_view(outside) == "zero";
  to.compact = capi::named_option(o, "compact") != nullptr;
  for (const auto& l : std::span(o.input_lengths, o.input_length_count))
    to.input_length[l.name] = l.length;
  if (o.batch_size > 0) {
    to.batch_size = o.batch_size;
    to.batch_axis = o.batch_axis;
  }
  if (o.precision == POPRT_PRECISION_FP32) to.precision = compiler::Precision::fp32;
  if (o.precision == POPRT_PRECISION_FP16) to.precision = compiler::Precision::fp16;
  take_precision(o, source, to);
  to.winograd = static_cast<compiler::Winograd>(o.winograd);
  take_ipus(o, to);
  to.passes.assign(o.passes, o.passes + o.pass_count);
  to.skip_passes.assign(o.skip_passes, o.skip_passes + o.skip_pass_count);
  if (o.max_tensor_size) to.max_tensor_size = o.max_tensor_size;
  if (o.rewrite_limit) to.rewrite_limit = o.rewrite_limit;
  if (o.stop_after) to.stop_after = o.stop_after;
  if (const char* types = capi::named_option(o, "fp16_skip_op_types"))
    to.fp16_skip_op_types = capi::split_names(types, "fp16_skip_op_types");
  request_passes(o, to);
  take_plugins(o, to);
  to.plain = capi::named_option(o, capi::kPlain) != nullptr;
  to.narrow_int64 = capi::named_option(o, "narrow_int64") != nullptr;
  take_outputs(o, to);
  take_results(o, to);
  to.verify_each = o.no_verify == 0;
  to.strict = o.strict != 0;
  check_pass_args(o, to);
  if (ir) to.lowered = [ir](const ir::Graph& graph) { ir->add(graph); };
  if (o.after_pass)
    to.after_pass = [call = o.after_pass, user = o.user_data](const passes::PassReport& r,
                                                              const ir::Graph&) {
      call(r.name.c_str(), r.rewrites, r.milliseconds, static_cast<int64_t>(r.nodes_before),
           static_cast<int64_t>(r.nodes_after), user);
    };
  return to;
}

void throw_if_stopped(const poprt_compile_options& o) {
  if (o.stop && o.stop(o.user_data) != 0)
    fail(ErrorCode::cancelled, "the compilation was stopped by its caller");
}

void report_step(const poprt_compile_options& o, double done, const char* what) {
  if (o.progress) o.progress(done, what, o.user_data);
  throw_if_stopped(o);
}

}  // namespace poprt::capi
