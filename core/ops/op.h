// The definition of an operator: type and shape inference, and lowering to program instructions.
//
// core/ops/foo_bar.cpp defines `extern const OpDef def` in namespace poprt::ops::foo_bar_op, which
// no other file uses. The table of definitions is generated from the files in the folder. One
// definition covers every historical version of the operator; it calls ctx.opset() where versions
// differ. There is no separate reference implementation: constant folding and tests evaluate a node
// by lowering it and running its kernels (ops/common/evaluate.h).
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
class CostContext;
class ResolveContext;

namespace calls = kernels::calls;  // kernels/calls/*.h: the argument of emit()

// Throw invalid_argument and unimplemented with a message that starts with the node; the second one
// also names the opset.
[[noreturn]] void fail_input_of(const ir::Node& node, fmt::string_view format,
                                fmt::format_args args);
[[noreturn]] void fail_unsupported_of(const ir::Node& node, fmt::string_view format,
                                      fmt::format_args args);

// Type and shape inference of one node. Input types may be partial; infer everything that is known.
class InferContext {
 public:
  explicit InferContext(ir::Node& n) : node(n) {}

  ir::Node& node;

  int64_t opset() const { return node.opset(); }
  size_t input_count() const { return node.inputs().size(); }
  bool has(size_t i) const { return node.input(i) != nullptr; }
  // The type of input i; throws invalid_argument if a required input is missing.
  const ir::ValueType& in(size_t i) const;
  // The value of input i if it is constant, or null.
  const Tensor* constant(size_t i) const;
  // The integers of a constant input i; nullopt if it is absent or not constant.
  std::optional<std::vector<int64_t>> ints(size_t i) const;

  // Sets the type of output i, and merges it with the known type. Does nothing if the node has no
  // such output. Throws invalid_argument if the types contradict.
  void out(size_t i, DType dtype, Shape shape) {
    out(i, ir::ValueType::of(dtype, std::move(shape)));
  }
  void out(size_t i, ir::ValueType type);
  // Sets a type with unknown rank.
  void out_dtype(size_t i, DType dtype) { out(i, ir::ValueType{dtype, false, {}, {}}); }

  // Throws invalid_argument / unimplemented with a message that starts with the node.
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
  // kNone for an omitted input. A call for a constant input stores its bytes unchanged among the
  // weights (once for each value), so call it only for inputs that a kernel reads.
  virtual BufferId in(size_t i) = 0;
  // kNone if the output is not read.
  virtual BufferId out(size_t i) = 0;
  // Whether output 0 uses the memory of input i, as Sharing::in_place allows. The buffers do not
  // show this, because the arena is laid out after all nodes are lowered.
  virtual bool in_place(size_t) const { return false; }
  // A temporary that exists during this node only.
  virtual BufferId temporary(DType dtype, Shape shape) = 0;
  // Memory that is zero when the program is loaded and keeps its content from run to run. Calls
  // with the same non-negative key return the same memory.
  virtual BufferId state(int64_t key, DType dtype, Shape shape) = 0;
  // Another view of a buffer: `offset` bytes further, with another dtype or shape.
  virtual BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) = 0;

  // Throw invalid_argument if the node has no such input or output.
  const Shape& in_shape(size_t i) const { return given(node.input(i), "input", i).shape(); }
  const Shape& out_shape(size_t i = 0) const { return given(node.output(i), "output", i).shape(); }
  DType in_dtype(size_t i) const { return given(node.input(i), "input", i).dtype(); }
  DType out_dtype(size_t i = 0) const { return given(node.output(i), "output", i).dtype(); }
  // The value of input i if it is constant, or null.
  const Tensor* constant(size_t i) const {
    const ir::Value* v = node.input(i);
    return v && v->is_constant() ? &v->constant() : nullptr;
  }
  std::optional<std::vector<int64_t>> ints(size_t i) const {
    const Tensor* t = constant(i);
    return t ? std::optional(t->to_int64s()) : std::nullopt;
  }

  // Constant bytes that are computed when the executable is written: packed weights. Nodes with
  // equal forms share one copy in the whole program.
  BufferId pack(DType dtype, Shape shape, const program::WeightForm& form) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    return builder.weights(bytes, dtype, std::move(shape), form);
  }
  // Whether a kernel reports values of input i outside their range as a failure of the run. infer()
  // checks the values of constants.
  bool checks(size_t i) const { return checks_indices && has(i) && !constant(i); }
  bool checks_indices = true;
  BufferId pack(const Tensor& tensor) {
    return pack(tensor.dtype(), tensor.shape(), program::WeightForm::plain(tensor));
  }

  // Emits a call of a kernel: a struct of kernels/calls/, which documents its operands, or of
  // program/control.h.
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

