#include "compiler_library.h"

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/background.h"
#include "base/file.h"
#include "base/log.h"
#include "compiler/chip_options.h"
#include "compiler/driver.h"
#include "compiler/ir_file.h"
#include "compiler/outputs.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/static_inputs.h"
#include "driver_options.h"
#include "engine_options.h"
#include "estimate.h"
#include "faithful.h"
#include "kept_conversion.h"
#include "kernels/common/isa_builds.h"
#include "onnx/export.h"
#include "onnx/model_hash.h"
#include "open_models.h"
#include "ops/facts.h"
#include "ops/op.h"
#include "option_lists.h"
#include "passes.h"
#include "passes/common/custom.h"
#include "passes/common/describe.h"
#include "passes/common/rewrite.h"
#include "passes/pass.h"
#include "program/serialize.h"
#include "runtime/session/popef_file.h"
#include "shapes.h"
#include "source_size.h"
#include "warnings.h"

namespace {

using namespace poprt;
using capi::library_guard;
using capi::write;

// Returns the file of serialize_ir: serialized_ir_dest, else a file in the folder of the PopEF file
// or, if none is written, in the working folder. Null if the option is not set.
std::unique_ptr<compiler::IrFile> ir_file(const poprt_compile_options& o, const char* popef_path) {
  const char* wanted = capi::named_option(o, "serialize_ir");
  const char* given = capi::named_option(o, "serialized_ir_dest");
  if (!wanted || std::string_view(wanted) != "True") {
    if (given)
      log().warn("`compiler_options`: serialized_ir_dest has no effect without serialize_ir=True");
    return nullptr;
  }
  constexpr const char* kName = "serialized_ir.json";
  std::filesystem::path path = given ? given : popef_path ? popef_path : kName;
  if (!given && popef_path) path.replace_extension(".ir.json");
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) path /= kName;
  try {
    return std::make_unique<compiler::IrFile>(path);
  } catch (Error& e) {
    e.add_context("`compiler_options`: serialized_ir_dest");
    throw;
  }
}

constexpr size_t kHashDigits = 64;
constexpr double kHashed = 0.05;  // the part of hash(), which is called before compile()

// Reports the progress of the hash as the part from `from` to `until` of the progress of the call,
// because hashing a large file takes seconds.
std::string hash_of(const poprt_compile_options& o, std::span<const onnx::ModelFile> files,
                    double from, double until) {
  return onnx::hash_of(
      files, [&](double done) { capi::report_step(o, from + (until - from) * done, "hash"); });
}

// The work is complete, so the stop callback is no longer called.
void finish(const poprt_compile_options& o) {
  if (o.progress) o.progress(1, "done", o.user_data);
}

std::unique_ptr<ir::Graph> import(const poprt_library_source& s,
                                  const poprt_compile_options& o = {}) {
  return compiler::read_model(capi::model_source(s), o.allow_links != 0, o.strict != 0,
                              capi::copies_file(o.load));
}

// Maps the driver's progress to a part of the progress of the call. Reading, opset conversion and
// writing have the rest.
void report_progress(const poprt_compile_options& o, compiler::DriverOptions& to) {
  constexpr double kFrom = 0.1, kPart = 0.7;
  to.progress = [&o](double done, std::string_view what) {
    if (o.progress) o.progress(kFrom + kPart * done, std::string(what).c_str(), o.user_data);
  };
  to.check_stopped = [&o] { capi::throw_if_stopped(o); };
}

// Returns the graph that a conversion has kept, if the file is the same and unchanged.
std::unique_ptr<ir::Graph> take(void* kept, const poprt_library_source& source, bool& converted) {
  auto* model = static_cast<capi::Kept*>(kept);
  if (!model || !model->graph || !source.path || model->path != source.path ||
      !model->stamps.are_current())
    return nullptr;
  converted = model->converted;
  return std::move(model->graph);
}

// Adds each lowered graph to `ir` if it is not null. The caller writes that file with the
// executable.
compiler::Executable compile_source(const poprt_compile_options& o,
                                    const poprt_library_source& source, void* kept,
                                    compiler::IrFile* ir) {
  capi::report_step(o, kHashed, "read");
  bool converted = false;
  auto graph = take(kept, source, converted);
  if (!graph) graph = import(source, o);
  compiler::DriverOptions options = capi::make_options(o, source, ir);
  options.padding = capi::paddings(o);
  report_progress(o, options);
  return converted ? compiler::compile_converted(std::move(graph), options)
                   : compiler::compile_model(std::move(graph), options);
}

