// Keyboard access to the workspace: shortcuts, command palette and help.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/format.h"
#include "views/workspace_tab.h"

namespace poprt::inspector {

std::vector<Workspace::Command> Workspace::commands() {
  std::vector<Command> list = {
      {"Open a file", "Ctrl+O", [this] { ask_for_file(); }},
      {"Close this document", "Ctrl+W", [this] { close(front_); }},
      {"Next document", "Ctrl+Tab",
       [this] { front_ = tabs_.empty() ? 0 : (front_ + 1) % tabs_.size(); }},
      {"Dark or light", "Ctrl+T", [this] { set_theme(!settings_.light); }},
      {"Help and shortcuts", "F1", [this] { help_ = true; }},
      {"Quit", "Ctrl+Q", [this] { actions_.quit = true; }}};
  for (int v = 0; v < kViews; v++)
    list.push_back({fmt::format("Show {}", view_title(static_cast<View>(v))),
                    fmt::format("Ctrl+{}", v + 1), [this, v] { view_ = static_cast<View>(v); }});
  list.push_back(
      {"Start or stop recording telemetry to a file", "", [this] { toggle_recording(); }});
  list.push_back({"Copy what this view shows as tables", "", [this] { copy_tables(); }});
  list.push_back({"Export what this view shows as JSON", "", [this] { export_tables(); }});
  if (!anchor_.empty())
    list.push_back({"Clear the highlighted anchor " + printable(anchor_), "",
                    [this] { highlight_anchor({}); }});
  if (Tab* tab = front()) {
    list.push_back({"Search nodes", "Ctrl+F", [this] {
                      view_ = View::graph;
                      focus_search_ = true;
                    }});
    list.push_back({"Run the model", "R", [this, tab] {
                      view_ = View::run;
                      tab->run.set_model(tab->document, tab->compilation);
                      tab->run.run();
                    }});
    list.push_back({"Benchmark the model", "B", [this, tab] {
                      view_ = View::run;
                      tab->run.set_model(tab->document, tab->compilation);
                      tab->run.bench();
                    }});
    add_graph_commands(*tab, list);
  }
  for (const std::string& recent : settings_.recent)
    list.push_back({"Open " + printable(recent), "", [this, recent] { open(recent); }});
  return list;
}

void Workspace::add_graph_commands(Tab& tab, std::vector<Command>& list) {
  GraphView& g = tab.graph;
  const auto on_graph = [&](const char* name, const char* keys, std::function<void()> run) {
    list.push_back({name, keys, [this, run = std::move(run)] {
                      view_ = View::graph;
                      run();
                    }});
  };
  on_graph("Fit the graph", "F", [&g] { g.fit(); });
  on_graph("Layout to the right or down", "H", [this] { set_horizontal(!settings_.horizontal); });
  on_graph("Open all groups", "E", [&g] { g.open_all(true); });
  on_graph("Close all groups", "Shift+E", [&g] { g.open_all(false); });
  on_graph("Next match", "N", [&g] { g.next_match(1); });
  on_graph("Match before", "Shift+N", [&g] { g.next_match(-1); });
  on_graph("Neighbourhood of the selected node", "G", [&g] { g.focus(2); });
  on_graph("Path from the selected node", "P", [&g] { g.start_path(); });
  static constexpr std::pair<const char*, GraphColour> colours[] = {
      {"Colour by operator", GraphColour::op},
      {"Colour by type", GraphColour::dtype},
      {"Colour by weights", GraphColour::weights},
      {"Colour by memory of results", GraphColour::outputs},
      {"Colour by time", GraphColour::time},
      {"Colour by the overlay", GraphColour::overlay}};
  for (const auto& [name, colour] : colours)
    if ((colour != GraphColour::time || !g.times().empty()) &&
        (colour != GraphColour::overlay || g.overlay()))
      on_graph(name, "C", [&g, wanted = colour] { g.set_colour(wanted); });
  list.push_back({"Profile: time each instruction", "R", [this, tab = &tab] {
                    view_ = View::program;
                    profile_wanted_ = tab;
                  }});
  if (!g.part().empty())
    list.push_back({"Save the path, neighbourhood or group as ONNX", "",
                    [this, tab = &tab] { export_part(*tab); }});
  if (tab.details.renames().count() > 0)
    list.push_back({"Save the model with the new names as ONNX", "",
                    [this, tab = &tab] { export_renamed(*tab); }});
  list.push_back({"Export the profile or the telemetry as Chrome trace", "",
                  [this, tab = &tab] { export_trace(*tab); }});
  if (g.overlay()) list.push_back({"Remove the overlay", "", [&g] { g.set_overlay(nullptr); }});
  list.push_back({"Export the graph as SVG", "", [this, tab = &tab] { export_graph(*tab); }});
  list.push_back({"Export the graph as PNG", "", [this] { export_picture(); }});
}

void Workspace::handle_keys() {
  if (palette_ || browser_.is_open()) return;
  if (ui::pressed(ui::kF1) || ui::pressed('/', false, true)) help_ = !help_;
  if (help_ && ui::pressed(ui::kEscape)) help_ = false;
  if (ui::pressed('P', true, true) || ui::pressed('K', true)) {
    palette_ = focus_palette_ = true;
    palette_text_.clear();
    palette_row_ = 0;
  }
  if (ui::pressed('O', true)) ask_for_file();
  if (ui::pressed('W', true)) close(front_);
  if (ui::pressed('Q', true)) actions_.quit = true;
  if (ui::pressed('T', true)) set_theme(!settings_.light);
  if (ui::pressed(ui::kTab, true) && !tabs_.empty()) front_ = (front_ + 1) % tabs_.size();
  if (ui::pressed('F', true) || ui::pressed('/')) view_ = View::graph, focus_search_ = true;
  for (int v = 0; v < kViews; v++)
    if (ui::pressed('1' + v, true)) view_ = static_cast<View>(v);
}

void Workspace::draw_palette() {
  if (!palette_) return;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x / 2, screen.y * 0.14f}, 0, {0.5f, 0});
  ImGui::SetNextWindowSize(
      {std::min(620 * ui::scale(), screen.x * 0.9f), std::min(430 * ui::scale(), screen.y * 0.7f)});
  ImGui::Begin(
      "palette", nullptr,
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
  if (focus_palette_) {
    ImGui::SetKeyboardFocusHere();
    ImGui::SetWindowFocus();
    focus_palette_ = false;
  }
  if (ui::field("command", "Type a command", palette_text_, -1)) palette_row_ = 0;
  std::vector<Command> found;
  for (Command& c : commands())
    if (contains_text(c.name, palette_text_)) found.push_back(std::move(c));
  if (ui::pressed(ui::kDown)) palette_row_++;
  if (ui::pressed(ui::kUp) && palette_row_ > 0) palette_row_--;
  palette_row_ = found.empty() ? 0 : std::min(palette_row_, found.size() - 1);
  const Command* run = nullptr;
  ImGui::BeginChild("commands", {0, 0});
  for (size_t i = 0; i < found.size(); i++) {
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(shortened(found[i].name, 64).c_str(), i == palette_row_)) run = &found[i];
    ui::mark("command " + found[i].name);
    if (!found[i].keys.empty()) {
      ImGui::SameLine(ImGui::GetWindowWidth() - 100 * ui::scale());
      ui::dim_text(found[i].keys);
    }
    ImGui::PopID();
  }
  ImGui::EndChild();
  ImGui::End();
  if (ui::pressed(ui::kEnter) && !found.empty()) run = &found[palette_row_];
  if (run || ui::pressed(ui::kEscape)) palette_ = false;
  if (run) run->run();
}

