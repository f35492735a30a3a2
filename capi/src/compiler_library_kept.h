// What a conversion leaves for a compilation of the same file, so that a model is read, and where
// the result is the same converted, once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler_library.h"
#include "ir/graph.h"

namespace poprt::capi {

// The files of a model as they were at one moment.
class Stamps {
 public:
  // nullopt when a file has changed within the last two seconds: a second change could leave the
  // same times, so that it would not be seen; and when a file cannot be read, which importing it
  // reports.
  static std::optional<Stamps> of(const std::string& path, bool allow_links);
  // Whether all files are still the same: no one is replaced, written or gone.
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
  bool converted = false;  // else as it was read
};

}  // namespace poprt::capi
