// poprt_exec passes: lists the effect and condition of each pass, and how it may change numbers.
#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/arguments.h"
#include "compiler/pass_listing.h"
#include "exec/commands.h"

namespace poprt::cli {
namespace {

std::string list(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, " "));
}

// Returns "name=default: meaning" for all parameters.
std::string parameters(const passes::PassDef& pass) {
  std::string text;
  for (const passes::Parameter& p : pass.parameters)
    text += fmt::format("{}`{}{}`: {}", text.empty() ? "" : "; ", p.name,
                        p.required ? "" : fmt::format("={}", p.standard), p.summary);
  return text;
}

int list_passes(bool json, bool markdown) {
  if (json) {
    fmt::print("{}", compiler::passes_json());
    return 0;
  }
  if (markdown)
    fmt::print(
        "| pass | what it does | where | parameters | numerics | runs | after |\n"
        "|---|---|---|---|---|---|---|\n");
  size_t width = 0;
  for (const passes::PassDef* p : passes::all_passes()) width = std::max(width, p->name.size());
  for (const passes::PassDef* p : passes::all_passes()) {
    if (markdown)
      fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", p->name, p->summary, p->condition,
                 parameters(*p), passes::numerics_name(p->numerics), compiler::stage_of(*p),
                 list(p->depend));
    else
      fmt::print("{:<{}}  {}\n", p->name, width, p->summary);
  }
  return 0;
}

}  // namespace

void add_passes(Command& app, std::function<int()>& action) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  Command* c = app.add_command("passes",
                               "List the passes and their effect; with --json or --markdown also "
                               "their conditions, their effect on numbers and the stage in which "
                               "they run. --skip_passes NAME of poprt switches one off");
  auto* j = c->add_flag("--json", *json, "As JSON");
  c->add_flag("--markdown", *markdown, "As a Markdown table")->excludes(j);
  c->callback([json, markdown, &action] {
    action = [json, markdown] { return list_passes(*json, *markdown); };
  });
}

}  // namespace poprt::cli
