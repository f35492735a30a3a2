#include "views/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "model/chrome_trace.h"
#include "model/format.h"
#include "model/rename.h"
#include "model/subgraph.h"
#include "onnx/export.h"
#include "popef/export_npy.h"
#include "runtime/session/popef_file.h"
#include "views/png.h"
#include "views/raster.h"
#include "views/workspace_tab.h"

namespace poprt::inspector {

const char* view_name(View view) {
  static constexpr const char* names[kViews] = {"graph", "popef",  "program", "passes",
                                                "run",   "queues", "compare", "chip"};
  return names[static_cast<size_t>(view)];
}

const char* view_title(View view) {
  static constexpr const char* titles[kViews] = {"Graph", "PopEF",  "Program", "Passes",
                                                 "Run",   "Queues", "Compare", "Chip"};
  return titles[static_cast<size_t>(view)];
}

Workspace::Workspace(Settings settings, Wake wake, float scale)
    : settings_(std::move(settings)), wake_(std::move(wake)), scale_(scale), diff_(wake_) {
  ui::set_theme(settings_.light ? ui::Theme::light : ui::Theme::dark, scale_);
  ui::panels() = settings_.panels;
}

Settings& Workspace::settings() {
  settings_.panels = ui::panels();
  return settings_;
}

Workspace::~Workspace() = default;

Workspace::Tab* Workspace::front() { return front_ < tabs_.size() ? tabs_[front_].get() : nullptr; }

std::shared_ptr<const Document> Workspace::document() const {
  return front_ < tabs_.size() ? tabs_[front_]->document : nullptr;
}

GraphView* Workspace::graph() { return front() ? &front()->graph : nullptr; }
RunView* Workspace::run_view() { return front() ? &front()->run : nullptr; }
ChipView* Workspace::chip_view() { return front() ? &front()->chip : nullptr; }

bool Workspace::has_input(const std::string& name) {
  Tab* const tab = front();
  if (!tab || !tab->document) return false;
  std::vector<program::Anchor> inputs;
  if (const auto& popef = tab->document->popef)
    inputs = popef->program(tab->executable()).program.inputs;
  else if (tab->compilation && tab->compilation->program)
    inputs = tab->compilation->program->inputs;
  return std::ranges::any_of(inputs, [&](const program::Anchor& a) { return a.name == name; });
}

void Workspace::show_message(std::string message, bool is_error) {
  message_ = std::move(message);
  message_is_error_ = is_error;
  message_of_ = {front(), view_};
}

void Workspace::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(path, ignored).lexically_normal();
  for (size_t i = 0; i < tabs_.size(); i++)
    if (tabs_[i]->path == absolute) {
      front_ = i;
      return;
    }
  if (Tab* tab = front();
      tab && is_overlay_file(absolute) && document_kind(absolute) != DocumentKind::recording) {
    tab->overlays.push_back(absolute);
    take_overlays(*tab);
    return;
  }
  auto tab = std::make_unique<Tab>(absolute, wake_);
  tab->loading = Task<Document>(
      [absolute](Progress& progress) { return load_document(absolute, progress); }, wake_);
  tabs_.push_back(std::move(tab));
  front_ = tabs_.size() - 1;
  settings_.add_recent(absolute.string());
  actions_.settings_changed = true;
}

// Lets the user choose a file for an input of the run view, or a document to open if `input` is
// empty.
void Workspace::ask_for_file(std::string input) {
  input_wanted_ = std::move(input);
  actions_.choose_file = true;
}

void Workspace::chosen(const std::filesystem::path& path) {
  const std::string input = std::exchange(input_wanted_, {});
  if (path.empty()) return;
  if (!input.empty() && front())
    front()->run.set_input(input, {InputKind::file, path, PixelRange::unit});
  else
    open(path);
}

