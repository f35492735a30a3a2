// Generates texts for /v1/completions. Each text has a thread that reads its tokens, so that a slow
// client delays no other client.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/text_stream.h"
#include "common/tokenizer.h"
#include "serve/admission.h"
#include "serving/handles.h"

namespace poprt::serve {

using cli::Tokenizer;
using serving::Error;

// Counters of a generator for /metrics. They continue after a reload.
struct GeneratorCounters {
  std::atomic<uint64_t> succeeded{0}, failed{0};  // texts
  std::atomic<uint64_t> rejected{0};              // requests
  std::atomic<uint64_t> prompt_tokens{0}, tokens{0};
  std::atomic<uint64_t> first_tokens{0}, first_token_ns{0};
  std::atomic<int64_t> in_flight{0};
};

// A generator that is ready.
struct LoadedGenerator {
  std::string name;
  serving::Generator generator;
  std::shared_ptr<GeneratorCounters> counters;
  std::unique_ptr<Tokenizer> tokenizer;  // of sentencepiece; if null, prompts must be tokens
  std::string no_tokenizer;              // why there is no tokenizer
  std::string note;                      // the same, if the folder has a tokenizer
};

// A prompt as tokens, or as a text that Generations::start() encodes.
struct Prompt {
  std::vector<int64_t> tokens;
  std::optional<std::string> text;
};

// A request to /v1/completions.
struct CompletionRequest {
  std::string model;
  std::vector<Prompt> prompts;
  std::vector<int64_t> stop_tokens;
  std::vector<std::string> stop_texts;
  std::vector<std::pair<std::string, double>> options;  // of poprt_sequence_set_option
  std::optional<uint64_t> seed;
  int64_t n = 1;  // texts for each prompt
  int64_t min_tokens = 0;
  bool stream = false, include_usage = false, log_probabilities = false;
  int64_t top_log_probabilities = 0;  // of each token
  bool add_special_tokens = true;
};

// Throws Error (invalid_argument) that names the field.
CompletionRequest parse_completion(std::string_view body);

// A token of a text.
struct ChosenToken {
  int64_t id = 0;
  double log_probability = 0;
  // The most probable tokens in its place, if the request asks for them.
  std::vector<std::pair<int64_t, double>> top;
};

// One text of a request.
struct Choice {
  std::vector<ChosenToken> tokens;
  std::string text;           // if the generator has a tokenizer
  std::string finish_reason;  // empty while the text continues
};

// The texts of one request. The threads that read them and the connection share it.
class Completion {
 public:
  explicit Completion(CompletionRequest request);

  // Copies the next bytes of a stream and returns their number: at most `capacity`, 0 if there are
  // none yet, -1 at the end. If there are none yet, calls `suspend` under the lock, and `wake` is
  // called when there are some. Throws std::bad_alloc instead of the end if events are missing.
  int64_t read(char* to, size_t capacity, const std::function<void()>& suspend);
  // Returns the answer without streaming, after `wake` was called. Throws the error of a text, or
  // resource_exhausted if the memory was not sufficient.
  std::string format() const;
  // Cancels the texts; `wake` is not called any more.
  void close();

  CompletionRequest request;
  // Both functions are set before the start. is_connected is called under the lock until close().
  std::function<void()> wake;
  std::function<bool()> is_connected;

 private:
  friend class Generations;
  nlohmann::ordered_json envelope() const;
  nlohmann::ordered_json usage() const;
  void add_event(const std::string& json);
  nlohmann::ordered_json choice_json(size_t index, size_t from, const std::string& text) const;
  void add_token(size_t index, ChosenToken token, const std::string& text);
  // `text`: the rest of the text.
  void end_choice(size_t index, std::string reason, const std::string& text,
                  std::optional<Error> error);
  bool abandoned();
  void notify();

  const std::string id_;
  const int64_t created_;
  mutable std::mutex mutex_;
  // mutex_ guards the following members.
  std::vector<Choice> choices_;
  size_t running_ = 0;
  std::string events_;  // of a stream; the first `sent_` bytes are sent
  size_t sent_ = 0;
  bool waits_ = false;  // whether `wake` must be called
  bool closed_ = false;
  bool incomplete_ = false;  // whether there was no memory for an event, a text or an error
  std::optional<Error> error_;
  std::shared_ptr<const LoadedGenerator> generator_;  // set before the start
};

// Starts texts and limits their number.
class Generations {
 public:
  // `most`: the limit of texts that wait or are generated; `wait_ns`: the time limit for the first
  // token of a text, or 0 for none.
  Generations(int64_t most, int64_t wait_ns) : wait_ns_(wait_ns), admission_(most, "texts") {}

  // Throws Error: invalid_argument and out_of_range (the prompt or an option), resource_exhausted,
  // unavailable (the server stops). Then no text has started. If a thread cannot be started, its
  // text ends with an error. Thread-safe.
  void start(const std::shared_ptr<const LoadedGenerator>& generator,
             const std::shared_ptr<Completion>& completion);
  Admission& admission() { return admission_; }
  // Ends all texts.
  void cancel() { cancelled_ = true; }

 private:
  void read_text(const LoadedGenerator& generator, Completion& completion, size_t index,
                 poprt_sequence* sequence);
  std::string read_tokens(const LoadedGenerator& generator, Completion& completion, size_t index,
                          poprt_sequence* sequence, cli::TextStream* stream);

  const int64_t wait_ns_;
  Admission admission_;
  std::atomic<bool> cancelled_{false};
};

// The answers to GET /v1/models/NAME and GET /v1/models, and that of a failure below /v1.
std::string format_generator(const LoadedGenerator& generator);
std::string format_completion_error(int status, std::string_view message);
std::string format_generators(
    const std::vector<std::shared_ptr<const LoadedGenerator>>& generators);

}  // namespace poprt::serve
