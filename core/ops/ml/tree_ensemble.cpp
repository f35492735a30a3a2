// The operator of opset 5, which has nodes and leaves in separate lists, modes as bytes, and sets
// of members.
#include <algorithm>
#include <cmath>

#include "ops/common/cost_special.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops::ml_tree_ensemble_op {
namespace {

void infer(InferContext& ctx) {
  const int64_t targets = targets_of(ctx.node);
  const ir::ValueType& x = ctx.in(0);
  if (!x.is_static()) return ctx.out_dtype(0, x.dtype);
  ctx.out(0, x.dtype, {rows_and_features(ctx.node).first, targets});
}

const Tensor& tensor_attr(const ir::Node& node, std::string_view key) {
  const ir::Attribute* a = node.find_attr(key);
  const auto* t = a ? std::get_if<Tensor>(a) : nullptr;
  if (!t) fail(ErrorCode::invalid_argument, "{}: attribute {} is required", node.describe(), key);
  return *t;
}

Trees read(const ir::Node& node) {
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: {}", node.describe(), what);
  };
  const auto features = node.ints_attr("nodes_featureids"),
             yes = node.ints_attr("nodes_truenodeids"),
             yes_leafs = node.ints_attr("nodes_trueleafs"),
             no = node.ints_attr("nodes_falsenodeids"),
             no_leafs = node.ints_attr("nodes_falseleafs"),
             missing = node.ints_attr("nodes_missing_value_tracks_true"),
             leaf_targets = node.ints_attr("leaf_targetids");
  const std::vector<int64_t> roots = node.ints_attr("tree_roots");
  const std::vector<int64_t> modes = tensor_attr(node, "nodes_modes").to_int64s();
  const std::vector<double> splits = tensor_attr(node, "nodes_splits").to_doubles(),
                            weights = tensor_attr(node, "leaf_weights").to_doubles();
  std::vector<double> members;
  if (node.find_attr("membership_values"))
    members = tensor_attr(node, "membership_values").to_doubles();
  const size_t n = modes.size(), leaves = weights.size();
  if (features.size() != n || yes.size() != n || no.size() != n || yes_leafs.size() != n ||
      no_leafs.size() != n || splits.size() != n || leaf_targets.size() != leaves ||
      (!missing.empty() && missing.size() != n) || n > (1U << 26) || leaves > (1U << 26))
    bad("the lists have different lengths");
  // Leaves follow the nodes. Sets of members are separated by NaN.
  std::vector<RawNode> raw(n + leaves);
  auto member = members.begin();
  const auto child = [&](int64_t id, int64_t is_leaf) {
    if (id < 0 || static_cast<size_t>(id) >= (is_leaf ? leaves : n))
      bad("a tree node refers to a child that does not exist");
    return is_leaf ? static_cast<int64_t>(n) + id : id;
  };
  for (size_t i = 0; i < n; i++) {
    RawNode& r = raw[i];
    if (modes[i] < 0 || modes[i] > 6) bad("a node mode is not in the range 0 to 6");
    r.mode = modes[i] == 6 ? kMemberMode : static_cast<int32_t>(modes[i]);
    r.feature = features[i];
    r.threshold = splits[i];
    r.missing_true = !missing.empty() && missing[i] != 0;
    r.yes = child(yes[i], yes_leafs[i]);
    r.no = child(no[i], no_leafs[i]);
    if (r.mode != kMemberMode) continue;
    const auto end = std::find_if(member, members.end(), [](double v) { return std::isnan(v); });
    r.members.assign(member, end);
    member = end == members.end() ? end : end + 1;
  }
  Trees trees;
  for (size_t i = 0; i < leaves; i++) {
    if (leaf_targets[i] < 0 || leaf_targets[i] > (1 << 24)) bad("a target number is out of range");
    raw[n + i].first = static_cast<int32_t>(i);
    raw[n + i].last = static_cast<int32_t>(i) + 1;
    trees.targets.push_back(static_cast<int32_t>(leaf_targets[i]));
    trees.weights.push_back(weights[i]);
  }
  for (const int64_t root : roots) child(root, 0);
  order_trees(node, raw, roots, trees);
  return trees;
}

void lower(LowerContext& ctx) {
  TreeCall call;
  call.columns = targets_of(ctx.node);
  const int64_t transform = ctx.node.int_attr("post_transform", 0);
  const int64_t aggregate = ctx.node.int_attr("aggregate_function", 1);
  if (transform < 0 || transform >= kernels::kPostTransforms || aggregate < 0 || aggregate > 3)
    ctx.fail_unsupported("post_transform {} or aggregate_function {}", transform, aggregate);
  // 1 is LOGISTIC and 2 is SOFTMAX, as in ONNX Runtime 1.32. The specification exchanges them.
  call.transform = static_cast<kernels::PostTransform>(transform);
  using calls::TreeAggregate;
  constexpr TreeAggregate by_number[] = {TreeAggregate::average, TreeAggregate::sum,
                                         TreeAggregate::min, TreeAggregate::max};
  call.aggregate = by_number[aggregate];
  if (ctx.in_dtype(0) == DType::f16) ctx.fail_unsupported("element type f16");
  emit_trees(ctx, read(ctx.node), call, 0, -1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "TreeEnsemble",
    .domain = "ai.onnx.ml",
    .since = 5,
    .infer = infer,
    .lower = lower,
    .axes = axes_of_trees,
    .cost = cost::tree_ensemble,
    .facts = {.trial = {"T[4,4]",
                        "nodes_featureids = [0], nodes_truenodeids = [0], nodes_trueleafs = [1], "
                        "nodes_falsenodeids = [0], "
                        "nodes_falseleafs = [1], nodes_modes = u8[1] [0], nodes_splits = T[1] fill "
                        "@, tree_roots = [0], "
                        "leaf_targetids = [0], leaf_weights = T[1] fill @"}}};

}  // namespace poprt::ops::ml_tree_ensemble_op
