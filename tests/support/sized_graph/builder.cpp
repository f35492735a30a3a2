#include "support/sized_graph/builder.h"

#include <algorithm>

namespace poprt::test::sized {
namespace {

constexpr int64_t kMostElements = 160;

}  // namespace

bool Builder::exact(const Value* v) const {
  return std::all_of(scopes_.begin(), scopes_.end(),
                     [&](const Scope& s) { return s.find(v)->exact(); });
}

bool Builder::positive(const Value* v) const {
  return std::all_of(scopes_.begin(), scopes_.end(), [&](const Scope& s) {
    const Val& x = *s.find(v);
    return std::all_of(x.v.begin(), x.v.end(), [](double e) { return e > 0; });
  });
}

Value* Builder::find(const std::function<bool(const Value*, const Type&)>& fits) {
  std::vector<Value*> all;
  for (size_t i = pool_.size(); i-- > 0;)
    if (fits(pool_[i], types_.at(pool_[i]))) all.push_back(pool_[i]);
  if (all.empty()) return nullptr;
  return c.chance(50) ? all[c.below(std::min<size_t>(all.size(), 3))] : c.pick_of(all);
}

Value* Builder::tensor(size_t rank) {
  const auto is = [&](const Type& t) { return t.dtype == DType::f32 && t.dims.size() >= rank; };
  Value* v = find([&](const Value*, const Type& t) { return is(t) && t.sized(); });
  if (v && c.chance(90)) return v;
  v = find([&](const Value*, const Type& t) { return is(t); });
  if (v) return v;
  Shape shape{c.between(2, 5)};
  while (shape.size() < std::max<size_t>(rank, 2)) shape.push_back(c.between(1, 4));
  return floats(shape);
}

Value* Builder::input(DType dtype, const Shape& shape,
                      const std::function<double(size_t)>& number) {
  Value* v = g.add_input("in" + std::to_string(next_name_++), ir::ValueType::of(dtype, shape));
  Type t{dtype, {}};
  for (const int64_t d : shape) t.dims.push_back(fixed(d));
  types_[v] = t;
  for (size_t f = 0; f < kFeeds; f++) {
    Val x = make_val(dtype, shape);
    for (double& e : x.v) e = number(f);
    feeds[f][v->name()] = x;
    scopes_[f].values[v] = x;
  }
  pool_.push_back(v);
  return v;
}

Value* Builder::floats(const Shape& shape) {
  if (c.chance(25)) {
    Tensor t = Tensor::zeros(DType::f32, shape);
    for (float& x : t.mutable_values<float>()) x = static_cast<float>(c.between(-6, 6)) / 2;
    return constant(t);
  }
  return input(DType::f32, shape,
               [&](size_t) { return static_cast<double>(c.between(-6, 6)) / 2; });
}

Value* Builder::condition(int64_t n) {
  std::vector<int> percent;
  for (size_t f = 0; f < kFeeds; f++) percent.push_back(c.pick<int>({0, 0, 30, 50, 70, 100, 100}));
  const auto holds = [&](size_t f) { return c.below(100) < static_cast<uint64_t>(percent[f]); };
  const Type t{DType::boolean, {fixed(n)}};
  switch (c.below(4)) {
    case 0: {
      Value* x = input(DType::f32, {n}, [&](size_t f) {
        return static_cast<double>(holds(f) ? c.between(1, 6) : c.between(-6, 0)) / 2;
      });
      return node("Greater", {x, real(0)}, {}, t);
    }
    case 1: {
      Value* x = input(DType::s64, {n}, [&](size_t f) {
        return static_cast<double>(holds(f) ? 3 : c.between(0, 2));
      });
      return node("Equal", {x, integer(3)}, {}, t);
    }
    default: return input(DType::boolean, {n}, [&](size_t f) { return holds(f) ? 1.0 : 0.0; });
  }
}

Value* Builder::constant(const Tensor& t) {
  Value* v = g.add_constant("c" + std::to_string(next_name_++), t);
  Type type{t.dtype(), {}};
  for (const int64_t d : t.shape()) type.dims.push_back(fixed(d));
  if (t.dtype() == DType::s64 && t.shape().size() < 2) {
    type.numbers.emplace();
    for (const int64_t x : t.to_int64s()) type.numbers->push_back(fixed(x));
  }
  types_[v] = type;
  for (Scope& s : scopes_) s.values[v] = val_of(t);
  return v;
}

Value* Builder::ints(const std::vector<int64_t>& values) {
  return constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}
Value* Builder::integer(int64_t value) { return constant(Tensor::scalar<int64_t>(value)); }
Value* Builder::real(double value) {
  return constant(Tensor::scalar<float>(static_cast<float>(value)));
}

Dim Builder::unknown(int64_t low, int64_t high) {
  return low == high ? fixed(low) : Dim{low, high, next_id_++};
}

bool Builder::fits(const Type& type, const Val& v) const {
  if (type.is_sequence) return v.is_sequence;
  if (type.dtype != v.dtype || type.dims.size() != v.shape.size()) return false;
  for (size_t d = 0; d < v.shape.size(); d++)
    if (v.shape[d] < type.dims[d].low || v.shape[d] > type.dims[d].high) return false;
  for (size_t i = 0; type.numbers && i < type.numbers->size(); i++) {
    const Dim& n = type.numbers->at(i);
    if (v.v.at(i) < static_cast<double>(n.low) || v.v[i] > static_cast<double>(n.high))
      return false;
  }
  return true;
}

Value* Builder::node(const std::string& op, const std::vector<Value*>& inputs,
                     Attributes attributes, std::vector<Type> outputs, std::vector<Value*>* all) {
  for (size_t i = 0; i < outputs.size(); i++) {
    int64_t most = 1;
    for (const Dim& d : outputs[i].dims) most *= d.high;
    if (most > kMostElements) return nullptr;
    // The compiler supports only one dimension of unknown size.
    const auto open = std::count_if(outputs[i].dims.begin(), outputs[i].dims.end(),
                                    [](const Dim& d) { return !d.is_static(); });
    if (open > 1 && c.chance(90)) return nullptr;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); i++) names.push_back("v" + std::to_string(next_name_++));
  Node* n = g.add_node(op, "", inputs, outputs.size(), nullptr, names);
  n->attributes = std::move(attributes);
  try {
    for (size_t f = 0; f < kFeeds; f++) {
      Inputs in;
      for (const Value* v : inputs) in.push_back(v ? *scopes_[f].find(v) : Val());
      const Outputs out = interpret(*n, in, scopes_[f], rounding);
      for (size_t i = 0; i < outputs.size(); i++) {
        if (!fits(outputs[i], out.at(i)))
          fail(ErrorCode::internal, "{}: output {} of {} is not of the type that the recipe states",
               n->describe(), i, shape_string(out[i].shape));
        scopes_[f].values[n->output(i)] = out[i];
      }
    }
  } catch (const Invalid&) {
    for (Scope& s : scopes_)
      for (const Value* v : n->outputs()) s.values.erase(v);
    g.erase_node(n);
    return nullptr;
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    types_[n->output(i)] = outputs[i];
    if (i == 0 || all) pool_.push_back(n->output(i));
    if (all) all->push_back(n->output(i));
  }
  return n->output(0);
}

