// The compiler resolves a constant condition. Otherwise the device runs one of the branches, so
// both must produce the same static types.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::if_op {
namespace {

void infer(InferContext& ctx) {
  const ir::Graph* branches[2] = {};
  for (size_t i = 0; i < 2; i++) {
    const char* key = i == 0 ? "then_branch" : "else_branch";
    const ir::Attribute* a = ctx.node.find_attr(key);
    const auto* g = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
    if (!g) ctx.fail_input("attribute {} is missing", key);
    branches[i] = g->get();
    if (branches[i]->outputs().size() != ctx.node.outputs().size())
      ctx.fail_input("{} has {} outputs, the node {}", key, branches[i]->outputs().size(),
                     ctx.node.outputs().size());
  }
  for (size_t o = 0; o < ctx.node.outputs().size(); o++) {
    const ir::ValueType &a = branches[0]->outputs()[o]->type, &b = branches[1]->outputs()[o]->type;
    if (a.dtype != DType::undefined && b.dtype != DType::undefined && a.dtype != b.dtype)
      ctx.fail_input(
          "output '{}' is {} from then_branch and {} from else_branch; both branches must produce "
          "one element type",
          ctx.node.output(o)->name(), ir::type_string(a), ir::type_string(b));
    if (a.dtype != b.dtype) continue;  // a container, or a type that is not known yet
    if (a.has_shape && b.has_shape && a.shape == b.shape)
      ctx.out(o, a.dtype, a.shape);
    else
      ctx.out_dtype(o, a.dtype);
  }
}

void resolve(ResolveContext& ctx) {
  const Item condition = ctx.actual(0);
  ctx.tensor(condition, "the condition");
  const auto yes = subgraph(ctx.node, "then_branch"), no = subgraph(ctx.node, "else_branch");
  const size_t outputs = ctx.node.outputs().size();
  for (const auto& branch : {no, yes})
    if (branch->outputs().size() != outputs)
      ctx.fail_at(ErrorCode::invalid_argument, "a branch has {} outputs, the node {}",
                  branch->outputs().size(), outputs);
  const auto known = constant_integer(condition);
  if (!known) {
    ctx.check_scalar(condition.value, DType::boolean, "the condition");
    return ctx.branch(condition.value, *yes, *no);
  }
  const Items results = ctx.run_body(*known != 0 ? *yes : *no, {});
  for (size_t i = 0; i < results.size(); i++) ctx.set_output(i, results[i]);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "If",
    .infer = infer,
    .lower = lower_container,
    .axes = axes::none,
    .facts = {.moves = true, .narrows = true, .constant_inputs = 0b1, .passes_types = true},
    .resolve = resolve};

}  // namespace poprt::ops::if_op
