#include "passes/common/token_positions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "ir/match.h"
#include "ir/newest.h"
#include "ops/op.h"
#include "passes/common/constant_cone.h"
#include "passes/pass.h"

namespace poprt::passes {
namespace token_positions {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr std::string_view kRowInput = "poprt.row";  // s64 []: the position of the first new token
constexpr double kHidden = -1e30;

// Adds nodes before a node.
class Insert {
 public:
  Insert(Graph& graph, Node* before) : graph_(graph), before_(before) {}

  Value* node(std::string type, std::initializer_list<Value*> inputs, const char* key = nullptr,
              ir::Attribute value = int64_t{0}) {
    // Only Shape of the model's opset is folded.
    std::string domain(type == "Shape" ? "" : ir::kNewestDomain);
    Node* n = graph_.add_node(std::move(type), std::move(domain), inputs, 1, before_);
    if (key) n->attributes[key] = std::move(value);
    return n->output();
  }
  Value* ints(std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return graph_.add_constant("", Tensor::of<int64_t>({count}, std::move(values)));
  }
  Value* number(int64_t value) { return graph_.add_constant("", Tensor::of<int64_t>({}, {value})); }
  Value* scalar(Value* v) { return node("Reshape", {v, ints({})}); }
  Value* typed(Value* v, DType dtype) {
    return dtype == DType::s64 || dtype == DType::undefined
               ? v
               : node("CastLike", {v, graph_.add_constant("", Tensor::zeros(dtype, {}))});
  }
  // [0, 1, ..., count - 1].
  Value* counted(Value* count) { return node("Range", {number(0), scalar(count), number(1)}); }

 private:
  Graph& graph_;
  Node* before_;
};

// Values that depend on constants, shapes and the position of the row only.
class Independent {
 public:
  explicit Independent(const Graph& graph) {
    for (const Value* v : graph.inputs())
      if (v->name() != kRowInput) data_.insert(v);
    for (const Node* n : graph.nodes()) {
      if (n->is("Shape") || n->is("Size")) continue;
      const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
      const bool known = op && op->pure && !passes::has_subgraphs(*n) &&
                         std::ranges::all_of(
                             n->inputs(), [&](const Value* v) { return !v || !data_.contains(v); });
      if (!known) data_.insert(n->outputs().begin(), n->outputs().end());
    }
  }
  bool contains(const Value* v) const { return !data_.contains(v); }
  bool contains(const Node& n) const { return contains(n.output()); }

 private:
  std::unordered_set<const Value*> data_;
};

// Replaces sizes by positions.
class Positions {
 public:
  // `joined` is null if the new keys are written before attention reads the cache.
  Positions(Graph& graph, std::span<const PlacedCache> caches, const std::string& ids,
            const JoinedPlaces* joined = nullptr)
      : graph_(graph),
        caches_(caches),
        joined_(joined),
        ids_(graph.find(ids)),
        independent_(graph) {}

  template <class Border>
  std::vector<Border> run() {
    nodes_ = graph_.nodes();
    row_ = graph_.add_input(kRowInput, ir::ValueType::of(DType::s64, {}));
    for (const PlacedCache& c : caches_) {
      sizes_of(graph_.find(c.past), c.axis, true);
      sizes_of(graph_.find(c.present), c.axis, false);
    }
    if (joined_) sizes_of(graph_.find(joined_->mask), 1, false);
    std::vector<Border> borders;
    for (Node* n : nodes_) {
      if (made_.contains(n)) continue;
      if (!joined_) check_subgraphs(*n);
      const bool free = independent_.contains(*n);
      if (free) mark(*n);
      if (Value* moved = free ? moved_places(*n) : nullptr) {
        at_position_[n->output()] = moved;
        continue;
      }
      const std::vector<size_t> changed = changed_inputs(*n);
      if (free) {
        if (!changed.empty()) copy(*n, changed);
        continue;
      }
      if (joined_) {
        // The new elements of data follow its places, so sizes are the right places there.
        if (!n->is("Slice") && !n->is("Gather") && !n->is("GatherND") && !n->is("GatherElements"))
          meet(*n);
        continue;
      }
      if (n->is("Slice") && at_position_.contains(n->input(1)))
        fail(ErrorCode::unimplemented, "generation: {} cuts data at a position", n->describe());
      for (const size_t i : changed) {
        if (const auto moved = at_position_.find(n->input(i)); moved != at_position_.end())
          n->set_input(i, moved->second);
        borders.push_back({n->output()->name(), i});
      }
    }
    for (const Value* v : graph_.outputs())
      if (!joined_ && at_position_.contains(v))
        fail(ErrorCode::unimplemented, "generation: output '{}' is the size of a cache", v->name());
    return borders;
  }

