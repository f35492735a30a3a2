// Replaces Einsum by products of two operands. Example: "bhwc,wkc->bhwk".
//
//   label   in a, b, result   group
//   w       yes, yes, yes     batch
//   b h     yes, no,  yes     left
//   k       no,  yes, yes     right
//   c       yes, yes, no      summed
//
// MatMul multiplies a as [w, b*h, c] by b as [w, c, k], and the result [w, b*h, k] is transposed to
// [b, h, w, k]. Left or right without labels is an axis of size 1, and a batch without labels is no
// axis.
//
// Before that, an axis that broadcasts is removed, a label that an operand has twice becomes a
// diagonal, and a label that only one operand has, and the result does not, is summed. Several
// operands are multiplied in pairs, the pair with the fewest products first.
#include <algorithm>
#include <limits>
#include <set>

#include "ops/common/einsum_equation.h"
#include "passes/common/build.h"

namespace poprt::passes::replace_einsum_with_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

using Labels = std::vector<int>;

constexpr int64_t kFew = 16;  // columns

// A value whose axes have different labels.
struct Term {
  Value* value = nullptr;
  Labels labels;
};

bool has(const Labels& labels, int l) { return std::ranges::find(labels, l) != labels.end(); }

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels out;
  for (const Labels* part : parts) out.insert(out.end(), part->begin(), part->end());
  return out;
}

Labels without(Labels labels, const Labels& others) {
  std::erase_if(labels, [&](int l) { return has(others, l); });
  return labels;
}

// The labels of operands a and b of a MatMul, in the order of the axes of its result: batch, left,
// right. An operand may lack a label of the batch; it broadcasts then.
struct Groups {
  Labels batch, left, summed, right;

  Labels result() const { return joined({&batch, &left, &right}); }
};

// Builds the nodes that replace one Einsum.
class Products {
 public:
  Products(Node& node, const ops::EinsumEquation& e) : at_(node), e_(e) {
    result_.assign(e.labels.begin(), e.labels.begin() + static_cast<std::ptrdiff_t>(e.rank));
    for (size_t i = 0; i < e.terms.size(); i++)
      terms_.push_back(unequal({node.input(i), e.terms[i]}));
  }

  Value* build() {
    for (size_t i = 0; i < terms_.size(); i++) terms_[i] = reduced(terms_[i], i, i);
    while (terms_.size() > 2) {
      const auto [i, j] = cheapest_pair();
      Labels wanted = needed_by_others(i, j);
      Labels kept = terms_[i].labels;
      for (const int l : terms_[j].labels)
        if (!has(kept, l)) kept.push_back(l);
      std::erase_if(kept, [&](int l) { return !has(wanted, l); });
      const Term made = product(terms_[i], terms_[j], kept, false);
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      terms_[i] = made;
    }
    const Term last = terms_.size() == 2 ? product(terms_[0], terms_[1], result_, true) : terms_[0];
    return ordered(last, result_);
  }

 private:
  Node& at_;
  const ops::EinsumEquation& e_;
  Labels result_;
  std::vector<Term> terms_;

  int64_t count(const Labels& labels) const {
    int64_t n = 1;
    for (const int l : labels) n *= e_.size_of(l);
    return n;
  }
  Shape shape_of(const Labels& labels) const {
    Shape shape;
    for (const int l : labels) shape.push_back(e_.size_of(l));
    return shape;
  }

  // Transposes a term whose labels are those of `to` in another order.
  Value* ordered(const Term& t, const Labels& to) {
    std::vector<int64_t> perm;
    for (const int l : to) perm.push_back(std::ranges::find(t.labels, l) - t.labels.begin());
    return transposed(at_, t.value, perm);
  }

  // Removes axes that broadcast, and replaces axes of one label by their diagonal.
  Term unequal(Term t) {
    Labels kept;
    Shape shape;
    for (size_t d = 0; d < t.labels.size(); d++) {
      if (t.value->shape()[d] == 1 && (e_.size_of(t.labels[d]) != 1 || has(kept, t.labels[d])))
        continue;
      kept.push_back(t.labels[d]);
      shape.push_back(t.value->shape()[d]);
    }
    t = {reshaped(at_, t.value, shape), kept};
    for (size_t d = 0; d < t.labels.size(); d++)
      if (std::ranges::count(t.labels, t.labels[d]) > 1) t = diagonal(t, t.labels[d--]);
    return t;
  }

