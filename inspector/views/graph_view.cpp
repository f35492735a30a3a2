// State, camera and input of the view of a graph. graph_view_draw.cpp draws it.
#include "views/graph_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/format.h"
#include "model/graph_query.h"
#include "model/graph_svg.h"
#include "model/stable_order.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

constexpr double kLeastZoom = 0.002, kMostZoom = 4;
// Initial zoom of a graph that is too large to be shown readably as a whole.
constexpr double kReadableZoom = 0.9;
constexpr size_t kOpenAtFirst = 400;  // visible boxes

}  // namespace

const char* GraphView::colour_name() const {
  static constexpr const char* names[] = {"operator", "type", "weights",
                                          "memory",   "time", "overlay"};
  if (colour_ == GraphColour::time && time_source_ == TimeSource::estimated)
    return "estimated time";
  return names[static_cast<size_t>(colour_)];
}

void GraphView::next_colour() {
  const auto exists = [&](GraphColour colour) {
    return (colour != GraphColour::time || !times_.empty()) &&
           (colour != GraphColour::overlay || overlay_);
  };
  do colour_ = static_cast<GraphColour>((static_cast<int>(colour_) + 1) % 6);
  while (!exists(colour_));
}

void GraphView::set_overlay(std::shared_ptr<const Overlay> overlay) {
  overlay_ = std::move(overlay);
  if (overlay_)
    colour_ = GraphColour::overlay;
  else if (colour_ == GraphColour::overlay)
    colour_ = GraphColour::op;
}

std::vector<int> GraphView::part() const {
  if (!path_.empty()) return path_;
  std::vector<int> nodes;
  for (size_t i = 0; i < in_focus_.size(); i++)
    if (in_focus_[i]) nodes.push_back(static_cast<int>(i));
  if (!nodes.empty() || selected_ == kNone) return nodes;
  const int wanted = graph_->node(selected_).group;
  if (wanted == kRoot) return {selected_};
  for (size_t i = 0; i < graph_->nodes().size(); i++)
    for (int g = graph_->nodes()[i].group; g != kNone; g = graph_->group(g).parent)
      if (g == wanted) nodes.push_back(static_cast<int>(i));
  return nodes;
}

void GraphView::set_times(std::vector<double> times, TimeSource source) {
  times_ = std::move(times);
  time_source_ = source;
  longest_ = times_.empty() ? 0 : *std::max_element(times_.begin(), times_.end());
  if (longest_ > 0)
    colour_ = GraphColour::time;
  else if (colour_ == GraphColour::time)
    colour_ = GraphColour::op;
}

std::vector<int> GraphView::slowest(size_t most) const {
  std::vector<int> order;
  for (size_t n = 0; n < times_.size(); n++)
    if (times_[n] > 0) order.push_back(static_cast<int>(n));
  stable_order(order, [&](int a, int b) {
    return times_[static_cast<size_t>(a)] > times_[static_cast<size_t>(b)];
  });
  if (order.size() > most) order.resize(most);
  return order;
}

void GraphView::set_graph(std::shared_ptr<const GraphModel> graph) {
  if (graph == graph_) return;
  const bool first = !graph_;
  std::set<std::string> open_paths;
  if (graph_)
    for (const int g : open_) open_paths.insert(graph_->group(g).path);
  // Indices of nodes belong to one graph. Nodes are found in the new graph by their names.
  const auto name_of = [&](int node) { return node == kNone ? "" : graph_->node(node).name; };
  const std::string selected_name = name_of(selected_), wanted_name = name_of(show_wanted_);
  const auto found = [&](const std::string& name) {
    return graph_ && !name.empty() ? graph_->find(name) : kNone;
  };
  task_ = {};
  relayout_again_ = false;
  graph_ = std::move(graph);
  layout_ = nullptr;
  layout_error_.clear();
  scene_ = nullptr;
  find_matches();
  in_path_.clear();
  in_focus_.clear();
  path_.clear();
  changes_.clear();
  set_times({});
  set_overlay(nullptr);
  path_start_ = kNone;
  hovered_box_ = kNone;
  selected_ = found(selected_name);
  show_wanted_ = found(wanted_name);
  open_.clear();
  if (!graph_) return;
  layout_ = std::make_shared<GraphLayout>(graph_, direction_);
  operators_ = graph_->operator_count();
  check_visible_ = true;
  most_weight_bytes_ = most_output_bytes_ = 1;
  for (const GraphNode& n : graph_->nodes()) {
    most_weight_bytes_ = std::max(most_weight_bytes_, n.weight_bytes);
    most_output_bytes_ = std::max(most_output_bytes_, n.output_bytes);
  }
  if (first)
    open_ = layout_->groups_within(kOpenAtFirst);
  else
    for (size_t g = 1; g < graph_->groups().size(); g++)
      if (open_paths.contains(graph_->groups()[g].path)) open_.insert(static_cast<int>(g));
  fit_wanted_ |= first;
  first_look_ |= first;
  relayout(kNone);
}

