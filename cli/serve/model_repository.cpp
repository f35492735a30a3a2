#include "serve/model_repository.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <set>

#include "common/abi.h"
#include "serve/model_files.h"
#include "serve/request_parameters.h"

namespace poprt::serve {
namespace {

namespace fs = std::filesystem;

bool valid_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// Returns the entries of a folder, or those before the first error.
std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& failed) {
  std::vector<fs::path> paths;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
    paths.push_back(entry->path());
  return paths;
}

constexpr std::string_view kDigits = "0123456789";

bool is_model_ending(const std::string& ending) { return ending == ".popef" || ending == ".onnx"; }

// Returns the versions of a model in its folder, the highest first. As for Triton, a version is a
// folder whose name is a number that does not begin with 0.
std::vector<std::string> versions_of(const fs::path& folder) {
  std::vector<std::string> versions;
  std::error_code failed;
  for (const fs::path& path : entries_of(folder, failed)) {
    std::string name = path.filename().string();
    std::error_code other;
    if (name.find_first_not_of(kDigits) == std::string::npos && name[0] != '0' &&
        fs::is_directory(path, other))
      versions.push_back(std::move(name));
  }
  std::ranges::sort(versions, std::greater(),
                    [](const std::string& v) { return std::pair(v.size(), v); });
  return versions;
}

// Returns why a folder without versions seems to be meant as a model, or "".
std::string skip_reason(const fs::path& folder) {
  std::error_code failed;
  for (const fs::path& path : entries_of(folder, failed)) {
    const std::string name = path.filename().string();
    if (is_model_ending(path.extension()) || name.find_first_not_of(kDigits) == std::string::npos)
      return "it has '" + name + "' and no folder '1'; expected the files of the model in '" +
             (folder / "1").string() + "'";
  }
  if (is_model_ending(folder.extension())) return "it is a folder; expected a file";
  return failed ? failed.message() : std::string();
}

// Returns why a file seems to be meant as a model, although its name has no ending of one, or "".
std::string other_case(const fs::path& file) {
  std::string ending = file.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!is_model_ending(ending)) return {};
  return "expected the ending '" + ending + "', found '" + file.extension().string() + "'";
}

// Whether loading the same files again may succeed.
bool may_pass(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  return !error || error->code() == POPRT_RESOURCE_EXHAUSTED ||
         error->code() == POPRT_UNAVAILABLE || error->code() == POPRT_DEADLINE_EXCEEDED;
}

// Reads the PopEF files and compares their checksums. Throws Error (data_loss).
void verify(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (!file.ends_with(".popef") && !file.ends_with(".poprt")) continue;
    poprt_string* text = nullptr;
    serving::check(poprt_popef_dump(file.c_str(), POPRT_POPEF_VERIFY, &text));
    poprt_string_free(text);
  }
}

// Returns the PopEF file of a generator, or the folder of a generator that is not compiled yet (an
// export of onnxruntime-genai or optimum), or "" if there is none.
std::string generator_at(const std::string& folder, const std::string& file) {
  std::error_code failed;
  if (file.empty())
    for (const char* config : {"genai_config.json", "config.json"})
      if (fs::is_regular_file(fs::path(folder) / config, failed)) return folder;
  std::string popef = file;
  if (file.empty())
    for (const fs::path& path : entries_of(folder, failed)) {
      if (path.extension() != ".popef") continue;
      if (!popef.empty()) return {};
      popef = path.filename().string();
    }
  const std::string path = (fs::path(folder) / popef).string();
  return popef.ends_with(".popef") && serving::is_generator(path) ? path : std::string();
}

