// Two documents and what they have different.
#pragma once

#include <memory>
#include <string>

#include "model/diff.h"
#include "views/graph_view.h"
#include "views/ui.h"

namespace poprt::inspector {

class DiffView {
 public:
  explicit DiffView(Wake wake = {}) : wake_(wake), left_graph_(wake), right_graph_(wake) {}

  void set_documents(std::shared_ptr<const Document> left, std::shared_ptr<const Document> right);
  void draw(ImVec2 size);
  bool busy() const { return task_.running() || left_graph_.busy() || right_graph_.busy(); }
  void settle();
  const DocumentDiff* diff() const { return diff_.get(); }
  std::string filter;
  std::string status() const;

 private:
  void accept();

  Wake wake_;
  std::shared_ptr<const Document> left_, right_;
  Task<DocumentDiff> task_;
  std::shared_ptr<const DocumentDiff> diff_;
  std::string error_;
  GraphView left_graph_, right_graph_;
  int selected_ = -1;
  ui::TableState state_;
};

}  // namespace poprt::inspector
