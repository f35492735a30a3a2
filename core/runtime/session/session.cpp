#include "runtime/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "base/checked.h"
#include "base/error.h"
#include "program/link.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/overlapped_transfers.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/variants.h"

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

// Whether the input is a mask of real places. No ONNX model has such an input; the compiler adds it
// to a model at several shapes.
bool is_mask(const Model& model, const program::Anchor& input) {
  return model.variants && model.variants->kind == Variants::Kind::shapes &&
         input.name.starts_with(program::kRealPlaces);
}

bool accepted(const AnchorCallbackPredicate& predicate, const popef::Anchor* anchor) {
  // Anchors that PopEF cannot describe belong to main.
  return !anchor || predicate(*anchor) == AnchorCallbackPolicy::bind_user_cb;
}

// Whether the predicate rejects the data of an input, so that the input is zeros. A predicate that
// selects anchors by program only decides which callbacks are the user's, and does not reject data:
// it accepts the anchor if its programs are replaced by none or by all.
bool excludes_data(const AnchorCallbackPredicate& predicate, const popef::Anchor* anchor,
                   const popef::Metadata& metadata) {
  if (!anchor || accepted(predicate, anchor)) return false;
  popef::Anchor other = *anchor;
  other.setPrograms({});
  if (accepted(predicate, &other)) return false;
  const popef::ProgramFlow& flow = metadata.programFlow();
  popef::Anchor::Programs all;
  for (const auto* programs : {&flow.load(), &flow.main(), &flow.save()})
    all.insert(all.end(), programs->begin(), programs->end());
  other.setPrograms(std::move(all));
  return !accepted(predicate, &other);
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '"));
}

// The error of programs that a caller ended on purpose.
struct Stopped : Error {
  using Error::Error;
};

[[noreturn]] void fail_stopped() {
  throw Stopped(ErrorCode::cancelled, "the session was stopped; reload() starts it again");
}

// `copies` is the number of copies of the model that have separate devices.
void check_fits(const Model& model, const device::Device& device, uint32_t copies) {
  device::Constraints wanted = constraints_of(model);
  wanted.num_ipus = std::max(wanted.num_ipus / static_cast<int64_t>(copies), int64_t{1});
  if (device.num_ipus() < wanted.num_ipus)
    fail(ErrorCode::failed_precondition, "the model is for {} IPUs, device {} has {}",
         wanted.num_ipus, device.id(), device.num_ipus());
  // An IPU model runs any version, because only its reports differ. A device that is not an IPU has
  // no version.
  if (wanted.ipu_version != 0 && device.ipu_version() != 0 &&
      wanted.ipu_version != device.ipu_version() && !device.properties().ipu_model)
    fail(ErrorCode::failed_precondition, "the model is for ipu{}, device {} is an ipu{}",
         wanted.ipu_version, device.id(), device.ipu_version());
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
    telemetry_ = Telemetry::try_make(
        model_->name, config_.replica, static_cast<uint32_t>(inputs_.size() + outputs_.size()),
        model_->variants ? variant_names(*model_->variants) : std::vector<std::string>(),
        config_.of_generator);
  if (config_.policy == LaunchPolicy::immediate) bind_to_device(config_.device);
}

Session::~Session() { unload_from_device(); }

