// Operators that choose elements; most of them decide a size or an order.
#include <algorithm>
#include <array>
#include <numeric>

#include "support/sized_graph/value.h"

namespace poprt::test::sized {
namespace {

using ir::Node;

size_t index_in(double at, int64_t length) {
  const auto n = static_cast<double>(length);
  if (at < 0) at += n;
  if (at < 0 || at >= n) throw Invalid("an index outside");
  return static_cast<size_t>(at);
}

Outputs gather(const Node& n, const Inputs& in, const Rounding&) {
  const Val &x = in.at(0), &at = in.at(1);
  ints_of(at);
  const size_t axis = axis_in(n.int_attr("axis", 0), x.rank()), more = at.rank();
  const auto cut = static_cast<int64_t>(axis);
  Val out;
  out.dtype = x.dtype;
  out.shape.assign(x.shape.begin(), x.shape.begin() + cut);
  out.shape.insert(out.shape.end(), at.shape.begin(), at.shape.end());
  out.shape.insert(out.shape.end(), x.shape.begin() + cut + 1, x.shape.end());
  const auto from = strides_of(x.shape), of_index = strides_of(at.shape);
  for_each_index(out.shape, [&](const Shape& place) {
    const Shape which(place.begin() + cut, place.begin() + cut + static_cast<int64_t>(more));
    Shape source(place.begin(), place.begin() + cut);
    source.push_back(
        static_cast<int64_t>(index_in(at.v[offset_of(which, of_index)], x.shape[axis])));
    source.insert(source.end(), place.begin() + cut + static_cast<int64_t>(more), place.end());
    append(out, x, offset_of(source, from));
  });
  return {out};
}

Outputs gather_elements(const Node& n, const Inputs& in, const Rounding&) {
  const Val &x = in.at(0), &at = in.at(1);
  ints_of(at);
  const size_t axis = axis_in(n.int_attr("axis", 0), x.rank());
  for (size_t d = 0; d < x.rank(); d++)
    if (at.rank() != x.rank() || (d != axis && at.shape[d] > x.shape[d]))
      throw Invalid("indices that do not fit");
  Val out;
  out.dtype = x.dtype;
  out.shape = at.shape;
  size_t i = 0;
  for_each_index(at.shape, [&](Shape place) {
    place[axis] = static_cast<int64_t>(index_in(at.v[i++], x.shape[axis]));
    append(out, x, offset_of(place, strides_of(x.shape)));
  });
  return {out};
}

Outputs gather_nd(const Node&, const Inputs& in, const Rounding&) {
  const Val &x = in.at(0), &at = in.at(1);
  ints_of(at);
  const auto depth = at.shape.back();
  if (depth < 1 || depth > static_cast<int64_t>(x.rank())) throw Invalid("indices that do not fit");
  Val out;
  out.dtype = x.dtype;
  const Shape heads(at.shape.begin(), at.shape.end() - 1),
      tail(x.shape.begin() + depth, x.shape.end());
  out.shape = heads;
  out.shape.insert(out.shape.end(), tail.begin(), tail.end());
  const auto strides = strides_of(x.shape);
  for (int64_t k = 0; k < element_count(heads); k++) {
    Shape place;
    for (int64_t d = 0; d < depth; d++)
      place.push_back(static_cast<int64_t>(
          index_in(at.v[static_cast<size_t>(k * depth + d)], x.shape[static_cast<size_t>(d)])));
    const size_t base = offset_of(place, strides);
    for (int64_t j = 0; j < element_count(tail); j++) append(out, x, base + static_cast<size_t>(j));
  }
  return {out};
}

Outputs scatter_nd(const Node&, const Inputs& in, const Rounding&) {
  const Val &at = in.at(1), &updates = in.at(2);
  Val out = in.at(0);
  out.e.resize(out.v.size(), 0.0);
  const auto depth = at.shape.back();
  const auto strides = strides_of(out.shape);
  const int64_t inner = element_count(Shape(out.shape.begin() + depth, out.shape.end()));
  std::vector<bool> written(out.v.size());
  for (int64_t k = 0; k * depth < at.count(); k++) {
    Shape place;
    for (int64_t d = 0; d < depth; d++)
      place.push_back(static_cast<int64_t>(
          index_in(at.v[static_cast<size_t>(k * depth + d)], out.shape[static_cast<size_t>(d)])));
    const size_t base = offset_of(place, strides);
    for (int64_t j = 0; j < inner; j++) {
      const size_t to = base + static_cast<size_t>(j), from = static_cast<size_t>(k * inner + j);
      if (written[to]) throw Invalid("a place that is written twice");
      written[to] = true;
      out.v[to] = updates.v.at(from);
      out.e[to] = updates.error(from);
    }
  }
  return {out};
}

Outputs non_zero(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  std::vector<Shape> places;
  size_t i = 0;
  for_each_index(x.shape, [&](const Shape& place) {
    if (x.error(i) > 0 && std::abs(x.v[i]) <= 4 * x.error(i)) throw Invalid("a zero that is open");
    if (x.v[i++] != 0) places.push_back(place);
  });
  Val out =
      make_val(DType::s64, {static_cast<int64_t>(x.rank()), static_cast<int64_t>(places.size())});
  for (size_t d = 0; d < x.rank(); d++)
    for (size_t k = 0; k < places.size(); k++)
      out.v[d * places.size() + k] = static_cast<double>(places[k][d]);
  return {out};
}

Outputs compress(const Node& n, const Inputs& in, const Rounding&) {
  Val x = in.at(0);
  size_t axis = 0;
  if (n.find_attr("axis"))
    axis = axis_in(n.int_attr("axis", 0), x.rank());
  else
    x.shape = {x.count()};
  std::vector<int64_t> kept;
  for (size_t i = 0; i < in.at(1).v.size(); i++)
    if (in[1].v[i] != 0) kept.push_back(static_cast<int64_t>(i));
  if (in[1].count() > x.shape[axis]) throw Invalid("a condition that is too long");
  Val out;
  out.dtype = x.dtype;
  out.shape = x.shape;
  out.shape[axis] = static_cast<int64_t>(kept.size());
  const auto strides = strides_of(x.shape);
  for_each_index(out.shape, [&](Shape place) {
    place[axis] = kept[static_cast<size_t>(place[axis])];
    append(out, x, offset_of(place, strides));
  });
  return {out};
}

// The slices of x along an axis, as lists of offsets.
std::vector<std::vector<size_t>> slices_of(const Val& x, size_t axis) {
  std::vector<std::vector<size_t>> all(static_cast<size_t>(x.shape[axis]));
  size_t i = 0;
  for_each_index(x.shape,
                 [&](const Shape& place) { all[static_cast<size_t>(place[axis])].push_back(i++); });
  return all;
}

Outputs unique(const Node& n, const Inputs& in, const Rounding&) {
  Val x = in.at(0);
  if (!x.exact()) throw Invalid("a comparison that is open");
  const bool whole = !n.find_attr("axis");
  if (whole) x.shape = {x.count()};
  const size_t axis = whole ? 0 : axis_in(n.int_attr("axis", 0), x.rank());
  const auto slices = slices_of(x, axis);
  const auto key = [&](size_t k) {
    std::vector<double> values;
    for (const size_t i : slices[k]) values.push_back(x.v[i]);
    return values;
  };
  struct Found {
    std::vector<double> key;
    size_t first = 0, count = 0, place = 0;
  };
  std::vector<Found> found;
  std::vector<size_t> which(slices.size());
  for (size_t k = 0; k < slices.size(); k++) {
    const auto values = key(k);
    size_t f = 0;
    while (f < found.size() && found[f].key != values) f++;
    if (f == found.size()) found.push_back({values, k, 0, f});
    found[f].count++;
    which[k] = f;
  }
  if (n.int_attr("sorted", 1) != 0)
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.key < b.key; });
  std::vector<size_t> place(found.size());
  for (size_t f = 0; f < found.size(); f++) place[found[f].place] = f;
  const auto count = static_cast<int64_t>(found.size());
  Val y = make_val(x.dtype, {}), first = make_val(DType::s64, {count}), counts = first;
  y.shape = x.shape;
  y.shape[axis] = count;
  y.v.assign(static_cast<size_t>(y.count()), 0.0);
  const auto to = slices_of(y, axis);
  for (size_t f = 0; f < found.size(); f++) {
    for (size_t k = 0; k < to[f].size(); k++) y.v[to[f][k]] = found[f].key[k];
    first.v[f] = static_cast<double>(found[f].first);
    counts.v[f] = static_cast<double>(found[f].count);
  }
  Val inverse = make_val(DType::s64, {static_cast<int64_t>(slices.size())});
  for (size_t k = 0; k < which.size(); k++) inverse.v[k] = static_cast<double>(place[which[k]]);
  return {y, first, inverse, counts};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_at(const Val& boxes, int64_t image, int64_t b, bool center) {
  std::array<double, 4> c{};
  for (size_t k = 0; k < 4; k++)
    c[k] = boxes.v[static_cast<size_t>((image * boxes.shape[1] + b) * 4) + k];
  if (center) return {c[1] - c[3] / 2, c[0] - c[2] / 2, c[1] + c[3] / 2, c[0] + c[2] / 2};
  return {std::min(c[0], c[2]), std::min(c[1], c[3]), std::max(c[0], c[2]), std::max(c[1], c[3])};
}

// Returns whether the intersection over union is above the threshold. It must not be close to it.
bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double both = std::max(height, 0.0) * std::max(width, 0.0);
  if (a.area() <= 0 || b.area() <= 0) throw Invalid("a box without an area");
  const double part = both / (a.area() + b.area() - both);
  if (std::abs(part - threshold) < 0.02) throw Invalid("an overlap that is open");
  return part > threshold;
}

