#include "ops/common/einsum_equation.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"

namespace poprt::ops {
namespace {

constexpr int kEllipsis = 256;  // the label of the last dimension of the ellipsis
constexpr size_t kLabels = 512;
constexpr int kMostHidden = 64;  // dimensions of an ellipsis

class EinsumParser {
 public:
  explicit EinsumParser(const ir::Node& node)
      : node_(node), text_(node.string_attr("equation", "")) {
    size_.fill(-1);
  }

  EinsumEquation parse() {
    const size_t arrow = text_.find("->");
    read_terms(std::string_view(text_).substr(0, arrow));
    if (e_.terms.size() != node_.inputs().size())
      refuse("the equation and the node have different numbers of operands");
    for (size_t n = 0; n < e_.terms.size(); n++) read_sizes(n);
    if (arrow != std::string::npos)
      read_result(std::string_view(text_).substr(arrow + 2));
    else
      implied_result();
    finish();
    return std::move(e_);
  }

 private:
  const ir::Node& node_;
  const std::string text_;
  EinsumEquation e_;
  std::vector<size_t> ellipsis_at_;
  std::array<int64_t, kLabels> size_{};
  std::array<int, kLabels> uses_{};
  int widest_ = 0;  // most dimensions of an ellipsis

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "{}: equation '{}': {}", node_.describe(), text_, what);
  }

  void read_terms(std::string_view left) {
    e_.terms.emplace_back();
    ellipsis_at_.push_back(std::string::npos);
    for (size_t i = 0; i < left.size(); i++) {
      const char c = left[i];
      if (c == ' ') continue;
      if (c == ',') {
        e_.terms.emplace_back();
        ellipsis_at_.push_back(std::string::npos);
      } else if (c == '.') {
        if (left.compare(i, 3, "...") != 0 || ellipsis_at_.back() != std::string::npos)
          refuse("misplaced dot");
        ellipsis_at_.back() = e_.terms.back().size();
        i += 2;
      } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        e_.terms.back().push_back(c);
      } else {
        refuse("unexpected character");
      }
    }
  }

  // Replaces the ellipsis of operand n by labels and reads the sizes of its labels.
  void read_sizes(size_t n) {
    const Shape& shape = node_.input(n)->shape();
    std::vector<int>& labels = e_.terms[n];
    const bool open = ellipsis_at_[n] != std::string::npos;
    if (open ? shape.size() < labels.size() : shape.size() != labels.size())
      refuse("a term and its operand have different ranks");
    if (shape.size() - labels.size() > kMostHidden) refuse("too many dimensions");
    const int hidden = static_cast<int>(shape.size() - labels.size());
    widest_ = std::max(widest_, hidden);
    for (int i = 0; i < hidden; i++)
      labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(ellipsis_at_[n]) + i,
                    kEllipsis + hidden - 1 - i);
    for (size_t d = 0; d < shape.size(); d++) {
      const auto l = static_cast<size_t>(labels[d]);
      uses_[l]++;
      if (size_[l] < 0 || size_[l] == 1) size_[l] = shape[d];
      if (shape[d] != 1 && shape[d] != size_[l]) refuse("a label has two different sizes");
    }
  }

  void add_ellipsis() {
    for (int d = widest_; d-- > 0;) e_.labels.push_back(kEllipsis + d);
  }

  void read_result(std::string_view right) {
    for (size_t i = 0; i < right.size(); i++) {
      const char c = right[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (right.compare(i, 3, "...") != 0) refuse("misplaced dot");
        add_ellipsis();
        i += 2;
      } else {
        e_.labels.push_back(static_cast<unsigned char>(c));
      }
    }
  }

  // Without "->", the result has the dimensions of the ellipsis, followed by the labels that occur
  // once, in alphabetical order (capital letters first).
  void implied_result() {
    add_ellipsis();
    for (int c = 'A'; c <= 'z'; c++)
      if (uses_[static_cast<size_t>(c)] == 1) e_.labels.push_back(c);
  }

  void finish() {
    for (const int l : e_.labels)
      if (static_cast<size_t>(l) >= kLabels || size_[static_cast<size_t>(l)] < 0 ||
          std::ranges::count(e_.labels, l) > 1)
        refuse("the result has an unknown or repeated label");
    e_.rank = e_.labels.size();
    for (size_t l = 0; l < kLabels; l++)
      if (size_[l] >= 0 && std::ranges::count(e_.labels, static_cast<int>(l)) == 0)
        e_.labels.push_back(static_cast<int>(l));
    if (e_.labels.size() > 32 || e_.terms.size() > 8) refuse("too many labels or operands");
    for (const int l : e_.labels) e_.sizes.push_back(size_[static_cast<size_t>(l)]);
    for (size_t n = 0; n < e_.terms.size(); n++) {
      const Shape& shape = node_.input(n)->shape();
      const auto dense = contiguous_strides(shape);
      std::vector<int64_t> strides(e_.labels.size(), 0);
      for (size_t d = 0; d < shape.size(); d++) {
        const auto l = std::ranges::find(e_.labels, e_.terms[n][d]) - e_.labels.begin();
        if (shape[d] != 1) strides[static_cast<size_t>(l)] += dense[d];
      }
      e_.strides.push_back(std::move(strides));
    }
  }
};

}  // namespace

int64_t EinsumEquation::size_of(int label) const {
  return sizes[static_cast<size_t>(std::ranges::find(labels, label) - labels.begin())];
}

EinsumEquation parse_einsum(const ir::Node& node) { return EinsumParser(node).parse(); }

}  // namespace poprt::ops