void check_options(const poprt_compile_options* o, poprt_library_error* error) {
  library_guard(error, [&] {
    capi::shape_sets(*o);
    for (const char* name : std::span(o->passes, o->pass_count)) passes::pass_of(name);
    for (const char* name : std::span(o->skip_passes, o->skip_pass_count)) passes::pass_of(name);
    if (o->stop_after) passes::pass_of(o->stop_after);
    compiler::Options to;
    capi::request_passes(*o, to);
    capi::take_plugins(*o, to);
    passes::check_patterns(to.patterns);
    passes::check_transforms(to.transforms);
    std::vector<std::string> named(o->passes, o->passes + o->pass_count);
    named.insert(named.end(), to.requested.begin(), to.requested.end());
    for (const auto& [pass, arguments] : to.pass_arguments) named.push_back(pass);
    for (const std::string& name : named) {
      const passes::PassDef& pass = passes::pass_of(name);
      checked_arguments(pass, to.pass_arguments[std::string(pass.name)]);
    }
    if (const char* target = capi::named_option(*o, "estimate_target"))
      compiler::chip_target(target);
    if (const char* formats = capi::named_option(*o, "fp8_params"))
      passes::parse_fp8_params(formats, "`fp8_params`");
  });
}

void compile(const poprt_compile_options* o, const poprt_library_source* source, void* kept,
             const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const WarningFilter new_ones = capi::skip_warnings(*o, *source, sink);
    const auto ir = ir_file(*o, nullptr);
    const compiler::Executable executable = compile_source(*o, *source, kept, ir.get());
    capi::report_step(*o, 0.8, "pack weights");
    program::write_executable(capi::payload_sink(*sink), capi::payload_memory(*sink),
                              executable.program, executable.weights, executable.notes,
                              executable.narrow);
    if (ir) ir->write();
    finish(*o);
  });
}

// Throws if the files are too large for a PopEF file.
void check_embedded(std::span<const onnx::ModelFile> files) {
  uint64_t bytes = 0;
  for (const onnx::ModelFile& f : files) bytes += f.bytes.size();
  constexpr uint64_t kMost = uint64_t{2} << 30;
  if (bytes > kMost)
    fail(ErrorCode::resource_exhausted,
         "`embed_source`: the model and its external data have {} bytes, at most {} can be "
         "embedded; keep the model in the folder of the PopEF file instead",
         bytes, kMost);
}

void compile_to_popef(const poprt_compile_options* o, const poprt_library_source* source,
                      void* kept, const char* popef_path, poprt_library_error* error) {
  library_guard(error, [&] {
    const WarningFilter new_ones = capi::skip_warnings(*o, *source);
    std::vector<onnx::ModelFile> files;
    if (o->embed_source) check_embedded(files = capi::files_of(*source, *o));
    const auto ir = ir_file(*o, popef_path);
    // The hash of a large model may take as long as its compilation, so another thread computes it
    // meanwhile. Errors of the compilation are reported first, because the import reports errors of
    // a model best.
    Background<std::string> hash(
        [&](const std::atomic<bool>& stopped) {
          return onnx::hash_of(o->embed_source ? files : capi::files_of(*source, *o), [&](double) {
            if (stopped) fail(ErrorCode::cancelled, "the hash is not needed any more");
          });
        },
        capi::is_hashed_soon(*source));
    const compiler::Executable executable = compile_source(*o, *source, kept, ir.get());
    std::map<std::string, std::string> blobs;
    if (o->embed_source)
      for (const onnx::ModelFile& f : files)
        blobs[runtime::source_blob(f.location)] = onnx::copy_of(f);
    for (const auto& [name, text] : executable.notes) blobs[name] = text;
    if (capi::named_option(*o, "estimate"))
      blobs[capi::kEstimate] = capi::estimate_blob(*o, *source);
    for (const auto& b : std::span(o->opaque_blobs, o->opaque_blob_count))
      blobs[b.name] = std::string(static_cast<const char*>(b.data), b.bytes);
    capi::Source note{std::filesystem::path(source->path).filename().string(),
                      std::string(kHashDigits, '0')};
    const auto options_with_hash = [&] {
      capi::report_step(*o, 0.95, "hash");
      note.hash = hash.get([&] { capi::throw_if_stopped(*o); });
      return capi::engine_options(*o, note);
    };
    capi::report_step(*o, 0.8, "write");
    runtime::write_popef(popef_path, runtime::executable_name(source->path), executable.program,
                         executable.weights, blobs, capi::engine_options(*o, note),
                         executable.narrow, options_with_hash);
    if (ir) ir->write();
    finish(*o);
  });
}

