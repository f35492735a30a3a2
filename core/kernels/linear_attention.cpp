// linear_attention (calls/linear_attention.h). A task is one kv head of one batch.
#include <algorithm>
#include <cmath>

#include "kernels/calls/linear_attention.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::linear_attention_kernel {
namespace {

struct Params : calls::LinearAttention {
  int64_t decay_n = 1;  // the number of decay factors of a head
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto f = [&](size_t i) { return static_cast<const T*>(data[i]); };
  auto* update = reinterpret_cast<T*>(scratch);
  const int64_t group = p.q_heads / p.kv_heads;
  const T scale =
      std::isnan(p.scale) ? 1 / std::sqrt(static_cast<T>(p.kn)) : static_cast<T>(p.scale);
  for (int64_t task = begin; task < end; task++) {
    const int64_t b = task / p.kv_heads, h = task % p.kv_heads;
    T* state = static_cast<T*>(data[7]) + task * p.kn * p.vn;
    if (data[3])
      std::copy(f(3) + task * p.kn * p.vn, f(3) + (task + 1) * p.kn * p.vn, state);
    else
      std::fill(state, state + p.kn * p.vn, T{0});
    for (int64_t t = 0; t < p.tokens; t++) {
      const int64_t at = b * p.tokens + t, head = at * p.kv_heads + h;
      const T* k = f(1) + head * p.kn;
      const T* v = f(2) + head * p.vn;
      if (data[4])
        for (int64_t i = 0; i < p.kn; i++) {
          const T g = std::exp(f(4)[head * p.decay_n + (p.decay_n == 1 ? 0 : i)]);
          for (int64_t j = 0; j < p.vn; j++) state[i * p.vn + j] *= g;
        }
      std::copy(v, v + p.vn, update);
      if (data[5]) {
        for (int64_t i = 0; i < p.kn; i++)
          for (int64_t j = 0; j < p.vn; j++) update[j] -= k[i] * state[i * p.vn + j];
        const T beta = f(5)[at * p.beta_heads + (p.beta_heads == 1 ? 0 : h)];
        for (int64_t j = 0; j < p.vn; j++) update[j] *= beta;
      }
      for (int64_t i = 0; i < p.kn; i++)
        for (int64_t j = 0; j < p.vn; j++) state[i * p.vn + j] += k[i] * update[j];
      for (int64_t q = h * group; q < (h + 1) * group; q++) {
        const T* query = f(0) + (at * p.q_heads + q) * p.kn;
        T* y = static_cast<T*>(data[6]) + (at * p.q_heads + q) * p.vn;
        std::fill(y, y + p.vn, T{0});
        for (int64_t i = 0; i < p.kn; i++)
          for (int64_t j = 0; j < p.vn; j++) y[j] += query[i] * state[i * p.vn + j];
        for (int64_t j = 0; j < p.vn; j++) y[j] *= scale;
      }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("linear_attention", call, 8);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::LinearAttention>(call)});
  p->decay_n = p->decay_of_keys ? p->kn : 1;
  r.check(p->beta_heads == 1 || p->beta_heads == p->kv_heads || !r.has(5),
          "beta must have one head or kv_heads");
  const int64_t rows = Operands::product({p->batch, p->tokens});
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {rows, p->q_heads, p->kn});
  r.needs(1, t, {rows, p->kv_heads, p->kn});
  r.needs(2, t, {rows, p->kv_heads, p->vn});
  r.needs_if_present(3, t, {p->batch, p->kv_heads, p->kn, p->vn});
  r.needs_if_present(4, t, {rows, p->kv_heads, p->decay_n});
  r.needs_if_present(5, t, {rows, p->beta_heads});
  r.needs(6, t, {rows, p->q_heads, p->vn});
  r.needs(7, t, {p->batch, p->kv_heads, p->kn, p->vn});
  Plan plan;
  plan.outputs = 2;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  // If this is false, nothing is written, and no operand limits the number of heads or tokens.
  const bool any = p->vn && (p->tokens || p->kn);
  plan.tasks = any ? p->batch * p->kv_heads : 0;
  plan.work = static_cast<double>(rows) * static_cast<double>(p->q_heads + 3 * p->kv_heads) *
              static_cast<double>(p->kn) * static_cast<double>(p->vn) / 4;
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(t, p->vn));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"linear_attention", prepare};

}  // namespace poprt::kernels::linear_attention_kernel
