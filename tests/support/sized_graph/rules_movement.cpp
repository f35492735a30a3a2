// Operators that move elements, shapes as values, and sequences.
#include <algorithm>
#include <numeric>

#include "support/sized_graph/value.h"

namespace poprt::test::sized {
namespace {

using ir::Node;

Val empty_like(const Val& x) {
  Val out;
  out.dtype = x.dtype;
  return out;
}

// Returns a tensor of this shape whose element at each place is that of x at source(place).
template <class F>
Val picked(const Val& x, Shape shape, F source) {
  Val out = empty_like(x);
  for (const int64_t d : shape)
    if (d < 0) throw Invalid("a negative dimension");
  out.shape = std::move(shape);
  const auto strides = strides_of(x.shape);
  for_each_index(out.shape,
                 [&](const Shape& place) { append(out, x, offset_of(source(place), strides)); });
  return out;
}

Outputs transpose(const Node& n, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  std::vector<int64_t> perm = n.ints_attr("perm");
  if (perm.empty())
    for (size_t d = x.rank(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  Shape shape;
  for (const int64_t p : perm) shape.push_back(x.shape[static_cast<size_t>(p)]);
  return {picked(x, shape, [&](const Shape& place) {
    Shape from(place.size());
    for (size_t d = 0; d < place.size(); d++) from[static_cast<size_t>(perm[d])] = place[d];
    return from;
  })};
}

Outputs with_shape(const Val& x, Shape shape) {
  Val out = x;
  for (const int64_t d : shape)
    if (d < 0) throw Invalid("a negative dimension");
  if (element_count(shape) != x.count()) throw Invalid("a reshape to another number of elements");
  out.shape = std::move(shape);
  return {out};
}

Outputs reshape(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  Shape shape = ints_of(in.at(1));
  int64_t known = 1;
  size_t open = shape.size();
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 0) {
      if (d >= x.rank()) throw Invalid("a dimension that the input has not");
      shape[d] = x.shape[d];
    }
    if (shape[d] == -1 && open != shape.size()) throw Invalid("two open dimensions");
    if (shape[d] == -1) open = d;
    if (shape[d] < -1) throw Invalid("a negative dimension");
    if (shape[d] >= 0) known *= shape[d];
  }
  if (open != shape.size()) {
    if (known == 0 || x.count() % known != 0) throw Invalid("an open dimension without a length");
    shape[open] = x.count() / known;
  }
  return with_shape(x, shape);
}

Outputs flatten(const Node& n, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const auto axis = n.int_attr("axis", 1);
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < x.rank(); d++)
    (static_cast<int64_t>(d) < axis ? rows : columns) *= x.shape[d];
  return with_shape(x, {rows, columns});
}

Outputs squeeze(const Node&, const Inputs& in, const Rounding&) {
  Shape shape = in.at(0).shape;
  std::vector<bool> gone(shape.size());
  for (const int64_t a : ints_of(in.at(1))) gone[axis_in(a, shape.size())] = true;
  Shape to;
  for (size_t d = 0; d < shape.size(); d++) {
    if (gone[d] && shape[d] != 1) throw Invalid("a squeezed dimension that is not 1");
    if (!gone[d]) to.push_back(shape[d]);
  }
  return with_shape(in[0], to);
}

Outputs unsqueeze(const Node&, const Inputs& in, const Rounding&) {
  const auto axes = ints_of(in.at(1));
  const size_t rank = in[0].rank() + axes.size();
  std::vector<bool> fresh(rank);
  for (const int64_t a : axes) fresh[axis_in(a, rank)] = true;
  Shape to;
  size_t next = 0;
  for (size_t d = 0; d < rank; d++) to.push_back(fresh[d] ? 1 : in[0].shape.at(next++));
  return with_shape(in[0], to);
}

Val joined(const std::vector<Val>& in, size_t axis) {
  Shape shape = in.at(0).shape;
  for (size_t i = 1; i < in.size(); i++) {
    for (size_t d = 0; d < shape.size(); d++)
      if (in[i].rank() != shape.size() || in[i].dtype != in[0].dtype ||
          (d != axis && in[i].shape[d] != shape[d]))
        throw Invalid("parts that do not fit");
    shape[axis] += in[i].shape[axis];
  }
  Val out = empty_like(in[0]);
  out.shape = shape;
  for_each_index(shape, [&](Shape place) {
    size_t i = 0;
    while (place[axis] >= in[i].shape[axis]) place[axis] -= in[i++].shape[axis];
    append(out, in[i], offset_of(place, strides_of(in[i].shape)));
  });
  return out;
}

Outputs concat(const Node& n, const Inputs& in, const Rounding&) {
  return {joined(in, axis_in(n.int_attr("axis", 0), in.at(0).rank()))};
}

Val part_of(const Val& x, size_t axis, int64_t from, int64_t length) {
  Shape shape = x.shape;
  shape[axis] = length;
  return picked(x, shape, [&](Shape place) {
    place[axis] += from;
    return place;
  });
}

Outputs split(const Node& n, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const size_t axis = axis_in(n.int_attr("axis", 0), x.rank());
  const auto lengths = ints_of(in.at(1));
  if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) != x.shape[axis])
    throw Invalid("parts that do not add up");
  Outputs out;
  int64_t at = 0;
  for (const int64_t length : lengths) {
    out.push_back(part_of(x, axis, at, length));
    at += length;
  }
  return out;
}

