#include "exec/support/flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ops/facts.h"
#include "ops/op.h"

namespace poprt::cli {
namespace {

bool is_one_of(const ir::Node& node, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, std::string_view(node.op_type)) != names.end();
}

int64_t elements(const ir::Value* value) { return value ? element_count(value->shape()) : 0; }

// Of the weights of a convolution, all but the first dimension.
int64_t behind_first(const ir::Value* value) {
  return value && !value->shape().empty() ? element_count(std::span(value->shape()).subspan(1)) : 0;
}

bool is_reduction(ops::SizeRule rule) {
  using enum ops::SizeRule;
  return rule == reduce_from_least || rule == reduce_from_most || rule == reduce_from_one ||
         rule == reduce_from_zero || rule == reduce_mean || rule == arg_max || rule == arg_min;
}

int64_t einsum(const ir::Node& node) {
  std::string left = node.string_attr("equation", "");
  std::erase(left, ' ');
  left = left.substr(0, left.find("->"));
  std::map<std::string, int64_t> sizes;
  int64_t operands = 0, all = 1;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    const std::string word = left.substr(begin, end - begin);
    begin = end + 1;
    const ir::Value* value = node.input(static_cast<size_t>(operands++));
    if (!value) break;
    const size_t dots = word.find("...");
    const size_t front = std::min(dots, word.size());
    const size_t back = dots == std::string::npos ? 0 : word.size() - dots - 3;
    for (size_t d = 0; d < value->shape().size(); d++) {
      const size_t from_end = value->shape().size() - d;
      const std::string name = d < front          ? std::string(1, word[d])
                               : from_end <= back ? std::string(1, word[word.size() - from_end])
                                                  : fmt::format(".{}", d - front);
      int64_t& size = sizes.try_emplace(name, 1).first->second;
      size = std::max(size, value->shape()[d]);
    }
  }
  for (const auto& [name, size] : sizes) all *= size;
  return operands > 1 ? operands * all : all;
}

// Of products and convolutions; nothing for other operators.
std::optional<int64_t> multiplications(const ir::Node& node) {
  const int64_t out = elements(node.output());
  const Shape empty;
  const Shape& first = node.input(0) ? node.input(0)->shape() : empty;
  if (is_one_of(node, {"Gemm"}))
    return out * (2 * first[node.int_attr("transA", 0) ? 0 : 1] + (node.input(2) ? 1 : 0));
  if (ops::facts_of(node).size_rule == ops::SizeRule::product ||
      is_one_of(node, {"MatMulInteger", "QLinearMatMul"}) ||
      is_one_of(node, {"FP8MatMul", "FP8MatMulWithoutShapeInfer"}))
    return first.empty() ? 0 : 2 * out * first.back();
  if (is_one_of(node, {"Conv", "ConvInteger"}))
    return out *
           (2 * behind_first(node.input(1)) + (node.op_type == "Conv" && node.input(2) ? 1 : 0));
  if (is_one_of(node, {"QLinearConv"})) return out * 2 * behind_first(node.input(3));
  if (is_one_of(node, {"ConvTranspose"}))
    return 2 * elements(node.input(0)) * behind_first(node.input(1)) + (node.input(2) ? out : 0);
  if (is_one_of(node, {"LSTM", "GRU", "RNN"}))
    return 2 * first[0] * first[1] * (elements(node.input(1)) + elements(node.input(2)));
  if (is_one_of(node, {"Attention"}) && node.domain.empty()) {
    const auto length = [&](size_t i) {
      const ir::Value* v = node.input(i);
      return v && v->shape().size() > 1 ? v->shape()[v->shape().size() - 2] : 0;
    };
    return 2 * (length(1) + length(4)) * (elements(node.input(0)) + out);
  }
  if (is_one_of(node, {"Einsum"})) return einsum(node);
  return std::nullopt;
}

}  // namespace

int64_t flops_of(const ir::Node& node) {
  if (const auto products = multiplications(node)) return *products;
  const ops::Facts& facts = ops::facts_of(node);
  const int64_t out = elements(node.output());
  if (facts.moves || facts.size_rule == ops::SizeRule::one_hot ||
      facts.size_rule == ops::SizeRule::range || is_one_of(node, {"Cast", "CastLike", "Dropout"}))
    return 0;
  if (is_one_of(node, {"MaxPool", "AveragePool", "LpPool"}))
    return out * element_count(node.ints_attr("kernel_shape"));
  if (is_reduction(facts.size_rule) || node.op_type.starts_with("Reduce") ||
      is_one_of(node, {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}))
    return elements(node.input(0));
  if (is_one_of(node, {"Softmax", "LogSoftmax", "Hardmax"}) || is_one_of(node, {"SoftmaxV2"}))
    return 5 * out;
  if (is_one_of(node, {"LayerNormalization", "GroupNormalization", "InstanceNormalization"}) ||
      is_one_of(node, {"RMSNormalization", "MeanVarianceNormalization", "FastNorm"}))
    return 7 * out;
  return is_one_of(node, {"BatchNormalization"}) ? 2 * out : out;
}

}  // namespace poprt::cli
