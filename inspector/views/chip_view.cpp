#include "views/chip_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>

#include "model/format.h"
#include "model/stable_order.h"

namespace poprt::inspector {
namespace {

const std::vector<std::string> kTargets = {"mk1", "mk2", "bow", "c600"};
const std::vector<std::string> kPrecisions = {"fp32", "fp16", "fp8", "fp8_weight"};
constexpr std::array kProportions = {0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0};
constexpr std::array<int64_t, 6> kIpus = {1, 2, 4, 8, 16, 64};

int index_of(const std::vector<std::string>& list, const std::string& word) {
  return static_cast<int>(std::ranges::find(list, word) - list.begin());
}

ImU32 colour_of_phase(ChipPhase::Kind kind) {
  const ui::Colours& c = ui::colours();
  return kind == ChipPhase::compute ? c.accent : kind == ChipPhase::exchange ? c.warn : c.dim;
}

std::string count_text(double n) { return fmt::format("{:.0f}", n); }

}  // namespace

void ChipView::set_model(std::shared_ptr<const ir::Graph> graph,
                         const compiler::DriverOptions& options, const std::string& shapes) {
  if (shows(graph, shapes)) return;
  graph_ = std::move(graph);
  options_ = options;
  shapes_ = shapes;
  op_ = tile_ = -1;
  ipu_ = 0;
  // Results of another model must not be shown until the new ones are known.
  model_ = other_ = nullptr;
  start();
}

void ChipView::refuse(const std::string& error) {
  graph_ = nullptr;
  making_ = {};
  making_other_ = {};
  model_ = other_ = nullptr;
  error_ = error;
}

void ChipView::start_one(Task<ChipModel>& task, const ChipChoice& choice) {
  task = Task<ChipModel>(
      [graph = graph_, options = options_, choice](Progress& progress) {
        return estimate_on_chip(*graph, options, choice, progress);
      },
      wake_);
}

void ChipView::start() {
  if (!graph_) return;
  error_.clear();
  other_error_.clear();
  start_one(making_, choice_);
  if (!comparing_) return;
  other_choice_ =
      ChipChoice{other_choice_.target, choice_.precision, choice_.proportion, choice_.ipus};
  start_one(making_other_, other_choice_);
}

void ChipView::compare_with(const std::string& target) {
  comparing_ = !target.empty();
  other_ = nullptr;
  other_error_.clear();
  making_other_ = {};
  if (!comparing_) return;
  other_choice_ = choice_;
  other_choice_.target = target;
  if (graph_) start_one(making_other_, other_choice_);
  page = Page::compare;
}

void ChipView::accept() {
  const auto take = [](Task<ChipModel>& task, std::shared_ptr<const ChipModel>& to,
                       std::string& error) {
    if (!task.started() || task.running()) return;
    if (auto made = task.take()) {
      to = std::make_shared<ChipModel>(std::move(*made));
    } else {
      to = nullptr;  // the earlier estimate is of other choices
      error = printable(task.error());
    }
    task = {};
  };
  take(making_, model_, error_);
  take(making_other_, other_, other_error_);
  if (!model_) return;
  if (op_ >= static_cast<int>(model_->ops().size())) op_ = -1;
  if (ipu_ >= static_cast<int>(model_->estimate().memory.size())) ipu_ = 0;
  if (tile_ >= model_->estimate().target.tiles) tile_ = -1;
}

void ChipView::settle() {
  making_.wait();
  making_other_.wait();
  accept();
}

std::string ChipView::status() const {
  return model_ ? fmt::format("{} on {}, not measured", counted(model_->ops().size(), "operation"),
                              model_->choice().target)
                : std::string("no estimate");
}

void ChipView::set_page(const std::string& name) {
  static constexpr const char* names[] = {"memory", "operations", "compare"};
  for (size_t i = 0; i < std::size(names); i++)
    if (name == names[i]) page = static_cast<Page>(i);
  if (name == "compare" && !comparing_) compare_with("mk2");
  if (name == "cycles") by_cycles_ = true;
  if (name == "graph") graph_wanted_ = true;
}

void ChipView::choose(const ChipChoice& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  start();
}

bool ChipView::select(const std::string& name) {
  if (!model_) return false;
  for (size_t i = 0; i < model_->ops().size(); i++)
    if (printable(model_->ops()[i].name) == name) {
      op_ = static_cast<int>(i);
      ipu_ = static_cast<int>(model_->ops()[i].ipu);
      return true;
    }
  return false;
}

void ChipView::step(int by) {
  const int last = static_cast<int>(model_->ops().size()) - 1;
  op_ = std::clamp(op_ + by, -1, last);
  if (op_ >= 0) ipu_ = static_cast<int>(model_->ops()[static_cast<size_t>(op_)].ipu);
}

void ChipView::draw(ImVec2 size, bool keys) {
  accept();
  draw_bar(size);
  if (!error_.empty()) {
    ui::coloured_text(ui::colours().bad, "This model cannot be estimated:");
    ImGui::PushTextWrapPos(0);
    ui::text(error_);
    ImGui::PopTextWrapPos();
    return;
  }
  if (!model_) {
    ui::dim_text("Estimating");
    return;
  }
  if (keys) {
    if (const int by = ui::pressed(ui::kRight) - ui::pressed(ui::kLeft)) step(by);
    if (ui::pressed('C')) by_cycles_ = !by_cycles_;
  }
  ui::fitted_text(model_->headline());
  ImGui::PushTextWrapPos(0);
  for (const std::string& line : model_->estimate().program.assumptions)
    ui::coloured_text(ui::colours().warn, "Assumed: " + printable(line));
  ImGui::PopTextWrapPos();
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  const float pages = ui::panel("chip", std::min(560.0f, size.x * 0.42f / ui::scale()),
                                200 * ui::scale(), size.x * 0.7f);
  const float width = rest.x - pages - spacing, line = ImGui::GetFrameHeightWithSpacing();
  ImGui::BeginChild("chip map", {width, rest.y});
  const float trace = std::max(64 * ui::scale(), rest.y * 0.2f);
  draw_tiles({width, std::max(60.0f, rest.y - trace - 2 * line)});
  draw_time(width);
  draw_trace({width, ImGui::GetContentRegionAvail().y});
  ImGui::EndChild();
  ui::splitter("chip", rest.y, true);
  draw_pages({ImGui::GetContentRegionAvail().x, rest.y});
}

// The choices of the estimate.
void ChipView::draw_bar(ImVec2 size) {
  const float s = ui::scale(), width = std::min(110 * s, size.x * 0.12f);
  bool changed = false;
  int target = index_of(kTargets, choice_.target);
  if (ui::choice("chip target", kTargets, target, width)) {
    choice_.target = kTargets[static_cast<size_t>(target)];
    changed = true;
  }
  ImGui::SameLine();
  int precision = index_of(kPrecisions, choice_.precision);
  if (ui::choice("chip precision", kPrecisions, precision, width)) {
    choice_.precision = kPrecisions[static_cast<size_t>(precision)];
    changed = true;
  }
  ImGui::SameLine();
  std::vector<std::string> proportions, ipus;
  for (const double p : kProportions) proportions.push_back(fmt::format("memory {}", p));
  auto proportion =
      static_cast<int>(std::ranges::find(kProportions, choice_.proportion) - kProportions.begin());
  if (ui::choice("chip memory", proportions, proportion, width * 1.2f)) {
    choice_.proportion = kProportions[static_cast<size_t>(proportion)];
    changed = true;
  }
  ui::tooltip(
      "availableMemoryProportion: the part of a tile's memory that a convolution or a matrix "
      "product "
      "may use for its temporary data");
  ImGui::SameLine();
  for (const int64_t n : kIpus) ipus.push_back(counted(static_cast<uint64_t>(n), "IPU"));
  auto count = static_cast<int>(std::ranges::find(kIpus, choice_.ipus) - kIpus.begin());
  if (ui::choice("chip ipus", ipus, count, width)) {
    choice_.ipus = kIpus[static_cast<size_t>(count)];
    changed = true;
  }
  ImGui::SameLine();
  if (ui::button(by_cycles_ ? "Colour: cycles" : "Colour: memory",
                 "C: tiles by their bytes, or by the cycles that they compute"))
    by_cycles_ = !by_cycles_;
  if (model_ && several_ipus()) {
    ImGui::SameLine();
    std::vector<std::string> names;
    for (size_t i = 0; i < model_->estimate().memory.size(); i++)
      names.push_back(fmt::format("IPU {}", i));
    if (ui::choice("chip ipu", names, ipu_, width)) tile_ = -1;
    ui::tooltip("The IPU whose tiles are shown");
  }
  ImGui::SameLine();
  if (ui::button("Show in graph", "Colours the nodes by their estimated time") && model_)
    graph_wanted_ = true;
  if (making_.started()) {
    ImGui::SameLine();
    ui::dim_text("estimating");
  }
  if (changed) start();
}

// The legend of the tiles, which ends at `end`: the colours from 0 to `top`. Returns its width,
// which is 0 if there is less than `room`.
float ChipView::draw_scale(ImVec2 end, const std::string& top, float room) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight(), wide = 96 * s, gap = 6 * s;
  const float number = ImGui::CalcTextSize(top.c_str()).x, zero = ImGui::CalcTextSize("0").x;
  const float all = zero + gap + wide + gap + number;
  if (all > room) return 0;
  ImDrawList* list = ImGui::GetWindowDrawList();
  ui::label(list, {end.x - all, end.y}, c.dim, "0");
  const float left = end.x - number - gap - wide;
  constexpr int kSteps = 32;
  for (int i = 0; i < kSteps; i++) {
    const auto at = [&](int step) {
      return left + wide * static_cast<float>(step) / static_cast<float>(kSteps);
    };
    list->AddRectFilled({at(i), end.y + 2 * s}, {at(i + 1), end.y + line - 2 * s},
                        ui::heat((static_cast<float>(i) + 0.5f) / static_cast<float>(kSteps)));
  }
  ui::label(list, {end.x - number, end.y}, c.dim, top);
  ui::mark("scale of tiles", {left, end.y}, {left + wide, end.y + line});
  return all;
}

