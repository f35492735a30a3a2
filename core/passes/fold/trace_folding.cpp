// Folds elements of shapes that are known although the whole shape is not. Example: element 2 of a
// Shape [N, 3, 224, 224] is 224 for any N. Constant folding does not find it, because the Shape is
// not constant.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "passes/common/build.h"

namespace poprt::passes::trace_folding_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The elements of a small integer tensor; unknown elements are nullopt.
using Known = std::vector<std::optional<int64_t>>;

constexpr int64_t kMost = 64;  // elements of the largest tensor that is traced

template <class... T>
bool fits_one_of(int64_t x, DType dtype) {
  return ((dtype == dtype_of<T>() && std::in_range<T>(x)) || ...);
}

// Whether the integer type represents `x`.
bool fits(int64_t x, DType dtype) {
  return fits_one_of<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
      x, dtype);
}

// Forgets elements that `dtype` does not represent. An operator that computes such an element wraps
// around.
void forget_wrapped(Known& known, DType dtype) {
  for (auto& x : known)
    if (x && !fits(*x, dtype)) x.reset();
}

class Tracer {
 public:
  // Returns the known elements of a node's result, or nothing if the operator is not traced.
  std::optional<Known> trace(const Node& n) {
    if (n.is("Shape")) return shape_of(n);
    if (n.is("Gather")) return gather(n);
    if (n.is("Slice")) return slice(n);
    if (n.is("Concat")) return concat(n);
    if (n.is("Squeeze") || n.is("Unsqueeze") || n.is("Reshape") || n.is("Identity"))
      return of(n.input(0));
    if (n.is("Cast"))
      return is_integer(n.output()->dtype()) ? of(n.input(0)) : std::optional<Known>();
    for (const auto& [op, apply] : kArithmetic)
      if (n.is(op)) return arithmetic(n, apply);
    return std::nullopt;
  }

  std::optional<Known> of(const Value* v) const {
    if (const auto found = known_.find(v); found != known_.end()) return found->second;
    if (!v->is_constant() || !is_integer(v->dtype()) || v->constant().count() > kMost)
      return std::nullopt;
    const std::vector<int64_t> values = v->constant().to_int64s();
    Known known(values.begin(), values.end());
    forget_wrapped(known, v->dtype());  // u64 of 2^63 or more
    return known;
  }

  void set(const Value* v, Known known) { known_[v] = std::move(known); }

