#include "ops/common/evaluate.h"

#include <unordered_map>

#include "base/checked.h"
#include "kernels/common/custom.h"
#include "kernels/kernel.h"
#include "ops/common/evaluate_listing.h"
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

// Lowers inputs to input anchors, outputs to output anchors, and temporaries to arena memory.
class EvaluateContext final : public LowerContext {
 public:
  EvaluateContext(const ir::Node& n, program::Builder& b) : LowerContext(n, b) {
    for (const ir::Value* v : n.inputs()) {
      if (!v) {
        ins_.push_back(kNone);
        continue;
      }
      const uint32_t anchor = b.add_input({v->name(), v->dtype(), v->shape()});
      ins_.push_back(
          b.input(anchor, 0, b.program().inputs[anchor].bytes(), v->dtype(), v->shape()));
    }
    for (const ir::Value* v : n.outputs()) {
      if (!v->type.is_static()) {
        outs_.push_back(kNone);
        b.add_output({v->name(), DType::u8, {0}});
        continue;
      }
      const uint32_t anchor = b.add_output({v->name(), v->dtype(), v->shape()});
      outs_.push_back(
          b.output(anchor, 0, b.program().outputs[anchor].bytes(), v->dtype(), v->shape()));
    }
  }

  BufferId in(size_t i) override { return i < ins_.size() ? ins_[i] : kNone; }
  BufferId out(size_t i) override { return i < outs_.size() ? outs_[i] : kNone; }
  BufferId temporary(DType dtype, Shape shape) override {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    return builder.arena(builder.program().arena_bytes, bytes, dtype, std::move(shape));
  }
  BufferId state(int64_t, DType dtype, Shape shape) override {
    return temporary(dtype, std::move(shape));
  }
  BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) override {
    program::Buffer b = builder.buffer(of);
    b.offset = checked_add(b.offset, offset);
    b.bytes = dtype_bytes(dtype, element_count(shape));
    b.dtype = dtype;
    b.shape = std::move(shape);
    builder.program().buffers.push_back(std::move(b));
    return static_cast<BufferId>(builder.program().buffers.size() - 1);
  }

 private:
  std::vector<BufferId> ins_, outs_;
};

kernels::Plan plan_of(const program::Program& program, const program::Instruction& instruction,
                      int64_t threads, const ir::Node& node) {
  const std::string& name = program.kernels[instruction.kernel];
  const kernels::Kernel* kernel = kernels::find_kernel(name);
  if (!kernel) fail(ErrorCode::internal, "{}: kernel {} does not exist", node.describe(), name);
  std::vector<kernels::Operand> operands;
  for (const uint32_t id : instruction.operands) {
    if (id == program::kNoBuffer) {
      operands.emplace_back();
      continue;
    }
    const program::Buffer& b = program.buffers[id];
    operands.push_back({true, b.dtype, b.shape, b.bytes});
  }
  return kernel->prepare({operands, instruction.ints, instruction.floats, threads});
}

// Runs the nodes of the operator's expansion.
std::vector<Tensor> evaluate_expansion(const ir::Node& node, std::span<const Tensor> inputs,
                                       std::vector<std::string>* kernels, int64_t threads,
                                       bool checks_indices) {
  const auto graph = isolate(node);
  std::unordered_map<const ir::Value*, Tensor> known;
  for (size_t i = 0; i < node.inputs().size(); i++)
    if (node.input(i)) known[graph->nodes().front()->input(i)] = inputs[i];
  for (size_t i = node.outputs().size(); i-- > 0;)
    if (!node.output(i)->type.is_static()) graph->remove_output(i);
  expand_node(*graph->nodes().front());
  for (const ir::Node* n : graph->nodes()) {
    std::vector<Tensor> values;
    for (const ir::Value* v : n->inputs())
      values.push_back(!v ? Tensor() : v->is_constant() ? v->constant() : known.at(v));
    const std::vector<Tensor> results =
        evaluate_listing(*n, values, kernels, threads, checks_indices);
    for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = results[i];
  }
  std::vector<Tensor> results;
  size_t next = 0;
  for (const ir::Value* v : node.outputs()) {
    if (!v->type.is_static()) {
      results.emplace_back();
      continue;
    }
    const ir::Value* result = graph->outputs()[next++];
    results.push_back(result->is_constant() ? result->constant() : known.at(result));
  }
  return results;
}

}  // namespace

