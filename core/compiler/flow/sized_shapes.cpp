// Operators whose result has a shape made of sizes that depend on data (size_ranges.cpp), or that
// move the real part of a tensor to other places: ConstantOfShape, Range, Expand, Tile, Reshape,
// Slice. The result has room for the most, and SizedResult::size says what is real.
//
// The real part of a tensor is always the first places along one axis. Reshape [2, n, 3] -> [2 n,
// 3] with room for N rows: real rows stand at 0 .. n-1 and N .. N+n-1, so they are gathered to the
// front first (compacted).
#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.h"
#include "base/onnx_dtype.h"
#include "compiler/flow/specializer.h"
#include "ir/newest.h"

namespace poprt::compiler {

using ir::Node;
using ir::Value;

int64_t product(const Shape& s, size_t from, size_t to) {
  return std::accumulate(s.begin() + static_cast<ptrdiff_t>(from),
                         s.begin() + static_cast<ptrdiff_t>(to), int64_t{1}, std::multiplies<>());
}

namespace {

int64_t divided_up(int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; }

bool same_size(const Value* a, const Value* b) {
  return a == b || (a && b && a->is_constant() && b->is_constant() &&
                    a->constant().to_int64s() == b->constant().to_int64s());
}

}  // namespace

Value* Specializer::with_bound(const Item& x, int64_t bound) {
  Shape shape = x.value->shape();
  const int64_t room = shape[x.axis];
  if (bound == room) return x.value;
  const auto axis = static_cast<int64_t>(x.axis);
  if (bound < room)
    return newest("Slice", {x.value, integers(std::array<int64_t, 1>{0}),
                            integers(std::array{bound}), integers(std::array{axis})});
  shape[x.axis] = bound - room;
  return make1("Concat", {x.value, constant(Tensor::zeros(x.value->dtype(), shape))},
               {{"axis", axis}});
}

// Sizes are equal, or 1 where the tensor is repeated.
Specializer::Meeting Specializer::meet(std::span<const Meeting> all) {
  Meeting out = all[0];
  for (const Meeting& m : all.subspan(1)) {
    if (!m.size || !out.size) {
      if (out.size) out = m;
    } else if (same_size(out.size, m.size)) {
      out.bound = std::min(out.bound, m.bound);
    } else {
      Value* one = size_of("Equal", out.size, integer(1));
      out = {newest("Where", {one, m.size, out.size}), std::max(out.bound, m.bound)};
    }
  }
  return out;
}

Value* Specializer::met(const Item& x, const Meeting& meeting) {
  const int64_t room = x.value->shape()[x.axis];
  if (same_size(x.size, meeting.size) || room == 0) return with_bound(x, meeting.bound);
  Value* place = newest("Min", {places(meeting.bound), integer(room - 1)});
  return gathered(x, newest("Where", {newest("Equal", {x.size, integer(1)}), integer(0), place}));
}

Specializer::SizedResult Specializer::follow_elementwise(const Node& n, Items& in) {
  const auto takes_part = [&](size_t i) {
    return in[i].kind == Item::Kind::tensor && in[i].value->type.is_static() &&
           !ops::in_mask(ops::facts_of(n).type_inputs, i);
  };
  size_t rank = 0;
  for (size_t i = 0; i < in.size(); i++)
    if (takes_part(i)) rank = std::max(rank, in[i].value->shape().size());
  std::optional<size_t> axis;
  for (size_t i = 0; i < in.size(); i++) {
    if (!in[i].size || !takes_part(i)) continue;
    const size_t at = in[i].axis + rank - in[i].value->shape().size();
    if (axis.value_or(at) != at) refuse_size(n, in[i]);
    axis = at;
  }
  if (!axis) return {};
  std::vector<Meeting> all;
  for (size_t i = 0; i < in.size(); i++) {
    if (!takes_part(i)) continue;
    const Shape& shape = in[i].value->shape();
    if (shape.size() + *axis < rank) continue;
    const int64_t room = shape[*axis + shape.size() - rank];
    if (in[i].size || room != 1) all.push_back({in[i].size, room});
  }
  const Meeting meeting = meet(all);
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].size && takes_part(i)) in[i].value = met(in[i], meeting);
  return {meeting.size, *axis};
}

