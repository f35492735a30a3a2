// poprt.SvmVotes: computes the label [rows] and the scores of SVMClassifier of ai.onnx.ml from
// decisions [rows, pairs of classes], or, if `linear`, from scores [rows, classes]. Attributes:
// labels, prob_a and prob_b (empty, or one for each pair), linear, all_positive (no coefficient is
// negative), post_transform.
#include <algorithm>

#include "kernels/calls/svm_classify.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops::poprt_svm_votes_op {
namespace {

int64_t columns_of(const ir::Node& node) {
  const auto classes = static_cast<int64_t>(node.ints_attr("labels").size());
  const bool linear = node.int_attr("linear", 0) != 0;
  if (linear || classes <= 2 || !node.floats_attr("prob_a").empty())
    return std::max<int64_t>(classes, linear ? 1 : 2);
  return classes * (classes - 1) / 2;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.has_shape && x.shape.size() != 2)
    ctx.fail_input("input {} must have two dimensions", shape_string(x.shape));
  const int64_t rows = x.has_shape ? x.shape[0] : kUnknownDim;
  ctx.out(0, DType::s64, {rows});
  ctx.out(1, DType::f32, {rows, columns_of(ctx.node)});
}

void lower(LowerContext& ctx) {
  const ir::Node& n = ctx.node;
  const auto labels = n.ints_attr("labels");
  const auto a = n.floats_attr("prob_a"), b = n.floats_attr("prob_b");
  const auto classes = static_cast<int64_t>(labels.size());
  const auto floats = [&](const std::vector<float>& v) {
    return v.empty() ? LowerContext::kNone
                     : ctx.pack(Tensor::of<float>({static_cast<int64_t>(v.size())},
                                                  std::span<const float>(v)));
  };
  ctx.emit(calls::SvmClassify{.rows = ctx.in_shape(0)[0],
                              .classes = classes,
                              .scores = ctx.in_shape(0)[1],
                              .columns = columns_of(n),
                              .linear = n.int_attr("linear", 0) != 0,
                              .all_positive = n.int_attr("all_positive", 0) != 0,
                              .transform = post_transform_of(n)},
           {ctx.in(0), ctx.pack(Tensor::of<int64_t>({classes}, std::span<const int64_t>(labels))),
            floats(a), floats(b), ctx.out(0), ctx.out(1)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SvmVotes",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::batch,
                   .cost = cost::svm_votes,
                   .facts = {.trial = {"T[4,1]", "labels = [0, 1]", 2}}};

}  // namespace poprt::ops::poprt_svm_votes_op
