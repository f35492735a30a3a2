// Draws the boxes, edges and texts of a graph, the legend of its colours and the minimap.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "model/format.h"
#include "views/graph_view.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

// Zooms below which text is omitted, and boxes are not rounded and edges are straight.
constexpr double kTextZoom = 0.32, kPlainZoom = 0.16;
// Texts are never smaller, in pixels at a scale of 1. Titles keep this size while their boxes
// shrink; details and shapes are omitted.
constexpr float kLeastText = 9;
// An open group whose area on the screen is smaller than this, at a scale of 1, is drawn as one
// box with its name.
constexpr float kSmallGroup = 90, kSmallGroupHeight = 40;

float f(double x) { return static_cast<float>(x); }

}  // namespace

bool GraphView::dimmed(int node) const {
  if (!in_focus_.empty()) return !in_focus_[static_cast<size_t>(node)];
  return false;
}

ImU32 GraphView::colour_of_node(int id) const {
  const GraphNode& n = graph_->node(id);
  if (n.kind != NodeKind::op && colour_ != GraphColour::overlay) return ui::colours().dim;
  const auto part = [&](uint64_t bytes, uint64_t most) {
    return bytes == 0
               ? 0.0f
               : f(std::log1p(static_cast<double>(bytes)) / std::log1p(static_cast<double>(most)));
  };
  switch (colour_) {
    case GraphColour::op: return ui::colour_of(n.op);
    case GraphColour::dtype: {
      const int v = n.outputs.empty() ? kNone : n.outputs[0];
      return v == kNone ? ui::colours().dim
                        : ui::colour_at(static_cast<size_t>(graph_->value(v).dtype));
    }
    case GraphColour::weights: return ui::heat(part(n.weight_bytes, most_weight_bytes_));
    case GraphColour::outputs: return ui::heat(part(n.output_bytes, most_output_bytes_));
    case GraphColour::time: {
      const double time =
          static_cast<size_t>(id) < times_.size() ? times_[static_cast<size_t>(id)] : 0;
      return time > 0 ? ui::heat(f(time / longest_)) : ui::colours().dim;
    }
    case GraphColour::overlay: {
      const double value = overlay_->values[static_cast<size_t>(id)];
      const double range = overlay_->most - overlay_->least;
      if (std::isnan(value)) return ui::colours().dim;
      // An infinite value has a colour at the end of the scale.
      if (std::isinf(value)) return ui::heat(value > 0 ? 1.0f : 0.0f);
      return ui::heat(range > 0 ? f((value - overlay_->least) / range) : 0.5f);
    }
  }
  return ui::colours().dim;
}

void GraphView::draw_route(ImDrawList* list, const SceneRoute& route, ImU32 line,
                           float width) const {
  const auto& points = route.points;
  if (points.size() < 2) return;
  const bool down = scene_->direction == Direction::down;
  if (camera_.zoom < kPlainZoom) {
    // Corners closer than this to the previous one are not visible.
    constexpr float kCorner = 4;
    ImVec2 from = to_screen(points[0]);
    for (size_t i = 1; i < points.size(); i++) {
      const ImVec2 to = to_screen(points[i]);
      const bool far = std::abs(to.x - from.x) + std::abs(to.y - from.y) > kCorner;
      if (!far && (i + 1 < points.size() || points.size() == 2)) continue;
      list->AddLine(from, to, line, width);
      from = to;
    }
  } else {
    list->PathLineTo(to_screen(points[0]));
    for (size_t i = 1; i < points.size(); i++) {
      const ImVec2 a = to_screen(points[i - 1]), b = to_screen(points[i]);
      if (std::abs(down ? a.x - b.x : a.y - b.y) < 0.5f) {
        list->PathLineTo(b);
        continue;
      }
      const ImVec2 bend = {down ? 0 : (b.x - a.x) / 2, down ? (b.y - a.y) / 2 : 0};
      list->PathBezierCubicCurveTo({a.x + bend.x, a.y + bend.y}, {b.x - bend.x, b.y - bend.y}, b,
                                   camera_.zoom > 0.5 ? 14 : 8);
    }
    list->PathStroke(line, 0, width);
  }
  if (route.arrow && camera_.zoom > 0.25) {
    const ImVec2 end = to_screen(points.back());
    const float k = f(5 * camera_.zoom);
    const ImVec2 left = down ? ImVec2{end.x - k, end.y - 1.7f * k}
                             : ImVec2{end.x - 1.7f * k, end.y - k},
                 right = down ? ImVec2{end.x + k, end.y - 1.7f * k}
                              : ImVec2{end.x - 1.7f * k, end.y + k};
    list->AddTriangleFilled(end, left, right, line);
  }
}

