// If two operands form a (batched) matrix product, the equation is lowered to a matrix product. One
// operand without summed labels is lowered to a strided copy. All other equations use the generic
// kernel. Half types are computed in f32.
#include <algorithm>
#include <array>
#include <string>

#include "kernels/calls/einsum.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/common/matmul.h"
#include "ops/common/movement.h"

namespace poprt::ops::einsum_op {
namespace {

// Labels in the order of the output, followed by those that are summed. A letter is represented by
// its character code, and dimension i of the ellipsis (counted from its right end) by 256 + i.
struct Equation {
  std::vector<int> labels;
  size_t rank = 0;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;  // of each operand, one for each label
  std::vector<std::vector<int>> terms;        // the label of each axis of each operand
};

Equation parse(const ir::Node& node) {
  const std::string text = node.string_attr("equation", "");
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: equation '{}': {}", node.describe(), text, what);
  };
  const size_t arrow = text.find("->");
  std::vector<std::vector<int>> terms(1);
  std::vector<size_t> ellipsis_at(1, std::string::npos);
  const std::string left = text.substr(0, arrow);
  for (size_t i = 0; i < left.size(); i++) {
    const char c = left[i];
    if (c == ' ') continue;
    if (c == ',') {
      terms.emplace_back();
      ellipsis_at.push_back(std::string::npos);
    } else if (c == '.') {
      if (left.compare(i, 3, "...") != 0 || ellipsis_at.back() != std::string::npos)
        bad("misplaced dot");
      ellipsis_at.back() = terms.back().size();
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      terms.back().push_back(c);
    } else {
      bad("unexpected character");
    }
  }
  if (terms.size() != node.inputs().size())
    bad("the equation and the node have different numbers of operands");
  std::array<int64_t, 512> size{};
  std::array<int, 512> uses{};
  size.fill(-1);
  int widest = 0;
  std::vector<std::vector<int>> labels(terms.size());
  for (size_t n = 0; n < terms.size(); n++) {
    const Shape& shape = node.input(n)->shape();
    labels[n] = terms[n];
    const bool open = ellipsis_at[n] != std::string::npos;
    if (open ? shape.size() < terms[n].size() : shape.size() != terms[n].size())
      bad("a term and its operand have different ranks");
    const int hidden = static_cast<int>(shape.size() - terms[n].size());
    if (hidden > 64) bad("too many dimensions");
    widest = std::max(widest, hidden);
    for (int i = 0; i < hidden; i++)
      labels[n].insert(labels[n].begin() + static_cast<std::ptrdiff_t>(ellipsis_at[n]) + i,
                       256 + hidden - 1 - i);
    for (size_t d = 0; d < shape.size(); d++) {
      const auto l = static_cast<size_t>(labels[n][d]);
      uses[l]++;
      if (size[l] < 0 || size[l] == 1) size[l] = shape[d];
      if (shape[d] != 1 && shape[d] != size[l]) bad("a label has two different sizes");
    }
  }
  Equation e;
  if (arrow != std::string::npos) {
    const std::string right = text.substr(arrow + 2);
    for (size_t i = 0; i < right.size(); i++) {
      const char c = right[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (right.compare(i, 3, "...") != 0) bad("misplaced dot");
        for (int d = widest; d-- > 0;) e.labels.push_back(256 + d);
        i += 2;
      } else {
        e.labels.push_back(static_cast<unsigned char>(c));
      }
    }
  } else {
    for (int d = widest; d-- > 0;) e.labels.push_back(256 + d);
    for (int c = 'A'; c <= 'z'; c++)
      if (uses[static_cast<size_t>(c)] == 1) e.labels.push_back(c);
  }
  for (size_t i = 0; i < e.labels.size(); i++)
    if (e.labels[i] >= 512 || size[static_cast<size_t>(e.labels[i])] < 0 ||
        std::count(e.labels.begin(), e.labels.end(), e.labels[i]) > 1)
      bad("the result has an unknown or repeated label");
  e.rank = e.labels.size();
  for (int l = 0; l < 512; l++)
    if (size[static_cast<size_t>(l)] >= 0 &&
        std::find(e.labels.begin(), e.labels.end(), l) == e.labels.end())
      e.labels.push_back(l);
  if (e.labels.size() > 32 || terms.size() > 8) bad("too many labels or operands");
  for (const int l : e.labels) e.sizes.push_back(size[static_cast<size_t>(l)]);
  for (size_t n = 0; n < terms.size(); n++) {
    const Shape& shape = node.input(n)->shape();
    const auto dense = contiguous_strides(shape);
    std::vector<int64_t> strides(e.labels.size(), 0);
    for (size_t d = 0; d < shape.size(); d++) {
      const auto l = std::find(e.labels.begin(), e.labels.end(), labels[n][d]) - e.labels.begin();
      if (shape[d] != 1) strides[static_cast<size_t>(l)] += dense[d];
    }
    e.strides.push_back(std::move(strides));
  }
  e.terms = std::move(labels);
  return e;
}

void infer(InferContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  for (size_t i = 0; i < ctx.input_count(); i++)
    if (!ctx.in(i).is_static()) return ctx.out_dtype(0, dtype);
  const Equation e = parse(ctx.node);
  ctx.out(0, dtype, Shape(e.sizes.begin(), e.sizes.begin() + static_cast<std::ptrdiff_t>(e.rank)));
}

// Lowers a product [batch..., M, N] with one summed label, where label M is in only one operand and
// label N only in the other.
bool lower_as_matmul(LowerContext& ctx, const Equation& e, std::span<const program::BufferId> in,
                     program::BufferId y, DType type) {
  if (e.strides.size() != 2 || e.rank < 2 || e.labels.size() != e.rank + 1) return false;
  if (type != DType::f32 && type != DType::f64) return false;
  const size_t m = e.rank - 2, n = e.rank - 1, k = e.rank;
  size_t a = 0, b = 1;
  if (e.strides[a][n] != 0) std::swap(a, b);
  const auto &as = e.strides[a], &bs = e.strides[b];
  if (as[n] != 0 || bs[m] != 0 || std::count(e.sizes.begin(), e.sizes.end(), 0)) return false;
  StridedMatmul s;
  s.dtype = type;
  s.m = e.sizes[m];
  s.n = e.sizes[n];
  s.k = e.sizes[k];
  s.a_row = as[m];
  s.a_k = as[k];
  s.b_k = bs[k];
  s.b_n = bs[n];
  for (size_t d = 0; d < m; d++) s.batch.push_back({e.sizes[d], as[d], bs[d]});
  s.a = in[a];
  s.b = in[b];
  s.out = y;
  lower_strided_matmul(ctx, s);
  return true;
}

void lower(LowerContext& ctx) {
  const Equation e = parse(ctx.node);
  const DType type = ctx.out_dtype();
  if (e.strides.size() == 1 && e.labels.size() == e.rank && dtype_bits(type) >= 8) {
    // Nothing is summed: the result is a transpose or a diagonal.
    const Shape dims(e.sizes.begin(), e.sizes.end());
    emit_strided_copy(ctx, ctx.in(0), ctx.out(0), type,
                      {dims, e.strides[0], contiguous_strides(dims), 0, 0});
    return;
  }
  const bool narrow = is_float(type) && type != DType::f32 && type != DType::f64;
  std::vector<program::BufferId> operands;
  for (size_t i = 0; i < e.strides.size(); i++)
    operands.push_back(narrow ? in_as_f32(ctx, i) : ctx.in(i));
  const auto y = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  if (!lower_as_matmul(ctx, e, operands, y, narrow ? DType::f32 : type)) {
    operands.push_back(y);
    ctx.emit(calls::Einsum{.rank = static_cast<int64_t>(e.rank),
                           .sizes = {e.sizes.begin(), e.sizes.end()},
                           .strides = {e.strides.begin(), e.strides.end()}},
             operands);
  }
  if (narrow) finish_f32(ctx, 0, y);
}

// A label in the result is carried from each input axis with that label. All other labels are
// summed.
void map_axes(AxesContext& ctx) {
  const Equation e = parse(ctx.node);
  std::vector<std::vector<InputAxis>> summed(e.labels.size());
  for (size_t n = 0; n < e.terms.size(); n++)
    for (size_t d = 0; d < e.terms[n].size(); d++) {
      const auto l =
          static_cast<size_t>(std::ranges::find(e.labels, e.terms[n][d]) - e.labels.begin());
      if (l < e.rank)
        ctx.carry(n, d, 0, l);
      else if (ctx.in(n)[d] == e.sizes[l])
        summed[l].push_back({n, d});
    }
  for (auto& group : summed)
    if (!group.empty()) ctx.reduce(std::move(group));
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Einsum",
    .since = 12,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .facts = {.flops = flops::einsum, .trial = {"T[4,4]; T[4,4]", R"(equation = "ij,jk->ik")"}}};

}  // namespace poprt::ops::einsum_op
