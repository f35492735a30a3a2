#include "passes/pass.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "base/edit_distance.h"
#include "base/log.h"
#include "ir/placement.h"
#include "ir/verifier.h"
#include "passes/common/custom.h"

namespace poprt::passes {
namespace {

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

size_t total_nodes(const ir::Graph& graph) {
  size_t count = graph.node_count();
  for (const ir::Node* n : graph.nodes())
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { count += total_nodes(sub); });
  return count;
}

// The passes since the last verification, which have counted no rewrite. The graph is verified once
// after the last of them.
using Unverified = std::vector<std::string_view>;

void verify_after(const ir::Graph& graph, const Unverified& unverified) {
  if (unverified.empty()) return;
  try {
    ir::verify(graph);
  } catch (Error& e) {
    e.add_context(unverified.size() == 1
                      ? fmt::format("pass {}", unverified[0])
                      : fmt::format("one of the passes {}, which count no rewrite",
                                    fmt::join(unverified, ", ")));
    throw;
  }
}

// Whether the name of the pass has all words of `name`, by their first four letters and in any
// order: fold_constants is constant_folding. Words of fewer than three letters are ignored, and two
// others are required.
bool same_stems(std::string_view name, const PassDef& pass) {
  size_t words = 0;
  while (!name.empty()) {
    const size_t end = std::min(name.find('_'), name.size());
    const std::string_view stem = name.substr(0, std::min<size_t>(end, 4));
    if (stem.size() >= 3 && pass.name.find(stem) == std::string_view::npos) return false;
    words += stem.size() >= 3;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return words > 1;
}

}  // namespace

std::string_view numerics_name(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact: return "exact";
    case Numerics::rounding: return "rounding";
    case Numerics::precision: return "precision";
  }
  return "";
}

std::string_view kind_name(PassKind kind) {
  switch (kind) {
    case PassKind::rewrite: return "rewrite";
    case PassKind::inspect: return "inspect";
  }
  return "";
}

bool is_called(const PassDef& pass, std::string_view name) {
  return !name.empty() && (pass.name == name || pass.alias == name);
}

const PassDef* find_pass(std::string_view name) {
  for (const PassDef* pass : all_passes())
    if (is_called(*pass, name)) return pass;
  return find_custom_pass(name);
}

const PassDef& pass_of(std::string_view name) {
  if (const PassDef* pass = find_pass(name)) return *pass;
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const PassDef* pass : all_passes()) {
    const bool part = !name.empty() &&
                      (pass->name.find(name) != std::string_view::npos || same_stems(name, *pass));
    const size_t distance = part ? 0 : edit_distance(name, pass->name);
    if (distance <= std::max<size_t>(2, name.size() / 3)) near.emplace_back(distance, pass->name);
  }
  std::sort(near.begin(), near.end());
  if (near.size() > 5) near.resize(5);
  std::string list;
  for (const auto& [distance, candidate] : near)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", candidate);
  fail(ErrorCode::not_found, "there is no pass '{}'{}", name,
       list.empty() ? std::string("; `list_passes` lists them") : "; did you mean " + list + "?");
}

std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassDef* const> passes,
                                   const PassManagerOptions& options) {
  std::vector<PassCall> calls;
  for (const PassDef* pass : passes) {
    const auto given = options.arguments.find(pass->name);
    calls.push_back({pass, given == options.arguments.end() ? Arguments() : given->second});
  }
  return run_passes(graph, calls, options);
}