  std::vector<std::pair<std::string, std::string>> numbers() && { return std::move(numbers_); }

 private:
  // Lets a node that computes with data read positions.
  void meet(Node& n) {
    const uint32_t sizes = ops::facts_of(n).shape_inputs | ops::constant_inputs(n);
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const Value* v = n.input(i);
      if (!v || !follows_size_.contains(v) || (i < 32 && (sizes >> i & 1) != 0)) continue;
      const auto moved = at_position_.find(v);
      numbers_.emplace_back(v->name(),
                            moved == at_position_.end() ? v->name() : moved->second->name());
      if (moved != at_position_.end()) n.set_input(i, moved->second);
    }
  }

  // Replaces the size that the readers of a cache's Shape get. With C places and S new tokens, the
  // model gets the size C - S of a past and C of a present.
  void sizes_of(Value* cache, size_t axis, bool is_past) {
    const std::vector<ir::Use> uses = cache->uses();
    for (const ir::Use& use : uses) {
      if (!use.node->is("Shape")) {
        if (is_past && !joined_ && !use.node->is("TensorScatter", ir::kNewestDomain))
          fail(ErrorCode::unimplemented, "generation: {} reads cache '{}' without the new tokens",
               use.node->describe(), cache->name());
        continue;
      }
      if (&use.node->graph() != &graph_)
        fail(ErrorCode::unimplemented, "generation: {} is inside of a branch or loop",
             use.node->describe());
      const auto rank = static_cast<int64_t>(cache->shape().size());
      const auto clamp = [&](int64_t at) {
        return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
      };
      const int64_t begin = clamp(use.node->int_attr("start", 0));
      const int64_t end = clamp(use.node->int_attr("end", rank));
      std::vector<int64_t> here, elsewhere;
      for (int64_t d = begin; d < end; d++) {
        here.push_back(d == static_cast<int64_t>(axis));
        elsewhere.push_back(d != static_cast<int64_t>(axis));
      }
      replace_size(*use.node, here, elsewhere, is_past);
    }
  }

  void replace_size(Node& shape, const std::vector<int64_t>& here,
                    const std::vector<int64_t>& elsewhere, bool is_past) {
    const auto nodes = graph_.nodes();
    const auto next = std::ranges::find(nodes, &shape) + 1;
    Insert insert(graph_, next == nodes.end() ? nullptr : *next);
    Value* size = shape.output();
    const std::vector<ir::Use> readers = size->uses();
    Value* added = insert.node("Gather", {insert.node("Shape", {ids_}), insert.number(1)}, "axis");
    Value* position = is_past ? row_ : insert.node("Add", {row_, added});
    Value* seen = size;
    if (is_past && !joined_)
      seen = insert.node("Sub", {size, insert.node("Mul", {added, insert.ints(here)})});
    Value* moved = insert.node("Add", {insert.node("Mul", {size, insert.ints(elsewhere)}),
                                       insert.node("Mul", {position, insert.ints(here)})});
    if (seen != size)
      for (const ir::Use& r : readers) r.node->set_input(r.input, seen);
    at_position_[seen] = moved;
    made_.insert(&shape);
    depends_.insert(seen);
    follows_size_.insert(seen);
  }

  void mark(const Node& n) {
    if (n.is("Shape") || n.is("Size") ||
        std::ranges::any_of(n.inputs(), [&](const Value* v) { return follows_size_.contains(v); }))
      follows_size_.insert(n.outputs().begin(), n.outputs().end());
    if (std::ranges::any_of(n.inputs(), [&](const Value* v) { return depends_.contains(v); }))
      depends_.insert(n.outputs().begin(), n.outputs().end());
  }

