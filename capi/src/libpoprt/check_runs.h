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

// An output of one run. If the size depends on data, `real` is the part of `whole`, from the
// origin, whose size output NAME:shape contains. Otherwise it is the shape of `whole`.
struct CheckedOutput {
  Tensor whole;
  Shape real;
  bool sized = false;

  // The elements of the real part, row by row.
  std::vector<double> values() const;
  // The exact elements of integers and conditions; empty for other types.
  std::vector<int64_t> integers() const;
};

// The outputs of a run by name, without the outputs NAME:shape. If the run failed, `failure`
// contains the reason and there are no outputs.
struct CheckedRun {
  std::map<std::string, CheckedOutput> outputs;
  std::optional<Error> failure;
};

// A model on a device. The device computes with faithful numerics if the executable requires them.
class CheckedModel {
 public:
  // Acquires a device. Throws the errors of ModelRunner and of faithful_device().
  explicit CheckedModel(std::shared_ptr<const runtime::Model> model);

  // The inputs of requests, in the model's order.
  std::vector<CheckInput> inputs() const;
  // Runs the model once. `tensors` contains every input by name, with its type and shape.
  CheckedRun run(const std::map<std::string, Tensor>& tensors);

 private:
  std::shared_ptr<const runtime::Model> model_;
  std::unique_ptr<runtime::ModelRunner> runner_;
};

// Runs a model with each set. An input has the place of the input with the same name in `inputs`,
// the inputs of the original model. Throws failed_precondition for an input that the original
// lacks.
std::vector<CheckedRun> run_sets(const std::shared_ptr<const runtime::Model>& model,
                                 const std::vector<InputSet>& sets,
                                 const std::vector<CheckInput>& inputs);

}  // namespace poprt::capi
