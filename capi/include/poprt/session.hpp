// Sessions, queues and telemetry as C++17, with the names of Model Runtime. poprt.hpp includes it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "poprt/anchor.hpp"
#include "poprt/device.hpp"
#include "poprt/error.hpp"
#include "poprt/executable.hpp"
#include "poprt/popef.hpp"
#include "poprt/queue.h"
#include "poprt/runner.hpp"
#include "poprt/session.h"
#include "poprt/telemetry.h"

namespace poprt {
inline namespace v1 {
namespace detail {

inline popef::TensorInfo infoOf(const poprt_anchor* anchor) {
  return popef::impl::tensorInfoOf(poprt_anchor_dtype(anchor), poprt_anchor_shape(anchor),
                                   poprt_anchor_rank(anchor));
}

}  // namespace detail
}  // namespace v1
}  // namespace poprt

namespace model_runtime {

enum class LaunchPolicy { Immediate, Deferred };
enum class AnchorCallbackPolicy { BIND_EMPTY_CB, BIND_USER_CB };

// A short description of an anchor: its name, its direction and its programs.
struct AnchorInfo {
  AnchorInfo() = default;
  AnchorInfo(std::string anchor, bool output, std::vector<uint32_t> used = {})
      : name(std::move(anchor)), isOutput(output), programs(std::move(used)) {}
  AnchorInfo(const popef::Anchor& a)
      : AnchorInfo(a.name(), a.type() == popef::TensorType::OUTPUT, a.programs()) {}
  operator popef::Anchor() const {
    return {
        name, {}, {}, isOutput ? popef::TensorType::OUTPUT : popef::TensorType::INPUT, programs};
  }

  std::string name;
  bool isOutput = false;
  std::vector<uint32_t> programs;
};
// Called for the anchors of the model's metadata. Must not throw.
using AnchorCallbackPredicate = std::function<AnchorCallbackPolicy(const popef::Anchor&)>;

namespace predicate_factory {
namespace anchor_callbacks {

// Accepts anchors of one of these programs.
inline AnchorCallbackPredicate predProgramIndex(
    std::vector<uint32_t> programs,
    AnchorCallbackPolicy accept = AnchorCallbackPolicy::BIND_USER_CB,
    AnchorCallbackPolicy reject = AnchorCallbackPolicy::BIND_EMPTY_CB) {
  return [=](const popef::Anchor& a) {
    for (const uint32_t p : a.programs())
      for (const uint32_t wanted : programs)
        if (p == wanted) return accept;
    return reject;
  };
}
// Accept anchors of the load, main or save programs of a flow.
inline AnchorCallbackPredicate predProgramFlowLoad(
    const popef::ProgramFlow& flow,
    AnchorCallbackPolicy accept = AnchorCallbackPolicy::BIND_USER_CB,
    AnchorCallbackPolicy reject = AnchorCallbackPolicy::BIND_EMPTY_CB) {
  return predProgramIndex(flow.load(), accept, reject);
}
inline AnchorCallbackPredicate predProgramFlowMain(
    const popef::ProgramFlow& flow,
    AnchorCallbackPolicy accept = AnchorCallbackPolicy::BIND_USER_CB,
    AnchorCallbackPolicy reject = AnchorCallbackPolicy::BIND_EMPTY_CB) {
  return predProgramIndex(flow.main(), accept, reject);
}
inline AnchorCallbackPredicate predProgramFlowSave(
    const popef::ProgramFlow& flow,
    AnchorCallbackPolicy accept = AnchorCallbackPolicy::BIND_USER_CB,
    AnchorCallbackPolicy reject = AnchorCallbackPolicy::BIND_EMPTY_CB) {
  return predProgramIndex(flow.save(), accept, reject);
}
// Accepts anchors of no program.
inline AnchorCallbackPredicate predProgramNotAssigned(
    AnchorCallbackPolicy accept = AnchorCallbackPolicy::BIND_USER_CB,
    AnchorCallbackPolicy reject = AnchorCallbackPolicy::BIND_EMPTY_CB) {
  return [=](const popef::Anchor& a) { return a.programs().empty() ? accept : reject; };
}
// Accepts if any (orBind) or all (andBind) of the predicates accept.
template <class... Predicates>
AnchorCallbackPredicate orBind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                               Predicates... predicates) {
  return [=](const popef::Anchor& a) {
    return (false || ... || (predicates(a) == accept)) ? accept : reject;
  };
}
template <class... Predicates>
AnchorCallbackPredicate andBind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                Predicates... predicates) {
  return [=](const popef::Anchor& a) {
    return (true && ... && (predicates(a) == accept)) ? accept : reject;
  };
}

}  // namespace anchor_callbacks
using namespace anchor_callbacks;  // for older code
}  // namespace predicate_factory

