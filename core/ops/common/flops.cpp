#include "ops/common/flops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "base/checked.h"
#include "ops/facts.h"

namespace poprt::ops {
namespace {

int64_t elements(const ir::Value* value) { return value ? element_count(value->shape()) : 0; }

int64_t result(const ir::Node& node) { return elements(node.output()); }

// The number of elements of a convolution's weights for one output channel.
int64_t elements_per_channel(const ir::Value* value) {
  return value && !value->shape().empty() ? element_count(std::span(value->shape()).subspan(1)) : 0;
}

}  // namespace

namespace flops {

int64_t none(const ir::Node&) { return 0; }

int64_t product(const ir::Node& node) {
  const ir::Value* left = node.input(0);
  return left && !left->shape().empty() ? 2 * result(node) * left->shape().back() : 0;
}

int64_t gemm(const ir::Node& node) {
  const int64_t depth = node.input(0)->shape()[node.int_attr("transA", 0) ? 0 : 1];
  return result(node) * (2 * depth + (node.input(2) ? 1 : 0));
}

int64_t conv(const ir::Node& node) {
  return conv_no_bias(node) + (node.input(2) ? result(node) : 0);
}

int64_t conv_no_bias(const ir::Node& node) {
  return result(node) * 2 * elements_per_channel(node.input(1));
}

int64_t qlinear_conv(const ir::Node& node) {
  return result(node) * 2 * elements_per_channel(node.input(3));
}

int64_t conv_transpose(const ir::Node& node) {
  return 2 * elements(node.input(0)) * elements_per_channel(node.input(1)) +
         (node.input(2) ? result(node) : 0);
}

int64_t recurrent(const ir::Node& node) {
  // The first two dimensions are length and batch, in the order of attribute `layout`.
  const Shape& data = node.input(0)->shape();
  return 2 * data[0] * data[1] * (elements(node.input(1)) + elements(node.input(2)));
}

int64_t attention(const ir::Node& node) {
  const auto length = [&](size_t i) {
    const ir::Value* v = node.input(i);
    return v && v->shape().size() > 1 ? v->shape()[v->shape().size() - 2] : 0;
  };
  return 2 * (length(1) + length(4)) * (elements(node.input(0)) + result(node));
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
  for (const auto& [name, size] : sizes) all = checked_mul(all, size, "operations");
  return operands > 1 ? checked_mul(operands, all, "operations") : all;
}

int64_t pool(const ir::Node& node) {
  return result(node) * element_count(node.ints_attr("kernel_shape"));
}

int64_t per_input(const ir::Node& node) { return elements(node.input(0)); }

int64_t softmax(const ir::Node& node) { return 5 * result(node); }

int64_t normalization(const ir::Node& node) { return 7 * result(node); }

int64_t batch_normalization(const ir::Node& node) { return 2 * result(node); }

}  // namespace flops

int64_t flops_of(const ir::Node& node) {
  const Facts& facts = facts_of(node);
  if (facts.flops) return facts.flops(node);
  return facts.moves ? 0 : result(node);
}

}  // namespace poprt::ops