std::shared_ptr<const compiler::Calibration> with_log(const compiler::Calibration& calibration,
                                                      std::string& text) {
  auto logged = std::make_shared<compiler::Calibration>(calibration);
  logged->log = [&text](const std::string& message) { text = message; };
  return logged;
}

// Writes the formats that the calibration has chosen to quantize.log in the folder of the written
// model.
void write_log(const std::string& text, const std::filesystem::path& model) {
  AtomicFile file(model.parent_path() / "quantize.log");
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

// A caller with a callback for passes expects all passes in each call, so nothing is kept.
std::optional<capi::Stamps> stamps_to_keep(const poprt_compile_options& o,
                                           const poprt_library_source& source, void** out_kept) {
  if (!out_kept || !source.path || o.after_pass) return std::nullopt;
  return capi::Stamps::of(source.path, o.allow_links != 0, capi::copies_file(o.load));
}

void convert(const poprt_compile_options* o, const poprt_library_source* source,
             const char* out_onnx_path, void** out_kept, poprt_library_error* error) {
  library_guard(error, [&] {
    const WarningFilter new_ones = capi::note_warnings(*o, *source);
    capi::report_step(*o, 0, "read");
    const auto stamps = stamps_to_keep(*o, *source, out_kept);
    auto graph = import(*source, *o);
    std::unique_ptr<ir::Graph> kept;  // the imported graph, or the converted one
    if (stamps) kept = graph->clone();
    compiler::DriverOptions options = capi::make_options(*o, *source);
    options.keep_onnx = true;
    std::string log;
    if (options.calibration) options.calibration = with_log(*options.calibration, log);
    report_progress(*o, options);
    const bool same = compiler::convert_model(*graph, options);
    // The file is written from the copy. In the copy, the readers of a value may have another
    // order. This changes names of fused nodes in an executable, but not an ONNX file.
    if (stamps && same) kept = std::exchange(graph, graph->clone());
    capi::report_step(*o, 0.8, "opset");
    compiler::settle_opset(graph, options);
    capi::report_step(*o, 0.9, "write");
    onnx::ExportOptions files;
    if (source->path) files.sources.emplace_back(source->path);
    onnx::export_file(*graph, out_onnx_path, files);
    if (!log.empty()) write_log(log, out_onnx_path);
    if (stamps) *out_kept = new capi::Kept{source->path, *stamps, std::move(kept), same};
    finish(*o);
  });
}

void fuse(const char* const* onnx_paths, size_t count, const char* out_onnx_path,
          poprt_library_error* error) {
  library_guard(error, [&] {
    const std::vector<std::filesystem::path> paths(onnx_paths, onnx_paths + count);
    onnx::ExportOptions files;
    files.sources = paths;
    onnx::export_file(*compiler::read_fused(paths), out_onnx_path, files);
  });
}

// Reads a model with the shapes and the batch size of the options. Several sets of shapes leave the
// model's shapes unchanged.
std::unique_ptr<ir::Graph> shaped(const poprt_library_source& source,
                                  const poprt_compile_options& options) {
  auto graph = import(source, options);
  const auto sets = capi::shape_sets(options);
  compiler::Options shapes;
  if (sets.size() == 1) shapes.input_shape = sets.front();
  shapes.batch_size = options.batch_size;
  shapes.batch_axis = options.batch_size > 0 ? options.batch_axis : -1;
  if (sets.size() <= 1 && (!shapes.input_shape.empty() || shapes.batch_size > 0)) {
    compiler::fix_shapes(*graph, shapes);
    ops::infer(*graph);
  }
  return graph;
}

void show(const poprt_compile_options* options, const poprt_library_source* source,
          const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const auto graph = shaped(*source, *options);
    std::string text;
    const auto line = [&](const char* direction, const ir::Value& v) {
      text += fmt::format("{} {}: {}\n", direction, v.name(), passes::describe_named_type(v));
    };
    for (const ir::Value* v : passes::model_inputs(*graph)) line("input", *v);
    for (const ir::Value* v : graph->outputs()) line("output", *v);
    write(*sink, text);
  });
}