void GraphView::draw_routes(ImDrawList* list, const Rect& sight) const {
  const ui::Colours& c = ui::colours();
  const float width = std::clamp(f(1.4 * camera_.zoom), 0.7f, 2.2f * ui::scale());
  const ImU32 plain = ui::mixed(c.back, c.dim, camera_.zoom < kPlainZoom ? 0.45f : 0.7f);
  std::vector<const SceneRoute*> marked;
  for (const SceneRoute& r : scene_->routes) {
    if (!r.area.meets(sight)) continue;
    const bool of_path = !in_path_.empty() && in_path_[static_cast<size_t>(r.from)] &&
                         in_path_[static_cast<size_t>(r.to)];
    if (of_path || (selected_ != kNone && (r.from == selected_ || r.to == selected_)))
      marked.push_back(&r);
    else
      draw_route(list, r, dimmed(r.from) || dimmed(r.to) ? ui::with_alpha(plain, 0.25f) : plain,
                 width);
  }
  for (const SceneRoute* r : marked) {
    const bool of_path = !in_path_.empty() && in_path_[static_cast<size_t>(r->from)] &&
                         in_path_[static_cast<size_t>(r->to)];
    draw_route(list, *r, of_path ? c.path : c.accent, width * 1.6f);
  }
  // Shows shapes at the edges if their text is large enough to be read. Those of results of the
  // selected node have the colour of the selection.
  const float size = f(11 * camera_.zoom);
  if (size < kLeastText * ui::scale()) return;
  ImFont* font = ui::font_for(size);
  std::set<int> labelled;
  std::map<std::pair<int, int>, std::set<std::string>> labels_at;  // labels at the same position
  for (const SceneRoute& r : scene_->routes) {
    if (!r.area.meets(sight) || r.points.size() < 2 || !labelled.insert(r.value).second) continue;
    const GraphValue& v = graph_->value(r.value);
    if (!v.has_shape || v.producer == kNone || graph_->node(v.producer).kind == NodeKind::input)
      continue;
    const std::string label = dimensions_text(v.shape);
    const ImVec2 at = to_screen(r.points[0]),
                 extent = font->CalcTextSizeA(size, FLT_MAX, 0, label.c_str());
    // Several edges may leave a closed group at one point. Their labels are stacked, at most three
    // different ones.
    auto& labels = labels_at[{static_cast<int>(at.x), static_cast<int>(at.y)}];
    if (labels.size() == 3 || !labels.insert(label).second) continue;
    const size_t before = labels.size() - 1;
    const float z = f(camera_.zoom), stacked = static_cast<float>(before) * extent.y;
    // The label is below the name of the group that the edge enters, or above an edge to the right.
    const ImVec2 corner = scene_->direction == Direction::down
                              ? ImVec2{at.x + 4 * z, at.y + (r.enters ? 28.0f : 3.0f) * z + stacked}
                              : ImVec2{at.x + 4 * z, at.y - extent.y - 2 * z - stacked};
    list->AddRectFilled({corner.x - 1, corner.y}, {corner.x + extent.x + 1, corner.y + extent.y},
                        ui::with_alpha(c.back, 0.75f));
    draw_label(list, corner, r.from == selected_ ? c.accent : c.dim, label, size);
  }
}

void GraphView::draw_boxes(ImDrawList* list, const Rect& sight) const {
  // The contents of a small group follow it in the list and are inside of it.
  std::vector<Rect> small;
  const auto hidden = [&](const SceneBox& b) {
    return !small.empty() && small.back().contains({b.area.x, b.area.y}) &&
           small.back().contains({b.area.right(), b.area.bottom()});
  };
  for (const SceneBox& b : scene_->boxes) {
    if (!b.open || !b.area.meets(sight) || hidden(b)) continue;
    if (is_small(b))
      small.push_back(b.area);
    else
      draw_group(list, b);
  }
  draw_routes(list, sight);
  small.clear();
  for (const SceneBox& b : scene_->boxes) {
    if (!b.area.meets(sight) || hidden(b)) continue;
    if (b.open && is_small(b)) {
      small.push_back(b.area);
      draw_group(list, b, true);
      continue;
    }
    if (b.open) draw_group_name(list, b);
    if (!b.open) b.node != kNone ? draw_node(list, b) : draw_group(list, b);
  }
}

