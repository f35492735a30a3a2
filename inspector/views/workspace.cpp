#include "views/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "model/format.h"
#include "popef/export_npy.h"
#include "views/png.h"
#include "views/raster.h"

namespace poprt::inspector {

struct Workspace::Tab {
  Tab(std::filesystem::path p, const Wake& wake)
      : path(std::move(p)), graph(wake), popef(wake), passes(wake), details(wake), run(wake) {}

  std::filesystem::path path;
  Task<Document> loading;
  std::shared_ptr<const Document> document;  // null until it is loaded
  Task<Compilation> compiling;
  std::shared_ptr<const Compilation> compilation;
  Task<ProgramProfile> profiling;
  std::string compile_error, assumed;  // shapes that were taken because the model leaves them open
  GraphView graph;
  PopefView popef;
  ProgramView program;
  PassesView passes;
  DetailsPanel details;
  RunView run;
  QueuesView queues;  // of a recording
};

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
}

Workspace::~Workspace() = default;

Workspace::Tab* Workspace::front() { return front_ < tabs_.size() ? tabs_[front_].get() : nullptr; }

std::shared_ptr<const Document> Workspace::document() const {
  return front_ < tabs_.size() ? tabs_[front_]->document : nullptr;
}

GraphView* Workspace::graph() { return front() ? &front()->graph : nullptr; }
RunView* Workspace::run_view() { return front() ? &front()->run : nullptr; }

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
  static constexpr const char* endings[] = {".npy", ".png",  ".jpg",  ".jpeg", ".bmp",
                                            ".tif", ".tiff", ".webp", ".ppm",  ".pgm"};
  const bool value = std::find(std::begin(endings), std::end(endings), path.extension().string()) !=
                     std::end(endings);
  if (view_ == View::run && front() && value) {
    if (const std::string input = front()->run.input_for(path); !input.empty())
      front()->run.set_input(input, {InputKind::file, path, PixelRange::unit});
    return;
  }
  open(path);
}

void Workspace::browse() {
  std::error_code ignored;
  const Tab* tab = front();
  browser_.open(tab ? tab->path.parent_path() : std::filesystem::current_path(ignored),
                !input_wanted_.empty());
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
      tab.document = std::make_shared<Document>(std::move(*made));
      const Document& d = *tab.document;
      if (d.graph) tab.graph.set_graph(d.graph);
      tab.popef.set_file(d.popef);
      tab.program.set_program(d.program);
      tab.compilation = nullptr;
      tab.compile_error.clear();
      message_ = d.error;
      message_is_error_ = !d.error.empty();
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
      message_ = fmt::format("{} runs, {} each", made->runs, duration_text(made->run_ns));
      message_is_error_ = false;
      if (tab.document->graph) tab.graph.set_heat(heat_of(*tab.document->graph, *made));
      tab.program.set_times(std::move(made->instructions));
    } else {
      message_ = printable(tab.profiling.error());
      message_is_error_ = true;
    }
    tab.profiling = {};
  }
  if (tab.compiling.started() && !tab.compiling.running()) {
    if (auto made = tab.compiling.take()) {
      tab.compilation = std::make_shared<Compilation>(std::move(*made));
      tab.passes.set_compilation(tab.compilation);
      if (tab.compilation->program)
        tab.program.set_program(std::make_shared<ProgramModel>(*tab.compilation->program));
      tab.compile_error = tab.compilation->error;
    } else {
      tab.compile_error = tab.compiling.error();
    }
    tab.compiling = {};
  }
}

void Workspace::compile(Tab& tab) {
  if (!tab.document || !tab.document->ir || tab.compiling.started() || tab.compilation ||
      !tab.compile_error.empty())
    return;
  tab.assumed.clear();
  tab.compiling = Task<Compilation>(
      [ir = tab.document->ir,
       options = options_for_looking(*tab.document->ir, tab.assumed)](Progress& progress) {
        return compile_with_history(
            *ir, options, &progress.cancel,
            [&](double done, std::string_view what) { progress.step(done, what); });
      },
      wake_);
}

