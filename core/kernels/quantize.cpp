// quantize (calls/quantize.h).
#include "kernels/calls/quantize.h"
#include "kernels/common/quantization.h"

namespace poprt::kernels::quantize_kernel {
namespace {

struct Params : QuantizationParams {
  bool saturate, whole;
  bool fast;  // the table supports the type of y
  isa::Whole to;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  float block[Params::kRun];
  const auto visit = [&](int64_t e, int64_t n, const float* s, const float* z, bool many) {
    const float* x = static_cast<const float*>(data[0]) + e;
    if (p.x != DType::f32) {
      to_floats(p.x, data[0], e, n, block);
      x = block;
    }
    const bool powers = p.scale == DType::f8e8m0;
    if (p.fast && !powers)
      return p.table->quantize(p.to, static_cast<std::byte*>(data[3]) + e * (dtype_bits(p.y) / 8),
                               x, s, z, many, n);
    for (int64_t i = 0; i < n; i++) {
      const float scale = s[many ? i : 0];
      const float q = powers ? divided_by_power(x[i], scale) : x[i] / scale;
      block[i] = (p.whole ? __builtin_nearbyintf(q) : q) + z[many ? i : 0];
    }
    from_floats(p.y, data[3], e, n, block, p.saturate);
  };
  p.each_run(data, begin, end, visit);
}

bool is_result(DType y) { return is_convertible(y) && dtype_bits(y) <= 16; }

Plan prepare(const Call& call) {
  const Operands r("quantize", call, 4);
  const auto [grid, saturate] = calls::decode<calls::Quantize>(call);
  auto p = std::make_shared<Params>();
  p->read(r, grid, is_result, "an element type cannot be quantised");
  p->saturate = saturate;
  p->whole = is_integer(p->y);
  p->fast = whole_type(p->y, &p->to);
  Plan plan;
  plan.run = run;
  plan.tasks = p->tasks();
  plan.work = static_cast<double>(p->grid.count()) * (p->fast && p->x == DType::f32 ? 0.15 : 1.0);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"quantize", prepare};

}  // namespace poprt::kernels::quantize_kernel