// Tiles in rows, from cold to hot. Memory is relative to that of a tile.
void ChipView::draw_tiles(ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area("tiles", size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, c.panel, 4 * s);
  const std::vector<double> values =
      by_cycles_ ? model_->tile_cycles(ipu_, op_) : model_->tile_bytes(ipu_, op_);
  if (values.empty()) return;
  const double largest = *std::ranges::max_element(values);
  const double available = static_cast<double>(model_->estimate().target.bytes_per_tile);
  const double top = by_cycles_ ? std::max(largest, 1.0) : std::max(largest, available);
  const std::string when =
      op_ < 0 ? by_cycles_ ? "all operations" : "the most of the whole run"
              : fmt::format("operation {}: {}", op_,
                            printable(model_->ops()[static_cast<size_t>(op_)].name));
  const std::string which = several_ipus() ? fmt::format("IPU {}: ", ipu_) : "";
  const std::string title = by_cycles_
                                ? fmt::format("{}Cycles that tiles compute, at most {}: {}", which,
                                              count_text(largest), when)
                                : fmt::format("{}Bytes of tiles, at most {} of {}: {}", which,
                                              bytes_text(static_cast<uint64_t>(largest)),
                                              bytes_text(static_cast<uint64_t>(available)), when);
  const float legend =
      draw_scale({at.x + size.x - 8 * s, at.y + 4 * s},
                 by_cycles_ ? count_text(top) : bytes_text(static_cast<uint64_t>(top)), size.x / 2);
  ui::label(list, {at.x + 8 * s, at.y + 4 * s}, c.text,
            ui::fitted(title, size.x - 24 * s - legend, ui::Cut::end));
  ui::mark(title, at, {at.x + size.x, at.y + line + 4 * s});
  const ImVec2 first = {at.x + 8 * s, at.y + line + 10 * s};
  const float wide = size.x - 16 * s, high = size.y - line - 16 * s;
  if (wide < 8 || high < 8) return;
  const auto count = static_cast<float>(values.size());
  const auto columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(count * wide / high))));
  const int rows = (static_cast<int>(values.size()) + columns - 1) / columns;
  const float w = wide / static_cast<float>(columns), h = high / static_cast<float>(rows);
  const float gap = std::min(w, h) > 5 * s ? 1.0f : 0.0f;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  int under = -1;
  for (size_t i = 0; i < values.size(); i++) {
    const auto column = static_cast<float>(static_cast<int>(i) % columns),
               row = static_cast<float>(static_cast<int>(i) / columns);
    const ImVec2 p = {first.x + column * w, first.y + row * h}, q = {p.x + w - gap, p.y + h - gap};
    const bool over = !by_cycles_ && values[i] > available;
    list->AddRectFilled(p, q, over ? c.bad : ui::heat(static_cast<float>(values[i] / top)));
    if (static_cast<int>(i) == tile_) list->AddRect(p, q, c.text, 0, 0, 2 * s);
    if (mouse.x >= p.x && mouse.x < p.x + w && mouse.y >= p.y && mouse.y < p.y + h)
      under = static_cast<int>(i);
  }
  if (!ImGui::IsItemHovered() || under < 0) return;
  if (ImGui::IsMouseClicked(0)) {
    tile_ = under == tile_ ? -1 : under;
    page = Page::memory;
  }
  const double value = values[static_cast<size_t>(under)];
  ui::tooltip(fmt::format(
      "tile {}: {}", under,
      by_cycles_ ? count_text(value) + " cycles" : bytes_text(static_cast<uint64_t>(value))));
}