namespace impl {

struct SessionFields {
  // <options:session> made from capi/option_fields.toml by tests/lint/option_fields.py --write
  // When the device is acquired: when the session is created, or deferred until it is bound or runs
  // for the first time. Since 0.1.
  LaunchPolicy policy = LaunchPolicy::Immediate;
  // How long to wait while no device is free. Default: fail at once. Since 0.1.
  DeviceWaitConfig waitConfig;
  // The device to run on. Null: any free device that fits the executable. Since 0.1.
  std::shared_ptr<Device> device;
  // Whether files that another version compiled are refused. Since 0.1.
  bool checkPackageHash = true;
  // Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment,
  // or all CPUs. Since 0.1.
  int32_t threads = 0;
  // Whether to measure the time of every instruction, which profile() returns. Runs are slower.
  // Since 0.1.
  bool profile = false;
  // Whether other sessions are refused the device. Otherwise the next session that binds the device
  // unloads this one. Since 0.1.
  bool exclusive = false;
  // Whether to publish the session's activity, as POPRT_TELEMETRY=1 does; see readTelemetry().
  // Since 0.1.
  bool telemetry = false;
  // A function that chooses the anchors that handlers or queues serve. Other inputs are zeros,
  // other outputs are dropped. Null: the anchors without data that belong to a main program or to
  // no program. Since 0.1.
  AnchorCallbackPredicate predicate;
  // </options:session>
};

}  // namespace impl

struct SessionConfig : impl::SessionFields {
  SessionConfig() = default;
  SessionConfig(const SessionConfig& other) : SessionFields(other) {}
  SessionConfig& operator=(const SessionConfig& other) {
    SessionFields::operator=(other);
    return *this;
  }
  ~SessionConfig() = default;

  // Model Runtime's names for the same fields.
  DeviceWaitConfig& wait_config = waitConfig;
  bool& check_package_hash = checkPackageHash;
};

// Callbacks for one anchor. poprt_stream_callbacks documents them. Must not throw.
class StreamCallback {
 public:
  virtual ~StreamCallback() = default;
  virtual bool prefetch(void* data, size_t bytes) noexcept {
    static_cast<void>(data);
    static_cast<void>(bytes);
    return false;
  }
  virtual bool fetch(void* data, size_t bytes) noexcept = 0;  // false: there is no data
  virtual void complete() noexcept {}
  virtual void invalidatePrefetched() noexcept {}
  virtual void interrupt() noexcept {}
};

// A queue of a session's QueueManager. It is valid as long as the manager.
class Queue {
 public:
  using Callback = std::function<void(ErrorCode)>;

  std::string name() const { return poprt_anchor_name(poprt_queue_anchor(handle_)); }
  // The type and shape of one transfer.
  popef::TensorInfo tensorInfo() const { return detail::infoOf(poprt_queue_anchor(handle_)); }
  size_t capacity() const { return poprt_queue_capacity(handle_); }
  size_t readAvailable() const { return poprt_queue_read_available(handle_); }

 protected:
  // Enables overloads for callbacks that take no error code; ended() converts such a callback.
  template <class F>
  using Plain =
      std::enable_if_t<std::is_invocable_v<F&> && !std::is_invocable_v<F&, ErrorCode>, int>;
  template <class F>
  static Callback ended(F callback) {
    return [call = std::function<void()>(std::move(callback))](ErrorCode) { call(); };
  }

