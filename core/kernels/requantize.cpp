// requantize (calls/requantize.h). A task is one row.
#include <algorithm>

#include "kernels/calls/requantize.h"
#include "kernels/common/convert_block.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels::requantize_kernel {
namespace {

struct Params : calls::Requantize {
  const isa::QuantizeTable* table = &POPRT_SELECT_ISA(quantize);
  isa::Whole to = isa::Whole::u8;
  DType a = DType::f32, b = DType::f32, y_scale = DType::f32, y = DType::u8;
};

float at(DType t, const void* data, int64_t i) noexcept {
  float v;
  to_floats(t, data, i, 1, &v);
  return v;
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  constexpr int64_t kBlock = 256;
  float scale[kBlock];
  const float y_scale = at(p.y_scale, data[3], 0), zero = at(p.y, data[4], 0);
  for (int64_t row = begin; row < end; row++) {
    const float a = at(p.a, data[1], p.a_row ? row % p.rows : 0);
    const float b = at(p.b, data[2], p.b_row ? row % p.rows : 0);
    const int64_t first = row * p.columns;
    const auto* sums = static_cast<const int32_t*>(data[0]) + first;
    auto* y = static_cast<std::byte*>(data[5]) + first;
    if (!p.b_column) {
      const float one = a * b / y_scale;
      p.table->requantize(p.to, y, sums, &one, zero, false, p.columns);
      continue;
    }
    for (int64_t c = 0; c < p.columns; c += kBlock) {
      const int64_t n = std::min(kBlock, p.columns - c);
      to_floats(p.b, data[2], c, n, scale);
      for (int64_t i = 0; i < n; i++) scale[i] = a * scale[i] / y_scale;
      p.table->requantize(p.to, y + c, sums + c, scale, zero, true, n);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("requantize", call, 6);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Requantize>(call)});
  const int64_t outer = p->outer;
  p->a = r.dtype(1);
  p->b = r.dtype(2);
  p->y_scale = r.dtype(3);
  p->y = r.dtype(5);
  const auto is_scale = [](DType t) {
    return t == DType::f32 || t == DType::f16 || t == DType::bf16;
  };
  r.check(is_scale(p->a) && is_scale(p->b) && is_scale(p->y_scale) && is_byte(p->y),
          "scales must be f32, f16 or bf16, results u8 or s8");
  r.needs(0, DType::s32, {outer, p->rows, p->columns});
  r.needs(1, p->a, {p->a_row ? p->rows : 1});
  r.needs(2, p->b, {p->b_row ? p->rows : p->b_column ? p->columns : 1});
  r.needs(3, p->y_scale, {1});
  r.needs(4, p->y, {1});
  r.needs(5, p->y, {outer, p->rows, p->columns});
  p->to = p->y == DType::s8 ? isa::Whole::s8 : isa::Whole::u8;
  Plan plan;
  plan.run = run;
  plan.tasks = p->columns ? outer * p->rows : 0;
  plan.work = static_cast<double>(plan.tasks) * (static_cast<double>(p->columns) * 0.1 + 5);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"requantize", prepare};

}  // namespace poprt::kernels::requantize_kernel
