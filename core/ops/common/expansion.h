// Decomposition of an operator into a small graph of other operators.
//
// core/ops/DOMAIN/foo.cpp contains one function that reads the node through an Expansion, adds
// nodes in front of it and sets its results. The same function is used for inference (the nodes are
// added to a scratch graph), for evaluation (they are run there) and by the compiler (pass
// expand_operators).
//
// Inference leaves a node unchanged if the types of its inputs are not static yet, or if an input
// that must be constant is not constant yet. The compiler reports the missing property.
#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops {

class Expansion {
 public:
  using Value = ir::Value;
  using Attributes = std::initializer_list<std::pair<const std::string_view, ir::Attribute>>;

  explicit Expansion(ir::Node& n);

  const ir::Node& node;

  // -- The node's inputs ------------------------------------------------------------------------
  bool has(size_t i) const { return node.input(i) != nullptr; }
  // Throws invalid_argument if the input is missing.
  Value* in(size_t i) const;
  Value* in_or_null(size_t i) const { return node.input(i); }
  const Shape& shape(size_t i) const { return shape_of(in(i)); }
  DType dtype(size_t i) const { return in(i)->dtype(); }
  // The value of a constant input; throws failed_precondition if it is not constant.
  const Tensor& constant(size_t i) const;
  std::vector<int64_t> const_ints(size_t i) const { return constant(i).to_int64s(); }
  // The static shape of any value; throws failed_precondition if it is not static.
  const Shape& shape_of(const Value* v) const;

  // -- New nodes --------------------------------------------------------------------------------
  // Adds a node of ai.onnx in the opset of the graph, or in the newest opset if the graph's opset
  // does not have the operator. Use it for operators that are the same in all opsets.
  Value* add(std::string_view op, std::initializer_list<Value*> inputs, Attributes attributes = {});
  // Adds a node of the newest opset of ai.onnx.
  Value* newest(std::string_view op, std::initializer_list<Value*> inputs,
                Attributes attributes = {});
  Value* newest(std::string_view op, std::span<Value* const> inputs, Attributes attributes = {});
  // Adds any node and infers its types.
  ir::Node* add_node(std::string_view op, std::string_view domain, std::span<Value* const> inputs,
                     Attributes attributes, size_t outputs);
  ir::Node* add_node(std::string_view op, std::string_view domain,
                     std::initializer_list<Value*> inputs, Attributes attributes, size_t outputs);

  // The same as add, with the attributes of the node itself except those in `without`.
  Value* add_like(std::string_view op, std::initializer_list<Value*> inputs,
                  std::initializer_list<std::string_view> without = {});

  Value* constant(Tensor tensor);
  Value* ints(std::vector<int64_t> values);
  // A scalar of a numeric type.
  Value* number(DType dtype, double value);
  // Numbers first, first + 1 ... as s64 [count].
  Value* iota(int64_t count, int64_t first = 0);

  Value* reshape(Value* v, const Shape& shape);
  Value* transpose(Value* v, const std::vector<int64_t>& perm);
  Value* swap_last_two(Value* v);
  Value* cast(Value* v, DType dtype);
  Value* concat(std::span<Value* const> values, int64_t axis);
  Value* concat(std::initializer_list<Value*> values, int64_t axis) {
    return concat(std::span(values.begin(), values.size()), axis);
  }
  // Elements [begin, end) of an axis.
  Value* slice(Value* v, int64_t axis, int64_t begin, int64_t end);
  Value* expand(Value* v, const Shape& shape);
  // Arithmetic with a scalar of the type of v.
  Value* scaled(Value* v, double factor);
  Value* plus(Value* v, double addend);
  Value* dequantize(Value* q, Value* scale, Value* zero, int64_t axis = 1);
  // Quantises to the type of `zero`, or to `dtype` with zero point 0 if `zero` is null.
  Value* quantize(Value* x, Value* scale, Value* zero, DType dtype, int64_t axis = 1);

  // -- The node's results -----------------------------------------------------------------------
  // Whether result i is read.
  bool wants(size_t i) const;
  // Sets result i. Every result that is read must be set.
  void out(size_t i, Value* value);

  // -- Errors -----------------------------------------------------------------------------------
  template <class... Args>
  [[noreturn]] void fail_input(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::invalid_argument, "{}: {}", node.describe(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::unimplemented, "{} (opset {}): {}", node.describe(), node.opset(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  // Throws invalid_argument unless `ok`.
  void check(bool ok, std::string_view what) const {
    if (!ok) fail_input("{}", what);
  }

 private:
  friend bool expand_node(ir::Node& node);
  ir::Node& node_;
  ir::Graph& graph_;
  std::map<size_t, Value*> results_;
};

// Whether the operator has an expansion.
bool expands(const OpDef& op);
// Runs the expansion of the operator and erases the node. Returns false if the operator has none.
// Errors name the node.
bool expand_node(ir::Node& node);

// A graph that contains only a copy of `node`. Its inputs are graph inputs or constants, and all
// its outputs are graph outputs.
std::unique_ptr<ir::Graph> isolate(const ir::Node& node);
// The same with other inputs, of the same number.
std::unique_ptr<ir::Graph> isolate(const ir::Node& node, std::span<ir::Value* const> inputs);

// `infer` of every operator with an expansion.
void infer_by_expansion(InferContext& ctx);

// The argument of `lower` of an operator with an expansion. Only expand_node() creates it. `lower`
// then adds nodes through it instead of emitting instructions.
class ExpandContext final : public LowerContext {
 public:
  ExpandContext(Expansion& e, program::Builder& b) : LowerContext(e.node, b), expansion(e) {}
  Expansion& expansion;

  BufferId in(size_t) override { fail_here(); }
  BufferId out(size_t) override { fail_here(); }
  BufferId temporary(DType, Shape) override { fail_here(); }
  BufferId state(int64_t, DType, Shape) override { fail_here(); }
  BufferId view(BufferId, uint64_t, DType, Shape) override { fail_here(); }

 private:
  [[noreturn]] void fail_here() const;
};
Expansion& expansion_of(LowerContext& ctx);

}  // namespace poprt::ops

// Defines the operator of core/ops/FOLDER/STEM.cpp as `symbol::def`.
#define POPRT_EXPANSION(symbol, op_domain, op_name, ...)                               \
  namespace poprt::ops::symbol {                                                       \
  extern const OpDef def;                                                              \
  const OpDef def = {.name = op_name,                                                  \
                     .domain = op_domain,                                              \
                     .infer = infer_by_expansion,                                      \
                     .lower = [](LowerContext& c) { (__VA_ARGS__)(expansion_of(c)); }, \
                     .axes = axes::expansion};                                         \
  }

// The same for an operator with facts; they are the last arguments.
#define POPRT_EXPANSION_WITH_FACTS(symbol, op_domain, op_name, expand, ...)       \
  namespace poprt::ops::symbol {                                                  \
  extern const OpDef def;                                                         \
  const OpDef def = {.name = op_name,                                             \
                     .domain = op_domain,                                         \
                     .infer = infer_by_expansion,                                 \
                     .lower = [](LowerContext& c) { (expand)(expansion_of(c)); }, \
                     .axes = axes::expansion,                                     \
                     .facts = {__VA_ARGS__}};                                     \
  }
