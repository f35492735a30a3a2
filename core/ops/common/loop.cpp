#include "ops/common/loop.h"

#include <algorithm>

#include "ops/bound.h"

namespace poprt::ops {
namespace {

// Checks element types, which must not change from round to round; shapes may.
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

// The value that a chain of Identity nodes copies.
const ir::Value* origin(const ir::Value* v) {
  while (v->producer() && facts_of(*v->producer()).source == ElementSource::itself &&
         v->producer()->input(0))
    v = v->producer()->input(0);
  return v;
}

bool is_true(const ir::Value* v) {
  const ir::Node* n = v->producer();
  const Tensor* t = nullptr;
  if (v->is_constant())
    t = &v->constant();
  else if (const ir::Attribute* a = n && n->inputs().empty() ? n->find_attr("value") : nullptr)
    t = std::get_if<Tensor>(a);
  return t && t->dtype() == DType::boolean && t->count() == 1 && t->to_doubles()[0] != 0;
}

const ir::Graph* body_of(const ir::Node& loop) {
  const ir::Attribute* a = loop.find_attr("body");
  const auto* body = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
  return body ? body->get() : nullptr;
}

std::optional<int64_t> trip_count(const InferContext& ctx) {
  const auto count = ctx.ints(0);
  if (!count || count->size() != 1) return std::nullopt;
  return std::max<int64_t>((*count)[0], 0);
}

// The type of a state after all rounds. Unless `runs`, possibly no round runs, and the state is
// then `given`.
ir::ValueType final_type(const ir::Value* given, const ir::ValueType& made, bool runs) {
  if (runs) return made;
  ir::ValueType type = ir::ValueType{made.dtype, false, {}, {}};
  if (!given || !given->type.has_shape || !made.has_shape ||
      given->type.shape.size() != made.shape.size())
    return type;
  type.has_shape = true;
  type.shape = made.shape;
  for (size_t d = 0; d < type.shape.size(); d++)
    if (given->type.shape[d] != made.shape[d]) type.shape[d] = kUnknownDim;
  return type;
}

// The number of the round or the condition, which a body may declare as a tensor with one element.
ir::Value* as_declared(FoldingBuilder& build, const ir::Value& input, ir::Value* scalar) {
  const ir::ValueType& type = input.type;
  const bool one = type.has_shape && !type.shape.empty() &&
                   std::all_of(type.shape.begin(), type.shape.end(),
                               [](int64_t d) { return d == 1 || d == kUnknownDim; });
  return one ? build.reshape(scalar, Shape(type.shape.size(), 1)) : scalar;
}

}  // namespace

bool may_end_early(const ir::Node& loop) {
  const ir::Graph* body = body_of(loop);
  if (!body || body->outputs().empty() || body->inputs().size() < 2) return true;
  if (const ir::Value* first = loop.input(1); first && !is_true(origin(first))) return true;
  const ir::Value* next = origin(body->outputs()[0]);
  return next != body->inputs()[1] && !is_true(next);
}

void infer_loop(InferContext& ctx, bool bounded) {
  const ir::Graph* body = body_of(ctx.node);
  if (!body) ctx.fail_input("attribute body is missing");
  const size_t states = ctx.input_count() < 2 ? 0 : ctx.input_count() - 2;
  const auto& results = body->outputs();
  if (results.size() != ctx.node.outputs().size() + 1 || results.size() < states + 1)
    ctx.fail_input("the body makes {} values, the node {} from {} states", results.size(),
                   ctx.node.outputs().size(), states);
  if (body->inputs().size() != states + 2)
    ctx.fail_input(
        "the body takes {} values, expected the iteration number, the condition and {} "
        "states",
        body->inputs().size(), states);
  check_types(ctx, *body, states);
  const auto count = trip_count(ctx);
  // If there are no rounds, none can end the loop early.
  const bool all = bounded || !may_end_early(ctx.node) || (count && *count == 0);
  const bool runs = !may_end_early(ctx.node) && (!ctx.has(0) || (count && *count > 0));
  for (size_t o = 0; o < ctx.node.outputs().size(); o++) {
    const ir::ValueType& t = results[o + 1]->type;
    if (t.dtype == DType::undefined) continue;
    if (o < states) {
      ctx.out(o, final_type(ctx.node.input(2 + o), t, runs));
    } else if (!t.has_shape) {
      ctx.out_dtype(o, t.dtype);
    } else {
      Shape whole = {count && all ? *count : kUnknownDim};
      whole.insert(whole.end(), t.shape.begin(), t.shape.end());
      ctx.out(o, t.dtype, std::move(whole));
    }
  }
}

void resolve_loop(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const auto body = subgraph(n, "body");
  const Items& in = ctx.in;
  LoopSpec loop{.node = &n};
  if (!in.empty()) loop.count = in[0];
  if (in.size() > 1) loop.condition = actual_of(in[1]);
  if (in.size() > 2) loop.states.assign(in.begin() + 2, in.end());
  const size_t states = loop.states.size();
  if (ir::Value* count = loop.count.value; count && !loop.count.actual && !count->is_constant())
    if (const auto most = upper_limit(count)) {
      loop.count = Item::of(ctx.build.integer(*most));
      loop.count.actual = count;
      loop.count.least = ctx.build.integer(std::min<int64_t>(*most, 0));
    }
  if (body->inputs().size() != states + 2 || body->outputs().size() != n.outputs().size() + 1 ||
      n.outputs().size() < states)
    ctx.fail_at(ErrorCode::invalid_argument, "its body has {} inputs and {} outputs",
                body->inputs().size(), body->outputs().size());
  loop.scans = n.outputs().size() - states;
  loop.body_nodes = node_count(*body);
  loop.round = [&](ir::Value* index, ir::Value* condition, const Items& carried) {
    // Exporters declare the condition as a scalar or as [1].
    ir::Value* const declared = as_declared(ctx.build, *body->inputs()[1], condition);
    Items inputs = {Item::of(as_declared(ctx.build, *body->inputs()[0], index)),
                    Item::of(declared)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Items results = ctx.run_body(*body, inputs);
    // If the body passes the condition through, the result is the condition as a scalar.
    if (results[0].value == declared) results[0].value = condition;
    return results;
  };
  const Items results = ctx.iterate(loop);
  for (size_t i = 0; i < results.size(); i++) ctx.set_output(i, results[i]);
}

int64_t loop_repeats(const ir::Node& loop) {
  const ir::Value* count = loop.input(0);
  if (!count || !count->is_constant() || count->constant().count() == 0) return -1;
  return std::max<int64_t>(count->constant().to_int64s()[0], 0);
}

}  // namespace poprt::ops
