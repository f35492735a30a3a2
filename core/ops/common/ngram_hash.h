// Hashes of n-grams of tokens: NGramHashMapping and VarlenNGramHashMapping of com.microsoft.
//
// For n = 2 .. max_ngram_size, the tokens t, t - 1, .. t - n + 1 times multipliers are combined by
// exclusive or; each head takes the result modulo its size and adds its offset, if there are
// offsets. A boundary in front of position p hides all earlier tokens from position p and later
// ones.
#pragma once

#include <functional>

#include "ops/common/expansion.h"

namespace poprt::ops {

struct NGramHash {
  int64_t size = 0, heads = 0;  // heads of each n
  ir::Value *multipliers = nullptr, *vocab_sizes = nullptr, *offsets = nullptr;
  ir::Value* eos = nullptr;  // scalar, may be null
  int64_t pad = 0;
  bool resets = false;  // at eos

  int64_t state() const { return size - 1; }  // tokens before the first
};

// Reads the attributes and inputs 1 and 2 of the node, and checks their shapes.
NGramHash ngram_hash_of(Expansion& e, size_t offsets, size_t eos);

// The token that missing history consists of, as a scalar of the type of input 0.
ir::Value* missing_token(Expansion& e, const NGramHash& h);

// The hashes [.., heads]. token(k) and segment(k) return the values k places before each position,
// [..]; segment may be empty.
using AtLag = std::function<ir::Value*(int64_t lag)>;
ir::Value* ngram_hashes(Expansion& e, const NGramHash& h, const AtLag& token, const AtLag& segment);

}  // namespace poprt::ops
