// What an ONNX model is made of, as one hash.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace poprt::onnx {

// SHA-256 over the bytes of the model and of every external data file that one of its tensors names
// (in the order of their names), as 64 hexadecimal digits. Reads everything. Throws as the import
// functions do for what cannot be parsed or opened.
// `allow_links` as in ImportOptions.
std::string hash_file(const std::filesystem::path& path, bool allow_links = false);
std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory = std::nullopt,
                       bool allow_links = false);

}  // namespace poprt::onnx