void Workspace::draw_help() {
  if (!help_) return;
  struct Line {
    const char *keys, *what;
  };
  static constexpr Line lines[] = {
      {nullptr, "Everywhere"},
      {"Ctrl+O", "open a file (or drop it)"},
      {"Ctrl+K", "command palette"},
      {"Ctrl+1 … 8", "views"},
      {"Ctrl+Tab, Ctrl+W", "next document, close"},
      {"Ctrl+T", "dark or light"},
      {"Ctrl+C, right click", "copy rows of a table"},
      {"Shift+click", "extend the selection to this row"},
      {"F1", "this sheet"},
      {nullptr, "Graph"},
      {"drag, wheel", "move, zoom"},
      {"F, 1, =, -", "fit, full size, nearer, farther"},
      {"H", "layout to the right, or down"},
      {"click", "select a node, open or close a group"},
      {"E, Shift+E", "open or close all groups"},
      {"/, N, Shift+N", "search; select next, previous match"},
      {"Up, Down", "to an input, to a reader"},
      {"G", "only the neighbourhood of the node"},
      {"P", "path: then select the other end"},
      {"C", "colours: operator, type, weights, memory, time"},
      {"Esc", "clear selection, path, neighbourhood"},
      {nullptr, "Passes"},
      {"Left, Right", "previous, next pass"},
      {"B", "graph before or after the pass"},
      {nullptr, "Program"},
      {"Up, Down", "previous, next instruction"},
      {"click the map", "the buffers in those bytes, and when"},
      {"click an operand", "highlights that anchor everywhere"},
      {"R", "time each instruction; the graph shows hot spots"},
      {nullptr, "Run"},
      {"R, B", "run once, benchmark"},
      {"drop a file", "a picture or .npy as an input, from any view"},
      {nullptr, "Queues"},
      {"Space", "freeze, follow"},
      {"Left, Right, End", "back, forward, now"},
      {"=, -, wheel", "fewer, more seconds"},
      {"drag a plot", "show earlier samples; a double click follows again"},
      {"M", "mark this time"},
      {nullptr, "Compare"},
      {"R", "compile and time both"},
      {nullptr, "Chip"},
      {"Left, Right", "operation before, after"},
      {"C", "tiles by memory or cycles"},
      {"click a tile", "its tensors"}};
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, 0, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(820 * ui::scale(), screen.x * 0.94f), 0});
  ImGui::Begin(
      "Help", &help_,
      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings);
  ImGui::Columns(2, "help", false);
  float keys = 0;
  for (const Line& l : lines)
    if (l.keys) keys = std::max(keys, ImGui::CalcTextSize(l.keys).x);
  keys = std::max(keys, ImGui::CalcTextSize("which anchor starves").x) + 24 * ui::scale();
  for (const Line& l : lines) {
    if (!l.keys && std::string_view(l.what) == "Program") ImGui::NextColumn();
    if (l.keys)
      ui::row(l.keys, l.what, keys);
    else
      ui::heading(l.what);
  }
  ui::heading("Where is …");
  ui::row("the largest weight", "Graph, nothing selected: Largest weights", keys);
  ui::row("which anchor starves", "Queues: list at the left, Stalls/s in the table", keys);
  ui::row("the effect of fusion", "click a node: Changes by passes; or Passes, B: before it", keys);
  ui::row("the slowest node", "Program, R, click Time; or Graph: Slowest", keys);
  ui::row("peak memory", "Program: the dot on the line", keys);
  ui::row("the slow stage", "Program, R: the parts at the right", keys);
  ui::row("a narrow weight", "Program, click its instruction: Operands", keys);
  ui::row("which shape ran", "Queues: Runs, at the left", keys);
  ImGui::Columns(1);
  ImGui::End();
}

}  // namespace poprt::inspector