std::vector<Tensor> evaluate(const ir::Node& node, std::span<const Tensor> inputs, int64_t threads,
                             bool checks_indices) {
  return evaluate_listing(node, inputs, nullptr, threads, checks_indices);
}

std::vector<Tensor> evaluate_listing(const ir::Node& node, std::span<const Tensor> inputs,
                                     std::vector<std::string>* kernels, int64_t threads,
                                     bool checks_indices) {
  const OpDef& op = op_of(node);
  if (expands(op)) return evaluate_expansion(node, inputs, kernels, threads, checks_indices);
  if (!op.lower) fail(ErrorCode::unimplemented, "{}: cannot be evaluated", node.describe());
  program::Builder builder;
  EvaluateContext ctx(node, builder);
  ctx.checks_indices = checks_indices;
  lower(op, ctx);
  const program::Program& program = builder.program();
  program::verify(program);

  std::vector<Tensor> results;
  for (const ir::Value* v : node.outputs())
    results.push_back(v->type.is_static() ? Tensor::zeros(v->dtype(), v->shape()) : Tensor());
  Tensor arena = Tensor::zeros(DType::u8, {static_cast<int64_t>(program.arena_bytes)});
  Tensor weights = Tensor::zeros(DType::u8, {static_cast<int64_t>(program.weights_bytes)});
  for (const program::Weight& w : builder.weight_records())
    w.fill({static_cast<std::byte*>(weights.mutable_data()) + w.offset, w.bytes});

  // The input anchors are in the order of the inputs that are present.
  std::vector<const Tensor*> given;
  for (size_t i = 0; i < node.inputs().size(); i++)
    if (node.input(i)) given.push_back(&inputs[i]);

  for (const program::Instruction& instruction : program.main) {
    if (kernels) kernels->push_back(program.kernels[instruction.kernel]);
    std::vector<void*> data;
    for (const uint32_t id : instruction.operands) {
      if (id == program::kNoBuffer) {
        data.push_back(nullptr);
        continue;
      }
      const program::Buffer& b = program.buffers[id];
      auto* base = static_cast<std::byte*>(
          b.space == program::Space::arena     ? arena.mutable_data()
          : b.space == program::Space::weights ? weights.mutable_data()
          : b.space == program::Space::input   ? const_cast<void*>(given[b.index]->data())
                                               : results[b.index].mutable_data());
      data.push_back(base + b.offset);
    }
    const kernels::Plan plan = plan_of(program, instruction, threads, node);
    Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
    if (plan.tasks > 0)
      plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds,
               static_cast<std::byte*>(scratch.mutable_data()));
    if (!plan.take_failure) continue;
    if (auto failure = plan.take_failure(plan.params.get())) {
      if (program.kernels[instruction.kernel] != kernels::calls::Custom::kKernel)
        failure->add_context(node.describe());
      throw *failure;
    }
  }
  return results;
}

double work_of(const ir::Node& node) {
  const OpDef& op = op_of(node);
  double work = 0;
  if (expands(op)) {
    const auto graph = isolate(node);
    for (size_t i = node.outputs().size(); i-- > 0;)
      if (!node.output(i)->type.is_static()) graph->remove_output(i);
    expand_node(*graph->nodes().front());
    for (const ir::Node* n : graph->nodes()) work += work_of(*n);
    return work;
  }
  if (!op.lower) fail(ErrorCode::unimplemented, "{}: cannot be evaluated", node.describe());
  program::Builder builder;
  EvaluateContext ctx(node, builder);
  lower(op, ctx);
  for (const program::Instruction& instruction : builder.program().main)
    work += plan_of(builder.program(), instruction, 1, node).work;
  return work;
}

}  // namespace poprt::ops
