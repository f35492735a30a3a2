// A folder of compiled executables, each named by the hash of everything that it was compiled from.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/model.h"

namespace poprt::runtime {

// The source of an executable. `hash` is its file name; `description` is stored in the file and
// must be equal when the file is used.
struct CacheKey {
  std::string hash;         // 64 hexadecimal digits, over everything that determines the result
  std::string description;  // one line for users: package, options and so on
  std::string name;         // of the executable
};

// A checksum of contents, computed as fast as memory can be read. It detects damage, not forgery.
uint64_t content_checksum(std::span<const std::byte> bytes);

struct CacheEntry {
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::filesystem::file_time_type last_used;
  std::string description;  // empty if the file cannot be read
};

// Returns `poprt` in the user's cache folder, which is XDG_CACHE_HOME or ~/.cache. nullopt if the
// user has none.
std::optional<std::filesystem::path> user_cache_folder();
// Returns POPXL_CACHE_DIR, else POPART_CACHE_DIR of the environment. Warns if both are set and
// differ.
std::optional<std::filesystem::path> cache_folder_of_environment();
// Returns the folder of files that are cached without an option: that of the environment, else that
// of the user.
std::optional<std::filesystem::path> default_cache_folder();

// Any number of processes may use one folder: files are renamed when they are complete, and a
// mapped file stays usable when it is removed. Thread-safe.
class ExecutableCache {
 public:
  explicit ExecutableCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path path_of(const CacheKey& key) const;

  // Returns null if there is no entry. An entry that is damaged, of another package, or made from
  // another source than its name states is ignored with a warning in the log. So is an entry that
  // another user may have made: every user can write to the folder and it is not sticky, or the
  // file belongs to a user that is neither root nor the user of this process. Marks the entry as
  // used now. If `warnings` is not null, it receives the warnings that store() got.
  std::shared_ptr<const Model> find(const CacheKey& key,
                                    std::vector<std::string>* warnings = nullptr) const;

  // Creates the folder if it is missing, so that other users cannot write to it. Returns whether it
  // has written the entry. Errors are only logged as warnings, because the result of the
  // compilation must not be lost. Writes nothing if find() would not use the entry
  // because another user may have made it. `warnings` are those of the compilation.
  bool store(const CacheKey& key, std::span<const std::byte> payload,
             const std::vector<std::string>& warnings = {}) const noexcept;

  // The least recently used entries first; empty if the folder is missing. Throws
  // permission_denied, or invalid_argument if the folder cannot be listed for another reason.
  std::vector<CacheEntry> list() const;

  struct Limits {
    std::optional<uint64_t> max_bytes;            // of all entries together
    std::optional<std::chrono::seconds> max_age;  // since the last use
  };
  struct Pruned {
    uint64_t files = 0, bytes = 0;
    uint64_t failed = 0;  // files that could not be removed
    std::string reason;   // of the first of them, with its path
  };
  // Removes entries that are too old, then the least recently used ones until the rest is small
  // enough, and the temporary files of writers that have died. Without limits, removes every entry.
  // Other files are not removed.
  Pruned prune(const Limits& limits) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace poprt::runtime
