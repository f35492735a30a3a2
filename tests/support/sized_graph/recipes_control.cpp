// Loops that end by data, Scan, If with branches of two sizes, and sequences.
#include <algorithm>

#include "support/sized_graph/builder.h"

namespace poprt::test::sized {
namespace {

// The body of a node. Names are unique in the whole model. Values have types, because ONNX requires
// them for inputs and outputs.
struct Body {
  std::shared_ptr<Graph> g;
  std::string prefix;
  int next = 0;

  Body(Builder& b, const std::string& name)
      : g(std::make_shared<Graph>(name)), prefix(name + std::to_string(b.g.node_count()) + "_") {
    g->parent = &b.g;
  }
  std::string fresh() { return prefix + std::to_string(next++); }
  Value* input(DType dtype, const Shape& shape) {
    return g->add_input(fresh(), ir::ValueType::of(dtype, shape));
  }
  Value* constant(const Tensor& t) { return g->add_constant(fresh(), t); }
  Value* node(const std::string& op, const std::vector<Value*>& inputs, Attributes attributes,
              DType dtype, const Shape& shape) {
    const std::vector<std::string> names{fresh()};
    Node* n = g->add_node(op, "", inputs, 1, nullptr, names);
    n->attributes = std::move(attributes);
    n->output()->type = ir::ValueType::of(dtype, shape);
    return n->output();
  }
};

// Returns the result of an elementwise node on x.
Value* decorated(Builder& b, Body& body, Value* x) {
  const Shape shape = x->shape();
  switch (b.c.below(4)) {
    case 0: return body.node("Neg", {x}, {}, DType::f32, shape);
    case 1:
      return body.node("Mul", {x, body.constant(Tensor::scalar<float>(0.5f))}, {}, DType::f32,
                       shape);
    case 2: return body.node("Relu", {x}, {}, DType::f32, shape);
    default: return body.node("Identity", {x}, {}, DType::f32, shape);
  }
}

Type with_rows(Dim rows, const Shape& row) {
  Type t{DType::f32, {rows}};
  for (const int64_t d : row) t.dims.push_back(fixed(d));
  return t;
}

// Adds a loop with a float state, a counter and rows as a scan output. `ends` adds nodes to the
// body that compute from the state and the number of the round whether the loop continues; if it is
// null, the loop continues.
void add_loop(Builder& b, Value* trips, Value* first, Dim rounds,
              const std::function<Value*(Body&, Value* state, Value* round)>& ends) {
  const Shape row = b.c.chance(60) ? Shape{} : Shape{b.c.between(1, 3)};
  Body body(b, "body");
  Value* i = body.input(DType::s64, {});
  Value* before = body.input(DType::boolean, {});
  Value* s = body.input(DType::f32, {});
  Value* n = body.input(DType::s64, {});
  Value* s1 = body.node("Add", {s, body.constant(Tensor::scalar<float>(1))}, {}, DType::f32, {});
  Value* n1 = body.node("Add", {n, body.constant(Tensor::scalar<int64_t>(1))}, {}, DType::s64, {});
  Value* go = ends ? ends(body, s1, i) : body.node("Identity", {before}, {}, DType::boolean, {});
  Value* made = s1;
  if (!row.empty()) {  // the body reads a value of the enclosing graph
    Value* outer = b.floats(row);
    made = body.node("Add", {s1, outer}, {}, DType::f32, row);
  }
  made = decorated(b, body, made);
  for (Value* v : {go, s1, n1, made}) body.g->add_output(v);
  std::vector<Value*> all;
  Value* y = b.node(
      "Loop", {trips, first, b.real(0), b.integer(0)}, {{"body", body.g}},
      {Type{DType::f32, {}}, Type{DType::s64, {}, Dims{rounds}}, with_rows(rounds, row)}, &all);
  if (y) b.root(all[2], 0);
}

// A loop that its condition ends: a limit of the state, or a flag for each round.
void loop_until(Builder& b) {
  const int64_t most = b.c.pick<int64_t>({3, 4, 6, 10});
  std::vector<Fill> fill;
  for (size_t f = 0; f < kFeeds; f++) fill.push_back(b.c.pick({Fill::none, Fill::some, Fill::all}));
  Value* first = nullptr;
  bool may_be_none = b.c.chance(50);
  if (b.c.chance(60)) {
    Value* limit = b.input(DType::f32, {}, [&](size_t f) {
      if (fill[f] == Fill::none) return -0.5;
      return static_cast<double>(fill[f] == Fill::all ? most : b.c.between(1, most - 1)) + 0.5;
    });
    if (may_be_none)
      first = b.node("Less", {b.real(0), limit}, {}, Type{DType::boolean, {}});
    else
      first = b.constant(Tensor::scalar<bool>(true));
    add_loop(b, b.integer(most), first, b.unknown(may_be_none ? 0 : 1, most),
             [&](Body& body, Value* state, Value*) {
               return body.node("Less", {state, limit}, {}, DType::boolean, {});
             });
    return;
  }
  Value* flags = b.condition(most);
  if (!flags) return;
  add_loop(b, b.integer(most), b.c.chance(50) ? nullptr : b.constant(Tensor::scalar<bool>(true)),
           b.unknown(1, most), [&](Body& body, Value*, Value* round) {
             return body.node("Gather", {flags, round}, {{"axis", int64_t{0}}}, DType::boolean, {});
           });
}

// A loop whose number of rounds is an input, limited by a constant.
void loop_capped(Builder& b) {
  if (!b.may_be_refused()) return;
  const int64_t most = b.c.between(2, 6);
  Value* trips = b.input(DType::s64, {}, [&](size_t) {
    return static_cast<double>(b.c.pick<int64_t>({0, 1, 2, most, most + 2}));
  });
  const Dim rounds = b.unknown(0, most);
  trips = b.node("Min", {trips, b.integer(most)}, {}, Type{DType::s64, {}, Dims{rounds}});
  if (!trips) return;
  b.feeds_shape(trips);
  add_loop(b, trips, nullptr, rounds, {});
}

// A loop whose body has a size that depends on data: it counts the non-zero elements of each row.
void loop_counting(Builder& b) {
  const int64_t rounds = b.c.between(2, 4), width = b.c.between(2, 4);
  Value* rows = b.input(DType::s64, {rounds, width},
                        [&](size_t) { return static_cast<double>(b.c.below(2)); });
  Body body(b, "body");
  Value* i = body.input(DType::s64, {});
  Value* go = body.input(DType::boolean, {});
  Value* n = body.input(DType::s64, {});
  Value* row = body.node("Gather", {rows, i}, {{"axis", int64_t{0}}}, DType::s64, {width});
  Value* at = body.node("NonZero", {row}, {}, DType::s64, {1, kUnknownDim});
  Value* size = body.node("Size", {at}, {}, DType::s64, {});
  Value* n1 = body.node("Add", {n, size}, {}, DType::s64, {});
  Value* same = body.node("Identity", {go}, {}, DType::boolean, {});
  for (Value* v : {same, n1, size}) body.g->add_output(v);
  std::vector<Value*> all;
  b.node(
      "Loop", {b.integer(rounds), nullptr, b.integer(0)}, {{"body", body.g}},
      {Type{DType::s64, {}, Dims{b.unknown(0, rounds * width)}}, Type{DType::s64, {fixed(rounds)}}},
      &all);
}

// A loop whose state grows by one row in each round.
void loop_growing(Builder& b) {
  if (!b.may_be_refused()) return;
  const int64_t rounds = b.c.between(2, 3);
  Value* start = b.tensor();
  Dims dims = b.type(start).dims;
  Shape shape;
  for (const Dim& d : dims) {
    if (!d.is_static() && shape.size() > 0) return;
    shape.push_back(shape.empty() ? kUnknownDim : d.low);
  }
  Shape one = shape;
  one[0] = 1;
  Value* row = b.floats(one);
  Body body(b, "body");
  body.input(DType::s64, {});
  Value* go = body.input(DType::boolean, {});
  Value* s = body.input(DType::f32, shape);
  Value* s1 = body.node("Concat", {s, row}, {{"axis", int64_t{0}}}, DType::f32, shape);
  Value* same = body.node("Identity", {go}, {}, DType::boolean, {});
  for (Value* v : {same, s1}) body.g->add_output(v);
  dims[0] = b.unknown(dims[0].low + rounds, dims[0].high + rounds);
  b.node("Loop", {b.integer(rounds), nullptr, start}, {{"body", body.g}}, Type{DType::f32, dims});
}

// A loop whose number of rounds is computed from sizes.
void loop_over_size(Builder& b) {
  if (!b.may_be_refused()) return;
  Value* trips = b.scalar_of(b.number_in(0, 6));
  if (!trips) return;
  b.feeds_shape(trips);
  add_loop(b, trips, nullptr, b.dim_of(trips), {});
}

void scan(Builder& b) {
  if (!b.may_be_refused()) return;
  Value* rows = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() == 2 && !t.dims[0].is_static() &&
           t.dims[1].is_static();
  });
  if (!rows) return;
  const Dims dims = b.type(rows).dims;
  const Shape row{dims[1].low};
  Value* start = b.floats(row);
  Body body(b, "scan");
  Value* state = body.input(DType::f32, row);
  Value* x = body.input(DType::f32, row);
  Value* next =
      body.node(b.c.pick<const char*>({"Add", "Max", "Min"}), {state, x}, {}, DType::f32, row);
  Value* made = decorated(b, body, b.c.chance(50) ? next : x);
  body.g->add_output(next);
  body.g->add_output(made);
  std::vector<Value*> all;
  b.node("Scan", {start, rows}, {{"body", body.g}, {"num_scan_inputs", int64_t{1}}},
         {Type{DType::f32, {dims[1]}}, Type{DType::f32, dims}}, &all);
}

