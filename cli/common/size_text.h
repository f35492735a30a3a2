// Sizes of files and of memory, for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace poprt::cli {

// Returns, for example, "812 B", "40.1 kB", "3.0 MB" or "1.2 GB". A kB has 1000 bytes.
inline std::string size_text(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{:.1f} kB", size / 1e3);
  return bytes < 1000000000 ? fmt::format("{:.1f} MB", size / 1e6)
                            : fmt::format("{:.1f} GB", size / 1e9);
}

}  // namespace poprt::cli