// How the results of an operator may share memory with its inputs.
struct Sharing {
  // Output 0 contains the bytes of input 0 with another shape (Reshape, Squeeze, Identity ...). The
  // memory plan uses one buffer for both and does not call lower(). lower() must still be able to
  // copy, because the plan cannot alias a graph input that is also an output.
  bool view = false;
  // Bit i: output 0 may overwrite input i if input i is not used afterwards and has the same dtype
  // and shape. (Equal sizes in bytes are not sufficient: a broadcast input of a wider type would be
  // overwritten before it is read.)
  uint32_t in_place = 0;
  // Output 0 is the concatenation of the inputs along an axis, so they may be computed in place.
  bool joins = false;
  // The outputs are parts of input 0 along an axis, so they may be read in place.
  bool parts = false;
};

class AxesContext;

struct OpDef {
  std::string_view name;         // in the spelling of ONNX
  std::string_view domain = "";  // "" is ai.onnx, "poprt" is internal
  int since = 1;                 // the first opset that defines it
  int until = 1 << 30;           // the last opset that defines it
  void (*infer)(InferContext& ctx) = nullptr;
  void (*lower)(LowerContext& ctx) = nullptr;
  // States which axes of the inputs become which axes of the outputs (ops/axes.h). Operators
  // without such axes use axes::none of ops/common/axes.h.
  void (*axes)(AxesContext& ctx) = nullptr;
  // States what the operator costs on a chip (ops/cost.h); null: the facts decide the rule.
  void (*cost)(CostContext& ctx) = nullptr;
  Sharing sharing = {};
  // Bit i: lower() packs input i for its kernel if it is constant, which is faster than reading an
  // input that is computed at run time.
  uint32_t packs = 0;
  // False for random operators and others whose result is not a function of the inputs only.
  bool pure = true;
  // Has memory from one run to the next; such an operator is not pure. Its nodes get a unique
  // kStateAttribute before anything is unrolled, so that the copies of one node share its state.
  bool stateful = false;
  // Properties that passes and the compiler query.
  Facts facts = {};
  // Computes which part of the results is real if a part of the inputs is real, or if the size of
  // the results depends on data (ops/bound.h); null: bound_unstated().
  BoundResult (*bound)(BoundContext& ctx) = nullptr;
  // Replaces the node while the compiler specializes a graph (ops/resolve.h); null: the node is
  // kept.
  void (*resolve)(ResolveContext& ctx) = nullptr;
};

inline constexpr std::string_view kStateAttribute = "poprt_state";

// The definition that covers (domain, name, opset), or null. "ai.onnx" and ir::kNewestDomain are
// the same domain as "".
const OpDef* find_op(std::string_view domain, std::string_view name, int64_t opset);
// The same for a node; throws unimplemented with node, operator, opset and the supported opsets.
const OpDef& op_of(const ir::Node& node);
std::span<const OpDef* const> all_ops();
// Whether the compiler replaces the node while it specializes a graph (OpDef::resolve).
bool is_resolved(const ir::Node& node);

// Infers one node, or a whole graph in order (including subgraphs). Errors name the node.
void infer(ir::Node& node);
void infer(ir::Graph& graph);
// Lowers one node. Errors name the node.
void lower(const OpDef& op, LowerContext& ctx);

}  // namespace poprt::ops
