// einsum (calls/einsum.h). A task is a block of results.
#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/calls/einsum.h"
#include "kernels/common/numbers.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::einsum_kernel {
namespace {

constexpr auto kMaxInputs = static_cast<size_t>(calls::Einsum::kMostInputs),
               kMaxLabels = static_cast<size_t>(calls::Einsum::kMostLabels);
constexpr int64_t kTask = 256;

struct Params {
  size_t inputs, rank, labels;
  std::array<int64_t, kMaxLabels> size{};
  std::array<std::array<int64_t, kMaxLabels>, kMaxInputs> stride{};
  int64_t results = 1, terms = 1;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  const auto& p = *static_cast<const Params*>(params);
  T* y = static_cast<T*>(data[p.inputs]);
  const int64_t last = std::min(end * kTask, p.results);
  for (int64_t e = begin * kTask; e < last; e++) {
    std::array<int64_t, kMaxInputs> at{};
    int64_t rest = e;
    for (size_t d = p.rank; d-- > 0;) {
      const int64_t i = rest % p.size[d];
      rest /= p.size[d];
      for (size_t n = 0; n < p.inputs; n++) at[n] += i * p.stride[n][d];
    }
    std::array<int64_t, kMaxLabels> index{};
    Sum sum = 0;
    for (int64_t term = 0; term < p.terms; term++) {
      auto product = static_cast<Sum>(static_cast<const T*>(data[0])[at[0]]);
      for (size_t n = 1; n < p.inputs; n++)
        product *= static_cast<Sum>(static_cast<const T*>(data[n])[at[n]]);
      sum += product;
      for (size_t d = p.labels; d-- > p.rank;) {
        for (size_t n = 0; n < p.inputs; n++) at[n] += p.stride[n][d];
        if (++index[d] < p.size[d]) break;
        for (size_t n = 0; n < p.inputs; n++) at[n] -= p.size[d] * p.stride[n][d];
        index[d] = 0;
      }
    }
    y[e] = static_cast<T>(sum);
  }
}

Plan prepare(const Call& call) {
  const std::string_view name = "einsum";
  const auto c = calls::decode<calls::Einsum>(call);
  const Operands r(name, call, c.strides.size() + 1);
  auto p = std::make_shared<Params>();
  p->inputs = c.strides.size();
  p->rank = static_cast<size_t>(c.rank);
  p->labels = c.sizes.size();
  for (size_t d = 0; d < p->labels; d++) {
    p->size[d] = c.sizes[d];
    (d < p->rank ? p->results : p->terms) =
        checked_mul(d < p->rank ? p->results : p->terms, p->size[d]);
  }
  const bool empty = p->results == 0 || p->terms == 0;
  const DType type = r.dtype(p->inputs);
  for (size_t n = 0; n < p->inputs; n++) {
    int64_t reach = 1;
    for (size_t d = 0; d < p->labels; d++) {
      p->stride[n][d] = c.strides[n][d];
      if (!empty) reach = checked_add(reach, checked_mul(p->size[d] - 1, p->stride[n][d]));
    }
    r.needs(n, type, {empty ? 0 : reach});
  }
  r.needs(p->inputs, type, {p->results});
  Plan plan;
  if (!visit_number(type, [&]<class T>(T) { plan.run = run<T>; })) r.fail_dtype(p->inputs);
  plan.tasks = (p->results + kTask - 1) / kTask;
  plan.work = static_cast<double>(p->results) * static_cast<double>(p->terms) * 3;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"einsum", prepare};

}  // namespace poprt::kernels::einsum_kernel
