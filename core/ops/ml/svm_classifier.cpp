// Without support vectors, the result is the label of the largest linear score. With support
// vectors, there is one decision for each pair of classes. Kernel svm_classify counts the votes,
// and computes probabilities if prob_a and prob_b are given.
#include "ops/common/ml.h"

namespace poprt::ops::ml_svm_classifier_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const std::vector<int64_t> labels = class_labels(n, "classlabels_ints", "classlabels_strings");
  const auto classes = static_cast<int64_t>(labels.size());
  ir::Value* x = feature_matrix(e);
  const Shape shape = e.shape_of(x);
  const auto coefficients = n.floats_attr("coefficients"), rho = n.floats_attr("rho"),
             a = n.floats_attr("prob_a"), b = n.floats_attr("prob_b");
  const auto per_class = n.ints_attr("vectors_per_class");
  int64_t count = 0;
  for (const int64_t c : per_class) {
    e.check(c >= 0 && c < (1 << 28), "vectors_per_class is out of range");
    count += c;
  }
  const int64_t pairs = classes * (classes - 1) / 2;
  ir::Value* scores;
  if (count == 0) {
    e.check(!rho.empty(), "rho is missing");
    scores = e.add("MatMul", {x, e.swap_last_two(reals(e, coefficients, {classes, shape[1]}))});
    scores = e.plus(scores, static_cast<double>(rho[0]));
  } else {
    e.check(
        static_cast<int64_t>(per_class.size()) == classes && classes >= 2 && classes < 65536 &&
            static_cast<int64_t>(coefficients.size()) == (classes - 1) * count &&
            static_cast<int64_t>(rho.size()) >= pairs && a.size() == b.size() &&
            (a.empty() || static_cast<int64_t>(a.size()) >= pairs),
        "the sizes of coefficients, rho or prob_a do not match the classes and support vectors");
    constexpr int64_t kMostElements = INT64_C(1) << 26;
    e.check(count <= kMostElements / pairs,
            "there are too many pairs of classes for so many support vectors");
    // The decision between i and j uses row j - 1 of the coefficients for the vectors of i, and row
    // i for the vectors of j.
    std::vector<float> matrix(static_cast<size_t>(count * pairs));
    std::vector<int64_t> start = {0};
    for (const int64_t c : per_class) start.push_back(start.back() + c);
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; i++)
      for (int64_t j = i + 1; j < classes; j++, pair++) {
        const auto put = [&](int64_t of, int64_t row) {
          for (int64_t v = start[static_cast<size_t>(of)]; v < start[static_cast<size_t>(of) + 1];
               v++)
            matrix[static_cast<size_t>(v * pairs + pair)] =
                coefficients[static_cast<size_t>(row * count + v)];
        };
        put(i, j - 1);
        put(j, i);
      }
    scores = e.add("MatMul", {svm_kernel(e, x, n.floats_attr("support_vectors"), count),
                              reals(e, matrix, {count, pairs})});
    scores = e.add("Add", {scores, reals(e, {rho.begin(), rho.begin() + pairs}, {pairs})});
  }
  bool all_positive = true;
  for (const float c : coefficients) all_positive = all_positive && c >= 0;
  ir::Node* votes = e.add_node("SvmVotes", "poprt", {scores},
                               {{"labels", labels},
                                {"prob_a", a},
                                {"prob_b", b},
                                {"linear", int64_t{count == 0}},
                                {"all_positive", int64_t{all_positive}},
                                {"post_transform", n.string_attr("post_transform", "NONE")}},
                               2);
  e.out(0, votes->output(0));
  e.out(1, votes->output(1));
}

}  // namespace
}  // namespace poprt::ops::ml_svm_classifier_op

POPRT_EXPANSION_WITH_FACTS(ml_svm_classifier_op, "ai.onnx.ml", "SVMClassifier", expand,
                           .class_numbers = "classlabels_ints",
                           .trial = {"T[4,2]",
                                     "classlabels_ints = [0, 1], vectors_per_class = [1, 1], "
                                     "support_vectors = [1.0, 2.0, 3.0, 4.0], "
                                     "coefficients = [1.0, 2.0], rho = [0.0]"})
