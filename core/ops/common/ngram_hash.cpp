#include "ops/common/ngram_hash.h"

#include <limits>

namespace poprt::ops {

using ir::Value;

namespace {

constexpr int64_t kMostTokens = 64;  // of an n-gram
constexpr int64_t kMostHeads = int64_t{1} << 20;

}  // namespace

NGramHash ngram_hash_of(Expansion& e, size_t offsets, size_t eos) {
  const ir::Node& n = e.node;
  NGramHash h;
  h.size = n.int_attr("max_ngram_size", 0);
  h.heads = n.int_attr("n_head_per_ngram", 0);
  h.pad = n.int_attr("pad_id", 0);
  e.check(h.size >= 2 && h.size <= kMostTokens, "max_ngram_size must be in 2 to 64");
  e.check(h.heads >= 1 && h.heads < kMostHeads, "n_head_per_ngram must be positive");
  const DType type = e.dtype(0);
  if (type != DType::s32 && type != DType::s64)
    e.fail_unsupported("element type {}, expected s32 or s64", dtype_name(type));
  e.check(type == DType::s64 || (h.pad >= std::numeric_limits<int32_t>::min() &&
                                 h.pad <= std::numeric_limits<int32_t>::max()),
          "pad_id is outside the type of input_ids");
  const int64_t all = h.state() * h.heads;
  e.check(e.shape(1).size() == 1 && e.shape(1)[0] >= h.size,
          "multipliers must have max_ngram_size elements");
  e.check(e.shape(2) == Shape{all}, "vocab_sizes must have an element for each head");
  if (const Value* v = e.in(2); v->is_constant())
    for (const int64_t size : v->constant().to_int64s())
      e.check(size > 0, "vocab_sizes must be positive");
  h.multipliers = e.in(1);
  h.vocab_sizes = e.in(2);
  if (e.has(offsets)) {
    e.check(e.shape(offsets) == Shape{all}, "head_offsets must have an element for each head");
    h.offsets = e.in(offsets);
  }
  if (e.has(eos)) {
    e.check(element_count(e.shape(eos)) == 1, "eos_token_id must have one element");
    h.eos = e.reshape(e.in(eos), {});
  }
  h.resets = h.eos && n.int_attr("reset_on_eos", 0) != 0;
  return h;
}

Value* missing_token(Expansion& e, const NGramHash& h) {
  if (h.eos) return h.eos;
  return e.cast(e.constant(Tensor::scalar(h.pad)), e.dtype(0));
}

Value* ngram_hashes(Expansion& e, const NGramHash& h, const AtLag& token, const AtLag& segment) {
  Value *mix = nullptr, *hidden = nullptr, *missing = missing_token(e, h);
  std::vector<Value*> parts;
  for (int64_t k = 0; k < h.size; k++) {
    Value* t = token(k);
    if (k > 0) {
      // A boundary between the tokens k and k - 1 places before hides token k.
      const auto meet = [&](Value* boundary) {
        hidden = hidden ? e.add("Or", {hidden, boundary}) : boundary;
      };
      if (h.resets) meet(e.add("Equal", {t, missing}));
      if (segment) meet(e.add("Not", {e.add("Equal", {segment(k - 1), segment(k)})}));
      if (hidden) t = e.add("Where", {hidden, missing, t});
    }
    Value* product = e.add("Mul", {t, e.reshape(e.slice(h.multipliers, 0, k, k + 1), {})});
    mix = mix ? e.newest("BitwiseXor", {mix, product}) : product;
    if (k == 0) continue;
    Shape one = e.shape_of(mix);
    one.push_back(1);
    parts.push_back(e.add(
        "Mod", {e.reshape(mix, one), e.slice(h.vocab_sizes, 0, (k - 1) * h.heads, k * h.heads)}));
  }
  Value* y = e.concat(parts, -1);
  return h.offsets ? e.add("Add", {y, h.offsets}) : y;
}

}  // namespace poprt::ops