bool GraphView::is_small(const SceneBox& box) const {
  return f(box.area.width * camera_.zoom) < kSmallGroup * ui::scale() ||
         f(box.area.height * camera_.zoom) < kSmallGroupHeight * ui::scale();
}

// A text of the graph. It is a mark for tests only if the region contains it, because the graph may
// be moved so that the border of the region cuts it.
void GraphView::draw_label(ImDrawList* list, ImVec2 at, ImU32 colour, const std::string& line,
                           float size) const {
  if (line.empty()) return;
  ui::label(list, at, colour, line, ui::font_for(size), size);
  const ui::Mark& m = ui::marks().back();
  if (m.least.x < least_.x || m.most.x > least_.x + size_.x) ui::marks().pop_back();
}

void GraphView::draw_text(ImDrawList* list, const SceneBox& box, ImVec2 least, ImVec2 most,
                          const std::string& title, const std::string& detail, ImU32 back) const {
  const ui::Colours& c = ui::colours();
  const float least_size = kLeastText * ui::scale();
  const float size = std::max(f(13.5 * camera_.zoom), least_size), small = f(11 * camera_.zoom);
  const float pad = f(10 * camera_.zoom), room = most.x - least.x - pad - 3;
  const float height = most.y - least.y;
  const bool both = !detail.empty() && small >= least_size;
  const float y = both ? least.y + height * 0.13f : least.y + (height - size) / 2;
  ui::mark((box.node != kNone ? "node " : "group ") +
               (box.node != kNone ? graph_->node(box.node).name : graph_->group(box.group).path),
           least, most);
  if (height < size || room < size) return;
  draw_label(list, {least.x + pad, y}, ui::readable(c.text, back),
             ui::fitted(title, room, ui::Cut::end, ui::font_for(size), size), size);
  if (both)
    draw_label(list, {least.x + pad, least.y + height * 0.56f}, ui::readable(c.dim, back),
               ui::fitted(detail, room, ui::Cut::end, ui::font_for(small), small), small);
}

void GraphView::draw_group(ImDrawList* list, const SceneBox& box, bool small) const {
  const bool open = box.open && !small;
  const ui::Colours& c = ui::colours();
  const GraphGroup& g = graph_->group(box.group);
  const ImVec2 least = to_screen({box.area.x, box.area.y}),
               most = to_screen({box.area.right(), box.area.bottom()});
  const float round = camera_.zoom < kPlainZoom ? 0 : f(6 * camera_.zoom);
  const bool holds_selected =
      !box.open && selected_ != kNone && scene_->find(*graph_, selected_) == &box;
  const ImU32 frame = holds_selected ? c.accent : g.is_subgraph ? c.path : c.border;
  const ImU32 closed = ui::mixed(c.raised, c.accent, 0.12f);
  list->AddRectFilled(least, most, open ? ui::with_alpha(c.raised, 0.35f) : closed, round);
  list->AddRect(least, most, frame, round, 0, holds_selected ? 2.5f : 1.2f);
  if (!open && group_matches_[static_cast<size_t>(box.group)])
    list->AddRect({least.x - 2, least.y - 2}, {most.x + 2, most.y + 2}, c.match, round, 0,
                  2 * ui::scale());
  if ((camera_.zoom < kTextZoom && !small) || open) return;
  draw_text(list, box, least, most, (small ? "" : "+ ") + g.name,
            fmt::format("{}{}", counted(g.all_nodes, "node"),
                        g.weight_bytes ? "  " + bytes_text(g.weight_bytes) : ""),
            closed);
}

