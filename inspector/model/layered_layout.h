// Places boxes in layers so that edges point down: one level of a graph, whose groups are boxes.
//
//   1. ranks      longest path over edges that point forward in the given order (those that point
//                 back are turned, so that there is no cycle), then boxes with few inputs move down
//                 to what reads them
//   2. dummies    an edge over several layers becomes a chain; edges of one value share it
//   3. order      median sweeps, the order with the fewest crossings is kept
//   4. x          each layer in turn moves towards its neighbours' means, boxes kept apart
//                 (least squares over a fixed order: pool adjacent violators)
//
// Time is near-linear in boxes and dummies, whose number is bounded. The same input gives the same
// layout; sizes decide coordinates only, never ranks and order, so a box that grows moves others
// aside without mixing them up.
#pragma once

#include <atomic>
#include <vector>

namespace poprt::inspector {

struct Point {
  double x = 0, y = 0;
};

struct LayoutBox {
  double width = 0, height = 0;
  enum class Pin { none, first, last } pin = Pin::none;  // in the first or last layer
  bool input = false;  // values come in here; those that are pinned to the first layer are, too
};

struct LayoutEdge {
  int from = 0, to = 0;
  int value = 0;                          // edges of one value from one box share their way
  double from_offset = 0, to_offset = 0;  // of the ends from the boxes' centres
};

struct LevelLayout {
  std::vector<Point> centres;  // of the boxes
  std::vector<std::vector<Point>>
      routes;  // of the edges, from the bottom of `from` to the top of `to`
  double width = 0, height = 0;
};

struct LayoutGaps {
  double x = 24, y = 44, edge = 12;
};

// Edges name boxes in any order; edges from a box to itself have empty routes. Throws
// Error(cancelled) soon after `cancel` (may be null) becomes true.
LevelLayout layered_layout(const std::vector<LayoutBox>& boxes,
                           const std::vector<LayoutEdge>& edges, const LayoutGaps& gaps = {},
                           const std::atomic<bool>* cancel = nullptr);

}  // namespace poprt::inspector
