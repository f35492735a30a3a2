// An index tensor that addresses a data tensor along one axis: code shared by gather_elements and
// scatter_elements.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/common/indexed_axis.h"
#include "kernels/common/elements.h"
#include "kernels/common/outside.h"

namespace poprt::kernels {

struct IndexedAxis {
  int64_t size = 0;              // size of the axis in the data
  int64_t stride = 1;            // stride of the axis in the data, in elements
  int64_t outer = 1, lines = 0;  // products of index_dims: those before the axis; all but the last
  int64_t line = 0;              // the last dimension
  bool along = true;             // the axis is the last dimension
  bool wide = true;              // s64 indices
  size_t axis = 0;
  std::vector<int64_t> index_dims, data_strides;

  // Reports the first index of lines [from, to) that is outside the axis.
  [[gnu::cold, gnu::noinline]] void report(const Outside& outside, const void* indices,
                                           int64_t from, int64_t to) const noexcept {
    for (int64_t place = from * line; outside.wanted && place < to * line; place++) {
      const int64_t index = load_index(indices, wide, place);
      if (index < -size || index >= size) return outside.found(place, index, size);
    }
  }

  // Calls use(place in the index tensor, element of the data or -1) for lines [from, to).
  template <class Use>
  void each(const void* indices, int64_t from, int64_t to, Use use) const noexcept {
    if (wide)
      each_of<int64_t>(indices, from, to, use);
    else
      each_of<int32_t>(indices, from, to, use);
  }

 private:
  static constexpr size_t kMaxRank = 64;

  // The offset in the data of the start of an index line, without the index along the axis. next()
  // moves to the following line without divisions.
  class Origin {
   public:
    Origin(const IndexedAxis& of, int64_t at) : of_(of) {
      for (size_t d = of.index_dims.size() - 1; d-- > 0; at /= of.index_dims[d]) {
        place_[d] = at % of.index_dims[d];
        offset_ += place_[d] * step(d);
      }
    }
    int64_t offset() const { return offset_; }
    void next() {
      for (size_t d = of_.index_dims.size() - 1; d-- > 0;) {
        if (++place_[d] < of_.index_dims[d]) {
          offset_ += step(d);
          return;
        }
        offset_ -= (place_[d] - 1) * step(d);
        place_[d] = 0;
      }
    }

   private:
    int64_t step(size_t d) const { return d == of_.axis ? 0 : of_.data_strides[d]; }

    const IndexedAxis& of_;
    int64_t offset_ = 0;
    std::array<int64_t, kMaxRank> place_;
  };

  template <class Index, class Use>
  void each_of(const void* indices, int64_t from, int64_t to, Use use) const noexcept {
    if (from >= to) return;
    Origin origin(*this, from);
    // Local copies stay in registers. The members would be reloaded for each element, because use()
    // writes through a pointer that might alias them.
    const int64_t most = size, count = line;
    for (int64_t l = from; l < to; l++, origin.next()) {
      const int64_t start = origin.offset(), first = l * count;
      const auto walk = [=](auto element) {
        for (int64_t j = 0; j < count; j++) {
          int64_t i = load_index(indices, sizeof(Index) == 8, first + j);
          i += i < 0 ? most : 0;
          use(first + j, i >= 0 && i < most ? element(i, j) : -1);
        }
      };
      if (along)
        walk([start](int64_t i, int64_t) { return start + i; });
      else
        walk([start, step = stride](int64_t i, int64_t j) { return start + i * step + j; });
    }
  }
};

// Checks the operands against `at`. Throws invalid_argument naming the kernel, or out_of_range if a
// size overflows.
inline IndexedAxis read_indexed_axis(const calls::IndexedAxis& at, const Operand& data,
                                     const Operand& indices, std::string_view kernel) {
  expect(is_index(indices.dtype), kernel, "indices must be s32 or s64");
  IndexedAxis a;
  a.axis = static_cast<size_t>(at.axis);
  const auto& dims = at.data_dims;
  a.index_dims = at.index_dims;
  a.data_strides = contiguous_strides(dims);
  a.size = dims[a.axis];
  a.stride = a.data_strides[a.axis];
  a.wide = indices.dtype == DType::s64;
  a.along = a.axis + 1 == dims.size();
  a.line = a.index_dims.back();
  const int64_t count = element_count(a.index_dims);
  a.lines = a.line ? count / a.line : 0;
  for (size_t d = 0; d < a.axis; d++) a.outer *= a.index_dims[d];
  expect(dtype_bytes(data.dtype, element_count(dims)) <= data.bytes &&
             dtype_bytes(indices.dtype, count) <= indices.bytes,
         kernel, "an operand is too short");
  return a;
}

}  // namespace poprt::kernels
