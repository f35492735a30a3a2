#include "compiler/byte_caches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "ir/newest.h"
#include "ops/axes.h"
#include "ops/common/expansion.h"
#include "ops/op.h"
#include "passes/common/build.h"
#include "passes/common/rewrite.h"
#include "passes/common/token_positions.h"

namespace poprt::compiler {
namespace {

using ir::Node;
using ir::Value;

constexpr int64_t kRowScale = 4;  // bytes

// The inputs of Attention of ONNX.
enum : size_t { kAttentionQ, kAttentionK, kAttentionV, kAttentionMask, kPastK, kPastV, kLengths };

struct StoredCache {
  std::string past_name, present_name;
  size_t axis;
  Value* past;               // the input; it is replaced if the cache gets 8 bits
  Node* write;               // the TensorScatter that computes the output
  Value* bytes = nullptr;    // the new input, with 8 bits
  Value* rows = nullptr;     // the new rows as bytes
  Value* written = nullptr;  // the new output: the cache after the write
  Value* joined = nullptr;   // the old places, followed by the new rows
};

// The keys or values that an attention reads.
struct Source {
  StoredCache* cache = nullptr;
  bool joined = false;  // the old places and the new rows; otherwise the cache after the write
  bool transposed = false;
  double scale = 1;
};

// Whether the node is this operator of ai.onnx, in the opset of the model or, from an expansion, in
// the newest one.
bool is_onnx(const Node& n, std::string_view type) {
  return n.op_type == type && ir::is_onnx_domain(n.domain);
}
const Node* onnx_producer(const Value* v, std::string_view type) {
  const Node* n = v->producer();
  return n && is_onnx(*n, type) ? n : nullptr;
}

class StoredCaches {
 public:
  // If `position` is not null, the caches keep their type, and attention reads them after the write
  // at this position. Otherwise they get 8 bits.
  StoredCaches(ir::Graph& graph, std::span<const ByteCache> caches, Value* position = nullptr)
      : graph_(graph), position_(position) {
    for (const ByteCache& c : caches)
      caches_.push_back({c.past, c.present, c.axis, graph.find(c.past), nullptr});
  }

  // Lets each known form of attention read the caches after the write. Other forms still read the
  // old places, followed by the new rows.
  void read_written() {
    const auto known = [](auto&& work) {
      try {
        work();
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unimplemented) throw;
        return false;
      }
      return true;
    };
    std::erase_if(caches_, [&](StoredCache& c) {
      return c.past->dtype() != DType::f32 || !known([&] { find_write(c); });
    });
    if (caches_.empty()) return;
    expand_operators();
    for (StoredCache& c : caches_) find_write(c);
    for (Node* n : graph_.nodes()) {
      if (is_onnx(*n, "Attention")) known([&] { attention(*n); });
      if (is_onnx(*n, "MatMul")) known([&] { product(*n); });
    }
    for (StoredCache& c : caches_)
      if (c.written) replace_output(c, c.written);
    passes::TokenPositions::run(graph_, {"eliminate_deadend"});
  }

  void store_in_bytes() {
    expand_operators();
    for (StoredCache& c : caches_) find_write(c);
    for (Node* n : graph_.nodes()) {
      if (is_onnx(*n, "Attention")) attention(*n);
      if (is_onnx(*n, "MatMul")) product(*n);
    }
    for (StoredCache& c : caches_) {
      // If a piece of a prompt fills the cache, attention reads only the new keys. Then the number
      // of heads is known only if the cache is [B,H,C,D].
      const Shape& shape = c.past->shape();
      if (!c.bytes && shape.size() != 4) refuse(c, c.write);
      make_input(c, shape[1]);
      finish(c);
    }
    passes::TokenPositions::run(graph_, {"eliminate_deadend"});
    for (const StoredCache& c : caches_) {
      if (!c.past->uses().empty()) refuse(c, c.past->uses()[0].node);
      graph_.erase_value(c.past);
    }
  }

 private:
  [[noreturn]] static void refuse(const StoredCache& c, const Node* n) {
    fail(ErrorCode::unimplemented,
         "generation: cache '{}' cannot have 8 bits, because of {}: caches of 8 bits are read by "
         "GroupQueryAttention, MultiHeadAttention, Attention, or Softmax between two MatMul; leave "
         "out cache_precision",
         c.past_name, n ? n->describe() : "a missing reader");
  }

