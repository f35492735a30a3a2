// model_fusion of --config_yaml: merges several models into one.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/option_table.h"
#include "common/progress.h"
#include "poprt/executable_path.h"
#include "poprt/settings.h"
#include "poprt/source.h"

namespace poprt::cli {

// Calls `f` for a model of the fused one. Errors begin with the model: "graph1 (model1.onnx): ".
template <class F>
auto for_model(size_t i, const GivenOptions& model, F&& f) {
  const auto named = [&](const std::exception& e) {
    return fmt::format("graph{} ({}): {}", i, model.text("input_model"), e.what());
  };
  try {
    return f();
  } catch (const Usage& e) {
    throw Usage(named(e));
  } catch (const std::exception& e) {
    throw Failure(named(e));
  }
}

// The merged models as ONNX and, if requested, as an executable.
class Fusion {
 public:
  // Both arguments must outlive this object. Throws Usage and Failure.
  Fusion(const GivenOptions& given, const std::vector<GivenOptions>& models);
  void run();

 private:
  void show() const;
  // Writes `path` only after all models have been converted and if they may replace the executable.
  void convert(const std::string& path, const ExecutableReplacement& replaced);
  Executable compile();

  const GivenOptions& given_;
  const std::vector<GivenOptions>& models_;
  ProgressBar bar_;
  std::vector<std::unique_ptr<CompilerSettings>> settings_;
  std::vector<Compiler> compilers_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace poprt::cli