Outputs suppression(const Node& n, const Inputs& in, const Rounding&) {
  const Val &boxes = in.at(0), &scores = in.at(1);
  const auto given = [&](size_t i) { return in.size() > i && in[i].given(); };
  const int64_t most = given(2) ? int_of(in[2]) : 0;
  const double iou = given(3) ? in[3].v.at(0) : 0, least = given(4) ? in[4].v.at(0) : -1e30;
  const bool center = n.int_attr("center_point_box", 0) != 0;
  if (!boxes.exact() || !scores.exact()) throw Invalid("boxes that are not exact");
  const int64_t classes = scores.shape[1], count = scores.shape[2];
  std::vector<int64_t> rows;
  for (int64_t image = 0; image < scores.shape[0]; image++)
    for (int64_t c = 0; c < classes; c++) {
      const auto score = [&](int64_t b) {
        return scores.v[static_cast<size_t>((image * classes + c) * count + b)];
      };
      std::vector<int64_t> order;
      for (int64_t b = 0; b < count; b++) {
        if (given(4) && std::abs(score(b) - least) < 1e-3) throw Invalid("a score that is open");
        if (!given(4) || score(b) > least) order.push_back(b);
      }
      std::sort(order.begin(), order.end(),
                [&](int64_t a, int64_t b) { return score(a) > score(b); });
      for (size_t k = 1; k < order.size(); k++)
        if (score(order[k]) == score(order[k - 1])) throw Invalid("scores that are equal");
      std::vector<Box> kept;
      for (const int64_t b : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box box = box_at(boxes, image, b, center);
        bool free = true;
        for (const Box& other : kept) free = !overlaps(box, other, iou) && free;
        if (!free) continue;
        kept.push_back(box);
        rows.insert(rows.end(), {image, c, b});
      }
    }
  Val out = int_val(rows);
  out.shape = {static_cast<int64_t>(rows.size() / 3), 3};
  return {out};
}

