// Lets a MatMul read its operands, and write its result, with strides instead of between
// Transposes. Example: Einsum "bhwc,wkc->bhwk" of f32[2,3,5,8] and f32[5,4,8].
//
//   a     Transpose to [w,b,h,c], Reshape to [5,6,8]     batch stride 8, row stride 40
//   b     Transpose to [w,c,k]                           batch stride 32, strides of c and k 1, 8
//   y     [5,6,4], Reshape, Transpose to [b,h,w,k]       batch stride 4, row stride 20
//
// A Reshape that splits or joins axes keeps strides if the joined axes are contiguous. If it does
// not, the operand is read from the result of the Reshape.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::strided_products_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

struct Axis {
  int64_t size, stride;
};
using Axes = std::vector<Axis>;

// A value as elements of another one at strides.
struct View {
  Value* source = nullptr;
  Axes axes;
  bool transposed = false;  // whether a Transpose is between the source and the value
};

Axes dense(const Shape& shape) {
  Axes axes(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) axes[d] = {shape[d], stride};
  return axes;
}

std::vector<int64_t> perm_of(const Node& transpose) {
  std::vector<int64_t> perm = transpose.ints_attr("perm");
  if (perm.empty())
    for (size_t d = transpose.input(0)->shape().size(); d-- > 0;)
      perm.push_back(static_cast<int64_t>(d));
  return perm;
}

// Whether the node gives f32 elements another shape.
bool is_view(const Node& n) {
  return ops::op_of(n).sharing.view && n.input(0)->type.is_static() &&
         n.input(0)->dtype() == DType::f32 && n.output()->dtype() == DType::f32;
}

// The same elements in the same order as axes of `shape`; nothing if an axis of the shape has no
// stride. `from` and `shape` must not have an axis of size 0.
std::optional<Axes> reshaped_axes(const Axes& from, const Shape& shape) {
  Axes joined;  // without axes of size 1, contiguous ones joined
  for (const Axis& axis : from) {
    if (axis.size == 1) continue;
    if (!joined.empty() && joined.back().stride == axis.size * axis.stride)
      joined.back() = {joined.back().size * axis.size, axis.stride};
    else
      joined.push_back(axis);
  }
  Axes out(shape.size());
  int64_t left = 1;  // elements of joined.back() that axes of the shape do not have yet
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && left == 1) {
      if (joined.empty()) return std::nullopt;
      left = joined.back().size;
      stride = joined.back().stride;
      joined.pop_back();
    }
    if (left % shape[d] != 0) return std::nullopt;
    out[d] = {shape[d], stride};
    stride *= shape[d];
    left /= shape[d];
  }
  return out;
}

Axes permuted(const Axes& axes, const std::vector<int64_t>& perm) {
  Axes out;
  for (const int64_t d : perm) out.push_back(axes[static_cast<size_t>(d)]);
  return out;
}

// The value as a view of the result of the earliest node that allows it. Only the product reads the
// nodes in between, so that they disappear.
View view_of(Value* value) {
  std::vector<Node*> chain;
  Value* source = value;
  while (Node* n = single_use(source) ? source->producer() : nullptr) {
    if ((!n->is("Transpose") && !is_view(*n)) || !n->input(0)->type.is_static()) break;
    chain.push_back(n);
    source = n->input(0);
  }
  View view{source, dense(source->shape())};
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const Node& n = **it;
    if (n.is("Transpose")) {
      view.axes = permuted(view.axes, perm_of(n));
      view.transposed = true;
    } else if (auto axes = reshaped_axes(view.axes, n.output()->shape())) {
      view.axes = std::move(*axes);
    } else {
      view = {n.output(), dense(n.output()->shape())};
    }
  }
  return view;
}

// The elements of `value` in the result of the last Transpose that follows it.
View view_after(Value* value) {
  std::vector<Node*> chain, best;
  for (Value* v = value; Node* reader = ir::single_reader(v); v = reader->output()) {
    if (!reader->is("Transpose") && !(is_view(*reader) && reader->input(0) == v)) break;
    if (!reader->output()->type.is_static()) break;
    chain.push_back(reader);
    if (reader->is("Transpose")) best = chain;
  }
  View view{value, dense(value->shape())};
  if (best.empty()) return view;
  Axes axes = dense(best.back()->output()->shape());
  for (auto it = best.rbegin(); it != best.rend(); ++it) {
    const Node& n = **it;
    if (n.is("Transpose")) {
      const std::vector<int64_t> perm = perm_of(n);
      Axes before(axes.size());
      for (size_t d = 0; d < perm.size(); d++) before[static_cast<size_t>(perm[d])] = axes[d];
      axes = std::move(before);
    } else {
      auto before = reshaped_axes(axes, n.input(0)->shape());
      if (!before) return view;
      axes = std::move(*before);
    }
  }
  return {best.back()->output(), std::move(axes), true};
}