// Sets the tokenizer of a generator from its folder, or the reason why it has none. Throws Error.
void add_tokenizer(LoadedGenerator& generator, const std::string& folder, const std::string& file) {
  const fs::path found = file.empty() ? cli::find_tokenizer(folder, false) : fs::path();
  std::error_code failed;
  if (found.empty()) {
    generator.no_tokenizer =
        std::string(
            "the model has no tokenizer: expected a model of sentencepiece, tokenizer.model or "
            "spiece.model, in ") +
        (file.empty() ? "its folder" : "folder NAME/VERSION with the model");
    if (file.empty() && fs::exists(fs::path(folder) / "tokenizer.json", failed))
      generator.no_tokenizer += " (tokenizer.json is not read)";
    return;
  }
  // Prompts of tokens need no tokenizer.
  if (const std::string why = cli::missing_tokenizer_library(); !why.empty()) {
    generator.no_tokenizer = generator.note = why;
    return;
  }
  try {
    generator.tokenizer = cli::open_sentencepiece(found);
  } catch (const cli::Failure& e) {
    throw Error(POPRT_INVALID_ARGUMENT, e.what());
  }
  const int64_t vocabulary = poprt_generator_vocabulary(generator.generator.get());
  if (generator.tokenizer->size() > vocabulary)
    throw Error(POPRT_INVALID_ARGUMENT,
                "'" + found.string() + "' has " + std::to_string(generator.tokenizer->size()) +
                    " tokens, and the model knows " + std::to_string(vocabulary) +
                    ": it belongs to another model");
}

}  // namespace

ModelRepository::Place ModelRepository::place_of(const std::string& name) const {
  const fs::path folder = options_.folder;
  std::error_code failed;
  std::optional<Place> place;
  if (!valid_name(name)) throw Error(POPRT_NOT_FOUND, "there is no model " + in_quotes(name));
  const auto found = [&](Place one) {
    if (place)
      place->ignored += (place->ignored.empty() ? "'" : ", '") + one.used + "'";
    else
      place = std::move(one);
  };
  for (const char* ending : {".popef", ".onnx"})
    if (fs::is_regular_file(folder / (name + ending), failed))
      found({folder.string(), name + ending, "1", name + ending, ""});
  for (const std::string& version : versions_of(folder / name))
    found({(folder / name / version).string(), "", version, name + "/" + version, ""});
  if (place) return *place;
  std::string found_there;
  for (const char* ending : {".popef", ".onnx"}) {
    const fs::file_type type = fs::symlink_status(folder / (name + ending), failed).type();
    if (type != fs::file_type::not_found && type != fs::file_type::none &&
        type != fs::file_type::directory)
      found_there = ": '" + name + ending + "' is no regular file and no link to one";
  }
  const std::lock_guard lock(mutex_);
  throw Error(POPRT_NOT_FOUND,
              (entries_.contains(name) ? "the repository has no file of model " + in_quotes(name)
                                       : "there is no model " + in_quotes(name)) +
                  found_there);
}

std::vector<std::string> ModelRepository::names() const {
  std::set<std::string> found;
  std::error_code failed;
  for (const fs::path& path : entries_of(options_.folder, failed)) {
    // Other files, such as a README.md, are no models.
    std::error_code other;
    const bool folder = fs::is_directory(path, other);
    const bool file = is_model_ending(path.extension()) && !folder;
    const std::string name = file ? path.stem().string() : path.filename().string();
    if (!valid_name(name)) continue;
    if (file || (folder && !versions_of(path).empty()))
      found.insert(name);
    else if (const std::string why = folder ? skip_reason(path) : other_case(path);
             options_.log && !why.empty())
      options_.log("'" + path.string() + "' is no model: " + why);
  }
  if (failed)
    throw Error(POPRT_NOT_FOUND, "'" + options_.folder + "': " + failed.message() +
                                     "; expected a folder with NAME.popef, NAME.onnx or "
                                     "NAME/VERSION/executable.popef");
  return {found.begin(), found.end()};
}

std::vector<std::string> ModelRepository::files_of(const Place& place) const {
  std::error_code failed;
  if (place.file.empty() && generator_at(place.folder, "") == place.folder) {
    std::vector<std::string> files;
    for (const fs::path& path : entries_of(place.folder, failed)) files.push_back(path.string());
    std::sort(files.begin(), files.end());
    return files;
  }
  serving::LoadOptions load;
  load.compile = options_.compile;
  load.file = place.file;
  std::vector<std::string> files = serving::find_files(place.folder, load);
  const auto add = [&](const char* name) {
    files.push_back((fs::path(place.folder) / name).string());
  };
  add("name_map.json");
  if (place.file.empty())
    for (const char* name : {"tokenizer.model", "spiece.model", "tokenizer_config.json"}) add(name);
  return files;
}

