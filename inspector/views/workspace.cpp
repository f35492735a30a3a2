#include "views/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "model/format.h"
#include "model/lost_pages.h"
#include "popef/export_npy.h"
#include "runtime/session/popef_file.h"
#include "views/png.h"
#include "views/raster.h"
#include "views/workspace_tab.h"

namespace poprt::inspector {

namespace {

std::string anchor_label(const std::string& anchor) {
  return fmt::format("anchor {}", shortened(printable(anchor), 24));
}

}  // namespace

const char* view_name(View view) {
  static constexpr const char* names[kViews] = {"graph", "popef",  "program", "passes",
                                                "run",   "queues", "compare"};
  return names[static_cast<size_t>(view)];
}

const char* view_title(View view) {
  static constexpr const char* titles[kViews] = {"Graph", "PopEF",  "Program", "Passes",
                                                 "Run",   "Queues", "Compare"};
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

void Workspace::say(std::string message, bool is_error) {
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
  auto tab = std::make_unique<Tab>(absolute, wake_);
  tab->loading = Task<Document>(
      [absolute](Progress& progress) { return load_document(absolute, progress); }, wake_);
  tabs_.push_back(std::move(tab));
  front_ = tabs_.size() - 1;
  settings_.add_recent(absolute.string());
  actions_.settings_changed = true;
}

// For an input of the run view, or to open it.
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
    say(fmt::format("{} is a value for an input: open the model first, then drop it again",
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
      if (d.graph) tab.graph.set_graph(d.graph);
      tab.popef.set_file(d.popef);
      tab.popef.select_anchor(anchor_);
      tab.program.show_anchor(anchor_);
      tab.queues.anchor = tab.graph.anchor = anchor_;
      tab.program.programs.clear();
      for (const NamedProgram& p : d.programs) tab.program.programs.push_back(p.name);
      tab.program.shown_program = 0;
      tab.program.set_program(d.program);
      tab.compilation = nullptr;
      tab.profile = nullptr;
      tab.compile_error.clear();
      if (&tab == front()) say(d.error, !d.error.empty());
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
      say(fmt::format("{}, {} {}", counted(made->runs, "run"), duration_text(made->run_ns),
                      made->branch_ns.empty() ? "each" : "for one of every branch"));
      take_profile(tab, std::make_shared<ProgramProfile>(std::move(*made)));
    } else {
      say(printable(tab.profiling.error()), true);
    }
    tab.profiling = {};
  }
  if (tab.compiling.started() && !tab.compiling.running()) {
    if (auto made = tab.compiling.take()) {
      tab.compilation = std::make_shared<Compilation>(std::move(*made));
      tab.passes.set_compilation(tab.compilation);
      if (tab.compilation->program) tab.program.set_program(program_model(*tab.compilation));
      tab.compile_error = tab.compilation->error;
    } else {
      tab.compile_error = tab.compiling.error();
    }
    tab.compiling = {};
  }
}

// The branch of a fused model that a document is the source of, by its file name: nodes of other
// branches may have the same names. -1: none, or any.
int Workspace::branch_of(const Tab& tab, const Tab& source) const {
  if (!tab.program.shown() || &tab == &source) return -1;
  const auto& parts = tab.program.shown()->parts();
  const std::string name = " " + printable(runtime::executable_name(source.path));
  for (size_t i = 0; i < parts.size(); i++)
    if (parts[i].is_branch() && parts[i].name == fmt::format("graph{}", i) + name)
      return static_cast<int>(i);
  return -1;
}

// Times of the program's instructions, and of the nodes of every graph that they come from: a
// compiled model has none of its own.
void Workspace::take_profile(Tab& tab, std::shared_ptr<const ProgramProfile> profile) {
  tab.profile = std::move(profile);
  tab.program.set_times(tab.profile->instructions);
  for (auto& other : tabs_) {
    if (!other->document || !other->document->graph || (other.get() != &tab && other->profile))
      continue;
    size_t first = 0, last = SIZE_MAX;
    if (const int branch = branch_of(tab, *other); branch >= 0) {
      first = tab.program.shown()->parts()[static_cast<size_t>(branch)].first;
      last = tab.program.shown()->parts()[static_cast<size_t>(branch)].last;
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
  compiler::Options options;
  try {
    options = options_for_looking(*tab.document->ir, tab.assumed, tab.shapes);
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

// Compiles anew for other shapes of inputs that leave dimensions open.
void Workspace::choose_shapes(Tab& tab, const std::string& words) {
  try {
    tab.shapes = read_shapes(words);
  } catch (const Error& e) {
    say(printable(e.what()), true);
    return;
  }
  tab.compiling = {};
  tab.compilation = nullptr;
  tab.profile = nullptr;
  tab.compile_error.clear();
  compile(tab);
}

// Of a model that leaves dimensions open: what they are, to be changed.
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
      [popef = tab.document->popef, compilation = tab.compilation,
       executable = tab.executable()](Progress& progress) {
        if (popef) return profile_program(popef->program(executable), kSeconds, progress);
        if (!compilation || !compilation->program)
          fail(ErrorCode::failed_precondition, "there is no program to run");
        return profile_program(program::load_in_memory(*compilation->program, compilation->weights),
                               kSeconds, progress);
      },
      wake_);
}

bool Workspace::busy() const {
  for (const auto& tab : tabs_)
    if (tab->loading.started() || tab->compiling.started() || tab->profiling.started() ||
        tab->graph.busy() || tab->passes.busy() || tab->details.busy() || tab->popef.busy() ||
        tab->run.busy())
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
    static constexpr const char* kGone = "the file is gone: this is what it held";
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
    light_up(name);
    const auto& anchors = tab->document->popef->anchors();
    return std::any_of(anchors.begin(), anchors.end(),
                       [&](const AnchorRow& a) { return a.name == name; });
  }
  if (view_ == View::program) return tab->program.select_node(name);
  if (view_ == View::compare) return diff_.select(name);
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
  else if (Tab* other = compared())
    diff_.measure(tab->compilation, other->compilation);
}

// The other document of the compare view: the one that was chosen, else any.
Workspace::Tab* Workspace::compared() {
  const auto fits = [&](int i) {
    return i >= 0 && static_cast<size_t>(i) < tabs_.size() && static_cast<size_t>(i) != front_ &&
           tabs_[static_cast<size_t>(i)]->document;
  };
  for (int i = 0; !fits(other_) && i < static_cast<int>(tabs_.size()); i++)
    if (fits(i)) other_ = i;
  return fits(other_) ? tabs_[static_cast<size_t>(other_)].get() : nullptr;
}

void Workspace::set_page(const std::string& page) {
  static constexpr const char* names[] = {"anchors", "data", "opaque", "metadata", "blobs"};
  for (size_t i = 0; i < std::size(names); i++)
    if (page == names[i] && front()) front()->popef.page = static_cast<PopefView::Page>(i);
  if (front()) front()->run.set_page(page);
}

void Workspace::set_shapes(const std::string& words) {
  if (front()) choose_shapes(*front(), words);
}

void Workspace::show_step(int step) {
  if (front()) front()->passes.show_step(step);
}

void Workspace::set_theme(bool light) {
  settings_.light = light;
  ui::set_theme(light ? ui::Theme::light : ui::Theme::dark, scale_);
  actions_.settings_changed = true;
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
    say(std::move(*made));
  } else {
    say(printable(exporting_.error()), true);
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
    say("wrote " + printable(path.string()));
  } catch (const Error& e) {
    say(printable(e.what()), true);
  }
}

// An anchor lights up everywhere, wherever it is selected: as a row of the PopEF view, a queue, an
// operand, or an input or output of a graph.
void Workspace::follow_anchor() {
  if (queues_.anchor != anchor_) return light_up(queues_.anchor);
  for (auto& tab : tabs_) {
    if (tab->popef.selected_anchor() != anchor_) return light_up(tab->popef.selected_anchor());
    if (tab->program.anchor != anchor_) return light_up(tab->program.anchor);
    if (tab->queues.anchor != anchor_) return light_up(tab->queues.anchor);
  }
  Tab* tab = front();
  const int node = tab && tab->document && tab->document->graph ? tab->graph.selected() : kNone;
  if (node == tab_node_ && tab == node_tab_) return;
  tab_node_ = node;
  node_tab_ = tab;
  if (node == kNone) return;
  const GraphNode& n = tab->document->graph->node(node);
  const std::string anchor = fused_prefix(*tab) + n.name;
  if (n.kind != NodeKind::op && n.group == kRoot && anchor != anchor_) light_up(anchor);
}

// What a fused file that is open puts in front of the anchors of this model: "graph1/"; empty: none
// was made from it.
std::string Workspace::fused_prefix(const Tab& source) const {
  for (const auto& tab : tabs_)
    if (const int branch = branch_of(*tab, source); branch >= 0)
      return fmt::format("graph{}/", branch);
  return {};
}

void Workspace::light_up(const std::string& fused) {
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
    say("wrote " + printable(path.string()));
  } catch (const Error& e) {
    say(printable(e.what()), true);
  }
}