Outputs slice(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const auto starts = ints_of(in.at(1)), ends = ints_of(in.at(2));
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (in.size() > 3 && in[3].given()) axes = ints_of(in[3]);
  if (in.size() > 4 && in[4].given()) steps = ints_of(in[4]);
  Shape shape = x.shape, from(x.rank(), 0), by(x.rank(), 1);
  for (size_t i = 0; i < starts.size(); i++) {
    const size_t d = axis_in(axes.at(i), x.rank());
    const int64_t length = x.shape[d], step = steps.at(i);
    const auto place = [&](int64_t at) {
      if (at < 0) at += length;
      return std::clamp(at, step > 0 ? int64_t{0} : int64_t{-1}, step > 0 ? length : length - 1);
    };
    int64_t a = starts[i] < 0 ? starts[i] + length : starts[i];
    a = std::clamp<int64_t>(a, 0, step > 0 ? length : std::max<int64_t>(length - 1, 0));
    const int64_t b = place(ends.at(i));
    int64_t count = 0;
    for (int64_t at = a; step > 0 ? at < b : at > b; at += step) count++;
    if (length == 0) count = 0;
    shape[d] = count;
    from[d] = a;
    by[d] = step;
  }
  return {picked(x, shape, [&](Shape place) {
    for (size_t d = 0; d < place.size(); d++) place[d] = from[d] + place[d] * by[d];
    return place;
  })};
}

Outputs tile(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const auto repeats = ints_of(in.at(1));
  Shape shape = x.shape;
  for (size_t d = 0; d < shape.size(); d++) shape[d] *= repeats.at(d);
  return {picked(x, shape, [&](Shape place) {
    for (size_t d = 0; d < place.size(); d++) place[d] %= x.shape[d];
    return place;
  })};
}

Outputs expand(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  Shape to = ints_of(in.at(1));
  while (to.size() < x.rank()) to.insert(to.begin(), 1);
  const size_t more = to.size() - x.rank();
  for (size_t d = more; d < to.size(); d++) {
    const int64_t own = x.shape[d - more];
    if (to[d] != own && own != 1 && to[d] != 1) throw Invalid("shapes do not broadcast");
    if (to[d] == 1) to[d] = own;
  }
  return {picked(x, to, [&](const Shape& place) {
    Shape from(place.begin() + static_cast<int64_t>(more), place.end());
    for (size_t d = 0; d < from.size(); d++)
      if (x.shape[d] == 1) from[d] = 0;
    return from;
  })};
}

