// The views with ImGui's null back end: no window, no OpenGL. Tests press keys and click on
// widgets, which they find by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "inspector/sample_files.h"
#include "views/ui.h"
#include "views/workspace.h"

namespace poprt::inspector {

class WorkspaceTest : public testing::Test {
 protected:
  void SetUp() override {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {1280, 800};
    io.Fonts->AddFontDefault();
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    ui::map_keys();
    workspace = std::make_unique<Workspace>(Settings{}, Wake{});
    workspace->telemetry_folder = folder.path;
  }
  void TearDown() override {
    workspace = nullptr;
    ImGui::DestroyContext();
  }

  Actions frame() {
    ImGui::GetIO().DeltaTime = 1.0f / 60;
    ImGui::NewFrame();
    const Actions actions = workspace->draw(ImGui::GetIO().DisplaySize);
    ImGui::Render();
    return actions;
  }
  // Draws frames until loading, layout and statistics that they begin are done.
  void settle() {
    for (int i = 0; i < 6; i++) {
      workspace->settle();
      frame();
    }
  }
  bool sees(const std::string& text) {
    for (const ui::Mark& m : ui::marks())
      if (m.name.find(text) != std::string::npos) return true;
    return false;
  }
  Actions merged(Actions a, const Actions& b) {
    a.quit |= b.quit;
    a.choose_file |= b.choose_file;
    a.settings_changed |= b.settings_changed;
    return a;
  }
  Actions click(const std::string& name) {
    const ui::Mark* m = ui::find_mark(name);
    EXPECT_TRUE(m) << "nothing is called " << name;
    if (!m) return {};
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    Actions all = frame();
    io.MouseDown[0] = true;
    all = merged(all, frame());
    io.MouseDown[0] = false;
    all = merged(all, frame());
    settle();
    return all;
  }
  Actions press(int key, bool control = false, bool shift = false) {
    ImGuiIO& io = ImGui::GetIO();
    io.KeysDown[key] = true;
    io.KeyCtrl = control;
    io.KeyShift = shift;
    const Actions actions = frame();
    io.KeysDown[key] = false;
    io.KeyCtrl = io.KeyShift = false;
    settle();
    return actions;
  }
  void scroll(const std::string& name, float notches) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGui::GetIO().MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    ImGui::GetIO().MouseWheel = notches;
    frame();
    ImGui::GetIO().MouseWheel = 0;
    frame();
  }
  void drag(const std::string& name, float by) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    io.MouseDown[0] = true;
    frame();
    for (int i = 0; i < 4; i++) {
      io.MousePos.x += by / 4;
      frame();
    }
    io.MouseDown[0] = false;
    frame();
  }
  void click_right(const std::string& name) {
    const ui::Mark* m = ui::find_mark(name);
    ASSERT_TRUE(m) << "nothing is called " << name;
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
    frame();
    io.MouseDown[1] = true;
    frame();
    io.MouseDown[1] = false;
    frame();
    settle();
  }
  static std::string clipboard() { return ImGui::GetClipboardText(); }
  void type(const std::string& text) {
    ImGui::GetIO().AddInputCharactersUTF8(text.c_str());
    frame();
    settle();
  }
  void open_sample() {
    workspace->open(folder.write("net.ir", kSampleText));
    settle();
  }
  void open_popef() {
    workspace->open(folder.write("net.popef", sample_popef()));
    settle();
  }

  SampleFolder folder{"views"};
  std::unique_ptr<Workspace> workspace;
};

}  // namespace poprt::inspector
