// strided_copy (calls/strided_copy.h).
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/strided_copy.h"
#include "kernels/common/elements.h"
#include "kernels/isa/transpose.h"

namespace poprt::kernels::strided_copy_kernel {
namespace {

constexpr std::string_view kName = "strided_copy";
constexpr auto kMaxRank = static_cast<size_t>(calls::StridedCopy::kMostDims);
constexpr int64_t kTaskBytes = 64 << 10;
constexpr int64_t kTransposeRows = 16;  // rows of the result in one iteration of a transpose

struct Dim {
  int64_t count, from, to;  // strides in elements; in Params::outer in bytes
};

enum class Mode { nothing, run, transpose, strided };

struct Params {
  Mode mode = Mode::nothing;
  int64_t size = 1;  // bytes of one element
  int64_t from_offset = 0, to_offset = 0;
  size_t rank = 0;                    // of the outer loops
  std::array<Dim, kMaxRank> outer{};  // bytes
  Dim inner{};                        // elements
  Dim rows{};                         // transpose: the dimension that is contiguous in the source
  int64_t block = 1, blocks = 1;      // the inner dimension (transpose: rows) is split into blocks
  int64_t iterations = 0, per_task = 1;
  const isa::TransposeTable* isa = nullptr;
};

void copy_block(const Params& p, const std::byte* from, std::byte* to, int64_t block) noexcept {
  const int64_t first = block * p.block;
  if (p.mode == Mode::transpose) {
    const int64_t n = std::min(p.block, p.rows.count - first);
    p.isa->block[std::countr_zero(static_cast<uint64_t>(p.size))](
        from + first * p.size, p.inner.from, to + first * p.rows.to * p.size, p.rows.to,
        p.inner.count, n);
    return;
  }
  const int64_t n = std::min(p.block, p.inner.count - first);
  from += first * p.inner.from * p.size;
  to += first * p.inner.to * p.size;
  if (p.mode == Mode::run) {
    std::memcpy(to, from, static_cast<size_t>(n * p.size));
    return;
  }
  if (p.inner.from == 0 && p.inner.to == 1) return fill_elements(to, from, p.size, n);
  dispatch_size(p.size, [&]<class T>(T) {
    const auto* f = reinterpret_cast<const T*>(from);
    auto* t = reinterpret_cast<T*>(to);
    const int64_t fs = p.inner.from, ts = p.inner.to;
    if (ts == 1 && fs == 2) {  // compilers vectorise reading every second element
      using Word = typename WordOf<sizeof(T)>::type;
      const auto* words = reinterpret_cast<const Word*>(from);
      auto* result = reinterpret_cast<Word*>(to);
      for (int64_t i = 0; i < n; i++) result[i] = words[2 * i];
    } else if (ts == 1) {
      for (int64_t i = 0; i < n; i++) t[i] = f[i * fs];
    } else {
      for (int64_t i = 0; i < n; i++) t[i * ts] = f[i * fs];
    }
  });
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* from = static_cast<const std::byte*>(data[0]) + p.from_offset;
  auto* to = static_cast<std::byte*>(data[1]) + p.to_offset;
  int64_t i = begin * p.per_task;
  const int64_t last = std::min(end * p.per_task, p.iterations);
  if (i >= last) return;
  int64_t block = i % p.blocks, rest = i / p.blocks;
  std::array<int64_t, kMaxRank> at{};
  for (size_t d = p.rank; d-- > 0;) {
    at[d] = rest % p.outer[d].count;
    rest /= p.outer[d].count;
    from += at[d] * p.outer[d].from;
    to += at[d] * p.outer[d].to;
  }
  for (;;) {
    copy_block(p, from, to, block);
    if (++i == last) return;
    if (++block < p.blocks) continue;
    block = 0;
    for (size_t d = p.rank; d-- > 0;) {
      from += p.outer[d].from;
      to += p.outer[d].to;
      if (++at[d] < p.outer[d].count) break;
      from -= at[d] * p.outer[d].from;
      to -= at[d] * p.outer[d].to;
      at[d] = 0;
    }
  }
}

// Checks that the lowest and highest element that the strides reach are inside the operand.
void check_range(const Operand& operand, int64_t size, int64_t offset, const std::vector<Dim>& dims,
                 int64_t Dim::* stride) {
  int64_t low = offset, high = offset;
  for (const Dim& d : dims) {
    const int64_t reach = checked_mul(d.count - 1, d.*stride, "strided_copy");
    int64_t& side = reach < 0 ? low : high;
    side = checked_add(side, reach, "strided_copy");
  }
  expect(low >= 0 && high >= 0 && static_cast<uint64_t>(high) < operand.bytes / size, kName,
         "strides reach outside an operand");
}

std::vector<Dim> merge(const std::vector<Dim>& dims) {
  std::vector<Dim> merged;
  for (const Dim& d : dims) {
    if (d.count == 1) continue;
    if (!merged.empty() && merged.back().from == d.from * d.count &&
        merged.back().to == d.to * d.count) {
      merged.back() = {merged.back().count * d.count, d.from, d.to};
    } else {
      merged.push_back(d);
    }
  }
  return merged;
}

Plan prepare(const Call& call) {
  expect(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present, kName,
         "expected operands from, to");
  const auto c = calls::decode<calls::StridedCopy>(call);
  auto params = std::make_shared<Params>();
  Params& p = *params;
  p.size = c.size;
  const size_t r = c.dims.size();
  std::vector<Dim> dims(r);
  bool empty = false;
  int64_t count = 1;
  for (size_t i = 0; i < r; i++) {
    dims[i] = {c.dims[i], c.from_strides[i], c.to_strides[i]};
    empty |= dims[i].count == 0;
    if (!empty) count = checked_mul(count, dims[i].count, "strided_copy");
  }
  Plan plan;
  plan.run = run;
  plan.params = params;
  if (empty) return plan;
  check_range(call.operands[0], p.size, c.from_offset, dims, &Dim::from);
  check_range(call.operands[1], p.size, c.to_offset, dims, &Dim::to);
  p.from_offset = c.from_offset * p.size;
  p.to_offset = c.to_offset * p.size;

  std::erase_if(dims, [](const Dim& d) { return d.count == 1; });
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.to > b.to; });
  for (size_t i = 0; i + 1 < dims.size(); i++)
    expect(dims[i].to >= checked_mul(dims[i + 1].to, dims[i + 1].count, "strided_copy"), kName,
           "the result would be written twice");
  if (!dims.empty()) expect(dims.back().to >= 1, kName, "the result would be written twice");
  dims = merge(dims);