 private:
  using Apply = std::optional<int64_t> (*)(int64_t, int64_t);
  static constexpr std::pair<std::string_view, Apply> kArithmetic[] = {
      {"Add",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
       }},
      {"Sub",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
       }},
      {"Mul",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
       }},
      {"Div",
       [](int64_t a, int64_t b) {
         const bool overflows = a == std::numeric_limits<int64_t>::min() && b == -1;
         return b == 0 || (a < 0) != (b < 0) || overflows ? std::nullopt : std::optional(a / b);
       }},
  };

  // Whether at most one dimension of the value is not 1. With more, the order of elements depends
  // on the axis.
  static bool is_list(const Value* v) {
    return v->type.is_static() &&
           std::ranges::count_if(v->shape(), [](int64_t d) { return d != 1; }) <= 1;
  }

  static std::optional<Known> shape_of(const Node& n) {
    const ir::ValueType& type = n.input(0)->type;
    if (!type.has_shape || n.find_attr("start") || n.find_attr("end")) return std::nullopt;
    Known known;
    for (const int64_t d : type.shape)
      known.push_back(d < 0 ? std::optional<int64_t>() : std::optional(d));
    return known;
  }

  std::optional<Known> gather(const Node& n) const {
    const auto data = of(n.input(0));
    const auto at = const_ints(n.input(1));
    if (!data || !at || n.input(0)->shape().size() != 1) return std::nullopt;
    Known known;
    for (int64_t i : *at) {
      if (i < 0) i += static_cast<int64_t>(data->size());
      if (i < 0 || i >= static_cast<int64_t>(data->size())) return std::nullopt;
      known.push_back((*data)[static_cast<size_t>(i)]);
    }
    return known;
  }

  std::optional<Known> slice(const Node& n) const {
    const auto data = of(n.input(0));
    const auto starts = ints_param(n, "starts", 1), ends = ints_param(n, "ends", 2);
    if (!data || !starts || !ends || starts->size() != 1 || ends->size() != 1 || n.input(4) ||
        !is_list(n.input(0)))
      return std::nullopt;
    const auto size = static_cast<int64_t>(data->size());
    const auto clamped = [&](int64_t i) {
      return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
    };
    const int64_t begin = clamped((*starts)[0]), end = clamped((*ends)[0]);
    if (begin > end) return Known();
    return Known(data->begin() + begin, data->begin() + end);
  }

  std::optional<Known> concat(const Node& n) const {
    if (!is_list(n.output())) return std::nullopt;
    Known known;
    for (const Value* v : n.inputs()) {
      const auto part = of(v);
      if (!part) return std::nullopt;
      known.insert(known.end(), part->begin(), part->end());
    }
    return known;
  }

  std::optional<Known> arithmetic(const Node& n, Apply apply) const {
    const auto a = of(n.input(0)), b = of(n.input(1));
    if (!a || !b || a->empty() || b->empty() || !is_list(n.output())) return std::nullopt;
    // Type inference does not always know the number of elements, so it may have accepted operands
    // that do not broadcast.
    if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
    Known known;
    for (size_t i = 0; i < std::max(a->size(), b->size()); i++) {
      const auto &x = (*a)[a->size() == 1 ? 0 : i], &y = (*b)[b->size() == 1 ? 0 : i];
      known.push_back(x && y ? apply(*x, *y) : std::nullopt);
    }
    return known;
  }

  std::unordered_map<const Value*, Known> known_;
};

bool is_complete(const Known& known) {
  return std::ranges::all_of(known, [](const auto& x) { return x.has_value(); });
}

// Doubles do not represent all integers of 64 bits.
Tensor tensor_of_known(const Value& v, const Known& known) {
  std::vector<int64_t> values;
  for (const auto& x : known) values.push_back(*x);
  if (v.dtype() == DType::s64) return Tensor::of<int64_t>(v.shape(), values);
  if (v.dtype() == DType::u64)
    return Tensor::of<uint64_t>(v.shape(), std::vector<uint64_t>(values.begin(), values.end()));
  return tensor_of(v.dtype(), v.shape(), std::vector<double>(values.begin(), values.end()));
}

void run(Graph& graph, PassContext& context) {
  bool any = false;
  for_each_graph(graph, [&](Graph& g) {
    Tracer tracer;
    for (Node* n : g.nodes()) {
      auto known = n->outputs().size() == 1 ? tracer.trace(*n) : std::nullopt;
      Value* v = n->output();
      if (!known || static_cast<int64_t>(known->size()) > kMost) continue;
      if (v->type.is_static() && element_count(v->shape()) != static_cast<int64_t>(known->size()))
        continue;  // for example a Slice along a dimension of 1 in a list
      forget_wrapped(*known, v->dtype());
      tracer.set(v, *known);
      if (!is_complete(*known) || !v->type.is_static() || g.is_output(v) || v->uses().empty() ||
          !context.allow())
        continue;
      Value* c = g.add_constant(v->name() + "_traced", tensor_of_known(*v, *known));
      // The tracer identifies values by address, and the constant may have the address of an erased
      // value. Its entry must be replaced.
      tracer.set(c, *known);
      replace_outputs(*n, std::span(&c, 1));
      any = true;
    }
  });
  if (any) pass_of("shape_inference").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "trace_folding",
    .summary = "folds the known elements of shapes although other elements are unknown",
    .condition =
        "the elements, at most 64, come from Shape through Gather, Slice, Concat, Cast, reshaping "
        "and arithmetic",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::trace_folding_pass
