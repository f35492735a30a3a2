// The panel with all details of the selected node of a graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/document.h"
#include "model/rename.h"
#include "model/tensor_compare.h"
#include "views/graph_view.h"
#include "views/tensor_panel.h"

namespace poprt::inspector {

class DetailsPanel {
 public:
  explicit DetailsPanel(Wake wake = {}) : tensor_(std::move(wake)) {}

  // The view shows the graph of step `step`. If `compilation` is null, the panel offers to compile.
  void draw(GraphView& view, const std::shared_ptr<const Compilation>& compilation, int step,
            ImVec2 size);
  bool busy() const { return tensor_.busy(); }
  void settle() { tensor_.settle(); }
  // The step that was clicked, and the name that the node has after this step. Without a click, the
  // step is -1.
  struct Wanted {
    int step = -1;
    std::string node;
  };
  Wanted take_step() { return std::exchange(wanted_, {}); }
  // Whether a click requested the changes of the node by passes although nothing is compiled.
  bool take_compile() { return std::exchange(compile_, false); }
  // Returns the weight that a click requested to export, if any.
  std::optional<NamedTensor> take_export() { return std::exchange(export_, std::nullopt); }
  // Whether a click requested to save the part of the graph (GraphView::part()).
  bool take_part() { return std::exchange(part_, false); }
  // The new names that the user typed, and whether a click requested to save the model with them.
  const Renames& renames() const { return renames_; }
  bool take_save_renamed() { return std::exchange(save_renamed_, false); }
  // Whether the panel belongs to the graph of the file: it shows the properties of the graph while
  // no node is selected, and offers to save parts of it and new names.
  bool overview = true;

 private:
  void forget_graph(std::shared_ptr<const GraphModel> graph);
  void draw_overview(GraphView& view);
  void draw_found(GraphView& view);
  void draw_pick(GraphView& view, int node, const std::string& first, const std::string& name,
                 const std::string& more = {});
  void draw_slowest(GraphView& view);
  void draw_documentation(const GraphModel& graph, int node);
  void draw_node(GraphView& view, const std::shared_ptr<const Compilation>& compilation, int step);
  void draw_buttons(GraphView& view);
  void draw_renaming(const GraphModel& graph, int node);
  void draw_renames();
  void draw_history(const GraphView& view, const std::shared_ptr<const Compilation>& compilation,
                    int step);
  void draw_values(GraphView& view, const std::vector<int>& values, const char* title, bool inputs);

  TensorPanel tensor_;
  // The graph that all indices below belong to. It is kept alive, because a later graph could have
  // its address.
  std::shared_ptr<const GraphModel> graph_;
  int value_ = kNone;  // the weight whose elements are shown
  int node_ = kNone;
  std::optional<NamedTensor> export_;
  bool compile_ = false;
  bool part_ = false;
  bool renaming_ = false;  // shows fields for the names of the selected node
  bool save_renamed_ = false;
  Renames renames_;
  Wanted wanted_;
  struct HistoryOf {
    std::shared_ptr<const Compilation> compilation;
    int step = -1, node = kNone;
    bool operator==(const HistoryOf&) const = default;
  };
  HistoryOf history_of_;
  std::vector<NodeEvent> history_;
  int documented_ = kNone;  // the node of `documentation_`
  std::optional<onnx::OperatorDoc> documentation_;
  bool all_documentation_ = false;
};

}  // namespace poprt::inspector