  explicit Queue(poprt_queue* handle) : handle_(handle) {}
  template <class Enqueue, class Data>
  void push(Enqueue enqueue, Data data, size_t bytes, Callback callback) {
    if (!callback) return detail::check(enqueue(handle_, data, bytes, nullptr, nullptr));
    auto context = std::make_unique<Callback>(std::move(callback));
    detail::check(enqueue(
        handle_, data, bytes,
        [](poprt_error_code code, void* c) {
          const std::unique_ptr<Callback> mine(static_cast<Callback*>(c));
          (*mine)(static_cast<ErrorCode>(code));
        },
        context.get()));
    static_cast<void>(context.release());  // the callback owns it
  }

 private:
  poprt_queue* handle_;
};

class InputQueue : public Queue {
 public:
  explicit InputQueue(poprt_queue* handle) : Queue(handle) {}
  // Throws Error `cancelled` if the queue was disconnected, or is full in a stopped session. The
  // callback must not throw.
  void enqueue(const void* data, size_t bytes, Callback callback = {}) {
    push(poprt_queue_enqueue_input, data, bytes, std::move(callback));
  }
  template <class F, Plain<F> = 0>
  void enqueue(const void* data, size_t bytes, F callback) {
    enqueue(data, bytes, ended(std::move(callback)));
  }
};
using InputRingBuffer = InputQueue;  // the type that Model Runtime passes to timeout callbacks

class OutputQueue : public Queue {
 public:
  explicit OutputQueue(poprt_queue* handle) : Queue(handle) {}
  void enqueue(void* data, size_t bytes, Callback callback = {}) {
    push(poprt_queue_enqueue_output, data, bytes, std::move(callback));
  }
  template <class F, Plain<F> = 0>
  void enqueue(void* data, size_t bytes, F callback) {
    enqueue(data, bytes, ended(std::move(callback)));
  }
};

// A function of an InputQueue&, or of an InputRingBuffer* as in Model Runtime.
class TimeoutCallback {
 public:
  TimeoutCallback() = default;
  TimeoutCallback(std::nullptr_t) {}
  template <class F, std::enable_if_t<std::is_invocable_v<F&, InputQueue&>, int> = 0>
  TimeoutCallback(F call) : call_(std::move(call)) {}
  template <class F, std::enable_if_t<!std::is_invocable_v<F&, InputQueue&> &&
                                          std::is_invocable_v<F&, InputRingBuffer*>,
                                      int> = 0>
  TimeoutCallback(F call) {
    std::function<void(InputRingBuffer*)> take(std::move(call));
    if (take) call_ = [take = std::move(take)](InputQueue& queue) { take(&queue); };
  }
  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(InputQueue& queue) const { call_(queue); }

 private:
  std::function<void(InputQueue&)> call_;
};

// Borrowed from a session. Copies refer to the same manager.
class QueueManager {
 public:
  explicit QueueManager(poprt_queue_manager* handle) : handle_(handle) {}
  InputQueue& inputQueue(const std::string& name) const {
    return find(found_->inputs, poprt_queue_manager_input_queue, name);
  }
  OutputQueue& outputQueue(const std::string& name) const {
    return find(found_->outputs, poprt_queue_manager_output_queue, name);
  }
  void flushAll() const { poprt_queue_manager_flush_all(handle_); }
  void disconnectAll() const { poprt_queue_manager_disconnect_all(handle_); }
  // Model Runtime returns pointers to objects of the session.
  operator QueueManager*() { return this; }
  QueueManager* operator->() { return this; }
  const QueueManager* operator->() const { return this; }

 private:
  struct Found {
    std::mutex mutex;
    std::map<std::string, InputQueue> inputs;
    std::map<std::string, OutputQueue> outputs;
  };
  template <class Q, class Get>
  Q& find(std::map<std::string, Q>& queues, Get get, const std::string& name) const {
    const std::lock_guard lock(found_->mutex);
    const auto known = queues.find(name);
    if (known != queues.end()) return known->second;
    poprt_queue* queue = nullptr;
    detail::check(get(handle_, detail::text(name, "name"), &queue));
    return queues.emplace(name, Q(queue)).first->second;
  }
  poprt_queue_manager* handle_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

class Session {
 public:
  using TimeoutCallback = model_runtime::TimeoutCallback;

