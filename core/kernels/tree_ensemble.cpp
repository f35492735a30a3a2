// tree_ensemble: operands [x, nodes, thresholds, roots, targets, weights, base?, labels?, y,
// label?]. x [rows, features] is f32 or f64. nodes is s32 [n, 4]: (feature, mode + 8 if NaN goes to
// the true side, true child, false child), or for a leaf (first weight, 6, end of weights, 0); a
// child stands behind its parent. thresholds f64 [n], roots s32 [trees], targets s32 [m] and
// weights f64 [m] of the leaves, base f64 [0, 1 or columns], labels s64 [classes]. y [rows,
// columns] is f32 or f64, label s64 [rows]. ints: [rows, features, n, trees, m, base count,
// columns, aggregate (0 sum, 1 average, 2 min, 3 max), post transform, classifier, all weight on
// one class, weights all positive, and optionally 1 + the mode that all nodes have]. Sums are in
// double, trees in order. A classifier of two classes with weights for one reports as ONNX Runtime
// does, which is not what the specification says everywhere. A task is eight rows, which go down a
// tree side by side.
#include <algorithm>
#include <limits>

#include "kernels/common/call_reader.h"
#include "kernels/common/post_transform.h"

namespace poprt::kernels {
namespace {

enum Mode : int32_t { leq, lt, gte, gt, eq, neq, leaf };

struct Params {
  int64_t features, nodes, trees, weights, bases, columns, aggregate;
  PostTransform transform;
  int64_t rows;
  bool classifier, one_class, all_positive, x_double, y_double;
  void (*descend)(const Params& p, void* const* data, int64_t row, int64_t lanes, int32_t root,
                  int32_t* at) noexcept;
};

constexpr int64_t kLanes = 8;
constexpr int kMixed = -1;

bool goes_true(int32_t mode, double x, double threshold) noexcept {
  switch (mode) {
    case leq: return x <= threshold;
    case lt: return x < threshold;
    case gte: return x >= threshold;
    case gt: return x > threshold;
    case eq: return x == threshold;
    default: return x != threshold;
  }
}

struct Scores {
  double* value;
  uint8_t* has;
};

// at[l]: the leaf of row + l, or -1 where the tree is damaged (a program that was not made by us).
// All nodes compare with kMode unless that is kMixed.
template <class X, int kMode>
void descend(const Params& p, void* const* data, int64_t row, int64_t lanes, int32_t root,
             int32_t* at) noexcept {
  const auto* nodes = static_cast<const int32_t*>(data[1]);
  const auto* thresholds = static_cast<const double*>(data[2]);
  const X* x = static_cast<const X*>(data[0]) + row * p.features;
  std::fill(at, at + lanes, root < 0 || root >= p.nodes ? -1 : root);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t l = 0; l < lanes; l++) {
      if (at[l] < 0) continue;
      const int32_t* n = nodes + 4 * int64_t{at[l]};
      const int32_t mode = n[1] & 7;
      if (mode == leaf) continue;
      if (n[0] < 0 || n[0] >= p.features) {
        at[l] = -1;
        continue;
      }
      const auto v = static_cast<double>(x[l * p.features + n[0]]);
      const bool compared = goes_true(kMode == kMixed ? mode : kMode, v, thresholds[at[l]]);
      const int side = static_cast<int>(compared) | (n[1] >> 3 & static_cast<int>(std::isnan(v)));
      // No branch: which way it goes cannot be foreseen.
      const int32_t next = n[3 - (side & 1)];
      at[l] = next <= at[l] || next >= p.nodes ? -1 : next;
      moved = true;
    }
  }
}

template <class X>
auto descend_of(int64_t mode) {
  switch (mode) {
    case leq: return descend<X, leq>;
    case lt: return descend<X, lt>;
    case gte: return descend<X, gte>;
    case gt: return descend<X, gt>;
    default: return descend<X, kMixed>;
  }
}

void add_leaf(const Params& p, void* const* data, int64_t at, Scores s) noexcept {
  const auto* nodes = static_cast<const int32_t*>(data[1]);
  const auto* targets = static_cast<const int32_t*>(data[4]);
  const auto* weights = static_cast<const double*>(data[5]);
  const int64_t begin = std::max(nodes[4 * at], 0);
  const int64_t end = std::min<int64_t>(nodes[4 * at + 2], p.weights);
  for (int64_t i = begin; i < end; i++) {
    const int32_t t = targets[i];
    if (t < 0 || t >= p.columns) continue;
    double& v = s.value[t];
    if (p.aggregate < 2)
      v += weights[i];
    else if (!s.has[t])
      v = weights[i];
    else
      v = p.aggregate == 2 ? std::min(v, weights[i]) : std::max(v, weights[i]);
    s.has[t] = 1;
  }
}

// Two classes, all weight on one of them: gives the index of the label.
int64_t finish_binary(const Params& p, const double* base, Scores s, double* out) noexcept {
  bool single = false;  // one score stands for both classes
  if (p.bases == 2) {
    if (s.has[1]) {
      s.value[1] = base[1] + s.value[0];
      s.value[0] = -s.value[1];
    } else {
      s.value[1] += base[1];
      s.value[0] += base[0];
    }
  } else {
    if (p.bases == 1) s.value[0] += base[0];
    single = !s.has[1];
  }
  const double positive = !single && s.has[1] ? s.value[1] : s.has[0] ? s.value[0] : 0;
  const bool label = positive > (p.all_positive ? 0.5 : 0.0);
  if (!single) {
    apply_post_transform(p.transform, {s.value, 2});
    out[0] = s.value[0];
    out[1] = s.value[1];
  } else if (p.transform == PostTransform::probit) {
    out[0] = probit(s.value[0]);
    out[1] = 0;
  } else {
    apply_binary_transform(p.transform, p.all_positive, s.value[0], out);
  }
  return label;
}