Specializer::SizedResult Specializer::follow_constant_of_shape(const Node& n, Items& in) {
  SizedResult out;
  const std::vector<Extent> to = extents(n, in[0]);
  for (size_t k = 0; k < to.size(); k++) {
    if (!to[k].actual) continue;
    if (out.size) refuse_shape(n, in[0]);
    out = {to[k].least < 0 ? newest("Max", {to[k].actual, integer(0)}) : to[k].actual, k};
  }
  return out;
}

Specializer::SizedResult Specializer::follow_range(const Node& n, Items& in) {
  const DType type = in[0].value->dtype();
  for (const Item& item : in)
    if (!item.value->is_constant()) refuse_shape(n, item);
  if (in[2].actual) refuse_shape(n, in[2]);
  const auto number = [](const Value* v) { return v->constant().to_doubles()[0]; };
  const auto least = [&](size_t i) { return number(in[i].actual ? in[i].least : in[i].value); };
  const double delta = number(in[2].value);
  if (delta == 0) fail_at(n, ErrorCode::invalid_argument, "its step is 0");
  const double length = delta > 0 ? number(in[1].value) - least(0) : number(in[0].value) - least(1);
  const double room = std::ceil(std::max(0.0, length / std::abs(delta)));
  if (!(room < static_cast<double>(int64_t{1} << 32)))
    fail_at(n, ErrorCode::resource_exhausted, "it makes up to {} numbers", room);
  const auto bound = static_cast<int64_t>(room);
  count_folded(static_cast<uint64_t>(bound) * 8);

  Value* start = in[0].actual ? in[0].actual : in[0].value;
  Value* limit = in[1].actual ? in[1].actual : in[1].value;
  const auto cast = [&](Value* v, DType to) {
    return v->dtype() == to ? v : newest("Cast", {v}, {{"to", onnx_from_dtype(to).value()}});
  };
  Value *count, *step = in[2].value;
  start = reshape(start, {}), limit = reshape(limit, {}), step = reshape(step, {});
  if (is_float(type)) {
    count =
        cast(newest("Ceil", {newest("Div", {newest("Sub", {limit, start}), step})}), DType::s64);
  } else {
    Value *from = cast(start, DType::s64), *to = cast(limit, DType::s64);
    if (in[1].actual && !in[0].actual && number(in[0].value) == 0 && delta == 1)
      count = element_of(in[1].actual, 0);
    else
      count = delta > 0 ? newest("Sub", {to, from}) : newest("Sub", {from, to});
    const auto d = static_cast<int64_t>(std::abs(delta));
    if (d > 1) count = newest("Div", {newest("Add", {count, integer(d - 1)}), integer(d)});
  }
  Value* numbers = cast(places(bound), type);
  if (delta != 1) numbers = newest("Mul", {numbers, step});
  if (in[0].actual || number(start) != 0) numbers = newest("Add", {numbers, start});
  const bool from_size = in[1].actual && !is_float(type) && count == element_of(in[1].actual, 0);
  return {
      .size = from_size ? count : newest("Max", {count, integer(0)}), .axis = 0, .whole = numbers};
}

Specializer::SizedResult Specializer::follow_expand(const Node& n, Items& in) {
  Item& x = in[0];
  const std::vector<Extent> to = extents(n, in[1]);
  const size_t rank = x.value->shape().size(), out = std::max(rank, to.size());
  std::optional<size_t> axis;
  if (x.size) axis = x.axis + out - rank;
  for (size_t k = 0; k < to.size(); k++) {
    if (!to[k].actual) continue;
    const size_t at = k + out - to.size();
    if (axis.value_or(at) != at) refuse_shape(n, in[1]);
    axis = at;
  }
  if (!axis) return {};
  std::vector<Meeting> all;
  if (x.size)
    all.push_back({x.size, x.value->shape()[x.axis]});
  else if (*axis + rank >= out && x.value->shape()[*axis + rank - out] != 1)
    all.push_back({nullptr, x.value->shape()[*axis + rank - out]});
  std::vector<int64_t> dims;
  for (const Extent& e : to) dims.push_back(e.most);
  if (*axis + to.size() >= out) {
    const Extent& e = to[*axis + to.size() - out];
    if (e.actual || e.most != 1) all.push_back({e.actual, e.most});
  }
  const Meeting meeting = meet(all);
  if (x.size) x.value = met(x, meeting);
  if (*axis + to.size() >= out) dims[*axis + to.size() - out] = meeting.bound;
  in[1].value = integers(dims);
  return {meeting.size, *axis};
}

