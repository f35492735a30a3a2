// The view of a program: instructions, and the memory of the arena over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_model.h"
#include "model/program_model.h"
#include "views/ui.h"

namespace poprt::inspector {

class ProgramView {
 public:
  void set_program(std::shared_ptr<const ProgramModel> program);
  // Names of the programs of a file with several, for a list, and the index of the shown one.
  std::vector<std::string> programs;
  int shown_program = 0;
  const std::shared_ptr<const ProgramModel>& shown() const { return program_; }
  void draw(ImVec2 size, bool keys = true);

  std::string filter;
  // The highlighted anchor; empty: none. Instructions that read or write it are marked, and the
  // first one is scrolled into view. A click on an operand sets it, too.
  std::string anchor;
  void show_anchor(const std::string& name);
  int selected() const { return selected_; }
  void select(int row);
  // Selects the first instruction with that name, else the first one that implements that node of
  // `graph`, else the first one that reads or writes that anchor. Returns false if there is none.
  bool select(const std::string& name, const GraphModel* graph = nullptr);
  std::string status() const;
  // The shown variant, or part of an IPU; -1: all of main.
  int part() const { return part_; }
  void show_part(int part);
  // Mean times of the instructions of main; empty: not measured.
  void set_times(std::vector<double> times);
  // Whether a click requested a measurement.
  bool take_profile() { return std::exchange(profile_, false); }
  // The node of the selected instruction; empty: none is selected.
  std::string selected_node() const;
  // The variant, or part of an IPU, that contains the selected instruction; -1: none.
  int selected_part() const;
  // Why the selected node cannot be shown in a graph; empty if it can.
  std::string graph_problem;
  // Returns the name of the graph node that a click requested; empty: none.
  std::string take_node() { return std::exchange(node_, {}); }

 private:
  void draw_memory(ImVec2 size);
  void draw_details(ImVec2 size);
  void draw_operands(const InstructionRow& i);
  void draw_totals();
  void draw_parts();
  void draw_bar(ImVec2 size, bool keys);
  void draw_instructions(ImVec2 size);
  void draw_intervals(ImDrawList* list);
  void draw_legend(ImDrawList* list, ImVec2 at, float right) const;
  void draw_scale(ImDrawList* list) const;
  double total_of(size_t first, size_t last) const;
  // For the shown part.
  const std::vector<uint64_t>& live_bytes() const {
    return part_ < 0 ? program_->live_bytes() : program_->own_bytes();
  }
  void draw_live_line(ImDrawList* list) const;
  double time_of(size_t row) const;
  // The instructions in the listed order.
  std::vector<size_t> rows() const;
  void scroll_to(size_t instruction);
  bool touches_anchor(const InstructionRow& row) const;

  std::shared_ptr<const ProgramModel> program_;
  int selected_ = -1;
  int interval_ = -1;
  int part_ = -1;
  // The position of the arena map, and its ranges: instructions [first, last) and bytes.
  struct Map {
    size_t first = 0, last = 0;
    double low = 0, high = 1;
    ImVec2 least, most;
    float x(double step) const;
    float y(double bytes) const;
  };
  Map map_;
  std::string node_;
  std::vector<double> times_;
  double total_ = 0;  // sum of the times
  bool profile_ = false;
  ui::TableState state_{0};
};

}  // namespace poprt::inspector