  // Inputs with numbers that depend on the size of a cache, except those that decide a shape.
  std::vector<size_t> changed_inputs(const Node& n) const {
    const uint32_t sizes = ops::facts_of(n).shape_inputs | ops::constant_inputs(n);
    const bool free = independent_.contains(n);
    std::vector<size_t> changed;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const Value* v = n.input(i);
      const bool decides = i < 32 && (sizes >> i & 1) != 0;
      if (v && !decides && (at_position_.contains(v) || (!free && depends_.contains(v))))
        changed.push_back(i);
    }
    return changed;
  }

  void check_subgraphs(const Node& n) const {
    ir::for_each_subgraph(n, [&](const Graph& sub) {
      for (const Node* inner : sub.nodes()) {
        check_subgraphs(*inner);
        for (const Value* v : inner->inputs())
          if (v && at_position_.contains(v))
            fail(ErrorCode::unimplemented, "generation: {} in {} depends on the size of a cache",
                 inner->describe(), n.describe());
      }
    });
  }

  void copy(Node& n, const std::vector<size_t>& changed) {
    std::vector<Value*> inputs(n.inputs().begin(), n.inputs().end());
    for (const size_t i : changed) inputs[i] = at_position_.at(inputs[i]);
    Node* made = graph_.add_node(n.op_type, n.domain, inputs, n.outputs().size(), &n);
    made->attributes = n.attributes;
    for (size_t i = 0; i < n.outputs().size(); i++) at_position_[n.output(i)] = made->output(i);
  }

  // The inputs of Range and Slice decide the size of the result, and its contents depend on the
  // position. Returns the result for the position, or null if the node is another one or does not
  // depend on the position.
  Value* moved_places(Node& n) {
    if (!ir::is_onnx_domain(n.domain)) return nullptr;
    const auto moved = [&](size_t i) -> Value* {
      const auto found = n.input(i) ? at_position_.find(n.input(i)) : at_position_.end();
      return found == at_position_.end() ? nullptr : found->second;
    };
    const bool is_range = n.op_type == "Range";
    if (!is_range && (n.op_type != "Slice" || n.inputs().size() < 3)) return nullptr;
    Value* start = moved(is_range ? 0 : 1);
    if (joined_ && !is_range && !cuts_a_table(n)) return nullptr;
    const bool columns = joined_ && !start && moved(is_range ? 1 : 2);
    const auto nodes = graph_.nodes();
    const auto next = std::ranges::find(nodes, &n) + 1;
    Insert insert(graph_, next == nodes.end() ? nullptr : *next);
    if (is_range) {
      if (!start && !columns) return nullptr;
      const DType dtype = n.output()->dtype();
      Value* steps = insert.counted(insert.node("Shape", {n.output()}));
      steps = insert.node("Mul", {insert.typed(steps, dtype), insert.scalar(n.input(2))});
      Value* numbers = insert.node("Add", {steps, insert.scalar(start ? start : n.input(0))});
      return columns ? of_columns(insert, numbers, dtype) : numbers;
    }
    if (columns) start = n.input(1);
    if (!start && depends_.contains(n.input(0)) && counts_from_the_end(n.input(1))) {
      // The table has a row for each place of the cache. A start that counts from its end counts
      // from the last new token instead.
      Value* added =
          insert.node("Gather", {insert.node("Shape", {ids_}), insert.number(1)}, "axis");
      start = insert.node("Add", {insert.node("Add", {row_, added}), insert.scalar(n.input(1))});
    }
    if (!start) return nullptr;
    const auto axes = n.input(3) ? axes_of(n.input(3)) : std::optional(std::vector<int64_t>{0});
    const auto steps = n.input(4) ? axes_of(n.input(4)) : std::optional(std::vector<int64_t>{1});
    if (!axes || axes->size() != 1 || !steps || steps->size() != 1 || (*steps)[0] != 1)
      fail(ErrorCode::unimplemented,
           "generation: {} cuts at a position along several axes, or with a step", n.describe());
    Value* data = moved(0) ? moved(0) : n.input(0);
    // A table may have fewer rows than there are places and new tokens.
    Value* count =
        joined_ && moved(2)
            ? insert.node("Sub", {insert.scalar(n.input(2)), insert.scalar(n.input(1))})
            : insert.node("Gather", {insert.node("Shape", {n.output()}), insert.number((*axes)[0])},
                          "axis");
    start = insert.node("Cast", {insert.scalar(start)}, "to", int64_t{7});
    Value* places = insert.node("Add", {insert.counted(count), start});
    if (columns) places = of_columns(insert, places, DType::s64);
    return insert.node("Gather", {data, places}, "axis", (*axes)[0]);
  }

