// The ONNX model that command poprt converts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/option_table.h"
#include "common/temporary_folder.h"

namespace poprt::cli {

class Piped;

// The ONNX model that is to be converted, which may be made for the purpose.
class Source {
 public:
  // Throws Failure for a model that cannot be read.
  explicit Source(const GivenOptions& given);
  ~Source();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<Piped> piped_;
  std::optional<TemporaryFolder> made_;
};

// A message that names a file which nobody has given, because the model came through a pipe, with
// the name of the pipe instead.
std::string with_piped_name(std::string message);

}  // namespace poprt::cli
