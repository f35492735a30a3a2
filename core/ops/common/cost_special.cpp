#include "ops/common/cost_special.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "ops/common/cost.h"

// The costs of the steps are those of ipu/vertices.h (docs/chip.md). How many steps an operator
// needs follows from its definition, because no cost of these operators is published.
namespace poprt::ops::cost {
namespace {

using ipu::Elementwise;

int64_t at_least_one(int64_t n) { return std::max<int64_t>(n, 1); }

// Appends a product of halves, or of floats if the input has them. The right operand is a weight
// unless `computed`.
void special_product(CostContext& ctx, int64_t groups, int64_t rows, int64_t in, int64_t out,
                     bool computed = false) {
  ipu::Product p;
  p.matmul = true;
  p.groups = groups;
  p.batch = rows;
  p.in = in;
  p.out = out;
  if (p.multiplies() <= 0) return;
  p.inputs = p.result = ctx.in_type(0) == DType::f32 ? DType::f32 : DType::f16;
  p.partials = ctx.out.partials(p.inputs);
  p.computed_weights = computed;
  ctx.out.product(p);
}

int64_t dimension(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? shape[static_cast<size_t>(axis)] : 1;
}

// The number of rounds of a search among `n` candidates in which each round excludes one half.
int64_t levels_of(int64_t n) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(at_least_one(n))));
}

// Four neighbours of each of n places are read and weighted.
void interpolate(CostContext& ctx, int64_t n) {
  const DType type = ctx.in_type(0);
  for (int i = 0; i < 4; i++) {
    ctx.out.pick(type, n);
    ctx.out.elementwise(Elementwise::add, type, n, 2);
  }
}

// The running sums along the last axis, of rows with `columns` elements.
void running_sum(CostContext& ctx, DType type, int64_t n, int64_t columns) {
  for (int64_t width = 1; width < columns; width *= 2) {
    ctx.out.align(type, n);
    ctx.out.elementwise(Elementwise::add, type, n, 2);
  }
}

// Each round finds a pivot and subtracts its row from the others. A matrix has `sides` blocks of
// columns: one, or two if an identity matrix becomes the inverse.
void elimination(CostContext& ctx, int64_t sides) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0), size = dimension(ctx.in(0), -1);
  if (n == 0) return;
  const int64_t matrices = n / at_least_one(size * size);
  ctx.out.begin_repeat(size);
  ctx.out.reduce(type, matrices * size, matrices);
  ctx.out.broadcast(type, matrices * size * sides, n * sides);
  ctx.out.elementwise(Elementwise::add, type, n * sides, 2);
  ctx.out.end_repeat(size);
}

}  // namespace

// The places of the result are multiplied by the matrix of each image.
void affine_grid(CostContext& ctx) {
  const Shape& theta = ctx.in(0);
  if (theta.size() != 3) return;
  special_product(ctx, theta[0], ctx.result_count() / at_least_one(theta[0] * theta[1]), theta[2],
                  theta[1], true);
}

// One cosine is computed for each place; the other terms follow from it.
void window(CostContext& ctx) {
  const DType type = ctx.result_type();
  const int64_t n = ctx.result_count();
  ctx.out.fill(type, n);
  ctx.out.elementwise(Elementwise::sin, type, n);
  ctx.out.elementwise(Elementwise::add, type, n, 2, true);
}

// The transform is a product with a matrix of cosines and sines, because the chip's library has no
// fast transform.
void dft(CostContext& ctx) {
  const Shape &x = ctx.in(0), &y = ctx.result();
  if (x.size() < 2) return;
  int64_t axis = ctx.node.int_attr("axis", 1);
  if (ctx.node.opset() >= 20) {
    axis = -2;
    if (ctx.has(2) && ctx.node.input(2)->is_constant())
      axis = ctx.node.input(2)->constant().to_int64s()[0];
  }
  const int64_t in = dimension(x, axis) * x.back(), out = 2 * dimension(y, axis);
  special_product(ctx, 1, ctx.in_count(0) / at_least_one(in), in, out);
}

