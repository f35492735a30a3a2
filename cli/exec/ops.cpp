// poprt_exec ops: lists the supported operators.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"
#include "ops/common/op_types.h"
#include "ops/op.h"
#include "opsets/convert.h"

namespace poprt::cli {
namespace {

struct Row {
  const ops::OpDef* op;
  std::string_view domain;
  std::string last;
  ops::OpSupport support;
};

// Throws Failure for a name that no operator has, with the most similar one.
void check_names(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const ops::OpDef* op : ops::all_ops()) known.emplace_back(op->name);
  for (const std::string& name : names) {
    if (same_word(known, name)) continue;
    const std::string similar = similar_word(known, name);
    throw Failure(fmt::format("there is no operator '{}'{}", name,
                              similar.empty() ? "" : fmt::format(", did you mean {}?", similar)));
  }
}

// Lists the operators with these names, in upper or lower case, or all if there are none.
int list_operators(const std::vector<std::string>& names, bool json, bool markdown) {
  check_names(names);
  std::vector<Row> rows;
  for (const ops::OpDef* op : ops::all_ops())
    if (names.empty() || same_word(names, std::string(op->name)))
      rows.push_back({op,
                      op->domain.empty() ? "ai.onnx" : op->domain,
                      op->until >= 1 << 30 ? "" : std::to_string(op->until),
                      {}});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.op->domain, a.op->name, a.op->since) <
           std::tuple(b.op->domain, b.op->name, b.op->since);
  });
  if (json || markdown)
    for (Row& r : rows) r.support = ops::support_of(*r.op);
  if (json) {
    nlohmann::json j = nlohmann::json::array();
    for (const Row& r : rows) {
      nlohmann::json types = nlohmann::json::array();
      for (const DType t : r.support.types) types.push_back(dtype_name(t));
      j.push_back({{"domain", r.domain},
                   {"name", r.op->name},
                   {"since", r.op->since},
                   {"until", r.last},
                   {"types", types},
                   {"implementation", ops::implementation_name(r.support.implementation)}});
    }
    print_json(j);
    return 0;
  }
  if (markdown)
    fmt::print(
        "| domain | operator | opsets | types | implementation |\n"
        "|---|---|---|---|---|\n");
  size_t width = 0;
  for (const Row& r : rows) width = std::max(width, r.domain.size());
  for (const Row& r : rows) {
    if (markdown)
      fmt::print("| {} | {} | {}-{} | {} | {} |\n", r.domain, r.op->name, r.op->since, r.last,
                 ops::type_list(r.support.types),
                 ops::implementation_name(r.support.implementation));
    else
      fmt::print("{:<{}} {:<32} {}-{}\n", r.domain, width, r.op->name, r.op->since, r.last);
  }
  return 0;
}

}  // namespace

void add_ops(Command& app, std::function<int()>& action) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false),
       changes = std::make_shared<bool>(false);
  Command* c = app.add_command(
      "ops",
      "List the supported operators and opsets; with --json or --markdown also the types of input "
      "0 that a trial of each operator accepts, and its implementation");
  auto* n = c->add_option("OPERATOR", *names, "Only these operators")->many();
  auto* j = c->add_flag("--json", *json, "As JSON");
  auto* m = c->add_flag("--markdown", *markdown, "As a Markdown table")->excludes(j);
  c->add_flag(
       "--opsets", *changes,
       "The effect of converting a model to another opset on each operator, as a Markdown table")
      ->excludes(j)
      ->excludes(m)
      ->excludes(n);
  c->callback([=, &action] {
    action = [=] {
      if (!*changes) return list_operators(*names, *json, *markdown);
      fmt::print("{}", opsets::conversions_markdown());
      return 0;
    };
  });
}

}  // namespace poprt::cli
