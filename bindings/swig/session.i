// Sessions, their queue managers and queues. session_shim.h documents the threads of callbacks.

POPRT_HANDLE(raw_session_options, RawSessionOptions)
POPRT_HANDLE(raw_queue_options, RawQueueOptions)
POPRT_HANDLE(raw_session, RawSession)
POPRT_HANDLE(raw_queue_manager, RawQueueManager)
POPRT_HANDLE(raw_queue, RawQueue)

%extend raw_session_options {
  raw_session_options() { return new raw_session_options; }
  ~raw_session_options() { delete $self; }
  void set_threads(int32_t threads) { $self->options.threads = threads; }
  void set_profile(bool on) { $self->options.profile = on; }
  // The caller keeps the device alive until the session is created.
  void set_device(raw_device* device) { $self->options.device = device; }
  void set_deferred(bool on) { $self->options.deferred = on; }
  void set_exclusive(bool on) { $self->options.exclusive = on; }
  void set_telemetry(bool on) { $self->options.telemetry = on; }
  void set_wait(int32_t strategy, int64_t timeout_ns, int64_t sleep_ns) {
    $self->options.wait_strategy = strategy;
    $self->options.wait_timeout_ns = timeout_ns;
    $self->options.wait_sleep_ns = sleep_ns;
  }
  // `predicate_fn` is a poprt_anchor_predicate_fn, which is called only while the session is made.
  void set_predicate(int64_t predicate_fn, int64_t user_data) {
    $self->predicate = poprt_shim::function<poprt_anchor_predicate_fn>(predicate_fn);
    $self->predicate_data = poprt_shim::pointer(user_data);
  }
}

%extend raw_queue_options {
  raw_queue_options() { return new raw_queue_options; }
  ~raw_queue_options() { delete $self; }
  // A negative number is refused when the queues are made.
  void set_buffers(int64_t buffers) { $self->options.buffers = static_cast<size_t>(buffers); }
  // `timeout_fn` is a raw_timeout_fn, called while the session exists and has these queues.
  void set_timeout(int64_t timeout_ns, int64_t timeout_fn, int64_t user_data) {
    $self->options.timeout_ns = timeout_ns;
    $self->timeout = poprt_shim::function<raw_timeout_fn>(timeout_fn);
    $self->timeout_data = poprt_shim::pointer(user_data);
  }
  // `predicate_fn` is a poprt_anchor_predicate_fn, which is called only while the queues are made.
  void set_predicate(int64_t predicate_fn, int64_t user_data) {
    $self->predicate = poprt_shim::function<poprt_anchor_predicate_fn>(predicate_fn);
    $self->predicate_data = poprt_shim::pointer(user_data);
  }
}

