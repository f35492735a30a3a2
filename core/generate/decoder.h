// A language model on a device, with the caches of several sequences.
//
// The caches stay in the memory of the decoder, which is also memory of the device. If the program
// allows it (Cache::in_place), each run gets the same memory for past and present, and writes only
// the places of the new tokens. Otherwise, the present is copied back after each run. A sequence
// has a slot, which is a row of each cache and of each recurrent state. The host stores its length,
// so rolling back moves no memory. The places after the length have unspecified contents. A cache
// that is a ring has the last tokens of a text, which may be longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "generate/description.h"
#include "runtime/session/session.h"

namespace poprt::generate {

// Only one thread at a time may use it, except stop() and the functions that read no slot:
// description(), model(), saved_bytes(), cache_bytes() and telemetry(). prefill(), decode() and
// encode() also throw the errors of Session::run_main_programs().
class Decoder {
 public:
  // Throws the errors of Session and read_description(), and resource_exhausted.
  Decoder(std::shared_ptr<const runtime::Model> model, const device::LoadOptions& load);

  const Description& description() const { return d_; }
  const std::shared_ptr<const runtime::Model>& model() const { return session_.shared_model(); }

  int64_t length(size_t slot) const { return lengths_[slot]; }
  // Forgets all tokens of a slot from `length` on. Throws invalid_argument if it has fewer.
  // Recurrent states depend on all tokens, and a ring that is full does not have the first ones. So
  // a slot of a model with such states, or with such a ring, can only keep all tokens or none, and
  // other lengths throw failed_precondition.
  void roll_back(size_t slot, int64_t length);
  // Makes slot `to` equal to slot `from`.
  void copy(size_t from, size_t to);

  // The bytes of a slot: the places of its tokens in each cache, its states, and its keys and
  // values of cross-attention. restore() makes a slot equal to the one that was saved. It throws
  // data_loss if `bytes` does not have saved_bytes(length) bytes, or if the slot would have no
  // place for a further token.
  uint64_t saved_bytes(int64_t length) const;
  std::vector<std::byte> save(size_t slot) const;
  void restore(size_t slot, int64_t length, int64_t source_length,
               std::span<const std::byte> bytes);
  // The number of tokens of the input of the encoder; for features, the number of keys of
  // cross-attention; 0 without an encoder.
  int64_t source_length(size_t slot) const;

  // Appends the first of the tokens to a slot, as many as one program takes, in one run. Returns
  // their number. The logits are those after the last appended token. Throws failed_precondition if
  // `tokens` is empty, or if the slot has no room for all of them and one more, because decode()
  // writes to the place after the sequence.
  size_t prefill(size_t slot, std::span<const int64_t> tokens);
  // Appends tokens[s] to slot s, unless it is -1. The logits of slot s are row s. Throws
  // failed_precondition if a slot has no room for its token and one more.
  void decode(std::span<const int64_t> tokens);

  // Runs the encoder for a slot, which then has no token. Throws invalid_argument for a wrong
  // number of tokens or features, or if the model has no such input.
  void encode(size_t slot, std::span<const int64_t> tokens, std::span<const float> features);

  // The logits of the last run: row 0 after prefill(), and the row of each slot with a token after
  // decode().
  std::span<float> logits(size_t row);

  // Bytes of the caches and of the keys and values of cross-attention of all slots.
  uint64_t cache_bytes() const;
  // The telemetry of the session, which has a record of the generator, or null.
  runtime::Telemetry* telemetry() const { return session_.telemetry(); }

  // Makes the current run and later ones fail with cancelled. Any thread may call it.
  void stop() noexcept { session_.stop(); }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  static Memory allocate(uint64_t bytes);

  struct Input {
    std::vector<std::byte> bytes;
    DType dtype = DType::undefined;
    void put(size_t index, int64_t value);
  };
  Input input_of(size_t anchor) const;
  void set_row(const ProgramShape& shape, size_t row, std::span<const int64_t> tokens,
               int64_t length);
  void run(size_t shape, size_t first_slot);
  size_t shape_for(int64_t length, size_t tokens) const;
  void prepare_encoder();
  void keep_states(size_t first_slot, std::span<const int64_t> tokens);
  // The places of a cache that `length` tokens use.
  int64_t used_places(int64_t length) const { return std::min(length, d_.places()); }
  std::byte* cross_row(size_t i, size_t slot) const;
  // Calls visit(memory, bytes) for each part of a slot that is saved.
  template <class Visit>
  void each_part(size_t slot, int64_t length, const Visit& visit) const;

  runtime::Session session_;
  const Description d_;
  std::vector<int64_t> lengths_;
  Input ids_, mask_, positions_, position_, valid_, last_, variant_;
  std::vector<float> logits_;
  std::vector<Memory> caches_, copies_;  // copies_: the results of caches that are not in place
  // A run reads states_ and writes new_states_, because it also computes rows of slots that have no
  // new token, which must not change.
  std::vector<Memory> states_, new_states_;
  // With an encoder.
  Input source_ids_, source_mask_, features_, memory_mask_;
  std::vector<Memory> cross_;
  std::vector<int64_t> source_lengths_;  // by slot
  std::vector<uint64_t> sources_;        // by slot: number of the input of its cross-attention
  uint64_t last_source_ = 0;

  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace poprt::generate
