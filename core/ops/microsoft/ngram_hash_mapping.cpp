// Inputs: input_ids [B,L], multipliers, vocab_sizes, past_ids? [B, N - 1], head_offsets?,
// eos_token_id?, segment_ids? s32 [B,L]. Outputs: hash_ids [B,L,heads], present_ids? [B, N - 1].
#include "ops/common/ngram_hash.h"

namespace poprt::ops::microsoft_ngram_hash_mapping_op {
namespace {

void expand(Expansion& e) {
  const NGramHash h = ngram_hash_of(e, 4, 5);
  const Shape ids = e.shape(0);
  e.check(ids.size() == 2, "input_ids must be [batch, sequence]");
  const int64_t length = ids[1], state = h.state();
  const Shape past = {ids[0], state};
  e.check(!e.has(3) || e.shape(3) == past, "past_ids must be [batch, max_ngram_size - 1]");
  ir::Value* before = e.has(3) ? e.in(3) : e.expand(missing_token(e, h), past);
  ir::Value* tokens = e.concat({before, e.in(0)}, 1);
  ir::Value* segments = nullptr;
  if (e.has(6)) {
    e.check(e.shape(6) == ids, "segment_ids must have the shape of input_ids");
    // There is no boundary in front of the first token.
    segments = e.concat({e.expand(e.slice(e.in(6), 1, 0, 1), past), e.in(6)}, 1);
  }
  const auto lagged = [&](ir::Value* v) {
    return [&e, v, state, length](int64_t lag) {
      return e.slice(v, 1, state - lag, state - lag + length);
    };
  };
  e.check(length > 0, "input_ids must not be empty");
  e.out(0, ngram_hashes(e, h, lagged(tokens), segments ? AtLag(lagged(segments)) : AtLag()));
  e.out(1, e.slice(tokens, 1, length, length + state));
}

}  // namespace
}  // namespace poprt::ops::microsoft_ngram_hash_mapping_op

POPRT_EXPANSION_WITH_FACTS(microsoft_ngram_hash_mapping_op, "com.microsoft", "NGramHashMapping",
                           expand,
                           .trial = {"T[1,4]; T[2]; T[1]",
                                     "max_ngram_size = 2, n_head_per_ngram = 1, pad_id = 0"})