Value* Builder::root(Value* v, size_t d) {
  if (!v) return nullptr;
  const Dim size = type(v).dims[d];
  if (size.is_static()) return v;
  counts.roots++;
  for (size_t f = 0; f < kFeeds; f++) {
    const int64_t length = val(v, f).shape[d];
    (length == 0 ? counts.zero : length == size.high ? counts.at_bound : counts.below)++;
  }
  return v;
}

Value* Builder::vector_of(Value* n) {
  if (!n || !type(n).dims.empty()) return n;
  const Type t{DType::s64, {fixed(1)}, type(n).numbers};
  return c.chance(50) ? node("Unsqueeze", {n, ints({0})}, {}, t)
                      : node("Reshape", {n, ints({c.chance(50) ? 1 : -1})}, {}, t);
}

Value* Builder::scalar_of(Value* n) {
  if (!n || type(n).dims.empty()) return n;
  const Type t{DType::s64, {}, type(n).numbers};
  switch (c.below(3)) {
    case 0: return node("Squeeze", {n, ints({0})}, {}, t);
    case 1: return node("Gather", {n, integer(0)}, {{"axis", int64_t{0}}}, t);
    default: return node("Reshape", {n, constant(Tensor::zeros(DType::s64, {0}))}, {}, t);
  }
}

