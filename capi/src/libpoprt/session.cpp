#include "poprt/session.h"

#include <chrono>
#include <cstring>
#include <memory>

#include "popef_handles.h"
#include "poprt/queue.h"
#include "profile.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/session/popef_file.h"
#include "runtime/session/session.h"
#include "struct_size.h"
#include "wait.h"

using namespace poprt;

struct poprt_session {
  poprt_session(std::shared_ptr<const runtime::Model> model, runtime::SessionConfig config)
      : profile(config.load.profile), session(std::move(model), std::move(config)) {}
  const bool profile;
  runtime::Session session;
};

namespace {

// A handle is a pointer to the object.
runtime::QueueManager& from_handle(poprt_queue_manager& m) {
  return reinterpret_cast<runtime::QueueManager&>(m);
}
runtime::StreamQueue& from_handle(poprt_queue& q) {
  return reinterpret_cast<runtime::StreamQueue&>(q);
}
const runtime::StreamQueue& from_handle(const poprt_queue& q) {
  return reinterpret_cast<const runtime::StreamQueue&>(q);
}
poprt_queue* handle(runtime::StreamQueue& q) { return reinterpret_cast<poprt_queue*>(&q); }

runtime::AnchorCallbackPredicate predicate_of(poprt_anchor_predicate_fn accepts, void* data,
                                              bool is_output) {
  if (!accepts) return {};
  return [=](const popef::Anchor& a) {
    return accepts(a.name().c_str(), is_output, a.programs().data(), a.programs().size(), data)
               ? runtime::AnchorCallbackPolicy::bind_user_cb
               : runtime::AnchorCallbackPolicy::bind_empty_cb;
  };
}

class Handler final : public runtime::StreamCallback {
 public:
  Handler(const poprt_stream_callbacks& callbacks, size_t bytes) : c_(callbacks), bytes_(bytes) {}

  Result prefetch(void* p) noexcept override {
    return c_.prefetch && c_.prefetch(p, bytes_, c_.user_data) == 0 ? Result::success
                                                                    : Result::not_available;
  }
  Result fetch(void* p) noexcept override {
    return c_.fetch(p, bytes_, c_.user_data) == 0 ? Result::success : Result::not_available;
  }
  void complete() noexcept override {
    if (c_.complete) c_.complete(c_.user_data);
  }
  void invalidate_prefetched() noexcept override {
    if (c_.invalidate_prefetched) c_.invalidate_prefetched(c_.user_data);
  }
  void interrupt() noexcept override {
    if (c_.interrupt) c_.interrupt(c_.user_data);
  }

 private:
  const poprt_stream_callbacks c_;
  const size_t bytes_;
};

std::shared_ptr<runtime::StreamCallback> handler_of(const program::Anchor& anchor,
                                                    const poprt_stream_callbacks* callbacks) {
  if (!callbacks) return nullptr;
  const auto c = capi::read_options(callbacks, "poprt_stream_callbacks");
  if (!c.fetch) fail(ErrorCode::invalid_argument, "poprt_stream_callbacks: fetch is null");
  return std::make_shared<Handler>(c, anchor.bytes());
}

// A callback of the caller. It is called once.
struct Callback {
  poprt_queue_fn call;
  void* user_data;
};

template <class Push>
poprt_error* enqueue(poprt_queue* queue, poprt_queue_fn callback, void* user_data, Push&& push) {
  return capi::guard([&] {
    auto& q = from_handle(capi::required(queue, "queue"));
    runtime::QueueCallback done;
    std::unique_ptr<Callback> context;
    if (callback) {
      context = std::make_unique<Callback>(Callback{callback, user_data});
      done = {[](void* c, ErrorCode code) noexcept {
                const std::unique_ptr<Callback> mine(static_cast<Callback*>(c));
                mine->call(static_cast<poprt_error_code>(code), mine->user_data);
              },
              context.get()};
    }
    if (!push(q, done))
      fail(ErrorCode::cancelled, "queue '{}' was disconnected, or is full in a stopped session",
           q.anchor().name);
    static_cast<void>(context.release());  // the callback owns it and may have run already
  });
}

runtime::SessionConfig config_of(const poprt_session_options& o) {
  runtime::SessionConfig c;
  c.load = {o.threads, o.profile != 0};
  if (o.device) c.device = o.device->device;
  c.policy = o.deferred ? runtime::LaunchPolicy::deferred : runtime::LaunchPolicy::immediate;
  c.exclusive = o.exclusive != 0;
  c.telemetry = o.telemetry != 0;
  c.wait = capi::read_wait(o.wait_strategy, o.wait_timeout_ns, o.wait_sleep_ns);
  c.input_predicate = predicate_of(o.predicate, o.predicate_data, false);
  c.output_predicate = predicate_of(o.predicate, o.predicate_data, true);
  return c;
}

runtime::Session& session_of(poprt_session* session) {
  return capi::required(session, "session").session;
}

const poprt_anchor* anchor_at(const std::vector<const program::Anchor*>& anchors, size_t index) {
  return index < anchors.size() ? capi::to_handle(anchors[index]) : nullptr;
}

}  // namespace

