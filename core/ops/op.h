// What every operator is: type and shape inference, and lowering to program instructions.
//
// core/ops/foo_bar.cpp defines `extern const OpDef def` in namespace poprt::ops::foo_bar_op, which
// no other file has; the table is generated from the folder. One definition covers every historical
// version of the operator; it asks ctx.opset() where versions differ. There is no separate
// reference implementation: constant folding and tests evaluate a node by lowering it and running
// its kernels (ops/common/evaluate.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/facts.h"
#include "program/builder.h"

namespace poprt::kernels::calls {}

namespace poprt::ops {

class BoundContext;
struct BoundResult;
class ResolveContext;

namespace calls = kernels::calls;  // kernels/calls/*.h: what emit() takes

// Throw with the node in front of the message; the second kind names the opset as well.
[[noreturn]] void fail_input_of(const ir::Node& node, fmt::string_view format,
                                fmt::format_args args);
[[noreturn]] void fail_unsupported_of(const ir::Node& node, fmt::string_view format,
                                      fmt::format_args args);

// Type and shape inference of one node. Input types may be partial; fill what can be known.
class InferContext {
 public:
  explicit InferContext(ir::Node& n) : node(n) {}

  ir::Node& node;

  int64_t opset() const { return node.opset(); }
  size_t input_count() const { return node.inputs().size(); }
  bool has(size_t i) const { return node.input(i) != nullptr; }
  // The type of input i; throws invalid_argument when a required input is missing.
  const ir::ValueType& in(size_t i) const;
  // The value of input i when it is a constant, or null.
  const Tensor* constant(size_t i) const;
  // Integers of a constant input i; nullopt when it is absent or not constant.
  std::optional<std::vector<int64_t>> ints(size_t i) const;

  // States output i; merges with what was known (throws invalid_argument on contradiction).
  void out(size_t i, DType dtype, Shape shape) {
    out(i, ir::ValueType::of(dtype, std::move(shape)));
  }
  void out(size_t i, ir::ValueType type);
  // Rank unknown.
  void out_dtype(size_t i, DType dtype) { out(i, ir::ValueType{dtype, false, {}, {}}); }

