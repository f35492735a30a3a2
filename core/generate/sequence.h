// A text that a generator makes (generate/generator.h), and its options.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "generate/beams.h"
#include "generate/sampler.h"

namespace poprt::generate {

// The reason why a sequence ended. stop: a stop token was chosen. length: max_new_tokens or
// Description::max_length was reached. cancelled: the caller cancelled it. deadline: the time limit
// was reached. error: a run failed or the generator was destroyed, and next() throws the error.
enum class Finish : uint8_t { none, stop, length, cancelled, deadline, error };
std::string_view finish_name(Finish finish);

struct SequenceOptions {
  SamplingOptions sampling;
  std::chrono::nanoseconds time_limit{};  // from submission; 0: no limit
  // Before each token, the sequence waits until the caller, who may change the logits, calls
  // resume().
  bool wait_for_logits = false;
  BeamOptions beams;  // with more than one beam, tokens come when the search has ended
  // The input of the encoder.
  std::vector<int64_t> source;
  std::vector<float> features;
};

class Generator;
struct SavedSequence;

// One text. All functions are thread-safe. In a forked child, functions that wait or change the
// sequence throw failed_precondition, and cancel() and set_callback() have no effect.
class Sequence : public std::enable_shared_from_this<Sequence> {
 public:
  // Waits for the next token that was not returned yet. Returns nothing at the end. A negative
  // timeout waits without limit. Throws deadline_exceeded if there is none in time, the error of
  // the run, and failed_precondition if the sequence waits for resume().
  std::optional<Token> next(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));
  // Returns none while the sequence continues. Its last tokens may be unread when it has ended.
  Finish finish() const;
  // Ends the sequence after the current run, which may still add a token. Tokens that were
  // generated can still be read.
  void cancel();
  size_t prompt_length() const noexcept { return prompt_length_; }

  // Waits for the end and goes to the next text of a beam search, whose tokens next() then returns.
  // Unread tokens of the current text are lost. Returns false if there is no further text. Throws
  // deadline_exceeded and the error of the run.
  bool next_text(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));
  // The score of the current text of a beam search; 0 before its end and for other sequences.
  double score() const;

  // Waits for the logits of the next token; returns none if the sequence has ended. Throws
  // failed_precondition without wait_for_logits, deadline_exceeded, and the error of the run.
  std::vector<float> logits(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));
  // Continues with these logits. Throws invalid_argument for a wrong number, and
  // failed_precondition if the sequence does not wait.
  void resume(std::span<const float> logits);

  // Sets a function that the thread of the generator calls after progress: next(), logits() or
  // next_text() returns without waiting where it waited before. One call may report several tokens.
  // Progress before this call is reported too. An empty function removes the former one. After the
  // return, the former function does not run. Throws failed_precondition in a callback.
  //
  // A callback must not block or throw. It may call cancel() and functions that do not wait. It
  // must not destroy the generator.
  void set_callback(std::function<void()> callback);

 private:
  friend class Generator;
  struct Shared;

  std::shared_ptr<Shared> shared_;
  size_t prompt_length_ = 0;
  Sampler sampler_;
  SequenceOptions options_;
  std::vector<int64_t> tokens_;      // the prompt and the tokens since
  size_t computed_ = 0;              // tokens that are in the cache
  int64_t source_length_ = 0;        // of a text that is restored
  std::vector<std::byte> restored_;  // its state, until it has a slot
  bool encoded_ = false;
  std::chrono::steady_clock::time_point begin_;  // the time of its submission
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::optional<size_t> slot_;
  // With beams: the slots of the running texts, and those that are free.
  std::optional<BeamSearch> search_;
  std::vector<size_t> beam_slots_, spare_slots_;

  // Guarded by the mutex of `shared_`.
  std::deque<Token> unread_;
  Finish finish_ = Finish::none;
  std::optional<Error> error_;
  bool cancelled_ = false;
  bool waits_ = false;  // for resume()
  bool save_wanted_ = false;
  std::shared_ptr<const SavedSequence> saved_;
  std::vector<float> pending_;
  std::deque<BeamText> texts_;  // results of a beam search after the current one
  double score_ = 0;
  bool has_callback_ = false;
  bool to_call_ = false;                 // the sequence is in the list of `shared_`
  std::shared_ptr<Sequence> next_call_;  // the list has no nodes, so adding to it cannot fail

  // Held while the callback runs. It is locked before the mutex of `shared_`.
  std::mutex calling_;
  std::function<void()> callback_;  // guarded by `calling_`

  void report_progress();
  void take_text(const BeamText& text);
  explicit Sequence(SequenceOptions options);
};

}  // namespace poprt::generate
