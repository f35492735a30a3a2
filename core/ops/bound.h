// Bounds of sizes that depend on data.
//
// The device has static shapes. If a size depends on data, the compiler uses the largest size as
// the shape and tracks which part of each value is real: the first `size` places along one axis
// (ops/item.h). The hook OpDef::bound of an operator computes which part of its results is real
// from the real parts of its inputs, and changes the inputs so that padding does not affect the
// real part.
//
// Worked example: ReduceSum over axis 0 of x [8, 4], of which n rows are real. The hook replaces x
// by Where(row < n, x, 0) and returns no size, because the whole result is real. Over axis 1 it
// changes nothing and returns {n, 0}: n places of the result, which has shape [8], are real.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/calls/check_index.h"
#include "ops/common/folding_builder.h"
#include "ops/item.h"

namespace poprt::ops {

// The part of the results of a node that is real.
struct BoundResult {
  ir::Value* size = nullptr;  // of the results along `axis`; null: the whole result is real
  size_t axis = 0;
  std::optional<size_t> twin = {};                   // Item::twin
  std::function<ir::Value*(ir::Value*)> after = {};  // converts result 0 to the final result
  ir::Value* whole = nullptr;                        // result 0, if no node is needed
  // All results with their sizes, if no node is needed; none for a result that is not read. The
  // other fields are then ignored.
  Items results = {};
};

// One element of a shape. `actual` is an s64 scalar, or null if the element is always `most`.
struct Extent {
  int64_t least = 0, most = 0;
  ir::Value* actual = nullptr;
};

// The least and the greatest value of each element of a result, both constants.
struct SizeRange {
  ir::Value *least, *most;
};

// A size along one axis of a result to which several inputs broadcast: sizes are equal, or 1.
struct AxisSize {
  ir::Value* size = nullptr;  // null: all places are real
  int64_t bound = 0;
};

// The least value of each element of a constant or of a tensor of sizes.
inline ir::Value* least_of(const Item& item) { return item.actual ? item.least : item.value; }
// Whether an element of a constant is less than a number.
bool any_below(const ir::Value* v, double number);

// The most elements of a list of sizes.
inline constexpr int64_t kMostSizes = 64;
// Whether the value may be a list of sizes: at most kMostSizes integers.
bool holds_sizes(const ir::Value* v);

// Whether two sizes are the same value or equal constants.
bool same_size(const ir::Value* a, const ir::Value* b);

// Whether a size is computed from `of` by sums and constant factors only.
bool is_linear_in(const ir::Value* size, const ir::Value* of);

// Whether Where(condition, a, b) computes the minimum or the maximum of a and b, because the
// condition compares them. Opsets below 12 have no other form of Min and Max for integers.
enum class Extremum : uint8_t { least, most };
std::optional<Extremum> extremum_of(const ir::Node& where);

// An upper bound of an integer of one element: a constant, or the limit that Min or Where with
// constants sets. Nothing if none is known.
std::optional<int64_t> upper_limit(const ir::Value* v);

// The remedy for a shape of the node's results that depends on data, for a message about one of its
// inputs: "make it constant", and the words of option max_size that bound the shape, if there are
// such words.
std::string shape_remedy(const ir::Node& n);

// An input of the graph with a number that decides a size of the node's results and has no limit,
// so that no compilation succeeds without option max_size. Null if there is none. Types must be
// inferred.
const ir::Value* shape_deciding_input(const ir::Node& n);

// The difference between two values: `by` is subtracted if `down`, otherwise added.
struct Step {
  ir::Value* by;
  bool down;
};
// The step from `before` to `after`, if `after` is their sum or difference with another value.
std::optional<Step> step_between(const ir::Value* before, const ir::Value* after);

// One element of a tensor.
struct Place {
  ir::Value* value;
  int64_t at;
};

// A node with an input of which only a part is real, or with results whose sizes depend on data.
// Inputs that are tensors have static types. New nodes are created through `build`.
class BoundContext {
 public:
  BoundContext(const ir::Node& n, Items inputs, FoldingBuilder& b)
      : node(n), in(std::move(inputs)), build(b) {}

  const ir::Node& node;
  Items in;  // the hook may change the inputs of the node
  FoldingBuilder& build;
  // The largest size of output 0 from option max_size, if the user gives one.
  std::optional<int64_t> max_size;
  // The caller only needs to know whether the rule throws, so messages contain no remedy.
  bool is_trial = false;
  // Runs a node of an expansion by its own rule. Null in a trial.
  std::function<Items(const ir::Node&, Items)> run_part = {};