void Workspace::dropped(const std::filesystem::path& path) {
  if (!is_input_file(path)) return open(path);
  Tab* tab = front();
  if (!tab || !tab->document || (!tab->document->popef && !tab->document->ir)) {
    show_message(fmt::format("{} is a value for an input: open the model first, then drop it again",
                             printable(path.filename().string())),
                 true);
    return;
  }
  view_ = View::run;
  tab->run.drop(path);
}

void Workspace::browse() {
  std::error_code ignored;
  const Tab* tab = front();
  const auto folder = !browser_.folder().empty() ? browser_.folder()
                      : tab                      ? tab->path.parent_path()
                                                 : std::filesystem::current_path(ignored);
  const bool models = input_wanted_.empty();
  browser_.open(folder, !models, models ? settings_.recent : std::vector<std::string>{});
}

void Workspace::close(size_t i) {
  if (i >= tabs_.size()) return;
  // Another tab may get the address of this one.
  const Tab* const closed = tabs_[i].get();
  if (message_of_.first == closed) message_.clear();
  for (const Tab** tab : {&profile_wanted_, &node_tab_, &message_of_.first, &tab_in_sight_})
    if (*tab == closed) *tab = nullptr;
  tabs_.erase(tabs_.begin() + static_cast<std::ptrdiff_t>(i));
  if (front_ > i || front_ >= tabs_.size()) front_ = front_ > 0 ? front_ - 1 : 0;
  other_ = -1;
  diff_.set_documents(nullptr, nullptr);
}

void Workspace::accept(Tab& tab) {
  if (tab.loading.started() && !tab.loading.running()) {
    if (auto made = tab.loading.take()) {
      const bool first = !tab.document;
      auto loaded = std::make_shared<Document>(std::move(*made));
      tab.loading = {};
      if (!first && tab.document->error.empty() && !loaded->error.empty()) {
        tab.stale = "the file has changed and cannot be read: " + loaded->error;
        tab.broken = std::move(loaded);
        return;
      }
      tab.broken = nullptr;
      tab.stale.clear();
      tab.document = std::move(loaded);
      const Document& d = *tab.document;
      tab.forget_results();
      tab.graph.set_graph(d.graph);
      tab.popef.set_file(d.popef);
      tab.popef.select_anchor(anchor_);
      tab.program.show_anchor(anchor_);
      tab.queues.anchor = tab.graph.anchor = anchor_;
      tab.program.programs.clear();
      for (const NamedProgram& p : d.programs) tab.program.programs.push_back(p.name);
      tab.program.shown_program = 0;
      tab.program.set_program(d.program);
      if (&tab == front()) show_message(d.error, !d.error.empty());
      take_overlays(tab);
      if (first && &tab == front()) {
        if (d.kind == DocumentKind::popef && (view_ == View::graph || view_ == View::passes))
          view_ = View::popef;
        if (d.kind == DocumentKind::recording) view_ = View::queues;
        if (d.graph && view_ == View::popef) view_ = View::graph;
      }
    }
    tab.loading = {};
  }
  if (tab.profiling.started() && !tab.profiling.running()) {
    if (auto made = tab.profiling.take()) {
      show_message(fmt::format("{}, {} {}", counted(made->runs, "run"), duration_text(made->run_ns),
                               made->variant_ns.empty() ? "each" : "for one of every variant"));
      take_profile(tab, std::make_shared<ProgramProfile>(std::move(*made)));
    } else {
      show_message(printable(tab.profiling.error()), true);
    }
    tab.profiling = {};
  }
  if (tab.compiling.started() && !tab.compiling.running()) {
    if (auto made = tab.compiling.take()) {
      tab.compilation = std::make_shared<Compilation>(std::move(*made));
      tab.passes.set_compilation(tab.compilation);
      if (tab.compilation->program) tab.program.set_program(program_model(*tab.compilation));
      tab.compile_error = error_with_assumed(tab.compilation->error, tab.assumed);
    } else {
      tab.compile_error = tab.compiling.error();
    }
    tab.compiling = {};
  }
}

