// Runs of a model for `check` and `precision_compare`.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "check_inputs.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/model.h"

namespace poprt::capi {

// An output of one run. Where the size depends on data, `real` is the part of `whole`, from the
// origin, that output NAME:shape tells; else it is the shape of `whole`.
struct CheckedOutput {
  Tensor whole;
  Shape real;
  bool sized = false;

  // The elements of the real part, row by row.
  std::vector<double> values() const;
  // The same of integers and conditions, exactly; empty for other types.
  std::vector<int64_t> integers() const;
};

// The outputs of a run by name, without the NAME:shape of others. Where the run failed, `failure`
// says why, and there are no outputs.
struct CheckedRun {
  std::map<std::string, CheckedOutput> outputs;
  std::optional<Error> failure;
};

class CheckedModel {
 public:
  // Acquires a device. Throws what ModelRunner throws.
  explicit CheckedModel(std::shared_ptr<const runtime::Model> model);

  // The inputs that callers give, in the model's order.
  std::vector<CheckInput> inputs() const;
  // One run. `tensors` has every input by name, of its type and shape.
  CheckedRun run(const std::map<std::string, Tensor>& tensors);

 private:
  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::ModelRunner> runner_;
};

// Runs a model with each set. Inputs have the places that `inputs`, those of the original model,
// give them by name. Throws failed_precondition for an input that the original does not have.
std::vector<CheckedRun> run_sets(const std::shared_ptr<const runtime::Model>& model,
                                 const std::vector<InputSet>& sets,
                                 const std::vector<CheckInput>& inputs);

}  // namespace poprt::capi
