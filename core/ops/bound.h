// Bounds of sizes that depend on data.
//
// The device has static shapes. Where a size depends on data, the compiler takes the largest size
// as the shape, and follows which part of each value is real: the first `size` places along one
// axis (ops/item.h). OpDef::bound says for one operator how much of its results is real when of its
// inputs only a part is, and changes the inputs so that the padding does not count.
//
// Worked example: ReduceSum over axis 0 of x [8, 4], of which n rows are real. The hook replaces x
// by Where(row < n, x, 0) and returns no size: all of the result is real. Over axis 1 it changes
// nothing and returns {n, 0}: of the result, [8], n places are real.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/common/folding_builder.h"
#include "ops/item.h"

namespace poprt::ops {

// Which part of a node's results is real.
struct BoundResult {
  ir::Value* size = nullptr;  // of the results along `axis`; null: all is real
  size_t axis = 0;
  std::optional<size_t> twin = {};                   // Item::twin
  std::function<ir::Value*(ir::Value*)> after = {};  // turns result 0 into the final one
  ir::Value* whole = nullptr;                        // result 0: no node is needed
  Items results =
      {};  // all results with their sizes: no node is needed, and the rest does not count
};

// One element of a shape: `actual`, an s64 scalar, is null when it is always `most`.
struct Extent {
  int64_t least, most;
  ir::Value* actual;
};

// The least and the most that each element of a result can be, both constants.
struct SizeRange {
  ir::Value *least, *most;
};

// Sizes that meet in one axis of a result: they are equal, or one of them is 1 and is repeated.
struct Meeting {
  ir::Value* size = nullptr;  // null: all is real
  int64_t bound = 0;
};

// The least that each element of a constant, or of a tensor of sizes, can be.
inline ir::Value* least_of(const Item& item) { return item.actual ? item.least : item.value; }
// Whether an element of a constant is less than a number.
bool any_below(const ir::Value* v, double number);

// Whether two sizes are one value or equal constants.
bool same_size(const ir::Value* a, const ir::Value* b);

// Whether a size is computed from `of` by sums and constant factors alone.
bool is_linear_in(const ir::Value* size, const ir::Value* of);

// One node of which some input is partly real, or whose results have sizes that depend on data.
// Inputs that are tensors have static types. New nodes go through `build`.
class BoundContext {
 public:
  BoundContext(const ir::Node& n, Items inputs, FoldingBuilder& b)
      : node(n), in(std::move(inputs)), build(b) {}

  const ir::Node& node;
  Items in;  // the hook may change what the node reads
  FoldingBuilder& build;

  // -- What the node reads ----------------------------------------------------------------------
  bool has(size_t i) const { return i < in.size() && in[i].kind == Item::Kind::tensor; }
  const Shape& shape(size_t i = 0) const { return in[i].value->shape(); }
  // The attribute `axis`, normalised for input 0.
  size_t axis_attr(int64_t fallback) const;
  // The integers of a constant input. Throws unimplemented when it is not constant.
  std::vector<int64_t> constant_ints(size_t i) const;
  // The axes in that input, or in attribute `axes`, normalised.
  std::vector<int64_t> axes_of(size_t input, size_t rank) const;
  // The elements of an input that decides a shape. Throws when there is no bound.
  std::vector<Extent> extents(size_t i);
  // Element k of a tensor of sizes, as an s64 scalar: the size itself where the tensor is only put
  // together of sizes, so that equal sizes are one value. `most` is a bound of the element, where
  // it is known: then conversions that keep such numbers do not hide the size.
  ir::Value* element_of(ir::Value* v, int64_t k, std::optional<int64_t> most = std::nullopt);

  // -- Refusals ---------------------------------------------------------------------------------
  template <class... Args>
  [[noreturn]] void fail_at(ErrorCode code, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(code, "{} (opset {}): {}", node.describe(), node.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_size(const Item& item) const;
  [[noreturn]] void refuse_shape(const Item& item) const;
  // Throws when an input from `from` on has a size; else all of the result is real.
  BoundResult refuse_sizes(size_t from = 0) const;

  // -- Padding ----------------------------------------------------------------------------------
  // The tensor with `filling` in place of its padding.
  ir::Value* filled(const Item& item, const Tensor& filling);
  ir::Value* zero_filled(const Item& item);
  // The tensor with `bound` places along its sized axis.
  ir::Value* with_bound(const Item& x, int64_t bound);
  // Its places `index` along its sized axis.
  ir::Value* gathered(const Item& x, ir::Value* index) {
    return build.slice_at(x.value, index, static_cast<int64_t>(x.axis));
  }
  // Its places along the sized axis, with the first one in place of the padding.
  ir::Value* from_front(const Item& at, ir::Value* size);
  // Indices `at` along `axis` of x, where negative ones count from the end of its real part.
  ir::Value* real_places(const Item& x, size_t axis, ir::Value* at);
  // Rows of the elements after x's sized axis, the real ones first.
  Item compacted(const Item& x);

  // -- Sizes that meet --------------------------------------------------------------------------
  Meeting meet(std::span<const Meeting> all);
  // x as it is repeated for `meeting`, along its sized axis.
  ir::Value* met(const Item& x, const Meeting& meeting);
};

// The rule of operators that state none: elementwise operators, and those that keep the samples of
// input 0 apart. Refuses others.
BoundResult bound_unstated(BoundContext& ctx);

// Elementwise operators with broadcasting.
BoundResult bound_elementwise(BoundContext& ctx);
// Input 0 to the shape `to`, in which -1 is the extent that follows from the others.
BoundResult bound_reshape(BoundContext& ctx, const Item& x, std::vector<Extent> to);
// Over `axes` of input 0, whose padding becomes `filling`.
BoundResult bound_reduced(BoundContext& ctx, std::vector<int64_t> axes, const Tensor& filling);
// Refuses a size of another input than 0; the size of input 0 stays where it is.
BoundResult bound_in_place(BoundContext& ctx);

}  // namespace poprt::ops
