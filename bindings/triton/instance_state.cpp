#include "instance_state.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <new>

#include "support.h"

namespace poprt::triton {
namespace {

using serving::Error;
using serving::TensorSpec;

std::vector<int64_t> with_rows(std::vector<int64_t> shape, bool batch, int64_t rows) {
  if (batch) shape[0] = rows;
  return shape;
}

const TensorSpec* find_anchor(const std::vector<TensorSpec>& specs, const char* anchor) {
  for (const TensorSpec& spec : specs)
    if (spec.anchor == anchor) return &spec;
  return nullptr;
}

// Throws Error (invalid_argument) if the client requested outputs and none of them was computed.
// The server requests all outputs for a client that names none.
void check_computed(const Request& request, const std::vector<TensorSpec>& specs,
                    const poprt_outputs* outputs) {
  const TensorSpec* refused = nullptr;
  for (size_t i = 0; i < specs.size(); i++) {
    if (!request.wants(i)) continue;
    refused = &specs[i];
    for (size_t o = 0; o < poprt_outputs_count(outputs); o++)
      if (refused->anchor == poprt_outputs_at(outputs, o)->name) return;
  }
  if (refused)
    throw Error(
        POPRT_INVALID_ARGUMENT,
        "output '" + refused->name + "' belongs to another model of a fused one than the inputs");
}

}  // namespace

char* Scratch::reserve(size_t bytes) {
  if (bytes > bytes_ || !memory_) {
    memory_.reset();
    bytes_ = 0;
    memory_.reset(
        static_cast<char*>(::operator new[](std::max<size_t>(bytes, 1), std::align_val_t{64})));
    bytes_ = bytes;
  }
  return memory_.get();
}

// A request in asynchronous mode. Two threads finish with it in any order: the one that calls its
// callback, and the one that submits it and then stores its handle, which contains the message of
// an error. The later one answers the request.
struct InstanceState::Pending {
  InstanceState* instance;
  std::unique_ptr<Request> request;
  Times times;
  std::vector<Scratch> copies;  // inputs of several buffers, and outputs that are not requested
  serving::Outputs outputs;     // for a model of another kind than fixed
  serving::Request handle;
  poprt_error_code code = POPRT_OK;
  std::atomic<int> ended{0};  // how many of the two threads have finished
};

// Requests that wait for the compilation of their shape. The worker that waits for it takes those
// that the timer has not taken.
struct InstanceState::Waiting {
  std::unique_ptr<Request> take(const Request* wanted) {
    const std::lock_guard lock(mutex);
    for (auto& request : requests)
      if (request.get() == wanted) {
        std::unique_ptr<Request> taken = std::move(request);
        std::erase(requests, nullptr);
        return taken;
      }
    return nullptr;
  }
  std::vector<std::unique_ptr<Request>> take_all() {
    const std::lock_guard lock(mutex);
    return std::exchange(requests, {});
  }
  bool is_empty() {
    const std::lock_guard lock(mutex);
    return requests.empty();
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Request>> requests;  // guarded by mutex
  size_t count = 0;                                // the number of requests at first
  std::vector<serving::Timer::Id> ends;            // in timer_: the time limits of the requests
  serving::KnownShapes::Key key;
  std::string shapes;  // for poprt_runner_warm_up, or ""
  Times times;
};

InstanceState::InstanceState(ModelState& model, TRITONBACKEND_ModelInstance* instance)
    : model_(model),
      instance_(instance),
      inputs_(model.model().inputs().size()),
      outputs_(model.model().outputs().size()) {
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  check(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_GPU)
    throw Error(POPRT_UNIMPLEMENTED, "instance_group has KIND_GPU; expected KIND_CPU");
  const Parameters& parameters = model.parameters();
  poprt_runner_options options = {};
  options.struct_size = sizeof options;
  options.threads = parameters.threads;
  options.timeout_ns = parameters.timeout_ns;
  options.max_shapes = parameters.max_shapes;
  options.max_shape_memory = parameters.max_shape_mib > 0 ? parameters.max_shape_mib << 20 : -1;
  options.use_batching_dim = !parameters.synchronous_execution && model.max_batch() > 0 &&
                             model.model().kind() == serving::Kind::fixed;
  const serving::Device device = model.take_device(device_id_);
  options.device = device.get();
  try {
    runner_ = model.model().make_runner(options);
    if (!parameters.warm_up.empty())
      serving::check(poprt_runner_warm_up(runner_.get(),
                                          model.model().warm_up_text(parameters.warm_up).c_str()));
    if (model.model().kind() == serving::Kind::open) {
      known_ = std::make_unique<serving::KnownShapes>(static_cast<size_t>(parameters.max_shapes));
      later_inputs_.resize(inputs_.size());
      timer_ = std::make_unique<serving::Timer>();
      later_ = std::make_unique<serving::Worker>();
    }
  } catch (const std::exception&) {
    runner_.reset();
    model.return_device(device_id_);
    throw;
  }
}

InstanceState::~InstanceState() {
  if (later_) {
    poprt_runner_stop(runner_.get());  // requests that wait for their shape are cancelled
    // Tasks use the pointer until the destructor has joined their thread, and reset() would set it
    // to null first.
    delete later_.get();
    static_cast<void>(later_.release());
  }
  timer_.reset();
  runner_.reset();
  model_.return_device(device_id_);
}

void InstanceState::execute(std::span<TRITONBACKEND_Request*> requests) {
  const uint64_t begin = now_ns();
  auto accepted = accept(requests, begin);
  if (!model_.parameters().synchronous_execution) {
    for (auto& request : accepted) submit_or_wait(std::move(request), begin);
    return;
  }
  const bool batch = model_.max_batch() > 0;
  for (size_t first = 0; first < accepted.size();) {
    // The client may have cancelled the request, or it may be late, because earlier ones took long.
    if (const auto error = attempt([&] { accepted[first]->check_wanted(); })) {
      finish(*accepted[first++], &*error, {begin, begin, begin});
      continue;
    }
    size_t last = first + 1;
    int64_t rows = accepted[first]->rows();
    while (batch && last < accepted.size() && rows + accepted[last]->rows() <= model_.max_batch() &&
           accepted[first]->joins(*accepted[last]) &&
           !attempt([&] { accepted[last]->check_wanted(); }))
      rows += accepted[last++]->rows();
    const Group group = Group(accepted).subspan(first, last - first);
    serving::KnownShapes::Key key;
    if (may_compile(group, key))
      run_later(group, std::move(key), {begin, begin, begin});
    else
      run_group(group, {begin, begin, begin}, inputs_);
    first = last;
  }
}

// Whether the shape of the merged requests may have to be compiled. `key` becomes that shape.
bool InstanceState::may_compile(Group group, serving::KnownShapes::Key& key) const {
  if (!known_) return false;
  const bool batch = model_.max_batch() > 0;
  int64_t rows = 0;
  for (const auto& request : group) rows += request->rows();
  for (size_t i = 0; i < inputs_.size(); i++)
    if (group[0]->has_input(i))
      serving::KnownShapes::append(key, with_rows(group[0]->shape(i), batch, rows));
  return !known_->contains(key);
}

void InstanceState::run_later(Group group, serving::KnownShapes::Key key, Times times) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->count = group.size();
  waiting->key = std::move(key);
  waiting->shapes = shapes_text(group);
  waiting->times = times;
  std::vector<const Request*> limited;
  for (const auto& request : group)
    if (request->deadline()) limited.push_back(request.get());
  std::vector<serving::Timer::Clock::time_point> ends;
  for (const Request* request : limited) ends.push_back(*request->deadline());
  std::ranges::move(group, std::back_inserter(waiting->requests));
  for (size_t i = 0; i < limited.size(); i++)
    waiting->ends.push_back(timer_->add(ends[i], [this, waiting, late = limited[i]] {
      const Error error = too_late("the compilation of its shape");
      if (const auto request = waiting->take(late)) finish(*request, &error, waiting->times);
    }));
  later_->add([this, waiting] { run_waiting(*waiting); });
}

// Waits for the compilation, and runs the requests that still wait. Until the compilation has
// ended, the function reads no memory of requests, because they may end meanwhile.
void InstanceState::run_waiting(Waiting& waiting) {
  const auto error = attempt([&] {
    if (!waiting.shapes.empty() && !waiting.is_empty())
      serving::check(poprt_runner_warm_up(runner_.get(), waiting.shapes.c_str()));
  });
  auto requests = waiting.take_all();
  for (const serving::Timer::Id& end : waiting.ends) timer_->remove(end);
  // In asynchronous mode, submit() refuses a request that its client cancelled.
  if (!error && model_.parameters().synchronous_execution)
    std::erase_if(requests, [&](const std::unique_ptr<Request>& request) {
      const auto refusal = attempt([&] { request->check_wanted(); });
      if (refusal) finish(*request, &*refusal, waiting.times);
      return refusal.has_value();
    });
  if (error || requests.empty()) {
    for (const auto& request : requests) finish(*request, &*error, waiting.times);
    return;
  }
  if (!model_.parameters().synchronous_execution) {
    if (submit(std::move(requests[0]), waiting.times.begin)) known_->add(waiting.key);
    return;
  }
  serving::KnownShapes::Key key = waiting.key;
  const bool fewer = requests.size() < waiting.count;  // fewer rows are another shape
  if (fewer && may_compile(requests, key = {}))
    run_later(requests, std::move(key), waiting.times);
  else if (run_group(requests, waiting.times, later_inputs_))
    known_->add(key);
}

// The shapes of the merged requests for poprt_runner_warm_up, or "" if the name of an input does
// not fit into a line.
std::string InstanceState::shapes_text(Group group) const {
  const bool batch = model_.max_batch() > 0;
  int64_t rows = 0;
  for (const auto& request : group) rows += request->rows();
  std::string text;
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (!group[0]->has_input(i)) continue;
    const auto shape = with_rows(group[0]->shape(i), batch, rows);
    const std::string line =
        serving::KnownShapes::line(model_.model().inputs()[i].anchor, shape.data(), shape.size());
    if (line.empty()) return {};
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

// In asynchronous mode, only requests whose outputs have sizes that are not known wait for the
// compilation of their shape.
void InstanceState::submit_or_wait(std::unique_ptr<Request> request, uint64_t begin) {
  serving::KnownShapes::Key key;
  if (model_.model().knows_outputs() || !may_compile({&request, 1}, key)) {
    submit(std::move(request), begin);
    return;
  }
  run_later({&request, 1}, std::move(key), {begin, begin, begin});
}

std::vector<std::unique_ptr<Request>> InstanceState::accept(
    std::span<TRITONBACKEND_Request*> requests, uint64_t begin) {
  std::vector<std::unique_ptr<Request>> accepted;
  for (TRITONBACKEND_Request* handle : requests) {
    std::unique_ptr<Request> request;
    if (const auto error = attempt([&] { request = std::make_unique<Request>(handle); })) {
      log(TRITONSERVER_LOG_WARN, std::string("a request has no response: ") + error->what());
      log_error(TRITONBACKEND_RequestRelease(handle, TRITONSERVER_REQUEST_RELEASE_ALL));
      continue;
    }
    const auto read = [&] {
      const serving::ServedModel& model = model_.model();
      const size_t required = model.kind() == serving::Kind::graphs ? 0 : model.inputs().size();
      request->read(model.inputs(), model.outputs(), required, model_.max_batch() > 0);
      for (const Request::Parameter& parameter : request->parameters())
        model_.warn_of_parameter(parameter.name);
    };
    if (const auto error = attempt(read))
      finish(*request, &*error, {begin, begin, now_ns()});
    else
      accepted.push_back(std::move(request));
  }
  return accepted;
}

bool InstanceState::run_group(Group group, Times times, std::vector<Scratch>& inputs) {
  int64_t rows = 0;
  for (const auto& request : group) rows += request->rows();
  Failures failures(group.size());
  const auto error = attempt([&] {
    if (model_.model().kind() == serving::Kind::fixed)
      run_fixed(group, rows, failures, times);
    else
      run_shaped(group, rows, failures, times, inputs);
  });
  if (error)
    failures.assign(group.size(), error);
  else
    log_error(TRITONBACKEND_ModelInstanceReportBatchStatistics(
        instance_, static_cast<uint64_t>(rows), times.begin, times.compute_begin, times.compute_end,
        now_ns()));
  for (size_t i = 0; i < group.size(); i++)
    finish(*group[i], failures[i] ? &*failures[i] : nullptr, times);
  return std::ranges::none_of(failures, [](const auto& failure) { return failure.has_value(); });
}

// Returns the rows of an input of all requests, followed by zeros up to `bytes`. If there is one
// request, and its input is one buffer of that size, returns the buffer instead of a copy.
const void* InstanceState::gather(Group group, size_t input, size_t bytes, Scratch& scratch) {
  if (group.size() == 1 && group[0]->bytes(input) == bytes && group[0]->whole(input))
    return group[0]->whole(input);
  char* const memory = scratch.reserve(bytes);
  size_t at = 0;
  for (const auto& request : group) {
    request->copy_input(input, memory + at);
    at += request->bytes(input);
  }
  std::memset(memory + at, 0, bytes - at);
  return memory;
}

void InstanceState::run_fixed(Group group, int64_t rows, Failures& failures, Times& times) {
  const serving::ServedModel& model = model_.model();
  const bool batch = model_.max_batch() > 0;
  const int64_t unit = batch ? model.batch_rows() : 1;
  const int64_t space = (rows + unit - 1) / unit * unit;
  const auto bytes_of = [&](const TensorSpec& spec, int64_t count) {
    return serving::tensor_bytes(spec.dtype, with_rows(spec.shape, batch, count));
  };
  std::vector<poprt_input> inputs;
  for (size_t i = 0; i < model.inputs().size(); i++) {
    const TensorSpec& spec = model.inputs()[i];
    const size_t bytes = bytes_of(spec, space);
    inputs.push_back({spec.anchor.c_str(), 0, gather(group, i, bytes, inputs_[i]), bytes});
  }
  std::vector<poprt_output> outputs;
  std::vector<bool> direct;
  for (size_t o = 0; o < model.outputs().size(); o++) {
    const TensorSpec& spec = model.outputs()[o];
    const size_t bytes = bytes_of(spec, space);
    direct.push_back(group.size() == 1 && rows == space && group[0]->wants(o));
    char* const memory = direct[o]
                             ? group[0]->add_output(spec, with_rows(spec.shape, batch, rows), bytes)
                             : outputs_[o].reserve(bytes);
    outputs.push_back({spec.anchor.c_str(), 0, memory, bytes});
  }
  times.compute_begin = now_ns();
  serving::check(poprt_runner_execute(runner_.get(), inputs.data(), inputs.size(), outputs.data(),
                                      outputs.size()));
  times.compute_end = now_ns();
  int64_t row = 0;
  for (size_t r = 0; r < group.size(); r++) {
    failures[r] = attempt([&] {
      for (size_t o = 0; o < outputs.size(); o++) {
        if (direct[o] || !group[r]->wants(o)) continue;
        const TensorSpec& spec = model.outputs()[o];
        const size_t bytes = bytes_of(spec, group[r]->rows());
        char* to =
            group[r]->add_output(spec, with_rows(spec.shape, batch, group[r]->rows()), bytes);
        std::memcpy(to, static_cast<char*>(outputs[o].data) + (batch ? bytes_of(spec, row) : 0),
                    bytes);
      }
    });
    row += group[r]->rows();
  }
}

void InstanceState::run_shaped(Group group, int64_t rows, Failures& failures, Times& times,
                               std::vector<Scratch>& scratch) {
  const serving::ServedModel& model = model_.model();
  const bool batch = model_.max_batch() > 0;
  std::vector<poprt_tensor> inputs;
  std::vector<std::vector<int64_t>> shapes(model.inputs().size());
  for (size_t i = 0; i < model.inputs().size(); i++) {
    if (!group[0]->has_input(i)) continue;
    const TensorSpec& spec = model.inputs()[i];
    shapes[i] = with_rows(group[0]->shape(i), batch, rows);
    const size_t bytes = serving::tensor_bytes(spec.dtype, shapes[i]);
    inputs.push_back({spec.anchor.c_str(), 0,
                      const_cast<void*>(gather(group, i, bytes, scratch[i])), bytes, spec.dtype, 0,
                      shapes[i].data(), shapes[i].size()});
  }
  times.compute_begin = now_ns();
  poprt_outputs* computed = nullptr;
  serving::check(poprt_runner_run(runner_.get(), inputs.data(), inputs.size(), &computed));
  const serving::Outputs outputs(computed);
  times.compute_end = now_ns();
  for (const auto& request : group) check_computed(*request, model.outputs(), computed);
  for (size_t o = 0; o < poprt_outputs_count(computed); o++) {
    const poprt_tensor* tensor = poprt_outputs_at(computed, o);
    const TensorSpec* spec = find_anchor(model.outputs(), tensor->name);
    if (!spec) continue;
    const auto index = static_cast<size_t>(spec - model.outputs().data());
    std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->rank);
    if (batch && (shape.empty() || shape[0] != rows))
      throw Error(POPRT_INTERNAL, "output '" + spec->name + "' has shape " +
                                      serving::shape_text(shape) + " for " + std::to_string(rows) +
                                      " rows");
    const char* from = static_cast<const char*>(tensor->data);
    for (size_t r = 0; r < group.size(); r++) {
      shape = with_rows(shape, batch, group[r]->rows());
      const size_t bytes = serving::tensor_bytes(spec->dtype, shape);
      if (group[r]->wants(index) && !failures[r])
        failures[r] =
            attempt([&] { std::memcpy(group[r]->add_output(*spec, shape, bytes), from, bytes); });
      from += bytes;
    }
  }
}

bool InstanceState::submit(std::unique_ptr<Request> request, uint64_t begin) {
  auto pending = std::make_unique<Pending>();
  pending->instance = this;
  pending->request = std::move(request);
  pending->times = {begin, begin, begin};
  poprt_request_options options = {};
  options.struct_size = sizeof options;
  options.callback = done;
  options.user_data = pending.get();
  const auto error = attempt([&] {
    pending->request->check_wanted();
    if (pending->request->deadline())
      options.timeout_ns = std::max<int64_t>(
          std::chrono::nanoseconds(*pending->request->deadline() - serving::Timer::Clock::now())
              .count(),
          1);
    if (model_.model().kind() == serving::Kind::fixed)
      submit_fixed(*pending, options);
    else
      submit_shaped(*pending, options);
  });
  if (error) {
    finish(*pending->request, &*error, {begin, begin, now_ns()});
    return false;
  }
  end_part(pending.release());  // the callback and this thread share it
  return true;
}

void InstanceState::submit_fixed(Pending& pending, const poprt_request_options& options) {
  const serving::ServedModel& model = model_.model();
  const bool batch = model_.max_batch() > 0;
  Request& request = *pending.request;
  const auto copy = [&](size_t bytes) { return pending.copies.emplace_back().reserve(bytes); };
  std::vector<poprt_input> inputs;
  for (size_t i = 0; i < model.inputs().size(); i++) {
    const void* data = request.whole(i);
    if (!data) {
      char* const memory = copy(request.bytes(i));
      request.copy_input(i, memory);
      data = memory;
    }
    inputs.push_back({model.inputs()[i].anchor.c_str(), 0, data, request.bytes(i)});
  }
  std::vector<poprt_output> outputs;
  for (size_t o = 0; o < model.outputs().size(); o++) {
    const TensorSpec& spec = model.outputs()[o];
    const auto shape = with_rows(spec.shape, batch, request.rows());
    const size_t bytes = serving::tensor_bytes(spec.dtype, shape);
    outputs.push_back({spec.anchor.c_str(), 0,
                       request.wants(o) ? request.add_output(spec, shape, bytes) : copy(bytes),
                       bytes});
  }
  pending.times.compute_begin = now_ns();
  poprt_request* handle = nullptr;
  serving::check(poprt_runner_submit(runner_.get(), inputs.data(), inputs.size(), outputs.data(),
                                     outputs.size(), &options, &handle));
  pending.handle.reset(handle);
}

void InstanceState::submit_shaped(Pending& pending, const poprt_request_options& options) {
  const serving::ServedModel& model = model_.model();
  Request& request = *pending.request;
  std::vector<poprt_tensor> inputs;
  for (size_t i = 0; i < model.inputs().size(); i++) {
    if (!request.has_input(i)) continue;
    const void* data = request.whole(i);
    if (!data) {
      char* const memory = pending.copies.emplace_back().reserve(request.bytes(i));
      request.copy_input(i, memory);
      data = memory;
    }
    const TensorSpec& spec = model.inputs()[i];
    inputs.push_back({spec.anchor.c_str(), 0, const_cast<void*>(data), request.bytes(i), spec.dtype,
                      0, request.shape(i).data(), request.shape(i).size()});
  }
  poprt_outputs* created = nullptr;
  serving::check(poprt_outputs_create(runner_.get(), inputs.data(), inputs.size(), &created));
  pending.outputs.reset(created);
  check_computed(request, model.outputs(), created);
  std::vector<poprt_tensor> outputs;
  for (size_t o = 0; o < poprt_outputs_count(created); o++)
    outputs.push_back(*poprt_outputs_at(created, o));
  pending.times.compute_begin = now_ns();
  poprt_request* handle = nullptr;
  serving::check(poprt_runner_submit_tensors(runner_.get(), inputs.data(), inputs.size(),
                                             outputs.data(), outputs.size(), &options, &handle));
  pending.handle.reset(handle);
}

void InstanceState::done(poprt_error_code code, void* user_data) {
  auto* const pending = static_cast<Pending*>(user_data);
  pending->times.compute_end = now_ns();
  pending->code = code;
  end_part(pending);
}

void InstanceState::end_part(Pending* ended) {
  if (ended->ended.fetch_add(1) == 0) return;
  const std::unique_ptr<Pending> pending(ended);
  InstanceState& self = *pending->instance;
  Request& request = *pending->request;
  auto error = attempt([&] {
    const poprt_error_code code = pending->code;
    if (code != POPRT_OK && poprt_request_done(pending->handle.get()))
      serving::check(poprt_request_wait(pending->handle.get(), 0));
    if (code != POPRT_OK)
      throw Error(code, std::string("the run failed: ") + poprt_error_code_name(code));
    if (!pending->outputs) return;
    serving::check(poprt_outputs_crop(pending->outputs.get()));
    for (size_t o = 0; o < poprt_outputs_count(pending->outputs.get()); o++) {
      const poprt_tensor* tensor = poprt_outputs_at(pending->outputs.get(), o);
      const TensorSpec* spec = find_anchor(self.model_.model().outputs(), tensor->name);
      if (!spec || !request.wants(static_cast<size_t>(spec - self.model_.model().outputs().data())))
        continue;
      const std::vector<int64_t> shape(tensor->shape, tensor->shape + tensor->rank);
      const size_t bytes = serving::tensor_bytes(spec->dtype, shape);
      std::memcpy(request.add_output(*spec, shape, bytes), tensor->data, bytes);
    }
  });
  if (!error) self.report_batches(pending->times);
  self.finish(request, error ? &*error : nullptr, pending->times);
}

// Reports the batches that were computed since the last report, because the runner decides which
// requests share a batch. The counters of the runner contain all batches since its creation.
void InstanceState::report_batches(const Times& times) {
  poprt_runner_counters counters = {};
  counters.struct_size = sizeof counters;
  if (poprt_error* error =
          poprt_runner_get_counters(runner_.get(), POPRT_ALL_REPLICAS, &counters)) {
    poprt_error_free(error);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (counters.batches <= reported_batches_) return;
  const uint64_t batches = counters.batches - reported_batches_;
  const uint64_t rows = std::max(counters.rows, reported_rows_ + batches) - reported_rows_;
  for (uint64_t i = 0; i < batches; i++)
    log_error(TRITONBACKEND_ModelInstanceReportBatchStatistics(
        instance_, rows / batches + (i < rows % batches), times.begin, times.compute_begin,
        times.compute_end, now_ns()));
  reported_batches_ = counters.batches;
  reported_rows_ += rows;
}

void InstanceState::finish(Request& request, const serving::Error* error, Times times) noexcept {
  const bool success = request.send(error);
  log_error(TRITONBACKEND_ModelInstanceReportStatistics(instance_, request.handle(), success,
                                                        times.begin, times.compute_begin,
                                                        times.compute_end, now_ns()));
  request.release();
}

}  // namespace poprt::triton
