// tree_ensemble (calls/tree_ensemble.h).
#include <algorithm>

#include "kernels/calls/tree_ensemble.h"
#include "kernels/common/operands.h"
#include "kernels/common/tree_walk.h"
#include "kernels/isa/tree_masks.h"

namespace poprt::kernels::tree_ensemble_kernel {
namespace {

constexpr int kWalks = 8;

constexpr int64_t kMaskRows = isa::kMaskRows;
// The number of trees whose leaves are found before their weights are added.
constexpr int64_t kMaskTrees = 32;

using calls::TreeAggregate;

struct Params : calls::TreeEnsemble {
  int64_t task_rows, key_offset;
  bool x_double, y_double;
  const isa::TreeMasksTable* masks;
};

struct Scores {
  double* value;
  uint8_t* has;
};

void add_weights(const Params& p, void* const* data, uint32_t leaf, Scores s) noexcept {
  const auto* leaves = static_cast<const int32_t*>(data[4]);
  const auto* targets = static_cast<const int32_t*>(data[5]);
  const auto* weights = static_cast<const double*>(data[6]);
  if (leaf >= p.leaves) return;
  const int64_t begin = std::max(leaves[2 * leaf], 0);
  const int64_t end = std::min<int64_t>(leaves[2 * leaf + 1], p.weights);
  for (int64_t i = begin; i < end; i++) {
    const int32_t t = targets[i];
    if (t < 0 || t >= p.columns) continue;
    double& v = s.value[t];
    if (p.aggregate <= TreeAggregate::average)
      v += weights[i];
    else if (!s.has[t])
      v = weights[i];
    else
      v = p.aggregate == TreeAggregate::min ? std::min(v, weights[i]) : std::max(v, weights[i]);
    s.has[t] = 1;
  }
}

void add_full_leaf(const Params& p, void* const* data, int64_t weight, Scores s) noexcept {
  if (weight > p.weights - p.columns) return;
  const double* weights = static_cast<const double*>(data[6]) + weight;
  for (int64_t c = 0; c < p.columns; c++) s.value[c] += weights[c];
}

// `node` is the first word of a leaf.
void add_leaf(const Params& p, void* const* data, size_t node, Scores s) noexcept {
  const auto leaf = static_cast<uint32_t>(static_cast<const int32_t*>(data[1])[node]);
  if (!p.leaves_are_weights) return add_weights(p, data, leaf, s);
  add_full_leaf(p, data, leaf, s);
}

// Finishes a row of a classifier of two classes with all weights on one of them. Returns the index
// of the label.
int64_t finish_binary(const Params& p, const double* base, Scores s, double* out) noexcept {
  bool single = false;  // one score represents both classes
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
  const auto* base = static_cast<const double*>(data[7]);
  const auto* labels = static_cast<const int64_t*>(data[8]);
  double pair[2];
  const double* out = s.value;
  if (p.classifier && p.one_class) {
    const int64_t label = finish_binary(p, base, s, pair);
    out = pair;
    if (data[10]) static_cast<int64_t*>(data[10])[row] = labels[label];
  } else {
    for (int64_t c = 0; c < p.columns; c++) {
      if (p.aggregate == TreeAggregate::average && p.trees)
        s.value[c] /= static_cast<double>(p.trees);
      if (p.bases == p.columns)
        s.value[c] += base[c];
      else if (p.bases == 1 && (p.columns == 1 || (p.classifier && p.columns == 2)))
        s.value[c] += base[0];
    }
    if (p.classifier && data[10]) {
      int64_t best = -1;
      for (int64_t c = 0; c < p.columns; c++)
        if ((s.has[c] || p.bases == p.columns || p.columns == 2) &&
            (best < 0 || s.value[c] > s.value[best]))
          best = c;
      static_cast<int64_t*>(data[10])[row] = labels[std::max<int64_t>(best, 0)];
    }
    // With a single target, ONNX Runtime applies no other transform.
    if (p.columns > 1 || p.classifier || p.transform == PostTransform::probit)
      apply_post_transform(p.transform, {s.value, static_cast<size_t>(p.columns)});
  }
  for (int64_t c = 0; data[9] && c < p.columns; c++) {
    if (p.y_double)
      static_cast<double*>(data[9])[row * p.columns + c] = out[c];
    else
      static_cast<float*>(data[9])[row * p.columns + c] = static_cast<float>(out[c]);
  }
}

// Writes the keys of `rows` rows side by side; missing rows are replaced by copies of the last one.
// Keys that masks compare are signed.
template <class X, int kStep>
void make_keys(const Params& p, void* const* data, int64_t row, int64_t rows,
               OrderKey<X>* keys) noexcept {
  using K = OrderKey<X>;
  const auto* wanted = static_cast<const int32_t*>(data[3]);
  const K flip = p.groups ? K{1} << (8 * sizeof(K) - 1) : 0;
  const int64_t leaf = p.groups ? p.keys - 1 : leaf_key(p.keys);
  for (int64_t l = 0; l < kStep; l++) {
    const X* x = static_cast<const X*>(data[0]) + (row + std::min(l, rows - 1)) * p.features;
    for (int64_t i = 0; i < p.keys; i++) {
      const auto feature = static_cast<uint32_t>(wanted[i]) >> 1;
      const K missing = wanted[i] & 1 ? kMissingTrue<K> : kMissingFalse<K>;
      keys[i * kStep + l] = (feature < p.features ? order_key(x[feature], missing) : 0) ^ flip;
    }
    for (int64_t i = p.keys; i <= leaf; i++) keys[i * kStep + l] = 0;
  }
}

struct Scratch {
  double* values;
  uint8_t* has;
  std::byte* keys;
};

// If kRows, `rows` rows descend one tree in parallel; otherwise one row descends `kWalks` trees in
// parallel.
template <class X, bool kEquals, int kWalks, bool kRows>
void add_trees(const Params& p, void* const* data, int64_t first, int64_t rows,
               Scratch s) noexcept {
  using K = OrderKey<X>;
  constexpr auto kWords = static_cast<int64_t>(kNodeWords<K>);
  const Forest forest{static_cast<const int32_t*>(data[1]),
                      static_cast<uint32_t>((p.nodes - 1) * kWords),
                      static_cast<uint32_t>(leaf_key(p.keys)), p.depth};
  const auto* roots = static_cast<const int32_t*>(data[2]);
  size_t at[kWalks];
  for (int64_t l = 0; l < kWalks; l++) {
    const int64_t root = roots[kRows ? first : std::min(first + l, p.trees - 1)];
    at[l] = root < 0 ? SIZE_MAX : static_cast<size_t>(root * kWords);
  }
  const K* keys = reinterpret_cast<const K*>(s.keys);
  if (!walk<K, kWalks, kRows ? kWalks : 1, kEquals>(forest, keys, at)) return;
  const int64_t walks = kRows ? rows : std::min<int64_t>(kWalks, p.trees - first);
  for (int64_t l = 0; l < walks; l++) {
    const int64_t to = kRows ? l * p.columns : 0;
    add_leaf(p, data, at[l], {s.values + to, s.has + to});
  }
}

template <class X, bool kEquals>
void add_forest(const Params& p, void* const* data, int64_t row, int64_t rows, Scratch s) noexcept {
  auto* keys = reinterpret_cast<OrderKey<X>*>(s.keys);
  if (p.nodes < 1) return;
  if (rows > 1) {
    make_keys<X, kWalks>(p, data, row, rows, keys);
    for (int64_t t = 0; t < p.trees; t++) add_trees<X, kEquals, kWalks, true>(p, data, t, rows, s);
    return;
  }
  make_keys<X, 1>(p, data, row, 1, keys);
  int64_t t = 0;
  for (; p.trees - t > kWalks / 2; t += kWalks)
    add_trees<X, kEquals, kWalks, false>(p, data, t, 1, s);
  if (t < p.trees) add_trees<X, kEquals, kWalks / 2, false>(p, data, t, 1, s);
}

// Adds the weights of `trees` leaves of each row. Single columns are summed four rows at a time, so
// that the sums do not wait for each other.
void add_leaves(const Params& p, void* const* data, const int32_t* leaves, int64_t trees,
                int64_t rows, Scores s) noexcept {
  if (p.leaves_are_weights && p.columns == 1) {
    const auto* weights = static_cast<const double*>(data[6]);
    const auto count = static_cast<uint64_t>(p.weights);
    for (int64_t l = 0; l < rows; l += 4)
      for (int64_t t = 0; t < trees; t++)
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; i++) {
          const auto leaf = static_cast<uint32_t>(leaves[t * kMaskRows + l + i]);
          if (leaf < count) [[likely]]
            s.value[l + i] += weights[leaf];
        }
    return;
  }
  const int64_t full = p.weights / p.columns;
  for (int64_t l = 0; l < rows; l++)
    for (int64_t t = 0; t < trees; t++) {
      const auto leaf = static_cast<uint32_t>(leaves[t * kMaskRows + l]);
      const Scores to = {s.value + l * p.columns, s.has + l * p.columns};
      if (!p.leaves_are_weights)
        add_weights(p, data, leaf, to);
      else if (leaf < full)
        add_full_leaf(p, data, leaf * p.columns, to);
    }
}

// Adds the leaves of up to kMaskRows rows, which are found with masks.
template <class X>
void add_masked(const Params& p, void* const* data, int64_t row, int64_t rows, Scratch s) noexcept {
  make_keys<X, kMaskRows>(p, data, row, rows, reinterpret_cast<OrderKey<X>*>(s.keys));
  const isa::MaskedTrees forest{static_cast<const int32_t*>(data[1]), p.nodes,
                                static_cast<const int32_t*>(data[2]), p.groups, p.keys};
  const auto find = p.masks->find[sizeof(X) == 8][p.equals];
  int32_t leaves[kMaskTrees * kMaskRows];
  for (int64_t group = 0, trees = 0; group < p.groups;) {
    group = find(forest, s.keys, group, kMaskTrees, leaves, &trees);
    add_leaves(p, data, leaves, trees, rows, {s.values, s.has});
  }
}

template <class X, bool kEquals>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* values = reinterpret_cast<double*>(scratch);
  auto* has = reinterpret_cast<uint8_t*>(values + kMaskRows * p.columns);
  const Scratch s{values, has, scratch + p.key_offset};
  const int64_t end_row = std::min(end * p.task_rows, p.rows);
  for (int64_t row = begin * p.task_rows, rows = 0; row < end_row; row += rows) {
    // With few rows, trees are processed in parallel instead, because rows would leave lanes
    // unused.
    rows = std::min<int64_t>(p.groups ? kMaskRows : kWalks, end_row - row);
    if (!p.groups && rows < kWalks && rows < p.trees) rows = 1;
    const int64_t scores = (p.groups ? kMaskRows : rows) * p.columns;
    std::fill_n(values, scores, 0.0);
    std::fill_n(has, scores, p.leaves_are_weights && p.trees > 0 ? uint8_t{1} : uint8_t{0});
    if (p.groups)
      add_masked<X>(p, data, row, rows, s);
    else
      add_forest<X, kEquals>(p, data, row, rows, s);
    for (int64_t l = 0; l < rows; l++)
      finish_row(p, data, row + l, {values + l * p.columns, has + l * p.columns});
  }
}

