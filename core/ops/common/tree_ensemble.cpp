#include "ops/common/tree_ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "kernels/calls/cast.h"
#include "ops/common/axes.h"

namespace poprt::ops {
namespace {

constexpr int64_t kMostFeatures = (int64_t{1} << 30) - 1;
// Nodes that are reached on several paths are copied. All trees together may have kMostNodes nodes,
// and kMostCopies more for each node of the attributes.
constexpr size_t kMostNodes = size_t{1} << 20, kMostCopies = 64;
constexpr size_t kMostWords = size_t{1} << 31;  // of the kernel's nodes, at most four words each

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
         "{}: class labels are strings, which the device does not support; number them with {}",
         node.describe(), ints_key);
  std::vector<int64_t> labels = node.ints_attr(ints_key);
  if (labels.empty()) bad(node, fmt::format("{} is empty", ints_key));
  return labels;
}

int64_t targets_of(const ir::Node& node) {
  const int64_t targets = node.int_attr("n_targets", 1);
  if (targets < 1 || targets > (1 << 24))
    fail(ErrorCode::invalid_argument, "{}: n_targets is {}", node.describe(), targets);
  return targets;
}

std::pair<int64_t, int64_t> rows_and_features(const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  if (x.size() == 1) return {1, x[0]};
  if (x.size() != 2) bad(node, "X must be [features] or [rows, features]");
  return {x[0], x[1]};
}

void axes_of_trees(AxesContext& ctx) {
  if (ctx.in(0).size() == 2) axes::batch(ctx);
}

namespace {

// Rejects children that do not exist, and cycles. A node may have several parents.
void check_trees(const ir::Node& node, const std::vector<RawNode>& raw,
                 const std::vector<int64_t>& roots) {
  enum State : uint8_t { unseen, open, done };
  std::vector<State> state(raw.size(), unseen);
  std::vector<int64_t> stack(roots);
  while (!stack.empty()) {
    const int64_t id = stack.back();
    if (id < 0 || static_cast<size_t>(id) >= raw.size())
      bad(node, "a tree node refers to a child that does not exist");
    State& s = state[static_cast<size_t>(id)];
    if (s != unseen) {
      s = done;
      stack.pop_back();
      continue;
    }
    const RawNode& r = raw[static_cast<size_t>(id)];
    s = open;
    if (r.mode == kLeafMode) continue;
    if (r.feature < 0 || r.feature > kMostFeatures)
      bad(node, fmt::format("feature {} is out of range", r.feature));
    if (r.mode == kMemberMode && r.members.empty()) bad(node, "a set of members is empty");
    for (const int64_t child : {r.yes, r.no}) {
      if (child >= 0 && static_cast<size_t>(child) < raw.size() &&
          state[static_cast<size_t>(child)] == open)
        bad(node, fmt::format("a tree has a cycle: number {} of its nodes is below itself", child));
      stack.push_back(child);
    }
  }
}

enum Mode : int32_t { leq, lt, gte, gt, eq, neq };

bool is_exchanged(int32_t mode) { return mode == gte || mode == gt || mode == neq; }

// The comparison of a node, without its children.
TreeNode split_of(const RawNode& r) {
  TreeNode n;
  n.kind = r.mode == leq || r.mode == gt   ? TreeNode::leq
           : r.mode == lt || r.mode == gte ? TreeNode::lt
                                           : TreeNode::eq;
  n.threshold = r.threshold;
  n.feature = r.feature;
  // NaN is different from every number, and no number is greater than NaN.
  n.missing_true = r.mode != neq && r.missing_true != is_exchanged(r.mode);
  if (std::isnan(r.threshold) && (r.mode == gte || r.mode == gt)) {
    n.kind = TreeNode::leq;
    n.threshold = std::numeric_limits<double>::infinity();
  }
  return n;
}

}  // namespace

void order_trees(const ir::Node& node, const std::vector<RawNode>& raw,
                 const std::vector<int64_t>& roots, Trees& trees) {
  check_trees(node, raw, roots);
  // A node is placed next to its sibling when its parent is written.
  struct Open {
    int64_t raw;
    size_t member;  // for a set: the index of the equality
    size_t slot;
    int64_t depth;
  };
  std::vector<Open> stack;
  std::vector<TreeNode>& nodes = trees.nodes;
  const size_t most = std::min(kMostNodes + kMostCopies * raw.size(), kMostWords / 4 - 1);
  for (const int64_t root : roots) {
    trees.roots.push_back(static_cast<int32_t>(nodes.size()));
    stack.push_back({root, 0, nodes.size(), 0});
    nodes.emplace_back();
    while (!stack.empty()) {
      const Open open = stack.back();
      stack.pop_back();
      const RawNode& r = raw[static_cast<size_t>(open.raw)];
      if (r.mode == kLeafMode) {
        nodes[open.slot].first = r.first;
        nodes[open.slot].last = r.last;
        continue;
      }
      if (nodes.size() + 2 > most)
        bad(node, fmt::format("the trees unfold to more than {} nodes", most));
      Open yes{r.yes, 0, nodes.size(), open.depth + 1}, no{r.no, 0, yes.slot + 1, yes.depth};
      TreeNode& n = nodes[open.slot];
      n = split_of(r);
      n.yes = static_cast<int32_t>(yes.slot);
      // A test whether x is one of several values becomes a chain of equalities.
      if (r.mode == kMemberMode) {
        n.threshold = r.members[open.member];
        if (open.member + 1 < r.members.size()) no = {open.raw, open.member + 1, no.slot, no.depth};
      }
      if (is_exchanged(r.mode)) std::swap(yes.slot, no.slot);
      nodes.resize(nodes.size() + 2);
      trees.depth = std::max(trees.depth, yes.depth);
      stack.push_back(no);
      stack.push_back(yes);
    }
  }
}