void Workspace::profile(Tab& tab) {
  if (tab.profiling.started()) return;
  constexpr double kSeconds = 1;
  tab.profiling = Task<ProgramProfile>(
      [popef = tab.document->popef, compilation = tab.compilation](Progress& progress) {
        if (popef) return profile_program(popef->program(), kSeconds, progress);
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
        tab->graph.busy() || tab->passes.graph().busy() || tab->details.busy() ||
        tab->popef.busy() || tab->run.busy())
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
    tab->passes.graph().settle();
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
    std::error_code ignored;
    if (!tab->document || tab->loading.started() || !has_changed(*tab->document) ||
        !std::filesystem::exists(tab->path, ignored))
      continue;
    tab->loading = Task<Document>(
        [path = tab->path](Progress& progress) { return load_document(path, progress); }, wake_);
    any = true;
  }
  return any;
}

void Workspace::show(View view) { view_ = view; }

bool Workspace::select(const std::string& name) {
  Tab* tab = front();
  if (!tab || !tab->document) return false;
  if (view_ == View::popef && tab->document->popef) {
    tab->popef.select_anchor(name);
    follow_anchor(*tab);
    const auto& anchors = tab->document->popef->anchors();
    return std::any_of(anchors.begin(), anchors.end(),
                       [&](const AnchorRow& a) { return a.name == name; });
  }
  const int node = tab->document->graph ? tab->document->graph->find(name) : kNone;
  if (node == kNone) return false;
  tab->graph.select(node);
  return true;
}

void Workspace::set_page(const std::string& page) {
  static constexpr const char* names[] = {"anchors", "data", "opaque", "metadata", "blobs"};
  for (size_t i = 0; i < std::size(names); i++)
    if (page == names[i] && front()) front()->popef.page = static_cast<PopefView::Page>(i);
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
  try {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(svg.data(), svg.size())));
    file.commit();
    message_ = "wrote " + printable(path.string());
    message_is_error_ = false;
  } catch (const Error& e) {
    message_ = printable(e.what());
    message_is_error_ = true;
  }
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
    message_ = std::move(*made);
    message_is_error_ = false;
  } else {
    message_ = printable(exporting_.error());
    message_is_error_ = true;
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
    message_ = "wrote " + printable(path.string());
    message_is_error_ = false;
  } catch (const Error& e) {
    message_ = printable(e.what());
    message_is_error_ = true;
  }
}

// An anchor that is selected lights up everywhere.
void Workspace::follow_anchor(Tab& tab) {
  const std::string& anchor = tab.popef.selected_anchor();
  tab.program.anchor = anchor;
  queues_.anchor = anchor;
  if (anchor.empty()) return;
  for (auto& other : tabs_)
    if (other->document && other->document->graph)
      if (const int node = other->document->graph->find(anchor);
          node != kNone && other->graph.selected() != node)
        other->graph.select(node);
}

void Workspace::toggle_recording() {
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (watcher_->recording()) {
    watcher_->stop_recording();
    message_ = "recording ended";
    message_is_error_ = false;
    return;
  }
  try {
    std::error_code ignored;
    std::filesystem::path path;
    for (int i = 1; path.empty() || std::filesystem::exists(path, ignored); i++)
      path = std::filesystem::current_path(ignored) / fmt::format("recording-{}.telemetry", i);
    watcher_->record(path);
    message_ = "recording to " + printable(path.string());
    message_is_error_ = false;
  } catch (const Error& e) {
    message_ = printable(e.what());
    message_is_error_ = true;
  }
}

std::vector<Workspace::Command> Workspace::commands() {
  std::vector<Command> list = {
      {"Open a file", "Ctrl+O", [this] { ask_for_file(); }},
      {"Close this document", "Ctrl+W", [this] { close(front_); }},
      {"Next document", "Ctrl+Tab",
       [this] { front_ = tabs_.empty() ? 0 : (front_ + 1) % tabs_.size(); }},
      {"Dark or light", "Ctrl+T", [this] { set_theme(!settings_.light); }},
      {"Help and shortcuts", "F1", [this] { help_ = true; }},
      {"Quit", "Ctrl+Q", [this] { actions_.quit = true; }}};
  for (int v = 0; v < kViews; v++)
    list.push_back({fmt::format("Show {}", view_title(static_cast<View>(v))),
                    fmt::format("Ctrl+{}", v + 1), [this, v] { view_ = static_cast<View>(v); }});
  list.push_back({"Record telemetry to a file, or end it", "", [this] { toggle_recording(); }});
  if (Tab* tab = front()) {
    GraphView& g = tab->graph;
    list.push_back({"Search nodes", "Ctrl+F", [this] {
                      view_ = View::graph;
                      focus_search_ = true;
                    }});
    list.push_back({"Run the model", "R", [this, tab] {
                      view_ = View::run;
                      tab->run.set_model(tab->document, tab->compilation);
                      tab->run.run();
                    }});
    list.push_back({"Benchmark the model", "B", [this, tab] {
                      view_ = View::run;
                      tab->run.set_model(tab->document, tab->compilation);
                      tab->run.bench();
                    }});
    list.push_back({"Fit the graph", "F", [&g] { g.fit(); }});
    list.push_back({"Open all groups", "E", [&g] { g.open_all(true); }});
    list.push_back({"Close all groups", "Shift+E", [&g] { g.open_all(false); }});
    list.push_back({"Next colours", "C", [&g] { g.next_colour(); }});
    list.push_back({"Neighbourhood of the selected node", "G", [&g] { g.focus(2); }});
    list.push_back({"Path from the selected node", "P", [&g] { g.start_path(); }});
    list.push_back({"Export the graph as SVG", "", [this, tab] { export_graph(*tab); }});
    list.push_back({"Export the graph as PNG", "", [this] { export_picture(); }});
  }
  for (const std::string& recent : settings_.recent)
    list.push_back({"Open " + printable(recent), "", [this, recent] { open(recent); }});
  return list;
}

