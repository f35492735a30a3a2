// Operators that compute each element by itself, with ONNX's broadcasting.
#include <algorithm>

#include "base/onnx_dtype.h"
#include "support/sized_graph/value.h"

namespace poprt::test::sized {
namespace {

using ir::Node;

struct Number {
  double v, e;
};

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < out.size(); d++) {
    const int64_t x = d + a.size() < out.size() ? 1 : a[d + a.size() - out.size()];
    const int64_t y = d + b.size() < out.size() ? 1 : b[d + b.size() - out.size()];
    if (x != y && x != 1 && y != 1) throw Invalid("shapes do not broadcast");
    out[d] = x == 1 ? y : x;
  }
  return out;
}

// The element of v at a place of a result that v is broadcast to.
Number at_place(const Val& v, const Shape& place) {
  int64_t at = 0;
  for (size_t d = 0; d < v.rank(); d++)
    at = at * v.shape[d] + (v.shape[d] == 1 ? 0 : place[d + place.size() - v.rank()]);
  const auto i = static_cast<size_t>(at);
  return {v.v[i], v.error(i)};
}

template <class F>
Val zip(const Val& a, const Val& b, DType type, F f) {
  if (!a.given() || !b.given() || a.dtype != b.dtype) throw Invalid("operands of two types");
  Val out = make_val(type, broadcast(a.shape, b.shape));
  out.e.resize(out.v.size(), 0.0);
  size_t i = 0;
  for_each_index(out.shape, [&](const Shape& place) {
    const Number y = f(at_place(a, place), at_place(b, place));
    out.v[i] = y.v;
    out.e[i++] = y.e;
  });
  return out;
}

template <class F>
Outputs arithmetic(const Inputs& in, const Rounding& r, F f) {
  Val out = zip(in.at(0), in.at(1), in[0].dtype, f);
  round_result(out, r);
  return {out};
}

Outputs add(const Node&, const Inputs& in, const Rounding& r) {
  return arithmetic(in, r, [](Number a, Number b) { return Number{a.v + b.v, a.e + b.e}; });
}
Outputs sub(const Node&, const Inputs& in, const Rounding& r) {
  return arithmetic(in, r, [](Number a, Number b) { return Number{a.v - b.v, a.e + b.e}; });
}
Outputs mul(const Node&, const Inputs& in, const Rounding& r) {
  return arithmetic(in, r, [](Number a, Number b) {
    return Number{a.v * b.v, std::abs(a.v) * b.e + std::abs(b.v) * a.e + a.e * b.e};
  });
}

Outputs div(const Node&, const Inputs& in, const Rounding& r) {
  const bool whole = is_integer(in.at(0).dtype);
  return arithmetic(in, r, [&](Number a, Number b) {
    if (std::abs(b.v) <= 8 * b.e || b.v == 0) throw Invalid("a division by zero");
    if (whole && (a.v < 0 || b.v < 0)) throw Invalid("a division of negative integers");
    if (whole) return Number{std::floor(a.v / b.v), 0};
    const double y = a.v / b.v;
    const double e = (a.e + std::abs(y) * b.e) / (std::abs(b.v) - b.e);
    int exponent = 0;  // the quotient by a power of two is exact
    const bool exact = e == 0 && std::abs(std::frexp(b.v, &exponent)) == 0.5;
    return Number{y, exact ? 0 : e + 2 * r.step * std::abs(y) + r.tiny};
  });
}

Outputs mod(const Node&, const Inputs& in, const Rounding& r) {
  if (!is_integer(in.at(0).dtype)) throw Invalid("Mod of floats");
  return arithmetic(in, r, [](Number a, Number b) {
    if (a.v < 0 || b.v <= 0) throw Invalid("Mod of a negative number");
    return Number{std::fmod(a.v, b.v), 0};
  });
}

Outputs power(const Node&, const Inputs& in, const Rounding& r) {
  Val out = zip(in.at(0), in.at(1), in[0].dtype, [](Number a, Number b) {
    if (b.e != 0 || b.v != std::floor(b.v) || b.v < 1) throw Invalid("an exponent that is open");
    const double y = std::pow(a.v, b.v);
    return Number{y, std::pow(std::abs(a.v) + a.e, b.v) - std::pow(std::abs(a.v), b.v)};
  });
  round_result(out, r, true);
  return {out};
}

template <class F>
Outputs extreme_of(const Inputs& in, F f) {
  Val out = in.at(0);
  for (size_t i = 1; i < in.size(); i++)
    out = zip(out, in[i], out.dtype,
              [&](Number a, Number b) { return Number{f(a.v, b.v), std::max(a.e, b.e)}; });
  return {out};
}

