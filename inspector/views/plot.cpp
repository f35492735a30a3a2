#include "views/plot.h"

#include <algorithm>
#include <cmath>

#include "views/ui.h"

namespace poprt::inspector::ui {
namespace {

// Returns a round number of at least `value`.
double nice_ceiling(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0})
    if (step * power >= value) return step * power;
  return 10 * power;
}

// The area of the lines, and the ranges of its axes.
struct Area {
  ImVec2 least, most;
  float from = 0, to = 1;
  double bottom = 0, top = 1;
  Axis axis = Axis::linear;
  bool empty = false;
  ImDrawList* draw = nullptr;

  float x_of(float x) const { return least.x + (x - from) / (to - from) * (most.x - least.x); }
  float y_of(float y) const {
    const double part = axis == Axis::linear
                            ? static_cast<double>(y) / top
                            : std::log(static_cast<double>(y) / bottom) / std::log(top / bottom);
    return most.y - static_cast<float>(part) * (most.y - least.y);
  }
  bool draws(float y) const { return !std::isnan(y) && (axis == Axis::linear || y > 0); }
  bool holds(const ImVec2& p) const { return p.x >= from && p.x <= to; }
};

using Texts = std::function<std::string(double)>;

double top_of(const std::vector<PlotLine>& lines, const Area& area, double least_top) {
  double top = least_top;
  for (const PlotLine& l : lines)
    for (const ImVec2& p : l.points)
      if (area.holds(p) && !std::isnan(p.y)) top = std::max(top, static_cast<double>(p.y));
  return least_top > 0 && top <= least_top ? least_top : nice_ceiling(top);
}

// Sets the range of a logarithmic axis, at least a factor of ten.
void set_logarithmic(const std::vector<PlotLine>& lines, Area& area) {
  double least = 1e300, most = 0;
  for (const PlotLine& l : lines)
    for (const ImVec2& p : l.points)
      if (area.holds(p) && area.draws(p.y)) {
        least = std::min(least, static_cast<double>(p.y));
        most = std::max(most, static_cast<double>(p.y));
      }
  if (most <= 0) least = most = 1;
  area.bottom = std::pow(10, std::floor(std::log10(least)));
  area.top = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1.0, 2.0, 5.0, 10.0})
    if (step * area.top >= most) {
      area.top *= step;
      break;
    }
  area.top = std::max(area.top, area.bottom * 10);
}

bool is_empty(const std::vector<PlotLine>& lines, const Area& area) {
  return std::none_of(lines.begin(), lines.end(), [&](const PlotLine& l) {
    return std::any_of(l.points.begin(), l.points.end(),
                       [&](const ImVec2& p) { return area.holds(p) && !std::isnan(p.y); });
  });
}

// Draws the title at the left, and the names of lines from the right as far as there is space.
void draw_title(const char* title, const std::vector<PlotLine>& lines, ImVec2 at, float width,
                ImDrawList* draw) {
  const float s = scale(), line = ImGui::GetTextLineHeight(), y = at.y + 5 * s;
  label(draw, {at.x + 10 * s, y}, colours().text, title);
  const float left = at.x + 30 * s + ImGui::CalcTextSize(title).x;
  float right = at.x + width - 12 * s;
  for (size_t i = lines.size(); i-- > 0;) {
    if (lines[i].name.empty()) continue;
    const float extent = ImGui::CalcTextSize(lines[i].name.c_str()).x;
    if (right - extent - 20 * s < left) break;
    label(draw, {right - extent, y}, colours().dim, lines[i].name);
    draw->AddRectFilled({right - extent - 14 * s, y + line / 2 - 2 * s},
                        {right - extent - 4 * s, y + line / 2 + 2 * s}, lines[i].colour);
    right -= extent + 26 * s;
  }
}