void Workspace::handle_keys() {
  if (palette_ || browser_.is_open()) return;
  if (ui::pressed(ui::kF1) || ui::pressed('/', false, true)) help_ = !help_;
  if (help_ && ui::pressed(ui::kEscape)) help_ = false;
  if (ui::pressed('P', true, true) || ui::pressed('K', true)) {
    palette_ = focus_palette_ = true;
    palette_text_.clear();
    palette_row_ = 0;
  }
  if (ui::pressed('O', true)) ask_for_file();
  if (ui::pressed('W', true)) close(front_);
  if (ui::pressed('Q', true)) actions_.quit = true;
  if (ui::pressed('T', true)) set_theme(!settings_.light);
  if (ui::pressed(ui::kTab, true) && !tabs_.empty()) front_ = (front_ + 1) % tabs_.size();
  if (ui::pressed('F', true) || ui::pressed('/')) view_ = View::graph, focus_search_ = true;
  for (int v = 0; v < kViews; v++)
    if (ui::pressed('1' + v, true)) view_ = static_cast<View>(v);
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
  draw_status();
  ImGui::End();
  draw_help();
  draw_palette();
  if (const auto path = browser_.draw()) chosen(*path);
  return std::exchange(actions_, {});
}

void Workspace::draw_top() {
  if (ui::button("Open",
                 "Ctrl+O: open an .onnx, .popef, IR text or recording; or drop it on the window"))
    ask_for_file();
  for (size_t i = 0; i < tabs_.size(); i++) {
    ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    const std::string title = shortened(printable(tabs_[i]->path.filename().string()), 32);
    if (ui::button(title.c_str(), printable(tabs_[i]->path.string()).c_str(), i == front_))
      front_ = i;
    ImGui::SameLine(0, 1);
    const bool closed = ui::button("x", "Ctrl+W: close");
    ImGui::PopID();
    if (closed) {
      close(i);
      break;
    }
  }
  const float right = ImGui::CalcTextSize("Commands").x + ImGui::CalcTextSize("Light").x +
                      ImGui::CalcTextSize("Help").x + 6 * ImGui::GetStyle().FramePadding.x +
                      2 * ImGui::GetStyle().ItemSpacing.x;
  ImGui::SameLine(std::max(ImGui::GetCursorPosX(),
                           ImGui::GetWindowWidth() - right - ImGui::GetStyle().WindowPadding.x));
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
  ImGui::SameLine(0, 24 * ui::scale());
  if (focus_search_) {
    ImGui::SetKeyboardFocusHere();
    focus_search_ = false;
  }
  if (ui::field("search", "Search: name, op:Conv, shape:1x64, dtype:f32", search_text_,
                std::min(340 * ui::scale(), ImGui::GetContentRegionAvail().x * 0.5f)))
    g.search(search_text_);
  if (ImGui::IsItemFocused() && ui::pressed(ui::kEnter)) g.next_match(1);
  ImGui::SameLine();
  if (!search_text_.empty()) ui::dim_text(fmt::format("{} found", g.matches().size()));
  ImGui::SameLine();
  if (ui::button("Fit", "F")) g.fit();
  ImGui::SameLine();
  if (ui::button(fmt::format("Colour: {}", g.colour_name()).c_str(),
                 "C: by operator, type, weights, memory of results"))
    g.next_colour();
  if (g.graph() && g.graph()->groups().size() > 1) {
    ImGui::SameLine();
    if (ui::button("Open all", "E: all groups")) g.open_all(true);
    ImGui::SameLine();
    if (ui::button("Close all", "Shift+E")) g.open_all(false);
  }
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
      follow_anchor(*tab);
      if (const int row = tab->popef.take_export(); row >= 0)
        export_data(*tab, static_cast<size_t>(row));
      break;
    case View::program:
      if (!tab->document->program && !draw_compiling(*tab)) break;
      tab->program.draw(size, keys_free());
      if (tab->program.take_profile()) profile(*tab);
      if (const std::string node = tab->program.take_node();
          !node.empty() && tab->document->graph) {
        view_ = View::graph;
        if (const int n = tab->document->graph->find(node); n != kNone) tab->graph.select(n);
      }
      break;
    case View::passes:
      if (!tab->document->graph)
        ui::dim_text("Passes are shown for models: open the .onnx or the IR text");
      else if (draw_compiling(*tab))
        tab->passes.draw(size, keys_free());
      break;
    case View::run:
      if (tab->document->popef || draw_compiling(*tab)) draw_run(*tab, size);
      break;
    case View::compare: draw_compare(*tab, size); break;
    case View::queues: break;
  }
}

