#include "ops/common/contrib_attention.h"
#include "ir/newest.h"
#include "ops/common/dimension.h"

#include <array>
#include <cmath>

#include "base/checked.h"
#include "ops/common/value_range.h"

namespace poprt::ops {

using ir::Value;

Value* split_heads(Expansion& e, Value* v, int64_t heads) {
  const int64_t width = dimension(e, v, 2);
  const Shape s = e.shape_of(v);
  return e.transpose(e.reshape(v, {s[0], s[1], heads, width / heads}), {0, 2, 1, 3});
}

namespace {

// Converts [B,heads,L,D] to [B,L,heads*D].
Value* merge_heads(Expansion& e, Value* v) {
  const Shape s = e.shape_of(v);
  return e.reshape(e.transpose(v, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

}  // namespace

AttentionResult attend(Expansion& e, const AttentionCall& call, bool wants_present) {
  const Shape q = e.shape_of(call.q), k = e.shape_of(call.k), v = e.shape_of(call.v);
  const bool by_head = k.size() == 4;
  e.check(q.size() == 3 && (by_head || k.size() == 3) && v.size() == k.size(),
          "query must be 3-D, key and value both 3-D or 4-D");
  e.check(call.heads > 0 && call.kv_heads > 0 && q[2] % call.heads == 0 &&
              (by_head ? k[1] == call.kv_heads && v[1] == call.kv_heads
                       : k[2] % call.kv_heads == 0 && v[2] % call.kv_heads == 0),
          "hidden sizes do not divide into heads");
  const int64_t size = q[2] / call.heads;
  const double scale =
      call.scale != 0 ? call.scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(size, 1)));
  const DType type = call.q->dtype();
  AttentionResult r;
  const bool no_past = !call.past_k || dimension(e, call.past_k, 2) == 0;
  // Query i of several sees keys up to past + i, and a single query sees all keys, as in ONNX
  // Runtime. (ONNX Runtime also lets the last of several queries see all keys, which differs only
  // if there are more new keys than queries.) poprt.Attention aligns the last query with the last
  // key.
  const bool single = q[1] == 1 && !call.lengths && call.left_window < 0;
  const bool causal = call.causal && !single;
  const bool aligned = !causal || (!by_head && q[1] == k[1]);
  if (!by_head && no_past && aligned && call.heads == call.kv_heads &&
      size == v[2] / call.kv_heads && !call.lengths && call.softcap == 0 && call.left_window < 0 &&
      !call.wants_scores) {
    Value* mask = call.mask ? e.cast(call.mask, DType::f32) : nullptr;
    r.y = e.cast(e.add_node("Attention", "poprt",
                            {e.cast(call.q, DType::f32), e.cast(call.k, DType::f32),
                             e.cast(call.v, DType::f32), mask},
                            {{"heads", call.heads},
                             {"head_size", size},
                             {"scale", static_cast<float>(scale)},
                             {"causal", int64_t{causal}}},
                            1)
                     ->output(),
                 type);
    if (wants_present) {
      r.present_k = split_heads(e, call.k, call.kv_heads);
      r.present_v = split_heads(e, call.v, call.kv_heads);
    }
    return r;
  }
  ir::Node* n = e.add_node("Attention", ir::kNewestDomain,
                           {by_head ? split_heads(e, call.q, call.heads) : call.q, call.k, call.v,
                            call.mask, call.past_k, call.past_v, call.lengths},
                           {{"q_num_heads", call.heads},
                            {"kv_num_heads", call.kv_heads},
                            {"scale", static_cast<float>(scale)},
                            {"softcap", static_cast<float>(call.softcap)},
                            {"is_causal", int64_t{causal}},
                            {"left_window_size", call.left_window},
                            {"qk_matmul_output_mode", call.scores_stage}},
                           4);
  r.y = by_head ? merge_heads(e, n->output(0)) : n->output(0);
  r.present_k = n->output(1);
  r.present_v = n->output(2);
  r.scores = n->output(3);
  return r;
}

Value* attend_packed(Expansion& e, Value* qkv, int64_t heads, Value* mask, bool causal,
                     double scale) {
  const Shape s = e.shape_of(qkv);
  const int64_t hidden = s[2] / 3, size = hidden / heads;
  Value* x = e.cast(qkv, DType::f32);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(size, 1)));
  return e.cast(
      e.add_node("Attention", "poprt", {x, x, x, mask ? e.cast(mask, DType::f32) : nullptr},
                 {{"heads", heads},
                  {"head_size", size},
                  {"k_offset", hidden},
                  {"v_offset", 2 * hidden},
                  {"scale", static_cast<float>(scale)},
                  {"causal", int64_t{causal}}},
                 1)
          ->output(),
      qkv->dtype());
}