  // Whether a Slice cuts an axis of a fixed size. Axes of other sizes have the layout of the places
  // and the new tokens, as data have. A Slice along several axes is not changed either.
  static bool cuts_a_table(const Node& n) {
    const auto axes = n.input(3) ? axes_of(n.input(3)) : std::optional(std::vector<int64_t>{0});
    const ir::ValueType& type = n.input(0)->type;
    if (!axes || axes->size() != 1 || !type.has_shape) return false;
    const auto rank = static_cast<int64_t>(type.shape.size());
    const int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + rank : (*axes)[0];
    return axis >= 0 && axis < rank && type.shape[static_cast<size_t>(axis)] >= 0;
  }

  // The tokens of columns of the places and the new tokens.
  Value* of_columns(Insert& insert, Value* columns, DType dtype) {
    Value* places = insert.typed(insert.number(joined_->places), dtype);
    Value* added =
        insert.node("Add", {insert.node("Sub", {columns, places}), insert.typed(row_, dtype)});
    return insert.node("Where", {insert.node("Less", {columns, places}), columns, added});
  }

  static std::optional<std::vector<int64_t>> axes_of(const Value* v) {
    if (const auto ints = ir::const_ints(v)) return ints;
    const Node* n = v->producer();
    const auto* tensor =
        n && n->is("Constant")
            ? std::get_if<Tensor>(n->find_attr("value") ? n->find_attr("value") : nullptr)
            : nullptr;
    return tensor ? std::optional(tensor->to_int64s()) : std::nullopt;
  }

  // Whether a start of a Slice is negative: a constant, or the negative of a size.
  static bool counts_from_the_end(const Value* v) {
    for (int steps = 0; v && steps < 8; steps++) {
      if (const auto known = axes_of(v)) return known->size() == 1 && (*known)[0] < 0;
      const Node* n = v->producer();
      if (!n) return false;
      if (n->is("Neg")) return true;
      if (!n->is("Unsqueeze") && !n->is("Reshape") && !n->is("Cast") && !n->is("Identity") &&
          !n->is("Squeeze"))
        return false;
      v = n->input(0);
    }
    return false;
  }

  Graph& graph_;
  std::span<const PlacedCache> caches_;
  const JoinedPlaces* joined_;
  Value* ids_;
  Value* row_ = nullptr;
  const Independent independent_;
  std::vector<Node*> nodes_;
  std::unordered_map<const Value*, Value*> at_position_;
  std::unordered_set<const Node*> made_;
  std::unordered_set<const Value*> depends_;       // on the size of a cache in any way
  std::unordered_set<const Value*> follows_size_;  // values that depend on any size and not on data
  std::vector<std::pair<std::string, std::string>> numbers_;
};

// Returns the values that depend on poprt.row and not on data.
std::unordered_set<const Value*> row_cone(const Graph& graph, const Value* row,
                                          const Independent& independent) {
  std::unordered_set<const Value*> cone = {row};
  for (const Node* n : graph.nodes())
    if (independent.contains(*n) &&
        std::ranges::any_of(n->inputs(), [&](const Value* v) { return cone.contains(v); }))
      cone.insert(n->outputs().begin(), n->outputs().end());
  return cone;
}

// Computes the numbers of each row separately and joins them where they meet data.
class Rows {
 public:
  Rows(Graph& graph, Value* row, Value* position, int64_t batch)
      : graph_(graph), independent_(graph), cone_(row_cone(graph, row, independent_)) {
    Insert insert(graph, graph.nodes().empty() ? nullptr : graph.nodes().front());
    for (int64_t r = 0; r < batch; r++) {
      Value* one =
          batch == 1 ? position : insert.node("Gather", {position, insert.number(r)}, "axis");
      rows_.emplace_back()[row] = insert.scalar(one);
    }
  }

  void run() {
    for (Node* n : graph_.nodes()) {
      if (independent_.contains(*n) && n->output() && cone_.contains(n->output())) continue;
      for (size_t i = 0; i < n->inputs().size(); i++)
        if (Value* v = n->input(i); v && cone_.contains(v)) n->set_input(i, joined(*n, i, v));
    }
  }

