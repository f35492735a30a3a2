// The description of an executable for generation: the opaque blob kGeneration
// (compiler/generation.h), checked against the program.
//
//   {"version": 1, "max_length": 2048, "slots": 4, "grows": false,
//    "input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "",
//    "position": "", "last": "poprt.last", "logits": "logits",
//    "caches": [["past_key_values.0.key", "present.0.key", 2], ...],
//    "shapes": [[4, 1], [1, 1], [1, 64]], "settings": {"stop_tokens": [2], "context_length": 2048}}
//
// A model with a static cache also has {"valid_places": "nonpad_kv_seqlen"}, and a `position`. If
// its caches are rings, {"ring": 512} is the number of their places.
//
// With caches of 8 bits (compiler/byte_caches.h), it has {"cache_precision": "int8"}.
//
// A model with recurrent states also has
//
//   {"states": [["past.0.conv", "present.0.conv"], ...], "mask_of_new_tokens": true}
//
// A model with an encoder also has
//
//   {"encoder": {"input_ids": "encoder/input_ids", "attention_mask": "encoder/attention_mask",
//                "features": "", "memory_mask": "encoder_attention_mask", "places": 512,
//                "lengths": [32, 128, 512],
//                "cross": [["past_key_values.0.encoder.key", "present.0.encoder.key"], ...]},
//    "settings": {"start_tokens": [0]}}
//
// The settings of any model may have {"forced_first": 0, "forced_last": 2, "suppressed": [1],
// "suppressed_first": [220]}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/session/model.h"

namespace poprt::generate {

inline constexpr const char* kGeneration = "poprt.generation";

// One of the programs: `batch` sequences with `tokens` new tokens each. Shape 0 is the decoding
// step: one token of each slot.
struct ProgramShape {
  int64_t batch = 1, tokens = 1;
};

// The past keys or values of all slots. Each slot has `row_bytes`.
struct Cache {
  size_t input = 0, output = 0;  // indices of the anchors
  uint64_t row_bytes = 0;
  bool in_place = false;  // past and present may have the same memory
  uint64_t outer = 1;     // a row is [outer, places(), place_bytes]
  uint64_t place_bytes = 0;
};

// A recurrent state of all slots. A run reads and writes all of the state of its slots.
struct State {
  size_t input = 0, output = 0;  // indices of the anchors
  uint64_t row_bytes = 0;
};

// The keys or values of cross-attention of all slots: an input of the decoder. The encoder computes
// those of one slot.
struct Cross {
  size_t input = 0, output = 0;
  uint64_t row_bytes = 0;
};

// An encoder has a program for each of its lengths, after those of the decoder. Its input is either
// tokens or features, such as a spectrogram.
struct EncoderDescription {
  int64_t places = 0;            // keys of cross-attention
  std::vector<int64_t> lengths;  // tokens of each program, ascending
  std::vector<Cross> cross;
  std::vector<int64_t> features_shape;  // of one sequence
  // Anchors.
  std::optional<size_t> ids, mask, features, memory_mask;
};

struct Description {
  int64_t max_length = 0;  // tokens of a sequence, including the prompt
  int64_t ring = 0;        // places of caches that are rings: token t is in place t % ring
  int64_t slots = 1;
  int64_t vocabulary = 0;
  bool grows = false;  // the mask has places for the new tokens after those of the cache
  std::vector<ProgramShape> shapes;
  bool mask_of_new_tokens = false;  // the mask has no places for earlier tokens
  std::vector<Cache> caches;
  std::string cache_precision;  // "int8": the caches are bytes; empty: that of the model
  std::vector<State> states;
  std::vector<int64_t> stop_tokens;  // of the model
  std::optional<EncoderDescription> encoder;
  // The prompt of the decoder if the caller gives none. May be empty; then the caller must give
  // one.
  std::vector<int64_t> start_tokens;
  // Tokens that are always chosen: as the first one after a prompt of one token, and as the last
  // one of a text that reaches its maximum length.
  std::optional<int64_t> forced_first, forced_last;
  // Tokens that are never chosen, or not as the first one.
  std::vector<int64_t> suppressed, suppressed_first;
  // Indices of anchors.
  size_t ids = 0, logits = 0, variant = 0;
  std::optional<size_t> last, mask, positions, position, valid;

  // The places of a cache.
  int64_t places() const { return ring ? ring : max_length; }
};

// Throws failed_precondition if the model was not compiled for generation, and data_loss if the
// blob contradicts the program.
Description read_description(const runtime::Model& model);

}  // namespace poprt::generate
