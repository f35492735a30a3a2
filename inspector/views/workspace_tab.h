// The state of one document in the workspace.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "views/workspace.h"

namespace poprt::inspector {

struct Workspace::Tab {
  Tab(std::filesystem::path p, const Wake& wake)
      : path(std::move(p)),
        graph(wake),
        popef(wake),
        passes(wake),
        details(wake),
        run(wake),
        chip(wake) {}

  // The index in the file of the shown program.
  size_t executable() const {
    const auto at = static_cast<size_t>(program.shown_program);
    return document && at < document->programs.size() ? document->programs[at].executable : 0;
  }
  // Selects one of several programs in the file. Times belong to one program, so they are cleared.
  void choose_program(const std::shared_ptr<const ProgramModel>& chosen) {
    if (chosen == program.shown()) return;
    profile = nullptr;
    profiling = {};
    program.set_program(chosen);
  }
  // Ends and discards everything that was made from the document or for the chosen shapes. Work
  // that still runs would otherwise end as a result of the next document.
  void forget_results() {
    compiling = {};
    compilation = nullptr;
    passes.set_compilation(nullptr);
    compile_error.clear();
    assumed.clear();
    if (profile) graph.set_times({});
    profile = nullptr;
    profiling = {};
  }

  std::filesystem::path path;
  Task<Document> loading;
  std::shared_ptr<const Document> document;  // null until it is loaded
  // The result of the last reload if it failed. `document` is then the previous one.
  std::shared_ptr<const Document> broken;
  std::string stale;  // why the shown document differs from the file; empty if it does not
  Task<Compilation> compiling;
  std::shared_ptr<const Compilation> compilation;
  Task<ProgramProfile> profiling;
  std::shared_ptr<const ProgramProfile> profile;  // null until measured
  std::string compile_error, assumed;             // `assumed`: shapes used for variable dimensions
  ChosenShapes shapes;                            // chosen by the user
  std::string open_shapes;    // of inputs with variable dimensions, as shown in a field
  std::string overlay_error;  // of the last file of `overlays`
  std::vector<std::filesystem::path> overlays;  // files to read once the graph is loaded
  GraphView graph;
  PopefView popef;
  ProgramView program;
  PassesView passes;
  DetailsPanel details;
  RunView run;
  ChipView chip;
  QueuesView queues;  // for a recording
};

}  // namespace poprt::inspector
