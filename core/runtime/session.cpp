#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "runtime/anchor_lookup.h"
#include "runtime/popef_file.h"
#include "runtime/stream_queues.h"

namespace poprt::runtime {

using device::Flow;
namespace predicates = predicate_factory::anchor_callbacks;

namespace {

const popef::Anchor* find_metadata(const popef::Metadata& metadata, const program::Anchor& anchor,
                                   popef::TensorType type) {
  for (const popef::Anchor& a : metadata.anchors())
    if (a.type() == type && a.name() == anchor.name) return &a;
  return nullptr;
}

bool accepted(const AnchorCallbackPredicate& predicate, const popef::Anchor* anchor) {
  // Anchors that PopEF cannot describe belong to main.
  return !anchor || predicate(*anchor) == AnchorCallbackPolicy::bind_user_cb;
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

[[noreturn]] void fail_stopped() {
  fail(ErrorCode::cancelled, "the session was stopped; reload() starts it again");
}

}  // namespace

Session::Session(std::shared_ptr<const Model> model, SessionConfig config)
    : model_(std::move(model)), config_(std::move(config)) {
  init();
}

Session::Session(std::span<const std::filesystem::path> paths, SessionConfig config)
    : model_(open_popef(paths, {config.check_package_hash, config.executable})),
      config_(std::move(config)) {
  init();
}

void Session::init() {
  connect();
  if (config_.telemetry || telemetry_wanted())
    telemetry_ = Telemetry::try_make(model_->name, config_.replica,
                                     static_cast<uint32_t>(inputs_.size() + outputs_.size()));
  if (config_.policy == LaunchPolicy::immediate) bind_to_device(config_.device);
}

Session::~Session() { unload_from_device(); }

void Session::connect() {
  const program::Program& p = model_->program();
  const popef::Metadata& metadata = model_->metadata;
  const auto fallback = predicates::default_predicate(metadata.programFlow());
  if (!config_.input_predicate) config_.input_predicate = fallback;
  if (!config_.output_predicate) config_.output_predicate = fallback;
  const auto add = [&](std::vector<Stream>& streams, const std::vector<program::Anchor>& anchors,
                       popef::TensorType type, const AnchorCallbackPredicate& predicate) {
    for (const program::Anchor& a : anchors) {
      const popef::Anchor* m = find_metadata(metadata, a, type);
      Stream s;
      s.anchor = &a;
      s.bytes = a.bytes();
      s.per_replica = !m || m->isPerReplica();
      s.user = accepted(predicate, m);
      s.seed = type == popef::TensorType::INPUT && model_->is_seed(streams.size());
      streams.push_back(std::move(s));
    }
  };
  add(inputs_, p.inputs, popef::TensorType::INPUT, config_.input_predicate);
  add(outputs_, p.outputs, popef::TensorType::OUTPUT, config_.output_predicate);
  for (size_t i = 0; i < inputs_.size(); i++) {
    inputs_[i].data = model_->input_data[i];
    rewind(inputs_[i]);
    if (!inputs_[i].data.empty() || inputs_[i].seed) inputs_[i].user = false;
  }
  const auto mark = [&](const std::vector<program::Instruction>& instructions, Flow flow) {
    for (const program::Instruction& in : instructions)
      for (const uint32_t id : in.operands) {
        if (id == program::kNoBuffer) continue;
        const program::Buffer& b = p.buffers[id];
        if (b.space == program::Space::input)
          inputs_[b.index].used[static_cast<size_t>(flow)] = true;
        if (b.space == program::Space::output)
          outputs_[b.index].used[static_cast<size_t>(flow)] = true;
      }
  };
  mark(p.load, Flow::load);
  mark(p.main, Flow::main);
  mark(p.save, Flow::save);
  input_pointers_.resize(inputs_.size());
  output_pointers_.resize(outputs_.size());
}

std::shared_ptr<device::Device> Session::device() const {
  const std::lock_guard lock(streams_mutex_);
  return device_;
}

bool Session::is_loaded() const noexcept { return loaded_.load(std::memory_order_acquire); }

void Session::interrupt_all() noexcept {
  const std::lock_guard lock(streams_mutex_);
  if (engine_) engine_->interrupt();
  for (auto* streams : {&inputs_, &outputs_})
    for (const Stream& s : *streams)
      if (s.callback) s.callback->interrupt();
}

// With run_mutex_.
void Session::drop_engine() noexcept {
  for (auto* streams : {&inputs_, &outputs_})
    for (Stream& s : *streams) {
      if (s.prefetched || s.in_place) s.callback->invalidate_prefetched();
      s.prefetched = s.in_place = false;
    }
  const std::lock_guard lock(streams_mutex_);
  engine_.reset();
  loaded_.store(false, std::memory_order_release);
}

void Session::evict() noexcept {
  evicting_.store(true, std::memory_order_release);
  interrupt_all();
  const std::lock_guard lock(run_mutex_);
  drop_engine();
  evicting_.store(false, std::memory_order_release);
}

std::shared_ptr<device::Device> Session::acquire_device() const {
  device::Constraints constraints;
  constraints.num_ipus = model_->replication_factor;
  return device::DeviceManager().get_device(constraints, config_.wait);
}

void Session::bind_to_device(std::shared_ptr<device::Device> device) {
  const std::lock_guard lock(bind_mutex_);
  if (!device) device = device_ ? device_ : config_.device;
  if (!device) device = acquire_device();
  if (device_ && device_ != device) device_->unbind(*this);
  device->bind(*this, config_.exclusive);
  load_on(device);
}

void Session::load_on(const std::shared_ptr<device::Device>& device) {
  evict();  // what runs ends first
  const std::lock_guard lock(run_mutex_);
  try {
    auto engine = device->load(model_->image, config_.load);
    threads_.store(engine->threads(), std::memory_order_relaxed);
    const std::lock_guard streams(streams_mutex_);
    if (!device->is_bound(*this))
      fail(ErrorCode::failed_precondition, "another session took device {} meanwhile",
           device->id());
    engine_ = std::move(engine);
    device_ = device;
    stopped_.store(false, std::memory_order_release);
    for (auto* all : {&inputs_, &outputs_})
      for (Stream& s : *all) {
        rewind(s);
        if (s.callback) s.callback->resume();
      }
    loaded_.store(true, std::memory_order_release);
  } catch (Error& e) {
    device->unbind(*this);
    e.add_context(fmt::format("executable '{}'", model_->name));
    throw;
  } catch (...) {
    device->unbind(*this);
    throw;
  }
}

void Session::unload_from_device() noexcept {
  const std::lock_guard lock(bind_mutex_);
  if (device_) device_->unbind(*this);
  evict();
}

void Session::reload() { bind_to_device(); }

void Session::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  interrupt_all();
}

namespace {

template <class Streams>
auto& stream_of(Streams& streams, const std::vector<program::Anchor>& anchors,
                std::string_view name, std::string_view direction) {
  return streams[find_anchor(anchors, name, 0, direction)];
}

}  // namespace

void Session::set_user_input_handler(std::string_view name,
                                     std::shared_ptr<StreamCallback> callback) {
  Stream& s = stream_of(inputs_, model_->inputs(), name, "input");
  const std::lock_guard run(run_mutex_);
  const std::lock_guard lock(streams_mutex_);
  if (s.prefetched) s.callback->invalidate_prefetched();
  s.prefetched = false;
  s.callback = std::move(callback);
}

void Session::set_user_output_handler(std::string_view name,
                                      std::shared_ptr<StreamCallback> callback) {
  Stream& s = stream_of(outputs_, model_->outputs(), name, "output");
  const std::lock_guard run(run_mutex_);
  const std::lock_guard lock(streams_mutex_);
  s.callback = std::move(callback);
}

StreamQueues& Session::create_queue_manager(size_t buffers,
                                            std::function<void(InputStreamQueue&)> timeout,
                                            std::chrono::nanoseconds timeout_ns,
                                            const AnchorCallbackPredicate& input_predicate,
                                            const AnchorCallbackPredicate& output_predicate) {
  constexpr size_t kMaxBuffers = size_t{1} << 20;
  if (buffers < 1 || buffers > kMaxBuffers)
    fail(ErrorCode::invalid_argument, "a queue has 1 to {} buffers, asked for {}", kMaxBuffers,
         buffers);
  const std::lock_guard run(run_mutex_);
  const std::lock_guard lock(streams_mutex_);
  const auto wanted = [&](const Stream& s, const AnchorCallbackPredicate& predicate,
                          popef::TensorType type) {
    if (!predicate) return s.user;
    return s.data.empty() && !s.seed &&
           accepted(predicate, find_metadata(model_->metadata, *s.anchor, type));
  };
  StreamQueues::Inputs inputs;
  StreamQueues::Outputs outputs;
  for (Stream& s : inputs_)
    if (wanted(s, input_predicate, popef::TensorType::INPUT)) {
      inputs.push_back(std::make_shared<InputStreamQueue>(*s.anchor, buffers, timeout, timeout_ns));
      s.callback = inputs.back();
    }
  for (Stream& s : outputs_)
    if (wanted(s, output_predicate, popef::TensorType::OUTPUT)) {
      outputs.push_back(std::make_shared<OutputStreamQueue>(*s.anchor, buffers));
      s.callback = outputs.back();
    }
  if (telemetry_) {
    uint32_t index = 0;
    const auto publish = [&](StreamQueue& q, bool is_output) {
      if (auto* record = telemetry_->queue(index++, q.anchor().name, is_output, q.capacity()))
        q.count_in(*record, telemetry_);
    };
    for (const auto& q : inputs) publish(*q, false);
    for (const auto& q : outputs) publish(*q, true);
  }
  queues_ = std::make_unique<StreamQueues>(std::move(inputs), std::move(outputs));
  return *queues_;
}

std::vector<const program::Anchor*> Session::user_input_anchors() const {
  std::vector<const program::Anchor*> anchors;
  for (const Stream& s : inputs_)
    if (s.user) anchors.push_back(s.anchor);
  return anchors;
}

std::vector<const program::Anchor*> Session::user_output_anchors() const {
  std::vector<const program::Anchor*> anchors;
  for (const Stream& s : outputs_)
    if (s.user) anchors.push_back(s.anchor);
  return anchors;
}

std::vector<std::string> Session::unconnected_anchors() const {
  const std::lock_guard lock(streams_mutex_);
  std::vector<std::string> names;
  for (auto* streams : {&inputs_, &outputs_})
    for (const Stream& s : *streams)
      if (s.user && !s.callback) names.push_back(s.anchor->name);
  return names;
}

void Session::verify_connected() const {
  const auto names = unconnected_anchors();
  if (!names.empty())
    fail(ErrorCode::failed_precondition, "anchors without a callback: {}", list(names));
}

void Session::fail_not_loaded() const {
  fail(
      ErrorCode::failed_precondition,
      "executable '{}' is on no device (unloaded, or another session took the device); reload() or "
      "bind_to_device() first",
      model_->name);
}

void Session::run_load_programs() { run_flow(Flow::load); }
void Session::run_main_programs() { run_flow(Flow::main); }
void Session::run_save_programs() { run_flow(Flow::save); }

void Session::run_programs(std::span<const uint32_t> indices) {
  const popef::ProgramFlow& flow = model_->metadata.programFlow();
  const auto in = [](const auto& programs, uint32_t index) {
    return std::find(programs.begin(), programs.end(), index) != programs.end();
  };
  std::vector<Flow> flows;
  for (const uint32_t index : indices) {
    if (in(flow.load(), index)) {
      flows.push_back(Flow::load);
    } else if (in(flow.main(), index)) {
      flows.push_back(Flow::main);
    } else if (in(flow.save(), index)) {
      flows.push_back(Flow::save);
    } else {
      std::vector<uint32_t> known = flow.load();
      known.insert(known.end(), flow.main().begin(), flow.main().end());
      known.insert(known.end(), flow.save().begin(), flow.save().end());
      std::sort(known.begin(), known.end());
      fail(ErrorCode::not_found, "there is no program {}; programs are {}", index,
           fmt::join(known, ", "));
    }
  }
  for (const Flow f : flows) run_flow(f);
}

void Session::run_flow(Flow flow) {
  if (!is_loaded() && config_.policy == LaunchPolicy::deferred && !device()) bind_to_device();
  const std::lock_guard lock(run_mutex_);
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (!engine_) fail_not_loaded();
  const auto f = static_cast<size_t>(flow);
  std::vector<std::string> missing;
  for (auto* streams : {&inputs_, &outputs_})
    for (const Stream& s : *streams)
      if (s.user && s.used[f] && !s.callback) missing.push_back(s.anchor->name);
  if (!missing.empty())
    fail(ErrorCode::failed_precondition, "anchors without a callback: {}", list(missing));
  const bool transfers = flow == Flow::main;
  const uint64_t iterations = transfers ? model_->batches_per_step : 1;
  const uint32_t replicas = transfers ? model_->replication_factor : 1;
  if (device_->num_ipus() < static_cast<int64_t>(replicas))
    fail(ErrorCode::failed_precondition, "the model is for {} IPUs, device {} has {}", replicas,
         device_->id(), device_->num_ipus());
  for (uint64_t i = 0; i < iterations; i++)
    for (uint32_t r = 0; r < replicas; r++) {
      try {
        run_once(flow, r == 0, r + 1 == replicas);
      } catch (...) {
        for (auto* streams : {&inputs_, &outputs_})
          for (Stream& s : *streams)
            if (s.in_place) {
              s.callback->invalidate_prefetched();
              s.in_place = false;
            }
        throw;
      }
    }
}

// Of a transfer that the callback gives or takes.
void* Session::begin_transfer(Stream& s, bool is_input) {
  void* const memory = s.prefetched ? nullptr : s.callback->acquire();
  s.in_place = memory != nullptr;
  if (memory) return memory;
  if (!s.memory.data()) s.memory = TensorMemory(s.bytes);
  if (is_input && !std::exchange(s.prefetched, false) &&
      s.callback->fetch(s.memory.data()) != StreamCallback::Result::success)
    fail_stopped();
  return s.memory.data();
}

void* Session::input_pointer(Stream& s) {
  return s.callback ? begin_transfer(s, true) : own_data(s);
}

// To the first value that is this session's.
void Session::rewind(Stream& s) const {
  s.next = s.per_replica ? config_.copy : 0;
  s.stride = s.per_replica ? config_.copies : 1;
}

// The next value of an input that no caller gives: the file's, zeros, or a new seed.
void* Session::own_data(Stream& s) {
  if (!s.data.empty()) {
    const uint64_t values = s.data.size() / s.bytes, at = s.next % values;
    s.next += s.stride;
    return const_cast<std::byte*>(s.data.data()) + at * s.bytes;
  }
  if (!s.memory.data()) {
    s.memory = TensorMemory(s.bytes);
    std::memset(s.memory.data(), 0, s.bytes);
  }
  if (s.seed) {
    auto* const bytes = static_cast<std::byte*>(s.memory.data());
    for (uint64_t at = 0; at < s.bytes; at += sizeof(uint64_t)) {
      const uint64_t value = random_();
      std::memcpy(bytes + at, &value, std::min<uint64_t>(sizeof value, s.bytes - at));
    }
  }
  return s.memory.data();
}

void* Session::output_pointer(Stream& s) {
  if (s.callback) return begin_transfer(s, false);
  if (!s.memory.data()) s.memory = TensorMemory(s.bytes);
  return s.memory.data();
}

void Session::run_once(Flow flow, bool first_replica, bool last_replica) {
  const auto f = static_cast<size_t>(flow);
  for (size_t i = 0; i < inputs_.size(); i++) {
    Stream& s = inputs_[i];
    if (s.used[f] && (first_replica || s.per_replica)) input_pointers_[i] = input_pointer(s);
  }
  for (size_t i = 0; i < outputs_.size(); i++) {
    Stream& s = outputs_[i];
    if (s.used[f] && (first_replica || s.per_replica)) output_pointers_[i] = output_pointer(s);
  }
  run_engine(flow, input_pointers_.data(), output_pointers_.data());
  for (Stream& s : inputs_) {
    if (!s.used[f] || !s.callback || !(last_replica || s.per_replica)) continue;
    s.in_place = false;
    s.callback->complete();
  }
  for (Stream& s : outputs_) {
    if (!s.used[f] || !s.callback || !(last_replica || s.per_replica)) continue;
    if (!std::exchange(s.in_place, false) &&
        s.callback->fetch(s.memory.data()) != StreamCallback::Result::success)
      fail_stopped();
    s.callback->complete();
  }
  if (flow != Flow::main) return;
  for (Stream& s : inputs_)
    if (s.used[f] && s.callback && s.memory.data() && (last_replica || s.per_replica))
      s.prefetched = s.callback->prefetch(s.memory.data()) == StreamCallback::Result::success;
}

void Session::run_pointers(Flow flow, const void* const* inputs, void* const* outputs) {
  if (!is_loaded() && config_.policy == LaunchPolicy::deferred && !device()) bind_to_device();
  const std::lock_guard lock(run_mutex_);
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (!engine_) fail_not_loaded();
  bool own = false;
  for (size_t i = 0; i < inputs_.size(); i++) {
    Stream& s = inputs_[i];
    const bool mine = (!s.data.empty() || s.seed) && !inputs[i];
    if (!mine)
      input_pointers_[i] = inputs[i];
    else if (flow == Flow::main || s.used[static_cast<size_t>(flow)])
      input_pointers_[i] = own_data(s);
    own |= mine;
  }
  run_engine(flow, own ? input_pointers_.data() : inputs, outputs);
}

void Session::run_engine(Flow flow, const void* const* inputs, void* const* outputs) {
  if (telemetry_ && flow == Flow::main) {
    const auto begin = Telemetry::Clock::now();
    engine_->run(flow, inputs, outputs);
    telemetry_->ran(begin, Telemetry::Clock::now());
  } else {
    engine_->run(flow, inputs, outputs);
  }
  if (stopped_.load(std::memory_order_acquire) || evicting_.load(std::memory_order_acquire))
    fail_stopped();
}

size_t Session::input_with_data(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (inputs_[i].data.empty()) continue;
    if (inputs_[i].anchor->name == name) return i;
    names.push_back(inputs_[i].anchor->name);
  }
  fail(ErrorCode::not_found, "there are no weights '{}'; weights that can be updated are: {}", name,
       list(names));
}

void Session::update_weights(std::string_view name, ConstTensorMemoryView value) {
  Stream& s = inputs_[input_with_data(name)];
  if (value.bytes != s.bytes) fail_wrong_size(*s.anchor, value.bytes, "weights");
  TensorMemory memory(s.bytes);
  std::memcpy(memory.data(), value.data, s.bytes);
  const std::lock_guard lock(run_mutex_);
  s.memory = std::move(memory);
  s.data = {static_cast<const std::byte*>(s.memory.data()), s.bytes};
  s.next = 0;
}

ConstTensorMemoryView Session::weights(std::string_view name) const {
  const Stream& s = inputs_[input_with_data(name)];
  const std::lock_guard lock(run_mutex_);
  return {s.data.data(), s.bytes};
}

std::vector<device::InstructionProfile> Session::profile() const {
  const std::lock_guard lock(run_mutex_);
  if (!engine_) fail_not_loaded();
  return engine_->profile();
}

int Session::threads() const noexcept { return threads_.load(std::memory_order_relaxed); }

}  // namespace poprt::runtime