void GraphView::set_direction(Direction direction) {
  if (direction == direction_) return;
  direction_ = direction;
  if (!graph_) return;
  layout_ = std::make_shared<GraphLayout>(graph_, direction_);
  fit_wanted_ = first_look_ = true;
  relayout(kNone);
}

void GraphView::relayout(int anchor_group) {
  anchor_group_ = anchor_group;
  if (task_.running()) {
    relayout_again_ = true;
    task_.cancel();
    return;
  }
  task_ = Task<std::shared_ptr<const Scene>>(
      [layout = layout_, open = open_](Progress& progress) {
        return layout->scene(open, &progress.cancel);
      },
      wake_);
}

void GraphView::accept_layout() {
  if (!task_.started() || task_.running()) return;
  auto made = task_.take();
  layout_error_ = made ? "" : task_.error();
  task_ = {};
  if (made) {
    // The group that was opened or closed keeps its place on the screen.
    if (scene_ && anchor_group_ != kNone) {
      const auto before = scene_->box_of_group.find(anchor_group_),
                 after = (*made)->box_of_group.find(anchor_group_);
      if (before != scene_->box_of_group.end() && after != (*made)->box_of_group.end()) {
        const Rect &a = scene_->boxes[before->second].area, &b = (*made)->boxes[after->second].area;
        camera_.x += (b.x + b.width / 2) - (a.x + a.width / 2);
        camera_.y += b.y - a.y;
      }
    }
    scene_ = std::move(*made);
  }
  if (relayout_again_) {
    relayout_again_ = false;
    relayout(anchor_group_);
  }
}

void GraphView::settle() {
  while (task_.started()) {
    task_.wait();
    accept_layout();
  }
}

void GraphView::toggle_group(int group) {
  if (!graph_) return;
  if (!open_.erase(group)) open_.insert(group);
  relayout(group);
}

void GraphView::open_all(bool open) {
  if (!graph_) return;
  open_ = open ? layout_->all_groups() : std::set<int>{};
  fit_wanted_ = true;
  relayout(kNone);
}

void GraphView::select(int node, bool show_it) {
  if (path_start_ != kNone && node != kNone && node != path_start_) {
    path_ = path_between(*graph_, path_start_, node);
    in_path_.assign(graph_->nodes().size(), false);
    for (const int n : path_) in_path_[static_cast<size_t>(n)] = true;
    path_start_ = kNone;
  }
  selected_ = node;
  if (show_it && node != kNone) show(node);
}

void GraphView::show(int node) {
  bool opened = false;
  for (int g = graph_->node(node).group; g != kRoot && g != kNone; g = graph_->group(g).parent)
    opened |= open_.insert(g).second;
  if (opened) relayout(kNone);
  show_wanted_ = node;
  fit_wanted_ = false;
}

void GraphView::find_matches() {
  matches_ = graph_ ? search_nodes(*graph_, search_text_) : std::vector<int>{};
  is_match_.assign(graph_ ? graph_->nodes().size() : 0, false);
  group_matches_.assign(graph_ ? graph_->groups().size() : 0, false);
  for (const int n : matches_) {
    is_match_[static_cast<size_t>(n)] = true;
    for (int g = graph_->node(n).group; g != kNone; g = graph_->group(g).parent)
      group_matches_[static_cast<size_t>(g)] = true;
  }
  match_ = kNone;
}

void GraphView::search(const std::string& text) {
  search_text_ = text;
  find_matches();
  if (matches_.empty()) return;
  show_wanted_ = matches_[0];  // if the node is in a closed group, the group is shown
  fit_wanted_ = false;
}

