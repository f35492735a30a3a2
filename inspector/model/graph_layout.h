// Positions of everything that is drawn of a graph: the nested layouts of its open groups.
//
// The layout of each group has its members as boxes. Values enter and leave through ports in its
// first and last layer. Opening or closing a group therefore changes only the levels that contain
// it, and their order stays the same. Levels are cached.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/graph_model.h"
#include "model/layered_layout.h"

namespace poprt::inspector {

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  bool contains(Point p) const { return p.x >= x && p.x <= right() && p.y >= y && p.y <= bottom(); }
  bool meets(const Rect& o) const {
    return x <= o.right() && o.x <= right() && y <= o.bottom() && o.y <= bottom();
  }
};

struct SceneBox {
  int node = kNone;   // kNone if the box is a group
  int group = kNone;  // closed unless `open`
  bool open = false;
  Rect area;
};

// The part of an edge inside one level. A whole edge is a chain of routes.
struct SceneRoute {
  int value = kNone;
  int from = kNone, to = kNone;  // nodes; the first of several readers in a closed box
  std::vector<Point> points;
  Rect area;
  bool arrow = false;   // whether it ends at a box and not at a port
  bool enters = false;  // whether it starts at an entry port, on the border of a group
};

// Whether edges point down or to the right.
enum class Direction { down, right };

struct Scene {
  std::vector<SceneBox> boxes;  // open groups precede their contents
  std::vector<SceneRoute> routes;
  Direction direction = Direction::down;
  double width = 0, height = 0;
  std::unordered_map<int, size_t> box_of_node;  // for visible nodes

  // Returns the box of a node, or of the closed group that contains it.
  const SceneBox* find(const GraphModel& graph, int node) const;
  std::unordered_map<int, size_t> box_of_group;
};

struct BoxSize {
  double width = 0, height = 0;
};

// Sizes for a font of 14 pixels. Views may measure more precisely.
BoxSize node_size(const GraphNode& node);
BoxSize group_size(const GraphGroup& group);

// Not thread-safe.
class GraphLayout {
 public:
  explicit GraphLayout(std::shared_ptr<const GraphModel> graph,
                       Direction direction = Direction::down)
      : graph_(std::move(graph)), direction_(direction) {}

  // `open`: the open groups, which always include kRoot. Throws Error(cancelled).
  std::shared_ptr<const Scene> scene(const std::set<int>& open,
                                     const std::atomic<bool>* cancel = nullptr);
  // all_groups() returns all groups. groups_within() returns the outer levels of groups for which
  // at most `most` boxes are visible, without the groups of repeated layers and, in graphs of more
  // than 120 nodes, without the bodies of If and Loop.
  std::set<int> all_groups() const;
  std::set<int> groups_within(size_t most) const;

 private:
  struct Level;
  struct Ports;
  struct Crossing {
    int value, from, to;  // value, and nodes at its ends
  };
  std::shared_ptr<const Level> level(int group, const std::set<int>& open,
                                     const std::atomic<bool>* cancel);
  void add_members(int group, const std::set<int>& open, const std::atomic<bool>* cancel,
                   Level& made);
  std::vector<std::pair<int, int>> ends_of(int group, const Level& level) const;
  std::vector<LayoutEdge> edges_of(const std::vector<Crossing>& crossings,
                                   const std::vector<std::pair<int, int>>& ends, const Ports& ports,
                                   Level& made) const;
  void place(int group, const Ports& ports, const std::vector<LayoutEdge>& edges,
             Level& made) const;
  void compose(const Level& level, Point at, Scene& scene) const;
  std::string key_of(int group, const std::set<int>& open) const;

  bool is_right() const { return direction_ == Direction::right; }
  // Exchanges the axes of a layout to the right, which is computed like a layout down.
  Point turned(Point p) const { return is_right() ? Point{p.y, p.x} : p; }

  std::shared_ptr<const GraphModel> graph_;
  Direction direction_ = Direction::down;
  std::unordered_map<std::string, std::shared_ptr<const Level>> cache_;
  void find_crossings();
  void find_order();
  bool crossings_found_ = false;
  std::vector<double> order_;                     // of each node
  std::vector<std::vector<Crossing>> crossings_;  // of each group: edges with an end inside
};

}  // namespace poprt::inspector
