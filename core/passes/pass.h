// Defines and runs passes.
//
// core/passes/FAMILY/foo_bar.cpp defines `extern const PassDef def` in its own namespace
// poprt::passes::foo_bar_pass. CMake generates the table of passes from the folders.
// Only compiler/pipeline.cpp defines the order of the default pipeline. `depend`, `before` and
// `against` check that order and sort the passes that a user selects.
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

// The settings and counters that a pass receives in addition to the graph.
class PassContext {
 public:
  // A pass calls this before every rewrite and rewrites only if it returns true. It counts the
  // rewrites, so that `--rewrite_limit` can stop after a given number of them.
  bool allow() {
    if (rewrites_done >= rewrite_limit) return false;
    rewrites_done++;
    return true;
  }

  int64_t rewrites_done = 0;
  int64_t rewrite_limit = INT64_MAX;
  // Bytes of the largest constant that folding creates. -1: only the limit of all constants that it
  // creates counts.
  int64_t max_tensor_size = -1;
  // Types of operators that float_to_half leaves in f32.
  std::span<const std::string> fp16_skip_op_types = {};

  // The pass's parameters: the given values, checked, and the defaults of the others. The functions
  // below throw internal for a parameter that the pass does not have.
  Arguments arguments;
  bool flag(std::string_view name) const { return text(name) == "True"; }
  int64_t integer(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  std::vector<std::string> names(std::string_view name) const;  // from a comma-separated list
  // From a list with one word per line.
  std::vector<std::string> words(std::string_view name) const;

  // The model before the first pass of the list, or PassManagerOptions::origin. Null if that is
  // null and no pass of the list needs it (PassDef::needs_origin).
  const ir::Graph* origin = nullptr;
  // Receives the text that an inspecting pass prints. If null, it goes to the standard output.
  std::function<void(std::string_view text)> print;
  const PrecisionParameters* precision = nullptr;  // for the precision passes; null: defaults
};

// How a pass may change the numbers that a graph computes.
enum class Numerics : uint8_t {
  exact,      // not at all, if the same kernels run
  rounding,   // the last bits: products and sums are rounded in another order or less often
  precision,  // the element type in which values are kept
};
std::string_view numerics_name(Numerics numerics);

// The purpose of a pass.
enum class PassKind : uint8_t {
  rewrite,  // changes graphs
  inspect,  // prints a report or throws, and changes nothing
};
std::string_view kind_name(PassKind kind);

struct PassDef {
  std::string_view name;        // PopRT's name if PopRT has the pass
  std::string_view alias = {};  // an earlier name that is still accepted
  std::string_view summary;     // completes the sentence "The pass ..."
  std::string_view condition;   // when the pass rewrites; "none": always
  Numerics numerics = Numerics::exact;
  // Rewrites the graph and, if useful, its subgraphs. The types of new values must be right when it
  // returns: call ops::infer on new nodes.
  void (*run)(ir::Graph& graph, PassContext& context) = nullptr;
  std::vector<std::string_view> depend = {};   // passes that must run earlier in the same list
  std::vector<std::string_view> before = {};   // passes of the same list that must run later
  std::vector<std::string_view> against = {};  // passes that must not be in the same list
  std::vector<Parameter> parameters = {};
  PassKind kind = PassKind::rewrite;
  bool needs_origin = false;  // whether the pass reads PassContext::origin
};

// A pass with its arguments.
struct PassCall {
  const PassDef* pass;
  Arguments arguments = {};
};
// Returns `given`, checked against the pass's parameters, with the defaults added. Throws
// invalid_argument with the names of the pass and the parameter.
Arguments checked_arguments(const PassDef& pass, const Arguments& given);

// Whether `name` is the name or the alias of the pass.
bool is_called(const PassDef& pass, std::string_view name);
// Returns null if no pass has that name.
const PassDef* find_pass(std::string_view name);
// Like find_pass, but throws not_found with similar names.
const PassDef& pass_of(std::string_view name);
std::span<const PassDef* const> all_passes();

struct PassReport {
  std::string name;
  int64_t rewrites = 0;
  double milliseconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
};

struct PassManagerOptions {
  bool verify_each = true;            // false: the graph is never verified
  int64_t rewrite_limit = INT64_MAX;  // for all passes together; used to bisect by rewrite count
  std::string stop_after;             // name of the last pass to run; empty: all passes run
  int64_t max_tensor_size = -1;
  std::vector<std::string> fp16_skip_op_types = {};
  // Arguments by pass name. Those of passes that are not in the list are ignored.
  std::map<std::string, Arguments, std::less<>> arguments = {};
  const ir::Graph* origin = nullptr;  // PassContext::origin; null: the graph as given
  std::function<void(std::string_view text)> print = {};
  PrecisionParameters precision = {};
  // Called after each pass, for example to dump the graph or to show progress.
  std::function<void(const PassReport& report, const ir::Graph& graph)> after_each;
};

// Runs the passes in the given order. With `verify_each`, the graph is verified after each pass
// that counts a rewrite, and after the last pass. Errors of a pass have the context "pass NAME"; if
// the last verification fails after several passes without a rewrite, the context names all of
// them. Throws not_found if `stop_after` is not a pass, and like checked_arguments().
std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassDef* const> passes,
                                   const PassManagerOptions& options = {});

// The same for passes with arguments; those in `options` are ignored. A pass may occur several
// times with different arguments.
std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassCall> calls,
                                   const PassManagerOptions& options = {});

// Checks `depend`, `before` and `against` of a list in its order. Throws failed_precondition.
void check_order(std::span<const PassDef* const> passes);
// Adds the dependencies of a user's selection and returns a stable order that satisfies the
// constraints, with each pass once. Throws like pass_of() and check_order().
std::vector<const PassDef*> sort_passes(std::span<const std::string> names);

}  // namespace poprt::passes
