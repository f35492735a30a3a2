// Where the executable goes, and what it may replace there.
#pragma once

#include <filesystem>
#include <string>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Where the executable goes. Throws Failure when a file of that name holds another model, which the
// user may want to keep.
std::filesystem::path popef_path(const GivenOptions& given, const std::string& input);

// Models may have one name and be different ones: a file that another compilation of this name has
// left is replaced when it was the same model, or has become another version of it.
class Replaced {
 public:
  // Where nothing is, or the user said --overwrite, everything may be replaced.
  Replaced(const GivenOptions& given, const std::filesystem::path& path);
  // Until it is known what comes, it lies beside.
  std::filesystem::path beside() const;
  // Puts what is beside into its place. Throws Failure when the old one is another model: nothing
  // that goes in, or nothing that comes out, has the same name.
  void commit();

 private:
  std::filesystem::path path_;
  Executable old_;
};

}  // namespace poprt::cli
