// Operators whose results have shapes that are computed from sizes that depend on data.
#include <algorithm>

#include "support/sized_graph/builder.h"

namespace poprt::test::sized {
namespace {

constexpr int64_t kLongest = 12;

void constant_of_shape(Builder& b) {
  Value* n = b.number_in(0, kLongest);
  if (!n) return;
  const Dim d = b.dim_of(n);
  Dims dims{d};
  Value* shape = b.vector_of(n);
  if (shape && b.c.chance(50)) {
    const int64_t k = b.c.between(1, 3);
    const bool first = b.c.chance(70);
    shape = first ? b.joined({shape, b.ints({k})}) : b.joined({b.ints({k}), shape});
    dims.insert(first ? dims.end() : dims.begin(), fixed(k));
  }
  if (!shape) return;
  b.feeds_shape(shape);
  if (b.c.chance(25)) {
    b.node("ConstantOfShape", {shape}, {{"value", Tensor::of<int64_t>({1}, {b.c.between(0, 2)})}},
           Type{DType::s64, dims});
    return;
  }
  const float value = static_cast<float>(b.c.between(-4, 4)) / 2;
  b.node("ConstantOfShape", {shape}, {{"value", Tensor::of<float>({1}, {value})}},
         Type{DType::f32, dims});
}

void range(Builder& b) {
  Value* n = b.number_in(-2, kLongest);
  if (n) n = b.scalar_of(n);
  if (!n) return;
  const Dim d = b.dim_of(n);
  const int64_t from = b.c.chance(60) ? 0 : b.c.between(-1, 2);
  const int64_t step = b.c.pick<int64_t>({1, 1, 1, 2});
  const auto length = [&](int64_t to) {
    return std::max<int64_t>(0, (to - from + step - 1) / step);
  };
  const bool same = from == 0 && step == 1 && d.low >= 0;
  const Dim size = same ? d : b.unknown(length(d.low), length(d.high));
  b.feeds_shape(n);
  const Type of{DType::s64, {size}};
  if (b.c.chance(30)) {
    Value* to = b.node("Cast", {n}, {{"to", int64_t{1}}}, Type{DType::f32, {}});
    if (to)
      b.node("Range", {b.real(static_cast<double>(from)), to, b.real(static_cast<double>(step))},
             {}, Type{DType::f32, {size}});
    return;
  }
  Value* y = b.node("Range", {b.integer(from), n, b.integer(step)}, {}, of);
  if (y && b.c.chance(60)) {
    Value* f = b.node("Cast", {y}, {{"to", int64_t{1}}}, Type{DType::f32, {size}});
    if (f && b.c.chance(40)) b.node("Mul", {f, b.real(0.5)}, {}, Type{DType::f32, {size}});
  }
}

// The largest elements of a tensor. Their number is computed from sizes.
void top_k(Builder& b) {
  Value* x = b.find([&](const Value* v, const Type& t) {
    return (t.dtype == DType::f32 || t.dtype == DType::s64) && !t.dims.empty() && b.exact(v);
  });
  if (!x || b.c.chance(40)) x = b.floats({b.c.between(2, 6)});
  Dims dims = b.type(x).dims;
  const DType type = b.type(x).dtype;
  const size_t axis = b.c.chance(60) ? dims.size() - 1 : b.c.below(dims.size());
  Value* k = nullptr;
  Dim size;
  if (dims[axis].is_static()) {
    k = b.number_in(0, dims[axis].low);
    if (!k) return;
    size = b.dim_of(k);
  } else {
    // The number must not exceed the number of elements.
    Value* n = b.size_of(x, axis);
    if (n) n = b.vector_of(n);
    const int64_t most = b.c.between(1, 4);
    size = b.unknown(std::min(dims[axis].low, most), std::min(dims[axis].high, most));
    const Type number{DType::s64, {fixed(1)}, Dims{size}};
    if (n && b.c.chance(30)) {
      Value* with = b.ints({most});
      Value* both = b.node("Concat", {n, with}, {{"axis", int64_t{0}}},
                           Type{DType::s64, {fixed(2)}, Dims{dims[axis], fixed(most)}});
      if (both && b.opset() >= 18)
        k = b.node("ReduceMin", {both, b.ints({0})}, {}, number);
      else if (both)
        k = b.node("ReduceMin", {both}, {{"axes", std::vector<int64_t>{0}}}, number);
    } else if (n) {
      k = b.node("Min", {n, b.ints({most})}, {}, number);
    }
  }
  k = k ? b.vector_of(k) : nullptr;
  if (!k) return;
  b.feeds_shape(k);
  dims[axis] = size;
  std::vector<Value*> all;
  b.node("TopK", {x, k},
         {{"axis", static_cast<int64_t>(axis)}, {"largest", int64_t{b.c.chance(70)}}},
         {Type{type, dims}, Type{DType::s64, dims}}, &all);
}

// Replaces -1 in a shape for Expand by 1, so that the dimension is not changed, as exporters do.
Value* without_minus_one(Builder& b, Value* shape) {
  const Type type = b.type(shape);
  const Type rank{DType::s64, {fixed(1)}, Dims{type.dims[0]}};
  Value* n = b.node("Shape", {shape}, {}, rank);
  const Type plain{DType::s64, type.dims};
  Value* ones =
      n ? b.node("ConstantOfShape", {n}, {{"value", Tensor::of<int64_t>({1}, {1})}}, plain)
        : nullptr;
  Value* minus = ones ? b.node("Mul", {ones, b.integer(-1)}, {}, plain) : nullptr;
  Value* open =
      minus ? b.node("Equal", {shape, minus}, {}, Type{DType::boolean, type.dims}) : nullptr;
  return open ? b.node("Where", {open, ones, shape}, {}, type) : nullptr;
}

void expand(Builder& b) {
  Value* n = b.number_in(0, kLongest);
  if (!n) return;
  const Dim d = b.dim_of(n);
  const int64_t k = b.c.between(1, 3);
  const bool first = b.c.chance(65);
  Value* x = b.floats(first ? Shape{1, k} : Shape{k, 1});
  Value* shape =
      first ? b.joined({n, b.ints({k})}) : b.joined({b.ints({b.c.chance(50) ? k : 1}), n});
  if (shape && b.c.chance(20)) shape = without_minus_one(b, shape);
  if (!shape) return;
  b.feeds_shape(shape);
  b.node("Expand", {x, shape}, {}, Type{DType::f32, first ? Dims{d, fixed(k)} : Dims{fixed(k), d}});
}

void tile(Builder& b) {
  Value* x = b.c.chance(50) ? b.tensor() : b.floats({b.c.between(1, 3), b.c.between(1, 3)});
  Dims dims = b.type(x).dims;
  std::vector<Value*> parts;
  const bool moving = !b.type(x).sized();
  const size_t at = b.c.below(dims.size());
  for (size_t d = 0; d < dims.size(); d++) {
    const int64_t k = b.c.chance(70) ? 1 : b.c.between(1, 3);
    Value* n = moving && d == at ? b.number_in(0, 4) : b.ints({k});
    if (!n) return;
    parts.push_back(n);
    const Dim by = b.dim_of(n), own = dims[d];
    dims[d] = by == fixed(1)    ? own
              : own == fixed(1) ? by
                                : b.unknown(own.low * by.low, own.high * by.high);
  }
  Value* repeats = b.joined(parts);
  if (!repeats) return;
  b.feeds_shape(repeats);
  b.node("Tile", {x, repeats}, {}, Type{DType::f32, dims});
}

// Reshapes a tensor to [-1], [1, -1] or [-1, k, 1], or to a computed shape.
void reshape(Builder& b) {
  Value* x = b.tensor();
  const Dims dims = b.type(x).dims;
  Dim all = fixed(1);
  for (const Dim& d : dims) {
    if (all == fixed(1))
      all = d;
    else if (!(d == fixed(1)))
      all = b.unknown(all.low * d.low, all.high * d.high);
  }
  const Dim last = dims.back();
  switch (b.c.below(4)) {
    case 0: b.node("Reshape", {x, b.ints({-1})}, {}, Type{DType::f32, {all}}); return;
    case 1:
      if (b.c.chance(50) || !last.is_static() || last.low == 0) {
        b.node("Reshape", {x, b.ints({1, -1})}, {}, Type{DType::f32, {fixed(1), all}});
        return;
      }
      b.node("Reshape", {x, b.ints({-1, last.low, 1})}, {},
             Type{DType::f32,
                  {dims.size() == 1   ? fixed(1)
                   : dims.size() == 2 ? dims[0]
                                      : b.unknown(all.low / last.low, all.high / last.low),
                   last, fixed(1)}});
      return;
    default: break;
  }
  // The dimensions of x, some of them read by Shape, with additional ones.
  std::vector<Value*> parts;
  Dims to;
  for (size_t d = 0; d < dims.size(); d++) {
    Value* n = dims[d].is_static() && b.c.chance(70) ? b.ints({dims[d].low}) : b.size_of(x, d);
    if (!n) return;
    parts.push_back(n);
    to.push_back(dims[d]);
    if (b.c.chance(40)) {
      parts.push_back(b.ints({1}));
      to.push_back(fixed(1));
    }
  }
  Value* shape = b.joined(parts);
  if (!shape) return;
  b.feeds_shape(shape);
  b.node("Reshape", {x, shape}, {}, Type{DType::f32, to});
}

void slice(Builder& b) {
  Value* x = b.c.chance(50) ? b.tensor() : b.floats({b.c.between(3, 6), b.c.between(1, 3)});
  Dims dims = b.type(x).dims;
  const size_t axis = b.c.chance(70) ? 0 : b.c.below(dims.size());
  if (b.type(x).sized() && dims[axis].is_static()) return;
  const Dim own = dims[axis];
  const auto at = static_cast<int64_t>(axis);
  if (own.is_static()) {
    const bool ends = b.c.chance(60);
    Value* n = b.number_in(0, own.low);
    n = n ? b.vector_of(n) : nullptr;
    if (!n) return;
    const Dim d = b.dim_of(n);
    dims[axis] = ends ? d : b.unknown(own.low - d.high, own.low - d.low);
    b.feeds_shape(n);
    b.node("Slice", {x, ends ? b.ints({0}) : n, ends ? n : b.ints({INT64_MAX}), b.ints({at})}, {},
           Type{DType::f32, dims});
    return;
  }
  const int64_t k = b.c.between(1, 2);
  Value *from = b.ints({0}), *to = b.ints({INT64_MAX}), *step = b.ints({1});
  switch (b.c.below(6)) {
    case 4:  // backwards
      from = b.ints({-1});
      to = b.ints({INT64_MIN + 1});
      step = b.ints({-1});
      break;
    case 0:  // all but the first
      from = b.ints({k});
      dims[axis] = b.unknown(std::max<int64_t>(0, own.low - k), std::max<int64_t>(0, own.high - k));
      break;
    case 1:  // all but the last
      to = b.ints({-k});
      dims[axis] = b.unknown(std::max<int64_t>(0, own.low - k), std::max<int64_t>(0, own.high - k));
      break;
    case 2:  // the first
      to = b.ints({k});
      dims[axis] = b.unknown(std::min(own.low, k), std::min(own.high, k));
      break;
    case 3:  // every second
      step = b.ints({2});
      dims[axis] = b.unknown((own.low + 1) / 2, (own.high + 1) / 2);
      break;
    default: {  // up to a number that is computed from sizes
      to = b.number_in(0, kLongest);
      to = to ? b.vector_of(to) : nullptr;
      if (!to) return;
      const Dim d = b.dim_of(to);
      dims[axis] = d == own ? own : b.unknown(std::min(own.low, d.low), std::min(own.high, d.high));
      b.feeds_shape(to);
    }
  }
  b.node("Slice", {x, from, to, b.ints({at}), step}, {}, Type{DType::f32, dims});
}

void pad(Builder& b) {
  Value* x = b.tensor();
  Dims dims = b.type(x).dims;
  const size_t axis = b.c.below(dims.size());
  const Dim own = dims[axis];
  if (!own.is_static() && !b.may_be_refused()) return;
  std::vector<Value*> before(dims.size()), after(dims.size());
  for (size_t d = 0; d < dims.size(); d++) before[d] = b.ints({0}), after[d] = b.ints({0});
  Value* n = nullptr;
  if (!b.type(x).sized() && b.c.chance(70)) n = b.number_in(0, 4);
  if (!n) n = b.ints({b.c.between(0, 2)});
  const Dim d = b.dim_of(n);
  (b.c.chance(70) ? after : before)[axis] = n;
  dims[axis] = d == fixed(0) ? own : b.unknown(own.low + d.low, own.high + d.high);
  b.feeds_shape(n);
  std::vector<Value*> parts = before;
  parts.insert(parts.end(), after.begin(), after.end());
  std::vector<int64_t> constants;
  for (const Value* part : parts)
    if (part->is_constant()) constants.push_back(b.dim_of(part).low);
  Value* pads = constants.size() == parts.size() ? b.ints(constants) : b.joined(parts);
  if (!pads) return;
  b.node("Pad", {x, pads, b.real(b.c.chance(50) ? 0 : 1.5)}, {}, Type{DType::f32, dims});
}

// A mask of rows with n elements: true for the places that are less than the length of the row.
void mask(Builder& b) {
  Value* n = b.scalar_of(b.number_in(0, 8));
  if (!n) return;
  const Dim d = b.dim_of(n);
  if (d.low < 0) return;
  b.feeds_shape(n);
  const int64_t rows = b.c.between(1, 3);
  Value* places = b.node("Range", {b.integer(0), n, b.integer(1)}, {}, Type{DType::s64, {d}});
  Value* lengths = b.input(DType::s64, {rows, 1},
                           [&](size_t) { return static_cast<double>(b.c.between(0, 5)); });
  Value* below = places
                     ? b.node("Less", {places, lengths}, {}, Type{DType::boolean, {fixed(rows), d}})
                     : nullptr;
  Value* f = below
                 ? b.node("Cast", {below}, {{"to", int64_t{1}}}, Type{DType::f32, {fixed(rows), d}})
                 : nullptr;
  if (f && b.c.chance(50))
    b.node("ReduceSum", {f, b.ints({1})}, {{"keepdims", int64_t{0}}},
           Type{DType::f32, {fixed(rows)}});
}

// Selects a row of a table by a number that is computed from sizes.
void gather_by_size(Builder& b) {
  Value* x = b.floats({b.c.between(3, 8), b.c.between(1, 3)});
  Value* n = b.number_in(0, b.type(x).dims[0].low - 1);
  if (!n) return;
  Dims dims = b.type(n).dims;
  dims.push_back(b.type(x).dims[1]);
  b.node("Gather", {x, n}, {{"axis", int64_t{0}}}, Type{DType::f32, dims});
}

void number_as_float(Builder& b) {
  Value* n = b.number();
  if (!n) return;
  Value* f = b.node("Cast", {n}, {{"to", int64_t{1}}}, Type{DType::f32, b.type(n).dims});
  Value* x = f ? b.tensor() : nullptr;
  if (x) b.node("Mul", {x, f}, {}, Type{DType::f32, b.type(x).dims});
}

// The sum of a computed number and the number of words in a constant text decides a shape.
void words(Builder& b) {
  if (b.opset() < 20) return;
  const std::string text = b.c.pick<const char*>({"a b c", "ab", "x y"});
  Value* t = b.constant(Tensor::strings({1}, {text}));
  const int64_t count = text == "a b c" ? 3 : text == "ab" ? 1 : 2;
  std::vector<Value*> all;
  b.node("StringSplit", {t}, {{"delimiter", std::string(" ")}},
         {Type{DType::string, {fixed(1), fixed(count)}},
          Type{DType::s64, {fixed(1)}, Dims{fixed(count)}}},
         &all);
  if (all.size() < 2) return;
  Value* n = b.number_in(0, 3);
  n = n ? b.vector_of(n) : nullptr;
  if (!n) return;
  const Dim d = b.dim_of(n);
  Value* sum = b.node("Add", {n, all[1]}, {},
                      Type{DType::s64, {fixed(1)}, Dims{b.unknown(d.low + count, d.high + count)}});
  if (!sum) return;
  b.feeds_shape(sum);
  b.node("Expand", {b.real(1.5), sum}, {}, Type{DType::f32, {b.dim_of(sum)}});
}

constexpr Recipe kShapes[] = {
    {"ConstantOfShape", constant_of_shape, 6},
    {"Range", range, 8},
    {"TopK", top_k, 6},
    {"Expand", expand, 6},
    {"Tile", tile, 5},
    {"Reshape", reshape, 8},
    {"Slice", slice, 8},
    {"Pad", pad, 4},
    {"Gather", gather_by_size, 4},
    {"mask", mask, 3},
    {"number", number_as_float, 3},
    {"StringSplit", words, 1},
};

}  // namespace

std::span<const Recipe> shape_recipes() { return kShapes; }

}  // namespace poprt::test::sized
