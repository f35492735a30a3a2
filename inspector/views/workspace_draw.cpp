// Draws a frame of the workspace: the bars and the front view.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/format.h"
#include "model/lost_pages.h"
#include "views/workspace_tab.h"

namespace poprt::inspector {

namespace {

std::string anchor_label(const std::string& anchor) {
  return fmt::format("anchor {}", shortened(printable(anchor), 24));
}

// The name of the model that a PopEF file contains, because such files are often called
// executable.popef; the file name of other documents.
std::string model_name(const std::filesystem::path& path, const Document* document) {
  if (document && document->popef && !document->popef->metadata().empty())
    if (const std::string& name = document->popef->metadata()[0].executable(); !name.empty())
      return printable(name);
  return printable(path.filename().string());
}

// Names that are equal get the folder in front of them, or are replaced by the file name if the
// folder is the same.
std::vector<std::string> distinct_names(const std::vector<std::filesystem::path>& paths,
                                        const std::vector<std::string>& names) {
  std::vector<std::string> distinct = names;
  for (size_t i = 0; i < names.size(); i++)
    for (size_t k = 0; k < names.size(); k++) {
      if (i == k || names[i] != names[k]) continue;
      if (paths[i].parent_path() == paths[k].parent_path()) {
        distinct[i] = printable(paths[i].filename().string());
        break;
      }
      distinct[i] = printable(paths[i].parent_path().filename().string()) + "/" + names[i];
    }
  return distinct;
}

}  // namespace

// Titles are shortened until all fit. Below a readable width the bar scrolls.
void Workspace::draw_tabs(float width) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float extra =
      4 * style.FramePadding.x + ImGui::CalcTextSize("x").x + 1 + style.ItemSpacing.x;
  const float each = width / static_cast<float>(std::max<size_t>(1, tabs_.size())) - extra;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> titles;
  for (const auto& tab : tabs_) {
    paths.push_back(tab->path);
    titles.push_back(model_name(tab->path, tab->document.get()));
  }
  titles = distinct_names(paths, titles);
  float all = 0;
  for (std::string& title : titles) {
    title = shortened(title, 32);
    all += ImGui::CalcTextSize(title.c_str()).x + extra;
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild("tabs", {std::max(width, 1.0f), ImGui::GetFrameHeight()}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
    ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * 60 * ui::scale());
  for (size_t i = 0; i < tabs_.size(); i++) {
    if (i > 0) ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    const std::string title =
        all > width ? ui::fitted(titles[i], std::max(each, 60 * ui::scale())) : titles[i];
    if (ui::button(fmt::format("{}##tab", title).c_str(),
                   printable(tabs_[i]->path.string()).c_str(), i == front_))
      front_ = i;
    ui::mark("tab " + titles[i]);
    ImGui::SameLine(0, 1);
    const bool closed = ui::button("x", "Ctrl+W: close");
    if (i == front_ && tab_in_sight_ != front()) {
      ImGui::SetScrollHereX(1);
      tab_in_sight_ = front();
    }
    ImGui::PopID();
    if (closed) {
      close(i);
      break;
    }
  }
  ImGui::EndChild();
}

void Workspace::draw_top() {
  if (ui::button("Open",
                 "Ctrl+O: open an .onnx, .popef, IR text or recording; or drop it on the window"))
    ask_for_file();
  const float right = ImGui::CalcTextSize("Commands").x + ImGui::CalcTextSize("Light").x +
                      ImGui::CalcTextSize("Help").x + 6 * ImGui::GetStyle().FramePadding.x +
                      2 * ImGui::GetStyle().ItemSpacing.x;
  const float end = ImGui::GetWindowWidth() - right - ImGui::GetStyle().WindowPadding.x;
  ImGui::SameLine();
  draw_tabs(end - ImGui::GetCursorPosX() - ImGui::GetStyle().ItemSpacing.x);
  ImGui::SameLine(end);
  if (ui::button("Commands", "Ctrl+K: all commands by name")) palette_ = focus_palette_ = true;
  ImGui::SameLine();
  if (ui::button(settings_.light ? "Dark" : "Light", "Ctrl+T")) set_theme(!settings_.light);
  ImGui::SameLine();
  if (ui::button("Help", "F1: shortcuts")) help_ = !help_;
}

void Workspace::draw_views() {
  for (int v = 0; v < kViews; v++) {
    const auto view = static_cast<View>(v);
    if (v > 0) ImGui::SameLine(0, 2);
    if (ui::button(view_title(view), fmt::format("Ctrl+{}", v + 1).c_str(), view_ == view))
      view_ = view;
  }
  Tab* tab = front();
  if (!tab || view_ != View::graph || !tab->document || !tab->document->graph) return;
  GraphView& g = tab->graph;
  if (ui::pressed('H')) set_horizontal(!settings_.horizontal);
  g.set_direction(settings_.horizontal ? Direction::right : Direction::down);
  // The width of the search field, five buttons and the space between them.
  if (ImGui::GetContentRegionAvail().x - ImGui::GetItemRectMax().x > 800 * ui::scale())
    ImGui::SameLine(0, 24 * ui::scale());
  draw_search(g);
  ImGui::SameLine();
  if (ui::button("Fit", "F")) g.fit();
  const char* const turn = settings_.horizontal ? "Down" : "Right";
  ui::same_line_if_fits(turn);
  if (ui::button(turn, "H: edges point down, or to the right", false))
    set_horizontal(!settings_.horizontal);
  const std::string colour = fmt::format("Colour: {}", g.colour_name());
  ui::same_line_if_fits(colour.c_str());
  if (ui::button(colour.c_str(),
                 "C: by operator, type, weights, memory of results, time once profiled"))
    g.next_colour();
  if (g.graph() && g.graph()->groups().size() > 1) {
    ui::same_line_if_fits("Open all");
    if (ui::button("Open all", "E: all groups")) g.open_all(true);
    ui::same_line_if_fits("Close all");
    if (ui::button("Close all", "Shift+E")) g.open_all(false);
  }
}

// Typing searches and marks; Enter and N select.
void Workspace::draw_search(GraphView& g) {
  ImGui::PushID(&g);  // each document has its own field
  if (focus_search_) {
    ImGui::SetKeyboardFocusHere();
    focus_search_ = false;
  }
  std::string text = g.search_text();
  const float found = ImGui::CalcTextSize("00000 found").x, style = ImGui::GetStyle().ItemSpacing.x;
  if (ui::field("search", "Search: name, op:Conv, out:1x*x56x56, dtype:f32", text,
                std::min(340 * ui::scale(), ImGui::GetContentRegionAvail().x * 0.4f),
                ImGuiInputTextFlags_AutoSelectAll))
    g.search(text);
  if (ImGui::IsItemFocused() && ui::pressed(ui::kEnter)) g.next_match(1);
  // The width is constant, so that the items next to it do not move.
  const float at = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  ImGui::SameLine(0, 2);
  if (!text.empty()) {
    if (ui::button("x##search", "Clears the search")) g.search({});
    ui::mark("clear search");
  }
  ImGui::SameLine(at + ImGui::GetFrameHeight() + style);
  if (!text.empty()) ui::dim_text(fmt::format("{} found", g.matches().size()));
  ImGui::SameLine(at + ImGui::GetFrameHeight() + style + found);
  ImGui::Dummy({0, 0});
  ImGui::PopID();
}

float Workspace::anchor_width() const {
  if (anchor_.empty()) return 0;
  return ImGui::CalcTextSize(anchor_label(anchor_).c_str()).x + ImGui::CalcTextSize("x").x +
         4 * ImGui::GetStyle().FramePadding.x + 1;
}

// Shows the highlighted anchor at the right of the status line, with a link to other views.
void Workspace::draw_anchor() {
  if (anchor_.empty()) return;
  ImGui::SameLine(ImGui::GetWindowWidth() - anchor_width() - ImGui::GetStyle().WindowPadding.x);
  ui::button(anchor_label(anchor_).c_str(),
             "Highlighted in the graph, PopEF, the program and the queues", true);
  ImGui::SameLine(0, 1);
  ImGui::PushID("anchor");
  if (ui::button("x", "Clear the highlight")) highlight_anchor({});
  ImGui::PopID();
}

void Workspace::draw_start(ImVec2 size) {
  ImGui::SetCursorPos({size.x * 0.5f - 230 * ui::scale(), size.y * 0.22f});
  ImGui::BeginGroup();
  ui::coloured_text(ui::colours().accent, "poprt inspector");
  ui::text("Open a model (.onnx), a compiled model (.popef), IR text, or a recording.");
  ui::dim_text("Drop a file on the window, press Ctrl+O, or choose a recent one:");
  for (const std::string& recent : settings_.recent) {
    if (ImGui::Selectable(shortened(printable(recent), 70).c_str(), false, 0,
                          {460 * ui::scale(), 0})) {
      open(recent);
      break;
    }
    ui::mark(recent);
  }
  ui::dim_text("Queues shows running processes without a file. F1 lists the shortcuts.");
  ImGui::EndGroup();
}

void Workspace::draw_view(Tab* tab, ImVec2 size) {
  if (view_ == View::queues) {
    draw_queues(tab, size);
    return;
  }
  if (tab->loading.started() && !tab->document) {
    const auto [done, what] = tab->loading.progress();
    ui::text(fmt::format("{}: {}", printable(tab->path.filename().string()), what));
    ImGui::ProgressBar(static_cast<float>(done), {320 * ui::scale(), 0});
    if (ui::button("Cancel")) close(front_);
    return;
  }
  if (!tab->document) return;
  if (!tab->document->error.empty()) {
    ui::coloured_text(ui::colours().bad,
                      fmt::format("{} could not be opened", tab->document->title()));
    ImGui::PushTextWrapPos(0);
    ui::text(tab->document->error);
    ImGui::PopTextWrapPos();
    return;
  }
  switch (view_) {
    case View::graph: draw_graph(*tab, size); break;
    case View::popef:
      tab->popef.draw(size);
      if (const int row = tab->popef.take_export(); row >= 0)
        export_data(*tab, static_cast<size_t>(row));
      break;
    case View::program: draw_program(*tab, size); break;
    case View::passes:
      if (!tab->document->graph)
        ui::dim_text(kNoGraphOfPasses);
      else if (draw_compiling(*tab)) {
        tab->passes.draw({size.x, ImGui::GetContentRegionAvail().y}, keys_free());
        if (const auto weight = tab->passes.details().take_export()) export_weight(*tab, *weight);
      }
      break;
    case View::run:
      if (tab->document->popef || draw_compiling(*tab)) draw_run(*tab, size);
      break;
    case View::compare: draw_compare(*tab, size); break;
    case View::chip: draw_chip(*tab, size); break;
    case View::queues: break;
  }
}

// Searches the document's own graph, else the first graph that has the node, because a compiled
// model does not contain its graph.
std::pair<Workspace::Tab*, int> Workspace::node_of_instruction(Tab& tab, const std::string& name) {
  const auto in = [&](Tab& t) {
    return t.document && t.document->graph ? t.document->graph->node_of_instruction(name) : kNone;
  };
  if (tab.document->graph) return {&tab, in(tab)};
  // Prefers the source of the variant that contains the instruction.
  const int part = tab.program.selected_part();
  for (const bool source : {true, false})
    for (auto& other : tabs_) {
      if (source && (part < 0 || variant_of(tab, *other) != part)) continue;
      if (const int node = in(*other); node != kNone) return {other.get(), node};
    }
  return {nullptr, kNone};
}

void Workspace::draw_program(Tab& tab, ImVec2 size) {
  const Document& d = *tab.document;
  if (const auto at = static_cast<size_t>(tab.program.shown_program); at < d.programs.size())
    tab.choose_program(d.programs[at].program);
  if (!d.program && !d.ir) {
    ui::text("This file has no program that can be shown.");
    for (const std::string& problem : d.problems) ui::coloured_text(ui::colours().bad, problem);
    return;
  }
  if (!d.program && !draw_compiling(tab)) return;
  std::pair<Tab*, int> place{nullptr, kNone};
  if (const std::string node = tab.program.selected_node(); !node.empty())
    place = node_of_instruction(tab, node);
  tab.program.graph_problem = place.second != kNone ? ""
                              : d.graph ? "No node of the graph has this name; a pass added it"
                                        : "Open the model that this file was made from: no graph "
                                          "that is open has this node";
  tab.program.draw({size.x, ImGui::GetContentRegionAvail().y}, keys_free());
  if (tab.program.take_profile() || profile_wanted_ == &tab) profile(tab);
  profile_wanted_ = nullptr;
  if (tab.program.take_node().empty() || place.second == kNone) return;
  for (size_t i = 0; i < tabs_.size(); i++)
    if (tabs_[i].get() == place.first) front_ = i;
  view_ = View::graph;
  place.first->graph.select(place.second);
}

// Returns false if there is nothing to show yet.
bool Workspace::draw_compiling(Tab& tab) {
  compile(tab);
  draw_shapes(tab);
  if (tab.compiling.started()) {
    const auto [done, what] = tab.compiling.progress();
    ui::text(fmt::format("Compiling: {}", what));
    ImGui::ProgressBar(static_cast<float>(done), {320 * ui::scale(), 0});
    if (ui::button("Cancel")) tab.compiling.cancel();
    return false;
  }
  // The passes view shows the error next to the passes that ran.
  if (!tab.compile_error.empty() && (view_ != View::passes || !tab.compilation)) {
    ui::coloured_text(ui::colours().bad, "This model does not compile:");
    ImGui::PushTextWrapPos(0);
    ui::text(tab.compile_error);
    ImGui::PopTextWrapPos();
    return false;
  }
  return tab.compilation != nullptr;
}

void Workspace::draw_graph(Tab& tab, ImVec2 size) {
  if (!tab.document->graph) {
    ui::dim_text(tab.document->recording ? kNoGraphOfRecording : kNoGraphOfPopef);
    for (const std::string& problem : tab.document->problems)
      ui::coloured_text(ui::colours().warn, problem);
    return;
  }
  const float details = ui::panel("details", 340, 160 * ui::scale(), size.x * 0.6f);
  tab.graph.draw("graph", {size.x - details - ImGui::GetStyle().ItemSpacing.x, size.y},
                 keys_free());
  ui::splitter("details", size.y, true);
  tab.details.draw(tab.graph, tab.compilation, 0, {ImGui::GetContentRegionAvail().x, size.y});
  if (tab.details.take_compile()) compile(tab);
  if (tab.details.take_part()) export_part(tab);
  if (tab.details.take_save_renamed()) export_renamed(tab);
  if (const auto weight = tab.details.take_export()) export_weight(tab, *weight);
  if (const auto wanted = tab.details.take_step(); wanted.step >= 0) {
    view_ = View::passes;
    tab.passes.show_step(wanted.step);
    const auto& graph = tab.passes.graph().graph();
    if (const int n = graph ? graph->find(wanted.node) : kNone; n != kNone)
      tab.passes.graph().select(n);
  }
}

void Workspace::draw_queues(Tab* tab, ImVec2 size) {
  if (tab && tab->document && tab->document->recording) {
    tab->queues.draw(*tab->document->recording, false, size, keys_free());
    if (const double time = tab->queues.take_mark(); time >= 0) mark_recording(*tab, time);
    return;
  }
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (const std::string error = watcher_->error(); !error.empty())
    ui::coloured_text(ui::colours().bad, error);
  watcher_->with_history([&](const TelemetryHistory& history) {
    queues_.recording = watcher_->recording();
    queues_.draw(history, true, ImGui::GetContentRegionAvail(), keys_free());
  });
  if (const double time = queues_.take_mark(); time >= 0) watcher_->mark(time);
  if (queues_.take_record()) toggle_recording();
}

void Workspace::draw_run(Tab& tab, ImVec2 size) {
  if (!tab.document->popef && !tab.document->ir) {
    ui::dim_text("Only models can be run; open an .onnx, a .popef or IR text file");
    return;
  }
  std::vector<RunView::Other> others;
  for (const auto& other : tabs_)
    if (other.get() != &tab && other->document && (other->document->popef || other->document->ir))
      others.push_back({other->document, other->compilation});
  const auto& programs = tab.document->programs;
  tab.run.set_model(
      tab.document, tab.compilation,
      programs.size() > 1 ? tab.document->popef->executable_name(tab.executable()) : "");
  tab.run.draw({size.x, ImGui::GetContentRegionAvail().y}, others, keys_free());
  if (std::string input = tab.run.take_browse(); !input.empty()) {
    ask_for_file(std::move(input));
  }
}

void Workspace::draw_chip(Tab& tab, ImVec2 size) {
  if (!tab.document->ir) {
    ImGui::PushTextWrapPos(0);
    ui::dim_text(kNoGraphOfChip);
    ImGui::PopTextWrapPos();
    return;
  }
  start_estimate(tab);
  draw_shapes(tab);
  tab.chip.draw({size.x, ImGui::GetContentRegionAvail().y}, keys_free());
  if (!tab.chip.take_graph()) return;
  view_ = View::graph;
  tab.graph.set_times(chip_times(*tab.document->graph, *tab.chip.model()), TimeSource::estimated);
  tab.graph.set_colour(GraphColour::time);
  show_message("coloured by the estimated time on " + tab.chip.model()->choice().target);
}

void Workspace::draw_compare(Tab& tab, ImVec2) {
  Tab* other = compared();
  ImGui::AlignTextToFramePadding();
  ui::dim_text("Compare with");
  for (size_t i = 0; i < tabs_.size(); i++) {
    if (i == front_ || !tabs_[i]->document) continue;
    ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    if (ui::button(fmt::format("{}##with", tabs_[i]->document->title()).c_str(), nullptr,
                   other_ == static_cast<int>(i)))
      other_ = static_cast<int>(i);
    ImGui::PopID();
  }
  // The documents are left and right in the order of their tabs.
  Tab *left = &tab, *right = other;
  if (other && static_cast<size_t>(other_) < front_) std::swap(left, right);
  diff_.set_documents(other ? left->document : nullptr, other ? right->document : nullptr);
  if (!other) {
    ImGui::SameLine();
    if (ui::button("Open a second file", "Ctrl+O: it is compared with this one")) ask_for_file();
  }
  if (other && !other->document->error.empty()) {
    ui::coloured_text(ui::colours().bad,
                      fmt::format("{} could not be opened", other->document->title()));
    ImGui::PushTextWrapPos(0);
    ui::text(other->document->error);
    ImGui::PopTextWrapPos();
    return;
  }
  if (other) {
    ImGui::SameLine();
    if (ui::button("Compile and time both",
                   "R: programs, memory, and the time of each instruction, measured alternately") ||
        (keys_free() && ui::pressed('R')))
      diff_.measure(left->compilation, right->compilation);
    if (left->document->ir && right->document->ir) {
      ImGui::SameLine();
      if (ui::button(
              "Error of each node",
              "Runs both on the same inputs and compares every common value, in graph order"))
        diff_.find_errors();
    }
  }
  diff_.draw(ImGui::GetContentRegionAvail());
}

void Workspace::draw_status() {
  Tab* tab = front();
  std::string line;
  if (const std::string copied = ui::take_copied(); !copied.empty())
    show_message("copied " + shortened(printable(copied), 60));
  // A message is shown only with the tab and view in which it occurred.
  if (message_of_ != std::pair<const Tab*, View>(tab, view_)) message_.clear();
  const float room = ImGui::GetContentRegionAvail().x - anchor_width() - 8 * ui::scale();
  const auto notice = [&](ImU32 colour, const std::string& text) {
    const std::string shown = ui::fitted(text, room * 0.6f, ui::Cut::end);
    ui::coloured_text(colour, shown);
    ui::mark(text);
    if (shown != text) ui::tooltip(text);
    ImGui::SameLine();
  };
  const float begin = ImGui::GetCursorPosX();
  if (!message_.empty())
    notice(message_is_error_ ? ui::colours().bad : ui::colours().good, message_);
  if (tab && !tab->stale.empty())
    notice(ui::colours().warn,
           tab->stale + (lost_pages() > 0 ? "; the missing part is shown as zeros" : ""));
  if (tab && tab->document) {
    const Document& d = *tab->document;
    line = fmt::format("{} · {}", document_kind_name(d.kind), bytes_text(d.bytes));
    if (view_ == View::graph && d.graph) line += " · " + tab->graph.status();
    if (view_ == View::popef && d.popef) line += " · " + tab->popef.status();
    if (view_ == View::program) line += " · " + tab->program.status();
    if (view_ == View::passes) line += " · " + tab->passes.status();
    if (view_ == View::run) line += " · " + tab->run.status();
    if (view_ == View::compare) line += " · " + diff_.status();
    if (view_ == View::chip) line += " · " + tab->chip.status();
    if ((view_ == View::program || view_ == View::passes || view_ == View::run ||
         view_ == View::chip) &&
        !tab->assumed.empty())
      line += " · compiled for " + tab->assumed;
    if (!d.problems.empty()) line += " · " + d.problems[0];
  }
  if (view_ == View::queues && watcher_ && !(tab && tab->document && tab->document->recording)) {
    watcher_->with_history(
        [&](const TelemetryHistory& history) { line = queues_.status(history); });
    if (watcher_->recording()) line += " · recording";
  }
  const std::string shown = ui::fitted(line, room - (ImGui::GetCursorPosX() - begin), ui::Cut::end);
  ui::dim_text(shown);
  ui::mark(line);
  if (shown != line) ui::tooltip(line);
  draw_anchor();
}

}  // namespace poprt::inspector