// The slider over the operations; at its left end is the whole run.
void ChipView::draw_time(float width) {
  const int last = static_cast<int>(model_->ops().size()) - 1;
  if (last < 0) return;
  ImGui::SetNextItemWidth(width * 0.6f);
  // The text is not in the slider, because its format is one of printf, and the types of operations
  // are names of the model.
  if (ImGui::SliderInt("##chip time", &op_, -1, last, "")) step(0);
  ui::mark("chip time");
  ImGui::SameLine();
  ui::fitted_text(op_ < 0 ? "whole run"
                          : fmt::format("operation {} (0 to {}): {}", op_, last,
                                        printable(model_->ops()[static_cast<size_t>(op_)].type)));
}

// Sync and control, exchange and computation of each operation on the axis of cycles.
void ChipView::draw_trace(ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area("trace", size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, c.panel, 4 * s);
  const double all = model_->all_cycles();
  ImVec2 text = {at.x + 8 * s, at.y + 4 * s};
  const double rest = static_cast<double>(model_->estimate().cycles) - all;
  const std::string title =
      rest > 0 ? fmt::format("Phases over {} cycles, {} more for transfers:", count_text(all),
                             count_text(rest))
               : fmt::format("Phases over {} cycles:", count_text(all));
  const float left = at.x + 8 * s, wide = size.x - 16 * s;
  ui::label(list, text, c.text, ui::fitted(title, wide, ui::Cut::end));
  ui::mark(title, at, {at.x + size.x, at.y + line + 4 * s});
  text.x += ImGui::CalcTextSize(title.c_str()).x + 10 * s;
  const std::initializer_list<std::pair<ChipPhase::Kind, const char*>> phases = {
      {ChipPhase::compute, "compute"},
      {ChipPhase::exchange, "exchange"},
      {ChipPhase::control, "sync and control"}};
  float legend = 0;
  for (const auto& [kind, name] : phases) legend += ImGui::CalcTextSize(name).x + 10 * s;
  if (text.x + legend > left + wide) text = {left, text.y + line};
  for (const auto& [kind, name] : phases) {
    ui::label(list, text, ui::readable(colour_of_phase(kind), c.panel), name);
    text.x += ImGui::CalcTextSize(name).x + 10 * s;
  }
  float top = text.y + line + 6 * s;
  const float bottom = at.y + size.y - 8 * s;
  const auto x_of = [&](double cycle) { return left + wide * static_cast<float>(cycle / all); };
  if (all > 0 && several_ipus()) {
    draw_ipus_of_trace(top, x_of);
    top += line + 4 * s;
  }
  if (all <= 0 || bottom <= top) return;
  for (const ChipPhase& p : model_->phases())
    list->AddRectFilled({x_of(p.begin), top}, {std::max(x_of(p.end), x_of(p.begin) + 0.5f), bottom},
                        colour_of_phase(p.kind));
  if (op_ >= 0) {
    const float from = x_of(model_->begin_of(static_cast<size_t>(op_)));
    const float to = std::max(x_of(model_->begin_of(static_cast<size_t>(op_) + 1)), from + 2 * s);
    list->AddRect({from - 1, top - 2}, {to + 1, bottom + 2}, c.text, 0, 0, 2 * s);
  }
  if (!ImGui::IsItemHovered()) return;
  const double cycle = static_cast<double>((ImGui::GetIO().MousePos.x - left) / wide) * all;
  if (cycle < 0 || cycle > all || model_->ops().empty()) return;
  const size_t op = model_->op_at(cycle);
  const ipu::ChipOp& o = model_->ops()[op];
  if (ImGui::IsMouseClicked(0)) {
    op_ = static_cast<int>(op);
    step(0);
  }
  ui::tooltip(fmt::format("{} {}\n{} cycles, {:.1f} % of all{}", printable(o.type),
                          printable(o.name), o.cycles(),
                          100 * static_cast<double>(o.cycles()) / all,
                          several_ipus() ? fmt::format("\non IPU {}", o.ipu) : ""));
}