  StoredCache* cache_with(const Value* past) {
    const auto found = std::ranges::find(caches_, past, &StoredCache::past);
    return past && found != caches_.end() ? &*found : nullptr;
  }

  // Replaces operators of com.microsoft that have caches by those of ONNX.
  void expand_operators() {
    for (Node* n : graph_.nodes()) {
      if (n->domain != "com.microsoft") continue;
      const auto cached =
          std::ranges::find_if(n->inputs(), [&](const Value* v) { return cache_with(v); });
      if (cached == n->inputs().end()) continue;
      const StoredCache& cache = *cache_with(*cached);
      const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
      ops::infer(*n);
      if ((!op || !ops::expands(*op) || !ops::expand_node(*n)) && !position_) refuse(cache, n);
    }
  }

  void find_write(StoredCache& c) const {
    const auto outputs = graph_.outputs();
    const auto found = std::ranges::find(outputs, c.present_name, &Value::name);
    Node* n = found == outputs.end() ? nullptr : (*found)->producer();
    while (n && is_onnx(*n, "Identity")) n = n->input(0)->producer();
    const Shape& shape = c.past->shape();
    const bool by_head = shape.size() == 4 && c.axis == 2,
               heads_last = shape.size() == 3 && c.axis == 1;
    if (!n || !is_onnx(*n, "TensorScatter") || n->input(0) != c.past || (!by_head && !heads_last))
      refuse(c, n);
    c.write = n;
  }

  // -- Bytes --------------------------------------------------------------------------------------

  void make_input(StoredCache& c, int64_t heads) {
    if (c.bytes) return;
    Shape shape = c.past->shape();
    if (shape.size() == 4 ? shape[1] != heads : heads < 1 || shape[2] % heads != 0)
      refuse(c, c.write);
    shape.back() += shape.size() == 4 ? kRowScale : kRowScale * heads;
    graph_.rename(c.past, graph_.fresh_name(c.past_name));
    c.bytes = graph_.add_input(c.past_name, ir::ValueType::of(DType::s8, std::move(shape)));
  }

  Value* rows_of(StoredCache& c, Node& at, int64_t heads) {
    if (c.rows) return c.rows;
    Value* rows = c.write->input(1);
    const Shape shape = rows->shape();
    if (shape.size() == 3)
      rows = passes::reshaped(at, rows, {shape[0], shape[1], heads, shape[2] / heads});
    rows = passes::insert_node(at, "QuantizeRows", "poprt", {rows})->output();
    if (shape.size() == 3)
      rows = passes::reshaped(at, rows, {shape[0], shape[1], shape[2] + kRowScale * heads});
    return c.rows = rows;
  }

  Value* written_of(StoredCache& c, int64_t heads) {
    if (c.written) return c.written;
    Node& at = *c.write;
    Value* rows = rows_of(c, at, heads);
    Node* n = passes::insert_node(
        at, "TensorScatter", std::string(ir::kNewestDomain), {c.bytes, rows, at.input(2)},
        {{"axis", static_cast<int64_t>(c.axis)}, {"mode", at.string_attr("mode", "linear")}});
    return c.written = n->output();
  }

  // Returns the value that a CacheAttention reads. New nodes are added before `at`.
  Value* stored(const Source& s, Node& at, int64_t heads) {
    StoredCache& c = *s.cache;
    if (position_) return written_before(c, at);
    make_input(c, heads);
    if (!s.joined) return written_of(c, heads);
    if (!c.joined) {
      Value* const parts[] = {c.bytes, rows_of(c, at, heads)};
      c.joined = passes::joined(at, parts, static_cast<int64_t>(c.axis));
    }
    return c.joined;
  }

  void finish(StoredCache& c) { replace_output(c, written_of(c, c.past->shape()[1])); }

  void replace_output(const StoredCache& c, Value* written) {
    const auto outputs = graph_.outputs();
    const auto at = std::ranges::find(outputs, c.present_name, &Value::name) - outputs.begin();
    Value* old = outputs[static_cast<size_t>(at)];
    graph_.set_output(static_cast<size_t>(at), written);
    graph_.rename(old, graph_.fresh_name(c.present_name));
    graph_.rename(written, c.present_name);
  }

  // -- Written caches -----------------------------------------------------------------------------

