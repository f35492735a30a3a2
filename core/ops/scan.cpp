// The compiler replaces Scan by Loop (ops/resolve.h).
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::scan_op {
namespace {

// The type of a final state, which is the initial state if there are no steps.
ir::ValueType state_type(const ir::Value* given, const ir::ValueType& made) {
  ir::ValueType type{made.dtype, false, {}, {}};
  if (!given || !given->type.has_shape || !made.has_shape ||
      given->type.shape.size() != made.shape.size())
    return type;
  type.has_shape = true;
  type.shape = made.shape;
  for (size_t d = 0; d < type.shape.size(); d++)
    if (given->type.shape[d] != made.shape[d]) type.shape[d] = kUnknownDim;
  return type;
}

// The number of steps according to the types of the scan inputs; kUnknownDim if unknown.
int64_t length_of(const ir::Node& node, size_t scanned) {
  const std::vector<int64_t> axes =
      node.ints_attr("scan_input_axes", std::vector<int64_t>(scanned, 0));
  const size_t first = node.inputs().size() - scanned;
  for (size_t i = 0; i < scanned && axes.size() == scanned; i++) {
    const ir::Value* v = node.input(first + i);
    if (!v || !v->type.has_shape || v->shape().empty()) continue;
    const auto rank = static_cast<int64_t>(v->shape().size());
    const int64_t length = v->shape()[static_cast<size_t>(normalize_axis(axes[i], rank))];
    if (length >= 0) return length;
  }
  return kUnknownDim;
}

// Before opset 9, infers element types only.
void infer(InferContext& ctx) {
  const ir::Attribute* a = ctx.node.find_attr("body");
  const auto* attribute = a ? std::get_if<std::shared_ptr<ir::Graph>>(a) : nullptr;
  if (!attribute) ctx.fail_input("attribute body is missing");
  const ir::Graph& body = **attribute;
  const size_t first = ctx.opset() < 9 ? 1 : 0;  // after sequence_lens
  for (const char* key : {"directions", "scan_input_directions", "scan_output_directions"})
    for (const int64_t direction : ctx.node.ints_attr(key))
      if (direction != 0 && direction != 1)
        ctx.fail_input("{} has {}, expected 0 or 1", key, direction);
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
  const int64_t length = length_of(ctx.node, static_cast<size_t>(scanned));
  const std::vector<int64_t> axes = ctx.node.ints_attr("scan_output_axes");
  for (size_t o = 0; o < body.outputs().size(); o++) {
    const ir::ValueType& t = body.outputs()[o]->type;
    if (t.dtype == DType::undefined) continue;
    if (first == 1 || !t.has_shape) {
      ctx.out_dtype(o, t.dtype);
    } else if (o < states) {
      ctx.out(o, state_type(ctx.node.input(o), t));
    } else {
      const int64_t given = o - states < axes.size() ? axes[o - states] : 0;
      const int64_t axis = normalize_axis(given, static_cast<int64_t>(t.shape.size()) + 1);
      Shape shape = t.shape;
      shape.insert(shape.begin() + axis, length);
      ctx.out(o, t.dtype, std::move(shape));
    }
  }
}

// The input with the number of elements of each sequence, which exists before opset 9.
uint32_t lengths(const ir::Node& n) { return n.opset() < 9 ? 0b1 : 0; }

// The inputs of a Scan.
struct Scanned {
  Items states;
  std::vector<ir::Value*> values;  // the scan inputs
  // The axes along which the scan inputs are split, and whether the steps begin at their ends.
  std::vector<int64_t> axes, reversed;
  int64_t length = -1, batch = -1;
  // The number of steps if it depends on data; `length` is then its bound.
  ir::Value* size = nullptr;
  size_t scans = 0;  // the number of scan outputs
};

// The integers of an attribute with one element for each input or output.
std::vector<int64_t> list_of(const ResolveContext& ctx, std::string_view key, size_t size) {
  std::vector<int64_t> v = ctx.node.ints_attr(key, std::vector<int64_t>(size, 0));
  if (v.size() != size)
    ctx.fail_at(ErrorCode::invalid_argument, "{} has {} entries, expected {}", key, v.size(), size);
  return v;
}

Scanned scanned_of(const ResolveContext& ctx, const ir::Graph& body, const Items& in,
                   bool batched) {
  const ir::Node& n = ctx.node;
  const auto m = static_cast<size_t>(n.int_attr("num_scan_inputs", 0));
  if (m == 0 || m > in.size() || body.inputs().size() != in.size() ||
      body.outputs().size() != n.outputs().size() || n.outputs().size() < in.size() - m)
    ctx.fail_at(ErrorCode::invalid_argument, "{} scan inputs of {}, a body of {} and {}", m,
                in.size(), body.inputs().size(), body.outputs().size());
  const size_t states = in.size() - m;
  Scanned out;
  out.scans = n.outputs().size() - states;
  out.reversed = list_of(ctx, batched ? "directions" : "scan_input_directions", m);
  out.axes = batched ? std::vector<int64_t>(m, 0) : list_of(ctx, "scan_input_axes", m);
  int64_t known = -1, bound = -1;
  for (size_t i = 0; i < m; i++) {
    Item item = in[states + i];
    ctx.check_tensor(item, "a scan input");
    const auto rank = static_cast<int64_t>(item.value->shape().size());
    if (rank < (batched ? 2 : 1))
      ctx.fail_at(ErrorCode::invalid_argument, "a scan input is a scalar");
    out.axes[i] = normalize_axis(out.axes[i], rank);
    const bool is_cut =
        item.size && !item.twin && !batched && item.axis == static_cast<size_t>(out.axes[i]);
    ir::Value* const size_of_input = is_cut ? item.size : nullptr;
    if (is_cut) item = Item::of(item.value);
    ir::Value* v = ctx.static_tensor(item, "a scan input");
    const int64_t size = v->shape()[batched ? 1 : static_cast<size_t>(out.axes[i])];
    // ONNX requires equal lengths, so any known length is the actual one.
    int64_t& length = is_cut ? bound : known;
    if (!is_cut && known >= 0 && size != known)
      ctx.fail_at(ErrorCode::invalid_argument, "scan inputs of length {} and {}", known, size);
    length = is_cut && bound >= 0 ? std::min(bound, size) : size;
    if (is_cut) out.size = size_of_input;
    out.batch = v->shape()[0];
    out.values.push_back(v);
  }
  if (known >= 0) {
    if (bound >= 0 && known > bound)
      ctx.fail_at(ErrorCode::invalid_argument, "scan inputs of length {} and at most {}", known,
                  bound);
    out.size = nullptr;
  }
  out.length = known >= 0 ? known : bound;
  out.states.assign(in.begin(), in.begin() + static_cast<ptrdiff_t>(states));
  return out;
}

// Runs the first `length` steps of a Scan without a batch. Scan outputs are stacked along axis 0.
Items scan(ResolveContext& ctx, const ir::Graph& body, const Scanned& s, int64_t length) {
  LoopSpec loop{.node = &ctx.node};
  loop.count = Item::of(ctx.build.integer(length));
  if (s.size) {
    loop.count.actual = s.size;
    loop.count.least = ctx.build.integer(0);
  }
  ir::Value* const last = s.size ? ctx.build.size_of("Sub", s.size, ctx.build.integer(1))
                                 : ctx.build.integer(length - 1);
  loop.states = s.states;
  loop.scans = s.scans;
  loop.body_nodes = node_count(body) + static_cast<int64_t>(s.values.size());
  loop.round = [&](ir::Value* index, ir::Value*, const Items& carried) {
    Items inputs = carried;
    for (size_t i = 0; i < s.values.size(); i++) {
      ir::Value* at = s.reversed[i] ? ctx.build.make1("Sub", {last, index}) : index;
      inputs.push_back(Item::of(ctx.build.slice_at(s.values[i], at, s.axes[i])));
    }
    Items results = actual_of(ctx.run_body(body, inputs));
    results.insert(results.begin(), Item::of(ctx.build.constant(Tensor::scalar(true))));
    return results;
  };
  return ctx.iterate(loop);
}

// The rows of a scan output in reverse order. If only `size` rows are real, these come first.
ir::Value* reversed(ResolveContext& ctx, ir::Value* y, ir::Value* size) {
  const int64_t length = y->shape()[0];
  ir::Value* const last =
      size ? ctx.build.size_of("Sub", size, ctx.build.integer(1)) : ctx.build.integer(length - 1);
  ir::Value* place = ctx.build.newest("Sub", {last, ctx.build.indices(length)});
  if (size) place = ctx.build.newest("Max", {place, ctx.build.integer(0)});
  return ctx.build.make1("Gather", {y, place}, {{"axis", int64_t{0}}});
}

void resolve_plain(ResolveContext& ctx, const ir::Graph& body) {
  const Scanned s = scanned_of(ctx, body, ctx.actual(), false);
  const size_t states = s.states.size(), scans = s.scans;
  Items results = scan(ctx, body, s, s.length);
  const auto out_reversed = list_of(ctx, "scan_output_directions", scans);
  const auto out_axes = list_of(ctx, "scan_output_axes", scans);
  for (size_t i = 0; i < scans; i++) {
    Item& result = results[states + i];
    ir::Value* y = result.value;
    if (out_reversed[i]) y = reversed(ctx, y, result.size);
    const auto rank = static_cast<int64_t>(y->shape().size());
    const int64_t axis = normalize_axis(out_axes[i], rank);
    if (axis != 0) {
      std::vector<int64_t> perm;
      for (int64_t d = 1; d < rank; d++) perm.push_back(d);
      perm.insert(perm.begin() + axis, 0);
      y = ctx.build.transpose(y, std::move(perm));
    }
    ir::Value* const size = result.size;
    result = Item::of(y);
    if (size) result.sized(size, static_cast<size_t>(axis));
  }
  for (size_t i = 0; i < results.size(); i++) ctx.set_output(i, results[i]);
}

// Before opset 9: one scan for each element of the batch; shorter results are padded with zeros.
void resolve_batched(ResolveContext& ctx, const ir::Graph& body) {
  Items in = ctx.actual();
  Item lengths;
  if (!in.empty()) {
    lengths = in[0];
    in.erase(in.begin());
  }
  const Scanned s = scanned_of(ctx, body, in, true);
  const size_t states = s.states.size(), scans = s.scans;
  const int64_t length = s.length, batch = s.batch;
  std::vector<int64_t> sizes(static_cast<size_t>(batch), length);
  if (lengths.kind == Item::Kind::tensor) {
    if (!lengths.value->is_constant() || lengths.value->constant().count() != batch)
      ctx.fail_at(ErrorCode::unimplemented, "sequence_lens must be constant, one for each batch");
    sizes = lengths.value->constant().to_int64s();
  }
  if (batch == 0) ctx.fail_at(ErrorCode::unimplemented, "the batch is empty");
  std::vector<std::vector<ir::Value*>> columns(states + scans);
  for (int64_t b = 0; b < batch; b++) {
    const int64_t size = sizes[static_cast<size_t>(b)];
    if (size < 0 || size > length)
      ctx.fail_at(ErrorCode::invalid_argument, "sequence_lens has {}, the inputs {}", size, length);
    Items begin;
    for (const Item& state : s.states)
      begin.push_back(
          Item::of(ctx.build.slice_at(ctx.tensor(state, "a state"), ctx.build.integer(b), 0)));
    std::vector<ir::Value*> rows;
    for (ir::Value* v : s.values) rows.push_back(ctx.build.slice_at(v, ctx.build.integer(b), 0));
    Scanned one = s;
    one.states = begin;
    one.values = rows;
    const Items results = scan(ctx, body, one, size);
    for (size_t i = 0; i < results.size(); i++) {
      ir::Value* y = ctx.static_tensor(results[i], "a result");
      if (i >= states && size < length) {
        Shape rest = y->shape();
        rest[0] = length - size;
        ir::Value* zeros = ctx.build.constant(Tensor::zeros(y->dtype(), rest));
        y = ctx.build.make("Concat", "", std::array{y, zeros}, {{"axis", int64_t{0}}})[0];
      }
      columns[i].push_back(y);
    }
  }
  for (size_t i = 0; i < columns.size(); i++)
    ctx.set_output(i, Item::of(ctx.build.stack(columns[i], 0)));
}

bool has_open_input(const ResolveContext& ctx) {
  const auto m = static_cast<size_t>(ctx.node.int_attr("num_scan_inputs", 0));
  return m <= ctx.in.size() &&
         std::any_of(ctx.in.end() - static_cast<ptrdiff_t>(m), ctx.in.end(), [](const Item& item) {
           return item.kind == Item::Kind::tensor && !item.value->type.is_static();
         });
}

void resolve(ResolveContext& ctx) {
  if (ctx.keeps_onnx() && has_open_input(ctx)) return ctx.keep();
  const auto body = subgraph(ctx.node, "body");
  ctx.node.opset() < 9 ? resolve_batched(ctx, *body) : resolve_plain(ctx, *body);
}

// How often the body runs, or -1 if that is unknown: the size of the first scan input along its
// scan axis. Before opset 9, each sequence of the batch (axis 0) is scanned along axis 1, so the
// body runs as often as the product of both sizes.
int64_t repeats(const ir::Node& node) {
  const auto scanned = static_cast<size_t>(node.int_attr("num_scan_inputs", 1));
  const ir::Value* value = node.input(node.inputs().size() - scanned);
  if (!value || !value->type.has_shape || value->shape().empty()) return -1;
  const Shape& shape = value->shape();
  if (node.opset() < 9)
    return shape.size() < 2 || shape[0] < 0 || shape[1] < 0 ? -1 : checked_mul(shape[0], shape[1]);
  const auto axes = node.ints_attr("scan_input_axes");
  const int64_t axis =
      normalize_axis(axes.empty() ? 0 : axes[0], static_cast<int64_t>(shape.size()));
  return std::max<int64_t>(shape[static_cast<size_t>(axis)], -1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Scan",
                   .since = 8,
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.moves = true,
                             .constant_inputs_of = lengths,
                             .passes_types = true,
                             .repeats = repeats},
                   .resolve = resolve};

}  // namespace poprt::ops::scan_op
