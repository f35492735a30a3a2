// Weights that are f32 in memory but that a narrower type represents exactly, usually because they
// were f16, bf16 or an 8-bit float in the model. A payload stores them in that type; a reader
// converts them once, so that kernels read floats as usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"

namespace poprt::program {

// Bytes [offset, offset + bytes) of the weights are f32. The payload stores them as `dtype` (f16,
// bf16, f8_143 or f8_152); 8-bit floats are multiplied by 2^exponent.
struct NarrowWeights {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  DType dtype = DType::f16;
  int32_t exponent = 0;

  // The number of elements in the payload.
  uint64_t count() const { return bytes / sizeof(float); }
  bool operator==(const NarrowWeights&) const = default;
};

// Finds the narrowest type for weights that are added piece by piece, so that the caller can stop
// early: usually the first values of an f32 model already need f32.
class Narrowing {
 public:
  // Returns false if no narrow type represents all values so far.
  bool add(std::span<const float> values);
  // The narrowest type that represents all values exactly, or nullopt if there is none. Zeros keep
  // their sign. The offset and bytes of the result are 0.
  std::optional<NarrowWeights> narrowest() const;

 private:
  bool fits(int significant, int highest, int lowest) const;
  uint32_t mantissa_ = 0;          // bitwise or of all mantissas
  int high_ = -1000, low_ = 1000;  // exponents of the largest number and of the lowest bit
  bool minus_zero_ = false, broken_ = false;
};

// Sorts the table by offset and checks it. Throws data_loss unless the offsets and sizes of all
// entries are multiples of four bytes, no entry is empty, ends after `weights_bytes` or overlaps
// another, and types and exponents are known.
void check_narrow(std::vector<NarrowWeights>& table, uint64_t weights_bytes);

// A piece of the weights and its place among the weights of a payload, where each piece begins at a
// multiple of 64.
struct StoredPiece {
  uint64_t offset, bytes;         // in the weights
  uint64_t stored, stored_bytes;  // in the payload
  const NarrowWeights* narrow;    // null if it is stored unchanged
};
// Returns the entries of a table that check_narrow() has accepted, and the bytes between the
// entries, in the order of their offsets. The pieces point to entries of `table`.
std::vector<StoredPiece> stored_pieces(std::span<const NarrowWeights> table,
                                       uint64_t weights_bytes);
// The number of bytes of all pieces in a payload, with the gaps between them.
uint64_t stored_bytes(std::span<const StoredPiece> pieces);

// Convert floats to their narrow form and back. The sizes must match.
void narrow(const NarrowWeights& form, std::span<const float> from, std::span<std::byte> to);
void widen(const NarrowWeights& form, std::span<const std::byte> from, std::span<float> to);

// Writes all weights of a payload to `weights`, on up to 16 threads: converts the narrow pieces and
// copies the others.
void widen_all(std::span<const StoredPiece> pieces, std::span<const std::byte> stored,
               std::span<std::byte> weights);

}  // namespace poprt::program