void Workspace::write_file(const std::filesystem::path& path, const std::string& text) {
  try {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text.data(), text.size())));
    file.commit();
    say("wrote " + printable(path.string()));
  } catch (const Error& e) {
    say(printable(e.what()), true);
  }
}

// What the view in front shows, as poprt_exec inspect prints it.
std::vector<Table> Workspace::shown_tables() {
  Tab* tab = front();
  const Document* d = tab && tab->document ? tab->document.get() : nullptr;
  if (view_ == View::queues) {
    if (d && d->recording) return {queues_table(*d->recording)};
    std::vector<Table> tables;
    if (watcher_)
      watcher_->with_history([&](const TelemetryHistory& h) { tables = {queues_table(h)}; });
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
    say("this view shows nothing to export", true);
    return;
  }
  write_file(path, tables_json(tables) + "\n");
}

void Workspace::copy_tables() {
  std::string text;
  for (const Table& t : shown_tables()) text += table_tsv(t) + "\n";
  if (!text.empty()) ui::copy(text);
  if (text.empty()) say("this view shows nothing to copy", true);
}

void Workspace::toggle_recording() {
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (watcher_->recording()) {
    watcher_->stop_recording();
    settings_.add_recent(recording_.string());
    actions_.settings_changed = true;
    say(fmt::format("recorded {}: Ctrl+K and its name opens it", printable(recording_.string())));
    return;
  }
  try {
    std::error_code ignored;
    std::filesystem::path path;
    for (int i = 1; path.empty() || std::filesystem::exists(path, ignored); i++)
      path = std::filesystem::current_path(ignored) / fmt::format("recording-{}.telemetry", i);
    watcher_->record(path);
    recording_ = path;
    say("recording to " + printable(path.string()));
  } catch (const Error& e) {
    say(printable(e.what()), true);
  }
}