void draw_axes(const Area& area, const Texts& y_text, const Texts& x_text) {
  const Colours& c = colours();
  const float s = scale(), line = ImGui::GetTextLineHeight();
  const int steps = area.most.y - area.least.y > 110 * s ? 4 : 2;
  std::vector<double> ticks_y;
  if (area.axis == Axis::logarithmic)
    ticks_y = logarithmic_ticks(area.bottom, area.top);
  else
    for (int i = 0; i <= steps; i++) ticks_y.push_back(area.top * i / steps);
  std::string below;
  float free = 1e9f;  // the upper end of the label below
  for (const double value : ticks_y) {
    const float y = area.y_of(static_cast<float>(value));
    area.draw->AddLine({area.least.x, y}, {area.most.x, y}, c.grid);
    // Without data the axis has no unit. A label that is equal to the one below it, or that would
    // overlap it, is omitted.
    const std::string shown = area.empty ? "" : y_text(value);
    if (shown == below || y + line / 2 > free) continue;
    below = shown;
    free = y - line / 2;
    const float left = area.least.x - 6 * s - ImGui::CalcTextSize(shown.c_str()).x;
    label(area.draw, {left, y - line / 2}, c.dim, shown);
  }
  const int ticks = std::max(1, static_cast<int>((area.most.x - area.least.x) / (150 * s)));
  for (int i = 0; i <= ticks; i++) {
    const float x =
        area.from + (area.to - area.from) * static_cast<float>(i) / static_cast<float>(ticks);
    const std::string shown = x_text(static_cast<double>(x));
    const float width = ImGui::CalcTextSize(shown.c_str()).x;
    const float at =
        std::max(area.least.x, std::min(area.x_of(x) - width / 2, area.most.x - width));
    label(area.draw, {at, area.most.y + 3 * s}, c.dim, shown);
  }
}

// Draws the line of each marker, and its text next to the line unless the text would overlap
// another text or line.
void draw_markers(const Area& area, const std::vector<PlotMarker>& markers) {
  std::vector<const PlotMarker*> seen;
  for (const PlotMarker& m : markers)
    if (m.x >= area.from && m.x <= area.to) seen.push_back(&m);
  const float gap = 4 * scale();
  float free_from = area.least.x;
  for (size_t i = 0; i < seen.size(); i++) {
    const float x = area.x_of(seen[i]->x), width = ImGui::CalcTextSize(seen[i]->text.c_str()).x;
    const float next = i + 1 < seen.size() ? area.x_of(seen[i + 1]->x) : area.most.x;
    area.draw->AddLine({x, area.least.y}, {x, area.most.y}, with_alpha(seen[i]->colour, 0.7f),
                       1.5f * scale());
    float end = x;
    if (x + gap + width <= next)
      end = x + gap + width;
    else if (x - gap - width < free_from)
      continue;
    const float left = end > x ? x + gap : x - gap - width;
    label(area.draw, {left, area.least.y}, readable(seen[i]->colour, colours().panel),
          seen[i]->text);
    mark(seen[i]->text, {left, area.least.y},
         {left + width, area.least.y + ImGui::GetTextLineHeight()});
    free_from = end + gap;
  }
}

// Draws the strips between the points and the axis. Their edges are not smoothed, because two
// smoothed edges at the same place are visible as a stripe.
void draw_fill(const Area& area, ImU32 colour, const std::vector<ImVec2>& points) {
  const ImDrawListFlags flags = area.draw->Flags;
  area.draw->Flags &= ~ImDrawListFlags_AntiAliasedFill;
  for (size_t i = 1; i < points.size(); i++)
    area.draw->AddQuadFilled(points[i - 1], points[i], {points[i].x, area.most.y},
                             {points[i - 1].x, area.most.y}, colour);
  area.draw->Flags = flags;
}