// Draws the name over the edges that enter the group.
void GraphView::draw_group_name(ImDrawList* list, const SceneBox& box) const {
  if (camera_.zoom < kTextZoom && f(box.area.width * camera_.zoom) <= 160) return;
  const ui::Colours& c = ui::colours();
  const GraphGroup& g = graph_->group(box.group);
  const ImVec2 least = to_screen({box.area.x, box.area.y}),
               most = to_screen({box.area.right(), box.area.bottom()});
  const float size = std::max(f(12 * camera_.zoom), kLeastText * ui::scale());
  ImFont* font = ui::font_for(size);
  const std::string name =
      ui::fitted("- " + g.name, most.x - least.x - 13, ui::Cut::end, font, size);
  const ImVec2 extent = font->CalcTextSizeA(size, FLT_MAX, 0, name.c_str());
  list->AddRectFilled({least.x + 5, least.y + 3},
                      {std::min(least.x + 11 + extent.x, most.x - 2), least.y + 5 + extent.y},
                      c.raised, 3);
  draw_label(list, {least.x + 8, least.y + 4}, ui::readable(c.dim, c.raised), name, size);
  ui::mark("group " + g.path, least, {most.x, least.y + f(24 * camera_.zoom)});
}

void GraphView::draw_node(ImDrawList* list, const SceneBox& box) const {
  const ui::Colours& c = ui::colours();
  const auto id = static_cast<size_t>(box.node);
  const GraphNode& n = graph_->node(box.node);
  const ImVec2 least = to_screen({box.area.x, box.area.y}),
               most = to_screen({box.area.right(), box.area.bottom()});
  const float fade = dimmed(box.node) ? 0.18f : 1;
  const ImU32 hue = colour_of_node(box.node), fill = ui::mixed(c.panel, hue, 0.4f);
  if (camera_.zoom < kPlainZoom) {
    list->AddRectFilled(least, {std::max(most.x, least.x + 1), std::max(most.y, least.y + 1)},
                        ui::with_alpha(hue, fade));
  } else {
    const float round = n.kind == NodeKind::op ? f(5 * camera_.zoom) : (most.y - least.y) / 2;
    list->AddRectFilled(least, most, ui::with_alpha(fill, fade), round);
    list->AddRect(least, most, ui::with_alpha(ui::mixed(hue, c.border, 0.3f), fade), round, 0,
                  std::max(1.0f, f(camera_.zoom)));
  }
  float around = 1;  // each outline is outside of the previous one
  const auto outline = [&](ImU32 line, float width) {
    const float out = around + width / 2;
    around += width;
    list->AddRect({least.x - out, least.y - out}, {most.x + out, most.y + out}, line,
                  f(6 * camera_.zoom), 0, width);
  };
  if (!changes_.empty() && id < changes_.size() && changes_[id] != Change::none)
    outline(ui::colour_of(changes_[id]), 2.5f * ui::scale());
  if (n.kind != NodeKind::op && !anchor.empty() && n.name == anchor && n.group == kRoot)
    outline(c.match, 3 * ui::scale());
  if (!is_match_.empty() && is_match_[id]) outline(c.match, 2 * ui::scale());
  if (!in_path_.empty() && in_path_[id]) outline(c.path, 2.5f * ui::scale());
  if (box.node == selected_) outline(c.accent, 3 * ui::scale());
  if (camera_.zoom < kTextZoom || fade < 1) return;
  draw_text(list, box, least, most, n.kind == NodeKind::op ? n.op : n.name, n.detail, fill);
}