// A mark goes to the end of the file, from where it is read again.
void Workspace::mark_recording(Tab& tab, double time) {
  std::ifstream end(tab.path, std::ios::binary);
  if (end.seekg(-1, std::ios::end) && end.peek() != '\n') {
    say("the mark is not kept: the recording ends in the middle of a line", true);
    return;
  }
  std::ofstream file(tab.path, std::ios::app);
  file << mark_line({time, fmt::format("mark {}", tab.document->recording->marks().size() + 1)})
       << std::endl;
  if (!file) say(printable(tab.path.string()) + " cannot be written: the mark is not kept", true);
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
  follow_anchor();
  draw_status();
  ImGui::End();
  draw_help();
  draw_palette();
  if (const auto path = browser_.draw()) chosen(*path);
  return std::exchange(actions_, {});
}

// Titles become shorter until all have room; below a readable width they scroll.
void Workspace::draw_tabs(float width) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float extra =
      4 * style.FramePadding.x + ImGui::CalcTextSize("x").x + 1 + style.ItemSpacing.x;
  const float each = width / static_cast<float>(std::max<size_t>(1, tabs_.size())) - extra;
  std::vector<std::string> titles;
  float all = 0;
  for (const auto& tab : tabs_) {
    titles.push_back(shortened(printable(tab->path.filename().string()), 32));
    all += ImGui::CalcTextSize(titles.back().c_str()).x + extra;
  }
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild("tabs", {std::max(width, 1.0f), ImGui::GetFrameHeight()}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
    ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * 60 * ui::scale());
  for (size_t i = 0; i < tabs_.size(); i++) {
    if (i > 0) ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    const std::string title =
        all > width ? ui::fitted(titles[i], std::max(each, 60 * ui::scale())) : titles[i];
    if (ui::button(fmt::format("{}##tab", title).c_str(),
                   printable(tabs_[i]->path.string()).c_str(), i == front_))
      front_ = i;
    ui::mark("tab " + titles[i]);
    ImGui::SameLine(0, 1);
    const bool closed = ui::button("x", "Ctrl+W: close");
    if (i == front_ && tab_in_sight_ != front()) {
      ImGui::SetScrollHereX(1);
      tab_in_sight_ = front();
    }
    ImGui::PopID();
    if (closed) {
      close(i);
      break;
    }
  }
  ImGui::EndChild();
}

