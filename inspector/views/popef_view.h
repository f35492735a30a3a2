// The view of a PopEF file: a map of it, its anchors, data, opaque blobs and metadata.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/popef_file.h"
#include "views/tensor_panel.h"
#include "views/ui.h"

namespace poprt::inspector {

class PopefView {
 public:
  explicit PopefView(Wake wake = {}) : panel_(std::move(wake)) {}

  void set_file(std::shared_ptr<const PopefFile> file);
  void draw(ImVec2 size);

  enum class Page { anchors, data, opaque, metadata, blobs };
  Page page = Page::anchors;
  // The name of the selected anchor; empty: none.
  const std::string& selected_anchor() const { return anchor_; }
  void select_anchor(const std::string& name);
  std::string filter;
  std::string status() const;
  // Returns the row of data() that a click requested to write as .npy, or -1.
  int take_export() { return std::exchange(export_, -1); }
  bool busy() const { return panel_.busy(); }
  void settle() { panel_.settle(); }

 private:
  void draw_map(float width);
  void draw_unread(float x, ImVec2 at, ImVec2 size) const;
  void draw_anchors(ImVec2 size);
  void draw_anchor_details();
  std::vector<size_t> anchor_rows() const;
  void find_owners();
  void draw_data(ImVec2 size);
  void draw_opaque(ImVec2 size);
  void draw_metadata(ImVec2 size);
  void draw_blobs(ImVec2 size);
  void draw_data_details(size_t row);

  std::shared_ptr<const PopefFile> file_;
  TensorPanel panel_;
  std::string anchor_;
  // The name of an anchor, and its shapes.
  std::pair<std::string, std::vector<std::string>> shapes_;
  // The filter of the anchor list: "all", then the models of a file with several, or the graphs of
  // a fused model. Empty if there is only one.
  struct Owner {
    std::string model, prefix;
  };
  std::vector<std::string> owner_names_;
  std::vector<Owner> owners_;
  int owner_ = 0;
  ui::TableState anchors_state_{1, false, -1}, data_state_, opaque_state_, metadata_state_,
      blobs_state_;
  int data_row_ = -1, opaque_row_ = -1, blob_row_ = -1, export_ = -1;
  int loaded_row_ = -1;
  Tensor loaded_;
  std::string load_error_;
  int opaque_shown_ = -1;
  std::string opaque_text_;
};

}  // namespace poprt::inspector
