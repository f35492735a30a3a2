#include "views/passes_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/format.h"

namespace poprt::inspector {

void PassesView::set_compilation(std::shared_ptr<const Compilation> compilation) {
  if (compilation == compilation_) return;
  compilation_ = std::move(compilation);
  show_step(0);
}

std::vector<int> PassesView::shown() const {
  std::vector<int> steps;
  for (size_t i = 0; i < compilation_->steps.size(); i++) {
    const PassStep& s = compilation_->steps[i];
    if (!only_changes || i == 0 || s.added + s.removed + s.changed > 0)
      steps.push_back(static_cast<int>(i));
  }
  return steps;
}

void PassesView::show_step(int step) {
  if (!compilation_ || compilation_->steps.empty()) return;
  step_ = std::clamp(step, 0, static_cast<int>(compilation_->steps.size()) - 1);
  const auto& now = compilation_->steps[static_cast<size_t>(step_)].graph;
  const auto& last = compilation_->steps[static_cast<size_t>(std::max(0, step_ - 1))].graph;
  const GraphChanges changes = changes_between(*last, *now);
  removed_.clear();
  for (const int n : changes.removed)
    removed_.push_back(fmt::format("{}  {}", last->node(n).op, last->node(n).name));
  if (before_) {
    std::vector<Change> marks(last->nodes().size());
    for (const int n : changes.removed) marks[static_cast<size_t>(n)] = Change::removed;
    graph_.set_graph(last);
    graph_.set_changes(std::move(marks));
  } else {
    graph_.set_graph(now);
    graph_.set_changes(changes.after);
  }
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
  for (const PassStep& s : compilation_->steps) ms += s.milliseconds;
  return fmt::format("{} passes in {:.0f} ms · {}", compilation_->steps.size() - 1, ms,
                     graph_.status());
}

void PassesView::draw(ImVec2 size, bool keys) {
  if (!compilation_ || compilation_->steps.empty()) return;
  const ui::Colours& c = ui::colours();
  if (!compilation_->error.empty())
    ui::coloured_text(c.bad, "Compiling stopped: " + compilation_->error);
  if (keys && ui::pressed(ui::kRight)) move(1);
  if (keys && ui::pressed(ui::kLeft)) move(-1);
  if (ui::button("<", "The pass before (Left)")) move(-1);
  ImGui::SameLine();
  if (ui::button(">", "The next pass (Right)")) move(1);
  ImGui::SameLine();
  if (ui::button(before_ ? "Before" : "After", "B: the graph before or after the pass") ||
      (keys && ui::pressed('B'))) {
    before_ = !before_;
    show_step(step_);
  }
  ImGui::SameLine();
  if (ui::button(only_changes ? "Those with changes" : "All passes", "Which passes are listed"))
    only_changes = !only_changes;
  const PassStep& s = compilation_->steps[static_cast<size_t>(step_)];
  ImGui::SameLine();
  ui::text(s.name);
  ImGui::SameLine();
  ui::dim_text(s.summary);

  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const float list = std::min(470 * ui::scale(), size.x * 0.42f);
  const auto steps = shown();
  const bool with_removed = !removed_.empty();
  ImGui::BeginGroup();
  ui::table(
      "passes",
      {{"Pass", 3.2f},
       {"Rewrites", 1.1f, true},
       {"ms", 0.8f, true},
       {"+", 0.6f, true},
       {"-", 0.6f, true},
       {"~", 0.6f, true},
       {"Nodes", 0.8f, true}},
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
      {list, with_removed ? rest.y * 0.7f : rest.y},
      [&](size_t, int col) {
        return col == 3 ? c.good : col == 4 ? c.bad : col == 5 ? c.warn : c.text;
      });
  if (with_removed) {
    ImGui::BeginChild("removed", {list, rest.y * 0.3f - 6}, true);
    ui::coloured_text(c.bad, fmt::format("{} removed", removed_.size()));
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(removed_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; i++)
        ui::text(removed_[static_cast<size_t>(i)]);
    ImGui::EndChild();
  }
  ImGui::EndGroup();
  ImGui::SameLine();
  graph_.draw("pass graph", {rest.x - list - 8, rest.y}, keys);
}

}  // namespace poprt::inspector
