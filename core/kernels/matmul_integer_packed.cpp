// matmul_integer_packed (calls/matmul_integer_packed.h). A task is a part of the rows of a panel.
#include "kernels/calls/matmul_integer_packed.h"
#include "kernels/common/operands.h"
#include "kernels/common/pack_vnni.h"
#include "kernels/common/vnni_product.h"

namespace poprt::kernels::matmul_integer_packed_kernel {
namespace {

static_assert(kPackedVnniColumns == isa::kVnniPanel);
constexpr int64_t kRowsOfTask = 192;
static_assert(kRowsOfTask % isa::kVnniRows == 0);

struct Params {
  VnniProduct product;
  int64_t m, pieces;
  bool one_scale = false;
};

// The rows of a task: panel, first row, end.
struct Piece {
  int64_t panel, first, end;

  Piece(const Params& p, int64_t task)
      : panel(task / p.pieces),
        first(task % p.pieces * kRowsOfTask),
        end(std::min(p.m, first + kRowsOfTask)) {}
  const uint8_t* weights(const Params& p, const void* panels) const {
    return static_cast<const uint8_t*>(panels) + panel * vnni_steps(p.product.k) * isa::kVnniBytes;
  }
  const int32_t* sums(const void* column_sums) const {
    return static_cast<const int32_t*>(column_sums) + panel * isa::kVnniPanel;
  }
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const VnniProduct& q = p.product;
  for (int64_t task = begin; task < end; task++) {
    const Piece piece(p, task);
    q.rows(static_cast<const uint8_t*>(data[0]), data[3], data[4], piece.weights(p, data[1]),
           piece.sums(data[2]), piece.panel * isa::kVnniPanel, piece.first, piece.end,
           static_cast<int32_t*>(data[5]));
  }
}

void run_scaled(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const VnniProduct& q = p.product;
  const float a_scale = *static_cast<const float*>(data[5]);
  const auto *b_scale = static_cast<const float*>(data[6]),
             *bias = static_cast<const float*>(data[7]);
  // The zero point of symmetric weights, in terms of the bytes of b.
  const uint8_t middle = q.b_signed ? 0 : 128;
  for (int64_t task = begin; task < end; task++) {
    const Piece piece(p, task);
    const int64_t n0 = piece.panel * isa::kVnniPanel;
    q.each_row(static_cast<const uint8_t*>(data[0]), data[3], &middle, piece.weights(p, data[1]),
               n0, piece.first, piece.end,
               [&](int64_t row, const int32_t* sums, int64_t width, int32_t row_zero,
                   const int32_t*, int32_t) {
                 q.table->real(static_cast<float*>(data[8]) + row * q.n + n0, sums, width, row_zero,
                               piece.sums(data[2]), a_scale, b_scale + (p.one_scale ? 0 : n0),
                               p.one_scale, bias ? bias + n0 : nullptr);
               });
  }
}

Plan prepare(const Call& call) {
  const bool scaled = call.operands.size() == 9;
  const Operands r("matmul_integer_packed", call, scaled ? 9 : 6);
  const auto c = calls::decode<calls::MatmulIntegerPacked>(call);
  auto p = std::make_shared<Params>();
  VnniProduct& q = p->product;
  p->m = c.m;
  q.n = c.n;
  q.k = c.k;
  q.a_rows = c.a_rows;
  q.b_columns = c.b_columns;
  q.b_signed = c.b_signed;
  const DType a = r.dtype(0), b = q.b_signed ? DType::s8 : DType::u8;
  r.check(r.has(0) && is_byte(a), "a must be u8 or s8");
  q.a_signed = a == DType::s8;
  const int64_t panels = vnni_panels(q.n);
  r.needs(0, a, {p->m, q.k});
  r.needs(1, DType::s8, {panels, vnni_steps(q.k), isa::kVnniBytes});
  r.needs(2, DType::s32, {panels, isa::kVnniPanel});
  r.needs_if_present(3, a, {q.a_rows ? p->m : 1});
  r.needs_if_present(4, b, {q.b_columns ? q.n : 1});
  if (scaled) {
    r.check(!r.has(4) && !q.b_columns, "scaled products require symmetric weights");
    r.needs(5, DType::f32, {1});
    p->one_scale = element_count(call.operands[6].shape) == 1;
    r.needs(6, DType::f32, {p->one_scale ? 1 : q.n});
    r.needs_if_present(7, DType::f32, {q.n});
    r.needs(8, DType::f32, {p->m, q.n});
  } else {
    r.needs(5, DType::s32, {p->m, q.n});
  }
  p->pieces = (p->m + kRowsOfTask - 1) / kRowsOfTask;
  Plan plan;
  plan.run = scaled ? run_scaled : run;
  plan.tasks = checked_mul(panels, p->pieces);
  plan.work = static_cast<double>(p->m) * static_cast<double>(q.n) *
                  (static_cast<double>(q.k) / 150 + 0.3) +
              static_cast<double>(q.n) * static_cast<double>(q.k) / 40;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul_integer_packed", prepare};

}  // namespace poprt::kernels::matmul_integer_packed_kernel