Specializer::SizedResult Specializer::follow_tile(const Node& n, Items& in) {
  if (in.size() != 2) return refuse_sizes(n, in);  // as before opset 6
  const Item& x = in[0];
  Shape shape = x.value->shape();
  std::vector<Extent> repeats = extents(n, in[1]);
  if (repeats.size() != shape.size())
    fail_at(n, ErrorCode::invalid_argument, "{} repeats for rank {}", repeats.size(), shape.size());
  std::optional<size_t> axis;
  if (x.size) axis = x.axis;
  for (size_t k = 0; k < repeats.size(); k++) {
    if (!repeats[k].actual) continue;
    if (axis.value_or(k) != k) refuse_shape(n, in[1]);
    axis = k;
  }
  if (!axis) return {};
  const size_t at = *axis;
  const Extent times = repeats[at];
  Item y = x;
  y.axis = at;
  Value* length = x.size ? x.size : integer(shape[at]);
  Value* repeat = times.actual ? times.actual : integer(times.most);
  if (times.least < 0) repeat = newest("Max", {repeat, integer(0)});
  Value* size = times.actual || times.most != 1 ? size_of("Mul", length, repeat) : length;
  std::vector<int64_t> rest;
  for (const Extent& e : repeats) rest.push_back(e.most);
  rest[at] = 1;
  if (std::any_of(rest.begin(), rest.end(), [](int64_t r) { return r != 1; }))
    y.value = newest("Tile", {y.value, integers(rest)});
  const int64_t bound = checked_mul(shape[at], std::max<int64_t>(times.most, 0));
  if (bound <= shape[at]) return {.size = size, .axis = at, .whole = with_bound(y, bound)};
  Value* place = newest("Mod", {places(bound), newest("Max", {length, integer(1)})});
  return {.size = size, .axis = at, .whole = gathered(y, place)};
}

// Rows of the elements behind x's axis, real ones first.
Item Specializer::compacted(const Item& x) {
  const Shape& shape = x.value->shape();
  const int64_t outer = product(shape, 0, x.axis), bound = shape[x.axis];
  const int64_t inner = product(shape, x.axis + 1, shape.size()), rows = outer * bound;
  Item out = Item::of(reshape(x.value, {rows, inner}));
  out.sized(x.size, 0);
  if (rows == 0) out.size = integer(0);
  if (outer == 1 || rows == 0) return out;
  Value *place = places(rows), *n = newest("Max", {x.size, integer(1)});
  Value* row = newest("Add", {newest("Mul", {newest("Div", {place, n}), integer(bound)}),
                              newest("Mod", {place, n})});
  out.value = gathered(out, newest("Min", {row, integer(rows - 1)}));
  out.size = size_of("Mul", x.size, integer(outer));
  return out;
}

// x's own axis where the size itself stands for it (`kept`), and at most one unknown beside it.
Specializer::SizedResult Specializer::follow_reshape(const Node& n, const Item& x,
                                                     std::vector<Extent> to) {
  const Shape& from = x.value->shape();
  const int64_t outer = product(from, 0, x.axis), bound = from[x.axis];
  const int64_t inner = product(from, x.axis + 1, from.size());
  Shape shape;
  std::vector<size_t> unknown;
  std::optional<size_t> kept;
  for (size_t k = 0; k < to.size(); k++) {
    const bool itself = to[k].actual && same_size(to[k].actual, x.size);
    if (itself && !kept && product(shape, 0, k) == outer && unknown.empty()) kept = k;
    if ((to[k].actual || to[k].most == -1) && kept != k) unknown.push_back(k);
    shape.push_back(kept == k ? bound : to[k].most);
  }
  if (unknown.size() > 1) refuse_shape(n, {});
  const auto without = [&](size_t k) {
    return product(shape, 0, k) * product(shape, k + 1, shape.size());
  };
  if (kept) {
    if (unknown.empty() || bound == 0) {
      for (const size_t k : unknown) shape[k] = 0;
      return {.size = x.size, .axis = *kept, .whole = reshape(x.value, shape)};
    }
    const int64_t known = without(unknown[0]);
    shape[unknown[0]] = known == 0 ? 0 : element_count(from) / known;
    return {.size = x.size, .axis = *kept, .whole = reshape(x.value, shape)};
  }
  if (unknown.empty()) {  // the real part has exactly that many elements
    const int64_t count = element_count(shape);
    if (count > element_count(from)) refuse_size(n, x);
    Item flat = compacted(x);
    flat.value = reshape(flat.value, {element_count(from)});
    return {.whole = reshape(with_bound(flat, count), shape)};
  }
  const size_t k = unknown[0];
  const int64_t before = product(shape, 0, k), behind = product(shape, k + 1, shape.size());
  if (before == outer && behind == inner) {
    shape[k] = bound;
    return {.size = x.size, .axis = k, .whole = reshape(x.value, shape)};
  }
  const int64_t known = before * behind, all = element_count(from);
  shape[k] = known == 0 ? 0 : all / known;
  Item rows = compacted(x);
  Value* size = rows.size;
  if (known == 0) return {.size = integer(0), .axis = k, .whole = reshape(x.value, shape)};
  if (inner != known) {
    const int64_t common = std::gcd(inner, known);
    if (inner != common) size = size_of("Mul", size, integer(inner / common));
    if (known != common) size = size_of("Div", size, integer(known / common));
  }
  Item flat = Item::of(reshape(rows.value, {all}));
  flat.sized(size, 0);
  flat = Item::of(with_bound(flat, shape[k] * known));
  if (before == 1 || shape[k] == 0)
    return {.size = size, .axis = k, .whole = reshape(flat.value, shape)};
  // Row (o, j) of the result is row o * size + j of what is real.
  Value* places_of_rows = places(before * shape[k]);
  Value* row =
      newest("Add", {newest("Mul", {newest("Div", {places_of_rows, integer(shape[k])}), size}),
                     newest("Mod", {places_of_rows, integer(shape[k])})});
  row = newest("Min", {row, integer(before * shape[k] - 1)});
  Item spread = Item::of(reshape(flat.value, {before * shape[k], behind}));
  spread.axis = 0;
  return {.size = size, .axis = k, .whole = reshape(gathered(spread, row), shape)};
}