// Frames overlap, so they are copied, weighted by the window, and then transformed.
void stft(CostContext& ctx) {
  const Shape& y = ctx.result();
  if (y.size() != 4) return;
  const int64_t frames = y[0] * y[1], bins = y[2];
  const int64_t length = ctx.has(2) ? ctx.in_count(2) : at_least_one(2 * (bins - 1));
  const DType type = ctx.in_type(0);
  ctx.out.rearrange(type, frames * length, ipu::chip_bytes(type, length));
  if (ctx.has(2)) {
    ctx.out.broadcast(type, length, frames * length);
    ctx.out.elementwise(Elementwise::add, type, frames * length, 2);
  }
  special_product(ctx, 1, frames, length, 2 * bins);
}

// Each tap of each place is interpolated, and the taps are the channels of a product.
void deform_conv(CostContext& ctx) {
  const Shape &x = ctx.in(0), &w = ctx.in(1), &y = ctx.result();
  if (x.size() != 4 || w.size() != 4 || y.size() != 4) return;
  const int64_t places = y[0] * y[2] * y[3], taps = w[2] * w[3];
  const int64_t groups = at_least_one(ctx.node.int_attr("group", 1));
  interpolate(ctx, places * taps * x[1]);
  special_product(ctx, groups, places, w[1] * taps, w[0] / groups);
  if (ctx.has(3)) ctx.out.bias(ctx.in_type(0), ctx.result_count(), ctx.in_count(3));
}

void det(CostContext& ctx) { elimination(ctx, 1); }

void inverse(CostContext& ctx) { elimination(ctx, 2); }

// The compiler decodes images, so the chip does nothing.
void image_decoder(CostContext&) {}

void crop_and_resize(CostContext& ctx) { interpolate(ctx, ctx.result_count()); }

void nhwc_max_pool(CostContext& ctx) {
  const Shape& y = ctx.result();
  if (y.empty()) return;
  int64_t taps = 1;
  for (const int64_t k : ctx.node.ints_attr("kernel_shape")) taps *= k;
  const int64_t channels = at_least_one(y.back());
  ctx.out.pool(ctx.in_type(0), channels, ctx.result_count() / channels, taps, ctx.in_count(0));
}

// A diagonal of the table depends on the two before it. The path is then followed backwards.
void dynamic_time_warping(CostContext& ctx) {
  const Shape& x = ctx.in(0);
  const DType type = ctx.in_type(0);
  const int64_t rows = dimension(x, -2), columns = dimension(x, -1);
  if (!ctx.in_count(0)) return;
  const int64_t rounds = rows + columns - 1, width = std::min(rows, columns);
  ctx.out.begin_repeat(rounds);
  ctx.out.align(type, width);
  ctx.out.elementwise(Elementwise::max, type, width, 2);
  ctx.out.elementwise(Elementwise::max, type, width, 2);
  ctx.out.elementwise(Elementwise::add, type, width, 2);
  ctx.out.pick(type, 1);
  ctx.out.end_repeat(rounds);
}

// The first difference of two sequences of tokens, and the place of each n-gram in the source.
void bifurcation(CostContext& ctx) {
  const int64_t source = ctx.in_count(0), tokens = ctx.in_count(1);
  const int64_t most = at_least_one(ctx.node.int_attr("max_ngram_size", 1));
  ctx.out.align(DType::s32, tokens);
  ctx.out.elementwise(Elementwise::compare, DType::s32, tokens, 2);
  ctx.out.reduce(DType::s32, tokens, 1);
  ctx.out.begin_repeat(most);
  ctx.out.align(DType::s32, source);
  ctx.out.elementwise(Elementwise::compare, DType::s32, source, 2);
  ctx.out.reduce(DType::s32, source, 1);
  ctx.out.end_repeat(most);
}

// The keys are sorted, so each round halves the keys that an element may have.
void label_encoder(CostContext& ctx) {
  int64_t keys = 1;
  for (const char* name : {"keys_tensor", "keys_int64s", "keys_floats"})
    if (const ir::Attribute* a = ctx.node.find_attr(name)) {
      const Tensor* t = std::get_if<Tensor>(a);
      const auto* floats = std::get_if<std::vector<float>>(a);
      keys = t        ? t->count()
             : floats ? static_cast<int64_t>(floats->size())
                      : static_cast<int64_t>(ctx.node.ints_attr(name).size());
    }
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0), rounds = levels_of(keys);
  if (!n) return;
  ctx.out.begin_repeat(rounds);
  ctx.out.pick(type, n);
  ctx.out.elementwise(Elementwise::compare, type, n, 2);
  ctx.out.end_repeat(rounds);
  ctx.out.pick(ctx.result_type(), n);
}