 private:
  Value* of_row(size_t r, Value* v) {
    if (!cone_.contains(v)) return v;
    auto& row = rows_[r];
    const auto is_missing = [&](const Value* of) {
      return cone_.contains(of) && !row.contains(of);
    };
    struct Open {
      Node* node;
      size_t next = 0;  // the first input that may be missing
    };
    std::vector<Open> open;
    if (is_missing(v)) open.push_back({v->producer()});
    while (!open.empty()) {
      Open& top = open.back();
      Node& n = *top.node;
      while (top.next < n.inputs().size() && !is_missing(n.input(top.next))) top.next++;
      if (top.next < n.inputs().size()) {
        open.push_back({n.input(top.next)->producer()});
        continue;
      }
      open.pop_back();
      std::vector<Value*> inputs;
      for (Value* in : n.inputs()) inputs.push_back(cone_.contains(in) ? row.at(in) : in);
      Node* made = graph_.add_node(n.op_type, n.domain, inputs, n.outputs().size(), &n);
      made->attributes = n.attributes;
      for (size_t i = 0; i < n.outputs().size(); i++) {
        made->output(i)->type = n.output(i)->type;
        row[n.output(i)] = made->output(i);
      }
    }
    return row.at(v);
  }

  Value* joined(Node& at, size_t input, Value* v) {
    if (rows_.size() == 1) return of_row(0, v);
    const bool mask = at.is("Attention") && input == 3;
    if (!mask && !ops::facts_of(at).per_element)
      fail(ErrorCode::unimplemented,
           "generation: {} has one position for all sequences of a batch; use one slot",
           at.describe());
    const size_t rank = mask ? 4 : at.output()->shape().size();
    auto& known = joined_[{v, rank}];
    if (known) return known;
    const auto batch = static_cast<int64_t>(rows_.size());
    const Shape& shape = v->shape();
    const bool whole = shape.size() == rank;  // `v` has the axis of the batch
    if (!v->type.is_static() || shape.size() > rank ||
        (whole && shape[0] != 1 && shape[0] != batch))
      fail(ErrorCode::unimplemented, "generation: {} cannot have a position for each sequence",
           at.describe());
    std::vector<Value*> parts;
    Insert insert(graph_, &at);
    for (int64_t r = 0; r < batch; r++) {
      Value* part = of_row(static_cast<size_t>(r), v);
      if (whole && shape[0] == batch) {
        part =
            insert.node("Slice", {part, insert.ints({r}), insert.ints({r + 1}), insert.ints({0})});
      } else if (!whole) {
        Shape wide(rank - shape.size(), 1);
        wide.insert(wide.end(), shape.begin(), shape.end());
        part = insert.node("Reshape", {part, insert.ints({wide.begin(), wide.end()})});
      }
      parts.push_back(part);
    }
    Node* all = graph_.add_node("Concat", std::string(ir::kNewestDomain), parts, 1, &at);
    all->attributes["axis"] = int64_t{0};
    return known = all->output();
  }

  struct Key {
    const Value* value;
    size_t rank;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<const void*>()(k.value) ^ k.rank; }
  };

  Graph& graph_;
  const Independent independent_;
  const std::unordered_set<const Value*> cone_;
  std::vector<std::unordered_map<const Value*, Value*>> rows_;
  std::unordered_map<Key, Value*, Hash> joined_;
};

// Hides the places of the caches after the new tokens.
class Masks {
 public:
  Masks(Graph& graph, Value* position, int64_t batch)
      : graph_(graph), position_(position), batch_(batch) {}

  void hide(const PlacedCache& cache) {
    const Value* present = graph_.find(cache.present);
    if (hide_keys(present) || is_of_values(present)) return;
    fail(ErrorCode::unimplemented,
         "generation: no Softmax of attention depends on cache '{}', so its free places cannot be "
         "hidden",
         cache.present);
  }

 private:
  static bool moves(const Node& n) {
    const ops::Facts& facts = ops::facts_of(n);
    return facts.per_element || facts.cast != ops::CastForm::none || n.is("Transpose") ||
           n.is("Reshape") || n.is("Unsqueeze") || n.is("Squeeze") || n.is("Expand") ||
           n.is("Identity");
  }

