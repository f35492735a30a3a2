#include "model/layered_layout.h"
#include "model/stable_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace poprt::inspector {
namespace {

// The limit of dummies is kDummiesPerBox for each box, and kDummiesAtLeast in addition. If more
// would be needed, the longest edges are straight lines.
constexpr size_t kDummiesPerBox = 30, kDummiesAtLeast = 20000;
constexpr int kOrderSweeps = 8, kPlaceSweeps = 10;
// The links of a chain of dummies weigh more than the links to its ends, so that long edges are
// straight.
constexpr double kBoxWeight = 1, kDummyWeight = 8;

struct Vertex {
  double width = 0, height = 0;
  int rank = 0;
  int position = 0;  // index in its layer
  double x = 0;
  bool dummy = false;
};

struct Link {
  int to;
  double offset;       // of the end at `to`, relative to its centre
  double offset_here;  // of the end at the vertex that owns the link
  double weight;
};

// Finds x for a fixed order: x_i is as near as possible to wanted_i, with x_{i+1} >= x_i + gap_i.
void pool_adjacent(std::vector<double>& x, const std::vector<double>& wanted,
                   const std::vector<double>& weight, const std::vector<double>& gap) {
  struct Block {
    double sum, weight;
    size_t count;
    double mean() const { return sum / weight; }
  };
  std::vector<Block> blocks;
  double shift = 0;
  std::vector<double> shifts(wanted.size());
  for (size_t i = 0; i < wanted.size(); i++) {
    if (i > 0) shift += gap[i - 1];
    shifts[i] = shift;
    blocks.push_back({(wanted[i] - shift) * weight[i], weight[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back() = {blocks.back().sum + last.sum, blocks.back().weight + last.weight,
                       blocks.back().count + last.count};
    }
  }
  size_t i = 0;
  for (const Block& b : blocks)
    for (size_t k = 0; k < b.count; k++, i++) x[i] = b.mean() + shifts[i];
}

// Adds a corner. If the route continues straight, the previous corner is removed.
void add_point(std::vector<Point>& route, Point p) {
  const auto same = [](double a, double b) { return std::abs(a - b) < 0.01; };
  const size_t n = route.size();
  if (n >= 2 && same(route[n - 1].x, p.x) && same(route[n - 2].x, p.x))
    route.back() = p;
  else if (!same(route.back().x, p.x) || !same(route.back().y, p.y))
    route.push_back(p);
}

class Layering {
 public:
  Layering(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges,
           const LayoutGaps& gaps, const std::atomic<bool>* cancel)
      : boxes_(boxes), edges_(edges), gaps_(gaps), cancel_(cancel) {}

  LevelLayout run() {
    for (const LayoutBox& b : boxes_) vertices_.push_back({b.width, b.height, 0, 0, 0, false});
    rank();
    compact_ranks();
    add_chains();
    order();
    place();
    return result();
  }

 private:
  bool forward(const LayoutEdge& e) const { return e.from < e.to; }
  size_t upper(const LayoutEdge& e) const {
    return static_cast<size_t>(forward(e) ? e.from : e.to);
  }
  size_t lower(const LayoutEdge& e) const {
    return static_cast<size_t>(forward(e) ? e.to : e.from);
  }
  void check_cancelled() const {
    if (cancel_ && cancel_->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "layout was cancelled");
  }

  // The boxes that depend on an input, or all boxes if there is no input.
  std::vector<bool> fed_by_inputs(const std::vector<std::vector<int>>& out) const {
    std::vector<bool> fed;
    for (const LayoutBox& b : boxes_) fed.push_back(b.input || b.pin == LayoutBox::Pin::first);
    if (std::find(fed.begin(), fed.end(), true) == fed.end()) fed.assign(fed.size(), true);
    for (size_t i = 0; i < fed.size(); i++)
      for (const int s : out[i])
        fed[static_cast<size_t>(s)] = fed[static_cast<size_t>(s)] || fed[i];
    return fed;
  }

  void rank() {
    const size_t n = boxes_.size();
    std::vector<std::vector<int>> out(n), in(n);
    for (const LayoutEdge& e : edges_)
      if (e.from != e.to) {
        out[upper(e)].push_back(static_cast<int>(lower(e)));
        in[lower(e)].push_back(static_cast<int>(upper(e)));
      }
    int deepest = 0;
    for (size_t i = 0; i < n; i++) {
      for (const int p : in[i])
        vertices_[i].rank = std::max(vertices_[i].rank, vertices_[static_cast<size_t>(p)].rank + 1);
      deepest = std::max(deepest, vertices_[i].rank);
    }
    // A box with more readers than inputs is placed near its first reader. In a graph with inputs,
    // so are boxes that depend on no input, such as scales and computed weights.
    const std::vector<bool> fed = fed_by_inputs(out);
    for (size_t i = n; i-- > 0;) {
      if (out[i].empty() || (fed[i] && in[i].size() >= out[i].size()) ||
          boxes_[i].pin == LayoutBox::Pin::first)
        continue;
      int nearest = deepest + 1;
      for (const int s : out[i])
        nearest = std::min(nearest, vertices_[static_cast<size_t>(s)].rank);
      vertices_[i].rank = std::max(vertices_[i].rank, nearest - 1);
    }
    bool ends = false;
    for (size_t i = 0; i < n; i++) ends |= boxes_[i].pin == LayoutBox::Pin::last;
    for (size_t i = 0; i < n; i++) {
      if (boxes_[i].pin == LayoutBox::Pin::first) vertices_[i].rank = -1;
      if (boxes_[i].pin == LayoutBox::Pin::last) vertices_[i].rank = deepest + (ends ? 1 : 0);
    }
  }

  // Renumbers ranks from 0 without empty ones.
  void compact_ranks() {
    std::vector<int> used;
    for (const Vertex& v : vertices_) used.push_back(v.rank);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (Vertex& v : vertices_)
      v.rank = static_cast<int>(std::lower_bound(used.begin(), used.end(), v.rank) - used.begin());
    layer_count_ = used.size();
  }

  int span(const LayoutEdge& e) const {
    return vertices_[lower(e)].rank - vertices_[upper(e)].rank;
  }

  void link(int a, int b, double offset_a, double offset_b) {
    const bool both =
        vertices_[static_cast<size_t>(a)].dummy && vertices_[static_cast<size_t>(b)].dummy;
    const double weight = both ? kDummyWeight : kBoxWeight;
    below_[static_cast<size_t>(a)].push_back({b, offset_b, offset_a, weight});
    above_[static_cast<size_t>(b)].push_back({a, offset_a, offset_b, weight});
  }

  void add_chains() {
    chains_.resize(edges_.size());
    std::vector<size_t> by_length;
    for (size_t i = 0; i < edges_.size(); i++)
      if (edges_[i].from != edges_[i].to) by_length.push_back(i);
    stable_order(by_length, [&](size_t a, size_t b) { return span(edges_[a]) < span(edges_[b]); });
    const size_t most = boxes_.size() + kDummiesAtLeast + kDummiesPerBox * boxes_.size();
    below_.resize(boxes_.size());
    above_.resize(boxes_.size());
    // The chains of one value that start at one box are shared as far as possible.
    std::map<std::pair<size_t, int>, std::vector<int>> shared;
    for (const size_t i : by_length) {
      const LayoutEdge& e = edges_[i];
      const int length = span(e);
      if (length <= 0) continue;
      auto& chain = shared[{upper(e), forward(e) ? e.value : -1 - e.value}];
      const size_t missing =
          static_cast<size_t>(length) - 1 - std::min(chain.size(), static_cast<size_t>(length) - 1);
      if (vertices_.size() + missing > most) continue;
      const double upper_offset = forward(e) ? e.from_offset : e.to_offset;
      while (chain.size() + 1 < static_cast<size_t>(length)) {
        const int above = chain.empty() ? static_cast<int>(upper(e)) : chain.back();
        const int id = static_cast<int>(vertices_.size());
        vertices_.push_back({0, 0, vertices_[static_cast<size_t>(above)].rank + 1, 0, 0, true});
        below_.emplace_back();
        above_.emplace_back();
        link(above, id, chain.empty() ? upper_offset : 0, 0);
        chain.push_back(id);
      }
      chains_[i].assign(chain.begin(), chain.begin() + (length - 1));
      const int last =
          length == 1 ? static_cast<int>(upper(e)) : chain[static_cast<size_t>(length) - 2];
      link(last, static_cast<int>(lower(e)), length == 1 ? upper_offset : 0,
           forward(e) ? e.to_offset : e.from_offset);
    }
  }

  // Orders layers by a depth-first walk from the sources, so that chains are initially contiguous.
  void start_order() {
    layers_.assign(layer_count_, {});
    std::vector<bool> seen(vertices_.size());
    std::vector<int> stack;
    for (size_t i = vertices_.size(); i-- > 0;)
      if (above_[i].empty()) stack.push_back(static_cast<int>(i));
    while (!stack.empty()) {
      const auto v = static_cast<size_t>(stack.back());
      stack.pop_back();
      if (seen[v]) continue;
      seen[v] = true;
      auto& layer = layers_[static_cast<size_t>(vertices_[v].rank)];
      vertices_[v].position = static_cast<int>(layer.size());
      layer.push_back(static_cast<int>(v));
      for (size_t k = below_[v].size(); k-- > 0;) stack.push_back(below_[v][k].to);
    }
  }

  double median(const std::vector<Link>& links, int keep) const {
    if (links.empty()) return keep;
    thread_local std::vector<int> at;
    at.clear();
    for (const Link& l : links) at.push_back(vertices_[static_cast<size_t>(l.to)].position);
    const size_t half = at.size() / 2;
    std::nth_element(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(half), at.end());
    if (at.size() % 2) return at[half];
    const int left = *std::max_element(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(half));
    return (left + at[half]) / 2.0;
  }

  void sort_layer(std::vector<int>& layer, const std::vector<std::vector<Link>>& neighbours) {
    std::vector<std::pair<double, int>> keys;
    for (const int v : layer)
      keys.emplace_back(
          median(neighbours[static_cast<size_t>(v)], vertices_[static_cast<size_t>(v)].position),
          v);
    stable_order(keys, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < layer.size(); i++) {
      layer[i] = keys[i].second;
      vertices_[static_cast<size_t>(layer[i])].position = static_cast<int>(i);
    }
  }

  // Counts the crossings between all neighbouring layers, as inversions in a Fenwick tree.
  int64_t crossings() const {
    int64_t total = 0;
    std::vector<int64_t> tree;
    std::vector<int> ends;
    for (size_t r = 0; r + 1 < layers_.size(); r++) {
      tree.assign(layers_[r + 1].size() + 1, 0);
      int64_t so_far = 0;
      for (const int v : layers_[r]) {
        ends.clear();
        for (const Link& l : below_[static_cast<size_t>(v)])
          ends.push_back(vertices_[static_cast<size_t>(l.to)].position);
        for (const int e : ends) {
          int64_t not_right = 0;
          for (int i = e + 1; i > 0; i -= i & -i) not_right += tree[static_cast<size_t>(i)];
          total += so_far - not_right;
        }
        for (const int e : ends) {
          so_far++;
          for (int i = e + 1; i <= static_cast<int>(layers_[r + 1].size()); i += i & -i)
            tree[static_cast<size_t>(i)]++;
        }
      }
    }
    return total;
  }

  void order() {
    start_order();
    auto best = layers_;
    int64_t fewest = crossings();
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; sweep++) {
      check_cancelled();
      if (sweep % 2 == 0)
        for (size_t r = 1; r < layers_.size(); r++) sort_layer(layers_[r], above_);
      else
        for (size_t r = layers_.size() - 1; r-- > 0;) sort_layer(layers_[r], below_);
      if (const int64_t now = crossings(); now < fewest) {
        fewest = now;
        best = layers_;
      }
    }
    layers_ = std::move(best);
    for (const auto& layer : layers_)
      for (size_t i = 0; i < layer.size(); i++)
        vertices_[static_cast<size_t>(layer[i])].position = static_cast<int>(i);
  }

  double gap_between(const Vertex& a, const Vertex& b) const {
    const double gap = a.dummy || b.dummy ? gaps_.edge : gaps_.x;
    return (a.width + b.width) / 2 + gap;
  }

  void place_layer(const std::vector<int>& layer, bool look_up, bool look_down) {
    const size_t n = layer.size();
    std::vector<double> x(n), wanted(n), weight(n), gap(n);
    for (size_t i = 0; i < n; i++) {
      const auto id = static_cast<size_t>(layer[i]);
      const Vertex& v = vertices_[id];
      double sum = 0, total = 0;
      const auto pull = [&](const std::vector<Link>& links) {
        for (const Link& l : links) {
          sum += l.weight * (vertices_[static_cast<size_t>(l.to)].x + l.offset - l.offset_here);
          total += l.weight;
        }
      };
      if (look_up) pull(above_[id]);
      if (look_down) pull(below_[id]);
      wanted[i] = total > 0 ? sum / total : v.x;
      weight[i] = total > 0 ? total : 0.01;
      if (i + 1 < n) gap[i] = gap_between(v, vertices_[static_cast<size_t>(layer[i + 1])]);
    }
    pool_adjacent(x, wanted, weight, gap);
    for (size_t i = 0; i < n; i++) vertices_[static_cast<size_t>(layer[i])].x = x[i];
  }

  void place() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (size_t i = 0; i < layer.size(); i++) {
        Vertex& v = vertices_[static_cast<size_t>(layer[i])];
        if (i > 0) x += gap_between(vertices_[static_cast<size_t>(layer[i - 1])], v);
        v.x = x;
      }
      const double middle = x / 2;
      for (const int v : layer) vertices_[static_cast<size_t>(v)].x -= middle;
    }
    for (int sweep = 0; sweep < kPlaceSweeps; sweep++) {
      check_cancelled();
      const bool both = sweep >= kPlaceSweeps - 4;
      if (sweep % 2 == 0)
        for (size_t r = 0; r < layers_.size(); r++) place_layer(layers_[r], r > 0, both);
      else
        for (size_t r = layers_.size(); r-- > 0;) place_layer(layers_[r], both, true);
    }
  }