// False while there is nothing to show yet.
bool Workspace::draw_compiling(Tab& tab) {
  compile(tab);
  if (tab.compiling.started()) {
    const auto [done, what] = tab.compiling.progress();
    ui::text(fmt::format("Compiling: {}", what));
    ImGui::ProgressBar(static_cast<float>(done), {320 * ui::scale(), 0});
    if (ui::button("Cancel")) tab.compiling.cancel();
    return false;
  }
  if (!tab.compile_error.empty() && (view_ == View::program || view_ == View::run)) {
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
    return;
  }
  const float details = std::min(340 * ui::scale(), size.x * 0.36f);
  tab.graph.draw("graph", {size.x - details - 8, size.y}, keys_free());
  ImGui::SameLine(0, 8);
  tab.details.draw(tab.graph, tab.compilation.get(), {details, size.y});
  if (const int step = tab.details.take_step(); step >= 0) {
    view_ = View::passes;
    tab.passes.show_step(step);
  }
}

void Workspace::draw_queues(Tab* tab, ImVec2 size) {
  if (tab && tab->document && tab->document->recording) {
    tab->queues.draw(*tab->document->recording, false, size, keys_free());
    return;
  }
  if (!watcher_) watcher_ = std::make_unique<TelemetryWatcher>(telemetry_folder, 0.1, wake_);
  if (const std::string error = watcher_->error(); !error.empty())
    ui::coloured_text(ui::colours().bad, error);
  watcher_->with_history([&](const TelemetryHistory& history) {
    queues_.draw(history, true, ImGui::GetContentRegionAvail(), keys_free());
  });
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
  tab.run.set_model(tab.document, tab.compilation);
  tab.run.draw(size, others, keys_free());
  if (std::string input = tab.run.take_browse(); !input.empty()) {
    ask_for_file(std::move(input));
  }
}

void Workspace::draw_compare(Tab& tab, ImVec2) {
  ui::dim_text("Compare with");
  for (size_t i = 0; i < tabs_.size(); i++) {
    if (i == front_ || !tabs_[i]->document) continue;
    ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    if (ui::button(fmt::format("{}##with", tabs_[i]->document->title()).c_str(), nullptr,
                   other_ == static_cast<int>(i)))
      other_ = static_cast<int>(i);
    ImGui::PopID();
    if (other_ < 0) other_ = static_cast<int>(i);
  }
  const bool fits = other_ >= 0 && static_cast<size_t>(other_) < tabs_.size() &&
                    static_cast<size_t>(other_) != front_;
  diff_.set_documents(fits ? tab.document : nullptr,
                      fits ? tabs_[static_cast<size_t>(other_)]->document : nullptr);
  diff_.draw(ImGui::GetContentRegionAvail());
}

void Workspace::draw_status() {
  Tab* tab = front();
  std::string line;
  if (!message_.empty()) {
    ui::coloured_text(message_is_error_ ? ui::colours().bad : ui::colours().good,
                      shortened(message_, 160));
    ImGui::SameLine();
  }
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
  ui::dim_text(line);
}