  // The uses of values in the order of a depth-first search, each of them once.
  class Uses {
   public:
    explicit Uses(const Value* first) { add(first); }
    std::optional<ir::Use> next() {
      if (open_.empty()) return std::nullopt;
      const ir::Use use = open_.back();
      open_.pop_back();
      return use;
    }
    void add(const Value* v) {
      if (seen_.insert(v).second) open_.insert(open_.end(), v->uses().rbegin(), v->uses().rend());
    }

   private:
    std::vector<ir::Use> open_;
    std::unordered_set<const Value*> seen_;
  };

  // Follows keys to their products, and scores to the Softmax.
  bool hide_keys(const Value* keys) {
    bool found = false;
    Uses uses(keys);
    while (const auto use = uses.next()) {
      if (use->node->is("MatMul")) {
        if (use->input == 1) found |= hide_scores(use->node->output());
      } else if (moves(*use->node) && use->input == 0) {
        uses.add(use->node->output());
      }
    }
    return found;
  }

  bool hide_scores(const Value* scores) {
    bool found = false;
    Uses uses(scores);
    while (const auto use = uses.next()) {
      if (use->node->is("Softmax")) {
        if (masked_.insert(use->node).second) mask(*use->node);
        found = true;
      } else if (moves(*use->node) && !use->node->is("Transpose")) {
        uses.add(use->node->output());
      }
    }
    return found;
  }

  // Whether the product with the cache has weights from a Softmax.
  static bool is_of_values(const Value* values) {
    Uses uses(values);
    while (const auto use = uses.next()) {
      if (use->node->is("MatMul") && use->input == 1) {
        const Value* v = use->node->input(0);
        for (int steps = 0; v && v->producer() && steps < 8; steps++) {
          if (v->producer()->is("Softmax")) return true;
          if (!moves(*v->producer())) break;
          const Node& n = *v->producer();
          v = n.is("Where") ? n.input(2) : n.input(0);
        }
      } else if (moves(*use->node) && use->input == 0) {
        uses.add(use->node->output());
      }
    }
    return false;
  }

  void mask(Node& softmax) {
    Value* scores = softmax.input(0);
    const Shape& shape = scores->shape();
    if (!scores->type.is_static() || shape.size() < 3 || shape.size() > 4 || shape[0] % batch_ != 0)
      fail(ErrorCode::unimplemented, "generation: {} has scores of the shape {}",
           softmax.describe(), shape_string(shape));
    Value* places = table(shape, scores->dtype());
    Node* add = scores->producer();
    // If the model adds a mask to the scores, this mask is added to that one, once for all layers
    // that share it.
    if (add && add->is("Add") && scores->uses().size() == 1)
      for (size_t i = 0; i < 2; i++) {
        Value* old = add->input(i);
        const Node* from = old->producer();
        if (old->is_constant() || !from || old->shape().empty() || old->shape() == shape ||
            from->is("MatMul") || old->shape().back() != shape.back())
          continue;
        Value*& sum = sums_[old];
        if (!sum) {
          Insert insert(graph_, following(from));
          sum = insert.node("Add", {old, places});
        }
        add->set_input(i, sum);
        scores->type.has_shape = true;
        return;
      }
    Insert insert(graph_, &softmax);
    softmax.set_input(0, insert.node("Add", {scores, places}));
  }

  Node* following(const Node* n) const {
    const auto nodes = graph_.nodes();
    const auto next = std::ranges::find(nodes, n) + 1;
    return next == nodes.end() ? nullptr : *next;
  }

  // 0 at places of tokens that a query may see, else a number that hides them.
  Value* table(const Shape& scores, DType dtype) {
    const int64_t queries = scores[scores.size() - 2], places = scores.back();
    const int64_t heads = scores.size() == 3 ? scores[0] / batch_ : 1;
    const auto rank = static_cast<int64_t>(scores.size());
    auto& known = tables_[{queries, places, heads, rank, static_cast<int64_t>(dtype)}];
    if (known) return known;
    Insert insert(graph_, graph_.nodes().front());
    const auto counted = [&](int64_t count, Shape shape) {
      std::vector<int64_t> all(static_cast<size_t>(count));
      for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<int64_t>(i);
      return graph_.add_constant("", Tensor::of<int64_t>(std::move(shape), std::move(all)));
    };
    Value* first = insert.node("Reshape", {position_, insert.ints({batch_, 1, 1, 1})});
    Value* last = insert.node("Add", {first, counted(queries, {1, 1, queries, 1})});
    Value* seen = insert.node("LessOrEqual", {counted(places, {1, 1, 1, places}), last});
    const double least = dtype == DType::f16 ? -3e4 : kHidden;
    const auto number = [&](double v) {
      Value* c = graph_.add_constant("", Tensor::of<float>({}, {static_cast<float>(v)}));
      return dtype == DType::f32
                 ? c
                 : insert.node("CastLike", {c, graph_.add_constant("", Tensor::zeros(dtype, {}))});
    };
    Value* all = insert.node("Where", {seen, number(0), number(least)});
    if (scores.size() == 3) {
      all = insert.node("Expand", {all, insert.ints({batch_, heads, queries, places})});
      all = insert.node("Reshape", {all, insert.ints({batch_ * heads, queries, places})});
    }
    return known = all;
  }