// An If whose branches return different numbers of rows.
void branch(Builder& b) {
  Value* x = b.c.chance(50) ? b.floats({b.c.between(3, 5), b.c.between(1, 3)}) : b.tensor();
  Dims dims = b.type(x).dims;
  const Dim own = dims[0];
  bool static_tail = true;
  for (size_t d = 1; d < dims.size(); d++) static_tail = static_tail && dims[d].is_static();
  if (!static_tail) return;
  Value* condition = b.c.chance(60) ? b.input(DType::boolean, {},
                                              [&](size_t) { return b.c.chance(50) ? 1.0 : 0.0; })
                                    : nullptr;
  if (!condition) {
    Value* n = b.scalar_of(b.number());
    if (n)
      condition =
          b.node("Greater", {n, b.integer(b.c.between(0, 3))}, {}, Type{DType::boolean, {}});
  }
  if (!condition) return;
  const int64_t cut = b.c.between(1, 2);
  Shape row, open;
  for (const Dim& d : dims) row.push_back(d.is_static() ? d.low : kUnknownDim);
  open = row;
  open[0] = kUnknownDim;
  Body a(b, "then"), e(b, "else");
  a.g->add_output(a.node(
      "Slice",
      {x, a.constant(Tensor::of<int64_t>({1}, {0})), a.constant(Tensor::of<int64_t>({1}, {cut}))},
      {}, DType::f32, open));
  const Dim one = b.unknown(std::min(own.low, cut), std::min(own.high, cut));
  Dim two = own;
  Value* y = nullptr;
  switch (b.c.below(4)) {
    case 0: y = e.node("Relu", {x}, {}, DType::f32, row); break;
    case 3: {  // the size in the branch depends on data
      if (!own.is_static()) {
        y = e.node("Relu", {x}, {}, DType::f32, row);
        break;
      }
      Value* flags = b.condition(own.low);
      if (!flags) return;
      y = e.node("Compress", {x, flags}, {{"axis", int64_t{0}}}, DType::f32, open);
      two = {0, own.low, 0};
      break;
    }
    case 1: {
      Tensor more = Tensor::zeros(DType::f32, [&] {
        Shape s = row;
        s[0] = 1;
        return s;
      }());
      y = e.node("Concat", {x, e.constant(more)}, {{"axis", int64_t{0}}}, DType::f32, open);
      two = b.unknown(own.low + 1, own.high + 1);
      break;
    }
    default:
      y = e.node("Concat", {x, x}, {{"axis", int64_t{0}}}, DType::f32, open);
      two = b.unknown(2 * own.low, 2 * own.high);
  }
  e.g->add_output(y);
  Dims to = dims;
  to[0] = b.unknown(std::min(one.low, two.low), std::max(one.high, two.high));
  const bool swapped = b.c.chance(50);
  Value* made = b.node("If", {condition},
                       {{"then_branch", swapped ? e.g : a.g}, {"else_branch", swapped ? a.g : e.g}},
                       Type{DType::f32, to});
  if (made) b.root(made, 0);
}