// The IPU of each sequence of operations, above the trace. The shown one is highlighted.
void ChipView::draw_ipus_of_trace(float top, const std::function<float(double)>& x_of) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto& ops = model_->ops();
  for (size_t first = 0, end = 0; first < ops.size(); first = end) {
    while (end < ops.size() && ops[end].ipu == ops[first].ipu) end++;
    const ImVec2 p = {x_of(model_->begin_of(first)), top},
                 q = {std::max(p.x + 1, x_of(model_->begin_of(end)) - 1), top + line + 2 * s};
    const ImU32 fill = ui::mixed(c.panel, c.accent, ops[first].ipu == ipu_ ? 0.45f : 0.15f);
    list->AddRectFilled(p, q, fill);
    const std::string name = fmt::format("IPU {}", ops[first].ipu);
    if (ImGui::CalcTextSize(name.c_str()).x + 8 * s <= q.x - p.x)
      ui::label(list, {p.x + 4 * s, top + s}, ui::readable(c.text, fill), name);
    ui::mark("trace of " + name, p, q);
  }
}

void ChipView::draw_pages(ImVec2 size) {
  ImGui::BeginChild("chip page", size, true);
  static constexpr std::pair<Page, const char*> pages[] = {
      {Page::memory, "Memory"}, {Page::operations, "Operations"}, {Page::compare, "Compare"}};
  for (const auto& [which, name] : pages) {
    if (which != Page::memory) ImGui::SameLine(0, 2);
    if (ui::button(fmt::format("{}##chip page", name).c_str(), nullptr, page == which))
      page = which;
    ui::mark(fmt::format("page {}", name));
  }
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  if (page == Page::memory) draw_memory();
  if (page == Page::operations) draw_operations(rest);
  if (page == Page::compare) draw_comparison(rest);
  ImGui::EndChild();
}

