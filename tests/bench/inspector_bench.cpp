// Measures the time of the inspector: loading, layout, the first frame, and frames while panning.
// Uses ImGui's null back end, so that rasterisation is not measured.
//
//   inspector_bench [MODEL.onnx ...]      and a generated graph of 10 000 nodes
#include <fmt/format.h>
#include <imgui.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "model/document.h"
#include "model/graph_layout.h"
#include "views/ui.h"
#include "views/workspace.h"

namespace {

using namespace poprt;
using namespace poprt::inspector;
using Clock = std::chrono::steady_clock;

// CPU time of this thread, which does not include other processes.
double cpu_milliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// A deep network with branches and long skips.
std::unique_ptr<ir::Graph> generated(int nodes) {
  auto graph = std::make_unique<ir::Graph>("generated");
  graph->opsets[""] = 17;
  std::mt19937 random(1);
  std::vector<ir::Value*> values = {graph->add_input("x", ir::ValueType::of(DType::f32, {1, 64}))};
  for (int i = 0; i < nodes; i++) {
    ir::Value* near = values[values.size() - 1 - random() % std::min<size_t>(values.size(), 3)];
    ir::Value* far =
        random() % 20 == 0
            ? values[random() % values.size()]
            : values[values.size() - 1 - random() % std::min<size_t>(values.size(), 8)];
    ir::Node* node = random() % 3 == 0 ? graph->add_node("Add", "", {near, far})
                                       : graph->add_node("Relu", "", {near});
    node->name = fmt::format("node_{}", i);
    node->output()->type = ir::ValueType::of(DType::f32, {1, 64});
    values.push_back(node->output());
  }
  graph->add_output(values.back());
  return graph;
}

void layout_of(const std::string& title, const std::shared_ptr<const GraphModel>& graph) {
  GraphLayout layout(graph);
  const auto begin = Clock::now();
  const double cpu = cpu_milliseconds();
  const auto scene = layout.scene(layout.all_groups());
  fmt::print("{:<28} {:>7} nodes  layout {:>9.1f} ms ({:.1f} ms CPU)  {:.0f} x {:.0f}, {} routes\n",
             title, graph->nodes().size(), milliseconds(begin), cpu_milliseconds() - cpu,
             scene->width, scene->height, scene->routes.size());
}

double frame(const std::function<void()>& draw) {
  const double begin = cpu_milliseconds();
  ImGui::GetIO().DeltaTime = 1.0f / 60;
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  return cpu_milliseconds() - begin;
}

// Pans over the whole graph, and over a part that is magnified enough to be read.
void panning_of(const std::string& title, const std::shared_ptr<const GraphModel>& graph) {
  for (const bool near : {false, true}) {
    GraphView view;
    view.set_graph(graph);
    view.settle();
    view.open_all(true);
    view.settle();
    const auto draw = [&] {
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize({1280, 800});
      ImGui::Begin("bench", nullptr, ImGuiWindowFlags_NoDecoration);
      view.draw("graph", {1240, 760});
      ImGui::End();
    };
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {600, 400};
    for (int i = 0; i < 3; i++) frame(draw);
    if (near) view.select(static_cast<int>(graph->nodes().size() / 2));
    for (int i = 0; i < 3; i++) frame(draw);
    io.MouseDown[0] = true;
    std::vector<double> times;
    for (int i = 0; i < 200; i++) {
      io.MousePos = {600 + static_cast<float>(i % 50) * 4, 400 + static_cast<float>(i % 70) * 3};
      times.push_back(frame(draw));
    }
    io.MouseDown[0] = false;
    frame(draw);
    std::sort(times.begin(), times.end());
    fmt::print("{:<28} panning {:<8} frame median {:.2f} ms CPU, worst {:.2f} ms\n", title,
               near ? "near" : "all", times[100], times.back());
  }
}

void first_frame(const std::string& file) {
  const auto begin = Clock::now();
  const double cpu = cpu_milliseconds();
  ui::load_fonts(1);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  Workspace workspace({}, {});
  if (!file.empty()) workspace.open(file);
  frame([&] { workspace.draw(ImGui::GetIO().DisplaySize); });
  fmt::print("{:<28} first frame {:.0f} ms ({:.0f} ms CPU)\n",
             file.empty() ? "no file" : std::filesystem::path(file).filename().string(),
             milliseconds(begin), cpu_milliseconds() - cpu);
}

}  // namespace

int main(int argc, char** argv) {
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  ImGui::GetIO().DisplaySize = {1280, 800};
  // Like the inspector's back end, allows more vertices in one list than 16-bit indices can number.
  ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  ui::map_keys();
  first_frame(argc > 1 ? argv[1] : "");
  std::vector<std::pair<std::string, std::shared_ptr<const GraphModel>>> graphs = {
      {"generated", std::make_shared<GraphModel>(*generated(10000))}};
  std::vector<Document> documents;
  for (int i = 1; i < argc; i++) {
    Progress progress;
    const auto begin = Clock::now();
    documents.push_back(load_document(argv[i], progress));
    const Document& d = documents.back();
    fmt::print("{:<28} {:>7.1f} MiB  load {:>9.1f} ms  {}\n", d.title(),
               static_cast<double>(d.bytes) / 1048576, milliseconds(begin), d.error);
    if (d.graph) graphs.emplace_back(d.title(), d.graph);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("memory at most {:.0f} MiB with all of them loaded\n",
             static_cast<double>(usage.ru_maxrss) / 1024);
  for (const auto& [title, graph] : graphs) layout_of(title, graph);
  for (const auto& [title, graph] : graphs) panning_of(title, graph);
  ImGui::DestroyContext();
}