void Workspace::draw_top() {
  if (ui::button("Open",
                 "Ctrl+O: open an .onnx, .popef, IR text or recording; or drop it on the window"))
    ask_for_file();
  const float right = ImGui::CalcTextSize("Commands").x + ImGui::CalcTextSize("Light").x +
                      ImGui::CalcTextSize("Help").x + 6 * ImGui::GetStyle().FramePadding.x +
                      2 * ImGui::GetStyle().ItemSpacing.x;
  const float end = ImGui::GetWindowWidth() - right - ImGui::GetStyle().WindowPadding.x;
  ImGui::SameLine();
  draw_tabs(end - ImGui::GetCursorPosX() - ImGui::GetStyle().ItemSpacing.x);
  ImGui::SameLine(end);
  if (ui::button("Commands", "Ctrl+K: everything by name")) palette_ = focus_palette_ = true;
  ImGui::SameLine();
  if (ui::button(settings_.light ? "Dark" : "Light", "Ctrl+T")) set_theme(!settings_.light);
  ImGui::SameLine();
  if (ui::button("Help", "F1: shortcuts")) help_ = !help_;
}

void Workspace::draw_views() {
  for (int v = 0; v < kViews; v++) {
    const auto view = static_cast<View>(v);
    if (v > 0) ImGui::SameLine(0, 2);
    if (ui::button(view_title(view), fmt::format("Ctrl+{}", v + 1).c_str(), view_ == view))
      view_ = view;
  }
  Tab* tab = front();
  if (!tab || view_ != View::graph || !tab->document || !tab->document->graph) return;
  GraphView& g = tab->graph;
  // Search, four buttons and the space between them.
  if (ImGui::GetContentRegionAvail().x - ImGui::GetItemRectMax().x > 740 * ui::scale())
    ImGui::SameLine(0, 24 * ui::scale());
  draw_search(g);
  ImGui::SameLine();
  if (ui::button("Fit", "F")) g.fit();
  ImGui::SameLine();
  if (ui::button(fmt::format("Colour: {}", g.colour_name()).c_str(),
                 "C: by operator, type, weights, memory of results, time once profiled"))
    g.next_colour();
  if (g.graph() && g.graph()->groups().size() > 1) {
    ImGui::SameLine();
    if (ui::button("Open all", "E: all groups")) g.open_all(true);
    ImGui::SameLine();
    if (ui::button("Close all", "Shift+E")) g.open_all(false);
  }
}

// Typing finds and marks; Enter and N select.
void Workspace::draw_search(GraphView& g) {
  ImGui::PushID(&g);  // a field that is being edited keeps its text: no other document's
  if (focus_search_) {
    ImGui::SetKeyboardFocusHere();
    focus_search_ = false;
  }
  std::string text = g.search_text();
  const float found = ImGui::CalcTextSize("00000 found").x, style = ImGui::GetStyle().ItemSpacing.x;
  if (ui::field("search", "Search: name, op:Conv, out:1x*x56x56, dtype:f32", text,
                std::min(340 * ui::scale(), ImGui::GetContentRegionAvail().x * 0.4f),
                ImGuiInputTextFlags_AutoSelectAll))
    g.search(text);
  if (ImGui::IsItemFocused() && ui::pressed(ui::kEnter)) g.next_match(1);
  // As wide with and without, so that what stands beside it stays where it is.
  const float at = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x;
  ImGui::SameLine(0, 2);
  if (!text.empty()) {
    if (ui::button("x##search", "Clears the search")) g.search({});
    ui::mark("clear search");
  }
  ImGui::SameLine(at + ImGui::GetFrameHeight() + style);
  if (!text.empty()) ui::dim_text(fmt::format("{} found", g.matches().size()));
  ImGui::SameLine(at + ImGui::GetFrameHeight() + style + found);
  ImGui::Dummy({0, 0});
  ImGui::PopID();
}

