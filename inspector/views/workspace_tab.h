// What the workspace keeps for one document.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "views/workspace.h"

namespace poprt::inspector {

struct Workspace::Tab {
  Tab(std::filesystem::path p, const Wake& wake)
      : path(std::move(p)), graph(wake), popef(wake), passes(wake), details(wake), run(wake) {}

  // In the file, of the program that is shown.
  size_t executable() const {
    const auto at = static_cast<size_t>(program.shown_program);
    return document && at < document->programs.size() ? document->programs[at].executable : 0;
  }
  // One of several in the file; times are those of one program.
  void choose_program(const std::shared_ptr<const ProgramModel>& chosen) {
    if (chosen == program.shown()) return;
    profile = nullptr;
    profiling = {};
    program.set_program(chosen);
  }

  std::filesystem::path path;
  Task<Document> loading;
  std::shared_ptr<const Document> document;  // null until it is loaded
  // What came of the last reload when it failed: the document is the one before it.
  std::shared_ptr<const Document> broken;
  std::string stale;  // why what is shown is not what the file holds; empty: it is
  Task<Compilation> compiling;
  std::shared_ptr<const Compilation> compilation;
  Task<ProgramProfile> profiling;
  std::shared_ptr<const ProgramProfile> profile;  // null until it was measured
  std::string compile_error, assumed;  // shapes that were taken because the model leaves them open
  ChosenShapes shapes;                 // those that somebody chose
  std::string open_shapes;  // of inputs that leave dimensions open, as a field shows them
  GraphView graph;
  PopefView popef;
  ProgramView program;
  PassesView passes;
  DetailsPanel details;
  RunView run;
  QueuesView queues;  // of a recording
};

}  // namespace poprt::inspector
