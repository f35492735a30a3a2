// Attention with modifier subgraphs. The compiler inlines the subgraphs
// (compiler/flow/specialize.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::flex_attention_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &q = ctx.in(0), &v = ctx.in(2);
  if (q.shape.size() == 4 && v.shape.size() == 4)
    ctx.out(0, q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
}

// Y = prob_mod(Softmax(score_mod(scale Q K^T))) V. The inputs are converted to softmax_precision,
// in which everything is computed. Groups of Q heads share K and V heads.
void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const Items in = ctx.actual();
  if (in.size() != 3) ctx.fail_at(ErrorCode::invalid_argument, "{} inputs, expected 3", in.size());
  ir::Value* x[3];
  for (size_t i = 0; i < 3; i++) {
    x[i] = ctx.static_tensor(in[i], "an input");
    if (x[i]->shape().size() != 4 || !is_float(x[i]->dtype()))
      ctx.fail_at(ErrorCode::invalid_argument, "input {} is {}, expected four dimensions of floats",
                  i, ir::type_string(x[i]->type));
  }
  const Shape &q = x[0]->shape(), &k = x[1]->shape();
  if (k[1] <= 0 || q[1] % k[1] != 0 || x[2]->shape()[1] != k[1])
    ctx.fail_at(ErrorCode::invalid_argument, "{} query heads for {} key and {} value heads", q[1],
                k[1], x[2]->shape()[1]);
  if (q[1] != k[1]) {
    std::vector<int64_t> heads(static_cast<size_t>(q[1]));
    for (size_t h = 0; h < heads.size(); h++) heads[h] = static_cast<int64_t>(h) / (q[1] / k[1]);
    for (size_t i = 1; i < 3; i++)
      x[i] = ctx.build.make1("Gather", {x[i], ctx.build.integers(heads)}, {{"axis", int64_t{1}}});
  }
  const DType own = x[0]->dtype();
  constexpr int64_t kFloat = 1, kDouble = 11;
  const int64_t precision = n.int_attr("softmax_precision", own == DType::f64 ? kDouble : kFloat);
  const auto cast = [&](ir::Value* v, int64_t to) {
    return ctx.build.make1("Cast", {v}, {{"to", to}});
  };
  const double head = static_cast<double>(std::max<int64_t>(q[3], 1));
  const float scale = n.float_attr("scale", static_cast<float>(1 / std::sqrt(head)));
  ir::Value* scores = ctx.build.make1(
      "MatMul", {cast(x[0], precision), ctx.build.transpose(cast(x[1], precision), {0, 1, 3, 2})});
  scores =
      ctx.build.make1("Mul", {scores, cast(ctx.build.constant(Tensor::scalar(scale)), precision)});
  const auto modify = [&](ir::Value* v, std::string_view key) {
    if (!n.find_attr(key)) return v;
    const Items results = ctx.run_body(*subgraph(n, key), {Item::of(v)});
    const ir::Value* y = ctx.static_tensor(results.at(0), key);
    if (y->shape() != v->shape() || y->dtype() != v->dtype())
      ctx.fail_at(ErrorCode::invalid_argument, "the result of {} is {}, expected {}", key,
                  ir::type_string(y->type), ir::type_string(v->type));
    return const_cast<ir::Value*>(y);
  };
  scores = modify(scores, "score_mod");
  ir::Value* probabilities =
      modify(ctx.build.make1("Softmax", {scores}, {{"axis", int64_t{3}}}), "prob_mod");
  ir::Value* y = ctx.build.make1("MatMul", {probabilities, cast(x[2], precision)});
  ctx.set_output(0, Item::of(ctx.build.make1("CastLike", {y, x[0]})));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "FlexAttention",
                   .domain = "ai.onnx.preview",
                   .since = 1,
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::flex_attention_op
