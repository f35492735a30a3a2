// Runs a model as it was and as it became on the same inputs (check_inputs.h), several times.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check_comparison.h"
#include "check_inputs.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// The two models, compiled. `original` may have outputs more than the model has: results inside of
// it whose sizes depend on data, of which only the sizes are reported.
struct CheckedModels {
  std::shared_ptr<const runtime::Model> original, converted;
  std::vector<std::string> inner;
};

// What a model of this precision is held to: `precision` is the converter's option, or empty, when
// it depends on whether the converted model has inputs or outputs that are halves.
Tolerance tolerance_of(std::string_view precision, const runtime::Model& converted);

// Compares the outputs of both models, and their real sizes. Returns what was found, JSON with the
// key `text` for its lines. Throws data_loss (an output differs by more than the tolerance, another
// size, the converted model fails; the message says where, by how much, the tolerance and the
// inputs), failed_precondition (the original runs with none of the inputs).
std::string check_same_results(const CheckedModels& models, const Tolerance& tolerance,
                               const CheckData& data);

// An output of both models, and the type of the operator that makes it.
struct Layer {
  std::string type, name;
};

// How far the layers' results are apart. First the largest differences over all inputs, the
// tolerance that check has and how the inputs were made; after an empty line, numbers of each layer
// with the first inputs; at the end a table, the worst first. Throws invalid_argument for data that
// has other shapes than the inputs.
std::string compare_layers(const std::vector<Layer>& layers, const CheckedModels& models,
                           const Tolerance& tolerance, const CheckData& data);

}  // namespace poprt::capi