  explicit Session(const std::vector<std::string>& popefPaths, const SessionConfig& config = {})
      : Session(Executable(popefPaths, config.checkPackageHash), config) {}
  explicit Session(std::initializer_list<std::string> popefPaths, const SessionConfig& config = {})
      : Session(std::vector<std::string>(popefPaths), config) {}
  explicit Session(const std::shared_ptr<popef::Model>& model, const SessionConfig& config = {})
      : Session(Executable(model, config.checkPackageHash), config) {}
  explicit Session(const Executable& model, const SessionConfig& config = {})
      : state_(std::make_unique<State>()) {
    poprt_session_options o{};
    o.struct_size = sizeof o;
    o.threads = config.threads;
    o.profile = config.profile;
    o.device = config.device ? config.device->handle() : nullptr;
    o.deferred = config.policy == LaunchPolicy::Deferred;
    o.exclusive = config.exclusive;
    o.telemetry = config.telemetry;
    o.wait_strategy = static_cast<poprt_wait_strategy>(config.waitConfig.strategy);
    o.wait_timeout_ns = config.waitConfig.timeout.count();
    o.wait_sleep_ns = config.waitConfig.rawSleepNs();
    state_->anchors = model.getMetadata().anchors();
    state_->call_data = {config.predicate, &state_->anchors};
    if (config.predicate) {
      o.predicate = ask;
      o.predicate_data = &state_->call_data;
    }
    poprt_session* made = nullptr;
    detail::check(poprt_session_create(model.handle(), &o, &made));
    handle_.reset(made);
  }

  Session(Session&&) = default;
  // Frees the session that this object had while its handlers exist, because freeing it calls them.
  Session& operator=(Session&& other) noexcept {
    handle_ = std::move(other.handle_);
    state_ = std::move(other.state_);
    return *this;
  }

  // Returns the same as Executable::getPopefModel(), made by the first call. The session keeps it:
  // references such as `model()->metadata.programFlow()` are valid as long as the session.
  std::shared_ptr<popef::Model> model() const {
    const std::lock_guard<std::mutex> lock(state_->making);
    if (!state_->model) {
      poprt_popef_model* made = nullptr;
      detail::check(poprt_session_popef_model(handle_.get(), &made));
      state_->model = std::make_shared<popef::Model>(made);
    }
    return state_->model;
  }

  void bindToDevice(const std::shared_ptr<Device>& device = nullptr) {
    detail::check(poprt_session_bind_to_device(handle_.get(), device ? device->handle() : nullptr));
  }
  void unloadFromDevice() { poprt_session_unload_from_device(handle_.get()); }
  void reload() { detail::check(poprt_session_reload(handle_.get())); }
  bool isLoaded() const { return poprt_session_is_loaded(handle_.get()) != 0; }
  // Ends a run in another thread: runMainPrograms() returns there.
  void stop() { poprt_session_stop(handle_.get()); }
  // QueueManager::disconnectAll() of the session's queues, if it has any. Since 1.0.
  void disconnectAll() {
    if (const auto queues = currentQueues()) queues->disconnectAll();
  }

  // Sets the callback of an anchor. Null removes it.
  void setUserInputHandler(const std::string& name, std::shared_ptr<StreamCallback> callback) {
    set(poprt_session_set_user_input_handler, name, std::move(callback));
  }
  void setUserOutputHandler(const std::string& name, std::shared_ptr<StreamCallback> callback) {
    set(poprt_session_set_user_output_handler, name, std::move(callback));
  }
  // The anchors in the model's metadata. A mask "poprt.real.DIM" of a model at several shapes is
  // not one of them, see poprt_session_user_input_count.
  std::vector<popef::Anchor> getUserInputAnchors() const {
    return userAnchors(popef::TensorType::INPUT, poprt_session_user_input_count,
                       poprt_session_user_input);
  }
  std::vector<popef::Anchor> getUserOutputAnchors() const {
    return userAnchors(popef::TensorType::OUTPUT, poprt_session_user_output_count,
                       poprt_session_user_output);
  }

