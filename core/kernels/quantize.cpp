// quantize: operands [x, scale, zero?, y]: y = saturate(round(x / scale) + zero), ties to even; for
// f8 and f4 results the quotient is rounded to the format instead. ints: [outer, n, inner, block,
// per_axis (kernels/common/quantization.h), saturate (f8 only)].
#include "kernels/common/quantization.h"

#include <cmath>

namespace poprt::kernels {
namespace {

constexpr int64_t kTask = 16384, kRun = QuantizationGrid::kRun;

struct Params {
  const isa::QuantizeTable* table;
  QuantizationGrid grid;
  DType x, scale, zero, y;
  bool saturate, whole;
  bool fast;  // the table has y
  isa::Whole to;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  float block[kRun], s[kRun], z[kRun];
  int64_t known = -1;
  const int64_t first = begin * kTask, last = std::min(end * kTask, p.grid.count());
  p.grid.each_run(first, last - first, [&](int64_t e, int64_t n, int64_t parameter, bool many) {
    if (many || parameter != known) {
      to_floats(p.scale, data[1], parameter, many ? n : 1, s);
      if (data[2])
        to_floats(p.zero, data[2], parameter, many ? n : 1, z);
      else
        std::fill(z, z + (many ? n : 1), 0.0f);
      known = many ? -1 : parameter;
    }
    const float* x = static_cast<const float*>(data[0]) + e;
    if (p.x != DType::f32) {
      to_floats(p.x, data[0], e, n, block);
      x = block;
    }
    if (p.fast)
      return p.table->quantize(p.to, static_cast<std::byte*>(data[3]) + e * (dtype_bits(p.y) / 8),
                               x, s, z, many, n);
    for (int64_t i = 0; i < n; i++) {
      const float q = x[i] / s[many ? i : 0];
      block[i] = (p.whole ? __builtin_nearbyintf(q) : q) + z[many ? i : 0];
    }
    from_floats(p.y, data[3], e, n, block, p.saturate);
  });
}

Plan prepare(const Call& call) {
  const CallReader r("quantize", call, 4, 6);
  auto p = std::make_shared<Params>();
  p->grid = read_grid(r, 0);
  const int64_t count = p->grid.count();
  p->x = r.dtype(0);
  p->scale = r.dtype(1);
  p->zero = r.dtype(2);
  p->y = r.dtype(3);
  r.check(is_convertible(p->x) && is_convertible(p->scale) && is_convertible(p->y) &&
              dtype_bits(p->y) <= 16 && (!r.has(2) || is_convertible(p->zero)),
          "an element type cannot be quantised");
  r.needs(0, p->x, {count});
  r.needs(1, p->scale, {p->grid.parameters});
  r.may(2, p->zero, {p->grid.parameters});
  r.needs(3, p->y, {count});
  p->saturate = r.flag(5);
  p->whole = is_integer(p->y);
  p->table = &POPRT_SELECT_ISA(quantize);
  p->fast = whole_type(p->y, &p->to);
  Plan plan;
  plan.run = run;
  plan.tasks = (count + kTask - 1) / kTask;
  plan.work = static_cast<double>(count) * (p->fast && p->x == DType::f32 ? 0.15 : 1.0);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel quantize_kernel;
const Kernel quantize_kernel = {"quantize", prepare};

}  // namespace poprt::kernels
