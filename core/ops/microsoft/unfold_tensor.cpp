// Slices of `size` places along axis `dim`, `step` places apart. The slices are along `dim` of the
// output, and the places of each slice along an additional last axis.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_unfold_tensor_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  const Shape x = e.shape(0);
  const auto rank = static_cast<int64_t>(x.size());
  e.check(rank > 0, "input must not be a scalar");
  const int64_t axis = normalize_axis(n.int_attr("dim", -1), rank);
  const int64_t size = n.int_attr("size", 0), step = n.int_attr("step", 1);
  const int64_t places = x[static_cast<size_t>(axis)];
  e.check(size > 0 && size <= places && step > 0,
          "size must be positive and at most the dimension, and step positive");
  const int64_t count = (places - size) / step + 1;
  std::vector<int64_t> from;
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < size; k++) from.push_back(i * step + k);
  ir::Value* index = e.reshape(e.ints(std::move(from)), {count, size});
  ir::Value* y = e.add("Gather", {e.in(0), index}, {{"axis", axis}});
  std::vector<int64_t> order;
  for (int64_t d = 0; d <= rank; d++)
    if (d != axis + 1) order.push_back(d);
  order.push_back(axis + 1);
  e.out(0, axis + 1 == rank ? y : e.transpose(y, order));
}

}  // namespace
}  // namespace poprt::ops::microsoft_unfold_tensor_op

POPRT_EXPANSION_WITH_FACTS(microsoft_unfold_tensor_op, "com.microsoft", "UnfoldTensor", expand,
                           .moves = true, .trial = {"T[4,4]", "size = 2"})
