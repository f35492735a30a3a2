#include "views/details_panel.h"

#include <fmt/format.h>

#include <cmath>

#include "model/format.h"
#include "model/graph_query.h"
#include "views/ui.h"

namespace poprt::inspector {

void DetailsPanel::draw(GraphView& view, const std::shared_ptr<const Compilation>& compilation,
                        int step, ImVec2 size) {
  ImGui::BeginChild("details", size, true);
  if (view.graph() != graph_) forget_graph(view.graph());
  if (history_of_.compilation != compilation) history_of_ = {};
  if (view.graph()) {
    if (view.selected() != kNone)
      draw_node(view, compilation, step);
    else if (overview)
      draw_overview(view);
    else
      ui::dim_text("Select a node to see which passes added and changed it");
  }
  ImGui::EndChild();
}

// Indices of nodes and values belong to one graph.
void DetailsPanel::forget_graph(std::shared_ptr<const GraphModel> graph) {
  graph_ = std::move(graph);
  node_ = value_ = kNone;
  documented_ = kNone;
  history_of_ = {};
}

// Lists the nodes that a search found, while no node is selected.
void DetailsPanel::draw_found(GraphView& view) {
  constexpr size_t kMostListed = 100;
  const auto& found = view.matches();
  if (view.search_text().empty()) return;
  ui::heading(fmt::format("Found {}", found.size()));
  ImGui::PushID("found");
  for (size_t i = 0; i < std::min(found.size(), kMostListed); i++)
    draw_pick(view, found[i], view.graph()->node(found[i]).op, view.graph()->node(found[i]).name);
  if (found.size() > kMostListed)
    ui::dim_text(fmt::format("and {} more: N goes to each", found.size() - kMostListed));
  ImGui::PopID();
}

void DetailsPanel::draw_overview(GraphView& view) {
  const GraphModel& g = *view.graph();
  draw_found(view);
  draw_renames();
  ui::heading(g.name().empty() ? "Graph" : g.name());
  ui::row("nodes", std::to_string(g.operator_count()));
  ui::row("edges", std::to_string(g.edge_count()));
  ui::row("groups", std::to_string(g.groups().size() - 1));
  ui::row("weights", bytes_text(g.weight_bytes()));
  ui::heading("Inputs and outputs");
  for (size_t i = 0; i < g.nodes().size(); i++) {
    const GraphNode& n = g.nodes()[i];
    if (n.kind == NodeKind::op || n.group != kRoot) continue;
    ImGui::PushID(static_cast<int>(i));
    if (ui::pick(n.name)) view.select(static_cast<int>(i));
    ui::fitted_dim_text("    " + n.op + "  " + n.detail);
    ImGui::PopID();
  }
  ui::heading("Operators");
  for (const auto& [op, count] : g.operator_counts()) {
    // Operators have the colours of their boxes, if boxes are coloured by operator.
    if (view.colour() == GraphColour::op) {
      ImGui::ColorButton(op.c_str(), ImGui::ColorConvertU32ToFloat4(ui::colour_of(op)),
                         ImGuiColorEditFlags_NoTooltip | ImGuiColorEditFlags_NoBorder,
                         {10 * ui::scale(), ImGui::GetTextLineHeight()});
      ImGui::SameLine();
    }
    const float at = ImGui::GetCursorPosX();
    if (ImGui::Selectable(fmt::format("{}##{}", count, op).c_str())) view.search("op:" + op);
    ui::mark(op);
    ImGui::SameLine(at + 48 * ui::scale());
    ui::text(op);
  }
  draw_slowest(view);
  ui::heading("Largest weights");
  for (const int id : largest_weights(g, 12)) {
    const GraphValue& weight = g.value(id);
    ImGui::PushID(id);
    draw_pick(view, weight.consumers[0], bytes_text(weight.bytes), weight.name,
              weight.type + "\nof ");
    ImGui::PopID();
  }
}

// A line about a node. A click selects the node.
void DetailsPanel::draw_pick(GraphView& view, int node, const std::string& first,
                             const std::string& name, const std::string& more) {
  const GraphNode& n = view.graph()->node(node);
  const float at = ImGui::GetCursorPosX(), room = 78 * ui::scale();
  if (ImGui::Selectable(fmt::format("{}##{}", ui::fitted(first, room), node).c_str()))
    view.select(node);
  ui::mark(name);
  ui::tooltip(fmt::format("{}{} {}", more, n.op, n.name));
  ImGui::SameLine(at + room + 6 * ui::scale());
  ui::fitted_text(name);
}

void DetailsPanel::draw_slowest(GraphView& view) {
  if (view.times().empty()) return;
  const bool measured = view.time_source() == TimeSource::measured;
  ui::heading(measured ? "Slowest, as profiled" : "Slowest, as estimated for the chip");
  ImGui::PushID("slowest");
  for (const int n : view.slowest(12))
    draw_pick(view, n, duration_text(view.times()[static_cast<size_t>(n)]),
              view.graph()->node(n).name);
  ImGui::PopID();
}

void DetailsPanel::draw_values(GraphView& view, const std::vector<int>& values, const char* title,
                               bool inputs) {
  const GraphModel& g = *view.graph();
  ui::heading(title);
  for (size_t i = 0; i < values.size(); i++) {
    if (values[i] == kNone) continue;
    const GraphValue& v = g.value(values[i]);
    ImGui::PushID(static_cast<int>(i) + (inputs ? 0 : 100000));
    const bool weight = v.constant.defined();
    const std::string label = fmt::format("{} {}", i, v.name.empty() ? "-" : v.name);
    if (ui::pick(label, weight && value_ == values[i])) {
      if (weight)
        value_ = values[i];
      else if (inputs && v.producer != kNone)
        view.select(v.producer);
      else if (!inputs && !v.consumers.empty())
        view.select(v.consumers[0]);
    }
    ui::mark(v.name);
    ui::tooltip(weight   ? "Click for statistics and values"
                : inputs ? "Click to go to the node that computes it"
                         : "Click to go to its reader");
    ui::fitted_dim_text(fmt::format("    {}{}{}", v.type, v.bytes ? "  " + bytes_text(v.bytes) : "",
                                    weight ? "  weight" : ""));
    ImGui::PopID();
  }
}

void DetailsPanel::draw_documentation(const GraphModel& g, int node) {
  if (documented_ != node) {
    documented_ = node;
    documentation_ = g.documentation(node);
  }
  if (g.node(node).kind != NodeKind::op) return;
  ui::heading("Documentation");
  if (!documentation_) {
    ui::dim_text("ONNX does not define this operator");
    return;
  }
  ImGui::PushTextWrapPos(0);
  constexpr size_t kBrief = 220;
  const std::string& text = documentation_->text;
  const bool brief = !all_documentation_ && text.size() > kBrief;
  ui::text(brief ? text.substr(0, text.find_last_of(" \n", kBrief)) + " …" : text);
  if (all_documentation_) {
    const std::pair<const char*, const std::vector<onnx::OperatorDoc::Item>*> lists[] = {
        {"inputs", &documentation_->inputs},
        {"outputs", &documentation_->outputs},
        {"attributes", &documentation_->attributes}};
    for (const auto& [what, items] : lists) {
      if (!items->empty()) ui::coloured_text(ui::colours().accent, what);
      for (const onnx::OperatorDoc::Item& item : *items) {
        ui::text(item.name);
        ImGui::Indent();
        ui::dim_text(item.text);
        ImGui::Unindent();
      }
    }
    ui::dim_text(fmt::format("since opset {}", documentation_->since));
  }
  ImGui::PopTextWrapPos();
  if (ui::button(all_documentation_ ? "Less" : "More", "All of the operator's documentation"))
    all_documentation_ = !all_documentation_;
}

void DetailsPanel::draw_history(const GraphView& view,
                                const std::shared_ptr<const Compilation>& compilation, int step) {
  ui::heading("Changes by passes");
  if (!compilation) {
    if (ui::button("Which pass added or changed it", "Compiles the model to show this"))
      compile_ = true;
    return;
  }
  if (HistoryOf now{compilation, step, view.selected()}; !(history_of_ == now)) {
    history_of_ = std::move(now);
    history_ = history_of(*compilation, step, view.selected());
  }
  if (history_.size() == 1 && history_[0].step == 0) ui::dim_text("No pass changed it");
  for (const NodeEvent& e : history_) {
    const PassStep& pass = compilation->steps[static_cast<size_t>(e.step)];
    ImGui::PushID(e.step);
    if (ui::button(pass.name.c_str(), "Shows the changes of this pass", e.step == step))
      wanted_ = {e.step, e.node};
    ImGui::PushTextWrapPos(0);
    ui::coloured_text(ui::colour_of(e.change), event_text(e));
    ImGui::PopTextWrapPos();
    ImGui::PopID();
  }
}

// The actions on the selected node.
void DetailsPanel::draw_buttons(GraphView& view) {
  const GraphModel& g = *view.graph();
  const GraphNode& n = g.node(view.selected());
  if (ui::button("Copy", "Everything of this node as text")) {
    std::string text = fmt::format("{} {}\n", n.op, n.name);
    for (const auto& [key, value] : n.attributes) text += fmt::format("  {} = {}\n", key, value);
    for (const int v : n.inputs)
      if (v != kNone) text += fmt::format("  in  {} : {}\n", g.value(v).name, g.value(v).type);
    for (const int v : n.outputs)
      if (v != kNone) text += fmt::format("  out {} : {}\n", g.value(v).name, g.value(v).type);
    ui::copy(text);
  }
  ImGui::SameLine();
  if (ui::button("Neighbours", "G: only the neighbourhood")) view.focus(2);
  ImGui::SameLine();
  if (ui::button("Path from here", "P: then select the other end")) view.start_path();
  if (!overview) return;
  if (ui::button("Save part", "Writes the path, the neighbourhood or the group as ONNX"))
    part_ = true;
  ImGui::SameLine();
  if (ui::button("Rename", "New names for the node, its results and its weights", renaming_))
    renaming_ = !renaming_;
  if (renaming_) draw_renaming(g, view.selected());
  draw_renames();
}

// A field for each name of the node. A field without text keeps the name.
void DetailsPanel::draw_renaming(const GraphModel& g, int node) {
  const GraphNode& n = g.node(node);
  ui::heading("New names");
  const float column = 78 * ui::scale();
  int fields = 0;  // a node may read one weight twice
  const auto name_field = [&](const char* what, std::map<std::string, std::string>& names,
                              const std::string& key, const std::string& now) {
    const float at = ImGui::GetCursorPosX();
    ImGui::AlignTextToFramePadding();
    ui::dim_text(what);
    ImGui::SameLine(at + column);
    const auto known = names.find(key);
    std::string text = known == names.end() ? "" : known->second;
    ImGui::PushID(fields++);
    const bool changed = ui::field(fmt::format("new name of {} {}", what, key).c_str(), now.c_str(),
                                   text, ImGui::GetContentRegionAvail().x);
    ImGui::PopID();
    if (!changed) return;
    if (text.empty() || text == now)
      names.erase(key);
    else
      names[key] = text;
  };
  const auto& results = n.kind == NodeKind::output ? n.inputs : n.outputs;
  if (n.kind == NodeKind::op && !results.empty() && results[0] != kNone)
    name_field("node", renames_.nodes, g.value(results[0]).name, n.name);
  for (const int v : results)
    if (v != kNone)
      name_field(n.kind == NodeKind::op ? "result" : n.op.c_str(), renames_.values, g.value(v).name,
                 g.value(v).name);
  for (const int v : n.inputs)
    if (v != kNone && g.value(v).constant.defined())
      name_field("weight", renames_.values, g.value(v).name, g.value(v).name);
}

// The new names of all nodes so far.
void DetailsPanel::draw_renames() {
  if (!overview || renames_.count() == 0) return;
  ui::heading(fmt::format("Renamed: {}", renames_.count()));
  for (const auto& [kind, names] :
       {std::pair("node of ", &renames_.nodes), std::pair("", &renames_.values)})
    for (const auto& [from, to] : *names)
      ui::fitted_text(fmt::format("{}{} → {}", kind, from, printable(to)));
  if (ui::button("Save renamed", "Writes the model with the new names as ONNX"))
    save_renamed_ = true;
  ImGui::SameLine();
  if (ui::button("Discard names", "Keeps the names of the model")) renames_ = {};
}

void DetailsPanel::draw_node(GraphView& view, const std::shared_ptr<const Compilation>& compilation,
                             int step) {
  const GraphModel& g = *view.graph();
  const GraphNode& n = g.node(view.selected());
  if (node_ != view.selected()) {
    node_ = view.selected();
    value_ = kNone;
    for (const int v : n.inputs)
      if (value_ == kNone && v != kNone && g.value(v).constant.defined()) value_ = v;
  }
  ui::heading(n.op);
  ui::row("name", n.name);
  if (n.group != kRoot) ui::row("group", g.group(n.group).path);
  if (n.weight_bytes) ui::row("weights", bytes_text(n.weight_bytes));
  if (!view.times().empty() && view.times()[static_cast<size_t>(view.selected())] > 0)
    ui::row(view.time_source() == TimeSource::measured ? "time" : "estimated time",
            duration_text(view.times()[static_cast<size_t>(view.selected())]));
  if (const Overlay* o = view.overlay();
      o && !std::isnan(o->values[static_cast<size_t>(view.selected())]))
    ui::row(o->name, fmt::format("{:.6g}", o->values[static_cast<size_t>(view.selected())]));
  draw_buttons(view);
  if (!n.attributes.empty()) {
    ui::heading("Attributes");
    for (const auto& [key, value] : n.attributes) ui::row(key, value);
  }
  if (n.kind == NodeKind::op) draw_history(view, compilation, step);
  draw_values(view, n.inputs, "Inputs", true);
  draw_values(view, n.outputs, "Outputs", false);
  draw_documentation(g, view.selected());
  if (value_ != kNone && view.selected() == node_) {
    ui::heading(g.value(value_).name);
    if (ui::button("Export .npy", "Writes the weight next to the model"))
      export_ = NamedTensor{g.value(value_).name, g.value(value_).constant};
    tensor_.draw(g.value(value_).name, g.value(value_).constant);
  }
}

}  // namespace poprt::inspector