poprt_error* poprt_session_create(const poprt_executable* executable,
                                  const poprt_session_options* options,
                                  poprt_session** out_session) {
  return capi::guard([&] {
    const auto& model = capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_session, "out_session");
    out = new poprt_session(model, config_of(capi::read_options(options, "poprt_session_options")));
  });
}

void poprt_session_free(poprt_session* session) { delete session; }

poprt_error* poprt_session_popef_model(const poprt_session* session,
                                       poprt_popef_model** out_model) {
  return capi::guard([&] {
    const auto& s = capi::required(session, "session").session;
    auto& out = capi::required(out_model, "out_model");
    out = new poprt_popef_model(runtime::popef_model(s.model()), {});
  });
}

poprt_error* poprt_session_bind_to_device(poprt_session* session, poprt_device* device) {
  return capi::guard(
      [&] { session_of(session).bind_to_device(device ? device->device : nullptr); });
}

poprt_error* poprt_session_reload(poprt_session* session) {
  return capi::guard([&] { session_of(session).reload(); });
}

void poprt_session_unload_from_device(poprt_session* session) {
  if (session) session->session.unload_from_device();
}

int32_t poprt_session_is_loaded(const poprt_session* session) {
  return session && session->session.is_loaded();
}

void poprt_session_stop(poprt_session* session) {
  if (session) session->session.stop();
}

poprt_error* poprt_session_set_user_input_handler(poprt_session* session, const char* name,
                                                  const poprt_stream_callbacks* callbacks) {
  return capi::guard([&] {
    auto& s = session_of(session);
    capi::required(name, "name");
    s.set_user_input_handler(name, handler_of(s.input_anchor(name), callbacks));
  });
}

poprt_error* poprt_session_set_user_output_handler(poprt_session* session, const char* name,
                                                   const poprt_stream_callbacks* callbacks) {
  return capi::guard([&] {
    auto& s = session_of(session);
    capi::required(name, "name");
    s.set_user_output_handler(name, handler_of(s.output_anchor(name), callbacks));
  });
}

size_t poprt_session_user_input_count(const poprt_session* session) {
  return session ? session->session.user_input_anchors().size() : 0;
}

size_t poprt_session_user_output_count(const poprt_session* session) {
  return session ? session->session.user_output_anchors().size() : 0;
}

const poprt_anchor* poprt_session_user_input(const poprt_session* session, size_t index) {
  return session ? anchor_at(session->session.user_input_anchors(), index) : nullptr;
}

const poprt_anchor* poprt_session_user_output(const poprt_session* session, size_t index) {
  return session ? anchor_at(session->session.user_output_anchors(), index) : nullptr;
}

poprt_error* poprt_session_verify_connected(const poprt_session* session) {
  return capi::guard([&] { capi::required(session, "session").session.verify_connected(); });
}

poprt_error* poprt_session_run_load_programs(poprt_session* session) {
  return capi::guard([&] { session_of(session).run_load_programs(); });
}

poprt_error* poprt_session_run_main_programs(poprt_session* session) {
  return capi::guard([&] { session_of(session).run_main_programs(); });
}

poprt_error* poprt_session_run_main_programs_unless_stopped(poprt_session* session,
                                                            int32_t* out_ran) {
  return capi::guard([&] {
    auto& ran = capi::required(out_ran, "out_ran");
    ran = session_of(session).run_main_programs_unless_stopped() ? 1 : 0;
  });
}

poprt_error* poprt_session_run_save_programs(poprt_session* session) {
  return capi::guard([&] { session_of(session).run_save_programs(); });
}

poprt_error* poprt_session_run_programs(poprt_session* session, const uint32_t* indices,
                                        size_t index_count) {
  return capi::guard([&] {
    auto& s = session_of(session);
    if (index_count) capi::required(indices, "indices");
    s.run_programs({indices, index_count});
  });
}

