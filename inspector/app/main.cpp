// poprt-inspector: shows the views in a window, or draws pictures of them without a window.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/file_dialog.h"
#include "app/headless.h"
#include "base/error.h"
#include "common/arguments.h"
#include "compiler/chip_options.h"
#include "model/format.h"
#include "model/lost_pages.h"
#include "plugins/registry.h"
#include "views/input_queue.h"
#include "views/png.h"
#include "views/repaint.h"
#include "views/ui.h"
#include "views/workspace.h"

namespace poprt::inspector {
namespace {

struct Arguments {
  std::vector<std::string> files, inputs, shapes, max_size, plugins;
  std::string export_graph, screenshot, view, select, size = "1280x800", theme, telemetry_folder,
                                                      page, labels, target, precision, ipus;
  double scale = 1;
  bool horizontal = false, help_sheet = false, palette = false, profile = false;
  double bench = 0;
  int step = -1;
  // Options that have an effect only in a picture, with the names that messages use.
  std::vector<std::pair<std::string, poprt::cli::Option*>> of_pictures;
};

std::optional<View> view_of(const std::string& name) {
  for (int v = 0; v < kViews; v++)
    if (name == view_name(static_cast<View>(v))) return static_cast<View>(v);
  return std::nullopt;
}

void start_imgui(float scale) {
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  ui::load_fonts(scale);
  ui::map_keys();
}

// Loads fonts for new characters between two frames. Returns whether it loaded any.
bool load_missing_fonts(float scale) {
  if (!ui::take_fonts_wanted()) return false;
  ui::load_fonts(scale);
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  return ImGui_ImplOpenGL3_CreateFontsTexture();
}

void prepare(Workspace& workspace, const Arguments& a) {
  workspace.telemetry_folder = a.telemetry_folder;
  if (!a.max_size.empty())
    workspace.max_size = compiler::loop_rounds(fmt::format("{}", fmt::join(a.max_size, "\n")));
  for (const std::string& file : a.files) workspace.open(file);
}

// Sets the inputs and the class names given on the command line.
void set_inputs(Workspace& workspace, const Arguments& a) {
  RunView* view = workspace.run_view();
  if (!view) return;
  for (const std::string& word : a.inputs) {
    const size_t at = word.find('=');
    if (at == std::string::npos)
      throw cli::Usage(fmt::format("--input: expected NAME=FILE, found '{}'", word));
    view->set_input(word.substr(0, at), input_choice(word.substr(at + 1)));
  }
  if (!a.labels.empty()) view->set_class_names(a.labels);
}

// Runs the model for a picture of the run view.
void run_for_picture(Workspace& workspace, const Arguments& a) {
  RunView* view = workspace.run_view();
  if (!view || a.view != view_name(View::run)) return;
  view->run();
  if (a.bench > 0) {
    view->settings.seconds = a.bench;
    view->bench();
  }
}

// Sets the choices of the chip view that were given on the command line.
void prepare_chip(Workspace& workspace, const Arguments& a) {
  if (a.target.empty() && a.precision.empty() && a.ipus.empty()) return;
  const bool picture = !a.screenshot.empty() || !a.export_graph.empty();
  if (picture && a.view != view_name(View::chip))
    throw cli::Usage("--target, --precision and --num_ipus are for --view chip");
  ChipView* view = workspace.chip_view();
  if (!view) throw cli::Usage("--target, --precision and --num_ipus need a FILE");
  ChipChoice choice = view->choice();
  if (!a.target.empty()) choice.target = a.target;
  if (!a.precision.empty()) choice.precision = a.precision;
  if (!a.ipus.empty()) choice.ipus = std::stoll(a.ipus);
  view->choose(choice);
}

// Checks that pictures are PNG files, and that options of pictures are given only with a picture,
// because a window has its own controls for them.
void check_picture_options(const Arguments& a) {
  for (const auto& [option, file] :
       {std::pair{"--screenshot", a.screenshot}, std::pair{"--export", a.export_graph}})
    if (!file.empty() && !file.ends_with(".png") && !file.ends_with(".PNG"))
      throw cli::Usage(fmt::format("{}: expected FILE.png, found '{}'", option, file));
  if (!a.screenshot.empty() || !a.export_graph.empty()) return;
  for (const auto& [name, option] : a.of_pictures)
    if (option->count())
      throw cli::Usage(fmt::format("{} needs --screenshot FILE.png or --export FILE.png", name));
}

// Returns the view that has a page of --page.
View view_of_page(const std::string& page) {
  for (const char* name : {"anchors", "data", "opaque", "metadata", "blobs"})
    if (page == name) return View::popef;
  for (const char* name : {"values", "largest", "differences"})
    if (page == name) return View::run;
  return View::chip;
}

// Returns a message about an input in the command line that the model does not have, or nothing if
// it has all of them, or if it cannot run.
std::optional<std::string> unknown_input(Workspace& workspace, const Arguments& a) {
  const RunView* view = workspace.run_view();
  if (!view || (!a.profile && !view->can_run()) || !workspace.error().empty()) return std::nullopt;
  for (const std::string& word : a.inputs)
    if (const std::string name = word.substr(0, word.find('='));
        a.profile ? !workspace.has_input(name) : !view->has_input(name))
      return fmt::format("--input: the model has no input '{}'", name);
  return std::nullopt;
}

int take_screenshot(const Arguments& a, Settings settings) {
  const bool runs = a.view == view_name(View::run), compares = a.view == view_name(View::compare);
  if (!a.inputs.empty() && !runs && (!a.profile || compares))
    throw cli::Usage("--input is for --view run, and for --profile without --view compare");
  int width = 0, height = 0;
  if (std::sscanf(a.size.c_str(), "%dx%d", &width, &height) != 2 || width < 320 || height < 240 ||
      width > 8192 || height > 8192)
    throw cli::Usage(
        fmt::format("--size: expected WIDTHxHEIGHT from 320x240 to 8192x8192, found '{}'", a.size));
  HeadlessContext context(width, height);
  start_imgui(static_cast<float>(a.scale));
  ImGui::GetIO().DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
  if (!ImGui_ImplOpenGL3_Init("#version 330"))
    fail(ErrorCode::unavailable, "ImGui cannot use this OpenGL");
  std::optional<std::string> problem;
  bool damaged = false;  // the picture shows the error, and the exit code reports it
  {
    Workspace workspace(std::move(settings), {}, static_cast<float>(a.scale));
    prepare(workspace, a);
    prepare_chip(workspace, a);
    if (a.palette || a.help_sheet) {
      ImGui::GetIO().KeysDown[a.help_sheet ? ui::kF1 : 'K'] = true;
      ImGui::GetIO().KeyCtrl = !a.help_sheet;
    }
    const auto frame = [&] {
      load_missing_fonts(static_cast<float>(a.scale));
      ImGui::GetIO().DeltaTime = 1.0f / 60;
      ImGui_ImplOpenGL3_NewFrame();
      ImGui::NewFrame();
      workspace.draw(ImGui::GetIO().DisplaySize);
      ImGui::Render();
      ImGui::GetIO().KeysDown[ui::kF1] = ImGui::GetIO().KeysDown['K'] = ImGui::GetIO().KeyCtrl =
          false;
    };
    workspace.settle();
    frame();
    if (!a.shapes.empty()) workspace.set_shapes(fmt::format("{}", fmt::join(a.shapes, " ")));
    if (const auto view = view_of(a.view)) workspace.show(*view);
    if (!a.page.empty() && workspace.view() != view_of_page(a.page))
      throw cli::Usage(fmt::format("--page {} is for --view {}, the picture shows {}", a.page,
                                   view_name(view_of_page(a.page)), view_name(workspace.view())));
    workspace.set_page(a.page);
    const auto settle = [&](int frames) {
      for (int i = 0; i < frames; i++) {
        workspace.settle();
        frame();
      }
    };
    // Layouts, statistics and compilations start in the frames that show them.
    settle(4);
    set_inputs(workspace, a);
    if (a.profile) {
      // The program view compiles and times the model, so it is shown before the wanted view.
      const View wanted = workspace.view();
      if (wanted != View::compare) workspace.show(View::program);
      settle(2);
      workspace.start_profile();
      settle(3);
      workspace.show(wanted);
      settle(3);
    }
    if (a.step >= 0 && !workspace.show_pass(a.step))
      problem = fmt::format("--step: the passes view has no row {}", a.step);
    run_for_picture(workspace, a);
    if (!a.select.empty() && !workspace.select(a.select))
      problem = fmt::format("there is nothing with the name '{}'", a.select);
    if (!problem) problem = unknown_input(workspace, a);
    const bool live = a.view == "queues";
    for (int i = 0; i < (live ? 25 : 5); i++) {
      workspace.settle();
      if (live) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      frame();
    }
    context.clear();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (!a.export_graph.empty()) {
      if (!workspace.export_picture(a.export_graph))
        problem =
            fmt::format("{} has no graph to export", a.files.empty() ? "nothing" : a.files[0]);
      workspace.settle();
      const std::string wrote = workspace.message();
      if (!problem && !wrote.starts_with("wrote ")) problem = wrote;
    }
    if (!problem && !a.screenshot.empty()) write_png(a.screenshot, width, height, context.pixels());
    const std::string error = workspace.error();
    damaged = !error.empty();
    if (damaged && !problem) fmt::print(stderr, "poprt-inspector: {}\n", printable(error));
  }
  ImGui_ImplOpenGL3_Shutdown();
  ImGui::DestroyContext();
  if (problem) fail(ErrorCode::not_found, "{}", *problem);
  return damaged ? 1 : 0;
}

// Window events of GLFW between two frames.
struct Window {
  InputQueue input;
  Repaint repaint;
  std::vector<std::string> dropped;
};

Window& of(GLFWwindow* window) { return *static_cast<Window*>(glfwGetWindowUserPointer(window)); }

// Installs callbacks that queue the keys, because ImGui's back end reads their state once per frame
// and would miss short key presses.
void install_callbacks(GLFWwindow* window) {
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int, int action, int) {
    if (action != GLFW_REPEAT) of(w).input.key(key, action == GLFW_PRESS);
    of(w).repaint.wake();
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned code) {
    of(w).input.character(code);
    of(w).repaint.wake();
  });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int modifiers) {
    ImGui_ImplGlfw_MouseButtonCallback(w, button, action, modifiers);
    of(w).repaint.wake();
  });
  glfwSetScrollCallback(window, [](GLFWwindow* w, double x, double y) {
    ImGui_ImplGlfw_ScrollCallback(w, x, y);
    of(w).repaint.wake();
  });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int focused) {
    ImGui_ImplGlfw_WindowFocusCallback(w, focused);
    of(w).repaint.wake();
  });
  glfwSetCursorEnterCallback(window, [](GLFWwindow* w, int entered) {
    ImGui_ImplGlfw_CursorEnterCallback(w, entered);
    of(w).repaint.wake();
  });
  glfwSetCursorPosCallback(window, [](GLFWwindow* w, double, double) { of(w).repaint.wake(); });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) { of(w).repaint.invalidate(); });
  glfwSetFramebufferSizeCallback(window,
                                 [](GLFWwindow* w, int, int) { of(w).repaint.invalidate(); });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    of(w).dropped.insert(of(w).dropped.end(), paths, paths + count);
    of(w).repaint.wake();
  });
}

