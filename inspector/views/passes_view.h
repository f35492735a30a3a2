// The view of passes: a list of steps, and the graph after the selected step with its changes.
#pragma once

#include <memory>

#include "model/pass_history.h"
#include "views/details_panel.h"
#include "views/graph_view.h"
#include "views/ui.h"

namespace poprt::inspector {

class PassesView {
 public:
  explicit PassesView(Wake wake = {}) : graph_(wake), details_(std::move(wake)) {
    details_.overview = false;
  }

  // Null: not compiled.
  void set_compilation(std::shared_ptr<const Compilation> compilation);
  void draw(ImVec2 size, bool keys = true);
  int step() const { return step_; }
  void show_step(int step);
  // Shows the step of a row of the list, counted from 0. Returns false if there is no such row.
  bool show_row(int row);
  // Shows the graph before or after the pass.
  void show_before(bool before);
  // Whether steps without changes are hidden.
  bool only_changes = true;
  GraphView& graph() { return graph_; }
  const GraphView& graph() const { return graph_; }
  DetailsPanel& details() { return details_; }
  std::string status() const;
  bool busy() const { return graph_.busy() || details_.busy(); }
  void settle() {
    graph_.settle();
    details_.settle();
  }

 private:
  std::vector<int> shown() const;
  void move(int by);
  void draw_steps(ImVec2 size);
  void draw_removed(ImVec2 size);

  std::shared_ptr<const Compilation> compilation_;
  GraphView graph_;
  DetailsPanel details_;
  int step_ = 0;
  bool before_ = false;       // shows the graph before the pass, with the nodes that it removes
  std::vector<int> removed_;  // nodes of the graph before the pass
  ui::TableState state_;
};

}  // namespace poprt::inspector
