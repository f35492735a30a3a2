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

// The passes of all loaded plug-ins. The definitions stay valid until the process ends. Only
// run_pass() can run them.
std::vector<const PassDef*> custom_passes();
const PassDef* find_custom_pass(std::string_view name);
// Throws invalid_argument if a parameter does not accept its own default.
void check_defaults(const poprt_pass& pass);

// Runs a built-in pass or a pass of a plug-in.
void run_pass(const PassDef& pass, ir::Graph& graph, PassContext& context);

// Whether each named pattern is on. The other patterns keep their default.
using PatternSettings = std::map<std::string, bool, std::less<>>;
// Names of transforms in order, by checkpoint.
using TransformSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

inline constexpr std::string_view kCheckpoints[] = {"Fwd0",     "Fwd1",      "Bwd0",
                                                    "PreAlias", "MainLoops", "Final"};

// Parses "Name,Other:0", or a list such as "['Name', 'Other:0']". Throws invalid_argument.
PatternSettings parse_patterns(std::string_view text);
// Throw not_found for a pattern or transform that no plug-in has (and, for patterns, PopART does
// not have), and invalid_argument for a mandatory pattern that is turned off and for a checkpoint
// that is not in kCheckpoints.
void check_patterns(const PatternSettings& settings);
void check_transforms(const TransformSettings& settings);

// Applies each enabled pattern, in the order of the plug-ins, until it no longer matches. A pattern
// is not tried again after a later one has changed the graph. Returns the number of applications.
// Throws failed_precondition for a pattern that matches its own result again and again, the errors
// of the plug-in, and those of the verification and inference that follow each pattern.
int64_t run_patterns(ir::Graph& graph, const PatternSettings& settings);
// Runs the transforms of a checkpoint. Throws like run_patterns().
void run_transforms(ir::Graph& graph, const TransformSettings& settings,
                    std::string_view checkpoint);

}  // namespace poprt::passes
