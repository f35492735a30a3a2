#include "serve/model_repository.h"

#include <set>

namespace poprt::serve {
namespace {

namespace fs = std::filesystem;

bool valid_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

ModelRepository::Place ModelRepository::place_of(const std::string& name) const {
  const fs::path folder = options_.folder;
  std::error_code failed;
  if (valid_name(name)) {
    for (const char* ending : {".popef", ".onnx"})
      if (fs::is_regular_file(folder / (name + ending), failed))
        return {folder.string(), name + ending};
    if (fs::is_directory(folder / name / "1", failed)) return {(folder / name / "1").string(), ""};
  }
  throw Error(POPRT_NOT_FOUND, "there is no model '" + name + "'");
}

std::vector<std::string> ModelRepository::names() const {
  std::set<std::string> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(options_.folder, failed)) {
    const fs::path path = entry.path();
    const bool file = path.extension() == ".popef" || path.extension() == ".onnx";
    if (file || fs::is_directory(path / "1", failed))
      found.insert(file ? path.stem().string() : path.filename().string());
  }
  if (failed) throw Error(POPRT_NOT_FOUND, "'" + options_.folder + "': " + failed.message());
  return {found.begin(), found.end()};
}

std::string ModelRepository::stamp_of(const std::string& name) const {
  serving::LoadOptions load;
  load.compile = options_.compile;
  const Place place = place_of(name);
  load.file = place.file;
  std::string stamp;
  for (const std::string& file : serving::find_files(place.folder, load)) {
    std::error_code failed;
    stamp += file + " " + std::to_string(fs::file_size(file, failed)) + " " +
             std::to_string(fs::last_write_time(file, failed).time_since_epoch().count()) + "\n";
  }
  return stamp;
}

void ModelRepository::load_all() {
  const std::vector<std::string> all = names();
  if (all.empty())
    throw Error(POPRT_NOT_FOUND, "'" + options_.folder +
                                     "' has no model; expected NAME.popef, NAME.onnx or "
                                     "NAME/1/executable.popef");
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : all) entries_[name].wanted = true;
  }
  for (const std::string& name : all) try {
      load(name);
    } catch (const Error&) {  // index() has the reason
    }
}

void ModelRepository::load(const std::string& name) {
  const std::lock_guard loading(load_mutex_);
  const Place place = place_of(name);
  std::shared_ptr<Counters> counters;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    entry.wanted = true;
    counters = entry.counters;
  }
  try {
    serving::LoadOptions load;
    load.file = place.file;
    load.compile = options_.compile;
    load.compile_options = options_.compile_options;
    const std::string stamp = stamp_of(name);
    serving::ServedModel model(place.folder, load);
    poprt_runner_options options = {};
    options.struct_size = sizeof options;
    options.threads = options_.threads;
    options.use_batching_dim = model.batch_rows() > 0;
    options.timeout_ns = std::max<int64_t>(options_.batch_wait_ns, 1);
    options.auto_reset = 1;
    auto loaded = std::make_shared<const LoadedModel>(name, std::move(model), options, counters);
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    entry.model.swap(loaded);
    entry.reason.clear();
    entry.stamp = stamp;
  } catch (const std::exception& e) {
    const std::lock_guard lock(mutex_);
    entries_[name].reason = e.what();
    throw;
  }
}

void ModelRepository::unload(const std::string& name) {
  std::shared_ptr<const LoadedModel> removed;
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || !entry->second.model)
    throw Error(POPRT_NOT_FOUND, "model '" + name + "' is not loaded");
  removed.swap(entry->second.model);
  entry->second.wanted = false;
  entry->second.reason = "unloaded";
}

void ModelRepository::reload_changed() {
  std::vector<std::pair<std::string, std::string>> loaded_stamps;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_)
      if (entry.model) loaded_stamps.emplace_back(name, entry.stamp);
  }
  for (const auto& [name, stamp] : loaded_stamps) try {
      if (stamp_of(name) != stamp) load(name);
    } catch (const Error&) {  // the old one stays loaded
    }
}

std::shared_ptr<const LoadedModel> ModelRepository::find(const std::string& name,
                                                         const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || (!version.empty() && version != "1"))
    throw Error(POPRT_NOT_FOUND, "there is no model '" + name + "'" +
                                     (version.empty() ? "" : " of version '" + version + "'"));
  if (!entry->second.model)
    throw Error(POPRT_UNAVAILABLE,
                "model '" + name + "' is not ready: " +
                    (entry->second.reason.empty() ? "it loads" : entry->second.reason));
  return entry->second.model;
}

std::vector<ModelStatus> ModelRepository::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> all;
  for (const auto& [name, entry] : entries_)
    all.push_back({name,
                   entry.model            ? "READY"
                   : entry.reason.empty() ? "LOADING"
                                          : "UNAVAILABLE",
                   entry.reason});
  return all;
}

bool ModelRepository::ready() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_)
    if (entry.wanted && !entry.model) return false;
  return !entries_.empty();
}

std::vector<std::shared_ptr<const LoadedModel>> ModelRepository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedModel>> models;
  for (const auto& [name, entry] : entries_)
    if (entry.model) models.push_back(entry.model);
  return models;
}

}  // namespace poprt::serve
