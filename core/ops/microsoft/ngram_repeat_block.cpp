// Inputs: input_ids s64 [B,S], scores [B,V]. The score of a token that would complete an n-gram of
// ngram_size tokens that occurred before becomes -infinity.
#include <limits>

#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_ngram_repeat_block_op {
namespace {

void expand(Expansion& e) {
  const Shape ids = e.shape(0), scores = e.shape(1);
  e.check(ids.size() == 2 && scores.size() == 2 && ids[0] == scores[0],
          "input_ids and scores must have two dimensions and one batch");
  const int64_t size = e.node.int_attr("ngram_size", 0);
  e.check(size > 0, "ngram_size must be positive");
  const int64_t batch = ids[0], tokens = ids[1], runs = tokens - size + 1;
  if (runs <= 0) return e.out(0, e.add("Identity", {e.in(1)}));
  // Whether the tokens before the last one of each n-gram are the last tokens of the text.
  ir::Value* hit = e.expand(e.number(DType::boolean, 1), {batch, runs});
  for (int64_t j = 0; j + 1 < size; j++) {
    ir::Value* same = e.add(
        "Equal", {e.slice(e.in(0), 1, j, j + runs), e.slice(e.in(0), 1, runs + j, runs + j + 1)});
    hit = e.add("And", {hit, same});
  }
  ir::Value* zeros = e.expand(e.number(DType::s32, 0), scores);
  ir::Value* forbidden = e.newest(
      "ScatterElements", {zeros, e.slice(e.in(0), 1, size - 1, tokens), e.cast(hit, DType::s32)},
      {{"axis", int64_t{1}}, {"reduction", std::string("max")}});
  e.out(0,
        e.add("Where", {e.cast(forbidden, DType::boolean),
                        e.number(e.dtype(1), -std::numeric_limits<double>::infinity()), e.in(1)}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_ngram_repeat_block_op

POPRT_EXPANSION_WITH_FACTS(microsoft_ngram_repeat_block_op, "com.microsoft", "NGramRepeatBlock",
                           expand, .trial = {"T[1,4]; f32[1,4]", "ngram_size = 2"})
