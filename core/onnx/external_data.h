// Bytes of tensors that are not in their messages: in other files, which must be below the model's
// directory, or cut out of the model (onnx/split_model.h).
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
#include <unordered_map>
#include <utility>

namespace onnx {
class TensorProto;
}

namespace poprt::onnx {

// Opens each location once and maps its file read-only.
class ExternalFiles {
 public:
  // Without a `directory`, external data is refused. `allow_links` accepts symbolic and hard links
  // with any target. `copy`: read() returns a copy of the bytes instead of a part of the map, and a
  // file that is truncated meanwhile is an error.
  // `zeros` gives zeros for a file that is missing, without using memory for them. Those of 256
  // bytes or more begin with a number that differs from tensor to tensor.
  ExternalFiles(std::optional<std::filesystem::path> directory, bool allow_links, bool copy = false,
                bool zeros = false)
      : directory_(std::move(directory)), allow_links_(allow_links), copy_(copy), zeros_(zeros) {}

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  // Returns the bytes at `offset` of the file `location`, a relative path without ".." components.
  // Without `length`, returns the bytes up to the end of the file; if the file is missing and zeros
  // replace it, returns `expected` zeros. Throws invalid_argument for a forbidden path or kind of
  // file and without a directory, not_found if the file is missing, permission_denied if it may not
  // be read, data_loss if it is too short, and resource_exhausted if there is no address space for
  // its zeros.
  Bytes read(std::string_view location, uint64_t offset, std::optional<uint64_t> length,
             uint64_t expected = 0);

  // Records `data` as the raw data that was cut out of the message `tensor`. cut_of() returns null
  // for a message from which no data was cut.
  void add_cut(const ::onnx::TensorProto& tensor, Bytes data) { cuts_[&tensor] = std::move(data); }
  const Bytes* cut_of(const ::onnx::TensorProto& tensor) const {
    const auto it = cuts_.find(&tensor);
    return it == cuts_.end() ? nullptr : &it->second;
  }

  // Compares the SHA-1 of the whole file with `checksum`, 40 hexadecimal digits. Throws data_loss
  // if they differ, invalid_argument for another text, and otherwise like read(). A missing file
  // that becomes zeros is not compared. The SHA-1 of a file is computed once.
  void check_sha1(std::string_view location, std::string_view checksum);

 private:
  Bytes map(std::string_view location);
  std::string sha1_of_map(std::span<const std::byte> bytes) const;

  std::optional<std::filesystem::path> directory_;
  bool allow_links_, copy_, zeros_;
  uint64_t missing_ = 0;  // number of tensors of missing files so far
  std::map<std::string, Bytes, std::less<>> maps_;
  std::map<std::string, std::string, std::less<>> sha1_;
  std::unordered_map<const ::onnx::TensorProto*, Bytes> cuts_;
};

}  // namespace poprt::onnx