// Returns the variant of a fused model whose source is the document, by its file name. Nodes of
// other variants may have the same names. -1: none, or any.
int Workspace::variant_of(const Tab& tab, const Tab& source) const {
  if (!tab.program.shown() || &tab == &source) return -1;
  const auto& parts = tab.program.shown()->parts();
  const std::string name = " " + printable(runtime::executable_name(source.path));
  for (size_t i = 0; i < parts.size(); i++)
    if (parts[i].is_variant() && parts[i].name == fmt::format("graph{}", i) + name)
      return static_cast<int>(i);
  return -1;
}

// Sets the times of the program's instructions and of the nodes of every open graph that it was
// compiled from, because a compiled model does not contain its graph.
void Workspace::take_profile(Tab& tab, std::shared_ptr<const ProgramProfile> profile) {
  tab.profile = std::move(profile);
  tab.program.set_times(tab.profile->instructions);
  for (auto& other : tabs_) {
    if (!other->document || !other->document->graph || (other.get() != &tab && other->profile))
      continue;
    size_t first = 0, last = SIZE_MAX;
    if (const int variant = variant_of(tab, *other); variant >= 0) {
      first = tab.program.shown()->parts()[static_cast<size_t>(variant)].first;
      last = tab.program.shown()->parts()[static_cast<size_t>(variant)].last;
    }
    auto times = node_times(*other->document->graph, *tab.profile, first, last);
    if (std::any_of(times.begin(), times.end(), [](double ns) { return ns > 0; }))
      other->graph.set_times(std::move(times));
  }
}

void Workspace::compile(Tab& tab) {
  if (!tab.document || !tab.document->ir || tab.compiling.started() || tab.compilation ||
      !tab.compile_error.empty())
    return;
  tab.assumed.clear();
  tab.open_shapes = shapes_text(*tab.document->ir, tab.shapes);
  compiler::DriverOptions options;
  try {
    options = options_for_inspection(*tab.document->ir, tab.assumed, tab.shapes);
    options.max_size = max_size;
  } catch (const Error& e) {
    tab.compile_error = e.what();
    return;
  }
  tab.compiling = Task<Compilation>(
      [ir = tab.document->ir, options = std::move(options)](Progress& progress) {
        return compile_with_history(
            *ir, options, &progress.cancel,
            [&](double done, std::string_view what) { progress.step(done, what); });
      },
      wake_);
}

// Compiles again for other shapes of inputs with variable dimensions.
void Workspace::choose_shapes(Tab& tab, const std::string& words) {
  try {
    tab.shapes = read_shapes(words);
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
    return;
  }
  tab.forget_results();
  tab.chip.refuse("");
  compile(tab);
}

// The estimate is of the shapes that the model is compiled for.
void Workspace::start_estimate(Tab& tab) {
  std::string assumed;
  tab.open_shapes = shapes_text(*tab.document->ir, tab.shapes);
  if (tab.chip.shows(tab.document->ir, tab.open_shapes)) return;
  try {
    auto options = options_for_inspection(*tab.document->ir, assumed, tab.shapes);
    options.max_size = max_size;
    tab.chip.set_model(tab.document->ir, std::move(options), tab.open_shapes);
    tab.assumed = assumed;
  } catch (const Error& e) {
    tab.chip.refuse(printable(e.what()));
  }
}

// Shows the shapes of inputs with variable dimensions and lets the user change them.
void Workspace::draw_shapes(Tab& tab) {
  if (tab.open_shapes.empty()) return;
  ImGui::AlignTextToFramePadding();
  ui::dim_text("Compiled for");
  ImGui::SameLine();
  std::string words = tab.open_shapes;
  if (ui::field("shapes", "NAME=1,3,224,224", words,
                std::min(520 * ui::scale(), ImGui::GetContentRegionAvail().x * 0.6f),
                ImGuiInputTextFlags_EnterReturnsTrue) &&
      words != tab.open_shapes)
    choose_shapes(tab, words);
  ImGui::SameLine();
  ui::fitted_dim_text("Enter compiles for other shapes");
}

