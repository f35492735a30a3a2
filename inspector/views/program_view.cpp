#include "views/program_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "model/format.h"
#include "model/stable_order.h"

namespace poprt::inspector {
namespace {

enum Columns { kIndex, kFlow, kKernel, kNode, kWeights, kInUse, kTime, kShare };

}  // namespace

void ProgramView::set_program(std::shared_ptr<const ProgramModel> program) {
  if (program == program_) return;
  program_ = std::move(program);
  selected_ = interval_ = part_ = -1;
  times_.clear();
  show_anchor(std::exchange(anchor, {}));
}

void ProgramView::set_times(std::vector<double> times) {
  times_ = std::move(times);
  total_ = 0;
  for (const double t : times_) total_ += t;
}

std::string ProgramView::selected_node() const {
  return program_ && selected_ >= 0 ? program_->instructions()[static_cast<size_t>(selected_)].name
                                    : std::string();
}

int ProgramView::selected_part() const {
  if (!program_ || selected_ < 0) return -1;
  const InstructionRow& row = program_->instructions()[static_cast<size_t>(selected_)];
  return row.flow == "main" ? program_->part_of(row.index) : -1;
}

void ProgramView::show_part(int part) {
  part_ = program_ && part >= 0 && static_cast<size_t>(part) < program_->parts().size() ? part : -1;
  if (!program_ || part_ < 0 || selected_ < 0) return;
  const InstructionRow& row = program_->instructions()[static_cast<size_t>(selected_)];
  if (row.flow != "main" || program_->part_of(row.index) != part_) selected_ = interval_ = -1;
}

std::vector<size_t> ProgramView::rows() const {
  auto rows = program_->rows(filter, part_);
  const auto key = [&](size_t r) -> double {
    const InstructionRow& i = program_->instructions()[r];
    switch (state_.sort_column) {
      case kWeights: return static_cast<double>(i.weight_bytes);
      case kInUse: return i.flow == "main" ? static_cast<double>(live_bytes()[i.index]) : 0;
      case kTime:
      case kShare: return time_of(r);
      default: return static_cast<double>(r);
    }
  };
  const auto name = [&](size_t r) -> const std::string& {
    const InstructionRow& i = program_->instructions()[r];
    return state_.sort_column == kFlow ? i.flow : state_.sort_column == kKernel ? i.kernel : i.name;
  };
  const bool by_name = state_.sort_column >= kFlow && state_.sort_column <= kNode;
  stable_order(rows, [&](size_t a, size_t b) {
    if (state_.descending) std::swap(a, b);
    return by_name ? natural_less(name(a), name(b)) : key(a) < key(b);
  });
  return rows;
}

void ProgramView::scroll_to(size_t instruction) {
  const auto order = rows();
  const auto found = std::find(order.begin(), order.end(), instruction);
  if (found != order.end()) state_.scroll_to = static_cast<int>(found - order.begin());
}

void ProgramView::select(int row) {
  if (!program_ || row < 0 || static_cast<size_t>(row) >= program_->instructions().size()) return;
  selected_ = row;
  const InstructionRow& it = program_->instructions()[static_cast<size_t>(row)];
  if (part_ >= 0 && (it.flow != "main" || program_->part_of(it.index) != part_)) part_ = -1;
  scroll_to(static_cast<size_t>(row));
}

bool ProgramView::select(const std::string& name, const GraphModel* graph) {
  if (!program_) return false;
  const int node = graph ? graph->find(name) : kNone;
  const auto select_if = [&](const auto& wanted) {
    const auto& rows = program_->instructions();
    const auto found = std::find_if(rows.begin(), rows.end(), wanted);
    if (found == rows.end()) return false;
    select(static_cast<int>(found - rows.begin()));
    return true;
  };
  if (select_if([&](const InstructionRow& row) { return row.name == name; }) ||
      (node != kNone && select_if([&](const InstructionRow& row) {
         return graph->node_of_instruction(row.name) == node;
       })))
    return true;
  show_anchor(name);
  return select_if([&](const InstructionRow& row) { return touches_anchor(row); });
}

std::string ProgramView::status() const {
  if (!program_) return "no program";
  const uint64_t weights = program_->weights_bytes(), stored = program_->stored_weights_bytes();
  return fmt::format("{} · arena {} · weights {}{}",
                     counted(program_->instructions().size(), "instruction"),
                     bytes_text(program_->arena_bytes()), bytes_text(weights),
                     stored < weights ? fmt::format(", {} in the file", bytes_text(stored)) : "");
}

bool ProgramView::touches_anchor(const InstructionRow& row) const {
  return !anchor.empty() &&
         std::any_of(row.operands.begin(), row.operands.end(), [&](const OperandRow& o) {
           return o.space == "input " + anchor || o.space == "output " + anchor;
         });
}

void ProgramView::show_anchor(const std::string& name) {
  if (name == anchor) return;
  anchor = name;
  if (!program_ || anchor.empty()) return;
  for (size_t i = 0; i < program_->instructions().size(); i++)
    if (touches_anchor(program_->instructions()[i])) {
      const InstructionRow& row = program_->instructions()[i];
      if (part_ >= 0 && (row.flow != "main" || program_->part_of(row.index) != part_)) part_ = -1;
      return scroll_to(i);
    }
}

float ProgramView::Map::x(double step) const {
  const double part = (step - static_cast<double>(first)) / static_cast<double>(last - first);
  return least.x + static_cast<float>(part) * (most.x - least.x);
}

float ProgramView::Map::y(double bytes) const {
  return most.y - static_cast<float>((bytes - low) / (high - low)) * (most.y - least.y);
}

// Draws the use of the arena: time from left to right, addresses upwards.
void ProgramView::draw_memory(ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area("arena", size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, c.panel, 4 * s);
  const size_t steps = program_->live_bytes().size();
  if (steps == 0 || program_->arena_bytes() == 0) {
    ui::label(list, {at.x + 10 * s, at.y + 8 * s}, c.dim, "This program uses no arena");
    return;
  }
  const float line = ImGui::GetTextLineHeight();
  map_ = {0,
          steps,
          0,
          static_cast<double>(program_->arena_bytes()),
          {at.x + 82 * s, at.y + 2 * line + 14 * s},
          {at.x + size.x - 10 * s, at.y + size.y - line - 8 * s}};
  std::string title = fmt::format("Arena over time: {}", bytes_text(program_->arena_bytes()));
  if (part_ >= 0) {
    const ProgramPart& p = program_->parts()[static_cast<size_t>(part_)];
    map_.first = p.first;
    map_.last = p.last + 1;
    map_.low = static_cast<double>(p.arena_begin);
    map_.high = static_cast<double>(p.arena_begin + std::max<uint64_t>(1, p.arena_bytes));
    title = fmt::format("Arena of {}: {}", p.name, bytes_text(p.arena_bytes));
  }
  const size_t peak = program_->peak(part_);
  title += fmt::format(", most in use {} at instruction {}", bytes_text(live_bytes()[peak]), peak);
  ui::label(list, {at.x + 10 * s, at.y + 4 * s}, c.text,
            ui::fitted(title, size.x - 16 * s, ui::Cut::end));
  ui::mark(title, at, {at.x + size.x, at.y + line + 4 * s});
  draw_legend(list, {map_.least.x, at.y + line + 8 * s}, at.x + size.x - 10 * s);
  draw_scale(list);
  list->PushClipRect(map_.least, map_.most, true);
  draw_intervals(list);
  draw_live_line(list);
  const auto cut = [&](size_t index, ImU32 colour) {
    const float x = map_.x(static_cast<double>(index) + 0.5);
    list->AddLine({x, map_.least.y}, {x, map_.most.y}, colour, 2 * s);
  };
  for (const InstructionRow& i : program_->instructions())
    if (i.flow == "main" && touches_anchor(i)) cut(i.index, c.match);
  if (selected_ >= 0) {
    const InstructionRow& i = program_->instructions()[static_cast<size_t>(selected_)];
    if (i.flow == "main") cut(i.index, c.accent);
  }
  list->PopClipRect();
}

// Draws the colours of the kernels whose results are in the arena, the largest first, as far as
// there is space.
void ProgramView::draw_legend(ImDrawList* list, ImVec2 at, float right) const {
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  for (const std::string& kernel : program_->arena_kernels(part_)) {
    const float extent = ImGui::CalcTextSize(kernel.c_str()).x;
    if (at.x + 16 * s + extent > right) break;
    list->AddRectFilled({at.x, at.y + 2 * s}, {at.x + 10 * s, at.y + line - 2 * s},
                        ui::colour_of(kernel), 2 * s);
    ui::label(list, {at.x + 16 * s, at.y}, ui::colours().dim, kernel);
    ui::mark("legend " + kernel, at, {at.x + 16 * s + extent, at.y + line});
    at.x += extent + 34 * s;
  }
}

// Draws bytes at the left, instructions below, and the starts of the parts.
void ProgramView::draw_scale(ImDrawList* list) const {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  for (int i = 0; i <= 4; i++) {
    const double bytes = map_.low + (map_.high - map_.low) * i / 4;
    const std::string label = bytes_text(static_cast<uint64_t>(bytes));
    const float y = map_.y(bytes);
    list->AddLine({map_.least.x, y}, {map_.most.x, y}, c.grid);
    ui::label(list, {map_.least.x - 6 * s - ImGui::CalcTextSize(label.c_str()).x, y - line / 2},
              c.dim, label);
  }
  const std::string first = fmt::format("instruction {}", map_.first),
                    last = std::to_string(map_.last - 1);
  const float end = map_.most.x - ImGui::CalcTextSize(last.c_str()).x;
  ui::label(list, {map_.least.x, map_.most.y + 3 * s}, c.dim, first);
  ui::label(list, {end, map_.most.y + 3 * s}, c.dim, last);
  if (part_ >= 0) return;
  // Names of parts are drawn if there is space below them.
  float free = map_.least.x + ImGui::CalcTextSize(first.c_str()).x + 12 * s;
  for (const ProgramPart& p : program_->parts()) {
    const float x = map_.x(static_cast<double>(p.first)),
                middle = (x + map_.x(static_cast<double>(p.last + 1))) / 2,
                width = ImGui::CalcTextSize(p.name.c_str()).x;
    list->AddLine({x, map_.least.y}, {x, map_.most.y}, c.border);
    if (middle - width / 2 < free || middle + width / 2 > end - 8 * s) continue;
    ui::label(list, {middle - width / 2, map_.most.y + 3 * s}, c.dim, p.name);
    free = middle + width / 2 + 12 * s;
  }
}

void ProgramView::draw_intervals(ImDrawList* list) {
  const ui::Colours& c = ui::colours();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool hovered = ImGui::IsItemHovered();
  int under = -1;
  for (size_t i = 0; i < program_->intervals().size(); i++) {
    const ArenaInterval& v = program_->intervals()[i];
    if (v.last < static_cast<int>(map_.first) || v.first >= static_cast<int>(map_.last)) continue;
    const ImVec2 p = {map_.x(v.first), map_.y(static_cast<double>(v.offset + v.bytes))};
    const ImVec2 q = {std::max(map_.x(v.last + 1), p.x + 1),
                      std::max(map_.y(static_cast<double>(v.offset)), p.y + 1)};
    const bool chosen = static_cast<int>(i) == interval_;
    list->AddRectFilled(p, q, ui::with_alpha(ui::colour_of(v.kernel), chosen ? 1.0f : 0.75f));
    if (q.x - p.x > 3 && q.y - p.y > 3)
      list->AddRect(p, q, chosen ? c.text : ui::with_alpha(c.back, 0.6f));
    if (hovered && mouse.x >= p.x && mouse.x < q.x && mouse.y >= p.y && mouse.y < q.y)
      under = static_cast<int>(i);
  }
  if (!hovered) return;
  if (ImGui::IsMouseClicked(0)) {
    interval_ = under;
    const double part =
        static_cast<double>((mouse.x - map_.least.x) / (map_.most.x - map_.least.x));
    const auto step = static_cast<std::ptrdiff_t>(
        static_cast<double>(map_.first) + part * static_cast<double>(map_.last - map_.first));
    select(static_cast<int>(std::clamp(step, static_cast<std::ptrdiff_t>(map_.first),
                                       static_cast<std::ptrdiff_t>(map_.last) - 1)));
  }
  if (under < 0) return;
  const ArenaInterval& v = program_->intervals()[static_cast<size_t>(under)];
  ui::tooltip(fmt::format("{}\n{} at {}\ninstructions {} to {}\n{} buffers", v.name,
                          bytes_text(v.bytes), v.offset, v.first, v.last, v.buffers.size()));
}

// Draws the number of bytes in use as steps, and its maximum. For the memory of an IPU, bytes are
// counted from its start in the arena, so that the line is aligned with the rectangles.
void ProgramView::draw_live_line(ImDrawList* list) const {
  const ui::Colours& c = ui::colours();
  std::vector<double> height(map_.last);
  for (size_t i = map_.first; i < map_.last; i++)
    height[i] = map_.low + static_cast<double>(live_bytes()[i]);
  for (const ProgramPart& p : program_->parts())
    for (size_t i = std::max(p.first, map_.first);
         !p.is_variant() && i < std::min(p.last + 1, map_.last); i++)
      height[i] = static_cast<double>(p.arena_begin + program_->own_bytes()[i]);
  const auto y_of = [&](size_t i) { return map_.y(height[i]); };
  std::vector<ImVec2> line;
  for (size_t i = map_.first; i < map_.last; i++) {
    if (i == map_.first || height[i] != height[i - 1])
      line.push_back({map_.x(static_cast<double>(i)), y_of(i)});
    if (i + 1 == map_.last || height[i + 1] != height[i])
      line.push_back({map_.x(static_cast<double>(i + 1)), y_of(i)});
  }
  list->AddPolyline(line.data(), static_cast<int>(line.size()), c.text, 0, 1.6f * ui::scale());
  const size_t peak = program_->peak(part_);
  // The whole dot is inside of the map.
  const float x = map_.x(static_cast<double>(peak) + 0.5),
              y = std::max(y_of(peak), map_.least.y + 5 * ui::scale());
  list->AddCircleFilled({x, y}, 5 * ui::scale(), c.panel);
  list->AddCircleFilled({x, y}, 4 * ui::scale(), c.accent);
  const float width = ImGui::CalcTextSize("peak").x, side = 7 * ui::scale();
  const ImVec2 at = {
      x + side + width < map_.most.x ? x + side : x - side - width,
      std::clamp(y + 2 * ui::scale(), map_.least.y, map_.most.y - ImGui::GetTextLineHeight())};
  list->AddRectFilled({at.x - 2, at.y}, {at.x + width + 2, at.y + ImGui::GetTextLineHeight()},
                      c.panel, 2);
  ui::label(list, at, c.accent, "peak");
  ui::mark("peak", at, {at.x + width, at.y + ImGui::GetTextLineHeight()});
}

double ProgramView::time_of(size_t row) const {
  const InstructionRow& i = program_->instructions()[row];
  return i.flow == "main" && i.index < times_.size() ? times_[i.index] : 0;
}

void ProgramView::draw(ImVec2 size, bool keys) {
  if (!program_) {
    ui::dim_text("There is no program yet; a model is compiled when this view is opened");
    return;
  }
  const int step = keys ? ui::pressed(ui::kDown) - ui::pressed(ui::kUp) : 0;
  if (step != 0) {
    const auto order = rows();
    const auto at = std::find(order.begin(), order.end(), static_cast<size_t>(selected_));
    const std::ptrdiff_t next = at == order.end() ? 0 : at - order.begin() + step;
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(order.size()))
      select(static_cast<int>(order[static_cast<size_t>(next)]));
  }
  draw_memory({size.x, size.y * 0.38f});
  draw_bar(size, keys);
  draw_instructions(size);
}