  LevelLayout result() {
    LevelLayout layout;
    std::vector<double> top(layer_count_), middle(layer_count_), bottom(layer_count_);
    std::vector<size_t> back;
    bool over = false, under = false;  // whether an edge back needs space above or below all boxes
    for (size_t i = 0; i < edges_.size(); i++) {
      if (edges_[i].from <= edges_[i].to) continue;
      back.push_back(i);
      over |= vertices_[upper(edges_[i])].rank == 0;
      under |= vertices_[lower(edges_[i])].rank + 1 == static_cast<int>(layer_count_);
    }
    double y = over ? gaps_.y : 0;
    for (size_t r = 0; r < layer_count_; r++) {
      double height = 0;
      for (const int v : layers_[r])
        height = std::max(height, vertices_[static_cast<size_t>(v)].height);
      top[r] = y;
      middle[r] = y + height / 2;
      bottom[r] = y + height;
      y += height + (r + 1 < layer_count_ ? gaps_.y : 0);
    }
    double left = 0, right = 0;
    bool first = true;
    for (const Vertex& v : vertices_) {
      left = first ? v.x - v.width / 2 : std::min(left, v.x - v.width / 2);
      right = first ? v.x + v.width / 2 : std::max(right, v.x + v.width / 2);
      first = false;
    }
    for (size_t i = 0; i < boxes_.size(); i++)
      layout.centres.push_back(
          {vertices_[i].x - left, middle[static_cast<size_t>(vertices_[i].rank)]});
    layout.routes.resize(edges_.size());
    for (size_t i = 0; i < edges_.size(); i++) {
      const LayoutEdge& e = edges_[i];
      if (e.from >= e.to) continue;
      auto& route = layout.routes[i];
      const size_t u = upper(e), l = lower(e);
      const Point& above = layout.centres[u];
      const Point& below = layout.centres[l];
      route.push_back({above.x + e.from_offset, above.y + boxes_[u].height / 2});
      for (const int d : chains_[i]) {
        const Vertex& v = vertices_[static_cast<size_t>(d)];
        const auto r = static_cast<size_t>(v.rank);
        add_point(route, {v.x - left, top[r]});
        add_point(route, {v.x - left, bottom[r]});
      }
      route.push_back({below.x + e.to_offset, below.y - boxes_[l].height / 2});
    }
    layout.width = std::max(0.0, right - left);
    layout.height = y + (under ? gaps_.y : 0);
    // Each edge back has its own lane, and its own height in the gaps between the layers.
    for (size_t k = 0; k < back.size(); k++) {
      const LayoutEdge& e = edges_[back[k]];
      const size_t u = upper(e), l = lower(e);
      const double apart =
          gaps_.y * static_cast<double>(k + 1) / static_cast<double>(back.size() + 1);
      const double from = layout.centres[l].x + e.from_offset,
                   to = layout.centres[u].x + e.to_offset;
      const double down = bottom[static_cast<size_t>(vertices_[l].rank)] + apart,
                   up = top[static_cast<size_t>(vertices_[u].rank)] - apart;
      const double lane = layout.width + gaps_.edge * static_cast<double>(k + 1);
      layout.routes[back[k]] = {{from, layout.centres[l].y + boxes_[l].height / 2},
                                {from, down},
                                {lane, down},
                                {lane, up},
                                {to, up},
                                {to, layout.centres[u].y - boxes_[u].height / 2}};
    }
    layout.width += gaps_.edge * static_cast<double>(back.size());
    return layout;
  }

  const std::vector<LayoutBox>& boxes_;
  const std::vector<LayoutEdge>& edges_;
  const LayoutGaps& gaps_;
  const std::atomic<bool>* cancel_;
  std::vector<Vertex> vertices_;  // boxes, then dummies
  std::vector<std::vector<Link>> below_, above_;
  std::vector<std::vector<int>> chains_;  // dummies of each edge from top to bottom
  std::vector<std::vector<int>> layers_;
  size_t layer_count_ = 0;
};

}  // namespace

LevelLayout layered_layout(const std::vector<LayoutBox>& boxes,
                           const std::vector<LayoutEdge>& edges, const LayoutGaps& gaps,
                           const std::atomic<bool>* cancel) {
  if (boxes.empty()) return {};
  return Layering(boxes, edges, gaps, cancel).run();
}

}  // namespace poprt::inspector
