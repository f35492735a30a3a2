// poprt_exec inspect: what the desktop inspector shows, as text or JSON.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "common/arguments.h"
#include "exec/commands.h"
#include "model/graph_svg.h"
#include "model/report.h"

namespace poprt::cli {
namespace {

using namespace poprt::inspector;

struct Settings {
  std::string file, other, view = "summary", filter, node, record, folder;
  int64_t most = 0;
  double seconds = 1;
  bool json = false, text = false, svg = false;
};

Document load(const std::string& path) {
  Progress progress;
  Document d = load_document(path, progress);
  if (!d.error.empty()) throw Failure(d.error);
  return d;
}

void print(const Settings& s, const std::vector<Table>& tables) {
  if (s.json) {
    fmt::print("{}\n", tables_json(tables));
    return;
  }
  for (const Table& t : tables) fmt::print("{}", table_text(t));
}

// The graph with all groups open.
std::string picture(const Document& d) {
  if (!d.graph) throw Usage("--svg is for graphs: give an .onnx or IR text");
  GraphLayout layout(d.graph);
  return graph_svg(*d.graph, *layout.scene(layout.all_groups()));
}

// Running processes: looks for a while, then prints what it saw.
int watch(const Settings& s) {
  TelemetryWatcher watcher(s.folder);
  if (!s.record.empty()) watcher.record(s.record);
  std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
  watcher.stop_recording();
  if (const std::string error = watcher.error(); !error.empty()) throw Failure(error);
  watcher.with_history([&](const TelemetryHistory& history) { print(s, {queues_table(history)}); });
  return 0;
}

int run(const Settings& s) {
  if (s.file.empty()) {
    if (s.view != "queues") throw Usage("give a FILE, or --view queues for running processes");
    return watch(s);
  }
  if (!s.record.empty()) throw Usage("--record is for running processes: leave out FILE");
  const Document d = load(s.file);
  if (s.svg) {
    fmt::print("{}", picture(d));
    return 0;
  }
  if (!s.other.empty()) {
    Progress progress;
    print(s, {diff_table(diff_documents(d, load(s.other), progress))});
    return 0;
  }
  std::optional<Compilation> compilation;
  const bool wants =
      s.view == "passes" || s.view == "program" || s.view == "memory" || s.view == "all";
  if (wants && d.ir && s.node.empty()) {
    std::string assumed;
    compilation = compile_with_history(*d.ir, options_for_looking(*d.ir, assumed));
    if (!assumed.empty() && !s.json) fmt::print("compiled for {}\n", assumed);
    if (!compilation->error.empty() && s.view != "all" && s.view != "passes")
      throw Failure(compilation->error);
  }
  ReportOptions options;
  options.filter = s.filter;
  options.node = s.node;
  if (s.most > 0) options.most = static_cast<size_t>(s.most);
  print(s, report(d, s.view, options, compilation ? &*compilation : nullptr));
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, std::function<int()>& action) {
  auto s = std::make_shared<Settings>();
  auto* c = app.add_subcommand("inspect", "Print what the desktop inspector shows of a file");
  c->add_option("FILE", s->file,
                ".onnx, .popef, IR text or a recording of telemetry; none with --view queues: "
                "running processes");
  c->add_option("--view", s->view,
                "summary, graph, operators, weights, passes, program, memory, anchors, blobs, "
                "metadata, data, opaque, queues, or all")
      ->capture_default_str();
  c->add_option("--filter", s->filter,
                "Only rows that hold it; of graphs a search such as 'op:Conv shape:1x64'");
  c->add_option("--node", s->node, "Details of the node, or of the maker of a value, of that name");
  c->add_option("--compare", s->other, "What this second file has different");
  c->add_option("--seconds", s->seconds, "How long to look at running processes; default 1")
      ->check(between(0.1, 86400.0));
  c->add_option("--record", s->record,
                "Write what running processes publish to this file, which opens like any other");
  c->add_option(
      "--folder", s->folder,
      "Where processes publish; default POPRT_TELEMETRY_DIR or the user's runtime folder");
  c->add_option("--most", s->most, "At most so many rows")->check(at_least<int64_t>(1));
  auto* json =
      c->add_flag("--json", s->json, "As JSON: an object with an array of rows for each table");
  c->add_flag("--text", s->text, "As text, which is the default")->excludes(json);
  c->add_flag("--svg", s->svg, "The graph as a picture");
  c->callback([s, &action] { action = [s] { return run(*s); }; });
}

}  // namespace poprt::cli