void Workspace::profile(Tab& tab) {
  if (tab.profiling.started()) return;
  constexpr double kSeconds = 1;
  tab.profiling = Task<ProgramProfile>(
      [popef = tab.document->popef, compilation = tab.compilation, executable = tab.executable(),
       choices = tab.run.choices()](Progress& progress) {
        if (popef) return profile_program(popef->program(executable), kSeconds, progress, choices);
        if (!compilation || !compilation->program)
          fail(ErrorCode::failed_precondition, "there is no program to run");
        return profile_program(program::load_in_memory(*compilation->program, compilation->weights),
                               kSeconds, progress, choices);
      },
      wake_);
}

bool Workspace::busy() const {
  for (const auto& tab : tabs_)
    if (tab->loading.started() || tab->compiling.started() || tab->profiling.started() ||
        tab->graph.busy() || tab->passes.busy() || tab->details.busy() || tab->popef.busy() ||
        tab->run.busy() || tab->chip.busy())
      return true;
  return diff_.busy() || exporting_.started();
}

void Workspace::settle() {
  for (auto& tab : tabs_) {
    tab->loading.wait();
    accept(*tab);
    if (tab.get() == front() &&
        (view_ == View::program || view_ == View::passes || view_ == View::run))
      compile(*tab);
    tab->compiling.wait();
    accept(*tab);
    tab->profiling.wait();
    accept(*tab);
    tab->graph.settle();
    tab->passes.settle();
    tab->details.settle();
    tab->popef.settle();
    tab->run.settle();
    tab->chip.settle();
  }
  diff_.settle();
  exporting_.wait();
  finish_export();
}

bool Workspace::reload_changed() {
  bool any = false;
  for (auto& tab : tabs_) {
    if (!tab->document || tab->loading.started()) continue;
    std::error_code ignored;
    const bool gone = !std::filesystem::exists(tab->path, ignored);
    static constexpr const char* kGone = "the file is missing; these are its last contents";
    any |= gone != (tab->stale == kGone);
    if (gone)
      tab->stale = kGone;
    else if (tab->stale == kGone)
      tab->stale.clear();
    if (gone || !has_changed(tab->broken ? *tab->broken : *tab->document)) continue;
    reload(*tab);
    any = true;
  }
  return any;
}

void Workspace::reload(Tab& tab) {
  tab.loading = Task<Document>(
      [path = tab.path](Progress& progress) { return load_document(path, progress); }, wake_);
}

void Workspace::show(View view) { view_ = view; }

bool Workspace::select(const std::string& name) {
  Tab* tab = front();
  if (!tab || !tab->document) return false;
  if (view_ == View::popef && tab->document->popef) {
    highlight_anchor(name);
    const auto& anchors = tab->document->popef->anchors();
    return std::any_of(anchors.begin(), anchors.end(),
                       [&](const AnchorRow& a) { return a.name == name; });
  }
  if (view_ == View::program) return tab->program.select(name, tab->document->graph.get());
  if (view_ == View::compare) return diff_.select(name);
  if (view_ == View::chip) return tab->chip.select(name);
  GraphView& graph = view_ == View::passes ? tab->passes.graph() : tab->graph;
  const int node = graph.graph() ? graph.graph()->find(name) : kNone;
  if (node == kNone) return false;
  graph.select(node);
  return true;
}

void Workspace::start_profile() {
  Tab* tab = front();
  if (!tab) return;
  if (view_ != View::compare)
    profile_wanted_ = tab;
  else if (Tab* other = compared()) {
    const bool first = static_cast<size_t>(other_) < front_;
    diff_.measure((first ? other : tab)->compilation, (first ? tab : other)->compilation);
  }
}

