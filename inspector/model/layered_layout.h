// Places boxes in layers so that edges point down. It handles one level of a graph, in which groups
// are boxes. An edge to a box that is above, such as into a group that is left and entered again,
// leaves its box below, runs up at the right of all boxes, and enters the other box from above.
//
//   1. ranks      longest path over the edges that point forward in the given order. Edges that
//                 point back are reversed, so that there is no cycle. Then boxes with few inputs
//                 move down to their readers.
//   2. dummies    an edge over several layers becomes a chain; edges of one value share it
//   3. order      median sweeps; the order with the fewest crossings is kept
//   4. x          each layer in turn moves towards its neighbours' means while boxes stay apart
//                 (least squares over a fixed order: pool adjacent violators)
//
// Time is near-linear in boxes and dummies, whose number is bounded. The same input gives the same
// layout. Sizes affect only coordinates and not ranks or order, so a growing box moves other boxes
// without reordering them.
#pragma once

#include <atomic>
#include <vector>

namespace poprt::inspector {

struct Point {
  double x = 0, y = 0;
};

struct LayoutBox {
  double width = 0, height = 0;
  enum class Pin { none, first, last } pin = Pin::none;  // forces the first or last layer
  bool input = false;  // a source; boxes pinned to the first layer are sources, too
};

struct LayoutEdge {
  int from = 0, to = 0;
  int value = 0;                          // edges of one value from one box share a chain
  double from_offset = 0, to_offset = 0;  // of the ends, relative to the boxes' centres
};

struct LevelLayout {
  std::vector<Point> centres;  // centres of the boxes
  // Routes of the edges, from the bottom of `from` to the top of `to`.
  std::vector<std::vector<Point>> routes;
  double width = 0, height = 0;
};

struct LayoutGaps {
  double x = 24, y = 44, edge = 12;
};

// Edges may refer to boxes in any order. Edges from a box to itself have empty routes. Throws
// Error(cancelled) soon after `cancel` (may be null) becomes true.
LevelLayout layered_layout(const std::vector<LayoutBox>& boxes,
                           const std::vector<LayoutEdge>& edges, const LayoutGaps& gaps = {},
                           const std::atomic<bool>* cancel = nullptr);

}  // namespace poprt::inspector
