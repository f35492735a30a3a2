#include "support/random_graph/maker.h"

#include <algorithm>
#include <cmath>

#include "ops/common/scalar.h"
#include "ops/op.h"

namespace poprt::test {

// Chooses common types more often.
const Types kFloats = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32,
                       DType::f32, DType::f16, DType::f64, DType::bf16};
const Types kReals = {DType::f32, DType::f32, DType::f32, DType::f16};
const Types kIntegers = {DType::s64, DType::s32, DType::s64, DType::s32, DType::u8,
                         DType::s8,  DType::u32, DType::s16, DType::u16, DType::u64};
const Types kNumbers = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f16, DType::f64,
                        DType::s64, DType::s32, DType::f32, DType::u8,  DType::s8};
const Types kEvery = {DType::f32, DType::f32,  DType::f32,    DType::f32, DType::f16,
                      DType::f64, DType::s64,  DType::s32,    DType::f32, DType::u8,
                      DType::s8,  DType::bf16, DType::boolean};

namespace {

// Returns a number for which operators often have a special case.
double special(Choices& c) { return c.pick({0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.25, 0.1}); }

bool is_one_of(DType dtype, const Types& types) {
  return std::find(types.begin(), types.end(), dtype) != types.end();
}

}  // namespace

Tensor random_tensor(DType dtype, const Shape& shape, Choices& c) {
  // Elements are drawn from a seed, so that a fuzzer's bytes go into decisions.
  Choices elements(c.below(1 << 16) + 1);
  const bool whole = c.chance(10);  // few whole numbers, so that there are ties and equal elements
  const int64_t count = element_count(shape);
  Tensor t = Tensor::zeros(dtype, shape);
  const int bits = dtype_bits(dtype);
  auto* to = static_cast<std::byte*>(t.mutable_data());
  for (int64_t i = 0; i < count; i++) {
    double x = 0;
    if (is_float(dtype))
      x = whole ? static_cast<double>(elements.between(-3, 3))
                : static_cast<double>(elements.between(-2000, 2000)) / 1000;
    else if (dtype == DType::boolean)
      x = static_cast<double>(elements.below(2));
    else if (bits == 8 && !whole)
      x = static_cast<double>(is_signed(dtype) ? elements.between(-128, 127)
                                               : elements.between(0, 255));
    else
      x = static_cast<double>(is_signed(dtype) ? elements.between(-4, 9) : elements.between(0, 9));
    const Tensor one = ops::scalar_tensor(dtype, x);
    std::memcpy(to + i * (bits / 8), one.data(), one.bytes());
  }
  return t;
}

int64_t Maker::opset() const {
  for (const Graph* at = &g; at; at = at->parent)
    if (const auto it = at->opsets.find(""); it != at->opsets.end()) return it->second;
  return 0;
}

Value* Maker::find(const std::function<bool(const Value*)>& fits) {
  std::vector<Value*> found;
  for (const Maker* m = this; m; m = m->outer)
    for (auto it = m->pool.rbegin(); it != m->pool.rend(); ++it)
      if (fits(*it)) found.push_back(*it);
  if (found.empty()) return nullptr;
  if (c.chance(60)) return found[c.below(std::min<size_t>(found.size(), 3))];
  return found[c.below(found.size())];
}

Value* Maker::any(const Types& types) {
  if (!c.chance(6))
    if (Value* v = find([&](const Value* x) { return is_one_of(x->dtype(), types); })) return v;
  return of(type_of(types), random_shape());
}

Value* Maker::ranked(const Types& types, size_t rank) {
  if (!c.chance(6))
    if (Value* v = find([&](const Value* x) {
          return is_one_of(x->dtype(), types) && x->shape().size() >= rank;
        }))
      return v;
  Shape shape = random_shape();
  while (shape.size() < rank) shape.push_back(dim());
  return of(type_of(types), shape);
}

Value* Maker::of(DType dtype, const Shape& shape) {
  if (c.chance(40))
    if (Value* v = find([&](const Value* x) { return x->dtype() == dtype && x->shape() == shape; }))
      return v;
  return c.chance(55) ? random_constant(dtype, shape) : input(dtype, shape);
}

Value* Maker::operand_for(const Value* v) { return operand_for(v, v->dtype()); }

Value* Maker::operand_for(const Value* v, DType dtype) {
  const Shape whole = v->shape();
  if (c.chance(30))
    if (Value* found = find([&](const Value* x) {
          if (x->dtype() != dtype) return false;
          try {
            return element_count(broadcast_shapes(x->shape(), whole)) <= limits.elements;
          } catch (const Error&) {
            return false;
          }
        }))
      return found;
  Shape shape;
  switch (c.below(6)) {
    case 0: return of(dtype, whole);
    case 1: shape = Shape(c.below(whole.size() + 2), 1); break;  // one element, of any rank
    case 2:                                                      // one of the axes
      shape = Shape(whole.size(), 1);
      if (!whole.empty()) {
        const size_t at = c.below(whole.size());
        shape[at] = whole[at];
        if (c.chance(50)) shape.erase(shape.begin(), shape.begin() + static_cast<long>(at));
      }
      break;
    case 3:  // the last ones
      shape.assign(whole.end() - static_cast<long>(c.below(whole.size() + 1)), whole.end());
      break;
    default:
      shape = whole;
      for (int64_t& d : shape)
        if (c.chance(40)) d = 1;
      if (c.chance(10)) shape.insert(shape.begin(), c.pick<int64_t>({1, 1, 2}));
  }
  if (element_count(shape) == 1 && c.chance(70)) {
    Tensor t = ops::scalar_tensor(dtype, special(c));
    return constant(t.reshaped(shape));
  }
  return of(dtype, shape);
}

