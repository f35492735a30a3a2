// Several sequences of tokens, one after the other, with the cumulative sums of their lengths:
// VarlenCausalConvWithState, VarlenNGramHashMapping and GatedDeltaNet of com.microsoft.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// All are s64.
struct SequencePlaces {
  int64_t batch = 0, tokens = 0;
  ir::Value *begins = nullptr, *lengths = nullptr;  // [batch]
  // For each token [tokens]: its sequence, the first token of that sequence, and its place in it.
  ir::Value *sequence = nullptr, *begin = nullptr, *local = nullptr;
};

// `sums` is [batch + 1], starting at 0.
SequencePlaces sequence_places(Expansion& e, ir::Value* sums, int64_t batch, int64_t tokens);

// [batch, count, ..]: the first rows of each sequence of `rows` [tokens, ..]. Rows from counts[b]
// (any integers [batch]) or from the end of the sequence on are `filler`.
ir::Value* first_rows(Expansion& e, ir::Value* rows, const SequencePlaces& places,
                      ir::Value* counts, int64_t count, double filler = 0);

}  // namespace poprt::ops