Value* sum_of_masks(Expansion& e, Value* a, Value* b) {
  if (!a || !b) return a ? a : b;
  return e.add("Add", {a, b});
}

Value* zero_extended_bias(Expansion& e, Value* bias, int64_t keys) {
  if (!bias) return nullptr;
  Shape shape = e.shape_of(bias);
  if (shape.empty() || shape.back() <= 1 || shape.back() >= keys) return bias;
  shape.back() = keys - shape.back();
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  return e.concat({bias, e.expand(e.number(bias->dtype(), 0), shape)}, axis);
}

Value* additive_mask(Expansion& e, Value* mask, int64_t batch, int64_t queries, int64_t keys,
                     int64_t past, double filter, DType dtype) {
  if (!mask) return nullptr;
  const Shape shape = e.shape_of(mask);
  Value* keep = nullptr;
  if (shape.size() == 1 && (shape[0] == batch || shape[0] == 2 * batch ||
                            shape[0] == checked_add(3 * batch, int64_t{2}))) {
    Value* position = e.reshape(e.iota(keys), {1, 1, 1, keys});
    const auto bound = [&](int64_t first) {
      return e.reshape(e.cast(e.slice(mask, 0, first, first + batch), DType::s64),
                       {batch, 1, 1, 1});
    };
    keep = e.add("Less", {position, bound(0)});
    if (shape[0] == 2 * batch)
      keep = e.add("And", {keep, e.add("Not", {e.add("Less", {position, bound(batch)})})});
  } else {
    Shape wide;
    if (shape == Shape{batch, keys})
      wide = {batch, 1, 1, keys};
    else if (shape == Shape{batch, queries, keys})
      wide = {batch, 1, queries, keys};
    else if (shape.size() == 4 && shape[0] == batch && shape[1] == 1 &&
             shape[2] >= past + queries && shape[3] >= keys)
      wide = {batch, 1, queries, keys};
    else
      e.fail_input(
          "mask {} for batch {}, {} queries and {} keys; expected [B], [2B], [3B+2], [B,keys], "
          "[B,queries,keys] or [B,1,M,M]",
          shape_string(shape), batch, queries, keys);
    if (shape.size() == 4) mask = e.slice(e.slice(mask, 2, past, past + queries), 3, 0, keys);
    mask = e.reshape(mask, wide);
    keep = mask->dtype() == DType::boolean ? mask
                                           : e.add("Greater", {mask, e.number(mask->dtype(), 0)});
  }
  return e.add("Where", {keep, e.number(dtype, 0), e.number(dtype, filter)});
}

void attend_projected(Expansion& e, Value* qkv, std::array<int64_t, 3> columns, Value* mask,
                      Value* past, Value* bias) {
  const ir::Node& node = e.node;
  const int64_t heads = node.int_attr("num_heads", 0);
  const Shape s = e.shape_of(qkv);
  e.check(
      heads > 0 && columns[0] % heads == 0 && columns[0] == columns[1] && columns[2] % heads == 0,
      "hidden sizes do not divide into num_heads");
  if (node.int_attr("do_rotary", 0)) e.fail_unsupported("do_rotary");
  if (node.int_attr("past_present_share_buffer", 0))
    e.fail_unsupported("past_present_share_buffer; export with separate past and present");
  const int64_t batch = s[0], queries = s[1], size = columns[0] / heads,
                v_size = columns[2] / heads;
  AttentionCall call;
  int64_t length = 0;
  if (past) {
    const Shape p = e.shape_of(past);
    e.check(p.size() == 5 && p[0] == 2 && p[1] == batch && p[2] == heads && p[4] == size &&
                size == v_size,
            "past must be [2, batch, num_heads, length, head_size]");
    length = p[3];
    const Shape one = {batch, heads, length, size};
    call.past_k = e.reshape(e.slice(past, 0, 0, 1), one);
    call.past_v = e.reshape(e.slice(past, 0, 1, 2), one);
  }
  const int64_t keys = checked_add(length, queries);
  call.mask = sum_of_masks(
      e,
      additive_mask(e, mask, batch, queries, keys, length,
                    static_cast<double>(node.float_attr("mask_filter_value", -10000.0f)),
                    qkv->dtype()),
      bias);
  call.causal = node.int_attr("unidirectional", 0) != 0;
  call.scale = static_cast<double>(node.float_attr("scale", 0));
  call.heads = call.kv_heads = heads;
  const bool wants_present = e.wants(1);
  if (length == 0 && columns[2] == columns[0] && !wants_present) {
    e.out(0, attend_packed(e, qkv, heads, call.mask, call.causal, call.scale));
    return;
  }
  call.q = e.slice(qkv, 2, 0, columns[0]);
  call.k = e.slice(qkv, 2, columns[0], 2 * columns[0]);
  call.v = e.slice(qkv, 2, 2 * columns[0], 2 * columns[0] + columns[2]);
  const AttentionResult r = attend(e, call, wants_present);
  e.out(0, r.y);
  if (!wants_present) return;
  e.check(size == v_size, "present requires values as wide as keys");
  const Shape one = {1, batch, heads, keys, size};
  e.out(1, e.concat({e.reshape(r.present_k, one), e.reshape(r.present_v, one)}, 0));
}

