#include "serve/inference.h"

#include <algorithm>
#include <chrono>

namespace poprt::serve {
namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

const serving::TensorSpec& find_spec(const std::vector<serving::TensorSpec>& specs,
                                     const std::string& name, const char* kind) {
  for (const serving::TensorSpec& spec : specs)
    if (spec.name == name) return spec;
  std::string names;
  for (const serving::TensorSpec& spec : specs)
    names += (names.empty() ? "'" : ", '") + spec.name + "'";
  throw Error(POPRT_INVALID_ARGUMENT,
              "the model has no " + std::string(kind) + " '" + name + "'; it has " + names);
}

poprt_tensor bind(const InputTensor& input, const serving::TensorSpec& spec) {
  if (input.dtype != spec.dtype)
    throw Error(POPRT_INVALID_ARGUMENT, "input '" + input.name + "' has another type; expected " +
                                            serving::datatype_name(spec.dtype));
  const size_t bytes = serving::tensor_bytes(spec.dtype, input.shape);
  if (bytes != input.bytes)
    throw Error(POPRT_INVALID_ARGUMENT,
                "input '" + input.name + "' has " + std::to_string(input.bytes) + " bytes; shape " +
                    serving::shape_text(input.shape) + " has " + std::to_string(bytes));
  return {spec.anchor.c_str(),
          0,
          const_cast<void*>(input.data),
          bytes,
          spec.dtype,
          0,
          input.shape.data(),
          input.shape.size()};
}

}  // namespace

LoadedModel::LoadedModel(std::string given_name, serving::ServedModel opened,
                         const poprt_runner_options& options,
                         std::shared_ptr<Counters> given_counters)
    : name(std::move(given_name)),
      model(std::move(opened)),
      runner(model.make_runner(options)),
      counters(std::move(given_counters)) {}

struct Inference::Job {
  Inference* owner;
  std::shared_ptr<const LoadedModel> model;
  std::vector<const serving::TensorSpec*> wanted;
  serving::Outputs outputs;
  Done done;
  int64_t begin = 0;
  int64_t rows = 1;
};

void Inference::submit(std::shared_ptr<const LoadedModel> model,
                       const std::vector<InputTensor>& inputs,
                       const std::vector<std::string>& wanted, Done done) {
  admission_.check_open();
  Counters& counters = *model->counters;
  auto job = std::make_unique<Job>();
  job->owner = this;
  job->begin = now_ns();
  std::vector<poprt_tensor> bound;
  for (const InputTensor& input : inputs)
    bound.push_back(bind(input, find_spec(model->model.inputs(), input.name, "input")));
  for (const std::string& name : wanted)
    job->wanted.push_back(&find_spec(model->model.outputs(), name, "output"));
  if (model->model.batch_rows() > 0 && !inputs.empty() && !inputs[0].shape.empty())
    job->rows = inputs[0].shape[0];
  admission_.enter(1, counters.rejected);
  poprt_request_options options = {};
  options.struct_size = sizeof options;
  options.callback = finished;
  options.user_data = job.get();
  options.timeout_ns = limits_.request_ns;
  options.when_full = POPRT_WHEN_FULL_LINE;
  const poprt_runner* const runner = model->runner.get();
  job->model = std::move(model);
  job->done = std::move(done);
  try {
    poprt_outputs* outputs = nullptr;
    serving::check(poprt_outputs_create(const_cast<poprt_runner*>(runner), bound.data(),
                                        bound.size(), &outputs));
    job->outputs.reset(outputs);
    std::vector<poprt_tensor> written;
    for (size_t o = 0; o < poprt_outputs_count(outputs); o++)
      written.push_back(*poprt_outputs_at(outputs, o));
    serving::check(poprt_runner_submit_tensors(const_cast<poprt_runner*>(runner), bound.data(),
                                               bound.size(), written.data(), written.size(),
                                               &options, nullptr));
    static_cast<void>(job.release());  // finished() owns it
  } catch (const std::exception&) {
    counters.failed++;
    admission_.leave();
    throw;
  }
}

void Inference::finished(poprt_error_code code, void* user_data) {
  const std::unique_ptr<Job> job(static_cast<Job*>(user_data));
  Result result;
  result.model = job->model;
  result.memory = std::move(job->outputs);
  poprt_outputs* const outputs = result.memory.get();
  try {
    if (code != POPRT_OK)
      throw Error(code, std::string("the run failed: ") + poprt_error_code_name(code));
    serving::check(poprt_outputs_crop(outputs));
    const auto take = [&](const serving::TensorSpec& spec) {
      for (size_t o = 0; o < poprt_outputs_count(outputs); o++) {
        const poprt_tensor* t = poprt_outputs_at(outputs, o);
        if (spec.anchor != t->name) continue;
        std::vector<int64_t> shape(t->shape, t->shape + t->rank);
        const size_t bytes = serving::tensor_bytes(spec.dtype, shape);
        result.outputs.push_back({&spec, std::move(shape), t->data, bytes});
      }
    };
    for (const serving::TensorSpec* spec : job->wanted) take(*spec);
    if (job->wanted.empty())
      for (const serving::TensorSpec& spec : job->model->model.outputs()) take(spec);
  } catch (const Error& e) {
    result.error = e;
  } catch (const std::exception& e) {
    result.error = Error(POPRT_INTERNAL, e.what());
  }
  Counters& counters = *job->model->counters;
  (result.error ? counters.failed : counters.succeeded)++;
  if (!result.error) counters.rows += static_cast<uint64_t>(job->rows);
  counters.nanoseconds += static_cast<uint64_t>(now_ns() - job->begin);
  job->done(std::move(result));
  job->owner->admission_.leave();
}

}  // namespace poprt::serve
