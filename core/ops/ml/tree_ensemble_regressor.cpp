// Input: X. Output: [rows, n_targets].
#include <algorithm>
#include <array>

#include "ops/common/cost_special.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops::ml_tree_ensemble_regressor_op {
namespace {

void infer(InferContext& ctx) {
  const int64_t targets = targets_of(ctx.node);
  if (!ctx.in(0).is_static()) return ctx.out_dtype(0, DType::f32);
  ctx.out(0, DType::f32, {rows_and_features(ctx.node).first, targets});
}

void lower(LowerContext& ctx) {
  TreeCall call;
  call.columns = targets_of(ctx.node);
  call.transform = post_transform_of(ctx.node);
  call.base = real_attr(ctx.node, "base_values");
  const std::string aggregate = ctx.node.string_attr("aggregate_function", "SUM");
  // The names in the order of calls::TreeAggregate.
  static constexpr std::array<std::string_view, 4> kNames = {"SUM", "AVERAGE", "MIN", "MAX"};
  const auto name = std::find(kNames.begin(), kNames.end(), aggregate);
  if (name == kNames.end()) ctx.fail_unsupported("aggregate_function '{}'", aggregate);
  call.aggregate = static_cast<calls::TreeAggregate>(name - kNames.begin());
  emit_trees(ctx, read_trees(ctx.node, "target"), call, 0, -1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "TreeEnsembleRegressor",
    .domain = "ai.onnx.ml",
    .until = 4,  // TreeEnsemble replaced it
    .infer = infer,
    .lower = lower,
    .axes = axes_of_trees,
    .cost = cost::tree_ensemble,
    .facts = {
        .trial = {"T[4,4]",
                  R"(nodes_nodeids = [0], nodes_treeids = [0], nodes_featureids = [0], nodes_modes =
               ["LEAF"], nodes_values = [0.0], nodes_truenodeids = [0], nodes_falsenodeids = [0],
               target_ids = [0], target_nodeids = [0], target_treeids = [0], target_weights = [1.0])"}}};

}  // namespace poprt::ops::ml_tree_ensemble_regressor_op