// Draws consecutive points without a gap.
void draw_run(const Area& area, const PlotLine& line, std::vector<ImVec2>& points) {
  const float s = scale();
  if (points.size() == 1) area.draw->AddCircleFilled(points[0], 1.5f * s, line.colour);
  if (line.filled) draw_fill(area, with_alpha(line.colour, 0.22f), points);
  // ImGui draws the join of a sharp turn, such as a short peak, with almost no width, so the line
  // begins again there.
  const auto is_sharp = [&](size_t i) {
    const ImVec2 &a = points[i - 1], &b = points[i], &c = points[i + 1];
    return (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0;
  };
  for (size_t begin = 0, i = 1; i < points.size(); i++)
    if (i + 1 == points.size() || is_sharp(i)) {
      area.draw->AddPolyline(&points[begin], static_cast<int>(i - begin + 1), line.colour, 0,
                             line.width * s);
      begin = i;
    }
  points.clear();
}

void draw_line(const Area& area, const PlotLine& line) {
  std::vector<ImVec2> run;
  // Columns of a mean are wide enough for visible bends.
  const float column = line.mean ? 3 * scale() : 1;
  float held = 0;  // points in the last column
  for (const ImVec2& p : line.points) {
    if (!area.holds(p)) continue;
    if (!area.draws(p.y)) {
      draw_run(area, line, run);
      continue;
    }
    const ImVec2 q = {area.x_of(p.x), area.y_of(p.y)};
    if (run.size() > 1 && q.x - run.back().x < column) {
      held++;
      run.back().y =
          line.mean ? run.back().y + (q.y - run.back().y) / held : std::min(run.back().y, q.y);
    } else {
      run.push_back(q);
      held = 1;
    }
  }
  draw_run(area, line, run);
}

void draw_tip(const Area& area, const std::vector<PlotLine>& lines, const Texts& y_text,
              const Texts& x_text) {
  const float mouse = std::clamp(ImGui::GetIO().MousePos.x, area.least.x, area.most.x);
  const float x =
      area.from + (mouse - area.least.x) / (area.most.x - area.least.x) * (area.to - area.from);
  area.draw->AddLine({mouse, area.least.y}, {mouse, area.most.y}, with_alpha(colours().text, 0.4f));
  std::string tip = x_text(static_cast<double>(x));
  for (const PlotLine& l : lines) {
    if (const auto y = value_at(l, x, 4 * (area.to - area.from) / (area.most.x - area.least.x)))
      tip += "\n" + l.name + "  " + y_text(static_cast<double>(*y));
  }
  mark("tip " + tip, area.least, area.most);
  ImGui::SetTooltip("%s", tip.c_str());
}

}  // namespace

std::vector<double> logarithmic_ticks(double least, double most) {
  std::vector<double> ticks;
  const bool few = most / least < 1e3;
  for (double power = std::pow(10, std::floor(std::log10(least) + 1e-9)); power <= most * 1.0001;
       power *= 10)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = power * step;
      if ((step == 1 || few) && value >= least * 0.9999 && value <= most * 1.0001)
        ticks.push_back(value);
    }
  return ticks;
}

std::optional<float> value_at(const PlotLine& line, float x, float reach) {
  const ImVec2 *before = nullptr, *after = nullptr;
  for (const ImVec2& p : line.points) {
    if (p.x <= x) before = &p;
    if (p.x >= x && !after) after = &p;
  }
  const bool left = before && !std::isnan(before->y), right = after && !std::isnan(after->y);
  if (left && right) return x - before->x <= after->x - x ? before->y : after->y;
  // Outside of a run of points, its end is shown only to a pointer that is almost on it.
  if (left && x - before->x <= reach) return before->y;
  if (right && after->x - x <= reach) return after->y;
  return std::nullopt;
}

PlotInput plot(const char* title, ImVec2 size, const std::vector<PlotLine>& lines, float from,
               float to, const Texts& y_text, const Texts& x_text,
               const std::vector<PlotMarker>& markers, float least_top, Axis axis) {
  const float s = scale(), line = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  hit_area(title, size);
  const bool hovered = ImGui::IsItemHovered();
  Area area;
  area.draw = ImGui::GetWindowDrawList();
  area.draw->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours().panel, 4 * s);
  area.least = {at.x + 78 * s, at.y + line + 12 * s};
  area.most = {at.x + size.x - 12 * s, at.y + size.y - line - 8 * s};
  area.from = from;
  area.to = to;
  PlotInput input;
  if (area.most.x <= area.least.x || area.most.y <= area.least.y || !(to > from)) return input;
  const ImGuiIO& io = ImGui::GetIO();
  const float unit = (to - from) / (area.most.x - area.least.x);
  if (hovered) input.wheel = io.MouseWheel;
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(0)) input.drag = io.MouseDelta.x * unit;
  input.at = from + (std::clamp(io.MousePos.x, area.least.x, area.most.x) - area.least.x) * unit;
  input.double_click = hovered && ImGui::IsMouseDoubleClicked(0);
  area.axis = axis;
  area.top = top_of(lines, area, static_cast<double>(least_top));
  if (axis == Axis::logarithmic) set_logarithmic(lines, area);
  area.empty = is_empty(lines, area);
  draw_title(title, lines, at, size.x, area.draw);
  draw_axes(area, y_text, x_text);
  area.draw->PushClipRect(area.least, {area.most.x + 1, area.most.y + 1}, true);
  for (const PlotLine& l : lines) draw_line(area, l);
  draw_markers(area, markers);
  if (hovered) draw_tip(area, lines, y_text, x_text);
  area.draw->PopClipRect();
  return input;
}

}  // namespace poprt::inspector::ui