Value* write_cache(Expansion& e, Value* cache, Value* update, Value* start) {
  return e.newest("TensorScatter", {cache, update, start}, {{"axis", int64_t{-2}}});
}

namespace {

// Part `i` of `parts` of [B,L,heads,parts,D], as [B,L,heads*D].
Value* packed_part(Expansion& e, Value* v, int64_t i, int64_t parts) {
  const Shape s = e.shape_of(v);
  e.check(s.size() == 5 && s[3] == parts, "packed heads must be [B, L, heads, parts, size]");
  return e.reshape(e.slice(v, 3, i, i + 1), {s[0], s[1], s[2] * s[4]});
}

// Selects, for each row and key of a cache [rows,heads,M,D], the row that cache_indirection
// [B,beams,M] (rows = B * beams) names: a beam of the same text. Keys from `start` [rows] on belong
// to the row itself.
Value* select_beams(Expansion& e, Value* cache, Value* beams, Value* start) {
  const Shape c = e.shape_of(cache), b = e.shape_of(beams);
  e.check(b.size() == 3 && b[0] * b[1] == c[0] && b[2] == c[2],
          "cache_indirection must be [batch, beams, length of the cache]");
  const int64_t rows = c[0], length = c[2];
  std::vector<int64_t> first(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; r++) first[static_cast<size_t>(r)] = r / b[1] * b[1];
  Value* row = e.add("Add", {e.reshape(e.ints(first), {rows, 1}),
                             e.reshape(e.cast(beams, DType::s64), {rows, length})});
  Value* key = e.reshape(e.iota(length), {1, length});
  row = e.add("Where", {e.add("Less", {key, e.reshape(start, {rows, 1})}), row,
                        e.reshape(e.iota(rows), {rows, 1})});
  Value* flat = e.reshape(e.transpose(cache, {0, 2, 1, 3}), {rows * length, c[1], c[3]});
  Value* place = e.add("Add", {e.scaled(row, static_cast<double>(length)), key});
  return e.transpose(e.add("Gather", {flat, place}), {0, 2, 1, 3});
}

}  // namespace

