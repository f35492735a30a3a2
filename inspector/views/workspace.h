// The whole window: documents in tabs, views, command palette, help. It is independent of the
// window system.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/document.h"
#include "model/profile.h"
#include "model/report.h"
#include "model/settings.h"
#include "views/chip_view.h"
#include "views/details_panel.h"
#include "views/diff_view.h"
#include "views/file_browser.h"
#include "views/graph_view.h"
#include "views/passes_view.h"
#include "views/popef_view.h"
#include "views/program_view.h"
#include "views/queues_view.h"
#include "views/run_view.h"

namespace poprt::inspector {

enum class View { graph, popef, program, passes, run, queues, compare, chip };
inline constexpr int kViews = 8;
// The texts of the views of models for a file without a graph.
inline constexpr const char* kNoGraphOfPopef =
    "A compiled model contains a program and no graph; see Program and PopEF, or open the original "
    "model";
inline constexpr const char* kNoGraphOfRecording = "A recording of queues has no graph; see Queues";
inline constexpr const char* kNoGraphOfPasses =
    "Passes are shown for models: open the .onnx or the IR text";
inline constexpr const char* kNoGraphOfChip =
    "A cost on a chip is estimated from a graph, which this file does not have: open the .onnx or "
    "the IR text, or use poprt_exec estimate, which also takes a .popef whose source is known";
const char* view_name(View view);   // as on the command line
const char* view_title(View view);  // as in the window

// The actions that a frame requests from the program.
struct Actions {
  bool quit = false;
  bool choose_file = false;  // with the desktop's dialog, if there is one
  bool settings_changed = false;
};

class Workspace {
 public:
  Workspace(Settings settings, Wake wake, float scale = 1);
  ~Workspace();

  void open(const std::filesystem::path& path);
  // Receives the result of Actions::choose_file; empty: no file was chosen.
  void chosen(const std::filesystem::path& path);
  // Opens a file that was dropped on the window. A tensor or a picture is used for an input of the
  // front model instead, in the run view.
  void dropped(const std::filesystem::path& path);
  // Opens the built-in file browser.
  void browse();
  // Draws one frame of the given size.
  Actions draw(ImVec2 size);

  void show(View view);
  View view() const { return view_; }
  // Selects a node, an anchor, the instruction of a node, a difference, or an operation of the
  // chip, depending on the front view. Returns false if the name does not exist.
  bool select(const std::string& name);
  // Measures the instructions of the front document, or of both in the compare view, once it is
  // compiled.
  void start_profile();
  // Sets the shapes, such as "image=1,3,224,224", that the front document is compiled for.
  void set_shapes(const std::string& words);
  // "anchors", "data" ... for the PopEF view, "values", "largest" or "differences" for the run
  // view, "memory", "operations", "compare", "cycles" or "graph" for the chip view.
  void set_page(const std::string& page);
  // The reason why the front view cannot show the file, the compilation, the run, the estimate or
  // the values of nodes; else the message of the status line if it is an error. Empty if there is
  // no error.
  std::string error();
  // Shows the step of a row of the passes view. Returns false if there is no such row.
  bool show_pass(int row);
  // Whether a running task will change the picture without input.
  bool busy() const;
  // Compiles the front model if the view needs it, and waits for all tasks. For tests and
  // screenshots.
  void settle();
  // Writes a picture of the front graph next to its file, or to `path`, on another thread. Returns
  // false if there is no graph, or while another picture is being written.
  bool export_picture(std::filesystem::path path = {});
  // Reloads documents whose files have changed. Returns whether a document was reloaded, or a file
  // has disappeared or is there again.
  bool reload_changed();

  size_t document_count() const { return tabs_.size(); }
  std::shared_ptr<const Document> document() const;
  GraphView* graph();
  RunView* run_view();
  // Whether the program of the front document has this input. False before it is compiled.
  bool has_input(const std::string& name);
  ChipView* chip_view();
  // Returns the settings with the current widths of the panels.
  Settings& settings();
  // The folder of telemetry that the queues view reads; empty: the user's default.
  std::filesystem::path telemetry_folder;
  // Options::max_size of every compilation and estimate.
  std::map<std::string, int64_t> max_size;
  const std::string& message() const { return message_; }
  bool help_open() const { return help_; }
  bool palette_open() const { return palette_; }

