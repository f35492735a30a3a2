// Operators that compute with tensors whose size depends on data.
#include <algorithm>

#include "support/sized_graph/builder.h"

namespace poprt::test::sized {
namespace {

// Returns a tensor that broadcasts to x.
Value* partner(Builder& b, Value* x) {
  const Dims& dims = b.type(x).dims;
  if (b.c.chance(45)) {
    Value* y = b.find([&](const Value* v, const Type& t) {
      return v != x && t.dtype == DType::f32 && t.dims == dims;
    });
    if (y) return y;
  }
  Shape shape;
  for (const Dim& d : dims) shape.push_back(d.is_static() && b.c.chance(60) ? d.low : 1);
  while (!shape.empty() && b.c.chance(40)) shape.erase(shape.begin());
  return b.floats(shape);
}

void unary(Builder& b) {
  Value* x = b.tensor(0);
  const char* op =
      b.c.pick<const char*>({"Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Softplus", "Erf",
                             "LeakyRelu", "Floor", "Ceil", "Sign", "Identity", "Relu", "Neg"});
  Attributes attributes;
  if (std::string(op) == "LeakyRelu") attributes["alpha"] = 0.25f;
  b.node(op, {x}, attributes, Type{DType::f32, b.type(x).dims});
}

void binary(Builder& b) {
  Value* x = b.tensor(0);
  Value* y = partner(b, x);
  const char* op = b.c.pick<const char*>({"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul", "Div"});
  const Type type{DType::f32, b.type(x).dims};
  if (std::string(op) == "Div") {
    Value* size = b.node("Abs", {y}, {}, Type{DType::f32, b.type(y).dims});
    y = size ? b.node("Add", {size, b.real(1)}, {}, Type{DType::f32, b.type(y).dims}) : nullptr;
    if (!y) return;
  }
  if (b.c.chance(30)) std::swap(x, y);
  b.node(op, {x, y}, {}, type);
}

void power(Builder& b) {
  Value* x = b.tensor(0);
  b.node("Pow", {x, b.real(b.c.pick<double>({1, 2, 2, 3}))}, {}, Type{DType::f32, b.type(x).dims});
}

void clip(Builder& b) {
  Value* x = b.tensor(0);
  b.node("Clip", {x, b.real(-1), b.real(2)}, {}, Type{DType::f32, b.type(x).dims});
}

void where(Builder& b) {
  Value* x = b.tensor(0);
  const Dims dims = b.type(x).dims;
  Value* limit = b.real(static_cast<double>(b.c.between(-2, 2)) + 0.25);
  const char* op = b.c.pick<const char*>({"Less", "Greater"});
  Value* condition = b.node(op, {x, limit}, {}, Type{DType::boolean, dims});
  if (!condition) return;
  if (b.c.chance(20)) condition = b.node("Not", {condition}, {}, Type{DType::boolean, dims});
  if (!condition) return;
  if (b.c.chance(25)) {
    b.node("Cast", {condition}, {{"to", int64_t{1}}}, Type{DType::f32, dims});
    return;
  }
  Value* y = partner(b, x);
  b.node(
      "Where",
      b.c.chance(50) ? std::vector<Value*>{condition, x, y} : std::vector<Value*>{condition, y, x},
      {}, Type{DType::f32, dims});
}

// Returns the dimensions of a result in which an axis is reduced.
Dims without(Dims dims, size_t axis, bool keeps) {
  if (keeps)
    dims[axis] = fixed(1);
  else
    dims.erase(dims.begin() + static_cast<int64_t>(axis));
  return dims;
}

void reduce(Builder& b) {
  Value* x = b.tensor();
  const Dims dims = b.type(x).dims;
  const size_t axis = b.c.below(dims.size());
  const bool filled = dims[axis].low > 0, keeps = b.c.chance(50);
  const std::string op =
      filled ? b.c.pick<const char*>({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin",
                                      "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                                      "ReduceLogSumExp"})
             : b.c.pick<const char*>(
                   {"ReduceSum", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare"});
  const auto at = static_cast<int64_t>(axis);
  if (b.c.chance(15) && !filled) {
    b.node("ReduceSum", {x}, {{"keepdims", int64_t{0}}}, Type{DType::f32, {}});
    return;
  }
  Attributes attributes{{"keepdims", int64_t{keeps}}};
  std::vector<Value*> in{x};
  if (op == "ReduceSum" || b.opset() >= 18)
    in.push_back(b.ints({at}));
  else
    attributes["axes"] = std::vector<int64_t>{at};
  b.node(op, in, attributes, Type{DType::f32, without(dims, axis, keeps)});
}

// A maximum over rows. A row is added, because a maximum of no elements is not defined.
void maximum_of_all(Builder& b) {
  Value* x = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() == 2 && t.sized() && t.dims[1].is_static();
  });
  if (!x) return;
  const Dim own = b.type(x).dims[0], width = b.type(x).dims[1];
  Value* row = b.floats({1, width.low});
  const Dim size = b.unknown(own.low + 1, own.high + 1);
  const bool first = b.c.chance(50);
  Value* both = b.node("Concat", first ? std::vector<Value*>{row, x} : std::vector<Value*>{x, row},
                       {{"axis", int64_t{0}}}, Type{DType::f32, {size, width}});
  if (!both) return;
  if (b.c.chance(40)) {
    Value* at = b.node(b.c.chance(50) ? "ArgMax" : "ArgMin", {both},
                       {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}, Type{DType::s64, {width}});
    if (at) return;
  }
  const std::string op = b.c.pick<const char*>({"ReduceMax", "ReduceMin", "ReduceMean"});
  const Type type{DType::f32, {width}};
  if (b.opset() >= 18)
    b.node(op, {both, b.ints({0})}, {{"keepdims", int64_t{0}}}, type);
  else
    b.node(op, {both}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}}, type);
}

void softmax(Builder& b) {
  Value* x = b.tensor();
  const auto axis = static_cast<int64_t>(b.c.below(b.type(x).dims.size()));
  b.node(b.c.chance(80) ? "Softmax" : "LogSoftmax", {x}, {{"axis", axis}},
         Type{DType::f32, b.type(x).dims});
}

void cumulative_sum(Builder& b) {
  Value* x = b.tensor();
  const auto axis = static_cast<int64_t>(b.c.below(b.type(x).dims.size()));
  b.node("CumSum", {x, b.integer(axis)},
         {{"exclusive", int64_t{b.c.chance(30)}}, {"reverse", int64_t{b.c.chance(20)}}},
         Type{DType::f32, b.type(x).dims});
}

void product(Builder& b) {
  Value* x = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() >= 2 && t.sized();
  });
  if (!x || b.c.chance(20)) x = b.floats({b.c.between(1, 4), b.c.between(1, 4)});
  const Dims dims = b.type(x).dims;
  const Dim rows = dims[dims.size() - 2], depth = dims.back();
  Dims out(dims.begin(), dims.end() - 1);
  if (depth.is_static() && depth.low > 0) {
    const int64_t width = b.c.between(1, 4);
    out.push_back(fixed(width));
    Tensor w = Tensor::zeros(DType::f32, {depth.low, width});
    for (float& e : w.mutable_values<float>()) e = static_cast<float>(b.c.between(-4, 4)) / 2;
    Value* y = b.node("MatMul", {x, b.constant(w)}, {}, Type{DType::f32, out});
    if (y && b.c.chance(40)) b.node("Add", {y, b.floats({width})}, {}, Type{DType::f32, out});
    return;
  }
  if (dims.size() != 2 || !rows.is_static()) return;
  Value* y = b.node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}},
                    Type{DType::f32, {depth, rows}});
  // The size that depends on data is the summed dimension.
  if (y) b.node("MatMul", {x, y}, {}, Type{DType::f32, {rows, rows}});
}