const Type kSequence{.is_sequence = true};

// Puts tensors into a sequence and concatenates them.
void sequence_of_parts(Builder& b) {
  Value* x = b.may_be_refused() ? b.tensor() : b.floats({b.c.between(1, 3), b.c.between(1, 3)});
  Dims dims = b.type(x).dims;
  for (size_t d = 1; d < dims.size(); d++)
    if (!dims[d].is_static()) return;
  Shape shape{b.c.between(1, 3)};
  for (size_t d = 1; d < dims.size(); d++) shape.push_back(dims[d].low);
  Value* other = b.floats(shape);
  Value* list = b.node("SequenceConstruct", {x, other}, {}, kSequence);
  if (!list) return;
  Dim all = b.unknown(dims[0].low + shape[0], dims[0].high + shape[0]);
  if (b.c.chance(40)) {
    list = b.node("SequenceInsert", {list, x, b.integer(b.c.between(0, 2))}, {}, kSequence);
    all = b.unknown(2 * dims[0].low + shape[0], 2 * dims[0].high + shape[0]);
  } else if (b.c.chance(40)) {
    b.node("SequenceAt", {list, b.integer(0)}, {}, Type{DType::f32, dims});
  }
  if (!list) return;
  dims[0] = all;
  b.node("ConcatFromSequence", {list}, {{"axis", int64_t{0}}}, Type{DType::f32, dims});
}