float Workspace::anchor_width() const {
  if (anchor_.empty()) return 0;
  return ImGui::CalcTextSize(anchor_label(anchor_).c_str()).x + ImGui::CalcTextSize("x").x +
         4 * ImGui::GetStyle().FramePadding.x + 1;
}

// At the right of the status: which anchor is lit up, to go on with it in another view.
void Workspace::draw_anchor() {
  if (anchor_.empty()) return;
  ImGui::SameLine(ImGui::GetWindowWidth() - anchor_width() - ImGui::GetStyle().WindowPadding.x);
  ui::button(anchor_label(anchor_).c_str(),
             "Lit up in the graph, PopEF, the program and the queues", true);
  ImGui::SameLine(0, 1);
  ImGui::PushID("anchor");
  if (ui::button("x", "Let go of this anchor")) light_up({});
  ImGui::PopID();
}

void Workspace::draw_start(ImVec2 size) {
  ImGui::SetCursorPos({size.x * 0.5f - 230 * ui::scale(), size.y * 0.22f});
  ImGui::BeginGroup();
  ui::coloured_text(ui::colours().accent, "poprt inspector");
  ui::text("Open a model (.onnx), a compiled model (.popef), IR text, or a recording.");
  ui::dim_text("Drop a file on the window, press Ctrl+O, or choose a recent one:");
  for (const std::string& recent : settings_.recent) {
    if (ImGui::Selectable(shortened(printable(recent), 70).c_str(), false, 0,
                          {460 * ui::scale(), 0})) {
      open(recent);
      break;
    }
    ui::mark(recent);
  }
  ui::dim_text("Queues shows running processes without any file. F1 lists the shortcuts.");
  ImGui::EndGroup();
}

void Workspace::draw_view(Tab* tab, ImVec2 size) {
  if (view_ == View::queues) {
    draw_queues(tab, size);
    return;
  }
  if (tab->loading.started() && !tab->document) {
    const auto [done, what] = tab->loading.progress();
    ui::text(fmt::format("{}: {}", printable(tab->path.filename().string()), what));
    ImGui::ProgressBar(static_cast<float>(done), {320 * ui::scale(), 0});
    if (ui::button("Cancel")) close(front_);
    return;
  }
  if (!tab->document) return;
  if (!tab->document->error.empty()) {
    ui::coloured_text(ui::colours().bad,
                      fmt::format("{} could not be opened", tab->document->title()));
    ImGui::PushTextWrapPos(0);
    ui::text(tab->document->error);
    ImGui::PopTextWrapPos();
    return;
  }
  switch (view_) {
    case View::graph: draw_graph(*tab, size); break;
    case View::popef:
      tab->popef.draw(size);
      if (const int row = tab->popef.take_export(); row >= 0)
        export_data(*tab, static_cast<size_t>(row));
      break;
    case View::program: draw_program(*tab, size); break;
    case View::passes:
      if (!tab->document->graph)
        ui::dim_text("Passes are shown for models: open the .onnx or the IR text");
      else if (draw_compiling(*tab)) {
        tab->passes.draw({size.x, ImGui::GetContentRegionAvail().y}, keys_free());
        if (const auto weight = tab->passes.details().take_export()) export_weight(*tab, *weight);
      }
      break;
    case View::run:
      if (tab->document->popef || draw_compiling(*tab)) draw_run(*tab, size);
      break;
    case View::compare: draw_compare(*tab, size); break;
    case View::queues: break;
  }
}

// In its own graph, else in the first one that has it: a compiled model has none of its own.
std::pair<Workspace::Tab*, int> Workspace::node_of_instruction(Tab& tab, const std::string& name) {
  const auto in = [&](Tab& t) {
    return t.document && t.document->graph
               ? inspector::node_of_instruction(*t.document->graph, name)
               : kNone;
  };
  if (tab.document->graph) return {&tab, in(tab)};
  // The source of the branch that the instruction is in comes first.
  const int part = tab.program.selected_part();
  for (const bool source : {true, false})
    for (auto& other : tabs_) {
      if (source && (part < 0 || branch_of(tab, *other) != part)) continue;
      if (const int node = in(*other); node != kNone) return {other.get(), node};
    }
  return {nullptr, kNone};
}

