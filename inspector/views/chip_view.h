// The view of the estimated cost of the model on a chip: tiles as a map, phases over time, memory,
// and the operations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/chip_model.h"
#include "views/ui.h"

namespace poprt::inspector {

class ChipView {
 public:
  explicit ChipView(Wake wake) : wake_(std::move(wake)) {}

  // The model and how it is converted. `shapes` is the text of the shapes in `options`. Another
  // graph or another text starts another estimate.
  void set_model(std::shared_ptr<const ir::Graph> graph, const compiler::DriverOptions& options,
                 const std::string& shapes);
  // Shows why the model cannot be estimated, instead of an estimate of an earlier one. An empty
  // reason forgets the estimate.
  void refuse(const std::string& error);
  bool shows(const std::shared_ptr<const ir::Graph>& graph, const std::string& shapes) const {
    return graph == graph_ && shapes == shapes_;
  }
  void draw(ImVec2 size, bool keys = true);
  bool busy() const { return making_.started() || making_other_.started(); }
  void settle();
  std::string status() const;

  enum class Page { memory, operations, compare };
  Page page = Page::memory;
  // Selects the page "memory", "operations" or "compare". "cycles" colours the tiles by cycles, and
  // "graph" requests the cycles as colours of the graph.
  void set_page(const std::string& name);
  const ChipChoice& choice() const { return choice_; }
  // Estimates for another chip, precision, memory or number of IPUs.
  void choose(const ChipChoice& choice);
  // Selects the operation of that name. Returns false if there is none.
  bool select(const std::string& name);
  int selected() const { return op_; }
  const std::shared_ptr<const ChipModel>& model() const { return model_; }
  const std::shared_ptr<const ChipModel>& other() const { return other_; }
  const std::string& error() const { return error_; }
  // Estimates also for another chip, and compares both. An empty target ends the comparison.
  void compare_with(const std::string& target);
  std::vector<Table> tables() const {
    return model_ ? chip_tables(*model_, other_.get()) : std::vector<Table>{};
  }
  // Whether a click requested the cycles as colours of the graph, once they are known.
  bool take_graph() { return model_ && !making_.started() && std::exchange(graph_wanted_, false); }

 private:
  bool several_ipus() const { return model_->estimate().memory.size() > 1; }
  void start();
  void accept();
  void start_one(Task<ChipModel>& task, const ChipChoice& choice);
  void draw_bar(ImVec2 size);
  static float draw_scale(ImVec2 end, const std::string& top, float room);
  void draw_tiles(ImVec2 size);
  void draw_time(float width);
  void draw_trace(ImVec2 size);
  void draw_ipus_of_trace(float top, const std::function<float(double)>& x_of);
  void draw_pages(ImVec2 size);
  void draw_categories(const ipu::TileMemory& memory);
  void draw_ipus();
  void draw_memory();
  void draw_operations(ImVec2 size);
  void draw_comparison(ImVec2 size);
  void step(int by);

  Wake wake_;
  std::shared_ptr<const ir::Graph> graph_;
  compiler::DriverOptions options_;
  std::string shapes_;
  ChipChoice choice_, other_choice_;
  bool comparing_ = false;
  Task<ChipModel> making_, making_other_;
  std::shared_ptr<const ChipModel> model_, other_;
  std::string error_, other_error_;
  int op_ = -1;  // -1: the whole run
  int tile_ = -1, ipu_ = 0;
  bool by_cycles_ = false, graph_wanted_ = false;
  ui::TableState operations_{2, true}, comparison_{};
};

}  // namespace poprt::inspector
