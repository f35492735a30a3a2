// The graph: pan, zoom, groups that open and close, search, neighbourhood, paths, minimap.
#pragma once

#include <imgui.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/graph_layout.h"
#include "model/graph_model.h"
#include "model/pass_history.h"
#include "model/task.h"

namespace poprt::inspector {

enum class GraphColour { op, dtype, weights, outputs, time };

class GraphView {
 public:
  explicit GraphView(Wake wake = {}) : wake_(std::move(wake)) {}

  // Keeps camera and open groups when the new graph has the same ones.
  void set_graph(std::shared_ptr<const GraphModel> graph);
  // Marks of nodes; empty: none.
  void set_changes(std::vector<Change> changes) { changes_ = std::move(changes); }
  const std::vector<Change>& changes() const { return changes_; }
  // Nanoseconds of each node, as measured, which become its colour; empty: not measured.
  void set_times(std::vector<double> times);
  const std::vector<double>& times() const { return times_; }
  std::vector<int> slowest(size_t most) const;

  // Fills the region. Handles the view's own keys when `keys` is set.
  void draw(const char* id, ImVec2 size, bool keys = true);

  const std::shared_ptr<const GraphModel>& graph() const { return graph_; }
  int selected() const { return selected_; }
  void select(int node, bool show = true);
  // Opens the groups around a node and moves the camera to it.
  void show(int node);
  void fit() {
    fit_wanted_ = true;
    first_look_ = false;
  }
  // Marks what is found and brings the first in sight; the selection stays as it is.
  void search(const std::string& text);
  const std::string& search_text() const { return search_text_; }
  // Selects the next match, at first the one that the search brought in sight.
  void next_match(int step);
  const std::vector<int>& matches() const { return matches_; }
  void toggle_group(int group);
  void open_all(bool open);
  void focus(int distance);  // on the selected node; 0: everything
  void start_path();         // the next selected node is the other end
  const std::vector<int>& path() const { return path_; }
  void next_colour();
  GraphColour colour() const { return colour_; }
  void set_colour(GraphColour colour) { colour_ = colour; }
  const char* colour_name() const;
  ImU32 colour_of_node(int node) const;
  // Its input or output is outlined, whatever is selected; empty: none.
  std::string anchor;

  // A layout is on its way.
  bool busy() const { return task_.running(); }
  // Waits for it; for tests and screenshots.
  void settle();
  const Scene* scene() const { return scene_.get(); }
  std::string status() const;
  std::string svg() const;
  // The whole graph as it is open now, for a picture: of the size that `zoom` gives, or less so
  // that it has at most kMostPicturePixels. Null without a layout. Draws with the fonts, so call it
  // from the drawing thread between NewFrame and Render.
  struct Drawing {
    int width = 0, height = 0;
    std::vector<ImDrawVert> vertices;
    std::vector<uint32_t> triangles;  // indices, three each
    ImU32 background = 0;
  };
  static constexpr double kMostPicturePixels = 48e6, kMostPictureSide = 30000;
  std::shared_ptr<const Drawing> drawing(double zoom);
  // Where a node is on the screen; false when it is not in sight.
  bool screen_rect(int node, ImVec2& least, ImVec2& most) const;

 private:
  struct Camera {
    double x = 0, y = 0, zoom = 1;  // graph point in the middle of the region
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
  void draw_group(ImDrawList* list, const SceneBox& box) const;
  void draw_group_name(ImDrawList* list, const SceneBox& box) const;
  void draw_node(ImDrawList* list, const SceneBox& box) const;
  void draw_text(ImDrawList* list, const SceneBox& box, ImVec2 least, ImVec2 most,
                 const std::string& title, const std::string& detail) const;
  void draw_minimap(ImDrawList* list);
  void draw_legend(ImDrawList* list) const;
  bool dimmed(int node) const;
  int box_at(Point p) const;
  Rect bounds() const;
  bool in_sight() const;  // anything
  void find_matches();

  Wake wake_;
  std::shared_ptr<const GraphModel> graph_;
  std::shared_ptr<GraphLayout> layout_;
  std::shared_ptr<const Scene> scene_;
  Task<std::shared_ptr<const Scene>> task_;
  bool relayout_again_ = false;
  std::string layout_error_;
  std::set<int> open_;
  int anchor_group_ = kNone;  // stays where it is on the screen

  Camera camera_;
  bool fit_wanted_ = true, first_look_ = true;
  bool look_wanted_ = false;  // whether the new graph is in sight
  size_t operators_ = 0;
  int show_wanted_ = kNone;
  ImVec2 least_, size_;
  bool panning_ = false, moved_ = false;

  int selected_ = kNone, hovered_box_ = kNone;
  std::string search_text_;
  std::vector<int> matches_;
  int match_ = kNone;  // that was selected last; kNone: none yet
  std::vector<bool> group_matches_;
  std::vector<bool> is_match_, in_path_, in_focus_;
  std::vector<int> path_;
  int path_start_ = kNone;
  std::vector<Change> changes_;
  GraphColour colour_ = GraphColour::op;
  std::vector<double> times_;
  double longest_ = 0;
  uint64_t most_weight_bytes_ = 1, most_output_bytes_ = 1;
};

}  // namespace poprt::inspector