Outputs top_k(const Node& n, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const size_t axis = axis_in(n.int_attr("axis", -1), x.rank());
  const int64_t k = int_of(in.at(1)), length = x.shape[axis];
  const bool largest = n.int_attr("largest", 1) != 0;
  if (!x.exact()) throw Invalid("an order that is open");
  if (k < 0 || k > length) throw Invalid("more elements than there are");
  Val y = make_val(x.dtype, {}), at = make_val(DType::s64, {});
  y.shape = x.shape;
  y.shape[axis] = k;
  y.v.assign(static_cast<size_t>(y.count()), 0.0);
  at.shape = y.shape;
  at.v = y.v;
  const auto from = strides_of(x.shape), to = strides_of(y.shape);
  Shape heads = x.shape;
  heads[axis] = 1;
  for_each_index(heads, [&](const Shape& place) {
    std::vector<size_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), size_t{0});
    const auto value = [&](size_t i) {
      return x.v[offset_of(place, from) + i * static_cast<size_t>(from[axis])];
    };
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) {  // equal elements stay in their order
                if (value(a) == value(b)) return a < b;
                return largest ? value(a) > value(b) : value(a) < value(b);
              });
    for (size_t i = 0; i < static_cast<size_t>(k); i++) {
      const size_t o = offset_of(place, to) + i * static_cast<size_t>(to[axis]);
      y.v[o] = value(order[i]);
      at.v[o] = static_cast<double>(order[i]);
    }
  });
  return {y, at};
}

Outputs one_hot(const Node& n, const Inputs& in, const Rounding&) {
  const Val &at = in.at(0), &values = in.at(2);
  const int64_t depth = int_of(in.at(1));
  const auto rank = at.rank() + 1;
  const size_t axis = axis_in(n.int_attr("axis", -1), rank);
  Val out;
  out.dtype = values.dtype;
  out.shape = at.shape;
  out.shape.insert(out.shape.begin() + static_cast<int64_t>(axis), depth);
  for_each_index(out.shape, [&](Shape place) {
    const int64_t here = place[axis];
    place.erase(place.begin() + static_cast<int64_t>(axis));
    double i = at.v[offset_of(place, strides_of(at.shape))];
    if (i < 0) i += static_cast<double>(depth);
    append(out, values, static_cast<double>(here) == i ? 1 : 0);
  });
  return {out};
}

}  // namespace

const Rules& selection_rules() {
  static const Rules rules = {
      {"Gather", gather},      {"GatherElements", gather_elements},
      {"GatherND", gather_nd}, {"ScatterND", scatter_nd},
      {"NonZero", non_zero},   {"Compress", compress},
      {"Unique", unique},      {"NonMaxSuppression", suppression},
      {"TopK", top_k},         {"OneHot", one_hot},
  };
  return rules;
}

}  // namespace poprt::test::sized
