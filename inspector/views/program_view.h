// A program: instructions, and the arena's memory over time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/program_model.h"
#include "views/ui.h"

namespace poprt::inspector {

class ProgramView {
 public:
  void set_program(std::shared_ptr<const ProgramModel> program);
  void draw(ImVec2 size, bool keys = true);

  std::string filter;
  // Instructions that read or write it are marked, and the first one comes in sight; empty: none.
  // A click on an operand sets it, too.
  std::string anchor;
  void show_anchor(const std::string& name);
  int selected() const { return selected_; }
  void select(int row);
  // The first instruction of that node; false when there is none.
  bool select_node(const std::string& name);
  std::string status() const;
  // Mean times of the instructions of main; empty: not measured.
  void set_times(std::vector<double> times);
  // A click asked for a measurement.
  bool take_profile() { return std::exchange(profile_, false); }
  // The node of the selected instruction; empty: none is selected.
  std::string selected_node() const;
  // Why that node cannot be shown in a graph; empty: it can.
  std::string graph_problem;
  // The name of the graph's node that a click asked for; empty: none.
  std::string take_node() { return std::exchange(node_, {}); }

 private:
  void draw_memory(ImVec2 size);
  void draw_details(ImVec2 size);
  void draw_operands(const InstructionRow& i);
  void draw_totals();
  void draw_live_line(ImDrawList* list, ImVec2 least, ImVec2 most) const;
  double time_of(size_t row) const;
  // Instructions as they are listed.
  std::vector<size_t> rows() const;
  void scroll_to(size_t instruction);
  bool touches_anchor(const InstructionRow& row) const;

  std::shared_ptr<const ProgramModel> program_;
  int selected_ = -1;
  int interval_ = -1;
  std::string node_;
  std::vector<double> times_;
  double total_ = 0;  // of them
  bool profile_ = false;
  ui::TableState state_{0};
};

}  // namespace poprt::inspector
