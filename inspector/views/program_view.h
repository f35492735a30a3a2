// A program: instructions, and the arena's memory over time.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Names of the programs of a file that has several, and which one is shown: a list offers them.
  std::vector<std::string> programs;
  int shown_program = 0;
  const std::shared_ptr<const ProgramModel>& shown() const { return program_; }
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
  // The variant, or what one IPU does, that is shown; -1: all of main.
  int part() const { return part_; }
  void show_part(int part);
  // Mean times of the instructions of main; empty: not measured.
  void set_times(std::vector<double> times);
  // A click asked for a measurement.
  bool take_profile() { return std::exchange(profile_, false); }
  // The node of the selected instruction; empty: none is selected.
  std::string selected_node() const;
  // The variant, or what one IPU does, that it belongs to; -1: none.
  int selected_part() const;
  // Why that node cannot be shown in a graph; empty: it can.
  std::string graph_problem;
  // The name of the graph's node that a click asked for; empty: none.
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
  void draw_scale(ImDrawList* list) const;
  double total_of(size_t first, size_t last) const;
  // Of what is shown.
  const std::vector<uint64_t>& live_bytes() const {
    return part_ < 0 ? program_->live_bytes() : program_->own_bytes();
  }
  void draw_live_line(ImDrawList* list) const;
  double time_of(size_t row) const;
  // Instructions as they are listed.
  std::vector<size_t> rows() const;
  void scroll_to(size_t instruction);
  bool touches_anchor(const InstructionRow& row) const;

  std::shared_ptr<const ProgramModel> program_;
  int selected_ = -1;
  int interval_ = -1;
  int part_ = -1;
  // What the map of the arena shows, and where: instructions [first, last) and bytes.
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
  double total_ = 0;  // of them
  bool profile_ = false;
  ui::TableState state_{0};
};

}  // namespace poprt::inspector
