#include "model/pass_history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "compiler/branches.h"
#include "compiler/fuse_graphs.h"
#include "ir/placement.h"
#include "model/branch_names.h"
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

// What the compiler does to a graph besides passes (compiler/flow/specialize.h).
constexpr const char* kBetweenPasses = "control flow";

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
    // Not every change is a pass's.
    if (report.rewrites == 0 && report.nodes_before != to_.steps.back().nodes_after)
      add({kBetweenPasses, 0, 0, to_.steps.back().nodes_after, report.nodes_before}, graph, stage);
    add(report, graph, stage);
  }

  void check() const {
    if (cancel_ && cancel_->load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "compiling was cancelled");
  }

 private:
  void add(const passes::PassReport& report, const ir::Graph& graph, const char* stage) {
    PassStep step;
    step.name = report.name;
    if (const passes::PassDef* def = passes::find_pass(report.name)) step.summary = def->summary;
    if (report.name == kBetweenPasses)
      step.summary = "takes the branches and writes out the loops that are known beforehand";
    step.stage = stage;
    step.rewrites = report.rewrites;
    step.milliseconds = report.milliseconds;
    step.nodes_before = report.nodes_before;
    step.nodes_after = report.nodes_after;
    step.graph = to_.steps.back().graph;
    if (report.rewrites > 0 || report.nodes_before != report.nodes_after) {
      auto made = std::make_shared<GraphModel>(graph);
      step.changes = std::make_shared<GraphChanges>(changes_between(*step.graph, *made));
      step.added = step.changes->added;
      step.changed = step.changes->changed;
      step.removed = step.changes->removed.size();
      step.graph = std::move(made);
    }
    to_.steps.push_back(std::move(step));
  }

  Compilation& to_;
  const std::atomic<bool>* cancel_;
};

}  // namespace

GraphChanges changes_between(const GraphModel& before, const GraphModel& after) {
  GraphChanges changes;
  std::unordered_map<std::string, int> old, old_names;
  for (size_t i = 0; i < before.nodes().size(); i++)
    old.emplace(key_of(before, before.nodes()[i]), static_cast<int>(i));
  std::vector<bool> kept(before.nodes().size());
  for (const GraphNode& n : after.nodes()) {
    const auto found = old.find(key_of(after, n));
    changes.before.push_back(found == old.end() ? kNone : found->second);
    if (found != old.end()) kept[static_cast<size_t>(found->second)] = true;
  }
  for (size_t i = 0; i < before.nodes().size(); i++)
    if (!kept[i]) old_names.emplace(before.nodes()[i].name, static_cast<int>(i));
  for (size_t i = 0; i < after.nodes().size(); i++) {
    const GraphNode& n = after.nodes()[i];
    int& was = changes.before[i];
    if (was == kNone)
      if (const auto found = old_names.find(n.name);
          found != old_names.end() && before.node(found->second).kind == n.kind) {
        was = found->second;
        kept[static_cast<size_t>(was)] = true;
        old_names.erase(found);
      }
    Change change = Change::none;
    if (was == kNone) {
      change = Change::added;
      changes.added++;
    } else if (contents(before, before.node(was)) != contents(after, n)) {
      change = Change::changed;
      changes.changed++;
    }
    changes.after.push_back(change);
  }
  for (size_t i = 0; i < kept.size(); i++)
    if (!kept[i]) changes.removed.push_back(static_cast<int>(i));
  return changes;
}

namespace {

// Model by model, as poprt does.
compiler::Executable compile_fused(const ir::Graph& graph, const compiler::Options& options) {
  std::vector<compiler::Executable> parts;
  const std::vector<std::string> names = compiler::fused_names(graph);
  for (size_t k = 0; k < names.size(); k++) {
    const auto part = compiler::split_graph(graph, k);
    compiler::Options own = options;
    own.after_pass = nullptr;
    std::erase_if(own.input_shape, [&](const auto& shape) {
      return !shape.first.starts_with(compiler::graph_prefix(k));
    });
    compiler::convert(*part, own);
    parts.push_back(compiler::compile(*part, own));
  }
  return compiler::link_graphs(parts, names);
}

}  // namespace

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
    if (compiler::fused_graphs(graph) > 0) executable = compile_fused(graph, options);
    made.program = std::make_shared<program::Program>(std::move(executable.program));
    made.weights = std::move(executable.weights);
    made.notes = std::move(executable.notes);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::cancelled) throw;
    made.error = printable(e.what());
  } catch (const std::exception& e) {
    made.error = printable(e.what());
  }
  return made;
}

