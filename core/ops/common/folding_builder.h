// Makes nodes while the compiler specializes a graph (compiler/flow/specialize.h), and computes
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

// A tensor of the type that holds its greatest number, or its least; infinities of floats.
Tensor extreme(DType type, bool greatest);

// Whether the node takes or makes text, which is computed from constants only.
bool computes_text(const ir::Node& n);

// The subgraph in attribute `key`. Throws invalid_argument when the node has none.
std::shared_ptr<ir::Graph> subgraph(const ir::Node& n, std::string_view key);

// The number of nodes, those of subgraphs included.
int64_t node_count(const ir::Graph& graph);

// For one thread. Constants go into the root graph, nodes into the target, which is the root or a
// subgraph of it. Functions throw what inference throws, and resource_exhausted when more than
// `limit` steps are taken or the results that became constants grow too large together.
class FoldingBuilder {
 public:
  using Attributes = std::initializer_list<std::pair<const std::string, ir::Attribute>>;

  FoldingBuilder(ir::Graph& root, int64_t limit) : root_(root), target_(&root), limit_(limit) {}
  FoldingBuilder(const FoldingBuilder&) = delete;
  FoldingBuilder& operator=(const FoldingBuilder&) = delete;

  ir::Graph& root() { return root_; }
  ir::Graph& target() { return *target_; }
  // What names of new nodes begin with.
  const std::string& scope() const { return scope_; }
  int depth() const { return depth_; }
  // The steps so far.
  int64_t made() const { return made_; }
  // A number that no other caller gets.
  int64_t next_scope() { return scopes_++; }

  // While it lives, new nodes go into `graph`.
  struct Into {
    Into(FoldingBuilder& b, ir::Graph& graph) : builder(b), outer(b.target_) { b.target_ = &graph; }
    Into(const Into&) = delete;
    Into& operator=(const Into&) = delete;
    ~Into() {
      builder.once_.erase(builder.target_);
      builder.target_ = outer;
    }
    FoldingBuilder& builder;
    ir::Graph* const outer;
  };

  // While it lives, names of nodes begin with the name of a body. This also holds when an error
  // ends it: attempts that fail are followed by others.
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

  // Counts work that takes time or memory: unrolling is bounded.
  void step();

  // A new node in the target, or the constants that it makes of constants.
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
  // A new node, or the one that the target already has for the same inputs: equal sizes are one
  // value. size_of() is that for arithmetic with sizes.
  ir::Value* once(const std::string& op, const std::string& domain,
                  std::initializer_list<ir::Value*> inputs);
  ir::Value* size_of(const std::string& op, ir::Value* a, ir::Value* b);
  // Forgets what once() made in the target, for nodes that are erased.
  void forget_once() { once_.erase(target_); }

  // Infers a node of the target and folds it when it can: then the node is erased. Returns what
  // replaces its outputs.
  std::vector<ir::Value*> finish(ir::Node* n);
  void count_folded(uint64_t bytes);

  ir::Value* constant(const Tensor& t) { return root_.add_constant("", t); }
  ir::Value* integers(std::span<const int64_t> v) {
    return constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  }
  ir::Value* integer(int64_t v) { return constant(Tensor::scalar(v)); }
  // s64 [count]: 0, 1 ... count - 1.
  ir::Value* places(int64_t count);
  ir::Value* reshape(ir::Value* v, Shape shape);
  ir::Value* slice_at(ir::Value* v, ir::Value* index, int64_t axis) {
    return make1("Gather", {v, index}, {{"axis", axis}});
  }
  ir::Value* stack(const std::vector<ir::Value*>& parts, int64_t axis);
  ir::Value* transpose(ir::Value* v, std::vector<int64_t> perm) {
    return make1("Transpose", {v}, {{"perm", std::move(perm)}});
  }
  // A value that the target may hand out: `v`, or an Identity of it.
  ir::Value* own(ir::Value* v);

 private:
  ir::Graph& root_;
  ir::Graph* target_;
  std::string scope_;
  int64_t scopes_ = 0, made_ = 0;
  const int64_t limit_;
  uint64_t folded_ = 0;
  int depth_ = 0;
  std::unordered_map<int64_t, ir::Value*> places_;  // by count
  // What once() made, by graph.
  std::unordered_map<const ir::Graph*, std::unordered_map<std::string, ir::Value*>> once_;
};

}  // namespace poprt::ops
