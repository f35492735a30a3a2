// The run of specialize() over one model. Its parts: specialize.cpp walks over the graph;
// specializer.cpp makes and folds new nodes; sized.cpp and sized_rules.cpp follow sizes that depend
// on data,
// size_ranges.cpp numbers made of them, sized_shapes.cpp operators that such numbers give a shape;
// branches.cpp, loops.cpp, scan.cpp, sequences.cpp and flex_attention.cpp resolve the operators
// they are named after, search.h those that generate text; data_sizes.cpp bounds results whose size
// depends on data.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/compiler.h"
#include "compiler/declared_types.h"
#include "compiler/flow/item.h"
#include "ir/graph.h"
#include "ops/facts.h"

namespace poprt::compiler {

inline constexpr int64_t kMaxNodes = 1 << 19;  // that unrolling adds to a model

bool is_standard(const ir::Node& n);          // of ai.onnx
bool makes_unknown_sizes(const ir::Node& n);  // the sizes of its result depend on data
bool is_text(const ir::Node& n);
// Inputs that say what shape a result has: constants, or computed from bounds.
bool decides_shape(const ir::Node& n, size_t input);

// The greatest number of the type, or the least; infinities of floats.
Tensor extreme(DType type, bool greatest);

// Throws invalid_argument when `n` has no such attribute.
std::shared_ptr<ir::Graph> subgraph(const ir::Node& n, std::string_view key);
// With those of subgraphs.
int64_t node_count(const ir::Graph& graph);
std::optional<int64_t> constant_integer(const Item& item);
// Of the dimensions from one to before another.
int64_t product(const Shape& s, size_t from, size_t to);

class Specializer {
 public:
  Specializer(ir::Graph& root, const Options& options, const DeclaredTypes& declared)
      : root_(root),
        target_(&root),
        options_(options),
        declared_(declared),
        limit_(kMaxNodes + 4 * node_count(root)) {}

  // Something is in `graph` that a static device has not.
  static bool has_work(const ir::Graph& graph);
  void run();

 private:
  friend class Search;
  using Items = std::vector<Item>;
  using Attributes = std::initializer_list<std::pair<const std::string, ir::Attribute>>;

  // One round of a loop body: from index, condition and states to condition, states and scan parts.
  using Round = std::function<Items(ir::Value* index, ir::Value* condition, const Items& states)>;
  struct LoopSpec {
    const ir::Node* node;
    Item count, condition;
    Items states;
    size_t scans = 0;
    int64_t body_nodes = 0;
    Round round;
  };

  // While it lives, new nodes go into `graph`.
  struct Into {
    Into(Specializer& s, ir::Graph& graph) : specializer(s), outer(s.target_) {
      s.target_ = &graph;
    }
    Into(const Into&) = delete;
    Into& operator=(const Into&) = delete;
    ~Into() {
      specializer.once_.erase(specializer.target_);
      specializer.target_ = outer;
    }
    Specializer& specializer;
    ir::Graph* const outer;
  };

  // While it lives, nodes are those of a body: their names begin with its own. Also when an error
  // leaves: attempts that fail are followed by others.
  struct Scope {
    Scope(Specializer& s, const ir::Graph& body) : specializer(s), outer(s.scope_) {
      s.scope_ = fmt::format("{}{}_{}/", outer, body.name.substr(0, 16), s.scopes_++);
      s.depth_++;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      specializer.scope_ = outer;
      specializer.depth_--;
    }
    Specializer& specializer;
    const std::string outer;
  };

  Item item_of(const ir::Value* v) const {
    if (!v) return {};
    if (v->is_constant() && &v->graph() == &root_) return Item::of(const_cast<ir::Value*>(v));
    const auto it = items_.find(v);
    if (it == items_.end())
      fail(ErrorCode::invalid_argument, "value '{}' is read before it is made", v->name());
    return it->second;
  }
  Items items_of(std::span<ir::Value* const> values) const {
    Items items;
    for (const ir::Value* v : values) items.push_back(item_of(v));
    return items;
  }
  // What became of an output, which must be what the model declares.
  void give(const ir::Node& n, size_t output, Item item) {
    if (output >= n.outputs().size()) return;
    const ir::Value& v = *n.output(output);
    if (item.kind == Item::Kind::tensor)
      declared_.check(v, item.value->type, item.size ? std::optional(item.axis) : std::nullopt);
    else if (item.kind == Item::Kind::sequence)
      declared_.check_sequence(v, item.elements);
    items_[&v] = std::move(item);
  }