void Session::connect() {
  const program::Program& p = model_->program();
  const popef::Metadata& metadata = model_->metadata;
  const auto fallback = predicates::default_predicate(metadata.programFlow());
  const bool chosen = static_cast<bool>(config_.input_predicate);
  if (!config_.input_predicate) config_.input_predicate = fallback;
  if (!config_.output_predicate) config_.output_predicate = fallback;
  const auto add = [&](std::vector<Stream>& streams, const std::vector<program::Anchor>& anchors,
                       popef::TensorType type, const AnchorCallbackPredicate& predicate) {
    for (const program::Anchor& a : anchors) {
      const popef::Anchor* m = find_metadata(metadata, a, type);
      Stream s;
      s.anchor = &a;
      s.metadata = m;
      s.bytes = a.bytes();
      s.per_replica = !m || m->isPerReplica();
      s.connectable = !m || !m->handle().empty();
      s.mask = type == popef::TensorType::INPUT && is_mask(*model_, a);
      s.user = s.connectable && !s.mask && accepted(predicate, m);
      s.seed = type == popef::TensorType::INPUT && model_->is_seed(streams.size());
      streams.push_back(std::move(s));
    }
  };
  add(inputs_, p.inputs, popef::TensorType::INPUT, config_.input_predicate);
  add(outputs_, p.outputs, popef::TensorType::OUTPUT, config_.output_predicate);
  for (size_t i = 0; i < inputs_.size(); i++) {
    inputs_[i].data = model_->input_data[i];
    inputs_[i].updatable = !inputs_[i].data.empty();
    if (chosen && !inputs_[i].data.empty() &&
        excludes_data(config_.input_predicate, inputs_[i].metadata, metadata))
      inputs_[i].data = {}, inputs_[i].updatable = false;
    rewind(inputs_[i]);
    if (inputs_[i].has_value()) inputs_[i].user = false;
  }
  // The save programs return the weights. The device is not involved, because the session has their
  // values.
  for (const Stream& in : inputs_) {
    const auto is_program_output = [&](const program::Anchor& a) {
      return a.name == in.anchor->name;
    };
    const popef::Anchor* m = find_metadata(metadata, *in.anchor, popef::TensorType::OUTPUT);
    if (in.data.empty() || !m || !m->usedBy(metadata.programFlow().save()) ||
        std::any_of(p.outputs.begin(), p.outputs.end(), is_program_output))
      continue;
    Stream s;
    s.anchor = in.anchor;
    s.metadata = m;
    s.bytes = in.bytes;
    s.user = accepted(config_.output_predicate, m);
    s.used[static_cast<size_t>(Flow::save)] = true;
    s.weights = &in;
    outputs_.push_back(std::move(s));
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
  const popef::ProgramFlow& flow = metadata.programFlow();
  const std::array programs = {&flow.load(), &flow.main(), &flow.save()};  // by flow
  for (Stream& s : inputs_) {
    if (!s.metadata || s.metadata->programs().empty() || !s.data.empty()) continue;
    for (size_t f = 0; f < programs.size(); f++)
      s.kept |= s.used[f] && !std::ranges::all_of(*programs[f], [&](uint32_t program) {
                  return s.metadata->usedBy({program});
                });
  }
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

// Requires run_mutex_.
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
  return device::DeviceManager().get_device(constraints_of(*model_), config_.wait);
}

void Session::bind_to_device(std::shared_ptr<device::Device> device) {
  const std::lock_guard lock(bind_mutex_);
  bind(std::move(device));
}

// Binds for the first run with the policy `deferred`. If first runs are concurrent, one of them
// binds.
void Session::bind_if_deferred() {
  if (is_loaded() || config_.policy != LaunchPolicy::deferred || device()) return;
  const std::lock_guard lock(bind_mutex_);
  if (!device_) bind(nullptr);
}

// Requires bind_mutex_.
void Session::bind(std::shared_ptr<device::Device> device) {
  if (!device) device = device_ ? device_ : config_.device;
  if (!device) device = acquire_device();
  check_fits(*model_, *device, config_.copies);
  // This throws if the device is in use; the session then stays on the one that it has.
  device->bind(*this, config_.exclusive);
  if (device_ && device_ != device) {
    evict();
    device_->unbind(*this);
  }
  load_on(device);
}

void Session::load_on(const std::shared_ptr<device::Device>& device) {
  evict();  // ends current runs first
  std::vector<std::shared_ptr<StreamCallback>> callbacks;
  try {
    const std::lock_guard lock(run_mutex_);
    device::LoadOptions options = config_.load;
    options.reproducible = options.reproducible || model_->reproducible;
    auto engine = device->load(model_->image, options);
    threads_.store(engine->threads(), std::memory_order_relaxed);
    std::unique_lock streams(streams_mutex_);
    if (!device->is_bound(*this))
      fail(ErrorCode::failed_precondition, "another session took device {} meanwhile",
           device->id());
    engine_ = std::move(engine);
    device_ = device;
    stopped_.store(false, std::memory_order_release);
    for (auto* all : {&inputs_, &outputs_})
      for (Stream& s : *all) {
        rewind(s);
        if (s.callback) callbacks.push_back(s.callback);
      }
    streams.unlock();  // a callback may call stop()
    for (const auto& callback : callbacks) callback->resume();
    loaded_.store(true, std::memory_order_release);
  } catch (Error& e) {  // run_mutex_ is unlocked: a device that evicts the session waits for it
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
auto& stream_of(Streams& streams, std::string_view name, std::string_view direction) {
  for (auto& s : streams)
    if (s.anchor->name == name) return s;
  std::vector<std::string> names;
  for (const auto& s : streams) names.push_back(s.anchor->name);
  fail(ErrorCode::not_found, "there is no {} '{}'; {}s are: {}", direction, name, direction,
       list(names));
}

template <class Stream>
void check_connectable(const Stream& s, std::string_view direction) {
  if (!s.connectable)
    fail(ErrorCode::failed_precondition,
         "{} '{}' has no handle in the metadata: nothing can be connected to it", direction,
         s.anchor->name);
}

}  // namespace

const program::Anchor& Session::input_anchor(std::string_view name) const {
  return *stream_of(inputs_, name, "input").anchor;
}

const program::Anchor& Session::output_anchor(std::string_view name) const {
  return *stream_of(outputs_, name, "output").anchor;
}

void Session::set_user_input_handler(std::string_view name,
                                     std::shared_ptr<StreamCallback> callback) {
  Stream& s = stream_of(inputs_, name, "input");
  check_connectable(s, "input");
  const std::lock_guard run(run_mutex_);
  set_callback(s, std::move(callback));
}

void Session::set_user_output_handler(std::string_view name,
                                      std::shared_ptr<StreamCallback> callback) {
  Stream& s = stream_of(outputs_, name, "output");
  check_connectable(s, "output");
  const std::lock_guard run(run_mutex_);
  set_callback(s, std::move(callback));
}

// Requires run_mutex_. Data that the previous callback has prefetched is discarded, and the session
// fills a mask again. This function calls the previous callback without streams_mutex_, because
// stop(), which a callback may call, locks it.
void Session::set_callback(Stream& s, std::shared_ptr<StreamCallback> callback) {
  if (std::exchange(s.prefetched, false)) s.callback->invalidate_prefetched();
  if (s.mask) s.memory = {};
  const std::lock_guard lock(streams_mutex_);
  s.callback.swap(callback);  // the previous one is destroyed after the lock
}

QueueManager& Session::create_queue_manager(size_t buffers,
                                            std::function<void(InputStreamQueue&)> timeout,
                                            std::chrono::nanoseconds timeout_ns,
                                            const AnchorCallbackPredicate& input_predicate,
                                            const AnchorCallbackPredicate& output_predicate) {
  constexpr size_t kMaxBuffers = size_t{1} << 20;
  if (buffers < 1 || buffers > kMaxBuffers)
    fail(ErrorCode::invalid_argument, "a queue has 1 to {} buffers, requested {}", kMaxBuffers,
         buffers);
  const std::lock_guard run(run_mutex_);
  const auto wanted = [&](const Stream& s, const AnchorCallbackPredicate& predicate,
                          popef::TensorType type) {
    if (!predicate) return s.user;
    return s.connectable && !s.has_value() &&
           accepted(predicate, find_metadata(model_->metadata, *s.anchor, type));
  };
  QueueManager::Inputs inputs;
  QueueManager::Outputs outputs;
  std::vector<std::pair<Stream*, std::shared_ptr<StreamCallback>>> served;
  for (Stream& s : inputs_)
    if (wanted(s, input_predicate, popef::TensorType::INPUT)) {
      inputs.push_back(std::make_shared<InputStreamQueue>(*s.anchor, buffers, timeout, timeout_ns));
      served.emplace_back(&s, inputs.back());
    }
  for (Stream& s : outputs_)
    if (wanted(s, output_predicate, popef::TensorType::OUTPUT)) {
      outputs.push_back(std::make_shared<OutputStreamQueue>(*s.anchor, buffers));
      served.emplace_back(&s, outputs.back());
    }
  if (telemetry_) {
    uint32_t index = 0;
    const auto publish = [&](StreamQueue& q, bool is_output) {
      if (auto* record = telemetry_->name_queue(index++, q.anchor().name, is_output, q.capacity()))
        q.count_in(*record, telemetry_);
    };
    for (const auto& q : inputs) publish(*q, false);
    for (const auto& q : outputs) publish(*q, true);
  }
  auto made = std::make_unique<QueueManager>(std::move(inputs), std::move(outputs));
  // Nothing below can fail, so an error above leaves the earlier queues in use.
  for (auto& [stream, queue] : served) set_callback(*stream, std::move(queue));
  queues_ = std::move(made);
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

bool Session::run_main_programs_unless_stopped() {
  try {
    run_main_programs();
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

void Session::run_programs(std::span<const uint32_t> indices) {
  const popef::ProgramFlow& flow = model_->metadata.programFlow();
  std::map<uint32_t, std::optional<Flow>> known;  // by index; a program of no flow has no effect
  for (const auto& [index, name] : model_->metadata.programsMap()) known[index] = std::nullopt;
  for (const uint32_t index : flow.save()) known[index] = Flow::save;
  for (const uint32_t index : flow.main()) known[index] = Flow::main;
  for (const uint32_t index : flow.load()) known[index] = Flow::load;
  // Adjacent programs of one flow are one run of it; a repeated one begins another run.
  struct Run {
    Flow flow;
    std::vector<uint32_t> programs;
  };
  std::vector<Run> runs;
  for (const uint32_t index : indices) {
    const auto found = known.find(index);
    if (found == known.end()) {
      std::vector<uint32_t> there;
      for (const auto& program : known) there.push_back(program.first);
      fail(ErrorCode::not_found, "there is no program {}; programs are {}", index,
           fmt::join(there, ", "));
    }
    if (!found->second) continue;
    if (runs.empty() || runs.back().flow != *found->second ||
        std::count(runs.back().programs.begin(), runs.back().programs.end(), index) != 0)
      runs.push_back({*found->second, {}});
    runs.back().programs.push_back(index);
  }
  for (const Run& run : runs) run_flow(run.flow, run.programs);
}

namespace {

// The caller holds `mutex`.
void check_not_abandoned(const ForkMutex& mutex) {
  if (mutex.abandoned())
    fail(ErrorCode::failed_precondition,
         "process {} was forked while another thread of its parent ran this session: make a new "
         "session",
         this_process());
}

}  // namespace

void Session::run_flow(Flow flow, std::span<const uint32_t> programs) {
  bind_if_deferred();
  const std::lock_guard lock(run_mutex_);
  check_not_abandoned(run_mutex_);
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (!engine_) fail_not_loaded();
  const auto f = static_cast<size_t>(flow);
  std::vector<std::string> missing;
  for (auto* streams : {&inputs_, &outputs_})
    for (Stream& s : *streams) {
      s.served = s.used[f] && (programs.empty() || !s.metadata || s.metadata->programs().empty() ||
                               s.metadata->usedBy({programs.begin(), programs.end()}));
      if (s.user && s.served && !s.callback) missing.push_back(s.anchor->name);
    }
  if (!missing.empty())
    fail(ErrorCode::failed_precondition, "anchors without a callback: {}", list(missing));
  const bool transfers = flow == Flow::main;
  const uint64_t iterations = transfers ? model_->batches_per_step : 1;
  const uint32_t replicas = transfers ? model_->replication_factor : 1;
  if (transfers && run_overlapped(iterations)) return;
  for (uint64_t i = 0; i < iterations; i++)
    for (uint32_t r = 0; r < replicas; r++) {
      try {
        replica_ = r;
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

void Session::fail_if_ended() const {
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (evicting_.load(std::memory_order_acquire))
    fail(ErrorCode::cancelled,
         "executable '{}' left its device while it ran; reload() loads it again", model_->name);
}

void Session::fail_transfer(const Stream& s, std::string_view did) const {
  fail_if_ended();
  if (s.callback->is_disconnected())
    throw Stopped(ErrorCode::cancelled,
                  fmt::format("the queue of '{}' was disconnected; make queues again or set a "
                              "handler",
                              s.anchor->name));
  fail(ErrorCode::cancelled,
       "the callback of '{}' {} no data: its handler failed; set another handler", s.anchor->name,
       did);
}

// Returns the memory for the next transfer of a stream with a callback: memory of the callback, or
// that of the stream, to which the data of an input is copied.
void* Session::begin_transfer(Stream& s, bool is_input) {
  void* const memory = s.prefetched || s.kept ? nullptr : s.callback->acquire();
  s.in_place = memory != nullptr;
  if (memory) return memory;
  void* const staged = staged_value(s);
  if (is_input && !std::exchange(s.prefetched, false) &&
      s.callback->fetch(staged) != StreamCallback::Result::success)
    fail_transfer(s, "gave");
  return staged;
}

// The value of the current replica in the memory of the stream, which is one for all replicas
// unless the input keeps them.
void* Session::staged_value(Stream& s) const {
  const uint64_t replicas = s.kept && s.per_replica ? model_->replication_factor : 1;
  if (!s.memory.data()) {
    s.memory = TensorMemory(checked_mul(s.bytes, replicas));
    std::memset(s.memory.data(), s.mask ? 1 : 0, s.bytes * replicas);
  }
  auto* const values = static_cast<std::byte*>(s.memory.data());
  return replicas > 1 ? values + s.bytes * replica_ : values;
}

void* Session::input_pointer(Stream& s) {
  return s.callback && s.served ? begin_transfer(s, true) : next_own_value(s);
}

// Sets the stream to the first value of this session.
void Session::rewind(Stream& s) const {
  s.next = s.per_replica ? config_.copy : 0;
  s.stride = s.per_replica ? config_.copies : 1;
}

// The next value of an input that no caller provides: from the file, a new seed, ones for a mask,
// or zeros.
void* Session::next_own_value(Stream& s) {
  if (!s.data.empty()) {
    const uint64_t values = s.data.size() / s.bytes, at = s.next % values;
    s.next += s.stride;
    return const_cast<std::byte*>(s.data.data()) + at * s.bytes;
  }
  auto* const bytes = static_cast<std::byte*>(staged_value(s));
  if (s.seed) {
    for (uint64_t at = 0; at < s.bytes; at += sizeof(uint64_t)) {
      const uint64_t value = random_();
      std::memcpy(bytes + at, &value, std::min<uint64_t>(sizeof value, s.bytes - at));
    }
  }
  return bytes;
}

void* Session::output_pointer(Stream& s) {
  if (s.callback && s.served) return begin_transfer(s, false);
  if (!s.memory.data()) s.memory = TensorMemory(s.bytes);
  return s.memory.data();
}

void Session::run_once(Flow flow, bool first_replica, bool last_replica) {
  const auto f = static_cast<size_t>(flow);
  for (size_t i = 0; i < inputs_.size(); i++) {
    Stream& s = inputs_[i];
    if (s.used[f] && (first_replica || s.per_replica)) input_pointers_[i] = input_pointer(s);
    // A load or save flow runs once for all replicas, so each of them keeps the same value.
    if (flow != Flow::main && s.used[f] && s.kept && s.per_replica && s.served && s.callback)
      for (uint32_t r = 1; r < model_->replication_factor; r++)
        std::memcpy(static_cast<std::byte*>(s.memory.data()) + r * s.bytes, s.memory.data(),
                    s.bytes);
  }
  // A request is one transfer of the main program; it begins when its inputs are available.
  Telemetry* const counts = flow == Flow::main ? telemetry_.get() : nullptr;
  const auto begin = counts ? Telemetry::Clock::now() : Telemetry::Clock::time_point();
  if (counts) counts->submitted();
  try {
    run_and_answer(flow, first_replica, last_replica);
  } catch (...) {
    if (counts) counts->failed();
    throw;
  }
  if (flow != Flow::main) return;
  if (counts) counts->completed(Telemetry::Clock::now() - begin);
  for (Stream& s : inputs_)
    if (s.served && s.callback && s.memory.data() && !s.kept && (last_replica || s.per_replica))
      s.prefetched = s.callback->prefetch(s.memory.data()) == StreamCallback::Result::success;
}

// The inputs are in input_pointers_.
void Session::run_and_answer(Flow flow, bool first_replica, bool last_replica) {
  const auto f = static_cast<size_t>(flow);
  for (size_t i = 0; i < outputs_.size(); i++) {
    Stream& s = outputs_[i];
    if (s.weights && !(s.callback && s.served)) continue;
    if (s.used[f] && (first_replica || s.per_replica)) output_pointers_[i] = output_pointer(s);
  }
  run_engine(flow, input_pointers_.data(), output_pointers_.data());
  if (flow == Flow::save)
    for (size_t i = 0; i < outputs_.size(); i++)
      if (const Stream* from = outputs_[i].weights;
          from && outputs_[i].callback && outputs_[i].served)
        std::memcpy(output_pointers_[i], from->data.data(), from->bytes);
  for (Stream& s : inputs_) {
    if (!s.served || !s.callback || !(last_replica || s.per_replica)) continue;
    s.in_place = false;
    s.callback->complete();
  }
  for (Stream& s : outputs_) {
    if (!s.served || !s.callback || !(last_replica || s.per_replica)) continue;
    if (!std::exchange(s.in_place, false) &&
        s.callback->fetch(s.memory.data()) != StreamCallback::Result::success)
      fail_transfer(s, "took");
    s.callback->complete();
  }
}

void Session::run_pointers(Flow flow, const void* const* inputs, void* const* outputs) {
  bind_if_deferred();
  const std::lock_guard lock(run_mutex_);
  check_not_abandoned(run_mutex_);
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (!engine_) fail_not_loaded();
  bool own = false;
  for (size_t i = 0; i < inputs_.size(); i++) {
    Stream& s = inputs_[i];
    const bool mine = s.has_value() && !inputs[i];
    if (!mine)
      input_pointers_[i] = inputs[i];
    else if (flow == Flow::main || s.used[static_cast<size_t>(flow)])
      input_pointers_[i] = next_own_value(s);
    own |= mine;
  }
  run_engine(flow, own ? input_pointers_.data() : inputs, outputs);
}

size_t Session::running_variant(const void* const* inputs) const {
  return model_->variants ? variant_of(inputs[model_->variants->index]) : 0;
}

void Session::run_engine(Flow flow, const void* const* inputs, void* const* outputs) {
  if (flow == Flow::main && model_->variants)
    check_variant(*model_->variants, inputs[model_->variants->index]);
  if (telemetry_ && flow == Flow::main) {
    const auto begin = Telemetry::Clock::now();
    engine_->run(flow, inputs, outputs);
    telemetry_->ran(begin, Telemetry::Clock::now(), running_variant(inputs));
  } else {
    engine_->run(flow, inputs, outputs);
  }
  const std::optional<Error> failure = engine_->take_failure();
  fail_if_ended();
  if (failure) throw *failure;
}

size_t Session::stages() const {
  const std::lock_guard lock(run_mutex_);
  return engine_ ? engine_->stages() : 1;
}

uint64_t Session::frame_bytes() const {
  const std::lock_guard lock(run_mutex_);
  return engine_ ? engine_->frame_bytes() : 0;
}

void Session::complete_inputs(const void** inputs) {
  const std::lock_guard lock(run_mutex_);
  for (size_t i = 0; i < model_->inputs().size(); i++)
    if (!inputs[i] && inputs_[i].has_value()) inputs[i] = next_own_value(inputs_[i]);
  if (model_->variants) check_variant(*model_->variants, inputs[model_->variants->index]);
}

void Session::run_stage(size_t stage, const void* const* inputs, void* const* outputs,
                        std::byte* frame) {
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  const bool last = stage + 1 == engine_->stages();
  const auto begin = telemetry_ && last ? Telemetry::Clock::now() : Telemetry::Clock::time_point();
  engine_->run_stage(stage, inputs, outputs, frame);
  const std::optional<Error> failure = engine_->take_stage_failure(stage);
  if (telemetry_ && last) telemetry_->ran(begin, Telemetry::Clock::now(), running_variant(inputs));
  if (stopped_.load(std::memory_order_acquire)) fail_stopped();
  if (failure) throw *failure;
}

size_t Session::input_with_data(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (!inputs_[i].updatable) continue;
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
  s.updated = std::move(memory);
  s.data = {static_cast<const std::byte*>(s.updated.data()), s.bytes};
  s.next = 0;
}

void Session::read_weights(std::string_view name, TensorMemoryView value) const {
  const Stream& s = inputs_[input_with_data(name)];
  if (value.bytes != s.bytes)
    fail(ErrorCode::invalid_argument, "weights '{}' have {} bytes, given {}", name, s.bytes,
         value.bytes);
  if (s.bytes && !value.data) fail(ErrorCode::invalid_argument, "argument 'data' is null");
  const std::lock_guard lock(run_mutex_);
  if (s.bytes) std::memcpy(value.data, s.data.data(), s.bytes);
}

std::vector<device::InstructionProfile> Session::profile() const {
  const std::lock_guard lock(run_mutex_);
  if (!engine_) fail_not_loaded();
  return engine_->profile();
}

int Session::threads() const noexcept { return threads_.load(std::memory_order_relaxed); }

}  // namespace poprt::runtime
