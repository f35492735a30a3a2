// Outputs: the label with the largest score, and the scores. One row of coefficients with two
// labels is a binary classifier with scores [1 - s, s]. As in ONNX Runtime, coefficients after
// those of the last class are ignored.
#include "base/checked.h"
#include "ops/common/ml.h"

namespace poprt::ops::ml_linear_classifier_op {
namespace {

void expand(Expansion& e) {
  const std::vector<int64_t> labels =
      class_labels(e.node, "classlabels_ints", "classlabels_strings");
  ir::Value* x = feature_matrix(e);
  const Shape shape = e.shape_of(x);
  auto coefficients = e.node.floats_attr("coefficients");
  auto intercepts = e.node.floats_attr("intercepts");
  const int64_t targets = intercepts.empty() && shape[1] > 0
                              ? static_cast<int64_t>(coefficients.size()) / shape[1]
                              : static_cast<int64_t>(intercepts.size());
  e.check(targets > 0, "coefficients are missing");
  e.check(static_cast<int64_t>(coefficients.size()) % targets == 0,
          "the number of coefficients is not a multiple of the number of classes");
  const int64_t used = checked_mul(targets, shape[1], "coefficients");
  if (static_cast<int64_t>(coefficients.size()) > used)
    coefficients.resize(static_cast<size_t>(used));
  intercepts.resize(static_cast<size_t>(targets));
  ir::Value* w = e.swap_last_two(reals(e, coefficients, {targets, shape[1]}));
  ir::Value* scores = e.add("Add", {e.add("MatMul", {x, w}), reals(e, intercepts, {targets})});
  if (targets == 1) {
    const bool two = labels.size() == 2;
    ir::Value* positive =
        e.add("Greater", {e.reshape(scores, {shape[0]}), e.number(DType::f32, 0)});
    e.out(0, e.add("Where", {positive, e.reshape(e.ints({two ? labels[1] : 1}), {}),
                             e.reshape(e.ints({two ? labels[0] : 0}), {})}));
    ir::Value* y = transformed(e, scores);
    if (two && post_transform_of(e.node) != kernels::PostTransform::softmax &&
        post_transform_of(e.node) != kernels::PostTransform::softmax_zero) {
      e.out(1, e.concat({e.plus(e.scaled(y, -1), 1), y}, 1));
    } else {
      e.out(1, two ? e.concat({e.plus(e.scaled(scores, -1), 1), scores}, 1) : y);
    }
    return;
  }
  e.check(static_cast<int64_t>(labels.size()) >= targets, "there are fewer labels than classes");
  ir::Value* best = e.newest("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  e.out(0, e.add("Gather", {e.ints(labels), best}));
  e.out(1, transformed(e, scores));
}

}  // namespace
}  // namespace poprt::ops::ml_linear_classifier_op

POPRT_EXPANSION_WITH_FACTS(ml_linear_classifier_op, "ai.onnx.ml", "LinearClassifier", expand,
                           .class_numbers = "classlabels_ints",
                           .trial = {
                               "T[4,2]",
                               "classlabels_ints = [0, 1], coefficients = [1.0, 2.0, 3.0, 4.0]"})
