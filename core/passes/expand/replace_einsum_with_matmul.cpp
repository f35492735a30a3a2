#include <algorithm>
#include <string>

#include "passes/common/build.h"

namespace poprt::passes::replace_einsum_with_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

struct Equation {
  std::string a, b, out;
};

bool are_distinct(std::string labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) == labels.end();
}

// Parses an equation of one or two operands in which no operand repeats a label.
std::optional<Equation> parse(std::string text, size_t operands) {
  std::erase(text, ' ');
  Equation e;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  const size_t comma = left.find(',');
  if (left.find('.') != std::string::npos || (comma == std::string::npos) != (operands == 1) ||
      operands > 2)
    return std::nullopt;
  e.a = left.substr(0, comma);
  if (operands == 2) e.b = left.substr(comma + 1);
  if (arrow != std::string::npos) {
    e.out = text.substr(arrow + 2);
  } else {  // without "->": labels that occur once, in alphabetical order
    for (const char c : e.a + e.b)
      if (std::ranges::count(e.a + e.b, c) == 1) e.out += c;
    std::ranges::sort(e.out);
  }
  if (!are_distinct(e.a) || !are_distinct(e.b) || !are_distinct(e.out)) return std::nullopt;
  return e;
}

bool has(const std::string& labels, char c) { return labels.find(c) != std::string::npos; }

std::vector<int64_t> order(const std::string& from, const std::string& to) {
  std::vector<int64_t> perm;
  for (const char c : to) perm.push_back(static_cast<int64_t>(from.find(c)));
  return perm;
}

struct Groups {
  std::string batch, left, right, summed;
};

// Returns nothing if a label occurs in one operand only and not in the result.
std::optional<Groups> groups_of(const Equation& e) {
  Groups g;
  for (const char c : e.a) {
    if (has(e.b, c))
      (has(e.out, c) ? g.batch : g.summed) += c;
    else if (has(e.out, c))
      g.left += c;
    else
      return std::nullopt;
  }
  for (const char c : e.b) {
    if (has(e.a, c)) continue;
    if (!has(e.out, c)) return std::nullopt;
    g.right += c;
  }
  return g;
}

int64_t extent(const Value* v, const std::string& labels, const std::string& of) {
  int64_t n = 1;
  for (const char c : of) n *= v->shape()[labels.find(c)];
  return n;
}

Value* product(Node& n, const Equation& e, const Groups& g) {
  Value *a = n.input(0), *b = n.input(1);
  const int64_t batch = extent(a, e.a, g.batch), rows = extent(a, e.a, g.left),
                columns = extent(b, e.b, g.right), summed = extent(a, e.a, g.summed);
  Value* left = transposed(n, a, order(e.a, g.batch + g.left + g.summed));
  Value* right = transposed(n, b, order(e.b, g.batch + g.summed + g.right));
  const bool batched = !g.batch.empty();
  left = reshaped(n, left, batched ? Shape{batch, rows, summed} : Shape{rows, summed});
  right = reshaped(n, right, batched ? Shape{batch, summed, columns} : Shape{summed, columns});
  Value* made = computed(n, "MatMul", {left, right});
  const std::string labels = g.batch + g.left + g.right;
  Shape shape;
  for (const char c : labels)
    shape.push_back(has(e.a, c) ? a->shape()[e.a.find(c)] : b->shape()[e.b.find(c)]);
  return transposed(n, reshaped(n, made, shape), order(labels, e.out));
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Einsum") || !is_plain_float(n.output()->dtype())) return;
    const auto e = parse(n.string_attr("equation", ""), n.inputs().size());
    if (!e || n.input(0)->shape().size() != e->a.size()) return;
    for (const Value* v : n.inputs())
      if (!v->type.is_static()) return;
    if (n.inputs().size() == 1) {
      if (e->a.size() != e->out.size() || !context.allow()) return;
      Value* result = transposed(n, n.input(0), order(e->a, e->out));
      if (result == n.input(0)) result = computed(n, "Identity", {result});
      replace_outputs(n, std::span(&result, 1));
      return;
    }
    if (n.input(1)->shape().size() != e->b.size()) return;
    const auto g = groups_of(*e);
    if (!g) return;
    // the sizes of one label must be equal, because MatMul would broadcast
    for (const char c : g->batch + g->summed)
      if (n.input(0)->shape()[e->a.find(c)] != n.input(1)->shape()[e->b.find(c)]) return;
    if (!context.allow()) return;
    Value* result = product(n, *e, *g);
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_einsum_with_matmul",
                     .summary = "replaces Einsum by MatMul between Transpose and Reshape",
                     .condition =
                         "one or two operands of static shapes; no operand repeats a label; a "
                         "label that only one operand has is in the result",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::replace_einsum_with_matmul_pass