  void take_constants(const ir::Graph& graph) {
    if (&graph == &root_) return;
    for (const ir::Value* v : graph.values())
      if (v->is_constant() && !items_.contains(v))
        items_[v] = Item::of(root_.add_constant(v->name(), v->constant()));
  }

  using Handler = void (Specializer::*)(const ir::Node&);
  // What resolves an operator; null: it stays.
  static Handler handler_of(const ir::Node& n);
  void run_node(const ir::Node& n);
  void copy_node(const ir::Node& n);
  void bound_sizes(const ir::Node& n, ir::Node* made);

  // What becomes of a node's sizes.
  struct SizedResult {
    ir::Value* size = nullptr;  // of the results along `axis`; null: all is real
    size_t axis = 0;
    std::function<ir::Value*(ir::Value*)> after = {};  // turns result 0 into the final one
    ir::Value* whole = nullptr;                        // the result: no node is needed
  };
  static bool has_sizes(const ir::Node& n, const Items& in);
  static bool reads_actual(const ir::Node& n, const Items& in);
  static Item actual_of(const Item& item);
  static Items actual_of(Items items);
  void copy_with(const ir::Node& n, Items in);

  // The least and the most that each element of an output can be, both constants.
  struct Range {
    ir::Value *least, *most;
  };
  // One element of a shape: `actual` is null when it is always `most`.
  struct Extent {
    int64_t least, most;
    ir::Value* actual;
  };
  // Of each output of a node that computes with sizes; nothing when no bound is known.
  std::optional<std::vector<Range>> ranges_of(const ir::Node& n, const Items& in);
  std::optional<std::vector<ir::Value*>> constant_results(const ir::Node& n, const Items& in);
  std::optional<Range> range_of_equal(const ir::Node& n, const Items& in);
  std::optional<Range> range_of_mod(const ir::Node& n, const Items& in);
  std::vector<Extent> extents(const ir::Node& n, const Item& item);
  ir::Value* element_of(ir::Value* v, int64_t k);
  // A new node, or the one that the same graph has already for the same inputs: equal sizes are
  // one value. size_of is that for arithmetic with sizes, in the newest opset.
  ir::Value* once(const std::string& op, const std::string& domain,
                  std::initializer_list<ir::Value*> inputs);
  ir::Value* size_of(const std::string& op, ir::Value* a, ir::Value* b);

  // A rule of ops::SizeRule: fills what must not count, and says what is real of the results.
  using Rule = SizedResult (Specializer::*)(const ir::Node& n, Items& in);
  static Rule rule_of(ops::SizeRule rule);
  SizedResult follow(const ir::Node& n, Items& in);
  SizedResult refuse_sizes(const ir::Node& n, const Items& in, size_t from = 0) const;
  ir::Value* real_places(const Item& x, size_t axis, ir::Value* at);
  SizedResult follow_unruled(const ir::Node& n, Items& in);
  SizedResult follow_non_max_suppression(const ir::Node& n, Items& in);
  SizedResult follow_transpose(const ir::Node& n, Items& in);
  SizedResult follow_squeeze(const ir::Node& n, Items& in);
  SizedResult follow_unsqueeze(const ir::Node& n, Items& in);
  SizedResult follow_flatten(const ir::Node& n, Items& in);
  SizedResult follow_gather(const ir::Node& n, Items& in);
  SizedResult follow_gather_elements(const ir::Node& n, Items& in);
  SizedResult follow_gather_nd(const ir::Node& n, Items& in);
  SizedResult follow_compress(const ir::Node& n, Items& in);
  SizedResult follow_non_zero(const ir::Node& n, Items& in);
  SizedResult follow_softmax(const ir::Node& n, Items& in);
  SizedResult follow_cumulative(const ir::Node& n, Items& in);
  SizedResult follow_normalization(const ir::Node& n, Items& in);
  SizedResult follow_pad(const ir::Node& n, Items& in);
  SizedResult follow_split(const ir::Node& n, Items& in);
  SizedResult follow_one_hot(const ir::Node& n, Items& in);
  SizedResult follow_roi_align(const ir::Node& n, Items& in);
  SizedResult follow_grid_sample(const ir::Node& n, Items& in);
  SizedResult follow_range(const ir::Node& n, Items& in);
  SizedResult follow_constant_of_shape(const ir::Node& n, Items& in);
  SizedResult follow_expand(const ir::Node& n, Items& in);
  SizedResult follow_tile(const ir::Node& n, Items& in);
  SizedResult follow_elementwise(const ir::Node& n, Items& in);
  SizedResult follow_reduced(const ir::Node& n, Items& in, std::vector<int64_t> axes,
                             const Tensor& filling);
  SizedResult follow_reduction(const ir::Node& n, Items& in);
  SizedResult follow_reduce_mean(const ir::Node& n, Items& in);
  SizedResult follow_arg(const ir::Node& n, Items& in);
  SizedResult follow_reshape(const ir::Node& n, const Item& x, std::vector<Extent> to);
  SizedResult follow_reshape_node(const ir::Node& n, Items& in);
  SizedResult follow_slice(const ir::Node& n, Items& in);
  SizedResult slice_axis(const Item& x, const Extent& start, const Extent& end, int64_t step);
  SizedResult follow_concat(const ir::Node& n, Items& in);
  SizedResult follow_scatter(const ir::Node& n, Items& in);

