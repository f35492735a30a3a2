// matmul (calls/matmul.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/matmul.h"
#include "kernels/common/make_epilogue.h"
#include "kernels/isa/gemm.h"
#include "kernels/kernel.h"

namespace poprt::kernels::matmul_kernel {
namespace {

struct Params {
  isa::GemmShape shape;
  const isa::GemmTable* table;
  int64_t panels, task_rows, task_panels, row_tasks;
  int64_t tasks_of_product, a_stride, b_stride;  // of a batch
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* residual = static_cast<const float*>(data[3]);
  for (int64_t at = begin; at < end; at++) {
    const int64_t product = at / p.tasks_of_product, task = at % p.tasks_of_product;
    const int64_t row = task % p.row_tasks * p.task_rows;
    const int64_t panel = task / p.row_tasks * p.task_panels;
    const int64_t y = product * p.shape.m * p.shape.n;
    p.table->run(p.shape, static_cast<const float*>(data[0]) + product * p.a_stride,
                 static_cast<const float*>(data[1]) + product * p.b_stride,
                 static_cast<const float*>(data[2]), residual ? residual + y : nullptr,
                 static_cast<float*>(data[4]) + y, row, std::min(p.shape.m, row + p.task_rows),
                 panel, std::min(p.panels, panel + p.task_panels));
  }
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 5, "matmul", "expected 5 operands");
  const auto c = calls::decode<calls::Matmul>(call);
  auto p = std::make_shared<Params>();
  isa::GemmShape& s = p->shape;
  s.m = c.m;
  s.n = c.n;
  s.k = c.k;
  p->panels = (s.n + isa::kPanel - 1) / isa::kPanel;
  const auto room = [&](size_t i, bool required, int64_t rows, int64_t columns) {
    const Operand& o = call.operands[i];
    if (!o.present) return expect(!required, "matmul", "an operand is missing");
    expect(o.dtype == DType::f32, "matmul", "operands must be f32");
    expect(o.bytes / 4 >= static_cast<uint64_t>(checked_mul(rows, columns)), "matmul",
           "an operand is too small");
  };
  p->a_stride = c.a_stride;
  p->b_stride = checked_mul(s.k, p->panels * isa::kPanel);
  room(0, true, 1, checked_add(checked_mul(c.batch - 1, c.a_stride), checked_mul(s.m, s.k)));
  room(1, true, c.batch, p->b_stride);
  room(2, false, 1, p->panels * isa::kPanel);
  room(3, false, checked_mul(c.batch, s.m), s.n);
  room(4, true, checked_mul(c.batch, s.m), s.n);
  s.lda = s.k;
  s.in_order = call.reproducible;
  s.ldc = s.ld_residual = s.n;
  s.epilogue = make_epilogue(c.epilogue);
  p->table = &POPRT_SELECT_ISA(gemm);

  const double flops =
      2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  Plan plan;
  plan.run = run;
  plan.work =
      std::max(flops / 100.0, static_cast<double>(s.k) * static_cast<double>(s.n) * 4 / 25.0) +
      static_cast<double>(s.m) * static_cast<double>(s.n) * epilogue_ns(s.epilogue);
  // Few rows read B once and are limited by memory bandwidth, so K is not split.
  s.k_block = s.m <= 16    ? std::max<int64_t>(s.k, 1)
              : s.in_order ? isa::kReproducibleBlock
                           : p->table->k_block;
  // A block of rows stays in the L2 cache with its part of A. Columns are split so that a task
  // takes about 20 to 100 microseconds.
  const int64_t row_blocks = (s.m + 127) / 128;
  p->task_rows = row_blocks ? ((s.m + row_blocks - 1) / row_blocks + 7) / 8 * 8 : 8;
  p->row_tasks = (s.m + p->task_rows - 1) / p->task_rows;
  const double panel_ns =
      plan.work / static_cast<double>(std::max<int64_t>(1, p->panels * p->row_tasks));
  const int64_t most = std::max<int64_t>(1, (p->panels + 23) / 24);
  p->task_panels =
      std::clamp<int64_t>(static_cast<int64_t>(100e3 / std::max(panel_ns, 1.0)), 1, most);
  if (plan.work < 20e3) p->task_panels = std::max<int64_t>(1, p->panels);
  const int64_t column_tasks = (p->panels + p->task_panels - 1) / p->task_panels;
  // If there are few columns, smaller blocks of rows give enough tasks for 16 threads. Blocks of
  // the same columns follow each other, so that B is in the cache for all but the first.
  constexpr int64_t kLeastTasks = 48, kLeastRows = 32;
  constexpr double kLeastNs = 100e3;
  while (p->row_tasks * column_tasks < kLeastTasks && p->task_rows >= 2 * kLeastRows &&
         plan.work / static_cast<double>(p->row_tasks * column_tasks) > 2 * kLeastNs) {
    p->task_rows = (p->task_rows / 2 + 7) / 8 * 8;
    p->row_tasks = (s.m + p->task_rows - 1) / p->task_rows;
  }
  p->tasks_of_product = p->row_tasks * column_tasks;
  plan.tasks = checked_mul(c.batch, p->tasks_of_product);
  plan.work *= static_cast<double>(c.batch);
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul", prepare};

}  // namespace poprt::kernels::matmul_kernel
