// Decomposes Attention and RotaryEmbedding. ops/attention.cpp documents the inputs and outputs of
// Attention, and kernels/calls/rotary_embedding.h documents the rotation.
#include <cmath>
#include <limits>

#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

class AttentionParts {
 public:
  explicit AttentionParts(Rewriter& r) : r_(r) {
    wide_ = r.dtype(0) == DType::f16 ? DType::f32 : r.dtype(0);
  }

  void run() {
    packed_ = r_.rank(0) == 3;
    const int64_t q_heads = packed_ ? r_.at.int_attr("q_num_heads", 0) : r_.shape(0)[1];
    const int64_t kv_heads = packed_ ? r_.at.int_attr("kv_num_heads", 0) : r_.shape(1)[1];
    if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads) r_.reject("heads do not fit");
    Value* q = heads(0, q_heads);
    Value* k = cached(1, 4, 1, kv_heads);
    Value* v = cached(2, 5, 2, kv_heads);
    queries_ = r_.shape_of(q)[2];
    keys_ = r_.shape_of(k)[2];
    past_ = r_.has(4) ? r_.shape(4)[2] : 0;
    k = repeated(k, q_heads / kv_heads);
    v = repeated(v, q_heads / kv_heads);
    const double usual = 1 / std::sqrt(static_cast<double>(r_.shape_of(q)[3]));
    const double scale =
        r_.at.find_attr("scale") ? static_cast<double>(r_.at.float_attr("scale", 1)) : usual;
    Value* s = r_.newest(
        "MatMul",
        {wide(q), r_.newest("Transpose", {wide(k)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}})});
    s = r_.newest("Mul", {s, r_.number(wide_, scale)});
    stage(0, s);
    if (const auto cap = static_cast<double>(r_.at.float_attr("softcap", 0)); cap > 0)
      s = r_.newest("Mul", {r_.newest("Tanh", {r_.newest("Div", {s, r_.number(wide_, cap)})}),
                            r_.number(wide_, cap)});
    stage(1, s);
    s = masked(s);
    stage(2, s);
    Value* p = probabilities(s);
    stage(3, p);
    Value* y = r_.cast(r_.newest("MatMul", {p, wide(v)}), r_.dtype(0));
    if (packed_) {
      const Shape& shape = r_.shape_of(y);
      const Shape flat = {shape[0], shape[2], shape[1] * shape[3]};
      y = r_.newest("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
      y = r_.newest("Reshape", {y, r_.ints(flat)});
    }
    r_.result(0, y);
  }

 private:
  Value* wide(Value* v) { return r_.cast(v, wide_); }

  // The result has the shape [B, heads, length, size].
  Value* heads(size_t input, int64_t count) {
    Value* v = r_.in(input);
    if (!packed_) return v;
    const Shape& shape = r_.shape_of(v);
    if (shape.size() != 3 || shape[2] % count) r_.reject("heads do not fit");
    v = r_.newest("Reshape", {v, r_.ints({shape[0], shape[1], count, shape[2] / count})});
    return r_.newest("Transpose", {v}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }

  Value* cached(size_t input, size_t past, size_t present, int64_t count) {
    Value* v = heads(input, count);
    if (r_.has(past)) v = r_.newest("Concat", {r_.in(past), v}, {{"axis", int64_t{2}}});
    if (r_.wants(present)) r_.result(present, v);
    return v;
  }

  // Repeats each head of keys or values for the `times` query heads that share it.
  Value* repeated(Value* v, int64_t times) {
    if (times == 1) return v;
    const Shape shape = r_.shape_of(v);
    v = r_.newest("Reshape", {v, r_.ints({shape[0], shape[1], 1, shape[2], shape[3]})});
    v = r_.newest("Expand", {v, r_.ints({shape[0], shape[1], times, shape[2], shape[3]})});
    return r_.newest("Reshape", {v, r_.ints({shape[0], shape[1] * times, shape[2], shape[3]})});
  }

  void stage(int64_t number, Value* s) {
    if (r_.wants(3) && r_.at.int_attr("qk_matmul_output_mode", 0) == number)
      r_.result(3, r_.cast(s, r_.dtype(0)));
  }

  Value* both(Value* a, Value* b) { return a && b ? r_.newest("And", {a, b}) : a ? a : b; }
  Value* lowest() { return r_.number(wide_, -std::numeric_limits<double>::infinity()); }

  // The mask of keys that a query attends to, from causal order, window and sequence lengths; null
  // if it attends to all keys.
  Value* visible() {
    const bool causal = r_.at.int_attr("is_causal", 0) != 0;
    const int64_t left = r_.at.int_attr("left_window_size", -1),
                  right = r_.at.int_attr("right_window_size", -1);
    Tensor position = Tensor::zeros(DType::s64, {queries_, 1});
    for (int64_t i = 0; i < queries_; i++)
      position.mutable_values<int64_t>()[static_cast<size_t>(i)] =
          i + (r_.has(6) ? -queries_ : past_);
    Value *where = r_.constant(position), *keys = r_.iota(keys_), *seen = nullptr;
    if (r_.has(6)) {
      Value* length = r_.newest("Reshape", {r_.in(6), r_.ints({-1, 1, 1, 1})});
      seen = r_.newest("Less", {keys, length});
      where = r_.newest("Add", {where, length});
    }
    const auto at_most = [&](Value* a, Value* b, int64_t further) {
      Value* bound =
          further ? r_.newest("Add", {b, r_.number(DType::s64, static_cast<double>(further))}) : b;
      seen = both(seen, r_.newest("LessOrEqual", {a, bound}));
    };
    if (causal) at_most(keys, where, 0);
    if (right >= 0) at_most(keys, where, right);
    if (left >= 0) at_most(where, keys, left);
    return seen;
  }

  Value* masked(Value* s) {
    Value* seen = visible();
    if (r_.has(3)) {
      Value* mask = r_.in(3);
      const Shape shape = r_.shape_of(mask);
      if (shape.back() < keys_) {  // keys beyond the end of the mask are hidden
        std::vector<int64_t> pads(2 * shape.size(), 0);
        pads.back() = keys_ - shape.back();
        const bool choice = mask->dtype() == DType::boolean;
        if (choice) mask = r_.cast(mask, DType::s32);
        Value* fill = choice ? r_.number(DType::s32, 0)
                             : r_.number(mask->dtype(), -std::numeric_limits<double>::infinity());
        mask = r_.newest("Pad", {mask, r_.ints(pads), fill});
        if (choice) mask = r_.cast(mask, DType::boolean);
      }
      if (mask->dtype() == DType::boolean)
        seen = both(seen, mask);
      else
        s = r_.newest("Add", {s, wide(mask)});
    }
    hides_ = seen || r_.has(3);
    return seen ? r_.newest("Where", {seen, s, lowest()}) : s;
  }

  // A query that attends to no key gets zeros.
  Value* probabilities(Value* s) {
    Value* p = r_.newest("Softmax", {s}, {{"axis", int64_t{-1}}});
    if (!hides_) return p;
    Value* most = r_.newest("ReduceMax", {s, r_.ints({-1})}, {{"keepdims", int64_t{1}}});
    Value* blind = r_.newest("Equal", {most, lowest()});
    return r_.newest("Where", {blind, r_.number(wide_, 0), p});
  }

  Rewriter& r_;
  DType wide_;
  bool packed_ = false, hides_ = false;
  int64_t queries_ = 0, keys_ = 0, past_ = 0;
};

}  // namespace