  Graph& graph_;
  Value* position_;
  const int64_t batch_;
  std::unordered_set<const Node*> masked_;
  std::unordered_map<const Value*, Value*> sums_;
  std::map<std::vector<int64_t>, Value*> tables_;
};

// Removes poprt.row after its readers were replaced.
void remove_row(Graph& graph, Value* row) {
  TokenPositions::run(graph, {"eliminate_deadend"});
  if (!row->uses().empty())
    fail(ErrorCode::unimplemented, "generation: {} needs one position for all sequences",
         row->uses()[0].node->describe());
  graph.erase_value(row);
}

// Whether `ours` has the numbers of `theirs`: an axis of `long_size` elements may have only
// `short_size` elements in `theirs`. Elements from `end` on, counted in `theirs`, are the last ones
// of the axis in `ours`, too.
bool agrees(const Tensor& ours, const Tensor& theirs, int64_t long_size, int64_t short_size,
            size_t end = SIZE_MAX) {
  const Shape &a = ours.shape(), &b = theirs.shape();
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); d++)
    if (a[d] != b[d] && (a[d] != long_size || b[d] != short_size)) return false;
  const std::vector<double> x = ours.to_doubles(), y = theirs.to_doubles();
  for (size_t i = 0; i < y.size(); i++) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t d = b.size(); d-- > 0;) {
      size_t index = rest % static_cast<size_t>(b[d]);
      rest /= static_cast<size_t>(b[d]);
      if (a[d] != b[d] && index >= end) index += static_cast<size_t>(long_size - short_size);
      at += index * stride;
      stride *= static_cast<size_t>(a[d]);
    }
    const double limit = 1e-5 * std::max(1.0, std::abs(y[i]));
    if (x[at] != y[i] && !(std::abs(x[at] - y[i]) <= limit)) return false;
  }
  return true;
}

}  // namespace
}  // namespace token_positions

TokenPositions::TokenPositions(ir::Graph& graph, std::span<const PlacedCache> caches,
                               const std::string& ids)
    : borders_(token_positions::Positions(graph, caches, ids).run<Border>()) {}

TokenPositions::TokenPositions(ir::Graph& graph, std::span<const PlacedCache> caches,
                               const std::string& ids, const JoinedPlaces& joined) {
  token_positions::Positions positions(graph, caches, ids, &joined);
  positions.run<Border>();
  numbers_ = std::move(positions).numbers();
}

std::vector<Tensor> TokenPositions::numbers_at(ir::Graph& graph,
                                               const std::vector<std::string>& names,
                                               int64_t position) {
  while (!graph.outputs().empty()) graph.remove_output(graph.outputs().size() - 1);
  for (const std::string& name : names) graph.add_output(graph.find(name));
  if (ir::Value* row = graph.find(token_positions::kRowInput))
    graph.replace_all_uses(row, graph.add_constant("", Tensor::of<int64_t>({}, {position})));
  run(graph, {"eliminate_deadend"});
  settle(graph);
  std::vector<Tensor> tensors;
  for (const ir::Value* v : graph.outputs()) {
    // A folded output is a copy of a constant.
    if (const ir::Node* n = v->producer(); n && n->is("Identity")) v = n->input(0);
    tensors.push_back(v->is_constant() ? v->constant() : Tensor());
  }
  return tensors;
}

void TokenPositions::bind_rows(ir::Graph& graph, const std::string& position, int64_t batch) {
  ir::Value* row = graph.find(token_positions::kRowInput);
  token_positions::Rows(graph, row, graph.find(position), batch).run();
  ops::infer(graph);
  token_positions::remove_row(graph, row);
}

