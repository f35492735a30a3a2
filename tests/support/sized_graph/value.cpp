#include "support/sized_graph/value.h"

#include <algorithm>

namespace poprt::test::sized {
namespace {

bool fits(double v, int bits) {
  if (v == 0) return true;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  const double scaled = std::ldexp(fraction, bits);
  return scaled == std::floor(scaled) && exponent > -10;
}

}  // namespace

void round_result(Val& v, const Rounding& r, bool function) {
  if (!is_float(v.dtype)) return;
  for (size_t i = 0; i < v.v.size(); i++) {
    const double x = v.v[i];
    if (!std::isfinite(x) || std::abs(x) > r.most) throw Invalid("a number is too large");
    if (v.error(i) == 0 && !function && fits(x, r.bits)) continue;
    v.e.resize(v.v.size(), 0.0);
    v.e[i] += (function ? 4 : 1) * (r.step * std::abs(x) + r.tiny);
  }
}

bool sums_exactly(const std::vector<double>& terms, const Rounding& r) {
  double sum = 0, unit = 1;
  for (const double t : terms) {
    sum += std::abs(t);
    while (t / unit != std::floor(t / unit) && unit > 0x1p-12) unit /= 2;
    if (t / unit != std::floor(t / unit)) return false;
  }
  return sum / unit <= std::ldexp(1.0, r.bits);
}

std::vector<int64_t> ints_of(const Val& v) {
  if (v.dtype == DType::undefined || is_float(v.dtype) || v.dtype == DType::string)
    throw Invalid("integers expected");
  std::vector<int64_t> all;
  for (const double x : v.v) all.push_back(static_cast<int64_t>(x));
  return all;
}

int64_t int_of(const Val& v) {
  const auto all = ints_of(v);
  if (all.size() != 1) throw Invalid("one integer expected");
  return all[0];
}

Val make_val(DType dtype, Shape shape) {
  Val v;
  v.dtype = dtype;
  for (const int64_t d : shape)
    if (d < 0) throw Invalid("a negative dimension");
  v.shape = std::move(shape);
  v.v.resize(static_cast<size_t>(v.count()), 0.0);
  return v;
}

Val int_val(const std::vector<int64_t>& values) {
  Val v = make_val(DType::s64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); i++) v.v[i] = static_cast<double>(values[i]);
  return v;
}

Val val_of(const Tensor& t) {
  Val v;
  v.dtype = t.dtype();
  v.shape = t.shape();
  if (t.dtype() == DType::string)
    v.text = t.string_values();
  else
    v.v = t.to_doubles();
  if (t.dtype() != DType::string && !is_float(t.dtype()))
    for (double& x : v.v)  // INT64_MAX, for example the end of a slice, is no exact double
      x = std::clamp(x, -9e15, 9e15);
  return v;
}

Tensor tensor_of(const Val& v, DType dtype) {
  Tensor t = Tensor::zeros(dtype, v.shape);
  const auto fill = [&]<class T>(T) {
    auto to = t.mutable_values<T>();
    for (size_t i = 0; i < to.size(); i++) to[i] = static_cast<T>(v.v[i]);
  };
  switch (dtype) {
    case DType::f32: fill(float{}); break;
    case DType::f16: {
      auto to = t.mutable_values<f16_t>();
      for (size_t i = 0; i < to.size(); i++) to[i] = to_f16(static_cast<float>(v.v[i]));
      break;
    }
    case DType::s64: fill(int64_t{}); break;
    case DType::s32: fill(int32_t{}); break;
    case DType::boolean: fill(bool{}); break;
    default: fail(ErrorCode::unimplemented, "no tensor of {}", dtype_name(dtype));
  }
  return t;
}

size_t axis_in(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) throw Invalid("no such axis");
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& f) {
  Shape index(shape.size(), 0);
  for (int64_t n = element_count(shape); n > 0; n--) {
    f(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

size_t offset_of(const Shape& index, const std::vector<int64_t>& strides) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); d++) at += index[d] * strides[d];
  return static_cast<size_t>(at);
}

void append(Val& to, const Val& a, size_t from) {
  if (a.dtype == DType::string) {
    to.text.push_back(a.text.at(from));
    return;
  }
  if (!a.e.empty() || !to.e.empty()) {
    to.e.resize(to.v.size(), 0.0);
    to.e.push_back(a.error(from));
  }
  to.v.push_back(a.v.at(from));
}

Outputs interpret(const ir::Node& node, const Inputs& inputs, const Scope& scope,
                  const Rounding& r) {
  if (node.is("If") || node.is("Loop") || node.is("Scan"))
    return interpret_control(node, inputs, scope, r);
  for (const Rules* rules : {&elementwise_rules(), &movement_rules(), &reduction_rules(),
                             &selection_rules(), &sequence_rules()})
    if (const auto it = rules->find(node.op_type); it != rules->end()) {
      Outputs out = it->second(node, inputs, r);
      for (const Val& v : out)
        for (const double x : v.v)
          if (!std::isfinite(x) || (is_integer(v.dtype) && std::abs(x) > 1e8))
            throw Invalid("a number is too large");
      return out;
    }
  fail(ErrorCode::internal, "the interpreter has no rule for {}", node.op_type);
}

Outputs interpret(const ir::Graph& graph, Scope& scope, const Rounding& r) {
  for (const ir::Value* v : graph.values())
    if (v->is_constant()) scope.values.emplace(v, val_of(v->constant()));
  for (const ir::Node* n : graph.nodes()) {
    Inputs in;
    for (const ir::Value* v : n->inputs()) in.push_back(v ? *scope.find(v) : Val());
    const Outputs out = interpret(*n, in, scope, r);
    for (size_t i = 0; i < n->outputs().size(); i++) scope.values[n->output(i)] = out.at(i);
  }
  Outputs results;
  for (const ir::Value* v : graph.outputs()) results.push_back(*scope.find(v));
  return results;
}

}  // namespace poprt::test::sized