// A bar with the categories of the bytes of a tile, and a legend with their sizes.
void ChipView::draw_categories(const ipu::TileMemory& m) {
  ui::heading("By category");
  const float s = ui::scale(), line = ImGui::GetTextLineHeight();
  const auto all = static_cast<float>(std::max<int64_t>(
      1, std::accumulate(m.by_category.begin(), m.by_category.end(), int64_t{0})));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float wide = ImGui::GetContentRegionAvail().x;
  ui::hit_area("categories", {wide, 1.4f * line});
  float left = at.x;
  for (size_t i = 0; i < ipu::kCategories; i++) {
    const float right = left + wide * static_cast<float>(m.by_category[i]) / all;
    if (m.by_category[i] != 0)
      ImGui::GetWindowDrawList()->AddRectFilled({left, at.y}, {right, at.y + 1.4f * line},
                                                ui::colour_at(i));
    left = right;
  }
  for (size_t i = 0; i < ipu::kCategories; i++) {
    if (m.by_category[i] == 0) continue;
    ImGui::PushID(static_cast<int>(i));
    const std::string name(ipu::category_name(static_cast<ipu::Category>(i)));
    ImGui::ColorButton(name.c_str(), ImGui::ColorConvertU32ToFloat4(ui::colour_at(i)),
                       ImGuiColorEditFlags_NoTooltip | ImGuiColorEditFlags_NoBorder,
                       {10 * s, line});
    ui::mark("colour of " + name);
    ImGui::SameLine();
    ui::row(fmt::format("{}  {:.0f} %", bytes_text(static_cast<uint64_t>(m.by_category[i])),
                        100 * static_cast<float>(m.by_category[i]) / all),
            name, 120 * s);
    ImGui::PopID();
  }
}