void GraphView::next_match(int step) {
  if (matches_.empty()) return;
  const int n = static_cast<int>(matches_.size());
  match_ = match_ == kNone ? (step > 0 ? 0 : n - 1) : (match_ + n + step) % n;
  select(matches_[static_cast<size_t>(match_)]);
}

void GraphView::focus(int distance) {
  in_focus_.clear();
  if (distance <= 0 || selected_ == kNone) return;
  in_focus_.assign(graph_->nodes().size(), false);
  for (const int n : neighbourhood(*graph_, selected_, distance))
    in_focus_[static_cast<size_t>(n)] = true;
}

void GraphView::start_path() {
  path_start_ = selected_;
  path_.clear();
  in_path_.clear();
}

std::string GraphView::status() const {
  if (!graph_) return "no graph";
  if (!layout_error_.empty()) return "layout: " + layout_error_;
  std::string line = fmt::format("{} · {} · zoom {:.0f} %", counted(operators_, "node"),
                                 counted(graph_->edge_count(), "edge"), camera_.zoom * 100);
  if (match_ != kNone) line += fmt::format(" · match {} of {}", match_ + 1, matches_.size());
  if (path_start_ != kNone) line += " · path: select the other end";
  if (!path_.empty()) line += " · path of " + counted(path_.size(), "node");
  if (!in_focus_.empty()) line += " · neighbourhood";
  return line;
}

std::string GraphView::svg() const {
  if (!graph_ || !scene_) return {};
  return graph_svg(*graph_, *scene_, [&](int node) {
    const ImU32 c = colour_of_node(node);
    return (c >> IM_COL32_R_SHIFT & 255) << 16 | (c >> IM_COL32_G_SHIFT & 255) << 8 |
           (c >> IM_COL32_B_SHIFT & 255);
  });
}

std::shared_ptr<const GraphView::Drawing> GraphView::drawing(double zoom) {
  if (!graph_ || !scene_) return nullptr;
  constexpr double kMargin = 20;
  const double wide = scene_->width + 2 * kMargin, high = scene_->height + 2 * kMargin;
  zoom = std::min({zoom, std::sqrt(kMostPicturePixels / (wide * high)),
                   kMostPictureSide / std::max(wide, high)});
  auto made = std::make_shared<Drawing>();
  made->width = std::max(1, static_cast<int>(wide * zoom));
  made->height = std::max(1, static_cast<int>(high * zoom));
  made->background = ui::colours().back;

  const Camera camera = camera_;
  const ImVec2 least = least_, size = size_;
  const size_t marks = ui::marks().size();
  camera_ = {scene_->width / 2, scene_->height / 2, zoom};
  least_ = {0, 0};
  size_ = {static_cast<float>(made->width), static_cast<float>(made->height)};
  ImDrawList list(ImGui::GetDrawListSharedData());
  list._ResetForNewFrame();
  // A picture may have more vertices than 16-bit indices allow.
  list.Flags |= ImDrawListFlags_AllowVtxOffset;
  list.PushTextureID(ImGui::GetIO().Fonts->TexID);
  list.PushClipRect({0, 0}, size_);
  draw_boxes(&list, bounds());
  ui::marks().resize(marks);
  camera_ = camera;
  least_ = least;
  size_ = size;

  made->vertices.assign(list.VtxBuffer.begin(), list.VtxBuffer.end());
  for (const ImDrawCmd& command : list.CmdBuffer)
    for (unsigned i = 0; i < command.ElemCount; i++)
      made->triangles.push_back(
          static_cast<uint32_t>(list.IdxBuffer[static_cast<int>(command.IdxOffset + i)]) +
          command.VtxOffset);
  return made;
}

ImVec2 GraphView::to_screen(Point p) const {
  return {static_cast<float>((p.x - camera_.x) * camera_.zoom) + least_.x + size_.x / 2,
          static_cast<float>((p.y - camera_.y) * camera_.zoom) + least_.y + size_.y / 2};
}

Point GraphView::to_graph(ImVec2 p) const {
  return {static_cast<double>(p.x - least_.x - size_.x / 2) / camera_.zoom + camera_.x,
          static_cast<double>(p.y - least_.y - size_.y / 2) / camera_.zoom + camera_.y};
}

Rect GraphView::bounds() const {
  return scene_ ? Rect{0, 0, scene_->width, scene_->height} : Rect{};
}