// A tensor is split into parts, and a size selects one of them.
void split_sequence(Builder& b) {
  const int64_t n = b.c.between(2, 4), width = b.c.between(1, 3);
  Value* x = b.floats({n, width});
  const bool keeps = b.c.chance(50);
  Value* list = b.node("SplitToSequence", {x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{keeps}}},
                       kSequence);
  const Type element{DType::f32, keeps ? Dims{fixed(1), fixed(width)} : Dims{fixed(width)}};
  if (b.c.chance(30) && list) list = b.node("SequenceErase", {list, b.integer(0)}, {}, kSequence);
  Value* at = list ? b.scalar_of(b.number_in(0, n - 2)) : nullptr;
  if (at) b.node("SequenceAt", {list, at}, {}, element);
  if (list && b.c.chance(40)) {
    Value* length = b.node("SequenceLength", {list}, {}, Type{DType::s64, {}});
    if (length) b.node("Cast", {length}, {{"to", int64_t{1}}}, Type{DType::f32, {}});
  }
}

// Splits a tensor into its rows, whose number depends on data.
void split_rows(Builder& b) {
  if (!b.may_be_refused()) return;
  Value* x = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() == 2 && !t.dims[0].is_static() &&
           t.dims[1].is_static();
  });
  if (!x) return;
  const Dims dims = b.type(x).dims;
  Value* list = b.node("SplitToSequence", {x}, {{"axis", int64_t{0}}}, kSequence);
  Value* length =
      list ? b.node("SequenceLength", {list}, {}, Type{DType::s64, {}, Dims{dims[0]}}) : nullptr;
  if (length)
    b.node("Add", {length, b.integer(1)}, {},
           Type{DType::s64, {}, Dims{b.unknown(dims[0].low + 1, dims[0].high + 1)}});
}

constexpr Recipe kControl[] = {
    {"Loop until", loop_until, 10},
    {"Loop counting", loop_counting, 3},
    {"Loop growing", loop_growing, 3},
    {"Loop capped", loop_capped, 2},
    {"Loop over size", loop_over_size, 2},
    {"Scan", scan, 4},
    {"If", branch, 7},
    {"SequenceConstruct", sequence_of_parts, 4},
    {"SplitToSequence", split_sequence, 3},
    {"rows as a sequence", split_rows, 2},
};

}  // namespace

std::span<const Recipe> control_recipes() { return kControl; }

}  // namespace poprt::test::sized