  // The cache after a write that is before node `at`, the first reader.
  Value* written_before(StoredCache& c, Node& at) const {
    if (c.written) return c.written;
    const Node& write = *c.write;
    Node* n = passes::insert_node(at, "TensorScatter", std::string(ir::kNewestDomain),
                                  {c.past, write.input(1), position_},
                                  {{"axis", static_cast<int64_t>(c.axis)}});
    n->output()->type = c.past->type;
    return c.written = n->output();
  }

  // The number of places in use after the write.
  Value* used_places(Node& at, int64_t queries) {
    if (!lengths_) {
      Value* count = graph_.add_constant("", Tensor::of<int64_t>({1}, {queries}));
      lengths_ = passes::computed(at, "Add", {position_, count});
    }
    return lengths_;
  }

  // The mask of the old places and the new rows as a mask of the places: the columns of the new
  // rows are written at the position, too.
  Value* placed_mask(const StoredCache& c, Value* mask, Node& at, int64_t queries) {
    const int64_t batch = c.past->shape()[0], places = c.past->shape()[c.axis];
    constexpr size_t kRank = 4;
    if (!mask->type.is_static() || mask->shape().size() > kRank || mask->shape().empty() ||
        mask->shape().back() != places + queries)
      refuse(c, &at);
    Shape shape = mask->shape();
    shape.insert(shape.begin(), kRank - shape.size(), 1);
    if (shape[0] != 1 && shape[0] != batch) refuse(c, &at);
    Value*& placed = masks_[mask];
    if (placed) return placed;
    Value* all = shape == mask->shape() ? mask : passes::reshaped(at, mask, shape);
    if (shape[0] != batch) {
      shape[0] = batch;
      Value* wide = graph_.add_constant("", Tensor::of<int64_t>({kRank}, shape));
      all = passes::computed(at, "Expand", {all, wide});
    }
    Value* const old = passes::sliced(at, all, 3, 0, places);
    Value* const added = passes::sliced(at, all, 3, places, places + queries);
    Node* n = passes::insert_node(at, "TensorScatter", std::string(ir::kNewestDomain),
                                  {old, added, position_}, {{"axis", int64_t{3}}});
    shape[3] = places;
    n->output()->type = ir::ValueType::of(mask->dtype(), std::move(shape));
    return placed = n->output();
  }

  // -- Sources ------------------------------------------------------------------------------------

  // The value whose heads a Reshape repeats: [B,KV,T,D], Unsqueeze, Expand to [B,KV,G,T,D], Reshape
  // to [B,KV*G,T,D]. Null for another Reshape.
  static Value* before_repeat(const Node& reshape) {
    Value* wide = reshape.input(0);
    const Value* out = reshape.output();
    if (!wide->type.is_static() || !out->type.is_static()) return nullptr;
    if (wide->shape() == out->shape()) return wide;
    if (wide->shape().size() != 5 || out->shape().size() != 4) return nullptr;
    const Shape w = wide->shape();
    if (out->shape() != Shape{w[0], w[1] * w[2], w[3], w[4]}) return nullptr;
    if (const Node* expand = wide->producer(); expand && is_onnx(*expand, "Expand"))
      wide = expand->input(0);
    const Node* n = wide->producer();
    if (!wide->type.is_static() || wide->shape() != Shape{w[0], w[1], 1, w[3], w[4]} || !n ||
        (!is_onnx(*n, "Unsqueeze") && !is_onnx(*n, "Reshape")))
      return nullptr;
    Value* v = n->input(0);
    return v->type.is_static() && v->shape() == Shape{w[0], w[1], w[3], w[4]} ? v : nullptr;
  }

  // The value before a multiplication or division by a number, which becomes part of the scale.
  // Null for another node.
  static Value* before_scale(const Node& n, double& scale) {
    const bool product = is_onnx(n, "Mul");
    if (!product && !is_onnx(n, "Div")) return nullptr;
    for (const size_t i : {size_t{1}, size_t{0}}) {
      const auto number = ir::const_scalar(n.input(i));
      if (!number || (!product && (i == 0 || *number == 0))) continue;
      scale *= product ? *number : 1 / *number;
      return n.input(1 - i);
    }
    return nullptr;
  }

  static bool swaps_last_two(const Node& n) {
    return is_onnx(n, "Transpose") && n.ints_attr("perm") == std::vector<int64_t>{0, 1, 3, 2};
  }

