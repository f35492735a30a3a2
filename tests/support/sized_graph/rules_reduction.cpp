// Reductions, products and normalisations: many elements become one.
#include <algorithm>
#include <numeric>

#include "support/sized_graph/value.h"

namespace poprt::test::sized {
namespace {

using ir::Node;

// The numbers that a reduction combines to one, and their errors.
struct Terms {
  std::vector<double> v, e;
  bool exact() const {
    return std::all_of(e.begin(), e.end(), [](double x) { return x == 0; });
  }
};
struct ReducedNumber {
  double v, e;
};
using Fold = ReducedNumber (*)(const Terms&, const Rounding&);

ReducedNumber sum_of(const Terms& t, const Rounding& r) {
  ReducedNumber y{0, 0};
  double all = 0;
  for (size_t i = 0; i < t.v.size(); i++) {
    y.v += t.v[i];
    y.e += t.e[i];
    all += std::abs(t.v[i]);
  }
  if (all > r.most) throw Invalid("a sum is too large");
  if (!t.exact() || !sums_exactly(t.v, r)) y.e += 4 * (r.step * all + r.tiny);
  return y;
}

Terms mapped(const Terms& t, double (*f)(double)) {
  Terms to = t;
  for (size_t i = 0; i < t.v.size(); i++) {
    to.v[i] = f(t.v[i]);
    to.e[i] =
        std::max(std::abs(f(t.v[i] + t.e[i]) - to.v[i]), std::abs(f(t.v[i] - t.e[i]) - to.v[i]));
  }
  return to;
}

ReducedNumber l1(const Terms& t, const Rounding& r) {
  return sum_of(mapped(t, [](double x) { return std::abs(x); }), r);
}
ReducedNumber sum_square(const Terms& t, const Rounding& r) {
  return sum_of(mapped(t, [](double x) { return x * x; }), r);
}
ReducedNumber l2(const Terms& t, const Rounding& r) {
  const ReducedNumber s = sum_square(t, r);
  const double y = std::sqrt(s.v);
  return {y, std::sqrt(s.v + s.e) - y + std::max(0.0, y - std::sqrt(std::max(0.0, s.v - s.e))) +
                 4 * (r.step * y + r.tiny)};
}
ReducedNumber mean(const Terms& t, const Rounding& r) {
  if (t.v.empty()) throw Invalid("the mean of nothing");
  const ReducedNumber s = sum_of(t, r);
  const auto n = static_cast<double>(t.v.size());
  return {s.v / n, s.e / n + 4 * (r.step * std::abs(s.v / n) + r.tiny)};
}
ReducedNumber greatest(const Terms& t, const Rounding&) {
  if (t.v.empty()) throw Invalid("the maximum of nothing");
  return {*std::max_element(t.v.begin(), t.v.end()), *std::max_element(t.e.begin(), t.e.end())};
}
ReducedNumber least(const Terms& t, const Rounding&) {
  if (t.v.empty()) throw Invalid("the minimum of nothing");
  return {*std::min_element(t.v.begin(), t.v.end()), *std::max_element(t.e.begin(), t.e.end())};
}
ReducedNumber product_of(const Terms& t, const Rounding& r) {
  double v = 1, most = 1;
  for (size_t i = 0; i < t.v.size(); i++) {
    v *= t.v[i];
    most *= std::abs(t.v[i]) + t.e[i];
    if (most > r.most) throw Invalid("a product is too large");
  }
  return {v, most - std::abs(v) + 4 * static_cast<double>(t.v.size()) * (r.step * most + r.tiny)};
}
ReducedNumber log_sum_exp(const Terms& t, const Rounding& r) {
  if (t.v.empty()) throw Invalid("the logarithm of zero");
  const double top = *std::max_element(t.v.begin(), t.v.end());
  double all = 0;
  for (const double x : t.v) all += std::exp(x - top);
  const double y = top + std::log(all);
  return {y, *std::max_element(t.e.begin(), t.e.end()) + 8 * (r.step * (std::abs(y) + 1) + r.tiny)};
}

std::vector<bool> reduced_axes(const Node& n, const Inputs& in) {
  const size_t rank = in.at(0).rank();
  std::vector<int64_t> axes = n.ints_attr("axes");
  if (in.size() > 1 && in[1].given()) axes = ints_of(in[1]);
  std::vector<bool> is(rank, axes.empty());
  for (const int64_t a : axes) is[axis_in(a, rank)] = true;
  return is;
}

Outputs reduce(const Node& n, const Inputs& in, const Rounding& r, Fold fold) {
  const Val& x = in.at(0);
  const std::vector<bool> is = reduced_axes(n, in);
  const bool keeps = n.int_attr("keepdims", 1) != 0;
  Shape kept = x.shape, out_shape;
  for (size_t d = 0; d < is.size(); d++) {
    if (is[d]) kept[d] = 1;
    if (!is[d] || keeps) out_shape.push_back(kept[d]);
  }
  const auto strides = strides_of(kept);
  std::vector<Terms> terms(static_cast<size_t>(element_count(kept)));
  size_t i = 0;
  for_each_index(x.shape, [&](const Shape& place) {
    Shape to = place;
    for (size_t d = 0; d < is.size(); d++)
      if (is[d]) to[d] = 0;
    Terms& t = terms[offset_of(to, strides)];
    t.v.push_back(x.v[i]);
    t.e.push_back(x.error(i++));
  });
  const Rounding whole{.bits = 52, .step = 0, .tiny = 0};
  Val out = make_val(x.dtype, out_shape);
  out.e.resize(out.v.size(), 0.0);
  for (size_t k = 0; k < terms.size(); k++) {
    const ReducedNumber y = fold(terms[k], is_float(x.dtype) ? r : whole);
    out.v[k] = y.v;
    out.e[k] = y.e;
  }
  if (!is_float(x.dtype)) out.e.clear();
  return {out};
}

template <Fold fold>
Outputs reduced_by(const Node& n, const Inputs& in, const Rounding& r) {
  return reduce(n, in, r, fold);
}

// Calls f for each line along an axis, with the offsets of its elements.
template <class F>
void for_each_line(const Shape& shape, size_t axis, F f) {
  const auto strides = strides_of(shape);
  Shape heads = shape;
  heads[axis] = 1;
  for_each_index(heads, [&](const Shape& place) {
    std::vector<size_t> line;
    for (int64_t k = 0; k < shape[axis]; k++)
      line.push_back(offset_of(place, strides) + static_cast<size_t>(k * strides[axis]));
    f(line);
  });
}

Outputs softmax(const Node& n, const Inputs& in, const Rounding& r) {
  const bool log = n.op_type == "LogSoftmax";
  const Val& x = in.at(0);
  Val out = x;
  out.e.assign(out.v.size(), 0.0);
  for_each_line(x.shape, axis_in(n.int_attr("axis", -1), x.rank()), [&](const auto& line) {
    double top = -1e30, e = 0, all = 0;
    for (const size_t i : line) top = std::max(top, x.v[i]), e = std::max(e, x.error(i));
    for (const size_t i : line) all += std::exp(x.v[i] - top);
    for (const size_t i : line) {
      const double y = x.v[i] - top - std::log(all);
      out.v[i] = log ? y : std::exp(y);
      const double wide = 2 * e + 8 * r.step * (1 + std::abs(x.v[i] - top) + std::abs(top));
      out.e[i] = (log ? wide : out.v[i] * std::expm1(wide)) + 8 * r.tiny;
    }
  });
  round_result(out, r, true);
  return {out};
}

Outputs arg(const Node& n, const Inputs& in, const Rounding&) {
  const bool greatest_wanted = n.op_type == "ArgMax";
  const Val& x = in.at(0);
  const size_t axis = axis_in(n.int_attr("axis", 0), x.rank());
  if (x.shape[axis] == 0) throw Invalid("the place of the maximum of nothing");
  Shape shape = x.shape;
  shape[axis] = 1;
  if (n.int_attr("keepdims", 1) == 0) shape.erase(shape.begin() + static_cast<int64_t>(axis));
  Val out = make_val(DType::s64, shape);
  size_t next = 0;
  for_each_line(x.shape, axis, [&](const auto& line) {
    size_t best = 0;
    for (size_t k = 1; k < line.size(); k++) {
      const double a = x.v[line[k]], b = x.v[line[best]];
      const double open = x.error(line[k]) + x.error(line[best]);
      if (open > 0 && std::abs(a - b) <= 4 * open) throw Invalid("a comparison that is open");
      if (greatest_wanted ? a > b : a < b) best = k;
    }
    out.v[next++] = static_cast<double>(best);
  });
  return {out};
}

Outputs cumulative_sum(const Node& n, const Inputs& in, const Rounding& r) {
  const Val& x = in.at(0);
  const bool exclusive = n.int_attr("exclusive", 0) != 0, reverse = n.int_attr("reverse", 0) != 0;
  Val out = x;
  out.e.assign(out.v.size(), 0.0);
  for_each_line(x.shape, axis_in(int_of(in.at(1)), x.rank()), [&](std::vector<size_t> line) {
    if (reverse) std::reverse(line.begin(), line.end());
    Terms so_far;
    for (const size_t i : line) {
      const auto take = [&] {
        so_far.v.push_back(x.v[i]);
        so_far.e.push_back(x.error(i));
      };
      if (!exclusive) take();
      const ReducedNumber y = sum_of(so_far, r);
      out.v[i] = y.v;
      out.e[i] = is_float(x.dtype) ? y.e : 0.0;
      if (exclusive) take();
    }
  });
  return {out};
}

// Returns an element of a matrix product.
ReducedNumber dot(const Terms& a, const Terms& b, const Rounding& r) {
  Terms t;
  double more = 0;
  const auto quarter = [](double x, double part) {
    return part > 0 ? std::abs(x) * part + 0.02 : 0.0;
  };
  for (size_t k = 0; k < a.v.size(); k++) {
    if (std::abs(a.v[k]) > r.most_factor || std::abs(b.v[k]) > r.most_factor)
      throw Invalid("a factor is too large");
    const double ea = a.e[k] + quarter(a.v[k], r.left), eb = b.e[k] + quarter(b.v[k], r.right);
    t.v.push_back(a.v[k] * b.v[k]);
    t.e.push_back(std::abs(a.v[k]) * eb + std::abs(b.v[k]) * ea + ea * eb);
    more += std::abs(t.v.back());
  }
  ReducedNumber y = sum_of(t, r);
  if (y.e > 0) y.e += 4 * r.step * more;
  return y;
}

Outputs matmul(const Node&, const Inputs& in, const Rounding& r) {
  const Val &a = in.at(0), &b = in.at(1);
  if (a.rank() < 2 || b.rank() < 2 || a.shape.back() != b.shape[b.rank() - 2])
    throw Invalid("factors that do not fit");
  const int64_t m = a.shape[a.rank() - 2], k = a.shape.back(), n = b.shape.back();
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2),
      batch_b(b.shape.begin(), b.shape.end() - 2);
  if (!batch_b.empty() && batch_a != batch_b) throw Invalid("batches that do not fit");
  Shape shape = batch_a;
  shape.insert(shape.end(), {m, n});
  Val out = make_val(DType::f32, shape);
  out.e.resize(out.v.size(), 0.0);
  for (int64_t batch = 0; batch < element_count(batch_a); batch++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        Terms x, y;
        for (int64_t l = 0; l < k; l++) {
          const auto p = static_cast<size_t>((batch * m + i) * k + l);
          const auto q = static_cast<size_t>(((batch_b.empty() ? 0 : batch) * k + l) * n + j);
          x.v.push_back(a.v[p]), x.e.push_back(a.error(p));
          y.v.push_back(b.v[q]), y.e.push_back(b.error(q));
        }
        const ReducedNumber z = dot(x, y, r);
        const auto at = static_cast<size_t>((batch * m + i) * n + j);
        out.v[at] = z.v;
        out.e[at] = z.e;
      }
  round_result(out, r);
  return {out};
}

// Supports only the last axis.
Outputs layer_normalization(const Node& n, const Inputs& in, const Rounding& r) {
  const Val &x = in.at(0), &scale = in.at(1);
  if (axis_in(n.int_attr("axis", -1), x.rank()) + 1 != x.rank()) throw Invalid("an axis inside");
  const double epsilon = n.float_attr("epsilon", 1e-5f);
  Val out = x;
  out.e.assign(out.v.size(), 0.0);
  for_each_line(x.shape, x.rank() - 1, [&](const auto& line) {
    double total = 0, spread = 0, e = 0, most = 0;
    for (const size_t i : line) {
      total += x.v[i];
      e = std::max(e, x.error(i));
      most = std::max(most, std::abs(x.v[i]));
    }
    const auto count = static_cast<double>(line.size());
    for (const size_t i : line) spread += std::pow(x.v[i] - total / count, 2) / count;
    const double width = std::sqrt(spread + epsilon);
    if (width < 0.25 || e > 0.01) throw Invalid("a normalisation of almost equal numbers");
    for (size_t k = 0; k < line.size(); k++) {
      const double y = (x.v[line[k]] - total / count) / width;
      const double bias = in.size() > 2 && in[2].given() ? in[2].v.at(k) : 0;
      out.v[line[k]] = y * scale.v.at(k) + bias;
      out.e[line[k]] = std::abs(scale.v[k]) * (4 * e / width * (1 + std::abs(y)) +
                                               32 * r.step * (most / width + std::abs(y) + 1)) +
                       32 * (r.tiny + r.step * std::abs(bias));
    }
  });
  return {out};
}

}  // namespace

const Rules& reduction_rules() {
  static const Rules rules = {
      {"ReduceSum", reduced_by<sum_of>},
      {"ReduceMean", reduced_by<mean>},
      {"ReduceMax", reduced_by<greatest>},
      {"ReduceMin", reduced_by<least>},
      {"ReduceProd", reduced_by<product_of>},
      {"ReduceL1", reduced_by<l1>},
      {"ReduceL2", reduced_by<l2>},
      {"ReduceSumSquare", reduced_by<sum_square>},
      {"ReduceLogSumExp", reduced_by<log_sum_exp>},
      {"Softmax", softmax},
      {"LogSoftmax", softmax},
      {"ArgMax", arg},
      {"ArgMin", arg},
      {"CumSum", cumulative_sum},
      {"MatMul", matmul},
      {"LayerNormalization", layer_normalization},
  };
  return rules;
}

}  // namespace poprt::test::sized
