#include "model/graph_layout.h"
#include "model/stable_order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace poprt::inspector {
namespace {

constexpr double kCharacter = 7.6, kNodePadding = 22, kNodeHeight = 30, kLineHeight = 18;
constexpr double kMargin = 18, kHeader = 26;  // of an open group
constexpr double kWidest = 320, kPortWidth = 6;
// The gap between layers of a layout to the right, whose labels are along the edges.
constexpr double kGapRight = 96;
// If more levels than this are cached, all are discarded.
constexpr size_t kMostLevels = 4096;

// Number of characters, not of bytes.
size_t length_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

double text_width(std::string_view text) {
  return kCharacter * static_cast<double>(length_of(text));
}

Rect area_of(const std::vector<Point>& points) {
  if (points.empty()) return {};
  double left = points[0].x, right = left, top = points[0].y, bottom = top;
  for (const Point& p : points) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  return {left, top, right - left, bottom - top};
}

}  // namespace

BoxSize node_size(const GraphNode& node) {
  const double widest = std::max(text_width(node.kind == NodeKind::op ? node.op : node.name),
                                 text_width(node.detail));
  return {std::clamp(widest + kNodePadding, 64.0, kWidest),
          kNodeHeight + (node.detail.empty() ? 0 : kLineHeight)};
}

BoxSize group_size(const GraphGroup& group) {
  return {std::clamp(text_width(group.name) + 2 * kNodePadding, 130.0, kWidest),
          kNodeHeight + kLineHeight};
}

// The layout of the contents of one group.
struct GraphLayout::Level {
  struct Member {
    int node = kNone, group = kNone;
    std::shared_ptr<const Level> inner;  // for an open group
    BoxSize size;
  };
  std::vector<Member> members;
  std::vector<Crossing> crossings;  // one per edge of the layout
  std::vector<bool> arrow, enters;
  LevelLayout layout;
  BoxSize size;  // with margins unless it is the root
  // By value: the place of its port along the border, relative to the corner of the box.
  std::map<int, double> entry, exit;
};

const SceneBox* Scene::find(const GraphModel& graph, int node) const {
  if (node == kNone) return nullptr;
  if (const auto found = box_of_node.find(node); found != box_of_node.end())
    return &boxes[found->second];
  for (int g = graph.node(node).group; g != kNone; g = graph.group(g).parent)
    if (const auto found = box_of_group.find(g); found != box_of_group.end())
      return &boxes[found->second];
  return nullptr;
}

void GraphLayout::find_crossings() {
  if (crossings_found_) return;
  crossings_found_ = true;
  find_order();
  const GraphModel& g = *graph_;
  crossings_.resize(g.groups().size());
  std::vector<int> ups, downs;
  for (size_t v = 0; v < g.values().size(); v++) {
    const GraphValue& value = g.values()[v];
    if (value.producer == kNone) continue;
    for (const int consumer : value.consumers) {
      // The groups from each end up to the common group.
      int a = g.node(value.producer).group, b = g.node(consumer).group;
      const Crossing crossing{static_cast<int>(v), value.producer, consumer};
      while (a != b) {
        int& deeper = g.group(a).depth >= g.group(b).depth ? a : b;
        crossings_[static_cast<size_t>(deeper)].push_back(crossing);
        deeper = g.group(deeper).parent;
      }
      crossings_[static_cast<size_t>(a)].push_back(crossing);
    }
  }
}

// Nodes are ordered as listed; this order is topological. Exceptions are nodes that depend on
// weights only: they may be anywhere in the list and could move their group before the nodes that
// it reads. They are placed directly before their first reader.
void GraphLayout::find_order() {
  const GraphModel& g = *graph_;
  const size_t n = g.nodes().size();
  std::vector<bool> fed(n);
  order_.resize(n);
  for (size_t i = 0; i < n; i++) {
    order_[i] = static_cast<double>(i);
    fed[i] = g.nodes()[i].kind == NodeKind::input;
    for (const int v : g.nodes()[i].inputs)
      if (v != kNone && g.value(v).producer != kNone)
        fed[i] = fed[i] || fed[static_cast<size_t>(g.value(v).producer)];
  }
  for (size_t i = n; i-- > 0;) {
    if (fed[i]) continue;
    double first = static_cast<double>(n);
    for (const int v : g.nodes()[i].outputs)
      if (v != kNone)
        for (const int reader : g.value(v).consumers)
          first = std::min(first, order_[static_cast<size_t>(reader)]);
    // The fraction grows with the index and keeps the order of nodes with the same reader.
    order_[i] = first - 1 + static_cast<double>(i + 1) / static_cast<double>(n + 1);
  }
}

