// The description of an executable for generation: the opaque blob kGeneration
// (compiler/generation.h), checked against the program.
//
//   {"version": 1, "max_length": 2048, "slots": 4, "grows": false,
//    "input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "",
//    "position": "", "last": "poprt.last", "logits": "logits",
//    "caches": [["past_key_values.0.key", "present.0.key", 2], ...],
//    "shapes": [[4, 1], [1, 1], [1, 64]], "settings": {"stop_tokens": [2], "context_length": 2048}}
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

// The past keys, values or states of all slots. Each slot has `row_bytes`.
struct Cache {
  size_t input = 0, output = 0;  // indices of the anchors
  uint64_t row_bytes = 0;
  bool in_place = false;  // past and present may have the same memory
};

struct Description {
  int64_t max_length = 0;  // tokens of a sequence, including the prompt
  int64_t slots = 1;
  int64_t vocabulary = 0;
  bool grows = false;  // the mask has places for the new tokens after those of the cache
  std::vector<ProgramShape> shapes;
  std::vector<Cache> caches;
  std::vector<int64_t> stop_tokens;  // of the model
  // Indices of anchors.
  size_t ids = 0, last = 0, logits = 0, variant = 0;
  std::optional<size_t> mask, positions, position;
};

// Throws failed_precondition if the model was not compiled for generation, and data_loss if the
// blob contradicts the program.
Description read_description(const runtime::Model& model);

}  // namespace poprt::generate
