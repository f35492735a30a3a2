// The bytes of a sequence that is saved.
//
//   offset  bytes
//   0       8      "POPRTSEQ"
//   8       8      number of bytes of the whole, little-endian
//   16      8      number of bytes of the JSON text
//   24             JSON: the fingerprint of the model, tokens, options, and the sizes of the rest
//                  f32: logits that wait, features
//                  the state on the device (Decoder::save)
//   end-4   4      CRC-32C of all bytes before
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generate/decoder.h"
#include "generate/generator.h"

namespace poprt::generate {

struct SavedSequence {
  SequenceOptions options;  // without beams
  size_t prompt_length = 0;
  std::vector<int64_t> tokens;
  size_t computed = 0;
  std::vector<Token> unread;
  Finish finish = Finish::none;
  bool waits = false;
  std::vector<float> pending;
  uint64_t draws = 0;
  bool encoded = false;
  int64_t source_length = 0;
  std::vector<std::byte> device;  // empty if the sequence has ended or nothing was computed
};

// A text that differs for other programs, weights and packages.
std::string fingerprint_of(const runtime::Model& model);

std::vector<std::byte> write_saved(const SavedSequence& s, const std::string& fingerprint);

// Throws data_loss for damaged bytes, and failed_precondition for those of another model, version
// of poprt or maximum length. The result fits the decoder.
SavedSequence read_saved(std::span<const std::byte> bytes, const std::string& fingerprint,
                         const Decoder& decoder);

}  // namespace poprt::generate