std::string GraphLayout::key_of(int group, const std::set<int>& open) const {
  std::string key = std::to_string(group);
  for (const int child : graph_->group(group).groups)
    if (open.contains(child)) key += "(" + key_of(child, open) + ")";
  return key;
}

// Adds a group's members and those of its open groups, in the order of the first node inside.
void GraphLayout::add_members(int group, const std::set<int>& open, const std::atomic<bool>* cancel,
                              Level& made) {
  const GraphModel& g = *graph_;
  const std::function<double(int)> first_node = [&](int of) {
    auto first = static_cast<double>(g.nodes().size());
    for (const int n : g.group(of).nodes) first = std::min(first, order_[static_cast<size_t>(n)]);
    for (const int c : g.group(of).groups) first = std::min(first, first_node(c));
    return first;
  };
  std::vector<std::pair<double, Level::Member>> ordered;
  for (const int n : g.group(group).nodes)
    ordered.push_back({order_[static_cast<size_t>(n)], {n, kNone, nullptr, node_size(g.node(n))}});
  for (const int c : g.group(group).groups) {
    Level::Member member{kNone, c, nullptr, group_size(g.group(c))};
    if (open.contains(c)) {
      member.inner = level(c, open, cancel);
      member.size = {std::max(member.inner->size.width, member.size.width),
                     member.inner->size.height};
    }
    ordered.push_back({first_node(c), std::move(member)});
  }
  stable_order(ordered, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, member] : ordered) made.members.push_back(std::move(member));
}

// The members at both ends of each crossing; kNone if an end is outside of the group.
std::vector<std::pair<int, int>> GraphLayout::ends_of(int group, const Level& level) const {
  const GraphModel& g = *graph_;
  std::unordered_map<int, int> of_node, of_group;
  for (size_t i = 0; i < level.members.size(); i++) {
    const Level::Member& m = level.members[i];
    (m.node != kNone ? of_node[m.node] : of_group[m.group]) = static_cast<int>(i);
  }
  const auto member_of = [&](int node) {
    if (const auto found = of_node.find(node); found != of_node.end()) return found->second;
    for (int at = g.node(node).group; at != kNone && at != group; at = g.group(at).parent)
      if (const auto found = of_group.find(at); found != of_group.end()) return found->second;
    return kNone;
  };
  std::vector<std::pair<int, int>> ends;
  for (const Crossing& c : crossings_[static_cast<size_t>(group)])
    ends.emplace_back(member_of(c.from), member_of(c.to));
  return ends;
}

// Boxes of the layout: entry ports, members and exit ports, with one port per value.
struct GraphLayout::Ports {
  std::map<int, int> entries, exits;  // box by value
  int first_member = 0;
  std::vector<LayoutBox> boxes;

  Ports(const GraphModel& graph, const std::vector<Crossing>& crossings,
        const std::vector<std::pair<int, int>>& ends, const std::vector<Level::Member>& members,
        bool right) {
    for (size_t i = 0; i < crossings.size(); i++)
      if (ends[i].first == kNone)
        entries.try_emplace(crossings[i].value, static_cast<int>(entries.size()));
    boxes.assign(entries.size(), {kPortWidth, 0, LayoutBox::Pin::first});
    first_member = static_cast<int>(boxes.size());
    for (const Level::Member& m : members) {
      boxes.push_back(right ? LayoutBox{m.size.height, m.size.width}
                            : LayoutBox{m.size.width, m.size.height});
      boxes.back().input = m.node != kNone && graph.node(m.node).kind == NodeKind::input;
    }
    for (size_t i = 0; i < crossings.size(); i++)
      if (ends[i].second == kNone &&
          exits.try_emplace(crossings[i].value, static_cast<int>(boxes.size())).second)
        boxes.push_back({kPortWidth, 0, LayoutBox::Pin::last});
  }
};

