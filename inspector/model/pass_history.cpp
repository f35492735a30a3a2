#include "model/pass_history.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "model/format.h"
#include "ops/op.h"

namespace poprt::inspector {
namespace {

const std::string& identity(const GraphModel& graph, const GraphNode& node) {
  if (!node.outputs.empty() && node.kind != NodeKind::output)
    return graph.value(node.outputs[0]).name;
  return node.name;
}

std::string key_of(const GraphModel& graph, const GraphNode& node) {
  return (node.kind == NodeKind::output ? "output " : "node ") + identity(graph, node);
}

// Everything that a reader of the node would notice.
std::string contents(const GraphModel& graph, const GraphNode& node) {
  std::string text = node.op;
  for (const int v : node.inputs)
    text += v == kNone ? "|_" : "|" + graph.value(v).name + graph.value(v).type;
  for (const int v : node.outputs)
    text += v == kNone ? "|_" : "|" + graph.value(v).name + graph.value(v).type;
  for (const auto& [key, value] : node.attributes) text += "|" + key + "=" + value;
  return text;
}

class Recorder {
 public:
  Recorder(Compilation& to, const std::atomic<bool>* cancel) : to_(to), cancel_(cancel) {}

  void start(const ir::Graph& graph) {
    PassStep step;
    step.name = "model";
    step.summary = "the model as it was read";
    step.stage = "model";
    step.graph = std::make_shared<GraphModel>(graph);
    step.nodes_before = step.nodes_after = graph.node_count();
    to_.steps.push_back(std::move(step));
  }

  void after(const passes::PassReport& report, const ir::Graph& graph, const char* stage) {
    check();
    PassStep step;
    step.name = report.name;
    if (const passes::PassDef* def = passes::find_pass(report.name)) step.summary = def->summary;
    step.stage = stage;
    step.rewrites = report.rewrites;
    step.milliseconds = report.milliseconds;
    step.nodes_before = report.nodes_before;
    step.nodes_after = report.nodes_after;
    step.graph = to_.steps.back().graph;
    if (report.rewrites > 0 || report.nodes_before != report.nodes_after) {
      auto made = std::make_shared<GraphModel>(graph);
      const GraphChanges changes = changes_between(*step.graph, *made);
      step.added = changes.added;
      step.changed = changes.changed;
      step.removed = changes.removed.size();
      step.graph = std::move(made);
    }
    to_.steps.push_back(std::move(step));
  }

  void check() const {
    if (cancel_ && cancel_->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "compiling was cancelled");
  }

 private:
  Compilation& to_;
  const std::atomic<bool>* cancel_;
};

}  // namespace

GraphChanges changes_between(const GraphModel& before, const GraphModel& after) {
  GraphChanges changes;
  std::unordered_map<std::string, const GraphNode*> old;
  for (const GraphNode& n : before.nodes()) old.emplace(key_of(before, n), &n);
  std::unordered_set<std::string> kept;
  for (const GraphNode& n : after.nodes()) {
    const std::string key = key_of(after, n);
    const auto found = old.find(key);
    Change change = Change::none;
    if (found == old.end()) {
      change = Change::added;
      changes.added++;
    } else if (contents(before, *found->second) != contents(after, n)) {
      change = Change::changed;
      changes.changed++;
    }
    kept.insert(key);
    changes.after.push_back(change);
  }
  for (size_t i = 0; i < before.nodes().size(); i++)
    if (!kept.contains(key_of(before, before.nodes()[i])))
      changes.removed.push_back(static_cast<int>(i));
  return changes;
}

Compilation compile_with_history(const ir::Graph& graph, const compiler::Options& given,
                                 const std::atomic<bool>* cancel,
                                 const std::function<void(double, std::string_view)>& progress) {
  Compilation made;
  Recorder recorder(made, cancel);
  compiler::Options options = given;
  const char* stage = "convert";
  options.after_pass = [&](const passes::PassReport& r, const ir::Graph& g) {
    recorder.after(r, g, stage);
  };
  options.progress = [&](double done, std::string_view what) {
    recorder.check();
    if (progress) progress((std::string_view(stage) == "convert" ? 0 : 0.5) + done / 2, what);
  };
  try {
    recorder.start(graph);
    const auto copy = graph.clone();
    compiler::convert(*copy, options);
    stage = "compile";
    auto executable = compiler::compile(*copy, options);
    made.program = std::make_shared<program::Program>(std::move(executable.program));
    made.weights = std::move(executable.weights);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::cancelled) throw;
    made.error = printable(e.what());
  } catch (const std::exception& e) {
    made.error = printable(e.what());
  }
  return made;
}

compiler::Options options_for_looking(const ir::Graph& graph, std::string& assumed) {
  compiler::Options options;
  for (const ir::Value* input : graph.inputs()) {
    if (!input->type.has_shape || is_static(input->shape())) continue;
    Shape shape = input->shape();
    for (int64_t& d : shape)
      if (d < 0) d = 1;
    assumed +=
        (assumed.empty() ? "" : ", ") + printable(input->name()) + "=" + dimensions_text(shape);
    options.input_shape[input->name()] = std::move(shape);
  }
  return options;
}

int step_that_made(const Compilation& compilation, std::string_view output) {
  for (size_t i = 0; i < compilation.steps.size(); i++) {
    if (i > 0 && compilation.steps[i].graph == compilation.steps[i - 1].graph) continue;
    const GraphModel& g = *compilation.steps[i].graph;
    for (const GraphNode& n : g.nodes())
      if (n.kind != NodeKind::output && !n.outputs.empty() && g.value(n.outputs[0]).name == output)
        return static_cast<int>(i);
  }
  return -1;
}

}  // namespace poprt::inspector
