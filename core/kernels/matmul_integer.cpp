// matmul_integer (calls/matmul_integer.h). A task is a panel of columns of one product.
#include <algorithm>
#include <vector>

#include "kernels/calls/matmul_integer.h"
#include "kernels/common/operands.h"
#include "kernels/common/vnni_product.h"

namespace poprt::kernels::matmul_integer_kernel {
namespace {

struct Params {
  VnniProduct product;
  int64_t m, panels;
  std::vector<int64_t> a_offset, b_offset;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const VnniProduct& q = p.product;
  auto* panel = reinterpret_cast<uint8_t*>(scratch);
  int32_t column_sums[isa::kVnniPanel];
  for (int64_t task = begin; task < end; task++) {
    const auto product = static_cast<size_t>(task / p.panels);
    const int64_t n0 = task % p.panels * isa::kVnniPanel;
    q.pack(static_cast<const uint8_t*>(data[1]) + p.b_offset[product], n0, panel);
    q.table->column_sums(true, q.vnni, {panel, nullptr, vnni_steps(q.k)}, column_sums);
    q.rows(static_cast<const uint8_t*>(data[0]) + p.a_offset[product], data[2], data[3], panel,
           column_sums, n0, 0, p.m,
           static_cast<int32_t*>(data[4]) + static_cast<int64_t>(product) * p.m * q.n);
  }
}

Plan prepare(const Call& call) {
  const Operands r("matmul_integer", call, 5);
  const auto c = calls::decode<calls::MatmulInteger>(call);
  auto p = std::make_shared<Params>();
  VnniProduct& q = p->product;
  p->m = c.m;
  q.n = c.n;
  q.k = c.k;
  q.a_rows = c.a_rows;
  q.b_columns = c.b_columns;
  const DType a = r.dtype(0), b = r.dtype(1);
  r.check(r.has(0) && r.has(1) && is_byte(a) && is_byte(b), "a and b must be u8 or s8");
  q.a_signed = a == DType::s8;
  q.b_signed = b == DType::s8;
  p->a_offset = p->b_offset = {0};
  int64_t a_end = Operands::product({p->m, q.k}), b_end = Operands::product({q.k, q.n});
  const bool any = p->m > 0 && q.n > 0;  // otherwise y does not limit the number of products
  for (const auto& [count, as, bs, ys] : c.batch) {
    if (!any) break;
    r.check(Operands::product({count, static_cast<int64_t>(p->a_offset.size())}) < (1 << 24),
            "too many products");
    std::vector<int64_t> a_next, b_next;
    for (size_t i = 0; i < p->a_offset.size(); i++)
      for (int64_t j = 0; j < count; j++) {
        a_next.push_back(checked_add(p->a_offset[i], checked_mul(j, as)));
        b_next.push_back(checked_add(p->b_offset[i], checked_mul(j, bs)));
      }
    p->a_offset = std::move(a_next);
    p->b_offset = std::move(b_next);
  }
  const auto products = static_cast<int64_t>(p->a_offset.size());
  if (products) {
    a_end = checked_add(a_end, *std::max_element(p->a_offset.begin(), p->a_offset.end()));
    b_end = checked_add(b_end, *std::max_element(p->b_offset.begin(), p->b_offset.end()));
    r.needs(0, a, {a_end});
    r.needs(1, b, {b_end});
  }
  r.needs_if_present(2, a, {q.a_rows ? p->m : 1});
  r.needs_if_present(3, b, {q.b_columns ? q.n : 1});
  r.needs(4, DType::s32, {products, p->m, q.n});
  p->panels = (q.n + isa::kVnniPanel - 1) / isa::kVnniPanel;
  Plan plan;
  plan.run = run;
  plan.tasks = any ? checked_mul(products, p->panels) : 0;
  plan.work = static_cast<double>(products) * static_cast<double>(p->m) * static_cast<double>(q.n) *
              (static_cast<double>(q.k) / 150 + 0.3);
  plan.scratch_bytes = static_cast<size_t>(checked_mul(vnni_steps(q.k), isa::kVnniBytes));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul_integer", prepare};

}  // namespace poprt::kernels::matmul_integer_kernel