  // Moves two axes of the label to the end, as one axis of size * size elements, of which every
  // (size + 1)-th is on the diagonal.
  Term diagonal(const Term& t, int label) {
    std::vector<int64_t> perm, pair;
    for (size_t d = 0; d < t.labels.size(); d++)
      (t.labels[d] == label && pair.size() < 2 ? pair : perm).push_back(static_cast<int64_t>(d));
    Term out;
    for (const int64_t d : perm) out.labels.push_back(t.labels[static_cast<size_t>(d)]);
    out.labels.push_back(label);
    perm.insert(perm.end(), pair.begin(), pair.end());
    const int64_t size = e_.size_of(label);
    Value* v = transposed(at_, t.value, perm);
    Shape shape(v->shape().begin(), v->shape().end() - 1);
    shape.back() = size * size;
    v = reshaped(at_, v, shape);
    out.value = sliced(at_, v, static_cast<int64_t>(shape.size()) - 1, 0, size * size, size + 1);
    return out;
  }

  // The labels that the result or another term than i and j has.
  Labels needed_by_others(size_t i, size_t j) const {
    Labels out = result_;
    for (size_t n = 0; n < terms_.size(); n++)
      if (n != i && n != j) out.insert(out.end(), terms_[n].labels.begin(), terms_[n].labels.end());
    return out;
  }

  // Sums the labels of `t` that neither the result nor a term other than i and j has.
  Term reduced(const Term& t, size_t i, size_t j) {
    const Labels needed = needed_by_others(i, j);
    std::vector<int64_t> axes;
    Term out{t.value, {}};
    for (size_t d = 0; d < t.labels.size(); d++)
      if (has(needed, t.labels[d]))
        out.labels.push_back(t.labels[d]);
      else
        axes.push_back(static_cast<int64_t>(d));
    if (!axes.empty()) out.value = summed_over(at_, t.value, axes);
    return out;
  }

