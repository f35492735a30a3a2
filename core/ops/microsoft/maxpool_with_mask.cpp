// Inputs: X [N,C,spatial..], M s32 [1,1,spatial..]. The maximum of each window; a place where M is
// 0 and those after it in the same row of the window do not count. With several spatial dimensions,
// the first place of X always counts.
#include <limits>

#include "ops/common/expansion.h"
#include "ops/common/window.h"

namespace poprt::ops::microsoft_maxpool_with_mask_op {
namespace {

constexpr int64_t kMostPlaces = 4096;  // of a window

void expand(Expansion& e) {
  const Shape x = e.shape(0), m = e.shape(1);
  e.check(x.size() >= 3 && x.size() <= 5 && m.size() == x.size(),
          "X and M must have one to three spatial dimensions");
  if (m[0] != 1 || m[1] != 1)
    e.fail_unsupported("a mask {} for {}, expected one image with one channel", shape_string(m),
                       shape_string(x));
  const std::vector<int64_t> spatial(x.begin() + 2, x.end());
  e.check(std::equal(spatial.begin(), spatial.end(), m.begin() + 2),
          "X and M must have the same spatial dimensions");
  if (e.node.int_attr("storage_order", 0)) e.fail_unsupported("storage_order");
  const Window w = window_of(e.node, spatial);
  const std::vector<int64_t> out = window_output(w, spatial);
  const size_t rank = spatial.size();
  int64_t places = 1;
  for (const int64_t k : w.kernel) places *= k;
  e.check(places <= kMostPlaces, "the window is too large");
  // The mask is 1 in the padding, so that the padding ends no row.
  ir::Value* keep = e.cast(e.in(1), DType::boolean);
  Tensor first = Tensor::zeros(DType::boolean, m);
  if (rank > 1 && element_count(m) > 0) first.mutable_values<bool>()[0] = true;
  keep = e.cast(e.add("Or", {keep, e.constant(first)}), DType::s32);
  std::vector<int64_t> pads(2 * x.size(), 0);
  for (size_t d = 0; d < rank; d++) {
    e.check(w.pads_begin[d] >= 0 && w.pads_end[d] >= 0, "pads must not be negative");
    pads[d + 2] = w.pads_begin[d];
    // Windows may end after the padding.
    const int64_t end = (out[d] - 1) * w.strides[d] + w.dilations[d] * (w.kernel[d] - 1) + 1;
    pads[x.size() + d + 2] = std::max<int64_t>(end - spatial[d] - w.pads_begin[d], 0);
  }
  const double least = std::numeric_limits<float>::lowest();
  ir::Value* values = e.newest("Pad", {e.in(0), e.ints(pads), e.number(e.dtype(0), least)});
  keep = e.newest("Pad", {keep, e.ints(pads), e.number(DType::s32, 1)});
  const auto at = [&](ir::Value* v, const std::vector<int64_t>& place) {
    std::vector<int64_t> begin, end, axes, steps;
    for (size_t d = 0; d < rank; d++) {
      begin.push_back(place[d] * w.dilations[d]);
      end.push_back(begin.back() + (out[d] - 1) * w.strides[d] + 1);
      axes.push_back(static_cast<int64_t>(d) + 2);
      steps.push_back(w.strides[d]);
    }
    return e.newest("Slice", {v, e.ints(begin), e.ints(end), e.ints(axes), e.ints(steps)});
  };
  ir::Value *best = e.number(e.dtype(0), least), *row = nullptr;
  std::vector<int64_t> place(rank, 0);
  for (int64_t i = 0; i < places; i++) {
    ir::Value* kept = at(keep, place);
    row = place.back() == 0 ? kept : e.add("Mul", {row, kept});
    ir::Value* v = e.add(
        "Where", {e.cast(row, DType::boolean), at(values, place), e.number(e.dtype(0), least)});
    best = e.add("Max", {best, v});
    for (size_t d = rank; d-- > 0;) {
      if (++place[d] < w.kernel[d]) break;
      place[d] = 0;
    }
  }
  e.out(0, best);
}

}  // namespace
}  // namespace poprt::ops::microsoft_maxpool_with_mask_op

POPRT_EXPANSION_WITH_FACTS(microsoft_maxpool_with_mask_op, "com.microsoft", "MaxpoolWithMask",
                           expand, .trial = {"T[1,2,4,4]; s32[1,1,4,4]", "kernel_shape = [2, 2]"})