// The offset of the keys in the scratch memory.
int64_t key_offset(int64_t columns) {
  const int64_t scores = checked_mul(columns, kMaskRows * static_cast<int64_t>(sizeof(double) + 1));
  return static_cast<int64_t>(align_up(static_cast<uint64_t>(scores), 64));
}

Plan prepare(const Call& call) {
  const Operands r("tree_ensemble", call, 11);
  auto p = std::make_shared<Params>(
      Params{calls::decode<calls::TreeEnsemble>(call), 0, 0, 0, 0, &POPRT_SELECT_ISA(tree_masks)});
  p->x_double = r.dtype(0) == DType::f64;
  const auto words =
      static_cast<int64_t>(p->x_double ? kNodeWords<uint64_t> : kNodeWords<uint32_t>);
  r.check(p->nodes < (int64_t{1} << 31) / words, "too many nodes");
  r.check(!p->classifier || r.has(8), "a classifier requires labels");
  r.needs(0, p->x_double ? DType::f64 : DType::f32, {p->rows, p->features});
  r.needs(1, DType::s32, {p->nodes, words});
  if (p->groups)
    r.needs(2, DType::s32, {p->groups, 2});
  else
    r.needs(2, DType::s32, {p->trees});
  r.needs(3, DType::s32, {p->keys});
  r.needs(4, DType::s32, {p->leaves, 2});
  r.needs(5, DType::s32, {p->weights});
  r.needs(6, DType::f64, {p->weights});
  if (p->bases) r.needs(7, DType::f64, {p->bases});
  r.needs_if_present(8, DType::s64, {p->columns});
  p->y_double = r.has(9) && r.dtype(9) == DType::f64;
  r.needs_if_present(9, p->y_double ? DType::f64 : DType::f32, {p->rows, p->columns});
  r.needs_if_present(10, DType::s64, {p->rows});
  // A tree is read again for every vector of rows, so many rows are processed while it is in the
  // cache.
  const int64_t vector = p->groups ? kMaskRows : kWalks;
  p->task_rows = p->rows < 512 ? vector : 4 * vector;
  Plan plan;
  plan.run = p->x_double ? (p->equals ? run<double, true> : run<double, false>)
                         : (p->equals ? run<float, true> : run<float, false>);
  plan.tasks = (p->rows + p->task_rows - 1) / p->task_rows;
  plan.work = static_cast<double>(p->rows) * (static_cast<double>(p->trees) * (p->groups ? 3 : 20) +
                                              static_cast<double>(p->keys) * 2);
  plan.outputs = 2;
  p->key_offset = key_offset(p->columns);
  const int64_t key_bytes = (p->x_double ? 8 : 4) * (p->groups      ? kMaskRows
                                                     : p->rows == 1 ? 1
                                                                    : kWalks);
  plan.scratch_bytes =
      static_cast<size_t>(p->key_offset + checked_mul(leaf_key(p->keys) + 1, key_bytes));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"tree_ensemble", prepare};

}  // namespace poprt::kernels::tree_ensemble_kernel
