// Graphs with chains that are longer than the stack of a recursion per node.
#pragma once

#include <fmt/format.h>

#include <string>

namespace poprt::compiler::flow_test {

// 100 000 unary nodes from %x to %y. `more` follows the operand, and all results have `type`.
inline std::string long_chain(const std::string& op, const std::string& x, const std::string& y,
                              const std::string& more = "", const std::string& type = "?") {
  constexpr int kNodes = 100'000;
  std::string text, from = x;
  for (int i = 1; i <= kNodes; i++) {
    const std::string to = i == kNodes ? y : fmt::format("{}_{}", y, i);
    text += fmt::format("%{} : {} = {}(%{}{})\n", to, type, op, from, more);
    from = to;
  }
  return text;
}

}  // namespace poprt::compiler::flow_test
