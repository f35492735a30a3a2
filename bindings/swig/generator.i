// Generators of texts, and their sequences.

POPRT_HANDLE(raw_generator, RawGenerator)
POPRT_HANDLE(raw_sequence, RawSequence)

%newobject raw_generator::create;
%newobject raw_generator::new_sequence;
%extend raw_generator {
  // A number of 0, or an empty text, means the default.
  static raw_generator* create(const char* path, int64_t max_length, int64_t slots, int64_t prefill,
                               int32_t threads, bool reuse_prefixes, int64_t encoder_length,
                               const char* states, const char* cache_precision,
                               poprt_result* error) {
    poprt_generator_options options{};
    options.struct_size = sizeof options;
    options.max_length = max_length;
    options.slots = slots;
    options.prefill = prefill;
    options.threads = threads;
    options.reuse_prefixes = reuse_prefixes;
    options.encoder_length = encoder_length;
    options.states = states;
    options.cache_precision = cache_precision;
    raw_generator* made = nullptr;
    *error = poprt_generator_create(path, &options, &made);
    return made;
  }
  ~raw_generator() { poprt_generator_free($self); }
  raw_sequence* new_sequence(poprt_result* error) {
    raw_sequence* made = nullptr;
    *error = poprt_generator_new_sequence($self, &made);
    return made;
  }
  // <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write
  int64_t max_length() { return poprt_generator_max_length($self); }
  int64_t slots() { return poprt_generator_slots($self); }
  int64_t vocabulary() { return poprt_generator_vocabulary($self); }
  poprt_text statistics(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_generator_statistics($self, &text);
    return text;
  }
  poprt_result save(const char* path) { return poprt_generator_save($self, path); }
  // </functions:generator>
}

%newobject raw_sequence::save_bytes;
%extend raw_sequence {
  ~raw_sequence() { poprt_sequence_free($self); }
  raw_blob* save_bytes(poprt_result* error) {
    auto* blob = new raw_blob;
    *error = poprt_sequence_save_bytes($self, raw_blob::append, blob);
    if (!*error) return blob;
    delete blob;
    return nullptr;
  }
  poprt_result restore_bytes(int64_t address, int64_t bytes) {
    return poprt_sequence_restore_bytes($self, poprt_shim::pointer(address), static_cast<size_t>(bytes));
  }
  // <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write
  poprt_result append(int64_t token) { return poprt_sequence_append($self, token); }
  poprt_result set_option(const char* name, double value) { return poprt_sequence_set_option($self, name, value); }
  poprt_result add_stop_token(int64_t token) { return poprt_sequence_add_stop_token($self, token); }
  poprt_result add_bad_token(int64_t token) { return poprt_sequence_add_bad_token($self, token); }
  poprt_result start() { return poprt_sequence_start($self); }
  int64_t next(int64_t timeout_ns, poprt_result* error) {
    int64_t value = 0;
    *error = poprt_sequence_next($self, timeout_ns, &value);
    return value;
  }
  double log_probability() { return poprt_sequence_log_probability($self); }
  poprt_text finish_reason(poprt_result* error) {
    poprt_string* text = nullptr;
    *error = poprt_sequence_finish_reason($self, &text);
    return text;
  }
  void cancel() { poprt_sequence_cancel($self); }
  int64_t wait_logits(int64_t timeout_ns, poprt_result* error) {
    int64_t value = 0;
    *error = poprt_sequence_wait_logits($self, timeout_ns, &value);
    return value;
  }
  double logit(int64_t token) { return poprt_sequence_logit($self, token); }
  poprt_result set_logit(int64_t token, double value) { return poprt_sequence_set_logit($self, token, value); }
  poprt_result resume() { return poprt_sequence_resume($self); }
  poprt_result append_decoder(int64_t token) { return poprt_sequence_append_decoder($self, token); }
  poprt_result append_feature(double value) { return poprt_sequence_append_feature($self, value); }
  poprt_result read_features(const char* path) { return poprt_sequence_read_features($self, path); }
  bool next_text(poprt_result* error) {
    int32_t value = 0;
    *error = poprt_sequence_next_text($self, &value);
    return value != 0;
  }
  poprt_result save(const char* path) { return poprt_sequence_save($self, path); }
  poprt_result restore(const char* path) { return poprt_sequence_restore($self, path); }
  double score() { return poprt_sequence_score($self); }
  // </functions:sequence>
}