Actions draw_frame(GLFWwindow* window, Workspace& workspace) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  of(window).input.feed();
  ImGui::NewFrame();
  const Actions actions = workspace.draw(ImGui::GetIO().DisplaySize);
  ImGui::Render();
  if (!of(window).repaint.drawn(*ImGui::GetDrawData())) return actions;
  int width = 0, height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  glViewport(0, 0, width, height);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glfwSwapBuffers(window);
  return actions;
}

// Draws frames only after input or changes.
void run_loop(GLFWwindow* window, Workspace& workspace, const Wake& wake) {
  constexpr double kLookForChanges = 2;  // seconds between checks of the files
  constexpr double kProgress = 0.1;      // seconds between frames while a task runs
  Repaint& repaint = of(window).repaint;
  Task<std::filesystem::path> dialog;
  double last_look = glfwGetTime(), last_frame = last_look;
  while (!glfwWindowShouldClose(window)) {
    if (repaint.should_draw())
      glfwPollEvents();
    else
      glfwWaitEventsTimeout(workspace.busy() ? kProgress : kLookForChanges);
    for (const std::string& file : std::exchange(of(window).dropped, {})) workspace.dropped(file);
    if (glfwGetTime() - last_look > kLookForChanges) {
      last_look = glfwGetTime();
      if (workspace.reload_changed()) repaint.wake();
    }
    if (auto chosen = dialog.take()) {
      workspace.chosen(*chosen);
      dialog = {};
    }
    if (workspace.busy() && glfwGetTime() - last_frame > kProgress * 0.9) repaint.wake();
    if (!repaint.should_draw()) continue;
    last_frame = glfwGetTime();
    if (load_missing_fonts(ui::scale())) repaint.invalidate();
    const Actions actions = draw_frame(window, workspace);
    if (!of(window).input.empty()) repaint.wake();
    if (actions.quit) glfwSetWindowShouldClose(window, 1);
    if (actions.choose_file) {
      if (has_file_dialog() && !dialog.started())
        dialog = choose_file(wake);
      else
        workspace.browse();
      repaint.wake();
    }
    if (actions.settings_changed) save_settings(workspace.settings(), settings_path());
  }
}