Outputs pad(const Node&, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const auto pads = ints_of(in.at(1));
  const bool filled = in.size() > 2 && in[2].given();
  Val out = empty_like(x);
  out.shape = x.shape;
  for (size_t d = 0; d < x.rank(); d++) out.shape[d] += pads.at(d) + pads.at(d + x.rank());
  for (const int64_t d : out.shape)
    if (d < 0) throw Invalid("a negative dimension");
  for_each_index(out.shape, [&](Shape place) {
    bool inside = true;
    for (size_t d = 0; d < place.size(); d++) {
      place[d] -= pads[d];
      inside = inside && place[d] >= 0 && place[d] < x.shape[d];
    }
    if (inside)
      append(out, x, offset_of(place, strides_of(x.shape)));
    else if (filled)
      append(out, in[2], 0);
    else
      append(out, make_val(x.dtype, {}), 0);
  });
  return {out};
}

Outputs shape_of(const Node& n, const Inputs& in, const Rounding&) {
  const Shape& s = in.at(0).shape;
  const auto rank = static_cast<int64_t>(s.size());
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t from = place(n.int_attr("start", 0)), to = place(n.int_attr("end", rank));
  return {int_val(from < to ? Shape(s.begin() + from, s.begin() + to) : Shape())};
}

Outputs size_of(const Node&, const Inputs& in, const Rounding&) {
  Val out = make_val(DType::s64, {});
  out.v[0] = static_cast<double>(in.at(0).count());
  return {out};
}

Outputs constant_of_shape(const Node& n, const Inputs& in, const Rounding&) {
  const auto* value = n.find_attr("value");
  const Val filling = value ? val_of(std::get<Tensor>(*value)) : make_val(DType::f32, {1});
  Val out = make_val(filling.dtype, ints_of(in.at(0)));
  std::fill(out.v.begin(), out.v.end(), filling.v[0]);
  return {out};
}

Outputs range(const Node&, const Inputs& in, const Rounding&) {
  if (!in.at(0).exact() || !in.at(1).exact() || !in.at(2).exact()) throw Invalid("an open range");
  const double from = in[0].v.at(0), to = in[1].v.at(0), step = in[2].v.at(0);
  if (step == 0) throw Invalid("a range without a step");
  const double count = std::max(0.0, std::ceil((to - from) / step));
  if (count > 4096) throw Invalid("a range that is too long");
  Val out = make_val(in[0].dtype, {static_cast<int64_t>(count)});
  for (size_t i = 0; i < out.v.size(); i++) out.v[i] = from + static_cast<double>(i) * step;
  return {out};
}

Outputs triangle(const Node& n, const Inputs& in, const Rounding&) {
  Val out = in.at(0);
  const bool upper = n.int_attr("upper", 1) != 0;
  size_t i = 0;
  for_each_index(out.shape, [&](const Shape& place) {
    const int64_t row = place[place.size() - 2], column = place.back();
    if (upper ? column < row : column > row) {
      out.v[i] = 0;
      if (!out.e.empty()) out.e[i] = 0;
    }
    i++;
  });
  return {out};
}

// -- Sequences ------------------------------------------------------------------------------------

Val sequence(std::vector<Val> elements) {
  Val out;
  out.is_sequence = true;
  out.elements = std::move(elements);
  return out;
}

size_t element_at(const Val& list, const Val& at, bool end) {
  const auto n = static_cast<int64_t>(list.elements.size());
  int64_t i = int_of(at);
  if (i < 0) i += n;
  if (i < 0 || i >= n + end) throw Invalid("no such element");
  return static_cast<size_t>(i);
}

Outputs split_to_sequence(const Node& n, const Inputs& in, const Rounding&) {
  const Val& x = in.at(0);
  const size_t axis = axis_in(n.int_attr("axis", 0), x.rank());
  std::vector<int64_t> lengths;
  const bool given = in.size() > 1 && in[1].given();
  if (given && in[1].rank() == 1) {
    lengths = ints_of(in[1]);
  } else {
    const int64_t chunk = given ? int_of(in[1]) : 1;
    for (int64_t at = 0; at < x.shape[axis]; at += chunk)
      lengths.push_back(std::min(chunk, x.shape[axis] - at));
  }
  if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) != x.shape[axis])
    throw Invalid("parts that do not add up");
  std::vector<Val> parts;
  int64_t at = 0;
  for (const int64_t length : lengths) {
    Val part = part_of(x, axis, at, length);
    at += length;
    if (!given && n.int_attr("keepdims", 1) == 0)
      part.shape.erase(part.shape.begin() + static_cast<int64_t>(axis));
    parts.push_back(part);
  }
  return {sequence(parts)};
}