Value* Builder::size_of(Value* v, size_t d) {
  const Dims& dims = type(v).dims;
  if (c.chance(10)) {
    bool alone = true;
    for (size_t k = 0; k < dims.size(); k++) alone = alone && (k == d || dims[k] == fixed(1));
    if (alone) return node("Size", {v}, {}, Type{DType::s64, {}, Dims{dims[d]}});
  }
  const auto at = static_cast<int64_t>(d), rank = static_cast<int64_t>(dims.size());
  if (opset() >= 15 && c.chance(30))
    return node("Shape", {v}, {{"start", at}, {"end", at + 1}},
                Type{DType::s64, {fixed(1)}, Dims{dims[d]}});
  Value* shape = node("Shape", {v}, {}, Type{DType::s64, {fixed(rank)}, dims});
  if (!shape) return nullptr;
  if (c.chance(25))
    return node("Slice", {shape, ints({at}), ints({at + 1}), ints({0})}, {},
                Type{DType::s64, {fixed(1)}, Dims{dims[d]}});
  const int64_t index = c.chance(70) ? at : at - rank;
  return c.chance(50) ? node("Gather", {shape, integer(index)}, {{"axis", int64_t{0}}},
                             Type{DType::s64, {}, Dims{dims[d]}})
                      : node("Gather", {shape, ints({index})}, {{"axis", int64_t{0}}},
                             Type{DType::s64, {fixed(1)}, Dims{dims[d]}});
}

// Returns a number that one operation computes from n and a small constant.
Value* Builder::arithmetic(Value* n) {
  const Dim d = dim_of(n);
  const Dims shape = type(n).dims;
  const int64_t k = c.between(1, 4);
  Value* with = shape.empty() ? integer(k) : ints({k});
  const auto make = [&](const char* op, int64_t low, int64_t high, bool swapped = false) {
    std::vector<Value*> in{n, with};
    if (swapped) std::swap(in[0], in[1]);
    return node(op, in, {}, Type{DType::s64, shape, Dims{unknown(low, high)}});
  };
  const int64_t l = d.low, h = d.high;
  switch (c.below(8)) {
    case 7: {  // the computation of a resized length
      const double scale = c.pick<double>({0.5, 1.5, 2});
      Value* f = node("Cast", {n}, {{"to", int64_t{1}}}, Type{DType::f32, shape});
      f = f ? node("Mul", {f, real(scale)}, {}, Type{DType::f32, shape}) : nullptr;
      f = f ? node("Floor", {f}, {}, Type{DType::f32, shape}) : nullptr;
      const auto scaled = [&](int64_t x) {
        return static_cast<int64_t>(std::floor(static_cast<double>(x) * scale));
      };
      return f ? node("Cast", {f}, {{"to", int64_t{7}}},
                      Type{DType::s64, shape, Dims{unknown(scaled(l), scaled(h))}})
               : nullptr;
    }
    case 0: return make("Add", l + k, h + k);
    case 1: return make("Sub", l - k, h - k);
    case 2: return make("Mul", l * k, h * k);
    case 3: return l < 0 ? nullptr : make("Div", l / k, h / k);
    case 4: return make("Min", std::min(l, k), std::min(h, k));
    case 5: return make("Max", std::max(l, k), std::max(h, k));
    default: return make("Sub", k - h, k - l, true);
  }
}

Value* Builder::number() {
  Value* n = find([](const Value*, const Type& t) {
    return t.numbers && t.numbers->size() == 1 && !t.numbers->at(0).is_static();
  });
  if (!n || c.chance(60)) {
    Value* v = find([](const Value*, const Type& t) { return t.sized() && !t.is_sequence; });
    if (!v) return n;
    std::vector<size_t> axes;
    for (size_t d = 0; d < type(v).dims.size(); d++)
      if (!type(v).dims[d].is_static()) axes.push_back(d);
    n = size_of(v, c.pick_of(axes));
  }
  for (uint64_t k = c.pick<uint64_t>({0, 0, 0, 1, 1, 2}); n && k > 0; k--) {
    Value* other = arithmetic(n);
    if (other) n = other;
  }
  return n;
}

Value* Builder::number_in(int64_t low, int64_t high) {
  Value* n = number();
  if (!n) return nullptr;
  const auto limit = [&](const char* op, int64_t to, int64_t l, int64_t h) {
    Value* with = type(n).dims.empty() ? integer(to) : ints({to});
    n = node(op, {n, with}, {}, Type{DType::s64, type(n).dims, Dims{unknown(l, h)}});
  };
  const Dim d = dim_of(n);
  if (d.low < low) limit("Max", low, low, std::max(low, d.high));
  if (n && dim_of(n).high > high) limit("Min", high, std::min(dim_of(n).low, high), high);
  return n;
}

Value* Builder::joined(const std::vector<Value*>& numbers) {
  std::vector<Value*> parts;
  Dims all;
  for (Value* n : numbers) {
    Value* v = vector_of(n);
    if (!v) return nullptr;
    parts.push_back(v);
    all.insert(all.end(), type(v).numbers->begin(), type(v).numbers->end());
  }
  if (parts.size() == 1) return parts[0];
  return node("Concat", parts, {{"axis", int64_t{0}}},
              Type{DType::s64, {fixed(static_cast<int64_t>(all.size()))}, all});
}

}  // namespace poprt::test::sized
