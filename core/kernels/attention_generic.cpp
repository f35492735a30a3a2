// attention_generic: operands [q, k, v, mask?, lengths?, y, scores?], all f32 but a bool mask
// (true: attends) and s64 lengths [batch] (valid keys). Rows of q and y lie at (b, head, i) times
// their strides, k and v are [batch, kv_heads, keys, size]. score = q . k * scale; then softcap *
// tanh(score / softcap) when softcap > 0; then the mask is added, and keys that causal, windows,
// lengths or a false mask exclude are dropped; softmax; times v. A row without keys gives zeros.
// ints: [batch, q_heads, kv_heads, queries, keys, head_size, v_size, causal, left, right (-1: no
// window), offset (position of query 0), stage of `scores` (0 raw, 1 capped, 2 masked, 3 softmax),
// then strides b, head, i of q, of y, then strides b, head, i, key of the mask, its keys].
// floats: [scale, softcap]. A task is one row.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/common/call_reader.h"
#include "kernels/common/dot.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t batch, q_heads, kv_heads, queries, keys, head, v_size;
  bool causal, bool_mask;
  int64_t left, right, offset, stage;
  std::array<int64_t, 3> q, y;
  std::array<int64_t, 4> mask;
  int64_t mask_keys;
  float scale, softcap;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  auto* s = reinterpret_cast<float*>(scratch);
  for (int64_t task = begin; task < end; task++) {
    const int64_t i = task % p.queries, h = task / p.queries % p.q_heads,
                  b = task / p.queries / p.q_heads;
    const int64_t kv = b * p.kv_heads + h / (p.q_heads / p.kv_heads);
    const float* q = static_cast<const float*>(data[0]) + b * p.q[0] + h * p.q[1] + i * p.q[2];
    const float* k = static_cast<const float*>(data[1]) + kv * p.keys * p.head;
    const float* v = static_cast<const float*>(data[2]) + kv * p.keys * p.v_size;
    float* y = static_cast<float*>(data[5]) + b * p.y[0] + h * p.y[1] + i * p.y[2];
    float* out = data[6] ? static_cast<float*>(data[6]) + task * p.keys : nullptr;
    const auto keep = [&](int64_t stage) {
      if (out && p.stage == stage) std::copy(s, s + p.keys, out);
    };
    for (int64_t j = 0; j < p.keys; j++) s[j] = dot(q, k + j * p.head, p.head) * p.scale;
    keep(0);
    if (p.softcap > 0)
      for (int64_t j = 0; j < p.keys; j++) s[j] = p.softcap * std::tanh(s[j] / p.softcap);
    keep(1);
    const int64_t length = data[4] ? static_cast<const int64_t*>(data[4])[b] : p.keys;
    const int64_t position = i + (data[4] ? length - p.queries : p.offset);
    bool any = false;
    float high = kNone;
    for (int64_t j = 0; j < p.keys; j++) {
      float bias = 0;
      if ((p.causal && j > position) || (p.left >= 0 && j < position - p.left) ||
          (p.right >= 0 && j > position + p.right) || j >= length) {
        bias = kNone;
      } else if (data[3]) {
        const int64_t at = b * p.mask[0] + h * p.mask[1] + i * p.mask[2] + j * p.mask[3];
        bias = j >= p.mask_keys                           ? kNone
               : !p.bool_mask                             ? static_cast<const float*>(data[3])[at]
               : static_cast<const uint8_t*>(data[3])[at] ? 0.0f
                                                          : kNone;
      }
      s[j] += bias;
      any = any || bias != kNone;
      high = s[j] > high ? s[j] : high;
    }
    keep(2);
    float sum = 0;
    for (int64_t j = 0; j < p.keys; j++) {
      s[j] = any && s[j] != kNone ? std::exp(s[j] - high) : 0.0f;
      sum += s[j];
    }
    for (int64_t j = 0; sum != 0 && j < p.keys; j++) s[j] /= sum;
    keep(3);
    std::fill(y, y + p.v_size, 0.0f);
    for (int64_t j = 0; j < p.keys; j++) {
      const float w = s[j];
      if (w == 0) continue;
      for (int64_t c = 0; c < p.v_size; c++) y[c] += w * v[j * p.v_size + c];
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("attention_generic", call, 7, 23, 2);
  auto p = std::make_shared<Params>();
  p->batch = r.size(0);
  p->q_heads = r.size(1);
  p->kv_heads = r.size(2);
  p->queries = r.size(3);
  p->keys = r.size(4);
  p->head = r.size(5);
  p->v_size = r.size(6);
  p->causal = r.flag(7);
  p->left = r.integer(8);
  p->right = r.integer(9);
  p->offset = r.size(10);
  p->stage = r.size(11);
  for (size_t d = 0; d < 3; d++) {
    p->q[d] = r.size(12 + d);
    p->y[d] = r.size(15 + d);
  }
  for (size_t d = 0; d < 4; d++) p->mask[d] = r.size(18 + d);
  p->mask_keys = r.size(22);
  p->scale = r.real(0);
  p->softcap = r.real(1);
  constexpr int64_t kFar = int64_t{1} << 40;
  r.check(p->left >= -1 && p->left < kFar && p->right >= -1 && p->right < kFar, "bad window");
  const int64_t tasks = CallReader::product({p->batch, p->q_heads, p->queries});
  r.check(tasks == 0 || (p->kv_heads > 0 && p->q_heads % p->kv_heads == 0),
          "heads of q must be a multiple of those of k");
  const auto reach = [&](std::span<const int64_t> strides, int64_t last) {
    const int64_t counts[] = {p->batch, p->q_heads, p->queries};
    int64_t end = last;
    for (size_t d = 0; d < 3; d++)
      end = checked_add(end, checked_mul(std::max<int64_t>(counts[d] - 1, 0), strides[d]));
    return end;
  };
  if (tasks) {
    r.needs(0, DType::f32, {reach(p->q, p->head)});
    r.needs(5, DType::f32, {reach(p->y, p->v_size)});
    const int64_t mask_last = std::max<int64_t>(std::min(p->mask_keys, p->keys) - 1, 0);
    p->bool_mask = r.dtype(3) == DType::boolean;
    r.may(3, p->bool_mask ? DType::boolean : DType::f32,
          {p->mask_keys ? reach(p->mask, checked_mul(mask_last, p->mask[3]) + 1) : 0});
  }
  r.needs(1, DType::f32, {p->batch, p->kv_heads, p->keys, p->head});
  r.needs(2, DType::f32, {p->batch, p->kv_heads, p->keys, p->v_size});
  r.may(4, DType::s64, {p->batch});
  r.may(6, DType::f32, {tasks, p->keys});
  Plan plan;
  plan.outputs = 2;
  plan.run = run;
  plan.tasks = tasks;
  plan.work = static_cast<double>(tasks) * static_cast<double>(p->keys) *
              (static_cast<double>(p->head + p->v_size) / 4 + 4);
  plan.scratch_bytes = static_cast<size_t>(p->keys) * sizeof(float);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel attention_generic_kernel;
const Kernel attention_generic_kernel = {"attention_generic", prepare};

}  // namespace poprt::kernels