// Draws the selection of the shown part, a filter, and the button that measures.
void ProgramView::draw_bar(ImVec2 size, bool keys) {
  const float s = ui::scale();
  if (programs.size() > 1) {
    ui::choice("program", programs, shown_program, std::min(220 * s, size.x * 0.2f));
    ImGui::SameLine();
  }
  if (!program_->parts().empty()) {
    std::vector<std::string> names = {program_->parts()[0].is_variant() ? "all variants"
                                                                        : "all IPUs"};
    for (const ProgramPart& p : program_->parts()) names.push_back(p.name);
    int chosen = part_ + 1;
    if (ui::choice("part", names, chosen, std::min(220 * s, size.x * 0.2f))) show_part(chosen - 1);
    ImGui::SameLine();
  }
  ui::field("filter##program", "Filter instructions by kernel or node", filter,
            std::min(340 * s, size.x * (program_->parts().empty() ? 1 : 0.3f)));
  ImGui::SameLine();
  if (ui::button("Profile", "R: runs the program on random inputs and times each instruction") ||
      (keys && ui::pressed('R')))
    profile_ = true;
  ImGui::SameLine();
  ui::fitted_text(status());
}

void ProgramView::draw_instructions(ImVec2 size) {
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const float details = ui::panel("instruction", std::min(380.0f, size.x * 0.34f / ui::scale()),
                                  160 * ui::scale(), size.x * 0.6f);
  const auto rows = this->rows();
  const double total = part_ < 0 ? total_
                                 : total_of(program_->parts()[static_cast<size_t>(part_)].first,
                                            program_->parts()[static_cast<size_t>(part_)].last);
  const double longest = times_.empty() ? 0 : *std::max_element(times_.begin(), times_.end());
  const ui::Colours& c = ui::colours();
  std::vector<ui::Column> columns = {{"#", 0.6f, true}, {"Flow", 0.7f},       {"Kernel", 2},
                                     {"Node", 3.4f},    {"Weights", 1, true}, {"In use", 1, true}};
  if (!times_.empty()) columns.insert(columns.end(), {{"Time", 1, true}, {"Share", 1, true}});
  ui::table(
      times_.empty() ? "instructions" : "timed instructions", columns, rows.size(),
      [&](size_t r, int col) -> std::string {
        const InstructionRow& i = program_->instructions()[rows[r]];
        if (col == kIndex) return std::to_string(i.index);
        if (col == kFlow) return i.flow;
        if (col == kKernel) return std::string(static_cast<size_t>(i.depth) * 2, ' ') + i.kernel;
        if (col == kNode) return i.name;
        if (col == kWeights) return i.weight_bytes ? bytes_text(i.weight_bytes) : "";
        if (col == kInUse) return i.flow == "main" ? bytes_text(live_bytes()[i.index]) : "";
        const double time = time_of(rows[r]);
        if (time <= 0) return "";
        return col == kTime ? duration_text(time) : fmt::format("{:.1f} %", 100 * time / total);
      },
      [&](size_t r) { return static_cast<int>(rows[r]) == selected_; },
      [&](size_t r) { selected_ = static_cast<int>(rows[r]); }, state_,
      {size.x - details - spacing, rest.y},
      [&](size_t r, int col) {
        const InstructionRow& i = program_->instructions()[rows[r]];
        if (touches_anchor(i)) return c.match;
        if (col >= kTime && longest > 0)
          return ui::mixed(c.text, ui::heat(static_cast<float>(time_of(rows[r]) / longest)), 0.8f);
        return col == kKernel ? ui::mixed(c.text, ui::colour_of(i.kernel), 0.6f) : c.text;
      });
  ui::splitter("instruction", rest.y, true);
  draw_details({ImGui::GetContentRegionAvail().x, rest.y});
}

