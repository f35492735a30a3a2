#include "compiler/memory_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/axes.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

using program::Space;

uint64_t bytes_of(const ir::Value* v) { return dtype_bytes(v->dtype(), element_count(v->shape())); }

// Whether all dimensions before the joined or divided axis are 1, so that the part is a contiguous
// range of the whole.
bool is_one_run(const ops::AxisMap& map, const Shape& part, const Shape& whole, size_t input,
                size_t output) {
  if (element_count(part) == 0) return true;
  const auto axis = ops::first_changed(map, input, output);
  return element_count(std::span(whole).first(axis.value_or(0))) == 1;
}

// Positions of a loop's first and last node.
struct Region {
  int64_t begin, end;
};

std::vector<Region> loop_regions(const std::vector<ir::Node*>& nodes) {
  std::vector<Region> loops;
  std::vector<size_t> open;
  for (size_t p = 0; p < nodes.size(); p++) {
    const ops::Marker marker = ops::facts_of(*nodes[p]).marker;
    if (marker == ops::Marker::loop_begin) {
      open.push_back(loops.size());
      loops.push_back({static_cast<int64_t>(p), 0});
    } else if (marker == ops::Marker::loop_end) {
      loops[open.back()].end = static_cast<int64_t>(p);
      open.pop_back();
    }
  }
  return loops;
}

// Finds the storages that have an offset by their lifetime. It is a binary tree over all storages
// in the order of their first position. Each tree node stores the greatest last position of the
// placed storages below it, so a search skips the subtrees whose storages all end too early.
class PlacedStorages {
 public:
  PlacedStorages(const std::vector<Storage>& storages, std::vector<uint32_t> ids)
      : storages_(storages), ids_(std::move(ids)), leaf_of_(storages.size()) {
    std::sort(ids_.begin(), ids_.end(), [&](uint32_t a, uint32_t b) {
      return storages_[a].first != storages_[b].first ? storages_[a].first < storages_[b].first
                                                      : a < b;
    });
    while (leaves_ < ids_.size()) leaves_ *= 2;
    last_.assign(2 * leaves_, kNone);
    for (size_t i = 0; i < ids_.size(); i++) leaf_of_[ids_[i]] = leaves_ + i;
  }

  void add(uint32_t id) {
    size_t at = leaf_of_[id];
    for (last_[at] = storages_[id].last; at > 1; at /= 2)
      last_[at / 2] = std::max(last_[at / 2], last_[at]);
  }

  // Fills `found` with the placed storages whose lifetimes overlap that of `s`, in any order.
  void find_overlapping(const Storage& s, std::vector<uint32_t>& found) const {
    found.clear();
    const auto end = std::partition_point(
        ids_.begin(), ids_.end(), [&](uint32_t id) { return storages_[id].first <= s.last; });
    find(1, 0, leaves_, static_cast<size_t>(end - ids_.begin()), s.first, found);
  }

 private:
  static constexpr int64_t kNone = INT64_MIN;

  // Below tree node `at` are the leaves [begin, end); those from `stop` on begin too late.
  void find(size_t at, size_t begin, size_t end, size_t stop, int64_t first,
            std::vector<uint32_t>& found) const {
    if (begin >= stop || last_[at] < first || last_[at] == kNone) return;
    if (end - begin == 1) return found.push_back(ids_[begin]);
    const size_t middle = begin + (end - begin) / 2;
    find(2 * at, begin, middle, stop, first, found);
    find(2 * at + 1, middle, end, stop, first, found);
  }

  const std::vector<Storage>& storages_;
  std::vector<uint32_t> ids_;
  std::vector<size_t> leaf_of_;  // the tree node of each storage
  std::vector<int64_t> last_;
  size_t leaves_ = 1;
};

int64_t end_of_use(const std::vector<Region>& loops, int64_t made, int64_t use) {
  int64_t last = use;
  for (const Region& r : loops)
    if (made <= r.begin && use > r.begin && use <= r.end) last = std::max(last, r.end);
  return last;
}

}  // namespace

bool is_contiguous_concat(const ir::Node& n) {
  if (!ops::op_of(n).sharing.joins || !n.output()->type.is_static() ||
      dtype_bits(n.output()->dtype()) < 8)
    return false;
  const ops::AxisMap map = ops::axis_map(n);
  for (size_t i = 0; i < n.inputs().size(); i++)
    if (!is_one_run(map, n.input(i)->shape(), n.output()->shape(), i, 0)) return false;
  return true;
}

bool is_contiguous_split(const ir::Node& n) {
  if (!ops::op_of(n).sharing.parts || !n.input(0)->type.is_static() ||
      dtype_bits(n.input(0)->dtype()) < 8)
    return false;
  const ops::AxisMap map = ops::axis_map(n);
  for (size_t o = 0; o < n.outputs().size(); o++)
    if (!is_one_run(map, n.output(o)->shape(), n.input(0)->shape(), 0, o)) return false;
  return true;
}