Outputs sequence_construct(const Node&, const Inputs& in, const Rounding&) {
  return {sequence(in)};
}
Outputs sequence_empty(const Node&, const Inputs&, const Rounding&) { return {sequence({})}; }

Outputs sequence_at(const Node&, const Inputs& in, const Rounding&) {
  return {in.at(0).elements.at(element_at(in[0], in.at(1), false))};
}

Outputs sequence_length(const Node&, const Inputs& in, const Rounding&) {
  Val out = make_val(DType::s64, {});
  out.v[0] = static_cast<double>(in.at(0).elements.size());
  return {out};
}

Outputs sequence_insert(const Node&, const Inputs& in, const Rounding&) {
  Val out = in.at(0);
  const size_t at = in.size() > 2 ? element_at(out, in[2], true) : out.elements.size();
  out.elements.insert(out.elements.begin() + static_cast<int64_t>(at), in.at(1));
  return {out};
}

Outputs sequence_erase(const Node&, const Inputs& in, const Rounding&) {
  Val out = in.at(0);
  const size_t at =
      in.size() > 1 ? element_at(out, in[1], false) : element_at(out, int_val({-1}), false);
  out.elements.erase(out.elements.begin() + static_cast<int64_t>(at));
  return {out};
}

Outputs concat_from_sequence(const Node& n, const Inputs& in, const Rounding&) {
  std::vector<Val> parts = in.at(0).elements;
  if (parts.empty()) throw Invalid("a sequence of nothing");
  const bool fresh = n.int_attr("new_axis", 0) != 0;
  const size_t axis = axis_in(n.int_attr("axis", 0), parts[0].rank() + fresh);
  if (fresh)
    for (Val& part : parts) part.shape.insert(part.shape.begin() + static_cast<int64_t>(axis), 1);
  return {joined(parts, axis)};
}

Outputs string_split(const Node& n, const Inputs& in, const Rounding&) {
  const std::string delimiter = n.string_attr("delimiter", " ");
  std::vector<std::vector<std::string>> all;
  size_t most = 0;
  for (const std::string& text : in.at(0).text) {
    std::vector<std::string> words{""};
    for (const char c : text) {
      if (c == delimiter.at(0))
        words.emplace_back();
      else
        words.back() += c;
    }
    if (text.empty()) words.clear();
    most = std::max(most, words.size());
    all.push_back(words);
  }
  Val parts, counts = make_val(DType::s64, in[0].shape);
  parts.dtype = DType::string;
  parts.shape = in[0].shape;
  parts.shape.push_back(static_cast<int64_t>(most));
  for (size_t i = 0; i < all.size(); i++) {
    counts.v[i] = static_cast<double>(all[i].size());
    all[i].resize(most);
    parts.text.insert(parts.text.end(), all[i].begin(), all[i].end());
  }
  return {parts, counts};
}

}  // namespace

const Rules& movement_rules() {
  static const Rules rules = {
      {"Transpose", transpose},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Tile", tile},
      {"Expand", expand},
      {"Pad", pad},
      {"Shape", shape_of},
      {"Size", size_of},
      {"ConstantOfShape", constant_of_shape},
      {"Range", range},
      {"Trilu", triangle},
  };
  return rules;
}

const Rules& sequence_rules() {
  static const Rules rules = {
      {"SplitToSequence", split_to_sequence}, {"SequenceConstruct", sequence_construct},
      {"SequenceEmpty", sequence_empty},      {"SequenceAt", sequence_at},
      {"SequenceLength", sequence_length},    {"SequenceInsert", sequence_insert},
      {"SequenceErase", sequence_erase},      {"ConcatFromSequence", concat_from_sequence},
      {"StringSplit", string_split},
  };
  return rules;
}

}  // namespace poprt::test::sized
