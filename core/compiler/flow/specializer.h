// The implementation of specialize() for one model: specialize.cpp walks over the graph,
// specializer.cpp copies nodes and tracks sizes, size_ranges.cpp handles numbers that depend on
// sizes, branches.cpp and loops.cpp convert If and Loop for the device. OpDef::bound and
// OpDef::resolve define how each operator is replaced.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/compiler.h"
#include "compiler/declared_types.h"
#include "ir/graph.h"
#include "ops/bound.h"
#include "ops/op.h"
#include "ops/resolve.h"

namespace poprt::compiler {

using ops::Item;
using ops::Items;
using ops::LoopSpec;

inline constexpr int64_t kMaxNodes = 1 << 19;  // limit of the nodes that unrolling adds

class Specializer {
 public:
  Specializer(ir::Graph& root, const Options& options, const DeclaredTypes& declared)
      : root_(root),
        options_(options),
        declared_(declared),
        build_(root, kMaxNodes + 4 * ops::node_count(root)) {}

  // Whether `graph` contains something that a static device does not support.
  static bool has_work(const ir::Graph& graph);
  void run();

 private:
  class Resolver;  // the context of OpDef::resolve

  Item item_of(const ir::Value* v) const;
  Items items_of(std::span<ir::Value* const> values) const;
  // Sets the result for an output and checks it against the declared type.
  void set_output(const ir::Node& n, size_t output, Item item);
  // Gives the value of `item` the name of result `output` of `n` in the model, if a Loop or an If
  // that remains in the graph computes it.
  void name_result(const ir::Node& n, size_t output, const Item& item);
  void take_constants(const ir::Graph& graph);

  // -- specializer.cpp: nodes that stay -----------------------------------------------------------
  void run_node(const ir::Node& n);
  void copy_node(const ir::Node& n);
  // Gives a range to the numbers of shape inputs whose effect the operator limits.
  void limit_shape_inputs(const ir::Node& n, Items& in);
  // The item of the value with this name, with the bound that Options::max_size states for it.
  Item limited(const ir::Value& named, Item item);
  // The value, checked in each run to be at most `most`.
  ir::Value* checked_size(ir::Value* v, int64_t most, const std::string& name, bool option);
  std::optional<int64_t> max_size_of(const ir::Value& v) const;
  bool counts_truths(const ir::Node& n, const Items& in) const;
  void set_truths(const ir::Node& n, const Items& in);
  void copy_with(const ir::Node& n, Items in);
  ops::BoundResult bound_of(const ir::Node& n, Items& in);
  ir::Node* copy_of(const ir::Node& n, const std::vector<ir::Value*>& in);
  // Copies the node with these inputs. Returns its results.
  Items results_of(const ir::Node& n, Items in);
  // Adds a node of ai.onnx, whose inputs may have sizes. Returns result 0.
  Item apply(const std::string& op, const Items& in, ops::FoldingBuilder::Attributes attributes);
  // Copies a node that has OpDef::resolve into the converted ONNX model.
  ir::Node* keep_node(const ir::Node& n, const Items& in);
  ir::Value* kept_value(const ir::Node& n, const Item& item);
  std::shared_ptr<ir::Graph> kept_body(const ir::Graph& body);
  static bool has_sizes(const ir::Node& n, const Items& in);
  static bool reads_actual(const ir::Node& n, const Items& in);

  // -- size_ranges.cpp ----------------------------------------------------------------------------
  // The range of a constant or of a value computed from sizes (Item::actual); nothing for others.
  std::optional<ops::SizeRange> range_of(const ir::Value* v) const;
  // Removes the ranges of ranged_[since] and later values, which are erased with an attempt.
  void forget_ranges(size_t since);
  // The item for `actual` with this range; a constant if the range has one value.
  Item in_range(ir::Value* actual, const ops::SizeRange& range);
  // The range of a loop state after up to `rounds` rounds, if each round adds to it, or subtracts
  // from it, a number with a range.
  std::optional<ops::SizeRange> range_after(const Item& first, const ir::Value* before,
                                            const ir::Value* after, int64_t rounds);
  // The range of a value that is either a or b.
  std::optional<ops::SizeRange> either(const ir::Value* a, const ir::Value* b);
  // The range of each output of a node that computes with sizes, or nothing if no bound is known.
  std::optional<std::vector<ops::SizeRange>> ranges_of(const ir::Node& n, const Items& in);
  std::optional<std::vector<ir::Value*>> constant_results(const ir::Node& n, const Items& in);
  // Whether `results`, which the node computes from the constants `in`, exceed their type.
  bool overflows(const ir::Node& n, const Items& in, const std::vector<ir::Value*>& results);

