// Tensor bytes in files beside the model, confined to the model's directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace poprt::onnx {

// Opens each file once and maps it read-only.
class ExternalFiles {
 public:
  // `directory`: none means that there is no place for external data. `allow_links` accepts
  // symbolic and hard links, wherever they lead.
  ExternalFiles(std::optional<std::filesystem::path> directory, bool allow_links)
      : directory_(std::move(directory)), allow_links_(allow_links) {}

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  // `offset` bytes into the file `location` (a relative path without ".." components); without a
  // length, up to the end. Throws invalid_argument for a forbidden path or kind of file, not_found
  // when it is missing and data_loss when it is too short.
  Bytes read(std::string_view location, uint64_t offset, std::optional<uint64_t> length);

 private:
  Bytes map(std::string_view location);

  std::optional<std::filesystem::path> directory_;
  bool allow_links_;
  std::map<std::string, Bytes, std::less<>> maps_;
};

}  // namespace poprt::onnx
