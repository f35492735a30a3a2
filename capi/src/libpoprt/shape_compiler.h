// Compiles a model at the shapes of requests, through the compiler library.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fork_mutex.h"
#include "compiler_handle.h"
#include "library_calls.h"
#include "program/open_shapes.h"
#include "runtime/runner/shape_runner.h"
#include "runtime/session/executable_cache.h"

namespace poprt::capi {

// Creates a compiler with options of a caller, which are checked. Throws invalid_argument and
// unimplemented.
std::unique_ptr<poprt_compiler> compiler_with(const poprt_compile_options& options);

// The executables of one model. The first one that is compiled contains the weights; the others
// refer to them as far as they are equal (program/shared_weights.h). Executables are stored in the
// engine cache under the hash of the model, the options and the shapes; the hash of one after the
// first also covers the key of the first. The compiler imports the model in adopt(), and when an
// executable is not in the cache; with a cache, load() reads it for its hash. Thread-safe.
//
// The first executable may also be that of a PopEF file, whose source is compiled at other shapes.
// These use the weights in the file if a compilation of the source gives the same; otherwise they
// share weights with each other.
//
// In a process that was forked while another thread of the parent was in load(), adopt() or
// compile(), these throw failed_precondition.
class ShapeCompiler {
 public:
  struct Source {
    std::string path;  // empty: the model is in `bytes`, or in `view` if that is not empty
    std::string bytes;
    std::optional<std::string> folder;
    std::string name;  // of executables
    std::span<const std::byte> view = {};
    std::shared_ptr<const void> owner = nullptr;  // keeps `view` and the folder
  };

  // `options` are the options of poprt_compiler. Callbacks are called only by load() and adopt().
  ShapeCompiler(std::unique_ptr<poprt_compiler> options, Source source,
                std::optional<runtime::ExecutableCache> cache);
  ~ShapeCompiler();
  ShapeCompiler(const ShapeCompiler&) = delete;
  ShapeCompiler& operator=(const ShapeCompiler&) = delete;

  // Compiles the model ahead if the options fix every size, or takes the executable from the cache.
  // Otherwise returns null; then is_open() is true. If is_open() is false, the result is a model
  // with fixed shapes.
  std::shared_ptr<const runtime::Model> load();
  // Uses an executable that was compiled from the source with these options. Reads the source to
  // find the sizes of inputs that are open; is_open() states whether there are any. `hash` is the
  // recorded hash of the source; it may be empty. Throws data_loss if the executable cannot be the
  // result of compiling this source.
  void adopt(std::shared_ptr<const runtime::Model> model, const std::string& hash);
  bool is_open() const { return open_.has_value(); }
  const program::OpenShapes& shapes() const { return *open_; }
  // A compiler of the same model with option execution_precision. load() has not been called on it.
  std::shared_ptr<ShapeCompiler> with_execution_precision(const char* precision) const;
  // The SHA-256 of the model, after adopt(), or after load() with a cache; else empty.
  const std::string& model_hash() const { return model_hash_; }

  // Valid while this object exists.
  poprt_library_source source() const;

  // A model with the inputs and outputs of requests, whose program has no instructions.
  std::shared_ptr<const runtime::Model> description() const;

  // The shapes are in the order of shapes().inputs. Throws the errors of the compilation.
  runtime::CompiledShape compile(const std::vector<Shape>& inputs);

 private:
  struct Imported {
    explicit Imported(void* m) : model(m) {}
    ~Imported() { loaded_compiler().close_open_model(model); }
    Imported(const Imported&) = delete;
    Imported& operator=(const Imported&) = delete;
    void* const model;
  };
  struct ShapedOptions;

  std::string hash() const;
  bool import(const poprt_compile_options& options);
  std::shared_ptr<const runtime::Model> compile_first(const poprt_compile_options& options,
                                                      bool& from_cache);
  std::shared_ptr<const runtime::Model> compile_next(const poprt_compile_options& options,
                                                     bool& from_cache);
  std::shared_ptr<const runtime::Model> run_compiler(const poprt_compile_options& options,
                                                     bool first);
  std::shared_ptr<const runtime::Model> find_in_cache(const runtime::CacheKey& key,
                                                      const poprt_compile_options& options);
  std::shared_ptr<const runtime::Model> with_shared_weights(
      const std::shared_ptr<const runtime::Model>& model) const;
  void take_first(std::shared_ptr<const runtime::Model> model, const std::string& key);
  std::shared_ptr<const runtime::Model> find_next(const poprt_compile_options& options,
                                                  runtime::CacheKey& key);
  void learn_weights();

  const std::unique_ptr<poprt_compiler> options_;
  const Source source_;
  const std::optional<runtime::ExecutableCache> cache_;
  std::string model_hash_;
  std::optional<program::OpenShapes> open_;
  std::string metadata_;  // of the ONNX model, as an opaque blob

  std::unique_lock<ForkMutex> locked();

  ForkMutex mutex_;  // guards the rest
  std::unique_ptr<Imported> imported_;
  NotedWarnings warnings_;  // of the import and all compilations
  std::shared_ptr<const runtime::Model> first_;
  std::shared_ptr<const runtime::Model> shared_;  // has the weights that later executables use
  std::vector<Shape> first_shapes_;
  std::string first_key_;       // of shared_; adopt() leaves it empty until it is needed
  bool ahead_ = false;          // whether the options determined the first shapes
  bool adopted_ = false;        // whether first_ is from adopt()
  bool knows_weights_ = false;  // whether imported_ has the weights of shared_
  std::map<std::vector<Shape>, std::weak_ptr<const runtime::Model>> models_;
};

}  // namespace poprt::capi
