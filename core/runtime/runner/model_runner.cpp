#include "runtime/runner/model_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "device/device_manager.h"
#include "runtime/runner/pointer_array.h"
#include "runtime/runner/replica.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

// Returns the device of copy `id`: the one that the configuration assigns, or else a free one.
std::shared_ptr<device::Device> find_device(const RunnerConfig& config, int id, int64_t ipus) {
  if (const auto found = config.replica_id_to_device.find(id);
      found != config.replica_id_to_device.end() && found->second)
    return found->second;
  if (id == 0 && config.session.device) return config.session.device;
  device::WaitConfig wait(config.device_wait_timeout, config.device_wait_sleep);
  if (config.device_wait_timeout.count() <= 0) wait.strategy = device::WaitStrategy::no_wait;
  if (config.device_wait_timeout == RunnerConfig::kNever)
    wait.strategy = device::WaitStrategy::wait_forever;
  return device::DeviceManager({0, config.shared_devices, {}}).get_device(ipus, wait);
}

}  // namespace

struct ModelRunner::State {
  std::shared_ptr<const RunnerPlan> plan;
  std::shared_ptr<TraceBuffer> traces;
  std::vector<std::shared_ptr<Replica>> replicas;
  std::atomic<size_t> turn{0};
  ForkMutex update_mutex;

  // The first replica to examine. A run takes one turn, so that the replicas alternate.
  size_t next_turn() { return turn.fetch_add(1, std::memory_order_relaxed); }
  // The replica for the next request: one with a started batch, else the least busy one. A broken
  // one is chosen only if all are broken.
  Replica& choose(size_t start) {
    if (replicas.size() == 1) return *replicas[0];
    Replica* best = nullptr;
    for (size_t i = 0; i < replicas.size(); i++) {
      Replica& r = *replicas[(start + i) % replicas.size()];
      if (r.is_broken()) continue;
      if (r.has_open_batch()) return r;
      if (!best || r.in_flight() < best->in_flight()) best = &r;
    }
    return best ? *best : *replicas[start % replicas.size()];
  }
  Replica& chosen(const RequestOptions& options) {
    if (options.replica < 0) return choose(next_turn());
    if (static_cast<uint64_t>(options.replica) >= replicas.size())
      fail(ErrorCode::not_found, "there is no replica {}: the runner has {}, counted from 0",
           options.replica, replicas.size());
    return *replicas[static_cast<size_t>(options.replica)];
  }
  // Returns an idle replica for a synchronous run, or the replica that choose() returns if none is
  // idle.
  Replica& choose_idle(size_t start) {
    if (replicas.size() == 1) return *replicas[0];
    for (size_t i = 0; i < replicas.size(); i++) {
      Replica& r = *replicas[(start + i) % replicas.size()];
      if (r.is_broken()) continue;
      if (std::unique_lock(r.device_mutex(), std::try_to_lock)) return r;
    }
    return choose(start);
  }
};

ModelRunner::ModelRunner(std::shared_ptr<const Model> model, RunnerConfig config)
    : state_(std::make_unique<State>()) {
  if (!config.faults) config.faults = FaultInjector::from_environment();
  auto plan = std::make_shared<RunnerPlan>(std::move(model), std::move(config));
  state_->traces = std::make_shared<TraceBuffer>(plan->config.request_tracepoints_buffer_size);
  const int compiled = static_cast<int>(plan->replicas);
  std::vector<std::vector<std::shared_ptr<device::Device>>> devices;
  for (int r = 0; r < plan->config.replication_factor; r++) {
    devices.emplace_back();
    // A given device with enough IPUs is used for all compiled-in copies.
    const auto& given = plan->config.session.device;
    const int64_t ipus = plan->model->ipus;
    if (compiled > 1 && r == 0 && given && given->num_ipus() >= compiled * ipus) {
      devices.back().push_back(given);
      continue;
    }
    for (int c = 0; c < compiled; c++)
      devices.back().push_back(find_device(plan->config, r * compiled + c, ipus));
  }
  // From here on, only the replicas keep the devices.
  plan->config.session.device = nullptr;
  plan->config.replica_id_to_device.clear();
  state_->plan = plan;
  for (size_t r = 0; r < devices.size(); r++)
    state_->replicas.push_back(std::make_shared<Replica>(state_->plan, static_cast<int>(r),
                                                         std::move(devices[r]), state_->traces));
}

ModelRunner::~ModelRunner() {
  for (const auto& r : state_->replicas) r->refuse_requests();
  for (const auto& r : state_->replicas) r->close();
}

const Model& ModelRunner::model() const { return *state_->plan->model; }

const std::vector<DataDesc>& ModelRunner::execute_inputs() const {
  return state_->plan->input_descs;
}

const std::vector<DataDesc>& ModelRunner::execute_outputs() const {
  return state_->plan->output_descs;
}

RequestRows ModelRunner::request_rows() const {
  const RunnerPlan& p = *state_->plan;
  if (p.dynamic) return {RequestRows::along, p.config.batching_dim, p.replicas > 1 ? 1u : 0u};
  return {.may_batch = true};
}

std::vector<Shape> ModelRunner::output_shapes(std::span<const InputBinding> inputs) const {
  const RunnerPlan& p = *state_->plan;
  const uint64_t rows = p.rows_of_inputs(inputs);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < p.outputs.size(); i++) shapes.push_back(p.output_shape(i, rows));
  return shapes;
}

