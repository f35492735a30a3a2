// A folder of compiled executables, each under the hash of what it was compiled from.
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

// What an executable is made from. `hash` names the file; `description` is kept in it and must be
// the same when it is used.
struct CacheKey {
  std::string hash;         // 64 hexadecimal digits, over everything that decides the result
  std::string description;  // one line for people: package, options ...
  std::string name;         // of the executable
};

struct CacheEntry {
  std::filesystem::path path;
  uint64_t bytes = 0;
  std::filesystem::file_time_type last_used;
  std::string description;  // empty when the file cannot be read
};

// Any number of processes may use one folder: files appear complete, by renaming, and a mapped one
// stays usable when it is removed. Safe from any thread.
class ExecutableCache {
 public:
  explicit ExecutableCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path path_of(const CacheKey& key) const;

  // Null when there is none. One that is damaged, of another package, or made from something else
  // than its name says is null with a warning in the log. Marks the entry as used now.
  std::shared_ptr<const Model> find(const CacheKey& key) const;

  // Makes the folder when it is missing. What goes wrong is a warning only: a result is never lost
  // for its cache.
  void store(const CacheKey& key, std::span<const std::byte> payload) const noexcept;

  // Least recently used first. A missing folder is empty. Throws permission_denied and the like.
  std::vector<CacheEntry> list() const;

  struct Limits {
    std::optional<uint64_t> max_bytes;            // of all entries together
    std::optional<std::chrono::seconds> max_age;  // since the last use
  };
  struct Pruned {
    uint64_t files = 0, bytes = 0;
  };
  // Removes entries that are too old, then the least recently used ones until the rest fits, and
  // what writers that died an hour ago left behind. Without limits: every entry. Other files are
  // left alone.
  Pruned prune(const Limits& limits) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace poprt::runtime
