// Refuses to write a file over another file of the same call.
#pragma once

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace poprt::capi {

// Throws invalid_argument if both paths are one file, also through a symbolic or a hard link. A
// function calls it before it writes anything, because the output would replace the input.
inline void require_distinct(const std::filesystem::path& input,
                             const std::filesystem::path& output) {
  std::error_code error;
  bool same = std::filesystem::equivalent(input, output, error);
  // equivalent() fails if neither file exists; the paths are then compared.
  if (error)
    same = resolve_links(input).lexically_normal() == resolve_links(output).lexically_normal();
  if (same)
    fail(ErrorCode::invalid_argument,
         "cannot write '{}': it is the same file as '{}', which would be overwritten; give another "
         "path",
         output.string(), input.string());
}

}  // namespace poprt::capi