namespace {

// Where a picture's rows and columns are when the model leaves both open.
bool is_side_of_picture(const Shape& shape, size_t d) {
  if (shape.size() != 4) return false;
  const auto colours = [](int64_t n) { return n == 1 || n == 3; };
  const size_t first = colours(shape[1]) ? 2 : colours(shape[3]) ? 1 : 4;
  return (d == first || d == first + 1) && first < 4 && shape[first] < 0 && shape[first + 1] < 0;
}

Shape shape_for_looking(const Shape& open) {
  constexpr int64_t kPicture = 224;
  Shape shape = open;
  for (size_t d = 0; d < shape.size(); d++)
    if (open[d] < 0) shape[d] = is_side_of_picture(open, d) ? kPicture : 1;
  return shape;
}

bool is_open(const ir::Value* input) { return input->type.has_shape && !is_static(input->shape()); }

void check_chosen(const ir::Graph& graph, const std::string& name, const Shape& shape) {
  const auto inputs = graph.inputs();
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const ir::Value* v) { return v->name() == name; });
  if (found == inputs.end())
    fail(ErrorCode::invalid_argument, "the model has no input '{}'", printable(name));
  const ir::ValueType& type = (*found)->type;
  bool fits = !type.has_shape || shape.size() == type.shape.size();
  for (size_t d = 0; fits && type.has_shape && d < shape.size(); d++)
    fits = type.shape[d] < 0 || shape[d] == type.shape[d];
  if (!fits)
    fail(ErrorCode::invalid_argument, "input '{}' is {}, which {} does not fit", printable(name),
         ir::type_string(type), dimensions_text(shape));
}

}  // namespace

std::shared_ptr<const ProgramModel> program_model(const Compilation& compilation) {
  if (!compilation.program) return nullptr;
  const auto blob = compilation.notes.find(compiler::kBranches);
  return std::make_shared<ProgramModel>(*compilation.program, blob == compilation.notes.end()
                                                                  ? std::vector<std::string>()
                                                                  : branch_names(blob->second));
}

ChosenShapes read_shapes(std::string_view words) {
  ChosenShapes shapes;
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    const std::string_view word = words.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const size_t equal = word.rfind('=');
    bool good = equal != word.npos && equal > 0;
    Shape shape;
    for (size_t at = good ? equal + 1 : word.size(); at < word.size();) {
      const size_t comma = std::min(word.find(',', at), word.size());
      int64_t size = 0;
      const auto [stop, error] = std::from_chars(word.data() + at, word.data() + comma, size);
      good = good && error == std::errc() && stop == word.data() + comma && size >= 0;
      shape.push_back(size);
      at = comma + 1;
    }
    if (!good)
      fail(ErrorCode::invalid_argument, "expected NAME=1,3,224,224, found '{}'", printable(word));
    shapes[std::string(word.substr(0, equal))] = std::move(shape);
  }
  return shapes;
}

std::string shapes_text(const ir::Graph& graph, const ChosenShapes& chosen) {
  std::string text;
  for (const ir::Value* input : graph.inputs()) {
    if (!is_open(input)) continue;
    const auto found = chosen.find(input->name());
    const Shape shape = found != chosen.end() ? found->second : shape_for_looking(input->shape());
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", input->name(), fmt::join(shape, ","));
  }
  return text;
}

