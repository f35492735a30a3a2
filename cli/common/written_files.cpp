#include "common/written_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "common/abi.h"
#include "common/output_path.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

// The path of a file that may not exist yet, without links.
fs::path final_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(resolve_links(path), error), error);
  return error ? path.lexically_normal() : real;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto end = std::ranges::mismatch(folder, path).in1;
  return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

[[noreturn]] void refuse(const fs::path& path, const std::string& option, const std::string& why,
                         const char* also = "") {
  throw Usage(fmt::format("{}: cannot write '{}': {}; give another path{}", option, path.string(),
                          why, also));
}

// The start of an entry of external_data in the bytes of an ONNX model: field 1, the key, is
// "location", and the tag of field 2, the name of the file, follows.
constexpr std::string_view kLocation("\x0a\x08location\x12", 11);
constexpr size_t kLongestName = 4096;
constexpr size_t kLongestEntry = kLocation.size() + 2 + kLongestName;

// The name at the beginning of `bytes`, after its size of one or two bytes.
std::string_view name_at(std::string_view bytes) {
  if (bytes.empty()) return {};
  size_t size = static_cast<unsigned char>(bytes[0]), begin = 1;
  if (size >= 0x80) {
    if (bytes.size() < 2) return {};
    size = (size & 0x7f) | static_cast<size_t>(static_cast<unsigned char>(bytes[1])) << 7;
    begin = 2;
  }
  return size <= kLongestName && begin + size <= bytes.size() ? bytes.substr(begin, size)
                                                              : std::string_view();
}

}  // namespace

// Searches the file for the bytes of kLocation, because these commands do not parse protobuf. The
// same bytes in a weight do no harm: they only protect a file with that name.
std::set<fs::path> external_data_of(const fs::path& model) {
  std::set<fs::path> found;
  std::ifstream file(model, std::ios::binary);
  std::string piece(size_t{1} << 20, '\0'), window;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    window.append(piece, 0, static_cast<size_t>(file.gcount()));
    // An entry at the end of the window may continue in the next piece.
    const size_t until = !file                           ? window.size()
                         : window.size() > kLongestEntry ? window.size() - kLongestEntry
                                                         : 0;
    for (size_t at = window.find(kLocation); at < until; at = window.find(kLocation, at + 1))
      if (const auto name = name_at(std::string_view(window).substr(at + kLocation.size()));
          !name.empty() && name.find('\0') == name.npos)
        found.insert(model.parent_path() / name);
    window.erase(0, until);
  }
  return found;
}

namespace {

// The first bytes of a file, at most `size`, or an empty optional if it cannot be read.
std::optional<std::string> first_bytes(const fs::path& path, size_t size) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Whether the bytes begin as an ONNX model: field 1, the version of the IR, and the tag of another
// field of ModelProto. A tensor of ONNX (.pb) begins with the same field, but others follow.
bool begins_as_onnx(std::string_view bytes) {
  constexpr std::string_view kTags("\x12\x1a\x22\x28\x32\x3a\x42\x72", 8);
  return bytes.size() > 2 && bytes[0] == '\x08' && (bytes[1] & 0x80) == 0 &&
         kTags.find(bytes[2]) != kTags.npos;
}

bool begins_as(Contents contents, const std::string& bytes) {
  switch (contents) {
    case Contents::arrays:  // .npy or .npz
      return bytes.starts_with("\x93NUMPY") || bytes.starts_with("PK");
    case Contents::ir:
      return bytes.starts_with("{\"format\": \"poprt ir") || bytes.starts_with("graph \"");
    case Contents::onnx: return begins_as_onnx(bytes);
    case Contents::popef: return bytes.starts_with("PopEF ");
    case Contents::recording: return bytes.starts_with("{\"poprt_telemetry\"");
    case Contents::svg:
      return bytes.starts_with("<svg") ||
             (bytes.starts_with("<?xml") && bytes.find("<svg") != bytes.npos);
  }
  return false;
}

const char* is_not(Contents contents) {
  switch (contents) {
    case Contents::arrays: return "contains no arrays of NumPy";
    case Contents::ir: return "contains no IR of poprt";
    case Contents::onnx: return "is no ONNX model";
    case Contents::popef: return "is no PopEF file";
    case Contents::recording: return "is no recording of telemetry";
    case Contents::svg: return "is no SVG picture";
  }
  return "";
}

}  // namespace

void CommandFiles::reads(const fs::path& file) { inputs_.push_back(file); }

void CommandFiles::reads_model(const fs::path& file) {
  inputs_.push_back(file);
  if (file.extension() == ".popef") return;
  models_.push_back(file);
  external_data_.reset();
}

void CommandFiles::reads_folder(const fs::path& folder) { folders_.push_back(folder); }

void CommandFiles::require_unread(const fs::path& file, const std::string& option) {
  const auto check_all = [&](const auto& paths) {
    for (const fs::path& input : paths)
      if (is_same(input, file))
        refuse(file, option,
               fmt::format("it is the same file as '{}', which the command reads", input.string()));
  };
  check_all(inputs_);
  // The names are searched only if there is a file that could be overwritten.
  if (!external_data_) {
    external_data_.emplace();
    for (const fs::path& model : models_) external_data_->merge(external_data_of(model));
  }
  check_all(*external_data_);
  for (const fs::path& folder : folders_)
    if (file.extension() != ".popef" && is_below(final_path(file), final_path(folder)))
      refuse(
          file, option,
          fmt::format("it is a file in the folder '{}', which the command reads", folder.string()));
}

void CommandFiles::may_overwrite(bool given) { overwrite_ = given; }

void CommandFiles::require_contents(const fs::path& file, Contents contents,
                                    const std::string& option) const {
  constexpr size_t kHead = 1024;
  if (overwrite_.value_or(false)) return;
  const std::optional<std::string> bytes = first_bytes(file, kHead);
  if (bytes && (bytes->empty() || begins_as(contents, *bytes))) return;
  refuse(file, option,
         fmt::format("the file exists and {}", bytes ? is_not(contents) : "cannot be read"),
         overwrite_ ? ", or --overwrite" : "");
}

void CommandFiles::writes(const fs::path& file, Contents contents, const std::string& option) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;
  if (fs::exists(status)) require_unread(file, option);
  if (fs::exists(status)) require_contents(file, contents, option);
  for (const auto& [other, of] : outputs_)
    if (is_same(other, file) || final_path(other) == final_path(file))
      refuse(file, option,
             of == option ? "another output has the same file"
                          : fmt::format("it is the same file as that of {}", of));
  outputs_.emplace_back(file, option);
}

}  // namespace poprt::cli
