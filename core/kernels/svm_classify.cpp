// svm_classify (calls/svm_classify.h). A task is one row.
#include <algorithm>

#include "kernels/calls/svm_classify.h"
#include "kernels/common/operands.h"
#include "kernels/common/post_transform.h"

namespace poprt::kernels::svm_classify_kernel {
namespace {

using Params = calls::SvmClassify;

// r [k, k] contains the probability of i against j. q [k, k] and qp [k] are scratch, p [k] is the
// result.
void couple_probabilities(int64_t k, const double* r, double* q, double* qp, double* p) noexcept {
  for (int64_t i = 0; i < k; i++) {
    p[i] = 1.0 / static_cast<double>(k);
    q[i * k + i] = 0;
    for (int64_t j = 0; j < k; j++) {
      if (j == i) continue;
      q[i * k + i] += r[j * k + i] * r[j * k + i];
      q[i * k + j] = -r[j * k + i] * r[i * k + j];
    }
  }
  const double eps = 0.005 / static_cast<double>(k);
  for (int round = 0; round < 100; round++) {
    double pqp = 0, worst = 0;
    for (int64_t i = 0; i < k; i++) {
      qp[i] = 0;
      for (int64_t j = 0; j < k; j++) qp[i] += q[i * k + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < k; i++) worst = std::max(worst, std::fabs(qp[i] - pqp));
    if (worst < eps) return;
    for (int64_t i = 0; i < k; i++) {
      const double step = (pqp - qp[i]) / q[i * k + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * k + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (int64_t j = 0; j < k; j++) {
        qp[j] = (qp[j] + step * q[i * k + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t k = p.classes;
  const auto* labels = static_cast<const int64_t*>(data[1]);
  const auto* prob_a = static_cast<const float*>(data[2]);
  const auto* prob_b = static_cast<const float*>(data[3]);
  auto* y = reinterpret_cast<double*>(scratch);  // a score for each column
  double* votes = y + p.columns;                 // a number for each class
  double* pairs = votes + k;                     // r, q and qp of couple_probabilities()
  for (int64_t row = begin; row < end; row++) {
    const float* s = static_cast<const float*>(data[0]) + row * p.scores;
    int64_t best = 0;
    double high = 0;
    bool single = false;
    if (p.linear) {
      for (int64_t c = 0; c < k; c++) y[c] = static_cast<double>(s[c]);
      best = std::max_element(y, y + k) - y;
      high = y[best];
    } else {
      std::fill(votes, votes + k, 0.0);
      int64_t at = 0;
      for (int64_t i = 0; i < k; i++)
        for (int64_t j = i + 1; j < k; j++, at++) {
          votes[s[at] > 0 ? i : j] += 1;
          if (!prob_a) continue;
          const double v =
              1 - logistic(static_cast<double>(s[at]) * static_cast<double>(prob_a[at]) +
                           static_cast<double>(prob_b[at]));
          const double r = std::clamp(v, 1e-7, 1 - 1e-7);
          pairs[i * k + j] = r;
          pairs[j * k + i] = 1 - r;
        }
      best = std::max_element(votes, votes + k) - votes;
      if (prob_a) {
        couple_probabilities(k, pairs, pairs + k * k, pairs + 2 * k * k, y);
      } else {
        single = k == 2;
        for (int64_t c = 0; c < p.scores && !single; c++) y[c] = static_cast<double>(s[c]);
      }
    }
    // ONNX and ONNX Runtime choose this class even if the other one has the greater score.
    if (k == 2 && p.all_positive && high >= 0.5) best = 1;
    if (data[4]) static_cast<int64_t*>(data[4])[row] = labels[best];
    if (single)
      apply_binary_transform(p.transform, p.transform != PostTransform::none,
                             static_cast<double>(s[0]), y);
    else
      apply_post_transform(p.transform, {y, static_cast<size_t>(p.columns)});
    for (int64_t c = 0; data[5] && c < p.columns; c++)
      static_cast<float*>(data[5])[row * p.columns + c] = static_cast<float>(y[c]);
  }
}

Plan prepare(const Call& call) {
  const Operands r("svm_classify", call, 6);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t rows = p->rows, pairs = p->classes * (p->classes - 1) / 2;
  const bool probabilities = r.has(2);
  r.check(p->columns == (p->linear || probabilities ? p->classes : std::max<int64_t>(pairs, 2)) &&
              r.has(2) == r.has(3) && !(p->linear && probabilities),
          "the number of columns does not match the classes");
  r.needs(0, DType::f32, {rows, p->scores});
  r.needs(1, DType::s64, {p->classes});
  r.needs_if_present(2, DType::f32, {pairs});
  r.needs_if_present(3, DType::f32, {pairs});
  r.needs_if_present(4, DType::s64, {rows});
  r.needs_if_present(5, DType::f32, {rows, p->columns});
  Plan plan;
  plan.run = run;
  plan.tasks = rows;
  plan.work =
      static_cast<double>(rows) * static_cast<double>(p->scores) * (probabilities ? 200 : 5);
  plan.scratch_bytes = static_cast<size_t>(
      dtype_bytes(DType::f64, p->columns + 2 * p->classes + 2 * p->classes * p->classes));
  plan.params = std::move(p);
  plan.outputs = 2;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"svm_classify", prepare};

}  // namespace poprt::kernels::svm_classify_kernel