poprt_error* poprt_session_profile(poprt_session* session, poprt_string** out_json) {
  return capi::guard([&] {
    const auto& s = capi::required(session, "session");
    auto& out = capi::required(out_json, "out_json");
    if (!s.profile) fail(ErrorCode::failed_precondition, "the session was made without profiling");
    out = capi::make_profile(s.session.profile());
  });
}

poprt_error* poprt_session_update_weights(poprt_session* session, const char* name,
                                          const void* data, size_t bytes) {
  return capi::guard([&] {
    auto& s = session_of(session);
    capi::required(name, "name");
    if (bytes && !data) fail(ErrorCode::invalid_argument, "argument 'data' is null");
    s.update_weights(name, {data, bytes});
  });
}

poprt_error* poprt_session_read_weights(const poprt_session* session, const char* name, void* data,
                                        size_t bytes) {
  return capi::guard([&] {
    const auto& s = capi::required(session, "session").session;
    s.read_weights(&capi::required(name, "name"), {data, bytes});
  });
}

poprt_error* poprt_session_create_queue_manager(poprt_session* session,
                                                const poprt_queue_options* options,
                                                poprt_queue_manager** out_manager) {
  return capi::guard([&] {
    auto& s = session_of(session);
    auto& out = capi::required(out_manager, "out_manager");
    const auto o = capi::read_options(options, "poprt_queue_options");
    if (o.timeout_ns < 0) fail(ErrorCode::invalid_argument, "timeout_ns is negative");
    std::function<void(runtime::InputStreamQueue&)> timeout;
    if (o.timeout)
      timeout = [call = o.timeout, data = o.timeout_data](runtime::InputStreamQueue& q) {
        call(handle(q), data);
      };
    runtime::QueueManager& queues = s.create_queue_manager(
        o.buffers ? o.buffers : 16, std::move(timeout), std::chrono::nanoseconds(o.timeout_ns),
        predicate_of(o.predicate, o.predicate_data, false),
        predicate_of(o.predicate, o.predicate_data, true));
    out = reinterpret_cast<poprt_queue_manager*>(&queues);
  });
}

poprt_error* poprt_queue_manager_input_queue(poprt_queue_manager* manager, const char* name,
                                             poprt_queue** out_queue) {
  return capi::guard([&] {
    auto& m = from_handle(capi::required(manager, "manager"));
    auto& out = capi::required(out_queue, "out_queue");
    out = handle(m.input_queue(&capi::required(name, "name")));
  });
}

poprt_error* poprt_queue_manager_output_queue(poprt_queue_manager* manager, const char* name,
                                              poprt_queue** out_queue) {
  return capi::guard([&] {
    auto& m = from_handle(capi::required(manager, "manager"));
    auto& out = capi::required(out_queue, "out_queue");
    out = handle(m.output_queue(&capi::required(name, "name")));
  });
}

void poprt_queue_manager_flush_all(poprt_queue_manager* manager) {
  if (manager) from_handle(*manager).flush_all();
}

void poprt_queue_manager_disconnect_all(poprt_queue_manager* manager) {
  if (manager) from_handle(*manager).disconnect_all();
}

poprt_error* poprt_queue_enqueue_input(poprt_queue* queue, const void* data, size_t bytes,
                                       poprt_queue_fn callback, void* user_data) {
  return enqueue(queue, callback, user_data, [&](runtime::StreamQueue& q, auto done) {
    auto* const in = dynamic_cast<runtime::InputStreamQueue*>(&q);
    if (!in) fail(ErrorCode::invalid_argument, "'{}' is an output queue", q.anchor().name);
    return in->enqueue(data, bytes, done);
  });
}

poprt_error* poprt_queue_enqueue_output(poprt_queue* queue, void* data, size_t bytes,
                                        poprt_queue_fn callback, void* user_data) {
  return enqueue(queue, callback, user_data, [&](runtime::StreamQueue& q, auto done) {
    auto* const out = dynamic_cast<runtime::OutputStreamQueue*>(&q);
    if (!out) fail(ErrorCode::invalid_argument, "'{}' is an input queue", q.anchor().name);
    return out->enqueue(data, bytes, done);
  });
}

const poprt_anchor* poprt_queue_anchor(const poprt_queue* queue) {
  return queue ? capi::to_handle(&from_handle(*queue).anchor()) : nullptr;
}

size_t poprt_queue_capacity(const poprt_queue* queue) {
  return queue ? from_handle(*queue).capacity() : 0;
}

size_t poprt_queue_read_available(const poprt_queue* queue) {
  return queue ? from_handle(*queue).read_available() : 0;
}