void Workspace::draw_palette() {
  if (!palette_) return;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x / 2, screen.y * 0.14f}, 0, {0.5f, 0});
  ImGui::SetNextWindowSize(
      {std::min(620 * ui::scale(), screen.x * 0.9f), std::min(430 * ui::scale(), screen.y * 0.7f)});
  ImGui::Begin(
      "palette", nullptr,
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
  if (focus_palette_) {
    ImGui::SetKeyboardFocusHere();
    ImGui::SetWindowFocus();
    focus_palette_ = false;
  }
  if (ui::field("command", "Type a command", palette_text_, -1)) palette_row_ = 0;
  std::vector<Command> found;
  for (Command& c : commands())
    if (contains_text(c.name, palette_text_)) found.push_back(std::move(c));
  if (ui::pressed(ui::kDown)) palette_row_++;
  if (ui::pressed(ui::kUp) && palette_row_ > 0) palette_row_--;
  palette_row_ = found.empty() ? 0 : std::min(palette_row_, found.size() - 1);
  const Command* run = nullptr;
  ImGui::BeginChild("commands", {0, 0});
  for (size_t i = 0; i < found.size(); i++) {
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(shortened(found[i].name, 64).c_str(), i == palette_row_)) run = &found[i];
    ui::mark("command " + found[i].name);
    if (!found[i].keys.empty()) {
      ImGui::SameLine(ImGui::GetWindowWidth() - 100 * ui::scale());
      ui::dim_text(found[i].keys);
    }
    ImGui::PopID();
  }
  ImGui::EndChild();
  ImGui::End();
  if (ui::pressed(ui::kEnter) && !found.empty()) run = &found[palette_row_];
  if (run || ui::pressed(ui::kEscape)) palette_ = false;
  if (run) run->run();
}

void Workspace::draw_help() {
  if (!help_) return;
  struct Line {
    const char *keys, *what;
  };
  static constexpr Line lines[] = {{nullptr, "Everywhere"},
                                   {"Ctrl+O", "open a file (or drop it)"},
                                   {"Ctrl+K", "command palette"},
                                   {"Ctrl+1 … 7", "views"},
                                   {"Ctrl+Tab, Ctrl+W", "next document, close"},
                                   {"Ctrl+T", "dark or light"},
                                   {"F1", "this sheet"},
                                   {nullptr, "Graph"},
                                   {"drag, wheel", "move, zoom"},
                                   {"F, 1, =, -", "fit, full size, nearer, farther"},
                                   {"click", "select a node, open or close a group"},
                                   {"E, Shift+E", "open or close all groups"},
                                   {"/, N, Shift+N", "search, next, previous match"},
                                   {"Up, Down", "to an input, to a reader"},
                                   {"G", "only the neighbourhood of the node"},
                                   {"P", "path: then select the other end"},
                                   {"C", "colours: operator, type, weights, memory"},
                                   {"Esc", "let go of selection, path, neighbourhood"},
                                   {nullptr, "Passes"},
                                   {"Left, Right", "pass before, next pass"},
                                   {"B", "graph before or after the pass"},
                                   {nullptr, "Program"},
                                   {"Up, Down", "instruction before, next"},
                                   {"click the map", "who holds those bytes, and when"},
                                   {"R", "time each instruction; the graph shows hot spots"},
                                   {nullptr, "Run"},
                                   {"R, B", "run once, benchmark"},
                                   {"drop a file", "a picture or .npy as an input"},
                                   {nullptr, "Queues"},
                                   {"Space", "freeze, follow"},
                                   {"Left, Right, End", "back, forward, now"},
                                   {"=, -", "fewer, more seconds"}};
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, 0, {0.5f, 0.5f});
  ImGui::SetNextWindowSize({std::min(820 * ui::scale(), screen.x * 0.94f), 0});
  ImGui::Begin(
      "Help", &help_,
      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings);
  ImGui::Columns(2, "help", false);
  for (const Line& l : lines) {
    if (!l.keys && std::string_view(l.what) == "Passes") ImGui::NextColumn();
    if (l.keys)
      ui::row(l.keys, l.what);
    else
      ui::heading(l.what);
  }
  ui::heading("Where is …");
  ui::row("the largest weight", "Graph, nothing selected: Largest weights");
  ui::row("which anchor starves", "Queues: list at the left, or sort by stalls");
  ui::row("what fusion did", "Passes: step to it; B shows what it took");
  ui::row("peak memory", "Program: the line's highest place");
  ImGui::Columns(1);
  ImGui::End();
}

}  // namespace poprt::inspector