// The stride along the axis, 0 if the operand has one element there.
int64_t step(const Axis& axis) { return axis.size == 1 ? 0 : axis.stride; }
bool is_dense(const Axis& axis) { return axis.size == 1 || axis.stride == 1; }

struct Product {
  std::vector<int64_t> sizes, strides, batch;
};

// The product of a and b with the result y, all with at least two axes; nothing if the kernel does
// not support the strides.
std::optional<Product> product_of(const Axes& a, const Axes& b, const Axes& y) {
  const Axis &row = a[a.size() - 2], &depth = a.back(), &y_row = y[y.size() - 2];
  const Axis &b_k = b[b.size() - 2], &b_n = b.back();
  if (!is_dense(depth) || !is_dense(y.back()) || (!is_dense(b_k) && !is_dense(b_n)))
    return std::nullopt;
  Product p{{row.size, b_n.size, depth.size},
            {step(row), b_n.size == 1 ? std::max<int64_t>(1, step(b_k)) : step(b_k),
             b_n.size == 1 ? 1 : step(b_n), step(y_row)},
            {}};
  bool shared = true;
  for (size_t d = 0; d + 2 < y.size(); d++) {
    const size_t from_end = y.size() - d;
    const auto at = [&](const Axes& x) {
      return x.size() >= from_end ? x[x.size() - from_end] : Axis{1, 0};
    };
    shared = shared && at(b).size == 1;
    p.batch.insert(p.batch.end(), {y[d].size, step(at(a)), step(at(b)), step(y[d])});
  }
  if (!shared) return p;
  // All rows are multiplied by the same matrix: one product, so that it is packed once.
  for (size_t i = p.batch.size(); i > 0; i -= 4) {
    const int64_t count = p.batch[i - 4], a_step = p.batch[i - 3], y_step = p.batch[i - 1];
    if (count == 1) continue;
    if (p.sizes[0] == 1) {
      p.strides[0] = a_step;
      p.strides[3] = y_step;
    } else if (a_step != p.sizes[0] * p.strides[0] || y_step != p.sizes[0] * p.strides[3]) {
      return std::nullopt;
    }
    p.sizes[0] *= count;
  }
  p.batch.clear();
  return p;
}

bool is_candidate(const Node& n) {
  if (!n.is("MatMul") || n.output()->dtype() != DType::f32) return false;
  for (const Value* v : n.inputs())
    if (v->is_constant() || !v->type.is_static() || v->shape().size() < 2 ||
        element_count(v->shape()) == 0)
      return false;
  return n.output()->type.is_static();
}

void rewrite(Node& n, PassContext& context) {
  const View plain{n.output(), dense(n.output()->shape())};
  const View y = view_after(n.output());
  const View a = view_of(n.input(0)), b = view_of(n.input(1));
  const View whole_a{n.input(0), dense(n.input(0)->shape())};
  const View whole_b{n.input(1), dense(n.input(1)->shape())};
  // The views that remove most Transposes.
  std::array<const View*, 3> best{};
  std::optional<Product> product;
  int most = 0;
  for (const View* left : {&a, &whole_a})
    for (const View* right : {&b, &whole_b})
      for (const View* result : {&y, &plain}) {
        const int removed = left->transposed + right->transposed + result->transposed;
        if (removed <= most) continue;
        auto p = product_of(left->axes, right->axes, result->axes);
        if (!p) continue;
        best = {left, right, result};
        product = std::move(p);
        most = removed;
      }
  if (!product || !context.allow()) return;
  Value* result = best[2]->source;
  Node& last = *result->producer();
  Node* made = insert_node(last, "MatMul", "poprt", {best[0]->source, best[1]->source},
                           {{"shape", std::vector<int64_t>(result->shape())},
                            {"sizes", product->sizes},
                            {"strides", product->strides},
                            {"batch", product->batch}});
  made->name = n.name;
  replace_node(last, made->output());
}

void run(Graph& graph, PassContext& context) {
  std::vector<Node*> products;
  for_each_node(graph, [&](Node& n) {
    if (is_candidate(n)) products.push_back(&n);
  });
  for (Node* n : products) rewrite(*n, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "strided_products",
    .summary = "lets MatMul read and write transposed operands and results with strides",
    .condition =
        "f32 operands that are not constant; rows of the left operand and of the result, and rows "
        "or "
        "columns of the right operand, are contiguous; the Transposes have no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::strided_products_pass