void concat(Builder& b) {
  Value* x = b.tensor();
  Dims dims = b.type(x).dims;
  const size_t axis = b.c.below(dims.size());
  const auto others = [&](const Type& t) {
    if (t.dtype != DType::f32 || t.dims.size() != dims.size()) return false;
    for (size_t d = 0; d < dims.size(); d++)
      if (d != axis && !(t.dims[d] == dims[d])) return false;
    return true;
  };
  Value* y = b.find([&](const Value*, const Type& t) { return others(t); });
  if (!y || b.c.chance(30)) {
    Shape shape;
    for (size_t d = 0; d < dims.size(); d++) {
      if (d != axis && !dims[d].is_static()) return;
      shape.push_back(d == axis ? b.c.between(1, 2) : dims[d].low);
    }
    y = b.floats(shape);
  }
  const Dim own = dims[axis], more = b.type(y).dims[axis];
  dims[axis] = b.unknown(own.low + more.low, own.high + more.high);
  b.node("Concat", b.c.chance(50) ? std::vector<Value*>{x, y} : std::vector<Value*>{y, x},
         {{"axis", static_cast<int64_t>(axis)}}, Type{DType::f32, dims});
}

void transpose(Builder& b) {
  Value* x = b.tensor(2);
  const Dims dims = b.type(x).dims;
  std::vector<int64_t> perm;
  for (size_t d = 0; d < dims.size(); d++) perm.push_back(static_cast<int64_t>(d));
  for (size_t d = perm.size(); d > 1; d--) std::swap(perm[d - 1], perm[b.c.below(d)]);
  Dims to;
  for (const int64_t p : perm) to.push_back(dims[static_cast<size_t>(p)]);
  b.node("Transpose", {x}, {{"perm", perm}}, Type{DType::f32, to});
}