int open_window(const Arguments& a, Settings settings) {
  static std::string glfw_error;
  glfwSetErrorCallback([](int, const char* text) { glfw_error = text; });
  if (!glfwInit())
    fail(ErrorCode::unavailable, "no window: {} (--screenshot FILE needs none)", glfw_error);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  GLFWwindow* window =
      glfwCreateWindow(settings.width, settings.height, "poprt inspector", nullptr, nullptr);
  if (!window) {
    glfwTerminate();
    fail(ErrorCode::unavailable, "no window with OpenGL 3.3: {}", glfw_error);
  }
  glfwSetWindowSizeLimits(window, 480, 320, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  float scale = 1, unused = 1;
  glfwGetWindowContentScale(window, &scale, &unused);
  if (a.scale != 1) scale = static_cast<float>(a.scale);
  start_imgui(scale);
  Window happened;
  glfwSetWindowUserPointer(window, &happened);
  install_callbacks(window);
  ImGui_ImplGlfw_InitForOpenGL(window, false);
  ImGui_ImplOpenGL3_Init("#version 330");
  {
    const Wake wake = [&happened] {
      happened.repaint.wake();
      glfwPostEmptyEvent();
    };
    Workspace workspace(std::move(settings), wake, scale);
    prepare(workspace, a);
    prepare_chip(workspace, a);
    if (const auto view = view_of(a.view)) workspace.show(*view);
    if (!a.shapes.empty()) workspace.set_shapes(fmt::format("{}", fmt::join(a.shapes, " ")));
    set_inputs(workspace, a);
    run_loop(window, workspace, wake);
    glfwGetWindowSize(window, &workspace.settings().width, &workspace.settings().height);
    save_settings(workspace.settings(), settings_path());
  }
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window);
  glfwTerminate();
  AbandonedThreads::instance().join();  // the window is closed, so the wait is not visible
  return 0;
}

