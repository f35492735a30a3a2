// The view that runs a model on chosen inputs: outputs with their largest elements, pictures and
// plots, differences from another model or a reference, and a benchmark.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/report.h"
#include "model/run.h"
#include "views/tensor_panel.h"
#include "views/tensor_picture.h"
#include "views/ui.h"

namespace poprt::inspector {

class RunView {
 public:
  explicit RunView(Wake wake = {}) : wake_(wake), tensor_(wake), picture_(wake), top_(wake) {}

  // Sets the model. `compilation` may be null; `executable` is the name of one of several in a
  // file. Another document or executable, or another compilation after the first one, clears the
  // results and keeps the choices.
  void set_model(std::shared_ptr<const Document> document,
                 std::shared_ptr<const Compilation> compilation,
                 const std::string& executable = {});
  // Documents to compare outputs with. Each stays valid as long as it is in the list.
  struct Other {
    std::shared_ptr<const Document> document;
    std::shared_ptr<const Compilation> compilation;  // may be null
  };
  void draw(ImVec2 size, const std::vector<Other>& others, bool keys = true);

  // Runs the model as soon as it is ready.
  void run();
  void bench();
  // Returns the first input for a tensor file, or the first one of at least two dimensions for a
  // picture. Empty if there is none, or if the model is not ready.
  std::string input_for(const std::filesystem::path& file) const;
  const InputChoices& choices() const { return choices_; }
  void set_input(const std::string& name, const InputChoice& choice) { choices_[name] = choice; }
  // Uses a file for the first input that it fits, as soon as the model is ready.
  void drop(const std::filesystem::path& file);
  // Sets the file with which the next run compares an output; an empty path: none. Errors of
  // reading it are shown in the view.
  void set_reference(const std::string& output, const std::string& path);
  // Reads a text file with one class name per line. An error is shown next to the field.
  void set_class_names(const std::string& path);

  bool busy() const {
    return preparing_.started() || running_.started() || benching_.started() || tensor_.busy() ||
           picture_.busy() || top_.busy();
  }
  void settle();
  std::string status() const;
  // The existing inputs, outputs, differences and benchmark results.
  std::vector<Table> tables() const;
  // Returns the name of the input that needs a file; empty: none.
  std::string take_browse() { return std::exchange(browse_, {}); }

  const std::shared_ptr<const RunResult>& result() const { return result_; }
  const std::vector<TensorDifference>& differences() const { return differences_; }
  bool can_run() const { return model_ != nullptr; }
  bool has_input(const std::string& name) const;  // false while the model is not ready
  // "values", "largest" or "differences". Other names are ignored.
  void set_page(const std::string& name);
  const std::shared_ptr<const BenchResult>& bench_result() const { return bench_result_; }
  const std::string& error() const { return error_; }
  const std::string& class_error() const { return class_error_; }  // of the names of classes
  BenchSettings settings;

 private:
  enum class Page { values, top, differences };
  struct Outcome {
    RunResult result;
    std::vector<TensorDifference> differences;
    std::string compared;  // the name of the other side
  };
  void accept();
  void draw_choices(ImVec2 size, const std::vector<Other>& others);
  void draw_variants();
  void draw_input(const program::Anchor& anchor);
  void draw_compare_choices(const std::vector<Other>& others);
  void draw_bench_choices();
  void draw_results(ImVec2 size);
  void draw_outputs(ImVec2 size);
  void draw_selected(ImVec2 size);
  void draw_top(const NamedTensor& t, float width);
  void draw_class_names(int64_t length);
  static void draw_top_element(size_t rank, int64_t index, double value, double part,
                               const std::string& label, float width);
  void draw_differences(const NamedTensor& t, ImVec2 size);
  void draw_bench(ImVec2 size);
  void prepare();
  void forget_results();
  void choose_variant(size_t variant);
  InputChoices known_choices() const;

  Wake wake_;
  std::shared_ptr<const Document> document_;
  std::shared_ptr<const Compilation> compilation_;
  std::string executable_;
  std::vector<std::string> variants_;    // of the model, once it is ready
  std::vector<program::Anchor> inputs_;  // of the chosen variant
  Other second_;
  std::map<std::string, std::string> references_;  // file by output
  std::string tolerance_text_ = "0.001", absolute_text_ = "0.0001";
  InputChoices choices_;
  uint64_t seed_ = 1;
  // Created on another thread when the view is first drawn, for all runs.
  using Runnable = std::shared_ptr<const runtime::Model>;
  Task<Runnable> preparing_;
  Runnable model_;
  bool run_wanted_ = false, bench_wanted_ = false;  // requested before the model is ready
  std::filesystem::path dropped_;                   // a file dropped before the model is ready

  Task<Outcome> running_;
  Task<BenchResult> benching_;
  std::shared_ptr<const RunResult> result_;
  std::vector<TensorDifference> differences_;
  std::string compared_, error_, browse_, message_;
  std::shared_ptr<const BenchResult> bench_result_;
  size_t selected_ = 0;
  Page page_ = Page::values;
  int row_ = 0;  // the row whose largest elements are shown
  std::string class_file_, class_error_;
  std::vector<std::string> classes_;
  ui::TableState outputs_state_, differences_state_;
  TensorPanel tensor_;
  TensorPicture picture_;
  TensorRow top_;  // of the row whose largest elements are shown
};

}  // namespace poprt::inspector