double ProgramView::total_of(size_t first, size_t last) const {
  double sum = 0;
  for (size_t i = first; i <= last && i < times_.size(); i++) sum += times_[i];
  return sum;
}

// Lists the variants, or the parts of the IPUs. A click shows only that part.
void ProgramView::draw_parts() {
  if (program_->parts().empty()) return;
  const bool variants = program_->parts()[0].is_variant();
  ui::heading(variants ? "Variants, of which one runs" : "Several IPUs");
  for (size_t i = 0; i < program_->parts().size(); i++) {
    const ProgramPart& p = program_->parts()[i];
    ImGui::PushID(static_cast<int>(i));
    if (ui::pick(p.name, part_ == static_cast<int>(i)))
      show_part(part_ == static_cast<int>(i) ? -1 : static_cast<int>(i));
    ui::mark("show " + p.name);
    std::string line = "    " + counted(p.last - p.first - 1, "instruction");
    if (const double time = total_of(p.first, p.last); time > 0) line += ", " + duration_text(time);
    ui::dim_text(line);
    ui::dim_text(fmt::format("    weights {}, {} {}", bytes_text(p.weights_bytes),
                             variants ? "uses" : "memory", bytes_text(p.arena_bytes)));
    ImGui::PopID();
  }
}

// Shown while no instruction is selected.
void ProgramView::draw_totals() {
  draw_parts();
  ui::heading("Largest in the arena");
  const size_t peak = program_->peak(part_);
  const auto order = program_->alive_at(static_cast<int>(peak));
  ui::dim_text(order.empty() ? "No arena, so no peak"
                             : fmt::format("At the peak, instruction {}:", peak));
  for (size_t k = 0; k < std::min<size_t>(order.size(), 12); k++) {
    const ArenaInterval& v = program_->intervals()[order[k]];
    ImGui::PushID(static_cast<int>(k));
    ui::row(bytes_text(v.bytes), v.name);
    ImGui::PopID();
  }
  ui::heading("Kernels");
  std::map<std::string, double> times;
  for (size_t r = 0; r < program_->instructions().size(); r++)
    times[program_->instructions()[r].kernel] += time_of(r);
  auto kernels = program_->kernel_counts(part_);
  stable_order(kernels,
               [&](const auto& a, const auto& b) { return times.at(a.first) > times.at(b.first); });
  for (const auto& [kernel, count] : kernels) {
    ImGui::PushID(kernel.c_str());
    ImGui::ColorButton("colour", ImGui::ColorConvertU32ToFloat4(ui::colour_of(kernel)),
                       ImGuiColorEditFlags_NoTooltip | ImGuiColorEditFlags_NoBorder,
                       {10 * ui::scale(), ImGui::GetTextLineHeight()});
    ImGui::SameLine();
    ui::row(std::to_string(count),
            times.at(kernel) > 0 ? fmt::format("{}   {}", kernel, duration_text(times.at(kernel)))
                                 : kernel);
    ImGui::PopID();
  }
}