void Workspace::draw_program(Tab& tab, ImVec2 size) {
  const Document& d = *tab.document;
  if (const auto at = static_cast<size_t>(tab.program.shown_program); at < d.programs.size())
    tab.choose_program(d.programs[at].program);
  if (!d.program && !d.ir) {
    ui::text("This file has no program that can be shown.");
    for (const std::string& problem : d.problems) ui::coloured_text(ui::colours().bad, problem);
    return;
  }
  if (!d.program && !draw_compiling(tab)) return;
  std::pair<Tab*, int> place{nullptr, kNone};
  if (const std::string node = tab.program.selected_node(); !node.empty())
    place = node_of_instruction(tab, node);
  tab.program.graph_problem = place.second != kNone ? ""
                              : d.graph ? "No node of the graph has this name: a pass made it"
                                        : "Open the model that this file was made from: no graph "
                                          "that is open has this node";
  tab.program.draw({size.x, ImGui::GetContentRegionAvail().y}, keys_free());
  if (tab.program.take_profile() || profile_wanted_ == &tab) profile(tab);
  profile_wanted_ = nullptr;
  if (tab.program.take_node().empty() || place.second == kNone) return;
  for (size_t i = 0; i < tabs_.size(); i++)
    if (tabs_[i].get() == place.first) front_ = i;
  view_ = View::graph;
  place.first->graph.select(place.second);
}

// False while there is nothing to show yet.
bool Workspace::draw_compiling(Tab& tab) {
  compile(tab);
  draw_shapes(tab);
  if (tab.compiling.started()) {
    const auto [done, what] = tab.compiling.progress();
    ui::text(fmt::format("Compiling: {}", what));
    ImGui::ProgressBar(static_cast<float>(done), {320 * ui::scale(), 0});
    if (ui::button("Cancel")) tab.compiling.cancel();
    return false;
  }
  // The passes view tells it beside the passes that ran.
  if (!tab.compile_error.empty() && (view_ != View::passes || !tab.compilation)) {
    ui::coloured_text(ui::colours().bad, "This model does not compile as it is:");
    ImGui::PushTextWrapPos(0);
    ui::text(tab.compile_error);
    ImGui::PopTextWrapPos();
    return false;
  }
  return tab.compilation != nullptr;
}

void Workspace::draw_graph(Tab& tab, ImVec2 size) {
  if (!tab.document->graph) {
    ui::dim_text(
        "A compiled model holds a program and no graph: see Program and PopEF, or open the model "
        "it was made from");
    for (const std::string& problem : tab.document->problems)
      ui::coloured_text(ui::colours().warn, problem);
    return;
  }
  const float details = ui::panel("details", 340, 160 * ui::scale(), size.x * 0.6f);
  tab.graph.draw("graph", {size.x - details - ImGui::GetStyle().ItemSpacing.x, size.y},
                 keys_free());
  ui::splitter("details", size.y, true);
  tab.details.draw(tab.graph, tab.compilation.get(), 0, {ImGui::GetContentRegionAvail().x, size.y});
  if (tab.details.take_compile()) compile(tab);
  if (const auto weight = tab.details.take_export()) export_weight(tab, *weight);
  if (const auto wanted = tab.details.take_step(); wanted.step >= 0) {
    view_ = View::passes;
    tab.passes.show_step(wanted.step);
    const auto& graph = tab.passes.graph().graph();
    if (const int n = graph ? graph->find(wanted.node) : kNone; n != kNone)
      tab.passes.graph().select(n);
  }
}

void Workspace::draw_queues(Tab* tab, ImVec2 size) {
  if (tab && tab->document && tab->document->recording) {
    tab->queues.draw(*tab->document->recording, false, size, keys_free());
    if (const double time = tab->queues.take_mark(); time >= 0) mark_recording(*tab, time);
    return;
  }
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (const std::string error = watcher_->error(); !error.empty())
    ui::coloured_text(ui::colours().bad, error);
  watcher_->with_history([&](const TelemetryHistory& history) {
    queues_.recording = watcher_->recording();
    queues_.draw(history, true, ImGui::GetContentRegionAvail(), keys_free());
  });
  if (const double time = queues_.take_mark(); time >= 0) watcher_->mark(time);
  if (queues_.take_record()) toggle_recording();
}