compiler::Options options_for_looking(const ir::Graph& graph, std::string& assumed,
                                      const ChosenShapes& chosen) {
  compiler::Options options;
  for (const auto& [name, shape] : chosen) {
    check_chosen(graph, name, shape);
    options.input_shape[name] = shape;
  }
  for (const ir::Value* input : graph.inputs()) {
    if (!is_open(input) || chosen.contains(input->name())) continue;
    Shape shape = shape_for_looking(input->shape());
    assumed +=
        (assumed.empty() ? "" : ", ") + printable(input->name()) + "=" + dimensions_text(shape);
    options.input_shape[input->name()] = std::move(shape);
  }
  // As the model is cut for several IPUs.
  int64_t stages = 0;
  for (const ir::Node* node : graph.nodes()) {
    std::optional<ir::Seat> seat;
    try {
      seat = ir::seat_of(*node);
    } catch (const Error&) {  // compiling says what is wrong with it
    }
    if (!seat) continue;
    options.num_ipus = std::max(options.num_ipus, seat->ipu + 1);
    stages = std::max(stages, seat->stage + 1);
  }
  if (options.num_ipus == 1 && stages == 0) return options;
  options.virtual_graph = compiler::VirtualGraph::manual;
  options.pipelining = stages > 0;
  options.batches_per_step = std::max<int64_t>(1, stages);
  assumed += (assumed.empty() ? "" : ", ") +
             counted(static_cast<uint64_t>(options.num_ipus), "IPU") +
             (stages > 0 ? " and " + counted(static_cast<uint64_t>(stages), "stage") : "");
  return options;
}

namespace {

// The node after a step that does what `gone` did before it: the nearest one below it that the step
// made or changed, through others that are gone; else the nearest above. kNone when there is none.
int heir_of(const GraphModel& before, const GraphChanges& changes, int gone) {
  std::unordered_map<int, int> now;
  for (size_t i = 0; i < changes.before.size(); i++)
    if (changes.before[i] != kNone) now.emplace(changes.before[i], static_cast<int>(i));
  for (const bool down : {true, false}) {
    std::unordered_set<int> seen = {gone};
    std::vector<int> wave = {gone};
    for (size_t at = 0; at < wave.size(); at++)
      for (const int next : down ? before.successors(wave[at]) : before.predecessors(wave[at])) {
        if (!seen.insert(next).second) continue;
        const auto found = now.find(next);
        if (found == now.end())
          wave.push_back(next);
        else if (changes.after[static_cast<size_t>(found->second)] != Change::none &&
                 before.node(next).kind == NodeKind::op)
          return found->second;
      }
  }
  return kNone;
}

}  // namespace

std::vector<NodeEvent> history_of(const Compilation& compilation, int step, int node) {
  const auto& steps = compilation.steps;
  const auto graph = [&](int at) -> const GraphModel& {
    return *steps[static_cast<size_t>(at)].graph;
  };
  std::vector<NodeEvent> events;
  int now = node;
  // Back to where it began.
  for (int at = step;; at--) {
    const PassStep& pass = steps[static_cast<size_t>(at)];
    if (at > 0 && !pass.changes) continue;
    const GraphNode& n = graph(at).node(now);
    if (at == 0) {
      events.push_back({0, Change::added, "", n.name, n.op});
      break;
    }
    const GraphChanges& changes = *pass.changes;
    const Change change = changes.after[static_cast<size_t>(now)];
    const int was = changes.before[static_cast<size_t>(now)];
    if (change != Change::none)
      events.push_back({at, change, was == kNone ? "" : graph(at - 1).node(was).op, n.name, n.op});
    if (was == kNone) break;
    now = was;
  }
  std::reverse(events.begin(), events.end());
  now = node;
  for (int at = step + 1; at < static_cast<int>(steps.size()); at++) {
    const auto& changed = steps[static_cast<size_t>(at)].changes;
    if (!changed) continue;
    const GraphModel& before = graph(at - 1);
    const GraphChanges& changes = *changed;
    const auto found = std::find(changes.before.begin(), changes.before.end(), now);
    const std::string was = before.node(now).op;
    Change change = Change::removed;
    if (found != changes.before.end()) {
      now = static_cast<int>(found - changes.before.begin());
      change = changes.after[static_cast<size_t>(now)];
    } else {
      now = heir_of(before, changes, now);
    }
    if (change == Change::none) continue;
    if (now == kNone) {
      events.push_back({at, Change::removed, was, "", ""});
      break;
    }
    events.push_back({at, change, was, graph(at).node(now).name, graph(at).node(now).op});
  }
  return events;
}

std::string event_text(const NodeEvent& e) {
  if (e.step == 0) return "in the model as " + e.op;
  if (e.change == Change::added) return "made it: " + e.op;
  if (e.change == Change::changed)
    return e.was == e.op ? "changed its inputs, attributes or types" : e.was + " became " + e.op;
  return e.node.empty()
             ? "took it away: nothing needs it"
             : fmt::format("took {} away: fused into, or bypassed by, {} {}", e.was, e.op, e.node);
}

}  // namespace poprt::inspector