  void runLoadPrograms() { detail::check(poprt_session_run_load_programs(handle_.get())); }
  // Returns false if stop() or disconnectAll() ended the programs or prevented them from running,
  // so that a thread which calls it in a loop ends without an exception.
  bool runMainPrograms() {
    int32_t ran = 0;
    detail::check(poprt_session_run_main_programs_unless_stopped(handle_.get(), &ran));
    return ran != 0;
  }
  void runSavePrograms() { detail::check(poprt_session_run_save_programs(handle_.get())); }
  void runPrograms(const std::vector<uint32_t>& indices) {
    detail::check(poprt_session_run_programs(handle_.get(), indices.data(), indices.size()));
  }

  // The callback must not throw. Earlier queues become invalid, unless the call fails.
  QueueManager& createQueueManager(size_t numBuffers, TimeoutCallback timeout = {},
                                   std::chrono::nanoseconds timeoutNs = {},
                                   AnchorCallbackPredicate predicate = {}) {
    auto timer = std::make_unique<TimeoutCallback>(std::move(timeout));
    poprt_queue_options o{};
    o.struct_size = sizeof o;
    o.buffers = numBuffers;
    o.timeout_ns = timeoutNs.count();
    if (*timer) {
      o.timeout_data = timer.get();
      o.timeout = [](poprt_queue* handle, void* data) {
        InputQueue queue(handle);
        (*static_cast<TimeoutCallback*>(data))(queue);
      };
    }
    PredicateCall call_data{std::move(predicate), &state_->anchors};
    if (call_data.predicate) {
      o.predicate = ask;
      o.predicate_data = &call_data;
    }
    poprt_queue_manager* manager = nullptr;
    const std::lock_guard<std::mutex> one(state_->creating);
    detail::check(poprt_session_create_queue_manager(handle_.get(), &o, &manager));
    state_->timeout = std::move(timer);
    const auto queues = std::make_shared<QueueManager>(manager);
    const std::lock_guard<std::mutex> lock(state_->changing);
    state_->queues = queues;
    return *queues;
  }

  // Takes a predicate for inputs and one for outputs, as Model Runtime does.
  QueueManager& createQueueManager(size_t numBuffers, TimeoutCallback timeout,
                                   std::chrono::nanoseconds timeoutNs,
                                   AnchorCallbackPredicate inputPredicate,
                                   AnchorCallbackPredicate outputPredicate) {
    if (!inputPredicate || !outputPredicate)
      throw Error(ErrorCode::invalid_argument, "a predicate is empty");
    return createQueueManager(
        numBuffers, std::move(timeout), timeoutNs,
        [in = std::move(inputPredicate), out = std::move(outputPredicate)](const popef::Anchor& a) {
          return a.type() == popef::TensorType::OUTPUT ? out(a) : in(a);
        });
  }

  // <functions:session> made from capi/functions.toml by tests/lint/functions.py --write
  // Checks that every anchor that the user serves has a handler or a queue. Throws
  // failed_precondition (some have none; the message names them). Since 0.1.
  void verifyConnected() const { detail::check(poprt_session_verify_connected(handle_.get())); }
  // A JSON object with the times of every instruction since the session was last loaded on a
  // device, in the format of the runner's profile. Throws failed_precondition (the session was
  // created without the option `profile`, or is on no device). Since 1.0.
  std::string profile() const {
    poprt_string* text = nullptr;
    detail::check(poprt_session_profile(handle_.get(), &text));
    return detail::take(text);
  }
  // </functions:session>

