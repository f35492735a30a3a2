// svm_classify: operands [scores [rows, scores], labels, prob_a?, prob_b?, label?, y? [rows,
// columns]], f32 except labels and label, which are s64: the last step of an SVM classifier. Scores
// are one decision for each pair of classes (positive: the first class) or, if linear, one for each
// class. The probability of the first class of a pair is 1 - logistic(a s + b), as in LIBSVM. These
// probabilities are combined by the second method of Wu, Lin and Weng, "Probability estimates for
// multi-class classification by pairwise coupling" (2004).
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/post_transform.h"

namespace poprt::kernels::calls {

struct SvmClassify {
  static constexpr std::string_view kKernel = "svm_classify";

  // The coupling needs memory that grows with the square of the number of classes.
  static constexpr int64_t kMostClasses = 4096;
  int64_t rows = 0;
  int64_t classes = 1;
  int64_t scores = 0;  // of a row: the number of classes if linear, otherwise of pairs of classes
  int64_t columns = 1;
  bool linear = false;
  bool all_positive = false;  // no coefficient is negative
  PostTransform transform = PostTransform::none;

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("classes", classes, 1, kMostClasses);
    f.size("scores", scores);
    f.size("columns", columns, 1);
    f.flag("linear", linear);
    f.flag("all_positive", all_positive);
    f.choice("transform", transform, PostTransform::probit);
    f.require(scores == (linear ? classes : classes * (classes - 1) / 2),
              "the number of scores does not match the classes");
    f.require(linear || classes >= 2, "pairs require two classes");
  }
};

}  // namespace poprt::kernels::calls