int run(const Arguments& a) {
  check_picture_options(a);
  survive_lost_pages();
  plugins::load_environment();
  for (const std::string& library : a.plugins) plugins::load(library);
  const bool picture = !a.screenshot.empty() || !a.export_graph.empty();
  Settings settings = picture ? Settings{} : load_settings(settings_path());
  if (!a.theme.empty()) settings.light = a.theme == "light";
  if (a.horizontal) settings.horizontal = true;
  return picture ? take_screenshot(a, std::move(settings)) : open_window(a, std::move(settings));
}

}  // namespace
}  // namespace poprt::inspector

namespace {

using poprt::cli::between;
using poprt::cli::Command;

void add_options(Command& app, poprt::inspector::Arguments& a) {
  app.add_option("FILE", a.files, ".onnx, .popef, IR text or a recording of telemetry")->many();
  app.add_option(
         "--view", a.view,
         "graph, popef, program, passes, run, queues, compare or chip: the view to show first")
      ->choose({"graph", "popef", "program", "passes", "run", "queues", "compare", "chip"});
  app.add_option("--theme", a.theme, "dark or light")->choose({"dark", "light"});
  app.add_option("--scale", a.scale,
                 "Scale of text and controls, from 0.5 to 4 [the scale of the display]")
      ->check(between(0.5, 4.0));
  app.add_flag("--horizontal", a.horizontal, "Graphs from left to right");
  app.add_option("--plugins", a.plugins,
                 "Shared libraries with custom operators and passes, in addition to those of "
                 "POPRT_PLUGINS; separated by commas")
      ->many()
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--input_shape", a.shapes, "NAME=1,3,224,224 for inputs with variable dimensions")
      ->many();
  app.add_option("--max_size", a.max_size,
                 "NAME=N: largest number of rounds of the loop whose result is NAME, or bound of a "
                 "size that depends on data")
      ->many();
  app.add_option("--input", a.inputs,
                 "NAME=FILE for the run view and --profile: .npy, .pb, or a picture "
                 "FILE[:imagenet][:crop], or NAME=zeros or NAME=random; a screenshot of the run "
                 "view runs the model")
      ->many();
  app.add_option("--labels", a.labels, "File with class names for the run view, one per line");
  app.add_option("--target", a.target, "Chip of the chip view: mk1, mk2, bow or c600 [c600]")
      ->choose({"mk1", "mk2", "bow", "c600"});
  app.add_option("--precision", a.precision,
                 "fp32, fp16, fp8 or fp8_weight, for the chip view [fp16]")
      ->choose({"fp32", "fp16", "fp8", "fp8_weight"});
  app.add_option("--num_ipus", a.ipus, "1, 2, 4, 8, 16 or 64 IPUs, for the chip view [1]")
      ->choose({"1", "2", "4", "8", "16", "64"});
  app.add_option("--telemetry_folder", a.telemetry_folder,
                 "Folder of the telemetry of processes [POPRT_TELEMETRY_DIR or the user's runtime "
                 "folder]");
}

void add_picture_options(Command& app, poprt::inspector::Arguments& a) {
  app.group("Pictures without a display");
  app.add_option("--screenshot", a.screenshot, "FILE.png: write a picture of the window and exit");
  app.add_option("--export", a.export_graph,
                 "FILE.png: write a picture of the whole graph and exit; poprt_exec inspect --svg "
                 "writes it as SVG");
  const auto keep = [&](const char* name, poprt::cli::Option* option) {
    a.of_pictures.emplace_back(name, option);
    return option;
  };
  keep("--size", app.add_option("--size", a.size, "WIDTHxHEIGHT of the screenshot"))
      ->capture_default_str();
  keep("--select",
       app.add_option("--select", a.select,
                      "Select this node, anchor, instruction of a node, or difference"));
  keep("--page",
       app.add_option(
           "--page", a.page,
           "anchors, data, opaque, metadata, blobs, values, largest, differences, memory, "
           "operations, compare, cycles or graph (coloured by the cycles): the page of popef (the "
           "first five), run (the next three) or chip"))
      ->choose({"anchors", "data", "opaque", "metadata", "blobs", "values", "largest",
                "differences", "memory", "operations", "compare", "cycles", "graph"});
  keep("--step",
       app.add_option("--step", a.step, "Row of the list in the passes view, counted from 0"))
      ->check(poprt::cli::at_least(0));
  keep("--bench",
       app.add_option("--bench", a.bench, "Seconds to measure in the run view, at most 600"))
      ->check(between(0.0, 600.0));
  keep("--profile",
       app.add_flag("--profile", a.profile, "Compile, and time the instructions for a second"));
  keep("--help_sheet", app.add_flag("--help_sheet", a.help_sheet, "Show the list of shortcuts"));
  keep("--palette", app.add_flag("--palette", a.palette, "Show the command palette"));
}

}  // namespace

int main(int argc, char** argv) {
  using poprt::cli::print_error;
  poprt::cli::hold_standard_streams();
  poprt::inspector::Arguments a;
  Command app("Shows graphs, compiled models and the queues of running processes.",
              "poprt-inspector");
  app.set_version_flag("-v,--version", "poprt-inspector " POPRT_INSPECTOR_VERSION);
  add_options(app, a);
  add_picture_options(app, a);
  app.example("poprt-inspector model.onnx", "Show a graph");
  app.example("poprt-inspector model.onnx model.popef", "Several files, each in a tab");
  app.example("poprt-inspector --view queues", "Running processes, without any file");
  app.example("poprt-inspector model.onnx --view chip --target mk2 --screenshot chip.png",
              "Write a picture, without a display");
  app.footer("F1 lists the shortcuts of the window. poprt help inspector describes the views.");
  return poprt::cli::guarded("poprt-inspector", [&] {
    if (const auto code = app.parse(argc, argv)) return *code;
    return poprt::inspector::run(a);
  });
}
