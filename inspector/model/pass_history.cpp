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
#include "compiler/shard.h"
#include "model/format.h"
#include "model/node_names.h"
#include "model/variant_names.h"
#include "ops/op.h"

namespace poprt::inspector {
namespace {

// Name of the compiler's changes to a graph outside of passes (compiler/flow/specialize.h).
constexpr const char* kBetweenPasses = "control flow";
constexpr const char* kModelStage = "model";
constexpr const char* kInference = "shape_inference";

// The inputs and outputs of branches and bodies are no nodes of the model.
bool is_counted(const GraphNode& n) { return n.kind == NodeKind::op || n.group == kRoot; }

class Recorder {
 public:
  Recorder(Compilation& to, const std::atomic<bool>* cancel) : to_(to), cancel_(cancel) {}

  void start(const ir::Graph& graph, const std::string& part = "") {
    PassStep step;
    step.name = part.empty() ? "model" : part;
    step.summary =
        part.empty() ? "the original model" : "start of a part that is compiled separately";
    step.stage = kModelStage;
    step.graph = std::make_shared<GraphModel>(graph);
    step.nodes_before = step.nodes_after = step.graph->operator_count();
    outer_nodes_ = graph.node_count();
    to_.steps.push_back(std::move(step));
  }

  void after(const passes::PassReport& report, const ir::Graph& graph, const char* stage) {
    check();
    // The compiler may have changed the graph between two passes.
    if (report.rewrites == 0 && report.nodes_before != outer_nodes_)
      add({kBetweenPasses, 0, 0, outer_nodes_, report.nodes_before}, graph, stage);
    add(report, graph, stage);
    outer_nodes_ = report.nodes_after;
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
    step.graph = to_.steps.back().graph;
    step.nodes_before = step.graph->operator_count();
    if (report.rewrites > 0 || report.nodes_before != report.nodes_after) {
      auto made = std::make_shared<GraphModel>(graph);
      step.changes = std::make_shared<GraphChanges>(changes_between(*step.graph, *made));
      step.changed = step.changes->changed;
      for (size_t i = 0; i < made->nodes().size(); i++)
        step.added += step.changes->after[i] == Change::added && is_counted(made->nodes()[i]);
      for (const int n : step.changes->removed) step.removed += is_counted(step.graph->node(n));
      step.graph = std::move(made);
    } else if (report.name == kInference) {
      // Types that follow from given shapes must not count as changes of the next pass.
      auto made = std::make_shared<GraphModel>(graph);
      if (changes_between(*step.graph, *made).changed > 0) step.graph = std::move(made);
    }
    step.nodes_after = step.graph->operator_count();
    to_.steps.push_back(std::move(step));
  }