void finish_row(const Params& p, void* const* data, int64_t row, Scores s) noexcept {
  const auto* base = static_cast<const double*>(data[6]);
  const auto* labels = static_cast<const int64_t*>(data[7]);
  double pair[2];
  const double* out = s.value;
  if (p.classifier && p.one_class) {
    const int64_t label = finish_binary(p, base, s, pair);
    out = pair;
    if (data[9]) static_cast<int64_t*>(data[9])[row] = labels[label];
  } else {
    for (int64_t c = 0; c < p.columns; c++) {
      if (p.aggregate == 1 && p.trees) s.value[c] /= static_cast<double>(p.trees);
      if (p.bases == p.columns)
        s.value[c] += base[c];
      else if (p.bases == 1 && (p.columns == 1 || (p.classifier && p.columns == 2)))
        s.value[c] += base[0];
    }
    if (p.classifier && data[9]) {
      int64_t best = -1;
      for (int64_t c = 0; c < p.columns; c++)
        if ((s.has[c] || p.bases == p.columns || p.columns == 2) &&
            (best < 0 || s.value[c] > s.value[best]))
          best = c;
      static_cast<int64_t*>(data[9])[row] = labels[std::max<int64_t>(best, 0)];
    }
    // One target knows no other transform in ONNX Runtime.
    if (p.columns > 1 || p.classifier || p.transform == PostTransform::probit)
      apply_post_transform(p.transform, {s.value, static_cast<size_t>(p.columns)});
  }
  for (int64_t c = 0; data[8] && c < p.columns; c++) {
    if (p.y_double)
      static_cast<double*>(data[8])[row * p.columns + c] = out[c];
    else
      static_cast<float*>(data[8])[row * p.columns + c] = static_cast<float>(out[c]);
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* roots = static_cast<const int32_t*>(data[3]);
  auto* values = reinterpret_cast<double*>(scratch);
  auto* has = reinterpret_cast<uint8_t*>(values + kLanes * p.columns);
  for (int64_t row = begin * kLanes; row < std::min(end * kLanes, p.rows); row += kLanes) {
    const int64_t lanes = std::min(kLanes, p.rows - row);
    std::fill_n(values, lanes * p.columns, 0.0);
    std::fill_n(has, lanes * p.columns, uint8_t{0});
    const auto scores = [&](int64_t l) {
      return Scores{values + l * p.columns, has + l * p.columns};
    };
    for (int64_t t = 0; t < p.trees; t++) {
      int32_t at[kLanes];
      p.descend(p, data, row, lanes, roots[t], at);
      for (int64_t l = 0; l < lanes; l++)
        if (at[l] >= 0) add_leaf(p, data, at[l], scores(l));
    }
    for (int64_t l = 0; l < lanes; l++) finish_row(p, data, row + l, scores(l));
  }
}

Plan prepare(const Call& call) {
  const CallReader r("tree_ensemble", call, 10, 12);
  auto p = std::make_shared<Params>();
  p->rows = r.size(0);
  p->features = r.size(1);
  p->nodes = r.size(2);
  p->trees = r.size(3);
  p->weights = r.size(4);
  p->bases = r.size(5);
  p->columns = r.size(6, 1);
  p->aggregate = r.size(7);
  r.check(p->aggregate < 4 && r.size(8) < kPostTransforms, "unknown aggregate or transform");
  p->transform = static_cast<PostTransform>(r.size(8));
  p->classifier = r.flag(9);
  p->one_class = r.flag(10);
  r.check(!p->one_class || p->columns == 2, "one of two classes, but there are not two");
  p->all_positive = r.flag(11);
  p->x_double = r.dtype(0) == DType::f64;
  const int64_t mode = call.ints.size() > 12 ? r.integer(12) - 1 : kMixed;
  p->descend = p->x_double ? descend_of<double>(mode) : descend_of<float>(mode);
  r.check(p->nodes < std::numeric_limits<int32_t>::max(), "too many nodes");
  r.check(!p->classifier || r.has(7), "a classifier needs labels");
  r.needs(0, p->x_double ? DType::f64 : DType::f32, {p->rows, p->features});
  r.needs(1, DType::s32, {p->nodes, 4});
  r.needs(2, DType::f64, {p->nodes});
  r.needs(3, DType::s32, {p->trees});
  r.needs(4, DType::s32, {p->weights});
  r.needs(5, DType::f64, {p->weights});
  if (p->bases) r.needs(6, DType::f64, {p->bases});
  r.may(7, DType::s64, {p->columns});
  p->y_double = r.has(8) && r.dtype(8) == DType::f64;
  r.may(8, p->y_double ? DType::f64 : DType::f32, {p->rows, p->columns});
  r.may(9, DType::s64, {p->rows});
  Plan plan;
  plan.run = run;
  plan.tasks = (p->rows + kLanes - 1) / kLanes;
  plan.work = static_cast<double>(p->rows) * static_cast<double>(p->trees) * 20;
  plan.scratch_bytes = static_cast<size_t>(
      checked_mul(p->columns, kLanes * static_cast<int64_t>(sizeof(double) + 1)));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel tree_ensemble_kernel;
const Kernel tree_ensemble_kernel = {"tree_ensemble", prepare};

}  // namespace poprt::kernels
