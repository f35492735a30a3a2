// What a row of the table of conversions is, and what its functions do their work with.
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

// One node while it is changed: in place, or by nodes in front of it (Expansion) whose results take
// the place of its own. New nodes are of the newest opset and are converted in their turn.
class Rewriter : public Expansion {
 public:
  Rewriter(ir::Node& n, int64_t source, int64_t target, bool faithful)
      : Expansion(n), at(n), source_(source), target_(target), faithful_(faithful) {}

  ir::Node& at;
  // Results have been given: the node goes.
  bool replaced = false;

  int64_t target() const { return target_; }

  // -- Questions --------------------------------------------------------------------------------
  // Cannot without a known rank.
  int64_t rank(size_t input) const;
  // The integers of a constant input. Cannot when it is none; `role` says what it is needed for.
  std::vector<int64_t> known_ints(size_t input, std::string_view role) const;
  const Tensor* constant_or_null(size_t input) const;

  // -- Changes in place -------------------------------------------------------------------------
  void drop(std::string_view attribute);
  // An attribute that leaves the node.
  std::optional<std::vector<int64_t>> take_ints(std::string_view attribute);
  // Only the first `count` inputs stay.
  void keep_inputs(size_t count);
  // The node with other inputs and without some attributes, of the newest opset, types inferred.
  ir::Node* like(std::span<Value* const> inputs, std::initializer_list<std::string_view> without,
                 std::initializer_list<std::pair<const std::string_view, ir::Attribute>> more = {});
  // The same with input i replaced.
  ir::Node* like_with(size_t i, Value* value, std::initializer_list<std::string_view> without = {});

  // -- Results ----------------------------------------------------------------------------------
  void result(size_t i, Value* value);
  // All of another node, in order.
  void results(const ir::Node* by);

  // -- Refusals ---------------------------------------------------------------------------------
  template <class... Args>
  [[noreturn]] void cannot(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(fmt::format(format, std::forward<Args>(args)...));
  }
  // What follows compiles to a slower program than the operator itself.
  void slower(std::string_view why) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  int64_t source_, target_;
  bool faithful_;
};

// "convert_version: no conversion from opset A to B: NODE: WHY".
[[noreturn]] void fail_conversion(const ir::Node& node, int64_t source, int64_t target,
                                  std::string_view why);

struct Rule {
  using Change = void (*)(Rewriter& r);

  std::string_view op;
  int64_t since;  // the opset whose definition is changed from (down) or to (up)
  Change up = nullptr;
  Change down = nullptr;
  // For people; `up_words` without a change says that nothing needs to.
  std::string_view up_words = {};
  std::string_view down_words = {};
};

std::span<const Rule> all_rules();
const Rule* find_rule(std::string_view op, int64_t since);

}  // namespace poprt::opsets
