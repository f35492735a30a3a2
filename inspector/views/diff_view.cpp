#include "views/diff_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/format.h"

namespace poprt::inspector {

void DiffView::set_documents(std::shared_ptr<const Document> left,
                             std::shared_ptr<const Document> right) {
  if (left == left_ && right == right_) return;
  left_ = std::move(left);
  right_ = std::move(right);
  diff_ = nullptr;
  error_.clear();
  selected_ = -1;
  if (!left_ || !right_) return;
  if (left_->graph) left_graph_.set_graph(left_->graph);
  if (right_->graph) right_graph_.set_graph(right_->graph);
  task_ = Task<DocumentDiff>(
      [a = left_, b = right_](Progress& progress) { return diff_documents(*a, *b, progress); },
      wake_);
}

void DiffView::accept() {
  if (!task_.started() || task_.running()) return;
  if (auto made = task_.take()) {
    diff_ = std::make_shared<DocumentDiff>(std::move(*made));
    if (right_->graph && left_->graph) {
      right_graph_.set_changes(diff_->graph.after);
      std::vector<Change> gone(left_->graph->nodes().size());
      for (const int n : diff_->graph.removed) gone[static_cast<size_t>(n)] = Change::removed;
      left_graph_.set_changes(std::move(gone));
    }
  } else {
    error_ = task_.error();
  }
  task_ = {};
}

void DiffView::settle() {
  task_.wait();
  accept();
  left_graph_.settle();
  right_graph_.settle();
}

std::string DiffView::status() const {
  return diff_ ? fmt::format("{} differences", diff_->rows.size()) : "comparing";
}

void DiffView::draw(ImVec2 size) {
  accept();
  const ui::Colours& c = ui::colours();
  if (!left_ || !right_) {
    ui::dim_text("Open a second document and choose it above to compare");
    return;
  }
  if (!error_.empty()) ui::coloured_text(c.bad, error_);
  if (!diff_) {
    if (error_.empty()) ui::dim_text("Comparing …");
    return;
  }
  ui::field("filter##diff", "Filter differences", filter, std::min(300 * ui::scale(), size.x));
  ImGui::SameLine();
  ui::text(diff_->rows.empty() ? "No differences"
                               : fmt::format("{} differences", diff_->rows.size()));
  ImGui::SameLine();
  ui::dim_text(fmt::format("left {}, right {}", left_->title(), right_->title()));
  std::vector<size_t> rows;
  for (size_t i = 0; i < diff_->rows.size(); i++) {
    const DiffRow& r = diff_->rows[i];
    if (contains_text(r.name, filter) || contains_text(r.category, filter) ||
        contains_text(change_name(r.change), filter))
      rows.push_back(i);
  }
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const bool graphs = left_->graph && right_->graph;
  const float height = graphs ? rest.y * 0.4f : rest.y;
  ui::table(
      "diff", {{"Change", 0.8f}, {"What", 0.7f}, {"Name", 2}, {"Left", 4}, {"Right", 4}},
      rows.size(),
      [&](size_t r, int col) -> std::string {
        const DiffRow& d = diff_->rows[rows[r]];
        const std::string cells[] = {change_name(d.change), d.category, d.name, d.left, d.right};
        return cells[col];
      },
      [&](size_t r) { return selected_ == static_cast<int>(rows[r]); },
      [&](size_t r) {
        selected_ = static_cast<int>(rows[r]);
        const DiffRow& d = diff_->rows[rows[r]];
        if (d.left_node != kNone) left_graph_.select(d.left_node);
        if (d.right_node != kNone) right_graph_.select(d.right_node);
      },
      state_, {size.x, height},
      [&](size_t r, int col) {
        return col == 0 ? ui::colour_of(diff_->rows[rows[r]].change) : c.text;
      });
  if (!graphs) return;
  const ImVec2 each = {(rest.x - 8) / 2, rest.y - height - 8};
  left_graph_.draw("left graph", each, false);
  ImGui::SameLine(0, 8);
  right_graph_.draw("right graph", each, false);
}

}  // namespace poprt::inspector