  void updateWeights(const std::string& name, const void* data, size_t bytes) {
    detail::check(
        poprt_session_update_weights(handle_.get(), detail::text(name, "name"), data, bytes));
  }
  void readWeights(const std::string& name, void* data, size_t bytes) const {
    detail::check(
        poprt_session_read_weights(handle_.get(), detail::text(name, "name"), data, bytes));
  }
  poprt_session* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_session* s) const { poprt_session_free(s); }
  };
  using Anchors = std::vector<popef::Anchor>;
  // A predicate, and the anchors of the metadata with which it is called.
  struct PredicateCall {
    AnchorCallbackPredicate predicate;
    const Anchors* anchors = nullptr;
  };
  // State of the callbacks, which outlives the handle.
  struct State {
    Anchors anchors;  // of the metadata
    PredicateCall call_data;
    std::mutex creating;                       // held while queues are created
    std::unique_ptr<TimeoutCallback> timeout;  // of the queues, guarded by `creating`
    std::mutex changing;                       // guards the next two members
    std::shared_ptr<QueueManager> queues;
    std::vector<std::shared_ptr<StreamCallback>> callbacks;
    std::mutex making;  // held while the model is created
    std::shared_ptr<popef::Model> model;
  };

  static const popef::Anchor* find(const Anchors& anchors, const char* name,
                                   popef::TensorType type) {
    for (const popef::Anchor& a : anchors)
      if (a.type() == type && a.name() == name) return &a;
    return nullptr;
  }
  static int32_t ask(const char* name, int32_t isOutput, const uint32_t* programs, size_t count,
                     void* data) {
    const auto& call_data = *static_cast<const PredicateCall*>(data);
    const auto* anchor = find(*call_data.anchors, name,
                              isOutput ? popef::TensorType::OUTPUT : popef::TensorType::INPUT);
    if (!anchor) return 1;
    popef::Anchor given = *anchor;  // `programs` may differ from those of the anchor
    given.setPrograms(popef::Anchor::Programs(programs, programs + count));
    return call_data.predicate(given) == AnchorCallbackPolicy::BIND_USER_CB;
  }
  template <class Count, class At>
  Anchors userAnchors(popef::TensorType type, Count count, At at) const {
    Anchors list;
    for (size_t i = 0; i < count(handle_.get()); i++) {
      const poprt_anchor* a = at(handle_.get(), i);
      const popef::Anchor* known = find(state_->anchors, poprt_anchor_name(a), type);
      list.push_back(known ? *known
                           : popef::Anchor(poprt_anchor_name(a), {}, detail::infoOf(a), type, {}));
    }
    return list;
  }
  template <class Set>
  void set(Set setter, const std::string& name, std::shared_ptr<StreamCallback> callback) {
    if (!callback) return detail::check(setter(handle_.get(), detail::text(name, "name"), nullptr));
    poprt_stream_callbacks c{};
    c.struct_size = sizeof c;
    c.prefetch = [](void* data, size_t bytes, void* self) -> int32_t {
      return !static_cast<StreamCallback*>(self)->prefetch(data, bytes);
    };
    c.fetch = [](void* data, size_t bytes, void* self) -> int32_t {
      return !static_cast<StreamCallback*>(self)->fetch(data, bytes);
    };
    c.complete = [](void* self) { static_cast<StreamCallback*>(self)->complete(); };
    c.invalidate_prefetched = [](void* self) {
      static_cast<StreamCallback*>(self)->invalidatePrefetched();
    };
    c.interrupt = [](void* self) { static_cast<StreamCallback*>(self)->interrupt(); };
    c.user_data = callback.get();
    {
      // The session may call the callback until it is freed, so the callback is kept that long, and
      // is stored before the session receives it.
      const std::lock_guard<std::mutex> lock(state_->changing);
      state_->callbacks.push_back(std::move(callback));
    }
    detail::check(setter(handle_.get(), detail::text(name, "name"), &c));
  }
  std::shared_ptr<QueueManager> currentQueues() const {
    const std::lock_guard<std::mutex> lock(state_->changing);
    return state_->queues;
  }

  std::unique_ptr<State> state_;
  std::unique_ptr<poprt_session, Free> handle_;
};

// Returns as JSON the activity that processes publish. If `folder` is empty, the default folder is
// used.
inline std::string readTelemetry(const std::string& folder = {}) {
  poprt_string* text = nullptr;
  detail::check(
      poprt_telemetry_read(folder.empty() ? nullptr : detail::text(folder, "folder"), &text));
  return detail::take(text);
}

}  // namespace model_runtime
