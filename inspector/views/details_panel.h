// Everything about the selected node of a graph.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/document.h"
#include "views/graph_view.h"
#include "views/tensor_panel.h"

namespace poprt::inspector {

class DetailsPanel {
 public:
  explicit DetailsPanel(Wake wake = {}) : tensor_(std::move(wake)) {}

  // `compilation` may be null: then nothing is said about passes.
  void draw(GraphView& view, const Compilation* compilation, ImVec2 size);
  bool busy() const { return tensor_.busy(); }
  void settle() { tensor_.settle(); }
  // The pass whose button was clicked; -1: none.
  int take_step() { return std::exchange(step_, -1); }

 private:
  void draw_overview(GraphView& view);
  void draw_documentation(const GraphModel& graph, int node);
  void draw_node(GraphView& view, const Compilation* compilation);
  void draw_values(GraphView& view, const std::vector<int>& values, const char* title, bool inputs);

  TensorPanel tensor_;
  int value_ = kNone;  // the weight whose elements are shown
  int node_ = kNone;
  int step_ = -1;
  std::pair<const GraphModel*, int> documented_{nullptr, kNone};
  std::optional<onnx::OperatorDoc> documentation_;
  bool all_documentation_ = false;
};

}  // namespace poprt::inspector
