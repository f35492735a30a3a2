// Generators: texts of tokens from a language model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "poprt/error.hpp"
#include "poprt/generator.h"

namespace poprt {
inline namespace v1 {

// How a Generator compiles and runs a model. Since 1.0.
struct GeneratorOptions {
  int64_t maxLength = 0;  // tokens of a text; 0: the context of the model, at most 2048
  int64_t slots = 0;      // sequences that one step computes together; 0: 1
  int64_t prefill = 0;    // tokens of a prompt that one run computes; 0: 32 and 128
  int32_t threads = 0;    // 0: POPRT_THREADS from the environment, or all CPUs
  // Whether a sequence uses tokens that another one left on the device.
  bool reusePrefixes = false;
  const poprt_compiler* compiler = nullptr;  // how to compile; null: default options
  int64_t encoderLength = 0;  // tokens of the input of an encoder; 0: its context, at most 512
  // Recurrent states that are not found by their names: "past=present,...", with "%d" for a number.
  std::string states;
  // How caches are stored: "int8" in 8 bits; empty: the precision of the model.
  std::string cachePrecision;
};

// One text of a Generator. It is used by one thread at a time, except cancel(). Since 1.0.
class Sequence {
 public:
  // Takes ownership of the handle.
  explicit Sequence(poprt_sequence* handle) : handle_(handle) {}

  // <functions:sequence> made from capi/functions.toml by tests/lint/functions.py --write
  // Appends a token to the prompt. For a model whose encoder takes tokens, it is the input of the
  // encoder. Throws invalid_argument (the token is outside of the vocabulary); failed_precondition
  // (the sequence has started, or continues a saved text). Since 1.0.
  void append(int64_t token) { detail::check(poprt_sequence_append(handle_.get(), token)); }
  // Sets an option: `temperature` (0, the default: the most probable token), `top_k` (0: all),
  // `top_p` (1: all), `min_p`, `repetition_penalty` (1: none), `seed`, `max_new_tokens` (0: until
  // the maximum length), `min_new_tokens`, `ignore_stop` (1: the stop tokens of the model do not
  // end the text), `time_limit` (seconds; 0: none), `wait_for_logits` (1: the text waits before
  // each token, so that the caller can change the logits), `num_beams` (1: no beam search; each
  // beam needs a slot), `num_return_sequences` (texts of a beam search), `length_penalty` (1; a
  // score is divided by the length to this power), `early_stopping` (of a beam search; 0: when no
  // better text is likely, 1: when `num_beams` texts have ended, 2: when no better text is
  // possible). Throws not_found (no option has the name; the message lists the names);
  // invalid_argument (the option does not accept the value); failed_precondition (the sequence has
  // started, or continues a saved text). Since 1.0.
  void setOption(const std::string& name, double value) {
    detail::check(poprt_sequence_set_option(handle_.get(), detail::text(name, "name"), value));
  }
  // Adds a token that ends the text. It is the last token that is returned. Throws invalid_argument
  // (the token is outside of the vocabulary); failed_precondition (the sequence has started, or
  // continues a saved text). Since 1.0.
  void addStopToken(int64_t token) {
    detail::check(poprt_sequence_add_stop_token(handle_.get(), token));
  }
  // Adds a token that is never chosen. Throws invalid_argument (the token is outside of the
  // vocabulary); failed_precondition (the sequence has started, or continues a saved text).
  // Since 1.0.
  void addBadToken(int64_t token) {
    detail::check(poprt_sequence_add_bad_token(handle_.get(), token));
  }
  // Starts the text. The call does not wait; the text waits until a slot is free. Throws
  // invalid_argument (the prompt is empty, the encoder has no input, or options exclude each
  // other); out_of_range (the prompt has as many tokens as a text may have, or the input of the
  // encoder is too long); failed_precondition (the sequence has started). Since 1.0.
  void start() { detail::check(poprt_sequence_start(handle_.get())); }
  // The next token, for which the call waits; -1 at the end of the text. If a run of the device has
  // failed, the call after the last token fails with its error. Throws deadline_exceeded (there is
  // no token in time); failed_precondition (the sequence has not started, waits until the caller
  // resumes it, or has no token that may be chosen). Since 1.0.
  int64_t next(int64_t timeoutNs) const {
    int64_t value = 0;
    detail::check(poprt_sequence_next(handle_.get(), timeoutNs, &value));
    return value;
  }
  // The logarithm of the probability that the model gives the token that was returned last, before
  // penalties and temperature. 0 before the first token. Since 1.0.
  double logProbability() const { return poprt_sequence_log_probability(handle_.get()); }
  // Why the text has ended: `stop` (a stop token), `length` (the maximum number of tokens),
  // `deadline` (its time limit), `cancelled`, `error`; empty while it continues. A text ends before
  // its last tokens are read. Since 1.0.
  std::string finishReason() const {
    poprt_string* text = nullptr;
    detail::check(poprt_sequence_finish_reason(handle_.get(), &text));
    return detail::take(text);
  }
  // Ends the text before its next token. Any thread may call it. Since 1.0.
  void cancel() { poprt_sequence_cancel(handle_.get()); }
  // The number of logits of the next token, for which the call waits with the option
  // `wait_for_logits`; 0 at the end of the text. Throws deadline_exceeded (there are no logits in
  // time); failed_precondition (the sequence was started without the option, or has not started).
  // Since 1.0.
  int64_t waitLogits(int64_t timeoutNs) const {
    int64_t value = 0;
    detail::check(poprt_sequence_wait_logits(handle_.get(), timeoutNs, &value));
    return value;
  }
  // The logit of a token, after the call that waits for the logits. 0 if there is none. Since 1.0.
  double logit(int64_t token) const { return poprt_sequence_logit(handle_.get(), token); }
  // Changes the logit of a token, after the call that waits for the logits. Throws invalid_argument
  // (the token is outside of the vocabulary); failed_precondition (the sequence does not wait).
  // Since 1.0.
  void setLogit(int64_t token, double value) {
    detail::check(poprt_sequence_set_logit(handle_.get(), token, value));
  }
  // Chooses the next token from the logits, which the caller may have changed. Throws
  // failed_precondition (the sequence does not wait). Since 1.0.
  void resume() { detail::check(poprt_sequence_resume(handle_.get())); }
  // Appends a token to the prompt of the decoder, for a model with an encoder. Without it, the
  // decoder starts with the tokens that the configuration of the model states. Throws
  // invalid_argument (the token is outside of the vocabulary, or the model has no encoder);
  // failed_precondition (the sequence has started, or continues a saved text). Since 1.0.
  void appendDecoder(int64_t token) {
    detail::check(poprt_sequence_append_decoder(handle_.get(), token));
  }
  // Appends an element to the features of an encoder, such as the spectrogram of Whisper, in
  // row-major order. Throws invalid_argument (the encoder takes no features); out_of_range (there
  // are as many as the encoder takes); failed_precondition (the sequence has started, or continues
  // a saved text). Since 1.0.
  void appendFeature(double value) {
    detail::check(poprt_sequence_append_feature(handle_.get(), value));
  }
  // Reads the features of an encoder from a .npy file of NumPy. Their number must be that of the
  // encoder. Throws not_found (the file does not exist); invalid_argument (it is not a complete
  // .npy file of floating-point numbers, the number differs, or the encoder takes no features);
  // failed_precondition (the sequence has started, or continues a saved text). Since 1.0.
  void readFeatures(const std::string& path) {
    detail::check(poprt_sequence_read_features(handle_.get(), detail::text(path, "path")));
  }
  // Whether a beam search has another text. The call waits for the end of the search and goes to
  // that text, whose tokens are then the next ones. Throws failed_precondition (the sequence has
  // not started, or has no token that may be chosen). Since 1.0.
  bool nextText() const {
    int32_t value = 0;
    detail::check(poprt_sequence_next_text(handle_.get(), &value));
    return value != 0;
  }
  // Writes the text so far to a file: its state on the device, its options and the tokens that were
  // not read. A sequence that restores the file continues it with the same tokens. The text goes on
  // here. The file is written completely or not at all, and replaces an existing file. Throws
  // failed_precondition (the sequence has not started); unimplemented (the sequence is a beam
  // search); not_found (the folder does not exist); permission_denied (the file cannot be created);
  // resource_exhausted (the disk is full). Since 1.0.
  void save(const std::string& path) {
    detail::check(poprt_sequence_save(handle_.get(), detail::text(path, "path")));
  }
  // Reads a saved text instead of a prompt and options. Starting the sequence continues the text.
  // The generator must have the same model and sizes. The time limit begins again. Throws not_found
  // (the file does not exist); data_loss (the file is damaged or truncated); failed_precondition
  // (the sequence has started, or has a prompt or options; or the file is of another model, build
  // or size). Since 1.0.
  void restore(const std::string& path) {
    detail::check(poprt_sequence_restore(handle_.get(), detail::text(path, "path")));
  }
  // The score of the current text of a beam search: the sum of its log-probabilities divided by its
  // length to the power `length_penalty`. 0 before the end and for other sequences. Since 1.0.
  double score() const { return poprt_sequence_score(handle_.get()); }
  // </functions:sequence>

  // Sets a function that a thread of the generator calls when the sequence has progress; see
  // poprt_sequence_set_callback. It must not block or throw, and may only call cancel() of
  // sequences. An empty function removes the former one, which does not run after the return.
  // Throws failed_precondition (called in a callback). Since 1.0.
  void setCallback(std::function<void()> callback) {
    std::unique_ptr<std::function<void()>> next;
    if (callback) next = std::make_unique<std::function<void()>>(std::move(callback));
    const auto call = [](void* function) { (*static_cast<std::function<void()>*>(function))(); };
    detail::check(poprt_sequence_set_callback(
        handle_.get(), next ? static_cast<poprt_sequence_fn>(call) : nullptr, next.get()));
    handle_.get_deleter().callback = std::move(next);
  }

  // The text so far, as save() writes it to a file. Throws failed_precondition (the sequence has
  // not started); unimplemented (it is a beam search). Since 1.0.
  std::vector<uint8_t> saveBytes() {
    std::vector<uint8_t> bytes;
    const auto write = [](const void* data, size_t size, void* to) -> int32_t {
      const auto* first = static_cast<const uint8_t*>(data);
      auto& all = *static_cast<std::vector<uint8_t>*>(to);
      all.insert(all.end(), first, first + size);
      return 0;
    };
    detail::check(poprt_sequence_save_bytes(handle_.get(), write, &bytes));
    return bytes;
  }
  // Reads the bytes of saveBytes() or of a file instead of a prompt and options, as restore() does.
  // They are copied. Throws data_loss (they are damaged or truncated); failed_precondition (the
  // sequence has started, or has a prompt or options; or they are of another model, build or size).
  // Since 1.0.
  void restoreBytes(const void* data, size_t size) {
    detail::check(poprt_sequence_restore_bytes(handle_.get(), data, size));
  }
  void restoreBytes(const std::vector<uint8_t>& bytes) { restoreBytes(bytes.data(), bytes.size()); }

  void append(const std::vector<int64_t>& tokens) {
    for (const int64_t token : tokens) append(token);
  }
  // Waits for the end of the text and returns its remaining tokens. Option `time_limit` bounds the
  // wait.
  std::vector<int64_t> readAll() {
    std::vector<int64_t> tokens;
    for (int64_t token = next(-1); token >= 0; token = next(-1)) tokens.push_back(token);
    return tokens;
  }
  poprt_sequence* handle() const noexcept { return handle_.get(); }

 private:
  struct Free {
    std::unique_ptr<std::function<void()>> callback;  // exists longer than the handle that calls it
    void operator()(poprt_sequence* h) const { poprt_sequence_free(h); }
  };
  std::unique_ptr<poprt_sequence, Free> handle_;
};

// A language model on a device (poprt_generator_create). Thread-safe. Since 1.0.
class Generator {
 public:
  explicit Generator(const std::string& path, const GeneratorOptions& options = {}) {
    poprt_generator_options o{};
    o.struct_size = sizeof o;
    o.max_length = options.maxLength;
    o.slots = options.slots;
    o.prefill = options.prefill;
    o.threads = options.threads;
    o.reuse_prefixes = options.reusePrefixes ? 1 : 0;
    o.compiler = options.compiler;
    o.encoder_length = options.encoderLength;
    if (!options.states.empty()) o.states = detail::text(options.states, "states");
    if (!options.cachePrecision.empty())
      o.cache_precision = detail::text(options.cachePrecision, "cachePrecision");
    poprt_generator* made = nullptr;
    detail::check(poprt_generator_create(detail::text(path, "path"), &o, &made));
    handle_.reset(made);
  }

  // A text that has not started. It keeps the generator alive.
  Sequence newSequence() const {
    poprt_sequence* made = nullptr;
    detail::check(poprt_generator_new_sequence(handle_.get(), &made));
    return Sequence(made);
  }

  // <functions:generator> made from capi/functions.toml by tests/lint/functions.py --write
  // The most tokens of a text, including its prompt. Since 1.0.
  int64_t maxLength() const { return poprt_generator_max_length(handle_.get()); }
  // The number of sequences that one step computes together. Since 1.0.
  int64_t slots() const { return poprt_generator_slots(handle_.get()); }
  // The number of tokens that the model knows. A token is a number from 0 to this one, exclusive.
  // Since 1.0.
  int64_t vocabulary() const { return poprt_generator_vocabulary(handle_.get()); }
  // A JSON object with the numbers of slots, sequences, tokens, steps and seconds since the
  // generator was created. Thread-safe. Since 1.0.
  std::string statistics() const {
    poprt_string* text = nullptr;
    detail::check(poprt_generator_statistics(handle_.get(), &text));
    return detail::take(text);
  }
  // Writes a PopEF file, from which a generator is created without compiling. The file is written
  // completely or not at all, and replaces an existing file. Throws not_found (the folder does not
  // exist); permission_denied (the file cannot be created); resource_exhausted (the disk is full).
  // Since 1.0.
  void save(const std::string& popefPath) const {
    detail::check(poprt_generator_save(handle_.get(), detail::text(popefPath, "popefPath")));
  }
  // </functions:generator>

  poprt_generator* handle() const noexcept { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_generator* h) const { poprt_generator_free(h); }
  };
  std::unique_ptr<poprt_generator, Free> handle_;
};

}  // namespace v1
}  // namespace poprt
