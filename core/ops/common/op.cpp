// Finds the definition of an operator, refuses operators that are not supported (op_of), and calls
// the hooks for inference and lowering.
#include "ops/op.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "base/checked.h"
#include "ir/newest.h"
#include "kernels/kernel.h"
#include "ops/common/custom.h"
#include "ops/common/op_types.h"
#include "ops/common/required_inputs.h"

namespace poprt::ops {

void fail_input_of(const ir::Node& node, fmt::string_view format, fmt::format_args args) {
  fail(ErrorCode::invalid_argument, "{}: {}", node.describe(), fmt::vformat(format, args));
}

void fail_unsupported_of(const ir::Node& node, fmt::string_view format, fmt::format_args args) {
  fail(ErrorCode::unimplemented, "{} (opset {}): {}", node.describe(), node.opset(),
       fmt::vformat(format, args));
}

const ir::ValueType& InferContext::in(size_t i) const {
  const ir::Value* v = node.input(i);
  if (!v) fail_input("input {} is required and was not given", i);
  return v->type;
}

const Tensor* InferContext::constant(size_t i) const {
  const ir::Value* v = node.input(i);
  return v && v->is_constant() ? &v->constant() : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::ints(size_t i) const {
  const Tensor* t = constant(i);
  return t ? std::optional(t->to_int64s()) : std::nullopt;
}

void InferContext::out(size_t i, ir::ValueType type) {
  ir::Value* v = node.output(i);
  if (!v) return;
  if (type.dtype == DType::undefined) type.dtype = v->type.dtype;
  if (v->type.dtype != DType::undefined && v->type.dtype != type.dtype)
    fail_input("output '{}' is declared {} but comes out as {}", v->name(),
               dtype_name(v->type.dtype), dtype_name(type.dtype));
  if (!type.has_shape) {
    v->type.dtype = type.dtype;
    return;
  }
  if (v->type.has_shape) {
    const Shape& known = v->type.shape;
    bool fits = known.size() == type.shape.size();
    for (size_t d = 0; fits && d < known.size(); d++) {
      if (type.shape[d] < 0) type.shape[d] = known[d];
      fits = known[d] < 0 || known[d] == type.shape[d];
    }
    if (!fits)
      fail_input("output '{}' is declared {} but comes out as {}", v->name(), shape_string(known),
                 shape_string(type.shape));
    if (type.symbols.empty()) type.symbols = v->type.symbols;
  }
  v->type = std::move(type);
}

namespace {

constexpr size_t kMaxRank = 64;

// With this limit, a sum of some sizes and a product of a size and a small number cannot overflow.
// Products of sizes of different tensors need checked arithmetic.
constexpr uint64_t kMaxBytes = uint64_t{1} << 48;

void check_size(const ir::Value& v) {
  if (!v.type.has_shape) return;
  if (v.type.shape.size() > kMaxRank)
    fail(ErrorCode::invalid_argument, "'{}' has {} dimensions, at most {} are supported", v.name(),
         v.type.shape.size(), kMaxRank);
  int64_t known = 1;
  for (const int64_t d : v.type.shape)
    if (d > 0) known = checked_mul(known, d, "shape");
  if (dtype_bytes(v.type.dtype, known) > kMaxBytes)
    fail(ErrorCode::resource_exhausted, "'{}' {}{} needs more than {} bytes", v.name(),
         dtype_name(v.type.dtype), shape_string(v.type.shape), kMaxBytes);
}

// Runs `action`; its errors name the node.
template <class Action>
void with_node(const ir::Node& node, Action&& action) {
  try {
    action();
  } catch (Error& e) {
    if (!e.message().starts_with(node.describe())) e.add_context(node.describe());
    rethrow_explained(e, node);
  } catch (const std::out_of_range&) {
    fail(ErrorCode::invalid_argument, "{}: an input or an attribute has too few values",
         node.describe());
  }
}

// Checks that kernels accept the emitted instructions. An error is found here, where the node is
// known, instead of when the program is loaded.
void check_kernels(const program::Program& program, size_t begin) {
  std::vector<kernels::Operand> operands;
  for (size_t i = begin; i < program.main.size(); i++) {
    const program::Instruction& instruction = program.main[i];
    const kernels::Kernel* kernel = kernels::find_kernel(program.kernels[instruction.kernel]);
    if (!kernel) continue;
    operands.clear();
    for (const uint32_t id : instruction.operands) {
      kernels::Operand& o = operands.emplace_back();
      if (id == program::kNoBuffer) continue;
      const program::Buffer& b = program.buffers[id];
      o = {true, b.dtype, b.shape, b.bytes};
    }
    kernel->prepare({operands, instruction.ints, instruction.floats, 1});
  }
}

std::string_view canonical(std::string_view domain) {
  return domain == "ai.onnx" || domain == ir::kNewestDomain ? "" : domain;
}

}  // namespace

const OpDef* find_op(std::string_view domain, std::string_view name, int64_t opset) {
  if (const OpDef* custom = find_custom_op(canonical(domain), name)) return custom;
  static const std::unordered_multimap<std::string_view, const OpDef*> by_name = [] {
    std::unordered_multimap<std::string_view, const OpDef*> all;
    for (const OpDef* op : all_ops()) all.emplace(op->name, op);
    return all;
  }();
  const auto [begin, end] = by_name.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const OpDef& op = *it->second;
    if (op.domain == canonical(domain) && opset >= op.since && opset <= op.until) return &op;
  }
  return nullptr;
}

bool is_resolved(const ir::Node& node) {
  const OpDef* op = find_op(node.domain, node.op_type, node.opset());
  return op && op->resolve;
}

const Facts& facts_of(const ir::Node& node) {
  static const Facts none;
  const OpDef* op = find_op(node.domain, node.op_type, std::max<int64_t>(node.opset(), 1));
  return op ? op->facts : none;
}

uint32_t constant_inputs(const ir::Node& node) {
  const Facts& facts = facts_of(node);
  return facts.constant_inputs_of ? facts.constant_inputs_of(node) : facts.constant_inputs;
}

const OpDef& op_of(const ir::Node& node) {
  if (const OpDef* op = find_op(node.domain, node.op_type, node.opset())) return *op;
  for (const OpDef* op : all_ops())
    if (op->name == node.op_type && op->domain == canonical(node.domain))
      fail(ErrorCode::unimplemented,
           "{}: the operator is supported from opset {}{}, the model imports opset {}; convert the "
           "model to a supported opset; to request more, open an issue with this line",
           node.describe(), op->since,
           op->until < (1 << 30) ? fmt::format(" to {}", op->until) : std::string(" on"),
           node.opset());
  if (node.domain == "com.microsoft.nchwc" || node.domain == "com.ms.internal.nhwc" ||
      (node.domain == "com.microsoft" && node.op_type.starts_with("Nhwc")))
    fail(ErrorCode::unimplemented,
         "{} (opset {}): the model was saved by ONNX Runtime with all optimizations "
         "(ORT_ENABLE_ALL), whose results suit one kind of processor only; save it again with "
         "ORT_ENABLE_EXTENDED or less, or use the original model; to request {}, open "
         "an issue with this line",
         node.describe(), node.opset(), node.op_type);
  const auto of_domain = [&](const OpDef* op) { return op->domain == node.domain; };
  // The operators of PopRT's users are in the same domain as PopRT's own operators.
  if (node.domain == "ai.graphcore" || std::ranges::none_of(all_ops(), of_domain))
    fail(ErrorCode::unimplemented,
         "{}: operator {} of domain '{}' is not supported; a custom operator is defined by a "
         "plug-in: `custom_library_so_paths`, or POPRT_PLUGINS (docs/plugins.md)",
         node.describe(), node.op_type, node.domain);
  fail(ErrorCode::unimplemented,
       "{}: operator {} of domain '{}' is not supported; `poprt_exec ops` lists the "
       "supported ones; the model imports opset {}; to request it, open an issue with this line",
       node.describe(), node.op_type, node.domain.empty() ? "ai.onnx" : node.domain, node.opset());
}

void infer(ir::Node& node) {
  const OpDef& op = op_of(node);
  if (!op.infer) return;
  InferContext ctx(node);
  with_node(node, [&] {
    check_required_inputs(node);
    op.infer(ctx);
    for (const ir::Value* v : node.outputs()) check_size(*v);
  });
}

void lower(const OpDef& op, LowerContext& ctx) {
  with_node(ctx.node, [&] {
    const program::Program& program = ctx.builder.program();
    const size_t before = program.main.size();
    op.lower(ctx);
    check_kernels(program, before);
  });
}

void infer(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [](ir::Graph& sub) { infer(sub); });
    infer(*n);
  }
}

}  // namespace poprt::ops