void TokenPositions::settle(ir::Graph& graph) {
  run(graph, {"extract_constant_to_initializer", "shape_inference", "constant_folding",
              "eliminate_nop_if", "shape_inference", "constant_folding", "eliminate_deadend"});
}

void TokenPositions::run(ir::Graph& graph, std::initializer_list<const char*> names) {
  std::vector<const PassDef*> list;
  for (const char* name : names) list.push_back(&pass_of(name));
  run_passes(graph, list);
}

void TokenPositions::bind(ir::Graph& graph, std::span<const PlacedCache> caches,
                          const std::string& position, int64_t batch) const {
  ir::Value* row = graph.find(token_positions::kRowInput);
  ir::Value* given = graph.find(position);
  token_positions::Rows(graph, row, given, batch).run();
  ops::infer(graph);
  token_positions::Masks masks(graph, given, batch);
  for (const PlacedCache& c : caches) masks.hide(c);
  token_positions::remove_row(graph, row);
}

void TokenPositions::check(const ir::Graph& ours, const ir::Graph& theirs, int64_t length,
                           int64_t places) const {
  const ir::Value* row = ours.find(token_positions::kRowInput);
  const token_positions::Independent independent(ours);
  const auto nodes = ours.nodes();
  for (const Border& b : borders_) {
    const ir::Value *mine = ours.find(b.value), *other = theirs.find(b.value);
    if (!mine || !mine->producer()) continue;  // no output depends on it
    const ir::Value* at = mine->producer()->input(b.input);
    const ir::Value* wanted =
        other && other->producer() ? other->producer()->input(b.input) : nullptr;
    if (at->is_constant() && wanted && !wanted->is_constant()) wanted = nullptr;
    std::vector<ir::Node*> cone;
    std::unordered_set<const ir::Value*> needed = {at};
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n)
      if (independent.contains(**n) &&
          std::ranges::any_of((*n)->outputs(),
                              [&](const ir::Value* v) { return needed.contains(v); })) {
        cone.insert(cone.begin(), *n);
        for (const ir::Value* v : (*n)->inputs())
          if (v) needed.insert(v);
      }
    const Tensor made = at->is_constant() ? at->constant()
                        : cone.empty()
                            ? Tensor()
                            : evaluate(cone, {{row, Tensor::of<int64_t>({}, {length})}})[0];
    const int64_t keys = length + 1;
    if (!wanted || !wanted->is_constant() ||
        !token_positions::agrees(made, wanted->constant(), places, keys))
      fail(ErrorCode::unimplemented,
           "generation: the positions of '{}' could not be found, because the model computes them "
           "from the size of its caches in an unknown way; export it with the input position_ids",
           b.value);
  }
}

bool agree_in_columns(const Tensor& ours, const Tensor& theirs, const Columns& columns) {
  return ours.defined() && theirs.defined() &&
         token_positions::agrees(ours, theirs, columns.places + columns.tokens,
                                 columns.length + columns.tokens,
                                 static_cast<size_t>(columns.length));
}

void positions_from_sizes(ir::Graph& graph, ir::Value* given, ir::Value* past, size_t axis,
                          ir::Value* ids) {
  ir::Node* first = graph.nodes().front();
  const auto node = [&](const char* type, std::initializer_list<ir::Value*> inputs) {
    const std::string domain(std::string_view(type) == "Shape" ? "" : ir::kNewestDomain);
    ir::Value* v = graph.add_node(type, domain, inputs, 1, first)->output();
    v->type.dtype = DType::s64;
    return v;
  };
  const auto size = [&](ir::Value* of, int64_t at) {
    ir::Value* v = node(
        "Gather", {node("Shape", {of}), graph.add_constant("", Tensor::of<int64_t>({}, {at}))});
    v->producer()->attributes["axis"] = int64_t{0};
    return v;
  };
  ir::Value* start = size(past, static_cast<int64_t>(axis));
  ir::Value* end = node("Add", {start, size(ids, 1)});
  ir::Value* one = graph.add_constant("", Tensor::of<int64_t>({}, {1}));
  graph.replace_all_uses(given, node("Range", {start, end, one}));
  graph.erase_value(given);
}

}  // namespace poprt::passes
