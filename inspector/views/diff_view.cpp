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
  task_ = {};
  measuring_ = {};
  errors_ = {};
  category_.clear();
  left_node_ = right_node_ = kNone;
  error_.clear();
  selected_ = -1;
  if (!left_ || !right_) return;
  left_graph_.set_graph(left_->graph);
  right_graph_.set_graph(right_->graph);
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
      for (const DiffRow& row : diff_->rows)
        if (row.change == Change::changed && row.left_node != kNone)
          gone[static_cast<size_t>(row.left_node)] = Change::changed;
      left_graph_.set_changes(std::move(gone));
    }
  } else {
    error_ = task_.error();
  }
  task_ = {};
}

void DiffView::measure(std::shared_ptr<const Compilation> left,
                       std::shared_ptr<const Compilation> right) {
  if (!left_ || !right_ || measuring_.started()) return;
  constexpr double kSeconds = 1;
  error_.clear();
  measuring_ = Task<std::pair<Measured, Measured>>(
      [a = left_, b = right_, left, right](Progress& progress) {
        return measure_documents(*a, left.get(), *b, right.get(), kSeconds, progress);
      },
      wake_);
}

// Measured rows replace the earlier rows of programs and come first.
void DiffView::accept_measured() {
  if (!diff_ || !measuring_.started() || measuring_.running()) return;
  if (const auto made = measuring_.take()) {
    auto diff = std::make_shared<DocumentDiff>();
    diff->graph = diff_->graph;
    diff->rows = diff_programs(made->first, made->second);
    for (const DiffRow& row : diff_->rows)
      if (!is_of_programs(row)) diff->rows.push_back(row);
    diff_ = std::move(diff);
    selected_ = -1;
    category_.clear();
  } else {
    error_ = measuring_.error();
  }
  measuring_ = {};
}

void DiffView::find_errors() {
  if (!left_ || !right_ || errors_.started()) return;
  error_.clear();
  errors_ = Task<std::vector<NodeError>>(
      [left = left_, right = right_](Progress& progress) {
        return node_errors(*left, *right, 1, progress);
      },
      wake_);
}

void DiffView::accept_errors() {
  if (!diff_ || !errors_.started() || errors_.running()) return;
  if (const auto made = errors_.take()) {
    auto diff = std::make_shared<DocumentDiff>();
    diff->graph = diff_->graph;
    std::vector<std::pair<std::string, double>> values;
    for (const NodeError& e : *made) {
      const int left = left_->graph->node_of_instruction(e.value),
                right = right_->graph->node_of_instruction(e.value);
      diff->rows.push_back(
          {"error", e.value,
           e.problem.empty() ? fmt::format("relative error {:.3g}", e.relative) : e.problem,
           e.problem.empty() ? fmt::format("largest difference {:.3g}", e.largest) : "",
           e.relative == 0 ? Change::none : Change::changed, left, right});
      values.emplace_back(e.value, e.relative);
    }
    for (const DiffRow& row : diff_->rows)
      if (row.category != "error") diff->rows.push_back(row);
    for (auto* side : {&left_graph_, &right_graph_})
      side->set_overlay(
          std::make_shared<Overlay>(overlay_of("relative error", values, *side->graph())));
    diff_ = std::move(diff);
    selected_ = -1;
    category_ = "error";
  } else {
    error_ = errors_.error();
  }
  errors_ = {};
}

void DiffView::settle() {
  task_.wait();
  accept();
  errors_.wait();
  accept_errors();
  measuring_.wait();
  accept_measured();
  left_graph_.settle();
  right_graph_.settle();
}

std::string DiffView::status() const {
  if (!left_ || !right_) return "nothing to compare with";
  if (!diff_) return "comparing";
  const auto same =
      static_cast<size_t>(std::ranges::count(diff_->rows, Change::none, &DiffRow::change));
  return counted(diff_->rows.size() - same, "difference") +
         (same > 0 ? fmt::format(", {} the same", same) : "");
}

void DiffView::draw(ImVec2 size) {
  accept();
  accept_measured();
  accept_errors();
  const ui::Colours& c = ui::colours();
  if (!left_ || !right_) {
    ui::dim_text("Nothing to compare with yet: only one file is open");
    return;
  }
  if (!error_.empty()) ui::coloured_text(c.bad, error_);
  if (!diff_) {
    if (error_.empty()) ui::dim_text("Comparing …");
    return;
  }
  ui::field("filter##diff", "Filter differences", filter, std::min(240 * ui::scale(), size.x));
  draw_categories();
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const bool graphs = left_->graph && right_->graph;
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float row = selected_ >= 0 ? std::min(7 * line, rest.y * 0.2f) : 0;
  const float height = (graphs ? rest.y * 0.4f : rest.y) - (graphs ? 0 : row);
  draw_table({size.x, graphs ? height - row : height - (row > 0 ? 6 : 0)});
  if (selected_ >= 0) draw_row({size.x, row});
  if (!graphs) return;
  follow_selection();
  const float half = (rest.x - 8) / 2, room = ImGui::GetContentRegionAvail().y;
  const float top = ImGui::GetTextLineHeightWithSpacing();
  const float begin = ImGui::GetCursorPosX();
  ui::coloured_text(c.gone, "left  " + left_->title());
  ImGui::SameLine(begin + half + 8);
  ui::coloured_text(c.good, "right  " + right_->title());
  const ImVec2 each = {half, room - top};
  left_graph_.draw("left graph", each, false);
  ImGui::SameLine(0, 8);
  right_graph_.draw("right graph", each, false);
}

