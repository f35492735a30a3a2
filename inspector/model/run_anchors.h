// The inputs and outputs of a run: of a model, of one model of a fused executable, or of one of
// several shapes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runner/runner.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"

namespace poprt::inspector {

// Names of the variants that a run can select: the models of a fused one, such as "graph0 bert", or
// the shapes that a model was compiled at, such as "batch 1, sequence 64". Empty if there is only
// one. A variant is an index into this list, or 0.
std::vector<std::string> run_variants(const runtime::Model& model);

// The inputs that a caller gives (not those with data in the file, the seed, the input that selects
// the variant, or the masks of places that are not padding), and the outputs, with the shapes of
// one variant. For a fused model, only those of one graph. If a model was compiled in several
// copies, they have an additional first dimension. Throw invalid_argument for an unknown variant.
std::vector<program::Anchor> inputs_to_give(const runtime::Model& model, size_t variant = 0);
std::vector<program::Anchor> outputs_to_get(const runtime::Model& model, size_t variant = 0);

// Creates a runner for such requests. Throws like runtime::ModelRunner.
std::unique_ptr<runtime::BaseRunner> runner_of(const std::shared_ptr<const runtime::Model>& model,
                                               runtime::RunnerConfig config = {});

}  // namespace poprt::inspector
