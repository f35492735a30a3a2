// matmul_integer_packed: operands [a, panels, column_sums, a_zero?, b_zero?, y]: y[M,N] = (a -
// a_zero) * (b - b_zero) for u8 / s8 a [M,K], s32 y and a constant b [K,N] that
// kernels/common/pack_quads.h packed. a_zero has one element or M, b_zero one or N. ints: [M, N, K,
// a_zero per row, b_zero per column, b is signed]. A task is a piece of the rows of a panel.
#include "kernels/common/call_reader.h"
#include "kernels/common/pack_quads.h"
#include "kernels/common/quad_product.h"

namespace poprt::kernels {
namespace {

static_assert(kPackedQuadColumns == isa::kQuadPanel);
constexpr int64_t kRowsOfTask = 192;
static_assert(kRowsOfTask % isa::kQuadRows == 0);

struct Params {
  QuadProduct product;
  int64_t m, pieces;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const QuadProduct& q = p.product;
  for (int64_t task = begin; task < end; task++) {
    const int64_t panel = task / p.pieces, first = task % p.pieces * kRowsOfTask;
    q.rows(static_cast<const uint8_t*>(data[0]), data[3], data[4],
           static_cast<const uint8_t*>(data[1]) + panel * quad_steps(q.k) * isa::kQuadBytes,
           static_cast<const int32_t*>(data[2]) + panel * isa::kQuadPanel, panel * isa::kQuadPanel,
           first, std::min(p.m, first + kRowsOfTask), static_cast<int32_t*>(data[5]));
  }
}

Plan prepare(const Call& call) {
  const CallReader r("matmul_integer_packed", call, 6, 6);
  auto p = std::make_shared<Params>();
  QuadProduct& q = p->product;
  p->m = r.size(0);
  q.n = r.size(1);
  q.k = r.size(2);
  q.a_rows = r.flag(3);
  q.b_columns = r.flag(4);
  q.b_signed = r.flag(5);
  const DType a = r.dtype(0), b = q.b_signed ? DType::s8 : DType::u8;
  r.check(r.has(0) && is_byte(a), "a must be u8 or s8");
  q.a_signed = a == DType::s8;
  const int64_t panels = quad_panels(q.n);
  r.needs(0, a, {p->m, q.k});
  r.needs(1, DType::s8, {panels, quad_steps(q.k), isa::kQuadBytes});
  r.needs(2, DType::s32, {panels, isa::kQuadPanel});
  r.may(3, a, {q.a_rows ? p->m : 1});
  r.may(4, b, {q.b_columns ? q.n : 1});
  r.needs(5, DType::s32, {p->m, q.n});
  p->pieces = (p->m + kRowsOfTask - 1) / kRowsOfTask;
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(panels, p->pieces);
  plan.work = static_cast<double>(p->m) * static_cast<double>(q.n) *
                  (static_cast<double>(q.k) / 150 + 0.3) +
              static_cast<double>(q.n) * static_cast<double>(q.k) / 40;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel matmul_integer_packed_kernel;
const Kernel matmul_integer_packed_kernel = {"matmul_integer_packed", prepare};

}  // namespace poprt::kernels
