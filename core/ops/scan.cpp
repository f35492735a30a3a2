// Becomes Loop (compiler/flow/specialize.h).
#include "ops/common/compile_time.h"

namespace poprt::ops::scan_op {
namespace {

// Element types only: the compiler works the shapes out.
void infer(InferContext& ctx) {
  const ir::Attribute* a = ctx.node.find_attr("body");
  const auto* attribute = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
  if (!attribute) ctx.fail_input("attribute body is missing");
  const ir::Graph& body = **attribute;
  const size_t first = ctx.opset() < 9 ? 1 : 0;  // behind sequence_lens
  const int64_t scanned = ctx.node.int_attr("num_scan_inputs", 0);
  const size_t count = ctx.input_count() < first ? 0 : ctx.input_count() - first;
  if (scanned < 1 || static_cast<size_t>(scanned) > count || body.inputs().size() != count ||
      body.outputs().size() != ctx.node.outputs().size() ||
      body.outputs().size() + static_cast<size_t>(scanned) < count)
    ctx.fail_input("{} scan inputs of {}, a body of {} and {}", scanned, count,
                   body.inputs().size(), body.outputs().size());
  const size_t states = count - static_cast<size_t>(scanned);
  const auto differ = [](const ir::Value* x, const ir::Value* y) {
    return x && x->dtype() != DType::undefined && y->dtype() != DType::undefined &&
           x->dtype() != y->dtype();
  };
  for (size_t i = 0; i < count; i++) {
    const ir::Value *given = ctx.node.input(first + i), *in = body.inputs()[i];
    if (differ(given, in))
      ctx.fail_input("input {} is {} outside of the body and {} in it, as '{}'", first + i,
                     ir::type_string(given->type), ir::type_string(in->type), in->name());
    const ir::Value* out = i < states ? body.outputs()[i] : nullptr;
    if (out && (differ(out, in) || differ(given, out)))
      ctx.fail_input("state {} is {} before a step and {} after it, as '{}'", i,
                     ir::type_string(differ(out, in) ? in->type : given->type),
                     ir::type_string(out->type), out->name());
  }
  for (size_t o = 0; o < body.outputs().size(); o++)
    if (const DType t = body.outputs()[o]->dtype(); t != DType::undefined) ctx.out_dtype(o, t);
}

// How many elements of each sequence there are, before opset 9.
uint32_t lengths(const ir::Node& n) { return n.opset() < 9 ? 0b1 : 0; }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Scan",
                   .since = 8,
                   .infer = infer,
                   .lower = lower_container,
                   .facts = {.moves = true, .constant_inputs_of = lengths, .flow = Flow::scan}};

}  // namespace poprt::ops::scan_op
