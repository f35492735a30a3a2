// What every pass is, and the manager that runs them.
//
// core/passes/FAMILY/foo_bar.cpp defines `extern const PassDef def` in namespace
// poprt::passes::foo_bar_pass, which no other file has; the table is generated from the folders.
// The order of the default pipeline stands in compiler/pipeline.cpp and nowhere else; `depend`,
// `before` and `against` check that order and sort what a user selects.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/common/arguments.h"
#include "passes/common/precision_parameters.h"

namespace poprt::passes {

struct PassDef;

// What a pass gets besides the graph.
class PassContext {
 public:
  // Ask before every rewrite and do it only on true: this counts rewrites and lets
  // `--rewrite_limit` stop after a number of them.
  bool allow() {
    if (rewrites_done >= rewrite_limit) return false;
    rewrites_done++;
    return true;
  }

  int64_t rewrites_done = 0;
  int64_t rewrite_limit = INT64_MAX;
  int64_t max_tensor_size = -1;  // bytes; constant folding makes nothing larger; -1: no limit
  // Types of operators that float_to_half leaves in f32.
  std::span<const std::string> fp16_skip_op_types = {};

  // The pass's parameters: what was given, checked, and defaults for the rest.
  Arguments arguments;
  bool flag(std::string_view name) const { return text(name) == "True"; }
  int64_t integer(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::vector<std::string> names(std::string_view name) const;  // separated by commas
  std::vector<std::string> words(std::string_view name) const;  // by line feeds

  // The model as the list of passes began; null unless a pass of the list asks for it
  // (PassDef::needs_origin).
  const ir::Graph* origin = nullptr;
  // Takes what a pass that looks has to say; null: the standard output.
  std::function<void(std::string_view text)> say;
  const PrecisionParameters* precision = nullptr;  // of the precision passes; null: their defaults
};

// What a pass may change in the numbers that a graph computes.
enum class Numerics : uint8_t {
  exact,      // nothing, for the same kernels
  rounding,   // the last bits: products and sums are rounded in another order, or less often
  precision,  // the element type in which values are kept
};
std::string_view numerics_name(Numerics numerics);

// What a pass is for.
enum class PassKind : uint8_t {
  rewrite,  // changes graphs
  inspect,  // looks, says something or refuses, and changes nothing
};
std::string_view kind_name(PassKind kind);

struct PassDef {
  std::string_view name;        // as PopRT documents it where it has one
  std::string_view alias = {};  // an earlier name, which users may still give
  std::string_view summary;     // what it does, continuing "it ..."
  std::string_view condition;   // where it does it; "none": everywhere
  Numerics numerics = Numerics::exact;
  // Rewrites the graph (and, where it makes sense, subgraphs). Types of new values must be right
  // when it returns: call ops::infer on the nodes it makes.
  void (*run)(ir::Graph& graph, PassContext& context) = nullptr;
  std::vector<std::string_view> depend = {};   // must run earlier in the same list
  std::vector<std::string_view> before = {};   // must run later than this one if present
  std::vector<std::string_view> against = {};  // must not be in the same list
  std::vector<Parameter> parameters = {};
  PassKind kind = PassKind::rewrite;
  bool needs_origin = false;  // PassContext::origin
};

// A pass with its arguments.
struct PassCall {
  const PassDef* pass;
  Arguments arguments = {};
};
// `given` checked against the pass's parameters, defaults added. Throws invalid_argument naming the
// pass and the parameter.
Arguments checked_arguments(const PassDef& pass, const Arguments& given);

// By its name or its alias.
bool is_called(const PassDef& pass, std::string_view name);
// Null when there is none of that name.
const PassDef* find_pass(std::string_view name);
// The same. Throws not_found listing near matches.
const PassDef& pass_of(std::string_view name);
std::span<const PassDef* const> all_passes();

struct PassReport {
  std::string name;
  int64_t rewrites = 0;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
};

struct PassManagerOptions {
  bool verify_each = true;
  int64_t rewrite_limit = INT64_MAX;  // over all passes: bisect by rewrite count
  std::string stop_after;             // name of the pass after which to stop
  int64_t max_tensor_size = -1;
  std::vector<std::string> fp16_skip_op_types = {};
  // By name of the pass; those of passes that are not in the list are not looked at.
  std::map<std::string, Arguments, std::less<>> arguments = {};
  const ir::Graph* origin = nullptr;  // null: the graph as it comes
  std::function<void(std::string_view text)> say = {};
  PrecisionParameters precision = {};
  // Called after each pass: dump the graph, move a progress bar.
  std::function<void(const PassReport& report, const ir::Graph& graph)> after_each;
};

// Runs the passes in the given order, verifying after each. Throws with "pass NAME" in front.
std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassDef* const> passes,
                                   const PassManagerOptions& options = {});

// The same with arguments; a pass may be called several times with others.
std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassCall> calls,
                                   const PassManagerOptions& options = {});

// Checks `depend` / `before` / `against` of a list in its order; throws failed_precondition.
void check_order(std::span<const PassDef* const> passes);
// A stable order of a user's selection that satisfies the constraints, dependencies added.
std::vector<const PassDef*> sort_passes(std::span<const std::string> names);

}  // namespace poprt::passes