  // A short contiguous run with the size of an element type is moved as one wider element.
  while (!dims.empty() && dims.back().from == 1 && dims.back().to == 1 && dims.size() > 1) {
    const int64_t wide = dims.back().count * p.size;
    const int64_t n = dims.back().count;
    const bool fits = (wide == 2 || wide == 4 || wide == 8 || wide == 16) &&
                      std::all_of(dims.begin(), dims.end() - 1,
                                  [n](const Dim& d) { return d.from % n == 0 && d.to % n == 0; });
    if (!fits) break;
    dims.pop_back();
    for (Dim& d : dims) {
      d.from /= n;
      d.to /= n;
    }
    p.size = wide;
  }

  p.inner = dims.empty() ? Dim{1, 1, 1} : dims.back();
  if (!dims.empty()) dims.pop_back();
  double bytes_per_ns = 8;
  if (p.inner.from == 1 && p.inner.to == 1) {
    p.mode = Mode::run;
  } else {
    p.mode = Mode::strided;
    bytes_per_ns = static_cast<double>(p.size);
    const auto rows = std::find_if(dims.begin(), dims.end(),
                                   [](const Dim& d) { return d.from == 1 && d.count > 1; });
    if (p.inner.to == 1 && p.inner.from > 1 && rows != dims.end() && p.size <= 8) {
      p.mode = Mode::transpose;
      p.isa = &POPRT_SELECT_ISA(transpose);
      p.rows = *rows;
      dims.erase(rows);
      bytes_per_ns = 2 * static_cast<double>(p.size);
    }
  }
  // Planes that become pixels with few channels have short rows, so a block contains more of them.
  const bool pixels = p.mode == Mode::transpose && p.inner.count <= 4 && p.rows.to == p.inner.count;
  const int64_t block_elements = p.mode == Mode::transpose
                                     ? (pixels ? kTaskBytes / 4 / p.size : kTransposeRows)
                                     : kTaskBytes / p.size;
  const int64_t cut = p.mode == Mode::transpose ? p.rows.count : p.inner.count;
  p.block = std::min(block_elements, cut);
  p.blocks = (cut + p.block - 1) / p.block;
  p.rank = dims.size();
  p.iterations = p.blocks;
  for (size_t i = 0; i < dims.size(); i++) {
    p.outer[i] = {dims[i].count, dims[i].from * p.size, dims[i].to * p.size};
    p.iterations *= dims[i].count;
  }
  const int64_t bytes = checked_mul(count, c.size, "strided_copy");
  const int64_t iteration_bytes = std::max<int64_t>(1, bytes / p.iterations);
  p.per_task = std::max<int64_t>(1, kTaskBytes / iteration_bytes);
  plan.tasks = (p.iterations + p.per_task - 1) / p.per_task;
  plan.work = static_cast<double>(bytes) / bytes_per_ns + 4.0 * static_cast<double>(p.iterations);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {kName, prepare};

}  // namespace poprt::kernels::strided_copy_kernel
