// matmul_integer: operands [a, b, a_zero?, b_zero?, y]: y[M,N] = (a - a_zero) * (b - b_zero) for
// u8 / s8 a [M,K] and b [K,N], s32 y, for each product of a batch. a_zero has one element or M,
// b_zero one or N. ints: [M, N, K, a_zero per row, b_zero per column, rank, then rank times (count,
// a_stride, b_stride)]. A task is a panel of columns of one product.
#include <algorithm>
#include <vector>

#include "kernels/common/call_reader.h"
#include "kernels/common/integer_panel.h"

namespace poprt::kernels {
namespace {

struct Params {
  const isa::IntegerTable* table;
  int64_t m, n, k, panels;
  bool a_signed, b_signed, a_rows, b_columns;
  std::vector<int64_t> a_offset, b_offset;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto& s = *reinterpret_cast<IntegerScratch*>(scratch);
  for (int64_t task = begin; task < end; task++) {
    const auto product = static_cast<size_t>(task / p.panels);
    const int64_t n0 = task % p.panels * kIntegerPanel;
    const int64_t width = std::min(kIntegerPanel, p.n - n0);
    const auto* a = static_cast<const uint8_t*>(data[0]) + p.a_offset[product];
    const auto* b = static_cast<const uint8_t*>(data[1]) + p.b_offset[product] + n0;
    auto* y = static_cast<int32_t*>(data[4]) + static_cast<int64_t>(product) * p.m * p.n + n0;
    int32_t zero[kIntegerPanel] = {};
    if (data[3])
      for (int64_t j = 0; j < width; j++)
        zero[j] = byte_at(data[3], p.b_signed, p.b_columns ? n0 + j : 0);
    for (int64_t row = 0; row < p.m; row++) std::fill(y + row * p.n, y + row * p.n + width, 0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kIntegerDepth) {
      const int64_t depth = std::min(kIntegerDepth, p.k - k0);
      for (int64_t k = 0; k < depth; k++) {
        int16_t* to = panel_row(s, k);
        const uint8_t* from = b + (k0 + k) * p.n;
        for (int64_t j = 0; j < kIntegerPanel; j++)
          to[2 * j] =
              j < width ? static_cast<int16_t>(byte_at(from, p.b_signed, j) - zero[j]) : int16_t{0};
      }
      finish_panel(s, depth);
      for (int64_t row = 0; row < p.m; row += kIntegerRows) {
        const int64_t rows = std::min(kIntegerRows, p.m - row);
        for (int64_t r = 0; r < rows; r++) {
          const int32_t a_zero = data[2] ? byte_at(data[2], p.a_signed, p.a_rows ? row + r : 0) : 0;
          fill_row(s, r, a + (row + r) * p.k + k0, p.a_signed, a_zero, depth);
          std::copy_n(y + (row + r) * p.n, width, s.sums + r * kIntegerPanel);
        }
        p.table->multiply(s.rows, kIntegerDepth, rows, s.panel, (depth + 1) / 2, s.sums);
        for (int64_t r = 0; r < rows; r++)
          std::copy_n(s.sums + r * kIntegerPanel, width, y + (row + r) * p.n);
      }
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("matmul_integer", call, 5, 6);
  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(integer);
  p->m = r.size(0);
  p->n = r.size(1);
  p->k = r.size(2);
  p->a_rows = r.flag(3);
  p->b_columns = r.flag(4);
  const DType a = r.dtype(0), b = r.dtype(1);
  r.check(r.has(0) && r.has(1) && is_byte(a) && is_byte(b), "a and b must be u8 or s8");
  p->a_signed = a == DType::s8;
  p->b_signed = b == DType::s8;
  const auto rank = static_cast<size_t>(r.size(5));
  r.check(rank <= 16 && call.ints.size() == 6 + 3 * rank, "bad rank");
  p->a_offset = p->b_offset = {0};
  int64_t a_end = CallReader::product({p->m, p->k}), b_end = CallReader::product({p->k, p->n});
  for (size_t d = 0; d < rank; d++) {
    const int64_t count = r.size(6 + 3 * d), as = r.size(7 + 3 * d), bs = r.size(8 + 3 * d);
    r.check(CallReader::product({count, static_cast<int64_t>(p->a_offset.size())}) < (1 << 24),
            "too many products");
    std::vector<int64_t> a_next, b_next;
    for (size_t i = 0; i < p->a_offset.size(); i++)
      for (int64_t c = 0; c < count; c++) {
        a_next.push_back(checked_add(p->a_offset[i], checked_mul(c, as)));
        b_next.push_back(checked_add(p->b_offset[i], checked_mul(c, bs)));
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
  r.may(2, a, {p->a_rows ? p->m : 1});
  r.may(3, b, {p->b_columns ? p->n : 1});
  r.needs(4, DType::s32, {products, p->m, p->n});
  p->panels = (p->n + kIntegerPanel - 1) / kIntegerPanel;
  Plan plan;
  plan.run = run;
  plan.tasks = p->m ? products * p->panels : 0;
  plan.work = static_cast<double>(products) * static_cast<double>(p->m) *
              static_cast<double>(p->n) * static_cast<double>(p->k) / 50;
  plan.scratch_bytes = sizeof(IntegerScratch);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel matmul_integer_kernel;
const Kernel matmul_integer_kernel = {"matmul_integer", prepare};

}  // namespace poprt::kernels