// A click on an operand that is an anchor highlights the anchor.
void ProgramView::draw_operands(const InstructionRow& i) {
  ui::heading("Operands");
  for (size_t k = 0; k < i.operands.size(); k++) {
    const OperandRow& o = i.operands[k];
    ImGui::PushID(static_cast<int>(k));
    const size_t at = o.space.find(' ');
    if (at == std::string::npos)
      ui::row(o.space, o.type);
    else if (ui::button(fmt::format("{}  {}", o.space, o.type).c_str(),
                        "Highlights this anchor in every view", o.space.substr(at + 1) == anchor))
      anchor = o.space.substr(at + 1);
    ui::dim_text(fmt::format("    buffer {} at {}, {}", o.buffer, o.offset, bytes_text(o.bytes)));
    if (!o.stored.empty()) ui::dim_text(fmt::format("    stored in the file as {}", o.stored));
    ImGui::PopID();
  }
}

void ProgramView::draw_details(ImVec2 size) {
  ImGui::BeginChild("instruction", size, true);
  if (selected_ < 0) {
    draw_totals();
    ImGui::EndChild();
    return;
  }
  const InstructionRow& i = program_->instructions()[static_cast<size_t>(selected_)];
  ui::heading(fmt::format("{} {}", i.flow, i.index));
  ui::row("kernel", i.kernel);
  ui::row("node", i.name);
  ImGui::BeginDisabled(!graph_problem.empty());
  if (ui::button("Show in graph") && graph_problem.empty()) node_ = i.name;
  ImGui::EndDisabled();
  if (!graph_problem.empty()) {
    ImGui::PushTextWrapPos(0);
    ui::dim_text(graph_problem);
    ImGui::PopTextWrapPos();
  }
  if (const double time = time_of(static_cast<size_t>(selected_)); time > 0)
    ui::row("time", fmt::format("{}, {:.1f} % of all", duration_text(time), 100 * time / total_));
  draw_operands(i);
  if (i.flow == "main") {
    ui::heading("Alive now");
    for (const size_t v : program_->alive_at(static_cast<int>(i.index))) {
      const ArenaInterval& a = program_->intervals()[v];
      ImGui::PushID(static_cast<int>(v));
      ui::row(bytes_text(a.bytes), a.name);
      ImGui::PopID();
    }
  }
  if (interval_ >= 0) {
    const auto shared = program_->sharing_with(static_cast<size_t>(interval_));
    ui::heading(fmt::format("Shares bytes with {}", shared.size()));
    for (size_t k = 0; k < std::min<size_t>(shared.size(), 40); k++) {
      const ArenaInterval& a = program_->intervals()[shared[k]];
      ImGui::PushID(static_cast<int>(k) + 100000);
      ui::row(fmt::format("{} to {}", a.first, a.last), a.name);
      ImGui::PopID();
    }
  }
  ImGui::EndChild();
}

}  // namespace poprt::inspector
