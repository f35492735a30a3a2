// The compiler unrolls short loops and everything whose shapes change; the rest runs as a loop on
// the device. Scan outputs have as many rows as the trip count says, also when the condition ends
// the loop before: that is their bound.
#include "ops/common/compile_time.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  const ir::Attribute* a = ctx.node.find_attr("body");
  const auto* body = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
  if (!body) ctx.fail_input("attribute body is missing");
  const size_t states = ctx.input_count() < 2 ? 0 : ctx.input_count() - 2;
  const auto& results = (*body)->outputs();
  if (results.size() != ctx.node.outputs().size() + 1 || results.size() < states + 1)
    ctx.fail_input("the body makes {} values, the node {} from {} states", results.size(),
                   ctx.node.outputs().size(), states);
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

extern const OpDef loop_op;
const OpDef loop_op = {.name = "Loop", .infer = infer, .lower = lower_container};

}  // namespace poprt::ops