// A bar for each IPU: the memory of its busiest tile, relative to the memory of a tile. A click
// shows the IPU.
void ChipView::draw_ipus() {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), high = 56 * s, line = ImGui::GetTextLineHeight();
  const auto& memory = model_->estimate().memory;
  ui::heading("Busiest tile of each IPU");
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float each = ImGui::GetContentRegionAvail().x / static_cast<float>(memory.size());
  ui::hit_area("ipus", {ImGui::GetContentRegionAvail().x, high});
  const bool hovered = ImGui::IsItemHovered();
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (size_t i = 0; i < memory.size(); i++) {
    const ipu::TileMemory& m = memory[i];
    const auto part = static_cast<float>(static_cast<double>(m.bytes) /
                                         static_cast<double>(std::max<int64_t>(1, m.available)));
    const ImU32 fill = !m.fits()        ? c.bad
                       : m.borderline() ? c.warn
                                        : ui::mixed(c.panel, c.accent, 0.45f);
    const ImVec2 p = {at.x + each * static_cast<float>(i), at.y},
                 q = {p.x + std::max(1.0f, each - 2 * s), at.y + high};
    list->AddRectFilled(p, q, c.raised);
    list->AddRectFilled({p.x, q.y - high * std::clamp(part, 0.0f, 1.0f)}, q, fill);
    if (static_cast<int>(i) == ipu_) list->AddRect(p, q, c.text, 0, 0, 2 * s);
    const std::string name = fmt::format("IPU {}", m.ipu),
                      share = fmt::format("{:.0f} %", static_cast<double>(part) * 100);
    if (each > ImGui::CalcTextSize("IPU 00").x + 12 * s) {
      const float middle = q.y - high * std::clamp(part, 0.0f, 1.0f);
      const auto back = [&](float y) { return y + line / 2 < middle ? c.raised : fill; };
      const float first = p.y + 6 * s, second = p.y + 10 * s + line;
      ui::label(list, {p.x + 6 * s, first}, ui::readable(c.text, back(first)), name);
      ui::label(list, {p.x + 6 * s, second}, ui::readable(c.text, back(second)), share);
    }
    ui::mark("memory of " + name, p, q);
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (!hovered || mouse.x < p.x || mouse.x >= p.x + each) continue;
    if (ImGui::IsMouseClicked(0)) {
      ipu_ = static_cast<int>(i);
      tile_ = -1;
    }
    ui::tooltip_at(fmt::format("{}: {}, with gaps {}, of {} on tile {}: {}", name,
                               bytes_text(static_cast<uint64_t>(m.bytes)),
                               bytes_text(static_cast<uint64_t>(m.bytes_with_gaps)),
                               bytes_text(static_cast<uint64_t>(m.available)), m.tile,
                               ipu::verdict(m.fits(), m.borderline())),
                   p, q);
  }
}

