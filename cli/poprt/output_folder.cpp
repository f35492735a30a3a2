#include "poprt/output_folder.h"

#include <fmt/format.h>

#include "common/abi.h"

namespace poprt::cli {

namespace fs = std::filesystem;

MadeFolder::MadeFolder(const fs::path& path) {
  if (const fs::path here = path.lexically_normal(); here == "." || here == "./") return;  // exists
  std::error_code error;
  for (fs::path p = path; !p.empty() && !fs::exists(p, error); p = p.parent_path())
    made_.push_back(p);
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    throw Failure(fmt::format("--output_dir: cannot make the folder '{}': {}", path.string(),
                              error ? error.message() : "a file has that name"));
}

MadeFolder::~MadeFolder() {
  std::error_code error;
  for (const fs::path& p : made_) fs::remove(p, error);
}

}  // namespace poprt::cli