void squeeze(Builder& b) {
  Value* x = b.tensor();
  Dims dims = b.type(x).dims;
  for (size_t d = 0; d < dims.size(); d++)
    if (dims[d] == fixed(1) && dims.size() > 1) {
      dims.erase(dims.begin() + static_cast<int64_t>(d));
      b.node("Squeeze", {x, b.ints({static_cast<int64_t>(d)})}, {}, Type{DType::f32, dims});
      return;
    }
  const auto at = b.c.below(dims.size() + 1);
  dims.insert(dims.begin() + static_cast<int64_t>(at), fixed(1));
  b.node("Unsqueeze", {x, b.ints({static_cast<int64_t>(at)})}, {}, Type{DType::f32, dims});
}

void gather(Builder& b) {
  // Rows of a table by indices whose number depends on data.
  Value* at = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::s64 && !t.numbers && t.dims.size() == 1 && t.sized();
  });
  if (at && b.c.chance(70)) {
    Value* clipped =
        b.node("Clip", {at, b.integer(0), b.integer(4)}, {}, Type{DType::s64, b.type(at).dims});
    Value* x = b.floats({5, b.c.between(1, 3)});
    if (clipped)
      b.node("Gather", {x, clipped}, {{"axis", int64_t{0}}},
             Type{DType::f32, {b.type(at).dims[0], b.type(x).dims[1]}});
    return;
  }
  Value* x = b.tensor();
  Dims dims = b.type(x).dims;
  const size_t axis = b.c.below(dims.size());
  if (dims[axis].low == 0) return;
  const int64_t n = b.c.between(1, 3);
  std::vector<int64_t> places;
  for (int64_t k = 0; k < n; k++)
    places.push_back(b.c.between(-dims[axis].low, dims[axis].low - 1));
  dims[axis] = fixed(n);
  b.node("Gather", {x, b.ints(places)}, {{"axis", static_cast<int64_t>(axis)}},
         Type{DType::f32, dims});
}

// Sorts a vector: GatherElements with the indices that TopK of all elements returns.
void gather_elements(Builder& b) {
  Value* x = b.find([&](const Value* v, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() == 1 && t.sized() && b.exact(v);
  });
  if (!x) return;
  const Dim own = b.type(x).dims[0];
  Value* n = b.size_of(x, 0);
  n = n ? b.vector_of(n) : nullptr;
  if (!n) return;
  b.feeds_shape(n);
  std::vector<Value*> all;
  b.node("TopK", {x, n}, {{"axis", int64_t{0}}}, {Type{DType::f32, {own}}, Type{DType::s64, {own}}},
         &all);
  if (all.size() == 2)
    b.node("GatherElements", {x, all[1]}, {{"axis", int64_t{0}}}, Type{DType::f32, {own}});
}

