// model_fusion of --config_yaml: several models that become one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/option_table.h"
#include "common/progress.h"
#include "poprt/settings.h"
#include "poprt/source.h"

namespace poprt::cli {

// Models that become one: its ONNX, and its executable if one is wanted.
class Fusion {
 public:
  // Both live as long. Throws Usage and Failure.
  Fusion(const GivenOptions& given, const std::vector<GivenOptions>& models);
  void run();

 private:
  void show() const;
  // Nothing is at `path` before all models are right.
  void convert(const std::string& path);
  Executable compile();

  const GivenOptions& given_;
  const std::vector<GivenOptions>& models_;
  ProgressBar bar_;
  std::vector<std::unique_ptr<CompilerSettings>> settings_;
  std::vector<Compiler> compilers_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace poprt::cli
