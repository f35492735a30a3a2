#include "model/class_names.h"

#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "model/format.h"

namespace poprt::inspector {

constexpr size_t kMostBytes = size_t{8} << 20;

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > kMostBytes || text.find('\0') != std::string_view::npos)
    fail(ErrorCode::invalid_argument,
         "'{}' is not a list of class names: expected text with one name per line", path.string());
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    names.push_back(printable(std::string(line)));
    at = end + 1;
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty())
    fail(ErrorCode::invalid_argument, "'{}' contains no class name", path.string());
  return names;
}

std::filesystem::path find_class_names(const std::filesystem::path& model) {
  std::error_code ignored;
  std::filesystem::path own = model;
  own.replace_extension(".labels.txt");
  if (std::filesystem::is_regular_file(own, ignored)) return own;
  for (const char* name : {"labels.txt", "classes.txt", "imagenet_classes.txt", "synset.txt"})
    if (std::filesystem::is_regular_file(model.parent_path() / name, ignored))
      return model.parent_path() / name;
  return {};
}

}  // namespace poprt::inspector