bool GraphView::screen_rect(int node, ImVec2& least, ImVec2& most) const {
  const SceneBox* box = scene_ ? scene_->find(*graph_, node) : nullptr;
  if (!box) return false;
  least = to_screen({box->area.x, box->area.y});
  most = to_screen({box->area.right(), box->area.bottom()});
  return most.x > least_.x && most.y > least_.y && least.x < least_.x + size_.x &&
         least.y < least_.y + size_.y;
}

int GraphView::box_at(Point p) const {
  if (!scene_) return kNone;
  for (size_t i = scene_->boxes.size(); i-- > 0;) {
    const SceneBox& b = scene_->boxes[i];
    if (!b.area.contains(p)) continue;
    // Only the header of an open group can be clicked. Its inside is background.
    if (b.open && p.y > b.area.y + 26) continue;
    return static_cast<int>(i);
  }
  return kNone;
}

void GraphView::handle_mouse(bool hovered) {
  const ImGuiIO& io = ImGui::GetIO();
  const double s = static_cast<double>(ui::scale());
  hovered_box_ = hovered ? box_at(to_graph(io.MousePos)) : kNone;
  if (hovered && io.MouseWheel != 0) {
    const Point before = to_graph(io.MousePos);
    camera_.zoom = std::clamp(camera_.zoom * std::pow(1.18, static_cast<double>(io.MouseWheel)),
                              kLeastZoom, kMostZoom * s);
    const Point after = to_graph(io.MousePos);
    camera_.x += before.x - after.x;
    camera_.y += before.y - after.y;
  }
  if (hovered && ImGui::IsMouseClicked(0)) panning_ = true, moved_ = false;
  if (panning_ && ImGui::IsMouseDown(0)) {
    if (ImGui::IsMouseDragging(0)) moved_ = true;
    if (moved_) {
      camera_.x -= static_cast<double>(io.MouseDelta.x) / camera_.zoom;
      camera_.y -= static_cast<double>(io.MouseDelta.y) / camera_.zoom;
    }
  }
  if (panning_ && ImGui::IsMouseReleased(0)) {
    panning_ = false;
    if (!moved_ && hovered) {
      const SceneBox* box =
          hovered_box_ == kNone ? nullptr : &scene_->boxes[static_cast<size_t>(hovered_box_)];
      if (!box)
        select(kNone, false);
      else if (box->node != kNone)
        select(box->node, false);
      else
        toggle_group(box->group);
    }
  }
}

void GraphView::handle_keys() {
  using ui::pressed;
  if (!graph_) return;
  if (pressed('F')) fit();
  if (pressed('N')) next_match(1);
  if (pressed('N', false, true)) next_match(-1);
  if (pressed('C')) next_colour();
  if (pressed('E')) open_all(true);
  if (pressed('E', false, true)) open_all(false);
  if (pressed('G')) focus(in_focus_.empty() ? 2 : 0);
  if (pressed('P') && selected_ != kNone) start_path();
  if (pressed('S') && selected_ != kNone) show(selected_);
  if (pressed('=') || pressed('=', false, true))
    camera_.zoom = std::min(camera_.zoom * 1.25, kMostZoom);
  if (pressed('-')) camera_.zoom = std::max(camera_.zoom / 1.25, kLeastZoom);
  if (pressed('1')) camera_.zoom = static_cast<double>(ui::scale());
  if (pressed(ui::kEscape)) {
    in_focus_.clear();
    in_path_.clear();
    path_.clear();
    path_start_ = kNone;
    select(kNone, false);
  }
  if (selected_ != kNone) {
    const auto below = graph_->successors(selected_), above = graph_->predecessors(selected_);
    if (pressed(ui::kDown) && !below.empty()) select(below[0]);
    if (pressed(ui::kUp) && !above.empty()) select(above[0]);
  }
}