 private:
  struct Tab;
  struct Command {
    std::string name, keys;
    std::function<void()> run;
  };
  Tab* front();
  void accept(Tab& tab);
  void compile(Tab& tab);
  void profile(Tab& tab);
  void close(size_t tab);
  void draw_top();
  void draw_start(ImVec2 size);
  void draw_views();
  void draw_search(GraphView& graph);
  void draw_view(Tab* tab, ImVec2 size);
  void draw_graph(Tab& tab, ImVec2 size);
  void draw_queues(Tab* tab, ImVec2 size);
  void draw_compare(Tab& tab, ImVec2 size);
  void draw_chip(Tab& tab, ImVec2 size);
  void start_estimate(Tab& tab);
  Tab* compared();
  void draw_program(Tab& tab, ImVec2 size);
  int variant_of(const Tab& tab, const Tab& source) const;
  std::pair<Tab*, int> node_of_instruction(Tab& tab, const std::string& name);
  void draw_tabs(float width);
  void draw_run(Tab& tab, ImVec2 size);
  bool draw_compiling(Tab& tab);
  void choose_shapes(Tab& tab, const std::string& words);
  void draw_shapes(Tab& tab);
  void draw_status();
  void draw_palette();
  void draw_help();
  void handle_keys();
  std::vector<Command> commands();
  void set_theme(bool light);
  void set_horizontal(bool horizontal);
  void take_overlays(Tab& tab);
  void export_part(Tab& tab);
  void export_renamed(Tab& tab);
  void export_trace(Tab& tab);
  void ask_for_file(std::string input = {});
  void export_graph(Tab& tab);
  void finish_export();
  void export_data(Tab& tab, size_t row);
  void export_weight(const Tab& tab, const NamedTensor& weight);
  void show_message(std::string message,
                    bool is_error = false);  // shows a message in the status line
  void write_file(const std::filesystem::path& path, const std::string& text);
  std::vector<Table> shown_tables();
  void export_tables();
  void copy_tables();
  void sync_highlighted_anchor();
  void highlight_anchor(const std::string& anchor);
  std::string fused_prefix(const Tab& source) const;
  void take_profile(Tab& tab, std::shared_ptr<const ProgramProfile> profile);
  float anchor_width() const;
  void draw_anchor();
  void add_graph_commands(Tab& tab, std::vector<Command>& list);
  void toggle_recording();
  void mark_recording(Tab& tab, double time);
  void reload(Tab& tab);
  bool keys_free() const { return !palette_ && !help_ && !browser_.is_open(); }

  Settings settings_;
  Wake wake_;
  float scale_;
  std::vector<std::unique_ptr<Tab>> tabs_;
  size_t front_ = 0;
  View view_ = View::graph;
  int other_ = -1;      // index of the tab to compare with
  std::string anchor_;  // highlighted in every view; empty: none
  const Tab* profile_wanted_ = nullptr;
  const Tab* node_tab_ = nullptr;  // the tab whose selected node was followed last
  int tab_node_ = kNone;
  DiffView diff_;
  QueuesView queues_;
  std::unique_ptr<TelemetryWatcher> watcher_;
  FileBrowser browser_;
  Task<std::string> exporting_;  // its result is the message to show
  std::string input_wanted_;     // the input of the run view that a file is being chosen for
  std::filesystem::path recording_;
  std::string message_, palette_text_;
  bool message_is_error_ = false;
  // The tab and view that the message belongs to.
  std::pair<const Tab*, View> message_of_{nullptr, View::graph};
  const Tab* tab_in_sight_ = nullptr;
  bool palette_ = false, help_ = false, focus_search_ = false, focus_palette_ = false;
  size_t palette_row_ = 0;
  Actions actions_;
};

}  // namespace poprt::inspector
