#include "ir/schemas.h"

#include <algorithm>
#include <span>

namespace poprt::ir {
namespace {

struct Row {
  std::string_view domain, op;
  int64_t since;
  std::string_view attributes;  // separated by spaces
};

// Sorted by domain, operator, opset.
constexpr Row kRows[] = {
#include "ir/schemas.inc"
};
constexpr bool before(const Row& a, const Row& b) {
  return a.domain != b.domain ? a.domain < b.domain : a.op < b.op;
}
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), before));

std::span<const Row> rows_of(std::string_view domain, std::string_view op) {
  if (domain == "ai.onnx") domain = "";
  const auto [begin, end] =
      std::equal_range(std::begin(kRows), std::end(kRows), Row{domain, op, 0, {}}, before);
  return {begin, end};
}

// The row that applies to `opset`, or rows.end().
auto row_at(std::span<const Row> rows, int64_t opset) {
  const auto next =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.since > opset; });
  return next == rows.begin() ? rows.end() : next - 1;
}

std::string_view attributes_of(std::span<const Row> rows, std::span<const Row>::iterator row) {
  while (row != rows.begin() && row->attributes == "=") row--;
  return row->attributes;
}

bool has(std::string_view attributes, std::string_view name) {
  // The list has no empty name and no name that contains a space.
  if (name.empty() || name.find(' ') != name.npos) return false;
  for (size_t at = 0; (at = attributes.find(name, at)) != attributes.npos; at += name.size()) {
    const size_t end = at + name.size();
    if ((at == 0 || attributes[at - 1] == ' ') &&
        (end == attributes.size() || attributes[end] == ' '))
      return true;
  }
  return false;
}

// For example "; opset 1 to 8 has it: convert the model". Empty if no opset has the attribute.
std::string other_opsets(std::span<const Row> rows, std::string_view name) {
  std::string text;
  for (auto r = rows.begin(); r != rows.end(); r++) {
    if (!has(attributes_of(rows, r), name)) continue;
    const int64_t first = r->since;
    while (r + 1 != rows.end() && has(attributes_of(rows, r + 1), name)) r++;
    text += text.empty() ? "opset " : ", ";
    text += r + 1 == rows.end() ? fmt::format("{} on", first)
                                : fmt::format("{} to {}", first, (r + 1)->since - 1);
    if (r + 1 == rows.end()) break;
  }
  return text.empty() ? text : "; " + text + " has it: convert the model";
}

}  // namespace

int64_t definition_of(std::string_view domain, std::string_view op, int64_t opset) {
  const auto rows = rows_of(domain, op);
  const auto row = row_at(rows, opset);
  return row == rows.end() ? 0 : row->since;
}

int64_t first_opset_with(std::string_view domain, std::string_view op,
                         std::span<const std::string> attributes) {
  const auto rows = rows_of(domain, op);
  for (auto row = rows.begin(); row != rows.end(); row++)
    if (std::all_of(attributes.begin(), attributes.end(),
                    [&](const std::string& a) { return has(attributes_of(rows, row), a); }))
      return row->since;
  return 1;
}

void check_attributes(const Node& node, const std::function<void(const std::string&)>& ignored) {
  if (node.attributes.empty()) return;
  const auto rows = rows_of(node.domain, node.op_type);
  const auto row = row_at(rows, node.opset());
  if (row == rows.end()) return;
  const std::string_view known = attributes_of(rows, row);
  for (const auto& [name, value] : node.attributes) {
    if (has(known, name) || name.starts_with("__")) continue;
    std::string list;
    for (const char c : known) list += c == ' ' ? std::string(", ") : std::string(1, c);
    const std::string others = other_opsets(rows, name);
    const std::string what = fmt::format(
        "{}: {} has no attribute '{}' in opset {}; its attributes are: {}", node.describe(),
        node.op_type, name, node.opset(), list.empty() ? "none" : list);
    if (!ignored || (!others.empty() && name != "consumed_inputs"))
      fail(ErrorCode::invalid_argument, "{}{}; to request more, open an issue with this line", what,
           others);
    ignored(what + "; it is ignored");
  }
}

}  // namespace poprt::ir