// A row descends all trees at once: a round reads a split and a feature, and compares them. The
// trees are taken as balanced, because their depth would follow from the values of attributes.
void tree_ensemble(CostContext& ctx) {
  const Shape& x = ctx.in(0);
  const DType type = ctx.in_type(0);
  const int64_t rows = x.size() > 1 ? x[0] : 1;
  const auto nodes = static_cast<int64_t>(ctx.node.ints_attr("nodes_featureids").size());
  const auto roots = static_cast<int64_t>(ctx.node.ints_attr("tree_roots").size());
  std::vector<int64_t> ids = ctx.node.ints_attr("nodes_treeids");
  std::ranges::sort(ids);
  const auto named = static_cast<int64_t>(std::ranges::unique(ids).begin() - ids.begin());
  const int64_t trees = at_least_one(std::max(roots, named));
  const int64_t places = rows * trees, rounds = levels_of(nodes / trees);
  if (!places) return;
  ctx.out.begin_repeat(rounds);
  ctx.out.pick(type, 2 * places);
  ctx.out.elementwise(Elementwise::compare, type, places, 2);
  ctx.out.end_repeat(rounds);
  ctx.out.pick(type, places);
  ctx.out.reduce(type, places, rows);
}

// The heads of the three inputs are columns.
void projected_attention(CostContext& ctx) {
  const Shape &q = ctx.in(0), &k = ctx.in(1);
  if (q.size() != 3 || k.size() != 3) return;
  const int64_t groups = q[0] * at_least_one(ctx.node.int_attr("heads", 1));
  const int64_t size = at_least_one(ctx.node.int_attr("head_size", 1));
  const int64_t scores = groups * q[1] * k[1];
  if (!scores) return;
  special_product(ctx, groups, q[1], size, k[1], true);
  const DType type = ctx.in_type(0);
  ctx.out.elementwise(Elementwise::add, type, scores, 2, true);
  if (ctx.has(3)) {
    ctx.out.broadcast(type, ctx.in_count(3), scores);
    ctx.out.elementwise(Elementwise::add, type, scores, 2);
  }
  ctx.out.softmax(type, groups * q[1], k[1]);
  special_product(ctx, groups, q[1], k[1], size, true);
}

// The products with W are inputs. Each step multiplies the state by R.
void projected_lstm(CostContext& ctx) {
  const Shape &x = ctx.in(0), &r = ctx.in(2);
  if (x.size() != 3 || r.size() != 3 || !ctx.in_count(0) || !ctx.in_count(2)) return;
  const DType type = ctx.in_type(0);
  const int64_t hidden = std::min(r[1], r[2]), gates = std::max(r[1], r[2]);
  ctx.out.begin_repeat(x[0] * r[0]);
  special_product(ctx, 1, x[1], hidden, gates);
  ctx.out.elementwise(Elementwise::add, type, x[1] * gates, 2);
  ctx.out.elementwise(Elementwise::sigmoid, type, x[1] * gates);
  for (int i = 0; i < 3; i++) ctx.out.elementwise(Elementwise::add, type, x[1] * hidden, 2);
  ctx.out.elementwise(Elementwise::tanh, type, x[1] * hidden);
  ctx.out.end_repeat(x[0] * r[0]);
}

// The weights of an expert go to the tiles of the rows that chose it.
void expert_rows(CostContext& ctx) {
  const Shape& w = ctx.in(1);
  if (w.size() != 3) return;
  special_product(ctx, 1, ctx.in_count(2), w[2], w[1], true);
}

void sum(CostContext& ctx) {
  ctx.out.reduce(ctx.in_type(0), ctx.in_count(0), at_least_one(ctx.result_count()), false);
}

// Each pair of classes has a vote.
void svm_votes(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0);
  ctx.out.elementwise(Elementwise::compare, type, n, 2, true);
  ctx.out.reduce(type, n, at_least_one(dimension(ctx.in(0), 0)));
  ctx.out.elementwise(Elementwise::sigmoid, type, n);
}

