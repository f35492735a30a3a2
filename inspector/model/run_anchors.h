// What a run of a model takes and gives: all of it, one model of a fused one, or one of several
// shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runner/runner.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"

namespace poprt::inspector {

// What a run chooses from: the models of a fused one, "graph0 bert", or the shapes that a model was
// compiled at, "batch 1, sequence 64". Empty: there is nothing to choose. A variant is an index
// into it, 0 where there are none.
std::vector<std::string> run_variants(const runtime::Model& model);

// Inputs that a caller gives, those without data of their own, and all outputs; of one variant, in
// its shapes. Those of a model that was compiled in several copies have one more dimension in
// front. Throw invalid_argument for a variant that the model does not have.
std::vector<program::Anchor> inputs_to_give(const runtime::Model& model, size_t variant = 0);
std::vector<program::Anchor> outputs_to_get(const runtime::Model& model, size_t variant = 0);

// The runner that serves such requests. Throws as runtime::ModelRunner.
std::unique_ptr<runtime::BaseRunner> runner_of(const std::shared_ptr<const runtime::Model>& model,
                                               runtime::RunnerConfig config = {});

}  // namespace poprt::inspector
