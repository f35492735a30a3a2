// Runs the original and the converted model several times on the same inputs (check_inputs.h).
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

// The two compiled models. `original` may have more outputs than the model: results inside the
// model with sizes that depend on data. Only their sizes are reported.
struct CheckedModels {
  std::shared_ptr<const runtime::Model> original, converted;
  std::vector<std::string> inner;
};

// Returns the tolerance of a precision. `precision` is the option of the converter or of a pass, or
// execution_precision. If it is no precision below f32, or empty, the tolerance depends on whether
// the converted model has inputs or outputs that are f16 or bf16. `quantizes`: the original rounds
// values to 8 bits (QuantizeLinear). A rounding to a narrower float then changes some of the 8-bit
// values by one step, so the tolerance of int8 is used.
Tolerance tolerance_of(std::string_view precision, const runtime::Model& converted,
                       bool quantizes = false);

// Compares the outputs of both models and their real sizes. Returns the report as JSON, with its
// lines in key `text`. Throws data_loss (an output differs by more than the tolerance, has another
// size or is missing, or the converted model fails; the message contains the place, the difference,
// the tolerance and the inputs), failed_precondition (the original fails with all inputs, or lacks
// an input of the converted model), or invalid_argument (data that does not fit the inputs).
std::string check_same_results(const CheckedModels& models, const Tolerance& tolerance,
                               const CheckData& data);

// An output of both models, and the type of its operator.
struct Layer {
  std::string type, name;
};

// Returns a report of the differences of layers. It begins with a verdict, the largest differences
// over all inputs, the tolerance of check and the description of the inputs. After an empty line,
// it contains numbers of each layer with the first inputs with which both models run, and at the
// end a table, sorted by decreasing difference. Throws invalid_argument for data that does not fit
// the inputs, failed_precondition as check_same_results(), and data_loss if the converted model
// fails with all inputs with which the original runs.
std::string compare_layers(const std::vector<Layer>& layers, const CheckedModels& models,
                           const Tolerance& tolerance, const CheckData& data);

}  // namespace poprt::capi