// Returns the other document of the compare view: the chosen one, else one of the same kind, else
// any other.
Workspace::Tab* Workspace::compared() {
  const auto fits = [&](int i) {
    return i >= 0 && static_cast<size_t>(i) < tabs_.size() && static_cast<size_t>(i) != front_ &&
           tabs_[static_cast<size_t>(i)]->document;
  };
  const auto same_kind = [&](int i) {
    const auto& mine = tabs_[front_]->document;
    return mine && tabs_[static_cast<size_t>(i)]->document->kind == mine->kind;
  };
  for (const bool any : {false, true})
    for (int i = 0; !fits(other_) && i < static_cast<int>(tabs_.size()); i++)
      if (fits(i) && (any || same_kind(i))) other_ = i;
  return fits(other_) ? tabs_[static_cast<size_t>(other_)].get() : nullptr;
}

void Workspace::set_page(const std::string& page) {
  static constexpr const char* names[] = {"anchors", "data", "opaque", "metadata", "blobs"};
  for (size_t i = 0; i < std::size(names); i++)
    if (page == names[i] && front()) front()->popef.page = static_cast<PopefView::Page>(i);
  if (front()) front()->run.set_page(page);
  if (front()) front()->chip.set_page(page);
}

void Workspace::set_shapes(const std::string& words) {
  if (front()) choose_shapes(*front(), words);
}

std::string Workspace::error() {
  Tab* const tab = front();
  if (tab && tab->document && !tab->document->error.empty()) return tab->document->error;
  if (tab && tab->document && !tab->document->damage.empty()) return tab->document->damage;
  for (const auto& other : tabs_)
    if (other->document && !other->document->error.empty()) return other->document->error;
  const bool compiled = view_ == View::program || view_ == View::passes || view_ == View::run;
  if (tab && compiled && !tab->compile_error.empty()) return tab->compile_error;
  if (tab && view_ == View::run && !tab->run.error().empty()) return tab->run.error();
  if (tab && view_ == View::run && !tab->run.class_error().empty()) return tab->run.class_error();
  if (tab && view_ == View::chip && !tab->chip.error().empty()) return tab->chip.error();
  if (tab && view_ == View::chip && tab->document && !tab->document->ir) return kNoGraphOfChip;
  if (tab && view_ == View::passes && tab->document && !tab->document->graph)
    return kNoGraphOfPasses;
  if (tab && view_ == View::graph && tab->document && !tab->document->graph)
    return tab->document->recording ? kNoGraphOfRecording : kNoGraphOfPopef;
  if (tab && !tab->overlay_error.empty()) return tab->overlay_error;
  return message_is_error_ ? message_ : "";
}

bool Workspace::show_pass(int row) { return front() && front()->passes.show_row(row); }

void Workspace::set_theme(bool light) {
  settings_.light = light;
  ui::set_theme(light ? ui::Theme::light : ui::Theme::dark, scale_);
  actions_.settings_changed = true;
}

void Workspace::set_horizontal(bool horizontal) {
  settings_.horizontal = horizontal;
  actions_.settings_changed = true;
}

// Colours the graph by the values of the last of the files that were opened after it. An error
// stays until another file is read, because the next view replaces the message of the status line.
void Workspace::take_overlays(Tab& tab) {
  if (!tab.document) return;
  for (const auto& path : std::exchange(tab.overlays, {})) {
    try {
      if (!tab.document->graph)
        fail(ErrorCode::invalid_argument, "{} has values of nodes, but this file has no graph",
             printable(path.string()));
      auto overlay = std::make_shared<Overlay>(read_overlay(path, *tab.document->graph));
      view_ = View::graph;
      std::string text = fmt::format("{}: {}", overlay->name, counted(overlay->count(), "node"));
      if (overlay->nans > 0) text += fmt::format(", {} without a number", overlay->nans);
      if (!overlay->shared.empty())
        text +=
            fmt::format(", {} of several nodes such as '{}'",
                        counted(overlay->shared.size(), "name"), shortened(overlay->shared[0], 40));
      if (!overlay->unknown.empty())
        text += fmt::format(", {} unknown such as '{}'", counted(overlay->unknown.size(), "name"),
                            shortened(overlay->unknown[0], 40));
      tab.graph.set_overlay(std::move(overlay));
      tab.overlay_error.clear();
      show_message(text);
    } catch (const Error& e) {
      tab.overlay_error = printable(e.what());
      show_message(tab.overlay_error, true);
    }
  }
}