void Workspace::draw_run(Tab& tab, ImVec2 size) {
  if (!tab.document->popef && !tab.document->ir) {
    ui::dim_text("Only models run: open an .onnx, a .popef or IR text");
    return;
  }
  std::vector<RunView::Other> others;
  for (const auto& other : tabs_)
    if (other.get() != &tab && other->document && (other->document->popef || other->document->ir))
      others.push_back({other->document, other->compilation});
  const auto& programs = tab.document->programs;
  tab.run.set_model(
      tab.document, tab.compilation,
      programs.size() > 1 ? tab.document->popef->executable_name(tab.executable()) : "");
  tab.run.draw({size.x, ImGui::GetContentRegionAvail().y}, others, keys_free());
  if (std::string input = tab.run.take_browse(); !input.empty()) {
    ask_for_file(std::move(input));
  }
}

void Workspace::draw_compare(Tab& tab, ImVec2) {
  Tab* other = compared();
  ImGui::AlignTextToFramePadding();
  ui::dim_text("Compare with");
  for (size_t i = 0; i < tabs_.size(); i++) {
    if (i == front_ || !tabs_[i]->document) continue;
    ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    if (ui::button(fmt::format("{}##with", tabs_[i]->document->title()).c_str(), nullptr,
                   other_ == static_cast<int>(i)))
      other_ = static_cast<int>(i);
    ImGui::PopID();
  }
  diff_.set_documents(other ? tab.document : nullptr, other ? other->document : nullptr);
  if (other) {
    ImGui::SameLine();
    if (ui::button("Compile and time both",
                   "R: programs, memory, and the time of each instruction here, by turns") ||
        (keys_free() && ui::pressed('R')))
      diff_.measure(tab.compilation, other->compilation);
  }
  diff_.draw(ImGui::GetContentRegionAvail());
}

void Workspace::draw_status() {
  Tab* tab = front();
  std::string line;
  if (const std::string copied = ui::take_copied(); !copied.empty())
    say("copied " + shortened(printable(copied), 60));
  // A message belongs to what was in front when it came.
  if (message_of_ != std::pair<const Tab*, View>(tab, view_)) message_.clear();
  const float room = ImGui::GetContentRegionAvail().x - anchor_width() - 8 * ui::scale();
  const auto notice = [&](ImU32 colour, const std::string& text) {
    const std::string shown = ui::fitted(text, room * 0.6f, ui::Cut::end);
    ui::coloured_text(colour, shown);
    ui::mark(text);
    if (shown != text) ui::tooltip(text);
    ImGui::SameLine();
  };
  const float begin = ImGui::GetCursorPosX();
  if (!message_.empty())
    notice(message_is_error_ ? ui::colours().bad : ui::colours().good, message_);
  if (tab && !tab->stale.empty())
    notice(ui::colours().warn,
           tab->stale + (lost_pages() > 0 ? "; zeros stand for what was cut off it" : ""));
  if (tab && tab->document) {
    const Document& d = *tab->document;
    line = fmt::format("{} · {}", document_kind_name(d.kind), bytes_text(d.bytes));
    if (view_ == View::graph && d.graph) line += " · " + tab->graph.status();
    if (view_ == View::popef && d.popef) line += " · " + tab->popef.status();
    if (view_ == View::program) line += " · " + tab->program.status();
    if (view_ == View::passes) line += " · " + tab->passes.status();
    if (view_ == View::run) line += " · " + tab->run.status();
    if (view_ == View::compare) line += " · " + diff_.status();
    if ((view_ == View::program || view_ == View::passes || view_ == View::run) &&
        !tab->assumed.empty())
      line += " · compiled for " + tab->assumed;
    if (!d.problems.empty()) line += " · " + d.problems[0];
  }
  if (view_ == View::queues && watcher_ && !(tab && tab->document && tab->document->recording)) {
    watcher_->with_history(
        [&](const TelemetryHistory& history) { line = queues_.status(history); });
    if (watcher_->recording()) line += " · recording";
  }
  const std::string shown = ui::fitted(line, room - (ImGui::GetCursorPosX() - begin), ui::Cut::end);
  ui::dim_text(shown);
  ui::mark(line);
  if (shown != line) ui::tooltip(line);
  draw_anchor();
}

}  // namespace poprt::inspector
