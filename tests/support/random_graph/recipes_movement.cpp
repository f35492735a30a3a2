#include <numeric>

#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

// Returns a shape with the same number of elements: factors are moved between dimensions.
Shape other_shape(Maker& m, const Shape& from) {
  Shape shape = from;
  for (uint64_t n = 1 + m.c.below(4); n > 0; n--) {
    const uint64_t kind = m.c.below(4);
    if (kind == 0 && shape.size() < 6) {
      shape.insert(shape.begin() + static_cast<long>(m.c.below(shape.size() + 1)), 1);
    } else if (kind == 1 && shape.size() > 1) {
      const size_t at = m.c.below(shape.size() - 1);
      shape[at] *= shape[at + 1];
      shape.erase(shape.begin() + static_cast<long>(at) + 1);
    } else if (!shape.empty() && shape.size() < 6) {
      const size_t at = m.c.below(shape.size());
      for (const int64_t f : {2, 3, 4, 5, 8}) {
        if (shape[at] % f != 0 || shape[at] == 0 || m.c.chance(40)) continue;
        shape[at] /= f;
        shape.insert(shape.begin() + static_cast<long>(at + m.c.below(2)), f);
        break;
      }
    }
  }
  return shape;
}

void reshape(Maker& m) {
  Value* x = m.any(kEvery);
  Shape shape = other_shape(m, x->shape());
  if (element_count(shape) > 0) {
    if (!shape.empty() && m.c.chance(40)) shape[m.c.below(shape.size())] = -1;
    for (size_t i = 0; i < shape.size() && i < x->shape().size(); i++)
      if (shape[i] == x->shape()[i] && m.c.chance(15)) shape[i] = 0;
    m.add("Reshape", {x, m.ints(shape)});
  } else if (m.opset() >= 14) {
    m.add("Reshape", {x, m.ints(shape)}, {{"allowzero", int64_t{1}}});
  }
}
void flatten(Maker& m) {
  Value* x = m.any(kEvery);
  m.add("Flatten", {x}, {{"axis", static_cast<int64_t>(m.c.below(x->shape().size() + 1))}});
}
void squeeze(Maker& m) {
  Value* x = m.any(kEvery);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x->shape().size(); i++)
    if (x->shape()[i] == 1 && m.c.chance(70))
      axes.push_back(m.axis(static_cast<int64_t>(i), x->shape().size()));
  if (axes.empty() && m.c.chance(80)) return;
  if (axes.empty())
    m.add("Squeeze", {x});
  else if (m.opset() >= 13)
    m.add("Squeeze", {x, m.ints(axes)});
  else
    m.add("Squeeze", {x}, {{"axes", axes}});
}
void unsqueeze(Maker& m) {
  Value* x = m.any(kEvery);
  if (x->shape().size() > 4) return;
  std::vector<int64_t> axes;
  const size_t more = 1 + m.c.below(2), rank = x->shape().size() + more;
  while (axes.size() < more) {
    const auto a = static_cast<int64_t>(m.c.below(rank));
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
  }
  if (m.opset() >= 13)
    m.add("Unsqueeze", {x, m.ints(axes)});
  else
    m.add("Unsqueeze", {x}, {{"axes", axes}});
}
void transpose(Maker& m) {
  Value* x = m.any(kEvery);
  std::vector<int64_t> perm(x->shape().size());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  for (size_t i = perm.size(); i > 1; i--) std::swap(perm[i - 1], perm[m.c.below(i)]);
  m.add("Transpose", {x}, m.c.chance(15) ? Attributes{} : Attributes{{"perm", perm}});
}
void expand(Maker& m) {
  Value* x = m.any(kEvery);
  Shape shape = x->shape();
  for (int64_t& d : shape)
    if (d == 1)
      d = m.c.between(1, 4);
    else if (m.c.chance(20))
      d = 1;
  if (m.c.chance(25)) shape.insert(shape.begin(), m.c.between(1, 3));
  if (m.c.chance(15) && !shape.empty()) shape.erase(shape.begin());
  m.add("Expand", {x, m.ints(shape)});
}
void tile(Maker& m) {
  Value* x = m.any(kEvery);
  std::vector<int64_t> repeats;
  for (size_t i = 0; i < x->shape().size(); i++)
    repeats.push_back(m.c.pick<int64_t>({1, 1, 1, 2, 3}));
  m.add("Tile", {x, m.ints(repeats)});
}
void concat(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const int64_t axis = m.axis_of(x);
  const auto at =
      static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x->shape().size()) : axis);
  std::vector<Value*> inputs{x};
  for (uint64_t n = m.c.below(4); n > 0; n--) {
    if (m.c.chance(20)) {
      inputs.push_back(x);
      continue;
    }
    Value* other = m.find([&](const Value* v) {
      if (v->dtype() != x->dtype() || v->shape().size() != x->shape().size()) return false;
      for (size_t i = 0; i < v->shape().size(); i++)
        if (i != at && v->shape()[i] != x->shape()[i]) return false;
      return true;
    });
    Shape shape = x->shape();
    shape[at] = m.c.pick<int64_t>({1, 2, 3, 16, 0});
    inputs.push_back(other && m.c.chance(70) ? other : m.of(x->dtype(), shape));
  }
  if (m.c.chance(50)) std::swap(inputs.front(), inputs.back());
  m.add("Concat", inputs, {{"axis", axis}});
}
void split(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const int64_t axis = m.axis_of(x);
  const int64_t n = x->shape()[static_cast<size_t>(
      axis < 0 ? axis + static_cast<int64_t>(x->shape().size()) : axis)];
  const int64_t parts = m.c.between(1, std::max<int64_t>(1, std::min<int64_t>(n, 3)));
  std::vector<int64_t> sizes(static_cast<size_t>(parts), n / parts);
  sizes.back() += n % parts;
  if (parts > 1 && m.c.chance(30)) sizes[0]--, sizes[1]++;
  const auto count = static_cast<size_t>(parts);
  if (m.c.chance(40) && m.opset() >= 18)
    m.add("Split", {x}, {{"axis", axis}, {"num_outputs", parts}}, count);
  else if (m.opset() >= 13)
    m.add("Split", {x, m.ints(sizes)}, {{"axis", axis}}, count);
  else
    m.add("Split", {x}, {{"axis", axis}, {"split", sizes}}, count);
}
// Splits a value and concatenates the parts in the same or another order, perhaps with an operator
// on one of them.
void split_concat(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  if (m.opset() < 13) return;
  const size_t at = m.c.below(x->shape().size());
  const int64_t n = x->shape()[at];
  if (n < 2) return;
  const int64_t first = m.c.between(1, n - 1);
  Value* a =
      m.add("Split", {x, m.ints({first, n - first})}, {{"axis", static_cast<int64_t>(at)}}, 2);
  if (!a) return;
  Value* b = a->producer()->output(1);
  if (m.c.chance(50) && is_float(a->dtype()))
    if (Value* r =
            m.add(m.c.pick<std::string_view>({"Relu", "Neg", "Sigmoid"}), {m.c.chance(50) ? a : b}))
      (m.c.chance(50) ? a : b) = r;
  m.add("Concat", m.c.chance(60) ? std::vector{a, b} : std::vector{b, a, b},
        {{"axis", static_cast<int64_t>(at)}});
}
void slice(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t i = 0; i < x->shape().size(); i++) {
    if (m.c.chance(50)) continue;
    const int64_t n = x->shape()[i], step = m.c.pick<int64_t>({1, 1, 1, 2, -1, -2, 3});
    axes.push_back(m.axis(static_cast<int64_t>(i), x->shape().size()));
    steps.push_back(step);
    const int64_t low = m.c.between(0, n), high = m.c.between(low, n);
    starts.push_back(step > 0 ? low : high - 1);
    ends.push_back(step > 0         ? (m.c.chance(30) ? INT64_MAX : high)
                   : m.c.chance(50) ? INT64_MIN
                                    : low - 1 - n - 1);
    if (m.c.chance(20) && starts.back() > 0) starts.back() -= n;
    if (m.c.chance(5)) starts.back() = -100;
  }
  if (axes.empty()) return;
  m.add("Slice", {x, m.ints(starts), m.ints(ends), m.ints(axes), m.ints(steps)});
}
void pad(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const size_t rank = x->shape().size();
  const auto mode = m.c.pick<std::string_view>({"constant", "constant", "edge", "reflect", "wrap"});
  if (mode == "wrap" && m.opset() < 19) return;
  std::vector<int64_t> pads(2 * rank);
  for (size_t i = 0; i < 2 * rank; i++) {
    const int64_t most = mode == "constant" ? 2 : std::min<int64_t>(2, x->shape()[i % rank] - 1);
    if (m.c.chance(50) && most > 0) pads[i] = m.c.between(mode == "constant" ? -1 : 0, most);
  }
  for (size_t i = 0; i < rank; i++)
    if (x->shape()[i] + pads[i] + pads[rank + i] < 0 || x->shape()[i] < 2)
      pads[i] = pads[rank + i] = 0;
  std::vector<Value*> inputs{x, m.ints(pads)};
  if (mode == "constant" && m.c.chance(50))
    inputs.push_back(m.c.chance(80) ? m.scalar(x->dtype(), m.c.pick({0.0, 1.0, 2.0}))
                                    : m.of(x->dtype(), {}));
  m.add("Pad", inputs, {{"mode", std::string(mode)}});
}
void depth_to_space(Maker& m) {
  const Value* image = m.find([](const Value* v) { return v->shape().size() == 4; });
  const int64_t b = m.c.pick<int64_t>({2, 2, 3});
  if (m.c.chance(50)) {
    Value* x = image && image->shape()[1] % (b * b) == 0
                   ? const_cast<Value*>(image)
                   : m.of(DType::f32, {1, b * b * m.c.between(1, 3), 3, 2});
    m.add("DepthToSpace", {x},
          {{"blocksize", b}, {"mode", std::string(m.c.chance(50) ? "CRD" : "DCR")}});
  } else {
    Value* x = image && image->shape()[2] % b == 0 && image->shape()[3] % b == 0
                   ? const_cast<Value*>(image)
                   : m.of(DType::f32, {2, 3, 2 * b, b});
    m.add("SpaceToDepth", {x}, {{"blocksize", b}});
  }
}
void shape_of(Maker& m) { m.add(m.c.pick<std::string_view>({"Shape", "Size"}), {m.any(kEvery)}); }
// Computes a shape as exporters do: the first dimension of a value, followed by -1.
void shape_arithmetic(Maker& m) {
  Value* x = m.ranked(kEvery, 2);
  Value* s = m.add("Shape", {x});
  if (!s) return;
  Value* first = m.add("Gather", {s, m.scalar(DType::s64, 0)}, {{"axis", int64_t{0}}});
  if (!first) return;
  Value* lead = m.opset() >= 13 ? m.add("Unsqueeze", {first, m.ints({0})})
                                : m.add("Unsqueeze", {first}, {{"axes", std::vector<int64_t>{0}}});
  if (lead) m.add("Concat", {lead, m.ints({-1})}, {{"axis", int64_t{0}}});
}
void constant_of_shape(Maker& m) {
  Attributes value;
  if (m.c.chance(70)) value["value"] = random_tensor(m.type_of(kEvery), {1}, m.c);
  m.add("ConstantOfShape", {m.ints(m.random_shape())}, value);
}
void trilu(Maker& m) {
  Value* x = m.ranked(kNumbers, 2);
  std::vector<Value*> inputs{x};
  if (m.c.chance(60))
    inputs.push_back(m.scalar(DType::s64, static_cast<double>(m.c.between(-2, 2))));
  m.add("Trilu", inputs, {{"upper", m.c.between(0, 1)}});
}
void eye_like(Maker& m) {
  Value* x = m.find([](const Value* v) { return v->shape().size() == 2; });
  if (x)
    m.add("EyeLike", {x}, {{"k", m.c.between(-1, 2)}, {"dtype", m.c.pick<int64_t>({1, 7, 10})}});
}
void center_crop_pad(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  Shape to;
  for (size_t i = 0; i < x->shape().size(); i++) to.push_back(m.c.between(1, 6));
  m.add("CenterCropPad", {x, m.ints(to)});
}
void bit_cast(Maker& m) {
  Value* x = m.any({DType::f32, DType::s32, DType::u32});
  m.add("BitCast", {x}, {{"to", m.c.pick<int64_t>({1, 6, 12})}});
}
void reverse_sequence(Maker& m) {
  Value* x = m.ranked(kNumbers, 2);
  const int64_t time = m.c.between(0, 1);
  const Shape& s = x->shape();
  if (s[0] == 0 || s[1] == 0) return;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < s[static_cast<size_t>(1 - time)]; i++)
    lengths.push_back(m.c.between(1, s[static_cast<size_t>(time)]));
  m.add("ReverseSequence", {x, m.ints(lengths)}, {{"time_axis", time}, {"batch_axis", 1 - time}});
}
// Two transpositions, perhaps with a Relu between them. The second one often undoes the first.
void there_and_back(Maker& m) {
  Value* x = m.ranked(kEvery, 2);
  const size_t rank = x->shape().size();
  std::vector<int64_t> perm(rank), back(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  for (size_t i = rank; i > 1; i--) std::swap(perm[i - 1], perm[m.c.below(i)]);
  for (size_t i = 0; i < rank; i++) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  Value* t = m.add("Transpose", {x}, {{"perm", perm}});
  if (t && m.c.chance(60) && is_float(t->dtype())) t = m.add("Relu", {t});
  if (t) m.add("Transpose", {t}, {{"perm", m.c.chance(70) ? back : perm}});
}

constexpr Recipe kMovementRecipes[] = {
    {"Reshape", reshape, 8},
    {"Flatten", flatten, 2},
    {"Squeeze", squeeze, 3},
    {"Unsqueeze", unsqueeze, 3},
    {"Transpose", transpose, 7},
    {"Expand", expand, 3},
    {"Tile", tile, 2},
    {"Concat", concat, 7},
    {"Split", split, 5},
    {"SplitConcat", split_concat, 3},
    {"Slice", slice, 5},
    {"Pad", pad, 4},
    {"DepthToSpace", depth_to_space, 2},
    {"Shape", shape_of, 1},
    {"ShapeArithmetic", shape_arithmetic, 1},
    {"ConstantOfShape", constant_of_shape},
    {"Trilu", trilu},
    {"EyeLike", eye_like},
    {"CenterCropPad", center_crop_pad},
    {"BitCast", bit_cast},
    {"ReverseSequence", reverse_sequence},
    {"ThereAndBack", there_and_back, 3},
};

}  // namespace

std::span<const Recipe> movement_recipes() { return kMovementRecipes; }

}  // namespace poprt::test
