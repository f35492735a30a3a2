#include "check_runs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "faithful_device.h"
#include "option_lists.h"

namespace poprt::capi {
namespace {

// Calls take(i) for the index i, in a tensor of shape `whole`, of each element of `real`.
template <class Take>
void for_each_real(const Shape& whole, const Shape& real, Take take) {
  const auto count = static_cast<size_t>(element_count(whole));
  for (size_t i = 0; i < count; i++) {
    bool inside = true;
    size_t rest = i;
    for (size_t axis = whole.size(); inside && axis-- > 0;) {
      const auto size = static_cast<size_t>(whole[axis]);
      inside = static_cast<int64_t>(rest % size) < real[axis];
      rest /= size;
    }
    if (inside) take(i);
  }
}

template <class T>
std::vector<T> cropped(std::vector<T> values, const Shape& whole, const Shape& real) {
  if (whole == real) return values;
  std::vector<T> part;
  for_each_real(whole, real, [&](size_t i) { part.push_back(values[i]); });
  return part;
}

// Returns the real shape of output NAME from output NAME:shape of a run, or nothing if NAME:shape
// is an unrelated output with such a name.
std::optional<Shape> real_shape(const Tensor& whole, const Tensor& sizes) {
  const auto rank = static_cast<int64_t>(whole.shape().size());
  if (!is_integer(sizes.dtype()) || sizes.shape() != Shape{rank}) return std::nullopt;
  const std::vector<int64_t> given = sizes.to_int64s();
  for (size_t d = 0; d < given.size(); d++)
    if (given[d] < 0 || given[d] > whole.shape()[d]) return std::nullopt;
  return Shape(given.begin(), given.end());
}

void take_sizes(std::map<std::string, CheckedOutput>& outputs) {
  std::vector<std::string> used;
  for (auto& [name, output] : outputs) {
    const auto sizes = outputs.find(name + ":shape");
    if (sizes == outputs.end()) continue;
    const auto real = real_shape(output.whole, sizes->second.whole);
    if (!real) continue;
    output.real = *real;
    output.sized = true;
    used.push_back(sizes->first);
  }
  for (const std::string& name : used) outputs.erase(name);
}

std::unique_ptr<runtime::ModelRunner> runner_of(
    const std::shared_ptr<const runtime::Model>& model) {
  runtime::RunnerConfig config;
  if (model->opaque.contains(kFaithfulModel))
    config.session.device = faithful_device(*model, {.faithful = true});
  return std::make_unique<runtime::ModelRunner>(model, config);
}

}  // namespace

std::vector<double> CheckedOutput::values() const {
  return cropped(whole.to_doubles(), whole.shape(), real);
}

std::vector<int64_t> CheckedOutput::integers() const {
  if (!is_integer(whole.dtype()) && whole.dtype() != DType::boolean) return {};
  return cropped(whole.to_int64s(), whole.shape(), real);
}

CheckedModel::CheckedModel(std::shared_ptr<const runtime::Model> model)
    : model_(std::move(model)), runner_(runner_of(model_)) {}

std::vector<CheckInput> CheckedModel::inputs() const {
  std::vector<CheckInput> list;
  uint64_t place = 0;
  for (const runtime::DataDesc& d : runner_->execute_inputs()) {
    place++;
    if (!d.popef_contains_tensor_data)
      list.push_back({d.anchor.name, d.anchor.dtype, d.anchor.shape, place});
  }
  return list;
}

CheckedRun CheckedModel::run(const std::map<std::string, Tensor>& tensors) {
  std::vector<runtime::InputBinding> from;
  for (const auto& [name, t] : tensors) from.push_back({name, 0, t.data(), t.bytes()});
  CheckedRun run;
  std::vector<runtime::OutputBinding> to;
  for (const runtime::DataDesc& d : runner_->execute_outputs()) {
    CheckedOutput& output = run.outputs[d.anchor.name];
    output.whole = Tensor::zeros(d.anchor.dtype, d.anchor.shape);
    output.real = d.anchor.shape;
    to.push_back({d.anchor.name, 0, output.whole.mutable_data(), d.size_in_bytes});
  }
  try {
    runner_->execute(from, to);
  } catch (const Error& e) {
    run.outputs.clear();
    run.failure = e;
    // The device may have stopped during a run, so the next run creates a new runner.
    runner_.reset();
    runner_ = runner_of(model_);
    return run;
  }
  take_sizes(run.outputs);
  return run;
}

std::vector<CheckedRun> run_sets(const std::shared_ptr<const runtime::Model>& model,
                                 const std::vector<InputSet>& sets,
                                 const std::vector<CheckInput>& inputs) {
  CheckedModel runs(model);
  std::vector<CheckInput> own = runs.inputs();
  for (CheckInput& input : own) {
    const auto original = std::ranges::find(inputs, input.name, &CheckInput::name);
    if (original == inputs.end())
      fail(ErrorCode::failed_precondition,
           "the converted model has input '{}', which the original lacks: they cannot run with the "
           "same inputs",
           input.name);
    input.place = original->place;
  }
  std::vector<CheckedRun> results;
  for (const InputSet& set : sets) {
    std::map<std::string, Tensor> tensors;
    for (const CheckInput& input : own) tensors.emplace(input.name, set.make(input));
    results.push_back(runs.run(tensors));
  }
  return results;
}

}  // namespace poprt::capi