%newobject raw_session::popef_model;
%newobject raw_session::create_queue_manager;
%extend raw_session {
  raw_session(const raw_executable* executable, const raw_session_options& options,
              poprt_result* error) {
    return raw_session::make(executable, options, error);
  }
  // Closes the queues of the session; handles of queues may remain. The language's layer ensures that no other call
  // uses the session meanwhile.
  ~raw_session() { delete $self; }
  poprt_result bind_to_device(raw_device* device) {
    return poprt_session_bind_to_device($self->session, device);
  }
  poprt_result bind_to_any_device() { return poprt_session_bind_to_device($self->session, nullptr); }
  poprt_result load_again() { return poprt_session_reload($self->session); }
  void unload_from_device() { poprt_session_unload_from_device($self->session); }
  bool is_loaded() { return poprt_session_is_loaded($self->session) != 0; }
  void stop() { poprt_session_stop($self->session); }

  // The addresses are those of the functions of poprt_stream_callbacks. If fetch_fn is 0, the handler is removed. The
  // session uses `user_data` until another handler is set, or until the session is freed.
  poprt_result set_input_handler(const char* name, int64_t prefetch_fn, int64_t fetch_fn,
                                 int64_t complete_fn, int64_t invalidate_fn, int64_t interrupt_fn,
                                 int64_t user_data) {
    return $self->set_handler(false, name, poprt_shim::callbacks(prefetch_fn, fetch_fn, complete_fn, invalidate_fn,
                                                                 interrupt_fn, user_data));
  }
  poprt_result set_output_handler(const char* name, int64_t fetch_fn, int64_t complete_fn,
                                  int64_t interrupt_fn, int64_t user_data) {
    return $self->set_handler(true, name,
                              poprt_shim::callbacks(0, fetch_fn, complete_fn, 0, interrupt_fn, user_data));
  }
  int64_t user_input_count() {
    return static_cast<int64_t>(poprt_session_user_input_count($self->session));
  }
  int64_t user_output_count() {
    return static_cast<int64_t>(poprt_session_user_output_count($self->session));
  }
  const raw_anchor* user_input_anchor(int64_t index) {
    return poprt_session_user_input($self->session, static_cast<size_t>(index));
  }
  const raw_anchor* user_output_anchor(int64_t index) {
    return poprt_session_user_output($self->session, static_cast<size_t>(index));
  }

  poprt_result run_load_programs() { return poprt_session_run_load_programs($self->session); }
  poprt_result run_main_programs() { return poprt_session_run_main_programs($self->session); }
  poprt_result run_save_programs() { return poprt_session_run_save_programs($self->session); }
  poprt_result run_programs(poprt_values values, int64_t count) {
    return $self->run_programs(values, count);
  }
  // <functions:session> made from capi/functions.toml by tests/lint/functions.py --write
  poprt_result verify_connected() { return poprt_session_verify_connected($self->session); }
  bool run_main_programs_unless_stopped(poprt_result* error) {
    int32_t value = 0;
    *error = poprt_session_run_main_programs_unless_stopped($self->session, &value);
    return value != 0;
  }
  poprt_text profile(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_session_profile($self->session, &text);
    return text;
  }
  // </functions:session>
  raw_popef_model* popef_model(poprt_result* error) {
    raw_popef_model* made = nullptr;
    *error = poprt_session_popef_model($self->session, &made);
    return made;
  }
  poprt_result update_weights(const char* name, int64_t address, int64_t bytes) {
    return poprt_session_update_weights($self->session, name, poprt_shim::pointer(address),
                                        static_cast<size_t>(bytes));
  }
  poprt_result read_weights(const char* name, int64_t address, int64_t bytes) {
    return poprt_session_read_weights($self->session, name, poprt_shim::pointer(address),
                                      static_cast<size_t>(bytes));
  }
  // Closes earlier queues, and waits for calls that use them. If the options are wrong, the earlier queues stay open.
  raw_queue_manager* create_queue_manager(const raw_queue_options& options, poprt_result* error) {
    return $self->create_queue_manager(options, error);
  }
}

%newobject raw_queue_manager::input_queue;
%newobject raw_queue_manager::output_queue;
%extend raw_queue_manager {
  ~raw_queue_manager() { delete $self; }
  // Returns false if the session was closed or has created other queues.
  bool is_open() { return poprt_shim::Queues::Use(*$self->queues).get() != nullptr; }
  raw_queue* input_queue(const char* name, poprt_result* error) {
    return raw_queue::make(*$self, name, false, error);
  }
  raw_queue* output_queue(const char* name, poprt_result* error) {
    return raw_queue::make(*$self, name, true, error);
  }
  void flush_all() {
    const poprt_shim::Queues::Use use(*$self->queues);
    poprt_queue_manager_flush_all(use.get());
  }
  void disconnect_all() {
    const poprt_shim::Queues::Use use(*$self->queues);
    poprt_queue_manager_disconnect_all(use.get());
  }
}

%extend raw_queue {
  ~raw_queue() { delete $self; }
  // `done_fn` is a poprt_run_done_fn, or 0 for none. It is called once, when the queue no longer uses the memory, which
  // must stay in place until then. It is not called if this call fails. The call waits while the queue is full.
  poprt_result enqueue_input(int64_t address, int64_t bytes, int64_t done_fn, int64_t user_data) {
    return $self->enqueue(false, address, bytes, done_fn, user_data);
  }
  poprt_result enqueue_output(int64_t address, int64_t bytes, int64_t done_fn, int64_t user_data) {
    return $self->enqueue(true, address, bytes, done_fn, user_data);
  }
  // These two return 0 if the queues are closed.
  int64_t capacity() {
    const poprt_shim::Queues::Use use(*$self->queues);
    return static_cast<int64_t>(poprt_queue_capacity(use.get() ? $self->queue : nullptr));
  }
  int64_t read_available() {
    const poprt_shim::Queues::Use use(*$self->queues);
    return static_cast<int64_t>(poprt_queue_read_available(use.get() ? $self->queue : nullptr));
  }
  // Returns the anchor, which is borrowed from the session, or null if the queues are closed.
  const raw_anchor* anchor() {
    const poprt_shim::Queues::Use use(*$self->queues);
    return use.get() ? poprt_queue_anchor($self->queue) : nullptr;
  }
}
