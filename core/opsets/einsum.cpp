// Decomposes Einsum into Transposes, Reshapes and MatMuls, one operand at a time:
//
//   bhqd,bhkd->bhqk    labels of both operands
//                        that the result or a later operand has    b h   batch of a MatMul
//                        that neither has                          d     its inner dimension
//                      labels of one operand                       q, k  its rows and columns
#include <algorithm>

#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

// A letter is its character code; dimension i of the ellipsis, counted from the right, is 256 + i.
using Labels = std::vector<int>;

struct Operand {
  Value* value;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

class Product {
 public:
  explicit Product(Rewriter& r) : r_(r) { parse(); }

  Value* run() {
    Operand sum = operands_[0];
    for (size_t i = 1; i < operands_.size(); i++) sum = multiply(sum, operands_[i], needed(i + 1));
    sum = sum_out(sum, result_);
    return arranged(sum, result_);
  }

 private:
  void parse() {
    const std::string text = r_.at.string_attr("equation", "");
    const size_t arrow = text.find("->");
    Labels once;
    size_t at = 0;
    const std::string left = text.substr(0, arrow);
    for (size_t n = 0; n < r_.at.inputs().size(); n++) {
      const size_t end = std::min(left.find(',', at), left.size());
      operands_.push_back(read(n, left.substr(at, end - at)));
      at = std::min(end + 1, left.size());
      for (const int l : operands_.back().labels) {
        const auto found = std::find(once.begin(), once.end(), l);
        if (found == once.end() && std::find(seen_.begin(), seen_.end(), l) == seen_.end())
          once.push_back(l);
        else if (found != once.end())
          once.erase(found);
        seen_.push_back(l);
      }
    }
    if (arrow != text.npos) {
      result_ = labels_of(text.substr(arrow + 2), open_);
      return;
    }
    for (int i = open_; i-- > 0;) result_.push_back(256 + i);
    std::sort(once.begin(), once.end());
    for (const int l : once)
      if (l < 256) result_.push_back(l);
  }

  // The ellipsis has `open` dimensions.
  static Labels labels_of(const std::string& term, int open) {
    Labels labels;
    for (size_t i = 0; i < term.size(); i++) {
      if (term[i] == ' ') continue;
      if (term[i] != '.') {
        labels.push_back(term[i]);
        continue;
      }
      for (int d = open; d-- > 0;) labels.push_back(256 + d);
      i += 2;
    }
    return labels;
  }

  Operand read(size_t n, const std::string& term) {
    const Shape& shape = r_.shape(n);
    const auto letters = static_cast<int>(
        std::count_if(term.begin(), term.end(), [](char c) { return c != ' ' && c != '.'; }));
    const int open = term.find('.') == term.npos ? 0 : static_cast<int>(shape.size()) - letters;
    open_ = std::max(open_, open);
    const Labels labels = labels_of(term, open);
    if (labels.size() != shape.size())
      r_.reject("'{}' does not fit operand {} {}", term, n, shape_string(shape));
    for (size_t i = 0; i < labels.size(); i++) {
      if (std::count(labels.begin(), labels.end(), labels[i]) > 1)
        r_.reject("it takes the diagonal of operand {} ('{}')", n, term);
      const auto [it, fresh] = sizes_.emplace(labels[i], shape[i]);
      if (!fresh && it->second != shape[i]) r_.reject("operand {} is repeated along '{}'", n, term);
    }
    return {r_.in(n), labels};
  }

  Labels needed(size_t from) const {
    Labels all = result_;
    for (size_t i = from; i < operands_.size(); i++)
      all.insert(all.end(), operands_[i].labels.begin(), operands_[i].labels.end());
    return all;
  }

  // Sums over the labels that are not in `keep`.
  Operand sum_out(const Operand& x, const Labels& keep) {
    std::vector<int64_t> axes;
    Labels left;
    for (size_t i = 0; i < x.labels.size(); i++) {
      if (contains(keep, x.labels[i]))
        left.push_back(x.labels[i]);
      else
        axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return x;
    return {r_.newest("ReduceSum", {x.value, r_.ints(axes)}, {{"keepdims", int64_t{0}}}), left};
  }

  Value* arranged(const Operand& x, const Labels& order) {
    if (x.labels == order) return x.value;
    std::vector<int64_t> perm;
    for (const int l : order) {
      const auto at = std::find(x.labels.begin(), x.labels.end(), l);
      if (at == x.labels.end()) r_.reject("the result has a label that no operand has");
      perm.push_back(at - x.labels.begin());
    }
    return r_.newest("Transpose", {x.value}, {{"perm", perm}});
  }

  int64_t extent(const Labels& labels) const {
    int64_t n = 1;
    for (const int l : labels) n *= sizes_.at(l);
    return n;
  }

  Operand multiply(Operand a, Operand b, const Labels& keep) {
    const auto either = [&](const Labels& other) {
      Labels all = keep;
      all.insert(all.end(), other.begin(), other.end());
      return all;
    };
    a = sum_out(a, either(b.labels));
    b = sum_out(b, either(a.labels));
    Labels batch, inner, rows, columns;
    for (const int l : a.labels)
      (!contains(b.labels, l) ? rows : contains(keep, l) ? batch : inner).push_back(l);
    for (const int l : b.labels)
      if (!contains(a.labels, l)) columns.push_back(l);
    const auto matrix = [&](const Operand& x, const Labels& first, const Labels& second) {
      Labels order = batch;
      order.insert(order.end(), first.begin(), first.end());
      order.insert(order.end(), second.begin(), second.end());
      Shape shape;
      for (const int l : batch) shape.push_back(sizes_.at(l));
      shape.push_back(extent(first));
      shape.push_back(extent(second));
      return r_.reshape(arranged(x, order), shape);
    };
    Value* y = r_.newest("MatMul", {matrix(a, rows, inner), matrix(b, inner, columns)});
    Labels labels = batch;
    labels.insert(labels.end(), rows.begin(), rows.end());
    labels.insert(labels.end(), columns.begin(), columns.end());
    Shape shape;
    for (const int l : labels) shape.push_back(sizes_.at(l));
    return {r_.reshape(y, shape), labels};
  }

  Rewriter& r_;
  std::vector<Operand> operands_;
  Labels result_, seen_;
  std::map<int, int64_t> sizes_;
  int open_ = 0;
};

}  // namespace

void einsum_to_matmul(Rewriter& r) {
  Value* y = Product(r).run();
  r.result(0, y->producer() ? y : r.newest("Identity", {y}));
}

}  // namespace poprt::opsets
