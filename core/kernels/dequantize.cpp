// dequantize: operands [x, scale, zero?, y]: y = (x - zero) * scale. ints: [outer, n, inner, block,
// per_axis] (kernels/common/quantization.h).
#include "kernels/common/quantization.h"

namespace poprt::kernels {
namespace {

constexpr int64_t kTask = 16384, kRun = QuantizationGrid::kRun;

struct Params {
  const isa::QuantizeTable* table;
  QuantizationGrid grid;
  DType x, scale, zero, y;
  bool fast;  // the table has x
  isa::Whole from;
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
    float* y = p.y == DType::f32 ? static_cast<float*>(data[3]) + e : block;
    if (p.fast) {
      p.table->dequantize(p.from, y,
                          static_cast<const std::byte*>(data[0]) + e * (dtype_bits(p.x) / 8), s, z,
                          many, n);
    } else {
      to_floats(p.x, data[0], e, n, y);
      for (int64_t i = 0; i < n; i++) y[i] = (y[i] - z[many ? i : 0]) * s[many ? i : 0];
    }
    if (y == block) from_floats(p.y, data[3], e, n, block, true);
  });
}

Plan prepare(const Call& call) {
  const CallReader r("dequantize", call, 4, 5);
  auto p = std::make_shared<Params>();
  p->grid = read_grid(r, 0);
  const int64_t count = p->grid.count();
  p->x = r.dtype(0);
  p->scale = r.dtype(1);
  p->zero = r.dtype(2);
  p->y = r.dtype(3);
  r.check(is_convertible(p->x) && is_convertible(p->scale) && is_float(p->y) &&
              (!r.has(2) || is_convertible(p->zero)),
          "an element type cannot be dequantised");
  r.needs(0, p->x, {count});
  r.needs(1, p->scale, {p->grid.parameters});
  r.may(2, p->zero, {p->grid.parameters});
  r.needs(3, p->y, {count});
  p->table = &POPRT_SELECT_ISA(quantize);
  p->fast = whole_type(p->x, &p->from);
  Plan plan;
  plan.run = run;
  plan.tasks = (count + kTask - 1) / kTask;
  plan.work = static_cast<double>(count) * (p->fast ? 0.15 : 1.0);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel dequantize_kernel;
const Kernel dequantize_kernel = {"dequantize", prepare};

}  // namespace poprt::kernels
