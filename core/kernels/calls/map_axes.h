// map_axes: operands [from, value?, to]. to[o0, o1, ...] = from[map0[o0], map1[o1], ...], or the
// first element of value (without value, zero bytes) if an index from one of the maps is -1. It is
// used for Pad in every mode and for nearest-neighbour resizing.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct MappedAxis {
  int64_t in = 0, out = 0;   // elements
  bool mapped = false;       // otherwise in == out and the axis is unchanged
  std::vector<int64_t> map;  // an index of `in`, or -1, for each index of `out`
};

struct MapAxes {
  static constexpr std::string_view kKernel = "map_axes";

  int64_t size = 1;              // of an element, in bytes: a power of two
  std::vector<MappedAxis> axes;  // at most kMostAxes
  static constexpr int64_t kMostAxes = 16;

  void fields(Fields& f) {
    f.size("size", size, 1, 16);
    f.require((size & (size - 1)) == 0, "the size of an element is not a power of two");
    f.length("rank", axes, 0, kMostAxes);
    for (MappedAxis& a : axes) {
      f.size("in", a.in);
      f.size("out", a.out);
      f.flag("mapped", a.mapped);
      f.require(a.mapped || a.in == a.out, "an unmapped axis changes its size");
      f.items("out", a.map, a.mapped ? a.out : 0);
      for (int64_t& i : a.map) f.integer("map", i, -1, a.in - 1);
    }
  }
};

}  // namespace poprt::kernels::calls