void io_stat(const poprt_compile_options* options, const poprt_library_source* source,
             const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] { write(*sink, passes::io_statistics(*shaped(*source, *options))); });
}

// Writes the type and name of the result of each product that both models contain, one line each.
void layers(const poprt_compile_options* options, const poprt_library_source* original,
            const poprt_library_source* converted, const poprt_library_sink* sink,
            poprt_library_error* error) {
  library_guard(error, [&] {
    const auto before = import(*original, *options), after = import(*converted);
    write(*sink, passes::layer_results(*before, *after));
  });
}

// Gets the original model, and the options with which the check compiles it.
void sized(const poprt_compile_options* options, const poprt_library_source* source,
           const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const WarningFilter none = capi::skip_warnings(*options, *source);
    const auto graph = import(*source, *options);
    compiler::DriverOptions own = capi::make_options(*options, *source);
    own.keep_onnx = true;
    const auto resolved = graph->clone();
    compiler::convert_model(*resolved, own);
    write(*sink, compiler::sized_results(*graph, *resolved));
  });
}

int quantizes(const poprt_compile_options* options, const poprt_library_source* source,
              poprt_library_error* error) {
  bool found = false;
  library_guard(error, [&] {
    const auto graph = import(*source, *options);
    passes::for_each_node(*graph,
                          [&](const ir::Node& node) { found |= ops::facts_of(node).quantizes; });
  });
  return found;
}

void embed(const poprt_library_source* source, const poprt_compile_options* options,
           int (*take)(void* context, const char* location, const void* data, size_t size),
           void* context, poprt_library_error* error) {
  library_guard(error, [&] {
    const auto files = capi::files_of(*source, *options);
    check_embedded(files);
    for (const onnx::ModelFile& f : files) {
      const std::string copied = f.may_be_truncated ? onnx::copy_of(f) : std::string();
      const void* bytes =
          f.may_be_truncated ? static_cast<const void*>(copied.data()) : f.bytes.data();
      if (take(context, f.location.c_str(), bytes, f.bytes.size()) != 0)
        fail(ErrorCode::cancelled, "the receiver of the source stopped");
    }
  });
}

void hash(const poprt_library_source* source, const poprt_compile_options* options,
          const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    write(*sink, hash_of(*options, capi::files_of(*source, *options), 0, kHashed));
  });
}

void estimate_blob(const poprt_compile_options* options, const poprt_library_source* source,
                   const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] { write(*sink, capi::estimate_blob(*options, *source)); });
}

}  // namespace

const poprt_compiler_library* poprt_compiler_library_table(void) {
  static constexpr poprt_compiler_library table = {
      POPRT_VERSION,
      check_options,
      compile,
      compile_to_popef,
      convert,
      show,
      io_stat,
      layers,
      sized,
      quantizes,
      capi::list_passes,
      capi::list_ops,
      [](const char* level) { set_log_level(level); },
      [](LogReceiver receive) { set_log_receiver(receive); },
      embed,
      hash,
      capi::apply_passes,
      capi::list_passes_json,
      capi::sort_passes,
      fuse,
      capi::adopt_plugin,
      capi::faithful_open,
      capi::faithful_run,
      capi::faithful_close,
      [](void* kept) { delete static_cast<capi::Kept*>(kept); },
      capi::estimate,
      estimate_blob,
      capi::open_model,
      capi::compile_open_model,
      capi::close_open_model,
      [](const void* builds) -> int {
        return kernels::borrow_isa_builds(*static_cast<const kernels::IsaBuilds*>(builds));
      },
      capi::check_plugin,
      [](const char* path, const char* model, poprt_library_error* error) {
        library_guard(error, [&] { onnx::require_not_read(path, model); });
      },
  };
  return &table;
}
