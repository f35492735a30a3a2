// What an ONNX model is made of: its files, and all of them as one hash.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace poprt::onnx {

struct ModelFile {
  std::string
      location;  // below the model's folder, as its tensors name it; empty: the model itself
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // of mapped bytes
};

// The model, then every external data file that one of its tensors names, in the order of their
// names. Throws as the import functions do for what cannot be opened; that the rest is an ONNX
// model is not checked. `allow_links` as in ImportOptions.
std::vector<ModelFile> files_of(const std::filesystem::path& path, bool allow_links = false);
// The first one has the bytes that were given.
std::vector<ModelFile> files_of(
    std::span<const std::byte> bytes,
    const std::optional<std::filesystem::path>& directory = std::nullopt, bool allow_links = false);

// SHA-256 over the bytes of all files, as 64 hexadecimal digits. Reads everything.
std::string hash_of(std::span<const ModelFile> files);

// Of files_of(). Throw as that.
std::string hash_file(const std::filesystem::path& path, bool allow_links = false);
std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory = std::nullopt,
                       bool allow_links = false);

}  // namespace poprt::onnx
