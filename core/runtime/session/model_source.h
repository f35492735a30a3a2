// The description of the model that an executable was compiled from, in its PopEF file
// (popef/FORMAT.md).
#pragma once

#include <string>
#include <string_view>

namespace poprt::runtime {

// Names of two engine options in the metadata, which follow the options of the compilation: the
// file name of the ONNX model (absent if it was compiled from memory), and the hash of all its
// files (onnx/model_hash.h).
inline constexpr std::string_view kSourceName = "source";
inline constexpr std::string_view kSourceHash = "source_hash";

// Opaque blobs of an embedded source: the model, and "poprt.source/LOCATION" for each file of its
// external data.
inline constexpr std::string_view kSourceBlob = "poprt.source";

inline bool is_source_blob(std::string_view name) {
  return name.starts_with(kSourceBlob) &&
         (name.size() == kSourceBlob.size() || name[kSourceBlob.size()] == '/');
}

// The name of the blob of one file; `location` is empty for the model itself.
inline std::string source_blob(std::string_view location) {
  std::string name(kSourceBlob);
  return location.empty() ? name : name.append("/").append(location);
}

}  // namespace poprt::runtime