void ModelRepository::load_all() {
  const std::vector<std::string> all = names();
  if (all.empty())
    throw Error(POPRT_NOT_FOUND, "'" + options_.folder +
                                     "' has no model; expected NAME.popef, NAME.onnx or "
                                     "NAME/VERSION/executable.popef");
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : all) entries_[name].wanted = true;
    notify();
  }
  for (const auto& [name, lines] : options_.warm_up)
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw Error(POPRT_NOT_FOUND,
                  "--warm_up: '" + options_.folder + "' has no model '" + name + "'");
  for (const std::string& name : all) try {
      load(name, false);
    } catch (const std::exception& e) {  // index() has the reason
      const std::lock_guard lock(mutex_);
      Entry& entry = entries_[name];
      if (entry.reason.empty()) entry.reason = e.what();
      entry.logged = e.what();
    }
}

void ModelRepository::load(const std::string& name) {
  try {
    load(name, false);
  } catch (const std::exception& e) {
    log_failure(name, e.what(), true);
    throw;
  }
  log(name, "loaded");
}

void ModelRepository::log(const std::string& name, const std::string& what) const {
  if (options_.log) options_.log("model " + in_quotes(name) + ": " + what);
}

// Writes that a model of the repository was not loaded. Unless `repeated`, the same failure is
// written once.
void ModelRepository::log_failure(const std::string& name, const std::string& failure,
                                  bool repeated) {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry == entries_.end() || (!repeated && entry->second.logged == failure)) return;
    entry->second.logged = failure;
    ready = entry->second.is_ready();
  }
  log(name, (ready ? "not loaded again, the old one stays: " : "not loaded: ") + failure);
}

void ModelRepository::set_reason(const std::string& name, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[name];
  if (!entry.wanted || entry.reason == reason) return;
  entry.reason = reason;
  if (reason.empty()) entry.logged.clear();
}

bool ModelRepository::load(const std::string& name, bool only_if_wanted) {
  const std::lock_guard loading(load_mutex_);
  const Place place = place_of(name);
  if (!place.ignored.empty())
    log(name, "'" + place.used + "' is used, without " + place.ignored + " of the same name");
  std::shared_ptr<Counters> counters;
  uint64_t unloads = 0;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (only_if_wanted && !entry.wanted) return false;
    entry.wanted = true;
    entry.reason.clear();
    if (!entry.is_ready()) entry.version = place.version;
    counters = entry.counters;
    unloads = entry.unloads;
    notify();
  }
  std::string stamp;
  try {
    const std::vector<std::string> files = files_of(place);
    // The stamp is that of the files before they are read, so a later version has another stamp.
    stamp = stamp_of(files);
    std::vector<std::string> external;
    for (const std::string& file : files)
      if (file.ends_with(".onnx"))
        for (std::string& data : external_data_of(file)) external.push_back(std::move(data));
    stamp += stamp_of(external);
    {
      const std::lock_guard lock(mutex_);
      entries_[name].external = std::move(external);
    }
    if (options_.verify) verify(files);
    const std::string generator = generator_at(place.folder, place.file);
    if (!generator.empty() && options_.warm_up.contains(name))
      throw Error(POPRT_INVALID_ARGUMENT, "--warm_up has no effect on a generator");
    if (!generator.empty()) {
      load_generator(name, place, generator, stamp, unloads);
      return true;
    }
    serving::LoadOptions load;
    load.file = place.file;
    load.compile = options_.compile;
    load.compile_options = options_.compile_options;
    if (serving::find_files(place.folder, load).front().ends_with(".onnx"))
      note_kind(&LoadedKinds::onnx);
    serving::ServedModel model(place.folder, load);
    if (model.kind() == serving::Kind::open) note_kind(&LoadedKinds::any_shape);
    poprt_runner_options options = {};
    options.struct_size = sizeof options;
    options.threads = options_.threads;
    options.use_batching_dim = model.batch_rows() > 0;
    options.timeout_ns = std::max<int64_t>(options_.batch_wait_ns, 1);
    options.auto_reset = 1;
    options.max_shapes = options_.max_shapes;
    options.max_shape_memory =
        options_.max_shape_mib ? static_cast<int64_t>(options_.max_shape_mib << 20) : -1;
    const auto warm_up = options_.warm_up.find(name);
    replace(name, place, stamp, unloads,
            std::make_shared<const LoadedModel>(
                name, place.version, std::move(model), options, counters,
                warm_up == options_.warm_up.end() ? std::vector<std::string>() : warm_up->second),
            nullptr);
    return true;
  } catch (const std::exception& e) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    if (entry.unloads == unloads) entry.reason = e.what();
    entry.failed_stamp = may_pass(e) ? "" : stamp;
    kinds_.failed = true;
    throw;
  }
}