Specializer::SizedResult Specializer::follow_reshape_node(const Node& n, Items& in) {
  const Item& x = in[0];
  const Shape& from = x.value->shape();
  std::vector<Extent> to;
  if (n.opset() < 5 && in.size() < 2)
    for (const int64_t d : n.ints_attr("shape")) to.push_back({d, d, nullptr});
  else
    to = extents(n, in[1]);
  for (size_t k = 0; k < to.size(); k++) {
    if (to[k].actual || to[k].most != 0 || n.int_attr("allowzero", 0) != 0 || k >= from.size())
      continue;
    to[k] = {from[k], from[k], x.size && x.axis == k ? x.size : nullptr};
  }
  if (x.size) return follow_reshape(n, x, std::move(to));
  // All of x is real, and so is the result: its one unknown follows from the others.
  Shape shape;
  size_t open = to.size(), unknown = 0;
  for (size_t k = 0; k < to.size(); k++) {
    if (to[k].actual || to[k].most == -1) open = k, unknown++;
    shape.push_back(to[k].most);
  }
  if (unknown > 1) refuse_shape(n, in[1]);
  if (open < to.size()) {
    const int64_t known = product(shape, 0, open) * product(shape, open + 1, shape.size());
    shape[open] = known == 0 ? 0 : element_count(from) / known;
  }
  return {.whole = reshape(x.value, shape)};
}

Specializer::SizedResult Specializer::follow_top(const Node& n, Items& in) {
  const Item x = in[0];
  const auto axis = static_cast<size_t>(
      normalize_axis(n.int_attr("axis", -1), static_cast<int64_t>(x.value->shape().size())));
  Value* count = nullptr;
  if (in.size() > 1 && in[1].actual) {
    count = extents(n, in[1])[0].actual;
    if (x.size && x.axis != axis) refuse_shape(n, in[1]);
  }
  if (!x.size) return {count, axis};
  if (x.axis != axis) return {x.size, x.axis};
  in[0].value = filled(x, extreme(x.value->dtype(), n.int_attr("largest", 1) == 0));
  return {count, axis};
}

namespace {

struct SliceAxis {
  size_t axis = 0;
  int64_t step = 1;
};

}  // namespace

