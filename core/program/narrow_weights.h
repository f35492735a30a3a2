// Floats among a program's weights that a narrower type holds exactly: what was f16, bf16 or an
// 8-bit float in the model. A payload stores them in that type, and a reader widens them once, so
// that kernels find floats as ever. Of Winograd's weights, which no narrow type holds, the payload
// has the plain ones, and a reader transforms them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/winograd_weights.h"

namespace poprt::program {

// Bytes [offset, offset + bytes) of the weights are f32; the payload has them as `dtype` (f16,
// bf16, f8_143 or f8_152), 8-bit floats times 2^exponent. With `winograd` these are the plain
// weights of what is packed there: a record of it gives them when it is asked to fill so many bytes
// as they have (program/builder.h).
struct NarrowWeights {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  DType dtype = DType::f16;
  int32_t exponent = 0;
  WinogradWeights winograd = {};  // tile 0: floats as they are

  // Of the numbers that the payload has.
  uint64_t count() const {
    return winograd.tile ? static_cast<uint64_t>(winograd.plain_floats()) : bytes / sizeof(float);
  }
  bool operator==(const NarrowWeights&) const = default;
};

// Looks at numbers piece by piece, and stops early: weights of an f32 model differ at once.
class Narrowing {
 public:
  // False when no type holds all that came so far.
  bool add(std::span<const float> values);
  // The narrowest type that holds all of them exactly, zeros without their sign never taken for
  // those with it; its offset and bytes are 0.
  std::optional<NarrowWeights> narrowest() const;

 private:
  bool holds(int significant, int highest, int lowest) const;
  uint32_t mantissa_ = 0;          // of all, one upon the other
  int high_ = -1000, low_ = 1000;  // exponents of the greatest number and of the least last bit
  bool minus_zero_ = false, broken_ = false;
};

// Sorts the table and checks it: multiples of four bytes inside of `weights_bytes`, known types, no
// overlap. Throws data_loss.
void check_narrow(std::vector<NarrowWeights>& table, uint64_t weights_bytes);

// A piece of the weights, and where a payload has it: each begins at a multiple of 64.
struct StoredPiece {
  uint64_t offset, bytes;         // of the weights
  uint64_t stored, stored_bytes;  // of the payload's
  const NarrowWeights* narrow;    // null: as it is
};
std::vector<StoredPiece> stored_pieces(std::span<const NarrowWeights> table,
                                       uint64_t weights_bytes);
// What a payload stores in all.
uint64_t stored_bytes(std::span<const StoredPiece> pieces);

// Floats to their narrow form and back; sizes must fit.
void narrow(const NarrowWeights& form, std::span<const float> from, std::span<std::byte> to);
void widen(const NarrowWeights& form, std::span<const std::byte> from, std::span<float> to);

// All of the weights from all that a payload stores, on several threads.
void widen_all(std::span<const StoredPiece> pieces, std::span<const std::byte> stored,
               std::span<std::byte> weights);

}  // namespace poprt::program
