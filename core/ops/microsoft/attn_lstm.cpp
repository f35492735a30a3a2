// An LSTM whose input in each step contains the attention of the step before. Inputs: X [T,B,n],
// W [D,4H,n+a], R [D,4H,H], B? [D,8H], sequence_lens?, initial_h?, initial_c?, P?, QW [D,H,k],
// MW [D,m,k], V [D,k], M [B,s,m], memory_seq_lens? [B], AW? [D,m+H,a]. Outputs: Y?, Y_h?, Y_c?. The
// steps are unrolled.
//
// align = softmax(sum(V tanh(M MW + H QW))), attention = align M, or [H, align M] AW.
#include <limits>

#include "ir/newest.h"
#include "ops/common/dimension.h"

namespace poprt::ops::microsoft_attn_lstm_op {
namespace {

constexpr int64_t kMostSteps = 4096;

class AttnLstm {
 public:
  explicit AttnLstm(Expansion& expansion) : e_(expansion), n_(expansion.node) {}

  void run() {
    const Shape x = e_.shape(0);
    e_.check(x.size() == 3, "X must be [steps, batch, size]");
    steps_ = x[0];
    batch_ = x[1];
    hidden_ = dimension(e_, e_.in(2), 2);
    directions_ = dimension(e_, e_.in(2), 0);
    e_.check(steps_ > 0 && steps_ <= kMostSteps, "the number of steps must be in 1 to 4096");
    direction_ = n_.string_attr("direction", "forward");
    e_.check(direction_ == "forward" || direction_ == "reverse" || direction_ == "bidirectional",
             "direction must be forward, reverse or bidirectional");
    e_.check(directions_ == (direction_ == "bidirectional" ? 2 : 1),
             "the weights do not fit attribute direction");
    memory_ = masked_memory();
    std::vector<ir::Value*> y, h, c;
    for (int64_t d = 0; d < directions_; d++) {
      const Result r = one_direction(d);
      y.push_back(e_.reshape(r.y, {steps_, 1, batch_, hidden_}));
      h.push_back(r.h);
      c.push_back(r.c);
    }
    e_.out(0, e_.concat(y, 1));
    e_.out(1, e_.concat(h, 0));
    e_.out(2, e_.concat(c, 0));
  }

 private:
  struct Result {
    ir::Value *y, *h, *c;  // [T,B,H], [1,B,H], [1,B,H]
  };

  // Input i for direction d, [1, ..]; null if it is absent.
  ir::Value* part(size_t i, int64_t d) {
    return e_.has(i) ? e_.slice(e_.in(i), 0, d, d + 1) : nullptr;
  }
  // The same without the first axis.
  ir::Value* matrix(size_t i, int64_t d) {
    ir::Value* v = part(i, d);
    e_.check(v != nullptr, "QW, MW, V and M are required");
    Shape s = e_.shape_of(v);
    s.erase(s.begin());
    return e_.reshape(v, s);
  }

  // M with zeros after the end of each memory; sets hidden_rows_ [B,1,s].
  ir::Value* masked_memory() {
    const Shape m = e_.shape(11);
    e_.check(m.size() == 3 && m[0] == batch_, "M must be [batch, places, size]");
    const DType type = e_.dtype(11);
    if (!e_.has(12)) return e_.in(11);
    ir::Value* lengths = e_.reshape(e_.cast(e_.in(12), DType::s64), {batch_, 1});
    ir::Value* real = e_.add("Less", {e_.reshape(e_.iota(m[1]), {1, m[1]}), lengths});
    hidden_rows_ = e_.add("Where", {e_.reshape(real, {batch_, 1, m[1]}), e_.number(type, 0),
                                    e_.number(type, -std::numeric_limits<double>::infinity())});
    return e_.add("Where", {e_.reshape(real, {batch_, m[1], 1}), e_.in(11), e_.number(type, 0)});
  }

  ir::Value* reversed(ir::Value* v) {
    ir::Value* lengths =
        e_.has(4) ? e_.cast(e_.in(4), DType::s64)
                  : e_.expand(e_.number(DType::s64, static_cast<double>(steps_)), {batch_});
    return e_.newest("ReverseSequence", {v, lengths},
                     {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}});
  }

  // The state [1,B,..] after step t: the new one while the sequence lasts.
  ir::Value* kept(ir::Value* now, ir::Value* before, int64_t t) {
    if (!e_.has(4)) return now;
    ir::Value* lengths = e_.reshape(e_.cast(e_.in(4), DType::s64), {1, batch_, 1});
    ir::Value* lasts = e_.add("Greater", {lengths, e_.number(DType::s64, static_cast<double>(t))});
    return e_.add("Where", {lasts, now, before});
  }

