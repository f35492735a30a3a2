// The ONNX model that command poprt converts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/option_table.h"
#include "common/temporary_folder.h"

namespace poprt::cli {

class Piped;

// The ONNX model to convert, which may be a temporary file.
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

// Replaces the path of the temporary copy in a message by the name of the pipe.
std::string with_piped_name(std::string message);

}  // namespace poprt::cli
