#include "views/passes_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/format.h"

namespace poprt::inspector {

void PassesView::set_compilation(std::shared_ptr<const Compilation> compilation) {
  if (compilation == compilation_) return;
  compilation_ = std::move(compilation);
  // Without a compilation the graph stays, so that the camera does until the next one.
  step_ = 0;
  removed_.clear();
  show_step(0);
}

std::vector<int> PassesView::shown() const {
  std::vector<int> steps;
  for (size_t i = 0; i < compilation_->steps.size(); i++) {
    const PassStep& s = compilation_->steps[i];
    const bool chosen = static_cast<int>(i) == step_;
    if (!only_changes || chosen || s.stage == "model" || s.added + s.removed + s.changed > 0)
      steps.push_back(static_cast<int>(i));
  }
  return steps;
}

void PassesView::show_step(int step) {
  if (!compilation_ || compilation_->steps.empty()) return;
  step_ = std::clamp(step, 0, static_cast<int>(compilation_->steps.size()) - 1);
  const auto& now = compilation_->steps[static_cast<size_t>(step_)].graph;
  const auto& last = compilation_->steps[static_cast<size_t>(std::max(0, step_ - 1))].graph;
  static const GraphChanges kNothing{};
  const auto& made = compilation_->steps[static_cast<size_t>(step_)].changes;
  const GraphChanges& changes = made ? *made : kNothing;
  removed_ = changes.removed;
  if (before_) {
    std::vector<Change> marks(last->nodes().size());
    for (const int n : changes.removed) marks[static_cast<size_t>(n)] = Change::removed;
    for (size_t n = 0; n < changes.after.size(); n++)
      if (changes.after[n] == Change::changed && changes.before[n] != kNone)
        marks[static_cast<size_t>(changes.before[n])] = Change::changed;
    graph_.set_graph(last);
    graph_.set_changes(std::move(marks));
  } else {
    graph_.set_graph(now);
    graph_.set_changes(changes.after);
  }
}

bool PassesView::show_row(int row) {
  if (!compilation_) return false;
  const auto steps = shown();
  if (row < 0 || row >= static_cast<int>(steps.size())) return false;
  show_step(steps[static_cast<size_t>(row)]);
  return true;
}

void PassesView::move(int by) {
  const auto steps = shown();
  const auto at = std::lower_bound(steps.begin(), steps.end(), step_) - steps.begin();
  const auto next =
      std::clamp<std::ptrdiff_t>(at + by, 0, static_cast<std::ptrdiff_t>(steps.size()) - 1);
  show_step(steps[static_cast<size_t>(next)]);
  state_.scroll_to = static_cast<int>(next);
}

std::string PassesView::status() const {
  if (!compilation_) return "not compiled";
  double ms = 0;
  size_t passes = 0;
  for (const PassStep& s : compilation_->steps) {
    ms += s.milliseconds;
    passes += s.stage != "model";
  }
  return fmt::format("{} pass{} in {:.0f} ms · {}", passes, passes == 1 ? "" : "es", ms,
                     graph_.status());
}

void PassesView::draw(ImVec2 size, bool keys) {
  if (!compilation_ || compilation_->steps.empty()) return;
  const ui::Colours& c = ui::colours();
  if (!compilation_->error.empty()) {
    ImGui::PushTextWrapPos(0);
    ui::coloured_text(c.bad, "Compiling stopped: " + compilation_->error);
    ImGui::PopTextWrapPos();
  }
  if (keys && ui::pressed(ui::kRight)) move(1);
  if (keys && ui::pressed(ui::kLeft)) move(-1);
  if (ui::button("<", "The pass before (Left)")) move(-1);
  ImGui::SameLine();
  if (ui::button(">", "The next pass (Right)")) move(1);
  ImGui::SameLine();
  if (ui::button(before_ ? "Before" : "After", "B: the graph before or after the pass") ||
      (keys && ui::pressed('B')))
    show_before(!before_);
  ImGui::SameLine();
  if (ui::button(only_changes ? "Only passes with changes" : "All passes",
                 "Which passes are listed"))
    only_changes = !only_changes;
  const PassStep& s = compilation_->steps[static_cast<size_t>(step_)];
  ImGui::SameLine();
  ui::text(s.name);
  ImGui::SameLine();
  ui::dim_text(s.summary);

  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const float list = ui::panel("passes", 470, size.x * 0.2f, size.x * 0.6f);
  const float half = rest.y * 0.45f, below = rest.y - half - ImGui::GetStyle().ItemSpacing.y;
  ImGui::BeginGroup();
  draw_steps({list, half});
  const bool node = graph_.selected() != kNone;
  if (!node && !removed_.empty())
    draw_removed({list, below});
  else
    details_.draw(graph_, compilation_, before_ ? std::max(0, step_ - 1) : step_, {list, below});
  if (const auto wanted = details_.take_step(); wanted.step >= 0) {
    show_before(false);
    show_step(wanted.step);
    if (const int n = graph_.graph()->find(wanted.node); n != kNone) graph_.select(n);
  }
  ImGui::EndGroup();
  ui::splitter("passes", rest.y);
  graph_.draw("pass graph", {ImGui::GetContentRegionAvail().x, rest.y}, keys);
}

void PassesView::show_before(bool before) {
  before_ = before;
  show_step(step_);
}

void PassesView::draw_steps(ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const auto steps = shown();
  ui::table(
      "passes",
      {{"Pass", 3.8f},
       {"Rewrites", 1.2f, true},
       {"ms", 0.8f, true},
       {"+", 0.7f, true},
       {"-", 0.7f, true},
       {"~", 0.7f, true},
       {"Nodes", 0.9f, true}},
      steps.size(),
      [&](size_t r, int col) -> std::string {
        const PassStep& p = compilation_->steps[static_cast<size_t>(steps[r])];
        const auto count = [](size_t n) { return n ? std::to_string(n) : std::string(); };
        const std::string cells[] = {p.name,
                                     std::to_string(p.rewrites),
                                     fmt::format("{:.1f}", p.milliseconds),
                                     count(p.added),
                                     count(p.removed),
                                     count(p.changed),
                                     std::to_string(p.nodes_after)};
        return cells[col];
      },
      [&](size_t r) { return steps[r] == step_; }, [&](size_t r) { show_step(steps[r]); }, state_,
      size,
      [&](size_t, int col) {
        return col == 3 ? c.good : col == 4 ? c.gone : col == 5 ? c.warn : c.text;
      });
}

// Lists the nodes that the step removed. A click shows the node in the graph before the step.
void PassesView::draw_removed(ImVec2 size) {
  const GraphModel& last = *compilation_->steps[static_cast<size_t>(std::max(0, step_ - 1))].graph;
  int clicked = kNone;
  ImGui::BeginChild("removed", size, true);
  ui::coloured_text(ui::colours().gone, fmt::format("{} removed", removed_.size()));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(removed_.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; i++) {
      const GraphNode& n = last.node(removed_[static_cast<size_t>(i)]);
      const std::string line = fmt::format("{}  {}", n.op, n.name);
      if (ImGui::Selectable(fmt::format("{}##{}", line, i).c_str()))
        clicked = removed_[static_cast<size_t>(i)];
      ui::mark(line);
    }
  ImGui::EndChild();
  if (clicked == kNone) return;
  show_before(true);
  graph_.select(clicked);
}

}  // namespace poprt::inspector
