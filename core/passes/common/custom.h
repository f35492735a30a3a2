// Passes, patterns and transforms of plug-ins (plugins/registry.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"

struct poprt_pass;  // poprt/plugin.h

namespace poprt::passes {

// Those that are loaded, as the other passes are; good for ever. Only run_pass() runs them.
std::vector<const PassDef*> custom_passes();
const PassDef* find_custom_pass(std::string_view name);
// Throws invalid_argument where a parameter would not take its own default.
void check_defaults(const poprt_pass& pass);

// Runs any pass, of whoever it is.
void run_pass(const PassDef& pass, ir::Graph& graph, PassContext& context);

// By name: on or off. Of patterns that are not named each has its own default.
using PatternSettings = std::map<std::string, bool, std::less<>>;
// Names of transforms, in order, by checkpoint.
using TransformSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

inline constexpr std::string_view kCheckpoints[] = {"Fwd0",     "Fwd1",      "Bwd0",
                                                    "PreAlias", "MainLoops", "Final"};

// "Name,Other:0" or a list of such; "{'Fwd0': ['Name']}". Throw invalid_argument.
PatternSettings parse_patterns(std::string_view text);
// Throw not_found for a pattern or transform that no plug-in has and, of patterns, PopART neither;
// invalid_argument for one that cannot be turned off.
void check_patterns(const PatternSettings& settings);
void check_transforms(const TransformSettings& settings);

// Applies the patterns that are on until none matches any more. Gives how often one was applied.
int64_t run_patterns(ir::Graph& graph, const PatternSettings& settings);
void run_transforms(ir::Graph& graph, const TransformSettings& settings,
                    std::string_view checkpoint);

}  // namespace poprt::passes
