// Inputs: query (or query, key and value side by side), key?, value?, past_key, past_value
// [B,kv_heads,M,D], block_row_indices [L, blocks + 1] and block_col_indices [L, count] (constant),
// total_sequence_length, key_total_sequence_lengths s32 [B], cos_cache?, sin_cache?. Outputs:
// output, present_key, present_value.
//
// Head h uses layout h % L: query block i sees the key blocks that row i of the layout lists, and
// of these the keys up to its own position. If total_sequence_length is the number of tokens, the
// cache is empty; otherwise the tokens of a text end at its length.
#include <limits>

#include "ops/common/contrib_attention.h"
#include "ops/common/dimension.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_sparse_attention_op {
namespace {

constexpr int64_t kMostBlocks = 4096;

class SparseAttention {
 public:
  explicit SparseAttention(Expansion& expansion) : e_(expansion), n_(expansion.node) {}

  void run() {
    read_projections();
    read_positions();
    if (n_.int_attr("do_rotary", 0)) {
      call_.q = rotated(call_.q, call_.heads);
      call_.k = rotated(call_.k, call_.kv_heads);
    }
    call_.k = write_cache(e_, e_.in(3), split_heads(e_, call_.k, call_.kv_heads), start_);
    call_.v = write_cache(e_, e_.in(4), split_heads(e_, call_.v, call_.kv_heads), start_);
    e_.out(1, call_.k);
    e_.out(2, call_.v);
    keys_ = dimension(e_, call_.k, 2);
    call_.mask = mask();
    e_.out(0, attend(e_, call_, false).y);
  }

 private:
  void read_projections() {
    call_.heads = n_.int_attr("num_heads", 0);
    call_.kv_heads = n_.int_attr("kv_num_heads", 0);
    call_.scale = static_cast<double>(n_.float_attr("scale", 0));
    e_.check(call_.heads > 0 && call_.kv_heads > 0 && call_.heads % call_.kv_heads == 0,
             "num_heads must be a multiple of kv_num_heads");
    call_.q = e_.in(0);
    call_.k = e_.in_or_null(1);
    call_.v = e_.in_or_null(2);
    e_.check(!call_.k == !call_.v, "key and value must be either both present or both absent");
    const Shape q = e_.shape(0);
    const int64_t all = call_.k ? call_.heads : call_.heads + 2 * call_.kv_heads;
    e_.check(q.size() == 3 && q[2] % all == 0, "query must be [batch, sequence, heads * size]");
    batch_ = q[0];
    tokens_ = q[1];
    size_ = q[2] / all;
    if (call_.k) return;
    const int64_t columns = call_.heads * size_, kv = call_.kv_heads * size_;
    call_.k = e_.slice(call_.q, 2, columns, columns + kv);
    call_.v = e_.slice(call_.q, 2, columns + kv, columns + 2 * kv);
    call_.q = e_.slice(call_.q, 2, 0, columns);
  }

  // Sets start_ [B], the position of the first token of each text, and positions_ [B,S], those of
  // all tokens.
  void read_positions() {
    e_.check(e_.shape(8) == Shape{batch_}, "key_total_sequence_lengths must be [batch]");
    e_.check(element_count(e_.shape(7)) == 1, "total_sequence_length must have one element");
    check_lengths(n_, 8, dimension(e_, e_.in(3), 2), "key_total_sequence_lengths");
    ir::Value* lengths = e_.cast(e_.in(8), DType::s64);
    ir::Value* total = e_.cast(e_.reshape(e_.in(7), {1}), DType::s64);
    ir::Value* none = e_.constant(Tensor::zeros(DType::s64, {batch_}));
    start_ = e_.add("Where",
                    {e_.add("Equal", {total, e_.number(DType::s64, static_cast<double>(tokens_))}),
                     none, e_.plus(lengths, -static_cast<double>(tokens_))});
    positions_ = e_.add(
        "Add", {e_.reshape(start_, {batch_, 1}), e_.reshape(e_.iota(tokens_), {1, tokens_})});
  }

  ir::Value* rotated(ir::Value* x, int64_t heads) {
    const int64_t width = 2 * dimension(e_, e_.in(9), 1);
    return e_.newest("RotaryEmbedding", {x, e_.in(9), e_.in(10), positions_},
                     {{"num_heads", heads},
                      {"rotary_embedding_dim", width == size_ ? int64_t{0} : width},
                      {"interleaved", n_.int_attr("rotary_interleaved", 0)}});
  }

