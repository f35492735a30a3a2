// Operators that a static device does not support: sequences, optionals and control flow.
//
// While the compiler specializes a graph, OpDef::resolve replaces such a node by supported ones: a
// sequence by the tensors that it contains, a branch with a constant condition by its nodes, Scan
// by Loop. The hook reads and sets items (ops/item.h). The compiler runs bodies, loops and branches
// (compiler/flow).
#pragma once

#include <fmt/format.h>

#include <functional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/common/folding_builder.h"
#include "ops/item.h"

namespace poprt::ops {

// One round of a loop body: from index, condition and states to condition, states and scan parts.
using Round = std::function<Items(ir::Value* index, ir::Value* condition, const Items& states)>;

struct LoopSpec {
  const ir::Node* node;
  // An s64 and a bool scalar; none: no limit, and true. A count that depends on data may have a
  // bound (Item::actual).
  Item count, condition;
  Items states;      // numbers computed from sizes have bounds (Item::actual)
  size_t scans = 0;  // the number of scan parts of each round; they are stacked along a new axis 0
  int64_t body_nodes = 0;  // the number of nodes of a round
  Round round;
};

// Nodes of a body whose results are already known.
using NodeSet = std::unordered_set<const ir::Node*>;

class ResolveContext {
 public:
  ResolveContext(const ir::Node& n, Items inputs, FoldingBuilder& b)
      : node(n), in(std::move(inputs)), build(b) {}
  virtual ~ResolveContext() = default;
  ResolveContext(const ResolveContext&) = delete;
  ResolveContext& operator=(const ResolveContext&) = delete;

  const ir::Node& node;
  const Items in;
  FoldingBuilder& build;

  // The inputs with sizes instead of their bounds. An input that is omitted at the end is none.
  Items actual() const { return actual_of(in); }
  Item actual(size_t i) const { return i < in.size() ? actual_of(in[i]) : Item{}; }

  // Sets an output, which must have the type that the model declares.
  virtual void set_output(size_t output, Item item) = 0;
  // Runs a body on items; `made` are nodes that run_invariant() already ran.
  virtual Items run_body(const ir::Graph& body, const Items& inputs, const NodeSet& made = {}) = 0;
  // Runs the nodes of a body whose results are the same in every round.
  virtual NodeSet run_invariant(const ir::Graph& body) = 0;
  // The states after all rounds, and the stacked scan parts. The loop is unrolled, or runs on the
  // device.
  virtual Items iterate(const LoopSpec& loop) = 0;
  // Compiles both subgraphs, of which the device runs one, and sets all outputs.
  virtual void branch(ir::Value* condition, const ir::Graph& yes, const ir::Graph& no) = 0;
  // Whether the result must remain an ONNX model, without operators of domain poprt.
  virtual bool keeps_onnx() const = 0;
  // Copies the node into the converted ONNX model, because it cannot be replaced: a length or a
  // position depends on data. All outputs are tensors. `type` is the type of outputs for which
  // inference finds none.
  virtual void keep(const ir::ValueType& type = {}) = 0;
  // The same for a node whose output is a sequence of elements of this type.
  virtual void keep_sequence(const ir::ValueType& element) = 0;
  // Adds a node of ai.onnx, whose inputs may have sizes that depend on data. Returns result 0.
  virtual Item apply(const std::string& op, const Items& inputs,
                     FoldingBuilder::Attributes attributes) = 0;

  // Throw invalid_argument or unimplemented with a message that names the node and its opset.
  void check_tensor(const Item& item, std::string_view what) const;
  // A tensor whose size does not depend on data; static_tensor() also requires a static type.
  ir::Value* tensor(const Item& item, std::string_view what) const;
  ir::Value* static_tensor(const Item& item, std::string_view what) const;
  // Checks a control value that the device reads; null is allowed.
  void check_scalar(const ir::Value* v, DType dtype, std::string_view what) const;
  // The elements of input i, a sequence that is not kept. Refuses one whose number of elements
  // depends on data.
  const Items& sequence(size_t i) const;
  // Input i, a sequence that is not kept. It may have an Item::size.
  const Item& counted_sequence(size_t i) const;
  [[noreturn]] void refuse_count() const;
  // Whether input i is a kept sequence (Item::is_kept_sequence).
  bool reads_kept(size_t i) const { return i < in.size() && in[i].is_kept_sequence(); }
  template <class... Args>
  [[noreturn]] void fail_at(ErrorCode code, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(code, "{} (opset {}): {}", node.describe(), node.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }
};

}  // namespace poprt::ops