  std::optional<Source> source_of(Value* v) {
    Source s;
    while (v) {
      const auto same = [&](const StoredCache& c) { return c.write->output() == v; };
      if (const auto found = std::ranges::find_if(caches_, same); found != caches_.end()) {
        s.cache = &*found;
        return s;
      }
      const Node* n = v->producer();
      if (!n) return std::nullopt;
      if (StoredCache* c = is_onnx(*n, "Concat") ? cache_with(n->input(0)) : nullptr) {
        if (n->inputs().size() != 2 || n->input(1) != c->write->input(1) ||
            ops::first_changed(ops::axis_map(*n), 0) != c->axis)
          return std::nullopt;
        s.cache = c;
        s.joined = true;
        return s;
      }
      if (is_onnx(*n, "Identity") || is_onnx(*n, "Cast")) {
        v = n->input(0);
      } else if (swaps_last_two(*n)) {
        s.transposed = !s.transposed;
        v = n->input(0);
      } else if (is_onnx(*n, "Reshape")) {
        v = before_repeat(*n);
      } else {
        v = before_scale(*n, s.scale);
      }
    }
    return std::nullopt;
  }

  // -- Attention ----------------------------------------------------------------------------------

  // The source of the keys or values of an attention with a past, which is input `past`. The new
  // rows are input `input`. The write reads them as a Slice of output `present` and gets the input
  // instead.
  Source with_past(Node& n, size_t input, size_t past, size_t present, int64_t heads) {
    StoredCache* c = cache_with(n.input(past));
    if (!c) refuse(caches_[0], &n);
    const Node* slice = c->write->input(1)->producer();
    if (!slice || slice->input(0) != n.output(present)) refuse(*c, slice);
    Value* rows = n.input(input);
    if (const Shape s = rows->shape(); s.size() == 3) {
      rows = passes::reshaped(n, rows, {s[0], s[1], heads, s[2] / heads});
      rows = passes::transposed(n, rows, {0, 2, 1, 3});
    }
    c->write->set_input(1, rows);
    return {c, true};
  }

  static bool is_read(const ir::Graph& graph, const Value* v) {
    return v && (!v->uses().empty() || graph.is_output(v));
  }

  void attention(Node& n) {
    const bool has_past = n.input(kPastK) != nullptr;
    const Shape q = n.input(kAttentionQ)->shape(), k = n.input(kAttentionK)->shape();
    const int64_t heads = q.size() == 4 ? q[1] : n.int_attr("q_num_heads", 0);
    int64_t kv_heads = k.size() == 4 ? k[1] : n.int_attr("kv_num_heads", 0);
    if (has_past && !cache_with(n.input(kPastK)) && !cache_with(n.input(kPastV))) return;
    std::optional<Source> keys, values;
    if (has_past) {
      keys = with_past(n, kAttentionK, kPastK, 1, kv_heads);
      values = with_past(n, kAttentionV, kPastV, 2, kv_heads);
    } else {
      keys = source_of(n.input(kAttentionK));
      values = source_of(n.input(kAttentionV));
      if (!keys && !values) return;
    }
    const StoredCache& any = *(keys ? keys : values)->cache;
    if (!keys || !values || keys->transposed || values->transposed || values->scale != 1 ||
        is_read(graph_, n.output(3)))
      refuse(any, &n);
    // If source_of() has skipped a repetition of heads, the operand has more heads than the cache,
    // which the new operator reads.
    const Shape& stored = keys->cache->past->shape();
    if (stored.size() == 4) kv_heads = stored[1];
    const auto width =
        static_cast<double>(q.size() == 4 ? q[3] : q[2] / std::max<int64_t>(1, heads));
    const double usual = 1 / std::sqrt(width);
    const auto attribute = n.float_attr("scale", static_cast<float>(usual));
    attend(n, {n.input(kAttentionQ), n.input(kAttentionMask), n.input(kLengths)}, *keys, *values,
           {{"q_num_heads", heads},
            {"kv_num_heads", kv_heads},
            {"scale", static_cast<float>(static_cast<double>(attribute) * keys->scale)},
            {"softcap", n.float_attr("softcap", 0)},
            {"is_causal", n.int_attr("is_causal", 0)},
            {"left_window_size", n.int_attr("left_window_size", -1)},
            {"right_window_size", n.int_attr("right_window_size", -1)},
            {"offset", has_past ? n.input(kPastK)->shape()[2] : int64_t{0}}});
  }