void ModelRepository::load_generator(const std::string& name, const Place& place,
                                     const std::string& path, const std::string& stamp,
                                     uint64_t unloads) {
  const bool compiled = path.ends_with(".popef");
  if (!compiled && !options_.compile)
    throw Error(POPRT_UNIMPLEMENTED,
                "'" + path + "' must be compiled, and compiling is not allowed; see --compile");
  if (!compiled) note_kind(&LoadedKinds::compiled_generator);
  if (!compiled && !options_.compile_options.empty())
    throw Error(POPRT_INVALID_ARGUMENT, "--compile_option has no effect on generators");
  poprt_generator_options options = {};
  options.struct_size = sizeof options;
  options.threads = options_.threads;
  if (!compiled) {
    options.max_length = options_.max_length;
    options.slots = options_.slots ? options_.slots : 4;
  }
  poprt_generator* made = nullptr;
  serving::check(poprt_generator_create(path.c_str(), &options, &made));
  LoadedGenerator loaded{.name = name, .generator = serving::Generator(made)};
  serving::require_tokens(made);
  add_tokenizer(loaded, place.folder, place.file);
  {
    const std::lock_guard lock(mutex_);
    loaded.counters = entries_[name].generator_counters;
  }
  replace(name, place, stamp, unloads, nullptr,
          std::make_shared<const LoadedGenerator>(std::move(loaded)));
}

// Swaps the loaded objects with the parameters. Throws Error (unavailable) if unload() was called
// after load() had read `unloads`, because the later call takes precedence. The parameters are
// destroyed after the mutex is released, because the destructor of a model waits for its requests.
void ModelRepository::replace(const std::string& name, const Place& place, const std::string& stamp,
                              uint64_t unloads, std::shared_ptr<const LoadedModel> model,
                              std::shared_ptr<const LoadedGenerator> generator) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[name];
  if (entry.unloads != unloads)
    throw Error(POPRT_UNAVAILABLE, "model '" + name + "' was unloaded while it was loaded");
  entry.model.swap(model);
  entry.generator.swap(generator);
  entry.reason.clear();
  entry.version = place.version;
  entry.stamp = stamp;
  entry.failed_stamp.clear();
  entry.logged.clear();
  notify();
}

void ModelRepository::unload(const std::string& name) {
  // Declared before the lock, so that the model is destroyed after the mutex is released.
  std::shared_ptr<const LoadedModel> removed;
  std::shared_ptr<const LoadedGenerator> removed_generator;
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  const bool failed =
      entry != entries_.end() && entry->second.wanted && !entry->second.reason.empty();
  if (entry == entries_.end() || !(entry->second.is_ready() || failed))
    throw Error(POPRT_NOT_FOUND, "model '" + name + "' is not loaded");
  removed.swap(entry->second.model);
  removed_generator.swap(entry->second.generator);
  entry->second.wanted = false;
  entry->second.reason = "unloaded";
  entry->second.unloads++;
  notify();
  log(name, "unloaded");
}