  Compilation& to_;
  size_t outer_nodes_ = 0;  // of the graph itself after the last step
  const std::atomic<bool>* cancel_;
};

}  // namespace

Compilation compile_with_history(const ir::Graph& graph, const compiler::DriverOptions& given,
                                 const std::atomic<bool>* cancel,
                                 const std::function<void(double, std::string_view)>& progress) {
  Compilation made;
  Recorder recorder(made, cancel);
  compiler::DriverOptions options = given;
  const char* stage = "convert";
  options.begins = [&](const compiler::Part& part, const ir::Graph& g) {
    stage = "convert";
    if (part.count > 1) recorder.start(g, printable(part.name));
  };
  options.converted = [&](const compiler::Part&, const ir::Graph&) { stage = "compile"; };
  options.after_pass = [&](const passes::PassReport& r, const ir::Graph& g) {
    recorder.after(r, g, stage);
  };
  options.check_stopped = [&] { recorder.check(); };
  options.progress = progress;
  try {
    auto named = with_unique_names(graph);
    recorder.start(*named);
    auto executable = compiler::compile_model(std::move(named), options);
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

// Whether dimension `d` is the height or the width of a picture, both of which are variable.
bool is_side_of_picture(const Shape& shape, size_t d) {
  if (shape.size() != 4) return false;
  const auto colours = [](int64_t n) { return n == 1 || n == 3; };
  const size_t first = colours(shape[1]) ? 2 : colours(shape[3]) ? 1 : 4;
  return (d == first || d == first + 1) && first < 4 && shape[first] < 0 && shape[first + 1] < 0;
}

Shape shape_for_inspection(const Shape& open) {
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
    fail(ErrorCode::invalid_argument, "input '{}' is {}, which does not match {}", printable(name),
         ir::type_string(type), dimensions_text(shape));
}

}  // namespace

std::shared_ptr<const ProgramModel> program_model(const Compilation& compilation) {
  if (!compilation.program) return nullptr;
  const auto blob = compilation.notes.find(compiler::kVariants);
  return std::make_shared<ProgramModel>(*compilation.program, blob == compilation.notes.end()
                                                                  ? std::vector<std::string>()
                                                                  : variant_names(blob->second));
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
    std::vector<Shape> list(1);
    for (size_t at = good ? equal + 1 : word.size(); at < word.size();) {
      const size_t stop = std::min(word.find_first_of(",/", at), word.size());
      int64_t size = 0;
      const auto [last, error] = std::from_chars(word.data() + at, word.data() + stop, size);
      good = good && error == std::errc() && last == word.data() + stop && size >= 0;
      list.back().push_back(size);
      at = stop + 1;
      if (stop == word.size() || word[stop] == ',') continue;
      list.emplace_back();
      good = good && at < word.size();
    }
    if (!good)
      fail(ErrorCode::invalid_argument, "expected NAME=1,3,224,224, found '{}'", printable(word));
    auto& own = shapes[std::string(word.substr(0, equal))];
    own.insert(own.end(), list.begin(), list.end());
  }
  return shapes;
}

std::string shapes_text(const ir::Graph& graph, const ChosenShapes& chosen) {
  std::string text;
  for (const ir::Value* input : graph.inputs()) {
    if (!is_open(input)) continue;
    text += fmt::format("{}{}=", text.empty() ? "" : " ", input->name());
    const auto found = chosen.find(input->name());
    if (found == chosen.end()) {
      text += fmt::format("{}", fmt::join(shape_for_inspection(input->shape()), ","));
      continue;
    }
    for (size_t i = 0; i < found->second.size(); i++)
      text += fmt::format("{}{}", i ? "/" : "", fmt::join(found->second[i], ","));
  }
  return text;
}

compiler::DriverOptions options_for_inspection(const ir::Graph& graph, std::string& assumed,
                                               const ChosenShapes& chosen) {
  compiler::DriverOptions options;
  ChosenShapes shapes = chosen;
  for (const auto& [name, list] : chosen)
    for (const Shape& shape : list) check_chosen(graph, name, shape);
  for (const ir::Value* input : graph.inputs()) {
    if (!is_open(input) || chosen.contains(input->name())) continue;
    Shape shape = shape_for_inspection(input->shape());
    assumed +=
        (assumed.empty() ? "" : ", ") + printable(input->name()) + "=" + dimensions_text(shape);
    shapes[input->name()] = {std::move(shape)};
  }
  options.shapes = compiler::shape_sets_of(shapes);
  options.use_assigned_ipus = true;
  const compiler::Cuts cuts = compiler::cuts_of(graph);
  if (cuts.ipus == 1 && cuts.stages == 0) return options;
  assumed +=
      (assumed.empty() ? "" : ", ") + counted(static_cast<uint64_t>(cuts.ipus), "IPU") +
      (cuts.stages > 0 ? " and " + counted(static_cast<uint64_t>(cuts.stages), "stage") : "");
  return options;
}

std::string error_with_assumed(const std::string& error, const std::string& assumed) {
  if (error.empty() || assumed.empty()) return error;
  return fmt::format(
      "{}; open dimensions were assumed ({}): --input_shape, or the field in the window, gives "
      "others",
      error, assumed);
}

namespace {

// Returns the node after a step that replaces node `gone`: the nearest node below it that the step
// added or changed, also through other removed nodes, else the nearest one above. Returns kNone if
// there is none.
int replacement_of(const GraphModel& before, const GraphChanges& changes, int gone) {
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

namespace {

// Whether the step only marks the start of another compiled part.
bool begins_part(const PassStep& step) { return step.stage == kModelStage; }

// Appends the changes to node `now` in the steps after `step`, up to the end of its part.
void follow(const Compilation& compilation, int step, int now, std::vector<NodeEvent>& events) {
  const auto& steps = compilation.steps;
  const auto graph = [&](int at) -> const GraphModel& {
    return *steps[static_cast<size_t>(at)].graph;
  };
  for (int at = step + 1; at < static_cast<int>(steps.size()); at++) {
    const PassStep& pass = steps[static_cast<size_t>(at)];
    if (begins_part(pass)) return;
    if (!pass.changes) continue;
    const GraphModel& before = graph(at - 1);
    const GraphChanges& changes = *pass.changes;
    const auto found = std::find(changes.before.begin(), changes.before.end(), now);
    const std::string was = before.node(now).op;
    Change change = Change::removed;
    if (found != changes.before.end()) {
      now = static_cast<int>(found - changes.before.begin());
      change = changes.after[static_cast<size_t>(now)];
    } else {
      now = replacement_of(before, changes, now);
    }
    if (change == Change::none) continue;
    if (now == kNone) {
      events.push_back({at, Change::removed, was, "", ""});
      return;
    }
    events.push_back({at, change, was, graph(at).node(now).name, graph(at).node(now).op});
  }
}

// Follows node `now` of the original model through each part that contains it.
void follow_parts(const Compilation& compilation, int now, std::vector<NodeEvent>& events) {
  const auto& steps = compilation.steps;
  for (size_t at = 1; at < steps.size(); at++) {
    if (!begins_part(steps[at])) continue;
    const GraphModel& graph = *steps[at].graph;
    const auto before = changes_between(*steps[0].graph, graph).before;
    const auto found = std::find(before.begin(), before.end(), now);
    if (found == before.end()) continue;
    const auto own = static_cast<int>(found - before.begin());
    const GraphNode& n = graph.node(own);
    events.push_back({static_cast<int>(at), Change::added, "", n.name, n.op, true});
    follow(compilation, static_cast<int>(at), own, events);
  }
}

}  // namespace

std::vector<NodeEvent> history_of(const Compilation& compilation, int step, int node) {
  const auto& steps = compilation.steps;
  const auto graph = [&](int at) -> const GraphModel& {
    return *steps[static_cast<size_t>(at)].graph;
  };
  std::vector<NodeEvent> events;
  int now = node;
  // Walks back to the step that added the node.
  for (int at = step;; at--) {
    const PassStep& pass = steps[static_cast<size_t>(at)];
    const bool first = at == 0 || begins_part(pass);
    if (!first && !pass.changes) continue;
    const GraphNode& n = graph(at).node(now);
    if (first) {
      events.push_back({at, Change::added, "", n.name, n.op, true});
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
  follow(compilation, step, node, events);
  if (step == 0) follow_parts(compilation, node, events);
  return events;
}

std::string event_text(const NodeEvent& e) {
  if (e.origin || e.step == 0) return "in the model as " + e.op;
  if (e.change == Change::added) return "made it: " + e.op;
  if (e.change == Change::changed)
    return e.was == e.op ? "changed its inputs, attributes or types" : e.was + " became " + e.op;
  return e.node.empty()
             ? "removed it because it is unused"
             : fmt::format("removed {}: fused into, or bypassed by, {} {}", e.was, e.op, e.node);
}

}  // namespace poprt::inspector
