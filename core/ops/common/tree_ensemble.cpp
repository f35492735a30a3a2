#include "ops/common/tree_ensemble.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "kernels/calls/cast.h"

namespace poprt::ops {
namespace {

// Nodes that are reached in several ways are copied; no more than this and this many for each.
constexpr size_t kMostNodes = size_t{1} << 20, kMostCopies = 64;

[[noreturn]] void bad(const ir::Node& node, std::string_view what) {
  fail(ErrorCode::invalid_argument, "{}: {}", node.describe(), what);
}

template <class T>
Tensor tensor_of_values(const std::vector<T>& values, Shape shape) {
  return Tensor::of<T>(std::move(shape), std::span<const T>(values));
}

}  // namespace

std::vector<double> real_attr(const ir::Node& node, std::string_view key) {
  const std::string as_tensor = std::string(key) + "_as_tensor";
  if (const ir::Attribute* a = node.find_attr(as_tensor)) {
    const auto* t = std::get_if<Tensor>(a);
    if (!t || !is_float(t->dtype())) bad(node, as_tensor + " should be a tensor of floats");
    return t->to_doubles();
  }
  const std::vector<float> values = node.floats_attr(key);
  return {values.begin(), values.end()};
}

kernels::PostTransform post_transform_of(const ir::Node& node) {
  static constexpr std::array<std::string_view, kernels::kPostTransforms> kNames = {
      "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"};
  const std::string name = node.string_attr("post_transform", "NONE");
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) bad(node, fmt::format("post_transform '{}' is unknown", name));
  return static_cast<kernels::PostTransform>(it - kNames.begin());
}

std::vector<int64_t> class_labels(const ir::Node& node, std::string_view ints_key,
                                  std::string_view strings_key) {
  const ir::Attribute* strings = node.find_attr(strings_key);
  const auto* list = strings ? std::get_if<std::vector<std::string>>(strings) : nullptr;
  if (list && !list->empty())
    fail(ErrorCode::unimplemented,
         "{}: class labels are strings, which the device does not have; number them with {}",
         node.describe(), ints_key);
  std::vector<int64_t> labels = node.ints_attr(ints_key);
  if (labels.empty()) bad(node, fmt::format("{} is empty", ints_key));
  return labels;
}

std::pair<int64_t, int64_t> rows_and_features(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  if (x.size() == 1) return {1, x[0]};
  if (x.size() != 2) bad(node, "X must be [features] or [rows, features]");
  return {x[0], x[1]};
}

void order_trees(const ir::Node& node, const std::vector<RawNode>& raw,
                 const std::vector<int64_t>& roots, Trees& trees) {
  // A child is written when it is taken off the stack, into the slot that its parent left open.
  struct Open {
    int64_t raw;
    size_t slot;  // where its index goes; SIZE_MAX: it is a root
    int64_t depth;
  };
  std::vector<Open> stack;
  const size_t most = kMostNodes + kMostCopies * raw.size();
  for (const int64_t root : roots) {
    stack.push_back({root, SIZE_MAX, 0});
    while (!stack.empty()) {
      const Open open = stack.back();
      stack.pop_back();
      if (open.raw < 0 || static_cast<size_t>(open.raw) >= raw.size())
        bad(node, "a tree node names a child that does not exist");
      if (open.depth > static_cast<int64_t>(raw.size())) bad(node, "a tree has a cycle");
      const RawNode& r = raw[static_cast<size_t>(open.raw)];
      const auto index = static_cast<int32_t>(trees.thresholds.size());
      if (open.slot == SIZE_MAX)
        trees.roots.push_back(index);
      else
        trees.nodes[open.slot] = index;
      const auto put = [&](int32_t a, int32_t mode, int32_t b, int32_t c, double threshold) {
        trees.nodes.insert(trees.nodes.end(), {a, mode, b, c});
        trees.thresholds.push_back(threshold);
      };
      if (trees.thresholds.size() + r.members.size() > most)
        bad(node, fmt::format("its trees unfold to more than {} nodes", most));
      if (r.mode == kLeafMode) {
        put(r.first, kLeafMode, r.last, 0, 0);
        continue;
      }
      if (r.feature < 0 || r.feature > std::numeric_limits<int32_t>::max())
        bad(node, "a feature number is out of range");
      const auto feature = static_cast<int32_t>(r.feature);
      const int32_t missing = r.missing_true ? 8 : 0;
      if (r.mode != kMemberMode) {
        put(feature, r.mode | missing, 0, 0, r.threshold);
        const size_t at = trees.nodes.size();
        stack.push_back({r.no, at - 1, open.depth + 1});
        stack.push_back({r.yes, at - 2, open.depth + 1});
        continue;
      }
      // Is x one of several values: a chain of equalities.
      if (r.members.empty()) bad(node, "a set of members is empty");
      for (size_t i = 0; i < r.members.size(); i++) {
        const bool last = i + 1 == r.members.size();
        put(feature, 4 | missing, 0, index + static_cast<int32_t>(i) + 1, r.members[i]);
        const size_t at = trees.nodes.size();
        if (last) stack.push_back({r.no, at - 1, open.depth + 1});
        stack.push_back({r.yes, at - 2, open.depth + 1});
      }
    }
  }
}