void expand_multi_head_attention(Expansion& e, const MultiHeadInputs& in) {
  const ir::Node& node = e.node;
  const int64_t heads = node.int_attr("num_heads", 0);
  e.check(heads > 0, "num_heads must be positive");
  AttentionCall call;
  call.heads = call.kv_heads = heads;
  call.scale = static_cast<double>(node.float_attr("scale", 0));
  call.causal = node.int_attr("unidirectional", 0) != 0;
  call.q = e.in(in.query);
  call.k = e.in_or_null(in.key);
  call.v = e.in_or_null(in.value);
  bool bias_on_keys = true;
  if (e.shape_of(call.q).size() == 5) {
    Value* packed = call.q;
    call.q = packed_part(e, packed, 0, 3);
    call.k = packed_part(e, packed, 1, 3);
    call.v = packed_part(e, packed, 2, 3);
  } else if (!call.k) {
    // The query contains the columns of query, key and value.
    const Shape s = e.shape_of(call.q);
    e.check(s.size() == 3 && s[2] % 3 == 0, "query must contain query, key and value");
    Value* packed = call.q;
    call.q = e.slice(packed, 2, 0, s[2] / 3);
    call.k = e.slice(packed, 2, s[2] / 3, s[2] / 3 * 2);
    call.v = e.slice(packed, 2, s[2] / 3 * 2, s[2]);
  } else if (e.shape_of(call.k).size() == 5) {
    Value* packed = call.k;
    call.k = packed_part(e, packed, 0, 2);
    call.v = packed_part(e, packed, 1, 2);
  } else if (e.shape_of(call.k).size() == 4) {
    // Cross attention, whose keys are already projected.
    e.check(call.v && e.shape_of(call.v).size() == 4, "value must be 4-D because key is");
    bias_on_keys = false;
  }
  e.check(call.v != nullptr, "value is missing");
  const Shape q = e.shape_of(call.q);
  e.check(q.size() == 3, "query must be 3-D");
  const size_t key_rank = e.shape_of(call.k).size();
  e.check((key_rank == 3 || key_rank == 4) && e.shape_of(call.v).size() == key_rank,
          "key and value must be 3-D or 4-D");
  if (e.has(in.bias)) {
    Value* bias = e.in(in.bias);
    const int64_t k_columns = e.shape_of(call.k).back(), v_columns = e.shape_of(call.v).back();
    call.q = e.add("Add", {call.q, e.slice(bias, 0, 0, q[2])});
    if (bias_on_keys) {
      call.k = e.add("Add", {call.k, e.slice(bias, 0, q[2], q[2] + k_columns)});
      call.v =
          e.add("Add", {call.v, e.slice(bias, 0, q[2] + k_columns, q[2] + k_columns + v_columns)});
    }
  }
  const int64_t batch = q[0], queries = q[1], news = e.shape_of(call.k)[key_rank - 2];
  const bool shared = e.has(in.past_length) && e.has(in.past_key) && bias_on_keys;
  if (e.has(in.cache_indirection) && !shared)
    e.fail_unsupported("cache_indirection without past_key and past_sequence_length");
  int64_t past = 0;
  Value *cached_k = nullptr, *cached_v = nullptr;
  if (shared) {
    // The past is a buffer of the greatest length; new keys are written after past_sequence_length
    // keys.
    e.check(e.shape(in.past_key).size() == 4, "past_key must have four dimensions");
    check_lengths(node, in.past_length,
                  std::max<int64_t>(dimension(e, e.in(in.past_key), 2) - news, 0),
                  "past_sequence_length");
    Value* start = e.expand(e.reshape(e.cast(e.in(in.past_length), DType::s64), {1}), {batch});
    cached_k = write_cache(e, e.in(in.past_key), split_heads(e, call.k, heads), start);
    cached_v = write_cache(e, e.in(in.past_value), split_heads(e, call.v, heads), start);
    call.lengths = e.plus(start, static_cast<double>(news));
    call.k = cached_k;
    call.v = cached_v;
    if (e.has(in.cache_indirection)) {
      call.k = select_beams(e, cached_k, e.in(in.cache_indirection), start);
      call.v = select_beams(e, cached_v, e.in(in.cache_indirection), start);
    }
  } else if (e.has(in.past_key)) {
    call.past_k = e.in(in.past_key);
    call.past_v = e.in(in.past_value);
    past = dimension(e, call.past_k, 2);
  }
  const Shape k = e.shape_of(call.k);
  const int64_t keys = checked_add(past, k[k.size() - 2]);
  Value* mask = e.in_or_null(in.mask);
  if (mask && shared && e.shape_of(mask).size() == 2 && e.shape_of(mask)[1] < keys) {
    // Places of the cache after the end of the mask contain no keys yet, so they are hidden.
    const Shape s = e.shape_of(mask);
    mask = e.concat({mask, e.expand(e.number(mask->dtype(), 0), {s[0], keys - s[1]})}, 1);
  }
  call.mask = sum_of_masks(
      e,
      additive_mask(e, mask, batch, queries, keys, past,
                    static_cast<double>(node.float_attr("mask_filter_value", -10000.0f)),
                    call.q->dtype()),
      shared ? zero_extended_bias(e, e.in_or_null(in.attention_bias), keys)
             : e.in_or_null(in.attention_bias));
  call.wants_scores = e.wants(3);
  call.scores_stage = 2;
  const AttentionResult r = attend(e, call, e.wants(1) || e.wants(2));
  e.out(0, r.y);
  e.out(1, shared ? cached_k : r.present_k);
  e.out(2, shared ? cached_v : r.present_v);
  if (r.scores) e.out(3, r.scores);
}

}  // namespace poprt::ops
