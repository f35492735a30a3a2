// The compiler unrolls short loops and everything whose shapes change; the rest runs as a loop on
// the device. Scan outputs have as many rows as the trip count says, also when the condition ends
// the loop before: that is their bound.
#include "ops/common/compile_time.h"

namespace poprt::ops::loop_op {
namespace {

// Shapes may change from round to round, element types may not.
void check_types(const InferContext& ctx, const ir::Graph& body, size_t states) {
  const auto differ = [](const ir::Value* a, DType b) {
    return a && a->dtype() != DType::undefined && b != DType::undefined && a->dtype() != b;
  };
  const auto expect = [&](const ir::Value* v, DType type, std::string_view what) {
    if (differ(v, type))
      ctx.fail_input("{} of the body, '{}', is {}, expected one {}", what, v->name(),
                     ir::type_string(v->type), dtype_name(type));
  };
  expect(body.inputs()[0], DType::s64, "the iteration number");
  expect(body.inputs()[1], DType::boolean, "the condition");
  expect(body.outputs()[0], DType::boolean, "the condition");
  for (size_t i = 0; i < states; i++) {
    const ir::Value *given = ctx.node.input(2 + i), *in = body.inputs()[2 + i],
                    *out = body.outputs()[1 + i];
    if (differ(given, in->dtype()))
      ctx.fail_input("state {} is {} before the loop and {} in the body, as '{}'", i,
                     ir::type_string(given->type), ir::type_string(in->type), in->name());
    if (differ(out, in->dtype()) || differ(given, out->dtype()))
      ctx.fail_input("state {} is {} before a round and {} after it, as '{}'", i,
                     ir::type_string(differ(out, in->dtype()) ? in->type : given->type),
                     ir::type_string(out->type), out->name());
  }
}

void infer(InferContext& ctx) {
  const ir::Attribute* a = ctx.node.find_attr("body");
  const auto* body = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
  if (!body) ctx.fail_input("attribute body is missing");
  const size_t states = ctx.input_count() < 2 ? 0 : ctx.input_count() - 2;
  const auto& results = (*body)->outputs();
  if (results.size() != ctx.node.outputs().size() + 1 || results.size() < states + 1)
    ctx.fail_input("the body makes {} values, the node {} from {} states", results.size(),
                   ctx.node.outputs().size(), states);
  if ((*body)->inputs().size() != states + 2)
    ctx.fail_input(
        "the body takes {} values, expected the iteration number, the condition and {} "
        "states",
        (*body)->inputs().size(), states);
  check_types(ctx, **body, states);
  const auto count = ctx.ints(0);
  for (size_t o = 0; o < ctx.node.outputs().size(); o++) {
    const ir::ValueType& t = results[o + 1]->type;
    if (t.dtype == DType::undefined) continue;
    if (!t.has_shape) {
      ctx.out_dtype(o, t.dtype);
    } else if (o < states) {
      ctx.out(o, t.dtype, t.shape);
    } else {
      Shape whole = {count && count->size() == 1 ? std::max<int64_t>((*count)[0], 0) : kUnknownDim};
      whole.insert(whole.end(), t.shape.begin(), t.shape.end());
      ctx.out(o, t.dtype, std::move(whole));
    }
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Loop",
                   .infer = infer,
                   .lower = lower_container,
                   .facts = {.moves = true, .constant_inputs = 0b11, .flow = Flow::loop}};

}  // namespace poprt::ops::loop_op