// Shows the number of differences of each kind. A click shows only that kind.
void DiffView::draw_categories() {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const DiffRow& r : diff_->rows) {
    if (counts.empty() || counts.back().first != r.category) {
      const auto known = std::find_if(counts.begin(), counts.end(),
                                      [&](const auto& n) { return n.first == r.category; });
      if (known != counts.end()) {
        known->second++;
        continue;
      }
      counts.emplace_back(r.category, 0);
    }
    counts.back().second++;
  }
  ImGui::SameLine();
  if (diff_->rows.empty()) ui::text("No differences");
  if (!diff_->rows.empty() &&
      ui::button(fmt::format("All {}", diff_->rows.size()).c_str(), nullptr, category_.empty()))
    category_.clear();
  for (const auto& [name, count] : counts) {
    ImGui::SameLine();
    if (ui::button(fmt::format("{} {}", name, count).c_str(), nullptr, category_ == name))
      category_ = category_ == name ? "" : name;
  }
  if (!measuring_.started() && !errors_.started()) return;
  ImGui::SameLine();
  ui::dim_text(errors_.started() ? "running both …" : "compiling and timing …");
}

std::vector<size_t> DiffView::listed() const {
  std::vector<size_t> rows;
  for (size_t i = 0; i < diff_->rows.size(); i++) {
    const DiffRow& r = diff_->rows[i];
    if (!category_.empty() && r.category != category_) continue;
    if (contains_text(r.name, filter) || contains_text(r.category, filter) ||
        contains_text(change_name(r.change), filter))
      rows.push_back(i);
  }
  return rows;
}

void DiffView::draw_table(ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const std::vector<size_t> rows = listed();
  // The width of each side depends on its longest text.
  size_t longest[2] = {0, 0};
  for (const size_t r : rows) {
    longest[0] = std::max(longest[0], diff_->rows[r].left.size());
    longest[1] = std::max(longest[1], diff_->rows[r].right.size());
  }
  const auto width = [&](size_t side) {
    return 1.5f + 6.5f * static_cast<float>(longest[side]) /
                      static_cast<float>(std::max<size_t>(1, longest[0] + longest[1]));
  };
  const std::string left = "Left: " + shortened(left_->title(), 40),
                    right = "Right: " + shortened(right_->title(), 40);
  ui::table(
      diff_->rows.empty() ? "no diff"
      : category_.empty() ? "diff"
                          : ("diff of " + category_).c_str(),
      {{"Change", 0.8f, false, true},
       {"What", 0.8f, false, true},
       {"Name", 2.6f},
       {left.c_str(), width(0)},
       {right.c_str(), width(1)}},
      rows.size(),
      [&](size_t r, int col) -> std::string {
        const DiffRow& d = diff_->rows[rows[r]];
        const std::string cells[] = {change_name(d.change), d.category, d.name,
                                     shortened(d.left, 300), shortened(d.right, 300)};
        return cells[col];
      },
      [&](size_t r) { return selected_ == static_cast<int>(rows[r]); },
      [&](size_t r) { pick(rows[r]); }, state_, size,
      [&](size_t r, int col) {
        return col == 0 ? ui::colour_of(diff_->rows[rows[r]].change) : c.text;
      });
}

void DiffView::pick(size_t row) {
  selected_ = static_cast<int>(row);
  const DiffRow& d = diff_->rows[row];
  if (d.left_node != kNone) left_graph_.select(d.left_node);
  if (d.right_node != kNone) right_graph_.select(d.right_node);
  left_node_ = left_graph_.selected();
  right_node_ = right_graph_.selected();
}

bool DiffView::select(const std::string& name) {
  if (!diff_) return false;
  const auto found = std::find_if(diff_->rows.begin(), diff_->rows.end(),
                                  [&](const DiffRow& r) { return r.name == name; });
  if (found == diff_->rows.end()) return false;
  const auto row = static_cast<size_t>(found - diff_->rows.begin());
  pick(row);
  // A row that the filter or the category hides could not be seen.
  auto rows = listed();
  if (std::find(rows.begin(), rows.end(), row) == rows.end()) {
    filter.clear();
    category_.clear();
    rows = listed();
  }
  state_.scroll_to = static_cast<int>(std::find(rows.begin(), rows.end(), row) - rows.begin());
  return true;
}

// Shows both sides of the selected row in full.
void DiffView::draw_row(ImVec2 size) {
  const DiffRow& d = diff_->rows[static_cast<size_t>(selected_)];
  const ui::Colours& c = ui::colours();
  const float half = (size.x - 8) / 2;
  for (const bool right : {false, true}) {
    const std::string& text = right ? d.right : d.left;
    if (right) ImGui::SameLine(0, 8);
    ImGui::BeginChild(right ? "right row" : "left row", {half, size.y - 6}, true);
    ImGui::PushTextWrapPos(0);
    ui::coloured_text(right ? c.good : c.gone, d.name);
    text.empty() ? ui::dim_text("not there") : ui::text(text);
    if (ImGui::IsItemClicked()) ui::copy(text);
    ImGui::PopTextWrapPos();
    ImGui::EndChild();
  }
}

// Selecting a node in one graph also selects the corresponding node in the other.
void DiffView::follow_selection() {
  const auto& before = diff_->graph.before;
  const int left = left_graph_.selected(), right = right_graph_.selected();
  if (right != right_node_ && right != kNone && static_cast<size_t>(right) < before.size()) {
    if (const int node = before[static_cast<size_t>(right)]; node != kNone && node != left)
      left_graph_.select(node);
  } else if (left != left_node_ && left != kNone) {
    const auto found = std::find(before.begin(), before.end(), left);
    if (found != before.end() && found - before.begin() != right)
      right_graph_.select(static_cast<int>(found - before.begin()));
  }
  left_node_ = left_graph_.selected();
  right_node_ = right_graph_.selected();
}

}  // namespace poprt::inspector