  // -- specialize.cpp: bodies ---------------------------------------------------------------------
  // Does not run the nodes in `made`, whose results are known.
  Items run_body(const ir::Graph& body, const Items& inputs, const ops::NodeSet& made = {});
  // Runs the nodes of a body whose results are equal in every iteration, for run_body.
  ops::NodeSet run_invariant(const ir::Graph& body);
  void set_outputs(const std::vector<ir::Value*>& old);
  void take_real_places();

  // -- branches.cpp -------------------------------------------------------------------------------
  struct Branch {
    std::shared_ptr<ir::Graph> graph;
    Items results;
  };
  void run_branches(Resolver& node, ir::Value* condition, const ir::Graph& yes,
                    const ir::Graph& no);
  static std::optional<size_t> uneven_axis(const Item& a, const Item& b);
  std::optional<Item> empty_like(const Item& a, const Item& b);
  Items padded_to_bound(const Item& item, size_t axis, int64_t bound);
  void join_branches(Resolver& node, ir::Value* condition, Branch& yes, Branch& no);

  // -- loops.cpp ----------------------------------------------------------------------------------
  bool limit_rounds(LoopSpec& loop);
  Items iterate(Resolver& node, LoopSpec loop);
  std::optional<Items> unroll(Resolver& node, const LoopSpec& loop, std::optional<int64_t> count,
                              int64_t limit);
  void discard_attempt(const ir::Node& n, size_t before, size_t ranged);
  Items loop_on_device(Resolver& node, const LoopSpec& loop, bool limited);
  struct LoopBody {
    std::shared_ptr<ir::Graph> graph;
    std::vector<ir::ValueType> types;                   // of the states after an iteration
    bool ends_early = false;                            // the loop may end before the trip count
    bool counts = false;                                // the last state counts the iterations
    std::vector<std::optional<ops::SizeRange>> ranges;  // of the states after the loop
  };
  LoopBody loop_body(Resolver& node, const LoopSpec& loop, const std::vector<ir::ValueType>& types);
  LoopBody widened_body(Resolver& node, const LoopSpec& loop, std::vector<ir::ValueType> types);
  // Whether the bound of the trip count replaces it.
  bool bounds_count(const LoopSpec& loop) const;
  // Throws if scan outputs have no bound.
  void check_rounds(Resolver& node, const LoopSpec& loop, bool ends_early) const;

  ir::Graph& root_;
  const Options& options_;
  const DeclaredTypes& declared_;
  ops::FoldingBuilder build_;
  std::unordered_set<const ir::Node*> long_loops_;  // loops that are too long to unroll
  std::unordered_map<const ir::Value*, Item> items_;
  std::unordered_map<const ir::Value*, ops::SizeRange> ranges_;  // keys: Item::actual
  std::vector<const ir::Value*> ranged_;  // the keys of ranges_, in order of insertion
  std::unordered_set<const ir::Value*> request_sizes_;     // from Options::real_places
  std::vector<std::pair<ir::Value*, std::string>> names_;  // new values and the names that they get
};

// The context that OpDef::resolve uses for one node.
class Specializer::Resolver final : public ops::ResolveContext {
 public:
  Resolver(Specializer& s, const ir::Node& n)
      : ResolveContext(n, s.items_of(n.inputs()), s.build_), s_(s) {}

  void set_output(size_t output, Item item) override {
    s_.name_result(node, output, item);
    s_.set_output(node, output, std::move(item));
  }
  Items run_body(const ir::Graph& body, const Items& inputs, const ops::NodeSet& made) override {
    return s_.run_body(body, inputs, made);
  }
  ops::NodeSet run_invariant(const ir::Graph& body) override { return s_.run_invariant(body); }
  Items iterate(const LoopSpec& loop) override { return s_.iterate(*this, loop); }
  void branch(ir::Value* condition, const ir::Graph& yes, const ir::Graph& no) override {
    s_.run_branches(*this, condition, yes, no);
  }
  bool keeps_onnx() const override { return s_.options_.keep_onnx; }
  void keep(const ir::ValueType& type) override;
  void keep_sequence(const ir::ValueType& element) override;
  Item apply(const std::string& op, const Items& inputs,
             ops::FoldingBuilder::Attributes attributes) override {
    return s_.apply(op, inputs, attributes);
  }

 private:
  Specializer& s_;
};

}  // namespace poprt::compiler