Outputs maximum(const Node&, const Inputs& in, const Rounding&) {
  return extreme_of(in, [](double a, double b) { return std::max(a, b); });
}
Outputs minimum(const Node&, const Inputs& in, const Rounding&) {
  return extreme_of(in, [](double a, double b) { return std::min(a, b); });
}

template <class F>
Outputs compared(const Inputs& in, F f) {
  return {zip(in.at(0), in.at(1), DType::boolean, [&](Number a, Number b) {
    const double open = a.e + b.e;
    if (open > 0 && std::abs(a.v - b.v) <= 4 * open) throw Invalid("a comparison that is open");
    return Number{f(a.v, b.v) ? 1.0 : 0.0, 0};
  })};
}

Outputs equal(const Node&, const Inputs& in, const Rounding&) {
  return compared(in, [](double a, double b) { return a == b; });
}
Outputs less(const Node&, const Inputs& in, const Rounding&) {
  return compared(in, [](double a, double b) { return a < b; });
}
Outputs greater(const Node&, const Inputs& in, const Rounding&) {
  return compared(in, [](double a, double b) { return a > b; });
}
Outputs less_or_equal(const Node&, const Inputs& in, const Rounding&) {
  return compared(in, [](double a, double b) { return a <= b; });
}
Outputs greater_or_equal(const Node&, const Inputs& in, const Rounding&) {
  return compared(in, [](double a, double b) { return a >= b; });
}

template <class F>
Outputs logical(const Inputs& in, F f) {
  return {zip(in.at(0), in.at(1), DType::boolean,
              [&](Number a, Number b) { return Number{f(a.v != 0, b.v != 0) ? 1.0 : 0.0, 0}; })};
}

Outputs logical_and(const Node&, const Inputs& in, const Rounding&) {
  return logical(in, [](bool a, bool b) { return a && b; });
}
Outputs logical_or(const Node&, const Inputs& in, const Rounding&) {
  return logical(in, [](bool a, bool b) { return a || b; });
}
Outputs logical_xor(const Node&, const Inputs& in, const Rounding&) {
  return logical(in, [](bool a, bool b) { return a != b; });
}

Outputs where(const Node&, const Inputs& in, const Rounding&) {
  const Val &c = in.at(0), &a = in.at(1), &b = in.at(2);
  if (a.dtype != b.dtype || c.dtype != DType::boolean) throw Invalid("operands of two types");
  Val out = make_val(a.dtype, broadcast(broadcast(c.shape, a.shape), b.shape));
  out.e.resize(out.v.size(), 0.0);
  size_t i = 0;
  for_each_index(out.shape, [&](const Shape& place) {
    const Number y = at_place(at_place(c, place).v != 0 ? a : b, place);
    out.v[i] = y.v;
    out.e[i++] = y.e;
  });
  return {out};
}

// Applies f. The errors follow from its values at both ends of the interval of each number, which
// is correct if f is monotone there.
template <class F>
Outputs curve(const Val& x, const Rounding& r, F f) {
  Val out = x;
  out.e.resize(out.v.size(), 0.0);
  for (size_t i = 0; i < x.v.size(); i++) {
    const double v = x.v[i], e = x.error(i), y = f(v);
    out.v[i] = y;
    out.e[i] = std::max(std::abs(f(v + e) - y), std::abs(f(v - e) - y));
  }
  round_result(out, r, true);
  return {out};
}

Outputs exponential(const Node&, const Inputs& in, const Rounding& r) {
  return curve(in.at(0), r, [](double x) { return std::exp(x); });
}
Outputs hyperbolic_tangent(const Node&, const Inputs& in, const Rounding& r) {
  return curve(in.at(0), r, [](double x) { return std::tanh(x); });
}
Outputs sigmoid(const Node&, const Inputs& in, const Rounding& r) {
  return curve(in.at(0), r, [](double x) { return 1 / (1 + std::exp(-x)); });
}
Outputs softplus(const Node&, const Inputs& in, const Rounding& r) {
  return curve(in.at(0), r, [](double x) { return std::log1p(std::exp(x)); });
}
Outputs error_function(const Node&, const Inputs& in, const Rounding& r) {
  return curve(in.at(0), r, [](double x) { return std::erf(x); });
}
Outputs square_root(const Node&, const Inputs& in, const Rounding& r) {
  for (const double x : in.at(0).v)
    if (x < 0) throw Invalid("a root of a negative number");
  return curve(in[0], r, [](double x) { return std::sqrt(std::max(x, 0.0)); });
}
Outputs leaky_relu(const Node& n, const Inputs& in, const Rounding& r) {
  const double alpha = n.float_attr("alpha", 0.01f);
  return curve(in.at(0), r, [&](double x) { return x < 0 ? alpha * x : x; });
}

