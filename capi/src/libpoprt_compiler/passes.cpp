#include "passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "compiler/pass_listing.h"
#include "onnx/export.h"
#include "ops/op.h"
#include "passes/common/custom.h"
#include "passes/pass.h"
#include "plugins/registry.h"

namespace poprt::capi {
namespace {

// The parameter with the path of a model, of passes that compare.
constexpr std::string_view kOrigin = "origin_model";

std::vector<passes::PassCall> read_calls(std::span<const poprt_pass_call> given) {
  std::vector<passes::PassCall> calls;
  for (const poprt_pass_call& c : given) {
    passes::PassCall call{&passes::pass_of(c.name)};
    for (const poprt_option& a : std::span(c.arguments, c.argument_count))
      if (!call.arguments.emplace(a.name, a.value).second)
        fail(ErrorCode::invalid_argument, "pass {}: parameter {} is given twice", c.name, a.name);
    // The result is not used: running the passes checks again, and a default may be a value that
    // users must not give.
    passes::checked_arguments(*call.pass, call.arguments);
    calls.push_back(std::move(call));
  }
  return calls;
}

// Returns the calls in the order of sort_passes. Added passes have no arguments.
std::vector<passes::PassCall> sorted(const std::vector<passes::PassCall>& calls) {
  std::vector<std::string> names;
  for (const passes::PassCall& c : calls) names.emplace_back(c.pass->name);
  std::vector<passes::PassCall> out;
  for (const passes::PassDef* pass : passes::sort_passes(names)) {
    bool given = false;
    for (const passes::PassCall& c : calls) {
      if (c.pass != pass) continue;
      out.push_back(c);
      given = true;
    }
    if (!given) out.push_back({pass});
  }
  return out;
}

// Infers types. The results of unknown operators, such as custom ones, keep an unknown type.
void infer_known(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, infer_known);
    if (ops::find_op(n->domain, n->op_type, n->opset())) ops::infer(*n);
  }
}

// Returns the model that a pass of the list compares with, or null.
std::unique_ptr<ir::Graph> import_origin(const std::vector<passes::PassCall>& calls) {
  for (const passes::PassCall& c : calls) {
    const auto path = c.arguments.find(kOrigin);
    if (path == c.arguments.end() || path->second.empty()) continue;
    auto graph = compiler::read_model({.path = path->second});
    ops::infer(*graph);
    return graph;
  }
  return nullptr;
}

}  // namespace

void apply_passes(const poprt_library_source* source, const poprt_pass_call* passes,
                  size_t pass_count, const poprt_apply_options* options,
                  const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const poprt_apply_options& o = *options;
    std::vector<passes::PassCall> calls = read_calls({passes, pass_count});
    if (o.sort) calls = sorted(calls);
    if (!source->data) return;
    const auto graph =
        compiler::read_model(model_source(*source), o.allow_links != 0, o.strict != 0);
    infer_known(*graph);
    const auto origin = import_origin(calls);
    passes::PassManagerOptions manager;
    manager.verify_each = o.no_verify == 0;
    if (o.rewrite_limit) manager.rewrite_limit = o.rewrite_limit;
    manager.origin = origin.get();
    size_t next = 0;
    if (o.text)
      manager.print = [&](std::string_view text) {
        o.text(std::string(calls[next].pass->name).c_str(), std::string(text).c_str(), o.user_data);
      };
    manager.after_each = [&](const passes::PassReport& r, const ir::Graph&) {
      next++;
      if (o.after_pass)
        o.after_pass(r.name.c_str(), r.rewrites, r.milliseconds,
                     static_cast<int64_t>(r.nodes_before), static_cast<int64_t>(r.nodes_after),
                     o.user_data);
    };
    passes::run_passes(*graph, calls, manager);
    write(*sink, onnx::export_bytes(*graph));
  });
}

void list_passes_json(const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] { write(*sink, compiler::passes_json()); });
}

void sort_passes(const char* const* names, size_t count, const poprt_library_sink* sink,
                 poprt_library_error* error) {
  library_guard(error, [&] {
    const std::vector<std::string> wanted(names, names + count);
    std::string text;
    for (const passes::PassDef* pass : passes::sort_passes(wanted))
      text += fmt::format("{}\n", pass->name);
    write(*sink, text);
  });
}

void list_passes(const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    const auto own = passes::all_passes();
    std::vector<const passes::PassDef*> all(own.begin(), own.end());
    const auto custom = passes::custom_passes();
    all.insert(all.end(), custom.begin(), custom.end());
    size_t width = 0;
    for (const passes::PassDef* p : all) width = std::max(width, p->name.size());
    std::string text;
    for (const passes::PassDef* p : all)
      text += fmt::format("{:<{}}  {}\n", p->name, width, p->summary);
    write(*sink, text);
  });
}

void list_ops(const poprt_library_sink* sink, poprt_library_error* error) {
  library_guard(error, [&] {
    std::string text;
    for (const ops::OpDef* op : ops::all_ops()) {
      const std::string name =
          op->domain.empty() ? std::string(op->name) : fmt::format("{}.{}", op->domain, op->name);
      text += op->until < (1 << 30) ? fmt::format("{} {}-{}\n", name, op->since, op->until)
                                    : fmt::format("{} {}+\n", name, op->since);
    }
    for (const plugins::Library* library : plugins::libraries())
      for (const poprt_operator& op : library->operators)
        text += fmt::format("{}.{} 1+\n", op.domain, op.name);
    write(*sink, text);
  });
}

namespace {

void check_passes(const poprt_plugin_contents& contents) {
  for (const poprt_pass& pass : std::span(contents.passes, contents.pass_count)) {
    try {
      passes::check_defaults(pass);
    } catch (const Error& e) {  // the user's options are correct
      fail(ErrorCode::failed_precondition, "{}", e.message());
    }
    for (const passes::PassDef* own : passes::all_passes())
      if (passes::is_called(*own, pass.name))
        fail(ErrorCode::already_exists, "pass '{}' is one of poprt's own, give yours another name",
             pass.name);
  }
}

}  // namespace

void adopt_plugin(const poprt_plugin_contents* contents, poprt_library_error* error) {
  library_guard(error, [&] {
    try {
      check_passes(*contents);
    } catch (const Error& e) {
      fail(e.code(), "plug-in '{}': {}", contents->path, e.message());
    }
    plugins::adopt(*contents);
  });
}

void check_plugin(const poprt_plugin_contents* contents, poprt_library_error* error) {
  library_guard(error, [&] { check_passes(*contents); });
}

}  // namespace poprt::capi
