// poprt_exec cache: lists and removes the files of a cache folder, which are compiled models and
// weights that runners packed for another precision.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"
#include "runtime/session/executable_cache.h"

namespace poprt::cli {
namespace {

struct CacheSettings {
  std::string path;
  bool list = false, prune = false, json = false;
  uint64_t max_bytes = 0;
  double older_than = 0;
  Option *has_max_bytes = nullptr, *has_older_than = nullptr;
};

int64_t seconds_since_1970(std::filesystem::file_time_type time) {
  const auto age = std::filesystem::file_time_type::clock::now() - time;
  const auto then = std::chrono::system_clock::now() -
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(age);
  return std::chrono::system_clock::to_time_t(then);
}

// Returns the name of the model in a cache file, or an empty text if the file is damaged.
std::string model_of(const runtime::CacheEntry& entry) {
  poprt_executable* opened = nullptr;
  if (poprt_error* error = poprt_executable_open(entry.path.c_str(), &opened)) {
    poprt_error_free(error);
    return {};
  }
  return poprt_executable_name(Executable(opened).get());
}

std::string size_text(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{:.1f} kB", size / 1e3);
  return bytes < 1000000000 ? fmt::format("{:.1f} MB", size / 1e6)
                            : fmt::format("{:.1f} GB", size / 1e9);
}

// Returns the time since `then`, such as "3 days ago".
std::string age_text(int64_t then, int64_t now) {
  const int64_t seconds = std::max<int64_t>(now - then, 0);
  const auto text = [](int64_t count, const char* unit) {
    return fmt::format("{} {}{} ago", count, unit, count == 1 ? "" : "s");
  };
  if (seconds < 60) return text(seconds, "second");
  if (seconds < 3600) return text(seconds / 60, "minute");
  if (seconds < 86400) return text(seconds / 3600, "hour");
  return text(seconds / 86400, "day");
}

void print_entries(const std::vector<runtime::CacheEntry>& entries) {
  auto files = nlohmann::json::array();
  uint64_t bytes = 0;
  for (const runtime::CacheEntry& e : entries) {
    files.push_back({{"file", e.path.filename().string()},
                     {"bytes", e.bytes},
                     {"last_used", seconds_since_1970(e.last_used)},
                     {"model", model_of(e)},
                     {"damaged", e.description.empty()},
                     {"description", e.description}});
    bytes += e.bytes;
  }
  print_json({{"files", files}, {"bytes", bytes}});
}

// Returns the folder of --path, else that of compilers and runners.
std::string folder(const CacheSettings& s) {
  if (!s.path.empty()) return s.path;
  if (const auto standard = runtime::default_cache_folder()) return standard->string();
  throw Usage(
      "the folder is unknown, because HOME is not set; give --path, or set POPXL_CACHE_DIR or "
      "POPART_CACHE_DIR");
}

std::string files_text(uint64_t count) {
  return fmt::format("{} file{}", count, count == 1 ? "" : "s");
}

// Names the folder in which enable_engine_caching without cache_path stores executables, if it has
// any and is not `listed`.
void print_working_folder(const std::string& listed) {
  constexpr const char* kFolder = "session_cache";
  std::error_code error;
  if (!std::filesystem::is_directory(kFolder, error) ||
      std::filesystem::equivalent(kFolder, listed, error))
    return;
  const size_t count = runtime::ExecutableCache(kFolder).list().size();
  if (count > 0)
    fmt::print("the working folder has another cache with {}: --path {}\n", files_text(count),
               kFolder);
}

int run(const CacheSettings& s) {
  const std::string path = folder(s);
  const runtime::ExecutableCache cache(path);
  if (s.prune) {
    runtime::ExecutableCache::Limits limits;
    if (s.has_max_bytes->count() > 0) limits.max_bytes = s.max_bytes;
    constexpr double kMostSeconds = 1e18;  // fits into 64 bits, and no file is as old
    if (s.has_older_than->count() > 0)
      limits.max_age =
          std::chrono::seconds(static_cast<int64_t>(std::min(s.older_than * 86400, kMostSeconds)));
    const auto pruned = cache.prune(limits);
    if (s.json) {
      print_json({{"removed_files", pruned.files}, {"removed_bytes", pruned.bytes}});
    } else {
      fmt::print("removed {}, {} bytes\n", files_text(pruned.files), pruned.bytes);
      print_working_folder(path);
    }
    if (pruned.failed > 0)
      throw Failure(fmt::format("cannot remove {}, for example {}", files_text(pruned.failed),
                                pruned.reason));
    return 0;
  }
  uint64_t bytes = 0;
  const auto entries = cache.list();
  const int64_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  if (s.json) {
    print_entries(entries);
    return 0;
  }
  for (const runtime::CacheEntry& e : entries) {
    const std::string name = model_of(e);
    fmt::print("{:<24}  {:>9}  {:>14}  {}  {}\n", name.empty() ? "?" : printable(name),
               size_text(e.bytes), age_text(seconds_since_1970(e.last_used), now),
               e.path.filename().string(), e.description.empty() ? "damaged" : e.description);
    bytes += e.bytes;
  }
  fmt::print("{}, {} bytes\n", files_text(entries.size()), bytes);
  print_working_folder(path);
  return 0;
}

}  // namespace

void add_cache(Command& app, std::function<int()>& action) {
  auto* command = app.add_command("cache", "List or prune a folder of cached executables.");
  auto s = std::make_shared<CacheSettings>();
  command->add_option("--path", s->path,
                      "The folder (cache_path) [that of POPXL_CACHE_DIR or POPART_CACHE_DIR, else "
                      "~/.cache/poprt]; poprt without cache_path uses session_cache in the working "
                      "folder: poprt help cache");
  auto* list = command->add_flag("--list", s->list, "List the files, least recently used first");
  auto* prune = command->add_flag(
      "--prune", s->prune, "Remove files: all, or those that --max_bytes and --older_than select");
  prune->excludes(list);
  command->add_flag("--json", s->json, "One JSON object instead of lines");
  s->has_max_bytes = command
                         ->add_option("--max_bytes", s->max_bytes,
                                      "Remove the least recently used until the rest fits")
                         ->check(at_least<uint64_t>(0))
                         ->needs(prune);
  s->has_older_than = command
                          ->add_option("--older_than", s->older_than,
                                       "Remove files that were not used for this number of days")
                          ->check(at_least<double>(0))
                          ->needs(prune);
  command->callback([s, &action] { action = [s] { return run(*s); }; });
}

}  // namespace poprt::cli