void dynamic_quantize(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0);
  ctx.out.reduce(type, n, 1);
  ctx.out.reduce(type, n, 1);
  ctx.out.broadcast(type, 2, n);
  ctx.out.elementwise(Elementwise::add, type, n, 2, true);
  ctx.out.elementwise(Elementwise::round, type, n);
  ctx.out.cast(type, DType::u8, n);
}

// The state is in front of the input; each channel has its own filter.
void causal_conv(CostContext& ctx) {
  const Shape &x = ctx.in(0), &w = ctx.in(1);
  if (x.size() != 3 || w.size() < 2) return;
  const DType type = ctx.in_type(0);
  ctx.out.rearrange(type, ctx.in_count(0), 8);
  ipu::Product p;
  p.groups = x[1];
  p.batch = x[0];
  p.width = x[2];
  p.kernel_width = w.back();
  p.inputs = p.result = type == DType::f32 ? DType::f32 : DType::f16;
  p.partials = ctx.out.partials(p.inputs);
  if (p.multiplies() > 0) ctx.out.product(p);
}

// Each step decays the state of every head, adds an outer product, and multiplies it by the query.
void linear_attention(CostContext& ctx) {
  const Shape &q = ctx.in(0), &v = ctx.in(2);
  if (q.size() < 3 || v.size() < 3) return;
  const DType type = ctx.in_type(0);
  const int64_t steps = q.size() == 3 ? q[1] : q[2];
  const int64_t heads = q.size() == 3 ? at_least_one(ctx.node.int_attr("q_num_heads", 1)) : q[1];
  const int64_t keys = q.size() == 3 ? q[2] / heads : q[3];
  const int64_t values =
      v.size() == 3 ? v[2] / at_least_one(ctx.node.int_attr("kv_num_heads", heads)) : v[3];
  const int64_t state = q[0] * heads * keys * values;
  if (!steps || !state) return;
  ctx.out.begin_repeat(steps);
  ctx.out.broadcast(type, q[0] * heads * (keys + values), state);
  for (int i = 0; i < 3; i++) ctx.out.elementwise(Elementwise::add, type, state, 2);
  ctx.out.reduce(type, state, q[0] * heads * values, false);
  ctx.out.end_repeat(steps);
}

// Each result is the largest element of one part of a region.
void max_roi_pool(CostContext& ctx) {
  const Shape &x = ctx.in(0), &y = ctx.result();
  if (x.size() != 4 || y.size() != 4 || !ctx.result_count()) return;
  const int64_t taps = at_least_one(x[2] / y[2]) * at_least_one(x[3] / y[3]);
  ctx.out.pool(ctx.in_type(0), y[1], ctx.result_count() / y[1], taps, ctx.result_count() * taps);
}

void roi_align(CostContext& ctx) {
  const Shape &x = ctx.in(0), &y = ctx.result();
  if (x.size() != 4 || y.size() != 4 || !ctx.result_count()) return;
  // Without a ratio, the number of samples follows from the size of the region: at most the image.
  const int64_t ratio = ctx.node.int_attr("sampling_ratio", 0);
  const int64_t samples =
      ratio > 0 ? ratio * ratio
                : at_least_one((x[2] + y[2] - 1) / y[2]) * at_least_one((x[3] + y[3] - 1) / y[3]);
  interpolate(ctx, ctx.result_count() * samples);
  ctx.out.reduce(ctx.in_type(0), ctx.result_count() * samples, ctx.result_count());
}

void max_unpool(CostContext& ctx) {
  ctx.out.fill(ctx.result_type(), ctx.result_count());
  ctx.out.scatter(ctx.result_type(), ctx.result_count(), 1, ctx.in_count(0));
}

// Each filter is the smaller one of two slopes.
void mel_weight_matrix(CostContext& ctx) {
  const DType type = ctx.result_type();
  const int64_t n = ctx.result_count();
  ctx.out.elementwise(Elementwise::div, type, n, 2);
  ctx.out.elementwise(Elementwise::div, type, n, 2);
  ctx.out.elementwise(Elementwise::max, type, n, 2);
}

// A random number for each sample is compared with the running sum of the probabilities.
void multinomial(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0), classes = dimension(ctx.in(0), -1);
  const int64_t compared = ctx.result_count() * classes;
  ctx.out.elementwise(Elementwise::exp, type, n);
  running_sum(ctx, type, n, classes);
  ctx.out.fill(type, ctx.result_count());
  ctx.out.broadcast(type, n, compared);
  ctx.out.elementwise(Elementwise::compare, type, compared, 2);
  ctx.out.reduce(type, compared, ctx.result_count());
}

