// gather_panels (calls/gather_panels.h). A row is read with the stride of a panel, so it touches a
// cache line for each element (or pair). This is acceptable, because the product that shares the
// panels reads all of them, which takes far longer.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/calls/gather_panels.h"
#include "kernels/common/elements.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::gather_panels_kernel {
namespace {

constexpr std::string_view kName = "gather_panels";
constexpr int64_t kTaskElements = 16 << 10;

struct Params : calls::GatherPanels {
  int64_t padded = 0;    // depth of a panel
  uint32_t flipped = 0;  // the bits of four bytes that panels of signed integers contain inverted
  int64_t rows = 0, per_task = 1;
  bool wide = true;  // s64 indices
  Outside outside;
};

[[gnu::cold, gnu::noinline]] void report(const Params& p, const void* indices, int64_t i) noexcept {
  p.outside.found(i, load_index(indices, p.wide, i), p.columns);
}

template <class T>
void copy_column(const Params& p, const T* from, T* to) noexcept {
  if (p.pair == 1) {
    for (int64_t k = 0; k < p.depth; k++) to[k] = from[k * p.width];
    return;
  }
  for (int64_t k = 0; k < p.depth; k += p.pair)
    for (int64_t j = 0; j < std::min(p.pair, p.depth - k); j++) to[k + j] = from[k * p.width + j];
}

// The integers of four bytes of a column, in the order of k. Integer k is in byte k % 4.
uint32_t in_order(uint32_t word, int64_t bits) noexcept {
  if (bits == 8) return word;
  uint32_t ordered = 0;
  for (int64_t k = 0; k < 32 / bits; k++)
    ordered |= (word >> (8 * (k % 4) + k / 4 * bits) & ((1u << bits) - 1)) << (k * bits);
  return ordered;
}

void copy_integers(const Params& p, const uint8_t* from, uint8_t* to) noexcept {
  for (int64_t k = 0; k < p.depth; k += 4) {
    uint32_t word;
    std::memcpy(&word, from + k * p.width, sizeof word);
    word = in_order(word ^ p.flipped, p.bits);
    std::memcpy(to + k, &word, sizeof word);
  }
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* from = static_cast<const T*>(data[0]);
  const int64_t last = std::min(end * p.per_task, p.rows);
  for (int64_t r = begin * p.per_task; r < last; r++) {
    T* to = static_cast<T*>(data[2]) + r * p.depth;
    int64_t index = load_index(data[1], p.wide, r);
    if (index < 0) index += p.columns;
    if (index < 0 || index >= p.columns) [[unlikely]] {
      std::fill_n(to, p.depth, T{});
      report(p, data[1], r);
      continue;
    }
    const T* column = from + index / p.width * p.padded * p.width + index % p.width * p.pair;
    if (std::is_same_v<T, uint8_t> && p.bits != 0)
      copy_integers(p, reinterpret_cast<const uint8_t*>(column), reinterpret_cast<uint8_t*>(to));
    else
      copy_column(p, column, to);
  }
}

Plan prepare(const Call& call) {
  auto params = std::make_shared<Params>();
  Params& p = *params;
  static_cast<calls::GatherPanels&>(p) = calls::decode<calls::GatherPanels>(call);
  expect(call.operands.size() == 3 && call.operands[0].present && call.operands[1].present &&
             call.operands[2].present,
         kName, "expected operands panels, indices, to");
  const Operand &panels = call.operands[0], &indices = call.operands[1], &to = call.operands[2];
  expect(is_index(indices.dtype), kName, "indices must be s32 or s64");
  expect(panels.dtype == to.dtype || panels.dtype == DType::u8, kName, "dtypes differ");
  const int64_t bytes = element_size(to.dtype, kName);
  expect(p.bits == 0 || bytes == 1, kName, "integers are gathered as bytes");
  if (p.is_signed && p.bits != 0)
    p.flipped = p.bits == 8 ? 0x80808080u : p.bits == 4 ? 0x88888888u : 0xaaaaaaaau;
  p.padded = checked_mul(ceil_div(p.depth, p.group), p.group, "gather_panels");
  const int64_t panel = checked_mul(p.padded, p.width, "gather_panels");
  const int64_t all = checked_mul(ceil_div(p.columns, p.width), panel, "gather_panels");
  expect(static_cast<uint64_t>(checked_mul(all, bytes, "gather_panels")) <= panels.bytes, kName,
         "the panels are too short");
  p.rows = element_count(indices.shape);
  const int64_t result = checked_mul(p.rows, p.depth, "gather_panels");
  expect(static_cast<uint64_t>(checked_mul(result, bytes, "gather_panels")) <= to.bytes, kName,
         "the result is too short");
  p.wide = indices.dtype == DType::s64;
  p.outside.wanted = p.checked;
  p.per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, p.depth));
  Plan plan;
  switch (bytes) {
    case 1: plan.run = run<WordOf<1>::type>; break;
    case 2: plan.run = run<WordOf<2>::type>; break;
    case 4: plan.run = run<WordOf<4>::type>; break;
    case 8: plan.run = run<WordOf<8>::type>; break;
    default: fail(ErrorCode::unimplemented, "kernel gather_panels: {}", dtype_name(to.dtype));
  }
  plan.tasks = std::max<int64_t>(1, ceil_div(p.rows, p.per_task));
  plan.work = 3.0 * static_cast<double>(p.rows) + 1.5 * static_cast<double>(result);
  plan.params = std::move(params);
  if (p.checked) plan.take_failure = Outside::take_of<Params>;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::gather_panels_kernel