// Applies f, which has slopes of at most 1 and does not round, so the errors remain the same.
template <class F>
Outputs exactly(const Val& x, F f) {
  Val out = x;
  for (double& v : out.v) v = f(v);
  return {out};
}

Outputs negated(const Node&, const Inputs& in, const Rounding&) {
  return exactly(in.at(0), [](double x) { return -x; });
}
Outputs absolute(const Node&, const Inputs& in, const Rounding&) {
  return exactly(in.at(0), [](double x) { return std::abs(x); });
}
Outputs relu(const Node&, const Inputs& in, const Rounding&) {
  return exactly(in.at(0), [](double x) { return std::max(x, 0.0); });
}
Outputs identity(const Node&, const Inputs& in, const Rounding&) { return {in.at(0)}; }
Outputs logical_not(const Node&, const Inputs& in, const Rounding&) {
  return exactly(in.at(0), [](double x) { return x != 0 ? 0.0 : 1.0; });
}

// Applies f, which is constant between jumps. Throws if a number is too inexact to decide on which
// side of a jump it is.
template <class F>
Val stepped(const Val& x, F f) {
  Val out = x;
  out.e.clear();
  for (size_t i = 0; i < x.v.size(); i++) {
    const double e = 4 * x.error(i);
    out.v[i] = f(x.v[i]);
    if (f(x.v[i] - e) != out.v[i] || f(x.v[i] + e) != out.v[i])
      throw Invalid("a rounding that is open");
  }
  return out;
}

Outputs floored(const Node&, const Inputs& in, const Rounding&) {
  return {stepped(in.at(0), [](double x) { return std::floor(x); })};
}
Outputs ceiled(const Node&, const Inputs& in, const Rounding&) {
  return {stepped(in.at(0), [](double x) { return std::ceil(x); })};
}
Outputs sign(const Node&, const Inputs& in, const Rounding&) {
  return {stepped(in.at(0), [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; })};
}

Outputs cast(const Node& n, const Inputs& in, const Rounding& r) {
  const DType to = dtype_from_onnx(n.int_attr("to", 1)).value();
  const Val& x = in.at(0);
  if (x.dtype == DType::string) throw Invalid("text is not cast");
  Val out = x;
  if (to == DType::boolean)
    out = stepped(x, [](double v) { return v != 0 ? 1.0 : 0.0; });
  else if (is_integer(to) && is_float(x.dtype))
    out = stepped(x, [](double v) { return std::trunc(v); });
  out.dtype = to;
  round_result(out, r);
  return {out};
}

Outputs clip(const Node&, const Inputs& in, const Rounding&) {
  Val out = in.at(0);
  const auto limit = [&](size_t i, double fallback) {
    return in.size() > i && in[i].given() ? in[i].v.at(0) : fallback;
  };
  const double low = limit(1, -1e30), high = limit(2, 1e30);
  if (low > high) throw Invalid("limits of Clip in the wrong order");
  for (double& v : out.v) v = std::clamp(v, low, high);
  return {out};
}

}  // namespace

const Rules& elementwise_rules() {
  static const Rules rules = {
      {"Add", add},
      {"Sub", sub},
      {"Mul", mul},
      {"Div", div},
      {"Mod", mod},
      {"Pow", power},
      {"Max", maximum},
      {"Min", minimum},
      {"Equal", equal},
      {"Less", less},
      {"Greater", greater},
      {"LessOrEqual", less_or_equal},
      {"GreaterOrEqual", greater_or_equal},
      {"And", logical_and},
      {"Or", logical_or},
      {"Xor", logical_xor},
      {"Not", logical_not},
      {"Where", where},
      {"Exp", exponential},
      {"Tanh", hyperbolic_tangent},
      {"Sigmoid", sigmoid},
      {"Softplus", softplus},
      {"Erf", error_function},
      {"Sqrt", square_root},
      {"LeakyRelu", leaky_relu},
      {"Neg", negated},
      {"Abs", absolute},
      {"Relu", relu},
      {"Identity", identity},
      {"Floor", floored},
      {"Ceil", ceiled},
      {"Sign", sign},
      {"Cast", cast},
      {"Clip", clip},
  };
  return rules;
}

}  // namespace poprt::test::sized
