// dequantize (calls/dequantize.h).
#include "kernels/calls/dequantize.h"
#include "kernels/common/quantization.h"

namespace poprt::kernels::dequantize_kernel {
namespace {

struct Params : QuantizationParams {
  bool fast;  // the table supports the type of x
  isa::Whole from;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  float block[Params::kRun];
  const auto visit = [&](int64_t e, int64_t n, const float* s, const float* z, bool many) {
    float* y = p.y == DType::f32 ? static_cast<float*>(data[3]) + e : block;
    const bool powers = p.scale == DType::f8e8m0;
    if (p.fast && !powers) {
      p.table->dequantize(p.from, y,
                          static_cast<const std::byte*>(data[0]) + e * (dtype_bits(p.x) / 8), s, z,
                          many, n);
    } else {
      to_floats(p.x, data[0], e, n, y);
      for (int64_t i = 0; i < n; i++) {
        const float v = y[i] - z[many ? i : 0], scale = s[many ? i : 0];
        y[i] = powers ? times_power(v, scale) : v * scale;
      }
    }
    if (y == block) from_floats(p.y, data[3], e, n, block, true);
  };
  p.each_run(data, begin, end, visit);
}

Plan prepare(const Call& call) {
  const Operands r("dequantize", call, 4);
  auto p = std::make_shared<Params>();
  p->read(r, calls::decode<calls::Dequantize>(call).grid, is_float,
          "an element type cannot be dequantised");
  p->fast = whole_type(p->x, &p->from);
  Plan plan;
  plan.run = run;
  plan.tasks = p->tasks();
  plan.work = static_cast<double>(p->grid.count()) * (p->fast ? 0.15 : 1.0);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"dequantize", prepare};

}  // namespace poprt::kernels::dequantize_kernel