MemoryPlan::MemoryPlan(const ir::Graph& graph) {
  const std::vector<ir::Node*> nodes = graph.nodes();
  place_each(graph, nodes);
  measure_lifetimes(nodes);
  // Readers come first, because a result with a fixed place determines the place of its inputs.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) share_views(**it);
  for (const ir::Node* n : nodes) share_dying_input(*n);
}

// Gives every value its own storage. A result that is a graph output is in Space::output. Each
// graph output has its own node, because lowering adds an Identity for an output that is an input,
// a constant or another output.
void MemoryPlan::place_each(const ir::Graph& graph, const std::vector<ir::Node*>& nodes) {
  const auto add = [&](const ir::Value* v, Space space, uint32_t anchor) {
    const auto id = static_cast<uint32_t>(storages_.size());
    places_[v] = id;
    storages_.push_back({space, anchor, bytes_of(v), INT64_MAX, -1, 0});
    inside_.push_back({id, 0});
  };
  for (size_t i = 0; i < graph.inputs().size(); i++)
    add(graph.inputs()[i], Space::input, static_cast<uint32_t>(i));
  std::unordered_map<const ir::Value*, uint32_t> outputs;
  for (size_t i = 0; i < graph.outputs().size(); i++)
    outputs.emplace(graph.outputs()[i], static_cast<uint32_t>(i));
  for (size_t p = 0; p < nodes.size(); p++) {
    position_[nodes[p]] = static_cast<int64_t>(p);
    for (const ir::Value* v : nodes[p]->outputs()) {
      if (!v->type.is_static()) continue;
      const auto it = outputs.find(v);
      add(v, it == outputs.end() ? Space::arena : Space::output,
          it == outputs.end() ? 0 : it->second);
    }
  }
  for (const ir::Value* v : graph.outputs())
    if (has_place(v)) storages_[places_[v]].graph_output = true;
}

// Computes the lifetimes of single values. A value from outside of a loop that the loop reads lives
// until its end.
void MemoryPlan::measure_lifetimes(const std::vector<ir::Node*>& nodes) {
  const std::vector<Region> loops = loop_regions(nodes);
  for (const auto& [v, storage] : places_) {
    const int64_t made = v->producer() ? position_.at(v->producer()) : -1;
    Storage& s = storages_[storage];
    s.first = std::max<int64_t>(made, 0);
    s.last = made;
    for (const ir::Use& u : v->uses())
      s.last = std::max(s.last, end_of_use(loops, made, position_.at(u.node)));
  }
}

// Places `part` at `offset` bytes in `whole` if it fills a storage in the arena and the place is
// aligned to 64.
void MemoryPlan::place_inside(const ir::Value* part, const ir::Value* whole, uint64_t offset) {
  const Place inner = place(part), outer = place(whole);
  const Storage& s = storages_[inner.storage];
  if ((offset + outer.offset) % 64 == 0 && s.space == Space::arena && inner.offset == 0 &&
      s.bytes == bytes_of(part) && inner.storage != outer.storage)
    merge(inner.storage, outer.storage, outer.offset + offset);
}

// Views share the bytes of their input, and the parts of a Concat or Split are inside the whole.
void MemoryPlan::share_views(const ir::Node& n) {
  const ir::Value *y = n.output(), *x = n.input(0);
  const bool splits = is_contiguous_split(n) && has_place(x);
  if (splits || (y && has_place(y) && is_contiguous_concat(n))) {
    uint64_t offset = 0;
    for (const ir::Value* part : splits ? n.outputs() : n.inputs()) {
      const uint64_t bytes = bytes_of(part);
      if (has_place(part) && (splits || bytes > 0)) place_inside(part, splits ? x : y, offset);
      offset += bytes;
    }
    return;
  }
  if (!y || !has_place(y) || !ops::op_of(n).sharing.view || !x || !has_place(x) ||
      bytes_of(x) != bytes_of(y))
    return;
  const Place px = place(x), py = place(y);
  if (px.storage == py.storage) return;
  const bool x_whole = px.offset == 0 && storages_[px.storage].bytes == bytes_of(x);
  const bool y_whole = py.offset == 0 && storages_[py.storage].bytes == bytes_of(y);
  if (storages_[px.storage].space == Space::arena && x_whole)
    merge(px.storage, py.storage, py.offset);
  else if (storages_[py.storage].space == Space::arena && y_whole)
    merge(py.storage, px.storage, px.offset);
}

