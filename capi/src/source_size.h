// The size of the source of a compilation, for both libraries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "compiler_library.h"

namespace poprt::capi {

// Whether the hash of a model, without external data, takes less time than to start a thread. False
// if the file cannot be read.
inline bool is_hashed_soon(const poprt_library_source& source) {
  constexpr uint64_t kSmall = uint64_t{1} << 19;
  std::error_code error;
  const uint64_t size =
      source.path ? std::filesystem::file_size(source.path, error) : uint64_t{source.size};
  return !error && size < kSmall;
}

}  // namespace poprt::capi