// Shows everything, or the first node if the graph would be too small to read.
void GraphView::place_camera() {
  const auto scale = static_cast<double>(ui::scale());
  const double wide = static_cast<double>(size_.x) * 0.94 / std::max(scene_->width, 1.0);
  const double high = static_cast<double>(size_.y) * 0.94 / std::max(scene_->height, 1.0);
  camera_.zoom = std::clamp(std::min(wide, high), kLeastZoom, 1.25 * scale);
  camera_.x = scene_->width / 2;
  camera_.y = scene_->height / 2;
  if (first_look_ && camera_.zoom < kReadableZoom * scale) {
    camera_.zoom = kReadableZoom * scale;
    const SceneBox* first = graph_->nodes().empty() ? nullptr : scene_->find(*graph_, 0);
    const Point input =
        first ? Point{first->area.x + first->area.width / 2, first->area.y + first->area.height / 2}
              : Point{camera_.x, camera_.y};
    if (scene_->direction == Direction::down) {
      camera_.y = static_cast<double>(size_.y) * 0.48 / camera_.zoom;
      if (wide < camera_.zoom) camera_.x = input.x;
    } else {
      camera_.x = static_cast<double>(size_.x) * 0.48 / camera_.zoom;
      if (high < camera_.zoom) camera_.y = input.y;
    }
  }
  fit_wanted_ = first_look_ = false;
}

bool GraphView::in_sight() const {
  const Point a = to_graph(least_), b = to_graph({least_.x + size_.x, least_.y + size_.y});
  const Rect sight{a.x, a.y, b.x - a.x, b.y - a.y};
  return std::any_of(scene_->boxes.begin(), scene_->boxes.end(),
                     [&](const SceneBox& box) { return !box.open && box.area.meets(sight); });
}

void GraphView::draw(const char* id, ImVec2 size, bool keys) {
  accept_layout();
  const ui::Colours& c = ui::colours();
  least_ = ImGui::GetCursorScreenPos();
  size_ = {std::max(size.x, 1.0f), std::max(size.y, 1.0f)};
  ui::hit_area(id, size_);
  const bool hovered = ImGui::IsItemHovered();
  if (keys) handle_keys();
  if (scene_ && check_visible_ && !task_.started()) {
    // The new graph may be at another position.
    check_visible_ = false;
    if (!fit_wanted_ && !in_sight()) fit_wanted_ = first_look_ = true;
  }
  if (scene_ && fit_wanted_ && !task_.started()) place_camera();
  if (scene_ && show_wanted_ != kNone && !task_.started()) {
    if (const SceneBox* box = scene_->find(*graph_, show_wanted_)) {
      camera_.x = box->area.x + box->area.width / 2;
      camera_.y = box->area.y + box->area.height / 2;
      camera_.zoom = std::max(camera_.zoom, 0.8 * static_cast<double>(ui::scale()));
    }
    show_wanted_ = kNone;
  }
  handle_mouse(hovered);

  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 most = {least_.x + size_.x, least_.y + size_.y};
  list->AddRectFilled(least_, most, c.back);
  list->PushClipRect(least_, most, true);
  if (!scene_) {
    const std::string line = graph_ ? (layout_error_.empty() ? "Laying out …" : layout_error_)
                                    : "This file has no graph";
    const ImVec2 extent = ImGui::CalcTextSize(line.c_str());
    ui::label(list, {least_.x + (size_.x - extent.x) / 2, least_.y + size_.y / 2}, c.dim, line);
    ui::mark(line, least_, most);
  } else {
    const Point a = to_graph(least_), b = to_graph(most);
    const Rect sight{a.x, a.y, b.x - a.x, b.y - a.y};
    draw_boxes(list, sight);
    draw_minimap(list);
    draw_legend(list);
    if (hovered_box_ != kNone && static_cast<size_t>(hovered_box_) < scene_->boxes.size()) {
      const SceneBox& box = scene_->boxes[static_cast<size_t>(hovered_box_)];
      const ImVec2 corner = to_screen({box.area.x, box.area.y}),
                   opposite = to_screen(
                       {box.area.right(), box.open ? box.area.y + 26 : box.area.bottom()});
      if (box.node != kNone && camera_.zoom < 0.7 * static_cast<double>(ui::scale()))
        ui::tooltip_at(graph_->node(box.node).op + "\n" + graph_->node(box.node).name, corner,
                       opposite);
      else if (box.group != kNone)
        ui::tooltip_at(fmt::format("{}\n{}, click to {}", graph_->group(box.group).path,
                                   counted(graph_->group(box.group).all_nodes, "node"),
                                   box.open ? "close" : "open"),
                       corner, opposite);
    }
    if (task_.started()) ui::label(list, {least_.x + 12, least_.y + 10}, c.dim, "Laying out …");
  }
  list->PopClipRect();
}

}  // namespace poprt::inspector
