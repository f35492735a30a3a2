// FlexAttention, whose subgraphs change scores and probabilities.
#include "compiler/flow/specializer.h"

#include <algorithm>
#include <cmath>

namespace poprt::compiler {

using ir::Node;
using ir::Value;

// Y = prob_mod(Softmax(score_mod(scale Q K^T))) V, the part between the modifiers in
// softmax_precision; K and V heads are shared by groups of Q heads.
void Specializer::run_flex_attention(const Node& n) {
  const Items in = actual_of(items_of(n.inputs()));
  if (in.size() != 3) fail_at(n, ErrorCode::invalid_argument, "{} inputs, expected 3", in.size());
  Value* x[3];
  for (size_t i = 0; i < 3; i++) {
    x[i] = const_cast<Value*>(static_tensor(n, in[i], "an input"));
    if (x[i]->shape().size() != 4 || !is_float(x[i]->dtype()))
      fail_at(n, ErrorCode::invalid_argument, "input {} is {}, expected four dimensions of floats",
              i, ir::type_string(x[i]->type));
  }
  const Shape &q = x[0]->shape(), &k = x[1]->shape();
  if (k[1] <= 0 || q[1] % k[1] != 0 || x[2]->shape()[1] != k[1])
    fail_at(n, ErrorCode::invalid_argument, "{} query heads for {} key and {} value heads", q[1],
            k[1], x[2]->shape()[1]);
  if (q[1] != k[1]) {
    std::vector<int64_t> heads(static_cast<size_t>(q[1]));
    for (size_t h = 0; h < heads.size(); h++) heads[h] = static_cast<int64_t>(h) / (q[1] / k[1]);
    for (size_t i = 1; i < 3; i++)
      x[i] = make1("Gather", {x[i], integers(heads)}, {{"axis", int64_t{1}}});
  }
  const DType own = x[0]->dtype();
  constexpr int64_t kFloat = 1, kDouble = 11;
  const int64_t precision = n.int_attr("softmax_precision", own == DType::f64 ? kDouble : kFloat);
  const auto cast = [&](Value* v, int64_t to) { return make1("Cast", {v}, {{"to", to}}); };
  const double head = static_cast<double>(std::max<int64_t>(q[3], 1));
  const float scale = n.float_attr("scale", static_cast<float>(1 / std::sqrt(head)));
  Value* scores =
      make1("MatMul", {cast(x[0], precision), transpose(cast(x[1], precision), {0, 1, 3, 2})});
  scores = make1("Mul", {scores, cast(constant(Tensor::scalar(scale)), precision)});
  const auto modify = [&](Value* v, std::string_view key) {
    if (!n.find_attr(key)) return v;
    const Items results = run_body(*subgraph(n, key), {Item::of(v)});
    const Value* y = static_tensor(n, results.at(0), key);
    if (y->shape() != v->shape() || y->dtype() != v->dtype())
      fail_at(n, ErrorCode::invalid_argument, "{} makes {} of {}", key, ir::type_string(y->type),
              ir::type_string(v->type));
    return const_cast<Value*>(y);
  };
  scores = modify(scores, "score_mod");
  Value* probabilities = modify(make1("Softmax", {scores}, {{"axis", int64_t{3}}}), "prob_mod");
  Value* y = make1("MatMul", {probabilities, cast(x[2], precision)});
  give(n, 0, Item::of(make1("CastLike", {y, x[0]})));
}

}  // namespace poprt::compiler