void ChipView::draw_memory() {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale();
  const ipu::TileMemory& m = model_->estimate().memory[static_cast<size_t>(ipu_)];
  ImGui::PushTextWrapPos(0);
  const auto lines = model_->explanation();
  if (!lines.empty()) ui::heading("Out of memory");
  for (const std::string& line : lines)
    ui::coloured_text(line.starts_with("It fits") ? c.good : c.bad, line);
  ImGui::PopTextWrapPos();
  if (several_ipus()) draw_ipus();
  ui::heading(fmt::format("Busiest tile: {} of IPU {}", m.tile, m.ipu));
  ui::row(bytes_text(static_cast<uint64_t>(m.bytes)), "without gaps");
  ui::row(bytes_text(static_cast<uint64_t>(m.bytes_with_gaps)),
          fmt::format("with gaps, of {}", bytes_text(static_cast<uint64_t>(m.available))));
  ui::row(bytes_text(static_cast<uint64_t>(m.always)), "always live");
  draw_categories(m);
  const int64_t tile = tile_ < 0 ? m.tile : tile_;
  ui::heading(fmt::format("Tensors on tile {}, {}", tile,
                          op_ < 0 ? "when most is needed" : fmt::format("at operation {}", op_)));
  const auto tensors = model_->tensors(ipu_, op_, tile);
  for (size_t k = 0; k < std::min<size_t>(tensors.size(), 60); k++) {
    ImGui::PushID(static_cast<int>(k) + 1000);
    ui::row(bytes_text(static_cast<uint64_t>(tensors[k].bytes)), printable(tensors[k].name),
            90 * s);
    ImGui::PopID();
  }
  if (tensors.size() > 60) ui::dim_text(fmt::format("and {} more", tensors.size() - 60));
}

