// poprt_exec ops: which operators are supported.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exec/commands.h"
#include "ops/op.h"

namespace poprt::cli {
namespace {

int run(bool json, bool markdown) {
  std::vector<const ops::OpDef*> list(ops::all_ops().begin(), ops::all_ops().end());
  std::sort(list.begin(), list.end(), [](const ops::OpDef* a, const ops::OpDef* b) {
    return std::pair(a->domain, a->name) < std::pair(b->domain, b->name);
  });
  const auto domain = [](const ops::OpDef* op) {
    return op->domain.empty() ? std::string_view("ai.onnx") : op->domain;
  };
  const auto last = [](const ops::OpDef* op) {
    return op->until >= 1 << 30 ? std::string("") : std::to_string(op->until);
  };
  if (json) {
    nlohmann::json j = nlohmann::json::array();
    for (const auto* op : list)
      j.push_back(
          {{"domain", domain(op)}, {"name", op->name}, {"since", op->since}, {"until", last(op)}});
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  if (markdown) fmt::print("| domain | operator | opsets |\n|---|---|---|\n");
  for (const auto* op : list)
    fmt::print(fmt::runtime(markdown ? "| {} | {} | {}-{} |\n" : "{:<10} {:<28} {}-{}\n"),
               domain(op), op->name, op->since, last(op));
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, std::function<int()>& action) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("ops", "List the supported operators");
  auto* j = c->add_flag("--json", *json, "As JSON");
  c->add_flag("--markdown", *markdown, "As a Markdown table")->excludes(j);
  c->callback(
      [json, markdown, &action] { action = [json, markdown] { return run(*json, *markdown); }; });
}

}  // namespace poprt::cli
