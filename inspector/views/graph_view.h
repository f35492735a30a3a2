// The view of a graph: pan, zoom, groups, search, neighbourhood, paths, minimap.
#pragma once

#include <imgui.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/graph_layout.h"
#include "model/graph_model.h"
#include "model/overlay.h"
#include "model/pass_history.h"
#include "model/task.h"

namespace poprt::inspector {

enum class GraphColour { op, dtype, weights, outputs, time, overlay };
// Where times come from: a profile of the program on this machine, or the estimate of a chip.
enum class TimeSource { measured, estimated };

class GraphView {
 public:
  explicit GraphView(Wake wake = {}) : wake_(std::move(wake)) {}

  // Keeps the camera, and by their names the open groups and the selected node. Null: no graph.
  void set_graph(std::shared_ptr<const GraphModel> graph);
  // Marks of nodes; empty: none.
  void set_changes(std::vector<Change> changes) { changes_ = std::move(changes); }
  const std::vector<Change>& changes() const { return changes_; }
  // Nanoseconds of each node, measured or estimated, which determine its colour; empty: not known.
  void set_times(std::vector<double> times, TimeSource source = TimeSource::measured);
  const std::vector<double>& times() const { return times_; }
  TimeSource time_source() const { return time_source_; }
  // Values of nodes from a file or a comparison, which determine their colour; null: none.
  void set_overlay(std::shared_ptr<const Overlay> overlay);
  const Overlay* overlay() const { return overlay_.get(); }
  // The nodes of the path or the neighbourhood, else of the selected node's group (or the node
  // itself if it is in none). These are saved as a part.
  std::vector<int> part() const;
  std::vector<int> slowest(size_t most) const;

  // Fills the region. Handles the keys of the view if `keys` is set.
  void draw(const char* id, ImVec2 size, bool keys = true);

  const std::shared_ptr<const GraphModel>& graph() const { return graph_; }
  int selected() const { return selected_; }
  void select(int node, bool show = true);
  // Opens the groups that contain a node and moves the camera to it.
  void show(int node);
  void fit() {
    fit_wanted_ = true;
    first_look_ = false;
  }
  // Marks the matches and shows the first one. The selection does not change.
  void search(const std::string& text);
  const std::string& search_text() const { return search_text_; }
  // Selects the next match (`step` 1) or the previous one (-1). The first call after a search
  // selects the first or the last match.
  void next_match(int step);
  const std::vector<int>& matches() const { return matches_; }
  void toggle_group(int group);
  void open_all(bool open);
  // Computes the layout again if the direction changes, and shows the inputs.
  void set_direction(Direction direction);
  Direction direction() const { return direction_; }
  void focus(int distance);  // around the selected node; 0: everything
  void start_path();         // the next selected node becomes the other end
  const std::vector<int>& path() const { return path_; }
  void next_colour();
  GraphColour colour() const { return colour_; }
  void set_colour(GraphColour colour) { colour_ = colour; }
  const char* colour_name() const;
  ImU32 colour_of_node(int node) const;
  // The graph input or output that is outlined independently of the selection; empty: none.
  std::string anchor;

  double zoom() const { return camera_.zoom; }
  // Whether a layout is being computed.
  bool busy() const { return task_.running(); }
  // Waits for the layout. For tests and screenshots.
  void settle();
  const Scene* scene() const { return scene_.get(); }
  std::string status() const;
  std::string svg() const;
  // A picture of the whole graph, as triangles.
  struct Drawing {
    int width = 0, height = 0;
    std::vector<ImDrawVert> vertices;
    std::vector<uint32_t> triangles;  // indices, three per triangle
    ImU32 background = 0;
  };
  static constexpr double kMostPicturePixels = 48e6, kMostPictureSide = 30000;
  // Returns the whole graph with the groups that are open now. `zoom` determines the size, which is
  // limited to kMostPicturePixels and kMostPictureSide. Returns null if there is no layout. Uses
  // the fonts, so it must be called on the drawing thread between NewFrame and Render.
  std::shared_ptr<const Drawing> drawing(double zoom);
  // The position on the screen of a node, or of the closed group that contains it. Returns false if
  // it is not visible.
  bool screen_rect(int node, ImVec2& least, ImVec2& most) const;

 private:
  struct Camera {
    double x = 0, y = 0, zoom = 1;  // graph point at the centre of the region
  };
  ImVec2 to_screen(Point p) const;
  Point to_graph(ImVec2 p) const;
  void place_camera();
  void relayout(int anchor_group);
  void accept_layout();
  void handle_mouse(bool hovered);
  void handle_keys();
  void draw_routes(ImDrawList* list, const Rect& sight) const;
  void draw_route(ImDrawList* list, const SceneRoute& route, ImU32 line, float width) const;
  void draw_boxes(ImDrawList* list, const Rect& sight) const;
  bool is_small(const SceneBox& box) const;
  void draw_group(ImDrawList* list, const SceneBox& box, bool small = false) const;
  void draw_group_name(ImDrawList* list, const SceneBox& box) const;
  void draw_node(ImDrawList* list, const SceneBox& box) const;
  void draw_text(ImDrawList* list, const SceneBox& box, ImVec2 least, ImVec2 most,
                 const std::string& title, const std::string& detail, ImU32 back) const;
  void draw_label(ImDrawList* list, ImVec2 at, ImU32 colour, const std::string& line,
                  float size) const;
  void draw_minimap(ImDrawList* list);
  void draw_legend(ImDrawList* list) const;
  bool dimmed(int node) const;
  int box_at(Point p) const;
  Rect bounds() const;
  bool in_sight() const;  // whether any box is visible
  void find_matches();

  Wake wake_;
  std::shared_ptr<const GraphModel> graph_;
  std::shared_ptr<GraphLayout> layout_;
  std::shared_ptr<const Scene> scene_;
  Task<std::shared_ptr<const Scene>> task_;
  Direction direction_ = Direction::down;
  bool relayout_again_ = false;
  std::string layout_error_;
  std::set<int> open_;
  int anchor_group_ = kNone;  // the group that keeps its position on the screen

  Camera camera_;
  bool fit_wanted_ = true, first_look_ = true;
  bool check_visible_ = false;  // whether to check if the new graph is visible
  size_t operators_ = 0;
  int show_wanted_ = kNone;
  ImVec2 least_, size_;
  bool panning_ = false, moved_ = false;

  int selected_ = kNone, hovered_box_ = kNone;
  std::string search_text_;
  std::vector<int> matches_;
  int match_ = kNone;  // index of the selected match; kNone: none yet
  std::vector<bool> group_matches_;
  std::vector<bool> is_match_, in_path_, in_focus_;
  std::vector<int> path_;
  int path_start_ = kNone;
  std::vector<Change> changes_;
  GraphColour colour_ = GraphColour::op;
  std::vector<double> times_;
  TimeSource time_source_ = TimeSource::measured;
  std::shared_ptr<const Overlay> overlay_;
  double longest_ = 0;
  uint64_t most_weight_bytes_ = 1, most_output_bytes_ = 1;
};

}  // namespace poprt::inspector