// One edge for each pair of boxes and value; `made` receives the corresponding crossings.
std::vector<LayoutEdge> GraphLayout::edges_of(const std::vector<Crossing>& crossings,
                                              const std::vector<std::pair<int, int>>& ends,
                                              const Ports& ports, Level& made) const {
  const auto offset_of = [&](int member, int value, bool leaving) {
    const Level::Member& m = made.members[static_cast<size_t>(member)];
    if (!m.inner) return 0.0;
    const auto& places = leaving ? m.inner->exit : m.inner->entry;
    const auto found = places.find(value);
    return found == places.end()
               ? 0.0
               : found->second - (is_right() ? m.inner->size.height : m.inner->size.width) / 2;
  };
  std::vector<LayoutEdge> edges;
  std::set<std::tuple<int, int, int>> known;
  for (size_t i = 0; i < crossings.size(); i++) {
    const Crossing& c = crossings[i];
    const auto [a, b] = ends[i];
    LayoutEdge e;
    e.value = c.value;
    e.from = a == kNone ? ports.entries.at(c.value) : a + ports.first_member;
    e.to = b == kNone ? ports.exits.at(c.value) : b + ports.first_member;
    if (e.from == e.to || !known.insert({e.from, e.to, e.value}).second) continue;
    if (a != kNone) e.from_offset = offset_of(a, c.value, true);
    if (b != kNone) e.to_offset = offset_of(b, c.value, false);
    edges.push_back(e);
    made.crossings.push_back(c);
    made.arrow.push_back(b != kNone && !made.members[static_cast<size_t>(b)].inner);
    made.enters.push_back(a == kNone);
  }
  return edges;
}

// Moves the layout of a level into the borders of its group and finds its ports.
void GraphLayout::place(int group, const Ports& ports, const std::vector<LayoutEdge>& edges,
                        Level& made) const {
  // The layers of ports have no extent along the edges, and the gap next to them is the margin.
  const double header = group == kRoot ? 0 : kHeader;
  const double gap = is_right() ? kGapRight : LayoutGaps{}.y;
  const double first = kMargin + (is_right() ? 0 : header);
  const double before = ports.entries.empty() ? first : std::max(0.0, first - gap),
               after = ports.exits.empty() ? kMargin : std::max(0.0, kMargin - gap);
  const double along = made.layout.height + before + after;
  const double across = made.layout.width + 2 * kMargin + (is_right() ? header : 0);
  made.size = is_right() ? BoxSize{along, across} : BoxSize{across, along};
  if (is_right() && group != kRoot)
    made.size.width = std::max(made.size.width, group_size(graph_->group(group)).width);
  const double end = is_right() ? made.size.width : made.size.height;
  const double aside = kMargin + (is_right() ? header : 0);
  auto& centres = made.layout.centres;
  for (Point& p : centres) p = turned({p.x + aside, p.y + before});
  const auto port = [&](int box) { return turned(centres[static_cast<size_t>(box)]).x; };
  for (const auto& [value, box] : ports.entries) made.entry[value] = port(box);
  for (const auto& [value, box] : ports.exits) made.exit[value] = port(box);
  const int after_members = ports.first_member + static_cast<int>(made.members.size());
  for (size_t i = 0; i < edges.size(); i++) {
    auto& route = made.layout.routes[i];
    for (Point& p : route) p = {p.x + aside, p.y + before};
    // Extends the route from the border to the port.
    if (!route.empty() && edges[i].from < ports.first_member)
      route.insert(route.begin(), {route.front().x, 0});
    if (!route.empty() && edges[i].to >= after_members) route.push_back({route.back().x, end});
    for (Point& p : route) p = turned(p);
  }
}

