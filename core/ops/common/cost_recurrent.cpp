#include <algorithm>
#include <initializer_list>

#include "ops/common/cost.h"

// The supersteps of RNN, GRU and LSTM, as the chip's libraries program them for an inference: a
// loop over time whose body exists once. A step slices its inputs, multiplies them and the result
// of the previous step by the weights of both in one product, and writes its result to the
// sequence. Weights stay where the plan of this product wants them; gates are not kept.
//
// Worked example: an LSTM of 1024 inputs and 1024 outputs for 16 sequences has one product
// [16, 2048] x [2048, 4096] in a step. The products of all inputs at once, for 25 steps, would keep
// 400 x 4096 results.
namespace poprt::ops::cost {
namespace {

using ipu::Elementwise;

struct Recurrence {
  DType type = DType::f16;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, gates = 0;
  int64_t of_gates() const { return batch * gates; }
  int64_t of_state() const { return batch * hidden; }
};

// Several vertices in one compute set, which follow each other on a tile.
void together(CostContext& ctx, const Recurrence& r, std::initializer_list<Elementwise> vertices,
              int64_t n) {
  int64_t cycles = 0;
  const int64_t here = ctx.out.share(r.type, n);
  for (const Elementwise v : vertices)
    cycles +=
        ipu::elementwise_cycles(ctx.out.target(), v, r.type, here, v == Elementwise::add ? 2 : 1);
  ctx.out.step("elementwise", 0, cycles, ctx.out.spread(r.type, n));
}

// Multiplies [batch, in] by weights for `gates` results of each row. The results are transposed and
// copied to the tiles of the state: a tile has the gates of its elements, from as many tiles.
void gates_product(CostContext& ctx, const Recurrence& r, int64_t in, int64_t gates) {
  ipu::Product p;
  p.matmul = true;
  p.batch = r.batch;
  p.in = in;
  p.out = gates;
  p.inputs = p.result = r.type;
  p.partials = ctx.out.partials(r.type);
  const int64_t temporary = ctx.out.product(p).cost.temporary_bytes;
  const int64_t n = r.batch * gates, here = ctx.out.share(r.type, n);
  const int64_t bytes = ipu::chip_bytes(r.type, here), on = ctx.out.spread(r.type, n);
  ctx.out.step("transpose", 0, ipu::transpose_cycles(ctx.out.target(), r.type, here), on);
  ctx.out.step("copy", bytes,
               ipu::copy_cycles(ctx.out.target(), bytes, ctx.out.target().memcpy_bytes), on, false,
               std::max<int64_t>(gates / r.hidden, 1));
  ctx.out.temporary(temporary + bytes);
}

void lstm_step(CostContext& ctx, const Recurrence& r) {
  gates_product(ctx, r, r.inputs + r.hidden, r.gates);
  ctx.out.bias(r.type, r.of_gates(), r.gates);
  const int64_t sigmoids = ctx.out.share(r.type, r.of_gates() - r.of_state()),
                candidates = ctx.out.share(r.type, r.of_state());
  const ipu::Target& target = ctx.out.target();
  ctx.out.step("elementwise", 0,
               ipu::elementwise_cycles(target, Elementwise::sigmoid, r.type, sigmoids) +
                   ipu::elementwise_cycles(target, Elementwise::tanh, r.type, candidates),
               ctx.out.spread(r.type, r.of_gates()));
  ctx.out.elementwise(Elementwise::add, r.type, 2 * r.of_state(), 2);
  ctx.out.elementwise(Elementwise::add, r.type, r.of_state(), 2);
  together(ctx, r, {Elementwise::tanh, Elementwise::add}, r.of_state());
}

// The candidate reads the state after the reset, so its product follows the one of the other gates.
void gru_step(CostContext& ctx, const Recurrence& r) {
  const int64_t in = r.inputs + r.hidden, gates = r.gates - r.hidden;
  gates_product(ctx, r, in, gates);
  ctx.out.bias(r.type, r.batch * gates, gates);
  ctx.out.elementwise(Elementwise::sigmoid, r.type, r.batch * gates);
  ctx.out.elementwise(Elementwise::add, r.type, r.of_state(), 2);
  gates_product(ctx, r, in, r.hidden);
  ctx.out.bias(r.type, r.of_state(), r.hidden);
  ctx.out.elementwise(Elementwise::tanh, r.type, r.of_state());
  together(ctx, r, {Elementwise::add, Elementwise::add, Elementwise::add}, r.of_state());
}

// The reset follows the product of the state, so inputs and state have separate products.
void gru_step_reset_after(CostContext& ctx, const Recurrence& r) {
  gates_product(ctx, r, r.inputs, r.gates);
  gates_product(ctx, r, r.hidden, r.gates);
  ctx.out.elementwise(Elementwise::add, r.type, r.of_gates() - r.of_state(), 2);
  ctx.out.bias(r.type, r.of_gates(), r.gates);
  ctx.out.elementwise(Elementwise::sigmoid, r.type, r.of_gates() - r.of_state());
  together(ctx, r, {Elementwise::add, Elementwise::add}, r.of_state());
  ctx.out.elementwise(Elementwise::tanh, r.type, r.of_state());
  together(ctx, r, {Elementwise::add, Elementwise::add, Elementwise::add}, r.of_state());
}

void rnn_step(CostContext& ctx, const Recurrence& r) {
  gates_product(ctx, r, r.inputs + r.hidden, r.hidden);
  ctx.out.bias(r.type, r.of_state(), r.hidden);
  ctx.out.elementwise(Elementwise::tanh, r.type, r.of_state());
}

}  // namespace

void recurrent(CostContext& ctx) {
  const Shape &x = ctx.in(0), &w = ctx.in(1), &weights = ctx.in(2);
  if (x.size() != 3 || w.size() != 3 || weights.size() != 3) return ctx.out.no_rule();
  const bool by_batch = ctx.node.int_attr("layout", 0) != 0;
  Recurrence r;
  r.type = ctx.in_type(0) == DType::f32 ? DType::f32 : DType::f16;
  r.steps = by_batch ? x[1] : x[0];
  r.batch = by_batch ? x[0] : x[1];
  r.inputs = x[2];
  r.hidden = weights[2];
  r.gates = weights[1];
  if (!r.steps || !r.batch || !r.inputs || !r.hidden || !r.gates) return;
  for (int64_t direction = 0; direction < w[0]; direction++) {
    ctx.out.begin_repeat(r.steps);
    ctx.out.slice("slice", r.type, r.batch * r.inputs);
    if (r.gates == 4 * r.hidden)
      lstm_step(ctx, r);
    else if (r.gates != 3 * r.hidden)
      rnn_step(ctx, r);
    else if (ctx.node.int_attr("linear_before_reset", 0) != 0)
      gru_step_reset_after(ctx, r);
    else
      gru_step(ctx, r);
    ctx.out.slice("update", r.type, r.of_state());
    ctx.out.elementwise(Elementwise::add, DType::s32, 1, 2);  // the number of the step
    ctx.out.end_repeat(r.steps);
  }
}

}  // namespace poprt::ops::cost
