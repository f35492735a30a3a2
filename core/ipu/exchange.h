// Cycles of an exchange between the tiles of a chip.
#pragma once

#include <cstdint>

#include "ipu/target.h"

namespace poprt::ipu {

// Cycles in which a tile receives `bytes` from `peers` tiles, without the sync; 0 for no bytes.
// With `shared`, pairs of tiles receive the same bytes, at twice the rate.
int64_t exchange_cycles(const Target& target, int64_t bytes, bool shared, int64_t peers = 1);

// The bytes that a tile receives from one tile in so many cycles: the inverse of exchange_cycles().
int64_t bytes_in_exchange(const Target& target, int64_t cycles, bool shared);

// Cycles that an exchange takes in addition to those for its bytes, because a tile receives them
// from `peers` tiles in pieces that are shorter than 64 words, the most that one instruction sends.
// 0 for longer pieces and for one peer.
int64_t fragment_cycles(int64_t bytes, int64_t peers);

}  // namespace poprt::ipu
