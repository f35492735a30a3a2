#include "serve/inference.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "serve/request_parameters.h"

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
  throw Error(POPRT_INVALID_ARGUMENT, "the model has no " + std::string(kind) + " " +
                                          in_quotes(name) + "; it has " + names);
}

poprt_tensor bind(const InputTensor& input, const serving::TensorSpec& spec) {
  check_type(input.name, input.dtype, spec.dtype);
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

poprt_runner_options without_batches(poprt_runner_options options) {
  options.use_batching_dim = 0;
  options.timeout_ns = 0;
  return options;
}

bool is_open(const serving::ServedModel& model) { return model.kind() == serving::Kind::open; }

// The runner that merges requests, if the model needs a separate one for other shapes.
serving::Runner batching_runner(const serving::ServedModel& model,
                                const poprt_runner_options& options) {
  if (!is_open(model) || model.batch_rows() == 0) return nullptr;
  return model.make_runner(options);
}

// The shapes for poprt_runner_warm_up, or "" if the name of an input does not fit into its lines.
std::string shapes_text(const std::vector<poprt_tensor>& inputs) {
  std::string text;
  for (const poprt_tensor& input : inputs) {
    const std::string line = serving::KnownShapes::line(input.name, input.shape, input.rank);
    if (line.empty()) return {};
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

// The index of an input, or the number of inputs if the model has no such input.
size_t index_of(const serving::ServedModel& model, const poprt_tensor& input) {
  size_t i = 0;
  while (i < model.inputs().size() && model.inputs()[i].anchor != input.name) i++;
  return i;
}

}  // namespace

LoadedModel::LoadedModel(std::string given_name, std::string given_version,
                         serving::ServedModel opened, const poprt_runner_options& options,
                         std::shared_ptr<Counters> given_counters,
                         const std::vector<std::string>& warm_up)
    : name(std::move(given_name)),
      version(std::move(given_version)),
      model(std::move(opened)),
      runner(model.make_runner(is_open(model) ? without_batches(options) : options)),
      batching(batching_runner(model, options)),
      counters(std::move(given_counters)),
      first(is_open(model) && !model.knows_outputs()
                ? std::make_unique<FirstRequests>(options.max_shapes)
                : nullptr) {
  if (!warm_up.empty())
    serving::check(poprt_runner_warm_up(runner.get(), model.warm_up_text(warm_up).c_str()));
}

// A request in flight. Two threads finish with it in any order: the one that calls its callback,
// and the one that submits it and then stores its handle, which contains the message of an error.
// The later one completes the request.
struct Inference::Job {
  Inference* owner;
  std::shared_ptr<const LoadedModel> model;
  std::vector<poprt_tensor> inputs;
  std::vector<const serving::TensorSpec*> wanted;
  serving::Outputs outputs;
  Done done;
  int64_t begin = 0;
  int64_t limit_ns = 0;  // 0: none
  bool waits_for_shape = false;
  int64_t rows = 1;
  poprt_runner* runner = nullptr;
  std::shared_ptr<poprt_request> request;
  std::shared_ptr<Cancellation> cancellation;  // or null
  poprt_error_code code = POPRT_OK;
  std::atomic<int> ended{0};  // how many of submission and callback have finished
};

// Finds the tensors of a request in the model, and the runner for its shapes. Throws Error
// (invalid_argument).
void Inference::bind_tensors(Job& job, const LoadedModel& model,
                             const std::vector<InputTensor>& inputs,
                             const std::vector<std::string>& wanted) {
  for (const InputTensor& input : inputs) {
    const serving::TensorSpec& spec = find_spec(model.model.inputs(), input.name, "input");
    for (const poprt_tensor& other : job.inputs)
      if (spec.anchor == other.name)
        throw Error(POPRT_INVALID_ARGUMENT, "input " + in_quotes(input.name) + " is given twice");
    job.inputs.push_back(bind(input, spec));
  }
  // The message of the runner would be about the sizes that the request leaves unknown.
  if (is_open(model.model))
    for (const serving::TensorSpec& spec : model.model.inputs())
      if (std::ranges::none_of(job.inputs, [&](const auto& t) { return spec.anchor == t.name; }))
        throw Error(POPRT_INVALID_ARGUMENT, "input '" + spec.name + "' is missing");
  for (const std::string& name : wanted) {
    const serving::TensorSpec* const spec = &find_spec(model.model.outputs(), name, "output");
    if (std::ranges::find(job.wanted, spec) != job.wanted.end())
      throw Error(POPRT_INVALID_ARGUMENT, "output " + in_quotes(name) + " is requested twice");
    job.wanted.push_back(spec);
  }
  const bool has_rows = model.model.batch_rows() > 0 || model.model.shared_rows() > 0;
  if (has_rows && !inputs.empty() && !inputs[0].shape.empty()) job.rows = inputs[0].shape[0];
  job.runner = runner_for(model, inputs, job.inputs);
}

void Inference::submit(std::shared_ptr<const LoadedModel> model,
                       const std::vector<InputTensor>& inputs,
                       const std::vector<std::string>& wanted, Done done, int64_t timeout_ns,
                       std::shared_ptr<Cancellation> cancellation) {
  admission_.check_open();
  Counters& counters = *model->counters;
  auto job = std::make_unique<Job>();
  job->owner = this;
  job->begin = now_ns();
  job->limit_ns = limits_.request_ns;
  if (timeout_ns > 0 && (job->limit_ns == 0 || timeout_ns < job->limit_ns))
    job->limit_ns = timeout_ns;
  count_failure(counters, [&] { bind_tensors(*job, *model, inputs, wanted); });
  admission_.enter(1, counters.rejected);
  const bool known_outputs = job->runner != model->runner.get() || !model->first;
  job->model = model;
  job->done = std::move(done);
  job->cancellation = std::move(cancellation);
  try {
    serving::KnownShapes::Key key;
    if (!known_outputs)
      for (const InputTensor& input : inputs) serving::KnownShapes::append(key, input.shape);
    if (known_outputs || model->first->known.contains(key))
      start(job);
    else
      start_later(std::move(job), std::move(key));
  } catch (const std::exception&) {
    counters.failed++;
    admission_.leave();
    throw;
  }
}

// A job that waits for the compilation of its shape. It is ended by the worker that waits for the
// compilation, or by the timer.
struct Inference::WaitingJob {
  std::unique_ptr<Job> take() {
    const std::lock_guard lock(mutex);
    return std::move(job);
  }
  bool is_there() {
    const std::lock_guard lock(mutex);
    return job != nullptr;
  }

  std::mutex mutex;
  std::unique_ptr<Job> job;  // guarded by mutex; null after its end
  std::shared_ptr<const LoadedModel> model;
  serving::KnownShapes::Key key;
  std::string shapes;  // for poprt_runner_warm_up, or ""
  std::optional<serving::Timer::Id> end;
};

// Starts the job when its shape is compiled. The worker reads no memory of the request before that,
// because the request may have ended.
void Inference::start_later(std::unique_ptr<Job> job, serving::KnownShapes::Key key) const {
  FirstRequests& first = *job->model->first;
  if (first.waiting.fetch_add(1) >= std::max<int64_t>(limits_.waiting, 1)) {
    first.waiting--;
    throw Error(POPRT_RESOURCE_EXHAUSTED,
                "more than " + std::to_string(limits_.waiting) +
                    " requests have waited for the compilation of their shapes; try again later");
  }
  job->waits_for_shape = true;
  const auto waiting = std::make_shared<WaitingJob>();
  waiting->model = job->model;
  waiting->key = std::move(key);
  waiting->shapes = shapes_text(job->inputs);
  const auto end = serving::Timer::Clock::time_point(std::chrono::nanoseconds(
      job->begin + std::min(job->limit_ns, std::numeric_limits<int64_t>::max() - job->begin)));
  const bool limited = job->limit_ns > 0;
  const auto cancellation = job->cancellation;
  waiting->job = std::move(job);
  if (limited)
    waiting->end = first.timer.add(end, [waiting] {
      if (auto late = waiting->take()) {
        const Error error = too_late(*late);
        complete(std::move(late), error);
      }
    });
  if (cancellation)
    cancellation->set([waiting] {
      if (auto given_up = waiting->take())
        complete(std::move(given_up), Error(POPRT_CANCELLED, "the client gave the request up"));
    });
  first.worker.add([waiting] { start_waiting(*waiting); });
}

// Waits for the compilation, also if the job is ended meanwhile, and starts the job.
void Inference::start_waiting(WaitingJob& waiting) {
  const LoadedModel& model = *waiting.model;
  std::optional<Error> error;
  std::unique_ptr<Job> job;
  try {
    if (!waiting.shapes.empty() && waiting.is_there())
      serving::check(poprt_runner_warm_up(model.runner.get(), waiting.shapes.c_str()));
    job = waiting.take();
    if (job) {
      start(job);
      model.first->known.add(waiting.key);
    }
  } catch (const Error& e) {
    error = e;
  } catch (const std::exception& e) {
    error = Error(POPRT_INTERNAL, e.what());
  }
  if (!job) job = waiting.take();
  if (error && job) complete(std::move(job), error);
  if (waiting.end) model.first->timer.remove(*waiting.end);
  model.first->waiting--;
}

poprt_runner* Inference::runner_for(const LoadedModel& model,
                                    const std::vector<InputTensor>& inputs,
                                    const std::vector<poprt_tensor>& bound) {
  bool fits = model.batching && inputs.size() == model.model.inputs().size();
  for (size_t i = 0; fits && i < inputs.size(); i++)
    fits = model.model.fits_batch(index_of(model.model, bound[i]), inputs[i].shape);
  return (fits ? model.batching : model.runner).get();
}

Error Inference::too_late(const Job& job) {
  return {POPRT_DEADLINE_EXCEEDED,
          "the request waited longer than the limit of " + std::to_string(job.limit_ns / 1000) +
              " us" + (job.waits_for_shape ? " for the compilation of its shape" : "")};
}

// The rest of the time limit, or 0 if there is none. Throws Error (deadline_exceeded).
int64_t Inference::remaining_ns(const Job& job) {
  const int64_t limit = job.limit_ns;
  if (limit <= 0) return 0;
  const int64_t rest = limit - (now_ns() - job.begin);
  if (rest <= 0) throw too_late(job);
  return rest;
}

// Submits the job to its runner. Waits for the compilation of its shape if its outputs have sizes
// that are unknown until then. After an error, the caller still owns the job.
void Inference::start(std::unique_ptr<Job>& job) {
  remaining_ns(*job);  // throws for a request that waited too long for earlier ones
  poprt_request_options options = {};
  options.struct_size = sizeof options;
  options.callback = finished;
  options.user_data = job.get();
  options.when_full = POPRT_WHEN_FULL_LINE;
  poprt_outputs* outputs = nullptr;
  serving::check(
      poprt_outputs_create(job->runner, job->inputs.data(), job->inputs.size(), &outputs));
  job->outputs.reset(outputs);
  std::vector<poprt_tensor> written;
  for (size_t o = 0; o < poprt_outputs_count(outputs); o++)
    written.push_back(*poprt_outputs_at(outputs, o));
  for (const serving::TensorSpec* spec : job->wanted)
    if (std::ranges::none_of(written, [&](const auto& t) { return spec->anchor == t.name; }))
      throw Error(
          POPRT_INVALID_ARGUMENT,
          "output '" + spec->name + "' belongs to another model of a fused one than the inputs");
  poprt_request* request = nullptr;
  options.timeout_ns = remaining_ns(*job);
  serving::check(poprt_runner_submit_tensors(job->runner, job->inputs.data(), job->inputs.size(),
                                             written.data(), written.size(), &options, &request));
  Job* const submitted = job.release();  // the callback and this thread share it now
  submitted->request.reset(request, poprt_request_free);
  if (submitted->cancellation)
    submitted->cancellation->set(
        [given_up = submitted->request] { poprt_request_cancel(given_up.get()); });
  end_part(submitted);
}

void Inference::finished(poprt_error_code code, void* user_data) {
  auto* const job = static_cast<Job*>(user_data);
  job->code = code;
  end_part(job);
}

void Inference::end_part(Job* job) {
  if (job->ended.fetch_add(1) == 0) return;
  std::unique_ptr<Job> ended(job);
  std::optional<Error> error;
  try {
    if (job->code != POPRT_OK) {
      if (poprt_request_done(job->request.get()))
        serving::check(poprt_request_wait(job->request.get(), 0));
      throw Error(job->code, std::string("the run failed: ") + poprt_error_code_name(job->code));
    }
  } catch (const Error& e) {
    error.emplace(job->code, e.what());
  } catch (const std::exception& e) {
    error.emplace(POPRT_INTERNAL, e.what());
  }
  complete(std::move(ended), std::move(error));
}

void Inference::complete(std::unique_ptr<Job> job, std::optional<Error> error) {
  if (job->cancellation) job->cancellation->set(nullptr);
  Result result;
  result.model = job->model;
  result.memory = std::move(job->outputs);
  poprt_outputs* const outputs = result.memory.get();
  try {
    if (error) throw Error(*error);
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