  // -- Inputs -----------------------------------------------------------------------------------
  bool has(size_t i) const { return i < in.size() && in[i].kind == Item::Kind::tensor; }
  const Shape& shape(size_t i = 0) const { return in[i].value->shape(); }
  // The attribute `axis`, normalised for input 0.
  size_t axis_attr(int64_t fallback) const;
  // The integers of a constant input. Throws unimplemented if it is not constant.
  std::vector<int64_t> constant_ints(size_t i) const;
  // The normalised axes in that input, or in attribute `axes`.
  std::vector<int64_t> axes_of(size_t input, size_t rank) const;
  // The elements of an input that decides a shape. Throws if an element has no bound.
  std::vector<Extent> extents(size_t i);
  // Element k of a tensor of sizes, as an s64 scalar. If the tensor only assembles sizes, it is the
  // size itself, so that equal sizes are one value. `most` is a bound of the element, if known;
  // with it, the function looks through conversions that preserve numbers up to this bound.
  ir::Value* element_of(ir::Value* v, int64_t k, std::optional<int64_t> most = std::nullopt);

  // The element from which element_of() reads. It adds no node.
  static Place origin_of(ir::Value* v, int64_t k, std::optional<int64_t> most = std::nullopt);

  // -- Refusals ---------------------------------------------------------------------------------
  template <class... Args>
  [[noreturn]] void fail_at(ErrorCode code, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(code, "{} (opset {}): {}", node.describe(), node.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_size(const Item& item) const;
  // An input decides a shape in a way that the rule does not support.
  [[noreturn]] void refuse_shape(size_t i) const;
  // An input decides a shape and has no bound.
  [[noreturn]] void refuse_unbounded(size_t i);
  // Throws if an input from `from` on has a size; otherwise the whole result is real.
  BoundResult refuse_sizes(size_t from = 0) const;

  // -- Padding ----------------------------------------------------------------------------------
  // The tensor with its padding along item.axis replaced by the scalar `filling`. Padding along
  // item.twin is not replaced.
  ir::Value* filled(const Item& item, ir::Value* filling);
  ir::Value* filled(const Item& item, const Tensor& filling) {
    return filled(item, build.constant(filling));
  }
  ir::Value* zero_filled(const Item& item);
  // The tensor with `bound` places along its sized axis: its end is cut off, or zeros are appended.
  ir::Value* with_bound(const Item& x, int64_t bound);
  // Gathers places `index` along the sized axis.
  ir::Value* gathered(const Item& x, ir::Value* index) {
    return build.slice_at(x.value, index, static_cast<int64_t>(x.axis));
  }
  // The places along the sized axis, with the padding replaced by the first place.
  ir::Value* from_front(const Item& at, ir::Value* size);
  // The indices as s64, none of them negative. A run fails if one of them is outside [-size, size),
  // and the index becomes `invalid`. Padding becomes 0. If the last axis of the indices is a tuple,
  // only number `component` of it is checked.
  ir::Value* checked_index(const Item& at, ir::Value* size, int64_t invalid,
                           std::optional<size_t> component = std::nullopt);
  // The numbers as s64. A run fails if one of them is outside [0, most], and it is clamped.
  ir::Value* checked_number(kernels::calls::Fitting what, ir::Value* number, ir::Value* most);
  // Makes an axis of input i that has no places one place long, so that padding of indices, which
  // is 0, has a place.
  void ensure_place(size_t i, size_t axis);
  // Reshapes x to [rows, elements], where a row is one place of the sized axis, and moves the real
  // rows to the front.
  Item compacted(const Item& x);

  // -- Sizes that broadcast ---------------------------------------------------------------------
  // The size to which all sizes broadcast.
  AxisSize broadcast_size(std::span<const AxisSize> all);
  // x repeated along its sized axis to the size `common`, if its own size is 1.
  ir::Value* broadcast_to(const Item& x, const AxisSize& common);

 private:
  ir::Value* checked(kernels::calls::Fitting what, const Item& at, ir::Value* size, int64_t invalid,
                     std::optional<size_t> component);
  std::string shape_remedy();
};

// The rule for operators that state none: elementwise operators, those whose axis map carries the
// sized axis of input 0 to an axis of their results, and those with an expansion that is the same
// for all sizes, whose nodes have rules. Refuses others.
BoundResult bound_unstated(BoundContext& ctx);

// The rule for elementwise operators with broadcasting.
BoundResult bound_elementwise(BoundContext& ctx);
// Reshapes x to `to`, in which -1 is the extent that follows from the others.
BoundResult bound_reshape(BoundContext& ctx, const Item& x, std::vector<Extent> to);
// Reduces `axes` of input 0, whose padding is replaced by `filling`.
BoundResult bound_reduced(BoundContext& ctx, std::vector<int64_t> axes, const Tensor& filling);
// The result has the size of input 0. Refuses further inputs that have a size.
BoundResult bound_in_place(BoundContext& ctx);

}  // namespace poprt::ops