void negative_log_likelihood(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t places = ctx.in_count(1);
  ctx.out.pick(type, places);
  if (ctx.has(2)) {
    ctx.out.pick(type, places);
    ctx.out.elementwise(Elementwise::add, type, places, 2);
    ctx.out.reduce(type, places, 1);
  }
  if (ctx.result_count() < places) ctx.out.reduce(type, places, ctx.result_count());
}

void softmax_cross_entropy(CostContext& ctx) {
  const int64_t classes = at_least_one(dimension(ctx.in(0), 1));
  ctx.out.softmax(ctx.in_type(0), ctx.in_count(0) / classes, classes);
  ctx.out.elementwise(Elementwise::log, ctx.in_type(0), ctx.in_count(0));
  negative_log_likelihood(ctx);
}

// The boxes are sorted by their scores. Each chosen box is compared with all others.
void non_max_suppression(CostContext& ctx) {
  const Shape& scores = ctx.in(1);
  if (scores.size() != 3) return;
  const DType type = ctx.in_type(0);
  const int64_t lists = scores[0] * scores[1], boxes = scores[2], n = lists * boxes;
  int64_t rounds = boxes;
  if (ctx.has(2) && ctx.node.input(2)->is_constant())
    rounds = std::clamp<int64_t>(ctx.node.input(2)->constant().to_int64s()[0], 0, boxes);
  if (!n || !rounds) return;
  ctx.out.sort(type, lists, boxes);
  ctx.out.begin_repeat(rounds);
  ctx.out.broadcast(type, lists * 4, n);
  for (int i = 0; i < 5; i++) ctx.out.elementwise(Elementwise::max, type, n, 2);
  ctx.out.elementwise(Elementwise::div, type, n, 2);
  ctx.out.elementwise(Elementwise::compare, type, n, 2, true);
  ctx.out.reduce(type, n, lists);
  ctx.out.end_repeat(rounds);
}

// Each element that is not zero is written to the place that the running count states.
void non_zero(CostContext& ctx) {
  const int64_t n = ctx.in_count(0);
  ctx.out.elementwise(Elementwise::compare, ctx.in_type(0), n, 2, true);
  running_sum(ctx, DType::s32, n, n);
  const int64_t rank = at_least_one(static_cast<int64_t>(ctx.in(0).size()));
  ctx.out.scatter(DType::s32, n * rank, rank, n);
}

// Each element is compared with the terms of the pool, and the matches are counted.
void tf_idf(CostContext& ctx) {
  const auto terms = static_cast<int64_t>(ctx.node.ints_attr("ngram_indexes").size());
  const int64_t compared = ctx.in_count(0) * at_least_one(terms);
  ctx.out.broadcast(DType::s32, at_least_one(terms), compared);
  ctx.out.elementwise(Elementwise::compare, DType::s32, compared, 2);
  ctx.out.reduce(DType::s32, compared, at_least_one(ctx.result_count()));
}

// The elements are sorted, compared with their neighbours, and moved to the place that the running
// count states.
void unique(CostContext& ctx) {
  const DType type = ctx.in_type(0);
  const int64_t n = ctx.in_count(0);
  int64_t rows = n;
  if (ctx.node.find_attr("axis")) rows = dimension(ctx.in(0), ctx.node.int_attr("axis", 0));
  ctx.out.sort(type, n / at_least_one(rows), rows);
  ctx.out.align(type, n);
  ctx.out.elementwise(Elementwise::compare, type, n, 2);
  running_sum(ctx, DType::s32, rows, rows);
  ctx.out.scatter(type, n, n / at_least_one(rows), rows);
}

// The cache of each slot stays on the chip. A run moves its places and replaces the first ones.
void shift(CostContext& ctx) {
  const DType type = ctx.result_type();
  const int64_t n = ctx.result_count();
  const int64_t axis = ctx.node.int_attr("axis", 0);
  const int64_t length = at_least_one(dimension(ctx.result(), axis));
  ctx.out.state(type, n * at_least_one(ctx.node.int_attr("slots", 1)));
  ctx.out.scatter(type, n, n / length, dimension(ctx.in(1), axis));
}

}  // namespace poprt::ops::cost
