// Generates texts of tokens with a language model. Sequences of any number of threads share the
// steps of one thread (continuous batching):
//
//   submit() ─► waiting ─► a free slot ─► prompt, in pieces ─► a token each round ─► done
//
// In each round the thread admits waiting sequences to free slots in the order of submission, runs
// one piece of each of up to four prompts, in turn, and one decoding step for all sequences whose
// prompt was computed. So a long prompt delays other sequences by at most one piece in each round,
// and any number of prompts by at most four. Each sequence is computed in its row of the caches, so
// its tokens do not depend on the others.
//
// A beam search has a slot for each beam. A text that continues keeps its slot, and a slot is
// copied only where two texts continue one.
//
// With an encoder, a sequence also has a source: tokens or features. The encoder runs once, before
// the prompt of the decoder.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "generate/decoder.h"
#include "generate/sequence.h"
#include "generate/stopping.h"

namespace poprt::generate {

struct GeneratorOptions {
  device::LoadOptions load;
  // A new sequence uses the tokens that an earlier one left in a slot, or that another one has, if
  // its prompt begins with them. Results may then differ in the last bits, because a prompt and a
  // decoding step round differently. Has no effect on a model with an encoder.
  bool reuse_prefixes = false;
};

struct SavedSequence;

class Generator {
 public:
  // Throws the errors of Decoder.
  explicit Generator(std::shared_ptr<const runtime::Model> model, GeneratorOptions options = {});
  // Sequences that have not ended fail with cancelled.
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  const Description& description() const { return decoder_.description(); }
  const runtime::Model& model() const { return *decoder_.model(); }

  // Begins a text after the prompt. With an encoder, an empty prompt means the start tokens of the
  // model. Throws invalid_argument for an empty prompt, a token outside of the vocabulary, a
  // missing source or a wrong option, and out_of_range if the prompt leaves no place for a token,
  // or if the source is longer than the encoder. `callback` is as in Sequence::set_callback().
  // Thread-safe.
  std::shared_ptr<Sequence> submit(std::span<const int64_t> prompt, SequenceOptions options = {},
                                   std::function<void()> callback = {});

  // Returns the bytes of a sequence of this generator, with its state on the device, its options
  // and the tokens that were not read. restore() continues it, with the same tokens, in this
  // generator or in another one of an equal model; the time limit begins again. save() waits for
  // the end of the current run. It throws invalid_argument for a sequence of another generator,
  // unimplemented for a beam search, and the error of a sequence that failed. restore() throws
  // data_loss for damaged bytes, and failed_precondition for those of another model, build or
  // maximum length. submit(), save(), restore(), check_saved() and statistics() throw
  // failed_precondition in a forked process, which does not have the thread. Thread-safe.
  std::vector<std::byte> save(Sequence& sequence);
  std::shared_ptr<Sequence> restore(std::span<const std::byte> bytes,
                                    std::function<void()> callback = {});
  // Checks the bytes without continuing the sequence. Throws the errors of restore().
  void check_saved(std::span<const std::byte> bytes);

  // JSON with the state of slots and caches, and the numbers of sequences, tokens and seconds since
  // the generator was created. Thread-safe.
  std::string statistics() const;

 private:
  using SequencePtr = std::shared_ptr<Sequence>;

  void work();
  bool work_once(std::unique_lock<ForkMutex>& lock);
  void call_back();
  void end_all(const Error& error);
  void check_process() const;
  void admit();
  size_t free_slot_for(const Sequence& s, std::optional<size_t>& from) const;
  size_t reusable(std::span<const int64_t> cached, std::span<const int64_t> prompt) const;
  void drop_ended();
  bool has_prompt(size_t slot) const;
  void run_prompts();
  void run_prompt();
  void run_step();
  void take_logits(Sequence& s, std::span<float> logits);
  void choose(Sequence& s, std::span<float> logits);
  void enqueue(const SequencePtr& s);
  void end(Sequence& s, Finish finish, std::optional<Error> error = {});
  void release(Sequence& s);
  Stopping stopping_of(const Sequence& s) const;
  void check_source(const SequenceOptions& options) const;
  size_t slots_of(const Sequence& s) const;
  void copy_slot(size_t from, size_t to);
  void step_beams(Sequence& s, std::span<const std::span<float>> rows);
  void place_beams(Sequence& s);
  void end_beams(Sequence& s);
  bool has_work() const;
  SavedSequence snapshot(const Sequence& s) const;
  void save_wanted();
  const std::string& fingerprint();
  SavedSequence read_saved(std::span<const std::byte> bytes);
  void note_slots();
  void publish();

  Decoder decoder_;
  const GeneratorOptions options_;
  std::shared_ptr<Sequence::Shared> shared_;
  std::once_flag fingerprint_made_;
  std::string fingerprint_;

  // Guarded by the mutex of `shared_`.
  std::deque<SequencePtr> waiting_;
  bool stopping_ = false;
  struct Counts {
    int64_t prompt_tokens = 0, decode_tokens = 0, decode_steps = 0, reused_tokens = 0;
    double prompt_seconds = 0, decode_seconds = 0, encoder_seconds = 0;
    int64_t submitted = 0, ended = 0, encoder_runs = 0;
    int64_t busy_slots = 0, used_places = 0;
  } counts_;
  size_t active_count_ = 0;

  // Used by the thread only, except `thread_`, which the constructor sets and the destructor joins.
  std::vector<SequencePtr> slots_;            // by slot; null: free
  std::vector<std::vector<int64_t>> cached_;  // tokens in the caches, by slot
  size_t turn_ = 0;                           // the slot whose prompt is next
  std::thread thread_;
};

}  // namespace poprt::generate