void Workspace::export_part(Tab& tab) {
  if (!tab.document || !tab.document->ir) return;
  // A part is chosen by hand, so an earlier one is not replaced.
  auto path = tab.path;
  path += ".part.onnx";
  for (int n = 2; std::filesystem::exists(path); n++) {
    path = tab.path;
    path += fmt::format(".part{}.onnx", n);
  }
  try {
    const auto nodes = tab.graph.part();
    const auto part =
        cut_subgraph(*tab.document->ir, results_of_nodes(*tab.document->graph, nodes));
    onnx::export_file(*part, path, {.sources = {tab.path}});
    show_message(
        fmt::format("wrote {}: {}", printable(path.string()), counted(part->node_count(), "node")));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

void Workspace::export_renamed(Tab& tab) {
  if (!tab.document || !tab.document->ir) return;
  auto path = tab.path;
  path += ".renamed.onnx";
  try {
    const Renames& names = tab.details.renames();
    onnx::export_file(*renamed(*tab.document->ir, names), path, {.sources = {tab.path}});
    show_message(
        fmt::format("wrote {}: {}", printable(path.string()), counted(names.count(), "new name")));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

void Workspace::export_trace(Tab& tab) {
  auto path = tab.path;
  path += ".trace.json";
  if (view_ == View::queues && tab.document && tab.document->recording)
    write_file(path, chrome_trace(*tab.document->recording));
  else if (view_ == View::queues && watcher_)
    watcher_->with_history(
        [&](const TelemetryHistory& history) { write_file(path, chrome_trace(history)); });
  else if (tab.profile && tab.program.shown())
    write_file(path, chrome_trace(*tab.program.shown(), *tab.profile, tab.document->title()));
  else
    show_message("profile the program first (R in the program view)", true);
}

void Workspace::export_graph(Tab& tab) {
  const std::string svg = tab.graph.svg();
  if (svg.empty()) return;
  auto path = tab.path;
  path += ".svg";
  write_file(path, svg);
}

bool Workspace::export_picture(std::filesystem::path path) {
  Tab* tab = front();
  if (!tab || exporting_.started()) return false;
  const auto drawing = tab->graph.drawing(ui::scale());
  if (!drawing) return false;
  if (path.empty()) (path = tab->path) += ".png";
  unsigned char* bytes = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsAlpha8(&bytes, &width, &height);
  auto font = std::make_shared<FontPicture>();
  font->width = width;
  font->height = height;
  font->alpha.assign(bytes, bytes + static_cast<size_t>(width) * static_cast<size_t>(height));
  exporting_ = Task<std::string>(
      [drawing, path, font = std::shared_ptr<const FontPicture>(font)](Progress& progress) {
        progress.step(0, "drawing");
        write_png(path, drawing->width, drawing->height,
                  rasterised(*drawing, *font, progress.cancel));
        return "wrote " + printable(path.string());
      },
      wake_);
  return true;
}

void Workspace::finish_export() {
  if (!exporting_.started() || exporting_.running()) return;
  if (auto made = exporting_.take()) {
    show_message(std::move(*made));
  } else {
    show_message(printable(exporting_.error()), true);
  }
  exporting_ = {};
}

void Workspace::export_data(Tab& tab, size_t row) {
  const DataRow& d = tab.document->popef->data()[row];
  std::string name = d.name;
  std::replace(name.begin(), name.end(), '/', '_');
  const auto path = tab.path.parent_path() / (name + ".npy");
  try {
    (d.is_feed ? popef::export_feed : popef::export_tensor)(tab.path.string(), d.name, d.executable,
                                                            path.string());
    show_message("wrote " + printable(path.string()));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

// Highlights an anchor in every view if it is selected in one: as a row of the PopEF view, a queue,
// an operand, or an input or output of a graph.
void Workspace::sync_highlighted_anchor() {
  if (queues_.anchor != anchor_) return highlight_anchor(queues_.anchor);
  for (auto& tab : tabs_) {
    if (tab->popef.selected_anchor() != anchor_)
      return highlight_anchor(tab->popef.selected_anchor());
    if (tab->program.anchor != anchor_) return highlight_anchor(tab->program.anchor);
    if (tab->queues.anchor != anchor_) return highlight_anchor(tab->queues.anchor);
  }
  Tab* tab = front();
  const int node = tab && tab->document && tab->document->graph ? tab->graph.selected() : kNone;
  if (node == tab_node_ && tab == node_tab_) return;
  tab_node_ = node;
  node_tab_ = tab;
  if (node == kNone) return;
  const GraphNode& n = tab->document->graph->node(node);
  const std::string anchor = fused_prefix(*tab) + n.name;
  if (n.kind != NodeKind::op && n.group == kRoot && anchor != anchor_) highlight_anchor(anchor);
}

// Returns the prefix, such as "graph1/", that an open fused file adds to the anchors of this model.
// Empty if no open file was made from it.
std::string Workspace::fused_prefix(const Tab& source) const {
  for (const auto& tab : tabs_)
    if (const int variant = variant_of(*tab, source); variant >= 0)
      return fmt::format("graph{}/", variant);
  return {};
}

void Workspace::highlight_anchor(const std::string& fused) {
  anchor_ = fused;
  queues_.anchor = fused;
  for (auto& tab : tabs_) {
    tab->popef.select_anchor(fused);
    tab->program.show_anchor(fused);
    tab->queues.anchor = fused;
    tab->graph.anchor = fused;
    if (fused.empty() || !tab->document || !tab->document->graph) continue;
    const std::string prefix = fused_prefix(*tab);
    const std::string anchor = fused.starts_with(prefix) ? fused.substr(prefix.size()) : fused;
    tab->graph.anchor = anchor;
    const GraphModel& g = *tab->document->graph;
    for (const bool output : {true, false})
      for (size_t i = 0; i < g.nodes().size(); i++) {
        const GraphNode& n = g.nodes()[i];
        if (n.kind != (output ? NodeKind::output : NodeKind::input) || n.name != anchor) continue;
        if (tab->graph.selected() != static_cast<int>(i)) tab->graph.select(static_cast<int>(i));
        if (tab.get() == front()) tab_node_ = static_cast<int>(i), node_tab_ = tab.get();
      }
  }
}

void Workspace::export_weight(const Tab& tab, const NamedTensor& weight) {
  std::string name = weight.name;
  std::replace(name.begin(), name.end(), '/', '_');
  const auto path = tab.path.parent_path() / (name + ".npy");
  try {
    save_npy(path, weight.tensor);
    show_message("wrote " + printable(path.string()));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

void Workspace::write_file(const std::filesystem::path& path, const std::string& text) {
  try {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text.data(), text.size())));
    file.commit();
    show_message("wrote " + printable(path.string()));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

// Returns the contents of the front view, as poprt_exec inspect prints them.
std::vector<Table> Workspace::shown_tables() {
  Tab* tab = front();
  const Document* d = tab && tab->document ? tab->document.get() : nullptr;
  if (view_ == View::queues) {
    if (d && d->recording) return queues_tables(*d->recording);
    std::vector<Table> tables;
    if (watcher_)
      watcher_->with_history([&](const TelemetryHistory& h) { tables = queues_tables(h); });
    return tables;
  }
  if (!d || !d->error.empty()) return {};
  ReportOptions options;
  options.profile = tab->profile.get();
  options.executable = tab->executable();
  const auto of = [&](std::initializer_list<const char*> views) {
    const auto known = views_of(*d);
    std::vector<Table> tables;
    for (const char* view : views)
      if (std::find(known.begin(), known.end(), view) != known.end())
        for (Table& t : report(*d, view, options, tab->compilation.get()))
          tables.push_back(std::move(t));
    return tables;
  };
  switch (view_) {
    case View::graph:
      if (tab->graph.selected() != kNone) {
        options.node = d->graph->node(tab->graph.selected()).name;
        return report(*d, "graph", options, tab->compilation.get());
      }
      return of({"summary", "operators", "graph"});
    case View::popef: return of({"summary", "anchors", "blobs", "metadata", "opaque"});
    case View::program: return of({"program", "parts", "memory"});
    case View::passes: return of({"passes"});
    case View::run: return tab->run.tables();
    case View::compare:
      return diff_.diff() ? std::vector<Table>{diff_table(*diff_.diff())} : std::vector<Table>{};
    case View::chip: return tab->chip.tables();
    case View::queues: break;
  }
  return {};
}

void Workspace::export_tables() {
  const auto tables = shown_tables();
  std::error_code ignored;
  std::filesystem::path path =
      front() ? front()->path : std::filesystem::current_path(ignored) / "queues";
  path += std::string(".") + view_name(view_) + ".json";
  if (tables.empty()) {
    show_message("this view shows nothing to export", true);
    return;
  }
  write_file(path, tables_json(tables) + "\n");
}

void Workspace::copy_tables() {
  std::string text;
  for (const Table& t : shown_tables()) text += table_tsv(t) + "\n";
  if (!text.empty()) ui::copy(text);
  if (text.empty()) show_message("this view shows nothing to copy", true);
}

void Workspace::toggle_recording() {
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (watcher_->recording()) {
    watcher_->stop_recording();
    settings_.add_recent(recording_.string());
    actions_.settings_changed = true;
    show_message(
        fmt::format("recorded {}; Ctrl+K and its name opens it", printable(recording_.string())));
    return;
  }
  try {
    std::error_code ignored;
    std::filesystem::path path;
    for (int i = 1; path.empty() || std::filesystem::exists(path, ignored); i++)
      path = std::filesystem::current_path(ignored) / fmt::format("recording-{}.telemetry", i);
    watcher_->record(path);
    recording_ = path;
    show_message("recording to " + printable(path.string()));
  } catch (const Error& e) {
    show_message(printable(e.what()), true);
  }
}

// Appends a mark to the file, from which it is read again.
void Workspace::mark_recording(Tab& tab, double time) {
  std::ifstream end(tab.path, std::ios::binary);
  if (end.seekg(-1, std::ios::end) && end.peek() != '\n') {
    show_message("the mark is not stored, because the recording ends in the middle of a line",
                 true);
    return;
  }
  std::ofstream file(tab.path, std::ios::app);
  file << mark_line({time, fmt::format("mark {}", tab.document->recording->marks().size() + 1)})
       << std::endl;
  if (!file)
    show_message(printable(tab.path.string()) + " cannot be written, so the mark is not stored",
                 true);
  if (file) reload(tab);
}

Actions Workspace::draw(ImVec2 size) {
  ui::marks().clear();
  for (auto& tab : tabs_) accept(*tab);
  finish_export();
  handle_keys();
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("workspace", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar(2);
  draw_top();
  draw_views();
  const float status = ImGui::GetFrameHeight();
  const ImVec2 room = {ImGui::GetContentRegionAvail().x,
                       ImGui::GetContentRegionAvail().y - status - 4 * ui::scale()};
  Tab* tab = front();
  ImGui::BeginChild("view", room, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                        ImGuiWindowFlags_NoBackground);
  if (!tab && view_ != View::queues)
    draw_start(room);
  else
    draw_view(tab, room);
  ImGui::EndChild();
  sync_highlighted_anchor();
  draw_status();
  ImGui::End();
  draw_help();
  draw_palette();
  if (const auto path = browser_.draw()) chosen(*path);
  return std::exchange(actions_, {});
}

}  // namespace poprt::inspector
