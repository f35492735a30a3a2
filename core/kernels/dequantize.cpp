// dequantize: operands [x, scale, zero?, y]: y = (x - zero) * scale. ints: [outer, n, inner, block,
// per_axis] (kernels/common/quantization.h).
#include "kernels/common/quantization.h"

namespace poprt::kernels {
namespace {

constexpr int64_t kBlock = 512, kTask = 16384;

struct Params {
  QuantizationGrid grid;
  DType x, scale, zero, y;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  float x[kBlock], s[kBlock], z[kBlock];
  const int64_t last = std::min(end * kTask, p.grid.count());
  for (int64_t first = begin * kTask; first < last; first += kBlock) {
    const int64_t n = std::min(kBlock, last - first);
    to_floats(p.x, data[0], first, n, x);
    if (p.grid.parameters > 1 || first == begin * kTask) {
      const int64_t wanted = p.grid.parameters > 1 ? n : kBlock;
      p.grid.gather(p.scale, data[1], first, wanted, s);
      p.grid.gather(p.zero, data[2], first, wanted, z);
    }
    for (int64_t i = 0; i < n; i++) x[i] = (x[i] - z[i]) * s[i];
    from_floats(p.y, data[3], first, n, x, true);
  }
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
  Plan plan;
  plan.run = run;
  plan.tasks = (count + kTask - 1) / kTask;
  plan.work = static_cast<double>(count);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel dequantize_kernel;
const Kernel dequantize_kernel = {"dequantize", prepare};

}  // namespace poprt::kernels
