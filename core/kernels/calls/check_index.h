// check_index: operands [from (s32 or s64), size (s64 [1]), count (s64 [1])?, to (s64)]. Copies
// numbers that must fit a size that is known only in a run. A number that does not fit is a failure
// of the run if `checked`.
//
// An index is valid in [-size, size). A negative one is increased by the size, and an invalid one
// is replaced by `invalid`. The other numbers are valid in [0, size], and invalid ones are clamped.
//
// If the operand `count` is present, `from` has the shape [..., places, inner], of which only the
// first `count` places are real. Padding is replaced by 0 and never reported. If the numbers are
// tuples of `depth`, only number `component` of each is checked; the others are copied.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The kind of the numbers, for the message. The values are part of the file format.
enum class Fitting : int64_t {
  index = 0,
  k = 1,          // the number of elements that TopK returns
  rows = 2,       // the number of rows of the indices of GatherElements
  start = 3,      // the first place of a window
  seqlens_k = 4,  // of GroupQueryAttention
};

struct CheckIndex {
  static constexpr std::string_view kKernel = "check_index";

  Fitting what = Fitting::index;
  int64_t invalid = 0;
  int64_t places = 1;
  int64_t inner = 1;
  int64_t depth = 1;
  int64_t component = 0;
  bool checked = false;

  void fields(Fields& f) {
    f.choice("what", what, Fitting::seqlens_k);
    f.size("invalid", invalid);
    f.size("places", places, 1);
    f.size("inner", inner, 1);
    f.size("depth", depth, 1);
    f.size("component", component);
    f.flag("checked", checked);
    f.require(component < depth, "component is a number of the tuple");
  }
};

}  // namespace poprt::kernels::calls