namespace {

// Returns a node that is its own ancestor, or nothing. This finds the cycles that no root reaches;
// check_trees() finds the others. A node may have several parents; `parent` has the last one, or
// -1.
std::optional<size_t> node_in_cycle(const std::vector<int64_t>& parent) {
  // The number of the walk that has visited a node.
  std::vector<size_t> visited(parent.size(), 0);
  for (size_t i = 0; i < parent.size(); i++) {
    size_t at = i;
    while (visited[at] == 0) {
      visited[at] = i + 1;
      if (parent[at] < 0) break;
      at = static_cast<size_t>(parent[at]);
    }
    if (visited[at] == i + 1 && parent[at] >= 0) return at;
  }
  return std::nullopt;
}

// Refuses numbers of features and of classes or targets that do not exist.
void check_ranges(const ir::Node& node, const Trees& trees, int64_t features, int64_t columns) {
  for (const TreeNode& n : trees.nodes)
    if (n.kind != TreeNode::leaf && n.feature >= features)
      bad(node,
          fmt::format("a tree node tests feature {}, but X has {} features", n.feature, features));
  for (const int32_t target : trees.targets)
    if (target >= columns)
      bad(node,
          fmt::format("a weight is for class or target {}, but there are {}", target, columns));
}

}  // namespace

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
      bad(node, "a tree has two nodes with the same number");
  std::vector<RawNode> raw(n);
  std::vector<int64_t> parent(n, -1);
  const auto child = [&](size_t i, int64_t id) {
    const auto it = index.find({tree_ids[i], id});
    if (it == index.end()) bad(node, "a tree node refers to a child that does not exist");
    parent[static_cast<size_t>(it->second)] = static_cast<int64_t>(i);
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
    if (it == index.end()) bad(node, "a weight refers to a leaf that does not exist");
    of_leaf[static_cast<size_t>(it->second)].push_back(i);
  }
  Trees trees;
  for (size_t i = 0; i < n; i++) {
    raw[i].first = static_cast<int32_t>(trees.weights.size());
    for (const size_t w : of_leaf[i]) {
      if (w_ids[w] < 0 || w_ids[w] > std::numeric_limits<int32_t>::max())
        bad(node, fmt::format("{}_ids has {}, which is out of range", prefix, w_ids[w]));
      trees.targets.push_back(static_cast<int32_t>(w_ids[w]));
      trees.weights.push_back(weights[w]);
    }
    raw[i].last = static_cast<int32_t>(trees.weights.size());
  }
  // The root of a tree is the first of its nodes that is not a child. ONNX Runtime uses the first
  // node, which is the same one in the files of exporters. Other nodes without a parent are not
  // reached.
  std::vector<int64_t> roots;
  std::set<int64_t> rooted;
  for (size_t i = 0; i < n; i++)
    if (parent[i] < 0 && rooted.insert(tree_ids[i]).second)
      roots.push_back(static_cast<int64_t>(i));
  if (const auto at = node_in_cycle(parent))
    bad(node, fmt::format("tree {} has a cycle: node {} is below itself", tree_ids[*at], ids[*at]));
  order_trees(node, raw, roots, trees);
  return trees;
}

void emit_trees(LowerContext& ctx, const Trees& trees, const TreeCall& call, int scores_output,
                int label_output) {
  const auto [rows, features] = rows_and_features(ctx.node);
  check_ranges(ctx.node, trees, features, call.columns);
  auto x = ctx.in(0);
  if (ctx.in_dtype(0) != DType::f32 && ctx.in_dtype(0) != DType::f64) {
    const auto wide = ctx.temporary(DType::f32, ctx.in_shape(0));
    ctx.emit(calls::Cast{}, {x, wide});
    x = wide;
  }
  const DType x_type = ctx.in_dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const TreeWords words = tree_words(trees, x_type, rows, call.columns, call.aggregate);
  const auto m = static_cast<int64_t>(words.weights.size());
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
      ctx.pack(tensor_of_values(words.nodes, {count(words.nodes)})),
      ctx.pack(tensor_of_values(words.roots, {count(words.roots)})),
      ctx.pack(tensor_of_values(words.keys, {count(words.keys)})),
      ctx.pack(tensor_of_values(words.leaves, {count(words.leaves) / 2, 2})),
      ctx.pack(tensor_of_values(words.targets, {m})),
      ctx.pack(tensor_of_values(words.weights, {m})),
      call.base.empty() ? LowerContext::kNone
                        : ctx.pack(tensor_of_values(call.base, {count(call.base)})),
      classifier ? ctx.pack(tensor_of_values(call.labels, {count(call.labels)}))
                 : LowerContext::kNone,
      result(scores_output),
      result(label_output)};
  ctx.emit(calls::TreeEnsemble{.rows = rows,
                               .features = features,
                               .nodes = count(words.nodes) / (x_type == DType::f64 ? 4 : 3),
                               .trees = count(trees.roots),
                               .keys = count(words.keys),
                               .leaves = count(words.leaves) / 2,
                               .weights = m,
                               .bases = count(call.base),
                               .columns = call.columns,
                               .aggregate = call.aggregate,
                               .transform = call.transform,
                               .classifier = classifier,
                               .one_class = one_class && call.columns == 2,
                               .all_positive = all_positive,
                               .depth = words.masks ? 0 : trees.depth,
                               .equals = words.equals,
                               .leaves_are_weights = words.leaves_are_weights,
                               .groups = words.masks ? count(words.roots) / 2 : 0},
           operands);
}

}  // namespace poprt::ops
