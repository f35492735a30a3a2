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
  // Collapsed dimensions: adjacent dimensions that all operands traverse in the same way are
  // merged. There is at least one dimension, and none has size 1 unless it is the only one.
  std::vector<int64_t> dims;
  // strides[i][d], in elements of operand i; 0 if it broadcasts along d. The last one is 0 or 1.
  std::vector<std::vector<int64_t>> strides;
  bool is_linear(size_t i) const;  // has the same strides as the output
  bool is_scalar(size_t i) const;  // one element for all
};

// Throws, naming the kernel, invalid_argument if a shape does not broadcast to `out`, and
// unimplemented if more than kMaxBroadcastRank dimensions remain. Throws out_of_range if `out` has
// too many elements.
Broadcast make_broadcast(std::string_view kernel, std::span<const int64_t> out,
                         std::span<const std::span<const int64_t>> operands);

// Calls visit(offsets, first output element, rows, number of elements of a row) for runs that
// together cover output elements [begin, end). A run is a part of a row of the innermost dimension,
// or several complete rows of the two innermost ones. `offsets` is an array with the offset of each
// of the `operands` operands from its start.
template <size_t kMaxOperands, class F>
void for_each_rows(const Broadcast& b, size_t operands, int64_t begin, int64_t end, F&& visit) {
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
    int64_t rows = 1, n = inner - at[rank - 1];
    if (n > end - e) n = end - e;
    if (rank > 1 && n == inner) {
      rows = (end - e) / inner;
      if (rows > b.dims[rank - 2] - at[rank - 2]) rows = b.dims[rank - 2] - at[rank - 2];
    }
    visit(offset.data(), e, rows, n);
    e += rows * n;
    if (rows > 1) {
      at[rank - 2] += rows - 1;
      for (size_t i = 0; i < operands; i++) offset[i] += (rows - 1) * b.strides[i][rank - 2];
    }
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

// The same for runs within the innermost dimension: visit(offsets, first output element, number of
// elements).
template <size_t kMaxOperands, class F>
void for_each_run(const Broadcast& b, size_t operands, int64_t begin, int64_t end, F&& visit) {
  for_each_rows<kMaxOperands>(b, operands, begin, end,
                              [&](const int64_t* offsets, int64_t e, int64_t rows, int64_t n) {
                                std::array<int64_t, kMaxOperands> at{};
                                for (size_t i = 0; i < operands; i++) at[i] = offsets[i];
                                for (int64_t r = 0; r < rows; r++) {
                                  if (r > 0)
                                    for (size_t i = 0; i < operands; i++)
                                      at[i] += b.strides[i][b.dims.size() - 2];
                                  visit(at.data(), e + r * n, n);
                                }
                              });
}

}  // namespace poprt::kernels
