// Merges per-channel scaling before a convolution into the convolution, so that the scaled value is
// never stored: BatchNormalization and Relu (dense blocks and residual networks that normalise
// first), and the gate of a squeeze-and-excitation block.
//
// Only direct convolutions are changed. They copy their inputs, or use each element so often that a
// copy does not matter. Winograd's transform has no step that could scale.
#include "ops/common/conv_kernel.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::conv_prologue_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kScale = 4, kShift = 5;

// The input of a Mul or Add whose other operand is a constant [1,CB,1,1,16], and that constant.
struct PerChannel {
  Value *x = nullptr, *constant = nullptr;
  PerChannel(const Node* n, const Shape& blocked) {
    const Shape wanted = {1, blocked[1], 1, 1, 16};
    for (size_t side = 0; n && side < 2; side++) {
      Value* c = n->input(side);
      if (!c->is_constant() || c->dtype() != DType::f32 || c->shape() != wanted) continue;
      constant = c;
      x = n->input(1 - side);
    }
  }
};

bool computes_directly(const Node& conv) {
  if (!conv.input(1)->type.is_static()) return false;
  const ops::ConvProblem p = ops::conv_problem(conv);
  if (p.plain || !ops::conv_kernel_exists(p)) return false;
  const std::string_view name = ops::choose_conv_kernel(p).name();
  return name == "conv" || name == "conv_dilated";
}

// Matches Conv(Relu(x * scale + shift)).
bool fuse_normalization(Node& conv, const Shape& blocked, PassContext& context) {
  Node* relu = sole_producer_of(conv.input(0), "Relu");
  if (!relu) return false;
  const PerChannel shift(sole_producer_of(relu->input(0), "Add"), blocked);
  if (!shift.x) return false;
  const PerChannel scale(sole_producer_of(shift.x, "Mul"), blocked);
  if (!scale.x || scale.x->shape() != blocked || !computes_directly(conv) || !context.allow())
    return false;
  conv.set_input(0, scale.x);
  conv.set_input(kScale, scale.constant);
  conv.set_input(kShift, shift.constant);
  conv.attributes["prologue_relu"] = int64_t{1};
  erase_if_dead(relu);
  return true;
}

// Matches Conv(x * gate), where the gate has one pixel.
void fuse_gate(Node& conv, const Shape& blocked, PassContext& context) {
  Node* mul = sole_producer_of(conv.input(0), "Mul");
  for (size_t side = 0; mul && side < 2; side++) {
    Value *x = mul->input(side), *gate = mul->input(1 - side);
    const Shape one = {1, blocked[1], 1, 1, 16}, each = {blocked[0], blocked[1], 1, 1, 16};
    if (gate->dtype() != DType::f32 || (gate->shape() != one && gate->shape() != each) ||
        x->shape() != blocked || gate->shape() == blocked)
      continue;
    if (!computes_directly(conv) || !context.allow()) return;
    conv.set_input(0, x);
    conv.set_input(kScale, gate);
    return erase_if_dead(mul);
  }
}

void fuse(Node& conv, PassContext& context) {
  if (!conv.is("Conv", "poprt") || conv.input(kScale) || !conv.input(0)->type.is_static()) return;
  const Shape blocked = conv.input(0)->shape();
  if (blocked.size() == 5 && !fuse_normalization(conv, blocked, context))
    fuse_gate(conv, blocked, context);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) { fuse(n, context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "conv_prologue",
    .summary = "merges normalisation and Relu into the blocked convolution after them",
    .condition = "the convolution is computed directly (not by Winograd) and is the only reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::conv_prologue_pass