  std::pair<size_t, size_t> cheapest_pair() const {
    std::pair<size_t, size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < terms_.size(); i++)
      for (size_t j = i + 1; j < terms_.size(); j++) {
        std::set<int> all(terms_[i].labels.begin(), terms_[i].labels.end());
        all.insert(terms_[j].labels.begin(), terms_[j].labels.end());
        double products = 1;
        for (const int l : all) products *= static_cast<double>(e_.size_of(l));
        if (products < least) best = {i, j}, least = products;
      }
    return best;
  }

  // The product of two terms, summed over all labels but `kept`. Whether the axes of the result
  // are in the order of `kept` matters only if `exact`.
  Term product(const Term& a, const Term& b, const Labels& kept, bool exact) {
    Labels common, summed;
    for (const int l : a.labels)
      if (!has(kept, l)) summed.push_back(l);
    if (summed.empty()) return elementwise(a, b, kept);
    for (const int l : kept)
      if (has(a.labels, l) && has(b.labels, l)) common.push_back(l);
    const DType type = a.value->dtype();
    // If both terms have all labels of the result, each element of the result is the dot product of
    // two rows. Mul and ReduceSum compute it without a matrix.
    if (kept.size() == common.size() && (type == DType::f32 || type == DType::f64)) {
      const Term all = elementwise(a, b, joined({&kept, &summed}));
      std::vector<int64_t> axes;
      for (size_t d = kept.size(); d < all.labels.size(); d++)
        axes.push_back(static_cast<int64_t>(d));
      return {summed_over(at_, all.value, axes), kept};
    }
    const Groups straight = groups_of(a, b, kept), swapped = groups_of(b, a, kept);
    const Labels& wanted = exact ? kept : Labels{};
    return cost(a, b, straight, wanted) <= cost(b, a, swapped, wanted) ? matmul(a, b, straight)
                                                                       : matmul(b, a, swapped);
  }

  // Mul of both terms, each with axes of size 1 for the labels that it lacks.
  Term elementwise(const Term& a, const Term& b, const Labels& labels) {
    const auto spread = [&](const Term& t) {
      Labels own;
      Shape shape;
      for (const int l : labels) {
        const bool mine = has(t.labels, l);
        if (mine) own.push_back(l);
        if (mine || !shape.empty()) shape.push_back(mine ? e_.size_of(l) : 1);
      }
      return reshaped(at_, ordered(t, own), shape);
    };
    return {computed(at_, "Mul", {spread(a), spread(b)}), labels};
  }

  Groups groups_of(const Term& a, const Term& b, const Labels& kept) const {
    Groups g;
    for (const int l : kept)
      (has(a.labels, l) ? has(b.labels, l) ? g.batch : g.left : g.right).push_back(l);
    // The summed labels have the order of the term that is not constant, because a constant is
    // transposed at compile time.
    for (const int l : (a.value->is_constant() ? b : a).labels)
      if (!has(kept, l)) g.summed.push_back(l);
    // Labels of b before those of a in the result become a batch for which a broadcasts, because
    // this needs no transpose. They remain columns if no other column would be left, and if b is
    // constant, because weights are packed as one matrix.
    if (b.value->is_constant() || g.left.empty()) return g;
    Labels first;
    for (const int l : kept) {
      if (has(g.left, l)) break;
      if (has(g.right, l)) first.push_back(l);
    }
    if (count(first) == 1 || first.size() == g.right.size()) return g;
    g.right = without(g.right, first);
    Labels batch;
    for (const int l : kept)
      if (has(g.batch, l) || has(first, l)) batch.push_back(l);
    g.batch = batch;
    return g;
  }

  // The elements that move if axes with the labels `from` are transposed to `to`. Axes of size 1
  // move for free.
  double moved(Labels from, Labels to) const {
    const auto one = [&](int l) { return e_.size_of(l) == 1; };
    std::erase_if(from, one);
    std::erase_if(to, one);
    return from == to ? 0 : static_cast<double>(count(from));
  }

  // Whether axes with the labels `all` contain dense rows of `columns`, and `rows` that follow each
  // other at one distance. The pass strided_products then lets the product use them in place.
  bool has_rows(Labels all, Labels rows, Labels columns) const {
    for (Labels* labels : {&all, &rows, &columns})
      std::erase_if(*labels, [&](int l) { return e_.size_of(l) == 1; });
    const auto first = std::ranges::search(all, rows);
    return (rows.empty() || !first.empty()) && all.size() >= columns.size() &&
           std::equal(columns.rbegin(), columns.rend(), all.rbegin());
  }

  double cost(const Term& a, const Term& b, const Groups& g, const Labels& wanted) const {
    double sum = 0;
    const bool strided = a.value->dtype() == DType::f32;
    if (!a.value->is_constant() && !(strided && has_rows(a.labels, g.left, g.summed)))
      sum += moved(a.labels, rows_of(a, g));
    if (!b.value->is_constant() && !(strided && (has_rows(b.labels, g.summed, g.right) ||
                                                 has_rows(b.labels, g.right, g.summed))))
      sum += moved(b.labels, columns_of(b, g));
    if (!wanted.empty() && !(strided && has_rows(wanted, g.left, g.right)))
      sum += moved(g.result(), wanted);
    // MatMul computes panels of columns, so few columns waste most of a panel.
    if (count(g.right) < kFew && count(g.left) >= kFew) sum += static_cast<double>(count(b.labels));
    return sum;
  }

  static Labels own_of(const Term& t, const Labels& labels) {
    Labels out;
    for (const int l : labels)
      if (has(t.labels, l)) out.push_back(l);
    return out;
  }
  static Labels rows_of(const Term& a, const Groups& g) {
    return own_of(a, joined({&g.batch, &g.left, &g.summed}));
  }
  static Labels columns_of(const Term& b, const Groups& g) {
    return own_of(b, joined({&g.batch, &g.summed, &g.right}));
  }

  Term matmul(const Term& a, const Term& b, const Groups& g) {
    const auto batch_of = [&](const Term& t) {
      Shape shape;
      for (const int l : g.batch) shape.push_back(has(t.labels, l) ? e_.size_of(l) : 1);
      return shape;
    };
    const auto with = [](Shape shape, std::initializer_list<int64_t> more) {
      shape.insert(shape.end(), more);
      return shape;
    };
    const int64_t k = count(g.summed), n = count(g.right);
    // Without a batch, MatMul accepts several axes of rows, so they need no Reshape.
    const Shape rows = g.batch.empty() && !g.left.empty() ? with(shape_of(g.left), {k})
                                                          : with(batch_of(a), {count(g.left), k});
    Value* left = reshaped(at_, ordered(a, rows_of(a, g)), rows);
    Value* right = reshaped(at_, ordered(b, columns_of(b, g)), with(batch_of(b), {k, n}));
    Value* made = computed(at_, "MatMul", {left, right});
    return {reshaped(at_, made, shape_of(g.result())), g.result()};
  }
};

bool has_matmul(DType type) {
  switch (type) {
    case DType::s32:
    case DType::s64:
    case DType::u32:
    case DType::u64: return true;
    default: return is_plain_float(type);
  }
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Einsum") || !has_matmul(n.output()->dtype())) return;
    for (const Value* v : n.inputs())
      if (!v->type.is_static()) return;
    const ops::EinsumEquation e = ops::parse_einsum(n);
    if (std::ranges::count(e.sizes, 0) || !context.allow()) return;
    Value* result = Products(n, e).build();
    if (std::ranges::find(n.inputs(), result) != n.inputs().end())
      result = computed(n, "Identity", {result});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_einsum_with_matmul",
    .summary = "replaces Einsum by MatMul, Mul or ReduceSum between Transpose and Reshape",
    .condition = "operands of static shapes without an empty axis; a type that MatMul has",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::replace_einsum_with_matmul_pass
