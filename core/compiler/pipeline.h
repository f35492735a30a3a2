// The one place that decides the order of passes.
#pragma once

#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Before sizes that depend on data get their bounds and control flow is unrolled: nothing unless
// options ask for it.
std::vector<const passes::PassDef*> early_pipeline(const Options& options);
// ONNX in, ONNX out: what conversion runs by default.
std::vector<const passes::PassDef*> converter_pipeline(const Options& options);
// From a converted graph to one whose nodes are lowered one by one.
std::vector<const passes::PassDef*> compile_pipeline(const Options& options);
// The same in the parts between which plug-ins' transforms run; each ends at a checkpoint.
struct Stage {
  std::string_view checkpoint;
  std::vector<const passes::PassDef*> passes;
};
std::vector<Stage> compile_stages(const Options& options);

}  // namespace poprt::compiler
