// Decides the order of the passes of a conversion and of a compilation. No other file does.
#pragma once

#include <vector>

#include "compiler/compiler.h"

namespace poprt::compiler {

// Passes that options select and that must see the model as it was exported: they run before sizes
// that depend on data get bounds and before control flow is unrolled. Empty by default.
std::vector<const passes::PassDef*> early_pipeline(const Options& options);
// The passes of conversion from ONNX to ONNX: the default ones and those that options select.
std::vector<const passes::PassDef*> converter_pipeline(const Options& options);
// Passes from a converted graph to one whose nodes can be lowered.
std::vector<const passes::PassDef*> compile_pipeline(const Options& options);
// A part of compile_pipeline. Each ends at a checkpoint, where transforms of plug-ins run.
struct Stage {
  std::string_view checkpoint;
  std::vector<const passes::PassDef*> passes;
};
std::vector<Stage> compile_stages(const Options& options);

}  // namespace poprt::compiler
