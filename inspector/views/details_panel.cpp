#include "views/details_panel.h"

#include <fmt/format.h>

#include "model/format.h"
#include "model/graph_query.h"
#include "views/ui.h"

namespace poprt::inspector {

void DetailsPanel::draw(GraphView& view, const Compilation* compilation, ImVec2 size) {
  ImGui::BeginChild("details", size, true);
  if (view.graph()) {
    if (view.selected() == kNone)
      draw_overview(view);
    else
      draw_node(view, compilation);
  }
  ImGui::EndChild();
}

void DetailsPanel::draw_overview(GraphView& view) {
  const GraphModel& g = *view.graph();
  ui::heading(g.name().empty() ? "Graph" : g.name());
  ui::row("nodes", std::to_string(g.nodes().size()));
  ui::row("edges", std::to_string(g.edge_count()));
  ui::row("groups", std::to_string(g.groups().size() - 1));
  ui::row("weights", bytes_text(g.weight_bytes()));
  ui::heading("Inputs and outputs");
  for (size_t i = 0; i < g.nodes().size(); i++) {
    const GraphNode& n = g.nodes()[i];
    if (n.kind == NodeKind::op || n.group != kRoot) continue;
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(n.name.c_str())) view.select(static_cast<int>(i));
    ui::mark(n.name);
    ui::dim_text("    " + n.op + "  " + n.detail);
    ImGui::PopID();
  }
  ui::heading("Operators");
  for (const auto& [op, count] : g.operator_counts()) {
    ImGui::ColorButton(op.c_str(), ImGui::ColorConvertU32ToFloat4(ui::colour_of(op)),
                       ImGuiColorEditFlags_NoTooltip | ImGuiColorEditFlags_NoBorder,
                       {10 * ui::scale(), 10 * ui::scale()});
    ImGui::SameLine();
    if (ImGui::Selectable(fmt::format("{}##{}", fmt::format("{:<6} {}", count, op), op).c_str()))
      view.search("op:" + op);
    ui::mark(op);
  }
  ui::heading("Largest weights");
  for (const int n : largest_weights(g, 12)) {
    if (ImGui::Selectable(
            fmt::format("{:<10} {}##w{}", bytes_text(g.node(n).weight_bytes), g.node(n).name, n)
                .c_str()))
      view.select(n);
    ui::mark(g.node(n).name);
  }
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
    if (ImGui::Selectable(label.c_str(), weight && value_ == values[i])) {
      if (weight)
        value_ = values[i];
      else if (inputs && v.producer != kNone)
        view.select(v.producer);
      else if (!inputs && !v.consumers.empty())
        view.select(v.consumers[0]);
    }
    ui::mark(v.name);
    ui::tooltip(weight   ? "Click for statistics and values"
                : inputs ? "Click to go to the node that makes it"
                         : "Click to go to its reader");
    ui::dim_text(fmt::format("    {}{}{}", v.type, v.bytes ? "  " + bytes_text(v.bytes) : "",
                             weight ? "  weight" : ""));
    ImGui::PopID();
  }
}

void DetailsPanel::draw_documentation(const GraphModel& g, int node) {
  if (documented_ != std::pair(&g, node)) {
    documented_ = {&g, node};
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

void DetailsPanel::draw_node(GraphView& view, const Compilation* compilation) {
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
  if (compilation && !n.outputs.empty() && n.outputs[0] != kNone) {
    const int step = step_that_made(*compilation, g.value(n.outputs[0]).name);
    if (step >= 0) ui::row("made by", compilation->steps[static_cast<size_t>(step)].name);
    if (step > 0 && ui::button("Show that pass")) step_ = step;
  }
  if (ui::button("Copy", "Everything of this node as text")) {
    std::string text = fmt::format("{} {}\n", n.op, n.name);
    for (const auto& [key, value] : n.attributes) text += fmt::format("  {} = {}\n", key, value);
    for (const int v : n.inputs)
      if (v != kNone) text += fmt::format("  in  {} : {}\n", g.value(v).name, g.value(v).type);
    for (const int v : n.outputs)
      if (v != kNone) text += fmt::format("  out {} : {}\n", g.value(v).name, g.value(v).type);
    ImGui::SetClipboardText(text.c_str());
  }
  ImGui::SameLine();
  if (ui::button("Neighbours", "G: only what is near")) view.focus(2);
  ImGui::SameLine();
  if (ui::button("Path from here", "P: then select the other end")) view.start_path();
  if (!n.attributes.empty()) {
    ui::heading("Attributes");
    for (const auto& [key, value] : n.attributes) ui::row(key, value);
  }
  draw_values(view, n.inputs, "Inputs", true);
  draw_values(view, n.outputs, "Outputs", false);
  draw_documentation(g, view.selected());
  if (value_ != kNone && view.selected() == node_) {
    ui::heading(g.value(value_).name);
    tensor_.draw(g.value(value_).name, g.value(value_).constant);
  }
}

}  // namespace poprt::inspector