std::shared_ptr<const GraphLayout::Level> GraphLayout::level(int group, const std::set<int>& open,
                                                             const std::atomic<bool>* cancel) {
  const std::string key = key_of(group, open);
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second;
  if (cache_.size() > kMostLevels) cache_.clear();
  find_crossings();
  auto made = std::make_shared<Level>();
  add_members(group, open, cancel, *made);
  const auto& crossings = crossings_[static_cast<size_t>(group)];
  const auto ends = ends_of(group, *made);
  const Ports ports(*graph_, crossings, ends, made->members, is_right());
  const auto edges = edges_of(crossings, ends, ports, *made);
  LayoutGaps gaps;
  if (is_right()) gaps.y = kGapRight;
  made->layout = layered_layout(ports.boxes, edges, gaps, cancel);
  place(group, ports, edges, *made);
  auto& centres = made->layout.centres;
  centres.erase(centres.begin(), centres.begin() + ports.first_member);
  return cache_[key] = made;
}

void GraphLayout::compose(const Level& level, Point at, Scene& scene) const {
  for (size_t i = 0; i < level.members.size(); i++) {
    const Level::Member& m = level.members[i];
    const Point centre = level.layout.centres[i];
    const Rect area{at.x + centre.x - m.size.width / 2, at.y + centre.y - m.size.height / 2,
                    m.size.width, m.size.height};
    (m.node != kNone ? scene.box_of_node[m.node] : scene.box_of_group[m.group]) =
        scene.boxes.size();
    scene.boxes.push_back({m.node, m.group, m.inner != nullptr, area});
    if (m.inner && is_right())
      compose(*m.inner, {area.x, area.y + (area.height - m.inner->size.height) / 2}, scene);
    else if (m.inner)
      compose(*m.inner, {area.x + (area.width - m.inner->size.width) / 2, area.y}, scene);
  }
  for (size_t i = 0; i < level.layout.routes.size(); i++) {
    SceneRoute route;
    route.value = level.crossings[i].value;
    route.from = level.crossings[i].from;
    route.to = level.crossings[i].to;
    route.arrow = level.arrow[i];
    route.enters = level.enters[i];
    for (const Point& p : level.layout.routes[i]) route.points.push_back({p.x + at.x, p.y + at.y});
    route.area = area_of(route.points);
    scene.routes.push_back(std::move(route));
  }
}

std::shared_ptr<const Scene> GraphLayout::scene(const std::set<int>& open,
                                                const std::atomic<bool>* cancel) {
  const auto root = level(kRoot, open, cancel);
  auto scene = std::make_shared<Scene>();
  scene->direction = direction_;
  compose(*root, {0, 0}, *scene);
  scene->width = root->size.width;
  scene->height = root->size.height;
  return scene;
}

std::set<int> GraphLayout::all_groups() const {
  std::set<int> all;
  for (size_t g = 1; g < graph_->groups().size(); g++) all.insert(static_cast<int>(g));
  return all;
}

std::set<int> GraphLayout::groups_within(size_t most) const {
  // Graphs with many open bodies of If and Loop are wide and mostly empty.
  constexpr size_t kMostWithBodies = 120;
  const auto& groups = graph_->groups();
  const bool bodies = groups[kRoot].all_nodes <= kMostWithBodies;
  std::set<int> open = {kRoot};
  size_t visible = groups[kRoot].nodes.size() + groups[kRoot].groups.size();
  for (int depth = 1;; depth++) {
    std::vector<int> next;
    size_t more = visible;
    for (size_t g = 1; g < groups.size(); g++) {
      const GraphGroup& it = groups[g];
      if (it.depth != depth || !open.contains(it.parent) || (it.is_subgraph && !bodies) ||
          it.repeats > 0)
        continue;
      next.push_back(static_cast<int>(g));
      more += it.nodes.size() + it.groups.size();
    }
    if (next.empty() || more > most) break;
    visible = more;
    open.insert(next.begin(), next.end());
  }
  open.erase(kRoot);
  return open;
}

}  // namespace poprt::inspector
