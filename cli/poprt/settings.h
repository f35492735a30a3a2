// Converts the options of command poprt to those of the library.
#pragma once

#include <vector>

#include "common/abi.h"
#include "common/option_table.h"
#include "common/progress.h"

namespace poprt::cli {

// The options for the library.
class CompilerSettings {
 public:
  // `named`: the part of `given` for the library. `bar` must outlive this object.
  CompilerSettings(NamedOptions named, const GivenOptions& given, ProgressBar& bar);
  CompilerSettings(const CompilerSettings&) = delete;
  CompilerSettings& operator=(const CompilerSettings&) = delete;

  // Throws Usage for options that the library refuses as invalid.
  Compiler make() const;

 private:
  NamedOptions named_;
  std::vector<poprt_option> raw_;
  poprt_compile_options options_ = {};
};

}  // namespace poprt::cli