  ir::Node* step(ir::Value* x, int64_t d, ir::Value* h, ir::Value* c) {
    ir::Node* n = e_.add_node(
        "LSTM", ir::kNewestDomain,
        {x, part(1, d), part(2, d), part(3, d), nullptr, h, c, part(7, d)},
        {{"hidden_size", hidden_}, {"input_forget", n_.int_attr("input_forget", 0)}}, 3);
    if (n_.find_attr("clip")) n->attributes["clip"] = n_.float_attr("clip", 0);
    const auto names = n_.find_attr("activations");
    const auto* list = names ? std::get_if<std::vector<std::string>>(names) : nullptr;
    if (list && !list->empty()) {
      constexpr size_t kOfDirection = 3;
      const size_t first = static_cast<size_t>(d) * kOfDirection;
      e_.check(list->size() == kOfDirection * static_cast<size_t>(directions_),
               "activations must have three names for each direction");
      n->attributes["activations"] =
          std::vector<std::string>(list->begin() + static_cast<ptrdiff_t>(first),
                                   list->begin() + static_cast<ptrdiff_t>(first + kOfDirection));
    }
    for (const char* key : {"activation_alpha", "activation_beta"})
      if (n_.find_attr(key)) {
        if (directions_ != 1) e_.fail_unsupported("{} with two directions", key);
        n->attributes[key] = n_.floats_attr(key);
      }
    return n;
  }

  // The attention [1,B,a] for the state h [1,B,H].
  ir::Value* attention(ir::Value* h, int64_t d, ir::Value* keys) {
    const Shape k = e_.shape_of(keys);
    ir::Value* state = e_.reshape(h, {batch_, 1, hidden_});
    ir::Value* query = e_.add("MatMul", {state, matrix(8, d)});
    ir::Value* energy = e_.add("Tanh", {e_.add("Add", {keys, query})});
    ir::Value* score = e_.add("MatMul", {energy, e_.reshape(matrix(10, d), {k[2], 1})});
    score = e_.reshape(score, {batch_, 1, k[1]});
    if (hidden_rows_) score = e_.add("Add", {score, hidden_rows_});
    ir::Value* align = e_.newest("Softmax", {score}, {{"axis", int64_t{2}}});
    ir::Value* context = e_.add("MatMul", {align, memory_});
    if (e_.has(13)) context = e_.add("MatMul", {e_.concat({state, context}, 2), matrix(13, d)});
    return e_.transpose(context, {1, 0, 2});
  }

  Result one_direction(int64_t d) {
    const bool backward = direction_ == "reverse" || d == 1;
    const DType type = e_.dtype(0);
    ir::Value* x = backward ? reversed(e_.in(0)) : e_.in(0);
    const Shape state = {1, batch_, hidden_};
    ir::Value* zeros = e_.expand(e_.number(type, 0), state);
    ir::Value *h = part(5, d), *c = part(6, d);
    if (!h) h = zeros;
    if (!c) c = zeros;
    const int64_t width = e_.has(13) ? dimension(e_, e_.in(13), 2) : dimension(e_, e_.in(11), 2);
    ir::Value* attended = e_.expand(e_.number(type, 0), {1, batch_, width});
    ir::Value* keys = e_.add("MatMul", {memory_, matrix(9, d)});
    std::vector<ir::Value*> all;
    for (int64_t t = 0; t < steps_; t++) {
      const ir::Node* n = step(e_.concat({e_.slice(x, 0, t, t + 1), attended}, 2), d, h, c);
      ir::Value* now = n->output(1);
      all.push_back(kept(now, zeros, t));
      if (t + 1 < steps_) attended = kept(attention(now, d, keys), attended, t);
      h = kept(now, h, t);
      c = kept(n->output(2), c, t);
    }
    ir::Value* y = e_.concat(all, 0);
    return {backward ? reversed(y) : y, h, c};
  }

  Expansion& e_;
  const ir::Node& n_;
  std::string direction_;
  int64_t steps_ = 0, batch_ = 0, hidden_ = 0, directions_ = 0;
  ir::Value *memory_ = nullptr, *hidden_rows_ = nullptr;
};

void expand(Expansion& e) { AttnLstm(e).run(); }

}  // namespace
}  // namespace poprt::ops::microsoft_attn_lstm_op

POPRT_EXPANSION_WITH_FACTS(
    microsoft_attn_lstm_op, "com.microsoft", "AttnLSTM", expand,
    .trial = {"T[2,1,4]; T[1,8,6]; T[1,8,2]; _; _; _; _; _; T[1,2,3]; T[1,2,3]; T[1,3]; T[1,4,2]",
              "hidden_size = 2", 3})
