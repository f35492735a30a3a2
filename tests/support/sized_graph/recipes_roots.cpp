// Operators whose results have sizes that depend on data.
#include <algorithm>
#include <numeric>

#include "support/sized_graph/builder.h"

namespace poprt::test::sized {
namespace {

Value* some_static(Builder& b) {
  Value* x = b.find([](const Value*, const Type& t) {
    return t.dtype == DType::f32 && !t.sized() && !t.dims.empty() && t.dims[0].low > 1;
  });
  return x && b.c.chance(50) ? x : b.floats({b.c.between(2, 5), b.c.between(1, 3)});
}

void compress(Builder& b) {
  Value* x = some_static(b);
  Dims dims = b.type(x).dims;
  int64_t count = 1;
  for (const Dim& d : dims) count *= d.low;
  const bool whole = dims.size() == 1 ? b.c.chance(30) : b.c.chance(10);
  const size_t axis = b.c.chance(75) ? 0 : b.c.below(dims.size());
  int64_t n = whole ? count : dims[axis].low;
  if (n > 1 && b.c.chance(10)) n--;  // a condition may be shorter than the axis
  Value* condition = b.condition(n);
  if (!condition) return;
  if (whole) {
    b.root(b.node("Compress", {x, condition}, {}, Type{DType::f32, {b.unknown(0, n)}}), 0);
    return;
  }
  dims[axis] = b.unknown(0, n);
  b.root(b.node("Compress", {x, condition}, {{"axis", static_cast<int64_t>(axis)}},
                Type{DType::f32, dims}),
         axis);
}

void non_zero(Builder& b) {
  const int64_t n = b.c.between(2, 6);
  Value* x = b.condition(n);
  int64_t rank = 1, total = n;
  if (x && b.c.chance(30) && n % 2 == 0) {
    x = b.node("Reshape", {x, b.ints({2, n / 2})}, {},
               Type{DType::boolean, {fixed(2), fixed(n / 2)}});
    rank = 2;
  }
  if (!x) return;
  const Dim size = b.unknown(0, total);
  Value* y = b.node("NonZero", {x}, {}, Type{DType::s64, {fixed(rank), size}});
  if (!b.root(y, 1)) return;
  Value* rows = b.node("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0}}},
                       Type{DType::s64, {size, fixed(rank)}});
  if (rank == 1 && b.c.chance(50)) {
    Value* flat = b.node("Squeeze", {y, b.ints({0})}, {}, Type{DType::s64, {size}});
    Value* from = b.floats({n, b.c.between(1, 3)});
    if (flat)
      b.node("Gather", {from, flat}, {{"axis", int64_t{0}}},
             Type{DType::f32, {size, b.type(from).dims[1]}});
    return;
  }
  Value* from = rank == 1 ? b.floats({n}) : b.floats({2, n / 2, 2});
  Dims dims{size};
  if (rank == 2) dims.push_back(fixed(2));
  if (rows) b.node("GatherND", {from, rows}, {}, Type{DType::f32, dims});
}

void unique(Builder& b) {
  const int64_t n = b.c.between(2, 6);
  std::vector<int64_t> kinds;
  for (size_t f = 0; f < kFeeds; f++) kinds.push_back(b.c.pick<int64_t>({1, 2, 3, 40}));
  const bool floats = b.c.chance(40), rows = b.c.chance(25);
  const DType type = floats ? DType::f32 : DType::s64;
  const Shape shape = rows ? Shape{n, 2} : Shape{n};
  Value* x = b.input(type, shape, [&](size_t f) {
    return static_cast<double>(b.c.below(static_cast<uint64_t>(kinds[f]))) / (floats ? 2 : 1);
  });
  Dims dims{b.unknown(1, n)};
  const Dim size = dims[0];
  if (rows) dims.push_back(fixed(2));
  Attributes attributes{{"sorted", int64_t{b.c.chance(60)}}};
  if (rows) attributes["axis"] = int64_t{0};
  std::vector<Value*> all;
  const Type ints{DType::s64, {size}};
  b.root(b.node("Unique", {x}, attributes,
                {Type{type, dims}, ints, Type{DType::s64, {fixed(n)}}, ints}, &all),
         0);
}

// How many boxes are kept depends on their overlaps and on their scores.
void suppression(Builder& b) {
  const int64_t n = b.c.between(2, 5), classes = b.c.pick<int64_t>({1, 1, 2});
  const bool center = b.c.chance(20);
  std::vector<Fill> fill;
  for (size_t f = 0; f < kFeeds; f++) fill.push_back(b.c.pick({Fill::none, Fill::some, Fill::all}));
  size_t k = 0;
  Value* boxes = b.input(DType::f32, {1, n, 4}, [&](size_t f) {
    const size_t box = k / 4 % static_cast<size_t>(n), side = k % 4;
    k++;
    // Boxes in a row without overlap; with Fill::some, every second one covers its left neighbour.
    const bool moved = fill[f] == Fill::some && box % 2 == 1;
    const double at = static_cast<double>((box - (moved ? 1 : 0)) * 2);
    if (center) return side == 0 ? at : side == 1 ? 4.0 : 2.0;
    return side == 1 ? at : side == 3 ? at + 2 : side == 0 ? 1.0 : 3.0;
  });
  k = 0;
  std::vector<int> order(static_cast<size_t>(n));
  Value* scores = b.input(DType::f32, {1, classes, n}, [&](size_t f) {
    if (k % order.size() == 0) {
      std::iota(order.begin(), order.end(), 1);
      for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[b.c.below(i)]);
    }
    const double score = order[k++ % order.size()] / 8.0;
    return fill[f] == Fill::none ? score - 1 : score;
  });
  const int64_t most = b.c.pick<int64_t>({1, 2, n, 10});
  const int64_t bound = classes * std::min(n, most);
  const Dim size = b.unknown(0, bound);
  Attributes attributes;
  if (center) attributes["center_point_box"] = int64_t{1};
  Value* selected =
      b.node("NonMaxSuppression",
             {boxes, scores, b.ints({most}), b.constant(Tensor::of<float>({1}, {0.5f})),
              b.constant(Tensor::of<float>({1}, {0.06f}))},
             attributes, Type{DType::s64, {size, fixed(3)}});
  if (!b.root(selected, 0) || b.c.chance(30)) return;
  Value* index =
      b.node("Gather", {selected, b.integer(2)}, {{"axis", int64_t{1}}}, Type{DType::s64, {size}});
  Value* flat =
      index ? b.node("Squeeze", {boxes, b.ints({0})}, {}, Type{DType::f32, {fixed(n), fixed(4)}})
            : nullptr;
  if (flat)
    b.node("Gather", {flat, index}, {{"axis", int64_t{0}}}, Type{DType::f32, {size, fixed(4)}});
}

// The first rows of a tensor, as many as a condition has true elements.
void slice_to_data(Builder& b) {
  if (!b.may_be_refused()) return;
  const int64_t n = b.c.between(3, 6);
  Value* x = b.floats({n, b.c.between(1, 3)});
  Value* condition = b.condition(n);
  if (!condition) return;
  Value* flags = b.node("Cast", {condition}, {{"to", int64_t{7}}}, Type{DType::s64, {fixed(n)}});
  if (!flags) return;
  Attributes keep{{"keepdims", int64_t{1}}};
  Value* count = b.node("ReduceSum", {flags, b.ints({0})}, keep,
                        Type{DType::s64, {fixed(1)}, Dims{b.unknown(0, n)}});
  if (!count) return;
  b.feeds_shape(count);
  Value* y = b.node("Slice", {x, b.ints({0}), count, b.ints({0})}, {},
                    Type{DType::f32, {b.dim_of(count), b.type(x).dims[1]}});
  b.root(y, 0);
}

// Selects from a vector whose size already depends on data.
void compress_again(Builder& b) {
  Value* x = b.find([&](const Value* v, const Type& t) {
    return t.dtype == DType::f32 && t.dims.size() == 1 && t.sized() && b.exact(v);
  });
  if (!x) return;
  const Dim own = b.type(x).dims[0];
  Value* limit = b.real(b.c.pick<double>({-1, 0, 0, 1}));
  const char* op = b.c.pick<const char*>({"Greater", "Less"});
  Value* condition = b.node(op, {x, limit}, {}, Type{DType::boolean, {own}});
  if (!condition) return;
  const Dim size = b.unknown(0, own.high);
  if (b.c.chance(60)) {
    Value* y = b.c.chance(50) ? x : b.find([&](const Value*, const Type& t) {
      return t.dtype == DType::f32 && !t.dims.empty() && t.dims[0] == own;
    });
    Dims dims = b.type(y).dims;
    dims[0] = size;
    b.root(b.node("Compress", {y, condition}, {{"axis", int64_t{0}}}, Type{DType::f32, dims}), 0);
    return;
  }
  Value* at = b.node("NonZero", {condition}, {}, Type{DType::s64, {fixed(1), size}});
  Value* flat =
      b.root(at, 1) ? b.node("Squeeze", {at, b.ints({0})}, {}, Type{DType::s64, {size}}) : nullptr;
  if (flat) b.node("Gather", {x, flat}, {{"axis", int64_t{0}}}, Type{DType::f32, {size}});
}

void unique_again(Builder& b) {
  if (!b.may_be_refused()) return;
  Value* x = b.find([&](const Value* v, const Type& t) {
    return (t.dtype == DType::f32 || t.dtype == DType::s64) && !t.numbers && t.dims.size() == 1 &&
           t.sized() && b.exact(v);
  });
  if (!x) return;
  const Dim own = b.type(x).dims[0];
  const Dim size = b.unknown(std::min<int64_t>(own.low, 1), own.high);
  std::vector<Value*> all;
  const Type ints{DType::s64, {size}};
  b.root(b.node("Unique", {x}, {{"sorted", int64_t{1}}},
                {Type{b.type(x).dtype, {size}}, ints, Type{DType::s64, {own}}, ints}, &all),
         0);
}

constexpr Recipe kRoots[] = {
    {"Compress", compress, 10},
    {"NonZero", non_zero, 8},
    {"Unique", unique, 5},
    {"NMS", suppression, 8},
    {"Compress again", compress_again, 6},
    {"Unique again", unique_again, 2},
    {"Slice to data", slice_to_data, 1},
};

}  // namespace

std::span<const Recipe> root_recipes() { return kRoots; }

}  // namespace poprt::test::sized