  // bool [blocks, layouts * blocks]: whether a query block sees a key block.
  ir::Value* layouts() {
    const Shape rows = e_.shape(5), columns = e_.shape(6);
    e_.check(rows.size() == 2 && columns.size() == 2 && rows[0] == columns[0] && rows[0] > 0 &&
                 rows[1] > 1 && rows[1] <= kMostBlocks + 1 && call_.heads % rows[0] == 0,
             "block_row_indices must be [layouts, blocks + 1], block_col_indices [layouts, count], "
             "and the number of layouts must divide num_heads");
    const std::vector<int64_t> begin = e_.const_ints(5), column = e_.const_ints(6);
    layouts_ = rows[0];
    blocks_ = rows[1] - 1;
    Tensor seen = Tensor::zeros(DType::boolean, {blocks_, layouts_ * blocks_});
    const auto to = seen.mutable_values<bool>();
    for (int64_t l = 0; l < layouts_; l++)
      for (int64_t i = 0; i < blocks_; i++) {
        const auto row = static_cast<size_t>(l * rows[1] + i);
        e_.check(begin[row] >= 0 && begin[row] <= begin[row + 1] && begin[row + 1] <= columns[1],
                 "block_row_indices must rise and refer to block_col_indices");
        for (int64_t k = begin[row]; k < begin[row + 1]; k++) {
          const int64_t c = column[static_cast<size_t>(l * columns[1] + k)];
          e_.check(c >= 0 && c < blocks_, "block_col_indices contains a block that does not exist");
          to[static_cast<size_t>((i * layouts_ + l) * blocks_ + c)] = true;
        }
      }
    return e_.constant(std::move(seen));
  }

  // The mask that is added to the scores, [B, heads or 1, S, keys].
  ir::Value* mask() {
    const int64_t block = n_.int_attr("sparse_block_size", 0);
    e_.check(block > 0, "sparse_block_size must be positive");
    ir::Value* seen = layouts();
    ir::Value* row = e_.add("Div", {positions_, e_.number(DType::s64, static_cast<double>(block))});
    row = e_.add("Min", {row, e_.number(DType::s64, static_cast<double>(blocks_ - 1))});
    seen = e_.reshape(e_.add("Gather", {seen, row}), {batch_, tokens_, layouts_, blocks_});
    std::vector<int64_t> of_key(static_cast<size_t>(keys_)), of_head;
    for (int64_t k = 0; k < keys_; k++)
      of_key[static_cast<size_t>(k)] = std::min(k / block, blocks_ - 1);
    for (int64_t h = 0; h < call_.heads; h++) of_head.push_back(h % layouts_);
    seen = e_.add("Gather", {seen, e_.ints(of_key)}, {{"axis", int64_t{3}}});
    seen = e_.transpose(seen, {0, 2, 1, 3});
    if (layouts_ > 1) seen = e_.add("Gather", {seen, e_.ints(of_head)}, {{"axis", int64_t{1}}});
    ir::Value* later = e_.add("Greater", {e_.reshape(e_.iota(keys_), {1, 1, 1, keys_}),
                                          e_.reshape(positions_, {batch_, 1, tokens_, 1})});
    seen = e_.add("And", {seen, e_.add("Not", {later})});
    const DType type = call_.q->dtype();
    return e_.add("Where", {seen, e_.number(type, 0),
                            e_.number(type, -std::numeric_limits<double>::infinity())});
  }

  Expansion& e_;
  const ir::Node& n_;
  AttentionCall call_;
  int64_t batch_ = 0, tokens_ = 0, size_ = 0, keys_ = 0;
  int64_t layouts_ = 0, blocks_ = 0;
  ir::Value *start_ = nullptr, *positions_ = nullptr;  // s64
};

void expand(Expansion& e) { SparseAttention(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_sparse_attention_op

POPRT_EXPANSION_WITH_FACTS(
    microsoft_sparse_attention_op, "com.microsoft", "SparseAttention", expand,
    .trial = {
        "T[1,1,4]; T[1,1,4]; T[1,1,4]; T[1,2,16,2]; T[1,2,16,2]; s32[1,2] = [0, 1]; s32[1,1] = "
        "[0]; s32[] = 1; s32[1] = [1]",
        "num_heads = 2, kv_num_heads = 2, sparse_block_size = 16", 3})
