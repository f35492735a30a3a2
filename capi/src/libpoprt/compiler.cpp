#include "poprt/compiler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "base/background.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/log_level.h"
#include "codecs/arrays_file.h"
#include "compile_cache.h"
#include "compile_generation.h"
#include "compiler_handle.h"
#include "compiler_loader.h"
#include "distinct_files.h"
#include "embedded_source.h"
#include "engine_options.h"
#include "estimate_handle.h"
#include "guard.h"
#include "kernels/common/instruction_set.h"
#include "library_calls.h"
#include "model_check.h"
#include "named_options.h"
#include "opsets/convert.h"
#include "option_lists.h"
#include "poprt_options.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/popef_file.h"
#include "shape_compiler.h"
#include "source_size.h"
#include "struct_size.h"
#include "temporary_folder.h"

using namespace poprt;
using capi::call;
using capi::call_with_sink;
using capi::text;
namespace fs = std::filesystem;

namespace {

bool has_several_shapes(const poprt_compile_options& o) {
  std::set<std::string_view> names;
  for (const auto& s : std::span(o.input_shapes, o.input_shape_count))
    if (!names.insert(s.name).second) return true;
  return false;
}

void check(const poprt_compile_options& o) {
  if (o.input_shape_count) capi::required(o.input_shapes, "input_shapes");
  for (const auto& s : std::span(o.input_shapes, o.input_shape_count)) {
    capi::required(s.name, "input_shapes[].name");
    if (s.rank) capi::required(s.shape, "input_shapes[].shape");
    for (const int64_t d : std::span(s.shape, s.rank))
      if (d < 0)
        fail(ErrorCode::invalid_argument, "`input_shapes`: '{}' has a dimension {}", s.name, d);
  }
  if (o.input_length_count) capi::required(o.input_lengths, "input_lengths");
  std::set<std::string_view> names;
  for (const auto& l : std::span(o.input_lengths, o.input_length_count)) {
    capi::required(l.name, "input_lengths[].name");
    if (l.length < 0)
      fail(ErrorCode::invalid_argument, "`input_lengths`: '{}' has a length {}", l.name, l.length);
    if (!names.insert(l.name).second)
      fail(ErrorCode::invalid_argument, "`input_lengths`: '{}' is given twice", l.name);
  }
  if (o.opaque_blob_count) capi::required(o.opaque_blobs, "opaque_blobs");
  names.clear();
  for (const auto& b : std::span(o.opaque_blobs, o.opaque_blob_count)) {
    capi::required(b.name, "opaque_blobs[].name");
    if (b.bytes) capi::required(static_cast<const char*>(b.data), "opaque_blobs[].data");
    if (!*b.name || !names.insert(b.name).second)
      fail(ErrorCode::invalid_argument, "`opaque_blobs`: the name '{}' is {}", b.name,
           *b.name ? "given twice" : "empty");
  }
  for (const auto& [list, count, what] :
       {std::tuple(o.passes, o.pass_count, "passes"),
        std::tuple(o.skip_passes, o.skip_pass_count, "skip_passes"),
        std::tuple(o.outputs, o.output_count, "outputs")}) {
    if (count) capi::required(list, what);
    for (const char* name : std::span(list, count)) capi::required(name, what);
  }
  if (o.precision < POPRT_PRECISION_KEEP || o.precision > POPRT_PRECISION_FP16)
    fail(ErrorCode::invalid_argument, "`precision` {} is unknown", o.precision);
  if (o.winograd < POPRT_WINOGRAD_DEFAULT || o.winograd > POPRT_WINOGRAD_FAST)
    fail(ErrorCode::invalid_argument, "`winograd` {} is unknown", o.winograd);
  const auto not_negative = [](int64_t value, const char* what) {
    if (value < 0)
      fail(ErrorCode::invalid_argument, "`{}` is {}, must not be negative", what, value);
  };
  not_negative(o.batch_size, "batch_size");
  not_negative(o.batch_axis, "batch_axis");
  if (o.convert_version != 0 &&
      (o.convert_version < opsets::kOldestTarget || o.convert_version > opsets::kNewest))
    fail(ErrorCode::invalid_argument,
         "`convert_version` is {}, expected 0 or an opset from {} to {}", o.convert_version,
         opsets::kOldestTarget, opsets::kNewest);
  not_negative(o.max_tensor_size, "max_tensor_size");
  not_negative(o.rewrite_limit, "rewrite_limit");
  if (o.allow_links != 0 && o.allow_links != 1)
    fail(ErrorCode::invalid_argument, "`allow_links` is {}, expected 0 or 1", o.allow_links);
  if (o.strict != 0 && o.strict != 1)
    fail(ErrorCode::invalid_argument, "`strict` is {}, expected 0 or 1", o.strict);
  if (o.embed_source != 0 && o.embed_source != 1)
    fail(ErrorCode::invalid_argument, "`embed_source` is {}, expected 0 or 1", o.embed_source);
  if (!(o.max_padding >= 0 && o.max_padding <= 0.9))
    fail(ErrorCode::invalid_argument, "`max_padding` is {}, expected a fraction from 0 to 0.9",
         o.max_padding);
  capi::check_reserved(o.reserved_2, "poprt_compile_options");
  capi::check_reserved(o.reserved_3, "poprt_compile_options");
  static_cast<void>(capi::copies_file(o.load));
  const std::string_view shapes = o.shapes ? o.shapes : "";
  const bool several = has_several_shapes(o);
  if (!shapes.empty() && shapes != "on_demand" && shapes != "buckets" && shapes != "fixed")
    fail(ErrorCode::invalid_argument,
         "shapes '{}' is unknown; it is 'on_demand', 'buckets' or 'fixed'", shapes);
  if (several && (shapes == "fixed" || shapes == "on_demand"))
    fail(ErrorCode::invalid_argument,
         "shapes '{}': an input of `input_shape` has several shapes: give one{}, or use 'buckets'",
         shapes, shapes == "on_demand" ? " and the others to warm_up" : "");
  if (shapes == "on_demand" && o.variable_weights)
    fail(ErrorCode::invalid_argument,
         "shapes 'on_demand' and weights that change exclude each other: a change would affect one "
         "shape only");
  if (!several && shapes == "buckets")
    fail(ErrorCode::invalid_argument,
         "shapes 'buckets': give an input of `input_shape` several shapes");
}

// Loads the plug-ins that the options name, because a PopEF file does not contain the plug-ins that
// it needs.
void load_plugins(const poprt_compile_options& o) {
  if (const char* paths = capi::named_option(o, "custom_library_so_paths"))
    for (const std::string& path : capi::library_paths(paths)) capi::load_plugin(path);
}

// Returns the files of a model as opaque blobs.
std::map<std::string, std::string> embedded(const poprt_library_source& source,
                                            const poprt_compile_options& o) {
  struct Context {
    std::map<std::string, std::string> blobs;
    std::exception_ptr failure;
  } context;
  const auto take = [](void* to, const char* location, const void* data, size_t size) noexcept {
    auto& c = *static_cast<Context*>(to);
    try {
      c.blobs[runtime::source_blob(location)].assign(static_cast<const char*>(data), size);
      return 0;
    } catch (...) {
      c.failure = std::current_exception();
      return 1;
    }
  };
  try {
    call([&](poprt_library_error* error) {
      capi::compiler_library().embed(&source, &o, take, &context, error);
    });
  } catch (const std::exception&) {
    if (context.failure) std::rethrow_exception(context.failure);
    throw;
  }
  return std::move(context.blobs);
}

// Returns the text that a function of the compiler library writes.
template <class Call>
std::string written(Call call) {
  std::string text;
  call_with_sink(
      [&](std::span<const std::byte> b) {
        text.append(reinterpret_cast<const char*>(b.data()), b.size());
      },
      call);
  return text;
}

std::string hash_of(const poprt_library_source& source, const poprt_compile_options& o) {
  return written([&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::compiler_library().hash(&source, &o, sink, error);
  });
}

// The same without progress: for a file that is not the model, and for a model whose compilation
// is complete.
std::string hash_silently(const poprt_library_source& source, poprt_compile_options o) {
  o.progress = nullptr;
  o.stop = nullptr;
  return hash_of(source, o);
}

// Computes the hash on a thread other than that of the caller's callbacks, so it calls none of
// them. `stopped` ends it.
std::string hash_until(const poprt_library_source& source, poprt_compile_options o,
                       const std::atomic<bool>& stopped) {
  o.progress = nullptr;
  o.stop = [](void* flag) -> int {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
  o.user_data = const_cast<std::atomic<bool>*>(&stopped);
  return hash_of(source, o);
}

// Returns the model with its options, their blobs and its source. These parts are not cached.
std::shared_ptr<const runtime::Model> with_options(
    const std::shared_ptr<const runtime::Model>& model, const poprt_compile_options& o,
    const capi::Source& note, std::map<std::string, std::string> files) {
  const auto made = std::make_shared<runtime::Model>(*model);
  runtime::set_engine_options(*made, capi::engine_options(o, note));
  made->opaque.merge(files);
  for (const auto& b : std::span(o.opaque_blobs, o.opaque_blob_count))
    made->opaque[b.name] = std::string(static_cast<const char*>(b.data), b.bytes);
  return made;
}

// Warns about options that only have an effect when a model is converted.
void warn_without_conversion(const poprt_compiler& c) {
  if (c.converted) return;
  for (const auto& [given, name] :
       {std::pair(c.check_models, "check"), std::pair(c.compare_layers, "precision_compare")})
    if (given)
      log().warn("`{}` has no effect: the model is compiled without being converted", name);
}

std::shared_ptr<const runtime::Model> compile(const poprt_compiler& compiler,
                                              const poprt_library_source& source,
                                              const std::string& name) {
  warn_without_conversion(compiler);
  const poprt_compile_options& o = compiler.options;
  capi::Source note;
  if (source.path) note.name = std::filesystem::path(source.path).filename().string();
  std::map<std::string, std::string> files;
  if (o.embed_source) files = embedded(source, o);
  if (capi::named_option(o, "estimate"))
    files[capi::kEstimate] =
        written([&](const poprt_library_sink* sink, poprt_library_error* error) {
          capi::compiler_library().estimate_blob(&o, &source, sink, error);
        });
  std::optional<runtime::ExecutableCache> cache;
  runtime::CacheKey key;
  if (const auto folder = capi::cache_folder(o)) {
    cache.emplace(*folder);
    note.hash = hash_of(source, o);
    key = capi::cache_key(o, note.hash, name);
    std::vector<std::string> warnings;
    if (auto model = cache->find(key, &warnings)) {
      // The result of an earlier conversion is not needed, and taking it frees memory of the size
      // of the model. That conversion has already given the warnings.
      if (!compiler.take_kept() && !capi::named_option(o, capi::kQuiet))
        for (const std::string& warning : warnings) log().warn("{}", warning);
      if (o.progress) o.progress(1, "found in the cache", o.user_data);
      return with_options(model, o, note, std::move(files));
    }
  }
  const poprt_compiler::Kept kept = compiler.take_kept();
  const auto payload = std::make_shared<runtime::PayloadBuffer>();
  // Without a cache, the hash is needed last. Errors of the compilation are reported first, because
  // the import reports errors of a model best.
  std::optional<Background<std::string>> hash;
  if (note.hash.empty())
    hash.emplace([&](const std::atomic<bool>& stopped) { return hash_until(source, o, stopped); },
                 capi::is_hashed_soon(source));
  capi::NotedWarnings warnings;
  capi::call_with_payload(
      *payload, [&](const poprt_library_sink* sink, poprt_library_error* error) {
        const poprt_library_sink noting = warnings.with(*sink);
        capi::compiler_library().compile(&o, &source, kept.get(), &noting, error);
      });
  if (cache) cache->store(key, payload->bytes(), warnings.texts());
  if (hash) note.hash = hash->get();
  return with_options(runtime::open_payload(name, payload->bytes(), payload), o, note,
                      std::move(files));
}

// If `keeps` is not null, it is the compiler that keeps the model for a compilation.
void convert(const poprt_compile_options& options, const poprt_library_source& source,
             const char* out, const poprt_compiler* keeps = nullptr) {
  void* left = nullptr;
  call([&](poprt_library_error* error) {
    capi::compiler_library().convert(&options, &source, out, keeps ? &left : nullptr, error);
  });
  if (keeps) keeps->keep(left);
}

// Compiles a model of the check. It is neither cached nor reported.
std::shared_ptr<const runtime::Model> compile_quietly(poprt_compile_options o,
                                                      std::vector<poprt_option> named,
                                                      const poprt_library_source& source) {
  named.push_back({capi::kQuiet, "1"});
  o.options = named.data();
  o.option_count = named.size();
  o.progress = nullptr;
  o.after_pass = nullptr;
  const auto payload = std::make_shared<runtime::PayloadBuffer>();
  capi::call_with_payload(*payload,
                          [&](const poprt_library_sink* sink, poprt_library_error* error) {
                            capi::compiler_library().compile(&o, &source, nullptr, sink, error);
                          });
  return runtime::open_payload("model", payload->bytes(), payload);
}

// The options with which the original model is compiled: they cause as few changes as possible.
// `named` contains its options by name.
struct PlainOptions {
  poprt_compile_options options;
  std::vector<poprt_option> named;
};

PlainOptions plain_options(const poprt_compiler& c) {
  PlainOptions plain{c.options, {c.options.options, c.options.options + c.options.option_count}};
  poprt_compile_options& o = plain.options;
  o.precision = POPRT_PRECISION_KEEP;
  o.convert_version = 0;
  o.pass_count = o.skip_pass_count = 0;
  o.stop_after = nullptr;
  o.rewrite_limit = 0;
  // Precisions without a number in the field, such as 8-bit floats, are an option by name. Option
  // eightbitsio would create a different model.
  std::erase_if(plain.named, [](const poprt_option& option) {
    const std::string_view name = option.name;
    // Patterns have an effect when an executable is made, and that of the converted model is made
    // without them.
    return name == "precision" || name == "execution_precision" || name == "eightbitsio" ||
           name == "custom_patterns" || name == "custom_transform_applier_settings" ||
           name == "serialize_ir" || name == "serialized_ir_dest" || name == "numerics";
  });
  plain.named.push_back({capi::kPlain, "1"});
  return plain;
}

// `results` contains names of further outputs, one per line.
std::shared_ptr<const runtime::Model> compile_original(const poprt_compiler& c,
                                                       const poprt_library_source& source,
                                                       const std::string& results) {
  PlainOptions plain = plain_options(c);
  if (!results.empty()) plain.named.push_back({capi::kLayers, results.c_str()});
  return compile_quietly(plain.options, plain.named, source);
}

// The precision in which the executable computes, if an option states it. It is not a property of
// the converted model.
const char* execution_precision(const poprt_compiler& c) {
  const char* precision = capi::named_option(c.options, "precision");
  if (precision && std::string_view(precision) == "bf16") return precision;
  return capi::named_option(c.options, "execution_precision");
}

// Compiles the result of a conversion as the executable is compiled, without further changes.
std::shared_ptr<const runtime::Model> compile_converted(const poprt_compiler& c,
                                                        const poprt_library_source& source,
                                                        std::vector<poprt_option> named) {
  poprt_compile_options o{};
  o.struct_size = sizeof o;
  if (const char* precision = execution_precision(c))
    named.push_back({"execution_precision", precision});
  for (const char* name : {"numerics", "partials_type"})
    if (const char* value = capi::named_option(c.options, name)) named.push_back({name, value});
  return compile_quietly(o, named, source);
}

// Returns the lines that a function of the compiler library writes.
template <class Call>
std::vector<std::string> lines_of(Call call) {
  std::vector<std::string> lines;
  std::istringstream stream(written(call));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

capi::CheckData data_of(const poprt_compiler& c) {
  const char* file = capi::named_option(c.options, "data_preprocess");
  return file ? capi::CheckData{file, read_arrays(file)} : capi::CheckData{};
}

// The value of option `precision` with the effect of a pass that is given by name: the coarsest one
// if there are several such passes, or null if there is none.
const char* precision_of_passes(const poprt_compiler& c) {
  constexpr std::pair<std::string_view, const char*> kPrecisions[] = {{"float_to_fp8", "fp8"},
                                                                      {"float_to_int8", "int8"},
                                                                      {"float_to_qdq", "int8"},
                                                                      {"float_to_half", "fp16"},
                                                                      {"float_to_mixed", "fp16"}};
  const std::span passes(c.options.passes, c.options.pass_count);
  for (const auto& [pass, precision] : kPrecisions)
    if (std::ranges::find(passes, pass) != passes.end()) return precision;
  return nullptr;
}

capi::Tolerance tolerance_of(const poprt_compiler& c, const poprt_library_source& original,
                             const runtime::Model& converted) {
  const char* precision = capi::named_option(c.options, "precision");
  if (!precision && c.options.precision == POPRT_PRECISION_FP16) precision = "fp16";
  if (!precision) precision = precision_of_passes(c);
  if (!precision) precision = execution_precision(c);
  if (!precision) return capi::tolerance_of("", converted);
  int quantizes = 0;
  call([&](poprt_library_error* error) {
    quantizes = capi::compiler_library().quantizes(&c.options, &original, error);
  });
  return capi::tolerance_of(precision, converted, quantizes != 0);
}

std::string compare_layers(const poprt_compiler& c, const poprt_library_source& original,
                           const poprt_library_source& converted) {
  std::vector<capi::Layer> layers;
  std::vector<std::string> names;
  for (const std::string& line :
       lines_of([&](const poprt_library_sink* sink, poprt_library_error* error) {
         capi::compiler_library().layers(&c.options, &original, &converted, sink, error);
       })) {
    const size_t at = line.find(' ');
    layers.push_back({line.substr(0, at), line.substr(at + 1)});
    names.push_back(layers.back().name);
  }
  if (layers.empty()) return "no Conv, MatMul or Gemm is in both models\n";
  const std::string results = joined(names);
  const capi::CheckedModels models{
      compile_original(c, original, results),
      compile_converted(c, converted, {{capi::kLayers, results.c_str()}}),
      {}};
  return capi::compare_layers(layers, models, tolerance_of(c, original, *models.converted),
                              data_of(c));
}

// Returns the results inside the original whose sizes check reports.
std::vector<std::string> sized_results(const poprt_compiler& c,
                                       const poprt_library_source& source) {
  PlainOptions plain = plain_options(c);
  plain.named.push_back({capi::kQuiet, "1"});
  plain.options.progress = nullptr;
  plain.options.after_pass = nullptr;
  plain.options.options = plain.named.data();
  plain.options.option_count = plain.named.size();
  return lines_of([&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::compiler_library().sized(&plain.options, &source, sink, error);
  });
}

std::string check_models(const poprt_compiler& c, const poprt_library_source& source,
                         const poprt_library_source& converted) {
  capi::CheckedModels models{nullptr, compile_converted(c, converted, {}), {}};
  try {
    models.inner = sized_results(c, source);
    models.original = compile_original(c, source, joined(models.inner));
  } catch (const Error& e) {
    // The check of the outputs continues.
    log().info("`check` does not report sizes inside of the model: {}", e.message());
    models.inner.clear();
    models.original = compile_original(c, source, "");
  }
  return capi::check_same_results(models, tolerance_of(c, source, *models.converted), data_of(c));
}

// Throws invalid_argument if writing `path` would replace the model or its external data.
void require_not_read(const char* path, const char* model) {
  capi::require_distinct(model, path);
  call([&](poprt_library_error* error) {
    capi::compiler_library().require_not_read(path, model, error);
  });
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

// Writes to `out` only after a successful check, and writes no file of the check earlier. So the
// model is converted twice: first to a temporary folder, for the check, and then to `out`.
void convert_and_check(const poprt_compiler& c, const poprt_library_source& source,
                       const fs::path& out) {
  const capi::TemporaryFolder folder;
  const fs::path file = folder.path() / "model.onnx";
  poprt_compile_options first = c.options, second = c.options;
  first.progress = nullptr;
  first.after_pass = nullptr;
  convert(first, source, file.c_str());
  const poprt_library_source converted{file.c_str(), nullptr, 0, nullptr};
  std::string report, layers;
  if (c.check_models) report = check_models(c, source, converted);
  if (c.compare_layers) layers = compare_layers(c, source, converted);
  // The first conversion has already given all warnings.
  std::vector<poprt_option> quiet(c.options.options, c.options.options + c.options.option_count);
  quiet.push_back({capi::kQuiet, "1"});
  second.options = quiet.data();
  second.option_count = quiet.size();
  convert(second, source, out.c_str(), &c);
  if (c.check_models) write_text(out.parent_path() / "check.json", report);
  if (c.compare_layers) write_text(out.parent_path() / "precision_compare.log", layers);
}

}  // namespace

std::shared_ptr<const runtime::Model> capi::compile_generation(const poprt_compiler* compiler,
                                                               const fs::path& onnx,
                                                               const std::string& generation,
                                                               std::span<const fs::path> parts) {
  poprt_compile_options plain{};
  plain.struct_size = sizeof plain;
  const poprt_compile_options& given = compiler ? compiler->options : plain;
  std::vector<poprt_option> named(given.options, given.options + given.option_count);
  // A cache of compiled models must also depend on the contents of the other files.
  std::string text = generation;
  if (!parts.empty() && cache_folder(given)) {
    nlohmann::json json = parse_json(generation);
    for (const fs::path& part : parts) {
      const std::string path = part.string();
      const poprt_library_source source{path.c_str(), nullptr, 0, nullptr};
      json["hashes"].push_back(hash_silently(source, given));
    }
    text = json_text(json);
  }
  named.push_back({kGenerationOption, text.c_str()});
  poprt_compile_options options = given;
  options.options = named.data();
  options.option_count = named.size();
  const poprt_compiler own(options);
  const std::string path = onnx.string();
  const poprt_library_source source{path.c_str(), nullptr, 0, nullptr};
  return ::compile(own, source, runtime::executable_name(onnx));
}

std::unique_ptr<poprt_compiler> capi::compiler_with(const poprt_compile_options& o) {
  poprt_compiler* made = nullptr;
  if (poprt_error* error = poprt_compiler_create(&o, &made)) {
    const std::unique_ptr<poprt_error, void (*)(poprt_error*)> owner(error, poprt_error_free);
    throw Error(static_cast<ErrorCode>(poprt_error_get_code(error)), poprt_error_message(error));
  }
  return std::unique_ptr<poprt_compiler>(made);
}

poprt_error* poprt_compiler_create(const poprt_compile_options* options,
                                   poprt_compiler** out_compiler) {
  return capi::guard([&] {
    warn_of_unknown_log_level();
    kernels::warn_of_unknown_isa();
    auto o = capi::read_options(options, "poprt_compile_options");
    auto& out = capi::required(out_compiler, "out_compiler");
    const capi::NamedOptions named(o);
    check(o);
    load_plugins(o);
    if (o.cache_path && *o.cache_path && !o.enable_engine_caching &&
        !runtime::cache_folder_of_environment()) {
      log().warn("`cache_path` has no effect without `enable_engine_caching`");
      o.cache_path = nullptr;
    }
    auto compiler = std::make_unique<poprt_compiler>(o);
    compiler->check_models = named.check();
    compiler->compare_layers = named.precision_compare();
    call([&](poprt_library_error* error) {
      capi::compiler_library().check_options(&compiler->options, error);
    });
    if ((compiler->check_models || compiler->compare_layers) && has_several_shapes(o))
      fail(ErrorCode::unimplemented,
           "`check` and `precision_compare` run a model at one shape: give one in `input_shape`");
    out = compiler.release();
  });
}

poprt_error* poprt_compiler_estimate_file(const poprt_compiler* compiler, const char* onnx_path,
                                          poprt_estimate** out_estimate) {
  return capi::guard([&] {
    const auto& c = capi::required(compiler, "compiler");
    const poprt_library_source source{&capi::required(onnx_path, "onnx_path"), nullptr, 0, nullptr};
    auto& out = capi::required(out_estimate, "out_estimate");
    out = capi::make_estimate(
        written([&](const poprt_library_sink* sink, poprt_library_error* error) {
          capi::compiler_library().estimate(&c.options, &source, sink, error);
        }));
  });
}

namespace {

// Decides by the first bytes, or by the name if the file cannot be read.
bool is_popef(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return path.ends_with(".popef");  // a FIFO would block
  std::array<char, 6> tag{};
  std::ifstream file(path, std::ios::binary);
  if (file.read(tag.data(), tag.size())) return std::string_view(tag.data(), 6) == "PopEF ";
  return path.ends_with(".popef");
}

// Whether the shapes are compiled on demand if the model has variable dimensions. `loads`: the
// model is loaded to run it.
bool compiles_on_demand(const poprt_compiler& compiler, bool loads) {
  const poprt_compile_options& o = compiler.options;
  const std::string_view shapes = o.shapes ? o.shapes : "";
  const bool estimates = capi::named_option(o, "estimate") != nullptr;
  const char* const ir = capi::named_option(o, "serialize_ir");
  const bool serializes = ir && std::string_view(ir) == "True";
  if (shapes == "on_demand" && estimates)
    fail(ErrorCode::unimplemented,
         "`estimate` is for a model at one shape, and `shapes` is on_demand: give fixed");
  if (!shapes.empty()) return shapes == "on_demand";
  // These options concern one executable, or inputs whose types are known after the compilation.
  return loads && !has_several_shapes(o) && o.input_length_count == 0 && !o.variable_weights &&
         !o.after_pass && !estimates && !serializes;
}

std::unique_ptr<poprt_executable> compile_on_demand(std::unique_ptr<poprt_compiler> compiler,
                                                    capi::ShapeCompiler::Source source) {
  warn_without_conversion(*compiler);
  const poprt_compile_options& o = compiler->options;
  const poprt_compiler& options = *compiler;
  std::optional<runtime::ExecutableCache> cache;
  if (const auto folder = capi::cache_folder(o)) cache.emplace(*folder);
  const std::string path = source.path;
  auto shapes =
      std::make_shared<capi::ShapeCompiler>(std::move(compiler), std::move(source), cache);
  auto made = std::make_unique<poprt_executable>();
  made->model = shapes->load();
  if (!made->model) {
    made->model = shapes->description();
  } else {
    const poprt_library_source from = shapes->source();
    std::map<std::string, std::string> files;
    if (o.embed_source) files = embedded(from, o);
    const capi::Source note{
        path.empty() ? "" : fs::path(path).filename().string(),
        shapes->model_hash().empty() ? hash_silently(from, o) : shapes->model_hash()};
    made->model = with_options(made->model, options.options, note, std::move(files));
  }
  if (shapes->is_open()) made->shapes = std::move(shapes);
  return made;
}

// A copy of a compiler for shapes that are compiled after the call. Its options were checked when
// the compiler was created, and compiler_with() does not accept the names that they have now.
std::unique_ptr<poprt_compiler> copy_of(const poprt_compiler& compiler) {
  auto made = std::make_unique<poprt_compiler>(compiler.options);
  made->check_models = compiler.check_models;
  made->compare_layers = compiler.compare_layers;
  made->converted = compiler.converted.load();
  return made;
}

// Opens a PopEF file as it is, with a warning about options that only a compilation uses.
std::unique_ptr<poprt_executable> open_compiled(const std::string& path,
                                                poprt_compile_options options) {
  const capi::NamedOptions named(options);
  check(options);
  load_plugins(options);
  auto made = std::make_unique<poprt_executable>(poprt_executable{runtime::open_popef(path)});
  std::vector<std::string> unused = capi::options_of_compilation(options);
  if (named.check()) unused.emplace_back("check");
  if (named.precision_compare()) unused.emplace_back("precision_compare");
  if (!unused.empty())
    log().warn(
        "'{}' is compiled already, so that the options of a compilation have no effect: {}. "
        "Compile the ONNX model with them, or give none",
        path, fmt::join(unused, ", "));
  return made;
}

// Opens a PopEF file that contains its source. Shapes for which it was not compiled are compiled on
// demand. `given` has the cache.
std::unique_ptr<poprt_executable> load_with_source(const std::string& path,
                                                   const poprt_compile_options& given) {
  check(given);
  if (given.option_count) capi::required(given.options, "options");
  for (const poprt_option& option : std::span(given.options, given.option_count)) {
    capi::required(option.name, "options[].name");
    capi::required(option.value, "options[].value");
  }
  load_plugins(given);
  auto made = std::make_unique<poprt_executable>(poprt_executable{runtime::open_popef(path)});
  try {
    const capi::OptionsOfFile of_file(*made->model, given, path);
    auto compiler = capi::compiler_with(of_file.options());
    std::optional<runtime::ExecutableCache> cache;
    if (const auto folder = capi::cache_folder(compiler->options)) cache.emplace(*folder);
    const auto shapes = std::make_shared<capi::ShapeCompiler>(
        std::move(compiler), capi::embedded_source(*made->model, path), cache);
    shapes->adopt(made->model, of_file.source_hash());
    if (shapes->is_open()) made->shapes = shapes;
  } catch (Error& e) {
    if (e.message().find(path) == std::string::npos) e.add_context(fmt::format("'{}'", path));
    throw;
  }
  return made;
}

std::unique_ptr<poprt_executable> load(const std::string& path,
                                       const poprt_compile_options& given) {
  const bool popef = is_popef(path);
  if (popef && !(given.shapes && std::string_view(given.shapes) == "on_demand"))
    return open_compiled(path, given);
  poprt_compile_options o = given;
  std::string folder;
  const bool named = (o.cache_path && *o.cache_path) || runtime::cache_folder_of_environment();
  if (const auto found = runtime::user_cache_folder(); !named && found) folder = *found;
  if (!folder.empty()) o.cache_path = folder.c_str();
  o.enable_engine_caching = named || !folder.empty();
  if (popef) return load_with_source(path, o);
  auto compiler = capi::compiler_with(o);
  const std::string name = runtime::executable_name(path);
  if (compiles_on_demand(*compiler, true))
    return compile_on_demand(std::move(compiler), {path, {}, {}, name});
  return std::make_unique<poprt_executable>(
      poprt_executable{compile(*compiler, {path.c_str(), nullptr, 0, nullptr}, name)});
}

}  // namespace

poprt_error* poprt_executable_load(const char* path, const poprt_compile_options* options,
                                   poprt_executable** out_executable) {
  return capi::guard([&] {
    capi::required(path, "path");
    auto& out = capi::required(out_executable, "out_executable");
    if (!*path) fail(ErrorCode::not_found, "cannot open '': the path is empty");
    auto o = capi::read_options(options, "poprt_compile_options");
    o.struct_size = sizeof o;
    out = load(path, o).release();
  });
}

poprt_error* poprt_compiler_compile_file(const poprt_compiler* compiler, const char* onnx_path,
                                         poprt_executable** out_executable) {
  return capi::guard([&] {
    const auto& c = capi::required(compiler, "compiler");
    capi::required(onnx_path, "onnx_path");
    auto& out = capi::required(out_executable, "out_executable");
    const std::string name = runtime::executable_name(onnx_path);
    if (compiles_on_demand(c, false)) {
      out = compile_on_demand(copy_of(c), {onnx_path, {}, {}, name}).release();
      return;
    }
    out = new poprt_executable{compile(c, {onnx_path, nullptr, 0, nullptr}, name)};
  });
}

poprt_error* poprt_compiler_compile_bytes(const poprt_compiler* compiler, const void* data,
                                          size_t size, const char* folder,
                                          poprt_executable** out_executable) {
  return capi::guard([&] {
    const auto& c = capi::required(compiler, "compiler");
    capi::required(static_cast<const char*>(data), "data");
    auto& out = capi::required(out_executable, "out_executable");
    if (compiles_on_demand(c, false)) {
      capi::ShapeCompiler::Source source{
          {}, std::string(static_cast<const char*>(data), size), {}, "model"};
      if (folder) source.folder = folder;
      out = compile_on_demand(copy_of(c), std::move(source)).release();
      return;
    }
    out = new poprt_executable{compile(c, {nullptr, data, size, folder}, "model")};
  });
}

poprt_error* poprt_compiler_compile_to_popef(const poprt_compiler* compiler, const char* onnx_path,
                                             const char* popef_path) {
  return capi::guard([&] {
    const auto& c = capi::required(compiler, "compiler");
    const poprt_library_source source{&capi::required(onnx_path, "onnx_path"), nullptr, 0, nullptr};
    require_not_read(&capi::required(popef_path, "popef_path"), onnx_path);
    if (compiles_on_demand(c, false))
      fail(ErrorCode::invalid_argument,
           "shapes 'on_demand' is for a model that is loaded to run it: give the PopEF file the "
           "shapes of `input_shape`");
    if (capi::cache_folder(c.options)) {
      runtime::save_model(*compile(c, source, runtime::executable_name(onnx_path)), popef_path);
      return;
    }
    warn_without_conversion(c);
    const poprt_compiler::Kept kept = c.take_kept();
    call([&](poprt_library_error* error) {
      capi::compiler_library().compile_to_popef(&c.options, &source, kept.get(), popef_path, error);
    });
  });
}

poprt_error* poprt_compiler_convert_file(const poprt_compiler* compiler, const char* onnx_path,
                                         const char* out_onnx_path) {
  return capi::guard([&] {
    const auto& c = capi::required(compiler, "compiler");
    const poprt_library_source source{&capi::required(onnx_path, "onnx_path"), nullptr, 0, nullptr};
    require_not_read(&capi::required(out_onnx_path, "out_onnx_path"), onnx_path);
    c.converted = true;
    if (c.check_models || c.compare_layers)
      convert_and_check(c, source, out_onnx_path);
    else
      convert(c.options, source, out_onnx_path, &c);
  });
}

poprt_error* poprt_compiler_fuse_files(const char* const* onnx_paths, size_t path_count,
                                       const char* out_onnx_path) {
  return capi::guard([&] {
    if (path_count) capi::required(onnx_paths, "onnx_paths");
    capi::required(out_onnx_path, "out_onnx_path");
    for (const char* path : std::span(onnx_paths, path_count))
      require_not_read(out_onnx_path, &capi::required(path, "onnx_paths[]"));
    call([&](poprt_library_error* error) {
      capi::compiler_library().fuse(onnx_paths, path_count, out_onnx_path, error);
    });
  });
}

poprt_error* poprt_compiler_show_file(const poprt_compiler* compiler, const char* onnx_path,
                                      poprt_string** out_text) {
  return text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::required(compiler, "compiler");
    const poprt_library_source source{&capi::required(onnx_path, "onnx_path"), nullptr, 0, nullptr};
    capi::compiler_library().show(&compiler->options, &source, sink, error);
  });
}

poprt_error* poprt_compiler_io_stat_file(const poprt_compiler* compiler, const char* onnx_path,
                                         poprt_string** out_text) {
  return text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::required(compiler, "compiler");
    const poprt_library_source source{&capi::required(onnx_path, "onnx_path"), nullptr, 0, nullptr};
    capi::compiler_library().io_stat(&compiler->options, &source, sink, error);
  });
}

poprt_error* poprt_compiler_list_passes(poprt_string** out_text) {
  return text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::compiler_library().list_passes(sink, error);
  });
}

poprt_error* poprt_compiler_list_options(poprt_string** out_text) {
  return capi::guard([&] {
    auto& out = capi::required(out_text, "out_text");
    out = capi::make_string(capi::options_json());
  });
}

poprt_error* poprt_compiler_list_ops(poprt_string** out_text) {
  return text(out_text, [&](const poprt_library_sink* sink, poprt_library_error* error) {
    capi::compiler_library().list_ops(sink, error);
  });
}

void poprt_compiler_free(poprt_compiler* compiler) { delete compiler; }