Trees read_trees(const ir::Node& node, std::string_view prefix) {
  const auto ids = node.ints_attr("nodes_nodeids"), tree_ids = node.ints_attr("nodes_treeids"),
             features = node.ints_attr("nodes_featureids"),
             yes = node.ints_attr("nodes_truenodeids"), no = node.ints_attr("nodes_falsenodeids"),
             missing = node.ints_attr("nodes_missing_value_tracks_true");
  const std::vector<double> values = real_attr(node, "nodes_values");
  const ir::Attribute* a = node.find_attr("nodes_modes");
  const auto* modes = a ? std::get_if<std::vector<std::string>>(a) : nullptr;
  const size_t n = ids.size();
  if (!modes || modes->size() != n || tree_ids.size() != n || features.size() != n ||
      yes.size() != n || no.size() != n || values.size() != n ||
      (!missing.empty() && missing.size() != n))
    bad(node, "the nodes_* lists have different lengths");
  static constexpr std::array<std::string_view, 7> kModes = {
      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
  std::map<std::pair<int64_t, int64_t>, int64_t> index;  // (tree, node) -> position in the lists
  for (size_t i = 0; i < n; i++)
    if (!index.emplace(std::pair(tree_ids[i], ids[i]), static_cast<int64_t>(i)).second)
      bad(node, "a tree has two nodes of one number");
  std::vector<RawNode> raw(n);
  std::vector<bool> is_child(n);
  const auto child = [&](size_t i, int64_t id) {
    const auto it = index.find({tree_ids[i], id});
    if (it == index.end()) bad(node, "a tree node names a child that does not exist");
    is_child[static_cast<size_t>(it->second)] = true;
    return it->second;
  };
  for (size_t i = 0; i < n; i++) {
    RawNode& r = raw[i];
    const auto mode = std::find(kModes.begin(), kModes.end(), (*modes)[i]);
    if (mode == kModes.end()) bad(node, fmt::format("node mode '{}' is unknown", (*modes)[i]));
    r.mode = static_cast<int32_t>(mode - kModes.begin());
    r.feature = features[i];
    r.threshold = values[i];
    r.missing_true = !missing.empty() && missing[i] != 0;
    if (r.mode == kLeafMode) continue;
    r.yes = child(i, yes[i]);
    r.no = child(i, no[i]);
  }

  const std::string p(prefix);
  const auto w_ids = node.ints_attr(p + "_ids"), w_nodes = node.ints_attr(p + "_nodeids"),
             w_trees = node.ints_attr(p + "_treeids");
  const std::vector<double> weights = real_attr(node, p + "_weights");
  const size_t m = weights.size();
  if (w_ids.size() != m || w_nodes.size() != m || w_trees.size() != m)
    bad(node, fmt::format("the {}_* lists have different lengths", prefix));
  std::vector<std::vector<size_t>> of_leaf(n);
  for (size_t i = 0; i < m; i++) {
    const auto it = index.find({w_trees[i], w_nodes[i]});
    if (it == index.end()) bad(node, "a weight names a leaf that does not exist");
    of_leaf[static_cast<size_t>(it->second)].push_back(i);
  }
  Trees trees;
  for (size_t i = 0; i < n; i++) {
    raw[i].first = static_cast<int32_t>(trees.weights.size());
    for (const size_t w : of_leaf[i]) {
      if (w_ids[w] < 0 || w_ids[w] > std::numeric_limits<int32_t>::max())
        bad(node, "a class or target number is out of range");
      trees.targets.push_back(static_cast<int32_t>(w_ids[w]));
      trees.weights.push_back(weights[w]);
    }
    raw[i].last = static_cast<int32_t>(trees.weights.size());
  }
  // The first node of a tree that is nobody's child.
  std::vector<int64_t> roots;
  for (size_t i = 0; i < n; i++)
    if (!is_child[i]) roots.push_back(static_cast<int64_t>(i));
  if (n > 0 && roots.empty()) bad(node, "a tree has a cycle");
  order_trees(node, raw, roots, trees);
  return trees;
}

namespace {

// The mode that all inner nodes have; -1 where they differ or there are none.
int64_t common_mode(const Trees& trees) {
  constexpr int32_t kLeaf = 6;
  int64_t mode = -1;
  for (size_t i = 1; i < trees.nodes.size(); i += 4) {
    const int32_t own = trees.nodes[i] & 7;
    if (own == kLeaf) continue;
    if (mode >= 0 && mode != own) return -1;
    mode = own;
  }
  return mode;
}

}  // namespace

void emit_trees(LowerContext& ctx, const Trees& trees, const TreeCall& call, int scores_output,
                int label_output) {
  const auto [rows, features] = rows_and_features(ctx.node);
  auto x = ctx.in(0);
  if (ctx.in_dtype(0) != DType::f32 && ctx.in_dtype(0) != DType::f64) {
    const auto wide = ctx.temporary(DType::f32, ctx.in_shape(0));
    ctx.emit(calls::Cast{}, {x, wide});
    x = wide;
  }
  const auto n = static_cast<int64_t>(trees.thresholds.size());
  const auto m = static_cast<int64_t>(trees.weights.size());
  const auto count = [](const auto& v) { return static_cast<int64_t>(v.size()); };
  bool one_class = !trees.targets.empty(), all_positive = true;
  for (const int32_t t : trees.targets) one_class = one_class && t == trees.targets.front();
  for (const double w : trees.weights) all_positive = all_positive && w >= 0;
  const bool classifier = !call.labels.empty();
  if (classifier && count(call.labels) < call.columns)
    ctx.fail_unsupported("{} labels for {} classes", call.labels.size(), call.columns);
  const auto result = [&](int output) {
    return output < 0 ? LowerContext::kNone : ctx.out(static_cast<size_t>(output));
  };
  const program::BufferId operands[] = {
      x,
      ctx.pack(tensor_of_values(trees.nodes, {n, 4})),
      ctx.pack(tensor_of_values(trees.thresholds, {n})),
      ctx.pack(tensor_of_values(trees.roots, {count(trees.roots)})),
      ctx.pack(tensor_of_values(trees.targets, {m})),
      ctx.pack(tensor_of_values(trees.weights, {m})),
      call.base.empty() ? LowerContext::kNone
                        : ctx.pack(tensor_of_values(call.base, {count(call.base)})),
      classifier ? ctx.pack(tensor_of_values(call.labels, {count(call.labels)}))
                 : LowerContext::kNone,
      result(scores_output),
      result(label_output)};
  const int64_t ints[] = {rows,
                          features,
                          n,
                          count(trees.roots),
                          m,
                          count(call.base),
                          call.columns,
                          call.aggregate,
                          static_cast<int64_t>(call.transform),
                          classifier,
                          one_class && call.columns == 2,
                          all_positive,
                          1 + common_mode(trees)};
  ctx.emit("tree_ensemble", operands, ints);
}

}  // namespace poprt::ops
