// matmul_narrow (calls/matmul_narrow.h). Round 0 converts the rows of a if products are not f32; a
// task of the last round is a block of rows of some panels. If few rows are split into pieces
// (isa/narrow_pieces.h), each call of run() splits them in its scratch memory, which takes about a
// microsecond.
#include <algorithm>

#include "kernels/calls/matmul_narrow.h"
#include "kernels/common/half_products.h"
#include "kernels/common/make_epilogue.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::matmul_narrow_kernel {
namespace {

using calls::NarrowProducts;
using isa::NarrowFormat;

constexpr uint64_t kBufferBytes = isa::kNarrowBuffer * sizeof(float);

enum Operand : size_t { kA, kPanels, kScales, kZeros, kBias, kResidual, kY, kRows };

struct Params {
  isa::NarrowShape shape;
  const isa::NarrowTable* table;
  // The products of this CPU; if they are not f32, rows are converted.
  calls::NarrowProducts products;
  bool vnni;
  bool pieces;  // whether f32 products use pieces
  int64_t panels, task_rows, task_panels, row_tasks, tasks;
};

isa::NarrowOperands operands_of(const Params& p, void* const* data) {
  return {static_cast<const float*>(data[kA]),
          static_cast<const uint8_t*>(data[kPanels]),
          data[kScales],
          static_cast<const uint8_t*>(data[kZeros]),
          static_cast<const float*>(data[kBias]),
          static_cast<const float*>(data[kResidual]),
          static_cast<float*>(data[kY]),
          p.products != NarrowProducts::f32 ? static_cast<uint8_t*>(data[kRows]) : nullptr};
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  isa::NarrowOperands o = operands_of(p, data);
  bool pieces = p.pieces;
  if (pieces) {
    o.rows = reinterpret_cast<uint8_t*>(scratch + kBufferBytes);
    pieces = p.table->to_pieces(p.shape, o);
  }
  for (int64_t i = begin; i < end; i++) {
    if (p.products != NarrowProducts::f32 && i < p.tasks) {
      const auto convert = p.products == NarrowProducts::bytes  ? p.table->to_bytes
                           : p.products == NarrowProducts::bf16 ? p.table->to_pairs
                                                                : p.table->to_halves;
      convert(p.shape, o.a, o.rows, i * p.shape.m / p.tasks, (i + 1) * p.shape.m / p.tasks);
      continue;
    }
    const int64_t task = i % p.tasks;
    const int64_t row = task % p.row_tasks * p.task_rows;
    const int64_t panel = task / p.row_tasks * p.task_panels;
    const isa::NarrowRange range = {row, std::min(p.shape.m, row + p.task_rows), panel,
                                    std::min(p.panels, panel + p.task_panels)};
    switch (p.products) {
      case NarrowProducts::f32:
        if (pieces)
          p.table->pieces(p.shape, o, range);
        else
          p.table->widened(p.shape, o, range, reinterpret_cast<float*>(scratch));
        break;
      case NarrowProducts::bytes: p.table->bytes(p.vnni, p.shape, o, range); break;
      case NarrowProducts::bf16: p.table->pairs(p.shape, o, range); break;
      case NarrowProducts::f16:
        p.table->halves(true, p.shape, o, range, reinterpret_cast<float*>(scratch));
        break;
    }
  }
}

// Rows are split into blocks that stay in the L2 cache, and columns so that a task takes about 20
// to 100 microseconds. Tasks of many rows have whole register tiles of columns.
void split(Params& p, Plan& plan) {
  const int64_t m = p.shape.m, row_blocks = (m + 127) / 128;
  p.task_rows = row_blocks ? ((m + row_blocks - 1) / row_blocks + 11) / 12 * 12 : 12;
  p.row_tasks = (m + p.task_rows - 1) / p.task_rows;
  const double panel_ns =
      plan.work / static_cast<double>(std::max<int64_t>(1, p.panels * p.row_tasks));
  const bool halves = p.products == NarrowProducts::bf16 || p.products == NarrowProducts::f16;
  const bool bytes = p.products == NarrowProducts::bytes;
  const int64_t unit = halves ? 4 : m <= isa::kNarrowRows ? 1 : bytes ? 4 : 3;
  const int64_t most = std::max<int64_t>(1, (p.panels + 23) / 24);
  p.task_panels =
      std::clamp<int64_t>(static_cast<int64_t>(100e3 / std::max(panel_ns, 1.0)), 1, most);
  p.task_panels = (p.task_panels + unit - 1) / unit * unit;
  if (plan.work < 20e3) p.task_panels = std::max<int64_t>(1, p.panels);
  plan.tasks = p.tasks = p.row_tasks * ((p.panels + p.task_panels - 1) / p.task_panels);
}

void check(const Operands& r, const calls::MatmulNarrow& c, Params& p) {
  isa::NarrowShape& s = p.shape;
  const bool integers = isa::is_integer(s.format);
  const int64_t columns = checked_mul(p.panels, isa::kNarrowPanel);
  r.needs(kA, DType::f32, {s.m, s.k});
  r.needs(kPanels, DType::u8,
          {p.panels, isa::narrow_groups(s.format, s.k), isa::narrow_group_bytes(s.format)});
  r.check(!integers || r.has(kScales), "integers require scales");
  r.check(integers || (!r.has(kZeros) && s.blocks == 1), "only integers have blocks");
  s.half_scales = r.has(kScales) && r.dtype(kScales) == DType::f16;
  r.needs_if_present(kScales, s.half_scales ? DType::f16 : DType::f32, {s.blocks, columns});
  r.needs_if_present(kZeros, DType::u8, {s.blocks, columns});
  r.needs_if_present(kBias, DType::f32, {columns});
  r.needs_if_present(kResidual, DType::f32, {s.m, s.n});
  r.needs(kY, DType::f32, {s.m, s.n});
  if (c.products == NarrowProducts::bytes)
    r.needs(kRows, DType::u8, {s.m, isa::narrow_row_bytes(s)});
  if (c.products == NarrowProducts::bf16)
    r.needs(kRows, DType::u8, {s.m, isa::narrow_pair_bytes(s.k)});
  if (c.products == NarrowProducts::f16) {
    r.check(!r.has(kScales), "products of f16 have no scales");
    r.needs(kRows, DType::u8, {s.m, isa::narrow_half_bytes(s.k)});
  }
}

// The fastest products that this CPU has and the call allows. `in_order` requires f32, the only
// products that every instruction set rounds equally. Few rows of weights of f16 are bound by the
// memory, so they are computed in f32, too.
NarrowProducts products_of_cpu(NarrowProducts allowed, const isa::NarrowShape& s,
                               const isa::NarrowTable& table) {
  if (s.in_order) return NarrowProducts::f32;
  const bool has_bytes = table.bytes && (can_use_vnni() || s.format != NarrowFormat::u8);
  if (allowed == NarrowProducts::bytes && has_bytes) return allowed;
  if (allowed == NarrowProducts::f16 && table.halves && can_use_half_products() &&
      s.m > isa::kNarrowRows)
    return allowed;
  if (allowed != NarrowProducts::bf16) return NarrowProducts::f32;
  if (table.pairs && can_use_bf16()) return allowed;
  warn_without_bf16();
  return NarrowProducts::f32;
}

Plan prepare(const Call& call) {
  const auto c = calls::decode<calls::MatmulNarrow>(call);
  const bool converts = c.products != NarrowProducts::f32;
  const Operands r("matmul_narrow", call, converts ? kRows + 1 : kRows);
  auto p = std::make_shared<Params>();
  isa::NarrowShape& s = p->shape;
  s = {.m = c.m,
       .n = c.n,
       .k = c.k,
       .format = c.format,
       .block = c.block,
       .blocks = (c.k + c.block - 1) / c.block,
       .zero = c.zero,
       .half_scales = false,
       .epilogue = make_epilogue(c.epilogue),
       .part = c.part,
       .parts = (c.k + c.part - 1) / c.part,
       .in_order = call.reproducible};
  p->panels = (s.n + isa::kNarrowPanel - 1) / isa::kNarrowPanel;
  check(r, c, *p);
  if (r.has(kZeros)) s.zero = 1;
  p->table = &POPRT_SELECT_ISA(narrow);
  p->vnni = can_use_vnni();
  p->products = products_of_cpu(c.products, s, *p->table);
  p->pieces = p->products == NarrowProducts::f32 && p->table->pieces && p->vnni && !s.in_order &&
              isa::narrow_pieces_fit(s);

  const auto rows = static_cast<double>(s.m),
             products = static_cast<double>(s.n) * static_cast<double>(s.k);
  const double bytes = products * static_cast<double>(isa::narrow_bits(s.format)) / 8;
  const double speed = p->products == NarrowProducts::bytes  ? 300
                       : p->products == NarrowProducts::f16  ? 280
                       : p->products == NarrowProducts::bf16 ? 200
                                                             : 100;  // operations in a ns
  Plan plan;
  plan.run = run;
  plan.outputs = converts ? 2 : 1;
  plan.work = std::max(2 * rows * products / speed, bytes / 20) +
              rows * static_cast<double>(s.n) * epilogue_ns(s.epilogue);
  split(*p, plan);
  plan.rounds = p->products == NarrowProducts::f32 ? 1 : 2;
  if (p->products == NarrowProducts::f32 || p->products == NarrowProducts::f16)
    plan.scratch_bytes = kBufferBytes;
  if (p->pieces)
    plan.scratch_bytes += static_cast<uint64_t>(checked_mul(s.m, isa::narrow_piece_bytes(s)));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"matmul_narrow", prepare};

}  // namespace poprt::kernels::matmul_narrow_kernel
