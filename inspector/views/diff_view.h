// Two documents and their differences.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/diff.h"
#include "model/node_errors.h"
#include "views/graph_view.h"
#include "views/ui.h"

namespace poprt::inspector {

class DiffView {
 public:
  explicit DiffView(Wake wake = {}) : wake_(wake), left_graph_(wake), right_graph_(wake) {}

  void set_documents(std::shared_ptr<const Document> left, std::shared_ptr<const Document> right);
  void draw(ImVec2 size);
  // Compiles both documents if necessary and measures them alternately. Null: not compiled yet.
  void measure(std::shared_ptr<const Compilation> left, std::shared_ptr<const Compilation> right);
  // Runs both graphs on the same inputs and lists the error of each value, in the order of the left
  // graph; both graphs are coloured by it.
  void find_errors();
  bool busy() const {
    return task_.running() || errors_.started() || measuring_.started() || left_graph_.busy() ||
           right_graph_.busy();
  }
  void settle();
  // Selects the first difference with that name, also in the graphs, and scrolls to its row. Shows
  // all rows if the filter or the category hides it. Returns false if there is none.
  bool select(const std::string& name);
  const DocumentDiff* diff() const { return diff_.get(); }
  std::string filter;
  std::string status() const;

 private:
  void accept();
  void accept_measured();
  void accept_errors();
  void draw_categories();
  void draw_table(ImVec2 size);
  void draw_row(ImVec2 size);
  void follow_selection();
  void pick(size_t row);
  std::vector<size_t> listed() const;  // the rows that the filter and the category show

  Wake wake_;
  std::shared_ptr<const Document> left_, right_;
  Task<DocumentDiff> task_;
  std::shared_ptr<const DocumentDiff> diff_;
  Task<std::pair<Measured, Measured>> measuring_;
  Task<std::vector<NodeError>> errors_;
  std::string category_;                        // the only kind that is shown; empty: all
  int left_node_ = kNone, right_node_ = kNone;  // the selection in the previous frame
  std::string error_;
  GraphView left_graph_, right_graph_;
  int selected_ = -1;
  ui::TableState state_;
};

}  // namespace poprt::inspector
