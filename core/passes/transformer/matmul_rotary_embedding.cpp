// Replaces rotary embeddings by matrix products. Rotations of halves or neighbours are recognised
// by their values and not by their nodes, because exporters write them in many ways.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ops/common/evaluate.h"
#include "ops/facts.h"
#include "passes/common/build.h"

namespace poprt::passes::matmul_rotary_embedding_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The largest number of elements of x. f32 represents the numbers up to twice as many exactly, and
// matrix_of() uses these numbers.
constexpr int64_t kMost = int64_t{1} << 22;
// The largest number of rows of a matrix. Heads are smaller; the matrix of a long axis would fill
// the memory.
constexpr int64_t kMostRows = 1024;

// The nodes from `x` to `rotated` in order. They only move or negate elements.
class Rotation {
 public:
  Rotation(const Value* x, const Value* rotated) : x_(x) { sound_ = visit(rotated, 0); }

  bool is_one() const { return sound_ && negates_; }

  // The result for the numbers first, first + 1, first + 2 ... as x.
  std::vector<double> applied_to_numbers(size_t first) const {
    std::vector<double> numbers(static_cast<size_t>(element_count(x_->shape())));
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<double>(first + i);
    std::unordered_map<const Value*, Tensor> known{
        {x_, tensor_of(DType::f32, x_->shape(), numbers)}};
    Tensor last;
    for (const Node* n : nodes_) {
      std::vector<Tensor> inputs;
      for (const Value* v : n->inputs())
        inputs.push_back(!v ? Tensor() : v->is_constant() ? v->constant() : known.at(v));
      const std::vector<Tensor> results = ops::evaluate(*n, inputs);
      for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = results[i];
      last = results[0];
    }
    return last.to_doubles();
  }

 private:
  bool visit(const Value* v, int depth) {
    constexpr int kDeepest = 16;
    if (v == x_ || v->is_constant()) return true;
    const Node* n = v->producer();
    if (!n || depth > kDeepest || !v->type.is_static()) return false;
    if (std::ranges::find(nodes_, n) != nodes_.end()) return true;
    if (n->is("Neg"))
      negates_ = true;
    else if (!ops::facts_of(*n).moves)
      return false;
    for (const Value* in : n->inputs())
      if (in && !visit(in, depth + 1)) return false;
    nodes_.push_back(n);
    return true;
  }

  const Value* x_;
  std::vector<const Node*> nodes_;
  bool sound_ = false, negates_ = false;
};

// Returns R such that rotated = x R along the last axis. Each result is one element of its row,
// possibly negated.
std::optional<Tensor> matrix_of(const Value* x, const Value* rotated) {
  if (!same_static_shape(x, rotated) || x->shape().empty() || x->dtype() != DType::f32 ||
      element_count(x->shape()) > kMost || element_count(x->shape()) == 0 ||
      x->shape().back() > kMostRows)
    return std::nullopt;
  const Rotation rotation(x, rotated);
  if (!rotation.is_one()) return std::nullopt;
  const std::vector<double> from = rotation.applied_to_numbers(1);
  // Constants may be joined to elements of x; only the elements of x change with the numbers.
  const size_t count = from.size();
  const std::vector<double> other = rotation.applied_to_numbers(1 + count);
  for (size_t i = 0; i < count; i++)
    if (std::abs(other[i]) - std::abs(from[i]) != static_cast<double>(count)) return std::nullopt;
  const auto d = static_cast<size_t>(x->shape().back());
  std::vector<double> matrix(d * d);
  for (size_t i = 0; i < from.size(); i++) {
    const double number = std::abs(from[i]) - 1;
    if (number < 0) return std::nullopt;
    const auto source = static_cast<size_t>(number);
    if (source / d != i / d) return std::nullopt;
    double& cell = matrix[source % d * d + i % d];
    const double sign = from[i] < 0 ? -1 : 1;
    if (i >= d && cell != sign) return std::nullopt;  // another row is moved or negated differently
    cell = sign;
  }
  double sum = 0;
  for (const double c : matrix) sum += std::abs(c);
  if (sum != static_cast<double>(d)) return std::nullopt;
  return tensor_of(DType::f32, {static_cast<int64_t>(d), static_cast<int64_t>(d)}, matrix);
}

// Rewrites x cos + rotated sin.
void rewrite(const Node& add, PassContext& context) {
  Node *a = producer_if(add.input(0), "Mul"), *b = producer_if(add.input(1), "Mul");
  if (!a || !b || a == b) return;
  for (int order = 0; order < 2; order++, std::swap(a, b))
    for (size_t i = 0; i < 2; i++)
      for (size_t k = 0; k < 2; k++) {
        Value *x = a->input(i), *rotated = b->input(k);
        if (x == rotated || !rotated->producer()) continue;
        const auto matrix = matrix_of(x, rotated);
        if (!matrix || !context.allow()) continue;
        Node* last = rotated->producer();
        Value* c = add.graph().add_constant(rotated->name() + "_rotation", *matrix);
        Value* product = computed(*last, "MatMul", {x, c});
        replace_outputs(*last, std::span(&product, 1));
        return;
      }
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    // A rewrite erases only nodes before its own.
    for (Node* n : g.nodes())
      if (n->is("Add")) rewrite(*n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "matmul_rotary_embedding",
    .summary =
        "turns the rotation of a rotary embedding, which cuts, negates and joins, into one MatMul",
    .condition =
        "x cos + rotated sin in f32, where each element of rotated is one of its row of x or that "
        "negated, in every row alike",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::matmul_rotary_embedding_pass