// Explains colours that depend on a number (bytes, time, overlay), at the lower left.
void GraphView::draw_legend(ImDrawList* list) const {
  std::string least_text = "0 B, logarithmic", most;
  switch (colour_) {
    case GraphColour::op:
    case GraphColour::dtype: return;
    case GraphColour::weights: most = bytes_text(most_weight_bytes_); break;
    case GraphColour::outputs: most = bytes_text(most_output_bytes_); break;
    case GraphColour::time:
      least_text = "0";
      most = duration_text(longest_);
      break;
    case GraphColour::overlay:
      least_text = fmt::format("{:.4g}", overlay_->least);
      most = fmt::format("{:.4g}", overlay_->most);
      break;
  }
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), line = ImGui::GetTextLineHeight(), width = 120 * s;
  const std::string title = fmt::format(
      "{}: {}", colour_ == GraphColour::overlay ? overlay_->name : colour_name(), least_text);
  const float title_width = ImGui::CalcTextSize(title.c_str()).x,
              most_width = ImGui::CalcTextSize(most.c_str()).x;
  const ImVec2 least = {least_.x + 12 * s, least_.y + size_.y - line - 20 * s};
  const ImVec2 corner = {least.x + title_width + width + most_width + 44 * s,
                         least.y + line + 10 * s};
  list->AddRectFilled(least, corner, c.panel, 4 * s);
  list->AddRect(least, corner, c.border, 4 * s);
  const float y = least.y + 5 * s;
  ui::label(list, {least.x + 8 * s, y}, c.dim, title);
  constexpr int kSteps = 24;
  const float x = least.x + title_width + 18 * s;
  for (int i = 0; i < kSteps; i++)
    list->AddRectFilled({x + width * static_cast<float>(i) / kSteps, y + 2 * s},
                        {x + width * static_cast<float>(i + 1) / kSteps, y + line - 2 * s},
                        ui::heat(static_cast<float>(i) / (kSteps - 1)));
  ui::label(list, {x + width + 8 * s, y}, c.text, most);
  ui::mark("legend", least, corner);
}

void GraphView::draw_minimap(ImDrawList* list) {
  const ui::Colours& c = ui::colours();
  const Rect all = bounds();
  const float s = ui::scale();
  if (f(all.width * camera_.zoom) <= size_.x && f(all.height * camera_.zoom) <= size_.y)
    return;  // everything is visible
  const double wide = static_cast<double>(std::min(180 * s, size_.x * 0.15f));
  const double fits = std::min(wide / std::max(all.width, 1.0),
                               static_cast<double>(size_.y * 0.6f) / std::max(all.height, 1.0));
  const ImVec2 extent = {std::max(f(all.width * fits), 24 * s), f(all.height * fits)};
  const ImVec2 most = {least_.x + size_.x - 14 * s, least_.y + size_.y - 14 * s},
               least = {most.x - extent.x, most.y - extent.y};
  const auto place = [&](double x, double y) {
    return ImVec2{least.x + f(x * static_cast<double>(extent.x) / all.width),
                  least.y + f(y * static_cast<double>(extent.y) / all.height)};
  };
  list->AddRectFilled({least.x - 6 * s, least.y - 6 * s}, {most.x + 6 * s, most.y + 6 * s}, c.panel,
                      4 * s);
  list->AddRect({least.x - 6 * s, least.y - 6 * s}, {most.x + 6 * s, most.y + 6 * s}, c.border,
                4 * s);
  const size_t step = scene_->boxes.size() / 4000 + 1;  // of very many boxes, only some are drawn
  for (size_t i = 0; i < scene_->boxes.size(); i += step) {
    const SceneBox& b = scene_->boxes[i];
    if (b.open) continue;
    const ImVec2 p = place(b.area.x, b.area.y), q = place(b.area.right(), b.area.bottom());
    list->AddRectFilled(p, {std::max(q.x, p.x + 1), std::max(q.y, p.y + 1)},
                        b.node == selected_ && selected_ != kNone ? c.accent
                        : b.node != kNone ? ui::with_alpha(colour_of_node(b.node), 0.8f)
                                          : c.border);
  }
  const Point a = to_graph(least_), b = to_graph({least_.x + size_.x, least_.y + size_.y});
  const ImVec2 p = place(std::max(a.x, 0.0), std::max(a.y, 0.0)),
               q = place(std::min(b.x, all.width), std::min(b.y, all.height));
  if (q.x > p.x && q.y > p.y) {
    list->AddRectFilled(p, q, ui::with_alpha(c.accent, 0.18f));
    list->AddRect(p, q, c.accent, 0, 0, 1.5f * s);
  }
  ui::mark("minimap", least, most);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over =
      mouse.x >= least.x && mouse.x <= most.x && mouse.y >= least.y && mouse.y <= most.y;
  if (over && ImGui::IsMouseDown(0)) {
    panning_ = true;
    moved_ = true;  // the click does not reach the items below
    camera_.x = static_cast<double>((mouse.x - least.x) / extent.x) * all.width;
    camera_.y = static_cast<double>((mouse.y - least.y) / extent.y) * all.height;
  }
}

}  // namespace poprt::inspector
