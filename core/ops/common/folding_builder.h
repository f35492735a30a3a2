// Creates nodes while the compiler specializes a graph (compiler/flow/specialize.h), and computes
// those whose inputs are constant.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace poprt::ops {

// A tensor with the greatest or the least number of the type; for floats, an infinity.
Tensor extreme(DType type, bool greatest);

// Whether the node reads or produces text. Text is computed from constants only.
bool computes_text(const ir::Node& n);

// The subgraph in attribute `key`. Throws invalid_argument if the node has none.
std::shared_ptr<ir::Graph> subgraph(const ir::Node& n, std::string_view key);

// The number of nodes, including those of subgraphs.
int64_t node_count(const ir::Graph& graph);

// Not thread-safe. Constants are added to the root graph, nodes to the target, which is the root or
// a subgraph of it. Functions throw the errors of inference, resource_exhausted if more than
// `limit` steps are taken or the results that became constants are too large together, and
// unimplemented for text or an image that depends on a value that is not constant.
class FoldingBuilder {
 public:
  using Attributes = std::initializer_list<std::pair<const std::string, ir::Attribute>>;

  FoldingBuilder(ir::Graph& root, int64_t limit) : root_(root), target_(&root), limit_(limit) {}
  FoldingBuilder(const FoldingBuilder&) = delete;
  FoldingBuilder& operator=(const FoldingBuilder&) = delete;

  ir::Graph& root() { return root_; }
  ir::Graph& target() { return *target_; }
  // The prefix of the names of new nodes.
  const std::string& scope() const { return scope_; }
  int depth() const { return depth_; }
  // The number of steps so far.
  int64_t made() const { return made_; }
  // Returns a different number for each call.
  int64_t next_scope() { return scopes_++; }

  // During its lifetime, new nodes are added to `graph`.
  struct Into {
    Into(FoldingBuilder& b, ir::Graph& graph) : builder(b), outer(b.target_) { b.target_ = &graph; }
    Into(const Into&) = delete;
    Into& operator=(const Into&) = delete;
    ~Into() {
      builder.shared_nodes_.erase(builder.target_);
      builder.target_ = outer;
    }
    FoldingBuilder& builder;
    ir::Graph* const outer;
  };

  // During its lifetime, names of nodes begin with the name of a body. The destructor restores the
  // old prefix also after an error, because another attempt may follow.
  struct Scope {
    Scope(FoldingBuilder& b, const ir::Graph& body);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      builder.scope_ = outer;
      builder.depth_--;
    }
    FoldingBuilder& builder;
    const std::string outer;
  };

  // Counts work that takes time or memory, to bound unrolling.
  void step();

  // Adds a node to the target, or returns the constants that it computes from constants.
  std::vector<ir::Value*> make(const std::string& op, const std::string& domain,
                               std::span<ir::Value* const> inputs, Attributes attributes = {},
                               size_t outputs = 1);
  ir::Value* make1(const std::string& op, std::initializer_list<ir::Value*> inputs,
                   Attributes attributes = {}, const std::string& domain = "") {
    return make(op, domain, std::span<ir::Value* const>(inputs.begin(), inputs.size()),
                attributes)[0];
  }
  // The same for an operator of ai.onnx in its newest version (ir/newest.h).
  ir::Value* newest(const std::string& op, std::initializer_list<ir::Value*> inputs,
                    Attributes attributes = {});
  // Returns the result of a node that find_or_make() has added to the target for the same inputs,
  // or of a new one, so that equal sizes are one value. size_of() uses it for arithmetic with
  // sizes.
  ir::Value* find_or_make(const std::string& op, const std::string& domain,
                          std::initializer_list<ir::Value*> inputs);
  ir::Value* size_of(const std::string& op, ir::Value* a, ir::Value* b);
  // Forgets the nodes that find_or_make() added to the target, because they are erased.
  void forget_made() { shared_nodes_.erase(target_); }

  // Infers a node of the target. If its inputs are constant and its results are not too large,
  // computes the results and erases the node. Returns the values that replace its outputs.
  std::vector<ir::Value*> finish(ir::Node* n);
  void count_folded(uint64_t bytes);

  ir::Value* constant(const Tensor& t) { return root_.add_constant("", t); }
  ir::Value* integers(std::span<const int64_t> v) {
    return constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  }
  ir::Value* integer(int64_t v) { return constant(Tensor::scalar(v)); }
  // s64 [count]: 0, 1 ... count - 1.
  ir::Value* indices(int64_t count);
  ir::Value* reshape(ir::Value* v, Shape shape);
  ir::Value* slice_at(ir::Value* v, ir::Value* index, int64_t axis) {
    return make1("Gather", {v, index}, {{"axis", axis}});
  }
  ir::Value* stack(const std::vector<ir::Value*>& parts, int64_t axis);
  ir::Value* transpose(ir::Value* v, std::vector<int64_t> perm) {
    return make1("Transpose", {v}, {{"perm", std::move(perm)}});
  }
  // A value that may be an output of the target: `v`, or an Identity of it.
  ir::Value* as_output(ir::Value* v);

 private:
  ir::Graph& root_;
  ir::Graph* target_;
  std::string scope_;
  int64_t scopes_ = 0, made_ = 0;
  const int64_t limit_;
  uint64_t folded_ = 0;
  int depth_ = 0;
  std::unordered_map<int64_t, ir::Value*> indices_;  // by count
  // The nodes that find_or_make() added, by graph.
  std::unordered_map<const ir::Graph*, std::unordered_map<std::string, ir::Value*>> shared_nodes_;
};

}  // namespace poprt::ops
