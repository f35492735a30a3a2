// attention_generic (calls/attention_generic.h). A task is a block of rows of one head.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/calls/attention_generic.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/operands.h"
#include "kernels/isa/attention.h"
#include "kernels/isa/elementwise.h"
#include "kernels/isa/gemm.h"
#include "kernels/isa/normalize.h"

namespace poprt::kernels::attention_generic_kernel {
namespace {

constexpr int64_t kQueryBlock = 192, kRows = 24, kBlockK = 512;

struct Params : calls::AttentionGeneric {
  bool bool_mask = false;
  int64_t blocks = 0, key_panels = 0, v_panels = 0;
  bool few = false;       // at most isa::kFewQueries queries, for which k and v are not packed
  bool bytes = false;     // k and v are rows of bytes
  bool in_order = false;  // Call::reproducible
  const isa::AttentionTable* attention = &POPRT_SELECT_ISA(attention);
  const isa::GemmTable* gemm = &POPRT_SELECT_ISA(gemm);
  const isa::NormalizeTable* normalize = &POPRT_SELECT_ISA(normalize);
  const isa::ElementwiseTable* elementwise = &POPRT_SELECT_ISA(elementwise);
};

struct Range {
  int64_t first, end;
};

// The keys that query i of batch b may see, according to lengths, windows and the width of the
// mask.
Range keys_of(const Params& p, void* const* data, int64_t b, int64_t i) {
  const int64_t length =
      data[4] ? std::clamp<int64_t>(static_cast<const int64_t*>(data[4])[b], 0, p.keys) : p.keys;
  const int64_t position = i + (data[4] ? length - p.queries : p.offset);
  int64_t first = 0, end = length;
  if (p.left >= 0) first = std::max(first, position - p.left);
  if (p.causal) end = std::min(end, position + 1);
  if (p.right >= 0) end = std::min(end, position + p.right + 1);
  if (data[3]) end = std::min(end, p.mask_keys);
  first = std::min(first, p.keys);
  return {first, std::max(end, first)};
}

// Returns the keys that any query of the block may see, or all keys if the scores are an output.
// Other keys are not read, because caches are often much longer than their content.
Range keys_of_block(const Params& p, void* const* data, int64_t b, int64_t first, int64_t last) {
  if (data[6]) return {0, p.keys};
  return {keys_of(p, data, b, first).first, keys_of(p, data, b, last - 1).end};
}

// Sets the scores of keys that query i of batch b does not see to -inf and adds the mask to the
// others. Returns false if the query sees no key.
template <class T>
bool mask_row(const Params& p, void* const* data, int64_t b, int64_t h, int64_t i, T* s) {
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  const auto [first, end] = keys_of(p, data, b, i);
  std::fill(s, s + first, kNone);
  std::fill(s + end, s + p.keys, kNone);
  if (!data[3]) return end > first;
  const int64_t at = b * p.mask[0] + h * p.mask[1] + i * p.mask[2];
  bool any = false;
  if (p.bool_mask) {
    const auto* mask = static_cast<const uint8_t*>(data[3]) + at;
    for (int64_t j = first; j < end; j++) {
      const bool sees = mask[j * p.mask[3]] != 0;
      any |= sees;
      if (!sees) s[j] = kNone;
    }
    return any;
  }
  const auto* mask = static_cast<const T*>(data[3]) + at;
  if (p.mask[3] == 1)
    for (int64_t j = first; j < end; j++) {
      s[j] += mask[j];
      any |= mask[j] != kNone;
    }
  else
    for (int64_t j = first; j < end; j++) {
      s[j] += mask[j * p.mask[3]];
      any |= mask[j * p.mask[3]] != kNone;
    }
  return any;
}

void pack_panels(const Params& p, const float* from, int64_t k_stride, int64_t n_stride, int64_t n,
                 int64_t k, int64_t panels, float* to) {
  for (int64_t panel = 0; panel < panels; panel++)
    p.gemm->pack(from, k_stride, n_stride, n, panel * isa::kPanel, 0, k,
                 to + panel * isa::kPanel * k);
}

// The keys and values that the queries of a block may see: pointers to the first rows.
struct Rows {
  int64_t keys, key_panels;
  const float *k = nullptr, *v = nullptr;
  const int8_t *k_bytes = nullptr, *v_bytes = nullptr;
};

Rows rows_of(const Params& p, void* const* data, int64_t b, int64_t kv_head, const Range& seen) {
  Rows rows{seen.end - seen.first, (seen.end - seen.first + isa::kPanel - 1) / isa::kPanel};
  const int64_t k = b * p.k[0] + kv_head * p.k[1] + seen.first * p.k[2],
                v = b * p.v[0] + kv_head * p.v[1] + seen.first * p.v[2];
  if (p.bytes) {
    rows.k_bytes = static_cast<const int8_t*>(data[1]) + k;
    rows.v_bytes = static_cast<const int8_t*>(data[2]) + v;
  } else {
    rows.k = static_cast<const float*>(data[1]) + k;
    rows.v = static_cast<const float*>(data[2]) + v;
  }
  return rows;
}

// Packs keys and values for products with many queries. Rows of bytes are widened one panel at a
// time in `room`.
void pack_rows(const Params& p, const Rows& rows, float* k_packed, float* v_packed, float* room) {
  if (!p.bytes) {
    pack_panels(p, rows.k, 1, p.k[2], rows.keys, p.head, rows.key_panels, k_packed);
    return pack_panels(p, rows.v, p.v[2], 1, p.v_size, rows.keys, p.v_panels, v_packed);
  }
  for (int64_t t = 0; t < rows.keys; t += isa::kPanel) {
    const int64_t n = std::min(isa::kPanel, rows.keys - t);
    p.attention->dequantize_rows(rows.k_bytes + t * p.k[2], p.k[2], n, p.head, room);
    p.gemm->pack(room, 1, p.head, n, 0, 0, p.head, k_packed + t * p.head);
    p.attention->dequantize_rows(rows.v_bytes + t * p.v[2], p.v[2], n, p.v_size, room);
    for (int64_t panel = 0; panel < p.v_panels; panel++)
      p.gemm->pack(room, p.v_size, 1, p.v_size, panel * isa::kPanel, 0, n,
                   v_packed + panel * isa::kPanel * rows.keys + t * isa::kPanel);
  }
}

// The heads of a group read the same keys and values. Each of them prefetches an equal part of
// those of the next group, so that the memory is busy all the time. Caches of many sequences are
// larger than the caches of the CPU, and the rows of a head are too few for its own prefetcher.
// Returns the keys or values that `heads` heads prefetch; `end` is the end of the tasks of this
// thread. Only for few queries, of which there is one block.
enum class Of { keys, values };
isa::RowsAhead rows_ahead(const Params& p, void* const* data, Of of, int64_t task, int64_t heads,
                          int64_t end) {
  const int64_t group = p.q_heads / p.kv_heads, part = task % group, next = task - part + group;
  if (p.bytes || next >= end) return {};
  const int64_t b = next / p.q_heads, kv_head = next % p.q_heads / group;
  const Rows rows = rows_of(p, data, b, kv_head, keys_of_block(p, data, b, 0, p.queries));
  const int64_t from = rows.keys * part / group, count = rows.keys * (part + heads) / group - from;
  if (of == Of::keys) return {rows.k + from * p.k[2], count};
  return {rows.v + from * p.v[2], count};
}

void score_row(const Params& p, const Rows& rows, const isa::RowsAhead& ahead, const float* q,
               float* scores) {
  if (p.bytes)
    p.attention->byte_scores(q, rows.k_bytes, p.k[2], rows.keys, p.head, 1.0f, scores);
  else
    p.attention->scores(q, rows.k, p.k[2], rows.keys, p.head, 1.0f, scores, ahead);
}

// Rows of weights have p.keys floats.
void mix_rows(const Params& p, const Rows& rows, const isa::RowsAhead& ahead, int64_t heads,
              const float* weights, float* y) {
  if (!p.bytes)
    return p.attention->mix({rows.v, p.v[2], rows.keys, p.v_size, ahead}, heads, weights, p.keys,
                            1.0f, y, p.y[1]);
  for (int64_t h = 0; h < heads; h++)
    p.attention->byte_mix(weights + h * p.keys, rows.v_bytes, p.v[2], rows.keys, p.v_size, 1.0f,
                          y + h * p.y[1]);
}

struct Query {
  int64_t batch, head, row;
};

// Makes the weights of the values from the products of a query and the keys, in s[0..keys).
void weigh(const Params& p, void* const* data, const Query& query, const Range& seen, float* s) {
  const auto [b, h, i] = query;
  float* out = data[6]
                   ? static_cast<float*>(data[6]) + ((b * p.q_heads + h) * p.queries + i) * p.keys
                   : nullptr;
  const auto keep = [&](int64_t stage) {
    if (out && p.stage == stage) std::copy(s, s + p.keys, out);
  };
  const auto multiply = [&](float by) {
    for (int64_t j = seen.first; j < seen.end; j++) s[j] *= by;
  };
  float* x = s + seen.first;
  const int64_t keys = seen.end - seen.first;
  multiply(p.scale);
  keep(0);
  if (p.softcap > 0) {
    multiply(1 / p.softcap);
    p.elementwise->step(static_cast<int64_t>(ElementwiseOp::tanh), x, x, x, x, keys, 0);
    multiply(p.softcap);
  }
  keep(1);
  const bool any = mask_row(p, data, b, h, i, s);
  keep(2);
  if (any)
    p.normalize->softmax_row(x, x, keys, false);
  else
    std::fill(x, x + keys, 0.0f);
  keep(3);
}

// Computes tasks [task, task + heads), whose heads read the same keys and values.
void run_few(const Params& p, void* const* data, int64_t task, int64_t heads, int64_t end,
             float* scores) {
  const int64_t h = task % p.q_heads, b = task / p.q_heads;
  const Range seen = keys_of_block(p, data, b, 0, p.queries);
  const Rows kv = rows_of(p, data, b, h / (p.q_heads / p.kv_heads), seen);
  const auto ahead = [&](Of of, int64_t head, int64_t count) {
    return rows_ahead(p, data, of, task + head, count, end);
  };
  const float* q = static_cast<const float*>(data[0]) + b * p.q[0] + h * p.q[1];
  float* y = static_cast<float*>(data[5]) + b * p.y[0] + h * p.y[1];
  for (int64_t i = 0; i < p.queries; i++) {
    for (int64_t k = 0; k < heads; k++) {
      float* s = scores + k * p.keys;
      score_row(p, kv, i == 0 ? ahead(Of::keys, k, 1) : isa::RowsAhead{},
                q + k * p.q[1] + i * p.q[2], s + seen.first);
      weigh(p, data, {b, h + k, i}, seen, s);
    }
    mix_rows(p, kv, i == 0 ? ahead(Of::values, 0, heads) : isa::RowsAhead{}, heads,
             scores + seen.first, y + i * p.y[2]);
  }
}

void run_many(const Params& p, void* const* data, int64_t task, float* scratch) {
  float* k_packed = scratch;
  float* v_packed = k_packed + p.key_panels * isa::kPanel * p.head;
  float* scores = v_packed + p.v_panels * isa::kPanel * p.keys;
  const int64_t block = task % p.blocks, h = task / p.blocks % p.q_heads,
                b = task / p.blocks / p.q_heads;
  const int64_t last = std::min((block + 1) * kQueryBlock, p.queries);
  const Range seen = keys_of_block(p, data, b, block * kQueryBlock, last);
  const Rows kv = rows_of(p, data, b, h / (p.q_heads / p.kv_heads), seen);
  pack_rows(p, kv, k_packed, v_packed, scores + kRows * p.keys);
  for (int64_t i = block * kQueryBlock; i < last; i += kRows) {
    const int64_t rows = std::min(kRows, last - i);
    const float* q = static_cast<const float*>(data[0]) + b * p.q[0] + h * p.q[1] + i * p.q[2];
    float* y = static_cast<float*>(data[5]) + b * p.y[0] + h * p.y[1] + i * p.y[2];
    isa::GemmShape shape{};
    shape.m = rows;
    shape.n = kv.keys;
    shape.k = p.head;
    shape.lda = p.q[2];
    shape.ldc = shape.ld_residual = p.keys;
    shape.k_block = kBlockK;
    shape.in_order = p.in_order;
    p.gemm->run(shape, q, k_packed, nullptr, nullptr, scores + seen.first, 0, rows, 0,
                kv.key_panels);
    for (int64_t r = 0; r < rows; r++) weigh(p, data, {b, h, i + r}, seen, scores + r * p.keys);
    if (kv.keys == 0) {
      for (int64_t r = 0; r < rows; r++) std::fill_n(y + r * p.y[2], p.v_size, 0.0f);
      continue;
    }
    shape.n = p.v_size;
    shape.k = kv.keys;
    shape.lda = p.keys;
    shape.ldc = shape.ld_residual = p.y[2];
    p.gemm->run(shape, scores + seen.first, v_packed, nullptr, nullptr, y, 0, rows, 0, p.v_panels);
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* room = reinterpret_cast<float*>(scratch);
  if (!p.few) {
    for (int64_t task = begin; task < end; task++) run_many(p, data, task, room);
    return;
  }
  const int64_t group = p.q_heads / p.kv_heads;
  for (int64_t task = begin; task < end;) {
    const int64_t left = std::min(group - task % group, end - task);
    // Four heads are computed as two and two.
    const int64_t heads = left == 4 ? 2 : std::min(left, isa::kHeadsTogether);
    run_few(p, data, task, heads, end, room);
    task += heads;
  }
}

// f64: the same blocks, with one row of scores in scratch.
void run_double(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* s = reinterpret_cast<double*>(scratch);
  const double scale = std::isnan(p.scale) ? 1 / std::sqrt(static_cast<double>(p.head))
                                           : static_cast<double>(p.scale);
  const auto cap = static_cast<double>(p.softcap);
  for (int64_t task = begin; task < end; task++) {
    const int64_t block = task % p.blocks, h = task / p.blocks % p.q_heads,
                  b = task / p.blocks / p.q_heads;
    const int64_t kv = h / (p.q_heads / p.kv_heads);
    const double* k = static_cast<const double*>(data[1]) + b * p.k[0] + kv * p.k[1];
    const double* v = static_cast<const double*>(data[2]) + b * p.v[0] + kv * p.v[1];
    const int64_t last = std::min((block + 1) * kQueryBlock, p.queries);
    const Range seen = keys_of_block(p, data, b, block * kQueryBlock, last);
    for (int64_t i = block * kQueryBlock; i < last; i++) {
      const double* q = static_cast<const double*>(data[0]) + b * p.q[0] + h * p.q[1] + i * p.q[2];
      double* y = static_cast<double*>(data[5]) + b * p.y[0] + h * p.y[1] + i * p.y[2];
      double* out =
          data[6] ? static_cast<double*>(data[6]) + ((b * p.q_heads + h) * p.queries + i) * p.keys
                  : nullptr;
      const auto keep = [&](int64_t stage) {
        if (out && p.stage == stage) std::copy(s, s + p.keys, out);
      };
      for (int64_t j = seen.first; j < seen.end; j++) {
        double sum = 0;
        for (int64_t d = 0; d < p.head; d++) sum += q[d] * k[j * p.k[2] + d];
        s[j] = sum * scale;
      }
      keep(0);
      for (int64_t j = seen.first; j < seen.end && cap > 0; j++) s[j] = cap * std::tanh(s[j] / cap);
      keep(1);
      const bool any = mask_row(p, data, b, h, i, s);
      keep(2);
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t j = seen.first; j < seen.end; j++) top = std::max(top, s[j]);
      for (int64_t j = seen.first; j < seen.end && any; j++) sum += s[j] = std::exp(s[j] - top);
      for (int64_t j = seen.first; j < seen.end; j++) s[j] = any ? s[j] / sum : 0;
      keep(3);
      for (int64_t c = 0; c < p.v_size; c++) {
        double mean = 0;
        for (int64_t j = seen.first; j < seen.end; j++) mean += s[j] * v[j * p.v[2] + c];
        y[c] = mean;
      }
    }
  }
}

// Makes the strides of contiguous keys and values, and checks the operands.
void place_rows(Params& p, const Operands& r, DType type) {
  const int64_t extra = p.bytes ? isa::kRowScaleBytes : 0;
  const bool contiguous = p.k == std::array<int64_t, 3>{};
  const auto place = [&](size_t operand, std::array<int64_t, 3>& strides, int64_t size) {
    const int64_t row = checked_add(size, extra), counts[] = {p.batch, p.kv_heads, p.keys};
    if (contiguous) {
      const int64_t head = checked_mul(p.keys, row);
      strides = {checked_mul(p.kv_heads, head), head, row};
    }
    int64_t end = p.batch && p.kv_heads && p.keys ? row : 0;
    for (size_t d = 0; d < 3 && end; d++)
      end = checked_add(end, checked_mul(counts[d] - 1, strides[d]));
    r.needs(operand, type, {end});
  };
  place(1, p.k, p.head);
  place(2, p.v, p.v_size);
}

Plan prepare(const Call& call) {
  const Operands r("attention_generic", call, 7);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::AttentionGeneric>(call)});
  p->in_order = call.reproducible;
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const int64_t tasks = Operands::product({p->batch, p->q_heads, p->queries});
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
    r.needs(0, t, {reach(p->q, p->head)});
    r.needs(5, t, {reach(p->y, p->v_size)});
    const int64_t mask_last = std::max<int64_t>(std::min(p->mask_keys, p->keys) - 1, 0);
    p->bool_mask = r.dtype(3) == DType::boolean;
    r.needs_if_present(3, p->bool_mask ? DType::boolean : t,
                       {p->mask_keys ? reach(p->mask, checked_mul(mask_last, p->mask[3]) + 1) : 0});
  }
  p->bytes = t == DType::f32 && r.has(1) && r.dtype(1) == DType::s8;
  place_rows(*p, r, p->bytes ? DType::s8 : t);
  r.needs_if_present(4, DType::s64, {p->batch});
  r.needs_if_present(6, t, {tasks, p->keys});
  // Strides may be 0, so the operands above do not limit the number of rows. Each row of y has its
  // own memory, so the size of y limits it.
  if (tasks) r.needs(5, t, {tasks, p->v_size});
  const bool any = tasks && (p->v_size || (r.has(6) && p->keys));
  p->blocks = (p->queries + kQueryBlock - 1) / kQueryBlock;
  p->key_panels = (p->keys + isa::kPanel - 1) / isa::kPanel;
  p->v_panels = (p->v_size + isa::kPanel - 1) / isa::kPanel;
  p->few = p->queries <= isa::kFewQueries;
  Plan plan;
  plan.outputs = 2;
  plan.run = run;
  plan.tasks = any ? p->batch * p->q_heads * p->blocks : 0;
  plan.work = static_cast<double>(tasks) * static_cast<double>(p->keys) *
              (static_cast<double>(p->head + p->v_size) / 40 + 1);
  const int64_t panels = checked_add(Operands::product({p->key_panels, isa::kPanel, p->head}),
                                     Operands::product({p->v_panels, isa::kPanel, p->keys}));
  const int64_t room = p->bytes ? checked_mul(isa::kPanel, std::max(p->head, p->v_size)) : 0;
  plan.scratch_bytes = static_cast<size_t>(
      checked_mul(checked_add(checked_add(panels, room), checked_mul(kRows, p->keys)), int64_t{4}) +
      8192);
  if (t == DType::f64) {
    plan.run = run_double;
    plan.work *= 50;
    plan.scratch_bytes = static_cast<size_t>(checked_mul(p->keys, int64_t{8}));
  }
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"attention_generic", prepare};

}  // namespace poprt::kernels::attention_generic_kernel