  // Sizes that meet in one axis of a result: equal, or one that is repeated.
  struct Meeting {
    ir::Value* size = nullptr;  // null: all is real
    int64_t bound = 0;
  };
  // The places `index` of x's axis.
  ir::Value* gathered(const Item& x, ir::Value* index) {
    return slice_at(x.value, index, static_cast<int64_t>(x.axis));
  }
  // x with `bound` places along its sized axis, of which x.size are real.
  ir::Value* with_bound(const Item& x, int64_t bound);
  // x as it is repeated for `meeting`, along its sized axis.
  ir::Value* met(const Item& x, const Meeting& meeting);
  Meeting meet(std::span<const Meeting> all);
  Item compacted(const Item& x);
  ir::Value* from_front(const Item& at, ir::Value* size);
  SizedResult follow_matmul(const ir::Node& n, Items& in);
  SizedResult follow_top(const ir::Node& n, Items& in);
  void give_actual(const ir::Node& n, const Item& x);
  ir::Value* filled(const Item& item, const Tensor& filling);
  ir::Value* zero_filled(const Item& item);
  [[noreturn]] void refuse_size(const ir::Node& n, const Item& item) const;
  [[noreturn]] void refuse_shape(const ir::Node& n, const Item& item) const;
  std::vector<int64_t> constant_ints(const ir::Node& n, const Items& in, size_t i) const;
  std::vector<int64_t> axes_of(const ir::Node& n, const Items& in, size_t input, size_t rank) const;
  ir::Value* newest(const std::string& op, std::initializer_list<ir::Value*> inputs,
                    Attributes attributes = {});
  ir::Value* places(int64_t count);

  using Nodes = std::unordered_set<const ir::Node*>;
  // Without the nodes in `made`, whose results are known from before.
  Items run_body(const ir::Graph& body, const Items& inputs, const Nodes& made = {});
  // Runs those nodes of a body whose results are the same in every round, for run_body.
  Nodes run_invariant(const ir::Graph& body);
  void run_call(const ir::Node& n);
  void run_if(const ir::Node& n);
  struct Branch {
    std::shared_ptr<ir::Graph> graph;
    Items results;
  };
  static std::optional<size_t> uneven_axis(const Item& a, const Item& b);
  std::optional<Item> empty_like(const Item& a, const Item& b);
  Items bounded(const Item& item, size_t axis, int64_t bound);
  void join_branches(const ir::Node& n, ir::Value* condition, Branch& yes, Branch& no);
  void run_loop(const ir::Node& n);
  void run_scan(const ir::Node& n);
  void run_container(const ir::Node& n);
  void run_sequence_map(const ir::Node& n);
  void run_split(const ir::Node& n);
  void run_concat(const ir::Node& n);
  void run_flex_attention(const ir::Node& n);
  void run_search(const ir::Node& n);

  // The iteration number or the condition, which a loop's body may declare as tensors of one
  // element.
  ir::Value* as_declared(const ir::Value& input, ir::Value* scalar);
  Items iterate(const LoopSpec& loop);
  std::optional<Items> unroll(const LoopSpec& loop, std::optional<int64_t> count, int64_t limit);
  Items loop_on_device(const LoopSpec& loop);
  struct LoopBody {
    std::shared_ptr<ir::Graph> graph;
    std::vector<ir::ValueType> types;  // of the states after a round
    bool ends_early = false;           // there may be fewer rounds than the trip count
    bool counts = false;               // the last state counts them
  };
  LoopBody loop_body(const LoopSpec& loop, const std::vector<ir::ValueType>& types);
  LoopBody widened_body(const LoopSpec& loop, std::vector<ir::ValueType> types);
  // Throws when the device cannot run so many rounds, or scan outputs have no bound.
  void check_rounds(const LoopSpec& loop, bool ends_early) const;
  Items scan(const ir::Node& n, const ir::Graph& body, const Items& states,
             const std::vector<ir::Value*>& scanned, std::span<const int64_t> axes,
             std::span<const int64_t> reversed, int64_t length, size_t scans);

