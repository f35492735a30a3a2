// poprt_exec passes: what each pass does, where, and what it may change in the numbers.
#include "passes/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/pipeline.h"
#include "exec/commands.h"
#include "exec/support/json_output.h"

namespace poprt::cli {
namespace {

// Where it runs unless it is skipped.
std::string_view stage_of(const passes::PassDef& pass) {
  const auto in = [&](const std::vector<const passes::PassDef*>& pipeline) {
    return std::find(pipeline.begin(), pipeline.end(), &pass) != pipeline.end();
  };
  const bool converts = in(compiler::converter_pipeline({}));
  const bool compiles = in(compiler::compile_pipeline({}));
  return converts && compiles ? "convert, compile"
         : converts           ? "convert"
         : compiles           ? "compile"
                              : "when asked for";
}

std::string list(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, " "));
}

int run(bool json, bool markdown) {
  if (json) {
    nlohmann::json all = nlohmann::json::array();
    for (const passes::PassDef* p : passes::all_passes())
      all.push_back({{"name", p->name},
                     {"alias", p->alias},
                     {"summary", p->summary},
                     {"condition", p->condition},
                     {"numerics", passes::numerics_name(p->numerics)},
                     {"stage", stage_of(*p)},
                     {"depend", p->depend},
                     {"before", p->before},
                     {"against", p->against}});
    print_json(all);
    return 0;
  }
  if (markdown)
    fmt::print(
        "| pass | what it does | where | numerics | runs | after |\n|---|---|---|---|---|---|\n");
  size_t width = 0;
  for (const passes::PassDef* p : passes::all_passes()) width = std::max(width, p->name.size());
  for (const passes::PassDef* p : passes::all_passes()) {
    if (markdown)
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", p->name, p->summary, p->condition,
                 passes::numerics_name(p->numerics), stage_of(*p), list(p->depend));
    else
      fmt::print("{:<{}}  {}\n", p->name, width, p->summary);
  }
  return 0;
}

}  // namespace

void add_passes(CLI::App& app, std::function<int()>& action) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand(
      "passes",
      "List the passes and what they do; with --json or --markdown also where they apply, what "
      "they "
      "may change in the numbers and in which stage they run. --skip_passes NAME of poprt switches "
      "one off");
  auto* j = c->add_flag("--json", *json, "As JSON");
  c->add_flag("--markdown", *markdown, "As a Markdown table")->excludes(j);
  c->callback(
      [json, markdown, &action] { action = [json, markdown] { return run(*json, *markdown); }; });
}

}  // namespace poprt::cli
