// nll_loss (calls/nll_loss.h). One task.
#include "kernels/calls/nll_loss.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::nll_loss_kernel {
namespace {

using calls::LossReduction;

struct Params : calls::NllLoss {
  bool wide = false;  // labels are s64
};

template <class T>
void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  const auto* w = static_cast<const T*>(data[2]);
  auto* y = static_cast<T*>(data[3]);
  double loss = 0, weights = 0;
  for (int64_t i = 0; i < p.n * p.d; i++) {
    const int64_t t = load_index(data[1], p.wide, i);
    const bool used = !(p.has_ignored && t == p.ignored) && t >= 0 && t < p.c;
    const T weight = !used ? T{0} : w ? w[t] : T{1};
    const T v = used ? -weight * x[(i / p.d * p.c + t) * p.d + i % p.d] : T{0};
    if (p.reduction == LossReduction::none) y[i] = v;
    loss += static_cast<double>(v);
    weights += static_cast<double>(weight);
  }
  if (p.reduction == LossReduction::sum) *y = static_cast<T>(loss);
  if (p.reduction == LossReduction::mean) *y = static_cast<T>(loss / weights);
}

Plan prepare(const Call& call) {
  const Operands r("nll_loss", call, 4);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::NllLoss>(call)});
  p->wide = r.dtype(1) == DType::s64;
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {p->n, p->c, p->d});
  r.needs(1, p->wide ? DType::s64 : DType::s32, {p->n, p->d});
  r.needs_if_present(2, t, {p->c});
  r.needs(3, t, {p->reduction != LossReduction::none ? 1 : p->n * p->d});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.work = static_cast<double>(p->n * p->d) * 4;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"nll_loss", prepare};

}  // namespace poprt::kernels::nll_loss_kernel