  // Everything that takes time or memory counts: unrolling is bounded work.
  void step() {
    if (++made_ > limit_)
      fail(ErrorCode::resource_exhausted,
           "unrolled control flow takes more than {} steps; large loops need static shapes",
           limit_);
  }

  // New nodes in the graph at hand, folded when everything is constant.
  std::vector<ir::Value*> make(const std::string& op, const std::string& domain,
                               std::span<ir::Value* const> inputs, Attributes attributes = {},
                               size_t outputs = 1);
  ir::Value* make1(const std::string& op, std::initializer_list<ir::Value*> inputs,
                   Attributes attributes = {}, const std::string& domain = "") {
    return make(op, domain, std::span<ir::Value* const>(inputs.begin(), inputs.size()),
                attributes)[0];
  }
  // Infers a new node, and folds it when it can. Returns what stands for its outputs.
  std::vector<ir::Value*> finish(ir::Node* n);
  // Throws resource_exhausted when the results that became constants grow too large together.
  void count_folded(uint64_t bytes);
  ir::Value* constant(const Tensor& t) { return root_.add_constant("", t); }
  ir::Value* integers(std::span<const int64_t> v) {
    return constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  }
  ir::Value* integer(int64_t v) { return constant(Tensor::scalar(v)); }
  ir::Value* reshape(ir::Value* v, Shape shape);
  ir::Value* slice_at(ir::Value* v, ir::Value* index, int64_t axis) {
    return make1("Gather", {v, index}, {{"axis", axis}});
  }
  ir::Value* stack(const std::vector<ir::Value*>& parts, int64_t axis);
  ir::Value* transpose(ir::Value* v, std::vector<int64_t> perm) {
    return make1("Transpose", {v}, {{"perm", std::move(perm)}});
  }
  // A value that the subgraph at hand may hand out.
  ir::Value* own(ir::Value* v);

  ir::Value* tensor(const ir::Node& n, const Item& item, std::string_view what) const;
  const ir::Value* static_tensor(const ir::Node& n, const Item& item, std::string_view what) const;
  // A control value that the device reads.
  void scalar_input(const ir::Node& n, const ir::Value* v, DType dtype,
                    std::string_view what) const {
    // In a model that stays ONNX a shape may be unknown.
    if (v && v->dtype() == dtype && options_.keep_onnx && !v->type.is_static()) return;
    if (v && (v->dtype() != dtype || !v->type.is_static() || element_count(v->shape()) != 1))
      fail_at(n, ErrorCode::invalid_argument, "{} is {}, expected one {}", what,
              ir::type_string(v->type), dtype_name(dtype));
  }
  int64_t position(const ir::Node& n, const Item& item, int64_t size, bool insert) const;
  using Elements = std::vector<ir::Value*>;
  Elements sequence_of(const ir::Node& n, const Items& in, size_t i) const;
  // What SequenceAt, SequenceInsert and SequenceErase give; a position that is left out is the end.
  Item at_of(const ir::Node& n, const Elements& elements, const Item& at);
  Item inserted(const ir::Node& n, Elements elements, ir::Value* element, const Item& at);
  Item erased(const ir::Node& n, Elements elements, const Item& at);
  // Whether a sequence of these elements can be changed at a place that only a run knows.
  bool is_edited_at_run_time(const Item& at, const Elements& elements) const;
  // Elements of one shape in the order that row `position` of a table has.
  Elements pick(const Elements& elements, ir::Value* position, const Tensor& rows);

  template <class... Args>
  [[noreturn]] void fail_at(const ir::Node& n, ErrorCode code, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(code, "{} (opset {}): {}", n.describe(), n.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  void set_outputs(const std::vector<ir::Value*>& old);

  ir::Graph& root_;
  ir::Graph* target_;
  const Options& options_;
  const DeclaredTypes& declared_;
  std::string scope_;
  int64_t scopes_ = 0, made_ = 0;
  int64_t limit_;
  uint64_t folded_ = 0;
  int64_t rounds_ = 1;                              // of the loops around, as far as constants tell
  std::unordered_set<const ir::Node*> long_loops_;  // too long to be unrolled
  int depth_ = 0;
  std::unordered_map<const ir::Value*, Item> items_;
  std::unordered_map<int64_t, ir::Value*> places_;  // by count
  // What once() made, by graph; forgotten with nodes that are erased.
  std::unordered_map<const ir::Graph*, std::unordered_map<std::string, ir::Value*>> once_;
  std::vector<std::pair<ir::Value*, std::string>>
      names_;  // new values and the names they take over
};

}  // namespace poprt::compiler