  // Throws invalid_argument / unimplemented with the node in front of the message.
  template <class... Args>
  [[noreturn]] void fail_input(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input_of(node, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  [[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    fail_unsupported_of(node, format, fmt::make_format_args(args...));
  }
};

// Lowering of one node whose types are all static. Buffers of inputs and outputs exist already;
// lowering emits instructions that write every byte of every output that is used.
class LowerContext {
 public:
  virtual ~LowerContext() = default;
  LowerContext(const ir::Node& n, program::Builder& b) : node(n), builder(b) {}

  const ir::Node& node;
  program::Builder& builder;

  using BufferId = program::BufferId;
  static constexpr BufferId kNone = program::kNoBuffer;

  int64_t opset() const { return node.opset(); }
  bool has(size_t i) const { return node.input(i) != nullptr; }
  // kNone for an omitted input. Asking for a constant input places its bytes, as they are, among
  // the weights (once per value), so ask only for what a kernel will read.
  virtual BufferId in(size_t i) = 0;
  // kNone when nothing reads the output.
  virtual BufferId out(size_t i) = 0;
  // Output 0 lies where input i does, as Sharing::in_place allows. (Buffers do not tell: the arena
  // is laid out when all nodes are lowered.)
  virtual bool in_place(size_t) const { return false; }
  // A temporary that lives during this node only.
  virtual BufferId temporary(DType dtype, Shape shape) = 0;
  // Memory that starts as zeros when the program is loaded and stays from run to run: the same for
  // all that name one non-negative key.
  virtual BufferId state(int64_t key, DType dtype, Shape shape) = 0;
  // Another view of a buffer: `offset` bytes further, other dtype or shape.
  virtual BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) = 0;

  // Throw invalid_argument when the node has no such input or output.
  const Shape& in_shape(size_t i) const { return given(node.input(i), "input", i).shape(); }
  const Shape& out_shape(size_t i = 0) const { return given(node.output(i), "output", i).shape(); }
  DType in_dtype(size_t i) const { return given(node.input(i), "input", i).dtype(); }
  DType out_dtype(size_t i = 0) const { return given(node.output(i), "output", i).dtype(); }
  // The value of input i when it is a constant, or null.
  const Tensor* constant(size_t i) const {
    const ir::Value* v = node.input(i);
    return v && v->is_constant() ? &v->constant() : nullptr;
  }
  std::optional<std::vector<int64_t>> ints(size_t i) const {
    const Tensor* t = constant(i);
    return t ? std::optional(t->to_int64s()) : std::nullopt;
  }

  // Constant bytes made when the executable is written: packed weights. Nodes that ask for equal
  // forms share one place in the whole program.
  BufferId pack(DType dtype, Shape shape, const program::WeightForm& form) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    return builder.weights(bytes, dtype, std::move(shape), form);
  }
  BufferId pack(const Tensor& tensor) {
    return pack(tensor.dtype(), tensor.shape(), program::WeightForm::plain(tensor));
  }

  // Runs the kernel of a call: a struct of kernels/calls/, which says what its operands are, or
  // one of program/control.h.
  template <class NamedCall>
    requires requires { NamedCall::kKernel; }
  void emit(NamedCall call, std::span<const BufferId> operands) {
    const auto encoded = encode(std::move(call));
    builder.emit(NamedCall::kKernel, operands, encoded.ints, encoded.floats,
                 node.name.empty() ? node.outputs()[0]->name() : node.name);
  }
  template <class NamedCall>
    requires requires { NamedCall::kKernel; }
  void emit(NamedCall call, std::initializer_list<BufferId> operands) {
    emit(std::move(call), std::span<const BufferId>(operands.begin(), operands.size()));
  }

  template <class... Args>
  [[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    fail_unsupported_of(node, format, fmt::make_format_args(args...));
  }

 private:
  const ir::Value& given(const ir::Value* v, const char* what, size_t i) const {
    if (!v)
      fail(ErrorCode::invalid_argument, "{}: {} {} is required and was not given", node.describe(),
           what, i);
    return *v;
  }
};

// How an operator's results may share memory with its inputs.
struct Sharing {
  // Output 0 is input 0's bytes under another shape (Reshape, Squeeze, Identity ...): the memory
  // plan gives both one buffer and lower() is not called. lower() must still be able to copy, for
  // when the plan cannot alias (a graph input that is also an output).
  bool view = false;
  // Output 0 may be written over input i when i dies here and has the same dtype and shape: bit i.
  // (Equal bytes are not enough: a broadcast input of a wider type would be read after it is gone.)
  uint32_t in_place = 0;
  // Output 0 is the inputs one after another along an axis: they may be made in their places.
  bool joins = false;
  // The outputs are input 0 in parts along an axis: they may be read in their places.
  bool parts = false;
};

class AxesContext;

struct OpDef {
  std::string_view name;         // as ONNX spells it
  std::string_view domain = "";  // "" is ai.onnx, "poprt" is internal
  int since = 1;                 // first opset that has it
  int until = 1 << 30;           // last opset that has it
  void (*infer)(InferContext& ctx) = nullptr;
  void (*lower)(LowerContext& ctx) = nullptr;
  // Which axes of the inputs become which axes of the outputs (ops/axes.h); axes::none of
  // ops/common/axes.h where nothing is carried.
  void (*axes)(AxesContext& ctx) = nullptr;
  Sharing sharing = {};
  // Inputs that lower() packs for its kernel when they are constant, which is faster than reading
  // what a run makes: bit i.
  uint32_t packs = 0;
  // False for random operators and others whose result is not a function of the inputs alone.
  bool pure = true;
  // Has memory from one run to the next; then not pure. Its nodes get a kStateAttribute of their
  // own before anything is unrolled, so that copies share what was one node.
  bool stateful = false;
  // What passes and the compiler may know about it.
  Facts facts = {};
  // Which part of its results is real when a part of its inputs is, or when their size depends on
  // data (ops/bound.h); null: bound_unstated().
  BoundResult (*bound)(BoundContext& ctx) = nullptr;
  // Replaces the node while the compiler specializes a graph (ops/resolve.h); null: it stays.
  void (*resolve)(ResolveContext& ctx) = nullptr;
};

inline constexpr std::string_view kStateAttribute = "poprt_state";

// The definition that covers (domain, name, opset), or null. "ai.onnx" is the same domain as "".
const OpDef* find_op(std::string_view domain, std::string_view name, int64_t opset);
// Same for a node; throws unimplemented naming node, operator, opset and what is supported.
const OpDef& op_of(const ir::Node& node);
std::span<const OpDef* const> all_ops();
// Whether the compiler replaces the node while it specializes a graph (OpDef::resolve).
bool is_resolved(const ir::Node& node);

// Infers one node, or a whole graph in order (subgraphs included). Throws with the node in front.
void infer(ir::Node& node);
void infer(ir::Graph& graph);
// Lowers one node. Throws with the node in front.
void lower(const OpDef& op, LowerContext& ctx);

}  // namespace poprt::ops
