// The files of an ONNX model, and a hash of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace poprt::onnx {

struct ModelFile {
  // Relative to the model's folder, as its tensors refer to it; empty for the model itself.
  std::string location;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive; null if the caller does
  // The parts [begin, end) that the model uses, in ascending order. Gaps of at most kSmallGap
  // belong to the parts, so a file with tensors at aligned places is one part.
  struct Part {
    uint64_t begin, end;
  };
  std::vector<Part> parts;
  // Not null if hash_of() reads the bytes from this file instead of mapped pages.
  std::shared_ptr<const MappedFile> file;
  // Whether `bytes` are a map of a file that may be truncated. hash_of() and copy_of() then copy
  // what they read (copy_mapped() in base/file.h), and throw data_loss for bytes that are gone.
  bool may_be_truncated = false;
};
inline constexpr uint64_t kSmallGap = uint64_t{1} << 16;

// The model, followed by every external data file of its tensors, ordered by name. Throws like the
// import functions if a file cannot be opened, but does not check that the model is valid.
// `allow_links` and `copy` are as in ImportOptions; with `copy`, the model is copied and the
// external files, which may be much larger than their used parts, are `may_be_truncated`.
std::vector<ModelFile> open_model_files(const std::filesystem::path& path, bool allow_links = false,
                                        bool copy = false);
// The same for a model in memory; the first result has `bytes`.
std::vector<ModelFile> open_model_files(
    std::span<const std::byte> bytes,
    const std::optional<std::filesystem::path>& directory = std::nullopt, bool allow_links = false,
    bool copy = false);

// Functions that write `path` call this function first. Throws invalid_argument if the file exists
// and is the model or one of its external data files, because it would be replaced. A model that
// cannot be read is not an error here, because its import reports it.
void require_not_read(const std::filesystem::path& path, const std::filesystem::path& model);

// All bytes of a file.
std::string copy_of(const ModelFile& file);

// SHA-256 of the used parts of all files, as 64 hexadecimal digits. It reads nothing else, so a
// file may be sparse and much larger than its tensors. `progress` gets the fraction of these bytes
// that is read, from 0 to 1, after each piece of at most kHashPiece bytes; an exception of
// `progress` ends the computation.
std::string hash_of(std::span<const ModelFile> files,
                    const std::function<void(double)>& progress = {});
inline constexpr uint64_t kHashPiece = uint64_t{16} << 20;

// hash_of(open_model_files(...)).
std::string hash_file(const std::filesystem::path& path, bool allow_links = false);
std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory = std::nullopt,
                       bool allow_links = false);

}  // namespace poprt::onnx
