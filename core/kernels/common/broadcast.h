// Broadcasting of dense operands to one output shape, with as few dimensions as possible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace poprt::kernels {

inline constexpr int kMaxBroadcastRank = 12;

struct Broadcast {
  int64_t count = 0;  // elements of the output
  // Collapsed: adjacent dimensions that every operand walks alike are one; none has size 1 unless
  // it is the only one. There is at least one.
  std::vector<int64_t> dims;
  // strides[i][d], in elements of operand i; 0 where it broadcasts. The last is 0 or 1.
  std::vector<std::vector<int64_t>> strides;
  bool is_linear(size_t i) const;  // walks exactly as the output does
  bool is_scalar(size_t i) const;  // one element for all
};

// Throws invalid_argument naming the kernel when a shape does not broadcast to `out`.
Broadcast make_broadcast(std::string_view kernel, std::span<const int64_t> out,
                         std::span<const std::span<const int64_t>> operands);

// Calls visit(offset of operand i from its start, first output element, elements) for maximal runs
// inside the innermost dimension that cover output elements [begin, end); offsets as an array of
// `operands` values.
template <size_t kMaxOperands, class F>
void for_each_run(const Broadcast& b, size_t operands, int64_t begin, int64_t end, F&& visit) {
  const size_t rank = b.dims.size();
  std::array<int64_t, kMaxBroadcastRank> at{};
  std::array<int64_t, kMaxOperands> offset{};
  int64_t rest = begin;
  for (size_t d = rank; d-- > 0;) {
    at[d] = rest % b.dims[d];
    rest /= b.dims[d];
    for (size_t i = 0; i < operands; i++) offset[i] += at[d] * b.strides[i][d];
  }
  const int64_t inner = b.dims[rank - 1];
  for (int64_t e = begin; e < end;) {
    int64_t n = inner - at[rank - 1];
    if (n > end - e) n = end - e;
    visit(offset.data(), e, n);
    e += n;
    at[rank - 1] += n;
    for (size_t i = 0; i < operands; i++) offset[i] += n * b.strides[i][rank - 1];
    for (size_t d = rank; d-- > 0 && at[d] == b.dims[d];) {
      at[d] = 0;
      for (size_t i = 0; i < operands; i++) offset[i] -= b.dims[d] * b.strides[i][d];
      if (d == 0) break;
      at[d - 1]++;
      for (size_t i = 0; i < operands; i++) offset[i] += b.strides[i][d - 1];
    }
  }
}

}  // namespace poprt::kernels