Value* Maker::constant(Tensor t) {
  Value* v = g.add_constant("c" + std::to_string(known.size()), std::move(t));
  known[v] = v->constant();
  if (c.chance(30)) pool.push_back(v);
  return v;
}

Value* Maker::random_constant(DType dtype, const Shape& shape) {
  return constant(random_tensor(dtype, shape, c));
}

Value* Maker::scalar(DType dtype, double value) {
  return constant(ops::scalar_tensor(dtype, value));
}

Value* Maker::ints(const std::vector<int64_t>& values) {
  return constant(
      Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, std::span<const int64_t>(values)));
}

Value* Maker::input(DType dtype, const Shape& shape) {
  if (outer) return random_constant(dtype, shape);  // a subgraph has no separate inputs
  Value* v = g.add_input("x" + std::to_string(feeds.size()), ir::ValueType::of(dtype, shape));
  known[v] = feeds[v->name()] = random_tensor(dtype, shape, c);
  pool.push_back(v);
  return v;
}

DType Maker::type_of(const Types& types) { return c.pick_of(types); }

int64_t Maker::dim() {
  const uint64_t kind = c.below(20);
  if (kind == 0) return 1;
  if (kind == 1) return c.pick<int64_t>({15, 16, 17, 32, 33, 48, 50});
  if (kind == 2 && c.chance(12)) return 0;
  return c.between(1, limits.dim);
}

Shape Maker::random_shape() {
  Shape shape(c.pick<size_t>({0, 1, 2, 2, 3, 3, 4, 4, 4, 5}));
  for (int64_t& d : shape) d = dim();
  for (size_t i = 0; element_count(shape) > limits.elements; i++) shape[i % shape.size()] = 2;
  return shape;
}

int64_t Maker::axis_of(const Value* v) {
  const size_t rank = v->shape().size();
  return axis(static_cast<int64_t>(c.below(rank)), rank);
}

bool Maker::acceptable(const Node& n, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < results.size(); i++) {
    if (!n.output(i)->type.is_static()) return false;
    if (results[i].count() > limits.elements) return false;
    if (!is_float(results[i].dtype())) continue;
    const double most = results[i].dtype() == DType::f16 ? 2000 : 1e6;
    double largest = 0;
    bool finite = true;
    for (const double x : results[i].to_doubles()) {
      finite &= std::isfinite(x);
      largest = std::max(largest, std::abs(x));
    }
    // Infinities and NaN are rarely allowed, because they hide the results of later nodes.
    if ((!finite || largest > most) && !c.chance(5)) return false;
  }
  return true;
}

std::map<std::string, std::pair<int, std::string>>& Maker::rejected() {
  static std::map<std::string, std::pair<int, std::string>> all;
  return all;
}
std::map<std::string, int>& Maker::added() {
  static std::map<std::string, int> all;
  return all;
}

Node* Maker::add_node(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes,
                      size_t outputs, std::string_view domain) {
  const std::string name = domain.empty() ? std::string(op) : fmt::format("{}.{}", domain, op);
  Node* n = g.add_node(std::string(op), std::string(domain), inputs, outputs);
  n->attributes = std::move(attributes);
  std::vector<Tensor> values;
  Values captured;
  for (const Maker* m = this; m; m = m->outer)
    for (const auto& [v, t] : m->known) captured.emplace(v, t);
  for (const Value* v : inputs) values.push_back(v ? captured.at(v) : Tensor());
  std::string why;
  try {
    ops::infer(*n);
    const bool by_value = n->is("Scan") || limits.sizes_of_data;  // Scan has no inference
    for (const Value* v : n->outputs())
      if (!v->type.is_static() && !by_value)
        fail(ErrorCode::failed_precondition, "the type is not static");
    const std::vector<Tensor> results = evaluate_alone(*n, values, captured);
    for (size_t i = 0; by_value && i < results.size(); i++)
      n->output(i)->type = ir::ValueType::of(results[i].dtype(), results[i].shape());
    if (acceptable(*n, results)) {
      for (size_t i = 0; i < results.size(); i++) {
        known[n->output(i)] = results[i];
        pool.push_back(n->output(i));
      }
      added()[name]++;
      return n;
    }
    why = "large or not finite";
  } catch (const Error& e) {
    why = e.message();
  }
  auto& [count, last] = rejected()[name];
  count++;
  last = why;
  g.erase_node(n);
  return nullptr;
}

Value* Maker::add(std::string_view op, const std::vector<Value*>& inputs, Attributes attributes,
                  size_t outputs, std::string_view domain) {
  for (const Value* v : inputs)
    if (v && !v->type.is_static()) return nullptr;
  Node* n = add_node(op, inputs, std::move(attributes), outputs, domain);
  return n ? n->output() : nullptr;
}

}  // namespace poprt::test