Specializer::SizedResult Specializer::follow_slice(const Node& n, Items& in) {
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto list = [&](size_t i, std::string_view key) {
    if (n.opset() >= 10)
      return in.size() > i && in[i].value ? extents(n, in[i]) : std::vector<Extent>();
    std::vector<Extent> out;
    for (const int64_t v : n.ints_attr(key)) out.push_back({v, v, nullptr});
    return out;
  };
  const std::vector<Extent> starts = list(1, "starts"), ends = list(2, "ends");
  const std::vector<Extent> axes = list(3, "axes"), steps = list(4, "steps");
  if (starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()))
    fail_at(n, ErrorCode::invalid_argument, "its lists are of different lengths");
  // What is constant along axes that are all real; the one other axis comes after it.
  std::vector<int64_t> from, until, along, by;
  std::optional<size_t> mine;
  SliceAxis at;
  for (size_t i = 0; i < starts.size(); i++) {
    if ((!axes.empty() && axes[i].actual) || (!steps.empty() && steps[i].actual))
      refuse_shape(n, in[!axes.empty() && axes[i].actual ? 3 : 4]);
    const int64_t axis =
        normalize_axis(axes.empty() ? static_cast<int64_t>(i) : axes[i].most, rank);
    const int64_t step = steps.empty() ? 1 : steps[i].most;
    const bool sized = x.size && axis == static_cast<int64_t>(x.axis);
    if (sized || starts[i].actual || ends[i].actual) {
      if (mine || (x.size && !sized)) refuse_shape(n, in[starts[i].actual ? 1 : 2]);
      mine = i;
      at = {static_cast<size_t>(axis), step};
      continue;
    }
    from.push_back(starts[i].most), until.push_back(ends[i].most);
    along.push_back(axis), by.push_back(step);
  }
  Item y = x;
  if (!from.empty())
    y.value =
        newest("Slice", {y.value, integers(from), integers(until), integers(along), integers(by)});
  if (!mine) return {.size = x.size, .axis = x.axis, .whole = y.value};
  if (at.step == 0) fail_at(n, ErrorCode::invalid_argument, "a step is 0");
  y.axis = at.axis;
  return slice_axis(y, starts[*mine], ends[*mine], at.step);
}

// Places start, start + step ... before `end` of one axis. Negative ones count from the end of what
// is real.
Specializer::SizedResult Specializer::slice_axis(const Item& x, const Extent& start,
                                                 const Extent& end, int64_t step) {
  const int64_t room = x.value->shape()[x.axis];
  Value* size = x.size ? x.size : integer(room);
  const auto clamped = [&](const Extent& e, int64_t low, int64_t below_size) {
    Value* v = e.actual ? e.actual : integer(e.most);
    if (e.least < 0) {
      Value* from_end = newest("Add", {v, size});
      v = e.most < 0 ? from_end : newest("Where", {newest("Less", {v, integer(0)}), from_end, v});
    }
    Value* high = below_size ? newest("Sub", {size, integer(below_size)}) : size;
    return newest("Max", {newest("Min", {v, high}), integer(low)});
  };
  const auto last = [&](const Extent& e) {  // the most that it can be as a place
    return e.least >= 0 ? std::min(e.most, room)
           : e.most < 0 ? std::max(room + e.most, int64_t{0})
                        : room;
  };
  Value *first = nullptr, *count = nullptr;
  int64_t bound = room;
  if (step > 0) {
    const int64_t from = start.least >= 0 ? std::min(start.least, room) : 0;
    bound = std::max<int64_t>(0, last(end) - from);
    if (start.most < 0 && start.least > -room) bound = std::min(bound, -start.least);
    first = clamped(start, 0, 0);
    count = newest("Sub", {clamped(end, 0, 0), first});
  } else {
    first = clamped(start, -1, 1);
    count = newest("Sub", {first, clamped(end, -1, 1)});
  }
  const int64_t by = std::abs(step);
  bound = divided_up(bound, by);
  if (by > 1) count = newest("Div", {newest("Add", {count, integer(by - 1)}), integer(by)});
  count = newest("Max", {count, integer(0)});
  const auto axis = static_cast<int64_t>(x.axis);
  const bool plain = step == 1 && !start.actual && start.most >= 0;
  if (plain || bound == 0) {
    const int64_t from = plain ? std::min(start.most, room) : 0;
    const bool all = plain && from == 0 && x.size && !end.actual && end.most >= room;
    Value* part = newest("Slice", {x.value, integers(std::array{from}),
                                   integers(std::array{from + bound}), integers(std::array{axis})});
    return {.size = all ? x.size : count, .axis = x.axis, .whole = all ? x.value : part};
  }
  Value* index = newest("Add", {newest("Mul", {places(bound), integer(step)}), first});
  index = newest("Max", {newest("Min", {index, integer(room - 1)}), integer(0)});
  return {.size = count, .axis = x.axis, .whole = gathered(x, index)};
}

}  // namespace poprt::compiler
