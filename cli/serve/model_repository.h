// A folder with models: NAME.popef and NAME.onnx, or NAME/VERSION/ with files as for Triton.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/generation.h"
#include "serve/inference.h"

namespace poprt::serve {

struct RepositoryOptions {
  std::string folder;
  bool compile = false;  // whether ONNX models are compiled
  bool verify = false;   // whether the checksums of PopEF files are checked before they are used
  int32_t threads = 0;   // of each model
  int64_t batch_wait_ns = 0;  // how long an incomplete batch waits
  std::vector<std::pair<std::string, std::string>> compile_options;
  // For generators that are compiled. 0 selects 4 slots, and the default of max_length in
  // poprt_generator_options.
  int64_t slots = 0, max_length = 0;
  // For models whose shapes are compiled on demand: how many shapes are kept (0: 16), and by model
  // the shapes that are compiled before the model is ready, as lines INPUT=SHAPE/SHAPE.
  int32_t max_shapes = 0;
  uint64_t max_shape_mib = 0;  // max_shape_memory of poprt_runner_options; 0: half of the memory
  std::map<std::string, std::vector<std::string>> warm_up;
  // Gets a line about each model that is loaded or unloaded after load_all(), and about each that
  // cannot be. Thread-safe; null: none.
  std::function<void(const std::string& line)> log;
};

struct ModelStatus {
  std::string name, version;
  std::string state;  // "READY", "UNAVAILABLE" or "LOADING"
  // Why it is not available. Of a model that is ready: why its changed files could not be loaded,
  // or its note.
  std::string reason;
};

// Which kinds of models were loaded, so that options for them have an effect.
struct LoadedKinds {
  bool onnx = false;                // ONNX models that are compiled, also if their load failed
  bool compiled_generator = false;  // also if its load failed
  bool any_shape = false;           // models whose shapes are compiled on demand
  bool failed = false;              // whether a load failed, possibly of a model of unknown kind
};

// Thread-safe.
class ModelRepository {
 public:
  explicit ModelRepository(RepositoryOptions options) : options_(std::move(options)) {}

  // Calls the function now and after each change that ready() depends on, with ready(), and one
  // call at a time. It must not call the repository. The calls end when the repository is
  // destroyed or another function is set. Not thread-safe with itself.
  void set_listener(std::function<void(bool ready)> listener);

  // Loads all models of the folder, or loads them again. A model that fails has its reason in
  // index(). Throws Error (not_found) if the folder cannot be read, has no model, or lacks one of
  // `warm_up`.
  void load_all();
  // Loads the model, or loads it again. The old one still answers the requests that it received.
  // Throws Error (not_found, invalid_argument for options that a generator does not have or the
  // tokenizer of another model, unimplemented for a generator that may not be compiled, unavailable
  // if unload() was called meanwhile), std::filesystem::filesystem_error, std::bad_alloc, and the
  // errors of ServedModel, poprt_generator_create and poprt_runner_warm_up.
  void load(const std::string& name);
  // Unloads a model that is loaded or that failed to load, so that ready() does not require it. A
  // running reload of the model has no effect then. Throws Error (not_found) for others.
  void unload(const std::string& name);
  // Reloads the loaded models whose files have changed, and loads those that failed to load. Models
  // that load_all() did not find, and unloaded ones, are not loaded. After an error the old model
  // stays loaded. The next call tries again if the files have changed since then, if the error may
  // pass, such as a lack of memory, or if `failed_again` is true.
  void reload_changed(bool failed_again);

  // Throws Error: not_found, unavailable (with the reason), invalid_argument (a generator).
  std::shared_ptr<const LoadedModel> find(const std::string& name,
                                          const std::string& version) const;
  // A generator. Throws Error: not_found, unavailable, invalid_argument (the model is not one).
  std::shared_ptr<const LoadedGenerator> find_generator(const std::string& name) const;
  // Throws Error (not_found, unavailable) unless a model or generator is loaded.
  void check_ready(const std::string& name, const std::string& version) const;
  std::vector<ModelStatus> index() const;
  LoadedKinds kinds() const;
  // Whether every wanted model is ready: one that load_all() or load() was called for, and that was
  // not unloaded since then. False if no model was ever wanted.
  bool ready() const;
  std::vector<std::shared_ptr<const LoadedModel>> loaded() const;
  std::vector<std::shared_ptr<const LoadedGenerator>> generators() const;

 private:
  struct Entry {
    std::string version = "1";  // of the model that is ready, or else of the last load
    std::shared_ptr<const LoadedModel> model;
    std::shared_ptr<const LoadedGenerator> generator;  // instead of a model
    std::shared_ptr<Counters> counters = std::make_shared<Counters>();
    std::shared_ptr<GeneratorCounters> generator_counters = std::make_shared<GeneratorCounters>();
    bool is_ready() const { return model || generator; }
    std::string reason;
    std::string stamp;                  // stamp_of() the files, before they were read
    std::string failed_stamp;           // the stamp of files that could not be loaded
    std::vector<std::string> external;  // files that the ONNX files of the last load name
    std::string logged;                 // the last failure in the log, which is written once
    bool wanted = false;                // whether ready() requires it
    uint64_t unloads = 0;               // calls of unload()
  };
  // A file of the repository, or the folder NAME/VERSION if `file` is empty.
  struct Place {
    std::string folder, file, version;
    std::string used;     // its path in the repository
    std::string ignored;  // other sources with the name of the model, in quotes, or ""
  };
  Place place_of(const std::string& name) const;
  std::vector<std::string> names() const;
  std::vector<std::string> files_of(const Place& place) const;
  void note_kind(bool LoadedKinds::* kind);
  void log(const std::string& name, const std::string& what) const;
  void log_failure(const std::string& name, const std::string& failure, bool repeated);
  // Sets the reason why the files of a wanted model cannot be loaded, or "" if they can. Has no
  // effect on other models.
  void set_reason(const std::string& name, const std::string& reason);
  // Returns whether it has loaded the model, because `only_if_wanted` may prevent that.
  bool load(const std::string& name, bool only_if_wanted);
  void load_generator(const std::string& name, const Place& place, const std::string& path,
                      const std::string& stamp, uint64_t unloads);
  void replace(const std::string& name, const Place& place, const std::string& stamp,
               uint64_t unloads, std::shared_ptr<const LoadedModel> model,
               std::shared_ptr<const LoadedGenerator> generator);
  // These three are called under mutex_.
  const Entry& entry_of(const std::string& name, const std::string& version) const;
  bool all_ready() const;
  void notify() const;

  const RepositoryOptions options_;
  std::mutex load_mutex_;  // one load at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;      // guarded by mutex_
  LoadedKinds kinds_;                         // guarded by mutex_
  std::function<void(bool ready)> listener_;  // guarded by mutex_
};

}  // namespace poprt::serve
