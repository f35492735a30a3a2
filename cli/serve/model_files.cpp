#include "serve/model_files.h"

#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>

#include "common/abi.h"
#include "common/read_pieces.h"

namespace poprt::serve {
namespace {

// An entry {key: "location", value: "weights.bin"} of TensorProto.external_data begins with this;
// the size of the value and the value follow.
constexpr std::string_view kLocation = "\x0a\x08location\x12";
constexpr size_t kMostOfValue = 4096;

// Returns the value of the entry that follows kLocation, or "" if its size is wrong. Needs
// kMostOfValue + 2 bytes, unless the file ends before.
std::string_view value_of(std::string_view bytes) {
  size_t size = 0, at = 0;
  for (int shift = 0; shift < 14 && at < bytes.size(); shift += 7) {  // a varint of protobuf
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    size |= static_cast<size_t>(byte & 127) << shift;
    if (byte < 128) return size <= bytes.size() - at ? bytes.substr(at, size) : std::string_view();
  }
  return {};
}

bool leads_out(const std::filesystem::path& location) {
  return location.is_absolute() || *location.lexically_normal().begin() == "..";
}

}  // namespace

std::vector<std::string> external_data_of(const std::string& onnx_file) {
  const std::filesystem::path folder = std::filesystem::path(onnx_file).parent_path();
  std::set<std::string> found;
  std::string bytes;  // those that are not searched yet
  // Searches all entries that are complete; `end` states that no further bytes follow.
  const auto search = [&](bool end) {
    size_t at = 0;
    for (;;) {
      const void* entry =
          memmem(bytes.data() + at, bytes.size() - at, kLocation.data(), kLocation.size());
      if (!entry) {
        if (bytes.size() - at >= kLocation.size()) at = bytes.size() - kLocation.size() + 1;
        break;
      }
      at = static_cast<size_t>(static_cast<const char*>(entry) - bytes.data());
      if (!end && bytes.size() - at < kLocation.size() + 2 + kMostOfValue) break;
      at += kLocation.size();
      const std::string location(value_of(std::string_view(bytes).substr(at)));
      if (!location.empty() && location.find('\0') == std::string::npos && !leads_out(location))
        found.insert((folder / location).string());
    }
    bytes.erase(0, at);
  };
  try {
    cli::read_pieces(onnx_file, UINT64_MAX, [&](std::span<const char> piece) {
      bytes.append(piece.begin(), piece.end());
      search(false);
    });
  } catch (const cli::Failure&) {
    return {};
  }
  search(true);
  return {found.begin(), found.end()};
}

std::string stamp_of(const std::vector<std::string>& files) {
  std::string stamp;
  for (const std::string& file : files) {
    stamp += file;
    struct stat info{};
    if (::stat(file.c_str(), &info) == 0)
      for (const int64_t number :
           {static_cast<int64_t>(info.st_ino), static_cast<int64_t>(info.st_size),
            static_cast<int64_t>(info.st_mtim.tv_sec), static_cast<int64_t>(info.st_mtim.tv_nsec),
            static_cast<int64_t>(info.st_ctim.tv_sec), static_cast<int64_t>(info.st_ctim.tv_nsec)})
        stamp += " " + std::to_string(number);
    stamp += "\n";
  }
  return stamp;
}

}  // namespace poprt::serve