void ChipView::draw_operations(ImVec2 size) {
  enum Column { kName, kType, kCycles, kShare, kTemporary, kIpu };
  auto order = model_->by_cycles();
  const auto& ops = model_->ops();
  const auto key = [&](size_t i) {
    return operations_.sort_column == kTemporary ? static_cast<double>(ops[i].cost.temporary_bytes)
           : operations_.sort_column == kIpu     ? static_cast<double>(ops[i].ipu)
                                                 : static_cast<double>(ops[i].cycles());
  };
  if (operations_.sort_column <= kType) {
    std::ranges::sort(order);
    if (operations_.sort_column == kType)
      stable_order(order,
                   [&](size_t a, size_t b) { return natural_less(ops[a].type, ops[b].type); });
    if (operations_.descending) std::ranges::reverse(order);
  } else {
    stable_order(order, [&](size_t a, size_t b) {
      return operations_.descending ? key(a) > key(b) : key(a) < key(b);
    });
  }
  const auto all = static_cast<double>(std::max<int64_t>(1, model_->estimate().cycles));
  const ui::Colours& c = ui::colours();
  std::vector<ui::Column> columns = {{"Operation", 2.4f},
                                     {"Type", 2, false, true},
                                     {"Cycles", 1.2f, true},
                                     {"Share", 1, true},
                                     {"Temporary", 1.2f, true}};
  if (several_ipus()) columns.push_back({"IPU", 0.8f, true});
  ui::table(
      several_ipus() ? "chip operations of IPUs" : "chip operations", columns, order.size(),
      [&](size_t r, int col) -> std::string {
        const ipu::ChipOp& o = ops[order[r]];
        if (col == kName)  // the type is in the next column
          return printable(o.name.ends_with("/" + o.type)
                               ? o.name.substr(0, o.name.size() - o.type.size() - 1)
                               : o.name);
        if (col == kType) return printable(o.type);
        if (!o.cost.has_rule && col == kCycles) return "no rule";
        if (col == kCycles) return std::to_string(o.cycles());
        if (col == kShare)
          return fmt::format("{:.1f} %", 100 * static_cast<double>(o.cycles()) / all);
        if (col == kIpu) return std::to_string(o.ipu);
        return bytes_text(static_cast<uint64_t>(o.cost.temporary_bytes));
      },
      [&](size_t r) { return static_cast<int>(order[r]) == op_; },
      [&](size_t r) {
        op_ = static_cast<int>(order[r]);
        step(0);
      },
      operations_, size,
      [&](size_t r, int) { return ops[order[r]].cost.has_rule ? c.text : c.warn; });
}

void ChipView::draw_comparison(ImVec2 size) {
  ImGui::AlignTextToFramePadding();
  ui::dim_text("Compare with");
  for (const std::string& target : kTargets) {
    ImGui::SameLine();
    const bool now = comparing_ && other_choice_.target == target;
    if (ui::button(fmt::format("{}##other", target).c_str(), nullptr, now))
      compare_with(now ? "" : target);
    ui::mark("compare with " + target);
  }
  if (!comparing_) {
    ui::dim_text("Choose the chip of a second estimate");
    return;
  }
  if (!other_error_.empty()) ui::coloured_text(ui::colours().bad, other_error_);
  if (!other_) return;
  const auto rows = compare_chips(*model_, *other_);
  for (const ChipModel* m : {model_.get(), other_.get()}) {
    const ipu::Quality& q = m->estimate().cycle_quality;
    ui::row(m->choice().target,
            fmt::format("{}; cycles {}, error {}",
                        ipu::verdict(m->estimate().fits(), m->estimate().borderline()),
                        ipu::trust_name(q.trust), q.error));
  }
  const ui::Colours& c = ui::colours();
  ui::table(
      "chip comparison",
      {{"", 2.4f},
       {model_->choice().target.c_str(), 1.4f, true},
       {other_->choice().target.c_str(), 1.4f, true},
       {"Ratio", 1, true}},
      rows.size(),
      [&](size_t r, int col) -> std::string {
        const ChipComparison& row = rows[r];
        if (col == 0) return row.what;
        if (col == 3) return row.a > 0 ? fmt::format("{:.3f}", row.b / row.a) : "";
        const double value = col == 1 ? row.a : row.b;
        return value == std::floor(value) || value >= 10000 ? count_text(value)
                                                            : fmt::format("{:.4g}", value);
      },
      [](size_t) { return false; }, [](size_t) {}, comparison_,
      {size.x, ImGui::GetContentRegionAvail().y},
      [&](size_t r, int col) {
        const ChipComparison& row = rows[r];
        if (col < 3 || row.a <= 0) return c.text;
        const double ratio = row.more_is_better ? row.a / std::max(row.b, 1e-30) : row.b / row.a;
        return ratio > 1.05 ? c.warn : ratio < 0.95 ? c.good : c.text;
      });
}

}  // namespace poprt::inspector