void scatter(Builder& b) {
  Value* at = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::s64 && !t.numbers && t.dims.size() == 1 && t.sized();
  });
  if (!at) return;
  const Dim size = b.type(at).dims[0];
  Value* updates = b.find(
      [&](const Value*, const Type& t) { return t.dtype == DType::f32 && t.dims == Dims{size}; });
  Value* rows = updates
                    ? b.node("Unsqueeze", {at, b.ints({1})}, {}, Type{DType::s64, {size, fixed(1)}})
                    : nullptr;
  Value* x = b.floats({b.c.between(6, 8)});
  if (rows) b.node("ScatterND", {x, rows, updates}, {}, Type{DType::f32, b.type(x).dims});
}

void one_hot(Builder& b) {
  Value* at = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::s64 && !t.numbers && t.dims.size() == 1;
  });
  if (!at) return;
  const int64_t depth = b.c.between(3, 6);
  b.node("OneHot", {at, b.integer(depth), b.constant(Tensor::of<float>({2}, {0.5f, 2.f}))},
         {{"axis", int64_t{-1}}}, Type{DType::f32, {b.type(at).dims[0], fixed(depth)}});
}

void layer_normalization(Builder& b) {
  if (b.opset() < 17) return;
  Value* x = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && t.sized() && t.dims.back().is_static() && t.dims.back().low > 1;
  });
  if (!x) return;
  const int64_t n = b.type(x).dims.back().low;
  const auto weights = [&](float at) {
    return b.constant(Tensor::of<float>({n}, std::vector<float>(static_cast<size_t>(n), at)));
  };
  b.node("LayerNormalization", {x, weights(1.5f), weights(0.5f)}, {{"axis", int64_t{-1}}},
         Type{DType::f32, b.type(x).dims});
}

void integers(Builder& b) {
  Value* x = b.find(
      [](const Value*, const Type& t) { return t.dtype == DType::s64 && !t.numbers && t.sized(); });
  if (!x) return;
  const Type type{DType::s64, b.type(x).dims};
  if (b.c.chance(40)) {
    b.node("Cast", {x}, {{"to", int64_t{1}}}, Type{DType::f32, b.type(x).dims});
    return;
  }
  b.node(b.c.pick<const char*>({"Add", "Sub", "Mul"}), {x, b.integer(b.c.between(1, 3))}, {}, type);
}

void split(Builder& b) {
  Value* x = b.tensor();
  const Dims dims = b.type(x).dims;
  for (size_t axis = 0; axis < dims.size(); axis++) {
    if (!dims[axis].is_static() || dims[axis].low < 2) continue;
    const int64_t first = b.c.between(1, dims[axis].low - 1);
    Dims one = dims, two = dims;
    one[axis] = fixed(first);
    two[axis] = fixed(dims[axis].low - first);
    std::vector<Value*> all;
    b.node("Split", {x, b.ints({first, two[axis].low})}, {{"axis", static_cast<int64_t>(axis)}},
           {Type{DType::f32, one}, Type{DType::f32, two}}, &all);
    return;
  }
}

void triangle(Builder& b) {
  if (b.opset() < 14) return;
  Value* x = b.tensor(2);
  if (b.type(x).sized() && !b.may_be_refused()) return;
  b.node("Trilu", {x}, {{"upper", int64_t{b.c.chance(50)}}}, Type{DType::f32, b.type(x).dims});
}

constexpr Recipe kTensors[] = {
    {"unary", unary, 12},
    {"binary", binary, 18},
    {"Pow", power, 2},
    {"Clip", clip, 2},
    {"Where", where, 6},
    {"reduce", reduce, 8},
    {"maximum", maximum_of_all, 5},
    {"Softmax", softmax, 4},
    {"CumSum", cumulative_sum, 2},
    {"MatMul", product, 6},
    {"Concat", concat, 8},
    {"Transpose", transpose, 4},
    {"Squeeze", squeeze, 4},
    {"Gather", gather, 5},
    {"GatherElements", gather_elements, 6},
    {"ScatterND", scatter, 6},
    {"OneHot", one_hot, 2},
    {"LayerNormalization", layer_normalization, 1},
    {"integers", integers, 4},
    {"Split", split, 2},
    {"Trilu", triangle, 1},
};

}  // namespace

std::span<const Recipe> tensor_recipes() { return kTensors; }

}  // namespace poprt::test::sized
