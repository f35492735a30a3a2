#include "poprt/list_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/json.h"
#include "common/scripts.h"

namespace poprt::cli {

void list_passes(const GivenOptions& given) {
  if (given.has("custom_library_so_paths")) load_plugins(given.joined("custom_library_so_paths"));
  poprt_string* text = nullptr;
  check(poprt_compiler_list_passes_json(&text));
  auto all = parse_ordered_json(take(text));
  const nlohmann::ordered_json comparison = {{"name", kComparison},
                                             {"summary",
                                              "compares the results of every Conv, MatMul and Gemm "
                                              "with the original model, like --precision_compare"},
                                             {"parameters", nlohmann::ordered_json::array()}};
  all.insert(all.begin(), comparison);  // users' passes stay at the end
  for (const ScriptPass& pass : passes_of_scripts(given)) {
    const nlohmann::ordered_json row = {{"name", pass.name}, {"summary", pass.summary}};
    const auto same = std::ranges::find_if(all, [&](auto& r) { return r["name"] == pass.name; });
    if (same == all.end())
      all.push_back(row);
    else
      *same = row;
  }
  if (given.has("json")) {
    fmt::print("{}\n", to_text(all, 2));
    return;
  }
  size_t width = 0;
  for (const auto& row : all) width = std::max(width, row["name"].get<std::string>().size());
  for (const auto& row : all)
    fmt::print("{:<{}}  {}\n", row["name"].get<std::string>(), width,
               row["summary"].get<std::string>());
}

}  // namespace poprt::cli