std::vector<PassReport> run_passes(ir::Graph& graph, std::span<const PassCall> calls,
                                   const PassManagerOptions& options) {
  using Clock = std::chrono::steady_clock;
  PassContext context;
  context.rewrite_limit = options.rewrite_limit;
  context.max_tensor_size = options.max_tensor_size;
  context.fp16_skip_op_types = options.fp16_skip_op_types;
  context.origin = options.origin;
  context.print = options.print;
  context.precision = &options.precision;
  std::vector<PassReport> reports;
  if (!options.stop_after.empty() && std::none_of(calls.begin(), calls.end(), [&](const auto& c) {
        return is_called(*c.pass, options.stop_after);
      }))
    pass_of(options.stop_after);  // throws for a misspelt name
  // Arguments are checked before any pass runs.
  std::vector<Arguments> arguments;
  for (const PassCall& c : calls) arguments.push_back(checked_arguments(*c.pass, c.arguments));
  std::unique_ptr<ir::Graph> origin;
  if (!context.origin && std::any_of(calls.begin(), calls.end(),
                                     [](const PassCall& c) { return c.pass->needs_origin; }))
    context.origin = (origin = graph.clone()).get();
  size_t nodes = total_nodes(graph);
  Unverified unverified;
  std::optional<ir::Placement> seats;  // of the graph as the last rewrite left it
  for (size_t i = 0; i < calls.size(); i++) {
    const PassDef& pass = *calls[i].pass;
    PassReport report;
    report.name = pass.name;
    report.nodes_before = nodes;
    const int64_t before = context.rewrites_done;
    const auto start = Clock::now();
    context.arguments = std::move(arguments[i]);
    if (!seats) seats.emplace(graph);
    try {
      run_pass(pass, graph, context);
      // Most passes of a list find nothing. Visiting the nodes of a large graph again after each of
      // them would take most of the time.
      if (context.rewrites_done != before) {
        seats->restore(graph);
        seats.reset();
        unverified.clear();
        if (options.verify_each) ir::verify(graph);
        nodes = total_nodes(graph);
      } else if (pass.kind == PassKind::rewrite) {
        unverified.push_back(pass.name);
      }
    } catch (Error& e) {
      e.add_context(fmt::format("pass {}", pass.name));
      throw;
    }
    report.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    report.rewrites = context.rewrites_done - before;
    report.nodes_after = nodes;
    log().debug("pass {}: {} rewrites, {} nodes became {}", pass.name, report.rewrites,
                report.nodes_before, report.nodes_after);
    if (options.after_each) options.after_each(report, graph);
    reports.push_back(std::move(report));
    if (is_called(pass, options.stop_after)) break;
  }
  if (options.verify_each) verify_after(graph, unverified);
  return reports;
}

void check_order(std::span<const PassDef* const> passes) {
  for (size_t i = 0; i < passes.size(); i++) {
    const PassDef& pass = *passes[i];
    for (const std::string_view needed : pass.depend)
      if (std::none_of(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const PassDef* p) { return p->name == needed; }))
        fail(ErrorCode::failed_precondition, "pass {} must run after {}, which is not before it",
             pass.name, needed);
    for (size_t j = 0; j < passes.size(); j++) {
      if (i != j && contains(pass.against, passes[j]->name))
        fail(ErrorCode::failed_precondition, "passes {} and {} exclude each other", pass.name,
             passes[j]->name);
    }
    // A pass may occur several times in a list. Its first run must precede a run of each pass that
    // it prepares; later runs may follow that pass.
    for (const std::string_view later : pass.before) {
      const auto is_later = [&](const PassDef* p) { return p->name == later; };
      const bool present = std::any_of(passes.begin(), passes.end(), is_later);
      const bool follows =
          std::any_of(passes.begin() + static_cast<std::ptrdiff_t>(i), passes.end(), is_later);
      const bool first =
          std::none_of(passes.begin(), passes.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](const PassDef* p) { return p == &pass; });
      if (present && !follows && first)
        fail(ErrorCode::failed_precondition, "pass {} must run before {}, which is before it",
             pass.name, later);
    }
  }
}

std::vector<const PassDef*> sort_passes(std::span<const std::string> names) {
  // The selected passes and their dependencies; a dependency precedes its first user.
  std::vector<const PassDef*> wanted;
  std::set<const PassDef*> seen, open;
  const auto add = [&](auto&& self, const PassDef& pass) -> void {
    if (seen.contains(&pass)) return;
    if (!open.insert(&pass).second)
      fail(ErrorCode::failed_precondition, "pass {} depends on itself", pass.name);
    for (const std::string_view needed : pass.depend) self(self, pass_of(needed));
    open.erase(&pass);
    seen.insert(&pass);
    wanted.push_back(&pass);
  };
  for (const std::string& name : names) add(add, pass_of(name));

  // Repeatedly takes the first remaining pass that no other remaining pass must precede.
  std::vector<const PassDef*> sorted;
  while (!wanted.empty()) {
    const auto is_ready = [&](const PassDef* pass) {
      return std::none_of(wanted.begin(), wanted.end(), [&](const PassDef* other) {
        return other != pass &&
               (contains(other->before, pass->name) || contains(pass->depend, other->name));
      });
    };
    const auto next = std::find_if(wanted.begin(), wanted.end(), is_ready);
    if (next == wanted.end())
      fail(ErrorCode::failed_precondition, "the order of passes {} and {} contradicts itself",
           wanted[0]->name, wanted[1]->name);
    sorted.push_back(*next);
    wanted.erase(next);
  }
  check_order(sorted);
  return sorted;
}

}  // namespace poprt::passes