void ModelRepository::reload_changed(bool failed_again) {
  struct Known {
    std::string name, stamp, failed_stamp;
    std::vector<std::string> external;
    bool ready = false;
  };
  std::vector<Known> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_)
      if (entry.wanted && (entry.is_ready() || !entry.reason.empty()))  // not one that loads
        all.push_back({name, entry.stamp, failed_again ? "" : entry.failed_stamp, entry.external,
                       entry.is_ready()});
  }
  for (const Known& known : all) try {
      const std::string stamp = stamp_of(files_of(place_of(known.name))) + stamp_of(known.external);
      if (known.ready && stamp == known.stamp) {
        set_reason(known.name, "");  // the files of the loaded model are there again
        continue;
      }
      if (stamp == known.failed_stamp) continue;
      if (load(known.name, true))
        log(known.name, known.ready ? "loaded again, because its files changed" : "loaded");
    } catch (const std::exception& e) {  // the old model stays loaded
      set_reason(known.name, e.what());
      log_failure(known.name, e.what(), failed_again);
    }
}

const ModelRepository::Entry& ModelRepository::entry_of(const std::string& name,
                                                        const std::string& version) const {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) throw Error(POPRT_NOT_FOUND, "there is no model " + in_quotes(name));
  if (!version.empty() && version != entry->second.version)
    throw Error(POPRT_NOT_FOUND, "there is no model " + in_quotes(name) + " of version " +
                                     in_quotes(version) + "; expected " + entry->second.version +
                                     " or none");
  if (!entry->second.is_ready())
    throw Error(POPRT_UNAVAILABLE,
                "model '" + name + "' is not ready: " +
                    (entry->second.reason.empty() ? "it loads" : entry->second.reason));
  return entry->second;
}

std::shared_ptr<const LoadedModel> ModelRepository::find(const std::string& name,
                                                         const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entry_of(name, version);
  if (!entry.model)
    throw Error(POPRT_INVALID_ARGUMENT, "model '" + name + "' is a generator; use /v1/completions");
  return entry.model;
}

std::shared_ptr<const LoadedGenerator> ModelRepository::find_generator(
    const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = entry_of(name, "");
  if (!entry.generator)
    throw Error(POPRT_INVALID_ARGUMENT, "model '" + name + "' is not a generator");
  return entry.generator;
}

void ModelRepository::check_ready(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  entry_of(name, version);
}

std::vector<ModelStatus> ModelRepository::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> all;
  for (const auto& [name, entry] : entries_)
    if (!entry.is_ready())
      all.push_back(
          {name, entry.version, entry.reason.empty() ? "LOADING" : "UNAVAILABLE", entry.reason});
    else if (!entry.reason.empty())
      all.push_back({name, entry.version, "READY", "it was not loaded again: " + entry.reason});
    else
      all.push_back({name, entry.version, "READY",
                     entry.model ? entry.model->model.note() : entry.generator->note});
  return all;
}

void ModelRepository::note_kind(bool LoadedKinds::* kind) {
  const std::lock_guard lock(mutex_);
  kinds_.*kind = true;
}

LoadedKinds ModelRepository::kinds() const {
  const std::lock_guard lock(mutex_);
  return kinds_;
}

bool ModelRepository::ready() const {
  const std::lock_guard lock(mutex_);
  return all_ready();
}

bool ModelRepository::all_ready() const {
  for (const auto& [name, entry] : entries_)
    if (entry.wanted && !entry.is_ready()) return false;
  return !entries_.empty();
}

void ModelRepository::notify() const {
  if (listener_) listener_(all_ready());
}

void ModelRepository::set_listener(std::function<void(bool ready)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  notify();
}

std::vector<std::shared_ptr<const LoadedModel>> ModelRepository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedModel>> models;
  for (const auto& [name, entry] : entries_)
    if (entry.model) models.push_back(entry.model);
  return models;
}

std::vector<std::shared_ptr<const LoadedGenerator>> ModelRepository::generators() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedGenerator>> generators;
  for (const auto& [name, entry] : entries_)
    if (entry.generator) generators.push_back(entry.generator);
  return generators;
}

}  // namespace poprt::serve
