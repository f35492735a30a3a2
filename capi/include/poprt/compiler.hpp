// The compiler, with the names of PopRT.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "poprt/compiler.h"
#include "poprt/error.hpp"
#include "poprt/estimate.hpp"
#include "poprt/executable.hpp"

namespace poprt {
inline namespace v1 {
namespace compiler {

enum class Precision : int32_t {
  keep = POPRT_PRECISION_KEEP,
  fp32 = POPRT_PRECISION_FP32,
  fp16 = POPRT_PRECISION_FP16,
};

// The algorithms for 3x3 convolutions, see poprt_winograd. Since 1.0.
enum class Winograd : int32_t {
  standard = POPRT_WINOGRAD_DEFAULT,
  off = POPRT_WINOGRAD_OFF,
  exact = POPRT_WINOGRAD_EXACT,
  fast = POPRT_WINOGRAD_FAST,
};

// The effect of a pass.
struct PassReport {
  std::string pass;
  int64_t rewrites = 0;
  double milliseconds = 0;
  int64_t nodesBefore = 0, nodesAfter = 0;
};

struct CompilerOptions {
  // <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  // Shapes that fix the variable dimensions of inputs, by name. None given: the model's shapes.
  // Since 0.1.
  std::map<std::string, std::vector<int64_t>> inputShape;
  // Number of elements of inputs that are sequences, by name; of an optional input 0 or 1. A
  // sequence whose elements NAME[0], NAME[1] ... have shapes in the options does not need it. None
  // given: the model's. Since 1.0.
  std::map<std::string, int64_t> inputLength;
  // The largest fraction of a request's computation that may be padding, for example 0.2 and at
  // most 0.9. If an input has several shapes, shapes between them are added until this holds.
  // Weights are stored once for any number of shapes. 0: no shape is added. Since 1.0.
  double maxPadding = 0;
  // Batch size of every input. 0: the model's. Since 0.1.
  int64_t batchSize = 0;
  // The dimension that has the batch size. Since 0.1.
  int64_t batchAxis = 0;
  // The precision of floating-point tensors. Default: the model's types. Since 0.1.
  Precision precision = Precision::keep;
  // Passes to run after the default ones, of listPasses(). Since 0.1.
  std::vector<std::string> passes;
  // Passes to leave out, of listPasses(). They also do not run in the compilation and if they are
  // given as passes to run. Since 0.1.
  std::vector<std::string> skipPasses;
  // Whether to verify the graph after each pass. Since 0.1.
  bool verify = true;
  // The largest constant that constant folding makes, in bytes. All constants together have a limit
  // in any case. 0: only that limit. Since 0.1.
  int64_t maxTensorSize = 0;
  // The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that
  // makes a result wrong. 0: no limit. Since 0.1.
  int64_t rewriteLimit = 0;
  // Name of the last pass of the conversion to run. The passes that a compilation needs run in any
  // case, up to this one in the stage that has it. "": all passes run. Since 0.1.
  std::string stopAfter;
  // Whether to use the engine cache. A model is compiled once; later compilations map the file that
  // the cache folder has under the hash of the model (including external data), the options and the
  // version. If the file is damaged or has another content, the model is compiled again, with a
  // warning in the log. A file of a user other than root and that of the process is not used, nor a
  // folder to which every user can write, unless it is sticky: the model is compiled without the
  // cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR in the environment turns the cache
  // on, too, and is the folder if none is given. Since 0.1.
  bool enableEngineCaching = false;
  // Folder of the engine cache, which is created if it does not exist. "": POPXL_CACHE_DIR or
  // POPART_CACHE_DIR from the environment, or session_cache. Since 0.1.
  std::string cachePath;
  // Off: named weights stay separate tensors, which Session::updateWeights() replaces and the save
  // programs return. Runs are slower, because such weights are not packed ahead of time. Since 0.1.
  bool constantWeights = true;
  // Bytes that are stored in the PopEF file next to the executable, by name, for the program that
  // runs it. HostConcatRunner reads "HostConcatRunnerConfig". Since 1.0.
  std::map<std::string, std::string> opaqueBlobs;
  // A function that is called on the compiling thread when a step begins, with the progress from 0
  // to 1 and the name of the step. Null: none. An exception that it throws ends the compilation
  // after this step, and the compiling function throws it. Since 0.1.
  std::function<void(double done, const std::string& what)> progress;
  // A function that is called on the compiling thread after each pass. Null: none. An exception
  // that it throws ends the compilation after this step, and the compiling function throws it.
  // Since 0.1.
  std::function<void(const PassReport&)> afterPass;
  // Opset of the converted model, 11 to 28. 0: the model's. Since 0.1.
  int64_t convertVersion = 0;
  // Whether external data may be reached through symbolic and hard links, even if they lead out of
  // the model's folder, as in some download caches. Use this only for trusted models. Since 0.1.
  bool allowLinks = false;
  // Whether to refuse a model that otherwise causes a warning in the log: an attribute that the
  // operator does not have, or a domain without an opset import. Since 1.0.
  bool strict = false;
  // The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums.
  // Default: the one that keeps each layer within 1e-4 of exact sums. Since 1.0.
  Winograd winograd = Winograd::standard;
  // Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so
  // that `poprt_exec recompile` needs no other file. Without it, the file contains only the path of
  // the model. Since 1.0.
  bool embedSource = false;
  // Options of the command poprt by name, without dashes; listOptions() returns all of them,
  // including those of the other fields. The value of a flag is "True" or "False"; commas separate
  // names, line feeds separate words. An option that is not available fails with unimplemented.
  // Options that tune a chip are stored in the metadata of the PopEF file. Since 1.0.
  std::map<std::string, std::string> options;
  // How the ONNX model and its external data are read: "map" uses weights in memory maps of the
  // files; "copy" copies them into memory. If a mapped file is truncated, the process receives
  // SIGBUS; with "copy" this is an error. "": "map". Since 1.0.
  std::string load;
  // How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its
  // first request arrives, and input_shape or batch_size is the shape that is compiled ahead;
  // "buckets" compiles the shapes of input_shape and pads requests to them; "fixed" compiles one
  // shape. "on_demand" needs a function that loads a model to run it: an ONNX file, or a PopEF file
  // that was compiled with embed_source, which also has the other options. "": "buckets" if an
  // input has several shapes; else "on_demand" for an ONNX model that is loaded to run it; else
  // "fixed". Since 1.0.
  std::string shapes;
  // Sets of shapes of inputs, by name: the model is compiled at all of them, and a request is
  // padded to the next larger set. None given: the shapes of inputs. Since 1.0.
  std::vector<std::map<std::string, std::vector<int64_t>>> shapeSets;
  // </options:compile>
};

// An argument `model` is a path, or the bytes of an ONNX file. `outputs` names the outputs to keep;
// empty keeps all.
class Compiler {
 public:
  static std::shared_ptr<Executable> compile(const std::string& model,
                                             const std::vector<std::string>& outputs = {},
                                             const CompilerOptions& options = {}) {
    Call call(options, outputs);
    poprt_executable* made = nullptr;
    poprt_error* error =
        isBytes(model)
            ? poprt_compiler_compile_bytes(call.compiler.get(), model.data(), model.size(), nullptr,
                                           &made)
            : poprt_compiler_compile_file(call.compiler.get(), detail::text(model, "model"), &made);
    const auto executable = made ? std::make_shared<Executable>(made) : nullptr;
    call.check(error);
    return executable;
  }

  static void compileAndExport(const std::string& model, const std::vector<std::string>& outputs,
                               const std::string& popefPath, const CompilerOptions& options = {}) {
    if (isBytes(model)) return compile(model, outputs, options)->save(popefPath);
    Call call(options, outputs);
    call.check(poprt_compiler_compile_to_popef(call.compiler.get(), detail::text(model, "model"),
                                               detail::text(popefPath, "popefPath")));
  }

  static void compileAndExport(const std::string& model, const std::vector<std::string>& outputs,
                               std::ostream& stream, const CompilerOptions& options = {}) {
    compile(model, outputs, options)->serialize(stream);
  }

  // Returns a text that describes the compiled executable: bytes, inputs and outputs, and the
  // program. There is no execution profile to reset. Since 1.0.
  static std::string compileAndGetSummaryReport(const std::string& model,
                                                const std::vector<std::string>& outputs,
                                                const CompilerOptions& options = {},
                                                bool resetProfile = true) {
    static_cast<void>(resetProfile);
    const auto executable = compile(model, outputs, options);
    std::string text = executable->name() + ": " + std::to_string(executable->weightsBytes()) +
                       " bytes of weights, " + std::to_string(executable->arenaBytes()) +
                       " bytes of device memory\n";
    const auto add = [&](const char* direction, const std::vector<DataDesc>& list) {
      for (const DataDesc& d : list)
        text += std::string(direction) + " " + d.name + ": " + std::to_string(d.sizeInBytes) +
                " bytes\n";
    };
    add("input", executable->getInputs());
    add("output", executable->getOutputs());
    return text + executable->listing();
  }

  // Converts a model into an ONNX file without compiling it.
  static void convert(const std::string& onnxPath, const std::string& outOnnxPath,
                      const std::vector<std::string>& outputs = {},
                      const CompilerOptions& options = {}) {
    Call call(options, outputs);
    call.check(poprt_compiler_convert_file(call.compiler.get(), detail::text(onnxPath, "onnxPath"),
                                           detail::text(outOnnxPath, "outOnnxPath")));
  }

  // Estimates an ONNX file on a chip (poprt_compiler_estimate_file). Since 1.0.
  static std::shared_ptr<Estimate> estimate(const std::string& onnxPath,
                                            const std::vector<std::string>& outputs = {},
                                            const CompilerOptions& options = {}) {
    Call call(options, outputs);
    poprt_estimate* made = nullptr;
    poprt_error* error = poprt_compiler_estimate_file(call.compiler.get(),
                                                      detail::text(onnxPath, "onnxPath"), &made);
    const auto estimate = made ? std::make_shared<Estimate>(made) : nullptr;
    call.check(error);
    return estimate;
  }

  // Writes several ONNX models as one (poprt_compiler_fuse_files). Compiling it is equivalent to
  // Executable::fuse. Since 1.0.
  static void fuse(const std::vector<std::string>& onnxPaths, const std::string& outOnnxPath) {
    std::vector<const char*> paths;
    for (const auto& p : onnxPaths) paths.push_back(detail::text(p, "onnxPaths"));
    detail::check(poprt_compiler_fuse_files(paths.data(), paths.size(),
                                            detail::text(outOnnxPath, "outOnnxPath")));
  }

  // Opens a PopEF file, or compiles an ONNX model and stores the result in a cache
  // (poprt_executable_load), from which later calls take it. Unless `shapes` is "on_demand",
  // options of a compilation have no effect on a PopEF file, and a warning in the log names those
  // that are given. Since 1.0.
  static std::shared_ptr<Executable> load(const std::string& path,
                                          const CompilerOptions& options = {}) {
    poprt_executable* made = nullptr;
    poprt_error* error = nullptr;
    const Call call(options, {}, [&](const poprt_compile_options& o) {
      error = poprt_executable_load(detail::text(path, "path"), &o, &made);
    });
    const auto executable = made ? std::make_shared<Executable>(made) : nullptr;
    call.check(error);
    return executable;
  }

  static std::string listPasses() {
    poprt_string* text = nullptr;
    detail::check(poprt_compiler_list_passes(&text));
    return detail::take(text);
  }
  static std::string listOps() {
    poprt_string* text = nullptr;
    detail::check(poprt_compiler_list_ops(&text));
    return detail::take(text);
  }
  // Returns all options as JSON. Since 1.0.
  static std::string listOptions() {
    poprt_string* text = nullptr;
    detail::check(poprt_compiler_list_options(&text));
    return detail::take(text);
  }

 private:
  struct Free {
    void operator()(poprt_compiler* c) const { poprt_compiler_free(c); }
  };
  struct Call {
    // Creates a compiler, or calls `load` with the options.
    template <class Load>
    Call(const CompilerOptions& given, const std::vector<std::string>& outputs, Load load)
        : options(given) {
      poprt_compile_options o{};
      o.struct_size = sizeof o;
      std::vector<poprt_input_shape> shapes;
      for (const auto& [name, shape] : options.inputShape)
        shapes.push_back({detail::text(name, "name"), shape.data(), shape.size()});
      for (const auto& set : options.shapeSets)
        for (const auto& [name, shape] : set)
          shapes.push_back({detail::text(name, "name"), shape.data(), shape.size()});
      o.input_shapes = shapes.data();
      o.input_shape_count = shapes.size();
      std::vector<poprt_input_length> lengths;
      for (const auto& [name, length] : options.inputLength)
        lengths.push_back({detail::text(name, "name"), length});
      o.input_lengths = lengths.data();
      o.input_length_count = lengths.size();
      std::vector<poprt_opaque_blob> blobs;
      for (const auto& [name, data] : options.opaqueBlobs)
        blobs.push_back({detail::text(name, "name"), data.data(), data.size()});
      o.opaque_blobs = blobs.data();
      o.opaque_blob_count = blobs.size();
      std::vector<poprt_option> named;
      for (const auto& [name, value] : options.options)
        named.push_back({detail::text(name, "name"), detail::text(value, "value")});
      o.options = named.data();
      o.option_count = named.size();
      o.batch_size = options.batchSize;
      o.batch_axis = options.batchAxis;
      o.precision = static_cast<poprt_precision>(options.precision);
      o.winograd = static_cast<poprt_winograd>(options.winograd);
      o.no_verify = !options.verify;
      const auto passes = pointers(options.passes), skips = pointers(options.skipPasses),
                 kept = pointers(outputs);
      o.passes = passes.data();
      o.pass_count = passes.size();
      o.skip_passes = skips.data();
      o.skip_pass_count = skips.size();
      o.outputs = kept.data();
      o.output_count = kept.size();
      o.max_tensor_size = options.maxTensorSize;
      o.rewrite_limit = options.rewriteLimit;
      o.enable_engine_caching = options.enableEngineCaching;
      o.variable_weights = !options.constantWeights;
      if (!options.cachePath.empty()) o.cache_path = detail::text(options.cachePath, "cachePath");
      if (!options.stopAfter.empty()) o.stop_after = detail::text(options.stopAfter, "stopAfter");
      if (!options.load.empty()) o.load = detail::text(options.load, "load");
      if (!options.shapes.empty()) o.shapes = detail::text(options.shapes, "shapes");
      o.convert_version = options.convertVersion;
      o.allow_links = options.allowLinks;
      o.strict = options.strict;
      o.embed_source = options.embedSource;
      o.max_padding = options.maxPadding;
      o.user_data = this;
      if (options.progress)
        o.progress = [](double done, const char* what, void* self) {
          auto& call = *static_cast<Call*>(self);
          call.guard([&] { call.options.progress(done, what); });
        };
      if (options.afterPass)
        o.after_pass = [](const char* pass, int64_t rewrites, double milliseconds, int64_t before,
                          int64_t after, void* self) {
          auto& call = *static_cast<Call*>(self);
          call.guard(
              [&] { call.options.afterPass({pass, rewrites, milliseconds, before, after}); });
        };
      o.stop = [](void* self) -> int32_t { return static_cast<Call*>(self)->thrown ? 1 : 0; };
      load(o);
    }
    Call(const CompilerOptions& given, const std::vector<std::string>& outputs)
        : Call(given, outputs, [this](const poprt_compile_options& o) {
            poprt_compiler* made = nullptr;
            detail::check(poprt_compiler_create(&o, &made));
            compiler.reset(made);
          }) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Exceptions must not pass through C code.
    template <class Use>
    void guard(Use use) {
      if (thrown) return;
      try {
        use();
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    void check(poprt_error* error) const {
      if (thrown) {
        poprt_error_free(error);
        std::rethrow_exception(thrown);
      }
      detail::check(error);
    }
    static std::vector<const char*> pointers(const std::vector<std::string>& names) {
      std::vector<const char*> list;
      for (const std::string& n : names) list.push_back(detail::text(n, "names"));
      return list;
    }
    const CompilerOptions& options;
    std::unique_ptr<poprt_compiler, Free> compiler;
    std::exception_ptr thrown;
  };
  // ONNX data begins with a small field tag, and paths contain no control characters.
  static bool isBytes(const std::string& model) {
    return !model.empty() && static_cast<unsigned char>(model[0]) < 0x20;
  }
};

}  // namespace compiler
}  // namespace v1
}  // namespace poprt
