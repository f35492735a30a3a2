// What each pass did: a list to step through, and the graph after it with what is new.
#pragma once

#include <memory>

#include "model/pass_history.h"
#include "views/graph_view.h"
#include "views/ui.h"

namespace poprt::inspector {

class PassesView {
 public:
  explicit PassesView(Wake wake = {}) : graph_(std::move(wake)) {}

  void set_compilation(std::shared_ptr<const Compilation> compilation);
  void draw(ImVec2 size, bool keys = true);
  int step() const { return step_; }
  void show_step(int step);
  // Steps that changed nothing are left out.
  bool only_changes = true;
  GraphView& graph() { return graph_; }
  const GraphView& graph() const { return graph_; }
  std::string status() const;

 private:
  std::vector<int> shown() const;
  void move(int by);

  std::shared_ptr<const Compilation> compilation_;
  GraphView graph_;
  int step_ = 0;
  bool before_ = false;  // the graph before the pass, with what it removes
  std::vector<std::string> removed_;
  ui::TableState state_;
};

}  // namespace poprt::inspector
