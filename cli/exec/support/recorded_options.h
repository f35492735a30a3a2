// The compile options that a PopEF file records, for compiling its source again.
#pragma once

#include <vector>

#include "popef/types.h"
#include "recorded_compile_options.h"

namespace poprt::cli {

class RecordedOptions : public capi::RecordedCompileOptions {
 public:
  // Throws Failure for an option that this version does not know, or for an invalid value.
  explicit RecordedOptions(const std::vector<popef::Option>& recorded);
};

}  // namespace poprt::cli
