// gather_panels: operands [panels, indices (s32 or s64, any shape), to [count of indices, depth]].
// `panels` contains a matrix [depth, columns] as a product packs it: panels of `width` columns,
// each [depth / pair][width][pair], where depth is padded to a multiple of `group`. Row i of `to`
// is column indices[i] of the matrix. A negative index counts from the end. An index outside
// [-columns, columns), which is an error in ONNX, selects zero bytes and, if `checked`, is a
// failure of the run. Elements have the type of `to`; `panels` may be bytes.
//
// Integers of 2, 4 or 8 bits (isa/narrow.h) are gathered as bytes: `depth` counts bytes of a
// column, which are in groups of four (pair = group = 4). `bits` is then their size, and rows of
// `to` are packed, low bits first. `is_signed` integers have half of their range added in the
// panels.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct GatherPanels {
  static constexpr std::string_view kKernel = "gather_panels";

  int64_t columns = 0;
  int64_t depth = 0;
  int64_t width = 1;  // columns of a panel
  int64_t pair = 1;   // elements of a column that are next to each other
  int64_t group = 1;
  bool checked = false;
  int64_t bits = 0;  // 0: not integers
  bool is_signed = false;

  void fields(Fields& f) {
    f.size("columns", columns);
    f.size("depth", depth);
    f.extent("width", width);
    f.extent("pair", pair);
    f.extent("group", group);
    f.flag("checked", checked);
    f.integer("bits", bits, 0, 8);
    f.flag("is_signed", is_signed);
    f.require(group % pair == 0, "group must be a multiple of pair");
    const bool is_word = pair == 4 && group == 4 && depth % 4 == 0;
    f.require(bits == 0 || ((bits == 2 || bits == 4 || bits == 8) && is_word),
              "integers have 2, 4 or 8 bits, in groups of four bytes");
  }
};

}  // namespace poprt::kernels::calls