namespace {

// The options of calls that wait for the answer.
constexpr RequestOptions kAtOnce = {
    .timeout = {}, .when_full = WhenFull::wait, .replica = -1, .at_once = true};

}  // namespace

void ModelRunner::execute(std::span<const InputBinding> inputs,
                          std::span<const OutputBinding> outputs) {
  const size_t turn = state_->next_turn();
  if (state_->choose_idle(turn).execute_checked(inputs, outputs)) return;
  const RequestPtr request = state_->choose(turn).submit(inputs, outputs, {}, kAtOnce);
  request->wait();
  request->check();
}

void ModelRunner::execute(const void* const* given_inputs, void* const* outputs) {
  const RunnerPlan& p = *state_->plan;
  const auto check = [&](const auto* pointers, const auto& sizes, const auto& anchors,
                         bool are_inputs) {
    for (size_t i = 0; i < sizes.size(); i++)
      if (sizes[i].bytes && !(are_inputs && p.fixed[i]) && (!pointers || !pointers[i]))
        fail(ErrorCode::invalid_argument, "{} '{}': the pointer is null",
             are_inputs ? "input" : "output", anchors[i].name);
  };
  check(given_inputs, p.inputs, p.model->inputs(), true);
  check(outputs, p.outputs, p.model->outputs(), false);
  PointerArray<const void*> inputs(p.inputs.size());
  for (size_t i = 0; i < p.inputs.size(); i++)
    inputs[i] = given_inputs && !p.fixed[i] ? given_inputs[i] : nullptr;
  std::vector<TensorMemory> copies;
  p.separate_memory(inputs.data(), outputs, p.chunk_rows * p.replicas, copies);
  Replica& replica = state_->choose_idle(state_->next_turn());
  if (!replica.pipelined())
    return replica.execute(inputs.data(), outputs, p.chunk_rows * p.replicas);
  // Other threads run the stages.
  std::vector<InputBinding> from;
  std::vector<OutputBinding> to;
  for (size_t i = 0; i < p.inputs.size(); i++)
    if (!p.fixed[i]) from.push_back({{}, i, inputs[i], p.inputs[i].bytes * p.replicas});
  for (size_t i = 0; i < p.outputs.size(); i++)
    to.push_back({{}, i, outputs ? outputs[i] : nullptr, p.outputs[i].bytes * p.replicas});
  const RequestPtr request = replica.submit(from, to, {}, kAtOnce);
  request->wait();
  request->check();
}

RequestPtr ModelRunner::execute_async(std::span<const InputBinding> inputs,
                                      std::span<const OutputBinding> outputs,
                                      RequestCallback callback, const RequestOptions& options) {
  return state_->chosen(options).submit(inputs, outputs, callback, options);
}

bool ModelRunner::on_thread() const noexcept {
  return std::any_of(state_->replicas.begin(), state_->replicas.end(),
                     [](const auto& r) { return r->on_thread(); });
}

void ModelRunner::stop() noexcept {
  // Two callbacks of different replicas that both call stop() would wait for each other.
  const bool waits = !on_thread();
  for (const auto& r : state_->replicas) r->refuse_requests();
  for (const auto& r : state_->replicas) r->stop(waits);
}

void ModelRunner::drain() noexcept {
  for (const auto& r : state_->replicas) r->drain_batches();
}

RunnerStatistics ModelRunner::statistics() const {
  RunnerStatistics sum;
  for (const auto& r : state_->replicas) sum += r->statistics();
  return sum;
}

RunnerStatistics ModelRunner::statistics(size_t replica) const {
  if (replica >= replicas())
    fail(ErrorCode::not_found, "there is no replica {}: the runner has {}, counted from 0", replica,
         replicas());
  return state_->replicas[replica]->statistics();
}

size_t ModelRunner::replicas() const { return state_->replicas.size(); }

std::vector<Tracepoint> ModelRunner::tracepoints() const { return state_->traces->points(); }

void ModelRunner::update_inputs(const InputMemoryView& values) {
  const RunnerPlan& p = *state_->plan;
  const auto& anchors = p.model->inputs();
  std::vector<std::pair<size_t, TensorMemory>> changes;
  for (const auto& [name, view] : values) {
    const size_t i = find_anchor(anchors, name, 0, "input");
    if (!p.fixed[i])
      fail(ErrorCode::failed_precondition,
           "input '{}' is given by every request: nothing comes with the model to replace", name);
    if (p.model->is_seed(i) && !p.fixed_data[i].data())
      fail(ErrorCode::failed_precondition,
           "input '{}' is the random seed: every run gets a new one", name);
    if (view.bytes != anchors[i].bytes()) fail_wrong_size(anchors[i], view.bytes, "input");
    if (!view.data && view.bytes)
      fail(ErrorCode::invalid_argument, "input '{}': the pointer is null", name);
    TensorMemory memory(view.bytes);
    if (view.bytes) std::memcpy(memory.data(), view.data, view.bytes);
    changes.emplace_back(i, std::move(memory));
  }
  const std::lock_guard update(state_->update_mutex);
  std::vector<std::unique_lock<ForkMutex>> locks;
  for (const auto& r : state_->replicas) locks.emplace_back(r->device_mutex());
  for (const auto& r : state_->replicas) r->set_fixed(changes);
}

std::vector<device::InstructionProfile> ModelRunner::profile() {
  if (!state_->plan->config.session.load.profile)
    fail(ErrorCode::failed_precondition, "the runner was made without profiling");
  return state_->replicas[0]->profile();
}

int ModelRunner::threads() const { return state_->replicas[0]->threads(); }

}  // namespace poprt::runtime