// Overwrites an input that is not used afterwards with the result.
void MemoryPlan::share_dying_input(const ir::Node& n) {
  const uint32_t mask = ops::op_of(n).sharing.in_place;
  const ir::Value* y = n.output();
  if (!mask || !y || !has_place(y)) return;
  for (size_t i = 0; i < n.inputs().size() && i < 32; i++) {
    const ir::Value* x = n.input(i);
    if (!((mask >> i) & 1) || !x || !has_place(x)) continue;
    if (x->dtype() != y->dtype() || x->shape() != y->shape()) continue;
    const Place px = place(x), py = place(y);
    if (px.storage == py.storage || storages_[px.storage].space != Space::arena) continue;
    if (px.offset != 0 || storages_[px.storage].bytes != bytes_of(x)) continue;
    if (!is_only_user(px.storage, position_.at(&n), n, i)) continue;
    // The other storage must not be in use while x is alive, so it must not be used before this
    // node.
    if (storages_[py.storage].first < position_.at(&n)) continue;
    return merge(px.storage, py.storage, py.offset);
  }
}

bool MemoryPlan::is_only_user(uint32_t storage, int64_t position, const ir::Node& node,
                              size_t input) const {
  if (storages_[storage].last > position || storages_[storage].graph_output) return false;
  // Another input with a different shape in the same bytes would be overwritten before it is read.
  // So would a second use of the same value by a node that is computed in pieces, each of which
  // adds some operands to the result.
  for (size_t i = 0; i < node.inputs().size(); i++) {
    const ir::Value* v = node.input(i);
    const bool same = v == node.input(input) && node.inputs().size() <= 2;
    if (i != input && v && !same && has_place(v) && place(v).storage == storage) return false;
  }
  return true;
}

void MemoryPlan::merge(uint32_t from, uint32_t into, uint64_t offset) {
  Storage& a = storages_[from];
  Storage& b = storages_[into];
  b.first = std::min(a.first, b.first);
  b.last = std::max(a.last, b.last);
  b.graph_output = a.graph_output || b.graph_output;
  inside_[from] = {into, offset};
  a.bytes = 0;
}

Place MemoryPlan::resolved(uint32_t storage) const {
  uint32_t root = storage;
  uint64_t offset = 0;
  for (; inside_[root].storage != root; root = inside_[root].storage)
    offset += inside_[root].offset;
  // Makes every storage of the path refer to the last one, so that the next call is short.
  uint64_t left = offset;
  for (uint32_t at = storage; at != root;) {
    const Place next = inside_[at];
    inside_[at] = {root, left};
    left -= next.offset;
    at = next.storage;
  }
  return {root, offset};
}

uint32_t MemoryPlan::add_temporary(uint64_t bytes, int64_t position) {
  storages_.push_back({Space::arena, 0, bytes, position, position, 0});
  const auto id = static_cast<uint32_t>(storages_.size() - 1);
  inside_.push_back({id, 0});
  return id;
}

uint32_t MemoryPlan::add_state(uint64_t bytes) {
  const uint32_t id = add_temporary(bytes, 0);
  storages_[id].last = INT64_MAX;
  storages_[id].state = true;
  return id;
}

bool MemoryPlan::is_free_view(const ir::Node* node) const {
  if (!ops::op_of(*node).sharing.view || !node->input(0)) return false;
  return has_place(node->output()) && same_bytes(node->input(0), node->output(), 0);
}

bool MemoryPlan::same_bytes(const ir::Value* part, const ir::Value* whole, uint64_t offset) const {
  if (!has_place(part) || !has_place(whole)) return false;
  const Place x = place(part), y = place(whole);
  return x.storage == y.storage && x.offset == y.offset + offset;
}

uint64_t MemoryPlan::plan_offsets() {
  constexpr uint64_t kAlign = 64;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < storages_.size(); i++)
    if (storages_[i].space == Space::arena && storages_[i].bytes > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (storages_[a].state != storages_[b].state) return storages_[a].state;
    return storages_[a].bytes != storages_[b].bytes ? storages_[a].bytes > storages_[b].bytes
                                                    : a < b;
  });
  PlacedStorages placed(storages_, order);
  std::vector<uint32_t> overlapping;
  uint64_t total = 0;
  for (const uint32_t id : order) {
    Storage& s = storages_[id];
    placed.find_overlapping(s, overlapping);
    std::sort(overlapping.begin(), overlapping.end(),
              [&](uint32_t a, uint32_t b) { return storages_[a].offset < storages_[b].offset; });
    // Takes the smallest gap that fits between storages with overlapping lifetimes.
    uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
    for (const uint32_t other : overlapping) {
      const Storage& o = storages_[other];
      if (o.offset >= end && o.offset - end >= s.bytes && o.offset - end < best_gap) {
        best = end;
        best_gap = o.offset - end;
      }
      end = std::max(end, align_up(o.offset + o.bytes, kAlign));
    }
    s.offset = best == UINT64_MAX ? end : best;
    total = std::max(total, align_up(checked_add(s.offset, s.bytes), kAlign));
    if (s.state) state_bytes_ = total;
    placed.add(id);
  }
  return total;
}

}  // namespace poprt::compiler
