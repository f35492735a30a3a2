// The rows of the table of conversions, and the interface that their functions use.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/newest.h"
#include "ops/common/expansion.h"

namespace poprt::opsets {

using ir::Value;
using ops::Expansion;

// One node during its conversion. The node is changed in place, or new nodes are added before it
// (Expansion) whose results replace those of the node. New nodes are of the newest opset and are
// converted in turn.
class Rewriter : public Expansion {
 public:
  Rewriter(ir::Node& n, int64_t source, int64_t target, bool faithful)
      : Expansion(n), at(n), source_(source), target_(target), faithful_(faithful) {}

  ir::Node& at;
  // Whether the results have been replaced, so that the node can be erased.
  bool replaced = false;

  int64_t target() const { return target_; }

  // The rank of an input. Fails if it is unknown.
  int64_t rank(size_t input) const;
  // The integers of a constant input. Fails if it is not constant; `role` describes the input in
  // the message.
  std::vector<int64_t> known_ints(size_t input, std::string_view role) const;
  const Tensor* constant_or_null(size_t input) const;
  // The only element of a constant. Fails if it has another number of elements; `role` describes
  // it in the message.
  double only_number(const Tensor& constant, std::string_view role) const;
  // Fails if a dimension is unknown, or if a tensor of this shape is too large to be computed
  // during the conversion.
  void check_constant_size(std::span<const int64_t> shape) const;

  // -- Changes in place -------------------------------------------------------------------------
  void drop(std::string_view attribute);
  // Returns an attribute and removes it from the node; nullopt if the node does not have it.
  std::optional<std::vector<int64_t>> take_ints(std::string_view attribute);
  // Removes all inputs except the first `count`, and erases the constants that have no reader then.
  void keep_inputs(size_t count);
  // Adds a copy of the node before it, with other inputs and with the attributes `more`, of the
  // newest opset and with inferred types.
  ir::Node* like(std::span<Value* const> inputs,
                 std::initializer_list<std::pair<const std::string_view, ir::Attribute>> more = {});
  // The same with only input i replaced.
  ir::Node* like_with(size_t i, Value* value);

  // -- Results ----------------------------------------------------------------------------------
  // Makes the readers of result i read `value` and sets `replaced`. A graph output keeps its name;
  // an Identity is added if `value` cannot take it.
  void result(size_t i, Value* value);

  // -- Refusals ---------------------------------------------------------------------------------
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(fmt::format(format, std::forward<Args>(args)...));
  }
  // Fails in faithful mode: the following replacement compiles to a slower program than the
  // operator itself.
  void slower(std::string_view why) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  int64_t source_, target_;
  bool faithful_;
};

// Throws unimplemented: "convert_version: no conversion from opset A to B: NODE: WHY".
[[noreturn]] void fail_conversion(const ir::Node& node, int64_t source, int64_t target,
                                  std::string_view why);

struct Rule {
  using Change = void (*)(Rewriter& r);

  std::string_view op;
  // The opset that introduced a definition of the operator. `up` converts a node from the previous
  // definition to this one, and `down` converts it back.
  int64_t since;
  Change up = nullptr;
  Change down = nullptr;
  // Documentation. `up_words` without a function means that nothing needs to change.
  std::string_view up_words = {};
  std::string_view down_words = {};
};

std::span<const Rule> all_rules();
const Rule* find_rule(std::string_view op, int64_t since);

}  // namespace poprt::opsets
