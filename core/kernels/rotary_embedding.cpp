// rotary_embedding (calls/rotary_embedding.h). A task is one token of one batch.
#include <algorithm>

#include "kernels/calls/rotary_embedding.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::rotary_embedding_kernel {
namespace {

constexpr int64_t kBlock = 64;

using Params = calls::RotaryEmbedding;

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t half = p.rotated / 2;
  for (int64_t task = begin; task < end; task++) {
    const int64_t at = task / p.tokens * p.sb + task % p.tokens * p.st;
    int64_t row = data[3] ? static_cast<const int64_t*>(data[3])[task] : task;
    row = std::clamp<int64_t>(row, 0, p.table - 1);
    const T* cos = static_cast<const T*>(data[1]) + row * half;
    const T* sin = static_cast<const T*>(data[2]) + row * half;
    for (int64_t h = 0; h < p.heads; h++) {
      const T* x = static_cast<const T*>(data[0]) + at + h * p.sh;
      T* y = static_cast<T*>(data[4]) + at + h * p.sh;
      if (!p.interleaved) {
        for (int64_t i = 0; i < half; i += kBlock) {
          // Processes blocks because y may be x.
          const int64_t n = std::min(kBlock, half - i);
          T near[kBlock], far[kBlock];
          for (int64_t j = 0; j < n; j++) {
            const T a = x[i + j], b = x[i + j + half], c = cos[i + j], s = sin[i + j];
            near[j] = c * a - s * b;
            far[j] = s * a + c * b;
          }
          std::copy(near, near + n, y + i);
          std::copy(far, far + n, y + i + half);
        }
        std::copy(x + 2 * half, x + p.head, y + 2 * half);
        continue;
      }
      for (int64_t i = 0; i < half; i++) {
        const T a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = cos[i] * a - sin[i] * b;
        y[2 * i + 1] = sin[i] * a + cos[i] * b;
      }
      std::copy(x + 2 * half, x + p.head, y + 2 * half);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("rotary_embedding", call, 5);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t count = Operands::product({p->batch, p->heads, p->tokens, p->head});
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  if (count) {
    const int64_t reach =
        checked_add(checked_add(checked_mul(p->batch - 1, p->sb), checked_mul(p->heads - 1, p->sh)),
                    checked_add(checked_mul(p->tokens - 1, p->st), p->head));
    r.needs(0, t, {reach});
    r.needs(4, t, {reach});
    r.check(p->table > 0 && (r.has(3) || p->table == p->batch * p->tokens),
            "the tables have too few rows");
  }
  r.needs(1, t, {p->table, p->rotated / 2});
  r.needs(2, t, {p->table, p->rotated / 2});
  r.needs_if_present(3, DType::s64, {p->batch, p->tokens});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = count ? p->batch * p->tokens : 0;
  plan.work = static_cast<double>(count);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"rotary_embedding", prepare};

}  // namespace poprt::kernels::rotary_embedding_kernel