void attention_to_parts(Rewriter& r) {
  r.slower("it is several operators there");
  AttentionParts(r).run();
}

void attention_without_window(Rewriter& r) {
  const bool window =
      r.at.int_attr("left_window_size", -1) >= 0 || r.at.int_attr("right_window_size", -1) >= 0;
  if (window) return attention_to_parts(r);
  r.drop("left_window_size");
  r.drop("right_window_size");
}

void attention_without_lengths(Rewriter& r) {
  if (r.has(6)) return attention_to_parts(r);
  r.keep_inputs(6);
}

void rotary_embedding_to_parts(Rewriter& r) {
  r.slower("it is several operators there");
  const Shape& given = r.shape(0);
  const bool packed = given.size() == 3;
  const int64_t heads = packed ? r.at.int_attr("num_heads", 0) : given[1];
  if (heads < 1 || (packed && given[2] % heads)) r.reject("heads do not fit");
  Value* x = r.in(0);
  if (packed) {  // [B, S, heads * size] becomes [B, heads, S, size]
    x = r.newest("Reshape", {x, r.ints({given[0], given[1], heads, given[2] / heads})});
    x = r.newest("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }
  const Shape shape = r.shape_of(x);
  int64_t rotated = r.at.int_attr("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = shape[3];
  const int64_t half = rotated / 2;
  const auto table = [&](size_t i) {
    Value* t = r.in(i);
    if (r.has(3)) t = r.newest("Gather", {t, r.in(3)}, {{"axis", int64_t{0}}});
    return r.newest("Reshape", {t, r.ints({shape[0], 1, shape[2], half})});
  };
  Value *cos = table(1), *sin = table(2);
  Value* turned = r.slice(x, 3, 0, rotated);
  Value *a = nullptr, *b = nullptr;
  const bool interleaved = r.at.int_attr("interleaved", 0) != 0;
  if (interleaved) {
    const auto every_second = [&](int64_t first) {
      return r.newest("Slice",
                      {turned, r.ints({first}), r.ints({rotated}), r.ints({3}), r.ints({2})});
    };
    a = every_second(0);
    b = every_second(1);
  } else {
    a = r.slice(turned, 3, 0, half);
    b = r.slice(turned, 3, half, rotated);
  }
  Value* real = r.newest("Sub", {r.newest("Mul", {cos, a}), r.newest("Mul", {sin, b})});
  Value* imaginary = r.newest("Add", {r.newest("Mul", {sin, a}), r.newest("Mul", {cos, b})});
  Value* y = nullptr;
  if (interleaved) {
    real = r.newest("Unsqueeze", {real, r.ints({4})});
    imaginary = r.newest("Unsqueeze", {imaginary, r.ints({4})});
    y = r.newest("Concat", {real, imaginary}, {{"axis", int64_t{4}}});
    y = r.newest("Reshape", {y, r.ints({shape[0], shape[1], shape[2], rotated})});
  } else {
    y = r.newest("Concat", {real, imaginary}, {{"axis", int64_t{3}}});
  }
  if (rotated < shape[3])
    y = r.newest("Concat", {y, r.slice(x, 3, rotated, shape[3])}, {{"axis", int64_t{3}}});
  if (packed) {
    y = r.newest("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    y = r.newest("Reshape", {y, r.ints(given)});
  }
  r.result(0, y);
}

}  // namespace poprt::opsets
