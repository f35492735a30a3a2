// attention (calls/attention.h). A task is a block of queries of one head.
#include "kernels/calls/attention.h"
#include "kernels/isa/attention.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/kernel.h"

namespace poprt::kernels::attention_kernel {
namespace {

// A multiple of the rows that isa::attention processes at once.
constexpr int64_t kQueryBlock = 192;
static_assert(kQueryBlock % isa::kAttentionRows == 0);

struct Params : calls::Attention {
  const isa::AttentionTable* table = &POPRT_SELECT_ISA(attention);
  int64_t batch = 0, queries = 0, keys = 0, blocks = 0;
  int64_t q_columns = 0, k_columns = 0, v_columns = 0;
  bool has_mask = false, mask_is_bool = false;
  std::array<int64_t, 4> mask_strides{};
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t task = begin; task < end; task++) {
    const int64_t block = task % p.blocks, h = task / p.blocks % p.heads,
                  b = task / p.blocks / p.heads;
    const int64_t s = block * kQueryBlock;
    isa::AttentionHead head{};
    head.q = static_cast<const float*>(data[0]) + (b * p.queries + s) * p.q_columns + p.q_offset +
             h * p.size;
    head.k =
        static_cast<const float*>(data[1]) + b * p.keys * p.k_columns + p.k_offset + h * p.size;
    head.v =
        static_cast<const float*>(data[2]) + b * p.keys * p.v_columns + p.v_offset + h * p.size;
    head.out = static_cast<float*>(data[4]) + (b * p.queries + s) * p.heads * p.size + h * p.size;
    head.q_stride = p.q_columns;
    head.k_stride = p.k_columns;
    head.v_stride = p.v_columns;
    head.out_stride = p.heads * p.size;
    head.queries = std::min(kQueryBlock, p.queries - s);
    head.keys = p.keys;
    head.size = p.size;
    head.scale = p.scale;
    head.mask_value = p.mask_value;
    head.causal = p.causal;
    head.first_position = p.keys - p.queries + s;
    if (p.has_mask) {
      const int64_t at = b * p.mask_strides[0] + h * p.mask_strides[1] + s * p.mask_strides[2];
      if (p.mask_is_bool)
        head.mask_bool = static_cast<const uint8_t*>(data[3]) + at;
      else
        head.mask = static_cast<const float*>(data[3]) + at;
      head.mask_query_stride = p.mask_strides[2];
      head.mask_key_stride = p.mask_strides[3];
    }
    p.table->head(head, reinterpret_cast<float*>(scratch));
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "attention", what); };
  check(call.operands.size() == 5, "expected operands q, k, v, mask, out");
  for (const size_t i : {0, 1, 2, 4})
    check(call.operands[i].present && call.operands[i].dtype == DType::f32 &&
              call.operands[i].shape.size() == 3,
          "q, k, v and out must be f32 of rank 3");
  const auto q = call.operands[0].shape, k = call.operands[1].shape, v = call.operands[2].shape,
             out = call.operands[4].shape;
  auto p = std::make_shared<Params>(Params{calls::decode<calls::Attention>(call)});
  const int64_t width = checked_mul(p->heads, p->size, "attention width");
  p->batch = q[0];
  p->queries = q[1];
  p->keys = k[1];
  p->q_columns = q[2];
  p->k_columns = k[2];
  p->v_columns = v[2];
  check(k[0] == p->batch && v[0] == p->batch && out[0] == p->batch && v[1] == p->keys &&
            out[1] == p->queries && out[2] == width,
        "shapes do not fit together");
  const auto inside = [&](int64_t offset, int64_t columns) {
    return offset >= 0 && width <= columns && offset <= columns - width;
  };
  check(inside(p->q_offset, q[2]) && inside(p->k_offset, k[2]) && inside(p->v_offset, v[2]),
        "an offset is outside its columns");
  const Operand& mask = call.operands[3];
  if (mask.present) {
    check(mask.dtype == DType::f32 || mask.dtype == DType::boolean, "the mask must be f32 or bool");
    check(mask.shape.size() <= 4, "the mask has more than 4 dimensions");
    p->has_mask = true;
    p->mask_is_bool = mask.dtype == DType::boolean;
    const std::array<int64_t, 4> full = {p->batch, p->heads, p->queries, p->keys};
    int64_t step = 1;
    for (size_t n = 0; n < mask.shape.size(); n++) {
      const size_t d = 3 - n;
      const int64_t size = mask.shape[mask.shape.size() - 1 - n];
      check(size == 1 || size == full[d], "the mask does not broadcast to [B,H,S,T]");
      p->mask_strides[d] = size == 1 ? 0 : step;
      step *= size;
    }
  }
  p->blocks = std::max<int64_t>(1, (p->queries + kQueryBlock - 1) / kQueryBlock);
  checked_mul(checked_mul(p->keys, p->size, "attention scratch"), int64_t{16}, "attention scratch");
  Plan plan;
  plan.run = run;
  plan.tasks = p->queries && p->keys ? p->batch * p->heads * p->blocks : 0;
  if (p->queries && !p->keys) check(false, "there are no keys");
  plan.work = 4.0 * static_cast<double>(p->batch * p->queries) * static_cast<double>(width) *
              static_cast<double>(p->keys) / 80.0;
  plan.scratch_bytes =
      static_cast<size_t>(isa::attention_scratch_floats(p->keys, p->size)) * sizeof(float);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"attention", prepare};

}  // namespace poprt::kernels::attention_kernel
