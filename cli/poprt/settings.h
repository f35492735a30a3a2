// The options of command poprt as the library takes them.
#pragma once

#include <vector>

#include "common/abi.h"
#include "common/option_table.h"
#include "common/progress.h"

namespace poprt::cli {

// What the library is told.
class CompilerSettings {
 public:
  // `named`: those of `given` that the library is to know. `bar` lives as long.
  CompilerSettings(NamedOptions named, const GivenOptions& given, ProgressBar& bar);
  CompilerSettings(const CompilerSettings&) = delete;
  CompilerSettings& operator=(const CompilerSettings&) = delete;

  // Throws Usage for options that say something impossible.
  Compiler make() const;

 private:
  NamedOptions named_;
  std::vector<poprt_option> raw_;
  poprt_compile_options options_ = {};
};

}  // namespace poprt::cli
