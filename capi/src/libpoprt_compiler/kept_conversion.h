// The model that a conversion keeps for a compilation of the same file, so that it is read only
// once, and converted only once if both need the same result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_library.h"
#include "ir/graph.h"

namespace poprt::capi {

// The state of a model's files at one moment.
class Stamps {
 public:
  // Returns nullopt if a file has changed within the last two seconds, because another change could
  // leave the same times and remain unnoticed. Also returns nullopt if a file cannot be read;
  // importing it reports the error.
  static std::optional<Stamps> of(const std::string& path, bool allow_links, bool copy);
  // Returns whether no file was replaced, written or removed.
  bool are_current() const;

 private:
  struct Stamp {
    std::string path;
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t modified = 0, changed = 0;  // nanoseconds
    bool operator==(const Stamp&) const = default;
  };
  static std::optional<Stamp> stamp_of(const std::string& path);

  std::vector<Stamp> list_;
};

struct Kept {
  std::string path;
  Stamps stamps;
  std::unique_ptr<ir::Graph> graph;
  bool converted = false;  // otherwise it is the imported graph
};

}  // namespace poprt::capi