  struct Operands {
    Value *q, *mask, *lengths;
  };
  using Attributes = std::initializer_list<std::pair<const std::string_view, ir::Attribute>>;

  // Replaces output 0 of the node by the result of a CacheAttention.
  void attend(Node& n, Operands of, const Source& keys, const Source& values,
              Attributes attributes) {
    if (position_) {
      if (!keys.joined || !values.joined || of.lengths || !of.q->type.is_static())
        refuse(*keys.cache, &n);
      const int64_t queries = of.q->shape()[of.q->shape().size() - 2];
      if (of.mask) of.mask = placed_mask(*keys.cache, of.mask, n, queries);
      of.lengths = used_places(n, queries);
    }
    int64_t kv_heads = 0;
    for (const auto& [name, value] : attributes)
      if (name == "kv_num_heads") kv_heads = std::get<int64_t>(value);
    Value* k = stored(keys, n, kv_heads);
    Value* v = stored(values, n, kv_heads);
    const std::array<Value*, 5> inputs = {of.q, k, v, of.mask, of.lengths};
    Node* made = passes::insert_node(n, "CacheAttention", "poprt", inputs, attributes);
    graph_.replace_all_uses(n.output(0), made->output());
  }

  // Matches Softmax(scale * MatMul(q, keys^T) + mask) before the product with the values.
  void product(Node& n) {
    const Node* softmax = onnx_producer(n.input(0), "Softmax");
    if (!softmax || !softmax->input(0)->type.is_static()) return;
    const Shape scores = softmax->input(0)->shape();
    const auto values = source_of(n.input(1));
    double scale = 1;
    Value* mask = nullptr;
    const Node* matmul = scaled_product(softmax->input(0), scale);
    if (const Node* add = onnx_producer(softmax->input(0), "Add"))
      for (const size_t i : {size_t{0}, size_t{1}})
        if (!matmul && (matmul = scaled_product(add->input(i), scale))) mask = add->input(1 - i);
    const auto keys = matmul ? source_of(matmul->input(1)) : std::nullopt;
    if (!keys && !values) return;
    const StoredCache& any = *(keys ? keys : values)->cache;
    const bool known = keys && values && keys->transposed && !values->transposed &&
                       values->scale == 1 && scores.size() == 4 &&
                       ops::mixed_axes(ops::axis_map(*softmax), 0) == std::vector<size_t>{3} &&
                       matmul->input(0)->type.is_static() &&
                       matmul->input(0)->shape().size() == 4 && (!mask || fits(*mask, scores));
    if (!known) refuse(any, softmax);
    attend(n, {matmul->input(0), mask, nullptr}, *keys, *values,
           {{"q_num_heads", scores[1]},
            {"kv_num_heads", keys->cache->past->shape()[1]},
            {"scale", static_cast<float>(scale * keys->scale)}});
  }

  static const Node* scaled_product(const Value* v, double& scale) {
    double factor = 1;
    for (const Node* n = v->producer(); n; n = v->producer()) {
      if (is_onnx(*n, "MatMul")) {
        scale = factor;
        return n;
      }
      v = is_onnx(*n, "Identity") || is_onnx(*n, "Cast") ? n->input(0) : before_scale(*n, factor);
      if (!v) break;
    }
    return nullptr;
  }

  // Whether a mask that is added has all keys.
  static bool fits(const Value& mask, const Shape& scores) {
    if (!mask.type.is_static() || !is_float(mask.dtype())) return false;
    const Shape& shape = mask.shape();
    return !shape.empty() && shape.size() <= 4 && shape.back() == scores[3];
  }

  ir::Graph& graph_;
  Value* position_;
  std::vector<StoredCache> caches_;
  Value* lengths_ = nullptr;              // used_places()
  std::map<const Value*, Value*> masks_;  // placed_mask()
};

}  // namespace

void store_caches_in_bytes(ir::Graph& graph, std::span<const ByteCache> caches) {
  StoredCaches(graph, caches).store_in_bytes();
}

void read_written_caches(ir::Graph& graph, std::span<const ByteCache> caches,
                         const std::string& position) {
  ir::Value* const input = graph.find(position);
  POPRT_ASSERT(input);
  StoredCaches(graph, caches, input).read_written();
}

}  // namespace poprt::compiler
