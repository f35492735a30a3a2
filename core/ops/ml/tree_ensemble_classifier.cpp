// Input: X. Outputs: the labels [rows] and the scores [rows, classes].
#include "ops/common/cost_special.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops::ml_tree_ensemble_classifier_op {
namespace {

std::vector<int64_t> labels_of(const ir::Node& node) {
  return class_labels(node, "classlabels_int64s", "classlabels_strings");
}

void infer(InferContext& ctx) {
  const auto classes = static_cast<int64_t>(labels_of(ctx.node).size());
  if (!ctx.in(0).is_static()) {
    ctx.out_dtype(0, DType::s64);
    return ctx.out_dtype(1, DType::f32);
  }
  const int64_t rows = rows_and_features(ctx.node).first;
  ctx.out(0, DType::s64, {rows});
  ctx.out(1, DType::f32, {rows, classes});
}

void lower(LowerContext& ctx) {
  TreeCall call;
  call.labels = labels_of(ctx.node);
  call.columns = static_cast<int64_t>(call.labels.size());
  call.transform = post_transform_of(ctx.node);
  call.base = real_attr(ctx.node, "base_values");
  emit_trees(ctx, read_trees(ctx.node, "class"), call, 1, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "TreeEnsembleClassifier",
    .domain = "ai.onnx.ml",
    .until = 4,  // TreeEnsemble replaced it
    .infer = infer,
    .lower = lower,
    .axes = axes_of_trees,
    .cost = cost::tree_ensemble,
    .facts = {
        .class_numbers = "classlabels_int64s",
        .trial = {"T[4,4]",
                  R"(nodes_nodeids = [0], nodes_treeids = [0], nodes_featureids = [0], nodes_modes =
               ["LEAF"], nodes_values = [0.0], nodes_truenodeids = [0], nodes_falsenodeids = [0],
               class_ids = [0], class_nodeids = [0], class_treeids = [0], class_weights = [1.0],
               classlabels_int64s = [0, 1])",
                  2}}};

}  // namespace poprt::ops::ml_tree_ensemble_classifier_op
